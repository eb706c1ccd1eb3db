"""Values that write LLVM text: `a * b + c` on values becomes instructions of a writer.

An `Emitter` turns operators into lines for scalars (lanes 0) or vectors and never writes one line twice.
Numbers beside a value are constants of its dtype. Floating operators are IEEE's, one rounding each; `fma`
rounds once where the target has the instruction. Integers wrap. Comparisons are false for NaN.
"""

from __future__ import annotations

import functools
import re
import struct
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from ....compiler.ir.record import record
from ..types import DType, constant, suffix, value_type

BOOL = np.dtype(bool)
_INTEGER: dict[int, DType] = {2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}
_FLOAT: dict[int, DType] = {2: np.dtype(np.float16), 4: np.dtype(np.float32), 8: np.dtype(np.float64)}

_LITERAL = re.compile(r"(?:splat \((?:float|double) )?0x([0-9A-F]{16})\)?")


# Coefficients from which on a polynomial is computed in two chains, and in four with AVX2: where a register
# holds less, a processor sees fewer numbers ahead.
LONG = 8
LONGER = 14


class Writer(Protocol):
    """What is asked of a printer; `block` is the label of the block being written."""

    block: str

    def let(self, instruction: str) -> str:
        """Write `%n = instruction`; the name."""
        ...

    def line(self, text: str) -> None:
        """Write a line without a result."""
        ...

    def label(self, hint: str) -> str:
        """A label that is not in use."""
        ...

    def start(self, label: str) -> None:
        """Begin a block."""
        ...

    def declare(self, declaration: str) -> None:
        """Declare a function, or state a constant, once."""
        ...

    def private(self, symbol: str, text: str) -> None:
        """Add a private function to the module once."""
        ...


@record
class Target:
    """What the text may count on: fused multiply-add, AVX-512's `vscalef`, its permutations of registers.

    `short` is AVX2's permutation, of a single register of eight numbers of float32.
    """

    fma: bool
    scalef: bool
    permute: bool = False
    short: bool = False


@functools.lru_cache(maxsize=1)
def host_target() -> Target:
    """The target of this machine."""
    from .. import engine

    features = engine.host()[1].split(",")
    wide = "+avx512f" in features
    return Target("+fma" in features or "+neon" in features, wide, wide, "+avx2" in features and not wide)


