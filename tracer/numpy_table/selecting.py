"""Selecting elements: take, choose, select, compress, extract; what has a data-dependent size is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np

from ..errors import DataDependentShapeError
from ..promote import broadcast_shape
from ..trace import PYTHON_NUMBERS, Trace
from ..traced_array import TracedArray, TracedNumber, add_methods
from .bodies import BODIES, lifted, run_bodies, transplanted
from .elementwise import store
from .registry import implements, trace_of
from .support import all_known, axis_of, fold, moved, out_array


@implements(np.take)
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    """np.take: elements by position along an axis, or of the flat array; always in C order."""
    trace = trace_of(a, indices, out)
    x, places = trace.array(a), _indices(trace, indices)
    if out is None and all_known(x, places):
        return fold(trace, np.take, x, places, axis, mode=mode)
    if axis is None:
        x, axis = x.reshape(-1), 0
    elif not x.ndim:
        axis_of(axis, 1)
        x, axis = x.reshape(1), 0
    axis = axis_of(axis, x.ndim)
    np.take(np.zeros(1, x.dtype), np.zeros(0, places.dtype), mode=mode)  # type: ignore[call-overload]
    if not x.shape[axis] and places.size:
        np.take(np.empty(x.shape, x.dtype), np.zeros(places.shape, int), axis)
    if places.constant and mode == "raise":
        line = np.zeros((1,) * axis + (x.shape[axis],), bool)
        np.take(line, places.known(), axis)
    trace.builder.loc = trace.loc()
    positions = trace.builder.cast(trace.operand(places), np.dtype(np.intp))
    node = trace.builder.take(trace.operand(x), positions, axis=axis, mode=mode)
    if out is not None:
        target = out_array(trace, out)
        if target.shape != node.shape:
            np.take(np.zeros(1), np.zeros(node.shape, int), out=np.empty(target.shape))
        store(trace, target, node)
        return target
    return trace.result(moved(trace, x, node))


def _indices(trace: Trace, indices: Any) -> TracedArray:
    """Positions as an array; an empty list is one of integers."""
    if type(indices) in (list, tuple) and not len(indices):
        return trace.constant(np.zeros(0, np.intp))
    return trace.array(indices)


@implements(np.choose)
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """np.choose."""
    options = list(choices) if type(choices) in (list, tuple, TracedArray) else [choices]
    trace = trace_of(a, out, *options)
    index = trace.array(a)
    given = [trace.lift(c) for c in options]
    if out is None and all_known(index, given):
        return fold(trace, np.choose, index, given, mode=mode)
    arrays = [trace.array(c) for c in given]
    numbers = [c.model if type(c) is TracedNumber else c for c in given]
    minis = [
        c if type(c) in PYTHON_NUMBERS else np.zeros((1,) * v.ndim, v.dtype)
        for c, v in zip(numbers, arrays, strict=True)
    ]
    model = np.choose(np.zeros((1,) * index.ndim, index.dtype), minis, mode=mode)  # type: ignore[call-overload]
    shape = _common(np.choose, index, arrays)
    trace.builder.loc = trace.loc()
    b = trace.builder
    nodes = [b.broadcast_to(b.cast(trace.operand(v), model.dtype), shape) for v in arrays]
    places = b.broadcast_to(b.cast(trace.operand(index), np.dtype(np.intp)), shape)
    node = b.choose(places, *nodes, mode=mode)
    if out is not None:
        target = out_array(trace, out)
        if target.shape != shape:
            raise ValueError("choose: invalid shape for output array.")
        store(trace, target, node)
        return target
    return trace.result(node)


def _common(function: Any, index: TracedArray, arrays: list[TracedArray]) -> tuple[int, ...]:
    try:
        return broadcast_shape([index.shadow, *(v.shadow for v in arrays)])
    except ValueError:
        function(np.zeros(index.shape, int), [np.empty(v.shape) for v in arrays])
        raise


def data_dependent(what: str, fixes: list[tuple[str, str]]) -> Any:
    """The refusal of a result whose size depends on values."""
    return trace_of().error(
        DataDependentShapeError,
        f"the size of the result of {what} depends on traced values",
        why="A compiled function has results of fixed shapes.",
        fixes=fixes,
    )


_MASKED = [("per element", "np.where(mask, x, other)"), ("a reduction", "np.sum(x, where=mask)")]


@implements(np.compress)
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    """np.compress by a known condition."""
    trace = trace_of(condition, a, out)
    mask = trace.array(condition)
    if not mask.constant:
        raise data_dependent("np.compress", _MASKED)
    if mask.ndim != 1:
        np.compress(np.zeros(mask.shape), [1.0])
    return take(a, trace.constant(np.flatnonzero(mask.known())), axis, out)


@implements(np.extract)
def extract(condition: Any, arr: Any) -> Any:
    """np.extract by a known condition."""
    trace = trace_of(condition, arr)
    mask = trace.array(condition)
    if not mask.constant:
        raise data_dependent("np.extract", _MASKED)
    return take(trace.array(arr).ravel(), trace.constant(np.flatnonzero(mask.known())))


@implements(np.argwhere)
def argwhere(a: Any) -> Any:
    """np.argwhere of what is known."""
    trace = trace_of(a)
    x = trace.array(a)
    if x.constant:
        return fold(trace, np.argwhere, x)
    raise data_dependent("np.argwhere", [("the first place", "np.argmax(mask)")])


@implements(np.flatnonzero)
def flatnonzero(a: Any) -> Any:
    """np.flatnonzero of what is known."""
    trace = trace_of(a)
    x = trace.array(a)
    if x.constant:
        return fold(trace, np.flatnonzero, x)
    raise data_dependent("np.flatnonzero", [("the first place", "np.argmax(mask)")])


run_bodies(np.apply_along_axis, np.apply_over_axes)


def _type(value: Any) -> type:
    """The class of a value, by which np.select knows Python numbers: they are weak, traced ones too."""
    return type(value.example) if type(value) is TracedNumber else type(value)


@cache
def _select() -> Callable[..., Any]:
    found = transplanted(np.select._implementation)  # type: ignore[attr-defined]
    return FunctionType(found.__code__, {**found.__globals__, "type": _type}, "select", found.__defaults__)


@implements(np.select)
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """np.select: NumPy's own body."""
    return _select()(lifted(condlist), lifted(choicelist), lifted(default))


BODIES.add(np.select)
add_methods({"take": np.take, "choose": np.choose})
