"""median, quantile, percentile and their nan versions.

NumPy's own bodies run down to a few helpers that look at values: whether a NaN is among them, how many there
are. These helpers are replaced by ones that compute both answers and choose. Quantiles have to be known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..traced_array import TracedArray
from .bodies import private, replaces, run_bodies, substitute
from .elementwise import call
from .layout import like, miniature
from .registry import refuse, trace_of

base = private("numpy.lib._function_base_impl")
nan_base = private("numpy.lib._nanfunctions_impl")
utils = private("numpy.lib._utils_impl")


def _instead_of(module: Any, name: str) -> Callable[[Any], Any]:
    """Register a replacement of a private helper, where this version of NumPy has it."""
    return replaces(getattr(module, name)) if hasattr(module, name) else lambda replacement: replacement


@_instead_of(utils, "_median_nancheck")
def median_nancheck(data: Any, result: Any, axis: int) -> Any:
    """The median, or the NaN that stands last in the sorted slice."""
    if not data.size:
        return result
    return _with_nans(result, np.take(data, -1, axis=axis))


def _constant(value: Any) -> Any:
    """A concrete array as a constant of the trace."""
    return trace_of().constant(value)


def _with_nans(result: Any, last: Any, out: Any = None) -> Any:
    """The result with the NaNs of `last` in place; a 0-d one is a scalar."""
    if last.dtype.kind not in "fc":
        return result
    if not result.ndim and out is None:
        return np.where(np.isnan(last), last, result)[()]
    np.copyto(result, last, where=np.isnan(last))
    return result


@_instead_of(base, "_quantile")
def quantile(
    arr: Any, quantiles: Any, axis: int = -1, method: str = "linear", out: Any = None, weights: Any = None,
    weak_q: bool = False,
) -> Any:  # fmt: skip
    """Quantiles along one axis of an array that may be overwritten; see NumPy's helper of this name."""
    count = arr.shape[axis]
    if axis != 0:
        arr = np.moveaxis(arr, axis, destination=0)
    if weights is not None:
        raise refuse("a weighted quantile")
    if type(quantiles) is TracedArray and not quantiles.constant:
        raise refuse(
            "a traced q", why="Which elements are taken depends on it.", fixes=[("", "a static argument")]
        )
    if method not in base._QuantileMethods:
        raise ValueError(f"{method!r} is not a valid method. Use one of: {base._QuantileMethods.keys()}")
    how = base._QuantileMethods[method]
    places = np.asanyarray(how["get_virtual_index"](count, np.asarray(quantiles)))
    whole = np.issubdtype(places.dtype, np.integer)
    if how["fix_gamma"] is None or (method == "linear" and whole):
        arr.partition(np.concatenate((places.ravel(), [-1])), axis=0)
        result = np.take(arr, _constant(places), axis=0, out=out)
        return _with_nans(result, arr[-1, ...], out)
    stand_in = np.zeros(1, arr.dtype)
    before, after = base._get_indexes(stand_in, places, count)
    arr.partition(np.unique(np.concatenate(([0, -1], before.ravel(), after.ravel()))), axis=0)
    gamma = base._get_gamma(places, before, how)
    gamma = float(gamma) if weak_q else _constant(gamma.reshape(places.shape + (1,) * (arr.ndim - 1)))
    mixed = substitute(base._lerp)(arr[_constant(before)], arr[_constant(after)], gamma, out=out)
    return _with_nans(mixed, arr[-1, ...], out)


# ---- the versions that ignore NaNs


def _sorted_and_counted(a: Any, axis: int | None) -> tuple[Any, Any]:
    """Slices along the last axis, sorted with NaNs last, and how many numbers each has."""
    moved = a.ravel() if axis is None or a.ndim == 1 else np.moveaxis(a, axis, -1)
    in_order = np.sort(moved, axis=-1)
    return in_order, np.count_nonzero(~np.isnan(in_order), axis=-1, keepdims=True)


@_instead_of(nan_base, "_nanmedian")
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False) -> Any:
    """The mean of the two middle numbers, which are one where their count is odd."""
    in_order, count = _sorted_and_counted(a, axis)
    low = np.take_along_axis(in_order, (count - 1) // 2, axis=-1)
    high = np.take_along_axis(in_order, count // 2, axis=-1)
    both = np.concatenate((low, high), axis=-1)
    result = np.mean(both, axis=-1)
    if out is None:
        return _as_masked(result, a, axis) if axis is not None and a.ndim > 1 else result
    out[...] = result
    return out


def _as_masked(result: Any, a: Any, axis: int) -> Any:
    """Laid out as np.ma.median lays out its result, by which NumPy takes medians of short slices."""
    if a.shape[axis] >= 600 or result.ndim < 2:
        return result
    trace = trace_of(a)
    layout = like(np.add.reduce(miniature(a.shadow), axis), result.shape, result.dtype)
    order = sorted(range(layout.ndim), key=lambda k: -layout.strides[k])
    moved: Any = np.transpose(result, order).copy()
    back: Any = np.transpose(moved, np.argsort(order).tolist())
    return trace.fresh(trace.read(back), layout)


@_instead_of(nan_base, "_nanquantile_ureduce_func")
def nanquantile(
    a: Any, q: Any, weights: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
    method: str = "linear", weak_q: bool = False,
) -> Any:  # fmt: skip
    """Linear interpolation between neighbours, counted from the numbers of each slice."""
    if weights is not None or method != "linear":
        raise refuse("np.nanquantile with weights or another method than linear")
    in_order, count = _sorted_and_counted(a, axis)
    q = np.asarray(q)
    rows = q.reshape(q.shape + (1,) * in_order.ndim)
    place = (count - 1).astype(q.dtype) * trace_of(a).constant(rows)
    last = np.maximum(count - 1, 0)
    before = np.minimum(np.floor(place).astype(np.intp), last)
    before = np.maximum(before, 0)
    after = np.minimum(before + 1, last)
    gamma = place - before.astype(q.dtype)
    spread = np.broadcast_to(in_order, q.shape + in_order.shape)
    previous, following = (np.take_along_axis(spread, i, axis=-1) for i in (before, after))
    if weak_q:
        gamma = gamma.astype(np.result_type(previous.dtype, 0.0))
    step = following - previous
    result = call(np.add, previous, step * gamma, out=...)
    kind = type(result.dtype)
    np.subtract(following, step * (1 - gamma), out=result, where=gamma >= 0.5, casting="unsafe", dtype=kind)
    result = result[..., 0]
    if axis is not None and a.ndim > 1:
        lead = range(q.ndim)
        result = np.moveaxis(np.moveaxis(result, lead, range(-q.ndim, 0)).copy(), range(-q.ndim, 0), lead)
    if out is None:
        return result if result.ndim else result[()]
    out[...] = result
    return out


run_bodies(
    np.median, np.quantile, np.percentile, np.nanmedian, np.nanquantile, np.nanpercentile,
)  # fmt: skip
