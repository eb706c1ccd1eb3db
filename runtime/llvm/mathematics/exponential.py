"""Exponentials: exp, exp2, expm1, and the hyperbolic and logistic functions made of them.

x = k ln 2 + r with |r| <= ln(2) / 2; a polynomial gives e^r, the exponent field 2^k. The whole number k comes
from adding 1.5 * 2^(mantissa bits), whose low bits then hold it; NaN passes through, since every way ends in
arithmetic with x. Scaling by 2^k is done in two halves, so that one rounding makes a subnormal result.

An operation whose result is subnormal, or rounds to 0, takes a hundred times as long on many CPUs, and masked
softmax has many such arguments: where e^x is 0, nothing is scaled.
"""

from __future__ import annotations

import math

from ....compiler.ir.record import record
from .builder import Value, fma, larger, magnitude, polynomial, smaller, where, with_sign
from .constants import Constants, constants, table
from .logarithm import joined
from .pairs import Pair, remaining
from .pieces import by_pieces
from .registers import looked_up, scaled_by_power
from .tables import EXP2

# So far below 0 the result of an exponential is 0 without being scaled in several steps.
_FAR = -10_000.0


@record
class Whole:
    """A whole number k: as a float, and as the low bits of k + magic."""

    value: Value
    shifted: Value


def nearest(x: Value) -> Whole:
    """The whole number nearest to x, for |x| < 2^(mantissa bits - 2)."""
    return whole(x + constants(x.dtype).magic, constants(x.dtype))


def whole(shifted: Value, c: Constants) -> Whole:
    return Whole(shifted - c.magic, shifted)


def power_of_two(shifted: Value) -> Value:
    """2^k from k + magic, for normal results."""
    c = constants(shifted.dtype)
    return ((shifted.bits() << c.mantissa) + c.one_bits).floats()


def has_scalef(x: Value) -> bool:
    """Whether one instruction scales such numbers."""
    e = x.emitter
    return bool(e.target.scalef and e.lanes and e.lanes * x.dtype.itemsize % 64 == 0)


def lowest(x: Value) -> float:
    """The least argument that e^x is computed for: it is 0 there, and `vscalef` sees that so far below."""
    return _FAR if has_scalef(x) else constants(x.dtype).exp_low


def scaled(p: Value, k: Whole) -> Value:
    """p * 2^k, rounded once; k may leave the range of exponents by one binade and subnormal numbers."""
    if has_scalef(p):
        return scaled_by_power(p, k.value)
    c = constants(p.dtype)
    bits = k.shifted.bits()
    half = ((bits << c.mantissa - 1) & -(1 << c.mantissa)) + c.one_bits
    rest = (bits << c.mantissa) + 2 * c.one_bits - half
    return where(k.value < float(-c.bias - c.mantissa), 0.0, p) * half.floats() * rest.floats()


def reduced(x: Value) -> tuple[Value, Whole]:
    """r and k of x = k ln 2 + r."""
    c = constants(x.dtype)
    k = whole(fma(x, c.log2_e, c.magic), c)
    return fma(k.value, -c.ln2_low, fma(k.value, -c.ln2_high, x)), k


def _exp_looked_up(x: Value) -> Value:
    """2^(j/16) e^r 2^k with x = (k + j/16) ln 2 + r; the low bits of 16 k + j look up the first."""
    c = constants(x.dtype)
    sixteenths = c.magic / 16
    shifted = fma(x, c.log2_e, sixteenths)
    k = shifted - sixteenths
    r = fma(k, -c.ln2_low, fma(k, -c.ln2_high, x))
    power = looked_up("tl_exp2_f8", EXP2, shifted.bits(), x.dtype)
    grown = fma(r * r, polynomial(r, table("exp_near", x)), r)
    return scaled_by_power(fma(power, grown, power), k)


def exp(x: Value) -> Value:
    c = constants(x.dtype)
    if x.emitter.target.permute and x.dtype.itemsize == 8:
        return _exp_looked_up(larger(smaller(x, c.exp_high), _FAR))
    r, k = reduced(larger(smaller(x, c.exp_high), lowest(x)))
    return scaled(polynomial(r, (1.0, 1.0, *table("exp", x))), k)


