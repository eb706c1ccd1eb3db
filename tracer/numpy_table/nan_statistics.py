"""Reductions that ignore NaNs: NumPy's bodies where they only mask, by hand where they look for one.

The warnings for slices without a number are NumPy's business at trace time only, so they are not given here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..traced_array import TracedArray
from .bodies import run_bodies
from .registry import implements, trace_of


def _options(**given: Any) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not np._NoValue}


def _replaced(a: Any, value: float) -> tuple[Any, Any]:
    """A copy with NaNs replaced, and the mask of where they were; None for dtypes that have none."""
    x = trace_of(a).array(a)
    if x.dtype.kind not in "fc":
        return x, None
    mask = np.isnan(x)
    if x.scalar or not x.ndim:
        return np.where(mask, x.dtype.type(value), x)[()], mask
    filled = x.copy(order="K")
    np.copyto(filled, value, where=mask)
    return filled, mask


def _divided(total: Any, count: Any, out: Any = None) -> Any:
    """A total over a count, in the total's dtype."""
    with np.errstate(invalid="ignore", divide="ignore"):
        if not total.scalar:
            return np.divide(total, count, out=total if out is None else out, casting="unsafe")
        if out is not None:
            return np.divide(total, count, out=out, casting="unsafe")
        return (total / count).astype(total.dtype)


def _check_inexact(x: TracedArray, dtype: Any, out: Any, name: str) -> None:
    if dtype is not None and not issubclass(np.dtype(dtype).type, np.inexact):
        getattr(np, name)(np.zeros(2, x.dtype), dtype=dtype)
    if out is not None and not issubclass(out.dtype.type, np.inexact):
        getattr(np, name)(np.zeros(2, x.dtype), out=np.empty((), out.dtype))


@implements(np.nanmean)
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = np._NoValue, *,
    where: Any = np._NoValue,
) -> Any:  # fmt: skip
    """np.nanmean."""
    x, mask = _replaced(a, 0)
    options = _options(keepdims=keepdims, where=where)
    if mask is None:
        return np.mean(x, axis=axis, dtype=dtype, out=out, **options)
    _check_inexact(x, dtype, out, "nanmean")
    count = np.sum(~mask, axis=axis, dtype=np.intp, **options)
    total = np.sum(x, axis=axis, dtype=dtype, out=out, **options)
    return _divided(total, count, out)


@implements(np.nanvar)
def nanvar(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = np._NoValue,
    *, where: Any = np._NoValue, mean: Any = np._NoValue, correction: Any = np._NoValue,
) -> Any:  # fmt: skip
    """np.nanvar: NaN where a slice has no more numbers than `ddof`."""
    x, mask = _replaced(a, 0)
    options = _options(where=where)
    if mask is None:
        rest = _options(keepdims=keepdims, mean=mean, correction=correction, where=where)
        return np.var(x, axis=axis, dtype=dtype, out=out, ddof=ddof, **rest)
    _check_inexact(x, dtype, out, "nanvar")
    if correction is not np._NoValue:
        if ddof != 0:
            np.nanvar([1.0], ddof=1, correction=1)
        ddof = correction
    count = np.sum(~mask, axis=axis, dtype=np.intp, keepdims=True, **options)
    if mean is np._NoValue:
        mean = _divided(np.sum(x, axis=axis, dtype=dtype, keepdims=True, **options), count)
    filled = (
        np.where(mask, 0, np.subtract(x, mean, casting="unsafe"))
        if not x.ndim
        else _deviations(x, mean, mask, options)
    )
    squares = np.real(filled * np.conjugate(filled)) if filled.dtype.kind == "c" else filled * filled
    total = np.sum(squares, axis=axis, dtype=dtype, out=out, **_options(keepdims=keepdims, where=where))
    if total.ndim < count.ndim:
        count = np.squeeze(count, axis if axis is None or type(axis) is int else tuple(axis))
    freedom = count - ddof
    result = _divided(total, freedom)
    none = freedom <= 0
    if result.scalar or not result.ndim:
        return (
            np.where(none, result.dtype.type(np.nan), result)[()] if out is None else _nan_into(result, none)
        )
    return _nan_into(result, none)


def _nan_into(result: Any, none: Any) -> Any:
    np.copyto(result, np.nan, where=none, casting="unsafe")
    return result


def _deviations(x: Any, mean: Any, mask: Any, options: dict[str, Any]) -> Any:
    np.subtract(x, mean, out=x, casting="unsafe", **options)
    np.copyto(x, 0, where=mask, casting="unsafe")
    return x


@implements(np.nanstd)
def nanstd(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: Any = 0, keepdims: Any = np._NoValue,
    **options: Any,
) -> Any:  # fmt: skip
    """np.nanstd: the square root of np.nanvar."""
    spread = nanvar(a, axis, dtype, out, ddof, keepdims, **options)
    return np.sqrt(spread) if spread.scalar else np.sqrt(spread, out=spread)


def _extremum(name: str, ufunc: np.ufunc) -> None:
    @implements(getattr(np, name))
    def handler(
        a: Any, axis: Any = None, out: Any = None, keepdims: Any = np._NoValue, initial: Any = np._NoValue,
        where: Any = np._NoValue,
    ) -> Any:  # fmt: skip
        x = trace_of(a, out).array(a)
        options = _options(keepdims=keepdims, initial=initial, where=where)
        return ufunc.reduce(x, axis=axis, out=out, **options)


_extremum("nanmax", np.fmax)
_extremum("nanmin", np.fmin)
run_bodies(np.nansum, np.nanprod, np.nancumsum, np.nancumprod)
