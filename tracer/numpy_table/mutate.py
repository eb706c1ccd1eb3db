"""Functions and methods that write into an array: copyto, put, place, putmask, fill, fill_diagonal and kin.

Each computes what the whole array holds afterwards, in NumPy's order of writing, and writes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber, add_methods
from .bodies import run_bodies
from .conversion import array
from .elementwise import store
from .indexing import assign
from .registry import implements, known, trace_of
from .support import destination, dummy


def _first(value: Any) -> Any:
    """Something real that casts as a lifted value does; a Python number is itself."""
    if type(value) is TracedNumber:
        return value.example
    if type(value) is TracedArray:
        return value.known() if value.constant and not value.ndim else np.zeros((), value.dtype)
    return value


@implements(np.copyto)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    """np.copyto: an assignment with a casting rule, under a mask if one is given."""
    trace = trace_of(dst, src, where)
    if src is dst and where is True:
        return
    target = destination(trace, dst, lambda a: np.copyto(a, np.zeros((), a.dtype)))
    source = trace.lift(src)
    np.copyto(np.empty((), target.dtype), _first(source), casting=casting)  # type: ignore[arg-type]
    # Python ints have to fit; all other numbers are cast as arrays are.
    source = array(source, target.dtype if type(_first(source)) is int else None, copy=None)
    if where is True:
        if source.shape != target.shape:
            np.copyto(np.empty(target.shape, target.dtype), dummy(source), casting="unsafe")
        assign(trace, target, source)
        return
    mask = trace.array(where)
    np.copyto(np.empty((), bool), np.zeros((), mask.dtype), where=np.zeros((), mask.dtype), casting="unsafe")
    np.copyto(np.empty(target.shape, target.dtype), dummy(source), where=dummy(mask), casting="unsafe")
    if target.constant and known(source) and mask.constant:
        target.shadow[...] = np.where(mask.known(), _known(source), target.shadow)
        target.storage.touched()
        return
    trace.builder.loc = trace.loc()
    store(trace, target, trace.operand(source), mask)


def _known(value: Any) -> Any:
    return value.known() if type(value) is TracedArray else value


def fill(array: TracedArray, value: Any) -> None:
    """`x.fill(value)`: a 0-d value, cast as an assignment casts it; on a NumPy scalar it does nothing."""
    trace = trace_of(array)
    if array.scalar:
        return
    target = destination(trace, array, lambda a: a.fill(0))
    source = trace.lift(value)
    if type(source) is TracedArray and source.ndim:
        np.empty(1, target.dtype).fill(np.zeros(source.shape, source.dtype))
    np.empty((), target.dtype).fill(_first(source))
    assign(trace, target, source)


def _written_flat(trace: Trace, target: TracedArray, values: Any) -> None:
    """Write the elements of a flat array, in C order, into the target."""
    store(trace, target, trace.builder.reshape(trace.operand(values), target.shape))


@implements(np.put)
def put(a: Any, ind: Any, v: Any, mode: Any = "raise") -> None:
    """np.put: flat positions, values repeated as needed."""
    trace = trace_of(a, ind, v)
    target = destination(trace, a, lambda a: np.put(a, [0], 0))
    strong = type(v) is np.ndarray or (type(v) is TracedArray and not v.scalar)
    places, values = trace.array(ind), trace.array(v) if strong else array(v, target.dtype, copy=None)
    if target.scalar:
        return
    np.put(np.empty(1, target.dtype), np.zeros((0,), places.dtype), np.zeros(1, values.dtype), mode)
    if not places.size or not values.size:
        np.put(
            np.empty(target.shape, target.dtype), np.zeros(places.shape, places.dtype), dummy(values), mode
        )
        return
    if not target.size:
        np.put(np.empty(0, target.dtype), np.zeros(1, int), 0, mode)
    places = places.reshape(-1).astype(np.intp, copy=False)
    if mode == "clip":
        places = np.clip(places, 0, target.size - 1)
    elif mode == "wrap":
        places = np.remainder(places, target.size)
    flat = target.flatten()
    flat[places] = np.resize(values, places.shape).astype(target.dtype)
    _written_flat(trace, target, flat)


def _check_cast(function: Any, target: TracedArray, values: Any) -> None:
    """Lists and scalars are made in the target's dtype; an array has to cast to it safely."""
    if type(values) is np.ndarray or (type(values) is TracedArray and not values.scalar):
        function(np.empty(1, target.dtype), np.zeros(1, bool), np.zeros(1, values.dtype))


@implements(np.putmask)
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    """np.putmask: element n becomes values[n % len(values)] where the mask holds."""
    trace = trace_of(a, mask, values)
    target = destination(trace, a, lambda a: np.putmask(a, np.ones(a.shape), 0))
    condition, source = trace.array(mask), array(values, target.dtype, copy=None)
    _check_cast(np.putmask, target, values)
    if condition.size != target.size:
        raise ValueError("putmask: mask and data must be the same size")
    if not source.size or not target.size:
        return
    whole = np.resize(source, target.size)
    chosen = np.where(condition.reshape(-1), whole, target.flatten())
    _written_flat(trace, target, chosen)


@implements(np.place)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """np.place: the selected elements become vals[0], vals[1], … in turn, and again from the start."""
    trace = trace_of(arr, mask, vals)
    target = destination(trace, arr, lambda a: np.place(a, np.ones(a.shape), [0]))
    condition, source = trace.array(mask).reshape(-1), array(vals, target.dtype, copy=None).reshape(-1)
    _check_cast(np.place, target, vals)
    if condition.size != target.size:
        raise ValueError("place: mask and data must be the same size")
    hits = condition if condition.dtype.kind == "b" else np.not_equal(condition, 0)
    if not source.size:
        np.place(np.empty(1, target.dtype), np.ones(1, bool), [])
    rank = np.cumsum(hits, dtype=np.intp) - 1
    values = source[np.remainder(rank, source.size)]
    _written_flat(trace, target, np.where(hits, values, target.flatten()))


run_bodies(np.put_along_axis, np.fill_diagonal, np.take_along_axis)
add_methods({"fill": fill, "put": np.put})
