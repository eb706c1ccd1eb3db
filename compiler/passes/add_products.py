"""Sums with matrix products become products that add: `u + alpha (x @ y)` is one op for native code.

The product's tiles are added to `u` where it lies, so no buffer holds them: an update `w -= rate * (x.T @ g)`
reads and writes the weight once, and a sum of products over many steps is as many products into one memory.
That holds where `u` is an argument, or a product that nothing else reads; in a sum of several values the
products are added up first. Values change by rounding only, so this is no pass of the NumPy executor.
"""

from __future__ import annotations

import math

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.types import ArrayType
from ..ir.visit import rebuild, users

PRODUCTS = ("matmul", "add_matmul")


def add_products(graph: Graph) -> Graph:
    """The graph with `add_matmul` where products are added to arguments and to each other."""
    if not any(node.op.name == "matmul" for node in graph.nodes):
        return graph
    readers = users(graph.nodes)
    outputs = set(graph.outputs)
    single = {node for node, found in readers.items() if len(found) == 1 and node not in outputs}
    made: set[Node] = set()

    def rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        b.loc = node.loc
        new = _sum(b, node, inputs, made) if node.op.name in ("add", "subtract") else None
        new = new or b.again(node, inputs)
        if node in single:
            made.add(new)
        return new

    return rebuild(graph, Builder(), rewrite)


def _sum(b: Builder, node: Node, inputs: tuple[Node, ...], single: set[Node]) -> Node | None:
    """What a sum or a difference becomes; None where it stays. `single` are nodes with one reader."""
    if len(inputs) != 2 or not _is_plain(node):
        return None
    pairs = [(inputs[0], inputs[1])]
    if node.op.name == "add":
        pairs.append((inputs[1], inputs[0]))
    for base, other in pairs:
        if base.type != node.type or other.type != node.type:
            continue
        found = _scaled(other, single)
        if found is None:
            continue
        alpha, product = found
        if node.op.name == "subtract":
            alpha = -alpha
        if base.op.name == "param" or (base.op.name in PRODUCTS and base in single):
            return _added(b, base, product, alpha, single)
        if base.op.name == "add" and base in single:
            for inner, rest in (base.inputs, base.inputs[::-1]):
                if inner.op.name in PRODUCTS and inner in single and inner.type == node.type:
                    return b.add(_added(b, inner, product, alpha, single), rest)
    return None


def _added(b: Builder, base: Node, product: Node, alpha: float, single: set[Node]) -> Node:
    new = b.add_matmul(base, *product.inputs, alpha=alpha)
    single.add(new)
    return new


def _is_plain(node: Node) -> bool:
    if not isinstance(node.type, ArrayType) or node.dtype.str[1:] not in ("f4", "f8") or node.type.ndim < 2:
        return False
    return min(node.shape[-2:]) > 1 and math.prod(node.shape) > 0


def _scaled(node: Node, single: set[Node]) -> tuple[float, Node] | None:
    """A product that only this node's reader reads as alpha (x @ y), where a number multiplies it."""
    alpha = 1.0
    if node.op.name == "multiply" and node in single:
        for number, other in (node.inputs, node.inputs[::-1]):
            if number.op.name == "constant" and not number.shape:
                alpha, node = float(number.attrs["value"].value), other
                break
    return (alpha, node) if node.op.name == "matmul" and node in single and node.inputs[0].type.size else None  # type: ignore[union-attr]
