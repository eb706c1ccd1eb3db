"""Advanced indexing: integer arrays gather and scatter, boolean masks select.

The basic part of an index is applied as a view first; what is left are index arrays at axes of that view.
A mask that is known becomes index arrays; a traced one gives a Selection, whose size nobody knows yet.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ir.types import array_type
from ..promote import operand_node
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .creation import assigned_node, assigned_value
from .registry import concrete, is_traced, known, trace_of
from .selection import Selection, is_mask, mask_of


def gather(array: TracedArray, index: Any) -> Any:
    """`array[index]` where the index holds arrays or lists."""
    trace = trace_of(array)
    given = _expanded(array, index)
    parts = _arrays(trace, given)
    # With an Ellipsis an element comes as an array of no axes.
    whole = any(p is Ellipsis for p in (index if type(index) is tuple else (index,)))
    if any(is_mask(p) and not known(p) for p in parts):
        view, mask, behind = _masked_view(trace, array, parts)
        return Selection(_as_it_is(trace, view), _as_it_is(trace, mask), behind)
    if array.constant and all(known(p) for p in parts if is_traced(p)):
        found = array.known()[tuple(concrete(p) for p in parts)]
        return trace.constant(np.asarray(found) if whole else found)
    layout = _stand_in(array, parts)[tuple(_concrete_index(p) for p in parts)]
    view, axes, indices = _split(array, parts)
    trace.builder.loc = trace.loc()
    nodes = [trace.builder.cast(trace.operand(i), np.dtype(np.intp)) for i in indices]
    node = trace.builder.gather(trace.read(view), *nodes, axes=axes)
    if isinstance(layout, np.generic):
        made = trace.fresh(node, np.empty((), array.dtype), scalar=not whole)
    else:
        made = trace.fresh(node, _owned(layout))
    if all(map(_gives_view, given)):
        made.shadow.flags.writeable = False
    return made


def _gives_view(part: Any) -> bool:
    """Whether NumPy gives a view for a part of an index: what is copied instead is not to be written to."""
    if type(part) is TracedArray:
        return part.scalar and part.dtype.kind in "iu"
    return (
        part is None
        or type(part) is slice
        or (isinstance(part, (int, np.integer)) and type(part) is not bool)
    )


def _as_it_is(trace: Trace, view: TracedArray) -> TracedArray:
    """What a window shows now, in memory of its own: later writes do not reach it."""
    return trace.fresh(trace.read(view), np.empty_like(view.shadow, subok=False), scalar=view.scalar)


def scatter(array: TracedArray, index: Any, value: Any) -> None:
    """`array[index] = value` where the index holds arrays or lists."""
    trace = trace_of(array)
    parts = _arrays(trace, _expanded(array, index))
    lifted = value if type(value) is Selection else assigned_value(trace, value, array.dtype)
    if is_mask(parts[0]) and (type(index) is not tuple or len(index) == 1):
        _check_under_mask(array, parts[0], lifted)
    if any(is_mask(p) and not known(p) for p in parts):
        mask_write(trace, *_masked_view(trace, array, parts), lifted)
        return
    if type(lifted) is Selection:
        raise lifted.refuse("writing it through another index")
    plain = tuple(_concrete_index(p) for p in parts)
    if array.constant and known(lifted) and all(known(p) for p in parts if is_traced(p)):
        array.shadow[plain] = concrete(lifted)
        array.storage.touched()
        return
    shape = np.shape(_stand_in(array, parts)[plain])
    _check_value(array.shape, array.dtype, lifted, plain)
    view, axes, indices = _split(array, parts)
    trace.builder.loc = trace.loc()
    b = trace.builder
    if type(lifted) is TracedArray and not any(i.ndim for i in indices):
        # As with integers for indices: the value is assigned, not made an array first.
        node = assigned_node(trace, lifted, array.dtype)
    else:
        node = value_node(trace, lifted, array.dtype)
    if len(node.shape) > len(shape):
        node = b.reshape(node, node.shape[len(node.shape) - len(shape) :])
    node = b.broadcast_to(node, shape)
    nodes = [b.cast(trace.operand(i), np.dtype(np.intp)) for i in indices]
    trace.write(view, b.scatter(trace.read(view), node, *nodes, axes=axes))


def value_node(trace: Trace, value: Any, dtype: Any) -> Any:
    """A lifted value as an assignment to several elements casts it."""
    if type(value) is TracedArray:
        return trace.builder.cast(trace.operand(value), dtype)
    if type(value) is TracedNumber:
        return trace.builder.cast(value.node, dtype)
    scratch = np.empty((), dtype)
    scratch[...] = value
    return operand_node(trace, trace.constant(scratch), dtype)


def mask_write(trace: Trace, view: TracedArray, mask: TracedArray, behind: int, value: Any) -> None:
    """`view[mask] = value` under a traced mask: a where; `behind` as in `_masked_view`."""
    b = trace.builder
    trace.check_writeable(view)
    condition = mask_of(trace, mask, view.shape)
    trace.builder.loc = trace.loc()
    if type(value) is Selection:
        if trace.operand(value.mask) is not trace.operand(mask) or value.behind != behind:
            raise value.refuse("writing it under another mask")
        node = value_node(trace, value.array, view.dtype)
    else:
        node = _values_under(trace, view, mask, behind, assigned_value(trace, value, view.dtype))
    trace.write(view, b.where(condition, b.broadcast_to(node, view.shape), trace.read(view)))


def _values_under(trace: Trace, view: TracedArray, mask: TracedArray, behind: int, value: Any) -> Any:
    """The node of values for the places that a mask selects, to be broadcast to the view.

    NumPy broadcasts them to (axes before, the selected ones, axes behind). One for each selected place is
    gathered by the place's rank.
    """
    b = trace.builder
    given = np.shape(value)
    axis = len(given) - behind - 1
    if axis < 0:
        _check_value(view.shape, view.dtype, value)
        return value_node(trace, value, view.dtype)
    lengths = view.shape[mask.ndim :]
    ahead = len(lengths) - behind
    count = given[axis]
    _check_value((*lengths[:ahead], count, *lengths[ahead:]), view.dtype, value)
    # Axes of length 1 that are too many in front go.
    shape = given[max(axis - ahead, 0) :]
    axis = min(axis, ahead)
    node = b.reshape(value_node(trace, value, view.dtype), shape)
    if count == 1:
        return b.reshape(node, shape[:axis] + shape[axis + 1 :])
    ranks = b.mask_ranks(
        trace.operand(mask),
        shape=(*lengths[:ahead], *mask.shape, *lengths[ahead:]),
        axis=ahead,
        values=shape,
    )
    if not count:
        return b.gather(b.zeros(array_type((1, *lengths), view.dtype)), ranks, axes=(0,))
    others = [k for k in range(len(shape)) if k != axis]
    node = b.transpose(node, axes=(axis, *others))
    node = b.reshape(node, (count, *(1,) * (ahead - axis), *(shape[k] for k in others)))
    return b.gather(b.broadcast_to(node, (count, *lengths)), ranks, axes=(0,))


def _check_under_mask(array: TracedArray, mask: TracedArray, value: Any) -> None:
    """Let NumPy raise where a value of several axes is written under a mask over the whole array."""
    if type(value) is not Selection and mask.ndim and mask.shape == array.shape and np.ndim(value) > 1:
        np.empty(mask.shape)[np.zeros(mask.shape, bool)] = np.zeros(np.shape(value))


# ---- taking an index apart


def _expanded(array: TracedArray, index: Any) -> list[Any]:
    """The parts of an index, one or more axes each, with the Ellipsis and what is missing filled in."""
    parts = list(index) if type(index) is tuple else [index]
    used = sum(_axes_used(p) for p in parts)
    places = [i for i, p in enumerate(parts) if p is Ellipsis]
    if len(places) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    missing = [slice(None)] * max(array.ndim - used, 0)
    at = places[0] if places else len(parts)
    return [*parts[:at], *missing, *parts[at + 1 :]]


def _axes_used(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    if type(part) is slice or type(part) in (int, TracedNumber):
        return 1
    if type(part) is TracedArray:
        return part.ndim if part.dtype == np.dtype(bool) else 1
    array = np.asarray(part) if not _holds_traced(part) else None
    return array.ndim if array is not None and array.dtype == bool else 1


def _holds_traced(part: Any) -> bool:
    from .creation import contains_traced

    return contains_traced(part)


def _arrays(trace: Trace, parts: list[Any]) -> list[Any]:
    """Slices and None as they are, everything else as traced arrays of integers or booleans."""
    made: list[Any] = []
    for part in parts:
        if part is None or type(part) is slice:
            made.append(part)
            continue
        lifted = (
            trace.array(part)
            if not (type(part) is list and not part)
            else trace.constant(np.empty(0, np.intp))
        )
        if lifted.dtype.kind not in "iub":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
        made.append(lifted)
    return made


def _concrete_index(part: Any) -> Any:
    """A real index of the same shape: the true one where it is known, zeros where it is not."""
    if type(part) is not TracedArray:
        return part
    if part.constant:
        return part.known()
    return part.dtype.type(0) if part.scalar else np.zeros(part.shape, part.dtype)


def _stand_in(array: TracedArray, parts: list[Any]) -> Any:
    """The array's shadow, with length at least 1 along axes that traced indices address."""
    return array.shadow


