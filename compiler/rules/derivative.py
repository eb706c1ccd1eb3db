"""Patterns that are recognised when differentiating: forward values stay what NumPy gives.

Each rule looks at one node and what it was made from, and gives the cotangents of earlier nodes, or None
where it does not apply. A rule is registered for the op at its root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.builder import Builder
from ..ir.node import Node

Contribution = tuple[Node, Node]
Rule = Callable[[Builder, Node, Node], "Sequence[Contribution] | None"]

RULES: dict[str, list[Rule]] = {}


def derivative_rule(op: str) -> Callable[[Rule], Rule]:
    """Register a rule for nodes of this op; rules are tried in the order of registration."""

    def register(rule: Rule) -> Rule:
        RULES.setdefault(op, []).append(rule)
        return rule

    return register


def special_vjp(b: Builder, node: Node, ct: Node) -> Sequence[Contribution] | None:
    """The cotangents that the first matching rule gives, as (node, cotangent) pairs; None without a match."""
    for rule in RULES.get(node.op.name, ()):
        result = rule(b, node, ct)
        if result is not None:
            return result
    return None
