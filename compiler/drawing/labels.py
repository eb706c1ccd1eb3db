"""What is written in a picture: short names of ops, folded constants, the user's line as a tooltip.

Everything comes back as plain text; `dot.py` escapes it. Labels are short, tooltips complete.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..ir.node import Graph, Node
from ..ir.text import node_text
from ..ir.text_values import attr_text

LONGEST = 28
LONGEST_ATTR = 14

# Operands of these may change places, so a picture need not say which is the first.
COMMUTATIVE = frozenset(
    {"add", "multiply", "maximum", "minimum", "fmax", "fmin", "equal", "not_equal", "gcd", "lcm"}
    | {"hypot", "logaddexp", "logaddexp2", "logical_and", "logical_or", "logical_xor"}
    | {"bitwise_and", "bitwise_or", "bitwise_xor"}
)

# Attrs that the type of the result or the name of the op says already.
SILENT_ATTRS = frozenset(
    {"shape", "dtype", "dtypes", "of", "name", "value", "tag", "result", "form", "start", "steps"}
)


Said = Callable[[Node, Node], "str | None"]


class Label(NamedTuple):
    """The parts of a label, in the order they are read: `%3`, `sum`, `axes=(0,)`, `f64[64]`."""

    number: str
    title: str
    detail: str
    type: str

    def __str__(self) -> str:
        return " ".join(filter(None, self))


def scalar_text(node: Node) -> str | None:
    """The value of a 0-d constant, or of one that is repeated by `broadcast`; None for anything else."""
    while node.op.name == "broadcast":
        (node,) = node.inputs
    if node.op.name != "constant":
        return None
    value = node.attrs["value"].value
    if isinstance(value, np.ndarray):
        return None if value.shape else shorten(str(value[()]))
    return shorten(repr(value))


def op_label(nodes: Sequence[Node], names: Mapping[Node, str], said: Said) -> Label:
    """The label of a node that stands for `nodes`, which differ in constants and attrs at most.

    `said` gives the text of an operand that the label says instead of an edge.
    """
    node = nodes[0]
    return Label(names[node], node.op.name, " ".join(_details(nodes, said)), str(node.type))


def _details(nodes: Sequence[Node], said: Said) -> list[str]:
    node = nodes[0]
    details = []
    operands = [{said(other, other.inputs[place]) for other in nodes} for place in range(len(node.inputs))]
    if any(texts != {None} for texts in operands):
        for texts in operands:
            text = texts.pop() if len(texts) == 1 else "…"
            details.append("·" if text is None else text)
    bodies = {other.attrs["body"].summary for other in nodes if other.op.name == "fused"}
    if bodies:
        return [*details, bodies.pop() if len(bodies) == 1 else "…"]
    slices = {_slice_text(other) for other in nodes if other.op.name == "slice"}
    if slices:
        return [*details, slices.pop() if len(slices) == 1 else "[…]"]
    for name in sorted(node.attrs.keys() - SILENT_ATTRS):
        if all(_usual(other) for other in nodes):
            continue
        values = {attr_text(other.attrs[name]) for other in nodes}
        text = values.pop() if len(values) == 1 else "…"
        if len(text) <= LONGEST_ATTR:
            details.append(f"{name}={text}")
    return details


def _usual(node: Node) -> bool:
    """Whether the attrs are those that everybody expects: a transposed matrix, NumPy's own broadcasting."""
    axes: tuple[int, ...] = node.attrs.get("axes", ())
    if node.op.name == "transpose":
        return axes == (1, 0)
    return (
        node.op.name == "broadcast" and axes == tuple(range(len(node.shape)))[len(node.shape) - len(axes) :]
    )


def _slice_text(node: Node) -> str:
    """A slice as it is written in Python: `[0:5, ::2]`."""
    attrs, lengths = node.attrs, node.inputs[0].shape
    texts = []
    for start, size, step, length in zip(attrs["start"], attrs["size"], attrs["step"], lengths, strict=True):
        stop = start + size * step
        first = "" if start == (0 if step > 0 else length - 1) else str(start)
        last = "" if stop < 0 or (step > 0 and stop >= length) else str(stop)
        texts.append(f"{first}:{last}" + (f":{step}" if step != 1 else ""))
    return shorten(f"[{', '.join(texts)}]")


