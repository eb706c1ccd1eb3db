"""The picture of a plan: its steps down the page, the arena beside them, each value where and while it lives.

Time runs down and bytes run to the right, so a value is a rectangle: as wide as its bytes, from the step that
makes it to the last that reads it. It is DOT text with every place fixed, which `neato` only has to draw.
"""

from __future__ import annotations

from itertools import count, groupby

from ..ir.node import Node
from ..ir.record import record
from ..ir.text import names as names_of
from ..plan import Action, Place, Plan, Step
from ..plan_text import chain_text
from . import dot
from .labels import op_label, scalar_text, shorten, source_line
from .parts import Part, parts_of
from .style import FONT, PART_COLOURS, QUIET, TEXT, faint

# Up to so many steps each has its line of text; beyond, the page keeps one size and only numbers them.
READABLE = 90
# So many rectangles are drawn, the largest; a page has no room for more.
MOST = 600
# All lengths are in points.
ROW = 17.0
GAP = 18.0
NARROWEST = 10.0


@record
class Page:
    """Where things stand: text left of `left`, the arena `width` wide from there on, a step every `row`."""

    row: float
    left: float
    width: float

    @classmethod
    def of(cls, steps: int, expand: bool) -> Page:
        if expand or steps <= READABLE:
            return cls(row=ROW, left=290.0, width=560.0)
        return cls(row=660.0 / steps, left=80.0, width=960.0)


@record
class Tile:
    """One value in one piece of memory, from step `first` to before step `after`."""

    node: Node
    left: float
    width: float
    first: int
    after: int
    nbytes: int
    where: str


def plan_dot(plan: Plan, *, expand: bool = False, background: str = "transparent") -> str:
    """The whole text. `expand` gives every step its line and every value its rectangle."""
    page = Page.of(len(plan.steps), expand)
    names, parts = names_of(plan.graph), parts_of(plan.graph)
    tiles = _tiles(plan, page)
    shown = tiles if expand else _largest(tiles)
    right = max([page.left + page.width, *(tile.left + tile.width for tile in tiles)])
    lines = _heading(plan, page, right, len(tiles) - len(shown))
    lines += _bands(plan, page, parts, right)
    lines += _chains(plan, page)
    lines += _step_lines(plan, names) if page.row == ROW else _step_numbers(plan, page)
    lines += [_tile_line(number, tile, page, parts, names) for number, tile in enumerate(shown)]
    head = f"digraph {dot.quoted(plan.graph.name)}"
    return "\n".join(dot.block(head, [*_defaults(background), *lines])) + "\n"


def _largest(tiles: list[Tile]) -> list[Tile]:
    by_area = sorted(range(len(tiles)), key=lambda at: tiles[at].width * (tiles[at].first - tiles[at].after))
    return [tiles[at] for at in sorted(by_area[:MOST])]


# What is where


def _tiles(plan: Plan, page: Page) -> list[Tile]:
    """The rectangles of all values that have planned memory: the arena to scale, results beside it."""
    whole = plan.arena_bytes or max((buffer.nbytes for buffer in plan.buffers), default=1) or 1
    scale = page.width / whole
    beside = page.left + (page.width + GAP if plan.arena_bytes else 0.0)
    values = _values_by_buffer(plan)
    tiles: list[Tile] = []
    for number, buffer in enumerate(plan.buffers):
        width = buffer.nbytes * scale
        if buffer.place is Place.ARENA and buffer.nbytes:
            left = page.left + buffer.offset * scale
            where = f"arena[{buffer.offset}:{buffer.offset + buffer.nbytes}]"
        elif buffer.place is Place.FRESH:
            width = min(max(width, NARROWEST), page.width)
            left, where = beside, "memory of a result"
            beside += width + 3
        else:
            continue
        owners = [plan.values[position] for position in values.get(number, ())]
        ends = [*(value.first for value in owners[1:]), buffer.last + 1]
        for value, end in zip(owners, ends, strict=True):
            after = max(end, value.first + 1)
            tiles.append(Tile(value.node, left, width, value.first, after, buffer.nbytes, where))
    return tiles


