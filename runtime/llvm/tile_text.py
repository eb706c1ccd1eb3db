"""LLVM text of the tiles of matrix products: small blocks of the result whose sums stay in registers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ir.record import record


@record
class Shape:
    """Tiles of a dtype on a CPU: elements of a vector, rows and vectors of the largest one."""

    real: str
    size: int
    lanes: int
    rows: int
    width: int

    @property
    def panel(self) -> int:
        """Columns of a panel."""
        return self.width * self.lanes

    @property
    def heights(self) -> tuple[int, ...]:
        """The rows of tiles, from one up; what the highest leave is cut into these."""
        return 1, 2, 4, self.rows

    @property
    def tiles(self) -> int:
        """How many tiles there are, of every height and width."""
        return len(self.heights) * self.width

    def cut(self, rows: int) -> int:
        """At what multiples of rows a product may be cut: pieces of few rows are as high as lower tiles."""
        return 4 if self.rows == 6 and rows < 64 else self.rows


def shape_of(dtype: np.dtype[Any], vector_bytes: int) -> Shape:
    """The tiles of a dtype: their sums and what a step of them needs fill the registers, 32 or 16."""
    real = "float" if dtype.itemsize == 4 else "double"
    lanes = max(4, vector_bytes // dtype.itemsize)
    rows, width = (8, 3) if vector_bytes == 64 else (6, 2)
    return Shape(real, dtype.itemsize, lanes, rows, width)


class Function:
    """Lines of LLVM text with names that stand once. Vectors have a tile's lanes unless said otherwise."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.lines: list[str] = []
        self.count = 0
        self.declared: dict[str, None] = {}

    def add(self, text: str) -> None:
        """Lines as they stand."""
        self.lines += text.strip("\n").split("\n")

    def let(self, text: str) -> str:
        self.count += 1
        self.lines.append(f"  %t{self.count} = {text}")
        return f"%t{self.count}"

    def at(self, pointer: str, distance: str | int) -> str:
        return self.let(f"getelementptr i8, ptr {pointer}, i64 {distance}")

    def vector(self, lanes: int = 0) -> str:
        return f"<{lanes or self.shape.lanes} x {self.shape.real}>"

    def suffix(self, lanes: int = 0) -> str:
        return f"v{lanes or self.shape.lanes}f{8 * self.shape.size}"

    def mask(self, count: str, lanes: int = 0) -> str:
        """The mask of the first `count` lanes, compared in integers of an element's width."""
        lanes, integer = lanes or self.shape.lanes, f"i{8 * self.shape.size}"
        wide = f"<{lanes} x {integer}>"
        if integer != "i64":
            count = self.let(f"trunc i64 {count} to {integer}")
        one = self.let(f"insertelement {wide} poison, {integer} {count}, i64 0")
        all_ = self.let(f"shufflevector {wide} {one}, {wide} poison, <{lanes} x i32> zeroinitializer")
        numbers = ", ".join(f"{integer} {k}" for k in range(lanes))
        return self.let(f"icmp slt {wide} <{numbers}>, {all_}")

    def spread(self, scalar: str) -> str:
        v, real = self.vector(), self.shape.real
        one = self.let(f"insertelement {v} poison, {real} {scalar}, i64 0")
        return self.let(f"shufflevector {v} {one}, {v} poison, <{self.shape.lanes} x i32> zeroinitializer")

    def load(self, pointer: str, mask: str | None = None, lanes: int = 0) -> str:
        v, size = self.vector(lanes), self.shape.size
        if mask is None:
            return self.let(f"load {v}, ptr {pointer}, align {size}")
        bits, name = f"<{lanes or self.shape.lanes} x i1>", f"@llvm.masked.load.{self.suffix(lanes)}.p0"
        self.declared[f"declare {v} {name}(ptr, i32, {bits}, {v})"] = None
        return self.let(f"call {v} {name}(ptr {pointer}, i32 {size}, {bits} {mask}, {v} zeroinitializer)")

    def store(self, value: str, pointer: str, mask: str | None = None, lanes: int = 0) -> None:
        v, size = self.vector(lanes), self.shape.size
        if mask is None:
            self.lines.append(f"  store {v} {value}, ptr {pointer}, align {size}")
            return
        bits, name = f"<{lanes or self.shape.lanes} x i1>", f"@llvm.masked.store.{self.suffix(lanes)}.p0"
        self.declared[f"declare void {name}({v}, ptr, i32, {bits})"] = None
        self.lines.append(f"  call void {name}({v} {value}, ptr {pointer}, i32 {size}, {bits} {mask})")

    def multiply_add(self, x: str, y: str, z: str) -> str:
        v, name = self.vector(), f"@llvm.fmuladd.{self.suffix()}"
        self.declared[f"declare {v} {name}({v}, {v}, {v})"] = None
        return self.let(f"call {v} {name}({v} {x}, {v} {y}, {v} {z})")

    def prefetch(self, pointer: str, writes: bool) -> None:
        """Ask for memory that will be read or written."""
        self.declared["declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"] = None
        self.lines.append(f"  call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(writes)}, i32 3, i32 1)")

    def text(self) -> str:
        return "\n".join([*self.declared, *self.lines])


