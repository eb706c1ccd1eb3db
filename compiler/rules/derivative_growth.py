"""Derivatives of quotients, powers and logarithms of values that grow like exp.

The chain rule would compute exp(v) / (1 + exp(v))^2 with an exp(v) that may be inf. Here such a value D is
known by its growth, the slope of log|D|, which stays finite: 1 for exp(v), a sigmoid for 1 + exp(v), tanh(v)
for cosh(v). Then 1 / D has the slope -growth / D, and log(D) the growth itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..ir.builder import Builder
from ..ir.node import Node
from ..ops.base import is_complex, sigmoid
from ..ops.transcendental import difference
from .derivative import Contribution, Pull, derivative_rule
from .derivative_match import is_number, number, power_of, real_number


@dataclass(frozen=True, slots=True)
class Raised:
    """c + k exp(v), with constants c and k."""

    node: Node
    exponential: Node
    c: float
    k: float

    @property
    def v(self) -> Node:
        return self.exponential.inputs[0]

    @property
    def is_plain(self) -> bool:
        """Whether it is 1 + exp(v)."""
        return self.c == self.k == 1

    def growth(self, b: Builder) -> Node:
        """k exp(v) over the whole: a sigmoid, or where that is none 1 - c / (c + k exp(v))."""
        if self.is_plain:
            return sigmoid(b, self.v)
        if self.k / self.c > 0:
            return sigmoid(b, b.add(self.v, b.scalar(math.log(self.k / self.c), self.v)))
        rest = b.divide(b.scalar(self.c, self.node), self.node)
        return b.subtract(b.scalar(1, rest), rest)


def raised(node: Node) -> Raised | None:
    """The node as c + k exp(v), c not 0; exp on the left or right, added or subtracted."""
    if node.op.name not in ("add", "subtract") or is_complex(node):
        return None
    for own, other in (node.inputs, node.inputs[::-1]):
        c = real_number(own)
        found = _scaled_exponential(other)
        if c and found is not None and other.shape == node.shape:
            exponential, k = found
            if node.op.name == "subtract":
                c, k = (-c, k) if own is node.inputs[1] else (c, -k)
            return Raised(node, exponential, c, k)
    return None


def _scaled_exponential(node: Node) -> tuple[Node, float] | None:
    if node.op.name == "exp":
        return node, 1.0
    if node.op.name == "negative" and node.inputs[0].op.name == "exp":
        return node.inputs[0], -1.0
    if node.op.name == "multiply":
        for own, other in (node.inputs, node.inputs[::-1]):
            k = real_number(own)
            if k and other.op.name == "exp":
                return other, k
    return None


Slope = Callable[[Builder], "Node | None"]


@dataclass(frozen=True, slots=True)
class Growth:
    """The logarithmic slope of a value by one operand, times a power; a slope of None is 1."""

    operand: Node
    slope: Slope
    power: float = 1.0

    def pulled(self, b: Builder, ct: Node) -> Contribution:
        """The contribution of the logarithm's cotangent."""
        slope = self.slope(b)
        if slope is not None:
            ct = b.multiply(ct, slope)
        return Contribution(self.operand, ct if self.power == 1 else b.multiply(ct, b.scalar(self.power, ct)))


def growth_of(node: Node) -> list[Growth] | None:
    """How a value grows that is seen to grow like exp; None for any other."""
    if is_complex(node):
        return None
    if node.op.name == "exp":
        return [Growth(node.inputs[0], lambda b: None)]
    found = raised(node)
    if found is not None:
        return [Growth(found.v, found.growth)]
    if node.op.name == "add" and all(part.op.name == "exp" for part in node.inputs):
        return _growth_of_two(node.inputs[0].inputs[0], node.inputs[1].inputs[0])
    return _hyperbolic_growth(node)


def _growth_of_two(u: Node, v: Node) -> list[Growth]:
    """exp(u) + exp(v): the share of each."""
    return [
        Growth(u, lambda b: sigmoid(b, difference(b, u, v))),
        Growth(v, lambda b: sigmoid(b, difference(b, v, u))),
    ]