@record(eq=False)
class Value:
    """A named value (or a constant's text) with its dtype."""

    emitter: Emitter
    text: str
    dtype: DType

    def __add__(self, other: Operand) -> Value:
        return self.emitter.binary("add", self, other)

    def __radd__(self, other: Operand) -> Value:
        return self.emitter.binary("add", other, self)

    def __sub__(self, other: Operand) -> Value:
        return self.emitter.binary("sub", self, other)

    def __rsub__(self, other: Operand) -> Value:
        return self.emitter.binary("sub", other, self)

    def __mul__(self, other: Operand) -> Value:
        return self.emitter.binary("mul", self, other)

    def __rmul__(self, other: Operand) -> Value:
        return self.emitter.binary("mul", other, self)

    def __truediv__(self, other: Operand) -> Value:
        return self.emitter.binary("div", self, other)

    def __rtruediv__(self, other: Operand) -> Value:
        return self.emitter.binary("div", other, self)

    def __neg__(self) -> Value:
        e = self.emitter
        if self.dtype.kind == "f":
            return e.let(f"fneg {e.type(self.dtype)} {self.text}", self.dtype)
        return e.binary("sub", 0, self)

    def __and__(self, other: Operand) -> Value:
        return self.emitter.bitwise("and", self, other)

    def __or__(self, other: Operand) -> Value:
        return self.emitter.bitwise("or", self, other)

    def __xor__(self, other: Operand) -> Value:
        return self.emitter.bitwise("xor", self, other)

    def __invert__(self) -> Value:
        return self.emitter.bitwise("xor", self, True if self.dtype == BOOL else -1)

    def __lshift__(self, other: Operand) -> Value:
        return self.emitter.bitwise("shl", self, other)

    def __rshift__(self, other: Operand) -> Value:
        return self.emitter.bitwise("lshr" if self.dtype.kind == "u" else "ashr", self, other)

    def shifted_right(self, places: int) -> Value:
        """A logical shift: zeros come in from the left."""
        return self.emitter.bitwise("lshr", self, places)

    def __lt__(self, other: Operand) -> Value:
        return self.emitter.compare("lt", self, other)

    def __le__(self, other: Operand) -> Value:
        return self.emitter.compare("le", self, other)

    def __gt__(self, other: Operand) -> Value:
        return self.emitter.compare("gt", self, other)

    def __ge__(self, other: Operand) -> Value:
        return self.emitter.compare("ge", self, other)

    def like(self, value: float) -> Value:
        """A constant of this value's dtype."""
        return self.emitter.constant(value, self.dtype)

    def equals(self, other: Operand) -> Value:
        """Where both are the same number."""
        return self.emitter.compare("eq", self, other)

    def differs(self, other: Operand) -> Value:
        """Where they are not the same number; true for NaN."""
        return self.emitter.compare("ne", self, other)

    def is_nan(self) -> Value:
        """Where the value is NaN."""
        e = self.emitter
        return e.let(f"fcmp uno {e.type(self.dtype)} {self.text}, {self.text}", BOOL)

    def bits(self) -> Value:
        """A float's bits as an integer of its size."""
        return self.emitter.convert("bitcast", self, _INTEGER[self.dtype.itemsize])

    def floats(self) -> Value:
        """The float whose bits an integer holds."""
        return self.emitter.convert("bitcast", self, _FLOAT[self.dtype.itemsize])

    def to_float(self) -> Value:
        """A signed integer as a float of its size, rounded."""
        return self.emitter.convert("sitofp", self, _FLOAT[self.dtype.itemsize])

    def literal(self) -> float | None:
        """The number of a floating constant, None for what is known at run time only."""
        found = _LITERAL.fullmatch(self.text)
        return None if found is None else struct.unpack(">d", bytes.fromhex(found[1]))[0]

    def double(self) -> Value:
        """A float as float64."""
        return self.emitter.convert("fpext", self, _FLOAT[8])

    def single(self) -> Value:
        """A float64 as float32, rounded."""
        return self.emitter.convert("fptrunc", self, _FLOAT[4])


Operand = Value | float | int


class Emitter:
    """Writes instructions over values of `lanes` lanes (scalars for 0) to a writer."""

    def __init__(self, writer: Writer, lanes: int, target: Target) -> None:
        self.writer = writer
        self.lanes = lanes
        self.target = target
        self._known: dict[str, str] = {}

    def let(self, instruction: str, dtype: DType) -> Value:
        """The value of an instruction, written when it is new."""
        name = self._known.get(instruction)
        if name is None:
            name = self._known[instruction] = self.writer.let(instruction)
        return Value(self, name, dtype)

    def type(self, dtype: DType) -> str:
        """The LLVM type of values of a dtype."""
        return value_type(dtype, self.lanes)

    def constant(self, value: float, dtype: DType) -> Value:
        """A constant."""
        return Value(self, constant(value, dtype, self.lanes), dtype)

    def pair(self, a: Operand, b: Operand) -> tuple[Value, Value]:
        """Both operands as values of one dtype; at least one of them is a value."""
        dtype = next(x.dtype for x in (a, b) if isinstance(x, Value))
        left, right = (x if isinstance(x, Value) else self.constant(x, dtype) for x in (a, b))
        assert left.dtype == right.dtype, (left.dtype, right.dtype)
        return left, right

    def binary(self, op: str, a: Operand, b: Operand) -> Value:
        """An arithmetic instruction."""
        left, right = self.pair(a, b)
        prefix = "f" if left.dtype.kind == "f" else _division(op, left.dtype)
        return self.let(f"{prefix}{op} {self.type(left.dtype)} {left.text}, {right.text}", left.dtype)

    def bitwise(self, op: str, a: Operand, b: Operand) -> Value:
        """An instruction on the bits of integers or booleans."""
        left, right = self.pair(a, b)
        return self.let(f"{op} {self.type(left.dtype)} {left.text}, {right.text}", left.dtype)

    def compare(self, relation: str, a: Operand, b: Operand) -> Value:
        """A comparison; false for NaN unless it is `ne`."""
        left, right = self.pair(a, b)
        if left.dtype.kind == "f":
            op = f"fcmp {'u' if relation == 'ne' else 'o'}{relation}"
        else:
            sign = "" if relation in ("eq", "ne") else "u" if left.dtype.kind in "bu" else "s"
            op = f"icmp {sign}{relation}"
        return self.let(f"{op} {self.type(left.dtype)} {left.text}, {right.text}", BOOL)

    def convert(self, op: str, x: Value, dtype: DType) -> Value:
        """A conversion instruction."""
        if x.dtype == dtype:
            return x
        return self.let(f"{op} {self.type(x.dtype)} {x.text} to {self.type(dtype)}", dtype)

    def intrinsic(self, name: str, *operands: Value, extra: str = "") -> Value:
        """A call of an LLVM intrinsic whose operands and result have one type."""
        dtype = operands[0].dtype
        type_ = self.type(dtype)
        full = f"@llvm.{name}.{suffix(dtype, self.lanes)}"
        kinds = [type_] * len(operands) + (["i1"] if extra else [])
        self.writer.declare(f"declare {type_} {full}({', '.join(kinds)})")
        given = ", ".join([f"{type_} {x.text}" for x in operands] + ([extra] if extra else []))
        return self.let(f"call {type_} {full}({given})", dtype)


