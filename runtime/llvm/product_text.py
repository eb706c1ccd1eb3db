"""LLVM text of matrix products: the loops around tiles.

`product(args, begin, end)` computes rows begin … end - 1 of a stack of products, counted through the stack.
Blocks of rows run outside, then blocks of the summed axis, then panels of columns. A block of A, and a panel
of B, are copied where they do not lie well. Tiles and what packs are functions of their own, found in a
table: a tile by its height and width, its quicker kinds and the others behind.

An element's sum runs over k in one order, whatever rows a thread has, so results do not depend on the number
of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from .packing_text import PACKING
from .tile_text import KINDS, TILE, UNROLLED, Function, Shape

# What describes a product, in i64. Distances count bytes; `inner` matrices lie `next` apart, and groups of so
# many `far`. `packs` is 0 where panels of B are read in place, 1 where the first tile copies them for the
# others, 2 where they are transposed; `copies` is 0 where A is read in place, 1 where its columns are
# contiguous and copied, 2 where it is copied otherwise. Copies lie in one of the `slots`, null without them.
FIELDS = (
    "rows", "columns", "depth", "a_row", "a_column", "b_row", "b_column", "c_row",
    "inner", "a_next", "b_next", "c_next", "a_far", "b_far", "c_far",
    "alpha", "adds", "packs", "copies", "row_block", "depth_block", "slots", "room", "tiles",
)  # fmt: skip
# Slots of memory for copies: whether one is taken is an i64 of `slots` in a line of its own, its memory for A
# and for a panel of B lies in `room`. A thread looks for a free one from its own on, which its stack tells.
SLOTS, A_BYTES, B_BYTES = 64, 320 << 10, 64 << 10
SLOT_BYTES = A_BYTES + B_BYTES
# Bytes between strips, or rows of many strips would fall into one set of the first cache.
STRIP_GAP = 64


def _panel(shape: Shape) -> str:
    """`panel`: all tiles of a panel, as many of the highest as there are, then lower ones.

    Eight rows are two tiles of four where the highest have six, but for strips of A, which hold the rows of
    the highest tile side by side, column after column. Where there is memory for it, the first tile copies
    whole vectors, if it is one of the highest. The others are of a quicker kind where that is made and fits.
    """
    kinds = shape.tiles - 1
    return f"""
