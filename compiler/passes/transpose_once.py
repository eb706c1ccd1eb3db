"""A matrix that many products read transposed on their right is transposed in memory once.

Native products pack a right operand whose columns lie together, each product anew. The weights of a recurrent
network are such operands at every step of the backward part.
"""

from __future__ import annotations

from collections import Counter

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.visit import rebuild
from .add_products import PRODUCTS

MANY = 3


def transpose_once(graph: Graph) -> Graph:
    """The graph with copies of transposed matrices that at least MANY products have on their right."""
    uses = Counter(
        node.inputs[-1]
        for node in graph.nodes
        if node.op.name in PRODUCTS and node.inputs[-1].op.name == "transpose"
    )
    many = {node for node, count in uses.items() if count >= MANY and _moves_last(node)}
    if not many:
        return graph
    copies: dict[Node, Node] = {}

    def rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.op.name not in PRODUCTS or node.inputs[-1] not in many:
            return None
        last = inputs[-1]
        if last not in copies:
            b.loc = node.inputs[-1].loc
            copies[last] = b.copy(last, order="C")
        b.loc = node.loc
        return b.make(node.op, (*inputs[:-1], copies[last]), dict(node.attrs))

    return rebuild(graph, Builder(), rewrite)


def _moves_last(node: Node) -> bool:
    axes = node.attrs["axes"]
    return bool(axes[-1] != len(axes) - 1)
