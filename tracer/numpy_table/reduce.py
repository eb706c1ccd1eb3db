"""Reductions: every ufunc's `reduce` with dtype, out, keepdims, initial and where, and the functions on them.

NumPy does each call on a miniature of the operand first: it raises, and says in which dtype and layout the
result comes. Sums, products, extrema, any and all have primitives; the rest, and what is masked or begun with
an initial value, is `ufunc_reduce`.
"""

from __future__ import annotations

import operator
import warnings
from typing import Any

import numpy as np

from ...compiler.ir.node import Node
from ...compiler.ir.opdef import OPS
from ..promote import operand_node
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber, add_methods
from .elementwise import store
from .layout import like, miniature
from .registry import implements, known, refuse, trace_of

REDUCTION_OF: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
    np.fmax: "nanmax",
    np.fmin: "nanmin",
    np.logical_and: "all",
    np.logical_or: "any",
}


def normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Reduced axes in increasing order; raises NumPy's AxisError."""
    if axis is None:
        return tuple(range(ndim))
    if type(axis) is not tuple:
        axis = (axis,)
    from numpy.lib.array_utils import normalize_axis_tuple

    return tuple(sorted(normalize_axis_tuple(tuple(operator.index(a) for a in axis), ndim)))


@implements("reduce")
def ufunc_reduce(
    ufunc: np.ufunc,
    array: Any,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = np._NoValue,
    where: Any = True,
) -> Any:
    """`ufunc.reduce(array, …)`."""
    trace = trace_of(array, out, where, initial)
    x = trace.array(array)
    always_array = out is Ellipsis
    if type(out) is tuple:
        (out,) = out
    target = None if out is None or always_array else _target(trace, out)
    mask = None if where is True else trace.array(where)
    if initial is None and ufunc.identity is None:
        initial = np._NoValue
    start = initial if initial is np._NoValue or initial is None else trace.lift(initial)
    options: dict[str, Any] = {"keepdims": bool(keepdims), "dtype": dtype}
    if x.constant and all(o is None or o.constant for o in (mask, target)) and known(start):
        return _known(trace, ufunc, x, axis, mask, target, start, always_array, options)
    if axis is not None:
        axis = tuple(operator.index(a) for a in axis) if type(axis) is tuple else operator.index(axis)
    model = _model(ufunc, x, axis, target, start, mask, options)
    axes = normal_axes(axis, x.ndim) if x.ndim else ()
    accumulated = accumulator(ufunc, x.dtype, dtype, None if target is None else target.dtype)
    trace.builder.loc = trace.loc()
    node = _node(trace, ufunc, x, axes, accumulated, dtype, start, mask)
    if keepdims:
        kept = tuple(1 if place in axes else n for place, n in enumerate(x.shape))
        node = trace.builder.reshape(node, kept)
    if target is not None:
        store(trace, target, node)
        return target
    layout = like(np.asarray(model), node.shape, node.dtype)
    return trace.fresh(node, layout, scalar=not node.shape and not always_array)


def _target(trace: Trace, out: Any) -> TracedArray:
    target = None if out is Ellipsis else trace.lift(out)
    if type(target) is not TracedArray or target.scalar:
        raise TypeError("return arrays must be of ArrayType")
    if not target.shadow.flags.writeable:
        raise ValueError("output array is read-only")
    trace.check_writeable(target)
    return target


def _known(
    trace: Trace, ufunc: np.ufunc, x: Any, axis: Any, mask: Any, target: Any, start: Any, always: bool,
    options: dict[str, Any],
) -> Any:  # fmt: skip
    """A reduction of what is known: done now, by NumPy."""
    if mask is not None:
        options["where"] = mask.known()
    if start is not np._NoValue:
        options["initial"] = start.known() if type(start) is TracedArray else start
    if target is not None:
        ufunc.reduce(x.shadow, axis, out=target.shadow, **options)
        target.storage.touched()
        return target
    value = ufunc.reduce(x.shadow, axis, **options)
    return trace.constant(np.asarray(value) if always else value)


def _model(
    ufunc: np.ufunc, x: TracedArray, axis: Any, target: Any, start: Any, mask: Any, options: dict[str, Any]
) -> Any:
    """The call on a miniature: raises what NumPy raises, and is laid out as the result will be."""
    if mask is not None:
        fits = np.broadcast_shapes(mask.shape[max(0, mask.ndim - x.ndim) :], x.shape) == x.shape
        shadows = [x.shadow, mask.shadow] if fits and mask.ndim <= x.ndim else []
        options["where"] = np.ones((), mask.dtype)
        if not shadows:
            ufunc.reduce(np.ones(x.shape, x.dtype), axis, where=np.ones(mask.shape, bool))
    if start is not np._NoValue:
        number = start.model if type(start) is TracedNumber else start
        options["initial"] = np.ones((), start.dtype)[()] if type(start) is TracedArray else number
    with np.errstate(all="ignore"):
        model = ufunc.reduce(miniature(x.shadow), axis, **options)
        if target is not None:
            axes = normal_axes(axis, x.ndim)
            gone = () if options["keepdims"] else axes
            shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape) if k not in gone)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ufunc.reduce(
                    miniature(x.shadow), axis, out=np.empty(np.shape(model), target.dtype), **options
                )
            if target.shape != shape:
                ufunc.reduce(
                    np.ones(x.shape, x.dtype), axis, out=np.empty(target.shape, target.dtype), **options
                )
    return model


