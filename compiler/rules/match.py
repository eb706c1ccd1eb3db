"""What rules ask about nodes: constants, values that are the same everywhere, memory that is surely dense."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Kind
from ..ir.types import ArrayType, ScalarType

_FRESH = (Kind.ELEMENTWISE, Kind.REDUCTION)


def is_dense(node: Node) -> bool:
    """Whether the value surely lies in fresh memory without gaps, as elementwise ops leave it.

    An elementwise op of such a value has its very layout; of any other it may make a denser one.
    """
    return (
        isinstance(node.type, ScalarType) or node.op.kind in _FRESH or node.op.name in ("constant", "matmul")
    )


def may_stand_for(x: Node, node: Node) -> bool:
    """Whether `x` may take the place of the elementwise `node` that has its very values."""
    return x.type == node.type and (is_dense(x) or node.loc.backward)


def free_of_layout(node: Node, *operands: Node) -> bool:
    """Whether one elementwise op between `operands` and `node` may go: it made nothing denser than it was."""
    return node.loc.backward or all(not operand.shape or is_dense(operand) for operand in operands)


def scalar_value(node: Node) -> Any:
    """The value of a constant that is a Python number or 0-d; None for every other node."""
    if node.op.name != "constant" or node.type.shape:  # type: ignore[union-attr]
        return None
    value = node.attrs["value"].value
    return value[()] if isinstance(value, np.ndarray) else value


def uniform_value(node: Node) -> Any:
    """The value of a constant that is one number everywhere, broadcast or not; None for every other node."""
    if node.op.name == "broadcast":
        node = node.inputs[0]
    return scalar_value(node)


def constant_like(b: Builder, node: Node, value: Any) -> Node:
    """A constant of the class or dtype of another constant."""
    if isinstance(node.type, ScalarType):
        return b.constant(node.type.kind(value))
    return b.constant(np.asarray(value, node.dtype))


def is_value(node: Node, value: float) -> bool:
    """Whether a node is this number everywhere, the sign of zero included."""
    found = uniform_value(node)
    return found is not None and bool(found == value) and np.signbit(np.real(found)) == np.signbit(value)


def is_zero(node: Node) -> bool:
    """Whether a node is zero everywhere, of whichever sign."""
    found = uniform_value(node)
    return found is not None and bool(found == 0)


def is_real(node: Node) -> bool:
    """Whether the node's values are no complex numbers."""
    return bool(node.dtype.kind != "c")


def is_float(node: Node) -> bool:
    """Whether the node's values are real floating-point numbers."""
    return bool(node.dtype.kind == "f")


def size_of(node: Node) -> int:
    """The number of elements; 1 for a Python number."""
    return node.type.size if isinstance(node.type, ArrayType) else 1


def without_unit_axes(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The lengths that are not 1."""
    return tuple([length for length in shape if length != 1])
