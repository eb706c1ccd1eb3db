"""The text form of a graph: complete and deterministic; `parse.py` reads it back.

One line a node, types always shown, names by `names`: parameters keep the user's, the rest is numbered in
topological order. Values stand in `text_values.py`. Where the user wrote a node follows behind `#` on demand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .node import NOWHERE, Graph, Loc, Node
from .text_values import attr_text

PLAIN_NAME = re.compile(r"[^\W\d][\w.]*")


def quoted(name: str) -> str:
    """A name as the text writes it: plain where it can be, else as a Python string."""
    return name if PLAIN_NAME.fullmatch(name) else repr(name)


def names(graph: Graph) -> dict[Node, str]:
    """Names as the text shows them: params by the user's names, the rest numbered in order."""
    taken: set[str] = set()
    table: dict[Node, str] = {}
    for param in graph.params:
        base = name = str(param.attrs["name"])
        suffix = 2
        while name in taken:
            name, suffix = f"{base}.{suffix}", suffix + 1
        taken.add(name)
        table[param] = f"%{quoted(name)}"
    number = 0
    for node in graph.nodes:
        if node not in table:
            table[node] = f"%{number}"
            number += 1
    return table


def node_text(node: Node, table: dict[Node, str]) -> str:
    """One line of the body, without its indentation."""
    operands = " ".join(filter(None, [node.op.name, ", ".join(table[operand] for operand in node.inputs)]))
    attrs = ", ".join(f"{key}={attr_text(value)}" for key, value in sorted(node.attrs.items()))
    return f"{table[node]}: {node.type} = {operands}" + (f" {{{attrs}}}" if attrs else "")


def loc_text(loc: Loc) -> str:
    """Where a node comes from, as the comment behind its line says it; empty for nowhere."""
    words = []
    if loc.file:
        words.append(f"{loc.file}:{loc.line} in {loc.function}")
    if loc.backward:
        words.append("backward")
    if loc.errstate:
        words.append("errstate " + " ".join(f"{kind}={mode}" for kind, mode in loc.errstate))
    return "# " + ", ".join(words) if words else ""


def _with_loc(line: str, loc: Loc) -> str:
    comment = loc_text(loc) if loc is not NOWHERE else ""
    return f"{line}  {comment}" if comment else line


def graph_text(graph: Graph, *, locs: bool = False) -> str:
    """The whole graph; with `locs` each line ends in a comment that says where the user wrote it.

    Example:
        >>> from tapeless.compiler.ir.parse import parse
        >>> print(graph_text(parse("graph @f(%x: f64[3]) { %y: f64[3] = tanh %x return %y }")))
        graph @f(%x: f64[3]) {
          %0: f64[3] = tanh %x
          return %0
        }
    """
    table = names(graph)
    params = ", ".join(f"{table[param]}: {param.type}" for param in graph.params)
    lines = [f"graph @{quoted(graph.name)}({params}) {{"]
    lines += [f"  {line}" for line in body_lines(graph.nodes, table, locs)]
    lines.append(f"  return {', '.join(table[output] for output in graph.outputs)}".rstrip())
    lines.append("}")
    return "\n".join(lines)


def body_lines(nodes: Iterable[Node], table: dict[Node, str], locs: bool = False) -> list[str]:
    """The lines of all nodes but the params."""
    shown = [node for node in nodes if node.op.name != "param"]
    if not locs:
        return [node_text(node, table) for node in shown]
    return [_with_loc(node_text(node, table), node.loc) for node in shown]
