"""Which loops a body gets: their order, the vector axis, and which values are kept between passes.

The axis along which most memory is contiguous runs as vectors. Where it is folded by reductions, the other
axes are outside of it and each row is passed over as often as the reductions ask; where it is not, it stands
outside and the folded axes run one by one inside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

from ..ir.node import Graph, Node
from ..ir.types import ArrayType
from .lower import REDUCTIONS, Space

Alignment = tuple["int | None", ...]

# Nanoseconds an element, roughly: what a pass over memory that is in cache costs is about 0.1.
COSTLY = {
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "power", "sin", "cos", "tan", "tanh", "sinh",
    "cosh", "arcsin", "arccos", "arctan", "arctan2", "erf", "erfc", "expit", "logaddexp",
}  # fmt: skip
LONGEST_ROW = 8192


def choose_space(
    body: Graph,
    shape: tuple[int, ...],
    folded: tuple[int, ...],
    alignments: Sequence[Alignment],
    strides: Sequence[tuple[int, ...]],
    out_strides: Sequence[tuple[int, ...]],
) -> Space:
    """The iteration space of a body over memory with these strides, in elements."""
    votes, steps = count_votes(body, shape, alignments, strides, out_strides)
    wide = [axis for axis in range(len(shape)) if shape[axis] > 1]
    contiguous = max(wide, key=lambda axis: (votes[axis], axis), default=None)
    stored = {axis for alignment in alignments for axis in alignment if axis is not None}
    outer = sorted((a for a in stored if a not in folded), key=lambda a: (-steps[a], a))
    inner = sorted((a for a in stored if a in folded), key=lambda a: (-steps[a], a))
    if contiguous is not None and contiguous in outer:
        outer.remove(contiguous)
        outer.append(contiguous)
    elif contiguous is not None and contiguous in inner:
        inner.remove(contiguous)
        inner.append(contiguous)
    kept = costly_values(body, shape, folded) if contiguous in folded else frozenset()
    return Space(shape, (*outer, *inner), contiguous, tuple(alignments), kept, folded)


def count_votes(
    body: Graph,
    shape: tuple[int, ...],
    alignments: Sequence[Alignment],
    strides: Sequence[tuple[int, ...]],
    out_strides: Sequence[tuple[int, ...]],
) -> tuple[Counter[int], Counter[int]]:
    """For each axis of the space how many elements lie contiguously along it, and an array's longest step.

    An array that is repeated along an axis has the elements of one copy.
    """
    votes: Counter[int] = Counter()
    steps: Counter[int] = Counter()
    for param, own in zip(body.params, strides, strict=True):
        if param.shape == shape:
            _vote(own, tuple(range(len(shape))), shape, votes, steps)
    for own, alignment in zip(out_strides, alignments, strict=True):
        _vote(own, alignment, shape, votes, steps)
    return votes, steps


def _vote(
    strides: Sequence[int],
    alignment: Alignment,
    shape: tuple[int, ...],
    votes: Counter[int],
    steps: Counter[int],
) -> None:
    places = [(axis, s) for axis, s in zip(alignment, strides, strict=True) if axis is not None]
    elements = math.prod(shape[axis] for axis, stride in places if stride)
    for axis, stride in places:
        if shape[axis] > 1:
            votes[axis] += elements * (stride == 1)
            steps[axis] = max(steps[axis], abs(stride))


def costly_values(body: Graph, shape: tuple[int, ...], folded: tuple[int, ...]) -> frozenset[Node]:
    """Costly values of the full shape that more than one pass over a row reads."""
    length = 1
    for axis in folded:
        length *= shape[axis]
    if not folded or length > LONGEST_ROW:
        return frozenset()
    passes: dict[Node, set[object]] = {}
    for node in reversed(body.nodes):
        mine = passes.setdefault(node, set())
        if node in body.outputs:
            mine.add("outputs")
        below = {node} if node.op.name in REDUCTIONS else mine
        for operand in node.inputs:
            passes.setdefault(operand, set()).update(below)
    return frozenset(
        node
        for node in body.nodes
        if node.op.name in COSTLY
        and isinstance(node.type, ArrayType)
        and node.shape == shape
        and len(passes[node]) > 1
    )
