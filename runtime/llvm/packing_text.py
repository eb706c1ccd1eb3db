"""LLVM text that copies operands of matrix products to where tiles read them one byte behind the other.

Panels hold the columns of a tile, strips its rows. Both are pieces of rows one behind the other, of the
matrix or of its transposed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from .tile_text import Function, Shape


def _strips(shape: Shape) -> Function:
    """`strips`: copy `count` columns of `depth` rows into strips `far` apart, as wide as a tile is high.

    What is missing of the last strip is filled with zeros.
    """
    f = Function(shape)
    width, pieces = shape.rows, pieces_of(shape.rows)
    starts = [sum(pieces[:k]) for k in range(len(pieces))]
    f.add(f"""
define void @strips(ptr %to, ptr %from, i64 %from_row, i64 %depth, i64 %count, i64 %far) {{
entry:
  br label %rows
rows:
  %k = phi i64 [ %depth, %entry ], [ %k_left, %next_row ]
  %row = phi ptr [ %from, %entry ], [ %row_below, %next_row ]
  %target = phi ptr [ %to, %entry ], [ %target_below, %next_row ]
  br label %panels
panels:
  %left = phi i64 [ %count, %rows ], [ %rest, %next ]
  %source = phi ptr [ %row, %rows ], [ %source_after, %next ]
  %place = phi ptr [ %target, %rows ], [ %place_after, %next ]
  %whole = icmp sge i64 %left, {width}
  br i1 %whole, label %all, label %some
all:""")
    for start, lanes in zip(starts, pieces, strict=True):
        value = f.load(f.at("%source", start * shape.size), None, lanes)
        f.store(value, f.at("%place", start * shape.size), None, lanes)
    f.add("  br label %next\nsome:")
    for start, lanes in zip(starts, pieces, strict=True):
        mask = f.mask(f.let(f"sub nsw i64 %left, {start}"), lanes)
        value = f.load(f.at("%source", start * shape.size), mask, lanes)
        f.store(value, f.at("%place", start * shape.size), None, lanes)
    f.add(f"""
  br label %next
next:
  %rest = sub nsw i64 %left, {width}
  %source_after = getelementptr i8, ptr %source, i64 {width * shape.size}
  %place_after = getelementptr i8, ptr %place, i64 %far
  %again = icmp sgt i64 %rest, 0
  br i1 %again, label %panels, label %next_row
next_row:
  %k_left = sub nsw i64 %k, 1
  %row_below = getelementptr i8, ptr %row, i64 %from_row
  %target_below = getelementptr i8, ptr %target, i64 {width * shape.size}
  %more = icmp ne i64 %k_left, 0
  br i1 %more, label %rows, label %out
out:
  ret void
}}""")
    return f


def _gather(shape: Shape) -> Function:
    """`gather`: copy `count` rows of `depth` columns into strips `far` apart.

    What is missing of the last strip is its last row again.
    """
    f = Function(shape)
    rows = shape.rows
    f.add("""
define void @gather(ptr %to, ptr %from, i64 %a_row, i64 %a_column, i64 %depth, i64 %count, i64 %far) {
entry:
  br label %strips
strips:
  %left = phi i64 [ %count, %entry ], [ %rest, %next ]
  %source = phi ptr [ %from, %entry ], [ %below, %next ]
  %target = phi ptr [ %to, %entry ], [ %after, %next ]
  %final = sub nsw i64 %left, 1""")
    starts = [_line(f, "%source", str(i), "%a_row") for i in range(rows)]
    f.add("""
  br label %columns
columns:
  %k = phi i64 [ %depth, %strips ], [ %k_left, %columns ]
  %at = phi i64 [ 0, %strips ], [ %at_next, %columns ]
  %place = phi ptr [ %target, %strips ], [ %place_next, %columns ]""")
    first = 0
    for lanes in pieces_of(rows):
        vector = _elements(f, starts[first : first + lanes], "%at")
        f.store(vector, f.at("%place", first * shape.size), None, lanes)
        first += lanes
    f.add(f"""
  %at_next = add nsw i64 %at, %a_column
  %place_next = getelementptr i8, ptr %place, i64 {rows * shape.size}
  %k_left = sub nsw i64 %k, 1
  %more = icmp ne i64 %k_left, 0
  br i1 %more, label %columns, label %next
next:
  %rest = sub nsw i64 %left, {rows}
  %down = mul nsw i64 %a_row, {rows}
  %below = getelementptr i8, ptr %source, i64 %down
  %after = getelementptr i8, ptr %target, i64 %far
  %again = icmp sgt i64 %rest, 0
  br i1 %again, label %strips, label %out
out:
  ret void
}}""")
    return f


def _line(f: Function, base: str, number: str, distance: str) -> str:
    """Where a row or column begins; what lies beyond `%final` begins with that one."""
    inside = f.let(f"icmp slt i64 {number}, %final")
    number = f.let(f"select i1 {inside}, i64 {number}, i64 %final")
    return f.at(base, f.let(f"mul nsw i64 {number}, {distance}"))


def _elements(f: Function, starts: list[str], along: str) -> str:
    """A vector of an element of each line, so far along."""
    vector, type_, real = "poison", f.vector(len(starts)), f.shape.real
    for i, start in enumerate(starts):
        element = f.let(f"load {real}, ptr {f.at(start, along)}, align {f.shape.size}")
        vector = f.let(f"insertelement {type_} {vector}, {real} {element}, i64 {i}")
    return vector


def pieces_of(number: int) -> list[int]:
    """A number as powers of two, the largest first."""
    return [1 << k for k in reversed(range(number.bit_length())) if number >> k & 1]


def _turn(shape: Shape) -> Function:
    """`turn`: pack a panel whose columns are contiguous, squares of it transposed in registers.

    Columns that are not there are read from the last one that is. What is left of the rows goes element by
    element.
    """
    f = Function(shape)
    lanes, row = shape.lanes, shape.panel * shape.size
    f.add(f"""
