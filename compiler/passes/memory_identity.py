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


def is_own_partner(node: Node) -> bool:
    """Whether a node is a matrix product of two views of one array."""
    return node.op.name == "matmul" and memory_of(node.inputs[0]) is memory_of(node.inputs[1])


def keep_distinct(b: Builder, before: Node, after: Node) -> Node:
    """The matrix product `after`, marked where its operands have become one and those of `before` are two."""
    if before.loc.backward or after.attrs.get("distinct") or not is_own_partner(after):
        return after
    if is_own_partner(before):
        return after
    b.loc = before.loc
    return b.matmul(*after.inputs, distinct=True)
