"""Arrays of nested lists and tuples, traced values among them: `np.array([t, 2 * t])` stacks.

Shape and dtype are what NumPy finds for stand-ins of the same shapes and dtypes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ir.node import Node
from ...compiler.ir.types import supported
from ..errors import ArgumentError
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .registry import concrete, is_traced, known


def contains_traced(value: Any) -> bool:
    """Whether a nested list or tuple holds a traced value."""
    if type(value) in (list, tuple):
        return any(contains_traced(v) for v in value)
    return is_traced(value)


def settled(value: Any) -> Any:
    """An argument that has to be known now: constants as their values, a traced Python int made static."""
    if type(value) is list or type(value) is tuple:
        return type(value)(settled(v) for v in value)
    if type(value) is TracedNumber and type(value.example) is int:
        return value.__index__()
    return concrete(value) if is_traced(value) and known(value) else value


def _varies(value: Any) -> bool:
    """Whether something in a nested list is only known at each call: a traced value, a closed-over array."""
    if type(value) is list or type(value) is tuple:
        return any(map(_varies, value))
    return type(value) is np.ndarray or (is_traced(value) and not known(value))


def array_of_nested(trace: Trace, value: Any, dtype: Any = None) -> TracedArray:
    """np.array of nested lists and tuples: a constant, or pieces joined along each level."""
    if not _varies(value):
        return trace.constant(np.array(_plain(value), dtype))
    model = np.array(_stand_in(value), dtype)
    if not supported(model.dtype):
        raise trace.error(ArgumentError, f"an array of dtype {model.dtype} cannot be made of traced values")
    trace.builder.loc = trace.loc()
    node = _joined(trace, value, model.shape, model.dtype)
    return trace.fresh(node, np.empty(model.shape, model.dtype))


def _plain(value: Any) -> Any:
    """The real values of a nested list that varies nowhere."""
    if type(value) is list or type(value) is tuple:
        return type(value)(map(_plain, value))
    return concrete(value) if is_traced(value) else value


def _stand_in(value: Any) -> Any:
    """Something real in which NumPy finds the same shape and dtype."""
    if type(value) is list or type(value) is tuple:
        return type(value)(map(_stand_in, value))
    if type(value) is TracedNumber:
        return value.model
    if type(value) is TracedArray and known(value):
        return value.known()
    if type(value) is TracedArray or type(value) is np.ndarray:
        zero = value.dtype.type(0)
        return zero if type(value) is TracedArray and value.scalar else np.broadcast_to(zero, value.shape)
    return value


def _joined(trace: Trace, value: Any, shape: tuple[int, ...], dtype: Any) -> Node:
    """The node of a nested value: neighbours that are known become one constant, the rest is joined."""
    b = trace.builder
    if type(value) is not list and type(value) is not tuple:
        return _element(trace, value, dtype)
    pieces: list[Node] = []
    run: list[Any] = []

    def close_run() -> None:
        if run:
            pieces.append(b.constant(np.array(_plain(run), dtype).reshape(len(run), *shape[1:])))
            run.clear()

    for item in value:
        if _varies(item):
            close_run()
            pieces.append(b.reshape(_joined(trace, item, shape[1:], dtype), (1, *shape[1:])))
        else:
            run.append(item)
    close_run()
    return pieces[0] if len(pieces) == 1 else b.concatenate(*pieces, axis=0)


def _element(trace: Trace, value: Any, dtype: Any) -> Node:
    lifted = trace.lift(value)
    if type(lifted) is TracedNumber:
        return trace.builder.cast(lifted.node, dtype)
    return assigned_node(trace, lifted, dtype)


def assigned_node(trace: Trace, value: TracedArray, dtype: Any) -> Node:
    """An array as an assignment casts it; a NumPy scalar that may not fit raises where it does not.

    NumPy wraps elements of arrays, those of no axes too, and checks scalars.
    """
    node = trace.operand(value)
    if not value.scalar or np.dtype(dtype).kind not in "iu" or np.can_cast(value.dtype, dtype, "safe"):
        return trace.builder.cast(node, dtype)
    if value.constant:
        np.empty((), dtype)[()] = value.known()
        return trace.builder.cast(node, dtype)
    native = np.dtype(dtype).newbyteorder("=")
    return trace.builder.cast(trace.builder.as_element(node, dtype=native), dtype)


def assigned_value(trace: Trace, value: Any, dtype: Any) -> Any:
    """`lift` of a value that is assigned to elements of this dtype: NumPy makes lists in it."""
    if type(value) is list or type(value) is tuple:
        return array_of_nested(trace, value, dtype)
    return trace.lift(value)
