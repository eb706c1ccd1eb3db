"""LLVM text that copies operands of matrix products to where tiles read them one byte behind the other.

Panels hold the columns of a tile, strips its rows. Both are pieces of rows one behind the other, of the
matrix or of its transposed.
"""

from __future__ import annotations

from .tile_text import Function, Shape


def _copies(shape: Shape, name: str, pieces: list[int]) -> Function:
    """`name`: copy `count` columns of `depth` rows into panels `far` apart, as wide as the vectors together.

    What is missing of the last panel is filled with zeros.
    """
    f = Function(shape)
    width = sum(pieces)
    starts = [sum(pieces[:k]) for k in range(len(pieces))]
    f.add(f"""
define void @{name}(ptr %to, ptr %from, i64 %from_row, i64 %depth, i64 %count, i64 %far) {{
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
    starts = []
    for i in range(rows):
        inside = f.let(f"icmp slt i64 {i}, %final")
        number = f.let(f"select i1 {inside}, i64 {i}, i64 %final")
        starts.append(f.at("%source", f.let(f"mul nsw i64 {number}, %a_row")))
    f.add("""
  br label %columns
columns:
  %k = phi i64 [ %depth, %strips ], [ %k_left, %columns ]
  %at = phi i64 [ 0, %strips ], [ %at_next, %columns ]
  %place = phi ptr [ %target, %strips ], [ %place_next, %columns ]""")
    first = 0
    for lanes in pieces_of(rows):
        vector = "poison"
        for i in range(lanes):
            place = f.at(starts[first + i], "%at")
            element = f.let(f"load {shape.real}, ptr {place}, align {shape.size}")
            vector = f.let(f"insertelement {f.vector(lanes)} {vector}, {shape.real} {element}, i64 {i}")
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


def pieces_of(number: int) -> list[int]:
    """A number as powers of two, the largest first."""
    return [1 << k for k in reversed(range(number.bit_length())) if number >> k & 1]


def _turn(shape: Shape) -> Function:
    """`turn`: pack a panel whose columns are contiguous, squares of it transposed.

    A square's vectors are columns of B. Each round interleaves the first half of the vectors with the second;
    the last round stores rows of the panel. Columns that are not there are read from the last one that is.
    """
    f = Function(shape)
    v, lanes, half, bytes_ = f.vector(), shape.lanes, shape.lanes // 2, shape.lanes * shape.size
    rounds, row = lanes.bit_length() - 1, shape.panel * shape.size
    low, high = (
        ", ".join(f"i32 {k // 2 + start + (lanes if k % 2 else 0)}" for k in range(lanes))
        for start in (0, half)
    )

    def interleaved(x: str, y: str) -> tuple[str, str]:
        first, second = (f.let(f"shufflevector {v} {x}, {v} {y}, <{lanes} x i32> <{p}>") for p in (low, high))
        return first, second

    f.add(f"""
define void @turn(ptr %to, ptr %from, i64 %b_column, i64 %depth, i64 %count) {{
entry:
  %square = alloca [{2 * lanes * bytes_} x i8], align 64
  %final = sub nsw i64 %count, 1
  br label %columns
columns:
  %j = phi i64 [ 0, %entry ], [ %nj, %depths ]
  %some = icmp slt i64 %j, %count
  br i1 %some, label %start, label %out
start:
  %nj = add nsw i64 %j, {lanes}
  %side = mul nsw i64 %j, {shape.size}
  %column = getelementptr i8, ptr %to, i64 %side
  br label %depths
depths:
  %k = phi i64 [ 0, %start ], [ %nk, %last_round ]
  %left = sub nsw i64 %depth, %k
  %rest = icmp sgt i64 %left, 0
  br i1 %rest, label %read, label %columns
read:
  %nk = add nsw i64 %k, {lanes}
  %along = mul nsw i64 %k, {shape.size}""")
    mask = f.mask("%left")
    f.add("""
  br label %first
first:
  %i0 = phi i64 [ 0, %read ], [ %n0, %first ]""")
    loaded = []
    for start in (0, half):
        number = f.let(f"add nsw i64 %j, {f.let(f'add nsw i64 %i0, {start}')}")
        inside = f.let(f"icmp slt i64 {number}, %final")
        clamped = f.let(f"select i1 {inside}, i64 {number}, i64 %final")
        column = f.at("%from", f.let(f"mul nsw i64 {clamped}, %b_column"))
        loaded.append(f.load(f.at(column, "%along"), mask))
    target = f.at("%square", f.let(f"mul nsw i64 %i0, {2 * bytes_}"))
    for number_, value in enumerate(interleaved(*loaded)):
        f.store(value, f.at(target, number_ * bytes_))
    f.add(f"""
  %n0 = add nsw i64 %i0, 1
  %m0 = icmp slt i64 %n0, {half}
  br i1 %m0, label %first, label %middle
middle:
  %round = phi i64 [ 1, %first ], [ %nround, %done ]
  %odd = and i64 %round, 1
  %even = xor i64 %odd, 1""")
    here, there = (f.at("%square", f.let(f"mul nsw i64 {p}, {lanes * bytes_}")) for p in ("%even", "%odd"))
    f.add(f"""
  %inner = icmp slt i64 %round, {rounds - 1}
  br i1 %inner, label %pair, label %last_round
pair:
  %i1 = phi i64 [ 0, %middle ], [ %n1, %pair ]""")
    source = f.at(here, f.let(f"mul nsw i64 %i1, {bytes_}"))
    target = f.at(there, f.let(f"mul nsw i64 %i1, {2 * bytes_}"))
    for number_, value in enumerate(interleaved(f.load(source), f.load(f.at(source, half * bytes_)))):
        f.store(value, f.at(target, number_ * bytes_))
    f.add(f"""
  %n1 = add nsw i64 %i1, 1
  %m1 = icmp slt i64 %n1, {half}
  br i1 %m1, label %pair, label %done
done:
  %nround = add nsw i64 %round, 1
  br label %middle
last_round:
  %i2 = phi i64 [ 0, %middle ], [ %n2, %stored ]
  %row = shl i64 %i2, 1
  %needed = icmp slt i64 %row, %left
  %among = icmp slt i64 %i2, {half}
  %both = and i1 %needed, %among
  br i1 %both, label %store, label %depths
store:
  %n2 = add nsw i64 %i2, 1
  %deep = add nsw i64 %k, %row""")
    source = f.at(here, f.let(f"mul nsw i64 %i2, {bytes_}"))
    target = f.at("%column", f.let(f"mul nsw i64 %deep, {row}"))
    first, second = interleaved(f.load(source), f.load(f.at(source, half * bytes_)))
    f.store(first, target)
    f.add("""
  %next = add nsw i64 %row, 1
  %paired = icmp slt i64 %next, %left
  br i1 %paired, label %odd_row, label %stored
odd_row:""")
    f.store(second, f.at(target, row))
    f.add("""
  br label %stored
stored:
  br label %last_round
out:
  ret void
}""")
    return f


# The functions, in the order in which a table has them: two for the right operand, two for the left one.
PACKING = ("panels", "turn", "strips", "gather")


def packing_text(shape: Shape, name: str) -> str:
    """The text of one of PACKING."""
    if name == "turn":
        return _turn(shape).text()
    if name == "gather":
        return _gather(shape).text()
    pieces = [shape.lanes] * shape.width if name == "panels" else pieces_of(shape.rows)
    return _copies(shape, name, pieces).text()
