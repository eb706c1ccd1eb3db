"""One spelling for things that can be spelled in several ways, so that later passes match less.

Marks of differentiation fall away, chains of views become one view, constants stand on the right. The rules
stand in `compiler/rules/views.py` and `order.py`; values and layouts stay what they were.
"""

from __future__ import annotations

from .. import rules as _fill_the_rule_sets  # noqa: F401
from ..ir.node import Graph
from ..rules.rule import CANONICAL
from .manager import DEFAULT, Options
from .rewrite import rewrite


def canonicalize(graph: Graph, options: Options = DEFAULT) -> Graph:
    """The graph after all canonical rules."""
    return rewrite(graph, (CANONICAL,), options)
