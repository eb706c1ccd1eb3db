"""Warm calls: the straight way notices every change that matters, and gives what the long way gives."""

from __future__ import annotations

import enum
import gc
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiled import WARM_WAYS, CompiledFunction
from tapeless.tracer.errors import ArgumentError, ClosureWriteError
from tapeless.tracer.signature import MISS

pytestmark = pytest.mark.filterwarnings("ignore::tapeless.RetraceWarning")


@pytest.fixture(autouse=True, params=["numpy", "native"])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both executors, each with a check of its own."""
    if request.param == "native":
        pytest.importorskip("llvmlite")
    monkeypatch.setenv("TAPELESS_EXECUTOR", request.param)


def warmed(function: Callable[..., Any], *args: Any, **options: Any) -> CompiledFunction:
    """The function compiled and called three times; the third call went the straight way."""
    compiled = tl.compile(function, **options)
    for _ in range(3):
        compiled(*args)
    assert len(compiled._warm) == 1
    assert is_warm(compiled, *args)
    return compiled


def is_warm(compiled: CompiledFunction, *args: Any, **kwargs: Any) -> bool:
    return any(way(args, kwargs) is not MISS for way in compiled._warm)


def double(x: Any) -> Any:
    return x * 2


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass
class Layer:
    w: Any
    b: Any


class MyArray(np.ndarray):
    pass


def read_only(x: np.ndarray) -> np.ndarray:
    x.flags.writeable = False
    return x


CHANGED_ARRAYS = {
    "dtype": lambda: np.ones((2, 3), np.float32),
    "byte order": lambda: np.ones((2, 3), ">f8"),
    "shape": lambda: np.ones((3, 2)),
    "dimensions": lambda: np.ones(6),
    "strides": lambda: np.ones((3, 2)).T,
    "step": lambda: np.ones((2, 6))[:, ::2],
    "read-only": lambda: read_only(np.ones((2, 3))),
    "list": lambda: [1.0, 2.0],
    "number": lambda: 2.0,
    "numpy scalar": lambda: np.float64(2),
    "string": lambda: "ab",
    "0-d": lambda: np.array(2.0),
    "empty": lambda: np.ones((0, 3)),
}


@pytest.mark.parametrize("name", CHANGED_ARRAYS)
def test_another_kind_of_array_misses(name: str) -> None:
    compiled = warmed(double, np.ones((2, 3)))
    assert not is_warm(compiled, CHANGED_ARRAYS[name]())


def test_an_equal_array_at_another_place_hits() -> None:
    compiled = warmed(double, np.ones((2, 3)))
    assert is_warm(compiled, np.zeros((2, 3)))
    assert np.array_equal(compiled(np.full((2, 3), 4.0)), np.full((2, 3), 8.0))
    assert compiled.stats.traces == 1


def test_subclasses_miss_and_are_refused() -> None:
    compiled = warmed(double, np.ones(3))
    with pytest.raises(ArgumentError, match="MyArray"):
        compiled(np.ones(3).view(MyArray))


IN_PLACE = {
    "shape": lambda x: setattr(x, "shape", (3, 2)),
    "dtype": lambda x: setattr(x, "dtype", np.int64),
    "writeable": lambda x: x.setflags(write=False),
    "resize": lambda x: x.resize((3, 2), refcheck=False),
}


@pytest.mark.parametrize("change", IN_PLACE)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_same_object_changed_in_place_misses(change: str) -> None:
    x = np.arange(6.0).reshape(2, 3).copy()
    compiled = warmed(double, x)
    IN_PLACE[change](x)
    assert not is_warm(compiled, x)
    result = compiled(x)
    assert result.shape == x.shape
    assert result.dtype == x.dtype
    assert np.array_equal(result, x * 2)
    assert compiled.stats.traces == 2


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_strides_changed_in_place_miss() -> None:
    x = np.arange(9.0).reshape(3, 3).copy()
    compiled = warmed(double, x)
    x.strides = (8, 24)
    assert not is_warm(compiled, x)
    assert np.array_equal(compiled(x), x * 2)


def test_another_object_at_the_same_address_is_looked_at_anew() -> None:
    compiled = warmed(double, np.ones(3))
    for dtype in (np.float64, np.float32, np.int64) * 5:
        x = np.arange(3, dtype=dtype)
        result = compiled(x)
        assert result.dtype == x.dtype
        assert np.array_equal(result, x * 2)
        del x, result
        gc.collect(0)


def shift(x: Any, y: Any) -> Any:
    x += 1
    return x + y


OVERLAPS = {
    "same": lambda m: (m[:4], m[:4]),
    "part": lambda m: (m[:4], m[2:6]),
    "next": lambda m: (m[:4], m[4:8]),
    "owner": lambda m: (m, m[:]),
    "one": lambda m: (m, m),
}


@pytest.mark.parametrize("views", [False, True], ids=["warm-owners", "warm-views"])
@pytest.mark.parametrize("name", OVERLAPS)
def test_a_new_overlap_is_noticed(name: str, views: bool) -> None:
    long = name in ("owner", "one")
    one, two = np.zeros(8), np.zeros(8)
    first = (one, two) if long else (one[:4], two[:4]) if views else (np.zeros(4), np.zeros(4))
    compiled = warmed(shift, *first)
    memory, expected = np.arange(8.0), np.arange(8.0)
    args = OVERLAPS[name](memory)
    right = shift(*OVERLAPS[name](expected))
    assert not any(way(args, {}) is not MISS for way in compiled._warm)
    assert np.array_equal(compiled(*args), right)
    assert np.array_equal(memory, expected)


def test_views_of_different_owners_are_warm() -> None:
    data, target = np.arange(20.0), np.arange(20.0)
    compiled = warmed(lambda x, y, z: (x * y).sum() + z, data[:4], target[:4], np.zeros(3))
    for k in range(0, 20, 4):
        assert is_warm(compiled, data[k : k + 4], target[k : k + 4], np.zeros(3))
    assert compiled.stats.traces == 1


def test_views_of_memory_that_is_no_array_take_the_long_way() -> None:
    compiled = tl.compile(lambda x, y: x + y)
    buffers = [bytearray(np.arange(4.0).tobytes()) for _ in range(2)]
    for _ in range(3):
        assert np.array_equal(compiled(*map(np.frombuffer, buffers)), np.arange(4.0) * 2)
    assert not is_warm(compiled, *map(np.frombuffer, buffers))


def total(p: Any) -> Any:
    if isinstance(p, dict):
        p = list(p.values())
    return sum(v for v in p if v is not None)


CONTAINERS = {
    "key": ({"a": 1.0, "b": 2.0}, {"a": 1.0, "c": 2.0}),
    "order": ({"a": 1.0, "b": 2.0}, {"b": 1.0, "a": 2.0}),
    "more": ({"a": 1.0}, {"a": 1.0, "b": 2.0}),
    "fewer": ([1.0, 2.0], [1.0]),
    "kind": ([1.0, 2.0], (1.0, 2.0)),
    "mapping": ({"a": 1.0}, OrderedDict(a=1.0)),
    "none": ([1.0, None], [1.0, 2.0]),
    "some": ([1.0, 2.0], [1.0, None]),
    "number": ([1.0, 2.0], [1.0, 2]),
    "nested": ([1.0, [2.0]], [1.0, (2.0,)]),
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_another_container_misses(name: str) -> None:
    before, after = CONTAINERS[name]
    compiled = warmed(lambda p: [p], before)
    assert not is_warm(compiled, after)
    found = compiled(after)[0]
    assert type(found) is type(after)
    assert list(found) == list(after)
    assert compiled.stats.traces == 2


def test_a_container_changed_in_place_misses() -> None:
    p = {"a": 1.0, "b": 2.0}
    compiled = warmed(total, p)
    p["c"] = 4.0
    assert compiled(p) == 7.0
    p["c"] = np.float32(5)  # type: ignore[assignment]
    assert type(compiled(p)) is np.float64 or compiled(p) == 8.0
    assert compiled.stats.traces == 3


def test_tuples_with_names_and_dataclasses_are_warm() -> None:
    compiled = warmed(lambda p, m: p.a * m.w + m.b, Pair(2.0, 3.0), Layer(np.ones(2), 1.0))
    assert np.array_equal(compiled(Pair(3.0, 0.0), Layer(np.ones(2), 2.0)), [5.0, 5.0])
    assert not is_warm(compiled, (2.0, 3.0), Layer(np.ones(2), 1.0))
    assert not is_warm(compiled, Pair(2.0, 3.0), Layer(np.ones(2), 1))


def test_one_container_passed_twice_misses() -> None:
    def move(p: Any, q: Any) -> Any:
        p["n"] = p["n"] + 1.0
        return q["n"]

    compiled = warmed(move, {"n": 1.0}, {"n": 5.0})
    p = {"n": 1.0}
    assert not any(way((p, p), {}) is not MISS for way in compiled._warm)


STATIC = {
    "bool": (True, False),
    "string": ("a", "b"),
    "none": (None, "a"),
    "enum": (Color.RED, Color.BLUE),
    "callable": (np.sin, np.cos),
    "function": (double, total),
    "bool or int": (True, 1),
}


@pytest.mark.parametrize("name", STATIC)
def test_static_leaves_are_compared(name: str) -> None:
    before, after = STATIC[name]
    compiled = warmed(lambda x, s: (x * 2, str(s)), 2.0, before)
    assert not is_warm(compiled, 2.0, after)
    assert compiled.stats.traces == 1


class Setting:
    """A static value that changes."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Setting) and self.value == other.value


