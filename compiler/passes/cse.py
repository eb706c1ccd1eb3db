"""Common subexpressions: equal ops on equal operands become one node.

Draws of random numbers are never merged. Floating-point error settings that differ keep nodes apart, except
those that differentiation made, which are silent. Of several equal nodes the user's own stays.
"""

from __future__ import annotations

from typing import Any

from ..ir.builder import Builder, attrs_key
from ..ir.node import Graph, Loc, Node
from ..ir.types import holds_generator
from ..rules.order import SYMMETRIC
from .manager import DEFAULT, Options
from .memory_identity import is_own_partner, keep_distinct

_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")
COMMUTATIVE = frozenset((*SYMMETRIC, *_BITWISE))


Slot = tuple[int, Any]


def cse(graph: Graph, options: Options = DEFAULT) -> Graph:
    """The graph with equal nodes merged.

    Example:
        >>> from tapeless.compiler.ir.parse import parse
        >>> print(cse(parse('''
        ... graph @f(%x: f64[3], %y: f64[3]) {
        ...   %0: f64[3] = multiply %x, %y
        ...   %1: f64[3] = multiply %y, %x
        ...   %2: f64[3] = add %0, %1
        ...   return %2
        ... }
        ... ''')))
        graph @f(%x: f64[3], %y: f64[3]) {
          %0: f64[3] = multiply %x, %y
          %1: f64[3] = add %0, %0
          return %1
        }
    """
    numbers = _value_numbers(graph)
    slots, locs = _slots(graph, numbers)
    if len(locs) == len(graph.nodes):
        return graph
    b = Builder(intern=False)
    made: dict[Slot, Node] = {}
    new: dict[Node, Node] = {}
    for node, slot in slots.items():
        known = made.get(slot)
        if known is None:
            known = made[slot] = _again(b, node, tuple([new[operand] for operand in node.inputs]), locs[slot])
        new[node] = known
    return Graph(graph.name, graph.params, tuple(new[output] for output in graph.outputs))


def _value_numbers(graph: Graph) -> dict[Node, int]:
    """Equal numbers for nodes that compute the same value."""
    numbers: dict[Node, int] = {}
    known: dict[Any, int] = {}
    for node in graph.nodes:
        if node.op.name == "param" or holds_generator(node.type):
            key: Any = node
        else:
            operands = [numbers[operand] for operand in node.inputs]
            if node.op.name in COMMUTATIVE and node.inputs[0].dtype.kind != "c":
                operands.sort()
            key = (
                node.op,
                tuple(operands),
                attrs_key(node.attrs) if node.attrs else (),
                is_own_partner(node),
            )
        numbers[node] = known.setdefault(key, len(known))
    return numbers


def _slots(graph: Graph, numbers: dict[Node, int]) -> tuple[dict[Node, Slot], dict[Slot, Loc]]:
    """For each node which of the new nodes takes its place, and where each of these was written."""
    written: dict[int, Slot] = {}
    locs: dict[Slot, Loc] = {}
    for node in graph.nodes:
        if not node.loc.backward:
            slot = numbers[node], node.loc.errstate
            written.setdefault(numbers[node], slot)
            locs.setdefault(slot, node.loc)
    slots: dict[Node, Slot] = {}
    for node in graph.nodes:
        number = numbers[node]
        slot = written.get(number, (number, None)) if node.loc.backward else (number, node.loc.errstate)
        locs.setdefault(slot, node.loc)
        slots[node] = slot
    return slots, locs


def _again(b: Builder, node: Node, inputs: tuple[Node, ...], loc: Loc) -> Node:
    """The node on new inputs, written at `loc`; the very node where nothing changes."""
    if loc is node.loc and all(map(lambda one, two: one is two, inputs, node.inputs)):
        return node
    b.loc = loc
    return keep_distinct(b, node, b.make(node.op, inputs, node.attrs))
