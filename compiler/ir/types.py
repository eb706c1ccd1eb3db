"""Types of values: arrays, Python numbers, tuples of them, random generators.

A type is frozen, compared by value and prints as the text form writes it (`f64[64,10]`, `float`).
It says nothing about memory: strides belong to plans. A NumPy scalar has the type of a 0-d array.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .record import record

DType = np.dtype[Any]

_SHORT_NAMES = {
    "?": "bool",
    "b": "i8",
    "h": "i16",
    "i": "i32",
    "l": "i64",
    "q": "i64",
    "B": "u8",
    "H": "u16",
    "I": "u32",
    "L": "u64",
    "Q": "u64",
    "e": "f16",
    "f": "f32",
    "d": "f64",
    "g": "longdouble",
    "F": "c64",
    "D": "c128",
    "G": "clongdouble",
}
_BY_NAME = {
    name: np.dtype(code)
    for code, name in reversed(_SHORT_NAMES.items())
    if code not in "qQ" or np.dtype(code).itemsize != np.dtype("l").itemsize
}


def supported(dtype: DType) -> bool:
    """Whether traced arrays may have this dtype: booleans, integers, floats and complex numbers."""
    return dtype.char in _SHORT_NAMES


def dtype_name(dtype: DType) -> str:
    """The short name of a dtype: `f64`, `i32`, `bool`; a byte-swapped one as NumPy spells it (`>f8`)."""
    return _SHORT_NAMES[dtype.char] if dtype.isnative else dtype.str


def parse_dtype(name: str) -> DType:
    """The inverse of `dtype_name`; raises KeyError for an unknown name."""
    return np.dtype(name) if name[0] in "<>" else _BY_NAME[name]


@record(slots=True)
class ArrayType:
    """An array or NumPy scalar of a fixed shape and dtype."""

    shape: tuple[int, ...]
    dtype: DType

    def __str__(self) -> str:
        return f"{dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        total = 1
        for length in self.shape:
            total *= length
        return total

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@record(slots=True)
class ScalarType:
    """A Python number: `bool`, `int`, `float` or `complex`; operations among them are Python's own."""

    kind: type

    def __str__(self) -> str:
        return self.kind.__name__

    @property
    def shape(self) -> tuple[int, ...]:
        return ()

    @property
    def dtype(self) -> DType:
        """The dtype NumPy gives to an array made from such a number."""
        return np.dtype(self.kind)


@record(slots=True)
class TupleType:
    """Several results of one op, read by `get`."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


@record(slots=True)
class GeneratorType:
    """The state of a random generator: draws are ordered by passing it along."""

    def __str__(self) -> str:
        return "generator"


Type = ArrayType | ScalarType | TupleType | GeneratorType

GENERATOR = GeneratorType()


def holds_generator(type_: Type) -> bool:
    """Whether values of this type hold a random generator: nodes of such a type are effects, never merged."""
    if isinstance(type_, TupleType):
        return any(isinstance(item, GeneratorType) for item in type_.items)
    return isinstance(type_, GeneratorType)


@lru_cache(maxsize=65536)
def array_type(shape: tuple[int, ...], dtype: DType) -> ArrayType:
    """The ArrayType of this shape and dtype; equal ones are usually the same object.

    Native code takes the bytes of an array for numbers, so the dtype has to be one that is supported.
    """
    if not supported(dtype):
        raise TypeError(f"no graph holds an array of dtype {dtype}")
    return ArrayType(shape, dtype)


_SCALAR_TYPES: dict[type, ScalarType] = {kind: ScalarType(kind) for kind in (bool, int, float, complex)}


def scalar_type(kind: type) -> ScalarType:
    """The ScalarType of this Python number class."""
    return _SCALAR_TYPES[kind]


def array_of(type_: Type) -> ArrayType | ScalarType:
    """The type itself when it has a shape and a dtype; a TypeError otherwise."""
    if isinstance(type_, (ArrayType, ScalarType)):
        return type_
    raise TypeError(f"expected an array or a number, got {type_}")
