"""From a fused graph to a kernel: index arithmetic for views, loops for shapes, accumulators for reductions.

The kernel runs over one iteration space, the shape of the body's largest values. A node is emitted for an
index map, one affine expression per axis, in the outermost block that knows the map's variables; so what
does not depend on an inner loop stands before it, and a value asked for twice with one map is computed once.
A costly value that several passes over a row need is kept in scratch memory by the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Protocol

import numpy as np

from ..ir.node import Graph, Node
from ..ir.opdef import Kind
from ..ir.record import record
from ..ir.types import ArrayType
from .form import (
    Accumulate,
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

Map = tuple[Affine, ...]


class NotLowered(Exception):
    """The body has no kernel: an op or a view that the form cannot say."""


def add(a: Affine, b: Affine, factor: int = 1) -> Affine:
    """a + factor * b."""
    strides = dict(a.strides)
    for variable, stride in b.strides:
        strides[variable] = strides.get(variable, 0) + factor * stride
    return Affine(a.offset + factor * b.offset, tuple((v, s) for v, s in sorted(strides.items()) if s))


def scaled(a: Affine, factor: int) -> Affine:
    return add(Affine(), a, factor)


@record(frozen=False)
class Block:
    """The statements of one loop body; `variables` are those of the enclosing loops, outermost first."""

    variables: tuple[str, ...]
    statements: list[Statement] = field(default_factory=list)
    known: dict[Any, str] = field(default_factory=dict)


@record
class Space:
    """The iteration space of a body.

    Attributes:
        shape: one length an axis.
        order: the axes that outputs are stored over, outermost loop first.
        vector: the axis whose loop runs as vectors; None where nothing does.
        alignments: for each output the axes of the space that its own axes are (None: an axis of length 1).
        kept: nodes whose values are kept in scratch memory, one row over the axes in `folded`.
        folded: the axes that reductions fold.
    """

    shape: tuple[int, ...]
    order: tuple[int, ...]
    vector: int | None
    alignments: tuple[tuple[int | None, ...], ...]
    kept: frozenset[Node] = frozenset()
    folded: tuple[int, ...] = ()


class Lowering:
    """The state of lowering one body."""

    def __init__(
        self,
        body: Graph,
        space: Space,
        strides: Sequence[tuple[int, ...]],
        out_strides: Sequence[tuple[int, ...]],
    ) -> None:
        self.body = body
        self.space = space
        self.scratch: dict[Node, str] = {}
        self.kept_rows: dict[Node, Map] = {}
        self.strides = dict(zip(body.params, strides, strict=True))
        self.out_strides = out_strides
        self.args: list[Arg] = []
        self.arg_of: dict[Node, str] = {}
        self.blocks: list[Block] = [Block(())]
        self.names = 0

    def name(self) -> str:
        self.names += 1
        return str(self.names - 1)

    # ---- blocks

    def block_for(self, maps: Sequence[Affine]) -> Block:
        """The outermost open block that knows every variable of the maps."""
        used = {variable for at in maps for variable, _ in at.strides}
        for block in self.blocks:
            if used <= set(block.variables):
                return block
        raise AssertionError(f"variables {used} are not open")

    def known(self, block: Block, key: Any) -> str | None:
        """The name of a value that a block or one around it has already."""
        for outer in self.blocks:
            if key in outer.known:
                return outer.known[key]
            if outer is block:
                break
        return None

    def emit(self, block: Block, key: Any, make: Callable[[str], Statement]) -> str:
        """The name of a value in a block or one around it, made now if it is new."""
        known = self.known(block, key)
        if known is not None:
            return known
        name = self.name()
        block.statements.append(make(name))
        block.known[key] = name
        return name

    # ---- values

    def value(self, node: Node, at: Map) -> str:
        """The name of an element of a node's value. Recursion is bounded by the size of a body."""
        handler = VIEWS.get(node.op.name)
        if handler is not None:
            return handler(self, node, at)
        if node.op.name == "constant":
            value = node.attrs["value"].value
            if np.ndim(value):
                raise NotLowered("an array constant")
            return self.emit(
                self.blocks[0], node, lambda n: Constant(n, np.asarray(value).item(), np.asarray(value).dtype)
            )
        if node.op.name == "param":
            return self.load(node, at)
        if node.op.kind is Kind.ELEMENTWISE:
            return self.elementwise(node, at)
        if node.op.kind is Kind.REDUCTION and node.op.name in REDUCTIONS:
            return self.reduction(node, at)
        raise NotLowered(node.op.name)

    def load(self, node: Node, at: Map) -> str:
        place = Affine()
        for stride, index in zip(self.strides[node], at, strict=True):
            place = add(place, index, stride)
        block = self.block_for([place])
        return self.emit(block, (node, place), lambda n: Load(n, self.arg_of[node], place))

    def keep(self, node: Node, at: Map, name: str, block: Block) -> None:
        """Store a value into scratch memory for the passes to come."""
        length = int(np.prod([self.space.shape[axis] for axis in self.space.folded], dtype=int))
        arg = self.scratch[node] = f"s{len(self.scratch)}"
        self.args.append(Arg(arg, node.dtype, "scratch", 0, length))
        block.statements.append(Store(arg, self.row_place(at), name))

    def row_of(self, at: Map) -> Map:
        """Which row over the folded axes an element is in; with an axis of length 1 one row has two names.

        What is kept under one is not read under the other: that may be needed before the row's loop.
        """
        return tuple(index for axis, index in enumerate(at) if axis not in self.space.folded)

    def row_place(self, at: Map) -> Affine:
        """The place of an element in a row over the folded axes."""
        place = Affine()
        for axis in self.space.folded:
            place = add(scaled(place, self.space.shape[axis]), at[axis])
        return place

    def elementwise(self, node: Node, at: Map) -> str:
        if node in self.scratch and self.row_of(at) == self.kept_rows[node]:
            place = self.row_place(at)
            return self.emit(self.block_for(at), (node, at), lambda n: Load(n, self.scratch[node], place))
        block = self.block_for(at)
        known = self.known(block, (node, at))
        if known is not None:
            return known
        operands = tuple(self.value(o, at if o.shape else ()) for o in node.inputs)
        assert isinstance(node.type, ArrayType)
        dtype = node.type.dtype
        name = self.emit(block, (node, at), lambda n: Compute(n, node.op.name, operands, dtype))
        if node in self.space.kept and node not in self.scratch:
            self.kept_rows[node] = self.row_of(at)
            self.keep(node, at, name, block)
        return name

    def reduction(self, node: Node, at: Map) -> str:
        """A loop over fresh variables in the block of the map, unless it is there already."""
        block = self.block_for(at)
        known = self.known(block, (node, at))
        if known is not None:
            return known
        x = node.inputs[0]
        axes = self.in_order(node.attrs["axes"])
        if not axes and len(node.inputs) == 1:
            return self._cast(x, at, node, block)
        op, dtype, init = accumulator_of(node)
        if _counts(node):
            x, dtype = x.inputs[0], np.dtype(np.int32)
        narrow = dtype.kind == "f" and dtype != x.dtype
        kept = iter(at)
        loops = [(axis, f"r{self.name()}", x.shape[axis]) for axis in axes]
        variables = {axis: variable for axis, variable, _ in loops}
        inner = tuple(
            Affine(0, ((variables[axis], 1),)) if axis in variables else next(kept)
            for axis in range(len(x.shape))
        )
        depth = self.blocks.index(block)
        saved = self.blocks
        self.blocks = [*saved[: depth + 1]]
        made: list[Block] = []
        for _, variable, _ in loops:
            opened = Block((*self.blocks[-1].variables, variable))
            self.blocks.append(opened)
            made.append(opened)
        total = self.accumulate(node.inputs if len(node.inputs) > 1 else (x,), inner, made[-1], dtype)
        self.blocks = saved
        self._close(block, loops, made, Accumulator(total, op, dtype, init, narrow))
        result = total
        if dtype != node.dtype:
            result = self.name()
            block.statements.append(Compute(result, "cast", (total,), node.dtype))
        block.known[node, at] = result
        return result

    def in_order(self, axes: Sequence[int]) -> list[int]:
        """Folded axes as the outputs' loops have them, the one that runs as vectors last."""
        place = {axis: number for number, axis in enumerate(self.space.order)}
        return sorted(axes, key=lambda axis: (axis == self.space.vector, place.get(axis, axis)))

    def accumulate(self, terms: Sequence[Node], at: Map, block: Block, dtype: Any) -> str:
        """Fold a value, or the product of two, in a block; the name of the accumulator."""
        names = [self._widened(block, self.value(x, at), x.dtype, dtype) for x in terms]
        total = self.name()
        block.statements.append(Accumulate(total, *names))
        return total

    def _cast(self, x: Node, at: Map, node: Node, block: Block) -> str:
        """A reduction over no axes: each element in the result's dtype."""
        value = self.value(x, at)
        if x.dtype == node.dtype:
            return value
        return self.emit(block, (node, at), lambda n: Compute(n, "cast", (value,), node.dtype))

    def _widened(self, block: Block, value: str, have: Any, want: Any) -> str:
        if have == want:
            return value
        name = self.name()
        block.statements.append(Compute(name, "cast", (value,), want))
        return name

    def _close(self, block: Block, loops: Any, made: list[Block], accumulator: Accumulator) -> None:
        """Nest the opened blocks into one loop statement; the accumulator is folded over all of them."""
        statements = made[-1].statements
        for number in range(len(loops) - 1, -1, -1):
            _, variable, extent = loops[number]
            kind = "vector" if number == len(loops) - 1 and not self._inside_vector(block) else "serial"
            own = (accumulator,) if number == 0 else ()
            loop = Loop(variable, extent, kind, tuple(statements), own)
            statements = [*(made[number - 1].statements if number else []), loop]
        block.statements.append(statements[-1])

    def _inside_vector(self, block: Block) -> bool:
        return self.vector is not None and self.vector in block.variables

    # ---- the whole kernel

    def read_params(self) -> None:
        """Make the arguments that are read."""
        for number, param in enumerate(self.body.params):
            assert isinstance(param.type, ArrayType)
            low, high = reach(param.shape, self.strides[param])
            self.arg_of[param] = f"a{number}"
            self.args.append(Arg(f"a{number}", param.type.dtype, "in", low, high))

    def run(self, name: str) -> Kernel:
        """The kernel over the iteration space."""
        space = self.space
        self.vector = None if space.vector is None or space.vector not in space.order else f"i{space.vector}"
        self.read_params()
        for axis in space.order:
            self.blocks.append(Block((*self.blocks[-1].variables, f"i{axis}")))
        self._reduce_first()
        stores = [self._store(number) for number in range(len(self.body.outputs))]
        for block, statement in stores:
            block.statements.append(statement)
        statements: list[Statement] = self.blocks[-1].statements
        for depth in range(len(space.order) - 1, -1, -1):
            axis = space.order[depth]
            kind = "vector" if axis == space.vector else "serial"
            loop = Loop(f"i{axis}", space.shape[axis], kind, tuple(statements))
            statements = [*self.blocks[depth].statements, *([loop] if loop.body else [])]
        return Kernel(
            name,
            tuple(self.args),
            tuple(statements),
            parallel=isinstance(statements[-1], Loop) and bool(space.order),
        )

    def _reduce_first(self) -> None:
        """Emit the reductions before the outputs, in the body's order: passes over a row are sequential."""
        kept = [axis for axis in range(len(self.space.shape)) if axis not in self.space.folded]
        if all(axis in self.space.order for axis in kept):
            at = tuple(Affine(0, ((f"i{axis}", 1),)) for axis in kept)
            for node in self.body.nodes:
                if node.op.name in REDUCTIONS:
                    self.value(node, at)

    def _store(self, number: int) -> tuple[Block, Store]:
        """The store of an output and its block. All stores follow all loads, so memory may be shared."""
        output, strides = self.body.outputs[number], self.out_strides[number]
        assert isinstance(output.type, ArrayType)
        arg = f"o{number}"
        low, high = reach(output.shape, strides)
        self.args.append(Arg(arg, output.type.dtype, "out", low, high))
        at = tuple(
            Affine() if axis is None else Affine(0, ((f"i{axis}", 1),))
            for axis in self.space.alignments[number]
        )
        value = self.value(output, at)
        place = Affine()
        for stride, axis in zip(strides, at, strict=True):
            place = add(place, axis, stride)
        return self.block_for(at), Store(arg, place, value)


