"""Rules for matrix products: a stack of products that share or sum over an operand is one product.

BLAS adds in another order then, so they serve the backward part. A weight that forward is repeated over a
stack gets its gradient from one product, and hands its cotangent on by one.
"""

from __future__ import annotations

import math

from ..ir.builder import Builder
from ..ir.node import Node
from .match import size_of
from .rule import SIMPLIFY, Fidelity, RuleBuilder


@SIMPLIFY.rule(
    "sum(matmul(transpose(x), y), the stack) -> matmul(transpose(x as rows), y as rows)",
    on="sum",
    fidelity=Fidelity.ROUNDING,
    lowers="work",
    before="""(%x: f64[8,5,3], %y: f64[8,5,4]) {
      %0: f64[8,3,5] = transpose %x {axes=(0, 2, 1)}
      %1: f64[8,3,4] = matmul %0, %y
      %2: f64[3,4] = sum %1 {axes=(0,), dtype=f64}
      return %2
    }""",
    after="""(%x: f64[8,5,3], %y: f64[8,5,4]) {
      %0: f64[40,3] = reshape %x {shape=(40, 3)}
      %1: f64[3,40] = transpose %0 {axes=(1, 0)}
      %2: f64[40,4] = reshape %y {shape=(40, 4)}
      %3: f64[3,4] = matmul %1, %2
      return %3
    }""",
)
def sum_of_products(b: Builder, node: Node) -> Node | None:
    product = node.inputs[0]
    if product.op.name != "matmul" or node.attrs["axes"] != tuple(range(len(product.shape) - 2)):
        return None
    x, y = product.inputs
    if not node.attrs["axes"] or node.dtype != product.dtype or not size_of(product):
        return None
    x_rows, y_rows = _as_rows(b, b.transpose(x, axes=_swapped(x))), _as_rows(b, y)
    return b.matmul(b.transpose(x_rows, axes=(1, 0)), y_rows)


def _swapped(node: Node) -> tuple[int, ...]:
    axes = list(range(len(node.shape)))
    return (*axes[:-2], axes[-1], axes[-2])


def _as_rows(b: Builder, node: Node) -> Node:
    """All matrices of a stack below each other."""
    return b.reshape(node, (math.prod(node.shape[:-1]), node.shape[-1]))


@SIMPLIFY.rule(
    "matmul(x, broadcast(w) over the stack) -> reshape(matmul(x as rows, w))",
    on="matmul",
    fidelity=Fidelity.ROUNDING,
    lowers="products in stacks",
    before="""(%x: f64[8,5,3], %w: f64[3,4]) {
      %0: f64[8,3,4] = broadcast %w {axes=(1, 2), shape=(8, 3, 4)}
      %1: f64[8,5,4] = matmul %x, %0
      return %1
    }""",
    after="""(%x: f64[8,5,3], %w: f64[3,4]) {
      %0: f64[40,3] = reshape %x {shape=(40, 3)}
      %1: f64[40,4] = matmul %0, %w
      %2: f64[8,5,4] = reshape %1 {shape=(8, 5, 4)}
      return %2
    }""",
)
def product_with_shared(b: Builder, node: Node) -> Node | None:
    x, repeated = node.inputs
    ndim = len(node.shape)
    if repeated.op.name != "broadcast" or ndim == 2 or repeated.attrs["axes"] != (ndim - 2, ndim - 1):
        return None
    if not size_of(x):
        return None
    return b.reshape(b.matmul(_as_rows(b, x), repeated.inputs[0]), node.shape)


@SIMPLIFY.rule(
    "transpose(matmul(transpose(x), y)) -> matmul(transpose(y), x), likewise with y transposed",
    on="transpose",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[5,3], %y: f64[5,4]) {
      %0: f64[3,5] = transpose %x {axes=(1, 0)}
      %1: f64[3,4] = matmul %0, %y
      %2: f64[4,3] = transpose %1 {axes=(1, 0)}
      return %2
    }""",
    after="""(%x: f64[5,3], %y: f64[5,4]) {
      %0: f64[4,5] = transpose %y {axes=(1, 0)}
      %1: f64[4,3] = matmul %0, %x
      return %1
    }""",
)
def product_of_transposes(b: RuleBuilder, node: Node) -> Node | None:
    product = node.inputs[0]
    if product.op.name != "matmul" or node.attrs["axes"] != _swapped(product) or b.is_shared(product):
        return None
    x, y = product.inputs
    if not any(_is_swapped(operand) for operand in product.inputs):
        return None
    return b.matmul(b.transpose(y, axes=_swapped(y)), b.transpose(x, axes=_swapped(x)))


def _is_swapped(node: Node) -> bool:
    return node.op.name == "transpose" and node.attrs["axes"] == _swapped(node)
