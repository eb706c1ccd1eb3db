"""Values that grow like exp, and how fast: the slope of their logarithm.

The growth of a value D stays finite where D itself is inf: it is 1 for exp(v), a sigmoid for 1 + exp(v),
tanh(v) for cosh(v). `derivative_quotients.py` has the rules that are made of it: 1 / D has the slope
-growth / D, and log(D) the growth itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.record import record
from ..ops.base import is_complex, sigmoid
from ..ops.transcendental import difference
from .derivative import Contribution
from .derivative_match import number, power_of, real_number, unboxed


@record(slots=True)
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
        """k exp(v) over the whole: a sigmoid, or where that is none 1 / (1 + c / k exp(-v))."""
        if self.is_plain:
            return sigmoid(b, self.v)
        if self.k / self.c > 0:
            return sigmoid(b, b.add(self.v, b.scalar(math.log(self.k / self.c), self.v)))
        small = b.exp(b.negative(self.v))
        return b.reciprocal(b.add(b.scalar(1, small), b.multiply(b.scalar(self.c / self.k, small), small)))


def raised(node: Node) -> Raised | None:
    """The node as c + k exp(v), c not 0; exp on the left or right, added or subtracted."""
    if node.op.name not in ("add", "subtract") or is_complex(node):
        return None
    for own, other in (node.inputs, node.inputs[::-1]):
        c = real_number(own)
        found = scaled_exponential(other)
        if c and found is not None and other.shape == node.shape:
            exponential, k = found
            if node.op.name == "subtract":
                c, k = (-c, k) if own is node.inputs[1] else (c, -k)
            return Raised(node, exponential, c, k)
    return None


def scaled_exponential(node: Node) -> tuple[Node, float] | None:
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


_FEW = 64
Slope = Callable[[Builder], "Node | None"]


@record(slots=True)
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
    mixed = mixture(node)
    return _hyperbolic_growth(node) if mixed is None else mixed.growths()


def _growth_of_two(u: Node, v: Node) -> list[Growth]:
    """exp(u) + exp(v): the share of each."""
    return [
        Growth(u, lambda b: sigmoid(b, difference(b, u, v))),
        Growth(v, lambda b: sigmoid(b, difference(b, v, u))),
    ]


@record(slots=True)
class Mixture:
    """A sum: c + k_1 exp(v_1) + k_2 exp(v_2) and so on."""

    c: float
    parts: tuple[tuple[float, Node], ...]

    def growths(self) -> list[Growth]:
        """The share of each exponential in the whole."""
        return [Growth(part[1], partial(self._share, part=part)) for part in self.parts]

    def _share(self, b: Builder, part: tuple[float, Node]) -> Node:
        largest = self._largest(b)
        terms = [self._term(b, k, v, largest) for k, v in self.parts]
        if self.c:
            terms.append(self._term(b, self.c, None, largest))
        whole = terms[0]
        for term in terms[1:]:
            whole = b.add(whole, term)
        empty = b.equal(whole, b.scalar(0, whole))
        return b.divide(self._term(b, *part, largest), b.where(empty, b.scalar(1, whole), whole))

    def _largest(self, b: Builder) -> Node:
        """The largest exponent: what all are shifted by."""
        largest = self.parts[0][1]
        for _, v in self.parts[1:]:
            largest = b.maximum(largest, v)
        if self.c:
            largest = b.maximum(largest, b.scalar(0, largest))
        largest = b.stop_gradient(largest)
        return b.where(b.isfinite(largest), largest, b.scalar(0, largest))

    def _term(self, b: Builder, k: float, v: Node | None, largest: Node) -> Node:
        term = b.exp(b.negative(largest) if v is None else b.subtract(v, largest))
        return term if k == 1 else b.multiply(term, b.scalar(k, term))


def mixture(node: Node, c: float = 0.0) -> Mixture | None:
    """The node, plus c, as a sum of a few numbers and exponentials with constant factors."""
    parts: list[tuple[float, Node]] = []
    stack, seen = [(1.0, node)], 0
    while stack:
        (sign, term), seen = stack.pop(), seen + 1
        value, scaled = real_number(term), scaled_exponential(term)
        if value is not None:
            c += sign * value
        elif scaled is not None and term.shape == node.shape:
            parts.append((sign * scaled[1], scaled[0].inputs[0]))
        elif term.op.name in ("add", "subtract") and seen < _FEW:
            first, second = term.inputs
            stack += [(sign, first), (sign if term.op.name == "add" else -sign, second)]
        else:
            return None
    return Mixture(c, tuple(parts)) if parts and not is_complex(node) else None


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


@record(slots=True)
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
        boxed, power = stack.pop()
        part = unboxed(boxed)
        raised_to, grown = power_of(part), growth_of(part)
        if grown is not None:
            growths += [Growth(each.operand, each.slope, power) for each in grown]
        elif raised_to is not None:
            stack.append((raised_to[0], power * raised_to[1]))
        elif part.op.name in ("multiply", "divide") and len(growths) + len(others) + len(stack) < 8:
            first, second = part.inputs
            stack += [(first, power), (second, power if part.op.name == "multiply" else -power)]
        elif number(part) is None:
            others.append((boxed, power))
    return Factors(tuple(growths), tuple(others))


def only_growth(node: Node) -> tuple[Growth, ...]:
    """The growth of a product of nothing else; empty where there is more to it, or none."""
    found = factors_of(node)
    return () if found.others or is_complex(node) else found.growths
