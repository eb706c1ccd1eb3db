"""Whether and how a body is passed over row by row: which axis the rows are, how many are taken at a time.

`rows.py` makes the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..ir.node import Graph
from ..ir.record import record
from .lower import PARTIAL, REDUCTIONS
from .space import COSTLY, Alignment, count_votes

# Bytes of a tile, its rows at the least, as vectors run along them, and at the most. Where rows are
# contiguous a tile is a piece of each inner index' memory: these are to be long.
TILE, LONG_TILE, FEWEST, MOST = 1 << 16, 1 << 19, 16, 2048
# Bytes from which on a matrix is not read in columns of a few vectors.
LARGE = 1 << 20


@record
class Rows:
    """How a body is passed over.

    Attributes:
        shape: the iteration space.
        row: the axis of the rows.
        inner: the other axes, outermost first.
        along: whether vectors run along the rows where the whole space is passed, else along inner's last.
        block: rows in a block; one partial sum each.
        tile: rows in a tile, which divides the block.
        alignments: for each output the axes of the space that its own axes are.
    """

    shape: tuple[int, ...]
    row: int
    inner: tuple[int, ...]
    along: bool
    block: int
    tile: int
    alignments: tuple[Alignment, ...]


def choose_rows(
    body: Graph,
    shape: tuple[int, ...],
    folded: tuple[int, ...],
    row: int | None,
    alignments: Sequence[Alignment],
    strides: Sequence[tuple[int, ...]],
    out_strides: Sequence[tuple[int, ...]],
) -> Rows | None:
    """How to pass over a body row by row; None where it has no rows, or gains nothing by it.

    Bodies with partial sums have to. Others gain where costly functions of one number a row can run as
    vectors, which they cannot between the rows' reductions, and where a large matrix is summed by columns.
    """
    size = next((node.attrs["size"] for node in body.nodes if node.op.name == PARTIAL), 0)
    votes, steps = count_votes(body, shape, alignments, strides, out_strides)
    wide = [axis for axis in range(len(shape)) if shape[axis] > 1]
    contiguous = max(wide, key=lambda axis: (votes[axis], axis), default=0)
    if row is None:
        kept = [axis for axis in wide if axis not in folded]
        if len(kept) != 1 or not folded or shape[kept[0]] < 2 * FEWEST:
            return None
        if any(len(shape) - a.count(None) and kept[0] not in a for a in alignments):
            return None
        row = kept[0]
        if contiguous == row and not _is_large_product(body, shape):
            return None
        if contiguous != row and not any(
            n.op.name in COSTLY and math.prod(n.shape) == shape[row] for n in body.nodes
        ):
            return None
    inner = sorted((a for a in range(len(shape)) if a != row), key=lambda a: (a == contiguous, -steps[a], a))
    if size and contiguous != row and _is_read_once(body, shape):
        tile = size
    else:
        tile = _tile(body, shape, row, size, strides, TILE if contiguous != row else LONG_TILE)
    return Rows(shape, row, tuple(inner), contiguous == row, size or tile, tile, tuple(alignments))


def _is_read_once(body: Graph, shape: tuple[int, ...]) -> bool:
    """Whether sums down columns are all there is to make: no later phase finds a tile in the cache."""
    return not any(node.op.name in REDUCTIONS for node in body.nodes) and all(
        node.op.name == PARTIAL and len(node.attrs["axes"]) == 1 and node.inputs[0].shape == shape
        for node in body.outputs
    )


def _is_large_product(body: Graph, shape: tuple[int, ...]) -> bool:
    """Whether all reductions are sums of products over a matrix that is larger than the cache."""
    reductions = [node for node in body.nodes if node.op.name in REDUCTIONS]
    products = all(node.op.name == "sum_products" for node in reductions)
    return bool(reductions) and products and math.prod(shape) * reductions[0].dtype.itemsize > LARGE


def _tile(
    body: Graph, shape: tuple[int, ...], row: int, size: int, strides: Sequence[tuple[int, ...]], most: int
) -> int:
    """Rows of which the space's arrays take at most so many bytes; a divisor of the block if it can be."""
    width = 0
    for param, own in zip(body.params, strides, strict=True):
        if param.shape == shape and own[row]:
            width += param.dtype.itemsize * math.prod(n for axis, n in enumerate(shape) if axis != row)
    most = max(FEWEST, min(most // max(width, 1), MOST)) // FEWEST * FEWEST
    if not size:
        return most
    return max((n for n in range(FEWEST, min(size, most) + 1, FEWEST) if size % n == 0), default=size)
