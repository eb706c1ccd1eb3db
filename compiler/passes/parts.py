"""Long sums over rows in blocks: the sums of each block first, which threads share, then the sum of those.

A block is a range of one summed axis, chosen by its length alone, so the result has the same bits for every
number of threads, and sums over one axis fuse into one pass. What is decided here by cost:

- A sum over one axis that keeps others has a loop over those to share, and needs no cut as long as its
  operand stays in the cache of a core. It is cut where that is larger than LARGE bytes and the axis is the
  first one, so that a block of whole rows is read at a time, by the thread that made them. Products are cut
  along another axis that is much the longest, too, if few sums are kept or the matrix is summed the other way
  as well: both are one pass then.
- A sum over all axes is cut where another sum along an axis of that length is, to be made in the same pass.
  Alone it is left to `kernel/split.py`.
- The axis has at least two blocks of STEP, and there are about PARTS of them.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.types import ArrayType
from ..ir.visit import rebuild

STEP, PARTS = 64, 32
LARGE = 1 << 17
FEW_KEPT = 32


def block_length(length: int) -> int:
    """The length of a block: a multiple of STEP, so that about PARTS of them make the axis."""
    return -(-length // (STEP * PARTS)) * STEP


def split_sums(graph: Graph) -> Graph:
    """The graph with long sums of floating numbers as sums of partial sums."""
    sums = [node for node in graph.nodes if _is_sum(node)]
    ways = {(x, node.attrs["axes"]) for node in sums if len(node.inputs) > 1 for x in node.inputs}
    axes = {node: _row_axis(node, ways) for node in sums}
    lengths = {node.inputs[0].shape[axis] for node, axis in axes.items() if axis is not None}
    if not lengths:
        return graph
    for node in axes:
        shape = node.inputs[0].shape
        if len(node.attrs["axes"]) == len(shape):
            axes[node] = next((axis for axis, n in enumerate(shape) if n in lengths), None)

    def rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
        axis = axes.get(node)
        return None if axis is None else _in_blocks(b, node, inputs, axis)

    return rebuild(graph, Builder(), rewrite)


def _is_sum(node: Node) -> bool:
    """Whether a node is a sum of numbers that run in double precision."""
    if node.op.name not in ("sum", "sum_products") or not isinstance(node.type, ArrayType):
        return False
    return node.dtype.char in "fd" and all(x.dtype.char in "fdbilq" for x in node.inputs)


def _row_axis(node: Node, ways: set[tuple[Node, tuple[int, ...]]]) -> int | None:
    """The axis along which a sum that keeps axes is cut; None where it is not.

    `ways` are the matrices of products with the axes that they are summed along.
    """
    axes, x = node.attrs["axes"], node.inputs[0]
    if len(axes) != 1 or len(x.shape) == 1:
        return None
    (axis,) = axes
    count, length = math.prod(x.shape), x.shape[axis]
    if length < 2 * STEP or count * x.dtype.itemsize <= LARGE:
        return None
    others = tuple(k for k in range(len(x.shape)) if k != axis)
    pays = count // length < FEW_KEPT or any((matrix, others) in ways for matrix in node.inputs)
    along = node.op.name == "sum_products" and length * length >= 8 * count and pays
    return axis if axis == 0 or along else None


def _in_blocks(b: Builder, node: Node, inputs: tuple[Node, ...], axis: int) -> Node:
    """The sum of a block's sums, in double precision until it is done."""
    b.loc = node.loc
    double = np.dtype(np.float64)
    size = block_length(inputs[0].shape[axis])
    parts = b.partial_sum(*inputs, axes=node.attrs["axes"], axis=axis, size=size, dtype=double)
    return b.cast(b.sum(parts, axes=(0,), dtype=double), node.dtype)
