"""What a rewrite rule is, and the registry of all of them.

A rule looks at one node and what it was made from, and returns the node to take its place, or None. It is
registered for the op at its root. Its example is a test; its fidelity says where it may be applied.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS
from ..ir.record import record


class RuleBuilder(Builder):
    """What rules build with: a builder that also knows which nodes are read more than once.

    Taking a node apart saves nothing where somebody else needs it whole; `declined` remembers that a rule
    held back for that reason. In `notes` a rule keeps what it found out about nodes.
    """

    def __init__(self) -> None:
        super().__init__()
        self.readers: dict[Node, int] = {}
        self.declined = False
        self.notes: dict[Any, Any] = {}

    def is_shared(self, node: Node) -> bool:
        """Whether more than one node, or result, reads a node."""
        shared = self.readers.get(node, 0) > 1
        self.declined |= shared
        return shared


Rewrite = Callable[[RuleBuilder, Node], "Node | None"]

ANY = "any op"
ELEMENTWISE = "any elementwise op"


class Fidelity(enum.Enum):
    """What a rule keeps.

    BITS: values bit for bit, their memory layout and NumPy's warnings; it is applied everywhere. NaNs count
        as equal.
    VALUES: values bit for bit; strides may differ, and with them the rounding of a later sum, and so may the
        op that a warning names.
    ROUNDING: values up to rounding and the sign of zero.

    VALUES and ROUNDING are applied to nodes that differentiation made, and everywhere under fast_math.
    """

    BITS = "bits"
    VALUES = "values"
    ROUNDING = "rounding"

    @property
    def bit_exact(self) -> bool:
        return self is not Fidelity.ROUNDING


@record
class Rule:
    """One rule.

    `before` and `after` are an example: graphs in the text form, without their first word and name. `lowers`
    names the measure that gets less each time, so that applying rules comes to an end.
    """

    name: str
    header: str
    roots: tuple[str, ...]
    rewrite: Rewrite
    fidelity: Fidelity
    lowers: str
    before: str
    after: str


class RuleSet:
    """Rules in the order they are tried, found by the op at their root."""

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
            roots = (on,) if isinstance(on, str) else tuple(on)
            self.rules.append(Rule(name, header, roots, rewrite, fidelity, lowers, before, after))
            return rewrite

        return register

    def for_op(self, op: str, disabled: frozenset[str] = frozenset()) -> list[Rule]:
        """The rules to try on nodes of this op."""
        roots = {op, ANY, f"any {OPS[op].kind.value} op"}
        return [rule for rule in self.rules if rule.name not in disabled and not roots.isdisjoint(rule.roots)]


CANONICAL = RuleSet("canonicalize")
SIMPLIFY = RuleSet("simplify")
