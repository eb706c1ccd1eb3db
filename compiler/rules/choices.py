"""Rules for where and for logic: choices that are made already."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from .match import free_of_layout, may_stand_for, uniform_value
from .rule import SIMPLIFY, Fidelity


@SIMPLIFY.rule(
    "where(c, where(c, x, y), z) -> where(c, x, z), where(c, x, where(c, y, z)) -> where(c, x, z)",
    on="where",
    fidelity=Fidelity.VALUES,
    before="""(%c: bool[3], %x: f64[3], %y: f64[3], %z: f64[3]) {
      %0: f64[3] = where %c, %x, %y
      %1: f64[3] = where %c, %0, %z
      %2: f64[3] = where %c, %z, %0
      return %1, %2
    }""",
    after="""(%c: bool[3], %x: f64[3], %y: f64[3], %z: f64[3]) {
      %0: f64[3] = where %c, %x, %z
      %1: f64[3] = where %c, %z, %y
      return %0, %1
    }""",
)
def where_where(b: Builder, node: Node) -> Node | None:
    condition, x, y = node.inputs
    taken = x.inputs[1] if x.op.name == "where" and x.inputs[0] is condition else x
    other = y.inputs[2] if y.op.name == "where" and y.inputs[0] is condition else y
    if taken is x and other is y:
        return None
    made = b.where(condition, taken, other)
    return made if made.type == node.type else None


@SIMPLIFY.rule(
    "where(c, x, x) -> x",
    on="where",
    fidelity=Fidelity.VALUES,
    before="(%c: bool[3], %x: f64[3]) { %0: f64[3] = where %c, %x, %x return %0 }",
    after="(%c: bool[3], %x: f64[3]) { return %x }",
)
def where_same(b: Builder, node: Node) -> Node | None:
    _, x, y = node.inputs
    return x if x is y and x.type == node.type else None


@SIMPLIFY.rule(
    "where(True, x, y) -> x, where(False, x, y) -> y",
    on="where",
    fidelity=Fidelity.VALUES,
    before="""(%x: f64[3], %y: f64[3]) {
      %0: bool[] = constant {value=bool(True)}
      %1: f64[3] = where %0, %x, %y
      return %1
    }""",
    after="(%x: f64[3], %y: f64[3]) { return %x }",
)
def where_constant(b: Builder, node: Node) -> Node | None:
    condition, x, y = node.inputs
    value = uniform_value(condition)
    if value is None:
        return None
    chosen = x if value else y
    return chosen if chosen.shape == node.shape else b.broadcast_to(chosen, node.shape)


@SIMPLIFY.rule(
    "where(logical_not(c), x, y) -> where(c, y, x)",
    on="where",
    before="""(%x: f64[2,3], %y: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      %1: bool[2,3] = logical_not %0
      %2: f64[2,3] = where %1, %x, %y
      return %2
    }""",
    after="""(%x: f64[2,3], %y: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      %1: f64[2,3] = where %0, %y, %x
      return %1
    }""",
)
def where_not(b: Builder, node: Node) -> Node | None:
    condition, x, y = node.inputs
    if condition.op.name != "logical_not":
        return None
    (inner,) = condition.inputs
    return b.where(inner, y, x) if inner.dtype == bool and free_of_layout(node, inner) else None


@SIMPLIFY.rule(
    "logical_not(logical_not(x)) -> x; x boolean",
    on="logical_not",
    before="""(%x: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      %1: bool[2,3] = logical_not %0
      %2: bool[2,3] = logical_not %1
      return %2
    }""",
    after="""(%x: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      return %0
    }""",
)
def not_not(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    return inner.inputs[0] if inner.op is node.op and may_stand_for(inner.inputs[0], node) else None


@SIMPLIFY.rule(
    "logical_not(equal(x, y)) -> not_equal(x, y), and the reverse",
    on="logical_not",
    before="""(%x: f64[2,3], %y: f64[2,3]) {
      %0: bool[2,3] = equal %x, %y
      %1: bool[2,3] = logical_not %0
      return %1
    }""",
    after="""(%x: f64[2,3], %y: f64[2,3]) {
      %0: bool[2,3] = not_equal %x, %y
      return %0
    }""",
)
def not_equal_not(b: Builder, node: Node) -> Node | None:
    """The other comparisons have no such partner: both less and greater_equal are False for NaN."""
    inner = node.inputs[0]
    if inner.op.name == "equal":
        return b.not_equal(*inner.inputs)
    return b.equal(*inner.inputs) if inner.op.name == "not_equal" else None


@SIMPLIFY.rule(
    "logical_and(x, x) -> x, logical_or(x, x) -> x; x boolean",
    on=("logical_and", "logical_or"),
    before="""(%x: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      %1: bool[2,3] = logical_and %0, %0
      return %1
    }""",
    after="""(%x: f64[2,3]) {
      %0: bool[2,3] = isnan %x
      return %0
    }""",
)
def twice_the_same(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    return x if x is y and may_stand_for(x, node) else None


@SIMPLIFY.rule(
    "logical_and(x, True) -> x, logical_or(x, False) -> x, and(x, False) -> False, or(x, True) -> True",
    on=("logical_and", "logical_or"),
    fidelity=Fidelity.VALUES,
    before="""(%x: bool[3]) {
      %0: bool[] = constant {value=bool(True)}
      %1: bool[3] = logical_and %x, %0
      %2: bool[3] = logical_or %x, %0
      return %1, %2
    }""",
    after="""(%x: bool[3]) {
      %0: bool[] = constant {value=bool(True)}
      %1: bool[3] = broadcast %0 {axes=(), shape=(3,)}
      return %x, %1
    }""",
)
def logic_with_constant(b: Builder, node: Node) -> Node | None:
    for x, y in (node.inputs, node.inputs[::-1]):
        value = uniform_value(y)
        if value is None or x.dtype != bool or y.dtype != bool:
            continue
        chosen = x if bool(value) == (node.op.name == "logical_and") else y
        return chosen if chosen.shape == node.shape else b.broadcast_to(chosen, node.shape)
    return None
