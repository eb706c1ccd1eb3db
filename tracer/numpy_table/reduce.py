"""Reductions: sum, prod, max, min, mean, var, std, any, all and the ufuncs' reduce."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ir.opdef import OPS
from ..trace import Trace
from ..traced_array import TracedArray, add_methods
from .elementwise import store
from .registry import implements, refuse, trace_of

REDUCTION_OF: dict[np.ufunc, str] = {
    np.add: "sum",
    np.multiply: "prod",
    np.maximum: "max",
    np.minimum: "min",
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

    return tuple(sorted(normalize_axis_tuple(tuple(a.__index__() for a in axis), ndim)))


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
    trace = trace_of(array, out, where)
    x = trace.array(array)
    if type(out) is tuple:
        (out,) = out
    always_array = out is Ellipsis
    out = None if always_array else out
    if (
        x.constant
        and where is True
        and initial is np._NoValue
        and (out is None or (type(out) is TracedArray and out.constant))
    ):
        target = None if out is None else out.shadow
        value = ufunc.reduce(x.shadow, axis=axis, dtype=dtype, keepdims=keepdims, out=target)
        if out is not None:
            out.storage.touched()
            return out
        return trace.constant(np.asarray(value) if always_array else value)
    name = REDUCTION_OF.get(ufunc)
    if name is None or name not in OPS:
        raise refuse(f"np.{ufunc.__name__}.reduce")
    axes = normal_axes(axis, x.ndim)
    x, masked = _prepared(trace, ufunc, x, dtype, where, initial)
    node = trace.operand(x)
    trace.builder.loc = trace.loc()
    attrs: dict[str, Any] = {"axes": axes}
    if name in ("sum", "prod"):
        attrs["dtype"] = accumulator(ufunc, x.dtype, dtype)
    elif name in ("any", "all"):
        node = (
            trace.builder.cast(node, np.dtype(bool))
            if node.dtype == bool
            else trace.builder.not_equal(node, trace.builder.scalar(0, node))
        )
    if name in ("max", "min") and not x.size:
        ufunc.reduce(np.empty(x.shape, x.dtype), axis=axes)
    made = trace.builder.make(OPS[name], (node,), attrs)
    return finish(trace, made, x, axes, keepdims, out, always_array)


def accumulator(ufunc: np.ufunc, dtype: Any, asked: Any) -> Any:
    """The dtype that a sum or product accumulates in: NumPy widens small integers and booleans."""
    if asked is not None:
        return np.dtype(asked)
    if dtype.kind in "bi" and dtype.itemsize < np.dtype(int).itemsize:
        return np.dtype(int)
    if dtype.kind == "u" and dtype.itemsize < np.dtype(np.uint).itemsize:
        return np.dtype(np.uint)
    return dtype.newbyteorder("=")


def _prepared(
    trace: Trace, ufunc: np.ufunc, x: TracedArray, dtype: Any, where: Any, initial: Any
) -> tuple[Any, bool]:
    """The operand with masked-out elements replaced by the neutral or initial value."""
    if where is True and initial is np._NoValue:
        return x, False
    raise refuse("initial= or where= of a reduction")


def finish(
    trace: Trace,
    node: Any,
    x: TracedArray,
    axes: tuple[int, ...],
    keepdims: bool,
    out: Any,
    always_array: bool,
) -> Any:
    """The result of a reduction: shape with or without the reduced axes, layout, `out=`."""
    if keepdims:
        shape = tuple(1 if axis in axes else n for axis, n in enumerate(x.shape))
        node = trace.builder.reshape(node, shape)
    if out is not None:
        target = trace.lift(out)
        trace.check_writeable(target)
        store(trace, target, node)
        return target
    layout = reduced_layout(x.shadow, axes, keepdims, node.dtype)
    return trace.fresh(node, layout, scalar=not node.shape and not always_array)


def reduced_layout(shadow: Any, axes: tuple[int, ...], keepdims: bool, dtype: Any) -> Any:
    """Memory laid out as NumPy lays out a reduction's result: the operand's K order without the axes."""
    index = tuple(slice(0, 1) if axis in axes else slice(None) for axis in range(shadow.ndim))
    kept = np.empty_like(shadow, dtype=dtype, subok=False)[index]
    result = np.empty_like(kept, subok=False)
    return result if keepdims else result.reshape([n for a, n in enumerate(shadow.shape) if a not in axes])


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


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """np.mean as NumPy computes it: a sum (float16 in float32, integers in float64), then one division."""
    trace = trace_of(a)
    x = trace.array(a)
    keepdims = False if keepdims is np._NoValue else bool(keepdims)
    if where is not np._NoValue and where is not True:
        raise refuse("np.mean with where=")
    axes = normal_axes(axis, x.ndim)
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    half = False
    if dtype is None:
        if x.dtype.kind in "iub":
            dtype = np.dtype("f8")
        elif x.dtype == np.float16:
            dtype, half = np.dtype("f4"), True
    total = ufunc_reduce(np.add, x, axes, dtype, None, keepdims)
    result = np.true_divide(
        total, count, dtype=total.dtype, casting="unsafe", **({"out": out} if out is not None else {})
    )
    if half and out is None:
        result = result.astype(np.float16)
    return result


@implements(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = np._NoValue, correction: Any = np._NoValue,
) -> Any:  # fmt: skip
    """np.var as NumPy computes it: the mean of squared deviations."""
    trace = trace_of(a)
    x = trace.array(a)
    keepdims = False if keepdims is np._NoValue else bool(keepdims)
    if correction is not np._NoValue:
        ddof = correction
    if dtype is None and x.dtype.kind in "iub":
        dtype = np.dtype("f8")
    axes = normal_axes(axis, x.ndim)
    count = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    if mean is np._NoValue:
        mean = np.true_divide(ufunc_reduce(np.add, x, axes, dtype, None, True), count)
    deviation = x - mean
    if x.dtype.kind == "c":
        squares = np.real(np.multiply(deviation, np.conjugate(deviation)))
    else:
        squares = np.multiply(deviation, deviation)
    total = ufunc_reduce(np.add, squares, axes, dtype, None, keepdims)
    return np.true_divide(
        total,
        max(count - ddof, 0),
        dtype=total.dtype,
        casting="unsafe",
        **({"out": out} if out is not None else {}),
    )


@implements(np.std)
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    **options: Any,
) -> Any:
    """np.std: the square root of np.var."""
    return np.sqrt(
        var(a, axis, dtype, None, ddof, keepdims, **options), **({"out": out} if out is not None else {})
    )


add_methods(
    {
        "sum": np.sum,
        "prod": np.prod,
        "max": np.max,
        "min": np.min,
        "mean": np.mean,
        "var": np.var,
        "std": np.std,
    }
)