def exp2(x: Value) -> Value:
    c = constants(x.dtype)
    x = larger(smaller(x, c.bias + 2.0), _FAR if has_scalef(x) else -(c.bias + c.mantissa + 2.0))
    k = nearest(x)
    return scaled(polynomial(x - k.value, (1.0, *table("exp2", x))), k)


def expm1_pair(x: Value, more: Value | None = None) -> tuple[Pair, Whole]:
    """e^r - 1 as r and the rest, and k, of x + more; what rounding takes from r is added to the rest."""
    c = constants(x.dtype)
    k = whole(fma(x, c.log2_e, c.magic), c)
    high = fma(k.value, -c.ln2_high, x)
    low = k.value * -c.ln2_low if more is None else fma(k.value, -c.ln2_low, more)
    r = high + low
    lost = (high - r) + low
    return Pair(r, fma(r * r, polynomial(r, table("expm1", x)), lost)), k


def expm1_parts(x: Value) -> tuple[Value, Whole]:
    """e^r - 1 and k."""
    pair, k = expm1_pair(x)
    return pair.high + pair.low, k


def expm1(x: Value) -> Value:
    """2^k (e^r - 1) + (2^k - 1), both halved so that 2^k stays finite."""
    c = constants(x.dtype)
    q, k = expm1_parts(larger(smaller(x, c.exp_high), -2.0 * c.mantissa))
    half = power_of_two(k.shifted - 1.0)
    return where(magnitude(x) < c.epsilon, x, fma(half, q, half - 0.5) * 2.0)


def tanh(x: Value) -> Value:
    """t / (t + 2) with t = e^(2|x|) - 1, and what rounding takes from t + 2 given back."""
    c = constants(x.dtype)
    if x.emitter.target.permute and x.dtype.itemsize == 4:
        return with_sign(by_pieces("tanh", magnitude(x)), x)
    q, k = expm1_parts(smaller(magnitude(x), c.tanh_one) * 2.0)
    power = power_of_two(k.shifted)
    t = fma(power, q, power - 1.0)
    total = t + 2.0
    lost = t - (total - 2.0)
    inverse = 1.0 / total
    ratio = t * inverse
    missing = fma(-ratio, lost, remaining(t, ratio, total))
    return with_sign(fma(missing, inverse, ratio), x)


def expit(x: Value) -> Value:
    """1 / (1 + e^-|x|), times e^-|x| where x is negative; what rounding takes from the sum is given back."""
    r, k = reduced(larger(-magnitude(x), lowest(x)))
    power = scaled(polynomial(r, (1.0, 1.0, *table("exp", x))), k)
    total = power + 1.0
    lost = power - (total - 1.0)
    inverse = 1.0 / total
    top = where(x < 0.0, power, 1.0)
    ratio = top * inverse
    return fma(fma(-ratio, lost, remaining(top, ratio, total)), inverse, ratio)


def _exp_of_distance(a: Value) -> Value:
    """e^-a for a >= 0."""
    r, k = reduced(-smaller(a, -lowest(a)))
    return scaled(polynomial(r, (1.0, 1.0, *table("exp", a))), k)


def _log1p_of_part(a: Value) -> Value:
    """log(1 + a) for 0 <= a <= 1; above sqrt(2) - 1 half of 1 + a is taken."""
    large = a > math.sqrt(2.0) - 1.0
    return joined(where(large, fma(a, 0.5, -0.5), a), where(large, a.like(1.0), 0.0))


def log_expit(x: Value) -> Value:
    """min(x, 0) - log(1 + e^-|x|)."""
    rest = _log1p_of_part(_exp_of_distance(magnitude(x)))
    return where(x < 0.0, x, -0.0) - rest


def logaddexp(x: Value, y: Value) -> Value:
    """The larger plus log(1 + e^-distance); equal operands may be infinite."""
    high = where((x > y) | x.is_nan(), x, y)
    total = high + _log1p_of_part(_exp_of_distance(magnitude(x - y)))
    return where(x.equals(y), x + math.log(2), total)


def logaddexp2(x: Value, y: Value) -> Value:
    """The larger plus log2(1 + 2^-distance)."""
    c = constants(x.dtype)
    high = where((x > y) | x.is_nan(), x, y)
    small = _log1p_of_part(exp2(-magnitude(x - y)))
    total = high + fma(small, c.log2_e, small * c.log2_e_low)
    return where(x.equals(y), x + 1.0, total)