define internal void @panel(ptr %tiles, i64 %vectors, i64 %rows, i1 %strips, ptr %a, {TILE}
                            {shape.real} %alpha, i1 %adds, ptr %to) {{
entry:
  %row = select i1 %strips, i64 {shape.size}, i64 %a_row
  %column = select i1 %strips, i64 {shape.rows * shape.size}, i64 %a_column
  %room = icmp ne ptr %to, null
  %all = icmp eq i64 %last, {shape.lanes}
  %copies = and i1 %room, %all
  %unit = select i1 %strips, i64 {shape.rows * shape.size}, i64 {shape.size}
  %quick_kind = select i1 %strips, i64 {kinds + 2 * shape.width}, i64 {kinds + shape.width}
  %quick_number = add nsw i64 %quick_kind, %vectors
  %quick_place = getelementptr ptr, ptr %tiles, i64 %quick_number
  %quick = load ptr, ptr %quick_place, align 8
  %made = icmp ne ptr %quick, null
  %beyond = and i64 %depth, {UNROLLED - 1}
  %even = icmp eq i64 %beyond, 0
  %dense = icmp eq i64 %column, %unit
  %quick0 = and i1 %all, %made
  %quick1 = and i1 %even, %dense
  %quick2 = and i1 %quick0, %quick1
  %strip_bytes = mul nsw i64 %depth, {shape.rows * shape.size}
  %strip = add nsw i64 %strip_bytes, {STRIP_GAP}
  br label %loop
loop:
  %height = phi i64 [ {shape.rows}, %entry ], [ %height, %called ], [ %next, %lower ]
  %level = phi i64 [ {len(shape.heights) - 1}, %entry ], [ %level, %called ], [ %below, %lower ]
  %left = phi i64 [ %rows, %entry ], [ %rest, %called ], [ %left, %lower ]
  %pa = phi ptr [ %a, %entry ], [ %na, %called ], [ %pa, %lower ]
  %pc = phi ptr [ %c, %entry ], [ %nc, %called ], [ %pc, %lower ]
  %first = phi i1 [ %copies, %entry ], [ false, %called ], [ %first, %lower ]
  %pb = phi ptr [ %b, %entry ], [ %b_after, %called ], [ %pb, %lower ]
  %pb_row = phi i64 [ %b_row, %entry ], [ %row_after, %called ], [ %pb_row, %lower ]
  %enough = icmp sle i64 %height, %left
  %eight = icmp eq i64 %left, 8
  %six = icmp eq i64 %height, 6
  %halves = and i1 %eight, %six
  %whole_rows = xor i1 %strips, true
  %skips = and i1 %halves, %whole_rows
  %wanted = xor i1 %skips, true
  %fits = and i1 %enough, %wanted
  br i1 %fits, label %call, label %test
test:
  %none = icmp eq i64 %left, 0
  br i1 %none, label %out, label %lower
lower:
  %below = sub nsw i64 %level, 1
  %next = shl i64 1, %below
  br label %loop
call:
  %more = add nsw i64 %height, 1
  %half = lshr i64 %more, 1
  %upper = mul nsw i64 %row, %half
  %middle = getelementptr i8, ptr %pa, i64 %upper
  %high = icmp eq i64 %height, {shape.rows}
  %copying_now = and i1 %first, %high
  br i1 %copying_now, label %call_first, label %call_other
call_first:
  %copying_number = add nsw i64 %vectors, {kinds}
  %copying_place = getelementptr ptr, ptr %tiles, i64 %copying_number
  %copying = load ptr, ptr %copying_place, align 8
  call void %copying(ptr %pa, ptr %middle, i64 %row, i64 %column, ptr %pb, i64 %pb_row, ptr %pc, i64 %c_row,
                     i64 %depth, i64 %last, {shape.real} %alpha, i1 %adds, ptr %to)
  br label %called
call_other:
  %line = mul nsw i64 %level, {shape.width}
  %before = add nsw i64 %line, %vectors
  %number = sub nsw i64 %before, 1
  %place = getelementptr ptr, ptr %tiles, i64 %number
  %any_tile = load ptr, ptr %place, align 8
  %copied = icmp eq i64 %pb_row, {shape.panel * shape.size}
  %known = and i1 %copied, %high
  %quickly = and i1 %known, %quick2
  %tile = select i1 %quickly, ptr %quick, ptr %any_tile
  call void %tile(ptr %pa, ptr %middle, i64 %row, i64 %column, ptr %pb, i64 %pb_row, ptr %pc, i64 %c_row,
                  i64 %depth, i64 %last, {shape.real} %alpha, i1 %adds)
  br label %called
called:
  %b_after = select i1 %copying_now, ptr %to, ptr %pb
  %row_after = select i1 %copying_now, i64 {shape.panel * shape.size}, i64 %pb_row
  %rest = sub nsw i64 %left, %height
  %down = mul nsw i64 %row, %height
  %leaves = and i1 %high, %strips
  %da = select i1 %leaves, i64 %strip, i64 %down
  %dc = mul nsw i64 %c_row, %height
  %na = getelementptr i8, ptr %pa, i64 %da
  %nc = getelementptr i8, ptr %pc, i64 %dc
  br label %loop
out:
  ret void
}}"""


def _call_panel(shape: Shape, strips: str, a: str, b: str, b_row: str, depth: str, to: str) -> str:
    """A panel of `%jcount` columns: its whole vectors, and what the last one has."""
    return f"""
  %full = add nsw i64 %jcount, {shape.lanes - 1}
  %vectors = sdiv i64 %full, {shape.lanes}
  %before = sub nsw i64 %vectors, 1
  %used = mul nsw i64 %before, {shape.lanes}
  %last = sub nsw i64 %jcount, %used
  call void @panel(ptr %tiles, i64 %vectors, i64 %count, i1 {strips}, ptr %{a}, i64 %a_row, i64 %a_column,
                   ptr %{b}, i64 %{b_row}, ptr %c_panel, i64 %c_row, i64 %{depth}, i64 %last,
                   {shape.real} %factor, i1 %plus, ptr {to})"""


def direct_text(shape: Shape) -> str:
    """`direct`: the same for one product whose operands are read in place, in one block of the summed axis.

    Small products take hardly longer than what stands around their tiles, so it does as little as can be.
    """
    f = Function(shape)
    f.add(_panel(shape))
    fields = ("columns", "depth", "a_row", "a_column", "b_row", "c_row", "alpha", "adds", "tiles")
    _begin(f, "direct", fields)
    f.add(f"""
  %plus = icmp ne i64 %adds, 0
  %count = sub nsw i64 %end, %begin
  %skip_a = mul nsw i64 %begin, %a_row
  %skip_c = mul nsw i64 %begin, %c_row
  %a_rows = getelementptr i8, ptr %a, i64 %skip_a
  %c_rows = getelementptr i8, ptr %c, i64 %skip_c
  br label %panels
