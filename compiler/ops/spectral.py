"""What derivatives of decompositions share: vectors along rows and columns, and quotients by gaps.

Singular and eigenvectors turn towards each other by a quotient whose denominator is the gap between their
values. Where the gap is closed, the numerator of a loss with a derivative vanishes as well, and the quotient
is the limit: the numerator's slope as the values move apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import (
    OPS,
    Attrs,
    Cotangents,
    Flow,
    Kind,
    NotDifferentiableError,
    OpDef,
    Sample,
    register,
)
from ..ir.types import Type
from ..ir.visit import topological
from .base import arrays, conj, is_inexact, normals
from .join import slice_along
from .linalg import as_matrices, entries

# How many nodes are followed from the cotangents of vectors towards the values. What lies farther off hardly
# ever depends on the order of equal values, and then has no part in the limit.
REACH = 256


def limit_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, at = arrays("limit", types)
    if x.shape != at.shape:
        OPS["limit"].fail("C1", f"{x} and {at} differ in shape")
    return x


def limit_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """How the quotient goes on beside the limit is not known from the limit."""
    at = node.inputs[1].type
    return ct, b.full(np.nan, at) if is_inexact(at) else None


register(
    OpDef(
        "limit",
        "x, found as a limit at `at` and good for that place alone: its derivative by `at` is NaN",
        Kind.ELEMENTWISE,
        limit_type,
        lambda x, at: np.array(x),
        limit_vjp,
        ("C1: x and at have one shape",),
        (
            Sample("vectors", lambda rng: (rng.normal(size=3), np.zeros(3, "i8"))),
            Sample("shapes_differ", normals((3,), (2,)), breaks="C1"),
        ),
        flow=Flow.SCALES,
    )
)


def columns(b: Builder, node: Node, start: int, size: int) -> Node:
    """Some columns of each matrix."""
    return slice_along(b, node, len(node.shape) - 1, start, size)


def rows(b: Builder, node: Node, start: int, size: int) -> Node:
    """Some rows of each matrix."""
    return slice_along(b, node, len(node.shape) - 2, start, size)


def along_columns(b: Builder, vector: Node, shape: tuple[int, ...], dtype: Any = None) -> Node:
    """Entry (i, j) is vector[j]."""
    axes = (*range(len(shape) - 2), len(shape) - 1)
    return b.broadcast(b.cast(vector, dtype or vector.dtype), axes=axes, shape=shape)


def along_rows(b: Builder, vector: Node, shape: tuple[int, ...], dtype: Any = None) -> Node:
    """Entry (i, j) is vector[i]."""
    axes = tuple(range(len(shape) - 1))
    return b.broadcast(b.cast(vector, dtype or vector.dtype), axes=axes, shape=shape)


def on_diagonal(b: Builder, vector: Node, dtype: Any) -> Node:
    """Square matrices with the vectors on their diagonals."""
    shape = (*vector.shape, vector.shape[-1])
    spread = along_columns(b, vector, shape, dtype)
    return b.multiply(spread, entries(b, np.eye(shape[-1]), spread))


def largest(b: Builder, node: Node) -> Node:
    """The largest absolute value of each matrix, one number a matrix."""
    return b.max(b.absolute(node), axes=(len(node.shape) - 2, len(node.shape) - 1))


def rates(count: int) -> Any:
    """How fast the values move apart when a limit is taken: each at a rate of its own."""
    return np.arange(1, count + 1)


def over_gap(
    b: Builder, numerator: Node, slope: Node | None, gap: Node, rate: Any, scale: Node, noise: Node
) -> Node:
    """numerator / conj(gap), or slope / rate where the gap is closed.

    Args:
        b: the builder.
        numerator: one entry a pair of vectors.
        slope: its derivative as the values move apart; None where that is not known.
        gap: differences of values, or sums.
        rate: the gap's derivative as the values move apart, an array of the shape of one matrix.
        scale: one number a matrix; gaps within its rounding count as closed.
        noise: one number a matrix; at a closed gap a numerator beyond the root of its rounding is that of a
            loss that sees how vectors of equal values are turned, and the result NaN.

    At a closed gap the first derivative is right; the next, where one is asked for, is NaN.
    """
    if 0 in numerator.shape:
        return numerator
    epsilon = float(np.finfo(scale.dtype).eps)
    size, limit = b.absolute(numerator), b.absolute(gap)
    tolerance = epsilon * max(numerator.shape[-2:])
    closed = b.less_equal(limit, as_matrices(b, b.multiply(b.scalar(tolerance, scale), scale), limit))
    silent = b.less_equal(size, as_matrices(b, b.multiply(b.scalar(epsilon**0.5, noise), noise), size))
    nowhere = b.full(np.nan, numerator.type)
    if slope is None:
        reached = nowhere
    else:
        quotient = b.limit(b.divide(slope, entries(b, rate, slope)), gap)
        idle = b.equal(slope, b.scalar(0, slope))
        reached = b.where(silent, b.where(idle, b.zeros(slope.type), quotient), nowhere)
    safe = b.cast(b.where(closed, b.full(1, gap.type), gap), numerator.dtype)
    return b.where(closed, reached, b.divide(numerator, conj(b, safe)))


# Where the values stand among the results of a decomposition, and the op that gives them alone.
VALUES = {"svd": (1, "svdvals"), "eigh": (0, "eigvalsh"), "eig": (0, "eigvals")}


def values_of(node: Node, order: Sequence[Node]) -> list[Node]:
    """The nodes that stand for the values of this decomposition of this matrix."""
    index, alone = VALUES[node.op.name]
    (a,) = node.inputs
    lower = node.attrs.get("lower")
    found = []
    for candidate in order:
        source = candidate.inputs[0] if candidate.op.name == "get" else candidate
        same_op = source.op is node.op and candidate.attrs.get("index") == index
        if source.op.name != alone and (not same_op or candidate is node):
            continue
        if source.inputs[0] is a and source.attrs.get("lower") == lower:
            found.append(candidate)
    return found


def slopes(b: Builder, node: Node, cts: Sequence[Node]) -> list[Node] | None:
    """Derivatives of cotangents of vectors as the values move apart, the vectors staying what they are.

    Args:
        b: the builder.
        node: the decomposition.
        cts: cotangents, which may depend on the values.

    Returns:
        One node for each cotangent; None if an op between has no derivative.
    """
    # differentiate.py imports the ops; here one of them asks it for a derivative of a derivative.
    from ..passes.differentiate import carriers, pull_back

    order = topological(cts)
    values = values_of(node, order)
    near = _nearest(b, cts, order, carriers(values, order), values)
    seeds = [b.mark(b.zeros(ct.type), tag=-1 - k) for k, ct in enumerate(cts)]
    try:
        pulled = [
            (n, v) for n, v in zip(pull_back(b, near, seeds, values), values, strict=True) if n is not None
        ]
        apart = [b.broadcast_to(b.constant(rates(v.shape[-1]).astype(v.dtype)), v.shape) for _, v in pulled]
        found = pull_back(b, [n for n, _ in pulled], apart, seeds)
    except NotDifferentiableError:
        return None
    return [b.zeros(ct.type) if n is None else n for n, ct in zip(found, cts, strict=True)]


def _nearest(
    b: Builder, cts: Sequence[Node], order: Sequence[Node], active: set[Node], values: Sequence[Node]
) -> list[Node]:
    """The cotangents, with all that depends on the values beyond the nearest REACH nodes held constant."""
    kept = dict.fromkeys(ct for ct in cts if ct in active)
    for node in kept_in_turn(kept):
        for operand in node.inputs if node not in values else ():
            if operand in active and len(kept) < REACH:
                kept.setdefault(operand)
    if len(kept) < REACH:
        return list(cts)
    new: dict[Node, Node] = {value: value for value in values}
    for node in order:
        if node in kept and node not in new:
            new[node] = b.again(node, tuple(_held(b, operand, new, active) for operand in node.inputs))
    return [new.get(ct, ct) for ct in cts]


def kept_in_turn(kept: dict[Node, None]) -> Any:
    """The keys of a dictionary that grows while it is read."""
    done = 0
    while done < len(kept):
        batch = list(kept)[done:]
        done = len(kept)
        yield from batch


def _held(b: Builder, operand: Node, new: dict[Node, Node], active: set[Node]) -> Node:
    if operand in new or operand not in active:
        return new.get(operand, operand)
    return b.stop_gradient(operand)
