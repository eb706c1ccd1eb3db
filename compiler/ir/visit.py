"""Traversal of graphs without recursion: order, users, rebuilding.

Every function here is linear in the number of nodes and edges, whatever the depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from .node import Graph, Node

if TYPE_CHECKING:
    import networkx

    from .builder import Builder


def topological(outputs: Iterable[Node], first: Iterable[Node] = ()) -> list[Node]:
    """Nodes that the outputs reach, each after its inputs, in the order a depth-first walk meets them.

    `first` (the params) are listed at the start whether reached or not.
    """
    order = list(dict.fromkeys(first))
    done = set(order)
    for output in outputs:
        if output in done:
            continue
        stack = [(output, iter(output.inputs))]
        done.add(output)
        while stack:
            node, pending = stack[-1]
            for operand in pending:
                if operand not in done:
                    done.add(operand)
                    stack.append((operand, iter(operand.inputs)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def users(nodes: Iterable[Node]) -> dict[Node, list[Node]]:
    """For each node the nodes that read it, once per operand position."""
    table: dict[Node, list[Node]] = {node: [] for node in nodes}
    for node in list(table):
        for operand in node.inputs:
            table[operand].append(node)
    return table


Rewrite = Callable[["Builder", Node, tuple[Node, ...]], "Node | None"]


def rebuild(graph: Graph, builder: Builder, rewrite: Rewrite) -> Graph:
    """The graph made anew from its inputs down.

    `rewrite(builder, node, inputs)` is called once per node with the node's already rebuilt inputs and
    returns the replacement, or None for "the same op on these inputs".
    """
    new: dict[Node, Node] = {param: param for param in graph.params}
    for node in graph.nodes:
        if node in new:
            continue
        inputs = tuple(new[operand] for operand in node.inputs)
        new[node] = rewrite(builder, node, inputs) or builder.again(node, inputs)
    return Graph(graph.name, graph.params, tuple(new[output] for output in graph.outputs))


def reaches(targets: Iterable[Node], order: Sequence[Node]) -> set[Node]:
    """The nodes of a topologically ordered list that depend on any of the targets, targets included."""
    found = set(targets)
    for node in order:
        if node not in found and not found.isdisjoint(node.inputs):
            found.add(node)
    return found


def to_networkx(graph: Graph) -> networkx.MultiDiGraph[int]:
    """A MultiDiGraph whose keys are positions in `graph.nodes`; data: op, type, attrs, loc, node."""
    import networkx

    position = {node: number for number, node in enumerate(graph.nodes)}
    result: networkx.MultiDiGraph[int] = networkx.MultiDiGraph(name=graph.name)
    for node, number in position.items():
        result.add_node(
            number, op=node.op.name, type=str(node.type), attrs=dict(node.attrs), loc=node.loc, node=node
        )
    for node, number in position.items():
        for place, operand in enumerate(node.inputs):
            result.add_edge(position[operand], number, position=place)
    return result
