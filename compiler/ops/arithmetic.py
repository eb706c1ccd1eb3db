"""Arithmetic: the operators of Python and what belongs to them; powers and roots stand in `power.py`.

Division keeps NumPy's meaning to the bit. A remainder's derivatives are those between its jumps, where its
quotient is constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs, Cotangents, Flow, Sample
from ..ir.types import ScalarType
from .base import complexes, conj, elementwise, is_complex, normal, normals, python_result, values

_pair = (
    Sample("matrix", normals((3, 4), (3, 4))),
    Sample("scalar_operand", normals((3,), ())),
    Sample("empty", normals((0, 2), (0, 2))),
    Sample("float32", normals((5,), (5,), dtype="f4")),
    complexes(3, count=2),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
)
_python_pair = Sample("python_floats", values(1.5, -2.25))
_single = (
    Sample("vector", normal(4)),
    Sample("float32", normal(2, 2, dtype="f4")),
    complexes(3),
    Sample("empty", normal(0)),
    Sample("python_float", values(1.5)),
    Sample("booleans", values([True]), breaks="C2"),
)


def add_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return ct, ct


def subtract_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return ct, b.negative(ct)


def multiply_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, y = node.inputs
    return b.multiply(ct, conj(b, y)), b.multiply(ct, conj(b, x))


def divide_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """d(x/y) = dx/y - (x/y) dy/y."""
    _, y = node.inputs
    ct_x = b.divide(ct, conj(b, y))
    return ct_x, b.negative(b.multiply(ct_x, conj(b, node)))


def negative_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.negative(ct),)


def positive_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (ct,)


def divide_type(kinds: Sequence[type], attrs: Attrs) -> type:
    return complex if complex in kinds else float


elementwise(
    "add", add_vjp, doc="x + y", samples=(*_pair, _python_pair), python=operator.add, flow=Flow.BOUNDED
)
elementwise(
    "subtract",
    subtract_vjp,
    doc="x - y",
    samples=(*_pair, _python_pair),
    python=operator.sub,
    flow=Flow.BOUNDED,
)
elementwise("multiply", multiply_vjp, doc="x * y", samples=(*_pair, _python_pair), python=operator.mul)
elementwise(
    "divide",
    divide_vjp,
    doc="x / y",
    samples=(*_pair, _python_pair),
    python=operator.truediv,
    python_type=divide_type,
)
elementwise(
    "negative",
    negative_vjp,
    doc="-x",
    samples=_single,
    python=operator.neg,
    flow=Flow.BOUNDED,
)
elementwise(
    "positive",
    positive_vjp,
    doc="+x",
    samples=_single,
    python=operator.pos,
    flow=Flow.BOUNDED,
)


def no_cotangent(b: Builder, node: Node, ct: Node) -> Cotangents:
    return tuple(None for _ in node.inputs)


def remainder_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x - y floor(x / y): 1 for x, -floor(x / y) for y."""
    x, y = node.inputs
    return ct, b.negative(b.multiply(ct, b.floor_divide(x, y)))


def fmod_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x - y q with a whole q, read off exactly: x / y alone may round past it."""
    x, y = node.inputs
    quotient = b.rint(b.divide(b.subtract(x, node), y))
    return ct, b.negative(b.multiply(ct, quotient))


def divmod_vjp(b: Builder, node: Node, cts: Sequence[Node | None]) -> Cotangents:
    """The quotient is constant between its jumps; the remainder is x - y times it."""
    ct = cts[1]
    if ct is None:
        return None, None
    return ct, b.negative(b.multiply(ct, b.get(node, index=0)))


_ratios: Callable[[np.random.Generator], tuple[Any, ...]] = lambda rng: (  # noqa: E731
    rng.uniform(-4, 4, 5),
    rng.uniform(0.6, 0.9, 5),
)
_ratio = (
    Sample("vectors", _ratios),
    Sample("float32", lambda rng: tuple(a.astype("f4") for a in _ratios(rng))),
    Sample("scalar_operand", lambda rng: (rng.uniform(-4, 4, (2, 3)), np.array(0.7))),
    Sample("integers", values([7, -7, 5], [2, 2, -3])),
    Sample("empty", normals((0,), (0,))),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("complex", complexes(3, count=2).inputs, breaks="C2"),
)
elementwise(
    "floor_divide",
    no_cotangent,
    doc="the largest integer not above x / y",
    samples=(*_ratio, _python_pair),
    python=operator.floordiv,
    flow=Flow.BOUNDED,
)
elementwise(
    "remainder",
    remainder_vjp,
    doc="x - y floor(x / y), the sign of y",
    samples=(*_ratio, _python_pair),
    python=operator.mod,
)
elementwise("fmod", fmod_vjp, doc="x - y trunc(x / y), the sign of x", samples=_ratio)
elementwise(
    "divmod",
    divmod_vjp,  # type: ignore[arg-type]
    doc="floor_divide and remainder, as a tuple",
    samples=_ratio,
)


def absolute_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """sign(x), 0 at 0 (least norm); for complex x the direction x / |x|, 0 at 0."""
    (x,) = node.inputs
    if isinstance(x.type, ScalarType):
        x, ct = b.cast(x, x.dtype), b.cast(ct, ct.dtype)
    return (b.multiply(b.cast(ct, x.dtype), b.sign(x)),)


def conjugate_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (conj(b, ct),)


def sign_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """0 for real x; z / |z| turns: ds = i s Im(conj(s) dz) / |z|."""
    (x,) = node.inputs
    if not is_complex(x):
        return (None,)
    turned = b.imag(b.multiply(conj(b, node), ct))
    size = b.absolute(x)
    safe = b.where(b.equal(size, b.scalar(0, size)), b.scalar(1, size), size)
    return (b.multiply(b.multiply(b.scalar(1j, x), node), b.cast(b.divide(turned, safe), x.dtype)),)


_real = (
    Sample("vector", normal(5)),
    Sample("float32", normal(2, 2, dtype="f4")),
    Sample("integers", values([3, 0, -2])),
    Sample("empty", normal(0)),
)
_kink = Sample("zero", values([0.0, -0.0]), differentiable=False)
_complex = complexes(4)
elementwise(
    "absolute",
    absolute_vjp,
    doc="|x|",
    samples=(
        *_real,
        _kink,
        _complex,
        Sample("python_float", values(-1.5)),
        Sample("python_complex", values(3 - 4j)),
    ),
    python=abs,
    python_type=lambda kinds, attrs: float if complex in kinds else python_result(kinds, attrs),
)
elementwise(
    "fabs",
    absolute_vjp,
    doc="|x| of real x, as floating-point numbers",
    samples=(*_real[:2], _kink, Sample("complex", _complex.inputs, breaks="C2")),
)
elementwise("sign", sign_vjp, doc="-1, 0 or 1; z / |z| for complex z", samples=(*_real, _complex))
elementwise(
    "conjugate",
    conjugate_vjp,
    doc="the complex conjugate",
    samples=(*_real, _complex, Sample("python_complex", values(3 - 4j))),
    python=lambda x: x.conjugate(),
    flow=Flow.BOUNDED,
)