def test_a_static_object_that_changes_is_noticed() -> None:
    compiled = tl.compile(lambda x, s: x * s.value)
    setting = Setting(2)
    assert [compiled(3.0, setting) for _ in range(3)] == [6.0] * 3
    setting.value = 4
    assert compiled(3.0, setting) == 12.0


def test_static_arguments_are_compared_by_value_and_type() -> None:
    compiled = warmed(lambda x, n: x + (1 if type(n) is int else 2) * n, 1.0, 3, static="n")
    assert compiled(1.0, 4) == 5.0
    assert compiled(1.0, 3.0) == 7.0
    assert compiled(1.0, 3) == 4.0
    assert compiled.stats.traces == 3


def test_lengths_that_became_static_are_compared() -> None:
    compiled = tl.compile(lambda x, n: x[:n] * n)
    x = np.arange(5.0)
    for n in (2, 2, 2, 3, 3, 3, 2):
        assert np.array_equal(compiled(x, n), x[:n] * n)
    assert compiled.stats.traces == 2


def test_a_demand_of_a_later_trace_reaches_warm_ways() -> None:
    def pick(x: Any, n: Any) -> Any:
        return x[n] if x.ndim == 1 else x * n

    compiled = tl.compile(pick)
    grid, line = np.ones((2, 2)), np.arange(3.0)
    for x, n in ((grid, 1), (grid, 1), (grid, 2), (line, 0), (line, 1), (grid, 1), (grid, 2), (line, 0)):
        assert np.array_equal(compiled(x, n), pick(x, n))


