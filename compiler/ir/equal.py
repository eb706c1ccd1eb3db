"""Equality of graphs up to renaming, in linear time and without recursion.

Two graphs are equal when some one-to-one map between their nodes keeps ops, attrs, types, operands in their
order, params and outputs. Names of params and locs do not count; sharing does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .builder import attrs_key
from .literal import Literal
from .node import Graph, Node


def structurally_equal(first: Graph, second: Graph) -> bool:
    """Whether the graphs are the same up to the names of params.

    Params that nothing reads count too: both graphs take the same arguments.

    Example:
        >>> from tapeless.testing import parse, structurally_equal
        >>> one = parse("graph @f(%x: f64[]) { %0: f64[] = negative %x return %0 }")
        >>> two = parse("graph @g(%y: f64[]) { %1: f64[] = negative %y return %1 }")
        >>> structurally_equal(one, two)
        True
    """
    if len(first.params) != len(second.params) or len(first.outputs) != len(second.outputs):
        return False
    there: dict[Node, Node] = {}
    back: dict[Node, Node] = {}
    pending = list(zip(first.outputs + first.params, second.outputs + second.params, strict=True))
    for pair in zip(first.params, second.params, strict=True):
        there[pair[0]], back[pair[1]] = pair[1], pair[0]
        if pair[0].type != pair[1].type:
            return False
    while pending:
        one, two = pending.pop()
        if one in there or two in back:
            if there.get(one) is not two or back.get(two) is not one:
                return False
            continue
        there[one], back[two] = two, one
        if not _alike(one, two):
            return False
        pending.extend(zip(one.inputs, two.inputs, strict=True))
    return True


def _alike(one: Node, two: Node) -> bool:
    return (
        one.op is two.op
        and one.type == two.type
        and len(one.inputs) == len(two.inputs)
        and (one.op.name == "param" or _same_attrs(one.attrs, two.attrs))
    )


def _same_attrs(one: Mapping[str, Any], two: Mapping[str, Any]) -> bool:
    if one.keys() != two.keys():
        return False
    mine, its = one.get("value"), two.get("value")
    if isinstance(mine, Literal) and isinstance(its, Literal):
        return mine.same_value(its)
    return attrs_key(one) == attrs_key(two)
