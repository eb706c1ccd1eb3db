"""The arena: one aligned piece of memory, and arrays that are windows on it."""

from __future__ import annotations

from typing import Any

import numpy as np

ALIGNMENT = 64
Array = np.ndarray[Any, np.dtype[Any]]


class Arena:
    """`nbytes` of memory that starts at a multiple of 64 bytes.

    The operating system gives the pages when they are first written to; NumPy asks it for huge pages where
    the arena is large enough.
    """

    def __init__(self, nbytes: int) -> None:
        memory = np.empty(nbytes + ALIGNMENT, np.uint8)
        start = -memory.ctypes.data % ALIGNMENT
        self.memory: Array = memory[start : start + nbytes]

    def array(self, shape: tuple[int, ...], dtype: Any, offset: int, strides: tuple[int, ...]) -> Array:
        """The window of this shape, dtype, byte offset of element 0, and byte strides."""
        return np.ndarray(shape, dtype, self.memory, offset, strides)


def empty(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None) -> Array:
    """A new array that owns its memory, in C order or with these strides.

    Strides with gaps or of negative sign are not those of any new array of NumPy's; such a result is a view
    of new memory that spans them.
    """
    if strides is None:
        return np.empty(shape, dtype)
    dtype = np.dtype(dtype)
    if all(stride >= 0 for stride in strides):
        dense = sorted((s, n) for s, n in zip(strides, shape, strict=True) if n != 1)
        step = dtype.itemsize
        for stride, length in dense:
            if stride != step:
                break
            step *= length
        else:
            return np.ndarray(shape, dtype, strides=strides)
    low = sum(min((n - 1) * s, 0) for n, s in zip(shape, strides, strict=True))
    high = sum(max((n - 1) * s, 0) for n, s in zip(shape, strides, strict=True))
    memory = np.empty(high - low + dtype.itemsize, np.uint8)
    return np.ndarray(shape, dtype, memory, -low, strides)


def window(array: Array, shape: tuple[int, ...], dtype: Any, offset: int, strides: tuple[int, ...]) -> Array:
    """A window on the memory of any array, `offset` bytes from its element 0."""
    if array.flags.f_contiguous:
        array = array.T
    if array.flags.c_contiguous:
        return np.ndarray(shape, dtype, array, offset, strides)
    interface = dict(array.__array_interface__)
    interface.update(
        shape=shape,
        strides=strides,
        typestr=np.dtype(dtype).str,
        data=(interface["data"][0] + offset, False),
        descr=[("", np.dtype(dtype).str)],
    )
    return np.asarray(_Foreign(interface, array))


class _Foreign:
    """An array interface that keeps its owner alive."""

    def __init__(self, interface: dict[str, Any], owner: Array) -> None:
        self.__array_interface__ = interface
        self.owner = owner