SCALE = 2.0


def test_guards_are_asked_at_each_call() -> None:
    global SCALE
    SCALE = 2.0
    compiled = warmed(lambda x: x * SCALE, 3.0)
    assert compiled(3.0) == 6.0
    SCALE = 5.0
    assert compiled(3.0) == 15.0
    SCALE = 2.0
    assert compiled(3.0) == 6.0
    assert compiled.stats.traces == 3


def test_closed_over_arrays_are_read_at_each_call() -> None:
    held = np.ones(3)
    compiled = warmed(lambda x: x + held, np.zeros(3))
    held[:] = 4
    assert np.array_equal(compiled(np.zeros(3)), np.full(3, 4.0))


def test_a_written_argument_that_is_closed_over_is_refused() -> None:
    held = np.ones(3)

    def add(x: Any) -> Any:
        x += held

    compiled = warmed(add, np.zeros(3))
    with pytest.raises(ClosureWriteError):
        compiled(held)


def test_results_outlive_the_next_call() -> None:
    compiled = warmed(lambda p, x: {"y": [p["w"] * x, x.sum()], "x": x}, {"w": np.ones(3)}, np.ones(3))
    kept = [compiled({"w": np.full(3, float(k))}, np.ones(3)) for k in range(5)]
    for k, result in enumerate(kept):
        assert np.array_equal(result["y"][0], np.full(3, float(k)))
    assert len({id(result["y"]) for result in kept}) == 5


def test_results_alias_as_the_function_says() -> None:
    def function(x: Any) -> Any:
        inner = [x]
        y = x * 2
        return x, x[1:], inner, inner, y, y

    compiled = tl.compile(function)
    for _ in range(3):
        x = np.arange(4.0)
        same, view, one, two, y, z = compiled(x)
        assert same is x
        assert np.shares_memory(view, x)
        assert one is two
        assert one[0] is x
        assert y is z


