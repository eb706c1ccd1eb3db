"""Literal: a constant value inside a node's attrs, hashable and compared by its bytes and its layout.

The layout counts because NumPy's results, and with them the rounding of later sums, follow it.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from .types import ScalarType, Type, array_type, scalar_type


def axis_order(array: Any) -> tuple[int, ...]:
    """The axes from the largest stride to the smallest: (0, 1, ...) in C order, length 1 comes last."""
    if array.flags.c_contiguous:
        return tuple(range(array.ndim))
    return tuple(
        sorted(range(array.ndim), key=lambda axis: (array.shape[axis] == 1, -abs(array.strides[axis])))
    )


def exact_bytes(array: Any) -> bytes:
    """The bytes of an array in C order; the padding inside x86's long doubles is zeroed."""
    if array.dtype.char in "gG" and np.finfo(np.longdouble).nmant == 63:
        array = np.array(array, order="C")
        array.reshape(-1).view(np.uint8).reshape(-1, np.dtype("g").itemsize)[:, 10:] = 0
    return bytes(array.tobytes())


def _number_key(value: Any) -> Any:
    """Tells -0.0 from 0.0 and every NaN from every other."""
    if isinstance(value, float):
        return struct.pack("<d", value)
    if isinstance(value, complex):
        return struct.pack("<dd", value.real, value.imag)
    return value


class Literal:
    """A constant: a Python number or a read-only array. Equal when type, bytes and axis order are."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        if isinstance(value, np.ndarray):
            data = exact_bytes(value) if value.size <= 4096 else id(value)
            self._key: tuple[Any, ...] = (value.dtype, value.shape, axis_order(value), data)
        else:
            self._key = (type(value), _number_key(value))

    @classmethod
    def of(cls, value: Any) -> Literal:
        """A literal of a Python number (kept) or of anything array-like (copied, read-only)."""
        if type(value) in (bool, int, float, complex):
            return cls(value)
        array = np.array(value)
        array.flags.writeable = False
        return cls(array)

    def same_value(self, other: Literal) -> bool:
        """Equality that looks at every byte; `==` tells large arrays apart by identity."""
        if self == other:
            return True
        mine, its = self.value, other.value
        if not isinstance(mine, np.ndarray) or not isinstance(its, np.ndarray):
            return False
        return self._key[:3] == other._key[:3] and exact_bytes(mine) == exact_bytes(its)

    @property
    def type(self) -> Type:
        if isinstance(self.value, np.ndarray):
            return array_type(self.value.shape, self.value.dtype)
        return scalar_type(type(self.value))

    @property
    def is_number(self) -> bool:
        return isinstance(self.type, ScalarType)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Literal) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __lt__(self, other: Literal) -> bool:
        return repr(self._key) < repr(other._key)

    def __repr__(self) -> str:
        return f"Literal({self.value!r})"
