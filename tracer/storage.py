"""The object model: a Storage is one piece of memory, a window is a TracedArray that looks at it.

A Storage holds the functional value of all of its memory *now*; a write makes a new value and raises the
version; windows bring themselves up to date when they are read. Nothing is registered or pushed, so each
read and write costs O(1). The shadow of a window is a real ndarray of the true shape and strides; its
values are read only while the storage is constant.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.ir.builder import Builder
from ..compiler.ir.node import Node
from ..compiler.ops.view import Path, path_step

Array = np.ndarray[Any, Any]


class Storage:
    """One piece of memory.

    `kind` is "argument", "fresh", "closure", or "stopped" (of tl.stop_gradient: not to be written to). While
    `constant` holds, the root shadow has the true values and `node` is made on demand.
    """

    __slots__ = ("_node", "constant", "kind", "memory", "name", "root", "version")

    def __init__(self, root: Array, kind: str, node: Node | None = None, name: str = "") -> None:
        self.root = root
        self.memory = root if root.base is None else root.base
        self.kind = kind
        self.constant = node is None
        self.version = 0
        self.name = name
        self._node = node

    def node(self, builder: Builder) -> Node:
        """The value of the whole memory now."""
        if self._node is None:
            self._node = builder.constant(self.root)
        return self._node

    def made(self) -> Node | None:
        """The node, if one was made."""
        return self._node

    def assume(self, node: Node) -> None:
        """A node for what the root shadow holds; the storage stays constant."""
        self._node = node

    def replace(self, node: Node) -> None:
        """Another value for the whole memory."""
        self._node = node
        self.constant = False
        self.version += 1

    def touched(self) -> None:
        """The constant values in the root shadow were changed in place."""
        self._node = None
        self.version += 1


class Window:
    """How a window is reached from its storage's root: `path`, derived from the anchor where possible.

    The anchor is the last shadow on the way whose element addresses do not overlap (the root, or the result
    of a reshape or of a change of dtype); affine views are decoded against it.
    """

    __slots__ = ("anchor", "anchor_path", "path")

    def __init__(self, anchor: Array, anchor_path: Path, path: Path) -> None:
        self.anchor = anchor
        self.anchor_path = anchor_path
        self.path = path

    @classmethod
    def whole(cls, root: Array) -> Window:
        return cls(root, (), ())

    def then_anchor(self, shadow: Array, *steps: tuple[str, tuple[tuple[str, Any], ...]]) -> Window:
        """The window after steps that are not affine; their result is the new anchor."""
        path = self.path + steps
        return Window(shadow, path, path)

    def affine(self, shadow: Array) -> Window | None:
        """The window of a shadow that is an affine view of the anchor; None if it is not one."""
        steps = affine_steps(self.anchor, shadow)
        if steps is None:
            return None
        return Window(self.anchor, self.anchor_path, self.anchor_path + steps)


def address(array: Array) -> int:
    """The address of the first element."""
    return int(array.__array_interface__["data"][0])


def overlaps_itself(array: Array) -> bool:
    """Whether two elements may share memory."""
    if array.flags.c_contiguous or not array.size:
        return False
    reach = array.itemsize
    axes = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    for stride, length in sorted(axes):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False


def affine_steps(anchor: Array, view: Array) -> Path | None:
    """View steps that lead from one array to another of the same dtype in the same memory.

    Each axis of the view must move along axes of the anchor by constant steps. Addresses are decoded from
    the largest stride down, and what comes out is verified: a wrong decoding gives None, never a wrong path.
    """
    if view.dtype != anchor.dtype:
        return None
    if view.size == 0:
        zeros = tuple(0 for _ in anchor.shape)
        return (path_step("window", start=zeros, steps=tuple(zeros for _ in view.shape), shape=view.shape),)
    if view.shape == anchor.shape and view.strides == anchor.strides and address(view) == address(anchor):
        return ()
    low = address(anchor) + sum(
        s * (n - 1) for s, n in zip(anchor.strides, anchor.shape, strict=True) if s < 0
    )
    axes = sorted(
        (axis for axis in range(anchor.ndim) if anchor.shape[axis] > 1 and anchor.strides[axis]),
        key=lambda axis: -abs(anchor.strides[axis]),
    )

    def decode(place: int) -> list[int] | None:
        rest = place - low
        index = [0] * anchor.ndim
        for axis in axes:
            stride, length = anchor.strides[axis], anchor.shape[axis]
            count, rest = divmod(rest, abs(stride))
            if count < 0 or count >= length:
                return None
            index[axis] = count if stride > 0 else length - 1 - count
        return index if rest == 0 else None

    first = address(view)
    start = decode(first)
    if start is None:
        return None
    steps: list[tuple[int, ...]] = []
    for stride, length in zip(view.strides, view.shape, strict=True):
        if length == 1 or stride == 0:
            steps.append(tuple(0 for _ in anchor.shape))
            continue
        end = decode(first + stride * (length - 1))
        if end is None:
            return None
        moved = [e - s for e, s in zip(end, start, strict=True)]
        if any(m % (length - 1) for m in moved):
            return None
        step = tuple(m // (length - 1) for m in moved)
        if sum(d * s for d, s in zip(step, anchor.strides, strict=True)) != stride:
            return None
        steps.append(step)
    for axis, length in enumerate(anchor.shape):
        reach = [step[axis] * (n - 1) for step, n in zip(steps, view.shape, strict=True)]
        low_index = start[axis] + sum(r for r in reach if r < 0)
        high_index = start[axis] + sum(r for r in reach if r > 0)
        if low_index < 0 or high_index >= length:
            return None
    return _named_steps(anchor, view, tuple(start), tuple(steps))


def _named_steps(
    anchor: Array, view: Array, start: tuple[int, ...], steps: tuple[tuple[int, ...], ...]
) -> Path:
    """An affine view as slice, transpose, reshape and broadcast where these suffice, else as a window."""
    moves = [[axis for axis, s in enumerate(step) if s] for step in steps]
    used = [axis for move in moves for axis in move]
    if any(len(move) > 1 for move in moves) or len(set(used)) != len(used):
        return (path_step("window", start=start, steps=steps, shape=view.shape),)
    result: list[tuple[str, tuple[tuple[str, Any], ...]]] = []
    size, step = [1] * anchor.ndim, [1] * anchor.ndim
    for j, move in enumerate(moves):
        for axis in move:
            size[axis], step[axis] = view.shape[j], steps[j][axis]
    if tuple(size) != anchor.shape or any(s != 1 for s in step) or any(start):
        result.append(path_step("slice", start=start, size=tuple(size), step=tuple(step)))
    shape = tuple(size)
    repeated = [j for j, move in enumerate(moves) if not move and view.shape[j] > 1]
    target = tuple(1 if j in repeated else n for j, n in enumerate(view.shape))
    if used != sorted(used):
        squeezed = tuple(shape[axis] for axis in sorted(used))
        if shape != squeezed:
            result.append(path_step("reshape", shape=squeezed))
        order = tuple(sorted(used).index(axis) for axis in used)
        result.append(path_step("transpose", axes=order))
        shape = tuple(squeezed[axis] for axis in order)
    if repeated:
        kept = tuple(j for j in range(view.ndim) if j not in repeated)
        squeezed = tuple(view.shape[j] for j in kept)
        if shape != squeezed:
            result.append(path_step("reshape", shape=squeezed))
        result.append(path_step("broadcast", axes=kept, shape=view.shape))
    elif shape != target:
        result.append(path_step("reshape", shape=target))
    return tuple(result)
