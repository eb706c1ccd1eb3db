"""Arithmetic of byte strides, and what NumPy itself says about the layout of results.

Strides of axes of length 1 mean nothing. What NumPy's iterator would allocate is asked of the iterator, once
for each combination of strides; nothing is computed and no page of memory is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

Strides = tuple[int, ...]
Shape = tuple[int, ...]


@lru_cache(maxsize=65536)
def c_strides(shape: Shape, itemsize: int) -> Strides:
    """The strides of a C-contiguous array; an axis without elements counts as one of length 1."""
    strides = [itemsize] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * (shape[axis + 1] or 1)
    return tuple(strides)


def f_strides(shape: Shape, itemsize: int) -> Strides:
    """The strides of a Fortran-contiguous array."""
    return c_strides(shape[::-1], itemsize)[::-1]


def same_layout(shape: Shape, first: Strides, second: Strides) -> bool:
    """Whether two strides mean the same memory for this shape."""
    return first == second or all(a == b or n <= 1 for a, b, n in zip(first, second, shape, strict=True))


def is_contiguous(shape: Shape, strides: Strides) -> bool:
    """Whether the strides are C-contiguous for some item size."""
    axes = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    return all(s == n_next * s_next for (_, s), (n_next, s_next) in pairwise(axes)) and (
        not axes or axes[-1][1] > 0
    )


def extent(shape: Shape, strides: Strides, itemsize: int) -> tuple[int, int]:
    """The first byte and the byte after the last, counted from element 0; (0, 0) for no elements."""
    low, high = 0, itemsize
    for length, stride in zip(shape, strides, strict=True):
        if not length:
            return 0, 0
        reach = (length - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high


def example(shape: Shape, strides: Strides) -> Any:
    """An array of bytes with these strides whose values mean nothing; its memory is never touched."""
    low, high = extent(shape, strides, 1)
    return np.ndarray(shape, "V1", np.empty(high - low, np.uint8), -low, strides)


def iteration_order(shape: Shape, itemsize: int, operands: tuple[Strides, ...]) -> Strides:
    """The strides of the result that NumPy allocates for operands of one shape (ufuncs, where)."""
    axes = tuple(range(len(shape)))
    return reduced_order(shape, itemsize, tuple((strides, axes) for strides in operands), len(shape))


@lru_cache(maxsize=8192)
def reduced_order(
    shape: Shape, itemsize: int, operands: tuple[tuple[Strides, tuple[int, ...]], ...], kept: int
) -> Strides:
    """The strides of a result that is allocated over the first `kept` axes of an iteration of this shape.

    Each operand is given as its strides and, for each axis of the iteration, the operand's axis there, -1
    where it has none.
    """
    if 0 in shape or not kept:
        return c_strides(shape[:kept], itemsize)
    arrays = []
    for strides, axes in operands:
        lengths = {axis: shape[place] for place, axis in enumerate(axes) if axis >= 0}
        arrays.append(example(tuple(lengths[axis] for axis in range(len(strides))), strides))
    places: list[Any] = [list(axes) for _, axes in operands]
    places.append([axis if axis < kept else -1 for axis in range(len(shape))])
    flags: list[Any] = ["refs_ok", "reduce_ok", "external_loop", "buffered", "delay_bufalloc"]
    roles: list[Any] = [["readonly"]] * len(arrays) + [["readwrite", "allocate"]]
    dtypes: list[Any] = [np.dtype("V1")] * len(arrays) + [np.dtype(f"V{itemsize}")]
    iterator = np.nditer([*arrays, None], flags, roles, dtypes, "K", op_axes=places)
    return iterator.operands[-1].strides


@lru_cache(maxsize=8192)
def like_order(shape: Shape, strides: Strides, itemsize: int) -> Strides:
    """The strides of a copy with order "K": dense, the axes in the order of their strides."""
    order = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    if is_contiguous(shape, strides):
        order = list(range(len(shape)))
    elif is_contiguous(shape[::-1], strides[::-1]):
        order.sort(reverse=True)
    return dense(shape, order, itemsize)


def dense(shape: Shape, order: Sequence[int], itemsize: int) -> Strides:
    """The strides of an array without gaps whose axes lie in this order, the outermost first."""
    result = [0] * len(shape)
    step = itemsize
    for axis in reversed(order):
        result[axis] = step
        step *= shape[axis] or 1
    return tuple(result)


@lru_cache(maxsize=8192)
def joined_order(shape: Shape, itemsize: int, operands: tuple[tuple[Shape, Strides], ...]) -> Strides:
    """The strides of a concatenation: axes sorted by insertion, two compared by the operands that tell.

    The algorithm of NumPy's PyArray_CreateMultiSortedStridePerm.
    """
    order: list[int] = []
    for axis in range(len(shape)):
        place = len(order)
        for candidate in range(len(order) - 1, -1, -1):
            verdict = _outer(axis, order[candidate], operands)
            if verdict is True:
                place = candidate
            elif verdict is False:
                break
        order.insert(place, axis)
    return dense(shape, order, itemsize)


def _outer(axis: int, other: int, operands: tuple[tuple[Shape, Strides], ...]) -> bool | None:
    """Whether `axis` lies outside `other`, which has the lower number; None where no operand tells."""
    verdict: bool | None = None
    for shape, strides in operands:
        if shape[axis] != 1 and shape[other] != 1:
            if abs(strides[axis]) <= abs(strides[other]):
                return False
            verdict = True
    return verdict


@lru_cache(maxsize=65536)
def reshape_strides(shape: Shape, strides: Strides, result: Shape, itemsize: int) -> Strides | None:
    """The strides that show the elements, in C order, in another shape; None where a copy is needed.

    The algorithm of NumPy's reshape: axes are matched in groups of equal product, and each group of the old
    ones must be contiguous in itself.
    """
    if strides == c_strides(shape, itemsize):
        return c_strides(result, itemsize)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    made: list[int] = []
    position = start = 0
    while start < len(result):
        stop = start + 1
        if result[start] == 1:
            made.append(itemsize)
            start = stop
            continue
        length, (reach, stride) = result[start], old[position]
        position += 1
        while length != reach:
            if length < reach:
                length *= result[stop]
                stop += 1
            else:
                count, inner = old[position]
                if stride != count * inner:
                    return None
                reach, stride = reach * count, inner
                position += 1
        made += [step * stride for step in c_strides(result[start:stop], 1)]
        start = stop
    return tuple(made)
