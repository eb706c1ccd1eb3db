"""Rewrite rules: small named functions, each with a header, an example and a measure it lowers.

Importing this package fills the rule sets of `rule.py`. `derivative.py` holds another kind: patterns that are
recognised while differentiating.
"""

from . import views

__all__ = ["views"]
