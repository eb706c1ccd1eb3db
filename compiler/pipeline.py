"""THE table of contents: the passes between a traced graph and a plan, in the order they run.

Each is a pure function, valid graph in, valid graph out, and can be switched off by its name, as can each
rule of `compiler/rules/`. Planning begins where this list ends.
"""

from __future__ import annotations

from .ir.node import Graph
from .passes.canonicalize import canonicalize
from .passes.cse import cse
from .passes.manager import Options, Pass, run_passes
from .passes.simplify import simplify

PASSES = (
    Pass("canonicalize", canonicalize),  # one spelling: marks erased, views merged, constants on the right
    Pass("simplify", simplify),  # rules to a fixed point: less to compute, constants folded
    Pass("cse", cse),  # what is computed twice is computed once
)


def optimize(graph: Graph, *, fast_math: bool = False, disabled: frozenset[str] = frozenset()) -> Graph:
    """The graph after all passes.

    Args:
        graph: any valid graph.
        fast_math: allow other rounding and other memory layouts in what the user wrote, too.
        disabled: names of passes and rules that are switched off.

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
    return run_passes(graph, PASSES, Options(fast_math, disabled))
