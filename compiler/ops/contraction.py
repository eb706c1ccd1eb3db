"""Matrix products.

`distinct` is set where the two operands are equal values in different memory: NumPy takes another path,
with other bits, for `a @ a.T` than for `a @ a.copy().T`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs, Cotangents, Kind, NotDifferentiable, OpDef, Sample, register
from ..ir.types import ArrayType, Type, array_type
from .base import conj, normals


def matmul_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, y = types
    if not (isinstance(x, ArrayType) and isinstance(y, ArrayType) and x.ndim == y.ndim >= 2):
        matmul.fail("C1", f"{x} and {y} are not stacks of matrices with the same number of axes")
    if x.shape[:-2] != y.shape[:-2] or x.shape[-1] != y.shape[-2]:
        matmul.fail("C2", f"the axes of {x} and {y} do not meet")
    if x.dtype != y.dtype:
        matmul.fail("C3", f"dtypes {x.dtype} and {y.dtype} differ")
    return array_type((*x.shape[:-1], y.shape[-1]), x.dtype)


def matmul_value(x: Any, y: Any, distinct: bool = False) -> Any:
    if distinct and np.may_share_memory(x, y):
        y = y.copy(order="K")
    return np.matmul(x, y)


def swapped(b: Builder, node: Node) -> Node:
    """The node with its last two axes swapped."""
    order = list(range(len(node.shape)))
    order[-2:] = order[-1], order[-2]
    return b.transpose(node, axes=tuple(order))


def matmul_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """dX = dC Y^H, dY = X^H dC."""
    x, y = node.inputs
    return b.matmul(ct, swapped(b, conj(b, y))), b.matmul(swapped(b, conj(b, x)), ct)


matmul = register(
    OpDef(
        "matmul",
        "the matrix product over the last two axes",
        Kind.CONTRACTION,
        matmul_type,
        matmul_value,
        matmul_vjp,
        (
            "C1: both operands are stacks of matrices",
            "C2: stacking axes agree, the columns of x meet the rows of y",
            "C3: both have one dtype",
        ),
        (
            Sample("matrices", normals((3, 4), (4, 2))),
            Sample("stacks", normals((2, 3, 4), (2, 4, 2))),
            Sample("empty", normals((3, 0), (0, 2))),
            Sample("float32", normals((3, 4), (4, 2), dtype="f4")),
            Sample("vector", normals((3, 4), (4,)), breaks="C1"),
            Sample("lengths_differ", normals((3, 4), (3, 2)), breaks="C2"),
        ),
    )
)


def add_matmul_type(types: Sequence[Type], attrs: Attrs) -> Type:
    base, x, y = types
    product = matmul_type((x, y), {})
    if base != product:
        add_matmul.fail("C1", f"{base} is not the type of the product, {product}")
    return product


def add_matmul_value(base: Any, x: Any, y: Any, alpha: float = 1.0) -> Any:
    return base + np.asarray(alpha, x.dtype) * np.matmul(x, y)


add_matmul = register(
    OpDef(
        "add_matmul",
        "a matrix product times a number, added to an array",
        Kind.CONTRACTION,
        add_matmul_type,
        add_matmul_value,
        NotDifferentiable("it is made after differentiation"),
        ("C1: the first operand has the type of the product of the others",),
        (
            Sample("matrices", normals((3, 2), (3, 4), (4, 2)), {"alpha": -0.5}, differentiable=False),
            Sample("stacks", normals((2, 3, 2), (2, 3, 4), (2, 4, 2)), differentiable=False),
            Sample("float32", normals((9, 40), (9, 7), (7, 40), dtype="f4"), differentiable=False),
            Sample("row", normals((2,), (3, 4), (4, 2)), breaks="C1"),
        ),
    )
)