def chain_label(nodes: Sequence[Node], names: Mapping[Node, str]) -> Label:
    """The label of views that follow one another: their names, the last one's number and type."""
    ops = " · ".join(node.op.name for node in nodes)
    return Label(names[nodes[-1]], shorten(ops, 40), "", str(nodes[-1].type))


def line_label(nodes: Sequence[Node]) -> Label:
    """The label of everything one line of the user's code made: the line, and how many nodes."""
    loc = nodes[0].loc
    title = shorten(source_line(nodes[0]) or f"line {loc.line}", 44)
    count = f"{len(nodes)} nodes" if len(nodes) > 1 else nodes[0].op.name
    return Label("", title, count, "")


def leaf_label(nodes: Sequence[Node], names: Mapping[Node, str]) -> Label:
    """The label of a param or constant array, or of several of one type that are drawn as one."""
    count = f"× {len(nodes):,}" if len(nodes) > 1 else ""
    number = names[nodes[0]] if nodes[0].op.name == "constant" else ""
    return Label(number, leaf_title(nodes), count, str(nodes[0].type))


def leaf_title(nodes: Sequence[Node]) -> str:
    """The user's names of params; the values of one small constant array, else only `constant`."""
    if nodes[0].op.name == "param":
        return names_text([str(node.attrs["name"]) for node in nodes])
    value = nodes[0].attrs["value"].value
    few = len(nodes) == 1 and (not isinstance(value, np.ndarray) or value.size <= 6)
    return shorten(str(np.asarray(value).tolist())) if few else "constant"


def names_text(names: Sequence[str]) -> str:
    """Several names as one: `layers[0…19].w` where only a number differs, else the first and the last."""
    if len(names) == 1:
        return names[0]
    first, last = names[0], names[-1]
    start = _common_start(names)
    end = _common_start([name[start:][::-1] for name in names])
    middles = [name[start : len(name) - end] for name in names]
    if all(middle.isdigit() for middle in middles):
        return f"{first[:start]}{middles[0]}…{middles[-1]}{first[len(first) - end :]}"
    return f"{first} … {last}" if len(names) > 2 else f"{first}, {last}"


def _common_start(texts: Sequence[str]) -> int:
    """How far all texts agree, without splitting a number."""
    start = 0
    for letters in zip(*texts, strict=False):
        if len(set(letters)) > 1:
            break
        start += 1
    while start and texts[0][start - 1].isdigit():
        start -= 1
    return start


def shorten(text: str, longest: int = LONGEST) -> str:
    """The text on one line, cut in the middle where it is long."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    half = (longest - 1) // 2
    return f"{text[: longest - 1 - half]}…{text[-half:]}"


def source_line(node: Node) -> str:
    """The source text of the line that a node comes from; empty where there is none."""
    if not node.loc.file:
        return ""
    try:
        return linecache.getline(node.loc.file, node.loc.line).strip()
    except ValueError:  # no file can have such a name
        return ""


def tooltip(label: Label, nodes: Sequence[Node], names: Mapping[Node, str]) -> str:
    """Label, definition, the user's line and where it stands; for several nodes how many they are."""
    node = nodes[0]
    lines = [str(label)]
    if node.op.name not in ("param", "constant"):
        lines.append(shorten(node_text(node, dict(names)), 200))
    if len(nodes) > 1:
        lines.append(f"stands for {len(nodes)} nodes, {names[nodes[0]]} to {names[nodes[-1]]}")
    if node.loc.file:
        what = "cotangent of " if node.loc.backward else ""
        inside = f", in {node.loc.function}" if node.loc.function else ""
        lines += [
            what + text if (text := source_line(node)) else "",
        ]
        lines.append(f"{os.path.basename(node.loc.file)}:{node.loc.line}{inside}")
    return "\n".join(filter(None, lines))


def output_title(graph: Graph, positions: Sequence[int], given: Sequence[str] | None) -> str:
    """What an output is called: the given name, else `return` and its position where there are several."""
    if given is not None:
        return names_text([given[position] for position in positions])
    if len(graph.outputs) == 1:
        return "return"
    return "return " + names_text([str(position) for position in positions])
