"""Reduction of large arguments by pi/2, as private functions that a rarely taken branch calls.

An argument a = M 2^E with a 53-bit integer M times 2/pi, modulo 4, needs only a window of the bits of 2/pi
(Payne and Hanek, 1983). The window is one 256-bit integer read from a table; the product with M keeps its low
192 bits, of which the first two are the quadrant and the rest is the fraction, rounded once at the end.
"""

from __future__ import annotations

from ..types import DType, scalar_type, suffix, value_type
from .builder import Value
from .rare import close_branch, open_branch
from .two_over_pi import PI_HALF_BITS, TWO_OVER_PI_BITS, TWO_OVER_PI_WORDS

TABLE, REDUCE = "tl_two_over_pi", "tl_reduce"
# A product with 2^(E + shift) 2/pi has its binary point before the last 190 of 192 bits.
_SHIFT = TWO_OVER_PI_BITS - 190

_TABLE_TEXT = (
    f"@{TABLE} = private constant [{len(TWO_OVER_PI_WORDS)} x i64] "
    f"[{', '.join(f'i64 {word}' for word in TWO_OVER_PI_WORDS)}]"
)

# double a (positive, finite, at least 1) -> r as a sum of two numbers, and the quadrant
_REDUCE_TEXT = f"""define internal {{double, double, i64}} @{REDUCE}(double %a) {{
  %bits = bitcast double %a to i64
  %field = lshr i64 %bits, 52
  %fraction = and i64 %bits, {(1 << 52) - 1}
  %mantissa = or i64 %fraction, {1 << 52}
  %shift = sub i64 {_SHIFT + 1075}, %field
  %byte = lshr i64 %shift, 3
  %rest = and i64 %shift, 7
  %place = getelementptr i8, ptr @{TABLE}, i64 %byte
  %window = load i256, ptr %place, align 1
  %rest256 = zext i64 %rest to i256
  %aligned = lshr i256 %window, %rest256
  %factor = trunc i256 %aligned to i192
  %wide = zext i64 %mantissa to i192
  %product = mul i192 %factor, %wide
  %rounded = add i192 %product, {1 << 189}
  %top = lshr i192 %rounded, 190
  %quadrant = trunc i192 %top to i64
  %signed = shl i192 %product, 2
  %negative = icmp slt i192 %signed, 0
  %opposite = sub i192 0, %signed
  %either = select i1 %negative, i192 %opposite, i192 %signed
  %size = or i192 %either, 1
  %zeros = call i192 @llvm.ctlz.i192(i192 %size, i1 true)
  %normal = shl i192 %size, %zeros
  %cut = lshr i192 %normal, 64
  %cut256 = zext i192 %cut to i256
  %angle = mul i256 %cut256, {PI_HALF_BITS}
  %more = call i256 @llvm.ctlz.i256(i256 %angle, i1 true)
  %full = shl i256 %angle, %more
  %down = lshr i256 %full, 203
  %head = trunc i256 %down to i64
  %down2 = lshr i256 %full, 150
  %tail53 = trunc i256 %down2 to i64
  %tail = and i64 %tail53, {(1 << 53) - 1}
  %zeros64 = trunc i192 %zeros to i64
  %more64 = trunc i256 %more to i64
  %places = add i64 %zeros64, %more64
  %exponent = sub i64 {1023 - 52}, %places
  %field1 = shl i64 %exponent, 52
  %scale = bitcast i64 %field1 to double
  %exponent2 = sub i64 {1023 - 105}, %places
  %field2 = shl i64 %exponent2, 52
  %scale2 = bitcast i64 %field2 to double
  %head64 = uitofp i64 %head to double
  %tail64 = uitofp i64 %tail to double
  %high = fmul double %head64, %scale
  %low = fmul double %tail64, %scale2
  %minus = fneg double %high
  %minus2 = fneg double %low
  %r0 = select i1 %negative, double %minus, double %high
  %s0 = select i1 %negative, double %minus2, double %low
  %r = fadd double %r0, %s0
  %lost = fsub double %r0, %r
  %s = fadd double %lost, %s0
  %out1 = insertvalue {{double, double, i64}} poison, double %r, 0
  %out2 = insertvalue {{double, double, i64}} %out1, double %s, 1
  %out3 = insertvalue {{double, double, i64}} %out2, i64 %quadrant, 2
  ret {{double, double, i64}} %out3
}}"""


