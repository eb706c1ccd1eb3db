"""Rules for signs. A negation flips a bit and rounds nothing, so it may move past products, not past sums.

It moves outwards, towards the results: there it meets a sum that takes it in, a constant, or another one.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from .match import constant_like, is_float, is_real, may_stand_for, scalar_value, size_of
from .rule import SIMPLIFY, Fidelity, RuleBuilder


def negated(node: Node) -> Node | None:
    """What a negation negates."""
    return node.inputs[0] if node.op.name == "negative" else None


def without_sign(b: Builder, node: Node) -> Node | None:
    """What a negation, repeated or not, negates."""
    if node.op.name == "broadcast":
        inner = negated(node.inputs[0])
        return None if inner is None else b.make(node.op, (inner,), node.attrs)
    return negated(node)


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
    inner = without_sign(b, y)
    return b.add(x, inner) if inner is not None else None


@SIMPLIFY.rule(
    "add(x, negative(y)) -> subtract(x, y)",
    on="add",
    fidelity=Fidelity.VALUES,
    before="""(%x: f64[2,3], %y: f64[3]) {
      %0: f64[3] = negative %y
      %1: f64[2,3] = broadcast %0 {axes=(1,), shape=(2, 3)}
      %2: f64[2,3] = add %1, %x
      return %2
    }""",
    after="""(%x: f64[2,3], %y: f64[3]) {
      %0: f64[2,3] = broadcast %y {axes=(1,), shape=(2, 3)}
      %1: f64[2,3] = subtract %x, %0
      return %1
    }""",
)
def add_negative(b: Builder, node: Node) -> Node | None:
    for x, y in (node.inputs, node.inputs[::-1]):
        inner = without_sign(b, y)
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
      %2: f64[3] = negative %y
      %3: f64[3] = divide %x, %2
      return %1, %3
    }""",
    after="""(%x: f64[3], %y: f64[3]) {
      %0: f64[3] = multiply %x, %y
      %1: f64[3] = negative %0
      %2: f64[3] = divide %x, %y
      %3: f64[3] = negative %2
      return %1, %3
    }""",
)
def negative_outwards(b: RuleBuilder, node: Node) -> Node | None:
    """A negation further out meets a sum that takes it in, or another negation."""
    x, y = node.inputs
    inner_x, inner_y = negated(x), negated(y)
    if (inner_x is None and inner_y is None) or not is_real(node):
        return None
    product = (inner_x or x, inner_y or y)
    if inner_x is not None and inner_y is not None:
        return b.make(node.op, product, node.attrs)
    negation = y if inner_x is None else x
    if size_of(negation) < size_of(node) or b.is_shared(negation):
        return None
    return b.negative(b.make(node.op, product, node.attrs))


@SIMPLIFY.rule(
    "reshape(negative(x)) -> negative(reshape(x)), likewise transpose",
    on=("reshape", "transpose"),
    fidelity=Fidelity.VALUES,
    lowers="operands that are negations",
    before="""(%x: f64[3]) {
      %0: f64[3] = negative %x
      %1: f64[3,1] = reshape %0 {shape=(3, 1)}
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[3,1] = reshape %x {shape=(3, 1)}
      %1: f64[3,1] = negative %0
      return %1
    }""",
)
def negative_out_of_view(b: RuleBuilder, node: Node) -> Node | None:
    inner = negated(node.inputs[0])
    if inner is None or b.is_shared(node.inputs[0]):
        return None
    return b.negative(b.make(node.op, (inner,), node.attrs))


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
            inputs[place] = constant_like(b, factor, -value)
            return b.make(product.op, inputs, product.attrs)
    return None
