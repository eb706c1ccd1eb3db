"""Sorting and searching: sort, partition, their positions, argmax and argmin, searchsorted, lexsort.

`x.sort()` and `x.partition()` write the sorted value into the array's memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace import Trace
from ..traced_array import TracedArray, add_methods
from .bodies import run_bodies
from .elementwise import store
from .registry import implements, trace_of
from .support import all_known, axis_of, destination, finish, fold, moved

KINDS = {None: None, "q": "quicksort", "h": "heapsort", "m": "mergesort", "s": "stable"}


def _prepare(a: Any, axis: Any) -> tuple[Trace, TracedArray, int]:
    """The operand and the axis to work along; axis None flattens."""
    trace = trace_of(a)
    x = trace.array(a)
    if axis is None:
        x, axis = x.flatten(), -1
    return trace, x, axis_of(axis, x.ndim)


def _kind(kind: Any, stable: Any) -> Any:
    if stable is not None and stable is not np._NoValue:
        if kind is not None:
            np.sort(np.zeros(2), kind=kind, stable=stable)
        kind = "stable" if stable else None
    if kind is not None:
        np.sort(np.zeros(2), kind=kind)
        kind = KINDS[kind[0].lower()]
    return kind


def _no_fields(order: Any) -> None:
    if order is not None:
        np.sort(np.zeros(2), order=order)


@implements(np.sort)
def sort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.sort: a sorted copy."""
    trace, x, axis = _prepare(a, axis)
    kind = _kind(kind, stable)
    _no_fields(order)
    if x.constant:
        return fold(trace, np.sort, x, axis, kind)
    trace.builder.loc = trace.loc()
    node = moved(trace, x, trace.builder.sort(trace.operand(x), axis=axis, kind=kind))
    return finish(trace, node, np.sort, [x.shadow], scalar=False)


@implements(np.argsort)
def argsort(a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> Any:
    """np.argsort: of a 0-d array as of one with one element."""
    trace, x, axis = _prepare(np.atleast_1d(a), axis)
    kind = _kind(kind, stable)
    _no_fields(order)
    if x.constant:
        return fold(trace, np.argsort, x, axis, kind)
    trace.builder.loc = trace.loc()
    node = trace.builder.argsort(trace.operand(x), axis=axis, kind=kind)
    return finish(trace, node, lambda v: np.argsort(v, axis), [x.shadow], scalar=False)


def _places(kth: Any, length: int) -> tuple[int, ...]:
    """The positions of a partition; raises NumPy's ValueError for one that is out of bounds."""
    given = np.asarray(kth)
    np.partition(np.zeros(length), given)
    return tuple(sorted({int(k) % length for k in given.reshape(-1)})) if length else ()


@implements(np.partition)
def partition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """np.partition with known positions."""
    trace, x, axis = _prepare(a, axis)
    _no_fields(order)
    if x.constant:
        return fold(trace, np.partition, x, np.asarray(kth), axis, kind)
    places = _places(kth, x.shape[axis])
    trace.builder.loc = trace.loc()
    node = trace.builder.partition(trace.operand(x), kth=places, axis=axis, kind=kind)
    node = moved(trace, x, node)
    return finish(trace, node, np.sort, [x.shadow], scalar=False)


@implements(np.argpartition)
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None) -> Any:
    """np.argpartition with known positions."""
    trace, x, axis = _prepare(np.atleast_1d(a), axis)
    _no_fields(order)
    if x.constant:
        return fold(trace, np.argpartition, x, np.asarray(kth), axis, kind)
    places = _places(kth, x.shape[axis])
    trace.builder.loc = trace.loc()
    node = trace.builder.argpartition(trace.operand(x), kth=places, axis=axis, kind=kind)
    return finish(trace, node, lambda v: np.argsort(v, axis), [x.shadow], scalar=False)


def _replace(array: Any, value: Any) -> None:
    """Write the result of a copying function into the array it was made from."""
    if array.constant:
        array.shadow[...] = value.shadow
        array.storage.touched()
    else:
        trace = trace_of(array)
        store(trace, array, trace.read(value))


