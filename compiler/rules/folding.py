"""Constant folding: an op whose operands are all known is computed now, by its reference function.

Nothing larger than its operands is folded, nothing that raises or warns (the call must do so, each time), and
no view, whose strides a constant would lose.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.literal import Literal
from ..ir.node import Node
from ..ir.opdef import Kind
from ..ir.types import ArrayType, ScalarType
from .match import size_of
from .rule import ANY, SIMPLIFY

_MOST_ELEMENTS = 65536
_MOST_BITS = 4096


@SIMPLIFY.rule(
    "op(constants) -> constant",
    on=ANY,
    lowers="nodes that are no constants",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(1.0)}
      %1: f64[] = constant {value=f64(8.0)}
      %2: f64[] = divide %0, %1
      %3: f64[3] = multiply %x, %2
      return %3
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(0.125)}
      %1: f64[3] = multiply %x, %0
      return %1
    }""",
)
def fold(b: Builder, node: Node) -> Node | None:
    for operand in node.inputs:
        if operand.op.name != "constant":
            return None
    if not node.inputs or not _is_small(node):
        return None
    with np.errstate(all="ignore" if node.loc.backward else "raise"):
        try:
            value = _computed(node)
        except Exception:
            return None
    if isinstance(value, np.generic):
        value = np.asarray(value)
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return None
    literal = Literal.of(value)
    return b.constant(value) if literal.type == node.type else None


def _is_small(node: Node) -> bool:
    """Whether the result is no larger than the operands, and the way there is short."""
    if not isinstance(node.type, ArrayType | ScalarType) or (node.op.kind is Kind.VIEW and node.shape):
        return False
    sizes = [size_of(operand) for operand in node.inputs]
    if size_of(node) > max(sizes) or sum(sizes) > _MOST_ELEMENTS:
        return False
    if any(operand.dtype.kind == "c" for operand in node.inputs) and node.dtype.kind != "c":
        return False
    return not (node.op.name == "power" and node.dtype.kind in "iu")


def _computed(node: Node) -> Any:
    values = [operand.attrs["value"].value for operand in node.inputs]
    numbers = all(isinstance(operand.type, ScalarType) for operand in node.inputs)
    run = node.op.python if numbers and node.op.python is not None else node.op.numpy
    return run(*values, **node.attrs)