def test_containers_are_changed_on_the_way() -> None:
    def push(state: Any, x: Any) -> Any:
        state["last"] = x * 2
        return state

    compiled = tl.compile(push)
    state = {"last": 0.0}
    for k in range(5):
        assert compiled(state, float(k)) is state
        assert state == {"last": 2.0 * k}


def test_keywords_in_another_order() -> None:
    compiled = tl.compile(lambda a, b: a - b)
    for _ in range(3):
        assert compiled(a=3.0, b=1.0) == 2.0
        assert compiled(b=1.0, a=3.0) == 2.0
        assert compiled(3.0, b=1.0) == 2.0
        assert compiled(3.0, 1.0) == 2.0
    with pytest.raises(TypeError):
        compiled(3.0)
    with pytest.raises(TypeError):
        compiled(3.0, 1.0, 2.0)


def test_generators_draw_in_order() -> None:
    compiled = tl.compile(lambda rng, x: rng.normal() * x)
    ours, numpys = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(5):
        assert compiled(ours, 2.0) == numpys.normal() * 2.0


def test_signatures_in_turn_keep_their_ways() -> None:
    compiled = tl.compile(double)
    shapes = [(k,) for k in range(WARM_WAYS + 2)]
    for _ in range(4):
        for shape in shapes:
            assert compiled(np.ones(shape)).shape == shape
    assert len(compiled._warm) == WARM_WAYS
    assert compiled.stats.traces == len(shapes)
    assert compiled.stats.calls == 4 * len(shapes)


def test_errors_show_no_frame_of_ours() -> None:
    compiled = tl.compile(lambda x, y: x / y)
    for _ in range(3):
        compiled(1.0, 2.0)
    with pytest.raises(ZeroDivisionError) as caught:
        compiled(1.0, 0.0)
    files = [str(entry.path) for entry in caught.traceback]
    assert not any("tapeless" in file and "tests" not in file for file in files[1:])
    assert compiled(1.0, 4.0) == 0.25


def test_threads_do_not_meet() -> None:
    compiled = tl.compile(lambda p, x: (p["w"] * x + x).sum())
    wrong: list[Any] = []

    def work(number: float) -> None:
        for k in range(200):
            n = 3 + k % 3
            got = compiled({"w": np.full(n, number)}, np.full(n, number))
            if got != n * (number * number + number):
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_inside_of_a_trace_is_traced() -> None:
    inner = warmed(double, np.ones(3))
    outer = tl.compile(lambda x: inner(x) + 1)
    for _ in range(3):
        assert np.array_equal(outer(np.ones(3)), np.full(3, 3.0))
    assert inner.stats.calls == 3


@pytest.mark.parametrize("first", ["apart", "shared"])
def test_shared_containers_belong_to_the_signature(first: str) -> None:
    def move(p: Any, q: Any) -> Any:
        p["n"] = p["n"] + 1.0
        return q["n"]

    compiled = tl.compile(move)
    for shared in (first == "shared", first != "shared") * 3:
        p = {"n": 1.0}
        assert compiled(p, p if shared else {"n": 1.0}) == (2.0 if shared else 1.0)
        assert p == {"n": 2.0}
    assert compiled.stats.traces == 2


def test_views_are_warm_where_owners_came_first() -> None:
    data = np.arange(20.0)
    compiled = warmed(lambda p, x: (p["w"] * x).sum(), {"w": np.ones(4)}, np.ones(4))
    for k in range(0, 20, 4):
        assert compiled({"w": np.ones(4)}, data[k : k + 4]) == data[k : k + 4].sum()
    assert is_warm(compiled, {"w": data[:4]}, np.ones(4))
    assert not is_warm(compiled, {"w": data[:4]}, data[4:8])
    assert compiled.stats.traces == 1


def test_native_leaves_numbers_to_python() -> None:
    compiled = tl.compile(lambda a, b: (a / b, a**b), executor="native")
    assert compiled(3.0, 2.0) == (1.5, 9.0)
    assert compiled(-8.0, 0.5) == (-16.0, (-8.0) ** 0.5)
    with pytest.raises(ZeroDivisionError):
        compiled(1.0, 0.0)
    assert compiled(10**30, 3) == (10**30 / 3, 10**90)
    assert "no arrays" in compiled.explain()
    assert "divide" in str(compiled.plan(1.0, 2.0))
