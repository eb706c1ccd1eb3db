"""Which nodes of a large graph share one item of the picture.

Repeats are shown once (`collapse.py`), views that follow one another become one item, equal leaves of the
copies of a repeat too; where all that is not enough, everything that one line of code made is one item.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field

from ..ir.node import Graph, Node
from ..ir.opdef import Kind
from ..ir.record import record
from .collapse import collapse
from .parts import Part
from .repeat import Place, Repeat

# Up to so many nodes a graph is shown as it is.
LITERAL = 60
# Beyond so many items the lines of the user's code are shown instead.
CROWDED = 160
# More params than this that look alike and go to the same place are one item.
ALIKE = 8


@record(frozen=False)
class Condensed:
    """Who stands for whom. `groups` lists, under its representative, each group of nodes drawn as one.

    `copies` lists the counterparts of a node in all copies of its repeats, `place` where each node stands.
    """

    repeats: list[Repeat] = field(default_factory=list)
    place: dict[Node, Place] = field(default_factory=dict)
    copies: dict[Node, list[Node]] = field(default_factory=dict)
    groups: dict[Node, list[Node]] = field(default_factory=dict)
    by_line: bool = False
    _stands_for: dict[Node, Node] = field(default_factory=dict)

    def shown(self, node: Node) -> Node:
        """The node under which this one is drawn."""
        while (other := self._stands_for.get(node, node)) is not node:
            node = other
        return node

    def group(self, nodes: list[Node]) -> None:
        """Draw these nodes as one, under the first."""
        self.groups[nodes[0]] = nodes
        for node in nodes[1:]:
            self._stands_for[node] = nodes[0]


def condense(graph: Graph, parts: dict[Node, Part], folded: set[Node], parameters: set[Node]) -> Condensed:
    """Decide what stands for what; `folded` nodes are not drawn at all."""
    result = Condensed()
    if len(parts) - len(folded) <= LITERAL:
        return result
    found = collapse(parts, folded.__contains__)
    result.repeats, result.place, result._stands_for = found.repeats, found.place, dict(found.shown)
    for node, first in found.shown.items():
        result.copies.setdefault(first, []).append(node)
    drawn = [node for node in parts if node not in folded and found.shown.get(node, node) is node]
    if len(drawn) > LITERAL:
        for chain in _chains_of_views(graph, drawn, parts, found.place):
            result.group(chain)
        drawn = [node for node in drawn if result.shown(node) is node]
    if len(drawn) > CROWDED:
        result.by_line = True
        result.groups.clear()
        for line in _lines_of_code(graph, drawn, parts, found.place):
            result.group(line)
    for leaves in _equal_leaves(graph, result, folded, parameters):
        result.group(leaves)
    return result


def _chains_of_views(
    graph: Graph, drawn: Iterable[Node], parts: dict[Node, Part], place: dict[Node, Place]
) -> list[list[Node]]:
    """Views of views, where nothing else looks at what is between."""
    uses: dict[Node, int] = dict.fromkeys(graph.outputs, 2)
    for node in graph.nodes:
        for operand in node.inputs:
            uses[operand] = uses.get(operand, 0) + 1
    chains: dict[Node, list[Node]] = {}
    for node in drawn:
        if node.op.kind is not Kind.VIEW:
            continue
        before = chains.get(node.inputs[0])
        last = node.inputs[0]
        if before and uses[last] == 1 and parts[last] is parts[node] and place.get(last) == place.get(node):
            chains[node] = before
            before.append(node)
        else:
            chains[node] = [node]
    return [chain for node, chain in chains.items() if len(chain) > 1 and chain[0] is node]


def _lines_of_code(
    graph: Graph, drawn: Iterable[Node], parts: dict[Node, Part], place: dict[Node, Place]
) -> list[list[Node]]:
    """The drawn nodes of each line of the user's code, part and repeat; nodes without a line stay alone."""
    lines: dict[object, list[Node]] = {}
    for node in drawn:
        if node.loc.file:
            key = (node.loc.file, node.loc.line, parts[node], place.get(node))
            lines.setdefault(key, []).append(node)
    return [nodes for nodes in lines.values() if len(nodes) > 1]


def _equal_leaves(
    graph: Graph, condensed: Condensed, folded: set[Node], parameters: set[Node]
) -> list[list[Node]]:
    """Leaves that the copies of a repeat read at one place, and crowds that go to the same items."""
    leader: dict[Node, Node] = {}

    def find(leaf: Node) -> Node:
        while (other := leader.get(leaf, leaf)) is not leaf:
            leaf = other
        return leaf

    def unite(leaves: Iterable[Node]) -> None:
        first, *rest = map(find, leaves)
        for leaf in rest:
            if leaf is not first:
                leader[leaf] = first

    for repeat in condensed.repeats:
        for nodes in zip(*repeat.copies, strict=True):
            for operands in zip(*(node.inputs for node in nodes), strict=True):
                if folded.isdisjoint(operands) and _may_be_one(operands, parameters):
                    unite(operands)
    for alike in _readers_alike(graph, condensed.shown, parameters):
        unite(alike)
    groups: dict[Node, list[Node]] = {}
    for leaf in graph.nodes:
        if not leaf.inputs:
            groups.setdefault(find(leaf), []).append(leaf)
    return [leaves for leaves in groups.values() if len(leaves) > 1]


def _may_be_one(operands: tuple[Node, ...], parameters: set[Node]) -> bool:
    return (
        all(not operand.inputs for operand in operands)
        and len(set(operands)) == len(operands)
        and len({(operand.op, operand.type, operand in parameters) for operand in operands}) == 1
    )


def _readers_alike(graph: Graph, shown: Callable[[Node], Node], parameters: set[Node]) -> list[list[Node]]:
    """Crowds of params of one type that the same items read."""
    readers: dict[Node, set[Node]] = {}
    for node in graph.nodes:
        for operand in node.inputs:
            if operand.op.name == "param":
                readers.setdefault(operand, set()).add(shown(node))
    crowds: dict[object, list[Node]] = {}
    for param in graph.params:
        key = (param.type, param in parameters, frozenset(readers.get(param, ())))
        crowds.setdefault(key, []).append(param)
    return [crowd for crowd in crowds.values() if len(crowd) > ALIKE]
