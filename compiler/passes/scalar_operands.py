"""Ops whose NumPy loops do otherwise where an operand is one number, as ops that do so everywhere.

NumPy takes square roots for a power of 0.5, so that of -inf is NaN and that of -0.0 is -0.0. It compares with
single bounds of `clip` such that an element equal to a bound stays, as loops over half precision always do.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.types import ArrayType
from ..ir.visit import rebuild


def lower_scalar_operands(graph: Graph) -> Graph:
    """The graph with such powers and clips written out."""
    if not any(node.op.name in ("clip", "power") for node in graph.nodes):
        return graph
    return rebuild(graph, Builder(), _rewrite)


def _rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    if not isinstance(node.type, ArrayType) or node.dtype.kind != "f":
        return None
    b.loc = node.loc
    if node.op.name == "power" and node.attrs["form"] == "ufunc":
        return _power(b, *inputs)
    if node.op.name == "clip" and (node.dtype.char == "e" or not any(x.shape for x in inputs[1:])):
        return _clip(b, *inputs)
    return None


def _power(b: Builder, x: Node, y: Node) -> Node | None:
    if y.shape or x.dtype.char == "e":
        return None
    if y.op.name == "constant":
        return b.sqrt(x) if y.attrs["value"].value == 0.5 else None
    return b.where(b.equal(y, b.scalar(0.5, y)), b.sqrt(x), b.power(x, y, form="ufunc"))


def _clip(b: Builder, x: Node, low: Node, high: Node) -> Node:
    """A bound that is NaN wins."""
    raised = b.where(b.logical_or(b.isnan(low), b.less(x, low)), low, x)
    return b.where(b.logical_or(b.isnan(high), b.greater(raised, high)), high, raised)
