"""sort and partition: permutations that share cotangents among equal elements."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.ops.sort import put_along, take_along


def tie_means(x: Any, ct_of_sorted: Any) -> Any:
    """By definition: each element gets the mean over the places that elements equal to it take."""
    in_order = np.sort(x)
    return np.array([np.mean(ct_of_sorted[in_order == value]) for value in x])


values = st.lists(st.sampled_from([1.0, 2.0, 3.0, -0.0, 0.0]), min_size=1, max_size=7).map(np.array)


@given(values)
def test_sort_shares_ties_evenly(function: Any, x: Any) -> None:
    ct = 2.0 ** np.arange(len(x))
    f = function(lambda b, x: b.sort(x, axis=0, kind=None), x)
    np.testing.assert_allclose(f.vjp(ct)[0], tie_means(x, ct), rtol=1e-14)


@given(values, st.data())
def test_partition_is_sort_seen_in_another_order(function: Any, x: Any, data: Any) -> None:
    kth = data.draw(st.integers(0, len(x) - 1))
    f = function(lambda b, x: b.partition(x, kth=(kth,), axis=0, kind="introselect"), x)
    (found,) = f.value()
    assert np.array_equal(found, np.partition(x, kth))
    ct = 2.0 ** np.arange(len(x))
    wanted = [np.mean(ct[found == value]) for value in x]
    np.testing.assert_allclose(f.vjp(ct)[0], wanted, rtol=1e-14)


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["sort", "partition"])
def test_along_every_axis(function: Any, name: str, axis: int) -> None:
    x = np.random.default_rng(5).normal(size=(3, 4, 2))
    attrs = {"kind": None} if name == "sort" else {"kind": "introselect", "kth": (1,)}
    function(lambda b, x: getattr(b, name)(x, axis=axis, **attrs), x).check()


def test_the_median_of_an_even_count_shares_between_its_two(function: Any) -> None:
    def median(b: Any, x: Any) -> Any:
        middle = b.slice(b.sort(x, axis=0, kind=None), start=(1,), size=(2,), step=(1,))
        return b.multiply(b.scalar(0.5, x), b.sum(middle, axes=(0,), dtype=x.dtype))

    assert function(median, [4.0, 1.0, 3.0, 2.0]).vjp()[0].tolist() == [0, 0, 0.5, 0.5]


@pytest.mark.parametrize("axis", [0, 1])
def test_take_and_put_along_an_axis(function: Any, axis: int) -> None:
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3, 4))
    indices = rng.integers(0, 3, (3, 4) if axis == 0 else (3, 2))
    taken = function(lambda b, x, i: take_along(b, x, i, axis), x, indices)
    assert np.array_equal(taken.value()[0], np.take_along_axis(x, indices, axis))
    taken.check()
    new = rng.normal(size=indices.shape)
    put = function(lambda b, x, v, i: put_along(b, x, i, v, axis), x, new, indices)
    wanted = x.copy()
    np.put_along_axis(wanted, indices, new, axis)
    assert np.array_equal(put.value()[0], wanted)
    put.check()


def test_structural_zeros_go_through_a_sort(function: Any) -> None:
    """Only the largest element is read, so the infinite slope at 0 does not matter."""

    def largest_root(b: Any, x: Any) -> Any:
        return b.slice(b.sort(b.sqrt(x), axis=0, kind=None), start=(2,), size=(1,), step=(1,))

    assert function(largest_root, [4.0, 0.0, 1.0]).vjp()[0].tolist() == [0.25, 0, 0]
