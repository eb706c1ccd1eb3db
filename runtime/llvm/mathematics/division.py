"""Quotients and remainders of floats and integers: floor_divide, remainder, fmod.

A float remainder is exact: a - q b with q = trunc(a / b) needs no rounding while a / b < 2^53, and a branch
leads to a loop where it is larger (float32 runs in float64). Integers up to 32 bits divide exactly in
float64; division by zero gives 0, the smallest integer over -1 wraps.
"""

from __future__ import annotations

from ..types import NotPrintable
from .bits import narrowed, widened
from .builder import BOOL, Value, floor, fma, magnitude, truncated, where, with_sign
from .rare import where_rare

_LARGEST_QUOTIENT = 2.0**53

# a >= b > 0, both finite, to a mod b: each turn takes q b with q = a / b rounded, which leaves an exact rest
# of either sign; b is scaled where the quotient would overflow.
_FMOD_TEXT = """define internal double @tl_fmod(double %a0, double %b) {
entry:
  br label %head
head:
  %a = phi double [ %a0, %entry ], [ %size, %body ]
  %negative = phi i1 [ false, %entry ], [ %turned, %body ]
  %more = fcmp oge double %a, %b
  br i1 %more, label %body, label %done
body:
  %plain = fdiv double %a, %b
  %over = fcmp oeq double %plain, 0x7FF0000000000000
  %scaled = fmul double %b, 0x7E70000000000000
  %once = select i1 %over, double %scaled, double %b
  %next = fdiv double %a, %once
  %over2 = fcmp oeq double %next, 0x7FF0000000000000
  %scaled2 = fmul double %once, 0x4630000000000000
  %divisor = select i1 %over2, double %scaled2, double %once
  %exact = fdiv double %a, %divisor
  %q = call double @llvm.trunc.f64(double %exact)
  %minus = fneg double %q
  %rest = call double @llvm.fma.f64(double %minus, double %divisor, double %a)
  %size = call double @llvm.fabs.f64(double %rest)
  %below = fcmp olt double %rest, 0x0000000000000000
  %turned = xor i1 %negative, %below
  br label %head
done:
  %some = fcmp ogt double %a, 0x0000000000000000
  %flip = and i1 %negative, %some
  %opposite = fsub double %b, %a
  %result = select i1 %flip, double %opposite, double %a
  ret double %result
}"""


def fmod(x: Value, y: Value) -> Value:
    if x.dtype.kind != "f":
        return _integers(x, y)[1]
    if not x.emitter.target.fma:
        raise NotPrintable("a float remainder without fused instructions")
    if x.dtype.itemsize == 4:
        return with_sign(_rest(x.double(), y.double()).single(), x)
    return with_sign(_rest(x, y), x)


def _rest(x: Value, y: Value) -> Value:
    """|x| mod |y|, in double precision."""
    a, b = magnitude(x), magnitude(y)
    quotient = a / b
    rest = fma(-truncated(quotient), b, a)
    rest = where(rest < 0.0, rest + b, rest)
    rest = where((a < float("inf")) & b.equals(float("inf")), a, rest)
    for name in ("trunc", "fma", "fabs"):
        count = 3 if name == "fma" else 1
        x.emitter.writer.declare(f"declare double @llvm.{name}.f64({', '.join(['double'] * count)})")
    large = (quotient >= _LARGEST_QUOTIENT) & (b > 0.0) & (a < float("inf"))
    return where_rare(large, "tl_fmod", _FMOD_TEXT, (a, b), rest)


def _differ_in_sign(a: Value, b: Value) -> Value:
    return ((a < 0.0) & (b >= 0.0)) | ((a >= 0.0) & (b < 0.0))


def remainder(x: Value, y: Value) -> Value:
    """fmod, plus y where it is not 0 and its sign is not y's; a 0 has y's sign."""
    rest = fmod(x, y)
    if x.dtype.kind == "u":
        return rest
    if x.dtype.kind != "f":
        moved = rest.differs(0) & ((rest ^ y) < 0)
        return where(moved, rest + y, rest)
    moved = where(_differ_in_sign(rest, y), rest + y, rest)
    return where(rest.equals(0.0), with_sign(0.0, y), moved)


def floor_divide(x: Value, y: Value) -> Value:
    """(x - fmod) / y, less 1 where the remainder is moved, rounded to a whole number; x / y where y is 0."""
    if x.dtype.kind != "f":
        quotient, rest = _integers(x, y)
        if x.dtype.kind == "u":
            return quotient
        return where(rest.differs(0) & ((rest ^ y) < 0), quotient - 1, quotient)
    rest = fmod(x, y)
    exact = (x - rest) / y
    moved = rest.differs(0.0) & _differ_in_sign(rest, y)
    exact = where(moved, exact - 1.0, exact)
    whole = floor(exact)
    whole = where(exact - whole > 0.5, whole + 1.0, whole)
    ratio = x / y
    return where(y.equals(0.0), ratio, where(exact.equals(0.0), with_sign(0.0, ratio), whole))


def _integers(x: Value, y: Value) -> tuple[Value, Value]:
    """The quotient, rounded towards 0, and the rest; 0 and 0 where y is 0."""
    if x.dtype == BOOL:
        raise NotPrintable("a quotient of booleans")
    none, opposite = y.equals(0), y.equals(-1) if x.dtype.kind == "i" else None
    trivial = none if opposite is None else none | opposite
    divisor = where(trivial, 1, y)
    if x.dtype.itemsize == 8:
        quotient = x / divisor
    else:
        quotient = narrowed(widened(x) / widened(divisor), x.dtype)
    if opposite is not None:
        quotient = where(opposite, -x, quotient)
    quotient = where(none, 0, quotient)
    return quotient, where(none, 0, x - quotient * y)
