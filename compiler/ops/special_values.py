"""What the special functions compute where SciPy is not installed: NumPy and the math module alone.

Each function takes arrays of float32 or float64, computes in float64 and gives the operands' dtype; errors
stay within a few units in the last place (tests hold them against mpmath). Sources: the error function and
the logarithm of gamma outside [1/2, 5/2] are the C library's; the zeta function of Hurwitz is summed by
Euler and Maclaurin (DLMF 25.11.28); psi, polygamma and the rest of gammaln are series in its values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np

Array = Any
_EULER = 0.5772156649015328606
# B_2j / (2j)!, j = 1 … 12: the coefficients of the Euler-Maclaurin sum.
_BERNOULLI = (
    (1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798),
    (-174611, 330), (854513, 138), (-236364091, 2730),
)  # fmt: skip
_MACLAURIN = tuple(top / bottom / math.factorial(2 * j) for j, (top, bottom) in enumerate(_BERNOULLI, 1))
_ROOT, _ROOT_REST = 1.4616321449683622, 9.549995429965697e-17  # where psi is 0, as a sum of two numbers
_SQRT_HALF, _SQRT_HALF_REST = 0.7071067811865476, -4.833646656726457e-17


def in_double(function: Callable[..., Array]) -> Callable[..., Array]:
    """Let a function of float64 arrays take operands of any float dtype, and give that dtype back."""

    @wraps(function)
    def apply(*operands: Array, **attrs: Any) -> Array:
        dtype = np.result_type(*(np.asarray(x) for x in operands))
        doubles = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in operands))
        with np.errstate(all="ignore"):
            return np.asarray(function(*doubles, **attrs)).astype(dtype)[()]

    return apply


def each(function: Callable[[float], float]) -> Callable[[Array], Array]:
    """A function of one number applied to every element; a domain error gives NaN, an overflow inf."""

    def guarded(x: float) -> float:
        try:
            return function(x)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    def apply(x: Array) -> Array:
        return np.array([guarded(v) for v in x.ravel().tolist()], np.float64).reshape(x.shape)

    return apply


_erf, _erfc, _gamma_of, _lgamma = each(math.erf), each(math.erfc), each(math.gamma), each(math.lgamma)


@in_double
def erf(x: Array) -> Array:
    return _erf(x)


@in_double
def erfc(x: Array) -> Array:
    return _erfc(x)


def square_rest(x: Array) -> tuple[Array, Array]:
    """x * x as a sum of two numbers without error (Dekker's splitting)."""
    high = (134217729.0 * x) - (134217729.0 * x - x)
    low = x - high
    square = x * x
    return square, ((high * high - square) + 2 * high * low) + low * low


@in_double
def erfcx(x: Array) -> Array:
    """exp(x^2) erfc(x): by that product below 25, by the asymptotic series (DLMF 7.12.1) above."""
    near = np.clip(x, -27, 25)
    square, rest = square_rest(near)
    product = np.exp(square) * (1 + rest) * _erfc(near)
    term = total = np.ones_like(x)
    ratio = 0.5 / np.where(x > 25, x * x, np.inf)
    for k in range(1, 8):
        term = -term * (2 * k - 1) * ratio
        total = total + term
    series = total / (np.where(x > 25, x, 1) * math.sqrt(math.pi))
    return np.where(x > 25, series, np.where(x < -26.7, np.inf, product))


def _half_square_tail(x: Array) -> Array:
    """erfc(-x / sqrt 2), with the rounding of its argument made up for."""
    argument = -x * _SQRT_HALF
    exact, rest = _product_rest(-x, _SQRT_HALF)
    error = (exact - argument) + rest - x * _SQRT_HALF_REST
    error = np.where(np.isfinite(error), error, 0)
    return _erfc(argument) - 2 / math.sqrt(math.pi) * np.exp(-argument * argument) * error


def _product_rest(x: Array, y: float) -> tuple[Array, Array]:
    """x * y as a sum of two numbers without error."""
    split = 134217729.0
    x_high = split * x - (split * x - x)
    y_high = split * y - (split * y - y)
    x_low, y_low = x - x_high, y - y_high
    product = x * y
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


@in_double
def ndtr(x: Array) -> Array:
    return 0.5 * _half_square_tail(x)


@in_double
def log_ndtr(x: Array) -> Array:
    """log of ndtr: below -1 by erfcx, above by the complement."""
    low, high = np.minimum(x, -1), np.maximum(x, -1)
    below = np.log(erfcx(-low * _SQRT_HALF) / 2) - low * low / 2
    below = np.where(np.isinf(low), -np.inf, below)
    return np.where(x < -1, below, np.log1p(-0.5 * _half_square_tail(-high)))


@in_double
def expit(x: Array) -> Array:
    small = np.exp(-np.abs(x))
    return np.where(x >= 0, 1, small) / (1 + small)


@in_double
def logit(x: Array) -> Array:
    """log(x / (1 - x)), by log1p where that is near 0."""
    middle = (x > 0.3) & (x < 0.65)
    return np.where(middle, np.log1p((2 * x - 1) / (1 - x)), np.log(x / (1 - x)))


@in_double
def log_expit(x: Array) -> Array:
    return np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x)))


