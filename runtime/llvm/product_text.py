"""LLVM text of matrix products: tiles whose sums stay in registers, and the loops around them.

`product(args, begin, end)` computes rows begin … end - 1 of a stack of products, counted through the stack.
Blocks of rows run outside, then blocks of the summed axis, then panels of columns; a panel of B that does not
lie well is packed into memory of the thread's own and serves all tiles of the block. A tile is a function of
its own, found in a table by its height and width.

An element's sum runs over k in one order, whatever rows a thread has, so results do not depend on the number
of threads.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ir.record import record

# What describes a product, in i64. Distances count bytes; `inner` matrices lie `next` apart, and groups of so
# many `far`. `packs` is 0 where panels of B are read in place, 1 where they are copied, 2 where transposed.
FIELDS = (
    "rows", "columns", "depth", "a_row", "a_column", "b_row", "b_column", "c_row",
    "inner", "a_next", "b_next", "c_next", "a_far", "b_far", "c_far",
    "alpha", "adds", "packs", "row_block", "depth_block", "tiles",
)  # fmt: skip
# Vectors side by side in a tile, and the longest block of the summed axis: a packed panel and a tile's rows
# stay in the first cache.
WIDTH = 3
DEPTH = 256


@record
class Shape:
    """What tiles look like for a dtype on a CPU: elements of a vector, rows of a tile."""

    real: str
    size: int
    lanes: int
    rows: int

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.real}>"

    @property
    def suffix(self) -> str:
        return f"v{self.lanes}f{8 * self.size}"

    @property
    def row(self) -> int:
        """Bytes of a row of a packed panel."""
        return WIDTH * self.lanes * self.size


def shape_of(dtype: np.dtype[Any], vector_bytes: int) -> Shape:
    """The tiles of a dtype: eight rows where there are 32 registers, four where there are 16."""
    real = "float" if dtype.itemsize == 4 else "double"
    lanes = max(4, vector_bytes // dtype.itemsize)
    return Shape(real, dtype.itemsize, lanes, 8 if vector_bytes == 64 else 4)


class _Function:
    """Lines of LLVM text with names that stand once."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.lines: list[str] = []
        self.count = 0

    def add(self, text: str) -> None:
        """Lines as they stand."""
        self.lines += text.strip("\n").split("\n")

    def let(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def at(self, pointer: str, distance: str | int) -> str:
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {distance}")

    def mask(self, count: str) -> str:
        """The mask of the first `count` lanes."""
        lanes = self.shape.lanes
        wide = f"<{lanes} x i64>"
        one = self.let(f"insertelement {wide} poison, i64 {count}, i64 0")
        all_ = self.let(f"shufflevector {wide} {one}, {wide} poison, <{lanes} x i32> zeroinitializer")
        numbers = ", ".join(f"i64 {k}" for k in range(lanes))
        return self.let(f"icmp slt {wide} <{numbers}>, {all_}")

    def spread(self, scalar: str) -> str:
        shape = self.shape
        one = self.let(f"insertelement {shape.vector} poison, {shape.real} {scalar}, i64 0")
        zeros = f"<{shape.lanes} x i32> zeroinitializer"
        return self.let(f"shufflevector {shape.vector} {one}, {shape.vector} poison, {zeros}")

    def load(self, pointer: str, mask: str | None = None) -> str:
        shape = self.shape
        if mask is None:
            return self.let(f"load {shape.vector}, ptr {pointer}, align {shape.size}")
        return self.let(
            f"call {shape.vector} @llvm.masked.load.{shape.suffix}.p0(ptr {pointer}, i32 {shape.size}, "
            f"<{shape.lanes} x i1> {mask}, {shape.vector} zeroinitializer)"
        )

    def store(self, value: str, pointer: str, mask: str | None = None) -> None:
        shape = self.shape
        if mask is None:
            self.lines.append(f"  store {shape.vector} {value}, ptr {pointer}, align {shape.size}")
            return
        self.lines.append(
            f"  call void @llvm.masked.store.{shape.suffix}.p0({shape.vector} {value}, ptr {pointer}, "
            f"i32 {shape.size}, <{shape.lanes} x i1> {mask})"
        )

    def multiply_add(self, x: str, y: str, z: str) -> str:
        shape = self.shape
        values = ", ".join(f"{shape.vector} {value}" for value in (x, y, z))
        return self.let(f"call {shape.vector} @llvm.fmuladd.{shape.suffix}({values})")

    def text(self) -> str:
        shape = self.shape
        v, mask = shape.vector, f"<{shape.lanes} x i1>"
        return "\n".join(
            [
                f"declare {v} @llvm.fmuladd.{shape.suffix}({v}, {v}, {v})",
                f"declare {v} @llvm.masked.load.{shape.suffix}.p0(ptr, i32, {mask}, {v})",
                f"declare void @llvm.masked.store.{shape.suffix}.p0({v}, ptr, i32, {mask})",
                *self.lines,
            ]
        )


_TILE = "ptr %a, i64 %a_row, i64 %a_column, ptr %b, i64 %b_row, ptr %c, i64 %c_row, i64 %depth, i64 %last, "


def tile_text(shape: Shape, rows: int, width: int) -> str:
    """`tile_rows_width`: sums over `depth` of so many rows and vectors; the last has `last` elements.

    They times alpha are stored, or added to what is there.
    """
    f = _Function(shape)
    places = [(i, j) for i in range(rows) for j in range(width)]
    f.add(f"define void @tile_{rows}_{width}({_TILE} {shape.real} %alpha, i1 %adds) {{\nentry:")
    masks = [None] * (width - 1) + [f.mask("%last")]
    two, three, four = (f.let(f"mul nsw i64 %a_row, {n}") for n in (2, 3, 4))
    f.add("""
  br label %loop
loop:
  %k = phi i64 [ %depth, %entry ], [ %left, %loop ]
  %pa = phi ptr [ %a, %entry ], [ %na, %loop ]
  %pb = phi ptr [ %b, %entry ], [ %nb, %loop ]""")
    begin = len(f.lines)
    right = [f.load(f.at("%pb", j * shape.lanes * shape.size), masks[j]) for j in range(width)]
    sums = {}
    for i in range(rows):
        start = "%pa" if i < 4 else f.at("%pa", four)
        scalar = f.let(
            f"load {shape.real}, ptr {f.at(start, (0, '%a_row', two, three)[i % 4])}, align {shape.size}"
        )
        spread = f.spread(scalar)
        for j in range(width):
            sums[i, j] = f.multiply_add(spread, right[j], f"%s{i}_{j}")
    phis = [
        f"  %s{i}_{j} = phi {shape.vector} [ zeroinitializer, %entry ], [ {sums[i, j]}, %loop ]"
        for i, j in places
    ]
    f.lines[begin:begin] = phis
    f.add("""
  %na = getelementptr i8, ptr %pa, i64 %a_column
  %nb = getelementptr i8, ptr %pb, i64 %b_row
  %left = sub nsw i64 %k, 1
  %more = icmp ne i64 %left, 0
  br i1 %more, label %loop, label %done
done:""")
    alpha = f.spread("%alpha")
    everywhere = f.let("select i1 %adds, i64 -1, i64 0")
    wide = f"i{shape.lanes}"
    bits = f.let(f"trunc i64 {everywhere} to {wide}")
    adds = f.let(f"bitcast {wide} {bits} to <{shape.lanes} x i1>")
    last = f.let(f"and <{shape.lanes} x i1> {adds}, {masks[-1]}")
    row = "%c"
    for i in range(rows):
        row = f.at(row, "%c_row") if i else row
        for j in range(width):
            place = f.at(row, j * shape.lanes * shape.size)
            have = f.load(place, last if j == width - 1 else adds)
            f.store(f.multiply_add(alpha, sums[i, j], have), place, masks[j])
    f.add("  ret void\n}")
    return f.text()


def _pack(shape: Shape) -> str:
    """`pack`: copy `count` columns of a panel, so that its rows lie one behind the other."""
    f = _Function(shape)
    f.add("define void @pack(ptr %to, ptr %from, i64 %b_row, i64 %depth, i64 %count) {\nentry:")
    masks = [f.mask(f.let(f"sub nsw i64 %count, {j * shape.lanes}")) for j in range(WIDTH)]
    f.add("""
  br label %loop
loop:
  %k = phi i64 [ %depth, %entry ], [ %left, %loop ]
  %source = phi ptr [ %from, %entry ], [ %ns, %loop ]
  %target = phi ptr [ %to, %entry ], [ %nt, %loop ]""")
    for j, mask in enumerate(masks):
        far = j * shape.lanes * shape.size
        f.store(f.load(f.at("%source", far), mask), f.at("%target", far))
    f.add(f"""
  %ns = getelementptr i8, ptr %source, i64 %b_row
  %nt = getelementptr i8, ptr %target, i64 {shape.row}
  %left = sub nsw i64 %k, 1
  %more = icmp ne i64 %left, 0
  br i1 %more, label %loop, label %out
out:
  ret void
}}""")
    return "\n".join(f.lines)


def _turn(shape: Shape) -> str:
    """`turn`: pack a panel whose columns are contiguous, squares of it transposed.

    A square's vectors are columns of B. Each round interleaves the first half of the vectors with the second;
    the last round stores rows of the panel. Columns that are not there are read from the last one that is.
    """
    f = _Function(shape)
    v, lanes, half, bytes_ = shape.vector, shape.lanes, shape.lanes // 2, shape.lanes * shape.size
    rounds = lanes.bit_length() - 1
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
    target = f.at("%column", f.let(f"mul nsw i64 %deep, {shape.row}"))
    first, second = interleaved(f.load(source), f.load(f.at(source, half * bytes_)))
    f.store(first, target)
    f.add("""
  %next = add nsw i64 %row, 1
  %paired = icmp slt i64 %next, %left
  br i1 %paired, label %odd_row, label %stored
odd_row:""")
    f.store(second, f.at(target, shape.row))
    f.add("""
  br label %stored
stored:
  br label %last_round
out:
  ret void
}""")
    return "\n".join(f.lines)


def _panel(shape: Shape) -> str:
    """`panel`: all tiles of a panel, as many of the highest as there are, then what is left in halves."""
    return f"""
define internal void @panel(ptr %tiles, i64 %vectors, i64 %rows, {_TILE} {shape.real} %alpha, i1 %adds) {{
entry:
  br label %loop
loop:
  %height = phi i64 [ {shape.rows}, %entry ], [ %height, %call ], [ %half, %lower ]
  %level = phi i64 [ {shape.rows.bit_length() - 1}, %entry ], [ %level, %call ], [ %below, %lower ]
  %left = phi i64 [ %rows, %entry ], [ %rest, %call ], [ %left, %lower ]
  %pa = phi ptr [ %a, %entry ], [ %na, %call ], [ %pa, %lower ]
  %pc = phi ptr [ %c, %entry ], [ %nc, %call ], [ %pc, %lower ]
  %fits = icmp sle i64 %height, %left
  br i1 %fits, label %call, label %test
test:
  %none = icmp eq i64 %left, 0
  br i1 %none, label %out, label %lower
lower:
  %half = lshr i64 %height, 1
  %below = sub nsw i64 %level, 1
  br label %loop
call:
  %line = mul nsw i64 %level, {WIDTH}
  %before = add nsw i64 %line, %vectors
  %number = sub nsw i64 %before, 1
  %place = getelementptr ptr, ptr %tiles, i64 %number
  %tile = load ptr, ptr %place, align 8
  call void %tile(ptr %pa, i64 %a_row, i64 %a_column, ptr %b, i64 %b_row, ptr %pc, i64 %c_row, i64 %depth,
                  i64 %last, {shape.real} %alpha, i1 %adds)
  %rest = sub nsw i64 %left, %height
  %da = mul nsw i64 %a_row, %height
  %dc = mul nsw i64 %c_row, %height
  %na = getelementptr i8, ptr %pa, i64 %da
  %nc = getelementptr i8, ptr %pc, i64 %dc
  br label %loop
out:
  ret void
}}"""


def packing_text(shape: Shape) -> str:
    """`pack` and `turn`."""
    f = _Function(shape)
    f.add(_pack(shape))
    f.add(_turn(shape))
    return f.text()


def product_text(shape: Shape) -> str:
    """`product`: through the stack, blocks of rows, blocks of the summed axis, panels.

    It is the frame of what takes the time, tiles and packing, so it is generated at level 0.
    """
    f = _Function(shape)
    f.add(_panel(shape))
    f.add(f"""
declare void @pack(ptr, ptr, i64, i64, i64)
declare void @turn(ptr, ptr, i64, i64, i64)
define void @product(ptr noalias readonly %args, i64 %begin, i64 %end) {{
entry:
  %packed = alloca [{DEPTH * shape.row} x i8], align 64
  %a = load ptr, ptr %args, align 8
  %pb = getelementptr ptr, ptr %args, i64 1
  %b = load ptr, ptr %pb, align 8
  %pc = getelementptr ptr, ptr %args, i64 2
  %c = load ptr, ptr %pc, align 8
  %pd = getelementptr ptr, ptr %args, i64 3
  %fields = load ptr, ptr %pd, align 8""")
    for number, name in enumerate(FIELDS):
        kind = "ptr" if name == "tiles" else "i64"
        f.add(f"  %{name} = load {kind}, ptr {f.at('%fields', 8 * number)}, align 8")
    narrow = "fptrunc double %wide to float" if shape.size == 4 else "fadd double %wide, -0.0"
    panel = WIDTH * shape.lanes
    f.add(f"""
  %wide = bitcast i64 %alpha to double
  %factor = {narrow}
  %starts_adding = icmp ne i64 %adds, 0
  br label %stack
stack:
  %row = phi i64 [ %begin, %entry ], [ %block_end, %depths ]
  %any = icmp slt i64 %row, %end
  br i1 %any, label %matrix, label %out
matrix:
  %number = sdiv i64 %row, %rows
  %first = mul nsw i64 %number, %rows
  %within = sub nsw i64 %row, %first
  %after = add nsw i64 %first, %rows
  %end0 = add nsw i64 %row, %row_block
  %c0 = icmp slt i64 %end0, %after
  %end1 = select i1 %c0, i64 %end0, i64 %after
  %c1 = icmp slt i64 %end1, %end
  %block_end = select i1 %c1, i64 %end1, i64 %end
  %count = sub nsw i64 %block_end, %row
  %outer = sdiv i64 %number, %inner
  %whole = mul nsw i64 %outer, %inner
  %turn_number = sub nsw i64 %number, %whole""")
    for letter in "abc":
        far = f.let(f"mul nsw i64 %outer, %{letter}_far")
        near = f.let(f"mul nsw i64 %turn_number, %{letter}_next")
        start = f.at(f.at(f"%{letter}", far), near)
        down = f.let(f"mul nsw i64 %within, %{letter}_row") if letter != "b" else "0"
        f.add(f"  %{letter}_start = getelementptr i8, ptr {start}, i64 {down}")
    f.add(f"""
  br label %depths
depths:
  %k = phi i64 [ 0, %matrix ], [ %nk, %panels ]
  %kleft = sub nsw i64 %depth, %k
  %ksome = icmp sgt i64 %kleft, 0
  br i1 %ksome, label %block, label %stack
block:
  %nk = add nsw i64 %k, %depth_block
  %kc = icmp slt i64 %kleft, %depth_block
  %kcount = select i1 %kc, i64 %kleft, i64 %depth_block
  %later = icmp ne i64 %k, 0
  %plus = or i1 %later, %starts_adding
  %a_far_in = mul nsw i64 %k, %a_column
  %a_block = getelementptr i8, ptr %a_start, i64 %a_far_in
  %b_far_in = mul nsw i64 %k, %b_row
  %b_block = getelementptr i8, ptr %b_start, i64 %b_far_in
  br label %panels
panels:
  %j = phi i64 [ 0, %block ], [ %nj, %ready ]
  %jleft = sub nsw i64 %columns, %j
  %jsome = icmp sgt i64 %jleft, 0
  br i1 %jsome, label %begin_panel, label %depths
begin_panel:
  %nj = add nsw i64 %j, {panel}
  %jc = icmp slt i64 %jleft, {panel}
  %jcount = select i1 %jc, i64 %jleft, i64 {panel}
  %b_aside = mul nsw i64 %j, %b_column
  %b_panel = getelementptr i8, ptr %b_block, i64 %b_aside
  %c_aside = mul nsw i64 %j, {shape.size}
  %c_panel = getelementptr i8, ptr %c_start, i64 %c_aside
  switch i64 %packs, label %turning [ i64 0, label %ready i64 1, label %copying ]
turning:
  call void @turn(ptr %packed, ptr %b_panel, i64 %b_column, i64 %kcount, i64 %jcount)
  br label %ready
copying:
  call void @pack(ptr %packed, ptr %b_panel, i64 %b_row, i64 %kcount, i64 %jcount)
  br label %ready
ready:
  %b_used = phi ptr [ %b_panel, %begin_panel ], [ %packed, %turning ], [ %packed, %copying ]
  %b_step = phi i64 [ %b_row, %begin_panel ], [ {shape.row}, %turning ], [ {shape.row}, %copying ]
  %full = add nsw i64 %jcount, {shape.lanes - 1}
  %vectors = sdiv i64 %full, {shape.lanes}
  %before = sub nsw i64 %vectors, 1
  %used = mul nsw i64 %before, {shape.lanes}
  %last = sub nsw i64 %jcount, %used
  call void @panel(ptr %tiles, i64 %vectors, i64 %count, ptr %a_block, i64 %a_row, i64 %a_column,
                   ptr %b_used, i64 %b_step, ptr %c_panel, i64 %c_row, i64 %kcount, i64 %last,
                   {shape.real} %factor, i1 %plus)
  br label %panels
out:
  ret void
}}""")
    return f.text()