def reach(shape: Sequence[int], strides: Sequence[int]) -> tuple[int, int]:
    """The range of element offsets that an array touches."""
    low = sum(min(s * (n - 1), 0) for s, n in zip(strides, shape, strict=True))
    high = sum(max(s * (n - 1), 0) for s, n in zip(strides, shape, strict=True))
    return low, high + 1


REDUCTIONS = {
    "sum": "add",
    "sum_products": "multiply_add",
    "prod": "multiply",
    "max": "maximum",
    "min": "minimum",
    "any": "logical_or",
    "all": "logical_and",
}


# Sums of blocks of rows, which only `rows.py` lowers: they are complete when a block has been passed.
PARTIAL = "partial_sum"


def accumulator_of(node: Node) -> tuple[str, Any, Any]:
    """The operation, dtype and start of a reduction: single precision sums and products run in double."""
    op = REDUCTIONS[node.op.name]
    dtype = node.dtype
    if op == "multiply_add":
        return op, dtype, 0
    if op in ("add", "multiply"):
        wide = {"e": "f8", "f": "f8"}.get(dtype.char)
        return op, np.dtype(wide) if wide else dtype, 0 if op == "add" else 1
    if op in ("logical_or", "logical_and"):
        return op, np.dtype(bool), op == "logical_and"
    if dtype.kind == "f":
        return op, dtype, -np.inf if op == "maximum" else np.inf
    if dtype.kind == "b":
        return op, dtype, op == "minimum"
    limits = np.iinfo(dtype)
    return op, dtype, limits.min if op == "maximum" else limits.max


