"""Body: a graph inside an attr, compared by its text."""

from __future__ import annotations

from functools import cached_property

from .node import Graph

_NAMED_OPS = 4


class Body:
    """The graph of a node that stands for several. Equal when the texts are."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def text(self) -> str:
        """The graph on one line."""
        return " ".join(line.strip() for line in str(self.graph).splitlines())

    @cached_property
    def summary(self) -> str:
        """The ops of the graph, the first few named: `add, tanh (2 ops)`."""
        inside = [node for node in self.graph.nodes if node.op.name not in ("param", "constant")]
        names = list(dict.fromkeys(node.op.name for node in inside))
        more = ", …" if len(names) > _NAMED_OPS else ""
        return f"{', '.join(names[:_NAMED_OPS])}{more} ({len(inside)} op{'s' if len(inside) > 1 else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text
