"""The hyperbolic functions and their inverses, but tanh.

sinh and cosh are made of e^|x| / 2 and its reciprocal; the inverses are logarithms of a sum of two numbers.
Near 0 the odd ones are polynomials.
"""

from __future__ import annotations

from .builder import Value, fma, magnitude, polynomial, smaller, square_root, where, with_sign
from .constants import constants, table
from .exponential import Whole, reduced, scaled
from .logarithm import apart, ends, joined, log_of_pair
from .pairs import Pair, quick_sum, two_product, two_sum


def _near(name: str, x: Value) -> Value:
    """An odd function with slope 1 near 0; -0.0 keeps its sign."""
    z = x * x
    return with_sign(fma(x * z, polynomial(z, table(name, x)), x), x)


def _half_exp(x: Value) -> Value:
    """e^|x| / 2."""
    c = constants(x.dtype)
    r, k = reduced(smaller(magnitude(x), c.exp_high + 1.0))
    return scaled(polynomial(r, (1.0, 1.0, *table("exp", x))), Whole(k.value - 1.0, k.shifted - 1.0))


def sinh(x: Value) -> Value:
    half = _half_exp(x)
    return where(magnitude(x) < 1.0, _near("sinh", x), with_sign(half - 0.25 / half, x))


def cosh(x: Value) -> Value:
    half = _half_exp(x)
    return half + 0.25 / half


def _root(square: Pair) -> Pair:
    """The square root of a pair."""
    root = square_root(square.high)
    product = two_product(root, root)
    rest = ((square.high - product.high) - product.low) + square.low
    return Pair(root, where(root > 0.0, rest * 0.5 / root, 0.0))


def _log_of_sum_with_root(a: Value, shift: float) -> Value:
    """log(a + sqrt(a^2 + shift)) for a finite a >= 0; log(2 a) where the shift is lost."""
    c = constants(a.dtype)
    square = two_product(a, a)
    total = two_sum(square.high, a.like(shift))
    root = _root(quick_sum(total.high, total.low + square.low))
    both = two_sum(root.high, a)
    large = a > 2.0 ** (c.mantissa // 2 + 3)
    total_high = where(large, a, both.high)
    return log_of_pair(total_high, where(large, 0.0, both.low + root.low), where(large, a.like(1.0), 0.0))


def arcsinh(x: Value) -> Value:
    a = magnitude(x)
    far = where(a < float("inf"), _log_of_sum_with_root(a, 1.0), a)
    return where(a < 0.5, _near("arcsinh", x), with_sign(far, x))


def arccosh(x: Value) -> Value:
    result = where(x < float("inf"), _log_of_sum_with_root(x, -1.0), x)
    return where(x >= 1.0, result, float("nan"))


def arctanh(x: Value) -> Value:
    a = magnitude(x)
    ratio = (a + 1.0) / (1.0 - a)
    m, k = apart(ratio)
    far = ends(ratio, joined(m - 1.0, k)) * 0.5
    return where(a < 0.5, _near("arctanh", x), with_sign(far, x))
