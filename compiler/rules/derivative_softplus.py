"""Derivatives of softplus written without overflow: max(x, 0) + log1p(exp(-|x|)), alone or within a sum.

Its two halves have kinks at 0 that cancel. Their subgradients of least norm add up to the slope, but not to
the second derivative, so the two are recognised together. A half may be negated, and a Python float that one
half casts is the same x in the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.record import record
from ..ir.types import ScalarType
from ..ops.base import is_complex, sigmoid
from .derivative import Contribution, Pull, derivative_rule
from .derivative_growth import raised
from .derivative_match import is_number, unboxed

_MANY = 24
_SIZES = ("absolute", "fabs")
_UPWARD = {"greater": 1, "greater_equal": 1, "less": -1, "less_equal": -1}


@record(slots=True)
class Ramp:
    """sign * max(way * x, 0)."""

    x: Node
    way: int
    sign: int


def _signed(node: Node) -> tuple[Node, int]:
    """The value below negatives and casts of Python numbers, with its sign."""
    sign = 1
    while (node := unboxed(node)).op.name == "negative":
        node, sign = node.inputs[0], -sign
    return node, sign


def _beside(node: Node, value: float) -> Node | None:
    """The other operand of two, where one is this number."""
    first, second = node.inputs
    return first if is_number(second, value) else second if is_number(first, value) else None


def stable_softplus_argument(node: Node) -> Node | None:
    """x where the node is log1p(exp(-|x|)), log(1 + exp(-|x|)) or logaddexp(0, -|x|)."""
    if node.op.name == "logaddexp":
        exponent = _beside(node, 0)
    elif node.op.name in ("log", "log1p"):
        (inner,) = node.inputs
        found = raised(inner) if node.op.name == "log" else None
        exponential = inner if found is None else found.exponential if found.is_plain else None
        exponent = exponential.inputs[0] if exponential is not None and exponential.op.name == "exp" else None
    else:
        return None
    size, sign = _signed(exponent) if exponent is not None else (node, 1)
    return _signed(size.inputs[0])[0] if sign < 0 and size.op.name in _SIZES else None


def _ramp(node: Node) -> Ramp | None:
    """A ramp as a maximum, as a minimum, as a choice by the sign of x, or as half of x + |x|."""
    node = unboxed(node)
    name = node.op.name
    if name in ("maximum", "fmax", "minimum", "fmin"):
        operand = _beside(node, 0)
        if operand is None:
            return None
        x, sign = _signed(operand)
        return Ramp(x, sign, 1) if name in ("maximum", "fmax") else Ramp(x, -sign, -1)
    if name == "where":
        condition, first, second = node.inputs
        return _chosen(condition, first, 1) if is_number(second, 0) else _chosen(condition, second, -1)
    if name == "divide":
        return _half(node.inputs[0]) if is_number(node.inputs[1], 2) else None
    if name == "multiply":
        whole = _beside(node, 0.5)
        if whole is not None:
            return _half(whole)
        first, second = node.inputs
        return _chosen(second, first, 1) or _chosen(first, second, 1)
    return None


def _chosen(condition: Node, kept: Node, way: int) -> Ramp | None:
    """x where the condition, or for way -1 its opposite, asks the sign of x; 0 elsewhere."""
    while condition.op.name == "cast":
        condition = condition.inputs[0]
    asked = _beside(condition, 0) if condition.op.name in _UPWARD else None
    if asked is None:
        return None
    (x, sign), (value, kept_sign) = _signed(asked), _signed(kept)
    way *= sign * _UPWARD[condition.op.name] * (1 if condition.inputs[0] is asked else -1)
    return Ramp(x, way, kept_sign * way) if x is value else None


def _half(whole: Node) -> Ramp | None:
    """The half of |x| + x or of their difference."""
    if whole.op.name not in ("add", "subtract"):
        return None
    (first, one), (second, two) = map(_signed, whole.inputs)
    two = two if whole.op.name == "add" else -two
    for size, sign, x, way in ((first, one, second, two), (second, two, first, one)):
        if size.op.name in _SIZES and _signed(size.inputs[0])[0] is x:
            return Ramp(x, sign * way, sign)
    return None


@record(slots=True)
class Sum:
    """A sum of a few taken apart: its parts with their signs and the place of what each is a part of."""

    parts: tuple[tuple[int, Node, int], ...]
    terms: tuple[int, ...]

    def without(self, places: Sequence[int]) -> list[tuple[int, Node]]:
        """What is left when terms are taken out, as whole as can be."""
        opened = {-1}
        for place in places:
            while place not in opened:
                opened.add(place)
                place = self.parts[place][2]
        return [
            (sign, node)
            for place, (sign, node, above) in enumerate(self.parts)
            if above in opened and place not in opened
        ]


def _sum(root: Node) -> Sum:
    parts, terms = [(1, root, -1)], []
    for place, (sign, node, _) in enumerate(parts):
        node = unboxed(node)
        opens = node.op.name in ("add", "subtract", "negative")
        if opens and node.shape == root.shape and len(parts) < _MANY:
            for operand in node.inputs:
                parts.append((sign if node.op.name != "negative" else -sign, operand, place))
            if node.op.name == "subtract":
                parts[-1] = (-sign, *parts[-1][1:])
        else:
            terms.append(place)
    return Sum(tuple(parts), tuple(terms))


@derivative_rule("add", "subtract")
def softplus_from_ramp(node: Node) -> Pull | None:
    """max(x, 0) + log1p(exp(-|x|)) + … -> sigmoid(x); the negative with min(x, 0) -> sigmoid(-x)."""
    if is_complex(node) or isinstance(node.type, ScalarType):
        return None
    whole = _sum(node)
    found: list[tuple[int, Ramp]] = []
    taken: list[int] = []
    for place in whole.terms:
        sign, smooth, _ = whole.parts[place]
        x = stable_softplus_argument(smooth)
        if x is None or x.shape != node.shape or x.dtype != node.dtype:
            continue
        for other in whole.terms:
            ramp_sign, term, _ = whole.parts[other]
            ramp = _ramp(term) if other not in taken else None
            if ramp is not None and ramp.x is x and ramp.sign * ramp_sign == sign:
                found.append((sign, ramp))
                taken += [place, other]
                break
    return _ramp_pull(found, whole.without(taken)) if found else None


def _ramp_pull(found: Sequence[tuple[int, Ramp]], rest: Sequence[tuple[int, Node]]) -> Pull:
    """The softplus of way * x with its sign for each ramp, and the other terms of the sum as they are."""

    def signed(b: Builder, node: Node, s: int) -> Node:
        return node if s > 0 else b.negative(node)

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        given = [Contribution(term, signed(b, ct, s)) for s, term in rest]
        for sign, ramp in found:
            weight = b.multiply(ct, sigmoid(b, signed(b, b.cast(ramp.x, ct.dtype), ramp.way)))
            given.append(Contribution(ramp.x, signed(b, weight, sign * ramp.way)))
        return given

    return pull
