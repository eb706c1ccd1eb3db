"""Structural zeros: masks that travel beside cotangents while a graph is differentiated.

A mask says where a cotangent may differ from zero; elsewhere a branch was not taken, or an element not read.
Masks are nodes, built only when a pullback could have turned such a zero into NaN and the zeros must be put
back. A mask ends where the cotangent is mixed, or where carrying it on would cost more than a condition.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Flow, Kind, NotDifferentiable
from ..ir.types import ArrayType, ScalarType
from ..ops.reduction import expand
from ..rules.derivative import Contribution
from ..rules.match import uniform_value

_BOOL = np.dtype(bool)
_SMALL = 1 << 16
_FEW = 24


class Mask:
    """Where a cotangent may differ from zero.

    `cheap` masks are conditions that the program or its vjps compute anyway; they go on through sums. The
    others end there.
    """

    __slots__ = ("_built", "_everywhere", "_make", "_parts", "cheap")

    def __init__(self, make: Callable[..., Node], *parts: Mask, cheap: bool) -> None:
        self._make = make
        self._parts = parts
        self._built: Node | None = None
        self._everywhere: Any = None
        self.cheap = cheap

    def node(self) -> Node:
        """The mask as booleans; built with all that it is made from, without recursion."""
        stack = [self]
        while stack:
            mask = stack[-1]
            missing = [part for part in mask._parts if part._built is None]
            if missing and mask._built is None:
                stack += missing
                continue
            stack.pop()
            if mask._built is None:
                mask._built = mask._make(*(part._built for part in mask._parts))
                mask._everywhere = _known_value(mask)
        assert self._built is not None
        return self._built

    def is_full(self) -> bool:
        """Whether the mask is known to hold everywhere, as for slices that cover their array."""
        self.node()
        return self._everywhere is not None and bool(np.all(self._everywhere))


def _known_value(mask: Mask) -> Any:
    """The value of a small mask that depends on constants alone; None for any other."""
    known = {part._built: part._everywhere for part in mask._parts}
    assert mask._built is not None
    if any(value is None for value in known.values()):
        return None
    stack, seen = [mask._built], 0
    while stack:
        node = stack[-1]
        missing = [operand for operand in node.inputs if operand not in known]
        if not missing or node in known:
            stack.pop()
        if node in known:
            continue
        seen += 1
        if seen > _FEW or not (node.inputs or node.op.name == "constant"):
            return None
        if not isinstance(node.type, (ArrayType, ScalarType)) or np.prod(node.type.shape) > _SMALL:
            return None
        if missing:
            stack += missing
        else:
            known[node] = node.op.numpy(*(known[operand] for operand in node.inputs), **node.attrs)
    return known[mask._built]


def mask_of(nonzero: Node) -> Mask:
    """The mask that a node of booleans is."""
    return Mask(lambda: nonzero, cheap=True)


def either(b: Builder, first: Mask | None, second: Mask | None) -> Mask | None:
    """The mask of a sum: None, which is everywhere, if one of them is."""
    if first is None or second is None:
        return None
    if first is second:
        return first
    return Mask(b.logical_or, first, second, cheap=first.cheap and second.cheap)


def condition_of(b: Builder, node: Node, position: int) -> Node | None:
    """For an op that chooses: where it takes this operand, as the vjp itself asks it; None for other ops."""
    mine, name = node.inputs[position], node.op.name
    if name == "where":
        condition = b.broadcast_to(node.inputs[0], node.shape)
        return condition if position == 1 else b.logical_not(condition)
    if name in ("maximum", "minimum"):
        other = node.inputs[1 - position]
        wins = b.greater_equal(mine, other) if name == "maximum" else b.less_equal(mine, other)
        return b.broadcast_to(wins, node.shape)
    if name == "clip" and position == 0:
        _, low, high = node.inputs
        inside = b.logical_and(b.greater_equal(mine, low), b.less_equal(b.maximum(mine, low), high))
        return b.broadcast_to(inside, node.shape)
    return None


def through(b: Builder, node: Node, position: int, mask: Mask | None) -> Mask | None:
    """The mask of an operand's cotangent, given that of the node's; as the node's `flow` says.

    An elementwise op's mask has the node's shape also where the operand is 0-d.
    """
    flow = node.op.flow
    if node.op.kind is Kind.ELEMENTWISE:
        return _chosen(b, node, position, mask) if flow is Flow.SELECTS else mask
    if node.op.name == "item":
        return mask
    if position == 0 and (node.op.name == "masked_reduce" or node.attrs.get("masked")):
        return Mask(lambda: node.inputs[1], cheap=True)
    if not isinstance(node.type, ArrayType) or not isinstance(node.inputs[position].type, ArrayType):
        return None
    if flow is Flow.MIXES or (flow is Flow.MOVES and mask is None):
        return None
    if node.op.name == "broadcast" and mask is not None and not mask.cheap:
        return None
    if node.op.name in ("reshape", "transpose", "mark", "copy") and mask is not None:
        return Mask(lambda given: _vjp_part(b, node, position, given), mask, cheap=mask.cheap)
    return _moved(b, node, position, mask)


def _chosen(b: Builder, node: Node, position: int, mask: Mask | None) -> Mask:
    """The mask behind an elementwise choice."""
    if node.op.name not in ("where", "maximum", "minimum") and (node.op.name, position) != ("clip", 0):
        return _moved(b, node, position, mask)

    def make(*given: Node) -> Node:
        condition = condition_of(b, node, position)
        assert condition is not None
        return b.logical_and(condition, *given) if given else condition

    return Mask(make, *([] if mask is None else [mask]), cheap=mask is None or mask.cheap)


def reduced(b: Builder, mask: Mask | None) -> Mask | None:
    """The mask of a sum over everything, of a 0-d operand that stood for a whole array."""
    if mask is None:
        return None
    return Mask(lambda given: b.any(given, axes=tuple(range(len(given.shape)))), mask, cheap=mask.cheap)


def _moved(b: Builder, node: Node, position: int, mask: Mask | None) -> Mask:
    """The mask behind an op whose vjp has coefficients 0 and 1: the vjp of the mask itself."""

    def make(*given: Node) -> Node:
        ones = b.cast(given[0], node.dtype) if given else b.full(1, node.type)
        if node.dtype.kind == "c":
            # Both parts are marked: a window may show one of them.
            ones = b.multiply(ones, b.scalar(1 + 1j, ones))
        moved = _vjp_part(b, node, position, ones)
        return b.not_equal(moved, b.scalar(0, moved))

    cheap = node.op.flow is Flow.MOVES and mask is not None and mask.cheap
    return Mask(make, *([] if mask is None else [mask]), cheap=cheap or node.op.name in ("max", "min"))


def _vjp_part(b: Builder, node: Node, position: int, ct: Node) -> Node:
    assert not isinstance(node.op.vjp, NotDifferentiable)
    part = node.op.vjp(b, node, ct)[position]
    assert isinstance(part, Node)
    return part


def is_steady(node: Node, position: int) -> bool:
    """Whether an elementwise op's coefficient for an operand is finite whatever the values are."""
    if node.op.flow is Flow.BOUNDED or node.op.flow is Flow.SELECTS:
        return True
    if node.op.name == "multiply":
        return _is_finite(node.inputs[1 - position])
    if node.op.name == "divide" and position == 0:
        divisor = uniform_value(node.inputs[1])
        return divisor is not None and bool(np.isfinite(divisor)) and bool(divisor != 0)
    return False


