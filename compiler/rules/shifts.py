"""Rules for the gradient through the shift of a softmax.

A stable softmax subtracts each row's maximum first, and what it gives does not depend on that. So the
cotangents of a row add up to zero, and the part of the gradient that goes through the maximum falls away.
That they do is found without adding anything up: from what softmax and cross-entropy pull back.
"""

from __future__ import annotations

import numpy as np

from ..ir.node import Node
from .match import is_zero, uniform_value
from .rule import SIMPLIFY, Fidelity, RuleBuilder


def _repeats(node: Node, axis: int) -> Node | None:
    """What a broadcast repeats along one axis only, the others in order; None for every other node."""
    kept = tuple(a for a in range(len(node.shape)) if a != axis)
    if node.op.name != "broadcast" or node.attrs["axes"] != kept:
        return None
    return node.inputs[0]


def _shifted_exponential(node: Node, axis: int) -> bool:
    """Whether a node is exp(x - max(x)) along an axis, so that its sum there is at least 1."""
    if node.op.name != "exp" or node.inputs[0].op.name != "subtract":
        return False
    x, shift = node.inputs[0].inputs
    most = _repeats(shift, axis)
    return (
        most is not None and most.op.name == "max" and most.attrs["axes"] == (axis,) and most.inputs[0] is x
    )


def _is_probability(node: Node, axis: int) -> bool:
    """Whether a node is exp(x - max(x)) over its sum along an axis."""
    if node.op.name != "divide" or not _shifted_exponential(node.inputs[0], axis):
        return False
    total = _repeats(node.inputs[1], axis)
    return (
        total is not None
        and total.op.name == "sum"
        and total.attrs["axes"] == (axis,)
        and total.inputs[0] is node.inputs[0]
    )


def _weight(node: Node, axis: int) -> float | None:
    """The sum along an axis of probabilities times one number, times that number; None for all else."""
    if _is_probability(node, axis):
        return 1.0
    if node.op.name == "multiply":
        for x, factor in (node.inputs, node.inputs[::-1]):
            value = uniform_value(factor)
            if value is not None and _is_probability(x, axis):
                return float(value)
    return None


def _adds_up_to_zero(node: Node, axis: int) -> bool:
    """Whether the elements along an axis cancel: the gradient of a cross-entropy, or of a softmax."""
    if node.op.name == "scatter_add" and _one_a_row(node, axis):
        weight, taken = _weight(node.inputs[0], axis), uniform_value(node.inputs[1])
        return weight is not None and taken is not None and weight == -taken
    if node.op.name == "multiply":
        for p, inner in (node.inputs, node.inputs[::-1]):
            if _is_probability(p, axis) and inner.op.name == "subtract":
                return _is_mean_under(inner.inputs[1], p, inner.inputs[0], axis)
    return False


def _is_mean_under(node: Node, p: Node, ct: Node, axis: int) -> bool:
    """Whether a node repeats sum(p * ct) along the axis."""
    total = _repeats(node, axis)
    if total is None or total.op.name != "sum" or total.attrs["axes"] != (axis,):
        return False
    product = total.inputs[0]
    return product.op.name == "multiply" and product.inputs in ((p, ct), (ct, p))


def _one_a_row(node: Node, axis: int) -> bool:
    """Whether a scatter adds one value to each row of a matrix, in the order of the rows."""
    if (
        len(node.shape) != 2
        or node.attrs["axes"] != (0, 1)
        or node.inputs[1].shape != (node.shape[1 - axis],)
    ):
        return False
    rows = node.inputs[2 + (1 - axis)]
    if rows.op.name != "constant":
        return False
    return bool(np.array_equal(rows.attrs["value"].value, np.arange(node.shape[1 - axis])))


