"""Derivatives of softplus written without overflow: max(x, 0) + log1p(exp(-|x|)), alone or within a sum.

Its two halves have kinks at 0 that cancel. Their subgradients of least norm add up to the slope, but not to
the second derivative, so the two are recognised together.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Builder
from ..ir.node import Node
from ..ops.base import is_complex, sigmoid
from .derivative import Contribution, Pull, derivative_rule
from .derivative_growth import raised
from .derivative_match import is_number


def stable_softplus_argument(node: Node) -> Node | None:
    """x where the node is log1p(exp(-|x|)) or log(1 + exp(-|x|))."""
    if node.op.name not in ("log", "log1p"):
        return None
    (inner,) = node.inputs
    found = raised(inner) if node.op.name == "log" else None
    exponential = inner if found is None else found.exponential if found.is_plain else None
    if exponential is None or exponential.op.name != "exp":
        return None
    (v,) = exponential.inputs
    size = v.inputs[0] if v.op.name == "negative" else None
    return size.inputs[0] if size is not None and size.op.name in ("absolute", "fabs") else None


def _is_ramp(node: Node, x: Node, op: str) -> bool:
    """max(x, 0) or min(x, 0), also as a choice by the sign of x."""
    if node.op.name == op:
        first, second = node.inputs
        return (first is x and is_number(second, 0)) or (second is x and is_number(first, 0))
    if node.op.name != "where":
        return False
    condition, first, second = node.inputs
    upward = condition.op.name in ("greater", "greater_equal")
    if not (upward or condition.op.name in ("less", "less_equal")) or condition.inputs[0] is not x:
        return False
    if not is_number(condition.inputs[1], 0):
        return False
    kept, other = (first, second) if upward == (op == "maximum") else (second, first)
    return kept is x and is_number(other, 0)


def _added(node: Node) -> list[tuple[int, Node]]:
    """The terms of a sum of a few, with their signs."""
    terms, stack = [], [(1, node, 0)]
    while stack:
        sign, node, depth = stack.pop()
        if depth < 4 and node.op.name in ("add", "subtract"):
            first, second = node.inputs
            stack += [(sign, first, depth + 1), (sign if node.op.name == "add" else -sign, second, depth + 1)]
        else:
            terms.append((sign, node))
    return terms


@derivative_rule("add", "subtract")
def softplus_from_ramp(node: Node) -> Pull | None:
    """max(x, 0) + log1p(exp(-|x|)) + … -> sigmoid(x); the negative with min(x, 0) -> sigmoid(-x)."""
    if not any(operand.op.name in ("log", "log1p") for operand in node.inputs) or is_complex(node):
        return None
    terms = _added(node)
    for sign, smooth in terms:
        x = stable_softplus_argument(smooth)
        for ramp_sign, ramp in terms if x is not None and x.shape == node.shape else []:
            assert x is not None
            up = ramp_sign == sign and _is_ramp(ramp, x, "maximum")
            if up or (ramp_sign == -sign and _is_ramp(ramp, x, "minimum")):
                rest = [term for term in terms if term[1] is not smooth and term[1] is not ramp]
                return _ramp_pull(x, sign, up, rest) if len(rest) == len(terms) - 2 else None
    return None


def _ramp_pull(x: Node, sign: int, up: bool, rest: Sequence[tuple[int, Node]]) -> Pull:
    """softplus(x) with its sign, or softplus(-x), and the other terms of the sum as they are."""

    def signed(b: Builder, node: Node, s: int) -> Node:
        return node if s > 0 else b.negative(node)

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        weight = b.multiply(ct, sigmoid(b, signed(b, x, 1 if up else -1)))
        others = [Contribution(term, signed(b, ct, s)) for s, term in rest]
        return [Contribution(x, signed(b, weight, sign if up else -sign)), *others]

    return pull
