"""Literal: a constant value inside a node's attrs, hashable and compared by its bytes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .types import ScalarType, Type, array_type, scalar_type


class Literal:
    """A constant: a Python number or a read-only array. Equal when type and bytes are equal."""

    __slots__ = ("_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        if isinstance(value, np.ndarray):
            data = value.tobytes() if value.size <= 4096 else id(value)
            self._key: tuple[Any, ...] = (value.dtype, value.shape, data)
        else:
            self._key = (type(value), repr(value))

    @classmethod
    def of(cls, value: Any) -> Literal:
        """A literal of a Python number (kept) or of anything array-like (copied, read-only)."""
        if type(value) in (bool, int, float, complex):
            return cls(value)
        array = np.array(value)
        array.flags.writeable = False
        return cls(array)

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
