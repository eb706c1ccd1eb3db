"""Rules for sums: what is the same for all terms comes out, what only moves elements falls away.

All of them change the order of additions or the sign of a zero, so they serve the backward part, where a sum
over broadcast axes stands behind many an op.
"""

from __future__ import annotations

import math

from ..ir.builder import Builder
from ..ir.node import Node
from .match import is_float, size_of, without_unit_axes
from .rule import SIMPLIFY, Fidelity, RuleBuilder


def _same_dtype(node: Node) -> bool:
    return bool(node.attrs["dtype"] == node.inputs[0].dtype and node.dtype.kind in "fc")


def _all_axes(node: Node) -> bool:
    return len(node.attrs["axes"]) == len(node.inputs[0].shape)


def _sum(b: Builder, x: Node, axes: tuple[int, ...]) -> Node:
    return b.sum(x, axes=axes, dtype=x.dtype) if axes else x


@SIMPLIFY.rule(
    "sum(x, axes of length 1) -> reshape(x)",
    on="sum",
    fidelity=Fidelity.ROUNDING,
    lowers="axes that are summed",
    before="""(%x: f64[3,1,2]) {
      %0: f64[3] = sum %x {axes=(1, 2), dtype=f64}
      return %0
    }""",
    after="""(%x: f64[3,1,2]) {
      %0: f64[3,2] = reshape %x {shape=(3, 2)}
      %1: f64[3] = sum %0 {axes=(1,), dtype=f64}
      return %1
    }""",
)
def sum_unit_axes(b: Builder, node: Node) -> Node | None:
    (x,) = node.inputs
    axes = node.attrs["axes"]
    gone = [axis for axis in axes if x.shape[axis] == 1]
    if not gone or not _same_dtype(node):
        return None
    kept = [axis for axis in range(len(x.shape)) if axis not in gone]
    reshaped = b.reshape(x, tuple(x.shape[axis] for axis in kept))
    return _sum(b, reshaped, tuple(kept.index(axis) for axis in axes if axis not in gone))