# Kinds of the highest tiles beside those for all operands, of whole vectors: one copies its rows of B for the
# others; two read such a copy, and A along its rows or in strips, at distances that are known.
KINDS = ("copying", "along_rows", "along_strips")
# How many multiplications ahead a tile that copies rows of B asks for them: they may come from a far cache.
AHEAD = 384
# How many steps of the summed axis tiles take at once where distances are known.
UNROLLED = 4

# What a tile is called with, after its rows of A.
TILE = "i64 %a_row, i64 %a_column, ptr %b, i64 %b_row, ptr %c, i64 %c_row, i64 %depth, i64 %last, "


def tile_text(shape: Shape, rows: int, width: int, kind: str = "") -> str:
    """`tile_rows_width`, or `kind_width`: sums over `depth` of rows and vectors, the last of `last` elements.

    They times alpha are stored, or added to what is there. The lower half of the rows begins at `%a1`: with a
    pointer of its own no address is more than a base and a register, which may be doubled. A tile that is
    `copying` leaves its rows of B at `%to`, as far apart as those of a panel; storing costs it no time. Where
    distances are known, `depth` is a multiple of UNROLLED.
    """
    f = Function(shape)
    places = [(i, j) for i in range(rows) for j in range(width)]
    copies, known = kind == "copying", kind.startswith("along")
    name, to = f"{kind or f'tile_{rows}'}_{width}", ", ptr %to" if copies else ""
    f.add(f"""
define void @{name}(ptr %a0, ptr %a1, {TILE}{shape.real} %alpha, i1 %adds{to}) {{
entry:""")
    lines = ["%c"]
    while len(lines) < rows:
        lines.append(f.at(lines[-1], "%c_row"))
    for line in lines:
        f.prefetch(line, writes=True)
    masks = [None] * (width - 1) + [None if kind else f.mask("%last")]
    half, bytes_ = -(-rows // 2), shape.lanes * shape.size
    column: int | str = {"along_rows": shape.size, "along_strips": rows * shape.size}.get(kind, "%a_column")
    below: int | str = shape.panel * shape.size if known else "%b_row"
    if copies:
        f.add(f"  %ahead = mul nsw i64 %b_row, {AHEAD // (rows * width)}")
    two, three = (f.let(f"mul nsw i64 %a_row, {n}") for n in (2, 3))
    f.add("  br label %loop\nloop:")
    begin = len(f.lines)
    sums = {(i, j): f"%s{i}_{j}" for i, j in places}
    pa, pb, steps = ["%pa0", "%pa1"], "%pb", UNROLLED if known else 1
    for _ in range(steps):
        right = [f.load(f.at(pb, j * bytes_), masks[j]) for j in range(width)]
        if copies:
            later = f.at(pb, "%ahead")
            for j in range(width):
                f.prefetch(f.at(later, j * bytes_), writes=False)
                f.store(right[j], f.at("%pt", j * bytes_))
            f.add(f"  %nt = getelementptr i8, ptr %pt, i64 {shape.panel * shape.size}")
        for i in range(rows):
            place = f.at(pa[i // half], (0, "%a_row", two, three)[i % half])
            spread = f.spread(f.let(f"load {shape.real}, ptr {place}, align {shape.size}"))
            for j in range(width):
                sums[i, j] = f.multiply_add(spread, right[j], sums[i, j])
        pa, pb = [f.at(pointer, column) for pointer in pa], f.at(pb, below)
    carried = [("i64", "%k", "%depth", "%left"), ("ptr", "%pa0", "%a0", pa[0]), ("ptr", "%pa1", "%a1", pa[1])]
    carried += [("ptr", "%pb", "%b", pb)] + [("ptr", "%pt", "%to", "%nt")] * copies
    carried += [(f.vector(), f"%s{i}_{j}", "zeroinitializer", sums[i, j]) for i, j in places]
    f.lines[begin:begin] = [
        f"  {value} = phi {type_} [ {first}, %entry ], [ {following}, %loop ]"
        for type_, value, first, following in carried
    ]
    f.add(f"""
  %left = sub nsw i64 %k, {steps}
  %more = icmp ne i64 %left, 0
  br i1 %more, label %loop, label %done
done:""")
    alpha = f.spread("%alpha")
    ends = ["set", "add"]
    # Masked stores take ten times as long as others on some CPUs of narrow vectors.
    if shape.rows == 6 and not kind:
        ends += ["set_all", "add_all"]
        f.add(f"""
  %whole = icmp eq i64 %last, {shape.lanes}
  %kind = select i1 %whole, i64 2, i64 0
  %added = zext i1 %adds to i64
  %end = or i64 %kind, %added""")
        f.add(
            "  switch i64 %end, label %set [ i64 1, label %add i64 2, label %set_all i64 3, label %add_all ]"
        )
    else:
        f.add("  br i1 %adds, label %add, label %set")
    for label in ends:
        f.add(f"{label}:")
        for i, j in places:
            place = f.at(lines[i], j * shape.lanes * shape.size)
            mask = None if label.endswith("all") else masks[j]
            if label.startswith("add"):
                value = f.multiply_add(alpha, sums[i, j], f.load(place, mask))
            else:
                value = f.let(f"fmul {f.vector()} {alpha}, {sums[i, j]}")
            f.store(value, place, mask)
        f.add("  ret void")
    f.add("}")
    return f.text()
