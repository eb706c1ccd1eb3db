"""One row per primitive: its LLVM instructions for a class of dtypes.

A row gets a writer, the operands (names), their dtype and the lanes, and gives the name of the result.
Functions without instructions of their own are in `mathematics`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from . import mathematics
from .mathematics.builder import Writer
from .types import DType, NotPrintable, constant, scalar_type, suffix, value_type

HALF, SINGLE = np.dtype(np.float16), np.dtype(np.float32)
Row = Callable[[Writer, Sequence[str], DType, int], str]


def _binary(float_op: str | None, int_op: str | None, unsigned_op: str | None = None) -> Row:
    def row(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
        op = float_op if dtype.kind == "f" else (unsigned_op or int_op) if dtype.kind == "u" else int_op
        if op is None or dtype.kind == "b":
            raise NotPrintable(f"{float_op or int_op} of {dtype}")
        return w.let(f"{op} {value_type(dtype, lanes)} {v[0]}, {v[1]}")

    return row


def _compare(name: str) -> Row:
    def row(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
        if dtype.kind == "f":
            op = f"fcmp {'une' if name == 'ne' else 'o' + name}"
        else:
            sign = "" if name in ("eq", "ne") else "s" if dtype.kind == "i" else "u"
            op = f"icmp {sign}{name}"
        return w.let(f"{op} {value_type(dtype, lanes)} {v[0]}, {v[1]}")

    return row


def _compare_mixed(w: Writer, op: str, v: Sequence[str], dtypes: Sequence[DType], lanes: int) -> str:
    """Compare a signed and an unsigned integer of 64 bits by their values, as NumPy does."""
    if dtypes[0].kind == "u":
        return _compare_mixed(w, MIRRORED.get(op, op), v[::-1], dtypes[::-1], lanes)
    type_, boolean = value_type(dtypes[0], lanes), value_type(np.dtype(bool), lanes)
    negative = w.let(f"icmp slt {type_} {v[0]}, {constant(0, dtypes[0], lanes)}")
    found = ROWS[op](w, v, dtypes[1], lanes)
    if op in ("less", "less_equal", "not_equal"):
        return w.let(f"or {boolean} {negative}, {found}")
    return w.let(
        f"select {boolean} {negative}, {boolean} {constant(0, np.dtype(bool), lanes)}, {boolean} {found}"
    )


def _logic(op: str) -> Row:
    def row(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
        if dtype.kind == "f":
            raise NotPrintable(f"{op} of {dtype}")
        return w.let(f"{op} {value_type(dtype, lanes)} {v[0]}, {v[1]}")

    return row


def _logical(op: str) -> Row:
    inner = _logic(op)

    def row(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
        return inner(w, [truth(w, x, dtype, lanes) for x in v], np.dtype(bool), lanes)

    return row


def truth(w: Writer, value: str, dtype: DType, lanes: int) -> str:
    """The value as a boolean: whether it is not zero."""
    if dtype.kind == "b":
        return value
    op = "fcmp une" if dtype.kind == "f" else "icmp ne"
    return w.let(f"{op} {value_type(dtype, lanes)} {value}, {constant(0, dtype, lanes)}")


def intrinsic(w: Writer, name: str, v: Sequence[str], dtype: DType, lanes: int, extra: str = "") -> str:
    """A call of an LLVM intrinsic whose operands and result have one type."""
    type_ = value_type(dtype, lanes)
    full = f"@llvm.{name}.{suffix(dtype, lanes)}"
    kinds = ", ".join([type_] * len(v) + (["i1"] if extra else []))
    w.declare(f"declare {type_} {full}({kinds})")
    return w.let(f"call {type_} {full}({', '.join(f'{type_} {x}' for x in v)}{extra})")


def _intrinsic(name: str) -> Row:
    def row(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
        if dtype.kind != "f":
            if name in ("floor", "ceil", "trunc", "rint"):
                return v[0]
            raise NotPrintable(f"{name} of {dtype}")
        return intrinsic(w, name, v, dtype, lanes)

    return row


def _extremum(name: str) -> Row:
    """NumPy's maximum and minimum: NaN wins."""

    def row(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
        type_, boolean = value_type(dtype, lanes), value_type(np.dtype(bool), lanes)
        if dtype.kind == "b":
            return w.let(f"{'or' if name == 'ge' else 'and'} {type_} {v[0]}, {v[1]}")
        if dtype.kind != "f":
            return intrinsic(
                w, ("s" if dtype.kind == "i" else "u") + ("max" if name == "ge" else "min"), v, dtype, lanes
            )
        ahead = w.let(f"fcmp u{name[0]}t {type_} {v[0]}, {v[1]}")
        missing = w.let(f"fcmp uno {type_} {v[1]}, {v[1]}")
        other = w.let(f"fcmp ord {type_} {v[0]}, {v[0]}")
        lost = w.let(f"and {boolean} {missing}, {other}")
        kept = w.let(f"select {boolean} {ahead}, {type_} {v[0]}, {type_} {v[1]}")
        return w.let(f"select {boolean} {lost}, {type_} {v[1]}, {type_} {kept}")

    return row


def _negative(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    type_ = value_type(dtype, lanes)
    if dtype.kind == "f":
        return w.let(f"fneg {type_} {v[0]}")
    return w.let(f"sub {type_} {constant(0, dtype, lanes)}, {v[0]}")


def _absolute(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    if dtype.kind == "f":
        return intrinsic(w, "fabs", v, dtype, lanes)
    return v[0] if dtype.kind in "bu" else intrinsic(w, "abs", v, dtype, lanes, ", i1 false")


def _square(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    return ROWS["multiply"](w, [v[0], v[0]], dtype, lanes)


def _reciprocal(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    if dtype.kind != "f":
        raise NotPrintable(f"reciprocal of {dtype}")
    return w.let(f"fdiv {value_type(dtype, lanes)} {constant(1, dtype, lanes)}, {v[0]}")


def _sign(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    """-1, 0 or 1; NaN stays, and so does the sign of zero's absence: sign(-0.0) is 0."""
    if dtype.kind != "f":
        raise NotPrintable(f"sign of {dtype}")
    type_, boolean = value_type(dtype, lanes), value_type(np.dtype(bool), lanes)
    above = w.let(f"fcmp ogt {type_} {v[0]}, {constant(0, dtype, lanes)}")
    below = w.let(f"fcmp olt {type_} {v[0]}, {constant(0, dtype, lanes)}")
    missing = w.let(f"fcmp uno {type_} {v[0]}, {v[0]}")
    low = w.let(
        f"select {boolean} {below}, {type_} {constant(-1, dtype, lanes)}, {type_} {constant(0, dtype, lanes)}"
    )
    high = w.let(f"select {boolean} {above}, {type_} {constant(1, dtype, lanes)}, {type_} {low}")
    return w.let(f"select {boolean} {missing}, {type_} {v[0]}, {type_} {high}")


def _invert(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    return w.let(
        f"xor {value_type(dtype, lanes)} {v[0]}, {constant(-1 if dtype.kind != 'b' else True, dtype, lanes)}"
    )


def _logical_not(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    return _invert(w, [truth(w, v[0], dtype, lanes)], np.dtype(bool), lanes)


def _isnan(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
    if dtype.kind != "f":
        return constant(False, np.dtype(bool), lanes)
    return w.let(f"fcmp uno {value_type(dtype, lanes)} {v[0]}, {v[0]}")


def _against_infinity(op: str) -> Row:
    def row(w: Writer, v: Sequence[str], dtype: DType, lanes: int) -> str:
        if dtype.kind != "f":
            return constant(op == "one", np.dtype(bool), lanes)
        size = intrinsic(w, "fabs", v, dtype, lanes)
        return w.let(f"fcmp {op} {value_type(dtype, lanes)} {size}, {constant(np.inf, dtype, lanes)}")

    return row


def _to_odd(w: Writer, value: str, lanes: int) -> str:
    """A double as a float, an inexact one with its last bit set, so that rounding it again is right.

    Boldo and Melquiond, Emulation of a FMA and correctly rounded sums, 2008, theorem 3. Targets round doubles
    to half precision by a library call, if at all.
    """
    double, single = value_type(np.dtype(np.float64), lanes), value_type(SINGLE, lanes)
    integer, boolean = value_type(np.dtype(np.int32), lanes), value_type(np.dtype(bool), lanes)
    near = w.let(f"fptrunc {double} {value} to {single}")
    back = w.let(f"fpext {single} {near} to {double}")
    inexact = w.let(f"fcmp one {double} {back}, {value}")
    sizes = [intrinsic(w, "fabs", [v], np.dtype(np.float64), lanes) for v in (back, value)]
    above = w.let(f"fcmp ogt {double} {sizes[0]}, {sizes[1]}")
    bits = w.let(f"bitcast {single} {near} to {integer}")
    one = w.let(f"zext {boolean} {above} to {integer}")
    below = w.let(f"sub {integer} {bits}, {one}")
    odd = w.let(f"or {integer} {below}, {constant(1, np.dtype(np.int32), lanes)}")
    chosen = w.let(f"select {boolean} {inexact}, {integer} {odd}, {integer} {bits}")
    return w.let(f"bitcast {integer} {chosen} to {single}")


def cast(w: Writer, value: str, have: DType, want: DType, lanes: int) -> str:
    """The value as another dtype, as astype converts it."""
    if have == want:
        return value
    old, new = value_type(have, lanes), value_type(want, lanes)
    if want.kind == "b":
        return truth(w, value, have, lanes)
    if want == HALF and have.itemsize == 8 and have.kind == "f":
        return w.let(f"fptrunc {value_type(SINGLE, lanes)} {_to_odd(w, value, lanes)} to {new}")
    if have.kind == "f" and want.kind == "f":
        return w.let(f"{'fpext' if want.itemsize > have.itemsize else 'fptrunc'} {old} {value} to {new}")
    if have.kind in "bu" and want.kind == "f":
        return w.let(f"uitofp {old} {value} to {new}")
    if have.kind == "i" and want.kind == "f":
        return w.let(f"sitofp {old} {value} to {new}")
    if have.kind == "f":
        raise NotPrintable(f"a cast from {have} to {want}")
    have_bits = 1 if have.kind == "b" else 8 * have.itemsize
    if have_bits == 8 * want.itemsize:
        return value
    op = "trunc" if have_bits > 8 * want.itemsize else "sext" if have.kind == "i" else "zext"
    return w.let(f"{op} {old} {value} to {new}")


ROWS: dict[str, Row] = {
    "add": _binary("fadd", "add"),
    "subtract": _binary("fsub", "sub"),
    "multiply": _binary("fmul", "mul"),
    "divide": _binary("fdiv", None),
    "negative": _negative,
    "positive": lambda w, v, dtype, lanes: v[0],
    "absolute": _absolute,
    "fabs": _absolute,
    "square": _square,
    "reciprocal": _reciprocal,
    "sign": _sign,
    "sqrt": _intrinsic("sqrt"),
    "floor": _intrinsic("floor"),
    "ceil": _intrinsic("ceil"),
    "trunc": _intrinsic("trunc"),
    "rint": _intrinsic("rint"),
    "copysign": _intrinsic("copysign"),
    "maximum": _extremum("ge"),
    "minimum": _extremum("le"),
    "equal": _compare("eq"),
    "not_equal": _compare("ne"),
    "less": _compare("lt"),
    "less_equal": _compare("le"),
    "greater": _compare("gt"),
    "greater_equal": _compare("ge"),
    "logical_and": _logical("and"),
    "logical_or": _logical("or"),
    "logical_xor": _logical("xor"),
    "logical_not": _logical_not,
    "bitwise_and": _logic("and"),
    "bitwise_or": _logic("or"),
    "bitwise_xor": _logic("xor"),
    "invert": _invert,
    "isnan": _isnan,
    "isfinite": _against_infinity("one"),
    "isinf": _against_infinity("oeq"),
}


COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
MIRRORED = {
    "less": "greater",
    "less_equal": "greater_equal",
    "greater": "less",
    "greater_equal": "less_equal",
}
# NumPy's loops over half precision keep the first of equal operands, others the second.
_TIES = ("maximum", "minimum", "fmax", "fmin")


def compute(
    w: Writer, op: str, operands: Sequence[str], dtypes: Sequence[DType], result: DType, lanes: int
) -> str:
    """The result of a primitive; raises NotPrintable where there is no code for it."""
    if op == "cast":
        return cast(w, operands[0], dtypes[0], result, lanes)
    if op == "where":
        boolean, type_ = value_type(np.dtype(bool), lanes), value_type(result, lanes)
        return w.let(f"select {boolean} {operands[0]}, {type_} {operands[1]}, {type_} {operands[2]}")
    if len(set(dtypes)) != 1:
        if op in COMPARISONS and {str(dtype) for dtype in dtypes} == {"int64", "uint64"}:
            return _compare_mixed(w, op, operands, dtypes, lanes)
        raise NotPrintable(f"{op} of {', '.join(map(str, dtypes))}")
    if op in _TIES and dtypes[0] == HALF:
        operands = operands[::-1]
    row = ROWS.get(op)
    if row is not None:
        return row(w, operands, dtypes[0], lanes)
    if dtypes[0] != HALF or op in ("nextafter", "spacing", "signbit"):
        return mathematics.emit(w, op, operands, dtypes[0], lanes)
    wide = mathematics.emit(w, op, [cast(w, v, HALF, SINGLE, lanes) for v in operands], SINGLE, lanes)
    return cast(w, wide, SINGLE, HALF, lanes) if result == HALF else wide


class _Probe:
    """A writer that keeps nothing, to try whether there is code for an op."""

    block = "probe"

    def let(self, instruction: str) -> str:
        return "%probe"

    def line(self, text: str) -> None:
        return None

    def label(self, hint: str) -> str:
        return hint

    def start(self, label: str) -> None:
        return None

    def declare(self, declaration: str) -> None:
        return None

    def private(self, symbol: str, text: str) -> None:
        return None


@lru_cache(maxsize=4096)
def is_printable(op: str, count: int, dtype: DType, result: DType | None = None) -> bool:
    """Whether there is code for an op on `count` operands of this dtype."""
    if op in mathematics.FUNCTIONS:
        return dtype.kind == "f" and dtype.itemsize in (2, 4, 8) and dtype.isnative
    try:
        scalar_type(dtype)
        compute(_Probe(), op, ["%x"] * count, [dtype] * count, result or dtype, 8)
    except NotPrintable:
        return False
    return True
