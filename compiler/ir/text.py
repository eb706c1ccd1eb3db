"""The text form of a graph: complete and deterministic; `parse.py` reads it back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .literal import Literal
from .node import Graph, Node
from .types import Type, dtype_name


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
        table[param] = f"%{name}"
    number = 0
    for node in graph.nodes:
        if node not in table:
            table[node] = f"%{number}"
            number += 1
    return table


def attr_text(value: Any) -> str:
    """One attr value: numbers, strings and tuples as Python writes them, dtypes by their short names."""
    if isinstance(value, np.dtype):
        return dtype_name(value)
    if isinstance(value, tuple):
        inner = ", ".join(attr_text(item) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, Literal):
        return literal_text(value)
    return repr(value)


def literal_text(literal: Literal) -> str:
    """A constant: a Python number as such, an array as nested lists of exact values."""
    if literal.is_number:
        return repr(literal.value)
    return repr(literal.value.tolist())


def node_text(node: Node, table: dict[Node, str]) -> str:
    """One line of the body, without its indentation."""
    operands = " ".join(filter(None, [node.op.name, ", ".join(table[operand] for operand in node.inputs)]))
    attrs = ", ".join(f"{key}={attr_text(value)}" for key, value in sorted(node.attrs.items()))
    return f"{table[node]}: {node.type} = {operands}" + (f" {{{attrs}}}" if attrs else "")


def type_text(type_: Type) -> str:
    return str(type_)


def graph_text(graph: Graph) -> str:
    """The whole graph."""
    table = names(graph)
    params = ", ".join(f"{table[param]}: {param.type}" for param in graph.params)
    lines = [f"graph @{graph.name}({params}) {{"]
    lines += [f"  {node_text(node, table)}" for node in graph.nodes if node.op.name != "param"]
    lines.append(f"  return {', '.join(table[output] for output in graph.outputs)}".rstrip())
    lines.append("}")
    return "\n".join(lines)