def _vector_text(symbol: str, dtype: DType, lanes: int) -> str:
    """The reduction of those lanes that a mask tells; the others get what the last three arguments say."""
    real, whole = scalar_type(dtype), f"i{8 * dtype.itemsize}"
    x, n, m = f"<{lanes} x {real}>", f"<{lanes} x {whole}>", f"<{lanes} x i1>"
    single = dtype.itemsize == 4
    lines = [
        f"define internal {{{x}, {x}, {n}}} @{symbol}({m} %mask, {x} %a, {x} %r0, {x} %s0, {n} %k0) {{",
        "entry:",
        "  br label %head",
        "head:",
        "  %i = phi i64 [ 0, %entry ], [ %next, %latch ]",
        f"  %r = phi {x} [ %r0, %entry ], [ %r3, %latch ]",
        f"  %s = phi {x} [ %s0, %entry ], [ %s3, %latch ]",
        f"  %k = phi {n} [ %k0, %entry ], [ %k3, %latch ]",
        f"  %is = extractelement {m} %mask, i64 %i",
        "  br i1 %is, label %body, label %latch",
        "body:",
        f"  %one = extractelement {x} %a, i64 %i",
        "  %wide = fpext float %one to double" if single else "",
        f"  %found = call {{double, double, i64}} @{REDUCE}(double {'%wide' if single else '%one'})",
        *(f"  %f{j} = extractvalue {{double, double, i64}} %found, {j}" for j in range(3)),
    ]
    if single:
        lines += [
            "  %g0 = fptrunc double %f0 to float",
            "  %back = fpext float %g0 to double",
            "  %left = fsub double %f0, %back",
            "  %both = fadd double %left, %f1",
            "  %g1 = fptrunc double %both to float",
            "  %g2 = trunc i64 %f2 to i32",
        ]
    g = "g" if single else "f"
    lines += [
        f"  %r1 = insertelement {x} %r, {real} %{g}0, i64 %i",
        f"  %s1 = insertelement {x} %s, {real} %{g}1, i64 %i",
        f"  %k1 = insertelement {n} %k, {whole} %{g}2, i64 %i",
        "  br label %latch",
        "latch:",
        f"  %r3 = phi {x} [ %r, %head ], [ %r1, %body ]",
        f"  %s3 = phi {x} [ %s, %head ], [ %s1, %body ]",
        f"  %k3 = phi {n} [ %k, %head ], [ %k1, %body ]",
        "  %next = add i64 %i, 1",
        f"  %more = icmp ult i64 %next, {lanes}",
        "  br i1 %more, label %head, label %done",
        "done:",
        f"  %o1 = insertvalue {{{x}, {x}, {n}}} poison, {x} %r3, 0",
        f"  %o2 = insertvalue {{{x}, {x}, {n}}} %o1, {x} %s3, 1",
        f"  %o3 = insertvalue {{{x}, {x}, {n}}} %o2, {n} %k3, 2",
        f"  ret {{{x}, {x}, {n}}} %o3",
        "}",
    ]
    return "\n".join(line for line in lines if line)


def reduce_large(large: Value, a: Value, small: tuple[Value, Value, Value]) -> tuple[Value, Value, Value]:
    """r as a sum of two numbers and k: those given, or of a large argument where a lane has one."""
    e = a.emitter
    w, lanes = e.writer, max(e.lanes, 1)
    symbol = f"{REDUCE}_{suffix(a.dtype, lanes)}"
    for declaration in ("declare i192 @llvm.ctlz.i192(i192, i1)", "declare i256 @llvm.ctlz.i256(i256, i1)"):
        w.declare(declaration)
    w.private(TABLE, _TABLE_TEXT)
    w.private(REDUCE, _REDUCE_TEXT)
    w.private(symbol, _vector_text(symbol, a.dtype, lanes))
    branch = open_branch(large, "large")
    given = [_vector(value) for value in (large, a, *small)]
    types = [_type(value) for value in (large, a, *small)]
    result = "{" + ", ".join(types[2:]) + "}"
    operands = ", ".join(f"{type_} {text}" for type_, text in zip(types, given, strict=True))
    found = w.let(f"call {result} @{symbol}({operands})")
    parts = []
    for number, value in enumerate(small):
        part = w.let(f"extractvalue {result} {found}, {number}")
        parts.append(part if e.lanes else w.let(f"extractelement {_type(value)} {part}, i64 0"))
    high, low, k = close_branch(branch, small, parts)
    return high, low, k


def _type(value: Value) -> str:
    """The type of a value in a vector of at least one lane."""
    return value_type(value.dtype, max(value.emitter.lanes, 1))


def _vector(value: Value) -> str:
    """The value as a vector of at least one lane."""
    e = value.emitter
    if e.lanes:
        return value.text
    return e.writer.let(f"insertelement {_type(value)} poison, {e.type(value.dtype)} {value.text}, i64 0")
