"""np.dot where it is no matrix product of its own: many axes, single numbers, strided vectors.

NumPy sums such products one pair of vectors at a time, and rounds unlike `matmul` and `einsum` do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, conj, normals
from .einsum import C_ONE_DTYPE, contract, one_dtype


def summed_axis(ndim: int) -> int:
    """The axis of the second operand that is summed: the second-last, or the only one."""
    return max(ndim - 2, 0)


def dot_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, y = operands = arrays("dot", types)
    one_dtype("dot", operands)
    if not x.ndim or not y.ndim:
        return array_type(x.shape + y.shape, x.dtype)
    axis = summed_axis(y.ndim)
    if x.shape[-1] != y.shape[axis]:
        OPS["dot"].fail("C2", f"the last axis of {x} does not meet axis {axis} of {y}")
    return array_type((*x.shape[:-1], *y.shape[:axis], *y.shape[axis + 1 :]), x.dtype)


def dot_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The sums of products that are left, as matrix products."""
    x, y = node.inputs
    rows, columns = len(x.shape), len(y.shape)
    if not rows or not columns:
        return _scaled(b, ct, conj(b, y), x), _scaled(b, ct, conj(b, x), y)
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    left = letters[:rows]
    free = letters[rows : rows + columns - 1]
    axis = summed_axis(columns)
    right = free[:axis] + left[-1] + free[axis:]
    result = left[:-1] + free
    return (
        contract(b, ct, conj(b, y), result, right, left),
        contract(b, conj(b, x), ct, left, result, right),
    )


def _scaled(b: Builder, ct: Node, factor: Node, operand: Node) -> Node:
    """The cotangent of one operand of a product with a single number."""
    product = b.multiply(ct, factor)
    if product.shape == operand.shape:
        return product
    return b.sum(product, axes=tuple(range(len(product.shape))), dtype=product.dtype)


register(
    OpDef(
        "dot",
        "np.dot: the sum over the last axis of x and the second-last of y, or a product with a number",
        Kind.CONTRACTION,
        dot_type,
        lambda x, y: np.dot(x, y),
        dot_vjp,
        (
            "C1: the operands are arrays",
            "C2: the last axis of x meets the second-last, or only, axis of y",
            C_ONE_DTYPE,
        ),
        (
            Sample("vectors", normals((4,), (4,))),
            Sample("number", normals((), (2, 3))),
            Sample("by_number", normals((3,), ())),
            Sample("numbers", normals((), ())),
            Sample("stack", normals((2, 3, 4), (4,))),
            Sample("stacks", normals((2, 3, 4), (2, 4, 3))),
            Sample("vector_stack", normals((4,), (2, 4, 3))),
            Sample(
                "complex",
                lambda rng: tuple(rng.normal(size=s) + 1j * rng.normal(size=s) for s in ((2, 2, 3), (3, 2))),
            ),
            Sample("python_number", lambda rng: (2.0, np.ones(3)), breaks="C1"),
            Sample("lengths_differ", normals((3,), (4,)), breaks="C2"),
            Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C3"),
        ),
    )
)
