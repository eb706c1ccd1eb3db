"""Joining and repeating: concatenate, stack, repeat, roll; the rest of the family runs NumPy's own bodies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..trace import PYTHON_NUMBERS, Trace
from ..traced_array import TracedArray, TracedNumber, add_methods
from .bodies import replaces, run_bodies
from .conversion import array
from .layout import like, miniature
from .registry import implements, trace_of
from .shape import rewrap
from .support import all_known, axis_of, dummy, finish, fold, moved, out_array


@replaces(np.concatenate.__wrapped__)  # type: ignore[attr-defined]
def undispatched_concatenate(arrays: Any, *args: Any, **kwargs: Any) -> Any:
    """What np.block calls to do without dispatch."""
    return concatenate(arrays, *args, **kwargs)


def _operands(trace: Trace, arrays: Any) -> list[Any]:
    """The arrays to be joined, lifted; Python numbers stay numbers, being weak where they are allowed."""
    if type(arrays) is TracedArray:
        return list(arrays)
    return [v if type(v) in PYTHON_NUMBERS else trace.lift(v) for v in arrays]


def _stand_in(value: Any) -> Any:
    if type(value) is TracedNumber:
        return value.model
    return miniature(value.shadow) if type(value) is TracedArray else value


@implements(np.concatenate, np.concat)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """np.concatenate; with axis None of the flattened arrays."""
    trace = trace_of(*(arrays if type(arrays) in (list, tuple) else [arrays]), out)
    operands = _operands(trace, arrays)
    options: dict[str, Any] = {"dtype": dtype, "casting": casting}
    if out is None and all_known(operands):
        return fold(trace, np.concatenate, operands, axis=axis, **options)
    flat = axis is None
    if not flat:
        _check_shapes(operands, axis)
    target = None if out is None else out_array(trace, out)
    minis = [_stand_in(v) for v in operands]
    model = np.concatenate(minis, axis=axis, **options)
    if target is not None:
        np.concatenate(minis, axis=axis, out=np.empty(model.shape, target.dtype), casting=casting)  # type: ignore[call-overload]
    trace.builder.loc = trace.loc()
    b = trace.builder
    parts = [trace.array(v) for v in operands]
    if flat:
        parts = [p.ravel() for p in parts]
    place = 0 if flat else axis_of(axis, parts[0].ndim)
    if target is not None:
        return _into(target, parts, place, operands, axis)
    node = b.concatenate(*(b.cast(trace.operand(p), model.dtype) for p in parts), axis=place)
    return trace.fresh(node, like(model, node.shape, node.dtype))


def _into(target: TracedArray, parts: list[TracedArray], place: int, operands: list[Any], axis: Any) -> Any:
    """Part after part written to `out=`, which may overlap a later part."""
    shape = list(parts[0].shape)
    shape[place] = sum(p.shape[place] for p in parts)
    if target.shape != tuple(shape):
        np.concatenate([dummy(v) for v in operands], axis=axis, out=np.empty(target.shape, target.dtype))
    start = 0
    for part in parts:
        stop = start + part.shape[place]
        target[(slice(None),) * place + (slice(start, stop),)] = part
        start = stop
    return target


def _check_shapes(operands: Sequence[Any], axis: Any) -> None:
    """Raise what NumPy raises for shapes that do not fit, before anything is allocated."""
    shapes = [v.shape if type(v) is TracedArray else () for v in operands]
    first = shapes[0] if shapes else ()
    if first and all(len(s) == len(first) for s in shapes):
        place = axis_of(axis, len(first))
        if all(s[:place] + s[place + 1 :] == first[:place] + first[place + 1 :] for s in shapes):
            return
    np.concatenate([dummy(v) if type(v) is TracedArray else np.zeros(()) for v in operands], axis=axis)


@implements(np.repeat)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    """np.repeat with known counts: the size of the result depends on them."""
    trace = trace_of(a, repeats)
    x = trace.array(a)
    counts = repeats.__index__() if type(repeats) is TracedNumber else repeats
    if type(counts) is TracedArray:
        counts = np.asarray(counts)
    if x.constant:
        return fold(trace, np.repeat, x, counts, axis)
    if axis is None:
        x, axis = x.reshape(-1), 0
    mini = miniature(x.shadow, longest=1)
    axis = axis_of(axis, x.ndim)
    length = np.repeat(np.zeros(x.shape[axis], bool), counts).size
    given = np.asarray(counts)
    plain = int(given.reshape(-1)[0]) if given.size == 1 else tuple(given.tolist())
    trace.builder.loc = trace.loc()
    node = moved(trace, x, trace.builder.repeat(trace.operand(x), repeats=plain, axis=axis))
    assert node.shape[axis] == length
    return trace.fresh(node, like(np.repeat(mini, 1, axis), node.shape, node.dtype))


@implements(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """np.roll by known shifts."""
    trace = trace_of(a)
    x = trace.array(a)
    if x.constant:
        return fold(trace, np.roll, x, _static(shift), _static(axis))
    if axis is None:
        return roll(x.ravel(), shift, 0).reshape(x.shape)
    pairs = np.broadcast(_static(shift), _normal_axes(_static(axis), x.ndim))
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    total: dict[int, int] = {}
    for count, place in pairs:
        total[int(place)] = total.get(int(place), 0) + int(count)
    axes = tuple(sorted(total))
    trace.builder.loc = trace.loc()
    node = trace.operand(x)
    if axes:
        node = trace.builder.roll(node, shift=tuple(total[k] for k in axes), axes=axes)
    node = moved(trace, x, node)
    return finish(trace, node, lambda v: np.roll(v, 1, 0 if v.ndim else None), [x.shadow], scalar=False)


@implements(np.broadcast_arrays)
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    """np.broadcast_arrays: views of one shape; the very arrays where they have it already."""
    trace = trace_of(*args)
    arrays = [array(a, copy=None) for a in args]
    views = np.broadcast_arrays(*(a.shadow for a in arrays))
    return tuple(rewrap(trace, a, v) for a, v in zip(arrays, views, strict=True))


def _normal_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    from numpy.lib.array_utils import normalize_axis_tuple

    return normalize_axis_tuple(axis, ndim, allow_duplicate=True)


def _static(value: Any) -> Any:
    """A shift, axis or count that has to be known now."""
    if type(value) in (list, tuple):
        return tuple(_static(v) for v in value)
    if type(value) is TracedNumber:
        return value.__index__()
    return np.asarray(value) if type(value) is TracedArray else value


run_bodies(
    np.stack, np.vstack, np.hstack, np.dstack, np.column_stack, np.block, np.append, np.insert, np.delete,
    np.tile, np.pad, np.meshgrid, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.resize, np.tril,
    np.triu, np.diag, np.diagflat, np.vander, np.ix_, np.diag_indices_from, np.tril_indices_from,
    np.triu_indices_from, np.kron,
)  # fmt: skip

add_methods({"repeat": np.repeat})