@in_double
def xlogy(x: Array, y: Array) -> Array:
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log(y))


@in_double
def xlog1py(x: Array, y: Array) -> Array:
    return np.where((x == 0) & ~np.isnan(y), 0, x * np.log1p(y))


@in_double
def entr(x: Array) -> Array:
    return np.where(x == 0, 0, np.where(x < 0, -np.inf, -x * np.log(x)))


@in_double
def rel_entr(x: Array, y: Array) -> Array:
    outside = np.where((x == 0) & (y >= 0), 0, np.where(np.isnan(x) | np.isnan(y), np.nan, np.inf))
    return np.where((x > 0) & (y > 0), x * np.log(x / y), outside)


@in_double
def kl_div(x: Array, y: Array) -> Array:
    """x log(x / y) - x + y; where x and y are close, x times the series of gap - log(1 + gap)."""
    gap = (y - x) / x
    close = (gap > -0.7) & (gap < 2)
    ratio = np.where(close, gap, 0) / (2 + np.where(close, gap, 0))
    square, series = ratio * ratio, np.zeros_like(ratio)
    for k in range(34, 0, -1):
        series = square * (1 / (2 * k + 1) + series)
    inside = np.where(close, x * ratio * (gap - 2 * series), x * np.log(x / y) - x + y)
    outside = np.where((x == 0) & (y >= 0), y, np.where(np.isnan(x) | np.isnan(y), np.nan, np.inf))
    return np.where((x > 0) & (y > 0), inside, outside)


def zeta(s: int, x: Array) -> Array:
    """The sum of (x + k)^-s over all k >= 0, for whole s > 1; inf at 0 and at negative whole numbers."""
    total = np.zeros_like(x)
    shifted = x
    while np.any(shifted < 12):
        low = shifted < 12
        total = np.where(low, total + np.power(shifted, -float(s)), total)
        shifted = np.where(low, shifted + 1, shifted)
    tail = np.power(shifted, 1.0 - s) / (s - 1) + 0.5 * np.power(shifted, -float(s))
    factor = s * np.power(shifted, -float(s + 1))
    for j, coefficient in enumerate(_MACLAURIN):
        tail = tail + coefficient * factor
        factor = factor * ((s + 2 * j + 1) * (s + 2 * j + 2)) / (shifted * shifted)
    return np.where((x <= 0) & (x == np.floor(x)), np.inf, total + tail)


@lru_cache(maxsize=64)
def _zeta_at(s: int, x: float) -> float:
    return float(zeta(s, np.asarray(x)))


@in_double
def polygamma(x: Array, order: int) -> Array:
    """The derivative of psi of the given order (1 or more): DLMF 5.15.1."""
    sign = 1.0 if order % 2 else -1.0
    return sign * math.factorial(order) * zeta(order + 1, x)


@in_double
def psi(x: Array) -> Array:
    """The logarithmic derivative of gamma: a series at its root, else shifted to where Stirling holds."""
    near = (x > 0.97) & (x < 3.9)
    steps = np.where(near, np.maximum(np.rint(x - _ROOT), 0), 0)
    gap = np.where(near, ((x - steps) - _ROOT) - _ROOT_REST, 0)
    at_root = np.zeros_like(x)
    for n in range(36, 0, -1):
        at_root = gap * ((1.0 if n % 2 else -1.0) * _zeta_at(n + 1, _ROOT) + at_root)
    for step in (1, 2):
        at_root = np.where(steps >= step, at_root + 1 / np.where(near, x - step, 1), at_root)
    positive = np.where(x > 0, x, 1 - x)
    total, shifted = np.zeros_like(x), positive
    for _ in range(12):
        low = shifted < 12
        total = np.where(low, total - 1 / shifted, total)
        shifted = np.where(low, shifted + 1, shifted)
    power = 1 / (shifted * shifted)
    series, factor = np.zeros_like(x), power
    for j, (top, bottom) in enumerate(_BERNOULLI, 1):
        series = series + top / bottom / (2 * j) * factor
        factor = factor * power
    total = total + (np.log(shifted) - 0.5 / shifted - series)
    turn = np.where(np.isfinite(x), x - np.rint(x), np.nan)
    reflected = total - math.pi / np.tan(math.pi * turn)
    poles = np.where(x == 0, np.copysign(np.inf, -x), np.nan)
    negative = np.where(turn == 0, poles, reflected)
    return np.where(near, at_root, np.where(x > 0, total, negative))


