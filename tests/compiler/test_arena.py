"""Offsets in the arena: nothing alive overlaps, nothing is wasted that need not be, time grows as n log n."""

import random
import time

import pytest

from tapeless.compiler.passes.arena import ALIGNMENT, Interval, _largest_first, _sweep, pack, rounded


def random_intervals(seed: int, count: int) -> list[Interval]:
    rng = random.Random(seed)
    found = []
    for _ in range(count):
        first = rng.randrange(count)
        found.append(Interval(rng.choice([1, 64, 100, 4096, 70000]), first, first + rng.randrange(12)))
    return found


def live_peak(intervals: list[Interval]) -> int:
    steps = range(max(i.last for i in intervals) + 1)
    return max(sum(rounded(i.nbytes) for i in intervals if i.first <= s <= i.last) for s in steps)


@pytest.mark.parametrize("way", [_sweep, _largest_first, pack])
@pytest.mark.parametrize("seed", range(20))
def test_what_is_alive_does_not_overlap(way: object, seed: int) -> None:
    intervals = random_intervals(seed, 60)
    offsets, size = way(intervals)  # type: ignore[operator]
    for k, mine in enumerate(intervals):
        assert offsets[k] % ALIGNMENT == 0
        assert offsets[k] + mine.nbytes <= size
        for j in range(k):
            other = intervals[j]
            together = mine.first <= other.last and other.first <= mine.last
            apart = offsets[k] + mine.nbytes <= offsets[j] or offsets[j] + other.nbytes <= offsets[k]
            assert apart or not together


@pytest.mark.parametrize("seed", range(20))
def test_little_is_wasted(seed: int) -> None:
    intervals = random_intervals(seed, 60)
    _, size = pack(intervals)
    assert live_peak(intervals) <= size <= 1.3 * live_peak(intervals)


def test_no_buffers_need_no_arena() -> None:
    assert pack([]) == ([], 0)


def test_holes_that_touch_are_joined() -> None:
    intervals = [Interval(64, 0, 1), Interval(64, 0, 1), Interval(128, 2, 3)]
    assert _sweep(intervals) == ([0, 64, 0], 128)


@pytest.mark.timing
def test_many_buffers_are_packed_in_little_time() -> None:
    def seconds(count: int) -> float:
        intervals = random_intervals(1, count)
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            pack(intervals)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(80_000) < 10 * seconds(20_000)