@SIMPLIFY.rule(
    "sum(sum(x)) -> sum(x)",
    on="sum",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[3,4,2]) {
      %0: f64[3,2] = sum %x {axes=(1,), dtype=f64}
      %1: f64[3] = sum %0 {axes=(1,), dtype=f64}
      return %1
    }""",
    after="""(%x: f64[3,4,2]) {
      %0: f64[3] = sum %x {axes=(1, 2), dtype=f64}
      return %0
    }""",
)
def sum_sum(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op is not node.op or not _same_dtype(node) or not _same_dtype(inner):
        return None
    (x,) = inner.inputs
    kept = [axis for axis in range(len(x.shape)) if axis not in inner.attrs["axes"]]
    axes = sorted([*inner.attrs["axes"], *(kept[axis] for axis in node.attrs["axes"])])
    return _sum(b, x, tuple(axes))


@SIMPLIFY.rule(
    "sum(reshape(x), all axes) -> sum(x, all axes), likewise transpose",
    on="sum",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[3,4]) {
      %0: f64[12] = reshape %x {shape=(12,)}
      %1: f64[] = sum %0 {axes=(0,), dtype=f64}
      return %1
    }""",
    after="""(%x: f64[3,4]) {
      %0: f64[] = sum %x {axes=(0, 1), dtype=f64}
      return %0
    }""",
)
def sum_moved(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name not in ("reshape", "transpose") or not _all_axes(node) or not _same_dtype(node):
        return None
    (x,) = inner.inputs
    if without_unit_axes(x.shape) == inner.shape:
        return None
    return _sum(b, x, tuple(range(len(x.shape))))


@SIMPLIFY.rule(
    "sum(transpose(x)) -> transpose(sum(x))",
    on="sum",
    fidelity=Fidelity.ROUNDING,
    lowers="work below views",
    before="""(%x: f64[3,4,2]) {
      %0: f64[4,2,3] = transpose %x {axes=(1, 2, 0)}
      %1: f64[4,3] = sum %0 {axes=(1,), dtype=f64}
      return %1
    }""",
    after="""(%x: f64[3,4,2]) {
      %0: f64[3,4] = sum %x {axes=(2,), dtype=f64}
      %1: f64[4,3] = transpose %0 {axes=(1, 0)}
      return %1
    }""",
)
def sum_transpose(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "transpose" or _all_axes(node):
        return None
    order, axes = inner.attrs["axes"], node.attrs["axes"]
    summed = tuple(sorted(order[axis] for axis in axes))
    total = b.make(node.op, inner.inputs, {**node.attrs, "axes": summed})
    kept = [axis for axis in range(len(order)) if axis not in summed]
    left = tuple(kept.index(old) for place, old in enumerate(order) if place not in axes)
    return b.transpose(total, axes=left)


@SIMPLIFY.rule(
    "sum(broadcast(x), new axes) -> multiply(x, their length)",
    on="sum",
    fidelity=Fidelity.ROUNDING,
    lowers="work",
    before="""(%x: f64[3]) {
      %0: f64[4,3,2] = broadcast %x {axes=(1,), shape=(4, 3, 2)}
      %1: f64[3,2] = sum %0 {axes=(0,), dtype=f64}
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(4.0)}
      %1: f64[3] = multiply %x, %0
      %2: f64[3,2] = broadcast %1 {axes=(0,), shape=(3, 2)}
      return %2
    }""",
)
def sum_broadcast(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "broadcast" or not _same_dtype(node) or not size_of(inner):
        return None
    (x,) = inner.inputs
    old, axes = inner.attrs["axes"], node.attrs["axes"]
    count = math.prod(inner.shape[axis] for axis in axes if axis not in old)
    total = _sum(b, x, tuple(old.index(axis) for axis in axes if axis in old))
    scaled = b.multiply(total, b.scalar(count, total)) if count != 1 else total
    left = [axis for axis in range(len(inner.shape)) if axis not in axes]
    kept = tuple(left.index(axis) for axis in old if axis not in axes)
    return b.broadcast(scaled, axes=kept, shape=node.shape)


@SIMPLIFY.rule(
    "sum(multiply(x, y)) -> multiply(sum(x), y), likewise divide and negative; y alike along the summed axes",
    on="sum",
    fidelity=Fidelity.ROUNDING,
    lowers="work",
    before="""(%x: f64[3,4], %y: f64[3]) {
      %0: f64[3,4] = broadcast %y {axes=(0,), shape=(3, 4)}
      %1: f64[3,4] = multiply %x, %0
      %2: f64[3] = sum %1 {axes=(1,), dtype=f64}
      return %2
    }""",
    after="""(%x: f64[3,4], %y: f64[3]) {
      %0: f64[3] = sum %x {axes=(1,), dtype=f64}
      %1: f64[3] = multiply %0, %y
      return %1
    }""",
)
def sum_scaled(b: RuleBuilder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name not in ("multiply", "divide", "negative") or not _same_dtype(node):
        return None
    if not is_float(node) or size_of(node) >= size_of(inner) or b.is_shared(inner):
        return None
    terms, *factors = inner.inputs
    if factors and inner.op.name == "multiply" and _once(b, factors[0], node) is None:
        terms, factors = factors[0], [terms]
    outside = [_once(b, factor, node) for factor in factors]
    if terms.type != inner.type or any(factor is None for factor in outside):
        return None
    operands = [_sum(b, terms, node.attrs["axes"]), *(factor for factor in outside if factor is not None)]
    return b.make(inner.op, operands, inner.attrs)


def _once(b: Builder, factor: Node, total: Node) -> Node | None:
    """A factor that is the same along all axes of a sum, without these axes; None for any other."""
    if not factor.shape:
        return factor
    axes = total.attrs["axes"]
    if factor.op.name != "broadcast" or not set(axes).isdisjoint(factor.attrs["axes"]):
        return None
    left = [axis for axis in range(len(factor.shape)) if axis not in axes]
    kept = tuple(left.index(axis) for axis in factor.attrs["axes"])
    return b.broadcast(factor.inputs[0], axes=kept, shape=total.shape)


@SIMPLIFY.rule(
    "max(x, axes of length 1) -> reshape(x), likewise min",
    on=("max", "min"),
    fidelity=Fidelity.VALUES,
    lowers="work",
    before="(%x: f64[3,1]) { %0: f64[3] = max %x {axes=(1,)} return %0 }",
    after="(%x: f64[3,1]) { %0: f64[3] = reshape %x {shape=(3,)} return %0 }",
)
def extremum_of_one(b: Builder, node: Node) -> Node | None:
    (x,) = node.inputs
    if without_unit_axes(x.shape) != without_unit_axes(node.shape) or x.dtype != node.dtype:
        return None
    return b.reshape(x, node.shape)