panels:
  %left = phi i64 [ %columns, %entry ], [ %rest, %panels ]
  %b_panel = phi ptr [ %b, %entry ], [ %b_next, %panels ]
  %c_panel = phi ptr [ %c_rows, %entry ], [ %c_next, %panels ]
  %partial = icmp slt i64 %left, {shape.panel}
  %jcount = select i1 %partial, i64 %left, i64 {shape.panel}
{_call_panel(shape, "false", "a_rows", "b_panel", "b_row", "depth", "null")}
  %rest = sub nsw i64 %left, {shape.panel}
  %b_next = getelementptr i8, ptr %b_panel, i64 {shape.panel * shape.size}
  %c_next = getelementptr i8, ptr %c_panel, i64 {shape.panel * shape.size}
  %more = icmp sgt i64 %rest, 0
  br i1 %more, label %panels, label %out
out:
  ret void
}}""")
    return f.text()


def _begin(f: Function, name: str, fields: Sequence[str]) -> None:
    """The head of a function: operands and fields under their names, alpha as `%factor`."""
    f.add(f"define void @{name}(ptr noalias readonly %args, i64 %begin, i64 %end) {{\nentry:")
    for number, operand in enumerate(("a", "b", "c", "fields")):
        f.add(f"  %{operand} = load ptr, ptr {f.at('%args', 8 * number)}, align 8")
    for name in fields:
        kind = "ptr" if name in ("tiles", "slots", "room") else "i64"
        f.add(f"  %{name} = load {kind}, ptr {f.at('%fields', 8 * FIELDS.index(name))}, align 8")

    f.add("  %wide = bitcast i64 %alpha to double")
    narrow = "fptrunc double %wide to float" if f.shape.size == 4 else "fadd double %wide, -0.0"
    f.add(f"  %factor = {narrow}")


def product_text(shape: Shape) -> str:
    """`product`: through the stack, blocks of rows, blocks of the summed axis, panels.

    It is the frame of what takes the time, tiles and packing, so it is generated at level 0.
    """
    f = Function(shape)
    f.add(_panel(shape))
    _begin(f, "product", FIELDS)
    f.add("  %stack_place = alloca i64, align 8")
    for number, name in enumerate(PACKING, start=shape.tiles + len(KINDS) * shape.width):
        f.add(f"  %pack_{name} = load ptr, ptr {f.at('%tiles', 8 * number)}, align 8")
    f.add(f"""
  %starts_adding = icmp ne i64 %adds, 0
  %copies_a = icmp ne i64 %copies, 0
  %turns_b = icmp eq i64 %packs, 2
  %copies_b = icmp eq i64 %packs, 1
  %b_step = select i1 %turns_b, i64 {shape.panel * shape.size}, i64 %b_row
  %no_slots = icmp eq ptr %slots, null
  br i1 %no_slots, label %begin_stack, label %claim
