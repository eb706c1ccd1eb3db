"""Square systems: inv, solve, det, slogdet, cholesky, and the cofactors that make det exact.

Operands are stacks of matrices, all entries independent; `cholesky` reads one triangle and its cotangent
lies there. A matrix that NumPy refuses raises LinAlgError at run time, in the backward pass too.
Decompositions stand in `decompose.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import ArrayType, TupleType, Type, array_type
from .base import arrays, conj, is_complex
from .contraction import swapped

C_SQUARE = "C1: the operand is a stack of square matrices"
C_LAPACK = "C2: dtypes are f32, f64, c64 or c128"
_LAPACK = frozenset("fdFD")


def matrices(op: str, types: Sequence[Type], *, square: bool = True) -> list[ArrayType]:
    """The operands' types, stacks of (square) matrices in dtypes that LAPACK knows (C1, C2)."""
    operands = arrays(op, types)
    first = operands[0]
    if first.ndim < 2 or (square and first.shape[-1] != first.shape[-2]):
        OPS[op].fail("C1", f"{first} is no stack of {'square ' if square else ''}matrices")
    if any(type_.dtype.char not in _LAPACK for type_ in operands):
        OPS[op].fail("C2", f"dtypes are {', '.join(str(type_.dtype) for type_ in operands)}")
    return operands


def real_dtype(dtype: Any) -> Any:
    """The dtype of the real part."""
    return np.empty(0, dtype).real.dtype


def adjoint(b: Builder, node: Node) -> Node:
    """The conjugate transpose of each matrix."""
    return swapped(b, conj(b, node))


def as_matrices(b: Builder, scalars: Node, like: Node) -> Node:
    """One number a matrix, repeated over the entries of `like` and in its dtype."""
    return b.broadcast(b.cast(scalars, like.dtype), axes=tuple(range(len(scalars.shape))), shape=like.shape)


def entries(b: Builder, array: Any, like: Node) -> Node:
    """A constant matrix, repeated over the stack of `like` and in its dtype."""
    return b.broadcast_to(b.constant(np.asarray(array, like.dtype)), like.shape)


def triangle(b: Builder, node: Node, *, lower: bool, diagonal: float = 1.0) -> Node:
    """The triangle of each matrix, its diagonal times a factor, zeros elsewhere."""
    rows, columns = node.shape[-2:]
    mask = np.tri(rows, columns) if lower else np.tri(columns, rows).T
    np.fill_diagonal(mask, diagonal)
    return b.multiply(node, entries(b, mask, node))


def triangle_part(b: Builder, node: Node, *, lower: bool) -> Node:
    """What a matrix gives to a function that reads one triangle of it as a Hermitian matrix."""
    both = b.add(node, adjoint(b, node))
    return triangle(b, both, lower=lower, diagonal=0.5)


def well_conditioned(*shape: int, dtype: str = "f8") -> Callable[[Any], tuple[Any, ...]]:
    """A sample maker: matrices near a multiple of the identity."""

    def make(rng: Any) -> tuple[Any, ...]:
        matrix = rng.normal(size=shape) + shape[-1] * np.eye(shape[-1])
        if np.dtype(dtype).kind == "c":
            matrix = matrix + 1j * rng.normal(size=shape)
        return (matrix.astype(dtype),)

    return make


def _not_square(rng: Any) -> tuple[Any, ...]:
    return (rng.normal(size=(2, 3)),)


_square_samples = (
    Sample("matrix", well_conditioned(3, 3)),
    Sample("stack", well_conditioned(2, 2, 2)),
    Sample("complex", well_conditioned(2, 2, dtype="c16")),
    Sample("one", well_conditioned(1, 1)),
    Sample("empty", well_conditioned(0, 0)),
    Sample("not_square", _not_square, breaks="C1"),
    Sample("integers", lambda rng: (np.eye(2, dtype="i8"),), breaks="C2"),
)