@SIMPLIFY.rule(
    "equal(sum(exp(x - max(x))), 0) -> False",
    on="equal",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[2,3]) {
      %0: f64[2] = max %x {axes=(1,)}
      %1: f64[2,3] = broadcast %0 {axes=(0,), shape=(2, 3)}
      %2: f64[2,3] = subtract %x, %1
      %3: f64[2,3] = exp %2
      %4: f64[2] = sum %3 {axes=(1,), dtype=f64}
      %5: f64[] = constant {value=f64(0.0)}
      %6: bool[2] = equal %4, %5
      return %6
    }""",
    after="""(%x: f64[2,3]) {
      %0: bool[] = constant {value=bool(False)}
      %1: bool[2] = broadcast %0 {axes=(), shape=(2,)}
      return %1
    }""",
)
def shifted_sum_is_positive(b: RuleBuilder, node: Node) -> Node | None:
    total, other = node.inputs
    if not is_zero(other) or total.op.name != "sum" or len(total.attrs["axes"]) != 1:
        return None
    if not _shifted_exponential(total.inputs[0], total.attrs["axes"][0]):
        return None
    return b.broadcast_to(b.constant(np.asarray(False)), node.shape)


@SIMPLIFY.rule(
    "add(g, where(x == max(x), -sum(g) / ties, 0)) -> g, if sum(g) is 0",
    on="add",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[2,3], %c: f64[2,3]) {
      %0: f64[2] = max %x {axes=(1,)}
      %1: f64[2,3] = broadcast %0 {axes=(0,), shape=(2, 3)}
      %2: f64[2,3] = subtract %x, %1
      %3: f64[2,3] = exp %2
      %4: f64[2] = sum %3 {axes=(1,), dtype=f64}
      %5: f64[2,3] = broadcast %4 {axes=(0,), shape=(2, 3)}
      %6: f64[2,3] = divide %3, %5
      %7: f64[2,3] = multiply %6, %c
      %8: f64[2] = sum %7 {axes=(1,), dtype=f64}
      %9: f64[2,3] = broadcast %8 {axes=(0,), shape=(2, 3)}
      %10: f64[2,3] = subtract %c, %9
      %11: f64[2,3] = multiply %6, %10
      %12: f64[2] = sum %11 {axes=(1,), dtype=f64}
      %13: bool[2,3] = equal %x, %1
      %14: f64[2,3] = cast %13 {dtype=f64}
      %15: f64[2] = sum %14 {axes=(1,), dtype=f64}
      %16: f64[2] = divide %12, %15
      %17: f64[2] = negative %16
      %18: f64[2,3] = broadcast %17 {axes=(0,), shape=(2, 3)}
      %19: f64[] = constant {value=f64(0.0)}
      %20: f64[2,3] = where %13, %18, %19
      %21: f64[2,3] = add %11, %20
      return %21
    }""",
    after="""(%x: f64[2,3], %c: f64[2,3]) {
      %0: f64[2] = max %x {axes=(1,)}
      %1: f64[2,3] = broadcast %0 {axes=(0,), shape=(2, 3)}
      %2: f64[2,3] = subtract %x, %1
      %3: f64[2,3] = exp %2
      %4: f64[2] = sum %3 {axes=(1,), dtype=f64}
      %5: f64[2,3] = broadcast %4 {axes=(0,), shape=(2, 3)}
      %6: f64[2,3] = divide %3, %5
      %7: f64[2,3] = multiply %6, %c
      %8: f64[2] = sum %7 {axes=(1,), dtype=f64}
      %9: f64[2,3] = broadcast %8 {axes=(0,), shape=(2, 3)}
      %10: f64[2,3] = subtract %c, %9
      %11: f64[2,3] = multiply %6, %10
      return %11
    }""",
)
def shift_cancels(b: RuleBuilder, node: Node) -> Node | None:
    for kept, shifted in (node.inputs, node.inputs[::-1]):
        if shifted.op.name == "where" and is_zero(shifted.inputs[2]):
            axis = _shared_among_ties(shifted.inputs[1], shifted.inputs[0], kept)
            if axis is not None and _adds_up_to_zero(kept, axis):
                return kept
    return None


def _shared_among_ties(share: Node, hits: Node, whole: Node) -> int | None:
    """The axis along which a node repeats -sum(whole) / sum(hits); None for every other node."""
    if share.op.name != "broadcast" or len(share.attrs["axes"]) != len(share.shape) - 1:
        return None
    (axis,) = set(range(len(share.shape))) - set(share.attrs["axes"])
    ratio = share.inputs[0]
    if ratio.op.name == "negative":
        ratio = ratio.inputs[0]
    if ratio.op.name != "divide":
        return None
    total, ties = ratio.inputs
    if total.op.name == "negative":
        total = total.inputs[0]
    sums = total.op.name == ties.op.name == "sum" and total.attrs["axes"] == ties.attrs["axes"] == (axis,)
    if not sums or total.inputs[0] is not whole:
        return None
    counted = ties.inputs[0]
    return axis if counted.op.name == "cast" and counted.inputs[0] is hits else None
