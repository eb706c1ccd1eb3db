"""Rules for sums, products and signs: neutral elements, negations, constants.

A rule that keeps every bit holds for -0.0, infinities, NaNs and subnormals too: x + 0.0 is not x, because
-0.0 + 0.0 is 0.0, but x - 0.0 is. Negation only flips a sign, so it may move past products, not past sums.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.types import ScalarType
from .match import (
    is_float,
    is_real,
    is_value,
    is_zero,
    may_stand_for,
    scalar_value,
    uniform_value,
)
from .rule import SIMPLIFY, Fidelity, RuleBuilder


@SIMPLIFY.rule(
    "multiply(x, 1) -> x",
    on="multiply",
    before="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      %1: f64[] = constant {value=f64(1.0)}
      %2: f64[2,3] = multiply %0, %1
      return %2
    }""",
    after="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      return %0
    }""",
)
def multiply_one(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    if is_value(y, 1) and is_real(x) and may_stand_for(x, node):
        return x
    return y if is_value(x, 1) and is_real(y) and may_stand_for(y, node) else None


@SIMPLIFY.rule(
    "divide(x, 1) -> x",
    on="divide",
    before="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      %1: f64[] = constant {value=f64(1.0)}
      %2: f64[2,3] = divide %0, %1
      return %2
    }""",
    after="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      return %0
    }""",
)
def divide_one(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    return x if is_value(y, 1) and is_real(x) and may_stand_for(x, node) else None


@SIMPLIFY.rule(
    "subtract(x, 0.0) -> x, add(x, -0.0) -> x, and add(x, 0) -> x for integers",
    on=("add", "subtract"),
    before="""(%x: f64[2,3], %n: i64[3]) {
      %0: f64[2,3] = tanh %x
      %1: f64[] = constant {value=f64(0.0)}
      %2: f64[2,3] = subtract %0, %1
      %3: f64[] = constant {value=f64(-0.0)}
      %4: f64[2,3] = add %0, %3
      %5: i64[3] = negative %n
      %6: i64[] = constant {value=i64(0)}
      %7: i64[3] = add %5, %6
      return %2, %4, %7
    }""",
    after="""(%x: f64[2,3], %n: i64[3]) {
      %0: f64[2,3] = tanh %x
      %1: i64[3] = negative %n
      return %0, %0, %1
    }""",
)
def add_neutral(b: Builder, node: Node) -> Node | None:
    """Minus zero is what an addition leaves alone, plus zero what a subtraction does."""
    x, y = node.inputs
    neutral = -0.0 if node.op.name == "add" and is_float(node) else 0
    return x if is_value(y, neutral) and is_real(x) and may_stand_for(x, node) else None


@SIMPLIFY.rule(
    "add(x, 0) -> x, subtract(x, 0) -> x",
    on=("add", "subtract"),
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(0.0)}
      %1: f64[3] = add %0, %x
      return %1
    }""",
    after="(%x: f64[3]) { return %x }",
)
def add_zero(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    if is_zero(y) and x.type == node.type:
        return x
    return y if node.op.name == "add" and is_zero(x) and y.type == node.type else None


@SIMPLIFY.rule(
    "subtract(0, x) -> negative(x)",
    on="subtract",
    fidelity=Fidelity.ROUNDING,
    lowers="subtractions",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(0.0)}
      %1: f64[3] = subtract %0, %x
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[3] = negative %x
      return %0
    }""",
)
def subtract_from_zero(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    return b.negative(y) if is_zero(x) and y.type == node.type else None


def negated(node: Node) -> Node | None:
    """What a negation negates."""
    return node.inputs[0] if node.op.name == "negative" else None


@SIMPLIFY.rule(
    "negative(negative(x)) -> x",
    on="negative",
    before="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      %1: f64[2,3] = negative %0
      %2: f64[2,3] = negative %1
      return %2
    }""",
    after="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      return %0
    }""",
)
def negative_negative(b: Builder, node: Node) -> Node | None:
    x = negated(node.inputs[0])
    return x if x is not None and may_stand_for(x, node) else None


@SIMPLIFY.rule(
    "subtract(x, negative(y)) -> add(x, y)",
    on="subtract",
    fidelity=Fidelity.VALUES,
    before="""(%x: f64[2,3], %y: f64[2,3]) {
      %0: f64[2,3] = negative %y
      %1: f64[2,3] = subtract %x, %0
      return %1
    }""",
    after="(%x: f64[2,3], %y: f64[2,3]) { %0: f64[2,3] = add %x, %y return %0 }",
)
def subtract_negative(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    inner = negated(y)
    return b.add(x, inner) if inner is not None else None


@SIMPLIFY.rule(
    "add(x, negative(y)) -> subtract(x, y)",
    on="add",
    fidelity=Fidelity.VALUES,
    before="""(%x: f64[2,3], %y: f64[2,3]) {
      %0: f64[2,3] = negative %y
      %1: f64[2,3] = add %0, %x
      return %1
    }""",
    after="(%x: f64[2,3], %y: f64[2,3]) { %0: f64[2,3] = subtract %x, %y return %0 }",
)
def add_negative(b: Builder, node: Node) -> Node | None:
    for x, y in (node.inputs, node.inputs[::-1]):
        inner = negated(y)
        if inner is not None:
            return b.subtract(x, inner)
    return None


@SIMPLIFY.rule(
    "multiply(negative(x), y) -> negative(multiply(x, y)), likewise divide",
    on=("multiply", "divide"),
    fidelity=Fidelity.VALUES,
    lowers="operands that are negations",
    before="""(%x: f64[3], %y: f64[3]) {
      %0: f64[3] = negative %x
      %1: f64[3] = multiply %0, %y
      %2: f64[3] = divide %y, %0
      return %1, %2
    }""",
    after="""(%x: f64[3], %y: f64[3]) {
      %0: f64[3] = multiply %x, %y
      %1: f64[3] = negative %0
      %2: f64[3] = divide %y, %x
      %3: f64[3] = negative %2
      return %1, %3
    }""",
)
def negative_outwards(b: Builder, node: Node) -> Node | None:
    """A negation further out meets a sum that takes it in, or another negation."""
    x, y = node.inputs
    inner_x, inner_y = negated(x), negated(y)
    if (inner_x is None and inner_y is None) or not is_real(node):
        return None
    product = b.make(node.op, (inner_x or x, inner_y or y), node.attrs)
    return product if inner_x is not None and inner_y is not None else b.negative(product)


@SIMPLIFY.rule(
    "negative(multiply(x, c)) -> multiply(x, -c), likewise divide; c a constant",
    on="negative",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: f64[3] = multiply %x, %0
      %2: f64[3] = negative %1
      %3: f64[3] = divide %0, %x
      %4: f64[3] = negative %3
      return %2, %4
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(-2.0)}
      %1: f64[3] = multiply %x, %0
      %2: f64[3] = divide %0, %x
      return %1, %2
    }""",
)
def negative_into_constant(b: RuleBuilder, node: Node) -> Node | None:
    product = node.inputs[0]
    if product.op.name not in ("multiply", "divide") or not is_float(product) or b.is_shared(product):
        return None
    for place, factor in enumerate(product.inputs):
        value = scalar_value(factor)
        if value is not None and product.type == node.type and is_float(factor):
            inputs = list(product.inputs)
            inputs[place] = _constant_like(b, factor, -value)
            return b.make(product.op, inputs, product.attrs)
    return None


