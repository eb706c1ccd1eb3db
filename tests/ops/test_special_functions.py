"""The special functions: SciPy's bits where SciPy is, and own values held against mpmath where it is not."""

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ops import special, special_values

mpmath.mp.dps = 40
COUNT = 120


def uniform(low: float, high: float) -> Any:
    return np.random.default_rng(5).uniform(low, high, COUNT)


def powers(low: float, high: float) -> Any:
    """Numbers of every size between ten to the two powers."""
    return 10 ** uniform(low, high)


def normal_tail(x: Any) -> Any:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def log_normal(x: Any) -> Any:
    return mpmath.log1p(-normal_tail(x)) if x > 0 else mpmath.log(normal_tail(-x))


def of_order(function: Callable[..., Any], order: int) -> Callable[..., Any]:
    return lambda x: function(x, order=order)


# own function, what it is, arguments, the largest error in units in the last place
OWN = {
    "erf": (special_values.erf, mpmath.erf, [np.r_[uniform(-5, 5), powers(-300, 0)]], 1.5),
    "erfc": (special_values.erfc, mpmath.erfc, [uniform(-5, 26)], 3),
    "erfcx": (
        special_values.erfcx,
        lambda x: mpmath.exp(x * x) * mpmath.erfc(x),
        [np.r_[uniform(-25, 25), uniform(20, 300)]],
        4,
    ),
    "ndtr": (special_values.ndtr, lambda x: normal_tail(-x), [np.r_[uniform(-5, 5), uniform(-37, 0)]], 3),
    "log_ndtr": (
        special_values.log_ndtr,
        log_normal,
        [np.r_[uniform(-5, 5), uniform(-1000, 0), uniform(0, 30)]],
        4,
    ),
    "expit": (special_values.expit, lambda x: 1 / (1 + mpmath.exp(-x)), [uniform(-700, 700)], 3),
    "logit": (
        special_values.logit,
        lambda x: mpmath.log(x / (1 - x)),
        [np.r_[uniform(0, 1), uniform(0.49, 0.51), powers(-300, 0), 1 - powers(-15, -1)]],
        3,
    ),
    "log_expit": (special_values.log_expit, lambda x: -mpmath.log1p(mpmath.exp(-x)), [uniform(-700, 700)], 2),
    "psi": (
        special_values.psi,
        mpmath.digamma,
        [np.r_[uniform(0, 20), uniform(1.46, 1.4633), powers(-10, 10)]],
        5,
    ),
    "trigamma": (
        of_order(special_values.polygamma, 1),
        lambda x: mpmath.polygamma(1, x),
        [np.r_[uniform(0, 20), powers(-10, 10), uniform(-5, 0)]],
        6,
    ),
    "polygamma of order 3": (
        of_order(special_values.polygamma, 3),
        lambda x: mpmath.polygamma(3, x),
        [uniform(0, 20)],
        6,
    ),
    "gammaln": (
        special_values.gammaln,
        mpmath.loggamma,
        [np.r_[uniform(0, 4), uniform(0.99, 1.01), uniform(1.99, 2.01), powers(-10, 10)]],
        8,
    ),
    "gamma": (special_values.gamma, mpmath.gamma, [np.r_[uniform(0, 170), uniform(-5, 0)]], 8),
    "bessel of order 0": (
        of_order(special_values.bessel_i, 0),
        lambda x: mpmath.besseli(0, x),
        [np.r_[uniform(-60, 60), uniform(-700, 700)]],
        12,
    ),
    "bessel of order 1": (
        of_order(special_values.bessel_i, 1),
        lambda x: mpmath.besseli(1, x),
        [np.r_[uniform(-60, 60), uniform(-700, 700), powers(-300, 0)]],
        12,
    ),
    "bessel of order 3": (
        of_order(special_values.bessel_i, 3),
        lambda x: mpmath.besseli(3, x),
        [np.r_[uniform(-60, 60), powers(-90, 0)]],
        12,
    ),
    "kl_div": (
        special_values.kl_div,
        lambda x, y: x * mpmath.log(x / y) - x + y,
        [np.r_[uniform(0, 3), uniform(1, 1.01)], np.r_[uniform(0, 3)[::-1], uniform(1, 1.01)[::-1]]],
        6,
    ),
}


@pytest.mark.parametrize(("function", "exact", "arguments", "bound"), OWN.values(), ids=OWN)
def test_own_values_are_accurate(function: Any, exact: Any, arguments: Any, bound: float) -> None:
    for found, *x in zip(function(*arguments), *arguments, strict=True):
        wanted = exact(*(mpmath.mpf(float(v)) for v in x))
        unit = mpmath.mpf(float(np.spacing(abs(float(wanted)))))
        assert abs(mpmath.mpf(float(found)) - wanted) <= bound * unit, x