def _hyperbolic_growth(node: Node) -> list[Growth] | None:
    """cosh: tanh; sinh: 1 / tanh; expm1: 1 / (1 - exp(-v))."""
    if node.op.name not in ("cosh", "sinh", "expm1"):
        return None
    (v,) = node.inputs
    slopes: dict[str, Slope] = {
        "cosh": lambda b: b.tanh(v),
        "sinh": lambda b: b.reciprocal(b.tanh(v)),
        "expm1": lambda b: b.negative(b.reciprocal(b.expm1(b.negative(v)))),
    }
    return [Growth(v, slopes[node.op.name])]


@dataclass(frozen=True, slots=True)
class Factors:
    """A product taken apart: what grows like exp, and other factors with their powers; no constants."""

    growths: tuple[Growth, ...]
    others: tuple[tuple[Node, float], ...]


def factors_of(node: Node) -> Factors:
    """The factors of a product of a few."""
    growths: list[Growth] = []
    others: list[tuple[Node, float]] = []
    stack = [(node, 1.0)]
    while stack:
        part, power = stack.pop()
        raised_to, grown = power_of(part), growth_of(part)
        if grown is not None:
            growths += [Growth(each.operand, each.slope, power) for each in grown]
        elif raised_to is not None:
            stack.append((raised_to[0], power * raised_to[1]))
        elif part.op.name in ("multiply", "divide") and len(growths) + len(others) + len(stack) < 8:
            first, second = part.inputs
            stack += [(first, power), (second, power if part.op.name == "multiply" else -power)]
        elif number(part) is None:
            others.append((part, power))
    return Factors(tuple(growths), tuple(others))


def _only_growth(node: Node) -> tuple[Growth, ...]:
    """The growth of a product of nothing else; empty where there is more to it, or none."""
    found = factors_of(node)
    return () if found.others or is_complex(node) else found.growths


@derivative_rule("divide")
def quotient_by_growth(node: Node) -> Pull | None:
    """a / D -> 1 / D for a, -(a / D) growth(D): sigmoid, swish, sech, Bose and Fermi, x exp(-x)."""
    above, below = node.inputs
    if number(below) is not None or below.shape != node.shape:
        return None
    found = raised(below)
    if found is not None and above is found.exponential:
        return _share_of_raised(found)
    growths = _only_growth(below)
    if not growths:
        return None

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        down = b.negative(b.multiply(ct, node))
        if found is not None and found.is_plain and is_number(above, 1):
            grown = [Contribution(found.v, b.multiply(down, b.subtract(b.scalar(1, node), node)))]
        else:
            grown = [growth.pulled(b, down) for growth in growths]
        return grown if number(above) is not None else [Contribution(above, b.divide(ct, below)), *grown]

    return pull


def _share_of_raised(found: Raised) -> Pull:
    """exp(v) / (c + k exp(v)) -> (1/k) (1 - r) r with r = c / (c + k exp(v))."""

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        rest = b.divide(b.scalar(found.c, found.node), found.node)
        slope = b.multiply(rest, b.subtract(b.scalar(1, rest), rest))
        slope = slope if found.k == 1 else b.multiply(slope, b.scalar(1 / found.k, slope))
        return [Contribution(found.v, b.multiply(ct, slope))]

    return pull


@derivative_rule("reciprocal", "power")
def negative_power_of_growth(node: Node) -> Pull | None:
    """D^p -> p D^p growth(D), for a constant p < 0."""
    outer = power_of(node)
    if outer is None or outer[1] >= 0:
        return None
    growths, exponent = _only_growth(outer[0]), outer[1]
    if not growths:
        return None
    found = raised(outer[0])

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        up = b.multiply(b.multiply(ct, node), b.scalar(exponent, node))
        if found is not None and found.is_plain and exponent == -1:
            return [Contribution(found.v, b.multiply(up, b.subtract(b.scalar(1, node), node)))]
        return [growth.pulled(b, up) for growth in growths]

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
def log1p_of_exponential(node: Node) -> Pull | None:
    """log1p(exp(v)) -> sigmoid(v)."""
    (x,) = node.inputs
    if x.op.name != "exp" or is_complex(node):
        return None
    (v,) = x.inputs
    return lambda b, ct: [Contribution(v, b.multiply(ct, sigmoid(b, v)))]


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
            given.append(Contribution(operand, b.divide(scaled, operand)))
        return given

    return pull
