"""How the value of a node lies in memory, as far as the compiler's rules know it.

A write through all of an array replaces its value, but not its layout, by which NumPy sums and multiplies:
where the new value would lie otherwise it is copied into the array's order.
"""

from __future__ import annotations

from typing import Any

from ..compiler.ir.builder import Builder
from ..compiler.ir.node import Node
from ..compiler.passes.layout import layout_of
from ..compiler.passes.strides import Strides, c_strides, f_strides, like_order, same_layout
from .storage import Array


class Layouts:
    """The strides of nodes, found when they are asked for and remembered."""

    def __init__(self) -> None:
        self._known: dict[Node, Strides | None] = {}

    def given(self, param: Node, strides: Strides | None) -> None:
        """How an argument or closed-over array lies; None for what is no array."""
        self._known[param] = strides

    def of(self, node: Node) -> Strides | None:
        """The byte strides of a node's value; None where no rule knows them."""
        known, pending = self._known, [node]
        while pending:
            last = pending[-1]
            missing = [operand for operand in last.inputs if operand not in known]
            if missing and last not in known:
                pending += missing
                continue
            pending.pop()
            if last not in known:
                known[last] = layout_of(last, known)
        return known[node]

    def lies_as(self, node: Node, shadow: Array, itemsize: int) -> bool:
        """Whether a value lies as a window on items of this size shows its memory.

        That a part of complex numbers has gaps between its elements does not count: sums do not see them, and
        derivative rules recognise what was written.
        """
        strides = self.of(node) if shadow.ndim else ()
        seen = shadow.strides
        if strides is not None and itemsize == 2 * shadow.itemsize:
            seen = tuple(stride // 2 for stride in seen)
        return strides is not None and same_layout(shadow.shape, strides, seen)

    def laid_out(self, builder: Builder, node: Node, root: Array) -> Node:
        """The value in the order of an array's axes, without its gaps; a repeated number is in C order."""
        if root.ndim < 2 or not root.size:
            return node
        shape, size = root.shape, root.itemsize
        strides, wanted = self.of(node), like_order(shape, root.strides, size)
        order: Any = "C" if wanted == c_strides(shape, size) else "F"
        repeated = order == "C" and strides is not None and not any(strides)
        if repeated or (strides is not None and same_layout(shape, strides, wanted)):
            return node
        if order == "F" and wanted != f_strides(shape, size):
            order = tuple(sorted(range(root.ndim), key=lambda axis: (-wanted[axis], axis)))
        return builder.copy(node, order=order)
