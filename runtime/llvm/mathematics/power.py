"""Powers: x ** y with the special values of C's pow.

|x|^y = 2^(y log2 |x|). For float32 both steps run in float64; for float64 the logarithm is a sum of two
numbers (relative error near 2^-70), since y multiplies its error by up to 2^10. Also cbrt and hypot.
"""

from __future__ import annotations

import math

from .builder import (
    Value,
    fma,
    larger,
    magnitude,
    polynomial,
    smaller,
    square_root,
    truncated,
    where,
    with_sign,
)
from .constants import constants, table
from .exponential import lowest, nearest, power_of_two, scaled, whole
from .logarithm import apart, apart_normal
from .pairs import Pair, quick_sum, remaining, two_product, two_sum

_TWO_THIRDS, _REST = 2.0 / 3.0, float.fromhex("0x1.5555555555555p-55")


def power(x: Value, y: Value) -> Value:
    number = y.literal()
    if number is not None and math.isfinite(number):
        simple = _simple(x, number)
        return simple if simple is not None else _of_known_sign(x, number, _of_size(magnitude(x), y))
    result = _of_size(magnitude(x), y)
    infinite = magnitude(y).equals(float("inf"))
    result = where(y.equals(0.0) | x.equals(1.0) | (x.equals(-1.0) & infinite), 1.0, result)
    return _signed(x, y, result)


def _of_size(size: Value, y: Value) -> Value:
    return _single(size, y) if size.dtype.itemsize == 4 else _double(size, y)


def _simple(x: Value, number: float) -> Value | None:
    """Powers that are one or two instructions, each within the bound."""
    if number in (0.0, 1.0):
        return x.like(1.0) if number == 0.0 else x
    if number in (2.0, 3.0):
        return x * x if number == 2.0 else x * x * x
    if number == -1.0:
        return 1.0 / x
    if number in (0.5, -0.5):
        root = where(x.equals(float("-inf")), float("inf"), square_root(x) + 0.0)
        return root if number == 0.5 else 1.0 / root
    return None


def _of_known_sign(x: Value, number: float, result: Value) -> Value:
    """`_signed` for an exponent that is known."""
    if number.is_integer():
        return with_sign(result, x) if number % 2 == 1 else result
    return where((x < 0.0) & (x > float("-inf")), float("nan"), result)


def _signed(x: Value, y: Value, result: Value) -> Value:
    """|x|^y with the sign of x where y is odd; NaN where x is negative and y not whole."""
    integral = truncated(y).equals(y)
    half = y * 0.5
    odd = integral & truncated(half).differs(half)
    sign = where((x.bits() < 0) & odd, x.bits() & constants(x.dtype).sign_bit, 0)
    result = (result.bits() | sign).floats()
    invalid = (x < 0.0) & (x > float("-inf")) & ~integral
    return where(invalid, float("nan"), result)


def _ends(size: Value, logarithm: Value) -> Value:
    """The logarithm of |x|, with those of 0, inf and NaN."""
    return where(
        size > 0.0, where(size < float("inf"), logarithm, size), where(size.equals(0.0), float("-inf"), size)
    )


def _single(size: Value, y: Value) -> Value:
    """|x|^y of float32 in float64."""
    m, k = apart_normal(size.double())
    s = (m - 1.0) / (m + 1.0)
    logarithm = _ends(size.double(), fma(s, polynomial(s * s, table("log2_ratio", s)), k))
    t = larger(smaller(logarithm * y.double(), 200.0), -200.0)
    n = nearest(t)
    r = t - n.value
    return (polynomial(r, (1.0, *table("exp2_short", r))) * power_of_two(n.shifted)).single()


def log_pair(size: Value) -> Pair:
    """log |x| of a positive finite number as a sum of two."""
    c = constants(size.dtype)
    m, k = apart(size)
    f = m - 1.0
    total = f + 2.0
    inverse = 1.0 / total
    s = f * inverse
    rest = (remaining(f, s, total) - s * (f - (total - 2.0))) * inverse
    ratio = quick_sum(s, rest)
    square = ratio.squared()
    tail = square.high * polynomial(square.high, table("log_pair", size))
    series = quick_sum(size.like(_TWO_THIRDS), tail)
    series = Pair(series.high, series.low + _REST)
    cubic = ratio.times(square.times(series))
    double = ratio.doubled()
    log_m = quick_sum(double.high, cubic.high)
    log_m = quick_sum(log_m.high, log_m.low + (double.low + cubic.low))
    total_log = two_sum(k * c.ln2_high, log_m.high)
    return quick_sum(total_log.high, total_log.low + fma(k, c.ln2_low, log_m.low))


def _double(size: Value, y: Value) -> Value:
    """|x|^y of float64."""
    c = constants(size.dtype)
    logarithm = log_pair(size)
    product = two_product(y, logarithm.high)
    low = fma(y, logarithm.low, product.low)
    high = y * _ends(size, logarithm.high)
    high = larger(smaller(high, c.exp_high), lowest(high))
    low = where(magnitude(product.high) < 800.0, low, 0.0)
    k = whole(fma(high, c.log2_e, c.magic), c)
    r = fma(k.value, -c.ln2_high, high) + fma(k.value, -c.ln2_low, low)
    return scaled(polynomial(r, (1.0, 1.0, *table("exp", r))), k)


def cbrt(x: Value) -> Value:
    """x = m 2^k with k = 3 q + j: a polynomial for m, times 2^(j / 3), one step of Newton, times 2^q."""
    a = magnitude(x)
    m, k = apart(a)
    q = nearest(k * (1.0 / 3.0))
    j = fma(q.value, -3.0, k)
    m = where(j > 0.0, m * 2.0, where(j < 0.0, m * 0.5, m))
    root = where(j > 0.0, x.like(2.0 ** (1 / 3)), where(j < 0.0, x.like(0.5 ** (1 / 3)), 1.0))
    y = polynomial(where(j > 0.0, m * 0.5, where(j < 0.0, m * 2.0, m)), table("cbrt", x)) * root
    square = two_product(y, y)
    cube = two_product(square.high, y)
    missing = ((m - cube.high) - cube.low) - square.low * y
    y = fma(missing, y / (m * 3.0), y)
    finite = (a > 0.0) & (a < float("inf"))
    return where(finite, with_sign(y * power_of_two(q.shifted), x), x)


def hypot(x: Value, y: Value) -> Value:
    """sqrt(x^2 + y^2), in float64 or scaled, so that no square leaves the range; inf if one is infinite."""
    a, b = magnitude(x), magnitude(y)
    if x.dtype.itemsize == 4:
        wide, other = x.double(), y.double()
        result = square_root(fma(wide, wide, other * other)).single()
    else:
        large = (a > 2.0**500) | (b > 2.0**500)
        small = (a < 2.0**-450) & (b < 2.0**-450)
        scale = where(large, x.like(2.0**-600), where(small, x.like(2.0**600), 1.0))
        back = where(large, x.like(2.0**600), where(small, x.like(2.0**-600), 1.0))
        u, v = a * scale, b * scale
        result = square_root(fma(u, u, v * v)) * back
    infinite = a.equals(float("inf")) | b.equals(float("inf"))
    return where(infinite, float("inf"), result)
