"""Products of few rows with a large weight that the graph updates are cut along the summed axis.

Threads that share a product by rows all read the whole weight. Where the weight was written by an update, in
rows that the threads shared, half of it lies in another core's cache. Cut along the summed axis the product
becomes a stack of products, each with the rows of the weight that one thread has updated, and a sum that the
next kernel takes in. The number of parts depends on shapes alone, so results do not depend on threads.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.visit import rebuild

# Bytes of a weight from which on it matters where it lies, and how many times the rows of the other operand
# the summed axis has to have in each part: the parts' results are written and read once more.
LARGE = 64 << 10
TIMES = 3


def split_products(graph: Graph, updated: AbstractSet[Node]) -> Graph:
    """The graph with products cut along the summed axis; `updated` are the params that it writes to."""
    if not any(node.op.name == "matmul" and node.inputs[1] in updated for node in graph.nodes):
        return graph

    def rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        if node.op.name != "matmul" or inputs[1] not in updated or len(node.shape) != 2:
            return None
        x, weight = inputs
        (m, k), n = x.shape, weight.shape[1]
        parts = next((p for p in (4, 2) if k % p == 0 and k >= TIMES * m * p), 1)
        if parts == 1 or m < 2 or n < 2 or weight.type.nbytes < LARGE:  # type: ignore[union-attr]
            return None
        b.loc = node.loc
        left = b.transpose(b.reshape(x, (m, parts, k // parts)), axes=(1, 0, 2))
        right = b.reshape(weight, (parts, k // parts, n))
        return b.sum(b.matmul(left, right), axes=(0,), dtype=node.dtype)

    return rebuild(graph, Builder(), rewrite)
