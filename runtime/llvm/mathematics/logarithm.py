"""Logarithms: log, log2, log10, log1p.

x = 2^k m with m in [sqrt(1/2), sqrt(2)); log(1 + f) with f = m - 1 is a polynomial (float32) or a series in
f / (2 + f) (float64). Integer arithmetic on the bits takes x apart; zero, negative numbers, infinity and NaN
are put right at the end.
"""

from __future__ import annotations

from .builder import Value, fma, magnitude, polynomial, where
from .constants import constants, table
from .pairs import quick_sum
from .registers import exponent, looked_up, mantissa_around_one
from .tables import LOGARITHMS


def apart(x: Value) -> tuple[Value, Value]:
    """m and k (a float) of a positive number; subnormal numbers are scaled first."""
    c = constants(x.dtype)
    tiny = x < c.smallest_normal
    m, k = apart_normal(where(tiny, x * 2.0 ** (c.mantissa + 1), x))
    return m, where(tiny, k - (c.mantissa + 1), k)


def apart_normal(x: Value) -> tuple[Value, Value]:
    """m and k of a positive number that is not subnormal."""
    c = constants(x.dtype)
    bits = x.bits() + (c.one_bits - c.root_half_bits)
    m = ((bits & ((1 << c.mantissa) - 1)) + c.root_half_bits).floats()
    return m, (bits.shifted_right(c.mantissa) | c.scale_bits).floats() - (2.0**c.mantissa + c.bias)


def small_log(f: Value) -> tuple[Value, Value]:
    """log(1 + f) - f + f^2 / 2 and f^2 / 2, for 1 + f within sqrt(1/2) and sqrt(2)."""
    half = f * f * 0.5
    if f.dtype.itemsize == 4:
        return (f * f * f) * polynomial(f, table("log", f)), half
    s = f / (f + 2.0)
    z = s * s
    return s * fma(z, polynomial(z, table("log_ratio", f)), half), half


def log_near_one(f: Value) -> Value:
    """log(1 + f), relatively accurate."""
    rest, half = small_log(f)
    return f - (half - rest)


def joined(f: Value, k: Value, lost: Value | None = None) -> Value:
    """log(1 + f + lost) + k log 2."""
    c = constants(f.dtype)
    rest, half = small_log(f)
    if lost is not None:
        rest = rest + fma(lost, -f, lost)
    return fma(k, c.ln2_high, f - (half - fma(k, c.ln2_low, rest)))


def ends(x: Value, result: Value) -> Value:
    """The logarithm where x is positive and finite; inf, -inf and NaN elsewhere."""
    below = where(x.equals(0.0), float("-inf"), x.like(float("nan")))
    return where(x > 0.0, where(x < float("inf"), result, x), below)


def log_looked_up(x: Value) -> Value:
    """k log 2 - log r + log(1 + z) with z = m r - 1 small and r looked up by the first bits of m.

    Around 1, r is 1. The sum of the first two terms' high parts is exact. The ends need no care: for 0 and
    infinity k is infinite, and m is NaN for negative numbers.
    """
    c = constants(x.dtype)
    inverse, high, low = LOGARITHMS[x.dtype.str[1:]]
    m = mantissa_around_one(x)
    k = exponent(x) - exponent(m)
    index = m.bits().shifted_right(c.mantissa - (5 if x.dtype.itemsize == 4 else 4))
    symbol = f"tl_log_{x.dtype.str[1:]}"
    z = fma(m, looked_up(f"{symbol}_r", inverse, index, x.dtype), -1.0)
    high_part = fma(k, c.ln2_high, looked_up(f"{symbol}_h", high, index, x.dtype))
    low_part = fma(k, c.ln2_low, looked_up(f"{symbol}_l", low, index, x.dtype))
    return high_part + (z + fma(z * z, polynomial(z, table("log_near", x)), low_part))


def log(x: Value) -> Value:
    if x.emitter.target.permute:
        return log_looked_up(x)
    m, k = apart(x)
    return ends(x, joined(m - 1.0, k))


def log2(x: Value) -> Value:
    c = constants(x.dtype)
    m, k = apart(x)
    y = log_near_one(m - 1.0)
    return ends(x, fma(y, c.log2_e, fma(y, c.log2_e_low, k)))


def log10(x: Value) -> Value:
    c = constants(x.dtype)
    m, k = apart(x)
    y = log_near_one(m - 1.0)
    low = fma(y, c.log10_e_low, k * c.log10_2_low)
    return ends(x, fma(k, c.log10_2_high, fma(y, c.log10_e, low)))


def log1p(x: Value) -> Value:
    """u = 1 + x loses c = 1 + x - u, which is given back to f in the scale of m."""
    total = x + 1.0
    result = log_of_pair(total, error_of_sum(total, x))
    result = where(x > -1.0, where(x < float("inf"), result, x), ends(total, total))
    return where(x.equals(0.0), x, result)


def error_of_sum(total: Value, x: Value) -> Value:
    """(1 + x) - total, exactly."""
    one = total - x
    return (1.0 - one) + (x - (total - one))


def log_of_pair(total: Value, rest: Value, more: Value | None = None) -> Value:
    """log(total + rest) for a positive finite total and a small rest, plus `more` times log 2."""
    c = constants(total.dtype)
    m, k = apart(total)
    field = (total.bits() + (c.one_bits - c.root_half_bits)) & c.exponent_bits
    down = (2 * c.one_bits - field).floats()
    f = quick_sum(m - 1.0, rest * where(k < float(c.bias - 1), down, 0.0))
    return joined(f.high, k if more is None else k + more, f.low)


def xlogy(x: Value, y: Value) -> Value:
    return where(x.equals(0.0) & ~y.is_nan(), 0.0, x * log(y))


def xlog1py(x: Value, y: Value) -> Value:
    return where(x.equals(0.0) & ~y.is_nan(), 0.0, x * log1p(y))


def entr(x: Value) -> Value:
    """-x log x; 0 at 0, -inf below."""
    return where(x < 0.0, float("-inf"), where(x.equals(0.0), 0.0, -(x * log(x))))


def logit(x: Value) -> Value:
    """log(x / (1 - x)); 2 arctanh(2x - 1) where that is near 0."""
    s = x * 2.0 - 1.0
    z = s * s
    near = fma(s * z, polynomial(z, table("arctanh", x)), s) * 2.0
    return where(magnitude(s) < 0.5, near, log(x / (1.0 - x)))
