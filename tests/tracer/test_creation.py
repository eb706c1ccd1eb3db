"""Arrays that a traced function creates: they belong to the trace, and mean what they mean in NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy import array, zeros

import tapeless as tl

X = Callable[[int], tuple[Any, ...]]


def vectors(seed: int) -> tuple[Any, ...]:
    return (np.random.default_rng(seed).normal(size=4),)


def matrices(seed: int) -> tuple[Any, ...]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(3, 4)), np.asfortranarray(rng.normal(size=(3, 4)))


def filled_zeros(x: Any) -> Any:
    out = np.zeros((3, 4), order="F")
    out[1] = x
    out[0, :2] += x[:2]
    return out


def filled_empty(x: Any) -> Any:
    out = np.empty(6, dtype="f4")
    out[:4] = x
    out[4:] = 1
    return out


def filled_ones(x: Any) -> Any:
    out = np.ones((2, 4), int)
    view = out.T
    view[0] = 5
    out[1] = x
    return out, view


def filled_full(x: Any) -> Any:
    return (
        np.full(3, x[0]),
        np.full((2, 4), x),
        np.full(2, 7),
        np.full(2, x[1], dtype="i4"),
        np.full((), x[2]),
    )


def filled_by_elements(x: Any) -> Any:
    out = np.empty((2, 2))
    for i in range(2):
        for j in np.arange(2):
            out[i, j] = x[i + j] * j
    return out


def filled_like(x: Any) -> Any:
    zeros_, ones_, full_ = np.zeros_like(x), np.ones_like(x, dtype=int), np.full_like(x, 2.5)
    zeros_[0] = x[1]
    full_[1:] = x[1:]
    return zeros_, ones_, full_


def from_imported_names(x: Any) -> Any:
    out = zeros(2)
    out[0] = x[0]
    return out, array([x[0], 2.0])


def ranges(x: Any) -> Any:
    grid = np.arange(4) * 0.5
    grid[0] = x[0]
    return (
        grid,
        np.linspace(0, 1, 4) + x,
        np.eye(2) * x[0],
        np.identity(2),
        np.tri(2),
        np.logspace(0, 1, 3),
        np.arange(3),
    )


def grids(x: Any) -> Any:
    rows, columns = np.indices((2, 2))
    mesh = np.mgrid[0:2, 0:3]
    made = np.fromfunction(lambda i, j: i * x[0] + j, (2, 3))
    return rows * x[0] + columns, mesh * x[1], made, np.ogrid[0:3] + x[:3]


def windows_of_constants(x: Any) -> Any:
    table = np.hanning(4)
    first, *_ = np.tril_indices(3)
    return table * x, first, np.fromiter((i * 2.0 for i in range(4)), float) + x


def constants_decide(x: Any) -> Any:
    weights = np.ones(3)
    if weights.sum() == 3 and bool(weights.all()):
        x = x * 2
    for i in np.arange(2):
        x[i] += float(weights[i])
    return x.reshape(np.array([2, 2])), range(int(weights[0]))


@pytest.mark.parametrize(
    "function",
    [
        filled_zeros,
        filled_empty,
        filled_ones,
        filled_full,
        filled_by_elements,
        filled_like,
        from_imported_names,
        ranges,
        grids,
        windows_of_constants,
        constants_decide,
    ],
)
def test_created_arrays_take_traced_values(function: Any, agree: Callable[..., None]) -> None:
    agree(function, vectors)


def stacked(x: Any) -> Any:
    return (
        np.array([x, 2 * x]),
        np.array([x[0], 1.0]),
        np.array((x[0], x[1], 3)),
        np.array([[x[0], 0], [1, x[1]]]),
    )


def nested(x: Any) -> Any:
    return np.array([[[x, x], [x + 1, np.ones(4)]]]), np.array([[x[:2]], [[1, 2]]]), np.array([x[:0], []])


def typed(x: Any) -> Any:
    half = x.astype("f4")
    return (
        np.array([half, half]),
        np.array([half[0], 1.0]),
        np.array([half[0], np.float32(1)]),
        np.array([x, x], dtype="f4"),
        np.array([x[0], 2.7], dtype=int),
        np.array([x[0], 1j]),
        np.array([x[0] > 0, True]),
        np.array([x[0] > 0, 2]),
    )


def copies(x: Any) -> Any:
    a = np.array(x)
    a[0] = 9
    b = np.array(x, copy=None)
    b[1] = 8
    c = np.asarray(x)
    c[2] = 7
    return (
        a,
        b,
        c,
        x,
        np.array(x, ndmin=3),
        np.array(x[0]),
        np.asarray(x[0], dtype="f4"),
        np.ascontiguousarray(x[::2]),
    )


def same_objects(x: Any) -> Any:
    return (
        np.asarray(x) is x,
        np.asanyarray(x) is x,
        np.array(x, copy=False) is x,
        np.ascontiguousarray(x) is x,
        np.array(x) is x,
        np.asarray(x, dtype=float) is x,
        np.asarray(x, dtype="f4") is x,
        np.asarray(x[0]) is x[0],
    )


def zero_dimensional(x: Any) -> Any:
    a = np.array(3.0)
    b = np.zeros(())
    b[...] = x[0]
    return a + x, a[()] * x[0], np.array(x[1]), b, np.array([a, x[0]])


@pytest.mark.parametrize("function", [stacked, nested, typed, copies, same_objects, zero_dimensional])
def test_conversions_are_numpys(function: Any, agree: Callable[..., None]) -> None:
    agree(function, vectors)


def orders(x: Any, y: Any) -> Any:
    return (
        [np.array(v, order=o) for v in (x, y, x.T) for o in "KACF"],
        [np.asarray(v, order=o) for v in (x, y, x[:, ::2]) for o in ("C", "F", "A", "K", None)],
        [np.array(v, dtype="f4", order=o) for v in (x, y) for o in "KACF"],
        np.asfortranarray(x),
        np.ascontiguousarray(y),
        np.asfortranarray(x[0]),
        np.array([x, y], order="F"),
        [np.asarray(v, order="F") is v for v in (x, y)],
        [np.asarray(v, order="A") is v for v in (x, y, x.T)],
    )


def test_layouts_of_conversions_are_numpys(agree: Callable[..., None]) -> None:
    agree(orders, matrices)


def numbers(n: Any, s: Any) -> Any:
    return (
        np.array([n, s]),
        np.array([n, n]),
        np.array(s),
        np.asarray([s, 1]),
        np.full(2, s),
        np.array([n, 2.5]),
    )


def test_python_numbers_become_elements(agree: Callable[..., None]) -> None:
    agree(numbers, lambda seed: (seed + 3, seed + 0.5))


def test_a_python_int_as_a_length_becomes_static() -> None:
    @tl.compile
    def padded(x: Any, n: int) -> Any:
        out = np.zeros(n)
        out[: len(x)] = x
        return out, np.arange(n) * x[0], np.full(n, x[1]), np.linspace(0, n, n)

    x = np.array([2.0, 3.0])
    for n in (3, 5, 3):
        for found, expected in zip(padded(x, n), padded.function(x, n), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert padded.stats.traces == 2


def test_zeros_are_no_literal_in_the_graph() -> None:
    graph = tl.trace(lambda x: np.zeros((1000, 1000)) + x, 1.0)
    sizes = [node.attrs["value"].value.size for node in graph.nodes if node.op.name == "constant"]
    assert max(sizes) == 1


def test_what_is_no_number_stays_numpys() -> None:
    def names(x: Any) -> Any:
        words = np.array(["a", "b"])
        objects = np.array([None, x], dtype=object) if x is None else np.zeros(2, object)
        times = np.array(["2020-01-01"], dtype="M8[D]")
        assert type(words) is type(objects) is type(times) is np.ndarray
        return x * len(words)

    assert tl.compile(names)(2.0) == 4.0


@pytest.mark.parametrize(
    ("function", "words"),
    [
        pytest.param(lambda x: np.arange(x[0]), "np.arange of a traced value", id="arange"),
        pytest.param(lambda x: np.array([x[0], None]), "object", id="objects"),
        pytest.param(lambda x: np.asarray(x, dtype=object), "object", id="dtype-object"),
        pytest.param(lambda x: np.zeros(x[0].astype(int)), "index", id="length"),
        pytest.param(lambda x: np.array(x, like=x), "like=", id="like"),
        pytest.param(lambda x: np.frombuffer(x), "buffer|bytes-like", id="frombuffer"),
    ],
)
def test_what_cannot_be_is_refused(function: Any, words: str) -> None:
    with pytest.raises((tl.TapelessError, TypeError, ValueError), match=words):
        tl.compile(function)(np.ones(3))


def test_numpys_own_errors_come_in_its_words() -> None:
    for function in (lambda x: np.array([x, x[:2]]), lambda x: np.array(x, dtype="i8", copy=False)):
        with pytest.raises(ValueError) as expected:
            function(np.ones(3))
        with pytest.raises(ValueError) as found:
            tl.compile(function)(np.ones(3))
        assert str(expected.value)[:60] == str(found.value)[:60]


LEAVES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "element": lambda x, i, s: x[1],
    "sum": lambda x, i, s: x.sum(),
    "single": lambda x, i, s: x.astype("f4")[0],
    "integer": lambda x, i, s: i[0],
    "truth": lambda x, i, s: x[2] > 0,
    "python-float": lambda x, i, s: s,
    "number": lambda x, i, s: 2,
    "literal": lambda x, i, s: 0.5,
    "scalar": lambda x, i, s: np.float32(1.5),
    "zero-dimensional": lambda x, i, s: np.asarray(x[0]),
    "complex": lambda x, i, s: x[0] * 1j,
    "vector": lambda x, i, s: x[:2],
    "integers": lambda x, i, s: i[:2],
    "ones": lambda x, i, s: np.ones(2),
    "matrix": lambda x, i, s: x.reshape(2, 2),
}


def built(shape: Any, x: Any, i: Any, s: Any) -> Any:
    if isinstance(shape, str):
        return LEAVES[shape](x, i, s)
    return type(shape)(built(part, x, i, s) for part in shape)


NESTED = st.recursive(
    st.sampled_from(list(LEAVES)),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, min_size=1, max_size=2).map(tuple),
    max_leaves=8,
).filter(lambda shape: not isinstance(shape, str))


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")
@settings(max_examples=150)
@given(NESTED, st.sampled_from([None, "f8", "f4", "i4", "c16", "?"]), st.sampled_from(["K", "F"]))
def test_any_nested_list_is_numpys(shape: Any, dtype: Any, order: Any) -> None:
    def make(x: Any, i: Any, s: Any) -> Any:
        return np.array(built(shape, x, i, s), dtype=dtype, order=order)

    def arguments(seed: int) -> tuple[Any, Any, float]:
        rng = np.random.default_rng(seed)
        return rng.normal(size=4), rng.integers(0, 9, 3), seed + 0.25

    compiled = tl.compile(make)
    try:
        expected = make(*arguments(1))
    except (ValueError, TypeError) as error:
        with pytest.raises(type(error)):
            compiled(*arguments(1))
        return
    compiled(*arguments(0))
    found = compiled(*arguments(1))
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()
    assert found.flags.c_contiguous == expected.flags.c_contiguous


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_what_lay_in_memory_is_not_in_the_graph(mode: Any) -> None:
    texts = set()
    for fill in (1.0, 2.0, 3.0):
        x = np.full((3, 4), fill)
        del x
        texts.add(str(tl.trace(lambda t: np.pad(t, 1, mode=mode), np.ones((1, 2)))))
    assert len(texts) == 1
    assert "e-3" not in texts.pop()
