"""Decompositions: svd, svdvals, qr.

Equal singular values leave the vectors free to turn among each other. A loss that does not see the turn has
a derivative, and gets it; one that does has none there, and gets NaN. Eigenvalues stand in `eigen.py`,
what is built on decompositions in `least_squares.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import TupleType, Type, array_type
from .base import is_complex
from .linalg import C_LAPACK, adjoint, entries, matrices, real_dtype, triangle
from .spectral import along_columns, along_rows, columns, largest, on_diagonal, over_gap, rates, rows, slopes

C_MATRICES = "C1: the operand is a stack of matrices"


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
    k = s.shape[-1]
    u1, vh1 = columns(b, u, 0, k), rows(b, vh, 0, k)
    middle = on_diagonal(b, ct_s, a.dtype) if ct_s is not None else None
    if ct_u is None and ct_vh is None:
        return (b.matmul(b.matmul(u1, middle), vh1) if middle is not None else None,)
    ct_u = b.zeros(u.type) if ct_u is None else ct_u
    ct_vh = b.zeros(vh.type) if ct_vh is None else ct_vh
    apart = slopes(b, node, [ct_u, ct_vh])
    slope_u, slope_v = (None, None) if apart is None else (apart[0], adjoint(b, apart[1]))
    left = Turns(b, u, ct_u, slope_u, k)
    right = Turns(b, adjoint(b, vh), adjoint(b, ct_vh), slope_v, k)
    inner = _inner_turns(b, s, left, right)
    middle = inner if middle is None else b.add(middle, inner)
    total = b.matmul(b.matmul(u1, middle), vh1)
    if a.shape[-2] > k:
        total = b.add(total, b.matmul(left.outer(s), vh1))
    if a.shape[-1] > k:
        total = b.add(total, b.matmul(u1, adjoint(b, right.outer(s))))
    return (total,)


class Turns:
    """How cotangents turn the singular vectors of one side, and how that changes as the values move apart."""

    def __init__(self, b: Builder, vectors: Node, ct: Node, slope: Node | None, k: int) -> None:
        self.b, self.vectors, self.k = b, vectors, k
        self.ct, self.slope = ct, slope
        self.turn = b.matmul(adjoint(b, vectors), ct)
        self.turn_slope = None if slope is None else b.matmul(adjoint(b, vectors), slope)
        self.noise = largest(b, self.turn)

    def skew(self, turn: Node) -> Node:
        """Turns of the first k vectors among each other."""
        inner = rows(self.b, columns(self.b, turn, 0, self.k), 0, self.k)
        return self.b.subtract(inner, adjoint(self.b, inner))

    def outer(self, s: Node) -> Node:
        """Turns of the first k vectors out of the space they span, over s."""
        b = self.b
        away = self._away(self.ct, self.turn)
        slope = None
        if self.slope is not None and self.turn_slope is not None:
            slope = self._away(self.slope, self.turn_slope)
        noise = b.add(largest(b, away), self.noise)
        rate = np.broadcast_to(rates(self.k), away.shape[-2:])
        scale = b.max(s, axes=(len(s.shape) - 1,))
        return over_gap(b, away, slope, along_columns(b, s, away.shape), rate, scale, noise)

    def _away(self, ct: Node, turn: Node) -> Node:
        b, k, count = self.b, self.k, self.vectors.shape[-1]
        if count == k:
            return b.subtract(ct, b.matmul(self.vectors, turn))
        mixed = b.subtract(
            rows(b, columns(b, turn, 0, k), k, count - k),
            adjoint(b, rows(b, columns(b, turn, k, count - k), 0, k)),
        )
        return b.matmul(columns(b, self.vectors, k, count - k), mixed)


def _inner_turns(b: Builder, s: Node, left: Turns, right: Turns) -> Node:
    """M: turns of pairs of singular vectors, and of the phases of complex ones."""
    k = s.shape[-1]
    skew_u, skew_v = left.skew(left.turn), right.skew(right.turn)
    apart_u, apart_v = (None if t.turn_slope is None else t.skew(t.turn_slope) for t in (left, right))
    above, beside = along_columns(b, s, skew_u.shape), along_rows(b, s, skew_u.shape)
    scale, noise = b.max(s, axes=(len(s.shape) - 1,)), b.maximum(left.noise, right.noise)
    off, eye = entries(b, 1 - np.eye(k), skew_u), entries(b, np.eye(k), skew_u)
    rate = rates(k)
    difference, total = rate - rate[:, None] + np.eye(k), rate + rate[:, None]

    def quotient(sign: int, mask: Node, gap: Node, gap_rate: Any) -> Node:
        combine = b.add if sign > 0 else b.subtract
        slope = None if apart_u is None else b.multiply(mask, combine(apart_u, apart_v))
        return over_gap(b, b.multiply(mask, combine(skew_u, skew_v)), slope, gap, gap_rate, scale, noise)

    both = b.add(
        quotient(1, off, b.subtract(above, beside), difference),
        quotient(-1, off, b.add(above, beside), total),
    )
    if is_complex(skew_u):
        both = b.add(both, quotient(-1, eye, b.add(above, above), 2 * np.broadcast_to(rate, (k, k))))
    return b.multiply(b.scalar(0.5, both), both)


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
