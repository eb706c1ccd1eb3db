"""Grids, interpolation and finite differences: linspace, geomspace, interp, gradient, piecewise.

NumPy looks at values in these to take another path (steps of zero, evenly spaced coordinates, functions per
branch); here both paths are computed and `where` chooses, to the bit.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..trace import PYTHON_NUMBERS
from ..traced_array import TracedArray
from .bodies import ArrayConverter, body, replaces, run_bodies
from .conversion import asarray
from .registry import implements, known, trace_of
from .support import concrete


@implements(np.linspace)
def linspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, retstep: bool = False, dtype: Any = None,
    axis: int = 0, *, device: Any = None,
) -> Any:  # fmt: skip
    """np.linspace between traced ends; the number of points is known."""
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    trace = trace_of(start, stop)
    div = num - 1 if endpoint else num
    converter = ArrayConverter(start, stop)
    first, last = converter.as_arrays()
    kind = converter.result_type(ensure_inexact=True)
    wanted = kind if dtype is None else np.dtype(dtype)
    delta = np.subtract(last, first, dtype=type(kind))
    y = trace.constant(np.arange(0, num, dtype=kind).reshape((-1,) + (1,) * delta.ndim))
    step: Any = np.nan
    if div > 0:
        step = delta / div
        unit = y / div
        none = np.equal(step, 0) if step.scalar else np.any(np.equal(step, 0))
        y = np.where(none, unit * delta, y * step)
    else:
        y = y * delta
    y += first
    if endpoint and num > 1:
        y[-1, ...] = last
    if axis != 0:
        y = np.moveaxis(y, 0, axis)
    if np.issubdtype(wanted, np.integer):
        np.floor(y, out=y)
    y = converter.wrap(y.astype(wanted, copy=False))
    return (y, step) if retstep else y


@implements(np.geomspace)
def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: Any = True, dtype: Any = None, axis: int = 0
) -> Any:
    """np.geomspace between traced ends; where NumPy refuses an end of zero, there are NaNs."""
    first, last = asarray(start), asarray(stop)
    kind = np.result_type(first, last, float(num), np.zeros((), dtype))
    wanted = kind if dtype is None else np.dtype(dtype)
    first, last = first.astype(kind, copy=True), last.astype(kind, copy=True)
    sign = np.sign(first)
    first = first / sign
    last = last / sign
    result = np.logspace(np.log10(first), np.log10(last), num=num, endpoint=endpoint, base=10.0, dtype=kind)
    if num > 0:
        result[0] = first
        if num > 1 and endpoint:
            result[-1] = last
    result *= sign
    if axis != 0:
        result = np.moveaxis(result, 0, axis)
    return result.astype(wanted, copy=False)


# ---- interp


def _loops() -> tuple[Any, Any]:
    """The C functions that np.interp ends in, for real and for complex heights."""
    from numpy._core import multiarray

    return multiarray.interp, multiarray.interp_complex


@replaces(*_loops())
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """The primitive `interp`; traced values for the outside are chosen afterwards."""
    trace = trace_of(x, xp, fp)
    at, places, heights = (trace.array(v) for v in (x, xp, fp))
    loop = _loops()[heights.dtype.kind == "c"]
    loop(*(np.ones((1,) * min(v.ndim, 1), v.dtype) for v in (at, places, heights)))
    if places.ndim != 1 or heights.ndim != 1 or not places.size or places.shape != heights.shape:
        loop(np.zeros(at.shape), np.zeros(places.shape), np.zeros(heights.shape))
    kind = np.dtype("c16" if heights.dtype.kind == "c" else "f8")
    sides = [None if side is None else trace.lift(side) for side in (left, right)]
    fixed = [_number(side, kind) if side is not None and known(side) else None for side in sides]
    trace.builder.loc = trace.loc()
    b = trace.builder
    node = b.interp(
        b.cast(trace.operand(at), np.dtype("f8")), b.cast(trace.operand(places), np.dtype("f8")),
        b.cast(trace.operand(heights), kind), left=fixed[0], right=fixed[1],
    )  # fmt: skip
    result: Any = trace.fresh(node, np.empty(node.shape, node.dtype))
    for side, beyond in zip(sides, (np.less(at, places[0]), np.greater(at, places[-1])), strict=True):
        if side is not None and not known(side):
            result = np.where(beyond, side, result)
    return result[()] if not result.ndim else result


def _number(value: Any, kind: Any) -> Any:
    """A known value for the outside as a Python number."""
    number = concrete(value)
    return complex(number) if kind.kind == "c" else float(number)


# ---- gradient

_gradient = body(np.gradient)


@implements(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """np.gradient: coordinates that are traced may be evenly spaced or not, so both formulas are computed."""
    x = trace_of(f, *varargs).array(f)
    spacings = [v if type(v) in (int, float) else trace_of(f, *varargs).array(v) for v in varargs]
    if all(type(v) is not TracedArray or not v.ndim or v.constant for v in spacings):
        return _gradient(x, *varargs, axis=axis, edge_order=edge_order)
    axes = tuple(range(x.ndim)) if axis is None else _axes(axis, x.ndim)
    if len(spacings) not in (1, len(axes)) or any(np.ndim(v) > 1 for v in spacings):
        return _gradient(x, *(_like(v) for v in spacings), axis=axis, edge_order=edge_order)
    spacings = spacings * len(axes) if len(spacings) == 1 else spacings
    results = [_one_axis(x, v, place, edge_order) for v, place in zip(spacings, axes, strict=True)]
    return results[0] if len(axes) == 1 else tuple(results)


def _axes(axis: Any, ndim: int) -> tuple[int, ...]:
    from numpy.lib.array_utils import normalize_axis_tuple

    return normalize_axis_tuple(axis, ndim)


def _like(value: Any) -> Any:
    return np.arange(value.size, dtype=float).reshape(value.shape) if type(value) is TracedArray else value


def _one_axis(x: Any, spacing: Any, axis: int, edge_order: int) -> Any:
    if type(spacing) is not TracedArray or not spacing.ndim:
        return _gradient(x, spacing, axis=axis, edge_order=edge_order)
    if spacing.size != x.shape[axis]:
        return _gradient(x, x.owner.constant(_like(spacing)), axis=axis, edge_order=edge_order)
    if spacing.dtype.kind in "iu":
        spacing = spacing.astype(np.float64)
    steps = np.diff(spacing)
    uneven = _uneven(x, steps, axis, edge_order)
    even = _gradient(x, steps[0], axis=axis, edge_order=edge_order)
    return np.where(np.all(np.equal(steps, steps[0])), even, uneven)


def _uneven(x: Any, steps: Any, axis: int, edge_order: int) -> Any:
    """Second order inside, first or second at the edges, for steps of any length."""
    if x.dtype.kind in "iub":
        x = x.astype(np.float64)
    out = np.zeros_like(x)
    lead = (slice(None),) * axis
    shape = tuple(-1 if k == axis else 1 for k in range(x.ndim))

    def at(place: Any) -> Any:
        return x[(*lead, place)]

    h1, h2 = steps[:-1], steps[1:]
    a = (-h2 / (h1 * (h1 + h2))).reshape(shape)
    b = ((h2 - h1) / (h1 * h2)).reshape(shape)
    c = (h1 / (h2 * (h1 + h2))).reshape(shape)
    inner = a * at(slice(None, -2)) + b * at(slice(1, -1)) + c * at(slice(2, None))
    out[(*lead, slice(1, -1))] = inner
    if edge_order == 1:
        out[(*lead, 0)] = (at(1) - at(0)) / steps[0]
        out[(*lead, -1)] = (at(-1) - at(-2)) / steps[-1]
        return out
    h1, h2 = steps[0], steps[1]
    a, b, c = -(2.0 * h1 + h2) / (h1 * (h1 + h2)), (h1 + h2) / (h1 * h2), -h1 / (h2 * (h1 + h2))
    out[(*lead, 0)] = a * at(0) + b * at(1) + c * at(2)
    h1, h2 = steps[-2], steps[-1]
    a, b, c = h2 / (h1 * (h1 + h2)), -(h2 + h1) / (h1 * h2), (2.0 * h2 + h1) / (h2 * (h1 + h2))
    out[(*lead, -1)] = a * at(-3) + b * at(-2) + c * at(-1)
    return out


# ---- piecewise


@implements(np.piecewise)
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """np.piecewise: each function sees the elements of its condition, whose number is not known."""
    a = asarray(x)
    if np.isscalar(condlist) or (type(condlist[0]) is not list and not np.ndim(condlist[0]) and a.ndim):
        condlist = [condlist]
    conditions = [asarray(c, bool) for c in condlist]
    if len(conditions) == len(funclist) - 1:
        rest = ~np.any(np.stack(conditions), axis=0)
        conditions.append(rest)
    elif len(conditions) != len(funclist):
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    result = np.zeros_like(a)
    for condition, function in zip(conditions, funclist, strict=True):
        result = _branch(a, result, condition, function, args, kw)
    return result


def _branch(
    a: TracedArray, result: Any, condition: Any, function: Any, args: tuple[Any, ...], kw: dict[str, Any]
) -> Any:
    if not a.ndim:
        value = function(a.reshape(1), *args, **kw)[0] if callable(function) else function
        if type(value) in PYTHON_NUMBERS:
            np.empty((), a.dtype)[...] = value
        return np.where(condition, asarray(value).astype(a.dtype), result)
    if not callable(function):
        result[condition] = function
    elif not condition.constant or condition.shadow.any():
        result[condition] = function(a[condition], *args, **kw)
    return result


run_bodies(
    np.logspace, np.interp, np.polyadd, np.polysub, np.polyval, np.polyder, np.polyint,
)  # fmt: skip
