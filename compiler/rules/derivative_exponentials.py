"""Derivatives of sums of exponentials: softmax, logsumexp and their logarithms, with or without a shift.

A shift by the maximum changes nothing but rounding, so no cotangent goes through it: softmax and log-softmax
of `x - m` are differentiated by x. Weights are computed from shifted exponentials and are 0 in a row of
-inf.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.record import record
from ..ops.base import is_complex
from .derivative import Contribution, Pull, derivative_rule
from .derivative_match import Reduced, is_constant_along, real_number, source_of, sum_of, vjp_of


@record(slots=True)
class ExponentialSum:
    """The sum over axes of w exp(u): `x` is u without a shift that is constant along the axes."""

    reduced: Reduced
    exponential: Node
    x: Node
    w: Node | None = None

    @property
    def u(self) -> Node:
        return self.exponential.inputs[0]

    @property
    def shift(self) -> Node | None:
        """What u subtracts from x, None where it subtracts nothing."""
        return None if self.x is self.u else self.u.inputs[1]

    def weights(self, b: Builder) -> Node:
        """exp(u) over the sum; made anew with a shift by the maximum where the program has none."""
        exponentials, total = self.exponential, self.reduced.total
        if self.shift is None:
            exponentials = b.exp(b.subtract(self.u, self.reduced.lift(b, self._maximum(b))))
            terms = exponentials if self.w is None else b.multiply(exponentials, self.w)
            total = b.sum(terms, axes=self.reduced.axes, dtype=total.dtype)
        empty = b.equal(total, b.scalar(0, total))
        return b.divide(exponentials, self.reduced.lift(b, b.where(empty, b.scalar(1, total), total)))

    def _maximum(self, b: Builder) -> Node:
        largest = b.stop_gradient(b.max(self.u, axes=self.reduced.axes))
        return b.where(b.isfinite(largest), largest, b.scalar(0, largest))

    def centred(self, b: Builder, ct: Node, weights: Node) -> Node:
        """ct - weights * (the sum of ct): the pullback of log-softmax."""
        total = b.sum(ct, axes=self.reduced.axes, dtype=ct.dtype)
        return b.subtract(ct, b.multiply(weights, self.reduced.lift(b, total)))


def exponential_sum(node: Node) -> ExponentialSum | None:
    """The node as a sum of exponentials over axes, None for any other."""
    reduced = sum_of(node)
    if reduced is None or is_complex(node) or 0 in reduced.terms.shape:
        return None
    exponential, w = _weighted_exponential(reduced.terms)
    if exponential is None:
        return None
    (u,) = exponential.inputs
    shifted = u.op.name == "subtract" and u.inputs[0].shape == u.shape
    shifted = shifted and is_constant_along(u.inputs[1], reduced.axes)
    return ExponentialSum(reduced, exponential, u.inputs[0] if shifted else u, w)


def _weighted_exponential(terms: Node) -> tuple[Node | None, Node | None]:
    """exp(u) and w where the terms are exp(u) or w exp(u)."""
    if terms.op.name == "exp":
        return terms, None
    if terms.op.name == "multiply":
        for own, other in (terms.inputs, terms.inputs[::-1]):
            if own.op.name == "exp" and own.shape == terms.shape:
                return own, other
    return None, None


def _log_sum_pull(found: ExponentialSum, operand: Node) -> Pull:
    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        def lift(value: Node) -> Node:
            return found.reduced.lift(b, value)

        part = b.multiply(lift(ct), found.weights(b))
        if found.w is None:
            return [Contribution(operand, part, lift)]
        return [Contribution(operand, b.multiply(part, found.w), lift), Contribution(found.w, part, lift)]

    return pull


@derivative_rule("log")
def log_of_exponential_sum(node: Node) -> Pull | None:
    """log(sum(exp(u))), log(mean(exp(u))) -> softmax(u)."""
    (total,) = node.inputs
    if total.op.name in ("multiply", "divide") and real_number(total.inputs[1]) is not None:
        total = total.inputs[0]
    found = exponential_sum(total) if total.shape == node.shape else None
    return None if found is None else _log_sum_pull(found, found.u)


@derivative_rule("add")
def shifted_log_of_exponential_sum(node: Node) -> Pull | None:
    """m + log(sum(exp(x - m))) -> softmax(x), and nothing for m."""
    for m, log in (node.inputs, node.inputs[::-1]):
        if log.op.name == "log" and log.shape == node.shape == m.shape:
            found = exponential_sum(log.inputs[0])
            if found is not None and found.shift is not None and _is_shift(found, m):
                return _log_sum_pull(found, found.x)
    return None


def _is_shift(found: ExponentialSum, m: Node) -> bool:
    """Whether m, of the sum's shape, is the value that the exponents are shifted by."""
    assert found.shift is not None
    if not found.shift.shape:
        return source_of(found.shift).node is source_of(m).node and m.type.size == 1  # type: ignore[union-attr]
    return found.reduced.is_lifted(found.shift, m)


