"""Warm calls: the straight way notices every change that matters, and gives what the long way gives."""

from __future__ import annotations

import enum
import gc
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiled import CompiledFunction
from tapeless.tracer.errors import ArgumentError
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
