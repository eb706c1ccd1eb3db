"""One order of operands: a constant stands on the right, so that rules look for it in one place.

Only where NumPy gives the same bits either way. Products of complex numbers are fused and do not commute.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from .match import is_real, uniform_value
from .rule import CANONICAL

SYMMETRIC = ("add", "multiply", "equal", "not_equal", "logical_and", "logical_or", "logical_xor")
_MIRRORED = {
    "less": "greater",
    "greater": "less",
    "less_equal": "greater_equal",
    "greater_equal": "less_equal",
}


def _constant_left(node: Node) -> bool:
    x, y = node.inputs
    return uniform_value(x) is not None and uniform_value(y) is None


@CANONICAL.rule(
    "multiply(constant, x) -> multiply(x, constant); likewise for every op that commutes",
    on=SYMMETRIC,
    lowers="constants on the left",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: f64[3] = multiply %0, %x
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: f64[3] = multiply %x, %0
      return %1
    }""",
)
def constant_right(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    return b.make(node.op, (y, x), node.attrs) if _constant_left(node) and is_real(x) else None


@CANONICAL.rule(
    "less(constant, x) -> greater(x, constant); likewise for every comparison",
    on=tuple(_MIRRORED),
    lowers="constants on the left",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: bool[3] = less %0, %x
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: bool[3] = greater %x, %0
      return %1
    }""",
)
def constant_right_of_comparison(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    return getattr(b, _MIRRORED[node.op.name])(y, x) if _constant_left(node) and is_real(x) else None