def accumulator(ufunc: np.ufunc, dtype: Any, asked: Any, out: Any = None) -> Any:
    """The dtype that a reduction accumulates in; NumPy widens small integers and booleans in sums."""
    if asked is not None:
        return np.dtype(asked).newbyteorder("=")
    return ufunc.resolve_dtypes((out, dtype, None), reduction=True)[0]


def _node(
    trace: Trace, ufunc: np.ufunc, x: TracedArray, axes: tuple[int, ...], accumulated: Any, dtype: Any,
    start: Any, mask: Any,
) -> Node:  # fmt: skip
    """The primitive of a reduction."""
    b, node = trace.builder, trace.operand(x)
    name = REDUCTION_OF.get(ufunc)
    if mask is None and start is np._NoValue and name is not None:
        attrs: dict[str, Any] = {"axes": axes}
        if name in ("sum", "prod"):
            attrs["dtype"] = accumulated
        elif name not in ("any", "all"):
            node = b.cast(node, accumulated)
        return b.make(OPS[name], (node,), attrs)
    operands = [node]
    if mask is not None:
        operands.append(b.broadcast_to(b.cast(trace.operand(mask), np.dtype(bool)), x.shape))
    asked = accumulated if dtype is not None or name in ("sum", "prod") else None
    started = start is not np._NoValue
    if started:
        if start is None:
            raise refuse(f"np.{ufunc.__name__}.reduce with initial=None")
        operands.append(operand_node(trace, start, accumulated))
    attrs = {
        "ufunc": ufunc.__name__,
        "axes": axes,
        "dtype": asked,
        "masked": mask is not None,
        "started": started,
    }
    return b.make(OPS["ufunc_reduce"], operands, attrs)


def _reduction(ufunc: np.ufunc) -> Any:
    def handler(
        a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = np._NoValue, where: Any = np._NoValue,
    ) -> Any:  # fmt: skip
        keepdims = False if keepdims is np._NoValue else bool(keepdims)
        where = True if where is np._NoValue else where
        return ufunc_reduce(ufunc, a, axis, dtype, out, keepdims, initial, where)

    return handler


def _reduction_without_dtype(ufunc: np.ufunc) -> Any:
    full = _reduction(ufunc)

    def handler(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False,
        initial: Any = np._NoValue, where: Any = np._NoValue,
    ) -> Any:  # fmt: skip
        return full(a, axis, None, out, keepdims, initial, where)

    return handler


implements(np.sum)(_reduction(np.add))
implements(np.prod)(_reduction(np.multiply))
implements(np.max, np.amax)(_reduction_without_dtype(np.maximum))
implements(np.min, np.amin)(_reduction_without_dtype(np.minimum))


def _logical(ufunc: np.ufunc) -> Any:
    def handler(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
    ) -> Any:
        keepdims = False if keepdims is np._NoValue else bool(keepdims)
        where = True if where is np._NoValue else where
        return ufunc_reduce(ufunc, a, axis, None, out, keepdims, np._NoValue, where)

    return handler


implements(np.any)(_logical(np.logical_or))
implements(np.all)(_logical(np.logical_and))


@implements(np.ptp)
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
    """np.ptp: the largest element minus the smallest."""
    options = {} if keepdims is np._NoValue else {"keepdims": keepdims}
    largest = np.max(a, axis=axis, **options)
    smallest = np.min(a, axis=axis, **options)
    return np.subtract(largest, smallest, **({} if out is None else {"out": out}))


@implements(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """np.count_nonzero: a sum of booleans."""
    x = trace_of(a).array(a)
    hits = x if x.dtype.kind == "b" else np.not_equal(x, x.dtype.type(0))
    total: Any = np.sum(hits, axis=axis, dtype=np.intp, keepdims=keepdims)
    counted: Any = np.count_nonzero(())
    if axis is not None or keepdims or type(counted) is not int:
        return total
    # Some versions of NumPy give a Python int.
    trace = total.owner
    return int(total) if total.constant else trace.number(trace.builder.item(trace.operand(total)), 0)


add_methods(
    {
        "sum": np.sum,
        "prod": np.prod,
        "max": np.max,
        "min": np.min,
        "any": np.any,
        "all": np.all,
    }
)
