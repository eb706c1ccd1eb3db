"""Primitives of a user's own, as functions that user code calls.

Such an op is an OpDef like any other (`compiler/ir/opdef.py`); what is missing is a NumPy function that
reaches it. `function_of` makes one. It neither casts nor promotes: the op's type rule says what it takes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...compiler.ir.opdef import Kind, OpDef
from ...compiler.ir.types import TupleType
from ..promote import broadcast_shape, to_shape
from ..state import activate, current
from .layout import layout_of
from .registry import known
from .support import fold


def function_of(op: OpDef) -> Callable[..., Any]:
    """A registered primitive as a function: `op.numpy` on arrays, a node of the graph on traced values.

    Args:
        op: the primitive. Operands of an elementwise one are broadcast; attrs are given as keywords.

    Returns:
        A function of as many positional arguments as the op has operands: arrays or numbers.

    Raises:
        TypeRuleError: when called, if the operands break one of the op's constraints.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> from tapeless.compiler.ir.opdef import get_op
        >>> print(tl.trace(function_of(get_op("tanh")), np.zeros(3)))
        graph @tanh(%values.0: f64[3]) {
          %0: f64[3] = tanh %values.0
          return %0
        }
    """

    def function(*values: Any, **attrs: Any) -> Any:
        trace = current()
        if trace is None:
            return op.numpy(*values, **attrs)
        reference = functools.partial(_untraced, op, attrs)
        operands = [trace.array(value) for value in values]
        if all(map(known, operands)):
            return fold(trace, reference, *operands)
        shadows = [operand.shadow for operand in operands]
        trace.builder.loc = trace.loc()
        nodes = [trace.operand(operand) for operand in operands]
        if op.kind is Kind.ELEMENTWISE:
            shape = broadcast_shape(shadows)
            nodes = [to_shape(trace, node, shape) for node in nodes]
        node = trace.builder.make(op, nodes, attrs)
        if isinstance(node.type, TupleType):
            parts = [trace.builder.get(node, index=i) for i in range(len(node.type.items))]
            return tuple(trace.result(part) for part in parts)
        return trace.result(node, layout_of(reference, shadows, node.shape, node.dtype))

    function.__name__ = function.__qualname__ = op.name
    function.__doc__ = op.doc
    return function


def _untraced(op: OpDef, attrs: dict[str, Any], *values: Any) -> Any:
    """What the op's reference gives; it is user code, in which NumPy's names would mean the tracer's."""
    trace = activate(None)
    try:
        return op.numpy(*values, **attrs)
    finally:
        activate(trace)
