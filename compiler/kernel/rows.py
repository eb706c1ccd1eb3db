"""Bodies lowered row by row: reductions of each row, work on their results, sums over the rows, in one pass.

Rows are taken in blocks (each gives one partial sum), blocks in tiles that stay in the cache. Over a tile run

1. the reductions of each row; values of the whole space are stored;
2. what is made of one number a row, as vectors along the rows; its sums;
3. sums over the rows of values of the whole space, by columns: they read the tile again, from the cache;
4. sums over all of such values.

Numbers that a later phase needs are kept in scratch memory, one a row of the tile. So a product of matrix and
vector, a loss of it and the gradient read the matrix once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ir.node import Graph, Node
from ..ir.opdef import Attrs
from ..ir.record import replace
from ..ir.types import ArrayType
from .form import (
    Accumulator,
    Affine,
    Arg,
    Compute,
    Constant,
    Kernel,
    Load,
    Loop,
    Statement,
    Store,
)
from .frontier import Frontier
from .lower import (
    PARTIAL,
    REDUCTIONS,
    Block,
    Lowering,
    Map,
    Space,
    add,
    reach,
)
from .row_space import Rows, choose_rows
from .space import Alignment, costly_values

# Elements of a tile's costly values that are kept between passes: they lie on the stack.
MOST_KEPT = 1 << 15


class _RowLowering(Lowering):
    def __init__(
        self,
        body: Graph,
        rows: Rows,
        strides: Sequence[tuple[int, ...]],
        out_strides: Sequence[tuple[int, ...]],
    ) -> None:
        length = rows.tile * math.prod(rows.shape[axis] for axis in rows.inner)
        costly = frozenset() if rows.along else costly_values(body, rows.shape, rows.inner)
        kept = costly if len(costly) * length <= MOST_KEPT else frozenset()
        space = Space(rows.shape, (), None, rows.alignments, kept, rows.inner)
        super().__init__(body, space, strides, out_strides)
        self.rows = rows
        self.vector = "i" if rows.along else None
        self.row = Affine(0, (("b", rows.block), ("i", 1), ("t", rows.tile)))
        length = rows.shape[rows.row]
        self.stop = Affine(length, (("b", -rows.block), ("t", -rows.tile)))
        self.kept: dict[tuple[Node, Map], str] = {}
        self.inner_variables = {axis: f"j{axis}" for axis in rows.inner}
        self.totals: list[tuple[int, Accumulator]] = []
        self.outputs = list(enumerate(body.outputs))

    # ---- maps

    def map_of(self, alignment: Alignment) -> Map:
        """The index of a value aligned with the space, at a row and at the inner loops' variables."""
        found = []
        for axis in alignment:
            if axis is None:
                found.append(Affine())
            elif axis == self.rows.row:
                found.append(self.row)
            else:
                found.append(Affine(0, ((self.inner_variables[axis], 1),)))
        return tuple(found)

    def term_map(self, node: Node) -> Map:
        """The index of a partial sum's terms: rows lie along its axis, others are inner or of length 1."""
        number = self.body.outputs.index(node)
        kept = iter(self.rows.alignments[number][1:])
        shape = node.inputs[0].shape
        whole = shape == self.rows.shape and self.is_whole(node)
        alignment: list[int | None] = []
        for axis in range(len(shape)):
            if axis == node.attrs["axis"]:
                alignment.append(self.rows.row)
            elif axis not in node.attrs["axes"]:
                alignment.append(next(kept))
            else:
                alignment.append(axis if whole else None)
        return self.map_of(tuple(alignment))

    def is_whole(self, node: Node) -> bool:
        """Whether a partial sum's terms are values of the whole space."""
        return math.prod(node.inputs[0].shape) == math.prod(self.rows.shape)

    # ---- values

    def value(self, node: Node, at: Map) -> str:
        """A number a row that was kept is loaded."""
        arg = self.kept.get((node, at))
        if arg is None:
            return super().value(node, at)
        block = self.block_for([self.row])
        return self.emit(block, (arg, "kept"), lambda n: Load(n, arg, Affine(0, (("i", 1),))))

    def keep(self, node: Node, at: Map, name: str, block: Block) -> None:
        """Store a costly value of the whole space for later passes over the tile."""
        length = self.rows.tile * math.prod(self.rows.shape[axis] for axis in self.rows.inner)
        arg = self.scratch[node] = self.scratch_memory(node, length)
        block.statements.append(Store(arg, self.row_place(at), name))

    def row_place(self, at: Map) -> Affine:
        """The place of an element in the tile."""
        length = math.prod(self.rows.shape[axis] for axis in self.rows.inner)
        return add(super().row_place(at), Affine(0, (("i", length),)))

    def keep_row(self, node: Node, at: Map, block: Block) -> None:
        """Store a number a row for the phases to come."""
        arg = self.scratch_memory(node, self.rows.tile)
        block.statements.append(Store(arg, Affine(0, (("i", 1),)), self.value(node, at)))
        self.kept[node, at] = arg

    # ---- loops

    def nest(self, variables: Sequence[str]) -> list[Block]:
        """Blocks for loops over these variables, inside those that are open."""
        made: list[Block] = []
        for variable in variables:
            made.append(Block((*self.blocks[-1].variables, variable)))
            self.blocks.append(made[-1])
        return made

    def close(self, made: list[Block], vector: str | None, accumulators: Sequence[Accumulator] = ()) -> None:
        """Loops around what the blocks hold, into the block around; accumulators belong to the innermost."""
        rows = self.rows
        extents = {f"j{axis}": rows.shape[axis] for axis in rows.inner}
        for depth, block in enumerate(reversed(made)):
            variable = block.variables[-1]
            self.blocks.pop()
            loop = Loop(
                variable,
                rows.tile if variable == "i" else extents[variable],
                "vector" if variable == vector else "serial",
                tuple(block.statements),
                () if depth else tuple(accumulators),
                self.stop if variable == "i" else None,
            )
            if loop.body:
                self.blocks[-1].statements.append(loop)

    # ---- the phases

    def run(self, name: str) -> Kernel:
        """The kernel: blocks, tiles, phases."""
        rows, outputs = self.rows, self.outputs
        self.read_params()
        for number, output in outputs:
            low, high = reach(output.shape, self.out_strides[number])
            assert isinstance(output.type, ArrayType)
            self.args.append(Arg(f"o{number}", output.type.dtype, "out", low, high))
        partial = [(k, o) for k, o in outputs if o.op.name == PARTIAL]
        across = [(k, o) for k, o in partial if self.is_whole(o) and rows.inner]
        plain = [(k, o) for k, o in outputs if o.op.name != PARTIAL]
        narrow = [(k, o) for k, o in plain if not set(rows.alignments[k]) & set(rows.inner)]
        wide = [pair for pair in plain if pair not in narrow]
        folds = [pair for pair in partial if pair not in across]
        around, tiles = self.nest(["b"]), self.nest(["t"])
        needed = self.needed(across)
        roots = [(o, self.map_of(rows.alignments[k])) for k, o in narrow]
        roots += [(x, self.term_map(o)) for _, o in folds for x in o.inputs]
        self.reduce_rows(wide, [*needed, *roots])
        self.along_rows(narrow, folds, needed)
        columns = [(k, o) for k, o in across if len(o.attrs["axes"]) == 1]
        self.sum_columns(columns)
        self.sum_all([pair for pair in across if pair not in columns])
        return Kernel(name, tuple(self.args), tuple(self.whole(around[0], tiles[0], columns)), parallel=True)

    def needed(self, across: Sequence[tuple[int, Node]]) -> list[tuple[Node, Map]]:
        """The numbers a row that sums over the rows of whole values read."""
        inner = set(self.inner_variables.values())

        def is_number_a_row(node: Node, at: Map) -> bool:
            leaf = node.op.name in ("param", "constant")  # loaded where it is read
            return not leaf and not any(v in inner for place in at for v, _ in place.strides)

        frontier = Frontier(is_number_a_row)
        for _, node in across:
            for operand in node.inputs:
                frontier.value(operand, self.term_map(node))
        return list(frontier.found)

    def reduce_rows(self, wide: Sequence[tuple[int, Node]], roots: Sequence[tuple[Node, Map]]) -> None:
        """Phase 1: each row's reductions in the body's order, then what is stored for the whole space."""
        below = Frontier(_is_reduction)
        for node, at in roots:
            below.value(node, at)
        order = {node: number for number, node in enumerate(self.body.nodes)}
        found = sorted(below.found, key=lambda pair: order[pair[0]])
        if not found and not wide:
            return
        if self.rows.along and not wide and all(self.is_product(node) for node, _ in found):
            self.add_up(found)
            return
        (block,) = made = self.nest(["i"])
        if wide:
            for node in self.body.nodes:
                if node.op.name in REDUCTIONS:
                    self.value(node, (self.row,))
        names = {pair: self.value(*pair) for pair in found}
        variables = [self.inner_variables[axis] for axis in self.rows.inner]
        inner = self.nest(variables) if wide else []
        self.store(wide)
        self.close(inner, None if self.rows.along or not variables else variables[-1])
        for node, at in found:
            assert names[node, at]
            self.keep_row(node, at, block)
        self.close(made, "i" if self.rows.along else None)

    def is_product(self, node: Node) -> bool:
        """Whether a reduction sums products of values that wait for no other reduction."""
        below = Frontier(_is_reduction)
        for operand in node.inputs:
            below.value(operand, tuple(Affine() for _ in operand.shape))
        return node.op.name == "sum_products" and not below.found

    def add_up(self, found: Sequence[tuple[Node, Map]]) -> None:
        """Phase 1 where rows are contiguous: products are added to the rows' sums one inner index at a time.

        So memory is read in long runs, not in as many short ones as there are inner indices.
        """
        rows, at = self.rows, Affine(0, (("i", 1),))
        made = self.nest(["i"])
        for node, place in found:
            zero, arg = self.name(), self.scratch_memory(node, self.rows.tile)
            made[0].statements += [Constant(zero, 0.0, node.dtype), Store(arg, at, zero)]
            self.kept[node, place] = arg
        self.close(made, "i")
        made = self.nest([*(self.inner_variables[axis] for axis in rows.inner), "i"])
        whole = self.map_of(tuple(range(len(rows.shape))))
        for node, place in found:
            x, y = (self.value(operand, whole) for operand in node.inputs)
            product = self.name()
            made[-1].statements.append(Compute(product, "multiply", (x, y), node.dtype))
            made[-1].statements.append(Store(self.kept[node, place], at, product, adds=True))
        self.close(made, "i")

    def scratch_memory(self, node: Node, length: int) -> str:
        """Scratch memory for values of a node."""
        arg = f"s{sum(a.role == 'scratch' for a in self.args)}"
        self.args.append(Arg(arg, node.dtype, "scratch", 0, length))
        return arg

    def store(self, outputs: Sequence[tuple[int, Node]]) -> None:
        """Stores of outputs at the open loops' variables, after all loads."""
        stores = []
        for number, output in outputs:
            at = self.map_of(self.rows.alignments[number])
            place = Affine()
            for stride, index in zip(self.out_strides[number], at, strict=True):
                place = add(place, index, stride)
            stores.append(
                (self.block_for([self.row, *at]), Store(f"o{number}", place, self.value(output, at)))
            )
        for block, statement in stores:
            block.statements.append(statement)

    def along_rows(
        self,
        narrow: Sequence[tuple[int, Node]],
        folds: Sequence[tuple[int, Node]],
        needed: Sequence[tuple[Node, Map]],
    ) -> None:
        """Phase 2: numbers a row as vectors along the rows, and their sums."""
        made = self.nest(["i"])
        for node, at in needed:
            if (node, at) not in self.kept:
                self.keep_row(node, at, made[0])
        for number, node in folds:
            self.total(number, node, made[0])
        self.store(narrow)
        self.close(made, "i")

    def total(self, number: int, node: Node, block: Block) -> None:
        """Fold the terms of a sum over all axes; its accumulator runs over the tiles of a block."""
        accumulator = _accumulator(node)
        name = self.accumulate(node.inputs, self.term_map(node), block, accumulator.dtype)
        self.totals.append(
            (number, Accumulator(name, accumulator.op, accumulator.dtype, 0, accumulator.narrow))
        )

    def sum_columns(self, columns: Sequence[tuple[int, Node]]) -> None:
        """Phase 3: for each column the sum over the tile's rows, added to the block's."""
        if not columns:
            return
        variables = [self.inner_variables[axis] for axis in self.rows.inner]
        outer = self.nest(variables)
        (block,) = made = self.nest(["i"])
        sums: list[Accumulator] = []
        for _, node in columns:
            own = _accumulator(node)
            name = self.accumulate(node.inputs, self.term_map(node), block, own.dtype)
            sums.append(replace(own, name=name))
        self.close(made, "i" if self.rows.along else None, sums)
        for (number, node), accumulator in zip(columns, sums, strict=True):
            value = self._widened(self.blocks[-1], accumulator.name, accumulator.dtype, node.dtype)
            self.blocks[-1].statements.append(Store(f"o{number}", self.place(number), value, adds=True))
        self.close(outer, None if self.rows.along else variables[-1])

    def place(self, number: int) -> Affine:
        """Where a block's partial sum lies, at the inner loops' variables."""
        place = Affine()
        at = (Affine(0, (("b", 1),)), *self.map_of(self.rows.alignments[number][1:]))
        for stride, index in zip(self.out_strides[number], at, strict=True):
            place = add(place, index, stride)
        return place

    def sum_all(self, sums: Sequence[tuple[int, Node]]) -> None:
        """Phase 4: sums over all axes of values of the whole space."""
        if not sums:
            return
        variables = [self.inner_variables[axis] for axis in self.rows.inner]
        order = [*variables, "i"] if self.rows.along else ["i", *variables]
        made = self.nest(order)
        for number, node in sums:
            self.total(number, node, made[-1])
        self.close(made, order[-1])

    def whole(self, block: Block, tile: Block, columns: Sequence[tuple[int, Node]]) -> list[Statement]:
        """The loops over blocks and tiles: sums start at zero, and are stored when a block is done."""
        rows = self.rows
        after: list[Statement] = []
        for number, accumulator in self.totals:
            value, node = accumulator.name, self.body.outputs[number]
            if accumulator.dtype != node.dtype:
                value = self.name()
                after.append(Compute(value, "cast", (accumulator.name,), node.dtype))
            after.append(Store(f"o{number}", self.place(number), value))
        totals = tuple(accumulator for _, accumulator in self.totals)
        tiles = Loop("t", rows.block // rows.tile, "serial", tuple(tile.statements), totals)
        body = (*block.statements, *self.zeros(columns), tiles, *after)
        count = -(-rows.shape[rows.row] // rows.block)
        return [*self.blocks[0].statements, Loop("b", count, "serial", body)]

    def zeros(self, columns: Sequence[tuple[int, Node]]) -> list[Statement]:
        """A block's sums of columns start at zero."""
        if not columns:
            return []
        statements: list[Statement] = []
        for number, node in columns:
            zero = self.name()
            statements.append(Constant(zero, 0.0, node.dtype))
            statements.append(Store(f"o{number}", self.place(number), zero))
        for axis in reversed(self.rows.inner):
            last = axis == self.rows.inner[-1]
            kind = "vector" if last else "serial"
            statements = [Loop(self.inner_variables[axis], self.rows.shape[axis], kind, tuple(statements))]
        return statements


def _is_reduction(node: Node, at: Map) -> bool:
    return node.op.name in REDUCTIONS


def _accumulator(node: Node) -> Accumulator:
    """How a partial sum runs: products in their own dtype, other terms in double precision."""
    dtype: Any = node.inputs[0].dtype if len(node.inputs) > 1 else node.dtype
    op = "multiply_add" if len(node.inputs) > 1 else "add"
    return Accumulator("", op, dtype, 0, len(node.inputs) == 1 and node.inputs[0].dtype.char == "f")


def lower_rows(
    name: str,
    body: Graph,
    rows: Rows,
    strides: Sequence[tuple[int, ...]],
    out_strides: Sequence[tuple[int, ...]],
) -> Kernel:
    """The kernel of a body passed over row by row; strides count elements. Raises NotLowered."""
    return _RowLowering(body, rows, strides, out_strides).run(name)


def row_kernel(
    body: Graph, attrs: Attrs, strides: Sequence[tuple[int, ...]], out_strides: Sequence[tuple[int, ...]]
) -> Kernel | None:
    """The kernel of a `fused` node with this body and attrs; None where it is not passed over row by row."""
    shape, folded, alignments = attrs["shape"], attrs["folded"], attrs["alignments"]
    rows = choose_rows(body, shape, folded, attrs.get("row"), alignments, strides, out_strides)
    return None if rows is None else lower_rows("kernel", body, rows, strides, out_strides)
