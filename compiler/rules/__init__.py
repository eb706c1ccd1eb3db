"""Rewrite rules: small named functions, each with a header, an example and a measure it lowers.

Importing this package fills the rule sets of `rule.py`, in the order that rules are tried. `derivative.py`
holds another kind: patterns that are recognised while differentiating.
"""

from . import (  # isort: skip
    views,
    order,
    folding,
    arithmetic,
    negations,
    powers,
    casts,
    choices,
    broadcasts,
    writes,
    reductions,
    shifts,
    products,
    derivative_roots,
    derivative_softplus,
    derivative_exponentials,
    derivative_quotients,
)

__all__ = [
    "arithmetic",
    "broadcasts",
    "casts",
    "choices",
    "derivative_exponentials",
    "derivative_quotients",
    "derivative_roots",
    "derivative_softplus",
    "folding",
    "negations",
    "order",
    "powers",
    "products",
    "reductions",
    "shifts",
    "views",
    "writes",
]
