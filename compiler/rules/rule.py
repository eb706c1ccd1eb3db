"""What a rewrite rule is, and the registry of all of them.

A rule looks at one node and what it was made from, and returns the node to take its place, or None. It is
registered for the op at its root. Its example is a test; its fidelity says where it may be applied.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Kind
from ..ir.types import ScalarType

Rewrite = Callable[[Builder, Node], "Node | None"]


class Fidelity(enum.Enum):
    """What a rule keeps.

    BITS: values bit for bit and their memory layout; it is applied everywhere. NaNs count as equal.
    VALUES: values bit for bit; strides may differ, and with them the rounding of a later sum.
    ROUNDING: values up to rounding and the sign of zero.

    VALUES and ROUNDING are applied to nodes that differentiation made, and everywhere under fast_math.
    """

    BITS = "bits"
    VALUES = "values"
    ROUNDING = "rounding"


@dataclass(frozen=True)
class Rule:
    """One rule.

    `before` and `after` are an example, as bodies of graphs in the text form; `lowers` says what gets less each
    time, so that applying rules comes to an end.
    """

    name: str
    header: str
    ops: tuple[str, ...]
    rewrite: Rewrite
    fidelity: Fidelity
    lowers: str
    before: str
    after: str


class RuleSet:
    """Rules in the order they are tried, found by the op at their root; "*" stands for every op."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rules: list[Rule] = []

    def rule(
        self,
        header: str,
        *,
        on: str | Sequence[str],
        fidelity: Fidelity = Fidelity.BITS,
        lowers: str = "nodes",
        before: str,
        after: str,
    ) -> Callable[[Rewrite], Rewrite]:
        """Register a rewrite as a rule of this set; its name is the function's."""

        def register(rewrite: Rewrite) -> Rewrite:
            name = rewrite.__name__
            if any(known.name == name for known in self.rules):
                raise ValueError(f"{self.name} has a rule named {name} already")
            ops = (on,) if isinstance(on, str) else tuple(on)
            self.rules.append(Rule(name, header, ops, rewrite, fidelity, lowers, before, after))
            return rewrite

        return register

    def for_op(self, op: str, disabled: frozenset[str] = frozenset()) -> list[Rule]:
        """The rules to try on nodes of this op."""
        return [
            rule for rule in self.rules if rule.name not in disabled and not {op, "*"}.isdisjoint(rule.ops)
        ]


CANONICAL = RuleSet("canonicalize")
SIMPLIFY = RuleSet("simplify")


def is_dense(node: Node) -> bool:
    """Whether the value lies in fresh memory without gaps, as what elementwise ops give.

    An op that leaves a value alone (x * 1) may fall away only then: it would have made a dense copy of a view.
    """
    return isinstance(node.type, ScalarType) or (
        node.op.kind is not Kind.VIEW and node.op.name not in ("param", "get", "write")
    )


def may_alias(node: Node, x: Node) -> bool:
    """Whether `x` may take the place of the elementwise `node` that has its values, layouts considered."""
    return node.type == x.type and (node.loc.backward or is_dense(x))
