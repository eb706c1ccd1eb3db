"""Tapeless: trace plain NumPy once, differentiate the graph, run the plan."""

from .api import (
    CompiledFunction,
    RetraceWarning,
    compile,
    constant,
    draw,
    grad,
    hessian,
    hvp,
    jacobian,
    jvp,
    set_num_threads,
    stop_gradient,
    trace,
    value_and_grad,
    vjp,
)
from .compiler.ir.node import Graph
from .compiler.plan import Plan
from .tracer.errors import TapelessError

__all__ = [
    "CompiledFunction",
    "Graph",
    "Plan",
    "RetraceWarning",
    "TapelessError",
    "compile",
    "constant",
    "draw",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "set_num_threads",
    "stop_gradient",
    "trace",
    "value_and_grad",
    "vjp",
]
