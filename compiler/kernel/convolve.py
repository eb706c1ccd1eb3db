"""Direct kernels for sums of products of two windows: convolutions and both of their gradients.

One axis runs as vectors, the batch where it lies innermost. Two more axes of the result, one along which
only the left operand moves and one along which only the right does, are cut into tiles whose sums stay in
registers while the summed axes run: each element loaded serves a whole side of the tile. Nothing like a
window matrix is built. What the iteration axes mean is told by strides alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.node import Node
from ..ir.record import record, replace
from .form import Accumulate, Accumulator, Affine, Arg, Kernel, Load, Loop, Statement, Store
from .lower import NotLowered, add, reach

# Sums in registers at once where there are 32: these hold the sums, the loaded vectors and a spread number.
TILE = 24
UNROLLED = 8
BLOCK = 16
# Terms of a sum from which on it is cut into parts, and the least of a part: rows that stay in the cache.
LONG, PART = 8192, 1536


@record
class Axis:
    """An iteration axis: its length and how far left operand, right operand and result move, in elements.

    `out` is None for summed axes; `meets` says that another axis moves through the same elements of the
    result, so that sums are added to it.
    """

    name: str
    extent: int
    left: int
    right: int
    out: int | None
    meets: bool = False


def convolve_kernel(
    dtype: np.dtype[Any],
    axes: Sequence[Axis],
    starts: tuple[int, int, int],
    spans: Sequence[tuple[int, int]],
    registers: int = 32,
) -> Kernel:
    """The kernel of a contraction.

    Args:
        dtype: of operands and result.
        axes: the iteration axes, the result's first.
        starts: the offset of the first element of a0 (left), a1 (right) and o0 (the result).
        spans: the ranges of elements that a0, a1 and o0 may touch.
        registers: for how many vectors there is room.

    Where axes meet in the result it has to hold zeros before.
    """
    return _Convolution(dtype, axes, starts, spans, registers).run()


def contraction_kernel(
    node: Node, left: tuple[int, ...], right: tuple[int, ...], out: tuple[int, ...], registers: int = 32
) -> Kernel:
    """The kernel of a `contract_windows` node; strides count elements."""
    attrs = node.attrs
    if node.dtype.kind != "f":
        raise NotLowered(f"sums of products of {node.dtype}")
    shape = attrs["extents"][: attrs["kept"]]
    units = tuple(tuple(int(k == axis) for k in range(len(shape))) for axis in range(len(shape)))
    _, start, steps = attrs.get("result") or (shape, (0,) * len(shape), units)
    axes = [
        Axis(
            f"{'i' if number < attrs['kept'] else 'r'}{number}",
            extent,
            _dot(attrs["left_steps"][number], left),
            _dot(attrs["right_steps"][number], right),
            _dot(steps[number], out) if number < attrs["kept"] else None,
            number < attrs["kept"] and _meets(steps, number),
        )
        for number, extent in enumerate(attrs["extents"])
    ]
    starts = _dot(attrs["left_start"], left), _dot(attrs["right_start"], right), _dot(start, out)
    shapes = node.inputs[0].shape, node.inputs[1].shape, node.shape
    spans = [reach(shape, own) for shape, own in zip(shapes, (left, right, out), strict=True)]
    return convolve_kernel(node.dtype, axes, starts, spans, registers)


def _dot(steps: Sequence[int], strides: Sequence[int]) -> int:
    return sum(step * stride for step, stride in zip(steps, strides, strict=True))


def _meets(steps: Sequence[Sequence[int]], axis: int) -> bool:
    """Whether another axis moves where this one does."""
    return any(
        a and b for k, other in enumerate(steps) if k != axis for a, b in zip(steps[axis], other, strict=True)
    )


class _Convolution:
    def __init__(
        self,
        dtype: np.dtype[Any],
        axes: Sequence[Axis],
        starts: tuple[int, int, int],
        spans: Sequence[tuple[int, int]],
        registers: int,
    ) -> None:
        self.dtype = dtype
        axes = [axis for axis in axes if axis.extent > 1]
        self.starts = starts
        self.adds = any(axis.meets for axis in axes)
        self.vector = _vector_axis(axes)
        rest = [axis for axis in axes if axis is not self.vector]
        self.summed = [axis for axis in rest if axis.out is None]
        self.cut = self.parts()
        kept = [axis for axis in rest if axis.out is not None]
        self.across = _largest([a for a in kept if a.left and not a.right])
        self.down = _largest([a for a in kept if a.right and not a.left])
        across, down = (axis.extent if axis else 1 for axis in (self.across, self.down))
        sizes = _tile(across, down, registers)
        self.tile = {axis.name: n for axis, n in zip((self.across, self.down), sizes, strict=True) if axis}
        self.outer = [axis for axis in kept if axis not in (self.across, self.down)]
        self.args = tuple(
            Arg(name, dtype, role, low, high)
            for name, role, (low, high) in zip(
                ("a0", "a1", "o0"), ("in", "in", "inout" if self.adds else "out"), spans, strict=True
            )
        )
        self.count = 0

    def parts(self) -> list[Axis]:
        """Cut a long sum along its outermost axis: each part of the data serves all tiles, parts are added.

        So the data is read from far once, not once a tile, and rounding errors grow with the parts.
        """
        if self.vector is None or self.vector.out is not None or not self.summed:
            return []
        rows = max(self.summed, key=_stride)
        terms = math.prod(axis.extent for axis in (*self.summed, self.vector))
        row = terms // rows.extent
        size = next(
            n
            for n in range(1, rows.extent + 1)
            if rows.extent % n == 0 and (n * row >= PART or n == rows.extent)
        )
        if terms <= LONG or size == rows.extent:
            return []
        self.adds = True
        self.summed = [replace(axis, extent=size) if axis is rows else axis for axis in self.summed]
        return [Axis("part", rows.extent // size, rows.left * size, rows.right * size, 0, True)]

    def name(self) -> str:
        self.count += 1
        return str(self.count - 1)

    # ---- loops around a tile

    def run(self) -> Kernel:
        """Outer axes, then the tiles of both tiled axes; threads share the outermost loop."""
        pieces = self.pieces(self.across), self.pieces(self.down)
        whole = [
            axis
            for axis, parts in zip((self.across, self.down), pieces, strict=True)
            if axis and len(parts) == 1
        ]
        free = [
            a for a in (*self.outer, *(self.tiled(axis) for axis in whole)) if not a.meets and a.extent > 1
        ]
        if self.adds and not free:
            free = self.blocks()
        outermost = min(
            free,
            key=lambda axis: ((axis.extent + axis.extent % 2) / axis.extent, -axis.extent),
            default=None,
        )
        loops = [a for a in self.outer if a != outermost]
        loops.sort(key=lambda axis: (-abs(axis.out or 0), axis.extent if axis.meets else 0))
        loops = [*([outermost] if outermost is not None else []), *self.cut, *loops]
        body: list[Statement] = []
        for down in pieces[1]:
            for across in pieces[0]:
                body += self.tiles(across, down, loops)
        for axis in reversed(loops):
            body = [Loop(axis.name, axis.extent, "serial", tuple(body))]
        last = body[-1]
        alone = len(body) == 1 and isinstance(last, Loop) and not last.accumulators
        shared = alone and (not self.adds or outermost is not None)
        return Kernel("kernel", self.args, tuple(body), parallel=shared)

    def blocks(self) -> list[Axis]:
        """The vector axis cut into blocks, for threads to share where all other axes meet."""
        axis = self.vector
        if axis is None or axis.out is None or axis.meets or axis.extent % BLOCK or axis.extent == BLOCK:
            return []
        self.vector = replace(axis, extent=BLOCK)
        left, right, out = BLOCK * axis.left, BLOCK * axis.right, BLOCK * axis.out
        return [Axis("block", axis.extent // BLOCK, left, right, out)]

    def pieces(self, axis: Axis | None) -> list[tuple[int, int, int]]:
        """The tiles of an axis as (first index, number of tiles, size): the full ones, then the rest."""
        if axis is None:
            return [(0, 1, 1)]
        size = self.tile[axis.name]
        full, left = divmod(axis.extent, size)
        return [(0, full, size), *([(full * size, 1, left)] if left else [])]

    def tiled(self, axis: Axis) -> Axis:
        """The axis that counts the tiles of an axis."""
        size = self.tile[axis.name]
        out = None if axis.out is None else axis.out * size
        return replace(
            axis, extent=axis.extent // size, left=axis.left * size, right=axis.right * size, out=out
        )

    def tiles(
        self, across: tuple[int, int, int], down: tuple[int, int, int], loops: Sequence[Axis]
    ) -> list[Statement]:
        """Loops over the tiles of one size, but for those that run further out."""
        known = [axis.name for axis in loops]
        places = {axis.name: axis for axis in loops}
        offsets = [Affine(start) for start in self.starts]
        around: list[tuple[str, int]] = []
        for axis, (first, number, _) in ((self.down, down), (self.across, across)):
            if axis is None:
                continue
            steps = (axis.left, axis.right, axis.out or 0)
            offsets = [add(o, Affine(first * s)) for o, s in zip(offsets, steps, strict=True)]
            if axis.name in known:
                continue
            if number > 1:
                places[axis.name] = self.tiled(axis)
                around.append((axis.name, number))
        for place in places.values():
            steps = (place.left, place.right, place.out or 0)
            offsets = [add(o, Affine(0, ((place.name, s),))) for o, s in zip(offsets, steps, strict=True)]
        body = self.one_tile(offsets, across[2], down[2])
        for variable, number in reversed(around):
            body = [Loop(variable, number, "serial", tuple(body))]
        return body

    # ---- a tile

    def one_tile(self, offsets: Sequence[Affine], across: int, down: int) -> list[Statement]:
        """The sums of a tile and their stores, in a vector loop unless that is summed over as well."""
        left, right, out = offsets
        steps = self.across or Axis("", 1, 0, 0, 0), self.down or Axis("", 1, 0, 0, 0)
        outs = {
            (i, j): add(out, Affine(i * (steps[0].out or 0) + j * (steps[1].out or 0)))
            for i in range(across)
            for j in range(down)
        }
        vector = self.vector
        names = {place: self.name() for place in outs}
        if vector is not None and vector.out is not None:
            left, right = self.moved(left, right, vector)
            outs = {place: add(at, Affine(0, ((vector.name, vector.out),))) for place, at in outs.items()}
        body = self.sums(left, right, across, down, names)
        body += [Store("o0", outs[place], names[place], adds=self.adds) for place in outs]
        if vector is not None and vector.out is not None:
            return [Loop(vector.name, vector.extent, "vector", tuple(body))]
        return body

    def sums(
        self, left: Affine, right: Affine, across: int, down: int, names: dict[tuple[int, int], str]
    ) -> list[Statement]:
        """The summed loops around the products; the innermost short one is written out."""
        loops = sorted(self.summed, key=_stride, reverse=True)
        short = next((a for a in reversed(loops) if a.extent <= UNROLLED), None)
        if self.vector is not None and self.vector.out is None:
            loops.append(self.vector)
            short = None if len(loops) > 1 else short
        elif short is not None and len(loops) > 1:
            loops.remove(short)
        else:
            short = None
        for axis in loops:
            left, right = self.moved(left, right, axis)
        body: list[Statement] = []
        loaded: dict[tuple[str, Affine], str] = {}
        for k in range(short.extent if short else 1):
            far = (k * short.left, k * short.right) if short else (0, 0)
            self.products(
                add(left, Affine(far[0])), add(right, Affine(far[1])), across, down, names, body, loaded
            )
        if not loops:
            loops = [Axis("once", 1, 0, 0, None)]
        for axis in reversed(loops):
            kind = "vector" if axis is self.vector else "serial"
            body = [Loop(axis.name, axis.extent, kind, tuple(body))]
        (outermost,) = body
        assert isinstance(outermost, Loop)
        sums = tuple(Accumulator(name, "multiply_add", self.dtype, 0.0) for name in names.values())
        return [replace(outermost, accumulators=sums)]

    def products(
        self,
        left: Affine,
        right: Affine,
        across: int,
        down: int,
        names: dict[tuple[int, int], str],
        body: list[Statement],
        loaded: dict[tuple[str, Affine], str],
    ) -> None:
        """The products of one position: each element of a side is loaded once, near its first use."""
        step_left = self.across.left if self.across else 0
        step_right = self.down.right if self.down else 0

        def load(arg: str, at: Affine) -> str:
            if (arg, at) not in loaded:
                loaded[arg, at] = self.name()
                body.append(Load(loaded[arg, at], arg, at))
            return loaded[arg, at]

        xs = [load("a0", add(left, Affine(i * step_left))) for i in range(across)]
        for j in range(down):
            y = load("a1", add(right, Affine(j * step_right)))
            body.extend(Accumulate(names[i, j], xs[i], y) for i in range(across))

    def moved(self, left: Affine, right: Affine, axis: Axis) -> tuple[Affine, Affine]:
        return (
            add(left, Affine(0, ((axis.name, axis.left),))),
            add(right, Affine(0, ((axis.name, axis.right),))),
        )


def _stride(axis: Axis) -> int:
    return max(abs(axis.left), abs(axis.right))


def _vector_axis(axes: Sequence[Axis]) -> Axis | None:
    """The axis to vectorise: one where all that moves is contiguous, kept rather than summed, and long."""

    def worth(axis: Axis) -> tuple[bool, int]:
        return axis.out is not None, min(axis.extent, 64)

    def contiguous(axis: Axis) -> bool:
        return axis.left in (0, 1) and axis.right in (0, 1) and axis.out in (0, 1, None)

    found = [a for a in axes if contiguous(a) and (a.left or a.right)]
    long = [a for a in found if a.extent >= 8]
    return max(long or found, key=worth, default=None)


def _largest(axes: Sequence[Axis]) -> Axis | None:
    return max(axes, key=lambda axis: axis.extent, default=None)


def _tile(across: int, down: int, registers: int) -> tuple[int, int]:
    """The sizes of a tile: the fewest loads in all, with its sums in registers."""

    def loads(size: tuple[int, int]) -> tuple[int, int]:
        i, j = size
        return -(-across // i) * -(-down // j) * (i + j), -(i * j)

    def fits(i: int, j: int) -> bool:
        return i * j <= TILE if registers == 32 else i * j + i + 1 <= registers

    sizes = [(i, j) for i in range(1, 9) for j in range(1, 9) if fits(i, j) and i <= across and j <= down]
    return min(sizes, key=loads)
