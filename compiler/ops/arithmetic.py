"""Arithmetic: the operators of Python and what belongs to them.

Division and powers keep NumPy's meaning to the bit. `power` takes a genuine Python number as exponent,
because NumPy chooses its path by the exponent's value (`x ** 2` multiplies).
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs, Cotangents, Flow, Kind, NotDifferentiable, OpDef, Sample, register
from ..ir.types import ScalarType, Type, array_of, array_type, scalar_type
from .base import (
    C_DTYPES,
    C_SHAPES,
    common_shape,
    conj,
    elementwise,
    is_complex,
    is_inexact,
    normal,
    normals,
    python_result,
    resolved,
    uniforms,
    values,
    where_zero,
)

STEP = NotDifferentiable("it is constant between its jumps")

_pair = (
    Sample("matrix", normals((3, 4), (3, 4))),
    Sample("scalar_operand", normals((3,), ())),
    Sample("empty", normals((0, 2), (0, 2))),
    Sample("float32", normals((5,), (5,), dtype="f4")),
    Sample("complex", lambda rng: tuple(rng.normal(size=3) + 1j * rng.normal(size=3) for _ in "ab")),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
)
_python_pair = Sample("python_floats", values(1.5, -2.25))


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
    samples=(Sample("vector", normal(4)), Sample("python_float", values(1.5))),
    python=operator.neg,
    flow=Flow.BOUNDED,
)
elementwise(
    "positive",
    positive_vjp,
    doc="+x",
    samples=(Sample("vector", normal(4)), Sample("python_float", values(1.5))),
    python=operator.pos,
    flow=Flow.BOUNDED,
)


def floor_divide_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return None, None


def remainder_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x - y floor(x / y): 1 for x, -floor(x / y) for y."""
    x, y = node.inputs
    return ct, b.negative(b.multiply(ct, b.floor_divide(x, y)))


