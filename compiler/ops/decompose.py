"""Decompositions: svd, svdvals, qr.

Equal singular values leave the vectors free to turn among each other. A loss that does not see the turn has
a derivative, and gets it; one that does has none there, and gets NaN. Eigenvalues stand in
`eigen.py`, what is built on decompositions in `least_squares.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import TupleType, Type, array_type
from .base import conj, is_complex
from .join import slice_along
from .linalg import (
    C_LAPACK,
    adjoint,
    as_matrices,
    entries,
    matrices,
    real_dtype,
    triangle,
)

C_MATRICES = "C1: the operand is a stack of matrices"


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
    """The largest absolute value of each matrix, repeated over its entries."""
    size = b.absolute(node)
    last = (len(node.shape) - 2, len(node.shape) - 1)
    return as_matrices(b, b.max(size, axes=last), size)


def over_gap(b: Builder, numerator: Node, gap: Node, scale: Node, size: Node) -> Node:
    """numerator / gap, where gaps within rounding of `scale` count as none.

    There the numerator of a loss with a derivative is zero up to rounding of `size`, and so is the result;
    otherwise it is NaN.
    """
    if 0 in numerator.shape:
        return numerator
    epsilon = float(np.finfo(gap.dtype).eps)
    limit = b.multiply(b.scalar(epsilon * max(numerator.shape[-2:]), scale), scale)
    closed = b.less_equal(b.absolute(gap), limit)
    noise = b.multiply(b.scalar(epsilon**0.5, size), size)
    silent = b.less_equal(b.absolute(numerator), noise)
    missing = b.where(silent, b.zeros(numerator.type), b.full(np.nan, numerator.type))
    safe = b.cast(b.where(closed, b.full(1, gap.type), gap), numerator.dtype)
    return b.where(closed, missing, b.divide(numerator, conj(b, safe)))


def svd_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("svd", types, square=False)
    *stack, m, n = a.shape
    k = min(m, n)
    u, vh = ((m, m), (n, n)) if attrs["full_matrices"] else ((m, k), (k, n))
    return TupleType(
        (
            array_type((*stack, *u), a.dtype),
            array_type((*stack, k), real_dtype(a.dtype)),
            array_type((*stack, *vh), a.dtype),
        )
    )


def svd_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """dA's cotangent in the frame of singular vectors, U M V^H, with M made of turns over gaps.

    With J and K the skew parts of U^H dU and V^H dV, M's entry (i, j) is half of
    (J + K) / (s[j] - s[i]) + (J - K) / (s[j] + s[i]), and ds on the diagonal.
    Source: J. Townsend, Differentiating the singular value decomposition (2016).
    """
    (a,) = node.inputs
    if 0 in a.shape:
        return (b.zeros(a.type),)
    u, s, vh = (b.get(node, index=index) for index in range(3))
    ct_u, ct_s, ct_vh = cts
    middle = on_diagonal(b, ct_s, a.dtype) if ct_s is not None else None
    k = s.shape[-1]
    u1, vh1 = columns(b, u, 0, k), rows(b, vh, 0, k)
    if ct_u is None and ct_vh is None:
        return (b.matmul(b.matmul(u1, middle), vh1) if middle is not None else None,)
    ct_u = b.zeros(u.type) if ct_u is None else ct_u
    ct_v = b.zeros(adjoint(b, vh).type) if ct_vh is None else adjoint(b, ct_vh)
    turn_u = b.matmul(adjoint(b, u), ct_u)
    turn_v = b.matmul(vh, ct_v)
    inner = _inner_turns(b, s, block(b, turn_u, k), block(b, turn_v, k))
    middle = inner if middle is None else b.add(middle, inner)
    total = b.matmul(b.matmul(u1, middle), vh1)
    for part in (
        _outer_turns(b, u, ct_u, turn_u, s, vh1, a.shape[-2]),
        adjoint_or_none(b, _outer_turns(b, adjoint(b, vh), ct_v, turn_v, s, adjoint(b, u1), a.shape[-1])),
    ):
        total = total if part is None else b.add(total, part)
    return (total,)


def block(b: Builder, node: Node, k: int) -> Node:
    """The leading k rows and columns."""
    return rows(b, columns(b, node, 0, k), 0, k)


def adjoint_or_none(b: Builder, node: Node | None) -> Node | None:
    return None if node is None else adjoint(b, node)


def _inner_turns(b: Builder, s: Node, turn_u: Node, turn_v: Node) -> Node:
    """M: turns of pairs of singular vectors, and of the phases of complex ones."""
    shape = turn_u.shape
    skew_u = b.subtract(turn_u, adjoint(b, turn_u))
    skew_v = b.subtract(turn_v, adjoint(b, turn_v))
    right, left = along_columns(b, s, shape), along_rows(b, s, shape)
    scale = largest(b, right)
    size = b.maximum(largest(b, turn_u), largest(b, turn_v))
    off = entries(b, 1 - np.eye(shape[-1]), turn_u)
    near = over_gap(b, b.multiply(off, b.add(skew_u, skew_v)), b.subtract(right, left), scale, size)
    far = over_gap(b, b.multiply(off, b.subtract(skew_u, skew_v)), b.add(right, left), scale, size)
    both = b.add(near, far)
    if is_complex(turn_u):
        phases = b.multiply(entries(b, np.eye(shape[-1]), turn_u), b.subtract(skew_u, skew_v))
        both = b.add(both, over_gap(b, phases, b.add(right, right), scale, size))
    return b.multiply(b.scalar(0.5, both), both)


def _outer_turns(b: Builder, u: Node, ct: Node, turn: Node, s: Node, vh: Node, m: int) -> Node | None:
    """Turns of U out of the space of its first k columns, divided by s; None where there is no room."""
    k = s.shape[-1]
    if m == k:
        return None
    u1 = columns(b, u, 0, k)
    if u.shape[-1] == k:
        away = b.subtract(ct, b.matmul(u1, turn))
    else:
        extra = m - k
        mixed = b.subtract(
            rows(b, columns(b, turn, 0, k), k, extra),
            adjoint(b, rows(b, columns(b, turn, k, extra), 0, k)),
        )
        away = b.matmul(columns(b, u, k, extra), mixed)
    size = b.add(
        largest(b, away), as_matrices(b, b.max(b.absolute(turn), axes=_last(turn)), b.absolute(away))
    )
    gap = along_columns(b, s, away.shape)
    return b.matmul(over_gap(b, away, gap, largest(b, gap), size), vh)


def _last(node: Node) -> tuple[int, int]:
    return len(node.shape) - 2, len(node.shape) - 1


def normal_matrices(*shape: int, dtype: str = "f8") -> Callable[[Any], tuple[Any, ...]]:
    """A sample maker: normally distributed matrices."""

    def make(rng: Any) -> tuple[Any, ...]:
        matrix = rng.normal(size=shape)
        if np.dtype(dtype).kind == "c":
            matrix = matrix + 1j * rng.normal(size=shape)
        return (matrix.astype(dtype),)

    return make


_reduced, _full = {"full_matrices": False}, {"full_matrices": True}
NO_MATRICES = Sample("vector", lambda rng: (rng.normal(size=3),), breaks="C1")
INTEGERS = Sample("integers", lambda rng: (np.eye(2, dtype="i8"),), breaks="C2")


def with_attrs(sample: Sample, attrs: dict[str, Any]) -> Sample:
    """The sample with other attrs."""
    return Sample(sample.name, sample.inputs, attrs, sample.breaks, sample.differentiable)


register(
    OpDef(
        "svd",
        "singular vectors and values: A = U diag(s) V^H, s falling",
        Kind.OTHER,
        svd_type,
        lambda a, full_matrices: tuple(np.linalg.svd(a, full_matrices=full_matrices)),
        svd_vjp,  # type: ignore[arg-type]
        (C_MATRICES, C_LAPACK),
        (
            Sample("square", normal_matrices(3, 3), _reduced),
            Sample("tall", normal_matrices(4, 2), _reduced),
            Sample("wide", normal_matrices(2, 4), _reduced),
            Sample("stack", normal_matrices(2, 3, 2), _reduced),
            Sample("one_more_row", normal_matrices(3, 2), _full),
            Sample("one_more_column", normal_matrices(2, 3), _full),
            Sample("free_rows", normal_matrices(4, 2), _full, differentiable=False),
            Sample("complex", normal_matrices(3, 2, dtype="c16"), _reduced, differentiable=False),
            Sample("empty", normal_matrices(0, 2), _reduced),
            with_attrs(NO_MATRICES, _reduced),
            with_attrs(INTEGERS, _reduced),
        ),
    )
)


def svdvals_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("svdvals", types, square=False)
    return array_type((*a.shape[:-2], min(a.shape[-2:])), real_dtype(a.dtype))


def svdvals_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (singular_value_ct(b, node.inputs[0], ct),)


def singular_value_ct(b: Builder, a: Node, ct: Node) -> Node:
    """U diag(ds) V^H."""
    vectors = b.svd(a, full_matrices=False)
    u, vh = b.get(vectors, index=0), b.get(vectors, index=2)
    return b.matmul(b.multiply(u, along_columns(b, ct, u.shape, u.dtype)), vh)


register(
    OpDef(
        "svdvals",
        "singular values alone, falling",
        Kind.OTHER,
        svdvals_type,
        lambda a: np.linalg.svd(a, compute_uv=False),
        svdvals_vjp,
        (C_MATRICES, C_LAPACK),
        (
            Sample("square", normal_matrices(3, 3)),
            Sample("wide", normal_matrices(2, 4)),
            Sample("complex", normal_matrices(3, 2, dtype="c16")),
            NO_MATRICES,
            INTEGERS,
        ),
    )
)


def qr_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("qr", types, square=False)
    *stack, m, n = a.shape
    if attrs["mode"] not in ("reduced", "complete"):
        OPS["qr"].fail("C3", f"there is no mode {attrs['mode']!r}")
    k = m if attrs["mode"] == "complete" else min(m, n)
    return TupleType((array_type((*stack, m, k), a.dtype), array_type((*stack, k, n), a.dtype)))


def qr_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """(dQ + Q C) R^-H, C being the lower triangle of R dR^H - dQ^H Q made Hermitian.

    Columns past the square part of a wide matrix are Q^H A; columns of a complete Q past those of R turn
    with the first. Source: Roberts and Roberts, QR and LQ decomposition matrix backpropagation (2020).
    """
    (a,) = node.inputs
    if 0 in a.shape:
        return (b.zeros(a.type),)
    q, r = (b.get(node, index=index) for index in range(2))
    ct_q = b.zeros(q.type) if cts[0] is None else cts[0]
    ct_r = b.zeros(r.type) if cts[1] is None else cts[1]
    m, n = a.shape[-2:]
    k = min(m, n)
    if q.shape[-1] > k:
        free, ct_free = columns(b, q, k, m - k), columns(b, ct_q, k, m - k)
        q, ct_q = columns(b, q, 0, k), columns(b, ct_q, 0, k)
        ct_q = b.subtract(ct_q, b.matmul(free, b.matmul(adjoint(b, ct_free), q)))
        r, ct_r = rows(b, r, 0, k), rows(b, ct_r, 0, k)
    if n == k:
        return (_square_qr_ct(b, q, r, ct_q, ct_r),)
    rest, ct_rest = columns(b, a, k, n - k), columns(b, ct_r, k, n - k)
    ct_q = b.add(ct_q, b.matmul(rest, adjoint(b, ct_rest)))
    first = _square_qr_ct(b, q, columns(b, r, 0, k), ct_q, columns(b, ct_r, 0, k))
    return (b.concatenate(first, b.matmul(q, ct_rest), axis=len(a.shape) - 1),)


def _square_qr_ct(b: Builder, q: Node, r: Node, ct_q: Node, ct_r: Node) -> Node:
    """The rule where R is square."""
    mixed = b.subtract(b.matmul(r, adjoint(b, ct_r)), b.matmul(adjoint(b, ct_q), q))
    low = triangle(b, mixed, lower=True, diagonal=0.5)
    turned = b.add(ct_q, b.matmul(q, b.add(low, adjoint(b, low))))
    return adjoint(b, b.solve(r, adjoint(b, turned)))


_mode = {"mode": "reduced"}
register(
    OpDef(
        "qr",
        "orthonormal columns times an upper triangle: A = Q R",
        Kind.OTHER,
        qr_type,
        lambda a, mode: tuple(np.linalg.qr(a, mode=mode)),
        qr_vjp,  # type: ignore[arg-type]
        (C_MATRICES, C_LAPACK, "C3: mode is reduced or complete"),
        (
            Sample("square", normal_matrices(3, 3), _mode),
            Sample("tall", normal_matrices(4, 2), _mode),
            Sample("wide", normal_matrices(2, 4), _mode),
            Sample("stack", normal_matrices(2, 3, 2), _mode),
            Sample("complex", normal_matrices(3, 2, dtype="c16"), _mode),
            Sample("complete", normal_matrices(3, 2), {"mode": "complete"}),
            with_attrs(NO_MATRICES, _mode),
            with_attrs(INTEGERS, _mode),
            Sample("raw", normal_matrices(2, 2), {"mode": "raw"}, breaks="C3"),
        ),
    )
)
