"""The reference interpreter of a Graph: the judge of everything faster.

Runs each node's reference function on the values of its inputs, in topological order, and frees a value
after its last use.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from ..compiler.ir.node import Graph, Node
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
        with error_settings(node):
            known[node] = run(*inputs, **node.attrs)
        for operand in node.inputs:
            if last[operand] is node and operand not in kept:
                known.pop(operand, None)
    return [known[output] for output in graph.outputs]


_AS_THE_CALLER: AbstractContextManager[None] = nullcontext()


def error_settings(node: Node) -> AbstractContextManager[None]:
    """The floating-point error settings of a node: silent for backward ones, else as the code says."""
    if node.loc.backward:
        return np.errstate(all="ignore")
    settings: dict[str, Any] = dict(node.loc.errstate)
    return np.errstate(**settings) if settings else _AS_THE_CALLER


class InterpretExecutor:
    """The reference interpreter behind the interface of an executor: targets are met by plain copies."""

    def __init__(self, graph: Graph, targets: Sequence[Any]) -> None:
        self.graph = graph
        self.targets = tuple(targets)

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        """The returned outputs for these param values; committed ones are written and given as None."""
        found = interpret(self.graph, values)
        results: list[Any] = []
        commits: list[tuple[Any, Any]] = []
        for value, target in zip(found, self.targets, strict=True):
            if target.kind == "commit":
                commits.append((values[target.param], np.array(value)))
                results.append(None)
            elif target.kind == "fresh":
                results.append(_fresh(value, target.strides))
            else:
                results.append(np.asarray(value)[()] if target.kind == "scalar" else value)
        for memory, value in commits:
            memory[...] = value
        return results


def _fresh(value: Any, strides: tuple[int, ...] | None) -> Any:
    """A copy that owns its memory, laid out by the given strides."""
    value = np.asarray(value)
    if strides is None:
        return value.copy()
    order = sorted(range(value.ndim), key=lambda axis: (-abs(strides[axis]), axis))
    made = np.empty([value.shape[axis] for axis in order], value.dtype)
    made = made.transpose([order.index(axis) for axis in range(value.ndim)])
    made[...] = value
    return made