claim:
  %stack_address = ptrtoint ptr %stack_place to i64
  %thread = lshr i64 %stack_address, 16
  br label %try
try:
  %guess = phi i64 [ %thread, %claim ], [ %following, %try ]
  %slot = and i64 %guess, {SLOTS - 1}
  %following = add i64 %slot, 1
  %flag_place = shl i64 %slot, 6
  %flag = getelementptr i8, ptr %slots, i64 %flag_place
  %taken = atomicrmw xchg ptr %flag, i64 1 acquire
  %free = icmp eq i64 %taken, 0
  br i1 %free, label %claimed, label %try
claimed:
  %slot_place = mul nsw i64 %slot, {SLOT_BYTES}
  %slot_memory = getelementptr i8, ptr %room, i64 %slot_place
  br label %begin_stack
begin_stack:
  %mine = phi ptr [ null, %entry ], [ %flag, %claimed ]
  %memory = phi ptr [ null, %entry ], [ %slot_memory, %claimed ]
  %b_memory = getelementptr i8, ptr %memory, i64 {A_BYTES}
  %b_copy = select i1 %copies_b, ptr %b_memory, ptr null
  br label %stack
stack:
  %row = phi i64 [ %begin, %begin_stack ], [ %block_end, %depths ]
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
  %strip_bytes = mul nsw i64 %kcount, {shape.rows * shape.size}
  %strip = add nsw i64 %strip_bytes, {STRIP_GAP}
  switch i64 %copies, label %gathering [ i64 0, label %begin_panels i64 1, label %copying_a ]
copying_a:
  call void %pack_strips(ptr %memory, ptr %a_block, i64 %a_column, i64 %kcount, i64 %count, i64 %strip)
  br label %begin_panels
gathering:
  call void %pack_gather(ptr %memory, ptr %a_block, i64 %a_row, i64 %a_column, i64 %kcount, i64 %count,
                         i64 %strip)
  br label %begin_panels
begin_panels:
  %a_used = phi ptr [ %a_block, %block ], [ %memory, %copying_a ], [ %memory, %gathering ]
  br label %panels
panels:
  %j = phi i64 [ 0, %begin_panels ], [ %nj, %ready ]
  %jleft = sub nsw i64 %columns, %j
  %jsome = icmp sgt i64 %jleft, 0
  br i1 %jsome, label %begin_panel, label %depths
begin_panel:
  %nj = add nsw i64 %j, {shape.panel}
  %jc = icmp slt i64 %jleft, {shape.panel}
  %jcount = select i1 %jc, i64 %jleft, i64 {shape.panel}
  %b_over = mul nsw i64 %j, %b_column
  %b_panel = getelementptr i8, ptr %b_block, i64 %b_over
  %c_over = mul nsw i64 %j, {shape.size}
  %c_panel = getelementptr i8, ptr %c_start, i64 %c_over
  br i1 %turns_b, label %turning, label %ready
turning:
  call void %pack_turn(ptr %b_memory, ptr %b_panel, i64 %b_column, i64 %kcount, i64 %jcount)
  br label %ready
ready:
  %b_used = phi ptr [ %b_panel, %begin_panel ], [ %b_memory, %turning ]
{_call_panel(shape, "%copies_a", "a_used", "b_used", "b_step", "kcount", "%b_copy")}
  br label %panels
out:
  br i1 %no_slots, label %leave, label %release
release:
  store atomic i64 0, ptr %mine release, align 8
  br label %leave
leave:
  ret void
}}""")
    return f.text()
