"""scipy.special: its ufuncs come by dispatch, by name; its functions written in Python by stand-ins.

SciPy is not imported here. A name that SciPy shares with NumPy (exp2, log1p …) is SciPy's own function with
its own bits, so only those that have a primitive of their own are taken.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ...compiler.ir.opdef import OPS
from ..stand_in import FunctionStandIn
from ..trace import Trace
from ..traced_array import TracedArray
from .bodies import body
from .elementwise import apply
from .layout import like, miniature
from .reduce import normal_axes
from .registry import implements, is_traced, known, refuse, trace_of

# ---- functions written in Python


def _operand(trace: Trace, value: Any, name: str) -> TracedArray:
    x = trace.array(value)
    if np.promote_types(x.dtype, np.float16).char not in "fd":
        raise refuse(f"scipy.special.{name} of {x.dtype}")
    return x


def logsumexp(
    trace: Trace, real: Callable[..., Any], a: Any, axis: Any = None, b: Any = None, keepdims: bool = False,
    return_sign: bool = False,
) -> Any:  # fmt: skip
    """`scipy.special.logsumexp`, with weights `b` if they are given."""
    if return_sign:
        raise refuse("scipy.special.logsumexp with return_sign=True")
    operands = [_operand(trace, v, "logsumexp") for v in (a, b) if v is not None]
    model = real(*[miniature(operands[0].shadow)], axis=axis, keepdims=keepdims)
    kind = np.result_type(*(v.dtype for v in operands), np.asarray(model).dtype)
    shape = np.broadcast_shapes(*(v.shape for v in operands))
    shape = shape or (1,)
    axes = normal_axes(axis, len(shape))
    trace.builder.loc = trace.loc()
    builder = trace.builder
    nodes = [builder.broadcast_to(builder.cast(trace.operand(v), kind), shape) for v in operands]
    node = builder.logsumexp(*nodes, axes=axes)
    if keepdims:
        node = builder.reshape(node, tuple(1 if k in axes else n for k, n in enumerate(shape)))
    return trace.fresh(node, like(np.asarray(model), node.shape, node.dtype), scalar=not node.shape)


def _along(name: str) -> Callable[..., Any]:
    def handler(trace: Trace, real: Callable[..., Any], x: Any, axis: Any = None) -> Any:
        operand = _operand(trace, x, name)
        model = real(miniature(operand.shadow), axis=axis)
        trace.builder.loc = trace.loc()
        node = trace.builder.cast(trace.operand(operand), np.asarray(model).dtype)
        if operand.ndim:
            node = getattr(trace.builder, name)(node, axes=normal_axes(axis, operand.ndim))
        else:
            (node,) = apply(trace, "multiply", [node, trace.builder.scalar(0, node)], ())
            if name == "softmax":
                node = trace.builder.exp(node)
        return trace.fresh(
            node, like(np.asarray(model), node.shape, node.dtype), scalar=isinstance(model, np.generic)
        )

    return handler


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "logsumexp": logsumexp,
    "softmax": _along("softmax"),
    "log_softmax": _along("log_softmax"),
}


def scipy_stand_ins() -> dict[ModuleType, dict[str, Any]]:
    """What names of scipy.special mean while a trace is active, if SciPy is loaded."""
    module = sys.modules.get("scipy.special")
    if module is None:
        return {}
    table = {}
    for name, handler in FUNCTIONS.items():
        real = getattr(module, name, None)
        if real is not None:
            table[name] = FunctionStandIn(real, _answered(real, handler))
    return {sys.modules["scipy"]: {}, module: table}


def _answered(real: Callable[..., Any], handler: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's own function unless something traced is among the arguments."""

    def answer(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        if not any(is_traced(v) and not known(v) for v in (*args, *kwargs.values())):
            return real(*args, **kwargs)
        return handler(trace, real, *args, **kwargs)

    return answer


_BODIES = {function: body(function) for function in (np.sinc, np.i0)}


@implements(np.sinc)
def sinc(x: Any) -> Any:
    """np.sinc."""
    return _one(x, np.sinc, "sinc", "fdFD", order=0)


@implements(np.i0)
def i0(x: Any) -> Any:
    """np.i0: NumPy's own polynomials, whose bits are not SciPy's."""
    return _one(x, np.i0, "numpy_i0", "fd")


def _one(x: Any, function: Callable[..., Any], name: str, chars: str, **attrs: Any) -> Any:
    """A function of one operand that has a primitive; NumPy's body in other dtypes."""
    trace = trace_of(x)
    operand = trace.array(x)
    if operand.constant:
        return trace.constant(function(operand.known()))
    model = function(miniature(operand.shadow)[()])
    kind = np.asarray(model).dtype
    if kind.char not in chars:
        return _BODIES[function](operand)
    trace.builder.loc = trace.loc()
    node = trace.builder.make(OPS[name], (trace.builder.cast(trace.operand(operand), kind),), attrs)
    scalar = isinstance(function(operand.dtype.type(1)) if operand.scalar else model, np.generic)
    return trace.fresh(node, like(np.asarray(model), node.shape, kind), scalar=scalar)
