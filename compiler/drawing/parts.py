"""Which part of a graph a node belongs to, and which params are parameters.

Differentiation marks the nodes it makes, so the backward part is known. What reads it without being marked is
the update part, and so is what only the update part reads. All of it is read off the graph.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

from ..ir.node import Graph, Node


class Part(enum.Enum):
    """The cluster a node is drawn in."""

    FORWARD = "forward"
    BACKWARD = "backward"
    UPDATE = "update"


def parts_of(graph: Graph) -> dict[Node, Part]:
    """The part of every node that is not a param."""
    parts: dict[Node, Part] = {}
    late = {Part.BACKWARD, Part.UPDATE}
    for node in graph.nodes:
        if node.op.name == "param":
            continue
        if node.loc.backward:
            parts[node] = Part.BACKWARD
        elif any(parts.get(operand) in late for operand in node.inputs):
            parts[node] = Part.UPDATE
        else:
            parts[node] = Part.FORWARD
    if Part.UPDATE in parts.values():
        _move_to_update(graph, parts)
    return parts


def _move_to_update(graph: Graph, parts: dict[Node, Part]) -> None:
    """Forward nodes that only the update part reads belong to it: decayed averages, rates, corrections."""
    elsewhere = set(graph.outputs)
    for node in reversed(graph.nodes):
        if node not in parts:
            continue
        if parts[node] is Part.FORWARD and node not in elsewhere and node.inputs:
            parts[node] = Part.UPDATE
        if parts[node] is not Part.UPDATE:
            elsewhere.update(node.inputs)


def parameters_of(graph: Graph, parts: dict[Node, Part], named: Iterable[str] | None) -> set[Node]:
    """The params that are parameters rather than inputs.

    `named` lists them by name. Without it they are the params that a new value is computed for: those that
    an output of the update part reads directly and has the type of, and leaves of the same container as
    these. In a graph without updates they are those leaves of containers that have the type of a cotangent.
    """
    if named is not None:
        wanted = set(named)
        return {param for param in graph.params if param.attrs["name"] in wanted}
    params = set(graph.params)
    found = {
        operand
        for output in graph.outputs
        if parts.get(output) is Part.UPDATE
        for operand in output.inputs
        if operand in params and operand.type == output.type
    }
    if not found:
        cotangents = {output.type for output in graph.outputs if parts.get(output) is Part.BACKWARD}
        return {param for param in params if _is_leaf(param) and param.type in cotangents}
    roots = {_root(param) for param in found if _is_leaf(param)}
    return found | {param for param in params if _root(param) in roots}


def _is_leaf(param: Node) -> bool:
    """Whether it is a part of an argument that is a container."""
    return _root(param) != str(param.attrs["name"])


def _root(param: Node) -> str:
    """The name of the argument that a leaf belongs to: `params` for `params['w']` or `params.w`."""
    name = str(param.attrs["name"])
    return name.split("[", 1)[0].split(".", 1)[0] or name
