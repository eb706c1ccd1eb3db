"""The pseudo-inverse and least squares: pinv, lstsq and its residuals.

Derivatives are those at constant rank.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import TupleType, Type, array_type
from .base import arrays
from .decompose import (
    C_MATRICES,
    INTEGERS,
    NO_MATRICES,
    normal_matrices,
    singular_value_ct,
    with_attrs,
)
from .linalg import C_LAPACK, adjoint, matrices, real_dtype, triangle, triangle_part
from .spectral import along_columns


def pinv_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("pinv", types, square=attrs["hermitian"])
    *stack, m, n = a.shape
    return array_type((*stack, n, m), a.dtype)


def pinv_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """At constant rank dP = -P dA P + P P^H dA^H (1 - A P) + (1 - P A) dA^H P^H P.

    Source: G. Golub and V. Pereyra, The differentiation of pseudo-inverses (1973), equation 4.12.
    """
    (a,) = node.inputs
    if not node.attrs["hermitian"]:
        return (pinv_ct(b, a, node, ct),)
    low = triangle(b, a, lower=True, diagonal=0.5)
    whole = b.add(low, adjoint(b, low))
    return (triangle_part(b, pinv_ct(b, whole, node, ct), lower=True),)


def pinv_ct(b: Builder, a: Node, p: Node, ct: Node) -> Node:
    """The cotangent of A, given that of its pseudo-inverse P."""
    turned, back = adjoint(b, p), adjoint(b, ct)
    left = b.matmul(b.matmul(back, p), turned)
    left = b.subtract(left, b.matmul(b.matmul(a, p), left))
    right = b.matmul(b.matmul(turned, p), back)
    right = b.subtract(right, b.matmul(right, b.matmul(p, a)))
    through = b.matmul(b.matmul(turned, ct), turned)
    return b.subtract(b.add(left, right), through)


_cut = {"rcond": 1e-15, "hermitian": False}
register(
    OpDef(
        "pinv",
        "the pseudo-inverse of each matrix, singular values up to rcond times the largest counted as zero",
        Kind.OTHER,
        pinv_type,
        lambda a, rcond, hermitian: np.linalg.pinv(a, rcond=rcond, hermitian=hermitian),
        pinv_vjp,
        (C_MATRICES, C_LAPACK),
        (
            Sample("tall", normal_matrices(4, 2), _cut),
            Sample("wide", normal_matrices(2, 3), _cut),
            Sample("stack", normal_matrices(2, 3, 2), _cut),
            Sample("complex", normal_matrices(3, 2, dtype="c16"), _cut),
            Sample("hermitian", normal_matrices(3, 3), {"rcond": 1e-15, "hermitian": True}),
            with_attrs(NO_MATRICES, _cut),
            with_attrs(INTEGERS, _cut),
        ),
    )
)


def lstsq_type(types: Sequence[Type], attrs: Attrs) -> Type:
    a, y = matrices("lstsq", types, square=False)
    if not a.ndim == y.ndim == 2 or a.shape[0] != y.shape[0] or a.dtype != y.dtype:
        OPS["lstsq"].fail("C3", f"right sides {y} do not fit {a}")
    solution = array_type((a.shape[1], y.shape[1]), a.dtype)
    values = array_type((min(a.shape),), real_dtype(a.dtype))
    return TupleType((solution, array_type((), np.dtype("i4")), values))


def lstsq_value(a: Any, y: Any, rcond: float) -> Any:
    solution, _, rank, values = np.linalg.lstsq(a, y, rcond=rcond)
    return solution, np.asarray(rank, "i4"), values


def lstsq_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """X = P Y with the pseudo-inverse P of A."""
    a, y = node.inputs
    ct_x, _, ct_s = cts
    ct_a = singular_value_ct(b, a, ct_s) if ct_s is not None else None
    if ct_x is None:
        return ct_a, None
    p = b.pinv(a, rcond=node.attrs["rcond"], hermitian=False)
    part = pinv_ct(b, a, p, b.matmul(ct_x, adjoint(b, y)))
    return part if ct_a is None else b.add(ct_a, part), b.matmul(adjoint(b, p), ct_x)


def residuals_type(types: Sequence[Type], attrs: Attrs) -> Type:
    a, y = arrays("residuals", types)
    OPS["lstsq"].type_rule(types, attrs)
    if a.shape[0] <= a.shape[1]:
        OPS["residuals"].fail("C4", f"{a} has no more rows than columns")
    return array_type((y.shape[1],), real_dtype(a.dtype))


def residuals_value(a: Any, y: Any, rcond: float) -> Any:
    """NumPy's second result, which has another shape where the columns depend on each other."""
    result = np.linalg.lstsq(a, y, rcond=rcond)[1]
    if len(result) != np.shape(y)[1]:
        raise np.linalg.LinAlgError(
            "the matrix of lstsq has dependent columns, so NumPy returns no residuals; their number must not "
            "depend on values here"
        )
    return result


def residuals_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The solution is stationary: d |y - A x|^2 = 2 Re <y - A x, dy - dA x>."""
    a, y = node.inputs
    x = b.get(b.lstsq(a, y, rcond=node.attrs["rcond"]), index=0)
    off = b.subtract(y, b.matmul(a, x))
    ct_y = b.multiply(b.multiply(b.scalar(2, off), off), along_columns(b, ct, y.shape, y.dtype))
    return b.negative(b.matmul(ct_y, adjoint(b, x))), ct_y


def _equations(m: int, n: int, k: int) -> Callable[[Any], tuple[Any, ...]]:
    return lambda rng: (rng.normal(size=(m, n)), rng.normal(size=(m, k)))


_rcond = {"rcond": 1e-14}
_fit = "C3: both are matrices with as many rows, of one dtype"
register(
    OpDef(
        "lstsq",
        "the shortest X that brings A X nearest to Y, the rank of A, its singular values",
        Kind.OTHER,
        lstsq_type,
        lstsq_value,
        lstsq_vjp,  # type: ignore[arg-type]
        (C_MATRICES, C_LAPACK, _fit),
        (
            Sample("tall", _equations(5, 3, 2), _rcond),
            Sample("wide", _equations(2, 3, 1), _rcond),
            with_attrs(NO_MATRICES, _rcond),
            with_attrs(INTEGERS, _rcond),
            Sample("rows_differ", lambda rng: (np.ones((3, 2)), np.ones((2, 1))), _rcond, breaks="C3"),
        ),
    )
)
register(
    OpDef(
        "residuals",
        "the squared length of each column of Y - A X, X being the result of lstsq; A has full rank",
        Kind.OTHER,
        residuals_type,
        residuals_value,
        residuals_vjp,
        (C_MATRICES, C_LAPACK, _fit, "C4: A has more rows than columns"),
        (
            Sample("tall", _equations(5, 3, 2), _rcond),
            Sample("square", _equations(3, 3, 2), _rcond, breaks="C4"),
        ),
    )
)
