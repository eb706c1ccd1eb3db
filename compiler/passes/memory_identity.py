"""Keeps `a @ a.T` and `a @ b.T` with equal b apart while passes merge nodes.

NumPy multiplies an array by its own transpose on another path, with other bits, than by an equal array in
other memory. Where merging makes the two operands of a matrix product one, the product is marked `distinct`.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Kind


def memory_of(node: Node) -> Node:
    """The node whose memory a chain of views looks at."""
    while node.op.kind is Kind.VIEW:
        node = node.inputs[0]
    return node


def keep_distinct(b: Builder, before: Node, after: Node) -> Node:
    """The matrix product `after`, marked where its operands have become one and those of `before` are two."""
    if before.loc.backward or after.attrs.get("distinct") or after.op.name != "matmul":
        return after
    x, y = (memory_of(operand) for operand in after.inputs)
    if x is not y or memory_of(before.inputs[0]) is memory_of(before.inputs[1]):
        return after
    b.loc = before.loc
    return b.matmul(*after.inputs, distinct=True)
