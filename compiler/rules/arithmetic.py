"""Rules for sums and products: neutral elements, constants, squares.

A rule that keeps every bit holds for -0.0, infinities, NaNs and subnormals too: x + 0.0 is not x, because
-0.0 + 0.0 is 0.0, but x - 0.0 is.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.types import ArrayType
from .match import (
    constant_like,
    is_float,
    is_real,
    is_value,
    is_zero,
    may_stand_for,
    scalar_value,
    size_of,
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
    inverse = reciprocal(b, y, exact) if is_float(x) else None
    return None if inverse is None else b.multiply(x, inverse)


def reciprocal(b: Builder, node: Node, exact: bool) -> Node | None:
    """The reciprocal of a constant; None where it is not a normal number, or wanted exact and is not."""
    value = scalar_value(node)
    if value is None or not is_float(node) or not math.isfinite(value) or not value:
        return None
    if exact and abs(math.frexp(value)[0]) != 0.5:
        return None
    least = np.finfo(node.dtype).smallest_normal
    return constant_like(b, node, 1 / value) if least <= abs(value) <= 1 / least else None


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
    return b.multiply(x, constant_like(b, factor, both))


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


@SIMPLIFY.rule(
    "multiply(x, x) -> square(x); x a real array",
    on="multiply",
    fidelity=Fidelity.VALUES,
    lowers="operands",
    before="(%x: f64[3]) { %0: f64[3] = multiply %x, %x return %0 }",
    after="(%x: f64[3]) { %0: f64[3] = square %x return %0 }",
)
def multiply_itself(b: Builder, node: Node) -> Node | None:
    """The forward part often has the square already."""
    x, y = node.inputs
    return b.square(x) if x is y and isinstance(x.type, ArrayType) and is_float(x) else None


@SIMPLIFY.rule(
    "multiply(broadcast(s), multiply(x, c)) -> multiply(broadcast(multiply(s, c)), x); c a constant",
    on="multiply",
    fidelity=Fidelity.ROUNDING,
    lowers="work",
    before="""(%s: f64[4], %x: f64[4,9]) {
      %0: f64[4,9] = broadcast %s {axes=(0,), shape=(4, 9)}
      %1: f64[] = constant {value=f64(2.0)}
      %2: f64[4,9] = multiply %x, %1
      %3: f64[4,9] = multiply %0, %2
      return %3
    }""",
    after="""(%s: f64[4], %x: f64[4,9]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: f64[4] = multiply %s, %0
      %2: f64[4,9] = broadcast %1 {axes=(0,), shape=(4, 9)}
      %3: f64[4,9] = multiply %2, %x
      return %3
    }""",
)
def constant_to_smaller_factor(b: RuleBuilder, node: Node) -> Node | None:
    for repeated, product in (node.inputs, node.inputs[::-1]):
        if repeated.op.name != "broadcast" or product.op.name != "multiply" or not is_float(node):
            continue
        (small,), (x, factor) = repeated.inputs, product.inputs
        if scalar_value(factor) is None or factor.dtype != small.dtype or x.type != node.type:
            continue
        if size_of(small) < size_of(product) and not b.is_shared(product):
            scaled = b.make(repeated.op, (b.multiply(small, factor),), repeated.attrs)
            return b.multiply(scaled, x)
    return None


@SIMPLIFY.rule(
    "reshape(multiply(x, c)) -> multiply(reshape(x), c), likewise transpose; c a constant",
    on=("reshape", "transpose"),
    fidelity=Fidelity.VALUES,
    lowers="constants below views",
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: f64[3] = multiply %x, %0
      %2: f64[3,1] = reshape %1 {shape=(3, 1)}
      return %2
    }""",
    after="""(%x: f64[3]) {
      %0: f64[3,1] = reshape %x {shape=(3, 1)}
      %1: f64[] = constant {value=f64(2.0)}
      %2: f64[3,1] = multiply %0, %1
      return %2
    }""",
)
def constant_out_of_view(b: RuleBuilder, node: Node) -> Node | None:
    product = node.inputs[0]
    if product.op.name != "multiply" or b.is_shared(product):
        return None
    x, factor = product.inputs
    if scalar_value(factor) is None or x.type != product.type:
        return None
    return b.multiply(b.make(node.op, (x,), node.attrs), factor)


@SIMPLIFY.rule(
    "divide(x, multiply(y, c)) -> multiply(divide(x, y), 1/c); c a constant",
    on="divide",
    fidelity=Fidelity.ROUNDING,
    lowers="constants in divisors",
    before="""(%x: f64[3], %y: f64[3]) {
      %0: f64[] = constant {value=f64(2.0)}
      %1: f64[3] = multiply %y, %0
      %2: f64[3] = divide %x, %1
      return %2
    }""",
    after="""(%x: f64[3], %y: f64[3]) {
      %0: f64[3] = divide %x, %y
      %1: f64[] = constant {value=f64(0.5)}
      %2: f64[3] = multiply %0, %1
      return %2
    }""",
)
def constant_out_of_divisor(b: RuleBuilder, node: Node) -> Node | None:
    """Behind the division the constant may meet another one."""
    x, divisor = node.inputs
    if divisor.op.name != "multiply" or size_of(divisor) < size_of(node) or b.is_shared(divisor):
        return None
    y, factor = divisor.inputs
    if scalar_value(factor) is None or not is_float(factor) or not is_float(y) or y.type != divisor.type:
        return None
    inverse = reciprocal(b, factor, exact=False)
    return None if inverse is None else b.multiply(b.divide(x, y), inverse)
