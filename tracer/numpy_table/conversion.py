"""Conversions of traced values: asarray and its kin, array, full, and arrays laid out like others.

NumPy does not dispatch most of these, so nothing here is in the registry by itself: the creation functions
of a trace and NumPy's own Python bodies call them. A concrete array is taken in by reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ir.types import supported
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .creation import array_of_nested
from .registry import implements, refuse, trace_of
from .shape import astype


def _lifted(value: Any, dtype: Any) -> TracedArray:
    """A user's value as a traced array; nested lists and Python numbers straight in the wanted dtype."""
    trace = trace_of(value)
    kind = type(value)
    if kind is list or kind is tuple:
        return array_of_nested(trace, value, dtype)
    if kind is TracedNumber and dtype is not None:
        trace.builder.loc = trace.loc()
        return trace.fresh(trace.builder.cast(value.node, np.dtype(dtype)), np.empty((), dtype))
    if dtype is not None and kind in (bool, int, float, complex):
        return trace.constant(np.asarray(value, dtype))
    return trace.array(value)


def _as_array(trace: Trace, x: TracedArray, dtype: Any) -> TracedArray:
    """A NumPy scalar as a 0-d array in memory of its own."""
    if x.constant:
        return trace.constant(np.array(x.shadow, dtype))
    trace.builder.loc = trace.loc()
    return trace.fresh(trace.builder.cast(trace.operand(x), dtype), np.empty((), dtype))


def _ordered(x: TracedArray, order: str | None) -> bool:
    flags = x.shadow.flags
    return not ((order == "C" and not flags.c_contiguous) or (order == "F" and not flags.f_contiguous))


def array(
    object: Any,
    dtype: Any = None,
    *,
    copy: bool | None = True,
    order: str | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """`np.array`: a traced array, itself where NumPy would give the object itself."""
    wanted = None if dtype is None else np.dtype(dtype)
    x = _lifted(object, wanted)
    trace = x.owner
    wanted = x.dtype if wanted is None else wanted
    if not supported(wanted):
        raise refuse(f"an array of dtype {wanted}")
    same = not x.scalar and x.dtype == wanted and _ordered(x, order)
    if type(object) is not TracedArray:
        copy = None
    if copy is False and not same:
        np.array(
            np.empty((2, 2), x.dtype)[:, :1], dtype=np.dtype("c16" if x.dtype != "c16" else "f8"), copy=False
        )
    if x.scalar:
        x = _as_array(trace, x, wanted)
    elif copy or not same:
        x = astype(x, wanted, order=order or "K")
    if x.ndim < ndmin:
        x = x.reshape((1,) * (ndmin - x.ndim) + x.shape)
    return x


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    """`np.asarray`: the very array if it has the dtype and the order already."""
    return array(a, dtype, copy=copy, order=order)


def asanyarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    device: Any = None,
    copy: bool | None = None,
    like: Any = None,
) -> Any:
    """`np.asanyarray`: there are no subclasses among traced values."""
    return array(a, dtype, copy=copy, order=order)


def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """`np.ascontiguousarray`: C order and at least one axis."""
    return array(a, dtype, copy=None, order="C", ndmin=1)


def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """`np.asfortranarray`: Fortran order and at least one axis."""
    return array(a, dtype, copy=None, order="F", ndmin=1)


def asarray_chkfinite(a: Any, dtype: Any = None, order: str | None = None) -> Any:
    """`np.asarray_chkfinite` raises or not by the values: of a constant only."""
    x = asarray(a, dtype, order)
    if x.constant:
        np.asarray_chkfinite(x.shadow)
        return x
    raise refuse(
        "np.asarray_chkfinite",
        why="Whether it raises depends on the values.",
        fixes=[("", "np.asarray(x), and check the result in the caller")],
    )


_REQUIRED = {
    "C": "C", "C_CONTIGUOUS": "C", "CONTIGUOUS": "C", "F": "F", "F_CONTIGUOUS": "F", "FORTRAN": "F",
    "A": "A", "ALIGNED": "A", "W": "W", "WRITEABLE": "W", "O": "O", "OWNDATA": "O", "E": "E",
    "ENSUREARRAY": "E",
}  # fmt: skip


def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    """`np.require`: a copy where the array lacks what is asked for."""
    wanted = {_REQUIRED[name.upper()] for name in requirements or ()}
    if not wanted:
        return asanyarray(a, dtype)
    if {"C", "F"} <= wanted:
        raise ValueError('Cannot specify both "C" and "F" order')
    order = next((name for name in "FC" if name in wanted), "A")
    result = array(a, dtype, order=order, copy=None)
    has = {"W": result.shadow.flags.writeable, "O": result.shadow is result.storage.root}
    if all(has.get(name, True) for name in wanted):
        return result
    return result.copy(order)


@implements(np.empty_like)
def empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    **options: Any,
) -> Any:
    """np.empty_like: known memory (zeros) with the prototype's layout, to be written to."""
    return zeros_like(prototype, dtype, order, subok, shape)


def _model(prototype: Any) -> Any:
    """Something real with the shape, dtype and layout of a prototype."""
    trace = trace_of(prototype)
    return trace.array(prototype).shadow


@implements(np.zeros_like)
def zeros_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **options: Any
) -> Any:
    """np.zeros_like."""
    made = np.zeros_like(_model(a), dtype, order, False, shape)  # type: ignore[call-overload]
    return trace_of(a).constant(made)


@implements(np.ones_like)
def ones_like(
    a: Any, dtype: Any = None, order: str = "K", subok: bool = True, shape: Any = None, **options: Any
) -> Any:
    """np.ones_like."""
    made = np.ones_like(_model(a), dtype, order, False, shape)  # type: ignore[call-overload]
    return trace_of(a).constant(made)


@implements(np.full_like)
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: str = "K",
    subok: bool = True,
    shape: Any = None,
    **options: Any,
) -> Any:
    """np.full_like: the prototype may be concrete and the value traced."""
    if type(a) is np.ndarray:
        made: Any = trace_of(fill_value).constant(np.zeros_like(a, dtype, order, False, shape))  # type: ignore[call-overload]
    else:
        made = empty_like(a, dtype, order, False, shape)
    np.copyto(made, fill_value, casting="unsafe")
    return made


def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", *, device: Any = None, like: Any = None
) -> Any:
    """`np.full` with a traced value."""
    value = asarray(fill_value) if dtype is None else fill_value
    kind = value.dtype if dtype is None else np.dtype(dtype)
    made: Any = trace_of(fill_value).constant(np.zeros(shape, kind, order))  # type: ignore[call-overload]
    np.copyto(made, value, casting="unsafe")
    return made