def _is_finite(node: Node) -> bool:
    """Whether a value is surely finite: a constant, or a truth value or an integer seen as a number."""
    while node.op.name in ("broadcast", "reshape", "transpose"):
        node = node.inputs[0]
    if node.op.name == "constant":
        value = node.attrs["value"].value
        return bool(np.size(value) <= _SMALL and np.all(np.isfinite(value)))
    return node.op.name == "cast" and node.inputs[0].dtype.kind in "biu"


def lifted(b: Builder, mask: Mask | None, given: Contribution) -> Mask | None:
    """The mask behind a recognised pattern; where it mixes elements, a row stays zero if all of it is."""
    if mask is None or not (given.lift or given.mixes):
        return mask
    if given.lift is not None:
        return Mask(given.lift, mask, cheap=mask.cheap)
    if not mask.cheap:
        return None
    axes, shape = given.mixes, given.operand.shape
    return Mask(lambda whole: expand(b, b.any(whole, axes=axes), axes, shape), mask, cheap=True)


def restored(b: Builder, mask: Mask, ct: Node) -> Node:
    """The cotangent with its structural zeros put back."""
    if mask.is_full():
        return ct
    if isinstance(ct.type, ScalarType):
        return b.item(restored(b, mask, b.cast(ct, ct.dtype)))
    return b.where(mask.node(), ct, b.scalar(0, ct))
