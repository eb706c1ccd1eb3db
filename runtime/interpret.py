"""The reference interpreter of a Graph: the judge of everything faster.

Runs each node's reference function on the values of its inputs, in topological order, and frees a value
after its last use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..compiler.ir.node import Graph
from ..compiler.ir.types import ScalarType


def interpret(graph: Graph, values: Sequence[Any]) -> list[Any]:
    """The graph's outputs for these param values."""
    known: dict[Any, Any] = dict(zip(graph.params, values, strict=True))
    last: dict[Any, Any] = {operand: node for node in graph.nodes for operand in node.inputs}
    kept = {*graph.outputs, *graph.params}
    for node in graph.nodes:
        if node in known:
            continue
        inputs = [known[operand] for operand in node.inputs]
        numbers = bool(inputs) and all(isinstance(operand.type, ScalarType) for operand in node.inputs)
        run = node.op.python if numbers and node.op.python else node.op.numpy
        known[node] = run(*inputs, **node.attrs)
        for operand in node.inputs:
            if last[operand] is node and operand not in kept:
                known.pop(operand, None)
    return [known[output] for output in graph.outputs]