def _counts(node: Node) -> bool:
    """Whether a sum counts booleans, few enough that floating numbers hold the count exactly."""
    x = node.inputs[0]
    if node.op.name != "sum" or x.op.name != "cast" or x.inputs[0].dtype.kind != "b":
        return False
    count = int(np.prod([x.shape[axis] for axis in node.attrs["axes"]], dtype=int))
    return node.dtype.char in "fd" and count < 1 << 24


# ---- views: the operand's index as a function of the result's


class Reader(Protocol):
    """What follows a value at an index map down to its operands."""

    def value(self, node: Node, at: Map) -> str: ...


def _transpose(self: Reader, node: Node, at: Map) -> str:
    axes = node.attrs["axes"]
    return self.value(node.inputs[0], tuple(at[axes.index(axis)] for axis in range(len(axes))))


def _broadcast(self: Reader, node: Node, at: Map) -> str:
    return self.value(node.inputs[0], tuple(at[axis] for axis in node.attrs["axes"]))


def _slice(self: Reader, node: Node, at: Map) -> str:
    attrs = node.attrs
    inner = tuple(
        add(Affine(first), index, step)
        for first, step, index in zip(attrs["start"], attrs["step"], at, strict=True)
    )
    return self.value(node.inputs[0], inner)


def _window(self: Reader, node: Node, at: Map) -> str:
    inner = []
    for axis, first in enumerate(node.attrs["start"]):
        place = Affine(first)
        for index, step in zip(at, node.attrs["steps"], strict=True):
            place = add(place, index, step[axis])
        inner.append(place)
    return self.value(node.inputs[0], tuple(inner))


