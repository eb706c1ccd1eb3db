"""The error function and the normal distribution.

Near zero erf x = x + x p(x^2); beyond, erf x = 1 - exp(-x - x p(x)), where the exponential is the smaller
part (after N. Juffa's erff). erfc and ndtr stay relatively accurate in their tails: exp(-x^2) of an exact
square times p(t) / (1 + 2 x) with t = (x - 4) / (x + 4).
"""

from __future__ import annotations

from .builder import Value, fma, magnitude, polynomial, smaller, where, with_sign
from .constants import constants, table
from .exponential import Whole, expm1_pair, lowest, power_of_two, reduced, scaled
from .logarithm import log_of_pair
from .pairs import Pair, quick_sum, remaining, two_product
from .pieces import by_pieces

_ROOT_PI_INVERSE = float.fromhex("0x1.20dd750429b6dp-1")
_ROOT_TWO_PI_INVERSE = float.fromhex("0x1.9884533d43651p-2")
_NDTR_NEAR = 0.625
# x (1 - ndtr(x)) / density in powers of 1 / x^2, an asymptotic series (DLMF 7.12.1).
_MILLS = (1.0, -1.0, 3.0, -15.0, 105.0, -945.0)


def erf(x: Value) -> Value:
    if x.emitter.target.permute:
        return with_sign(by_pieces("erf", magnitude(x)), x)
    if x.emitter.target.short and x.dtype.itemsize == 4:
        return with_sign(by_pieces("erf_eight", magnitude(x)), x)
    c = constants(x.dtype)
    a = smaller(magnitude(x), c.erf_one)
    z = x * x
    near = fma(polynomial(z, table("erf_near", x)), x, x)
    r, k = reduced(-fma(polynomial(a, table("erf_far", x)), a, a))
    far = 1.0 - polynomial(r, (1.0, 1.0, *table("exp", x))) * power_of_two(k.shifted)
    return where(a < c.erf_near, near, with_sign(far, x))


def _quotient(name: str, a: Value, middle: float, slope: float) -> Pair:
    """p(t) / (1 + slope a) with t = (a - middle) / (a + middle), as a sum of two numbers.

    The table begins with p(0) as a sum of two numbers.
    """
    inverse = 1.0 / (a + middle)
    t = (a - middle) * inverse
    t = fma(fma(-a, t, fma(t + 1.0, -middle, a)), inverse, t)
    first, *others = table(name, a)
    p = quick_sum(a.like(first), polynomial(t, others))
    bottom = fma(a, slope, 1.0)
    lost = fma(a, slope, 1.0 - bottom)
    inverse = 1.0 / bottom
    ratio = p.high * inverse
    rest = fma(-ratio, lost, remaining(p.high, ratio, bottom) + p.low)
    return Pair(ratio, rest * inverse)


def _gaussian(square: Pair, quotient: Pair) -> tuple[Pair, Whole]:
    """exp(-square) * quotient as a pair times 2^k: quotient * (e^r - 1) is added to the quotient."""
    grown, k = expm1_pair(-smaller(square.high, -lowest(square.high)), -square.low)
    product = two_product(quotient.high, grown.high)
    total = quick_sum(quotient.high, product.high)
    rest = product.low + fma(quotient.high, grown.low, quotient.low)
    return quick_sum(total.high, total.low + rest), k


def erfc(x: Value) -> Value:
    """1 - erf x where |x| < 1/2; the tail, or 2 minus it, beyond."""
    c = constants(x.dtype)
    near = fma(-x, polynomial(x * x, table("erf_near", x)), 1.0 - x)
    a = smaller(magnitude(x), c.erfc_zero)
    tail, k = _gaussian(two_product(a, a), _quotient("erfc", a, 4.0, 2.0))
    far = scaled(tail.high, k)
    return where(a < 0.5, near, where(x < 0.0, 2.0 - far, far))


def erfcx(x: Value) -> Value:
    """1 + x p(x) near 0, then the quotient, 1 / (sqrt(pi) x) far out; 2 exp(x^2) minus those below 0."""
    c = constants(x.dtype)
    a = magnitude(x)
    square = two_product(smaller(a, c.erfc_zero), smaller(a, c.erfc_zero))
    quotient = _quotient("erfcx", smaller(a, c.erfcx_far), 4.0, 2.0)
    right = where(a < c.erfcx_far, quotient.high + quotient.low, _ROOT_PI_INVERSE / a)
    grown, k = expm1_pair(smaller(square.high, c.exp_high), square.low)
    power = quick_sum(x.like(1.0), grown.high)
    left = scaled(power.high, k) * 2.0 + (scaled(power.low + grown.low, k) * 2.0 - right)
    beyond = where(x < 0.0, left, right)
    return where(a < 0.5, fma(x, polynomial(x, table("erfcx_near", x)), 1.0), beyond)


def _ndtr_parts(x: Value) -> tuple[Value, Value, Pair, Pair]:
    """|x| (at most where the tail is 0), x p(x^2), x^2 / 2 and the quotient of the tail."""
    a = smaller(magnitude(x), constants(x.dtype).ndtr_zero)
    square = two_product(a, a)
    half = Pair(square.high * 0.5, square.low * 0.5)
    return a, x * polynomial(x * x, table("ndtr_near", x)), half, _quotient("ndtr", a, 5.0, 1.0)


def ndtr(x: Value) -> Value:
    """1/2 + x p(x^2) where |x| < 5/8; the tail, or 1 minus it, beyond."""
    a, near, half, quotient = _ndtr_parts(x)
    tail, k = _gaussian(half, quotient)
    far = scaled(tail.high, k)
    return where(a < _NDTR_NEAR, near + 0.5, where(x > 0.0, 1.0 - far, far))


def log_ndtr(x: Value) -> Value:
    """log(1/2 + …) near 0, log(1 - tail) right of it, log(quotient) - x^2 / 2 left of it."""
    a, near, half, quotient = _ndtr_parts(x)
    tail, k = _gaussian(half, quotient)
    right = quick_sum(x.like(1.0), -scaled(tail.high, k))
    middle = quick_sum(x.like(0.5), near)
    b = magnitude(x)
    inverse = 1.0 / b
    beyond = polynomial(inverse * inverse, _MILLS) * (inverse * _ROOT_TWO_PI_INVERSE)
    far, left, inner = b > a, x < 0.0, a < _NDTR_NEAR
    high = where(left, where(far, beyond, quotient.high), right.high)
    low = where(left, where(far, 0.0, quotient.low), right.low - scaled(tail.low, k))
    result = log_of_pair(where(inner, middle.high, high), where(inner, middle.low, low))
    return -magnitude(where(left & ~inner, fma(b * -0.5, b, result), result))