def _values_by_buffer(plan: Plan) -> dict[int, list[int]]:
    """For each buffer the values that are computed into it, in the order they come."""
    table: dict[int, list[int]] = {}
    for number, value in enumerate(plan.values):
        if value.buffer is not None and value.base is None and value.first >= 0:
            table.setdefault(value.buffer, []).append(number)
    return table


# How it is drawn


def _defaults(background: str) -> list[str]:
    graph = {"layout": "neato", "bgcolor": background, "pad": "0.15", "overlap": "true"}
    node = {
        "fontname": FONT,
        "fontsize": "9",
        "fontcolor": TEXT,
        "shape": "box",
        "fixedsize": "true",
        "label": " ",
    }
    return [dot.default("graph", graph), dot.default("node", node)]


def _box(key: str, left: float, top: float, width: float, height: float, values: dict[str, str]) -> str:
    """A node that covers this rectangle; `top` counts down the page."""
    place = f"{(left + width / 2) / 72:.4f},{-(top + height / 2) / 72:.4f}!"
    size = {"pos": place, "width": f"{width / 72:.4f}", "height": f"{height / 72:.4f}"}
    return dot.node(key, size | values)


def _text(key: str, left: float, top: float, width: float, text: str, align: str = "left") -> str:
    """A line of text that starts (or ends) at the edge of its rectangle."""
    cell = f'<td align="{align}" width="{width - 4:.0f}">{text}</td>'
    table = f'<table border="0" cellborder="0" cellspacing="0" cellpadding="0"><tr>{cell}</tr></table>'
    return _box(key, left, top, width, ROW, {"label": dot.Markup(table), "shape": "plain"})


def _quiet(text: str, size: int = 9) -> str:
    return f'<font color="{QUIET}" point-size="{size}">{text}</font>' if text else ""