def inv_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """d inv(A) = -inv(A) dA inv(A)."""
    turned = adjoint(b, node)
    return (b.negative(b.matmul(b.matmul(turned, ct), turned)),)


register(
    OpDef(
        "inv",
        "the inverse of each matrix",
        Kind.OTHER,
        lambda types, attrs: matrices("inv", types)[0],
        np.linalg.inv,
        inv_vjp,
        (C_SQUARE, C_LAPACK),
        _square_samples,
    )
)


def solve_type(types: Sequence[Type], attrs: Attrs) -> Type:
    a, y = matrices("solve", types)
    if y.ndim != a.ndim or y.shape[:-1] != a.shape[:-1]:
        OPS["solve"].fail("C3", f"right sides {y} do not fit {a}")
    if a.dtype != y.dtype:
        OPS["solve"].fail("C4", f"dtypes {a.dtype} and {y.dtype} differ")
    return y


def solve_value(a: Any, y: Any) -> Any:
    return np.linalg.solve(a, y)


def solve_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """dX = inv(A) (dY - dA X)."""
    a, _ = node.inputs
    ct_y = b.solve(adjoint(b, a), ct)
    return b.negative(b.matmul(ct_y, adjoint(b, node))), ct_y


def _system(*shapes: tuple[int, ...], dtype: str = "f8") -> Callable[[Any], tuple[Any, ...]]:
    return lambda rng: (
        *well_conditioned(*shapes[0], dtype=dtype)(rng),
        rng.normal(size=shapes[1]).astype(dtype),
    )


register(
    OpDef(
        "solve",
        "X with A X = Y, the columns of Y being right sides",
        Kind.OTHER,
        solve_type,
        solve_value,
        solve_vjp,
        (
            C_SQUARE,
            C_LAPACK,
            "C3: right sides are stacks of matrices with as many rows",
            "C4: both have one dtype",
        ),
        (
            Sample("columns", _system((3, 3), (3, 2))),
            Sample("stack", _system((2, 2, 2), (2, 2, 1))),
            Sample("complex", _system((2, 2), (2, 2), dtype="c16")),
            Sample("not_square", lambda rng: (np.ones((2, 3)), np.ones((2, 1))), breaks="C1"),
            Sample("integers", lambda rng: (np.eye(2, dtype="i8"), np.ones((2, 1))), breaks="C2"),
            Sample("rows_differ", _system((3, 3), (2, 1)), breaks="C3"),
            Sample("dtypes_differ", lambda rng: (np.eye(2), np.ones((2, 1), "f4")), breaks="C4"),
        ),
    )
)


def det_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("det", types)
    return array_type(a.shape[:-2], a.dtype)


def det_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (a,) = node.inputs
    return (b.multiply(as_matrices(b, ct, a), conj(b, b.cofactor(a))),)


register(
    OpDef(
        "det",
        "the determinant of each matrix; derivatives are exact where it is singular",
        Kind.OTHER,
        det_type,
        np.linalg.det,
        det_vjp,
        (C_SQUARE, C_LAPACK),
        (*_square_samples, Sample("singular", lambda rng: (np.array([[1.0, 2.0], [2.0, 4.0]]),))),
    )
)


