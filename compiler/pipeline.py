"""THE table of contents: the passes between a traced graph and a plan, in the order they run.

Each is a pure function, valid graph in, valid graph out, and can be switched off by its name, as can each
rule of `compiler/rules/`. Planning begins where this list ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .ir.node import Graph
from .passes.canonicalize import canonicalize
from .passes.cse import cse
from .passes.manager import DEFAULT, Options, Pass, run_passes
from .passes.simplify import simplify
from .rules.rule import CANONICAL, SIMPLIFY, RuleSet

if TYPE_CHECKING:
    from .passes.bisect import Finding, Run

PASSES = (
    Pass("canonicalize", canonicalize),  # one spelling: marks erased, views merged, constants on the right
    Pass("simplify", simplify),  # rules to a fixed point: less to compute, constants folded
    Pass("cse", cse),  # what is computed twice is computed once
)

NAMES = frozenset(each.name for each in PASSES) | {rule.name for rule in (*CANONICAL.rules, *SIMPLIFY.rules)}


def optimize(
    graph: Graph,
    *,
    fast_math: bool = False,
    disabled: frozenset[str] = frozenset(),
    rules: Sequence[RuleSet] = (),
) -> Graph:
    """The graph after all passes.

    Args:
        graph: any valid graph.
        fast_math: allow other rounding and other memory layouts in what the user wrote, too.
        disabled: names of passes and rules that are switched off.
        rules: further rules, which `simplify` tries after its own.

    Raises:
        ValueError: `disabled` has a name that no pass and no rule bears.
        VerifyError: under `TAPELESS_CHECK=1`, where a pass made an invalid graph.

    Example:
        >>> from tapeless.compiler.ir.parse import parse
        >>> print(optimize(parse("graph @f(%x: f64[3]) { %0: f64[3] = mark %x {tag=0} return %0 }")))
        graph @f(%x: f64[3]) {
          return %x
        }
    """
    return optimize_with(graph, make_options(fast_math=fast_math, disabled=disabled, rules=rules))


def optimize_with(graph: Graph, options: Options) -> Graph:
    """The graph after all passes that the options allow."""
    return run_passes(graph, PASSES, options)


def make_options(
    *, fast_math: bool = False, disabled: frozenset[str] = frozenset(), rules: Sequence[RuleSet] = ()
) -> Options:
    """What passes may do; ValueError where `disabled` has a name that no pass and no rule bears."""
    own = {rule.name for given in rules for rule in given.rules}
    unknown = disabled - NAMES - own
    if unknown:
        raise ValueError(f"there is no pass and no rule named {', '.join(sorted(unknown))}")
    return Options(fast_math, disabled, tuple(rules))


def bisect(
    graph: Graph,
    run: Run,
    values: Sequence[Any],
    options: Options = DEFAULT,
    *,
    tolerance: float = 0.0,
) -> Finding | None:
    """The pass, and the rule, that changed a value; None if none did.

    Args:
        graph: the graph before all passes.
        run: runs a graph on values, such as the reference interpreter.
        values: one value a param; they are copied for each run.
        options: what passes may do.
        tolerance: the part of a result's largest number by which it may differ. Gradients need one: the rules
            for them promise accuracy, not bits.

    Example:
        >>> from tapeless.compiler.ir.parse import parse
        >>> from tapeless.runtime.interpret import interpret
        >>> graph = parse("graph @f(%x: f64[]) { %0: f64[] = mark %x {tag=0} return %0 }")
        >>> print(bisect(graph, interpret, [2.0]))
        None
    """
    from .passes.bisect import find_change

    return find_change(graph, run, values, PASSES, options, tolerance)
