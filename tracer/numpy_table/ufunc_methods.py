"""`ufunc.outer`, `ufunc.at` and `ufunc.reduceat`.

`reduce` stands in reduce.py, `accumulate` in cumulative.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace import Trace
from ..traced_array import TracedArray
from .advanced import _arrays, _concrete_index, _expanded, _masked_view, _split
from .elementwise import call
from .indexing import is_basic
from .registry import implements, known, refuse, trace_of
from .selection import is_mask
from .support import all_known, axis_of, finish, fold


@implements("outer")
def outer(ufunc: np.ufunc, a: Any, b: Any, /, **options: Any) -> Any:
    """`ufunc.outer`: the first operand gets an axis of length 1 for each axis of the second."""
    trace = trace_of(a, b)
    left, right = trace.array(a), trace.array(b)
    if ufunc.nin != 2:
        ufunc.outer(1.0, 1.0)
    if left.scalar or not left.ndim:
        left = left.reshape((1,) * right.ndim)
        result = call(ufunc, left, right, **options)
        return result
    return call(ufunc, left[(..., *(None,) * right.ndim)], right, **options)


@implements("at")
def at(ufunc: np.ufunc, a: Any, indices: Any, b: Any = None, /) -> None:
    """`ufunc.at`: in place and once for each time a place is named."""
    trace = trace_of(a, indices, b)
    target = trace.lift(a)
    if type(target) is not TracedArray or target.scalar:
        raise TypeError("first operand must be array")
    trace.check_writeable(target)
    operands = [] if b is None else [trace.array(b)]
    _check(ufunc, target, operands)
    if is_basic(indices):
        whole = indices if type(indices) is tuple else (indices,)
        view = target[whole if any(p is Ellipsis for p in whole) else (*whole, ...)]
        call(ufunc, view, *operands, out=view, casting="unsafe")
        return
    parts = _arrays(trace, _expanded(target, indices))
    if target.constant and all_known(operands) and all(known(p) for p in parts if type(p) is TracedArray):
        plain = tuple(p.known() if type(p) is TracedArray else p for p in parts)
        ufunc.at(target.shadow, plain, *(o.known() for o in operands))
        target.storage.touched()
        return
    _at_places(trace, ufunc, target, parts, operands)


def _check(ufunc: np.ufunc, target: TracedArray, operands: list[Any]) -> None:
    """Let NumPy raise for dtypes without a loop, casts that are not allowed, a wrong number of operands."""
    ones = [np.ones((), o.dtype) for o in operands]
    with np.errstate(all="ignore"):
        ufunc.at(np.ones(1, target.dtype), np.zeros(1, int), *ones)


def _at_places(
    trace: Trace, ufunc: np.ufunc, target: TracedArray, parts: list[Any], operands: list[Any]
) -> None:
    if any(is_mask(p) and not known(p) for p in parts):
        _at_mask(trace, ufunc, target, parts, operands)
        return
    target.shadow[tuple(map(_concrete_index, parts))]  # raises NumPy's IndexError
    view, axes, indices = _split(target, parts)
    trace.builder.loc = trace.loc()
    b = trace.builder
    nodes = [b.cast(trace.operand(i), np.dtype(np.intp)) for i in indices]
    seen = b.gather(trace.read(view), *nodes, axes=axes)
    if any(_misfits(o.shape, seen.shape) for o in operands):
        raise ValueError("array is not broadcastable to correct shape")
    computed = ufunc.resolve_dtypes((target.dtype, *(o.dtype for o in operands), None))
    stepwise = computed[0] != target.dtype
    values = [
        b.broadcast_to(trace.operand(o) if stepwise else b.cast(trace.operand(o), target.dtype), seen.shape)
        for o in operands
    ]
    if ufunc is np.add and not stepwise:
        node = b.scatter_add(trace.read(view), *values, *nodes, axes=axes)
    else:
        node = b.ufunc_at(trace.read(view), *values, *nodes, ufunc=ufunc.__name__, axes=axes)
    trace.write(view, node)


def _misfits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a shape does not broadcast to another."""
    try:
        return np.broadcast_shapes(shape, target) != target
    except ValueError:
        return True


def _at_mask(
    trace: Trace, ufunc: np.ufunc, target: TracedArray, parts: list[Any], operands: list[Any]
) -> None:
    """Under a traced mask no place is named twice: a `where`, if the operand is one number."""
    if any(o.ndim for o in operands):
        raise refuse(
            f"np.{ufunc.__name__}.at with an array under a traced mask",
            fixes=[("", "np.where(mask, np.… , x)")],
        )
    view, mask, _ = _masked_view(trace, target, parts)
    rest = (1,) * (view.ndim - mask.ndim)
    call(ufunc, view, *operands, out=view, where=mask.reshape(mask.shape + rest), casting="unsafe")


@implements("reduceat")
def reduceat(
    ufunc: np.ufunc, array: Any, indices: Any, axis: Any = 0, dtype: Any = None, out: Any = None
) -> Any:
    """`ufunc.reduceat`: a reduction of each segment."""
    trace = trace_of(array, indices, out)
    x, starts = trace.array(array), trace.array(indices)
    if out is None and all_known(x, starts):
        return fold(trace, ufunc.reduceat, x, starts, axis, dtype)
    if not x.ndim or starts.ndim != 1 or starts.dtype.kind not in "iu":
        ufunc.reduceat(np.ones(x.shape, x.dtype), np.zeros(starts.shape, starts.dtype), axis)
    place = axis_of(axis, x.ndim)
    if starts.constant:
        wrong = np.ones([n if k == place else 1 for k, n in enumerate(x.shape)], x.dtype)
        ufunc.reduceat(wrong, starts.known(), axis, dtype)
    asked = None if dtype is None else np.dtype(dtype)
    trace.builder.loc = trace.loc()
    node = trace.builder.reduceat(
        trace.operand(x), trace.builder.cast(trace.operand(starts), np.dtype(np.intp)),
        ufunc=ufunc.__name__, axis=place, dtype=asked,
    )  # fmt: skip
    return finish(trace, node, lambda v: ufunc.reduceat(v, [0], axis=place), [x.shadow], out)