def singular_frame(a: Any) -> tuple[Any, Any, Any, Any]:
    """A = U diag(s) V^H as (conj(U), s, conj(V^H), det of U V^H), in which cofactors are products of s."""
    u, s, vh = np.linalg.svd(a)
    return np.conjugate(u), s, np.conjugate(vh), (np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def without(s: Any, skipped: Sequence[Any]) -> Any:
    """The product over the last axis of s, leaving out the positions that the masks `skipped` name."""
    left_out = np.any(skipped, axis=0)
    return np.prod(np.where(left_out, 1, s[(..., *(None,) * (left_out.ndim - 1), slice(None))]), axis=-1)


def cofactor_value(a: Any) -> Any:
    """In the frame of singular vectors the matrix of cofactors is diagonal: nothing is divided by s."""
    u, s, vh, sign = singular_frame(a)
    others = without(s, [np.eye(s.shape[-1], dtype=bool)])
    return (u * (sign * others[..., None, :])) @ vh


def cofactor_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (a,) = node.inputs
    return (conj(b, b.cofactor_slope(a, conj(b, ct))),)


register(
    OpDef(
        "cofactor",
        "the matrix of cofactors: the derivative of det by each entry",
        Kind.OTHER,
        lambda types, attrs: matrices("cofactor", types)[0],
        cofactor_value,
        cofactor_vjp,
        (C_SQUARE, C_LAPACK),
        _square_samples,
    )
)


def cofactor_slope_type(types: Sequence[Type], attrs: Attrs) -> Type:
    a, direction = matrices("cofactor_slope", types)
    if a != direction:
        OPS["cofactor_slope"].fail("C3", f"the matrices are {a}, the directions {direction}")
    return a


def cofactor_slope_value(a: Any, direction: Any) -> Any:
    """In the frame of singular vectors: traces on the diagonal, swapped entries off it, times minors."""
    u, s, vh, sign = singular_frame(a)
    eye = np.eye(s.shape[-1], dtype=bool)
    pair = without(
        s, [np.broadcast_to(m, (*eye.shape, len(eye))) for m in (eye[:, None, :], eye[None, :, :])]
    )
    pair = np.where(eye, 0, pair)
    turned = np.swapaxes(u, -1, -2) @ direction @ np.swapaxes(vh, -1, -2)
    traces = np.einsum("...ik,...kk->...i", pair, turned)
    inner = np.where(eye, traces[..., None], -np.swapaxes(turned, -1, -2) * pair)
    return sign * (u @ inner @ vh)


def cofactor_slope_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """A symmetric bilinear form in the direction and the cotangent; its own slope needs a regular matrix."""
    a, direction = node.inputs
    return _third(b, a, direction, ct), conj(b, b.cofactor_slope(a, conj(b, ct)))


def _third(b: Builder, a: Node, direction: Node, ct: Node) -> Node:
    """The slope of <ct, cofactor_slope(A, G)>: det times traces and products of B = inv(A) with G and ct.

    With g = BG and h = BH the form is det (tr g tr h - tr gh), and dB = -B dA B, d det = det tr(B dA).
    """
    inverse, scale = b.inv(a), as_matrices(b, b.det(a), a)
    g, h = b.matmul(inverse, direction), b.matmul(inverse, conj(b, ct))

    def trace(m: Node) -> Node:
        letters = "abcdefgh"[: len(m.shape) - 2]
        return as_matrices(b, b.einsum(m, subscripts=f"{letters}ii->{letters}"), a)

    gh, hg = b.matmul(g, h), b.matmul(h, g)
    form = b.subtract(b.multiply(trace(g), trace(h)), trace(gh))
    inner = b.subtract(
        b.add(b.matmul(gh, inverse), b.matmul(hg, inverse)),
        b.add(
            b.multiply(trace(g), b.matmul(h, inverse)),
            b.multiply(trace(h), b.matmul(g, inverse)),
        ),
    )
    slope = b.multiply(scale, b.add(b.multiply(form, inverse), inner))
    return conj(b, swapped(b, slope))


register(
    OpDef(
        "cofactor_slope",
        "the derivative of <direction, cofactor(A)> by each entry of A",
        Kind.OTHER,
        cofactor_slope_type,
        cofactor_slope_value,
        cofactor_slope_vjp,
        (C_SQUARE, C_LAPACK, "C3: both have one type"),
        (
            Sample("matrix", lambda rng: (*well_conditioned(3, 3)(rng), rng.normal(size=(3, 3)))),
            Sample("stack", lambda rng: (*well_conditioned(2, 2, 2)(rng), rng.normal(size=(2, 2, 2)))),
            Sample("not_square", lambda rng: (np.ones((2, 3)), np.ones((2, 3))), breaks="C1"),
            Sample("integers", lambda rng: (np.eye(2, dtype="i8"), np.eye(2, dtype="i8")), breaks="C2"),
            Sample("shapes_differ", lambda rng: (np.ones((2, 2)), np.ones((3, 3))), breaks="C3"),
        ),
    )
)


def slogdet_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (a,) = matrices("slogdet", types)
    stack = a.shape[:-2]
    return TupleType((array_type(stack, a.dtype), array_type(stack, real_dtype(a.dtype))))


def slogdet_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """d log|det| = Re tr(inv(A) dA); a complex sign turns by i Im tr(inv(A) dA), a real one stays."""
    (a,) = node.inputs
    turned = adjoint(b, b.inv(a))
    ct_sign, ct_log = cts
    scale = b.cast(ct_log, a.dtype) if ct_log is not None else None
    if ct_sign is not None and is_complex(a):
        angle = b.imag(b.multiply(conj(b, b.get(node, index=0)), ct_sign))
        turn = b.multiply(b.cast(angle, a.dtype), b.scalar(1j, a))
        scale = turn if scale is None else b.add(scale, turn)
    return (b.multiply(as_matrices(b, scale, a), turned) if scale is not None else None,)


register(
    OpDef(
        "slogdet",
        "the sign of each determinant and the logarithm of its size",
        Kind.OTHER,
        slogdet_type,
        lambda a: tuple(np.linalg.slogdet(a)),
        slogdet_vjp,  # type: ignore[arg-type]
        (C_SQUARE, C_LAPACK),
        _square_samples,
    )
)


def cholesky_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """dA = inv(L)^H P(L^H dL) inv(L), P keeping the lower triangle and half the diagonal.

    Source: I. Murray, Differentiation of the Cholesky decomposition (2016), section 3.
    """
    upper = node.attrs["upper"]
    factor, slope = (adjoint(b, node), adjoint(b, ct)) if upper else (node, ct)
    inner = triangle(b, b.matmul(adjoint(b, factor), slope), lower=True, diagonal=0.5)
    turned = adjoint(b, factor)
    half = b.solve(turned, inner)
    whole = adjoint(b, b.solve(turned, adjoint(b, half)))
    return (triangle_part(b, whole, lower=not upper),)


def positive_definite(*shape: int, dtype: str = "f8") -> Callable[[Any], tuple[Any, ...]]:
    """A sample maker: A A^H + 1 of normally distributed matrices."""

    def make(rng: Any) -> tuple[Any, ...]:
        (a,) = well_conditioned(*shape, dtype=dtype)(rng)
        a = a - (shape[-1] - 1) * np.eye(shape[-1])
        return ((a @ np.conjugate(np.swapaxes(a, -1, -2)) + np.eye(shape[-1])).astype(dtype),)

    return make


def cholesky_value(a: Any, upper: bool) -> Any:
    return np.linalg.cholesky(a, upper=upper)


register(
    OpDef(
        "cholesky",
        "the triangular factor of each positive definite matrix, of which one triangle is read",
        Kind.OTHER,
        lambda types, attrs: matrices("cholesky", types)[0],
        cholesky_value,
        cholesky_vjp,
        (C_SQUARE, C_LAPACK),
        (
            Sample("lower", positive_definite(3, 3), {"upper": False}),
            Sample("upper", positive_definite(3, 3), {"upper": True}),
            Sample("stack", positive_definite(2, 2, 2), {"upper": False}),
            Sample("complex", positive_definite(2, 2, dtype="c16"), {"upper": False}),
            Sample("not_square", _not_square, {"upper": False}, breaks="C1"),
            Sample("integers", lambda rng: (np.eye(2, dtype="i8"),), {"upper": False}, breaks="C2"),
        ),
    )
)
