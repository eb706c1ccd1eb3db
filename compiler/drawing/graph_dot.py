"""The picture of a graph as DOT text.

The forward part runs down and the backward part up beside it, so that what goes from the one to the other,
the residuals, goes across: edges of the backward part are written head to tail with `dir=back`, which turns
the ranks of `dot` around. Without a backward part there is nothing to fold and no cluster.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from . import dot
from .condense import LITERAL
from .parts import Part
from .repeat import Repeat
from .scene import LEAVES, Edge, Item, Link, Role, Scene, edge_note, edge_tooltip
from .style import EDGE, GRAPH, LEAF_STYLES, LINE, NODE, PAPER, PART_COLOURS, QUIET, faint

LATE = (Part.BACKWARD, Part.UPDATE)


def graph_dot(scene: Scene, *, direction: str = "TB", background: str = "transparent") -> str:
    """The whole text.

    Args:
        scene: what is shown.
        direction: TB (the forward part runs down) or LR (it runs to the right).
        background: a colour, or `transparent`.
    """
    folded = Part.BACKWARD in scene.parts
    wide = direction == "LR"
    large = len(scene.items) > LITERAL or bool(scene.repeats)
    look = {"rankdir": direction, "bgcolor": background, "newrank": "true" if large else ""}
    lines = [
        dot.default("graph", GRAPH | look),
        dot.default("node", NODE),
        dot.default("edge", EDGE),
    ]
    lines += [_node_line(item, wide) for item in scene.items if item.part is None]
    for part in scene.parts:
        inner = _members(scene, part, None, wide)
        lines += (
            dot.block(f"subgraph cluster_{part.value}", [*_cluster_lines(part), *inner]) if folded else inner
        )
    operands = Counter(edge.target for edge in scene.edges)
    spines = _spines(scene)
    straight = {pair for spine in spines.values() for pair in pairwise(spine)}
    for edge in scene.edges:
        values = {"weight": "4"} if (edge.source, edge.target) in straight else {}
        numbered = edge.target.ordered and operands[edge.target] > 1
        lines.append(_edge_line(edge, values, folded, numbered))
    lines += _order_hint(spines) if folded and large else []
    return "\n".join(dot.block(f"digraph {dot.quoted(scene.name)}", lines)) + "\n"


def _spines(scene: Scene) -> dict[Part, list[Item]]:
    """The longest path inside each part: it is drawn straight, and it orders the parts."""
    import networkx

    spines = {}
    for part in scene.parts:
        inner = networkx.DiGraph()
        inner.add_nodes_from(item for item in scene.items if item.part is part)
        inner.add_edges_from(
            (edge.source, edge.target)
            for edge in scene.edges
            if edge.link is Link.FLOW and edge.source.part is part and edge.target.part is part
        )
        if networkx.is_directed_acyclic_graph(inner):
            spines[part] = networkx.dag_longest_path(inner)
    return spines


def _order_hint(spines: dict[Part, list[Item]]) -> list[str]:
    """An edge that nobody sees from the end of the forward part to the start of the backward part.

    `dot` puts what it leads to beside what it comes from, on the right: so the backward part comes second.
    """
    forward, backward = spines.get(Part.FORWARD), spines.get(Part.BACKWARD)
    if not forward or not backward:
        return []
    values = {"style": "invis", "minlen": "0", "weight": "4"}
    return [dot.edge(forward[-1].key, backward[0].key, values)]


def _cluster_lines(part: Part) -> list[str]:
    _, colour = PART_COLOURS[part]
    values = {
        "label": part.value,
        "labeljust": "l",
        "style": "rounded,filled",
        "color": faint(colour, 0.4),
        "fillcolor": faint(colour, 0.05),
        "fontcolor": colour,
        "tooltip": f"{part.value} part",
    }
    return [dot.default("graph", values)]


def _members(scene: Scene, part: Part, repeat: Repeat | None, wide: bool) -> list[str]:
    """The items of a part that stand in this repeat (or in none), and the boxes of the repeats inside it."""
    lines = [_node_line(item, wide) for item in scene.items if item.part is part and item.repeat is repeat]
    for number, inner in enumerate(scene.repeats):
        if inner.part is part and inner.parent is repeat:
            head = f"subgraph cluster_repeat_{number}"
            lines += dot.block(head, [*_repeat_lines(inner), *_members(scene, part, inner, wide)])
    return lines


def _repeat_lines(repeat: Repeat) -> list[str]:
    _, colour = PART_COLOURS[repeat.part]
    values = {
        "label": dot.Markup(f'<font point-size="14"><b>× {repeat.count}</b></font>'),
        "labeljust": "r",
        "style": "rounded,filled",
        "color": colour,
        "fillcolor": PAPER,
        "fontcolor": colour,
        "penwidth": "1.2",
        "peripheries": "1",
        "tooltip": f"{repeat.count} equal segments, of which the first is shown",
    }
    return [dot.default("graph", values)]


def _node_line(item: Item, wide: bool) -> str:
    return dot.node(item.key, {"label": _label(item, wide), **_look(item), "tooltip": item.tooltip})


def _label(item: Item, wide: bool) -> dot.Markup:
    number, title, detail, type_ = map(dot.html, item.label)
    bold = item.role is Role.COMPUTE
    quiet = PAPER if item.role is Role.OUTPUT else QUIET
    texts = [
        f'<font color="{quiet}" point-size="9">{number}</font>' if number else "",
        f"<b>{title}</b>" if bold else title,
        detail,
    ]
    kind = f'<font color="{quiet}" point-size="9">{type_}</font>' if type_ else ""
    first = " ".join(filter(None, texts))
    between = "<br/>" if wide and kind and item.role not in LEAVES else " "
    return dot.Markup(f"{first}{between}{kind}" if kind else first)


def _look(item: Item) -> dict[str, str]:
    if item.role in LEAF_STYLES:
        return LEAF_STYLES[item.role]
    assert item.part is not None
    fill, colour = PART_COLOURS[item.part]
    if item.role is Role.VIEW:
        return {
            "style": "rounded,filled,dashed",
            "fillcolor": PAPER,
            "color": faint(colour, 0.6),
            "fontcolor": QUIET,
        }
    return {"fillcolor": fill, "color": colour}


def _edge_line(edge: Edge, more: dict[str, str], folded: bool, numbered: bool) -> str:
    source, target = edge.source, edge.target
    back = folded and source.part in LATE
    values = _edge_look(edge) | more
    if numbered:
        values["taillabel" if back else "headlabel"] = " ".join(
            str(place + 1) for place in sorted(edge.positions)
        )
    if (note := edge_note(edge)) and source is not target:
        values["label"] = f" {note} "
    values["tooltip"] = edge_tooltip(edge)
    if back:
        return dot.edge(target.key, source.key, {"dir": "back", **values})
    return dot.edge(source.key, target.key, values)


def _edge_look(edge: Edge) -> dict[str, str]:
    part = edge.target.part
    values: dict[str, str] = {}
    if part is not None and edge.target.role is not Role.OUTPUT:
        values["color"] = PART_COLOURS[part][1]
    if edge.link is Link.RESIDUAL:
        values |= {"color": PART_COLOURS[Part.FORWARD][1], "penwidth": "2.4", "minlen": "0"}
    elif edge.link is Link.CARRIED:
        values |= {"style": "dashed", "constraint": "false"}
    elif edge.source.part is None and part in LATE:
        values |= {"color": LINE, "minlen": "0"}
    return values
