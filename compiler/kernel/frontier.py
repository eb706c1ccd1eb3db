"""Which numbers of rows a pass over rows makes before it passes over columns: asked by walking values.

Both classes follow a value down its operands as the lowering does, through the same views.
"""

from __future__ import annotations

from ..ir.node import Node
from ..ir.opdef import Kind
from .lower import REDUCTIONS, VIEWS, Map


class Frontier:
    """Where the passes over columns meet values of one number a row: these are made before and kept.

    It walks a value as the lowering does. `found` holds nodes with their index maps.
    """

    def __init__(self, inner: frozenset[str]) -> None:
        self.inner = inner
        self.found: dict[tuple[Node, Map], None] = {}
        self.seen: set[tuple[Node, Map]] = set()

    def value(self, node: Node, at: Map) -> str:
        """Follow a node; a number a row is kept, unless it is loaded anyway."""
        if (node, at) in self.seen:
            return ""
        self.seen.add((node, at))
        if node.op.name in VIEWS:
            return VIEWS[node.op.name](self, node, at)
        if node.op.name in ("param", "constant"):
            return ""
        if not any(variable in self.inner for place in at for variable, _ in place.strides):
            self.found[node, at] = None
            return ""
        for operand in node.inputs:
            self.value(operand, at if operand.shape else ())
        return ""


class Reduced:
    """Which reductions of rows a value of one number a row is made of."""

    def __init__(self) -> None:
        self.found: dict[tuple[Node, Map], None] = {}
        self.seen: set[tuple[Node, Map]] = set()

    def value(self, node: Node, at: Map) -> str:
        """Follow a node down to reductions."""
        if (node, at) in self.seen:
            return ""
        self.seen.add((node, at))
        if node.op.name in VIEWS:
            return VIEWS[node.op.name](self, node, at)
        if node.op.name in REDUCTIONS:
            self.found[node, at] = None
        elif node.op.kind is Kind.ELEMENTWISE:
            for operand in node.inputs:
                self.value(operand, at if operand.shape else ())
        return ""
