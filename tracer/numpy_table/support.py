"""What handlers share: constants folded by NumPy itself, dummies that raise NumPy's errors, `out=`."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.ir.node import Node
from ..storage import Array
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .elementwise import store
from .layout import layout_of
from .registry import known


def all_known(*values: Any) -> bool:
    """Whether every lifted operand is known while tracing; nested tuples and lists are looked into."""
    return all(all_known(*v) if type(v) in (list, tuple) else known(v) for v in values)


def concrete(value: Any) -> Any:
    """The real value of a known operand, nested ones too."""
    if type(value) in (list, tuple):
        return type(value)(map(concrete, value))
    return value.known() if type(value) is TracedArray else value


def fold(trace: Trace, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """A function of known operands: done now, by NumPy. Several results come as a tuple."""
    result = function(*map(concrete, args), **{k: concrete(v) for k, v in kwargs.items()})
    if type(result) is tuple:
        return tuple(trace.constant(r) for r in result)
    return trace.constant(result)


def dummy(value: Any) -> Any:
    """Something real with the shape and dtype of an operand that takes no memory."""
    if type(value) in (list, tuple):
        return type(value)(map(dummy, value))
    if type(value) is TracedArray:
        return np.broadcast_to(np.ones((), value.dtype), value.shape)
    return value


def finish(
    trace: Trace,
    node: Node,
    function: Callable[..., Any],
    shadows: Sequence[Array],
    out: Any = None,
    scalar: bool = True,
) -> Any:
    """A fresh result laid out as the function lays out its own, or stored into `out`.

    A 0-d result is a NumPy scalar unless `scalar` is False.
    """
    if out is not None:
        target = out_array(trace, out)
        store(trace, target, node)
        return target
    shadow = layout_of(function, shadows, node.shape, node.dtype)
    return trace.fresh(node, shadow, scalar=scalar and not node.shape)


def moved(trace: Trace, x: TracedArray, node: Node) -> Node:
    """A node that computed with x's elements without changing them: in x's own byte order."""
    return trace.builder.cast(node, x.dtype)


def out_array(trace: Trace, out: Any) -> TracedArray:
    """An `out=` argument, lifted and writeable."""
    if type(out) is tuple:
        (out,) = out
    target = trace.lift(out)
    if type(target) is not TracedArray or target.scalar:
        raise TypeError("return arrays must be of ArrayType")
    if not target.shadow.flags.writeable:
        raise ValueError("output array is read-only")
    trace.check_writeable(target)
    return target


def destination(trace: Trace, array: Any, call: Callable[[Any], Any]) -> TracedArray:
    """An array that is going to be written to; `call` is NumPy's own, to refuse what it refuses."""
    target = trace.lift(array)
    if type(target) is not TracedArray:
        call(target.example if type(target) is TracedNumber else target)
    elif target.scalar:
        call(target.dtype.type(0))
    elif not target.shadow.flags.writeable:
        small = np.zeros((1,) * target.ndim, target.dtype)
        small.flags.writeable = False
        call(small)
    trace.check_writeable(target)
    return target  # type: ignore[no-any-return]


def axis_of(axis: Any, ndim: int) -> int:
    """One axis as a number from 0; raises NumPy's AxisError or TypeError."""
    from numpy.lib.array_utils import normalize_axis_index

    return int(normalize_axis_index(operator.index(axis), ndim))