def fmod_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x - y trunc(x / y)."""
    x, y = node.inputs
    return ct, b.negative(b.multiply(ct, b.trunc(b.divide(x, y))))


_ratio = Sample("vectors", lambda rng: (rng.uniform(-4, 4, 5), rng.uniform(0.6, 0.9, 5)))
_integers = Sample("integers", values(np.array([7, -7, 5]), np.array([2, 2, -3])))
elementwise(
    "floor_divide",
    floor_divide_vjp,
    doc="the largest integer not above x / y",
    samples=(_ratio, _integers, _python_pair),
    python=operator.floordiv,
)
elementwise(
    "remainder",
    remainder_vjp,
    doc="x - y floor(x / y), the sign of y",
    samples=(_ratio, _integers, _python_pair),
    python=operator.mod,
)
elementwise("fmod", fmod_vjp, doc="x - y trunc(x / y), the sign of x", samples=(_ratio, _integers))


def absolute_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """sign(x), 0 at 0; for complex x the direction x / |x|."""
    (x,) = node.inputs
    if not is_complex(x):
        sign = b.sign(x) if not isinstance(x.type, ScalarType) else b.item(b.sign(b.cast(x, x.dtype)))
        return (b.multiply(ct, sign),)
    return (b.multiply(b.cast(ct, x.dtype), b.sign(x)),)


def conjugate_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (conj(b, ct),)


def no_cotangent(b: Builder, node: Node, ct: Node) -> Cotangents:
    return tuple(None for _ in node.inputs)


def sign_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """0 for real x; z / |z| turns: d = i Im(conj(s) dz) s / |z|."""
    (x,) = node.inputs
    if not is_complex(x):
        return (None,)
    turned = b.imag(b.multiply(conj(b, node), ct))
    size = b.absolute(x)
    safe = b.where(b.equal(size, b.scalar(0, size)), b.scalar(1, size), size)
    return (b.multiply(b.multiply(b.scalar(1j, x), node), b.cast(b.divide(turned, safe), x.dtype)),)


_real = (Sample("vector", normal(5)), Sample("float32", normal(2, 2, dtype="f4")))
_complex = Sample("complex", lambda rng: (rng.normal(size=4) + 1j * rng.normal(size=4),))
elementwise(
    "absolute",
    absolute_vjp,
    doc="|x|",
    samples=(*_real, _complex, Sample("python_float", values(-1.5))),
    python=abs,
    python_type=lambda kinds, attrs: float if complex in kinds else python_result(kinds, attrs),
    flow=Flow.BOUNDED,
)
elementwise("sign", sign_vjp, doc="-1, 0 or 1; z / |z| for complex z", samples=(*_real, _complex))
elementwise("conjugate", conjugate_vjp, doc="the complex conjugate", samples=(_complex,), flow=Flow.BOUNDED)
for _name in ("floor", "ceil", "trunc", "rint"):
    elementwise(_name, no_cotangent, doc=f"NumPy's {_name}", samples=_real, flow=Flow.BOUNDED)


def square_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, b.multiply(b.scalar(2, x), conj(b, x))),)


def reciprocal_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """-1/x^2, through the result."""
    return (b.negative(b.multiply(ct, conj(b, b.multiply(node, node)))),)


def sqrt_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.divide(ct, b.multiply(b.scalar(2, node), conj(b, node))),)


def cbrt_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.divide(ct, b.multiply(b.scalar(3, node), b.multiply(node, node))),)


elementwise("square", square_vjp, doc="x * x", samples=(*_real, _complex))
elementwise("reciprocal", reciprocal_vjp, doc="1 / x", samples=(*_real, _complex))
elementwise(
    "sqrt", sqrt_vjp, doc="the square root", samples=(Sample("vector", uniforms(0.5, 4, (5,))), _complex)
)
elementwise("cbrt", cbrt_vjp, doc="the cube root", samples=(Sample("vector", uniforms(0.5, 4, (5,))),))


def power_value(x: Any, y: Any, *, form: str, result: type | None = None) -> Any:
    """The reference: the operator `**` (on an array or a NumPy scalar) or the ufunc `np.power`."""
    if form == "ufunc":
        return np.power(x, y)
    if form == "scalar":
        return np.asarray(x)[()] ** y
    return np.asarray(x) ** y


def power_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, y = (array_of(t) for t in types)
    if isinstance(x, ScalarType) and isinstance(y, ScalarType):
        return scalar_type(python_result([x.kind, y.kind], attrs))
    shape = common_shape("power", [x, y])
    if isinstance(y, ScalarType):
        return array_type(shape, resolved(np.power, (x.dtype, y.kind))[-1])
    dtypes = resolved(np.power, (x.dtype, y.dtype))
    if dtypes[:2] != (x.dtype, y.dtype):
        power.fail("C2", f"({x}, {y}) would be computed in {dtypes[:2]}")
    return array_type(shape, dtypes[2])


def power_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """y x^(y-1), 0 where y is 0; and x^y log x, 0 where x is 0."""
    x, y = node.inputs
    return _base_ct(b, node, x, y, ct), _exponent_ct(b, node, x, y, ct)


def _base_ct(b: Builder, node: Node, x: Node, y: Node, ct: Node) -> Node:
    if y.op.name == "constant":
        literal = y.attrs["value"].value
        if np.ndim(literal) == 0 and not isinstance(literal, complex) and literal == 2:
            return b.multiply(ct, b.multiply(b.scalar(2, x), conj(b, x)))
        if np.ndim(literal) == 0 and literal == 1:
            return ct
        if np.ndim(literal) == 0 and literal == 0:
            return b.zeros(ct.type)
    one_less = b.subtract(y, b.scalar(1, y))
    coefficient = b.power(x, one_less, **node.attrs)
    if not isinstance(x.type, ScalarType):
        factor = b.cast(y, x.dtype)
        is_zero = b.equal(y, b.scalar(0, y))
        if isinstance(is_zero.type, ScalarType):
            is_zero = b.cast(is_zero, bool)
        scaled = where_zero(
            b, b.broadcast_to(b.logical_not(is_zero), node.shape), b.multiply(coefficient, factor)
        )
        return b.multiply(ct, conj(b, scaled))
    return b.multiply(ct, b.multiply(coefficient, y))


def _exponent_ct(b: Builder, node: Node, x: Node, y: Node, ct: Node) -> Node | None:
    if not is_inexact(y.type):
        return None
    array = b.cast(x, node.dtype)
    zero = b.equal(array, b.scalar(0, array))
    log = b.log(b.where(zero, b.scalar(1, array), array))
    value = b.cast(node, node.dtype)
    result = b.multiply(b.cast(ct, ct.dtype), conj(b, b.multiply(value, log)))
    if isinstance(y.type, ScalarType):
        total = (
            b.sum(result, axes=tuple(range(len(result.shape))), dtype=result.dtype)
            if result.shape
            else result
        )
        return b.item(total)
    return result


power = register(
    OpDef(
        name="power",
        doc="x ** y; `form` says whether NumPy's operator on arrays, on scalars, or np.power is meant",
        kind=Kind.ELEMENTWISE,
        type_rule=power_type,
        numpy=power_value,
        vjp=power_vjp,
        constraints=(C_SHAPES, C_DTYPES),
        samples=(
            Sample("vectors", uniforms(0.5, 2, (4,), (4,)), {"form": "ufunc"}),
            Sample("python_exponent", lambda rng: (rng.uniform(0.5, 2, 4), 3.0), {"form": "array"}),
            Sample("square", lambda rng: (rng.normal(size=4), 2), {"form": "array"}),
            Sample("scalar", lambda rng: (rng.uniform(0.5, 2), 1.7), {"form": "scalar"}),
            Sample("python", values(1.5, 2.5), {"form": "array"}),
            Sample("shapes_differ", normals((3,), (4,)), {"form": "ufunc"}, breaks="C1"),
        ),
        python=lambda x, y, **attrs: x**y,
        flow=Flow.SCALES,
    )
)
