"""Derivatives of quotients, powers and logarithms of values that grow like exp.

The chain rule would compute exp(v) / (1 + exp(v))^2 with an exp(v) that may be inf; here the value's growth
(`derivative_growth.py`) stands in the place of that quotient.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ops.base import is_complex, rest_of_sigmoid, sigmoid
from .derivative import Contribution, Pull, derivative_rule
from .derivative_growth import Raised, factors_of, mixture, only_growth, raised
from .derivative_match import is_number, number, power_of


@derivative_rule("divide")
def quotient_by_growth(node: Node) -> Pull | None:
    """a / D -> 1 / D for a, -(a / D) growth(D): sigmoid, swish, sech, Bose and Fermi, x exp(-x)."""
    above, below = node.inputs
    if number(below) is not None or below.shape != node.shape:
        return None
    found = raised(below)
    if found is not None and above is found.exponential:
        return _share_of_raised(found)
    growths = only_growth(below)
    if not growths:
        return None

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        scaled = b.multiply(ct, node)
        if found is not None and found.is_plain and is_number(above, 1):
            grown = [_of_reciprocal(b, scaled, found, node)]
        else:
            grown = [growth.pulled(b, b.negative(scaled)) for growth in growths]
        return grown if number(above) is not None else [Contribution(above, b.divide(ct, below)), *grown]

    return pull


def _of_reciprocal(b: Builder, scaled: Node, found: Raised, s: Node) -> Contribution:
    """s = 1 / (1 + exp(v)) -> -s (1 - s), given the cotangent times s."""
    return Contribution(found.v, b.negative(b.multiply(scaled, rest_of_sigmoid(b, found.exponential, s))))


def _share_of_raised(found: Raised) -> Pull:
    """exp(v) / (c + k exp(v)) -> exp(v) r r / c with r = c / (c + k exp(v)), one factor at a time."""

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        r = b.divide(b.scalar(found.c, found.node), found.node)
        slope = b.multiply(rest_of_sigmoid(b, found.exponential, r), r)
        slope = slope if found.c == 1 else b.multiply(slope, b.scalar(1 / found.c, slope))
        return [Contribution(found.v, b.multiply(ct, slope))]

    return pull


@derivative_rule("reciprocal", "power")
def negative_power_of_growth(node: Node) -> Pull | None:
    """D^p -> p D^p growth(D), for a constant p < 0."""
    outer = power_of(node)
    if outer is None or outer[1] >= 0:
        return None
    growths, exponent = only_growth(outer[0]), outer[1]
    if not growths:
        return None
    found = raised(outer[0])

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        scaled = b.multiply(ct, node)
        if found is not None and found.is_plain and exponent == -1:
            return [_of_reciprocal(b, scaled, found, node)]
        return [growth.pulled(b, b.multiply(scaled, b.scalar(exponent, node))) for growth in growths]

    return pull


def logistic(node: Node) -> tuple[Node, int] | None:
    """(v, s) where the node is the sigmoid of s v, in any of its spellings."""
    name = node.op.name
    if name == "expit":
        return node.inputs[0], 1
    if name == "divide":
        found = raised(node.inputs[1])
        if found is not None and found.is_plain:
            if node.inputs[0] is found.exponential:
                return found.v, 1
            return (found.v, -1) if is_number(node.inputs[0], 1) else None
    outer = power_of(node)
    if outer is not None and outer[1] == -1:
        found = raised(outer[0])
        return (found.v, -1) if found is not None and found.is_plain else None
    if name == "subtract" and is_number(node.inputs[0], 1) and node.inputs[1].op.name != "subtract":
        inner = logistic(node.inputs[1])
        return None if inner is None else (inner[0], -inner[1])
    return None


@derivative_rule("multiply")
def rest_of_share(node: Node) -> Pull | None:
    """exp(v) r for r = c / (c + k exp(v)), as derivatives write it -> exp(v) r r."""
    bounded, r = node.inputs
    if bounded.op.name != "minimum" or not is_number(bounded.inputs[1], np.finfo(node.dtype).max):
        return None
    (exponential, _) = bounded.inputs
    if exponential.op.name != "exp" or not _is_share_beside(r, exponential):
        return None
    return lambda b, ct: [Contribution(exponential.inputs[0], b.multiply(b.multiply(ct, node), r))]


def _is_share_beside(r: Node, exponential: Node) -> bool:
    """Whether a value is c / (c + k exp(v)), for this exp(v)."""
    (v,) = exponential.inputs
    if r.op.name == "expit":
        return v.op.name == "negative" and v.inputs[0] is r.inputs[0]
    outer = power_of(r)
    if outer is not None and outer[1] == -1:
        c, found = 1.0, raised(outer[0])
    elif r.op.name == "divide":
        c, found = number(r.inputs[0]), raised(r.inputs[1])
    else:
        return False
    return found is not None and found.exponential is exponential and found.c == c


def _log_sigmoid(v: Node, sign: int) -> Pull:
    """log sigmoid(s v) -> s sigmoid(-s v)."""

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        slope = sigmoid(b, b.negative(v) if sign > 0 else v)
        return [Contribution(v, b.multiply(ct, slope if sign > 0 else b.negative(slope)))]

    return pull


@derivative_rule("log")
def log_of_sigmoid(node: Node) -> Pull | None:
    """log(sigmoid(v)), log(1 - sigmoid(v)) -> sigmoid(-v), -sigmoid(v)."""
    found = logistic(node.inputs[0])
    return None if found is None else _log_sigmoid(*found)


@derivative_rule("log1p")
def log1p_of_sigmoid(node: Node) -> Pull | None:
    """log1p(-sigmoid(v)) -> -sigmoid(v)."""
    (x,) = node.inputs
    found = logistic(x.inputs[0]) if x.op.name == "negative" else None
    return None if found is None else _log_sigmoid(found[0], -found[1])


@derivative_rule("log1p")
def log1p_of_exponentials(node: Node) -> Pull | None:
    """log1p(exp(v)) -> sigmoid(v); log1p(k exp(v) + …) -> the share of each."""
    (x,) = node.inputs
    if x.op.name == "exp" and not is_complex(node):
        (v,) = x.inputs
        return lambda b, ct: [Contribution(v, b.multiply(ct, sigmoid(b, v)))]
    found = mixture(x, 1.0)
    if found is None:
        return None
    growths = found.growths()
    return lambda b, ct: [growth.pulled(b, ct) for growth in growths]


@derivative_rule("log")
def log_of_product(node: Node) -> Pull | None:
    """log(u^n D / w) -> n / u, growth(D), -1 / w: softplus, log-cosh, log-densities; nothing overflows."""
    (x,) = node.inputs
    found = factors_of(x)
    gained = bool(found.growths) or any(power != 1 for _, power in found.others)
    if not gained or is_complex(node):
        return None

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        given = [growth.pulled(b, ct) for growth in found.growths]
        for operand, power in found.others:
            scaled = ct if power == 1 else b.multiply(ct, b.scalar(power, ct))
            given.append(Contribution(operand, b.divide(scaled, b.cast(operand, ct.dtype))))
        return given

    return pull
