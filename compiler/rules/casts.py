"""Rules for casts between dtypes and between arrays and Python numbers: what comes back unchanged goes."""

from __future__ import annotations

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.types import DType, ScalarType
from .match import free_of_layout, is_zero, may_stand_for
from .rule import SIMPLIFY, Fidelity


def holds_every_value(narrow: DType, wide: DType) -> bool:
    """Whether each value of one dtype, the sign of zero and NaN included, is one of the other's."""
    if narrow.kind == "c" and wide.kind != "c":
        return False
    return bool(np.can_cast(narrow, wide, "safe")) and _digits(wide) >= _digits(narrow)


def _digits(dtype: DType) -> int:
    """Up to how many bits every integer is held: NumPy calls i64 to f64 a safe cast, which it is not."""
    if dtype.kind in "fc":
        return int(np.finfo(dtype).nmant) + 1
    return {"b": 1, "u": 8 * dtype.itemsize, "i": 8 * dtype.itemsize - 1}[dtype.kind]


@SIMPLIFY.rule(
    "cast(x, its own dtype) -> x",
    on="cast",
    before="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      %1: f64[2,3] = cast %0 {dtype=f64}
      return %1
    }""",
    after="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      return %0
    }""",
)
def cast_identity(b: Builder, node: Node) -> Node | None:
    return node.inputs[0] if may_stand_for(node.inputs[0], node) else None


@SIMPLIFY.rule(
    "cast(cast(x, wider)) -> cast(x)",
    on="cast",
    before="""(%x: f32[2,3]) {
      %0: f32[2,3] = tanh %x
      %1: f64[2,3] = cast %0 {dtype=f64}
      %2: f32[2,3] = cast %1 {dtype=f32}
      %3: f16[2,3] = cast %1 {dtype=f16}
      return %2, %3
    }""",
    after="""(%x: f32[2,3]) {
      %0: f32[2,3] = tanh %x
      %1: f16[2,3] = cast %0 {dtype=f16}
      return %0, %1
    }""",
)
def cast_cast(b: Builder, node: Node) -> Node | None:
    """A float out of an integer's range becomes what the processor likes: only floating results are sure."""
    inner = node.inputs[0]
    if inner.op.name != "cast" or isinstance(inner.inputs[0].type, ScalarType):
        return None
    (x,) = inner.inputs
    if not holds_every_value(x.dtype, inner.dtype) or not free_of_layout(node, x):
        return None
    if x.type == node.type:
        return x
    if node.dtype.kind not in "fc" or (x.dtype.kind == "c" and node.dtype.kind != "c"):
        return None
    return b.cast(x, node.dtype)


@SIMPLIFY.rule(
    "item(cast(x)) -> x, cast(item(x)) -> x",
    on=("item", "cast"),
    before="""(%x: float, %y: f32[]) {
      %0: f64[] = cast %x {dtype=f64}
      %1: float = item %0
      %2: float = item %y
      %3: f32[] = cast %2 {dtype=f32}
      return %1, %3
    }""",
    after="(%x: float, %y: f32[]) { return %x, %y }",
)
def item_and_back(b: Builder, node: Node) -> Node | None:
    """A Python float holds every value of the floats up to 64 bits, an int every integer; not the reverse."""
    inner = node.inputs[0]
    if {node.op.name, inner.op.name} != {"item", "cast"}:
        return None
    (x,) = inner.inputs
    if node.op.name == "item":
        held = inner.dtype == x.dtype and x.dtype.kind != "i"
    else:
        held = inner.dtype.kind == x.dtype.kind and x.dtype.char not in "gG"
    return x if held and x.type == node.type else None


@SIMPLIFY.rule(
    "real(cast(x, complex)) -> x; x real",
    on="real",
    fidelity=Fidelity.VALUES,
    before="""(%x: f64[3]) {
      %0: c128[3] = cast %x {dtype=c128}
      %1: f64[3] = real %0
      return %1
    }""",
    after="(%x: f64[3]) { return %x }",
)
def real_cast(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    return inner.inputs[0] if inner.op.name == "cast" and inner.inputs[0].type == node.type else None


@SIMPLIFY.rule(
    "conjugate(conjugate(x)) -> x, conjugate(x) -> x for real x",
    on="conjugate",
    before="""(%x: c128[2,3]) {
      %0: c128[2,3] = exp %x
      %1: c128[2,3] = conjugate %0
      %2: c128[2,3] = conjugate %1
      return %2
    }""",
    after="""(%x: c128[2,3]) {
      %0: c128[2,3] = exp %x
      return %0
    }""",
)
def conjugate_conjugate(b: Builder, node: Node) -> Node | None:
    (x,) = node.inputs
    if x.op.name == "conjugate":
        return x.inputs[0] if may_stand_for(x.inputs[0], node) else None
    return x if x.dtype.kind in "iuf" and may_stand_for(x, node) else None


@SIMPLIFY.rule(
    "not_equal(cast(mask), 0) -> mask",
    on="not_equal",
    before="""(%x: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      %1: f64[2,3] = cast %0 {dtype=f64}
      %2: f64[] = constant {value=f64(0.0)}
      %3: bool[2,3] = not_equal %1, %2
      return %3
    }""",
    after="""(%x: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      return %0
    }""",
)
def mask_and_back(b: Builder, node: Node) -> Node | None:
    """How differentiation moves the mask of a structural zero through an op."""
    x, zero = node.inputs
    if x.op.name != "cast" or not is_zero(zero):
        return None
    return x.inputs[0] if may_stand_for(x.inputs[0], node) else None