@derivative_rule("divide", sums=True)
def softmax(node: Node) -> Pull | None:
    """exp(x - m) / sum(exp(x - m)) -> p (ct - sum(p ct)), for x; nothing for m."""
    above, below = node.inputs
    if above.op.name != "exp" or above.shape != node.shape:
        return None
    found = _divisor(above, below)
    if found is None:
        return None

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        weighted = b.multiply(ct, node)
        total = b.sum(weighted, axes=found.reduced.axes, dtype=ct.dtype)
        part = b.subtract(weighted, b.multiply(node, found.reduced.lift(b, total)))
        return [Contribution(found.x, part, mixes=found.reduced.axes)]

    return pull


def _divisor(above: Node, below: Node) -> ExponentialSum | None:
    """What `below` repeats, if that is the sum of the exponentials `above`."""
    found = exponential_sum(source_of(below).node)
    if found is None or found.reduced.terms is not above or found.w is not None:
        return None
    if not below.shape:
        return found if not found.reduced.total.shape else None
    return found if found.reduced.is_lifted(below, found.reduced.total) else None


@derivative_rule("log", sums=True)
def log_of_softmax(node: Node) -> Pull | None:
    """log(exp(x - m) / sum(exp(x - m))) -> ct - p sum(ct), also where p is 0."""
    (ratio,) = node.inputs
    if ratio.op.name != "divide" or ratio.inputs[0].op.name != "exp" or ratio.shape != ratio.inputs[0].shape:
        return None
    found = _divisor(*ratio.inputs)
    if found is None:
        return None
    return lambda b, ct: [Contribution(found.x, found.centred(b, ct, ratio), mixes=found.reduced.axes)]


@derivative_rule("subtract", sums=True)
def log_softmax(node: Node) -> Pull | None:
    """(x - m) - log(sum(exp(x - m))) -> ct - softmax(x) sum(ct) for x, and nothing for m."""
    u, normalizer = node.inputs
    log = source_of(normalizer).node
    if log.op.name != "log" or u.shape != node.shape:
        return None
    found = exponential_sum(log.inputs[0])
    if found is None or found.u is not u or found.shift is None or found.w is not None:
        return None
    if normalizer.shape and not found.reduced.is_lifted(normalizer, log):
        return None
    return lambda b, ct: [
        Contribution(found.x, found.centred(b, ct, found.weights(b)), mixes=found.reduced.axes)
    ]


@derivative_rule("exp")
def exponential_of_logarithm(node: Node) -> Pull | None:
    """exp(c log(u)) -> c u^(c - 1), for a constant c: also where u is 0."""
    (v,) = node.inputs
    found = _scaled_logarithm(v)
    if found is None:
        return None
    base, factor = found

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        if factor == 1:
            return [Contribution(base, ct)]
        powered = b.power(base, b.constant(factor), form="array")
        return [Contribution(base, vjp_of(b, powered, ct))]

    return pull


def _scaled_logarithm(node: Node) -> tuple[Node, float] | None:
    """(u, c) where the node is c log(u)."""
    if node.op.name == "log":
        return node.inputs[0], 1.0
    if node.op.name == "multiply":
        for own, other in (node.inputs, node.inputs[::-1]):
            factor = real_number(own)
            if factor and other.op.name == "log" and other.shape == node.shape:
                return other.inputs[0], factor
    return None


@derivative_rule("exp")
def product_by_logarithms(node: Node) -> Pull | None:
    """exp(sum(log(x))) -> the products of the other elements."""
    reduced = sum_of(node.inputs[0])
    if reduced is None or reduced.terms.op.name != "log" or is_complex(node):
        return None
    (x,) = reduced.terms.inputs

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        product = b.prod(x, axes=reduced.axes, dtype=reduced.total.dtype)
        part = vjp_of(b, product, b.reshape(ct, product.shape))
        return [Contribution(x, part, lift=lambda value: reduced.lift(b, value))]

    return pull
