"""The memory layout of results, asked of NumPy on miniatures.

NumPy chooses the order of a result's axes in memory by the order, contiguity and lengths 0 and 1 of the
operands' axes, not by how long they are. So the call is done on small arrays that agree with the operands
in these, and the order found is carried over: no page of a shadow is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..storage import Array

LONGEST = 3


def miniature(shadow: Array, longest: int = LONGEST, fill: Any = 1) -> Array:
    """A small array whose axes lie in memory in the shadow's order, with its contiguity and dtype.

    Axes longer than `longest` are cut to it; lengths 0 and 1 stay. Every element is `fill`.
    """
    shape = tuple(min(n, longest) for n in shadow.shape)
    if shadow.flags.c_contiguous and (shadow.size or shadow.ndim < 2):
        return np.full(shape, fill, shadow.dtype)
    strides = [0] * shadow.ndim
    step, reach = shadow.itemsize, shadow.itemsize
    exact = shadow.itemsize
    last = None
    for axis in sorted(range(shadow.ndim), key=lambda a: (abs(shadow.strides[a]), -a)):
        stride = abs(shadow.strides[axis])
        if not stride:
            continue
        if stride != last:
            step = reach if stride == exact else 2 * reach
            last = stride
        strides[axis] = step if shadow.strides[axis] > 0 else -step
        exact = stride * max(shadow.shape[axis], 1)
        reach = max(reach, step * max(shape[axis], 1))
    start = sum(-s * (n - 1) for s, n in zip(strides, shape, strict=True) if s < 0 and n)
    memory = np.full(reach * 2 // shadow.itemsize + 1, fill, shadow.dtype)
    return np.ndarray(shape, shadow.dtype, memory, start, strides)


def like(model: Array, shape: tuple[int, ...], dtype: Any) -> Array:
    """Fresh memory whose axes are ordered as those of the model, which has as many."""
    if model.flags.c_contiguous or len(shape) < 2:
        return np.empty(shape, dtype)
    order = sorted(range(model.ndim), key=lambda a: (-abs(model.strides[a]), a))
    made = np.empty([shape[axis] for axis in order], dtype)
    return made.transpose([order.index(axis) for axis in range(len(order))])


def layout_of(
    function: Callable[..., Any], shadows: Sequence[Array], shape: tuple[int, ...], dtype: Any
) -> Array:
    """Fresh memory laid out as the function's result for operands that lie in memory as these shadows."""
    if len(shape) < 2 or all(s.flags.c_contiguous for s in shadows):
        return np.empty(shape, dtype)
    with np.errstate(all="ignore"):
        model = function(*map(miniature, shadows))
    return like(model, shape, dtype) if model.ndim == len(shape) else np.empty(shape, dtype)
