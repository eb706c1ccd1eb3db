"""One signature of a compiled function: traced, optimised, planned and bound to an executor.

This module loads the stages; `compiled.py` imports it when the first function is traced, so that
`import tapeless` stays light. An executor is loaded when the first function asks for it.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .compiler import pipeline
from .compiler.ir.node import Graph
from .compiler.ir.opdef import Kind
from .compiler.ir.types import ScalarType
from .compiler.passes.manager import Options
from .compiler.plan import Plan, Target, make_plan
from .compiler.rules.rule import RuleSet
from .tracer.assemble import Assembler
from .tracer.errors import TapelessInternalError, make_error
from .tracer.function import TracedFunction, leaf_names, trace_function
from .tracer.guards import Overlap
from .tracer.trace import NeedsStatic

if TYPE_CHECKING:
    from .compiler.passes.bisect import Finding
    from .runtime.profile import Profile

__all__ = [
    "Specialization",
    "bisect",
    "check_threads",
    "leaf_names",
    "make_options",
    "native_rows",
    "profile",
    "trace_with_demands",
]


def make_options(fast_math: bool, disabled: frozenset[str], rules: Sequence[RuleSet]) -> Options:
    """The switches of the pipeline; ValueError for a name that no pass and no rule bears."""
    return pipeline.make_options(fast_math=fast_math, disabled=disabled, rules=rules)


def trace_with_demands(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], static: frozenset[int]
) -> tuple[TracedFunction, frozenset[int]]:
    """Trace a function; Python ints that it uses as an index, length or axis become static on the way."""
    while True:
        try:
            return trace_function(function, args, kwargs, static=static), static
        except NeedsStatic as need:
            if static.issuperset(need.leaves):
                raise _unmet(need) from None
            static |= frozenset(need.leaves)


def _unmet(need: NeedsStatic) -> Any:
    """The error for a demand that tracing again would only meet again."""
    return make_error(
        TapelessInternalError,
        f"an int is used as {need.use}, and is still traced after it was made static",
        None,
        why="This is a fault of Tapeless, not of your function.",
        fixes=[("meanwhile", "close over the int, or pass it as an argument of its own with static=...")],
    )


class Specialization:
    """One traced, compiled and planned signature of a function."""

    def __init__(
        self, traced: TracedFunction, executor: str, donated: frozenset[int], options: Options
    ) -> None:
        self.traced = traced
        self.guards = traced.guards
        params = _reusable(traced, donated)
        self.overlap = traced.overlap
        self.graph = pipeline.optimize_with(traced.graph, options)
        targets = [Target(o.kind, o.strides, o.param) for o in traced.outputs]
        self.assembler = Assembler(traced)
        self.calls_to_warm = self.ways = 0
        self.note = ""
        self.plan: Plan
        self.run: Any
        if executor in ("auto", "native") and not has_arrays(self.graph):
            executor, self.note = "numpy", "it has no arrays: Python computes with its numbers"
        if executor == "auto":
            executor, self.note = automatic(self.graph)
        self.executor = executor
        if executor == "native":
            from .runtime.llvm.executor import NativeExecutor

            check_threads()
            self.run = NativeExecutor(self.graph, traced.layouts, targets, params)
            self.plan = self.run.plan
        else:
            self.plan = make_plan(self.graph, traced.layouts, targets, donated=params)
            if executor == "interpret":
                from .runtime.interpret import InterpretExecutor

                self.run = InterpretExecutor(self.graph, targets)
            else:
                from .runtime.executor import NumpyExecutor

                self.run = NumpyExecutor(self.plan)

    def warm_up(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], static: frozenset[int]
    ) -> Callable[[Any, Any], Any] | None:
        """The straight way for calls like this one; None where there is none. The second one allows more."""
        from .tracer.warm import make_warm

        self.ways += 1
        match: Any = None
        if self.executor == "native":
            from .runtime.llvm.match import matcher as match
        return make_warm(
            self.assembler, self.run.__call__, args, kwargs, static, views=self.ways > 1, matcher=match
        )

    def __call__(self, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self.overlap is not None:
            self.overlap.check(leaves)
        values = self.assembler.gather(leaves)
        return self.assembler.result(self.run(values), leaves, args, kwargs)


def _reusable(traced: TracedFunction, donated: frozenset[int]) -> frozenset[int]:
    """The params of donated leaves that the caller is not shown again; calls check what is closed over."""
    shown = {index for index, _ in traced.reshaped}
    specs = [traced.result, *(spec for _, spec in traced.containers)]
    while specs:
        spec = specs.pop()
        specs += [item for _, item in spec.items]
        if spec.kind == "leaf":
            shown.add(spec.index)
    rows, params = [], set()
    for position, source in enumerate(traced.sources):
        mine = source.kind == "leaf" and source.index in donated - shown
        if mine and position not in traced.written:
            params.add(position)
            rows.append((source.index, traced.names[position], "donated"))
    held = [(s.value, n) for s, n in zip(traced.sources, traced.names, strict=True) if s.kind == "closure"]
    if rows and held:
        traced.overlap = Overlap([*(traced.overlap.rows if traced.overlap else ()), *rows], held)
    return frozenset(params)


def automatic(graph: Graph) -> tuple[str, str]:
    """The executor that "auto" stands for, and why if it is not the native one.

    Native code where llvmlite is installed; the NumPy executor where the function itself asks for
    floating-point errors, which native code does not see, or where most steps would be NumPy's anyway.
    """
    if importlib.util.find_spec("llvmlite") is None:
        return "numpy", ""
    if any(mode not in ("ignore", "warn") for node in graph.nodes for _, mode in node.loc.errstate):
        return "numpy", "it asks for floating-point errors, which native code does not see"
    from .runtime.llvm.executor import has_native_form

    steps = [n for n in graph.nodes if n.op.kind is not Kind.VIEW and n.op.name not in ("param", "constant")]
    if 2 * sum(map(has_native_form, steps)) < len(steps):
        return "numpy", "most of its steps have no native form"
    return "native", ""


def has_arrays(graph: Graph) -> bool:
    """Whether a graph computes with anything but Python's numbers."""
    return any(not isinstance(node.type, ScalarType) for node in graph.nodes)


def bisect(
    found: Specialization, values: Sequence[Any], options: Options, tolerance: float
) -> Finding | None:
    """The pass that changed a value of a traced graph; None if none did."""
    from .runtime.interpret import interpret

    return pipeline.bisect(found.traced.graph, interpret, values, options, tolerance=tolerance)


def profile(found: Specialization, values: Sequence[Any]) -> Profile:
    """Time the steps of a specialization on copies of the values."""
    from .runtime.executor import NumpyExecutor
    from .runtime.profile import profile as measured

    run = NumpyExecutor(found.plan) if found.executor == "interpret" else found.run
    return measured(run, found.plan, values)


def check_threads() -> None:
    """Raise ValueError for a TAPELESS_NUM_THREADS that is no number of threads, before anything runs."""
    from .runtime.llvm.thread_count import get_num_threads

    get_num_threads()


def native_rows() -> list[tuple[str, str]]:
    """What native code finds on this machine, as (label, text)."""
    from .runtime.llvm.report import rows

    return rows()
