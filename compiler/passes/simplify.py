"""Simplification: the rules of `compiler/rules/` to a fixed point, constant folding among them.

In the forward part a rule keeps every bit and every stride. Nodes that differentiation made need only be
accurate, so more rules apply to them; `fast_math` lets these loose everywhere.
"""

from __future__ import annotations

from .. import rules as _fill_the_rule_sets  # noqa: F401
from ..ir.node import Graph
from ..rules.rule import CANONICAL, SIMPLIFY
from .manager import DEFAULT, Options
from .rewrite import rewrite


def simplify(graph: Graph, options: Options = DEFAULT) -> Graph:
    """The graph after all simplifications, the user's own among them."""
    return rewrite(graph, (CANONICAL, SIMPLIFY, *options.rules), options)