@in_double
def gammaln(x: Array) -> Array:
    """log |gamma(x)|; near its zeros at 1 and 2 by the series at 2 (DLMF 5.7.3)."""
    around_one, around_two, around_three = (np.abs(x - n) <= 0.5 for n in (1, 2, 3))
    gap = np.where(around_two, x - 2, np.where(around_one, x - 1, np.where(around_three, x - 3, 0)))
    series = np.zeros_like(x)
    for k in range(30, 1, -1):
        series = gap * ((1.0 if k % 2 == 0 else -1.0) * _zeta_at(k, 2.0) / k + series)
    series = gap * ((1 - _EULER) + series)
    near = series - np.log(np.where(around_one, x, 1)) + np.log(np.where(around_three, x - 1, 1))
    pole = (x <= 0) & (x == np.floor(x))
    is_near = around_one | around_two | around_three
    far = _lgamma(np.where(pole | is_near, 4.0, x))
    return np.where(pole, np.where(x == -np.inf, -np.inf, np.inf), np.where(is_near, near, far))


@in_double
def gamma(x: Array) -> Array:
    return np.where(x == 0, np.copysign(np.inf, x), _gamma_of(np.where(x == 0, 1.0, x)))


@in_double
def bessel_i(x: Array, order: int) -> Array:
    """The modified Bessel function of a whole order.

    Its series (DLMF 10.25.2) near 0, the asymptotic one (10.40.1) far out, and between them its integral
    over a circle (10.32.3), which the trapezoidal rule gives to the last digits.
    """
    size = np.abs(x)
    first = max(4.0, 2.0 * order)
    second = max(40.0, 2.0 * order * order)
    between = _bessel_integral(np.clip(size, first, second), order)
    near = _bessel_series(np.minimum(size, first), order)
    far = _bessel_asymptotic(np.maximum(size, second), order)
    result = np.where(size < first, near, np.where(size < second, between, far))
    return np.where((x < 0) & (order % 2 == 1), -result, result)


def _bessel_series(x: Array, order: int) -> Array:
    half = x / 2
    term = total = np.power(half, float(order)) / math.factorial(order)
    for k in range(1, 30 + 2 * order):
        term = term * (half * half) / (k * (k + order))
        total = total + term
    return total


def _bessel_integral(x: Array, order: int) -> Array:
    count = 80 + 4 * order * order
    angles = math.pi * np.arange(2 * count) / count
    sines = np.sin(angles / 2)
    terms = np.exp(-2 * np.multiply.outer(x, sines * sines)) * np.cos(order * angles)
    return np.exp(x) * np.mean(terms, axis=-1)


def _bessel_asymptotic(x: Array, order: int) -> Array:
    finite = np.where(np.isinf(x), 1e300, x)
    factor = series = np.ones_like(x)
    for k in range(1, 16):
        factor = -factor * (4 * order * order - (2 * k - 1) ** 2) / (8 * k * finite)
        series = series + factor
    half_exponential = np.exp(finite / 2)
    return half_exponential * (series / np.sqrt(2 * math.pi * finite)) * half_exponential


def sinc_derivative(x: Array, order: int) -> Array:
    """The derivative of this order of sin(pi x) / (pi x), for real or complex x: order 0 is np.sinc itself.

    With y = pi x: the power series for small y, else y f_n = sin(y + n pi / 2) - n f_(n-1).
    """
    if order == 0:
        return np.sinc(x)
    x = np.asarray(x)
    wide = x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)
    y = math.pi * wide
    small = np.abs(y) < order + 1
    with np.errstate(all="ignore"):
        value = np.where(small, _sinc_series(np.where(small, y, 0), order), _sinc_far(wide, y, small, order))
    return np.multiply(math.pi**order, value).astype(x.dtype)[()]


def _sinc_series(y: Array, order: int) -> Array:
    """The sum of (-1)^j y^(2j - n) / ((2j + 1) (2j - n)!) over 2j >= n."""
    first = (order + 1) // 2
    power = np.power(y, 2 * first - order)
    total = np.zeros_like(y)
    for j in range(first, first + 20 + 2 * order):
        total = total + (-1.0) ** j / ((2 * j + 1) * math.factorial(2 * j - order)) * power
        power = power * (y * y)
    return total


def _sinc_far(x: Array, y: Array, small: Array, order: int) -> Array:
    """The recurrence, with sines of pi x whose argument is reduced without error."""
    turn = math.pi * (x - 2 * np.rint(x.real / 2))
    divisor: Array = np.where(small, 1, y)
    waves = np.sin(turn), np.cos(turn), -np.sin(turn), -np.cos(turn)
    value: Array = waves[0] / divisor
    for n in range(1, order + 1):
        value = (waves[n % 4] - n * value) / divisor
    return value
