"""Patterns that are recognised when differentiating: forward values stay what NumPy gives.

A rule looks at one node and at what it was made from. Where its pattern stands, it gives the pullback of the
whole pattern, from the node to the values that the pattern starts with; what lies between is passed over.
The rules stand in `derivative_*.py`, registered for the op at their root.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.record import record


@record(slots=True)
class Contribution:
    """The cotangent of one earlier node.

    `lift` repeats a value of the root's shape along the axes that the pattern reduces (None: there are none).
    `mixes` are axes along which every element of the root depends on every element here.
    """

    operand: Node
    ct: Node
    lift: Callable[[Node], Node] | None = None
    mixes: tuple[int, ...] = ()


Pull = Callable[[Builder, Node], Sequence[Contribution]]
Rule = Callable[[Node], "Pull | None"]

RULES: dict[str, list[tuple[Rule, bool]]] = {}


def derivative_rule(*ops: str, sums: bool = False) -> Callable[[Rule], Rule]:
    """Register a rule for nodes of these ops; rules are tried in the order of registration.

    `sums` says that a pullback adds elements of the cotangent: structural zeros must be zeros before.
    """

    def register(rule: Rule) -> Rule:
        for op in ops:
            RULES.setdefault(op, []).append((rule, sums))
        return rule

    return register


def special_vjp(node: Node) -> tuple[Pull, bool] | None:
    """The pullback that the first matching rule gives, and whether it sums; None without a match."""
    for rule, sums in RULES.get(node.op.name, ()):
        pull = rule(node)
        if pull is not None:
            return pull, sums
    return None