@pytest.mark.parametrize("order", [0, 1, 2, 3, 5])
def test_derivatives_of_sinc(order: int) -> None:
    """Near 0, where a quotient cancels, and far out, where sin(pi x) needs its argument reduced."""
    x = np.r_[uniform(-4, 4), powers(-300, 0), uniform(100, 1000), 0.0]
    found = special_values.sinc_derivative(x, order)
    with mpmath.workdps(60):
        for value, v in zip(found, x, strict=True):
            if v == 0:
                term = 0 if order % 2 else (-1) ** (order // 2) * mpmath.pi**order / (order + 1)
            else:
                term = mpmath.diff(lambda t: mpmath.sinc(mpmath.pi * t), mpmath.mpf(float(v)), order)
            assert abs(float(value) - term) <= 1e-13 * mpmath.pi**order, v


def test_derivatives_of_sinc_are_holomorphic() -> None:
    z = uniform(-1, 1) + 1j * uniform(-1, 1)[::-1]
    for order in (1, 2):
        step = 1e-4
        below, above = (special_values.sinc_derivative(z + s, order - 1) for s in (-step, step))
        np.testing.assert_allclose(
            special_values.sinc_derivative(z, order), (above - below) / (2 * step), rtol=1e-6
        )


EDGES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, 2.0, -2.5])
SINGLE = [
    "erf",
    "erfc",
    "erfcx",
    "ndtr",
    "log_ndtr",
    "expit",
    "logit",
    "log_expit",
    "psi",
    "gammaln",
    "gamma",
    "entr",
]
DOUBLE = ["xlogy", "xlog1py", "rel_entr", "kl_div"]


@pytest.mark.parametrize("name", SINGLE)
def test_own_edge_values_are_those_of_scipy(name: str) -> None:
    own, theirs = getattr(special_values, name)(EDGES), getattr(scipy.special, name)(EDGES)
    np.testing.assert_allclose(own, theirs, rtol=1e-14)
    np.testing.assert_array_equal(np.signbit(own[:2]), np.signbit(theirs[:2]))


@pytest.mark.parametrize("name", DOUBLE)
def test_own_edge_values_of_two_operands_are_those_of_scipy(name: str) -> None:
    x, y = np.meshgrid(EDGES, EDGES)
    own, theirs = getattr(special_values, name)(x, y), getattr(scipy.special, name)(x, y)
    np.testing.assert_allclose(own, theirs, rtol=1e-14)


@pytest.mark.parametrize("name", [*SINGLE, *DOUBLE, "i0", "i1"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_reference_has_the_bits_of_scipy(name: str, dtype: str) -> None:
    operands = [powers(-3, 1).astype(dtype), powers(-2, 0.5)[::-1].astype(dtype)]
    operands = operands[: 2 if name in DOUBLE else 1]
    with np.errstate(all="ignore"):
        found, wanted = OPS[name].numpy(*operands), getattr(scipy.special, name)(*operands)
    np.testing.assert_array_equal(found, wanted)
    assert found.dtype == wanted.dtype


@pytest.mark.parametrize("name", [*SINGLE, *DOUBLE, "i0", "i1", "polygamma", "bessel_i"])
def test_without_scipy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference then is the own function, of the operands' dtype."""
    attrs = {"order": 2} if name in ("polygamma", "bessel_i") else {}
    operands = [powers(-1, 0.4).astype("f4"), powers(-1, 0.4)[::-1].astype("f4")]
    operands = operands[: 2 if name in DOUBLE else 1]
    with np.errstate(all="ignore"):
        wanted = OPS[name].numpy(*operands, **attrs)
        monkeypatch.setattr(special, "scipy_function", lambda name: None)
        found = OPS[name].numpy(*operands, **attrs)
    assert found.dtype == np.dtype("f4")
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_derivatives_of_i0_near_zero() -> None:
    """I_1(x) is x / 2 there, to full relative accuracy."""
    x = np.array([1e-300, -1e-10, 0.0])
    np.testing.assert_allclose(OPS["i1"].numpy(x), x / 2, rtol=1e-14, atol=0)
    np.testing.assert_allclose(special_values.bessel_i(x, order=1), x / 2, rtol=1e-14, atol=0)


def test_numpy_i0_has_the_bits_of_numpy() -> None:
    x = uniform(-20, 20)
    np.testing.assert_array_equal(OPS["numpy_i0"].numpy(x), np.i0(x))
