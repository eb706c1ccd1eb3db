"""A repeat: equal segments of a graph, of which the first is shown."""

from __future__ import annotations

from ..ir.node import Node
from ..ir.record import record
from .parts import Part

MIN_COPIES = 3
MIN_SAVED = 8


@record(frozen=False, eq=False)
class Repeat:
    """Equal segments: `copies[k][q]` is the node at place q of copy k."""

    part: Part
    copies: list[list[Node]]
    parent: Repeat | None = None

    @property
    def count(self) -> int:
        return len(self.copies)


# Where a node stands: (repeat, number of the copy), from the outermost repeat in.
Place = tuple[tuple[Repeat, int], ...]
