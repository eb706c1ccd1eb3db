"""Rules for powers: the exponents for which NumPy itself takes another function.

`x ** 2` on an array is np.square in NumPy, bit for bit; on a NumPy scalar or under np.power it is not, and a
Python number has Python's own power. There the rules serve the backward part only.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.types import ScalarType
from .match import is_dense, scalar_value
from .rule import SIMPLIFY, Fidelity


def _exponent(node: Node) -> complex | None:
    """The Python number in the exponent of an array's power that has the array's type."""
    x, y = node.inputs
    if not isinstance(y.type, ScalarType) or isinstance(x.type, ScalarType) or x.type != node.type:
        return None
    value = scalar_value(y)
    return value if x.dtype.kind in "fc" and not isinstance(value, bool) else None


@SIMPLIFY.rule(
    "power(x, 2) -> square(x) for an array's own operator",
    on="power",
    lowers="powers",
    before="""(%x: f64[3]) {
      %0: int = constant {value=2}
      %1: f64[3] = power %x, %0 {form='array'}
      return %1
    }""",
    after="(%x: f64[3]) { %0: f64[3] = square %x return %0 }",
)
def power_two(b: Builder, node: Node) -> Node | None:
    """The integer 2: for 2.0 NumPy squares too, but warns of a power."""
    exponent = _exponent(node)
    if node.attrs["form"] != "array" or exponent != 2 or not isinstance(exponent, int):
        return None
    return b.square(node.inputs[0])


@SIMPLIFY.rule(
    "power(x, 0.5) -> sqrt(x) for an array's own operator",
    on="power",
    lowers="powers",
    before="""(%x: f64[3]) {
      %0: float = constant {value=0.5}
      %1: f64[3] = power %x, %0 {form='array'}
      return %1
    }""",
    after="(%x: f64[3]) { %0: f64[3] = sqrt %x return %0 }",
)
def power_half(b: Builder, node: Node) -> Node | None:
    return b.sqrt(node.inputs[0]) if node.attrs["form"] == "array" and _exponent(node) == 0.5 else None


@SIMPLIFY.rule(
    "power(x, 1) -> x for an array's own operator",
    on="power",
    before="""(%x: f64[2,3]) {
      %0: f64[2,3] = tanh %x
      %1: int = constant {value=1}
      %2: f64[2,3] = power %0, %1 {form='array'}
      return %2
    }""",
    after="(%x: f64[2,3]) { %0: f64[2,3] = tanh %x return %0 }",
)
def power_one(b: Builder, node: Node) -> Node | None:
    x = node.inputs[0]
    if node.attrs["form"] != "array" or _exponent(node) != 1:
        return None
    return x if is_dense(x) or node.loc.backward else None


@SIMPLIFY.rule(
    "power(x, 2) -> multiply(x, x), power(x, -1) -> divide(1, x), power(x, 1) -> x in any form",
    on="power",
    fidelity=Fidelity.ROUNDING,
    lowers="powers",
    before="""(%x: float) {
      %0: int = constant {value=2}
      %1: float = power %x, %0 {form='array', result=py.float}
      %2: int = constant {value=-1}
      %3: float = power %x, %2 {form='array', result=py.float}
      return %1, %3
    }""",
    after="""(%x: float) {
      %0: float = multiply %x, %x
      %1: float = constant {value=1.0}
      %2: float = divide %1, %x
      return %0, %2
    }""",
)
def small_power(b: Builder, node: Node) -> Node | None:
    x, y = node.inputs
    exponent = scalar_value(y)
    if exponent is None or x.type != node.type or x.dtype.kind not in "fc":
        return None
    if exponent == 2:
        return b.multiply(x, x)
    if exponent == -1:
        return b.divide(b.scalar(1, x), x)
    return x if exponent == 1 else None
