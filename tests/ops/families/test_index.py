"""gather, take, scatter and their like: NumPy's own indexing to the bit, duplicates and all."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.ir import Builder, NotDifferentiable, TypeRuleError
from tapeless.compiler.ir.opdef import NotDifferentiableError
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.ir.visit import topological
from tapeless.compiler.ops.index import full_index


@st.composite
def indexed(draw: Any) -> tuple[Any, tuple[int, ...], list[Any]]:
    """An array, axes of it, and index arrays that broadcast together."""
    shape = tuple(draw(st.lists(st.integers(1, 4), min_size=1, max_size=4)))
    axes = tuple(sorted(draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))
    common = tuple(draw(st.lists(st.integers(0, 3), max_size=2)))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    indices = []
    for axis in axes:
        own = tuple(1 if draw(st.booleans()) and len(axes) > 1 else n for n in common)
        own = own[draw(st.integers(0, len(own))) if len(axes) > 1 else 0 :]
        indices.append(
            rng.integers(-shape[axis], shape[axis], own).astype(draw(st.sampled_from(["i8", "i4"])))
        )
    x = rng.normal(size=shape)
    return x.T.copy().T if draw(st.booleans()) else x, axes, indices


@given(indexed())
def test_gather_is_advanced_indexing(function: Any, case: Any) -> None:
    x, axes, indices = case
    f = function(lambda b, x, *i: b.gather(x, *i, axes=axes), x, *indices)
    wanted = x[full_index(axes, indices, x.ndim)]
    (found,) = f.value()
    assert found.shape == wanted.shape
    assert found.tobytes() == wanted.tobytes()
    counts = np.zeros_like(x)
    np.add.at(counts, full_index(axes, indices, x.ndim), 1)
    assert np.array_equal(f.vjp()[0], counts)


@given(indexed())
def test_scatter_and_scatter_add_are_assignment_and_add_at(function: Any, case: Any) -> None:
    x, axes, indices = case
    where = full_index(axes, indices, x.ndim)
    values = np.random.default_rng(0).normal(size=x[where].shape)
    assigned, added = x.copy(), x.copy()
    assigned[where] = values
    np.add.at(added, where, values)
    for name, wanted in (("scatter", assigned), ("scatter_add", added)):
        f = function(
            lambda b, x, v, *i, name=name: getattr(b, name)(x, v, *i, axes=axes), x, values, *indices
        )
        assert f.value()[0].tobytes() == wanted.tobytes()
        f.check(tolerance=1e-8)


def test_rows_added_many_times_have_the_bits_of_add_at(function: Any) -> None:
    rng = np.random.default_rng(0)
    x, values, rows = rng.normal(size=(5, 7)), rng.normal(size=(40, 3, 7)), rng.integers(-5, 5, (40, 3))
    wanted = x.copy()
    np.add.at(wanted, rows, values)
    f = function(lambda b, x, v, i: b.scatter_add(x, v, i, axes=(0,)), x, values, rows)
    assert f.value()[0].tobytes() == wanted.tobytes()


def test_only_the_last_write_to_a_place_counts(function: Any) -> None:
    f = function(lambda b, x, v, i: b.scatter(x, v, i, axes=(0,)), [10.0, 20, 30], [1.0, 2, 3], [0, 0, 1])
    assert f.value()[0].tolist() == [2, 3, 30]
    ct_x, ct_values = f.vjp()
    assert ct_x.tolist() == [0, 0, 1]
    assert ct_values.tolist() == [0, 1, 1]


@pytest.mark.parametrize(("places", "asked"), [([0, 2], False), ([0, 0], True), ([0, -3], True)], ids=str)
def test_whether_a_write_stays_is_asked_only_where_places_may_repeat(
    function: Any, places: list[int], asked: bool
) -> None:
    def write(b: Builder, x: Any, values: Any) -> Any:
        return b.scatter(x, values, b.constant(np.array(places)), axes=(0,))

    f = function(write, np.ones(3), [5.0, 6.0])
    gradients = f._gradients(f._cotangents(()))
    assert ("last_writes" in {node.op.name for node in topological(gradients)}) is asked
    f.check()


def test_a_negative_index_is_the_same_place(function: Any) -> None:
    f = function(lambda b, x, v, i: b.scatter(x, v, i, axes=(0,)), [1.0, 2], [5.0, 6], [1, -1])
    assert f.vjp()[1].tolist() == [0, 1]


@pytest.mark.parametrize("name", ["gather", "take", "scatter", "scatter_add"])
def test_an_index_out_of_range_raises_when_run(function: Any, name: str) -> None:
    values = [np.ones(2)] if name.startswith("scatter") else []
    attrs = {"axis": 0, "mode": "raise"} if name == "take" else {"axes": (0,)}
    f = function(lambda b, *operands: getattr(b, name)(*operands, **attrs), np.ones(3), *values, [0, 3])
    with pytest.raises(IndexError, match="index 3 is out of bounds"):
        f.value()


def test_elements_not_read_do_not_poison(function: Any) -> None:
    """The slope of sqrt at 0 is infinite, but that element is not selected."""
    f = function(lambda b, x: b.gather(b.sqrt(x), b.constant(np.array([1, 1])), axes=(0,)), [0.0, 4.0])
    assert f.vjp()[0].tolist() == [0, 0.5]


def test_elements_overwritten_do_not_poison(function: Any) -> None:
    def overwrite(b: Builder, x: Any) -> Any:
        return b.scatter(b.sqrt(x), b.constant(np.array([7.0])), b.constant(np.array([0])), axes=(0,))

    assert function(overwrite, [0.0, 4.0]).vjp()[0].tolist() == [0, 0.25]


@pytest.mark.parametrize(
    ("name", "wanted"), [("maximum", ([0.5, 0], [0.5, 0, 1])), ("minimum", ([1, 1], [0, 0, 0]))]
)
def test_extrema_at_indices_share_ties(function: Any, name: str, wanted: Any) -> None:
    attrs = {"ufunc": name, "axes": (0,)}
    f = function(lambda b, x, v, i: b.ufunc_at(x, v, i, **attrs), [5.0, 1.0], [5.0, 4.5, 2.0], [0, 0, 1])
    if name == "minimum":
        f = function(lambda b, x, v, i: b.ufunc_at(x, v, i, **attrs), [0.0, 1.0], [5.0, 4.5, 2.0], [0, 0, 1])
    x, values = wanted
    assert [ct.tolist() for ct in f.vjp()] == [x, values]


def test_products_at_indices_refuse(function: Any) -> None:
    f = function(lambda b, x, v, i: b.ufunc_at(x, v, i, ufunc="multiply", axes=(0,)), [5.0], [2.0], [0])
    assert f.value()[0].tolist() == [10]
    with pytest.raises(NotDifferentiableError, match="may name a place twice"):
        f.vjp()


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
def test_take_is_laid_out_in_c_order(function: Any, mode: str) -> None:
    x = np.asfortranarray(np.random.default_rng(0).normal(size=(3, 4)))
    indices = np.array([[0, 1], [2, 0]])
    (found,) = function(lambda b, x, i: b.take(x, i, axis=1, mode=mode), x, indices).value()
    assert np.array_equal(found, np.take(x, indices, axis=1))
    assert found.flags.c_contiguous


def test_choose_out_of_range_raises_when_run(function: Any) -> None:
    f = function(lambda b, i, x: b.choose(i, x, mode="raise"), [0, 1], [1.0, 2.0])
    with pytest.raises(ValueError, match="invalid entry in choice array"):
        f.value()


def test_broken_constraints_name_themselves() -> None:
    b = Builder()
    x, i = b.param("x", array_type((3,), np.dtype("f8"))), b.param("i", array_type((2,), np.dtype("i8")))
    with pytest.raises(TypeRuleError, match="gather C1: axes"):
        b.gather(x, i, axes=())
    with pytest.raises(TypeRuleError, match="scatter C3: the index arrays select f64\\[2\\]"):
        b.scatter(x, x, i, axes=(0,))
    assert isinstance(b.last_writes(i, shape=(3,)).op.vjp, NotDifferentiable)
