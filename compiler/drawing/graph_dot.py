"""The picture of a graph as DOT text.

The forward part runs down and the backward part up beside it, so that what goes from the one to the other,
the residuals, goes across: edges of the backward part are written head to tail with `dir=back`, which turns
the ranks of `dot` around. Without a backward part there is nothing to fold and no cluster.
"""

from __future__ import annotations

from collections import Counter

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
    folded = Part.BACKWARD in scene.titles
    wide = direction == "LR"
    large = len(scene.items) > LITERAL or bool(scene.repeats)
    look = {"rankdir": direction, "bgcolor": background, "newrank": "true" if large else ""}
    lines = [
        dot.default("graph", GRAPH | look),
        dot.default("node", NODE),
        dot.default("edge", EDGE),
    ]
    for part in scene.titles:
        inner = _members(scene, part, None, wide)
        if folded:
            title = _cluster_lines(part, scene.titles[part])
            inner = dot.block(f"subgraph cluster_{part.value}", [*title, *inner])
        lines += inner
    # Leaves stand after the parts: then `dot` puts the forward part on the left far more often than not.
    lines += [_node_line(item, wide) for item in scene.items if item.part is None]
    operands = Counter(edge.target for edge in scene.edges)
    for edge in scene.edges:
        lines.append(_edge_line(edge, folded, edge.target.ordered and operands[edge.target] > 1))
    return "\n".join(dot.block(f"digraph {dot.quoted(scene.name)}", lines)) + "\n"


def _cluster_lines(part: Part, title: str) -> list[str]:
    _, colour = PART_COLOURS[part]
    values = {
        "label": title,
        "labeljust": "l",
        "style": "rounded,filled",
        "color": faint(colour, 0.4),
        "fillcolor": faint(colour, 0.05),
        "fontcolor": colour,
        "tooltip": f"{title} part",
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
        "label": dot.Markup(f'<font point-size="14"><b>× {repeat.count:,}</b></font>'),
        "labeljust": "r",
        "style": "rounded,filled",
        "color": colour,
        "fillcolor": faint(colour, 0.06),
        "fontcolor": colour,
        "penwidth": "1.2",
        "peripheries": "1",
        "tooltip": f"{repeat.count:,} equal segments, of which the first is shown",
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


def _edge_line(edge: Edge, folded: bool, numbered: bool) -> str:
    source, target = edge.source, edge.target
    back = folded and source.part in LATE
    values = _edge_look(edge)
    note = edge_note(edge) if source is not target else ""
    if numbered:
        numbers = [str(place + 1) for place in sorted(edge.positions)]
        values["taillabel" if back else "headlabel"] = " ".join([*numbers, note]).rstrip()
    elif note:
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
