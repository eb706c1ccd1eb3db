"""Eigenvalues and eigenvectors: eigh and eigvalsh of Hermitian matrices, eig and eigvals of any.

`eigh` reads one triangle and its cotangent lies there. Equal eigenvalues leave their vectors free to turn;
what that means for derivatives is said in `decompose.py`. `eig` takes complex matrices only: whether NumPy's
result for a real one is complex depends on its values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import TupleType, Type, array_type
from .base import conj
from .decompose import normal_matrices, with_attrs
from .linalg import C_LAPACK, C_SQUARE, adjoint, entries, matrices, real_dtype, triangle_part
from .spectral import along_columns, along_rows, largest, on_diagonal, over_gap, rates, slopes


def eigh_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("eigh", types)
    return TupleType((array_type(a.shape[:-1], real_dtype(a.dtype)), a))


def eigh_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """V (diag(dw) + T) V^H, T being the skew part of V^H dV over the gaps w[j] - w[i]."""
    (a,) = node.inputs
    if 0 in a.shape:
        return (b.zeros(a.type),)
    v = b.get(node, index=1)
    ct_w, ct_v = cts
    inner = on_diagonal(b, ct_w, a.dtype) if ct_w is not None else None
    if ct_v is not None:
        half = entries(b, 0.5 - 0.5 * np.eye(a.shape[-1]), a)

        def skew(ct: Node) -> Node:
            turn = b.matmul(adjoint(b, v), ct)
            return b.multiply(half, b.subtract(turn, adjoint(b, turn)))

        part = over_pairs(b, node, ct_v, skew)
        inner = part if inner is None else b.add(inner, part)
    if inner is None:
        return (None,)
    return (triangle_part(b, b.matmul(b.matmul(v, inner), adjoint(b, v)), lower=node.attrs["lower"]),)


def over_pairs(b: Builder, node: Node, ct: Node, numerator: Callable[[Node], Node]) -> Node:
    """A linear function of the vectors' cotangent over the gaps w[j] - w[i]."""
    w, v = (b.get(node, index=index) for index in range(2))
    apart = slopes(b, node, [ct])
    rate = rates(v.shape[-1])
    return over_gap(
        b,
        numerator(ct),
        None if apart is None else numerator(apart[0]),
        b.subtract(along_columns(b, w, v.shape), along_rows(b, w, v.shape)),
        rate - rate[:, None] + np.eye(len(rate)),
        b.max(b.absolute(w), axes=(len(w.shape) - 1,)),
        largest(b, b.matmul(adjoint(b, v), ct)),
    )


def eigh_value(a: Any, lower: bool) -> Any:
    return tuple(np.linalg.eigh(a, UPLO="L" if lower else "U"))


_lower, _upper = {"lower": True}, {"lower": False}
_not_square = Sample("not_square", lambda rng: (rng.normal(size=(2, 3)),), breaks="C1")
_integers = Sample("integers", lambda rng: (np.eye(2, dtype="i8"),), breaks="C2")
_hermitian = (
    Sample("lower", normal_matrices(3, 3), _lower),
    Sample("upper", normal_matrices(3, 3), _upper),
    Sample("stack", normal_matrices(2, 2, 2), _lower),
    Sample("complex", normal_matrices(3, 3, dtype="c16"), _lower, differentiable=False),
    Sample("empty", normal_matrices(0, 0), _lower),
    with_attrs(_not_square, _lower),
    with_attrs(_integers, _lower),
)
register(
    OpDef(
        "eigh",
        "eigenvalues, rising, and eigenvectors of Hermitian matrices, of which one triangle is read",
        Kind.OTHER,
        eigh_type,
        eigh_value,
        eigh_vjp,  # type: ignore[arg-type]
        (C_SQUARE, C_LAPACK),
        _hermitian,
    )
)


def eigvalsh_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("eigvalsh", types)
    return array_type(a.shape[:-1], real_dtype(a.dtype))


def eigvalsh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (a,) = node.inputs
    lower = node.attrs["lower"]
    v = b.get(b.eigh(a, lower=lower), index=1)
    scaled = b.multiply(v, along_columns(b, ct, v.shape, v.dtype))
    return (triangle_part(b, b.matmul(scaled, adjoint(b, v)), lower=lower),)