def bytes_text(count: int) -> str:
    """`512 B`, `24.5 KiB`, `3.1 MiB`."""
    if count < 1024:
        return f"{count} B"
    size, unit = count / 1024, "KiB"
    for larger in ("MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{size:.0f} {unit}" if size >= 100 else f"{size:.1f} {unit}"


def _heading(plan: Plan, page: Page, right: float, hidden: int) -> list[str]:
    """Title, and the axis of bytes with its marks."""
    peak, total = bytes_text(plan.peak_bytes), bytes_text(plan.intermediate_bytes)
    title = f"<b>{dot.html(plan.graph.name)}</b>   {len(plan.steps)} steps, at most {peak} of {total} alive"
    if hidden:
        title += f" ({hidden} small values left out)"
    lines = [_text("title", 0, -3.2 * ROW, right, f'<font point-size="12">{title}</font>')]
    if plan.arena_bytes:
        what = _quiet(f"arena, {bytes_text(plan.arena_bytes)}")
        lines.append(_text("arena", page.left, -1.9 * ROW, page.width / 2, what))
        for quarter in range(5):
            mark = _quiet(bytes_text(plan.arena_bytes * quarter // 4), 8)
            at = page.left + page.width * quarter / 4
            lines.append(_text(f"mark {quarter}", at - 30, -ROW, 60, mark, "center"))
    if any(buffer.place is Place.FRESH for buffer in plan.buffers):
        beside = page.left + (page.width + GAP if plan.arena_bytes else 0)
        lines.append(_text("results", beside, -1.9 * ROW, 60, _quiet("results")))
    return lines


def _bands(plan: Plan, page: Page, parts: dict[Node, Part], right: float) -> list[str]:
    """Behind everything: which steps belong to which part."""
    lines = []
    start = 0
    for part, steps in groupby(plan.steps, lambda step: parts.get(step.node)):
        stop = start + sum(1 for _ in steps)
        if part is not None:
            look = {
                "style": "filled",
                "fillcolor": faint(PART_COLOURS[part][1], 0.07),
                "color": "#00000000",
                "tooltip": f"{part.value}, steps {start} to {stop - 1}",
            }
            height = (stop - start) * page.row
            lines.append(_box(f"band {start}", -6, start * page.row, right + 12, height, look))
        start = stop
    return lines


def _chains(plan: Plan, page: Page) -> list[str]:
    """A bar beside steps that threads go through row by row."""
    lines = []
    for number, chain in enumerate(plan.chains):
        look = {
            "style": "filled",
            "fillcolor": QUIET,
            "color": "#00000000",
            "tooltip": chain_text(chain),
        }
        top, height = chain[0] * page.row, (chain[-1] - chain[0] + 1) * page.row
        lines.append(_box(f"chain {number}", -10, top + 2, 2.5, height - 4, look))
    return lines


def _step_lines(plan: Plan, names: dict[Node, str]) -> list[str]:
    left = Page.of(0, False).left
    lines = []
    for number, step in enumerate(plan.steps):
        top = number * ROW
        lines.append(_text(f"number {number}", 0, top, 24, _quiet(str(number), 8), "right"))
        lines.append(_text(f"step {number}", 32, top, left - 36, _step_text(plan, step, names)))
    return lines


def _step_text(plan: Plan, step: Step, names: dict[Node, str]) -> str:
    """The step as in the pictures of graphs: views lighter, and where it writes to the caller's memory."""
    label = op_label([step.node], names, lambda node, operand: scalar_text(operand))
    number, title, detail, type_ = map(dot.html, label)
    if step.action is Action.VIEW:
        return _quiet(f"{number} {title} {detail} ") + _quiet(type_, 8)
    if step.action is Action.COPY:
        number, title, detail = "", "copy", dot.html(names[plan.values[step.inputs[0]].node])
    text = " ".join(filter(None, [_quiet(number), f"<b>{title}</b>", detail, _quiet(type_, 8)]))
    value = plan.values[step.output]
    position = None if value.buffer is None else plan.buffers[value.buffer].param
    if value.place is Place.PARAM and position is not None:
        text += f" → {dot.html(str(plan.graph.params[position].attrs['name']))}"
    return text


def _step_numbers(plan: Plan, page: Page) -> list[str]:
    """Marks on the axis of time, a round number of steps apart."""
    round_numbers = (size * 10**power for power in count() for size in (1, 2, 5))
    apart = next(number for number in round_numbers if number * page.row >= 2.5 * ROW)
    return [
        _text(
            f"number {number}",
            0,
            number * page.row - ROW / 2,
            page.left - 8,
            _quiet(f"step {number}"),
            "right",
        )
        for number in range(0, len(plan.steps), apart)
    ]


def _tile_line(number: int, tile: Tile, page: Page, parts: dict[Node, Part], names: dict[Node, str]) -> str:
    fill, colour = PART_COLOURS[parts.get(tile.node, Part.FORWARD)]
    name = names[tile.node]
    height = (tile.after - tile.first) * page.row
    label = ""
    if tile.width >= 7 * len(name) and height >= 9:
        label = dot.html(name) + (" " + _quiet(bytes_text(tile.nbytes), 8) if tile.width >= 90 else "")
    tooltip = [
        f"{name} {tile.node.op.name} {tile.node.type}",
        f"{tile.where}, steps {tile.first} to {tile.after - 1}",
        shorten(source_line(tile.node), 100),
    ]
    look = {
        "label": dot.Markup(label) if label else "",
        "style": "filled",
        "fillcolor": fill,
        "color": colour,
        "penwidth": "0.8" if min(height, tile.width) >= 4 else "0.3",
        "tooltip": "\n".join(filter(None, tooltip)),
    }
    return _box(f"value {number}", tile.left, tile.first * page.row, tile.width, height, look)