def sort_in_place(
    array: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> None:
    """`x.sort()`."""
    target = destination(trace_of(array), array, lambda a: a.sort())
    axis_of(axis, target.ndim)
    _replace(target, sort(target, axis, kind, order, stable=stable))


def partition_in_place(
    array: Any, kth: Any, axis: Any = -1, kind: str = "introselect", order: Any = None
) -> None:
    """`x.partition(kth)`."""
    target = destination(trace_of(array), array, lambda a: a.partition(0))
    _replace(target, partition(target, kth, axis, kind, order))


def _argument(name: str, function: Any) -> None:
    @implements(function)
    def handler(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        trace = trace_of(a, out)
        x = trace.array(a)
        keepdims = keepdims is not np._NoValue and bool(keepdims)
        if x.constant and out is None:
            return fold(trace, function, x, axis, keepdims=keepdims)
        flat = x.ravel() if axis is None or not x.ndim else x
        place = 0 if axis is None else axis_of(axis, flat.ndim)
        if not flat.shape[place]:
            function(np.empty(flat.shape), axis=place)
        trace.builder.loc = trace.loc()
        node = getattr(trace.builder, name)(trace.operand(flat), axis=place)
        if keepdims:
            kept = tuple(1 if axis is None or k == place else n for k, n in enumerate(x.shape))
            node = trace.builder.reshape(node, kept)
        return finish(trace, node, lambda v: function(v, axis=axis, keepdims=keepdims), [x.shadow], out)

    handler.__name__ = name


_argument("argmax", np.argmax)
_argument("argmin", np.argmin)


@implements(np.searchsorted)
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    """np.searchsorted: both are compared in their common dtype."""
    trace = trace_of(a, v, sorter)
    given = [trace.lift(o) for o in (a, v)] + ([] if sorter is None else [trace.array(sorter)])
    if all_known(given):
        return fold(trace, np.searchsorted, *given[:2], side, *given[2:])
    edges, values, *order = [trace.array(o) for o in given]
    common = np.promote_types(edges.dtype, values.dtype)
    dummies = [np.zeros(edges.shape, edges.dtype), np.zeros((), values.dtype)]
    check: Any = np.searchsorted
    check(*dummies, side=side, sorter=None if not order else np.zeros(order[0].shape, order[0].dtype))
    trace.builder.loc = trace.loc()
    b = trace.builder
    nodes = [b.cast(trace.operand(o), common) for o in (edges, values)]
    node = b.searchsorted(
        *nodes, *map(trace.operand, order), side=("right" if str(side)[0] in "rR" else "left")
    )
    return trace.result(node)


@implements(np.lexsort)
def lexsort(keys: Any, axis: Any = -1) -> Any:
    """np.lexsort."""
    trace = trace_of(*(keys if type(keys) in (list, tuple) else [keys]))
    rows = list(keys) if type(keys) is TracedArray else [trace.array(k) for k in keys]
    if all_known(rows):
        return fold(trace, np.lexsort, rows, axis)
    np.lexsort([np.empty((0, *r.shape[1:]) if r.ndim else (), r.dtype) for r in rows], axis)
    if any(r.shape != rows[0].shape for r in rows):
        np.lexsort([np.empty(r.shape, r.dtype) for r in rows], axis)
    if not rows[0].ndim:
        return trace.constant(np.lexsort([np.zeros((), r.dtype) for r in rows]))
    trace.builder.loc = trace.loc()
    node = trace.builder.lexsort(*map(trace.operand, rows), axis=axis_of(axis, rows[0].ndim))
    return finish(trace, node, lambda *v: np.lexsort(v, axis), [r.shadow for r in rows])


run_bodies(np.sort_complex, np.digitize)


add_methods(
    {
        "sort": sort_in_place,
        "partition": partition_in_place,
        "argsort": np.argsort,
        "argpartition": np.argpartition,
        "argmax": np.argmax,
        "argmin": np.argmin,
        "searchsorted": np.searchsorted,
    }
)
