"""Arrays of every kind as arguments, alone, twice, as views of one another; values no rounding may touch."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

Kind = Callable[[Any], Any]
EXECUTORS = ["numpy", "interpret"]
VALUES = np.array([[1.5, -2.0, 3.25], [0.5, 4.0, -6.0]])


def same(found: Any, expected: Any) -> None:
    """The same array or NumPy scalar: class, dtype, shape, strides, bytes."""
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert found.tobytes() == expected.tobytes()
    lengths = zip(found.shape, found.strides, expected.strides, strict=True)
    assert not found.size or all(a == b for n, a, b in lengths if n > 1)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_reading(kind: Kind, dtype: str, executor: str) -> None:
    def read(x: Any) -> Any:
        return x, x * 2, x + x.T.T, np.sum(x), x.copy(), x.ravel(), x.T, np.sort(x, None), x[...], np.abs(x)

    x = kind(VALUES.astype(dtype))
    compiled = tl.compile(read, executor=executor)
    for found, expected in zip(compiled(x), read(x), strict=True):
        same(found, expected)
    assert compiled(x)[0] is x
    assert np.shares_memory(compiled(x)[6], x) == np.shares_memory(x.T, x)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_writing(kind: Kind, executor: str) -> None:
    def write(x: Any) -> Any:
        x += 1
        x[...] = x * 2
        y = x.reshape(-1)
        y[:1] = 7
        x.T[...] -= 0.5
        return y

    mine, its = kind(VALUES), kind(VALUES)
    compiled = tl.compile(write, executor=executor)
    if mine.flags.writeable:
        found, expected = compiled(its), write(mine)
        same(found, expected)
        same(its, mine)
        assert np.shares_memory(found, its) == np.shares_memory(expected, mine)
    else:
        for run, x in ((write, mine), (compiled, its)):
            with pytest.raises(ValueError, match="read-only"):
                run(x)
        assert its.tobytes() == kind(VALUES).tobytes()


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_gradients(kind: Kind, dtype: str) -> None:
    x = kind(VALUES.astype(dtype))
    gradient = tl.grad(lambda x: np.sum(x * x))(x)
    assert gradient.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(gradient, 2 * x)


def test_one_array_twice() -> None:
    def both(x: Any, y: Any) -> Any:
        x += 1
        y *= 2
        return x, y, x is y

    a = np.arange(3.0)
    compiled = tl.compile(both)
    x, y, identical = compiled(a, a)
    assert x is a
    assert y is a
    assert identical
    np.testing.assert_array_equal(a, [2.0, 4.0, 6.0])
    x, y, identical = compiled(np.zeros(3), np.ones(3))
    assert not identical
    np.testing.assert_array_equal(np.stack([x, y]), [[1, 1, 1], [2, 2, 2]])


OVERLAPS: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "whole_and_part": lambda m: (m, m[1:]),
    "part_and_whole": lambda m: (m[::2], m),
    "two_parts": lambda m: (m[:5], m[3:]),
    "reversed": lambda m: (m, m[::-1]),
    "interleaved": lambda m: (m[::2], m[1::2]),
    "disjoint": lambda m: (m[:4], m[4:]),
    "square_and_row": lambda m: (m.reshape(2, 4), m[2:5]),
    "transposed": lambda m: (m.reshape(2, 4), m.reshape(2, 4).T),
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("overlap", OVERLAPS)
def test_arguments_that_are_views_of_one_another(overlap: str, executor: str) -> None:
    def function(x: Any, y: Any) -> Any:
        x += 1
        y *= 3
        x[..., :1] = y.sum()
        return x[..., 1:], y, np.shares_memory(x, y)

    outcomes = []
    for run in (function, tl.compile(function, executor=executor)):
        memory = np.arange(8.0)
        x, y = OVERLAPS[overlap](memory)
        views, returned, shared = run(x, y)
        outcomes.append((memory, views, shared, returned is y, np.shares_memory(views, memory)))
    for expected, found in zip(*outcomes, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize(
    "view",
    {
        "whole": lambda m: m.view("i8"),
        "parts": lambda m: m.view("f4")[1::2],
        "bytes": lambda m: m.view("u1")[3:29],
        "shifted": lambda m: m.view("u1")[4:28].view("f8"),
        "twice": lambda m: m.view("i8").reshape(2, 2).T,
    }.items(),
    ids=lambda view: view[0],
)
def test_views_of_other_dtypes_are_read(view: tuple[str, Kind], executor: str) -> None:
    def read(x: Any, y: Any, z: Any) -> Any:
        assert np.shares_memory(x, y)
        assert not np.shares_memory(x[:1], z[:1])
        return x + 1, y[:2], np.sum(y), x, z[1:] * y.flat[0]

    memory = np.arange(1.0, 5.0)
    arguments = memory, view[1](memory), memory[::-1]
    results = tl.compile(read, executor=executor)(*arguments)
    for found, expected in zip(results, read(*arguments), strict=True):
        same(found, expected)
    assert results[3] is memory
    assert np.shares_memory(results[1], memory)


@pytest.mark.parametrize("written", ["x", "y"])
def test_writes_beside_views_of_other_dtypes_are_refused(written: str) -> None:
    def write(x: Any, y: Any) -> Any:
        (x if written == "x" else y)[0] = 1
        return x + y

    memory = np.arange(4.0)
    with pytest.raises(tl.TapelessError, match="another dtype"):
        tl.compile(write)(memory, memory.view(np.int64))
    np.testing.assert_array_equal(memory, np.arange(4.0))


@pytest.mark.parametrize("executor", EXECUTORS)
def test_results_that_are_arguments(executor: str) -> None:
    def function(x: Any, y: Any, box: Any) -> Any:
        return y, x, box["in"], box, y[1:], (x, x)

    x, y, inner = np.ones(2), np.zeros(3), np.ones(1)
    box = {"in": inner}
    a, b, c, d, e, (f, g) = tl.compile(function, executor=executor)(x, y, box)
    assert a is y
    assert b is f is g is x
    assert c is inner
    assert d is box
    assert e.base is y


def test_results_belong_to_the_caller() -> None:
    compiled = tl.compile(lambda x: (x * 2, np.zeros(3), np.arange(3.0), (x + 1)[1:]))
    first = compiled(np.ones(3))
    kept = [r.copy() for r in first]
    for result in compiled(np.full(3, 9.0)):
        result[...] = -1
    for result, before in zip(first, kept, strict=True):
        np.testing.assert_array_equal(result, before)
    for one, other in itertools.combinations(first, 2):
        assert not np.shares_memory(one, other)


def test_payloads_and_signs_survive() -> None:
    bits = np.array(
        [0x7FF8000000000123, 0xFFF0000000000000, 0x8000000000000000, 0x7FF4000000000001], np.uint64
    )
    x = bits.view(np.float64)
    box = {"x": x.copy()}

    def move(x: Any, box: Any) -> Any:
        box["x"][::-1] = x
        y = np.empty(4)
        y[:] = x
        return x.copy(), y, x[[3, 2, 1, 0]], np.where(x == x, x, x), box["x"], -x, x * 1.0

    with np.errstate(all="ignore"):
        found = tl.compile(move, executor="numpy")(x, box)
        expected = move(x, {"x": x.copy()})
    for one, other in zip(found, expected, strict=True):
        assert one.tobytes() == other.tobytes()
    assert np.array_equal(box["x"].view(np.uint64), bits[::-1])


@pytest.mark.parametrize("value", [0.0, -0.0, np.nan, np.inf, -np.inf, 5e-324, 1.7e308])
def test_special_numbers_stay_what_they_are(value: float) -> None:
    def function(x: Any, number: float) -> Any:
        return x + number, x * number, number, -number, x - x * number, x * 0.0, number * 1.0

    x = np.array([1.0, -0.0])
    with np.errstate(all="ignore"):
        results, plain = tl.compile(function)(x, value), function(x, value)
    for found, expected in zip(results, plain, strict=True):
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
