"""What a picture of a graph shows: items, edges between them, and the boxes of repeats.

A scene knows nothing of DOT or colours. Every node of the graph is resolved to the item that stands for it;
edges between nodes become edges between items, each drawn once, whatever the number of values it carries.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import field

from ..ir.node import Graph, Node
from ..ir.opdef import Kind
from ..ir.record import record
from ..ir.text import names as names_of
from . import labels
from .condense import Condensed, condense
from .labels import Label, Said
from .parts import Part, parameters_of, parts_of
from .repeat import Place, Repeat


class Role(enum.Enum):
    """What an item is, told apart by shape and colour."""

    INPUT = "input"
    PARAMETER = "parameter"
    CONSTANT = "constant"
    COMPUTE = "compute"
    VIEW = "view"
    OUTPUT = "output"


LEAVES = frozenset({Role.INPUT, Role.PARAMETER, Role.CONSTANT})


class Link(enum.Enum):
    """What an edge is: a residual is a forward value that the backward part reads."""

    FLOW = "flow"
    RESIDUAL = "residual"
    CARRIED = "carried"


@record(frozen=False, eq=False)
class Item:
    """One thing drawn. Params and constants stand in no part. `ordered`: operands must not change places."""

    key: str
    role: Role
    label: Label
    tooltip: str
    part: Part | None = None
    repeat: Repeat | None = None
    ordered: bool = False


@record(frozen=False, eq=False)
class Edge:
    """Values that go from one item to another.

    `positions` are the target's operands; `read_from` and `read_by` the copies of repeats that it leaves and
    enters, `values` the nodes whose values go along it.
    """

    source: Item
    target: Item
    link: Link
    positions: set[int] = field(default_factory=set)
    values: set[Node] = field(default_factory=set)
    leaves: Repeat | None = None
    enters: Repeat | None = None
    read_from: set[int] = field(default_factory=set)
    read_by: set[int] = field(default_factory=set)


@record(frozen=False)
class Scene:
    """A whole picture; repeats come outer before inner, and each part that is there has its title."""

    name: str
    items: list[Item]
    edges: list[Edge]
    repeats: list[Repeat]
    titles: dict[Part, str]


def scene_of(
    graph: Graph,
    *,
    expand: bool = False,
    parameters: Iterable[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> Scene:
    """What to draw of a graph; the options are those of `draw.dot_source`."""
    parts = parts_of(graph)
    owned = parameters_of(graph, parts, parameters)
    folded = {node for node in parts if node not in graph.outputs and labels.scalar_text(node) is not None}
    condensed = Condensed() if expand else condense(graph, parts, folded, owned)
    said = _said_in_labels(parts, folded, condensed)
    items = _items(graph, parts, folded, owned, condensed, said)
    edges = _edges(parts, folded, condensed, items, said)
    exits, exit_edges = _outputs(graph, parts, condensed, items, outputs)
    titles = {part: part.value for part in Part if part in parts.values()}
    if Part.UPDATE in titles and not owned:
        titles[Part.UPDATE] = "after"
    return Scene(graph.name, [*items.values(), *exits], [*edges, *exit_edges], condensed.repeats, titles)


def _said_in_labels(parts: dict[Node, Part], folded: set[Node], condensed: Condensed) -> Said:
    """Which operands labels say: folded constants, and params that the update part reads once more.

    An update reads every parameter; drawn as edges these would all cross the whole picture.
    """
    early = {
        operand
        for node, part in parts.items()
        if part is not Part.UPDATE
        for operand in node.inputs
        if operand.op.name == "param"
    }

    def said(node: Node, operand: Node) -> str | None:
        if operand in folded:
            return labels.scalar_text(operand)
        if operand in early and parts[node] is Part.UPDATE:
            return labels.leaf_title(condensed.groups.get(condensed.shown(operand), [operand]))
        return None

    return said


def _items(
    graph: Graph,
    parts: dict[Node, Part],
    folded: set[Node],
    owned: set[Node],
    condensed: Condensed,
    said: Said,
) -> dict[Node, Item]:
    """The item of every node that stands in the picture."""
    names = names_of(graph)
    items = {}
    for node in graph.nodes:
        if node in folded or condensed.shown(node) is not node:
            continue
        group = condensed.groups.get(node, [node])
        role = _role(node, group, owned)
        label = _label(node, group, names, condensed, said)
        items[node] = Item(
            # Graphviz takes names that begin with % for its own.
            key=names[node].removeprefix("%"),
            role=role,
            label=label,
            tooltip=labels.tooltip(label, group, names),
            part=None if role in LEAVES else parts[node],
            repeat=condensed.place[node][-1][0] if node in condensed.place else None,
            ordered=len(group) == 1 and node.op.name not in labels.COMMUTATIVE,
        )
    return items


def _role(node: Node, group: list[Node], owned: set[Node]) -> Role:
    if node.op.name == "param":
        return Role.PARAMETER if node in owned else Role.INPUT
    if node.op.name == "constant":
        return Role.CONSTANT
    return Role.VIEW if all(member.op.kind is Kind.VIEW for member in group) else Role.COMPUTE


def _label(node: Node, group: list[Node], names: dict[Node, str], condensed: Condensed, said: Said) -> Label:
    if not node.inputs:
        return labels.leaf_label(group, names)
    if len(group) == 1:
        return labels.op_label(condensed.copies.get(node, group), names, said)
    return labels.line_label(group) if condensed.by_line else labels.chain_label(group, names)


def _edges(
    parts: dict[Node, Part], folded: set[Node], condensed: Condensed, items: dict[Node, Item], said: Said
) -> list[Edge]:
    """One edge for each pair of items and way of reading."""
    edges: dict[tuple[Item, Item, Link], Edge] = {}
    for node in parts:
        if node in folded:
            continue
        target = items[condensed.shown(node)]
        for position, operand in enumerate(node.inputs):
            if said(node, operand) is not None:
                continue
            source = items[condensed.shown(operand)]
            here, there = condensed.place.get(operand, ()), condensed.place.get(node, ())
            link = _link(operand, node, parts, here, there)
            if source is target and link is not Link.CARRIED:
                continue
            edge = edges.setdefault((source, target, link), Edge(source, target, link))
            edge.positions.add(position)
            edge.values.add(operand)
            if here != there:
                _note_copies(edge, here, there)
    return list(edges.values())


def _link(operand: Node, node: Node, parts: dict[Node, Part], here: Place, there: Place) -> Link:
    if operand.inputs and parts[operand] is Part.FORWARD and parts[node] is Part.BACKWARD:
        return Link.RESIDUAL
    for (repeat, number), (other, its_number) in zip(here, there, strict=False):
        if repeat is not other:
            break
        if number != its_number:
            return Link.CARRIED
    return Link.FLOW


def _note_copies(edge: Edge, here: Place, there: Place) -> None:
    """Remember which copies of the outermost repeats that are not shared an edge leaves and enters."""
    depth = 0
    while depth < min(len(here), len(there)) and here[depth] == there[depth]:
        depth += 1
    if depth < len(here):
        edge.leaves = here[depth][0]
        edge.read_from.add(here[depth][1])
    if depth < len(there):
        edge.enters = there[depth][0]
        edge.read_by.add(there[depth][1])


def _outputs(
    graph: Graph,
    parts: dict[Node, Part],
    condensed: Condensed,
    items: dict[Node, Item],
    given: Sequence[str] | None,
) -> tuple[list[Item], list[Edge]]:
    """An item for each output, one for all copies where a repeat makes them."""
    positions: dict[object, list[int]] = {}
    for position, node in enumerate(graph.outputs):
        shown = condensed.shown(node)
        key: object = shown if condensed.copies.get(shown) or shown in condensed.groups else position
        positions.setdefault(key, []).append(position)
    exits, edges = [], []
    for places in positions.values():
        nodes = [graph.outputs[place] for place in places]
        title = labels.output_title(graph, places, given)
        label = Label("", title, f"× {len(places):,}" if len(places) > 1 else "", "")
        text = f"{title} {nodes[0].type}"
        item = Item(f"return {places[0]}", Role.OUTPUT, label, text, parts.get(nodes[0]))
        exits.append(item)
        edge = Edge(items[condensed.shown(nodes[0])], item, Link.FLOW, values=set(nodes))
        for node in nodes:
            _note_copies(edge, condensed.place.get(node, ()), ())
        edges.append(edge)
    return exits, edges


def edge_note(edge: Edge) -> str:
    """What to write beside an edge of a repeat: that it goes to the next copy, or joins one copy only."""
    if edge.link is Link.CARRIED:
        return "next"
    for repeat, numbers in ((edge.leaves, edge.read_from), (edge.enters, edge.read_by)):
        if repeat is not None and numbers == {0}:
            return "first"
        if repeat is not None and numbers == {repeat.count - 1}:
            return "last"
    return ""


def edge_tooltip(edge: Edge) -> str:
    """Which value goes along an edge, and of how many copies."""
    texts = [edge.source.label.number or edge.source.label.title, edge.source.label.type]
    if len(edge.values) > 1:
        texts.append(f"× {len(edge.values):,}")
    if edge.link is Link.RESIDUAL:
        texts.append("(residual)")
    if edge.link is Link.CARRIED:
        texts.append("(to the next copy)")
    return " ".join(texts)
