"""Means and spreads as NumPy computes them, median and quantiles, histograms and what counts.

mean, var and std follow `numpy._core._methods` step by step, because each step rounds. What NumPy decides by
looking at values (whether a NaN is present, whether weights sum to zero) becomes a `where`, or is left out
where it would only raise or warn.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from ..trace import Trace
from ..traced_array import TracedArray, add_methods
from .bodies import private, run_bodies, substitute
from .elementwise import call
from .reduce import normal_axes, ufunc_reduce
from .registry import implements, trace_of
from .support import axis_of


def _given(value: Any, default: Any) -> Any:
    return default if value is np._NoValue else value


def _mask(trace: Trace, where: Any) -> Any:
    """True for everywhere, else the traced mask: NumPy would make an array of a list, out of sight."""
    return True if where is np._NoValue or where is True else trace.array(where)


def _count(x: Any, axis: Any, where: Any, keepdims: bool) -> Any:
    """How many elements a mean divides by: a number, or an array under a mask."""
    if where is True:
        return np.intp(math.prod(x.shape[k] for k in normal_axes(axis, x.ndim)))
    mask: Any = np.broadcast_to(where, x.shape)
    return ufunc_reduce(np.add, mask, axis, np.intp, None, keepdims)


def _divided(total: Any, count: Any, out: Any = None) -> Any:
    """A total divided by its count, in its own dtype; in place if it is the caller's `out`."""
    if out is None:
        return call(np.true_divide, total, count).astype(total.dtype, copy=False)
    return np.true_divide(total, count, out=total, casting="unsafe", subok=False)


def _warn(text: str) -> None:
    warnings.warn(text, RuntimeWarning, stacklevel=5)


@implements(np.mean)
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = False, *, where: Any = True
) -> Any:
    """np.mean: a sum (float16 in float32, integers in float64), then one division."""
    trace = trace_of(a, where, out)
    x, keepdims, where = trace.array(a), bool(_given(keepdims, False)), _mask(trace, where)
    count = _count(x, axis, where, keepdims)
    if where is True and not count:
        _warn("Mean of empty slice")
    half = False
    if dtype is None:
        if x.dtype.kind in "iub":
            dtype = np.dtype("f8")
        elif x.dtype == np.float16:
            dtype, half = np.dtype("f4"), True
    total = ufunc_reduce(np.add, x, axis, dtype, out, keepdims, where=where)
    result = _divided(total, count, out)
    return result.astype(np.float16) if half and out is None else result


@implements(np.var)
def var(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False, *,
    where: Any = True, mean: Any = np._NoValue, correction: Any = np._NoValue,
) -> Any:  # fmt: skip
    """np.var: the mean of squared deviations."""
    trace = trace_of(a, where, out)
    x, keepdims, where = trace.array(a), bool(_given(keepdims, False)), _mask(trace, where)
    if correction is not np._NoValue:
        if ddof != 0:
            np.var([1.0], ddof=1, correction=1)
        ddof = correction
    count = _count(x, axis, where, keepdims)
    if where is True and type(ddof) in (int, float) and ddof >= count:
        _warn("Degrees of freedom <= 0 for slice")
    if dtype is None and x.dtype.kind in "iub":
        dtype = np.dtype("f8")
    if mean is np._NoValue:
        mean = ufunc_reduce(np.add, x, axis, dtype, keepdims=True, where=where)
        divisor = count if where is True or count.scalar else count.reshape(mean.shape)
        mean = _divided(mean, divisor)
    squares = _squares(x, call(np.subtract, x, mean, out=...))
    total = ufunc_reduce(np.add, squares, axis, dtype, out, keepdims, where=where)
    return _divided(total, np.maximum(count - ddof, 0), out)


def _squares(x: TracedArray, deviation: Any) -> Any:
    """Squared sizes of deviations, in memory as NumPy leaves them."""
    if x.dtype.kind in "fiu":
        return call(np.square, deviation, out=...)
    if deviation.dtype.kind == "c":
        real, imag = np.real(deviation), np.imag(deviation)
        np.square(real, out=real)
        np.square(imag, out=imag)
        return np.add(real, imag, out=real)
    return np.real(np.multiply(deviation, np.conjugate(deviation), out=deviation))


@implements(np.std)
def std(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = False,
    **options: Any,
) -> Any:  # fmt: skip
    """np.std: the square root of np.var."""
    spread = var(a, axis, dtype, out, ddof, keepdims, **options)
    return np.sqrt(spread) if spread.scalar else np.sqrt(spread, out=spread)


@implements(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = np._NoValue
) -> Any:
    """np.average; weights that sum to zero give NaN or inf where NumPy raises."""
    trace = trace_of(a, weights)
    x = trace.array(a)
    if axis is not None:
        axis = normal_axes(axis, x.ndim) if type(axis) is tuple else axis_of(axis, x.ndim)
    options = {} if keepdims is np._NoValue else {"keepdims": keepdims}
    if weights is None:
        result = np.mean(x, axis=axis, **options)
        total: Any = trace.constant(result.dtype.type(x.size / result.size))
    else:
        scale = _weights(trace.array(weights), x, axis)
        kind = np.result_type(x.dtype, scale.dtype, *(["f8"] if x.dtype.kind in "iub" else []))
        total = np.sum(scale, axis=axis, dtype=kind, **options)
        result = np.sum(np.multiply(x, scale, dtype=kind), axis=axis, **options) / total
    if not returned:
        return result
    if total.shape != result.shape:
        total = np.broadcast_to(total, result.shape).copy()
    return result, total


def _weights(weights: TracedArray, x: TracedArray, axis: Any) -> Any:
    """Weights in the shape of the array, or along the averaged axes."""
    if weights.shape == x.shape:
        return weights
    axes = None if axis is None else (axis if type(axis) is tuple else (axis,))
    shown = np.broadcast_to(np.zeros(()), x.shape)
    return substitute(private("numpy.lib._function_base_impl")._weights_are_valid)(weights, shown, axes)


run_bodies(np.cov, np.corrcoef)
add_methods({"mean": np.mean, "var": np.var, "std": np.std})
