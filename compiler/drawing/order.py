"""Two orders of a part's nodes, made so that unrolled loops come out as repeating sequences.

By level, loops that run side by side interleave step by step; depth first, equal branches follow one
another whole. `collapse.py` tries both and keeps the one that collapses further. Linear, without recursion.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.node import Node


def levels_of(nodes: Sequence[Node]) -> dict[Node, int]:
    """The length of the longest path inside `nodes` (in topological order) that ends at each node."""
    level: dict[Node, int] = {}
    for node in nodes:
        level[node] = 1 + max((level.get(operand, -1) for operand in node.inputs), default=-1)
    return level


def users_within(nodes: Sequence[Node]) -> dict[Node, list[Node]]:
    """For each node the nodes of the same list that read it, each once."""
    table: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in nodes:
        for operand in dict.fromkeys(node.inputs):
            if operand in table:
                table[operand].append(node)
    return table


def by_level(nodes: Sequence[Node], tokens: dict[Node, int]) -> list[Node]:
    """Ordered by level; inside one level by token, then by the places of the inputs.

    A node that waits for its only user is moved down to it where that makes the edges no longer: what a loop
    step alone reads then stands in that step.
    """
    level = levels_of(nodes)
    users = users_within(nodes)
    for node in reversed(nodes):
        inner = sum(operand in users for operand in dict.fromkeys(node.inputs))
        if len(users[node]) == 1 and inner <= 1:
            level[node] = level[users[node][0]] - 1
    rows: dict[int, list[Node]] = {}
    for node in nodes:
        rows.setdefault(level[node], []).append(node)
    place: dict[Node, int] = {}
    for _, row in sorted(rows.items()):
        keys = {node: (tokens[node], [place.get(operand, -1) for operand in node.inputs]) for node in row}
        for node in sorted(row, key=keys.__getitem__):
            place[node] = len(place)
    return list(place)


def depth_first(nodes: Sequence[Node]) -> list[Node]:
    """Ordered by a depth-first walk from the last nodes that enters the deepest input first."""
    level = levels_of(nodes)
    users = users_within(nodes)
    done: dict[Node, None] = {}
    entered: set[Node] = set()
    for last in nodes:
        stack = [] if users[last] else [last]
        while stack:
            node = stack[-1]
            if node in entered:
                stack.pop()
                done[node] = None
                continue
            entered.add(node)
            inner = {operand for operand in node.inputs if operand in users and operand not in entered}
            stack += sorted(inner, key=level.__getitem__)
    return list(done)
