"""Offsets in one arena for buffers with known live ranges.

Two ways are tried: larger buffers first, each at the lowest offset that is free during its whole life, which
packs best but looks at every neighbour in time; and one sweep over the steps with a sorted list of holes.
Large plans take only the second, so packing costs O(n log n).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from ..ir.record import record

ALIGNMENT = 64
_SMALL = 1500


@record(slots=True)
class Interval:
    """A wish for `nbytes` during the steps `first` to `last`, both included."""

    nbytes: int
    first: int
    last: int


def pack(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """An offset for each interval and the size of the arena; offsets are multiples of 64."""
    offsets, size = _sweep(intervals)
    if len(intervals) <= _SMALL:
        other, other_size = _largest_first(intervals)
        if other_size < size:
            return other, other_size
    return offsets, size


def rounded(nbytes: int) -> int:
    """The size with the bytes up to the next multiple of the alignment."""
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _largest_first(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    order = sorted(range(len(intervals)), key=lambda k: (-intervals[k].nbytes, intervals[k].first, k))
    offsets = [0] * len(intervals)
    placed: list[tuple[int, int, int, int]] = []
    size = 0
    for k in order:
        mine = intervals[k]
        need = rounded(mine.nbytes)
        offset = 0
        for start, stop, first, last in placed:
            if first > mine.last or last < mine.first:
                continue
            if start - offset >= need:
                break
            offset = max(offset, stop)
        offsets[k] = offset
        insort(placed, (offset, offset + need, mine.first, mine.last))
        size = max(size, offset + need)
    return offsets, size


def _sweep(intervals: Sequence[Interval]) -> tuple[list[int], int]:
    """Best fit among the holes left by buffers that died before; neighbouring holes are joined."""
    births = sorted(range(len(intervals)), key=lambda k: (intervals[k].first, -intervals[k].nbytes, k))
    deaths = sorted(range(len(intervals)), key=lambda k: (intervals[k].last, k))
    offsets = [0] * len(intervals)
    holes = _Holes()
    dead = 0
    for k in births:
        while intervals[deaths[dead]].last < intervals[k].first:
            gone = deaths[dead]
            holes.give_back(offsets[gone], rounded(intervals[gone].nbytes))
            dead += 1
        offsets[k] = holes.take(rounded(intervals[k].nbytes))
    return offsets, holes.size


class _Holes:
    """Free ranges below `size`, by size and by both ends."""

    def __init__(self) -> None:
        self.size = 0
        self._by_size: list[tuple[int, int]] = []
        self._starts: dict[int, int] = {}
        self._stops: dict[int, int] = {}

    def take(self, nbytes: int) -> int:
        """The offset of a range of this size: the tightest hole, else the arena grows at its end."""
        place = bisect_left(self._by_size, (nbytes, 0))
        if place < len(self._by_size):
            length, start = self._by_size[place]
            self._remove(start, start + length)
            if length > nbytes:
                self._add(start + nbytes, start + length)
            return start
        start = self._stops.get(self.size, self.size)
        if start < self.size:
            self._remove(start, self.size)
        self.size = start + nbytes
        return start

    def give_back(self, start: int, nbytes: int) -> None:
        """Make a range free again."""
        stop = start + nbytes
        if start in self._stops:
            before = self._stops[start]
            self._remove(before, start)
            start = before
        if stop in self._starts:
            after = self._starts[stop]
            self._remove(stop, after)
            stop = after
        self._add(start, stop)

    def _add(self, start: int, stop: int) -> None:
        insort(self._by_size, (stop - start, start))
        self._starts[start] = stop
        self._stops[stop] = start

    def _remove(self, start: int, stop: int) -> None:
        del self._by_size[bisect_left(self._by_size, (stop - start, start))]
        del self._starts[start]
        del self._stops[stop]