define void @turn(ptr %to, ptr %from, i64 %b_column, i64 %depth, i64 %count) {{
entry:
  %final = sub nsw i64 %count, 1
  %short = srem i64 %depth, {lanes}
  %even = sub nsw i64 %depth, %short
  br label %columns
columns:
  %j = phi i64 [ 0, %entry ], [ %nj, %turned ]
  %side = mul nsw i64 %j, {shape.size}
  %column = getelementptr i8, ptr %to, i64 %side""")
    starts = [_line(f, "%from", f.let(f"add nsw i64 %j, {i}"), "%b_column") for i in range(lanes)]
    f.add("""
  br label %squares
squares:
  %k = phi i64 [ 0, %columns ], [ %nk, %square ]
  %some = icmp slt i64 %k, %even
  br i1 %some, label %square, label %singles
square:""")
    along = f.let(f"mul nsw i64 %k, {shape.size}")
    place = f.at("%column", f.let(f"mul nsw i64 %k, {row}"))
    for i, vector in enumerate(_transposed(f, [f.load(f.at(start, along)) for start in starts])):
        f.store(vector, f.at(place, i * row))
    f.add(f"""
  %nk = add nsw i64 %k, {lanes}
  br label %squares
singles:
  %r = phi i64 [ %even, %squares ], [ %nr, %single ]
  %more = icmp slt i64 %r, %depth
  br i1 %more, label %single, label %turned
single:""")
    along = f.let(f"mul nsw i64 %r, {shape.size}")
    vector = _elements(f, starts, along)
    f.store(vector, f.at("%column", f.let(f"mul nsw i64 %r, {row}")))
    f.add(f"""
  %nr = add nsw i64 %r, 1
  br label %singles
turned:
  %nj = add nsw i64 %j, {lanes}
  %again = icmp slt i64 %nj, %count
  br i1 %again, label %columns, label %out
out:
  ret void
}}""")
    return f


def _transposed(f: Function, rows: list[str]) -> list[str]:
    """The columns of a square: within the 128-bit lanes of vectors first, then lane by lane.

    Instruction sets of 256 and 512 bits have each of these shuffles; those across lanes are slower.
    """
    v, count = f.vector(), f.shape.lanes
    inside = 16 // f.shape.size
    numbers = np.arange(2 * count)

    def shuffled(x: str, y: str, orders: Iterable[Any]) -> list[str]:
        masks = (", ".join(f"i32 {e}" for e in order.ravel()) for order in orders)
        return [f.let(f"shufflevector {v} {x}, {v} {y}, <{count} x i32> <{mask}>") for mask in masks]

    def halves(x: str, y: str, size: int) -> list[str]:
        """Of each lane's first half, and of its second, groups of `size` elements of x and y in turn."""
        groups = numbers.reshape(2, -1, 2, inside // size // 2, size)
        return shuffled(x, y, np.transpose(groups, (2, 1, 3, 0, 4)))

    def lanes(x: str, y: str) -> list[str]:
        """The even lanes of x and then of y, and the odd ones."""
        return shuffled(x, y, np.moveaxis(numbers.reshape(2, -1, 2, inside), 2, 0))

    def by_lanes(vectors: list[str]) -> list[str]:
        if len(vectors) == 1:
            return vectors
        both = [lanes(x, y) for x, y in zip(vectors[::2], vectors[1::2], strict=True)]
        even, odd = by_lanes([first for first, _ in both]), by_lanes([second for _, second in both])
        return [vector for two in zip(even, odd, strict=True) for vector in two]

    def by_elements(group: list[str]) -> list[str]:
        if len(group) == 2:
            return halves(group[0], group[1], 1)
        (a, b), (c, d) = halves(group[0], group[1], 1), halves(group[2], group[3], 1)
        return [*halves(a, c, 2), *halves(b, d, 2)]

    groups = [by_elements(rows[start : start + inside]) for start in range(0, count, inside)]
    columns = [by_lanes(list(group)) for group in zip(*groups, strict=True)]
    return [column for lane in zip(*columns, strict=True) for column in lane]


# The functions, in the order in which a table has them: one for the right operand, two for the left one.
PACKING = ("turn", "strips", "gather")


def packing_text(shape: Shape, name: str) -> str:
    """The text of one of PACKING."""
    if name == "turn":
        return _turn(shape).text()
    return (_gather if name == "gather" else _strips)(shape).text()