def _reshape(self: Reader, node: Node, at: Map) -> str:
    """Axes are matched in groups of equal size; the index of a split axis is a sum over the parts."""
    (x,) = node.inputs
    inner: list[Affine] = []
    i = j = 0
    source, result = x.shape, node.shape
    while i < len(source):
        if source[i] == 1:
            inner.append(Affine())
            i += 1
            continue
        group, length = [j], result[j]
        while length < source[i]:
            j += 1
            group.append(j)
            length *= result[j]
        if length != source[i]:
            raise NotLowered("a reshape that merges axes")
        place = Affine()
        for axis in group:
            place = add(scaled(place, result[axis]), at[axis])
        inner.append(place)
        i, j = i + 1, j + 1
    return self.value(x, tuple(inner))


def _same(self: Reader, node: Node, at: Map) -> str:
    return self.value(node.inputs[0], at)


VIEWS: dict[str, Callable[[Reader, Node, Map], str]] = {
    "transpose": _transpose,
    "broadcast": _broadcast,
    "slice": _slice,
    "window": _window,
    "reshape": _reshape,
    "copy": _same,
    "mark": _same,
    "stop_gradient": _same,
}


def lower(
    name: str,
    body: Graph,
    space: Space,
    strides: Sequence[tuple[int, ...]],
    out_strides: Sequence[tuple[int, ...]],
) -> Kernel:
    """The kernel of a body; strides count elements. Raises NotLowered where there is none."""
    return Lowering(body, space, strides, out_strides).run(name)
