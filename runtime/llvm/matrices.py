"""How the matrices of a product lie in memory: their stacks, their places, what BLAS makes of them."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.ir.record import replace
from ...compiler.ir.types import ArrayType
from ...compiler.plan import Value
from . import blas

# A base and a byte offset from it.
Argument = tuple[int, int]
Strides = tuple[int, ...]


def turned(value: Value) -> Value:
    """A stack of matrices seen transposed."""
    assert isinstance(value.type, ArrayType)
    assert value.strides is not None
    *stack, rows, columns = value.type.shape
    *far, row, column = value.strides
    return replace(
        value, type=ArrayType((*stack, columns, rows), value.type.dtype), strides=(*far, column, row)
    )


def merged(lengths: Sequence[int], strides: Sequence[Strides]) -> list[tuple[int, Strides]]:
    """Axes of a stack with the strides of all operands; neighbours are one where all lie in a row."""
    found: list[tuple[int, Strides]] = []
    for axis, length in enumerate(lengths):
        steps = tuple(s[axis] for s in strides)
        if length == 1:
            continue
        if found and found[-1][1] == tuple(length * step for step in steps):
            found[-1] = found[-1][0] * length, steps
        else:
            found.append((length, steps))
    return found


def moved(places: Sequence[Argument], index: tuple[int, ...], strides: Sequence[Strides]) -> list[Argument]:
    """The places of operands at an index, each with strides of its own."""
    return [
        (base, offset + sum(i * s for i, s in zip(index, own, strict=True)))
        for (base, offset), own in zip(places, strides, strict=True)
    ]


def orientation(value: Value) -> tuple[int, int] | None:
    """How BLAS reads a matrix, as it is or transposed, and the distance of its rows; None where it cannot."""
    assert value.strides is not None
    assert isinstance(value.type, ArrayType)
    size = value.type.dtype.itemsize
    rows, columns = value.type.shape[-2:]
    row, column = value.strides[-2:]
    if row % size or column % size:
        return None
    if (column == size or columns == 1) and (row >= columns * size or rows == 1):
        return blas.NO_TRANSPOSE, max(row // size, columns, 1) if rows > 1 else max(columns, 1)
    if (row == size or rows == 1) and (column >= rows * size or columns == 1):
        return blas.TRANSPOSE, max(column // size, rows, 1) if columns > 1 else max(rows, 1)
    return None
