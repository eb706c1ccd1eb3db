"""The inverse trigonometric functions.

arcsin and arctan are odd polynomials near 0. Farther out arcsin x = pi/2 - 2 arcsin sqrt((1 - x) / 2) and
arctan x = pi/2 - arctan(1 / x); pi/2 and pi are sums of two numbers.
"""

from __future__ import annotations

from .builder import Value, fma, magnitude, polynomial, square_root, where, with_sign
from .constants import constants, table

_NEAR = 0.625


def _halved(a: Value) -> tuple[Value, Value, Value]:
    """Whether a > 5/8, t with arcsin a = pi/2 - 2 arcsin t there (t = a elsewhere), and arcsin t - t."""
    far = a > _NEAR
    half = fma(a, -0.5, 0.5)
    z = where(far, half, a * a)
    t = where(far, square_root(half), a)
    return far, t, t * z * polynomial(z, table("arcsin", a))


def arcsin(x: Value) -> Value:
    c = constants(x.dtype)
    far, t, rest = _halved(magnitude(x))
    beyond = c.half_pi - (t * 2.0 - fma(rest, -2.0, c.half_pi_low))
    return with_sign(where(far, beyond, t + rest), x)


def arccos(x: Value) -> Value:
    """2 arcsin t for x near 1, pi minus that near -1, pi/2 - arcsin x between."""
    c = constants(x.dtype)
    far, t, rest = _halved(magnitude(x))
    between = c.half_pi - (x - (c.half_pi_low - with_sign(rest, x)))
    twice = (t + rest) * 2.0
    opposite = c.half_pi * 2.0 - (t * 2.0 - fma(rest, -2.0, c.half_pi_low * 2.0))
    return where(far, where(x < 0.0, opposite, twice), between)


def _arctan_rest(t: Value) -> Value:
    """arctan t - t for 0 <= t <= 1."""
    z = t * t
    return t * z * polynomial(z, table("arctan", t))


def arctan(x: Value) -> Value:
    c = constants(x.dtype)
    a = magnitude(x)
    far = a > 1.0
    t = where(far, 1.0 / a, a)
    rest = _arctan_rest(t)
    return with_sign(where(far, c.half_pi - (t - (c.half_pi_low - rest)), t + rest), x)


def arctan2(y: Value, x: Value) -> Value:
    """arctan of the smaller over the larger size, turned by the octant: 0, pi/2 or pi plus or minus it."""
    c = constants(x.dtype)
    a, b = magnitude(y), magnitude(x)
    steep = a > b
    smaller, larger = where(steep, b, a), where(steep, a, b)
    t = where(larger.equals(0.0), 0.0, where(smaller.equals(float("inf")), 1.0, smaller / larger))
    left = x.bits() < 0
    rest = _arctan_rest(t)
    turn = (steep & ~left) | (left & ~steep)
    t, rest = where(turn, -t, t), where(turn, -rest, rest)
    base = where(steep, x.like(c.half_pi), where(left, x.like(c.half_pi * 2.0), 0.0))
    low = where(steep, x.like(c.half_pi_low), where(left, x.like(c.half_pi_low * 2.0), 0.0))
    angle = base + (t + (rest + low))
    return where(x.is_nan() | y.is_nan(), x + y, with_sign(angle, y))