register(
    OpDef(
        "eigvalsh",
        "eigenvalues of Hermitian matrices, rising; one triangle is read",
        Kind.OTHER,
        eigvalsh_type,
        lambda a, lower: np.linalg.eigvalsh(a, UPLO="L" if lower else "U"),
        eigvalsh_vjp,
        (C_SQUARE, C_LAPACK),
        tuple(Sample(s.name, s.inputs, s.attrs, s.breaks) for s in _hermitian),
    )
)

C_COMPLEX = "C2: dtypes are c64 or c128"


def _complex_matrices(op: str, types: Sequence[Type]) -> Any:
    (a,) = matrices(op, types)
    if a.dtype.kind != "c":
        OPS[op].fail("C2", f"{a} is real, and whether its eigenvalues are depends on values")
    return a


def eig_type(types: Sequence[Type], attrs: Attrs) -> Type:
    a = _complex_matrices("eig", types)
    return TupleType((array_type(a.shape[:-1], a.dtype), a))


def eig_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """V^-H D V^H with dw on D's diagonal, and V^H dV over the gaps w[j] - w[i] off it."""
    (a,) = node.inputs
    if 0 in a.shape:
        return (b.zeros(a.type),)
    v = b.get(node, index=1)
    ct_w, ct_v = cts
    inner = on_diagonal(b, ct_w, a.dtype) if ct_w is not None else None
    if ct_v is not None:
        off = entries(b, 1 - np.eye(a.shape[-1]), a)

        def turns(ct: Node) -> Node:
            return b.multiply(off, b.matmul(adjoint(b, v), _without_scale(b, v, ct)))

        part = over_pairs(b, node, ct_v, turns)
        inner = part if inner is None else b.add(inner, part)
    if inner is None:
        return (None,)
    return (b.solve(adjoint(b, v), b.matmul(inner, adjoint(b, v))),)


def _without_scale(b: Builder, v: Node, ct: Node) -> Node:
    """Takes out of dV what the scaling of the vectors undoes: length one, the largest entry real.

    With g = dv^H v it is dv - Re(g) v, and i Im(g) / v[k] more at the largest entry k.
    """
    row_axis = len(v.shape) - 2
    g = b.sum(b.multiply(conj(b, ct), v), axes=(row_axis,), dtype=v.dtype)
    real, imag = (along_columns(b, part, v.shape, v.dtype) for part in (b.real(g), b.imag(g)))
    largest_at = b.argmax(b.absolute(v), axis=row_axis)
    numbers = b.constant(np.arange(v.shape[row_axis]))
    here = b.equal(along_rows(b, _stacked(b, numbers, v), v.shape), along_columns(b, largest_at, v.shape))
    turn = b.divide(
        b.multiply(b.scalar(1j, v), imag), b.cast(b.real(b.where(here, v, b.full(1, v.type))), v.dtype)
    )
    return b.add(b.subtract(ct, b.multiply(real, v)), b.where(here, turn, b.zeros(v.type)))


def _stacked(b: Builder, vector: Node, like: Node) -> Node:
    """One vector for every matrix of the stack."""
    return b.broadcast_to(vector, (*like.shape[:-2], vector.shape[0]))


_general = (
    Sample("matrix", normal_matrices(3, 3, dtype="c16")),
    Sample("stack", normal_matrices(2, 2, 2, dtype="c16")),
    Sample("empty", normal_matrices(0, 0, dtype="c16")),
    _not_square,
    Sample("real", normal_matrices(2, 2), breaks="C2"),
)
register(
    OpDef(
        "eig",
        "eigenvalues and eigenvectors of complex matrices",
        Kind.OTHER,
        eig_type,
        lambda a: tuple(np.linalg.eig(a)),
        eig_vjp,  # type: ignore[arg-type]
        (C_SQUARE, C_COMPLEX),
        _general,
    )
)


def eigvals_type(types: Sequence[Type], attrs: Attrs) -> Type:
    a = _complex_matrices("eigvals", types)
    return array_type(a.shape[:-1], a.dtype)


def eigvals_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (a,) = node.inputs
    v = b.get(b.eig(a), index=1)
    turned = adjoint(b, v)
    return (b.solve(turned, b.multiply(along_rows(b, ct, v.shape), turned)),)


register(
    OpDef(
        "eigvals",
        "eigenvalues of complex matrices",
        Kind.OTHER,
        eigvals_type,
        np.linalg.eigvals,
        eigvals_vjp,
        (C_SQUARE, C_COMPLEX),
        _general,
    )
)
