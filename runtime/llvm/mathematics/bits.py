"""Functions that move bits or choose: shifts, signs, neighbours, bounds, angles in other units.

They give NumPy's results bit for bit. Also the conversions between integers and the floats that hold them.
"""

from __future__ import annotations

import numpy as np

from ..types import DType, NotPrintable
from .builder import BOOL, Value, magnitude, where, with_sign
from .constants import constants

_UINT8 = np.dtype(np.uint8)


def widened(x: Value) -> Value:
    """An integer of up to 32 bits as a float that holds it and the quotients of its kind."""
    wide = np.dtype(np.float32 if x.dtype.itemsize < 4 else np.float64)
    return x.emitter.convert("sitofp" if x.dtype.kind == "i" else "uitofp", x, wide)


def narrowed(x: Value, dtype: DType) -> Value:
    """A float within the range of an integer dtype, rounded towards 0."""
    return x.emitter.convert("fptosi" if dtype.kind == "i" else "fptoui", x, dtype)


def _floats_only(name: str, x: Value) -> None:
    if x.dtype.kind != "f":
        raise NotPrintable(f"{name} of {x.dtype}")


def _shift_count(x: Value, y: Value) -> tuple[Value, Value]:
    """Whether the count is within the width, and a count that is."""
    if x.dtype.kind not in "iu":
        raise NotPrintable(f"a shift of {x.dtype}")
    width = 8 * x.dtype.itemsize
    within = (y >= 0) & (y < width) if y.dtype.kind == "i" else y < width
    return within, where(within, y, 0)


def left_shift(x: Value, y: Value) -> Value:
    """0 where the count is not within the width."""
    within, count = _shift_count(x, y)
    return where(within, x << count, 0)


def right_shift(x: Value, y: Value) -> Value:
    """0 or -1 where the count is not within the width."""
    within, count = _shift_count(x, y)
    beyond = where(x < 0, x.like(-1), 0) if x.dtype.kind == "i" else x.like(0)
    return where(within, x >> count, beyond)


def bitwise_count(x: Value) -> Value:
    """The bits of |x| that are set, as uint8."""
    if x.dtype.kind not in "iu":
        raise NotPrintable(f"bitwise_count of {x.dtype}")
    e = x.emitter
    size = e.intrinsic("abs", x, extra="i1 false") if x.dtype.kind == "i" else x
    count = e.intrinsic("ctpop", size)
    return Value(e, count.text, _UINT8) if x.dtype.itemsize == 1 else e.convert("trunc", count, _UINT8)


def signbit(x: Value) -> Value:
    _floats_only("signbit", x)
    return x.bits() < 0


def conjugate(x: Value) -> Value:
    """A real number is its own conjugate."""
    return x


def heaviside(x: Value, y: Value) -> Value:
    """0 below 0, y at 0, 1 above; NaN stays."""
    _floats_only("heaviside", x)
    step = where(x > 0.0, x.like(1.0), where(x < 0.0, 0.0, x))
    return where(x.equals(0.0), y, step)


def spacing(x: Value) -> Value:
    """The distance to the next number away from 0, with x's sign (that of -0.0 is not kept)."""
    _floats_only("spacing", x)
    a = magnitude(x)
    distance = (a.bits() + 1).floats() - a
    return where(a < float("inf"), with_sign(distance, x + 0.0), float("nan"))


def nextafter(x: Value, y: Value) -> Value:
    """The number after x in the direction of y; y where they are equal."""
    _floats_only("nextafter", x)
    c = constants(x.dtype)
    bits = x.bits()
    away = ((y > x) & (bits >= 0)) | ((y < x) & (bits < 0))
    moved = where(away, bits + 1, bits - 1)
    first = (y.bits() & c.sign_bit) | 1
    result = where(x.equals(0.0), first, moved).floats()
    result = where(x.equals(y), y, result)
    return where(x.is_nan() | y.is_nan(), x + y, result)


def fmax(x: Value, y: Value) -> Value:
    """The larger, y of equal ones; a number wins over NaN."""
    if x.dtype.kind != "f":
        return where(x > y, x, y) if x.dtype != BOOL else x | y
    return where((x > y) | y.is_nan(), x, y)


def fmin(x: Value, y: Value) -> Value:
    """The smaller, y of equal ones; a number wins over NaN."""
    if x.dtype.kind != "f":
        return where(x < y, x, y) if x.dtype != BOOL else x & y
    return where((x < y) | y.is_nan(), x, y)


def clip(x: Value, low: Value, high: Value) -> Value:
    """The smaller of high and the larger of x and low; of equal ones the bound; NaN wins."""
    if x.dtype == BOOL:
        return (x | low) & high
    if x.dtype.kind != "f":
        raised = where(x > low, x, low)
        return where(raised < high, raised, high)
    raised = where((x > low) | x.is_nan(), x, low)
    return where((raised < high) | raised.is_nan(), raised, high)


def radians(x: Value) -> Value:
    _floats_only("radians", x)
    return x * _ratio(x, np.pi, 180.0)


def degrees(x: Value) -> Value:
    _floats_only("degrees", x)
    return x * _ratio(x, 180.0, np.pi)


def _ratio(x: Value, top: float, bottom: float) -> float:
    """A quotient rounded as NumPy's C code rounds it, in the dtype."""
    kind = x.dtype.type
    return float(kind(top) / kind(bottom))
