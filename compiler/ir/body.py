"""Body: a graph inside an attr, compared by its text."""

from __future__ import annotations

from functools import cached_property

from .node import Graph


class Body:
    """The graph of a node that stands for several. Equal when the texts are."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    @cached_property
    def text(self) -> str:
        """The graph on one line."""
        return " ".join(line.strip() for line in str(self.graph).splitlines())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return self.text