def _division(op: str, dtype: DType) -> str:
    """What an integer instruction's name begins with."""
    return ("u" if dtype.kind == "u" else "s") if op == "div" else ""


def where(condition: Value, a: Operand, b: Operand) -> Value:
    """a where the condition holds, else b."""
    e = condition.emitter
    left, right = e.pair(a, b)
    type_ = e.type(left.dtype)
    return e.let(
        f"select {e.type(BOOL)} {condition.text}, {type_} {left.text}, {type_} {right.text}", left.dtype
    )


def fma(a: Operand, b: Operand, c: Operand) -> Value:
    """a * b + c, rounded once where the target can."""
    known = next(x for x in (a, b, c) if isinstance(x, Value))
    e = known.emitter
    x, y, z = (v if isinstance(v, Value) else e.constant(v, known.dtype) for v in (a, b, c))
    return e.intrinsic("fma", x, y, z) if e.target.fma else x * y + z


def magnitude(x: Value) -> Value:
    """|x|."""
    return x.emitter.intrinsic("fabs", x)


def with_sign(x: Operand, sign: Value) -> Value:
    """|x| with the sign of another value."""
    e = sign.emitter
    return e.intrinsic("copysign", x if isinstance(x, Value) else e.constant(x, sign.dtype), sign)


def square_root(x: Value) -> Value:
    """The square root, rounded once."""
    return x.emitter.intrinsic("sqrt", x)


def floor(x: Value) -> Value:
    """The largest whole number not above x."""
    return x.emitter.intrinsic("floor", x)


def truncated(x: Value) -> Value:
    """The whole part of x."""
    return x.emitter.intrinsic("trunc", x)


def smaller(x: Value, bound: float) -> Value:
    """x where it is below the bound or NaN, else the bound."""
    return where(x > bound, bound, x)


def larger(x: Value, bound: float) -> Value:
    """x where it is above the bound or NaN, else the bound."""
    return where(x < bound, bound, x)


def polynomial(x: Value, coefficients: Sequence[Operand]) -> Value:
    """c[0] + c[1] x + …, by Horner's rule.

    Where there are many, even and odd powers from c[2] on are apart: two short chains take less time than a
    long one, as each step waits for the one before. With AVX2 they are taken apart once more.
    """
    if len(coefficients) < LONG:
        result = _horner(x, coefficients)
    else:
        first, second, *rest = coefficients
        z = x * x
        chain = _in_two if x.emitter.target.short and len(coefficients) >= LONGER else _horner
        high = fma(chain(z, rest[1::2]), x, chain(z, rest[::2]))
        result = fma(fma(high, x, second), x, first)
    return result if isinstance(result, Value) else x.emitter.constant(result, x.dtype)


def _in_two(x: Value, coefficients: Sequence[Operand]) -> Any:
    z = x * x
    return fma(_horner(z, coefficients[1::2]), x, _horner(z, coefficients[::2]))


def _horner(x: Value, coefficients: Sequence[Operand]) -> Any:
    *rest, total = coefficients
    result: Any = total
    for c in reversed(rest):
        result = fma(result, x, c)
    return result
