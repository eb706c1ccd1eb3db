"""Indexing: basic indices are views, index arrays gather and scatter, masks select without a size."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .creation import assigned_node, assigned_value
from .elementwise import store
from .registry import implements, refuse, trace_of
from .shape import rewrap

_BASIC = (int, slice, type(None), type(Ellipsis), np.int64, np.intp)


def _plain(index: Any) -> Any:
    """An index with traced Python ints and constants turned into what NumPy takes."""
    kind = type(index)
    if kind is tuple:
        return tuple(_plain(i) for i in index)
    if kind is slice:
        return slice(_bound(index.start), _bound(index.stop), _bound(index.step))
    if kind is TracedNumber:
        return operator.index(index)
    if kind is TracedArray and index.constant and index.scalar:
        return index.known()
    return index


def _bound(value: Any) -> Any:
    return value if value is None or type(value) is int else operator.index(value)


def is_basic(index: Any) -> bool:
    """Whether NumPy gives a view or an element for this index."""
    parts = index if type(index) is tuple else (index,)
    return all(type(p) in _BASIC or (type(p) is not TracedArray and isinstance(p, np.integer)) for p in parts)


def getitem(array: TracedArray, index: Any) -> Any:
    """`array[index]`."""
    trace = trace_of(array)
    trace.check(array)
    index = _plain(index)
    if not is_basic(index):
        from .advanced import gather

        return gather(array, index)
    shadow = array.shadow[index] if not array.scalar else array.shadow[()][index]
    if isinstance(shadow, np.generic):
        if array.constant:
            return trace.constant(array.known()[index])
        if array.scalar:
            return array
        element = element_view(trace, array, index)
        return trace.fresh(trace.read(element), np.empty((), array.dtype), scalar=True)
    if array.scalar:
        if array.constant:
            return trace.constant(shadow)
        return trace.fresh(trace.builder.reshape(trace.read(array), shadow.shape), shadow)
    return rewrap(trace, array, shadow)


def element_view(trace: Trace, array: TracedArray, index: Any) -> TracedArray:
    """The 0-d view of one element."""
    parts = index if type(index) is tuple else (index,)
    if not any(p is Ellipsis for p in parts):
        parts = (*parts, Ellipsis)
    view: TracedArray = rewrap(trace, array, array.shadow[parts])
    return view


def setitem(array: TracedArray, index: Any, value: Any) -> None:
    """`array[index] = value`."""
    trace = trace_of(array)
    trace.check(array)
    if array.scalar:
        array.known()[index] = 0
    index = _plain(index)
    trace.check_writeable(array)
    if not is_basic(index):
        from .advanced import scatter

        scatter(array, index, value)
        return
    parts = index if type(index) is tuple else (index,)
    element = not any(p is Ellipsis for p in parts)
    target = rewrap(trace, array, array.shadow[(*parts, Ellipsis) if element else parts])
    lifted = assigned_value(trace, value, array.dtype)
    if element and not target.ndim and type(lifted) is TracedArray and lifted.ndim:
        # An element takes no sequence; which errors there are depends on the version of NumPy.
        np.zeros(1, array.dtype)[0] = np.zeros(lifted.shape, lifted.dtype)
    assign(trace, target, lifted)


def assign(trace: Trace, target: TracedArray, value: Any) -> None:
    """Write a user's value into a window as `target[...] = value` does."""
    lifted = assigned_value(trace, value, target.dtype)
    if target.constant and not _dependent(lifted):
        target.shadow[...] = lifted.known() if type(lifted) is TracedArray else lifted
        target.storage.touched()
        return
    source = _example(lifted)
    np.empty((0,), target.dtype)[...] = source if np.ndim(source) == 0 else source.reshape(-1)[:0]
    if np.ndim(source) > target.ndim:
        lead = source.shape[: np.ndim(source) - target.ndim]
        if any(n != 1 for n in lead):
            np.empty(target.shape, target.dtype)[...] = np.empty(source.shape, target.dtype)
        lifted = lifted.reshape(source.shape[len(lead) :])
    if (
        np.broadcast_shapes(np.shape(source)[-target.ndim :] if target.ndim else (), target.shape)
        != target.shape
    ):
        np.empty(target.shape, target.dtype)[...] = np.empty(source.shape, target.dtype)
    trace.builder.loc = trace.loc()
    if type(lifted) is TracedArray:
        node = assigned_node(trace, lifted, target.dtype)
    elif type(lifted) is TracedNumber:
        node = trace.builder.cast(lifted.node, target.dtype)
    else:
        scratch = np.empty((), target.dtype)
        scratch[...] = lifted
        node = trace.builder.constant(scratch)
    store(trace, target, node)


def _dependent(value: Any) -> bool:
    return type(value) is TracedNumber or (type(value) is TracedArray and not value.constant)


def _example(value: Any) -> Any:
    if type(value) is TracedArray:
        return value.shadow
    return value.example if type(value) is TracedNumber else value


@implements(np.nonzero)
def nonzero(a: Any) -> Any:
    """np.nonzero: of a value known while tracing only."""
    trace = trace_of(a)
    x = trace.array(a)
    if x.constant:
        return tuple(trace.constant(i) for i in np.nonzero(x.shadow))
    raise refuse(
        "np.nonzero",
        why="The size of its result depends on the values.",
        fixes=[("", "np.where(mask, a, b), or sums and means with where=mask")],
    )


class Flat:
    """`x.flat`: the elements in C order, readable and writeable by index."""

    __slots__ = ("array",)

    def __init__(self, array: TracedArray) -> None:
        self.array = array

    def _whole(self) -> Any:
        return np.ravel(self.array)

    def __len__(self) -> int:
        return self.array.size

    def __iter__(self) -> Any:
        return iter(self._whole())

    def __getitem__(self, index: Any) -> Any:
        result = self._whole()[index]
        return result if result.scalar else result.copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        from .conversion import array

        if self.array.scalar:
            # NumPy writes into an array made for the purpose.
            np.empty(1, self.array.dtype).flat[index] = 0
            return
        shape = np.shape(np.empty(self.array.size, bool)[index])
        strong = isinstance(value, (np.ndarray, np.generic))
        source = self.array.owner.array(value) if strong else array(value, self.array.dtype, copy=None)
        if not shape and source.size != 1:
            raise ValueError("Error setting single item of array.")
        if not source.size:
            return
        if source.storage is self.array.storage and np.may_share_memory(source.shadow, self.array.shadow):
            raise refuse(
                "writing an array's own elements into its x.flat",
                why="NumPy writes one after the other, and reads what it has just written.",
                fixes=[("", "x.flat = x[::-1].copy()")],
            )
        whole = self._whole()
        whole[index] = np.resize(source, shape) if shape else source if source.ndim == 0 else source.flat[0]
        if whole.storage is not self.array.storage:
            self.array[...] = whole.reshape(self.array.shape)

    def copy(self) -> Any:
        """The elements as an array of one axis."""
        return self.array.flatten()
