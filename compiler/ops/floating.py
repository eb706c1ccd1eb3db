"""Rounding, the parts of a floating-point number, angle units, and functions of integers.

What jumps is constant between its jumps: its cotangent is a symbolic zero. What only moves the exponent
(ldexp, frexp) or the last bit (nextafter) is linear between the jumps and pulls back as such.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Cotangents, Flow, Sample
from .arithmetic import no_cotangent
from .base import elementwise, normal, normals, values, where_zero

_real = (
    Sample("vector", normal(5)),
    Sample("float32", normal(2, 2, dtype="f4")),
    Sample("empty", normal(0)),
    Sample("complex", values([1j]), breaks="C2"),
)
for _name in ("floor", "ceil", "trunc"):
    elementwise(
        _name,
        no_cotangent,
        doc=f"NumPy's {_name}",
        samples=(*_real, Sample("integers", values([3, -2]))),
        flow=Flow.BOUNDED,
    )
elementwise(
    "rint", no_cotangent, doc="the nearest integer, ties to even", samples=_real[:3], flow=Flow.BOUNDED
)
elementwise("spacing", no_cotangent, doc="the distance to the next number", samples=_real, flow=Flow.BOUNDED)


def nextafter_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x and its neighbour differ by a constant within a binade."""
    return ct, None


def copysign_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """|x| times the sign of y: sign(x) times that sign, 0 at x = 0 as for |x|."""
    x, y = node.inputs
    return b.multiply(ct, b.multiply(b.sign(x), b.copysign(b.scalar(1, x), y))), None


def heaviside_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The middle value counts where x is 0; x itself only makes it jump."""
    x, _ = node.inputs
    return None, where_zero(b, b.equal(x, b.scalar(0, x)), ct)


_pair = (
    Sample("vectors", normals((5,), (5,))),
    Sample("scalar_operand", normals((2, 3), ())),
    Sample("float32", normals((4,), (4,), dtype="f4")),
    Sample("empty", normals((0,), (0,))),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
)
elementwise(
    "nextafter",
    nextafter_vjp,
    doc="the number after x in the direction of y",
    samples=_pair,
    flow=Flow.BOUNDED,
)
elementwise("copysign", copysign_vjp, doc="|x| with the sign of y", samples=_pair)
elementwise(
    "heaviside",
    heaviside_vjp,
    doc="0 below 0, 1 above, y where x is 0",
    samples=(*_pair, Sample("zero", values([-1.0, 0.0, 2.0], [0.5, 0.25, 0.5]), differentiable=False)),
    flow=Flow.SELECTS,
)


def ldexp_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return b.ldexp(ct, node.inputs[1]), None


def frexp_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """The mantissa is x over a power of two that is constant within a binade."""
    ct = cts[0]
    return (None if ct is None else b.ldexp(ct, b.negative(b.get(node, index=1))),)


def modf_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """The fractional part moves with x, the whole part jumps."""
    return (cts[0],)


elementwise(
    "ldexp",
    ldexp_vjp,
    doc="x times two to the power of an integer",
    samples=(
        Sample("vectors", lambda rng: (rng.normal(size=3), np.array([1, -2, 30]))),
        Sample("scalar_exponent", lambda rng: (rng.normal(size=(2, 2)), np.array(3))),
        Sample("float32", lambda rng: (rng.normal(size=3).astype("f4"), np.array([1, -2, 30], "i4"))),
        Sample("float_exponent", normals((3,), (3,)), breaks="C2"),
        Sample("shapes_differ", lambda rng: (rng.normal(size=3), np.array([1, 2])), breaks="C1"),
    ),
)
elementwise(
    "frexp",
    frexp_vjp,  # type: ignore[arg-type]
    doc="mantissa in [1/2, 1) and binary exponent, as a tuple",
    samples=(Sample("within_binades", values([0.7, -1.4, 3.1])), *_real[1:]),
)
elementwise(
    "modf",
    modf_vjp,  # type: ignore[arg-type]
    doc="fractional and whole part, both with the sign of x, as a tuple",
    samples=_real,
    flow=Flow.BOUNDED,
)


def to_radians_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.deg2rad(ct),)


def to_degrees_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.rad2deg(ct),)


for _name in ("deg2rad", "radians"):
    elementwise(_name, to_radians_vjp, doc="degrees in radians", samples=_real, flow=Flow.BOUNDED)
for _name in ("rad2deg", "degrees"):
    elementwise(_name, to_degrees_vjp, doc="radians in degrees", samples=_real, flow=Flow.BOUNDED)

_integers = (
    Sample("integers", values([12, -18, 0], [8, 27, 5])),
    Sample("scalar_operand", values([12, -18, 0], np.array(4))),
    Sample("empty", lambda rng: (np.zeros(0, int), np.zeros(0, int))),
    Sample("shapes_differ", values([1, 2], [1, 2, 3]), breaks="C1"),
    Sample("floats", normals((3,), (3,)), breaks="C2"),
)
elementwise("gcd", no_cotangent, doc="the greatest common divisor", samples=_integers, flow=Flow.BOUNDED)
elementwise("lcm", no_cotangent, doc="the least common multiple", samples=_integers, flow=Flow.BOUNDED)
elementwise(
    "bitwise_count",
    no_cotangent,
    doc="how many bits of |x| are set",
    samples=(Sample("integers", values([7, -8, 0])), Sample("floats", normal(3), breaks="C2")),
    flow=Flow.BOUNDED,
)