def _owned(layout: Any) -> Any:
    return layout if layout.base is None else np.empty_like(layout, subok=False)


def _split(array: TracedArray, parts: list[Any]) -> tuple[TracedArray, tuple[int, ...], list[TracedArray]]:
    """The view that the basic parts give, the axes of it that index arrays address, and these arrays."""
    trace = trace_of(array)
    basic: list[Any] = []
    axes: list[int] = []
    indices: list[TracedArray] = []
    for part in parts:
        if type(part) is not TracedArray:
            basic.append(part)
            continue
        if part.dtype == np.dtype(bool) and not part.ndim:
            # True is a new axis of length 1, False one of length 0.
            axes.append(len(basic))
            indices.append(trace.constant(np.zeros(int(part.known()), np.intp)))
            basic.append(None)
            continue
        arrays = [part]
        if part.dtype == np.dtype(bool):
            arrays = [trace.constant(i) for i in np.nonzero(part.shadow)]
        for one in arrays:
            axes.append(len(basic))
            indices.append(one)
            basic.append(slice(None))
    view: Any = array if all(p is not None and p == slice(None) for p in basic) else array[tuple(basic)]
    return view, tuple(axes), indices


def _masked_view(trace: Trace, array: TracedArray, parts: list[Any]) -> tuple[TracedArray, TracedArray, int]:
    """The view, the traced mask over its leading axes, and how many axes NumPy puts behind the selected ones.

    Other index arrays beside the mask are refused.
    """
    masks = [p for p in parts if is_mask(p)]
    others = [p for p in parts if type(p) is TracedArray and not is_mask(p)]
    if len(masks) > 1 or any(p.ndim or not p.constant for p in others):
        raise Selection(array, masks[0], 0).refuse("an index array beside a traced mask")
    mask = masks[0]
    basic: list[Any] = []
    position = 0
    for part in parts:
        if part is mask:
            position = len([b for b in basic if not isinstance(b, np.integer)])
            basic += [slice(None)] * mask.ndim
        else:
            basic.append(part if type(part) is not TracedArray else np.intp(part.known()))
    # With the Ellipsis it is a view of no axes where otherwise it would be an element.
    view: TracedArray = array[(*basic, Ellipsis)]
    if position:
        moved: Any = np.moveaxis
        view = moved(view, range(position, position + mask.ndim), range(mask.ndim))
    if view.shape[: mask.ndim] != mask.shape:
        np.empty(view.shape)[np.zeros(mask.shape, bool)]
    # Integers apart from the mask bring the selected ones to the front.
    places = [k for k, part in enumerate(parts) if type(part) is TracedArray]
    adjacent = places[-1] - places[0] == len(places) - 1
    return view, mask, view.ndim - mask.ndim - (position if adjacent else 0)


def _check_value(shape: tuple[int, ...], dtype: Any, value: Any, index: Any = ...) -> None:
    """Let NumPy raise its own error for a value whose shape or dtype does not fit."""
    if type(value) is TracedNumber:
        value = value.example
    scratch = np.empty((), dtype)
    source = value.shadow if type(value) is TracedArray else value
    scratch[...] = np.zeros((), source.dtype) if isinstance(source, np.ndarray) else source
    target = np.broadcast_to(scratch, shape)[index]
    lead = np.ndim(source) - np.ndim(target)
    trailing = np.shape(source)[max(lead, 0) :]
    fits = all(n in (1, m) for n, m in zip(trailing[::-1], np.shape(target)[::-1], strict=False))
    if not fits or any(n != 1 for n in np.shape(source)[: max(lead, 0)]):
        np.empty(shape, dtype)[index] = np.zeros(np.shape(source), dtype)
