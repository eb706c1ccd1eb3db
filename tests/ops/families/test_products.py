"""prod and cumprod: exact where factors are zero, to second order."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

F8 = np.dtype("f8")


def others(x: Any, *left_out: int) -> float:
    return float(np.prod([v for k, v in enumerate(x) if k not in left_out]))


@pytest.mark.parametrize(
    "x",
    [
        pytest.param([2.0, 3.0, 5.0], id="no_zero"),
        pytest.param([0.0, 2.0, 5.0], id="one_zero"),
        pytest.param([2.0, 3.0, 0.0, 0.0], id="two_zeros"),
        pytest.param([0.0, 0.0, 0.0], id="three_zeros"),
        pytest.param([7.0], id="one"),
    ],
)
def test_prod_gradient_and_hessian_are_products_of_the_others(function: Any, x: list[float]) -> None:
    f = function(lambda b, x: b.prod(x, axes=(0,), dtype=F8), x)
    assert f.vjp()[0].tolist() == [others(x, k) for k in range(len(x))]
    wanted = [[0.0 if i == j else others(x, i, j) for j in range(len(x))] for i in range(len(x))]
    assert f.hessian().tolist() == wanted


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, -3.0]), min_size=1, max_size=6))
def test_cumprod_derivatives_are_those_of_the_polynomial(function: Any, x: list[float]) -> None:
    n = len(x)
    weights = 10.0 ** np.arange(n)
    f = function(lambda b, x: b.multiply(b.cumprod(x, axis=0, dtype=F8), b.constant(weights)), x)
    first = [sum(weights[k] * others(x[: k + 1], i) for k in range(i, n)) for i in range(n)]
    assert f.vjp()[0].tolist() == first
    second = np.zeros((n, n))
    for i, j in itertools.permutations(range(n), 2):
        second[i, j] = sum(weights[k] * others(x[: k + 1], i, j) for k in range(max(i, j), n))
    assert f.hessian().tolist() == second.tolist()


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 2), (0, 1, 2), (1, 2), ()], ids=str)
def test_prod_over_axes(function: Any, axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=(2, 3, 2))
    x[0, 1, 1] = x[1, 1, 0] = 0
    function(lambda b, x: b.prod(x, axes=axes, dtype=F8), x).check()


def test_single_precision_factors_get_single_precision_cotangents(function: Any) -> None:
    x = np.array([2, 0, 5], "f4")
    (ct,) = function(lambda b, x: b.prod(x, axes=(0,), dtype=F8), x).vjp()
    assert ct.dtype == np.float32
    assert ct.tolist() == [0, 10, 0]


@pytest.mark.parametrize("reverse", [False, True], ids=["forward", "reverse"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(("shape", "axis"), [((5,), 0), ((4, 3), 0), ((4, 3), 1), ((2, 3, 2), 1)], ids=str)
def test_recurrence_is_its_definition(
    function: Any, shape: tuple[int, ...], axis: int, dtype: str, reverse: bool
) -> None:
    rng = np.random.default_rng(1)
    factor, term = rng.normal(size=(2, *shape)).astype(dtype)
    (found,) = function(lambda b, a, u: b.recurrence(a, u, axis=axis, reverse=reverse), factor, term).value()
    a, u = (np.moveaxis(v, axis, 0)[:: -1 if reverse else 1] for v in (factor, term))
    rows = [u[0]]
    for k in range(1, len(u)):
        rows.append(u[k] + a[k] * rows[-1])
    wanted = np.moveaxis(np.array(rows)[:: -1 if reverse else 1], 0, axis)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, wanted, rtol=10 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("name", "values", "wanted"),
    [
        pytest.param("cummax", [1.0, 3.0, 3.0, 2.0], [1, 1 + 0.5 + 0.5, 0.5 + 0.5, 0], id="max_tie"),
        pytest.param("cummin", [1.0, 3.0, 1.0, 1.0], [2 + 0.5 + 1 / 3, 0, 0.5 + 1 / 3, 1 / 3], id="min_ties"),
        pytest.param("cummax", [2.0, 2.0], [1.5, 0.5], id="all_equal"),
    ],
)
def test_running_extrema_share_among_equal_elements_so_far(
    function: Any, name: str, values: list[float], wanted: list[float]
) -> None:
    (ct,) = function(lambda b, x: getattr(b, name)(x, axis=0), values).vjp()
    np.testing.assert_allclose(ct, wanted, rtol=1e-15)


BOTH = {"dtype": None, "masked": True, "started": True}


@pytest.mark.parametrize(
    ("ufunc", "start"), [("add", 2.0), ("multiply", -3.0), ("maximum", -5.0), ("fmin", 5.0)], ids=str
)
def test_reductions_with_mask_and_start_have_the_bits_of_numpy(
    function: Any, ufunc: str, start: float
) -> None:
    rng = np.random.default_rng(2)
    x, mask = rng.normal(size=(7, 9)), rng.normal(size=(7, 9)) > 0
    f = function(lambda b, x, m, s: b.ufunc_reduce(x, m, s, ufunc=ufunc, axes=(1,), **BOTH), x, mask, start)
    assert np.array_equal(f.value()[0], getattr(np, ufunc).reduce(x, axis=1, initial=start, where=mask))
    f.check()


def test_a_start_that_ties_takes_its_share(function: Any) -> None:
    attrs = {"ufunc": "maximum", "axes": (0,), "dtype": None, "masked": False, "started": True}
    ct_x, ct_start = function(lambda b, x, s: b.ufunc_reduce(x, s, **attrs), [1.0, 3.0, 3.0], 3.0).vjp()
    np.testing.assert_allclose(ct_x, [0, 1 / 3, 1 / 3], rtol=1e-15)
    np.testing.assert_allclose(ct_start, 1 / 3, rtol=1e-15)


@pytest.mark.parametrize("x", [[-np.inf, -np.inf], [0.0, -np.inf]], ids=["all", "one"])
def test_logaddexp_of_minus_infinity_is_finite(function: Any, x: list[float]) -> None:
    attrs = {"ufunc": "logaddexp", "axes": (0,), "dtype": None, "masked": False, "started": False}
    reduced = function(lambda b, x: b.ufunc_reduce(x, **attrs), x)
    running = function(lambda b, x: b.ufunc_accumulate(x, ufunc="logaddexp", axis=0, dtype=None), x)
    assert reduced.vjp()[0].tolist() == [float(v == 0) for v in x]
    assert running.vjp()[0].tolist() == [2 * float(v == 0) for v in x]


@pytest.mark.parametrize("ufunc", ["add", "multiply", "maximum", "logaddexp"])
@pytest.mark.parametrize("starts", [[0], [0, 2, 4], [3, 1, 4, 0], [0, 0, 4], []], ids=str)
@pytest.mark.parametrize("axis", [0, 1])
def test_reduceat(function: Any, ufunc: str, starts: list[int], axis: int) -> None:
    x = np.random.default_rng(3).normal(size=(5, 5))
    attrs = {"ufunc": ufunc, "axis": axis, "dtype": None}
    f = function(lambda b, x: b.reduceat(x, b.constant(np.array(starts, int)), **attrs), x)
    assert np.array_equal(f.value()[0], getattr(np, ufunc).reduceat(x, np.array(starts, int), axis=axis))
    f.check()