def _constant_like(b: Builder, node: Node, value: Any) -> Node:
    """A constant of the class or dtype of another constant."""
    if isinstance(node.type, ScalarType):
        return b.constant(node.type.kind(value))
    return b.constant(np.asarray(value, node.dtype))


@SIMPLIFY.rule(
    "divide(x, 2**k) -> multiply(x, 2**-k)",
    on="divide",
    fidelity=Fidelity.VALUES,
    lowers="divisions",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(4.0)}
      %1: f64[3] = divide %x, %0
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(0.25)}
      %1: f64[3] = multiply %x, %0
      return %1
    }""",
)
def divide_power_of_two(b: Builder, node: Node) -> Node | None:
    """Both round x 2**-k once, so they agree to the bit."""
    return _times_reciprocal(b, node, exact=True)


@SIMPLIFY.rule(
    "divide(x, c) -> multiply(x, 1/c); c a constant",
    on="divide",
    fidelity=Fidelity.ROUNDING,
    lowers="divisions",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(640.0)}
      %1: f64[3] = divide %x, %0
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(0.0015625)}
      %1: f64[3] = multiply %x, %0
      return %1
    }""",
)
def divide_constant(b: Builder, node: Node) -> Node | None:
    return _times_reciprocal(b, node, exact=False)


def _times_reciprocal(b: Builder, node: Node, exact: bool) -> Node | None:
    x, y = node.inputs
    value = scalar_value(y)
    if value is None or not (is_float(x) and is_float(y)) or not math.isfinite(value) or not value:
        return None
    if exact and abs(math.frexp(value)[0]) != 0.5:
        return None
    info = np.finfo(y.dtype)
    if not info.smallest_normal <= abs(value) <= 1 / info.smallest_normal:
        return None
    return b.multiply(x, _constant_like(b, y, 1 / value))


@SIMPLIFY.rule(
    "multiply(multiply(x, c), d) -> multiply(x, c * d); c and d constants",
    on="multiply",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(0.5)}
      %1: f64[] = constant {value=f64(3.0)}
      %2: f64[3] = multiply %x, %0
      %3: f64[3] = multiply %2, %1
      return %3
    }""",
    after="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(1.5)}
      %1: f64[3] = multiply %x, %0
      return %1
    }""",
)
def multiply_constants(b: Builder, node: Node) -> Node | None:
    product, factor = node.inputs
    outer = scalar_value(factor)
    if outer is None or product.op.name != "multiply" or not is_float(node):
        return None
    x, inner_factor = product.inputs
    inner = scalar_value(inner_factor)
    if inner is None or factor.type != inner_factor.type:
        return None
    with np.errstate(all="ignore"):
        both = outer * inner
    if not np.finfo(node.dtype).smallest_normal <= abs(both) < math.inf:
        return None
    return b.multiply(x, _constant_like(b, factor, both))


@SIMPLIFY.rule(
    "multiply(c, divide(1, x)) -> divide(c, x), likewise with any value for c",
    on="multiply",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[3], %c: f64[3]) {
      %0: f64[] = constant {value=f64(1.0)}
      %1: f64[3] = divide %0, %x
      %2: f64[3] = multiply %c, %1
      return %2
    }""",
    after="""(%x: f64[3], %c: f64[3]) {
      %0: f64[3] = divide %c, %x
      return %0
    }""",
)
def multiply_reciprocal(b: Builder, node: Node) -> Node | None:
    for x, quotient in (node.inputs, node.inputs[::-1]):
        if quotient.op.name == "divide" and uniform_value(quotient.inputs[0]) == 1 and is_real(x):
            made = b.divide(x, quotient.inputs[1])
            return made if made.type == node.type else None
    return None
