"""Node and Graph: an immutable DAG that says what is computed.

Nodes are compared by identity and hold no name, no list of users and nothing mutable. The nodes of a
graph are whatever its outputs reach; its params are listed so that their order is known.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from .opdef import Attrs, OpDef
from .record import record, replace
from .types import Type

if TYPE_CHECKING:
    import os

    import networkx


@record(slots=True)
class Loc:
    """Where the user wrote it. `backward` is True for nodes that differentiation made for that line.

    `errstate` holds the floating-point error settings that the user's code set around the line, as
    sorted (kind, mode) pairs; kinds left out follow the caller's settings.
    """

    file: str
    line: int
    function: str
    backward: bool = False
    errstate: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"

    def as_backward(self) -> Loc:
        return self if self.backward else replace(self, backward=True)


NOWHERE = Loc("", 0, "")


class Node:
    """One application of a primitive; made by a Builder and by nothing else."""

    __slots__ = ("attrs", "inputs", "loc", "op", "type")

    def __init__(self, op: OpDef, inputs: tuple[Node, ...], attrs: Attrs, type: Type, loc: Loc) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.type = type
        self.loc = loc

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.shape  # type: ignore[union-attr]

    @property
    def dtype(self) -> Any:
        return self.type.dtype  # type: ignore[union-attr]

    def __repr__(self) -> str:
        return f"<{self.op.name}: {self.type}>"


@record(eq=False)
class Graph:
    """A function as a DAG: `params` in call order, `outputs` in result order.

    `str(graph)` is complete and parses back; `draw` makes a picture, `to_networkx` a MultiDiGraph.
    """

    name: str
    params: tuple[Node, ...]
    outputs: tuple[Node, ...]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes in a topological order, inputs before their users; params come first."""
        from .visit import topological

        inner = topological(self.outputs, self.params)
        return tuple(inner)

    def __str__(self) -> str:
        from .text import graph_text

        return graph_text(self)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.params)} params, {len(self.nodes)} nodes>"

    def draw(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """A Drawing, or with a path the file written: see `compiler.draw.draw` for the options."""
        from ..draw import draw

        return draw(self, path, **options)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows: the picture."""
        svg: str | None = self.draw()._repr_svg_()
        return svg

    def _repr_html_(self) -> str | None:
        """What a notebook shows where there is no Graphviz: the text."""
        text: str | None = self.draw()._repr_html_()
        return text

    def __copy__(self) -> Graph:
        return self

    def __deepcopy__(self, memo: Any) -> Graph:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """One row a node, with inputs as numbers of rows: pickle follows no chain of nodes."""
        number = {node: i for i, node in enumerate(self.nodes)}
        rows = [(n.op, tuple(number[i] for i in n.inputs), dict(n.attrs), n.type, n.loc) for n in self.nodes]
        return _from_rows, (
            self.name,
            rows,
            [number[node] for node in self.params],
            [number[node] for node in self.outputs],
        )

    def to_networkx(self) -> networkx.MultiDiGraph[int]:
        """The graph as networkx sees it: node keys are positions in `nodes`, edges carry `position`."""
        from .visit import to_networkx

        return to_networkx(self)


def _from_rows(name: str, rows: list[Any], params: list[int], outputs: list[int]) -> Graph:
    """A graph as it was pickled."""
    nodes: list[Node] = []
    for op, inputs, attrs, type_, loc in rows:
        nodes.append(Node(op, tuple(nodes[i] for i in inputs), attrs, type_, loc))
    return Graph(name, tuple(nodes[i] for i in params), tuple(nodes[i] for i in outputs))
