"""Padding by writes: an array with a border of one number is that number everywhere, and one write.

`np.pad` writes the array into memory of any content and then the borders, one by one, empty ones too. Where
the writes together cover everything and all but one write one number, the memory's content never shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.types import ArrayType
from ..ir.visit import rebuild

LONGEST = 16
Box = tuple[tuple[int, int], ...]


def merge_padding(graph: Graph) -> Graph:
    """The graph with empty writes gone and borders of one number merged into the memory written to."""
    return rebuild(graph, Builder(), _rewrite)


def _rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    if node.op.name != "write":
        return None
    b.loc = node.loc
    base, value = inputs
    if isinstance(value.type, ArrayType) and not value.type.size:
        return base
    return _bordered(b, b.again(node, inputs))


def _bordered(b: Builder, node: Node) -> Node | None:
    """A chain of writes as one write into a number repeated; None where it is something else."""
    borders: list[tuple[Node, Box]] = []
    inner: tuple[Node, Box] | None = None
    below = node
    while below.op.name == "write" and len(borders) < LONGEST:
        box = _box(below)
        if box is None:
            break
        if _number(below.inputs[1]) is not None:
            borders.append((below, box))
        elif inner is None:
            inner = below, box
        else:
            break
        below = below.inputs[0]
    if inner is None or not borders:
        return None
    numbers = {_number(write.inputs[1]) for write, _ in borders}
    boxes = [box for _, box in borders]
    if len(numbers) != 1 or any(_meet(box, inner[1]) for box in boxes):
        return None
    if not _cover([*boxes, inner[1]], node.shape):
        return None
    (number,) = numbers
    assert number is not None
    space = b.broadcast(number, axes=(), shape=node.shape)
    return b.write(space, inner[0].inputs[1], path=inner[0].attrs["path"])


def _number(value: Node) -> Node | None:
    """The 0-d constant that a value repeats."""
    if value.op.name != "broadcast" or value.inputs[0].op.name != "constant" or value.inputs[0].shape:
        return None
    return value.inputs[0]


def _box(write: Node) -> Box | None:
    """The box of elements that a write replaces; None where it is not a box without gaps."""
    path = write.attrs["path"]
    if len(path) != 1 or path[0][0] != "slice":
        return None
    attrs = dict(path[0][1])
    if any(step != 1 for step in attrs["step"]):
        return None
    return tuple((low, low + n) for low, n in zip(attrs["start"], attrs["size"], strict=True))


def _meet(one: Box, two: Box) -> bool:
    return all(a < d and c < b for (a, b), (c, d) in zip(one, two, strict=True))


def _cover(boxes: Sequence[Box], shape: Sequence[int]) -> bool:
    """Whether boxes fill a shape: each cell of the grid that their edges draw lies in one."""
    cuts = [
        sorted({0, length, *(edge for box in boxes for edge in box[axis])})
        for axis, length in enumerate(shape)
    ]
    filled = np.zeros([len(edges) - 1 for edges in cuts], bool)
    if filled.size > 1 << 20:
        return False
    for box in boxes:
        cells = tuple(
            slice(edges.index(low), edges.index(high)) for edges, (low, high) in zip(cuts, box, strict=True)
        )
        filled[cells] = True
    return bool(filled.all())
