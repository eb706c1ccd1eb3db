"""Rules that compute before repeating: an operand that is one number everywhere is that number."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import TypeRuleError
from ..ir.types import ArrayType
from .match import size_of
from .rule import ELEMENTWISE, SIMPLIFY, Fidelity

# NumPy chooses how to compute a power by the value of a 0-d exponent, and then rounds otherwise.
SEES_SCALARS = ("power", "float_power")


def _may_change_shape(node: Node) -> bool:
    return node.op.name not in SEES_SCALARS and isinstance(node.type, ArrayType) and bool(node.shape)


def _made(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    """The node's op on operands of another shape; None where the op wants them all alike."""
    try:
        return b.make(node.op, inputs, node.attrs)
    except TypeRuleError:
        return None


def _is_repeated_scalar(node: Node) -> bool:
    return node.op.name == "broadcast" and not node.inputs[0].shape


@SIMPLIFY.rule(
    "op(x, broadcast(0-d)) -> op(x, 0-d); op elementwise",
    on=ELEMENTWISE,
    before="""(%x: f64[2,3], %y: f64[]) {
      %0: f64[2,3] = broadcast %y {axes=(), shape=(2, 3)}
      %1: f64[2,3] = multiply %x, %0
      return %1
    }""",
    after="""(%x: f64[2,3], %y: f64[]) {
      %0: f64[2,3] = multiply %x, %y
      return %0
    }""",
)
def scalar_operand(b: Builder, node: Node) -> Node | None:
    """The one exception to "primitives do not broadcast": the other operands show the shape."""
    inputs = node.inputs
    if len(inputs) < 2 or not _may_change_shape(node):
        return None
    if not any(map(_is_repeated_scalar, inputs)):
        return None
    made = tuple(operand.inputs[0] if _is_repeated_scalar(operand) else operand for operand in inputs)
    if all(not operand.shape for operand in made):
        return None
    return _made(b, node, made)


@SIMPLIFY.rule(
    "op(broadcast(x), broadcast(y)) -> broadcast(op(x, y)); op elementwise, the same axes",
    on=ELEMENTWISE,
    fidelity=Fidelity.ROUNDING,
    lowers="work",
    before="""(%x: f64[], %y: f64[3]) {
      %0: f64[2,3] = broadcast %x {axes=(), shape=(2, 3)}
      %1: f64[2,3] = exp %0
      %2: f64[2,3] = broadcast %y {axes=(1,), shape=(2, 3)}
      %3: f64[2,3] = add %2, %x
      return %1, %3
    }""",
    after="""(%x: f64[], %y: f64[3]) {
      %0: f64[] = exp %x
      %1: f64[2,3] = broadcast %0 {axes=(), shape=(2, 3)}
      %2: f64[3] = add %y, %x
      %3: f64[2,3] = broadcast %2 {axes=(1,), shape=(2, 3)}
      return %1, %3
    }""",
)
def compute_before_broadcast(b: Builder, node: Node) -> Node | None:
    """The same bits but for a few functions that take another path for one element: fmax at ties, sinc."""
    if not _may_change_shape(node):
        return None
    axes: tuple[int, ...] = ()
    for operand in node.inputs:
        if operand.op.name == "broadcast" and operand.inputs[0].shape:
            mine = operand.attrs["axes"]
            if axes and axes != mine:
                return None
            axes = mine
        elif operand.shape and operand.op.name != "broadcast":
            return None
    inner = tuple(operand.inputs[0] if operand.op.name == "broadcast" else operand for operand in node.inputs)
    if max(map(size_of, inner)) >= size_of(node):
        return None
    made = _made(b, node, inner)
    return None if made is None else b.broadcast(made, axes=axes, shape=node.shape)
