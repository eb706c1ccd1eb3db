"""Teach the compiler a rewrite: log(x + 1) becomes log1p(x), which keeps the digits of a small x.

A rule is a function from a node to the node that takes its place, or None where it does not fit. With it
stand a header, an example that is a test, and how faithful it is: this one changes the last bits of results,
so by default it would keep to what differentiation made; `fast_math` lets it loose everywhere.
"""

import numpy as np

import tapeless as tl
from tapeless import testing
from tapeless.compiler.rules.match import is_value
from tapeless.compiler.rules.rule import Fidelity, RuleSet

MINE = RuleSet("accurate logarithms")


@MINE.rule(
    "log(add(x, 1)) -> log1p(x)",
    on="log",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(1.0)}
      %1: f64[3] = add %x, %0
      %2: f64[3] = log %1
      return %2
    }""",
    after="""(%x: f64[3]) {
      %0: f64[3] = log1p %x
      return %0
    }""",
)
def log_of_sum_with_one(b, node):
    """Fit where the logarithm's operand is a sum whose second operand is 1 everywhere."""
    (total,) = node.inputs
    if total.op.name != "add" or not is_value(total.inputs[1], 1):
        return None
    return b.log1p(total.inputs[0])


testing.check_rules(MINE)  # the example is what the rule does


def growth(x):
    """Return the continuous rate that a yearly rate amounts to."""
    return np.log(1 + x)


x = np.array([1e-20, 1e-10, 0.5])
plain = tl.compile(growth)
ours = tl.compile(growth, rules=[MINE], fast_math=True)
off = tl.compile(growth, rules=[MINE], fast_math=True, disabled="log_of_sum_with_one")

print(plain.graph(x), plain(x))
print(ours.graph(x), ours(x))
assert str(off.graph(x)) == str(plain.graph(x)), "a rule can be switched off by its name"
print(ours.bisect_passes(x))
