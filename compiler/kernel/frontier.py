"""Which values a pass over rows meets on the way down: asked by walking a value as the lowering does."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.node import Node
from .lower import VIEWS, Map


class Frontier:
    """The first values that are `taken`, of all that a value is made of, through the same views.

    `found` holds nodes with their index maps.
    """

    def __init__(self, taken: Callable[[Node, Map], bool]) -> None:
        self.taken = taken
        self.found: dict[tuple[Node, Map], None] = {}
        self.seen: set[tuple[Node, Map]] = set()

    def value(self, node: Node, at: Map) -> str:
        """Follow a node; the text is what the views' handlers hand on, and empty."""
        if (node, at) in self.seen:
            return ""
        self.seen.add((node, at))
        if node.op.name in VIEWS:
            return VIEWS[node.op.name](self, node, at)
        if self.taken(node, at):
            self.found[node, at] = None
            return ""
        for operand in node.inputs:
            self.value(operand, at if operand.shape else ())
        return ""
