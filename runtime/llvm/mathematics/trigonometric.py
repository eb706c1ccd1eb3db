"""Sine, cosine and tangent for arguments of any size.

|x| = k pi/2 + r with |r| <= pi/4. Up to a limit, pi/2 as a sum of three numbers is enough; where a lane is
larger, a branch leads to a private function that multiplies by the bits of 2/pi (`large.py`).
"""

from __future__ import annotations

import math

from ....compiler.ir.record import record
from .builder import Value, fma, magnitude, polynomial, where
from .constants import constants, table
from .exponential import whole
from .large import reduce_large
from .pairs import quick_sum


@record
class _Quarter:
    """pi/2 as a sum, and up to where its products with k are exact enough."""

    parts: tuple[float, ...]
    limit: float


_FUSED = {
    4: _Quarter(tuple(map(float.fromhex, ("0x1.921fb6p+0", "-0x1.777a5cp-25", "-0x1.ee59dap-50"))), 2.0**15),
    8: _Quarter(
        tuple(
            map(float.fromhex, ("0x1.921fb54442d18p+0", "0x1.1a62633145c07p-54", "-0x1.f1976b7ed8fbcp-110"))
        ),
        2.0**27,
    ),
}
# Parts of 33 bits: their products with k are exact without fused instructions.
_UNFUSED = _Quarter(
    tuple(
        map(
            float.fromhex,
            ("0x1.921fb544p+0", "0x1.0b4611a6p-34", "0x1.3198a2ep-69", "0x1.b839a252049c1p-104"),
        )
    ),
    2.0**19,
)
_TWO_OVER_PI = {4: float.fromhex("0x1.45f306p-1"), 8: float.fromhex("0x1.45f306dc9c883p-1")}


def reduced(a: Value, pair: bool = False) -> tuple[Value, Value, Value]:
    """r as a sum of two numbers (the second 0 unless a pair is asked for) and k, of which low bits count."""
    e, c = a.emitter, constants(a.dtype)
    quarter = _FUSED[a.dtype.itemsize] if e.target.fma else _UNFUSED
    k = whole(fma(a, _TWO_OVER_PI[a.dtype.itemsize], c.magic), c)
    first, *middle, last = quarter.parts
    r, low = fma(k.value, -first, a), a.like(0.0)
    for part in middle:
        if not pair:
            r = fma(k.value, -part, r)
            continue
        product = k.value * part
        following = r - product
        low = low + ((r - following) - product)
        low = low - fma(k.value, part, -product) if e.target.fma else low
        r = following
    if pair:
        low = fma(k.value, -last, low)
        r, low = r + low, (r - (r + low)) + low
    else:
        r = fma(k.value, -last, r)
    large = (a > quarter.limit) & (a < float("inf"))
    return reduce_large(large, a, (r, low, k.shifted.bits()))


def _sine_or_cosine(x: Value, first: int) -> Value:
    """sin(x + first pi/2), but for the sign of x."""
    c = constants(x.dtype)
    r, _, k = reduced(magnitude(x))
    k = k + first
    z = r * r
    sine = fma(r * z, polynomial(z, table("sin", x)), r)
    cosine = fma(z * z, polynomial(z, table("cos", x)), fma(z, -0.5, 1.0))
    turned = where((k & 1).equals(0), sine, cosine).bits()
    sign = (k << (c.sign_place - 1)) & c.sign_bit
    if first == 0:
        sign = sign ^ (x.bits() & c.sign_bit)
    return (turned ^ sign).floats()


def sin(x: Value) -> Value:
    if x.dtype.itemsize == 4 and not x.emitter.target.fma:
        return sin(x.double()).single()
    return _sine_or_cosine(x, 0)


def cos(x: Value) -> Value:
    if x.dtype.itemsize == 4 and not x.emitter.target.fma:
        return cos(x.double()).single()
    return _sine_or_cosine(x, 1)


def tan(x: Value) -> Value:
    """tan r, or -1 / tan r where k is odd, with tan r as a sum of two numbers."""
    if x.dtype.itemsize == 4 and not x.emitter.target.fma:
        return tan(x.double()).single()
    c = constants(x.dtype)
    r, rest, k = reduced(magnitude(x), pair=True)
    z = r * r
    tangent = quick_sum(r, fma(r * z, polynomial(z, table("tan", x)), fma(rest, z, rest)))
    inverse = -1.0 / tangent.high
    error = fma(inverse, tangent.low, fma(inverse, tangent.high, 1.0))
    turned = where((k & 1).equals(0), tangent.high, fma(inverse, error, inverse))
    return (turned.bits() ^ (x.bits() & c.sign_bit)).floats()


def sinc(x: Value) -> Value:
    """NumPy's formula: sin(pi x) / (pi x), with a small number for 0."""
    y = x * math.pi
    y = where(y.equals(0.0), constants(x.dtype).spacing, y)
    return sin(y) / y
