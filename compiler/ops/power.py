"""Powers and roots: power, float_power, square, reciprocal, sqrt, cbrt, hypot.

`power` takes a genuine Python number as exponent, because NumPy chooses its path by the exponent's value
(`x ** 2` multiplies). Derivatives are exact where they exist: at base 0, at exponent 0 and 1. The vjps
never compute with Python's own `**`, which raises where NumPy gives inf.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs, Cotangents, Flow, Kind, OpDef, Sample, register
from ..ir.types import ScalarType, Type, array_of, array_type, scalar_type
from .base import (
    C_DTYPES,
    C_SHAPES,
    common_shape,
    complexes,
    conj,
    elementwise,
    is_inexact,
    normal,
    normals,
    python_result,
    resolved,
    uniforms,
    values,
    where_zero,
)


def square_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, b.multiply(b.scalar(2, x), conj(b, x))),)


def reciprocal_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """-1/x^2, through the result, one factor at a time so that the square cannot overflow."""
    return (b.negative(b.multiply(b.multiply(ct, conj(b, node)), conj(b, node))),)


def sqrt_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.divide(ct, b.multiply(b.scalar(2, node), conj(b, node))),)


def cbrt_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.divide(ct, b.multiply(b.scalar(3, node), b.multiply(node, node))),)


def hypot_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x / h and y / h, neither of which can overflow; both 0 at the origin (least norm)."""
    zero = b.equal(node, b.scalar(0, node))
    size = b.where(zero, b.scalar(1, node), node)
    away = b.logical_not(zero)
    x, y = (where_zero(b, away, b.multiply(ct, b.divide(operand, size))) for operand in node.inputs)
    return x, y


_real = (
    Sample("vector", normal(5)),
    Sample("float32", normal(2, 2, dtype="f4")),
    Sample("empty", normal(0)),
    Sample("integers", values([1, 2, 3]), breaks="C2"),
)
_positive = (
    Sample("vector", uniforms(0.5, 4, (5,))),
    Sample("float32", uniforms(0.5, 4, (5,), dtype="f4")),
    Sample("large", values([1e200, 1e300])),
    Sample("integers", values([1, 2, 3]), breaks="C2"),
)
_pair = (
    Sample("vectors", normals((5,), (5,))),
    Sample("scalar_operand", normals((2, 3), ())),
    Sample("float32", normals((4,), (4,), dtype="f4")),
    Sample("empty", normals((0,), (0,))),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
)
elementwise("square", square_vjp, doc="x * x", samples=(*_real[:3], complexes(4)))
elementwise("reciprocal", reciprocal_vjp, doc="1 / x", samples=(*_real[:3], complexes(4)))
elementwise("sqrt", sqrt_vjp, doc="the square root", samples=(*_positive, complexes(4)))
elementwise(
    "cbrt", cbrt_vjp, doc="the cube root", samples=(*_positive, Sample("negative", values([-2.0, -0.3])))
)
elementwise(
    "hypot",
    hypot_vjp,
    doc="sqrt(x^2 + y^2) without overflow",
    samples=(
        *_pair,
        Sample("origin", values([0.0, 0.0], [0.0, 2.0]), differentiable=False),
        Sample("complex", values([1j], [1.0 + 0j]), breaks="C2"),
    ),
)


def power_value(x: Any, y: Any, *, form: str, result: type | None = None) -> Any:
    """The reference: the operator `**` (on an array or a NumPy scalar) or the ufunc `np.power`."""
    if form == "ufunc":
        return np.power(x, y)
    if form == "scalar":
        return np.asarray(x)[()] ** (y[()] if isinstance(y, np.ndarray) else y)
    return np.asarray(x) ** y


def power_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, y = (array_of(t) for t in types)
    if isinstance(x, ScalarType) and isinstance(y, ScalarType):
        return scalar_type(python_result([x.kind, y.kind], attrs))
    shape = common_shape("power", [x, y])
    if isinstance(y, ScalarType):
        return array_type(shape, resolved(np.power, (x.dtype, y.kind))[-1])
    dtypes = resolved(np.power, (x.dtype, y.dtype))
    if dtypes[:2] != (x.dtype, y.dtype) or isinstance(x, ScalarType):
        power.fail("C2", f"({x}, {y}) would be computed in {dtypes[:2]}")
    return array_type(shape, dtypes[2])


def literal_number(node: Node) -> Any:
    """The value of a node that is one constant number, None for any other."""
    if node.op.name != "constant":
        return None
    value = node.attrs["value"].value
    return value if np.ndim(value) == 0 else None


def power_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """y x^(y-1), 0 for 0^0; and x^y log x, 0 where x is 0."""
    x, y = node.inputs
    form = node.attrs["form"]
    number = literal_number(y)
    if isinstance(node.type, ScalarType):
        if not is_inexact(node.type):
            return None, None
        if number not in (0, 1, 2) or node.type != x.type:
            node, ct, x = (b.cast(n, node.dtype) for n in (node, ct, x))
            y = y if number is not None else b.cast(y, node.dtype)
    if number is not None:
        return _constant_power_ct(b, x, ct, number, form), None
    raised: Callable[[Node, Node], Node] = lambda base, exponent: b.power(base, exponent, form=form)  # noqa: E731
    return _base_ct(b, x, y, ct, raised), _exponent_ct(b, node, x, y, ct)


def _constant_power_ct(b: Builder, x: Node, ct: Node, number: Any, form: str) -> Node | None:
    """The base's cotangent where the exponent is known; x^0, x^1 and x^2 need no power."""
    if number == 0:
        return None
    if number == 1:
        return ct
    if not isinstance(x.type, ScalarType):
        x = b.cast(x, ct.dtype)
    if number == 2:
        return b.multiply(ct, b.multiply(b.scalar(2, x), conj(b, x)))
    lower = b.power(x, b.constant(number - 1), form=form)
    return b.multiply(ct, conj(b, b.multiply(b.scalar(number, lower), lower)))


def _base_ct(b: Builder, x: Node, y: Node, ct: Node, raised: Callable[[Node, Node], Node]) -> Node:
    """y x^(y-1), and a constant 0 where y is 0 and x^-1 infinite; elsewhere its slope at y = 0 is x^-1."""
    lower = raised(x, b.subtract(y, b.scalar(1, y)))
    exponent = b.cast(y, lower.dtype)
    away = b.not_equal(exponent, b.scalar(0, exponent))
    if not _is_fixed(y):
        away = b.logical_or(away, b.isfinite(lower))
    return b.multiply(ct, conj(b, where_zero(b, away, b.multiply(lower, exponent))))


def _is_fixed(exponent: Node) -> bool:
    """Whether nobody can ask for a derivative by this exponent: it is written in the program, or whole."""
    while exponent.op.name in ("cast", "broadcast", "reshape"):
        exponent = exponent.inputs[0]
    return exponent.op.name == "constant" or not is_inexact(exponent.type)


def _exponent_ct(b: Builder, node: Node, x: Node, y: Node, ct: Node) -> Node | None:
    if not is_inexact(y.type):
        return None
    base = b.cast(x, node.dtype)
    zero = b.equal(base, b.scalar(0, base))
    log = b.log(b.where(zero, b.scalar(1, base), base))
    return b.multiply(ct, conj(b, b.multiply(node, log)))


def float_power_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """As for power: y x^(y-1), 0 for 0^0; and x^y log x, 0 where x is 0."""
    x, y = node.inputs
    return _base_ct(b, x, y, ct, b.float_power), _exponent_ct(b, node, x, y, ct)


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
            Sample("scalar_exponent", uniforms(0.5, 2, (2, 3), ()), {"form": "array"}),
            Sample("scalar_base", uniforms(0.5, 2, (), (4,)), {"form": "array"}),
            Sample("python_exponent", lambda rng: (rng.uniform(0.5, 2, 4), 3.0), {"form": "array"}),
            Sample("square", lambda rng: (rng.normal(size=4), 2), {"form": "array"}),
            Sample("negative_base", values([-2.0, -0.5], 3), {"form": "array"}),
            Sample("scalar", lambda rng: (rng.uniform(0.5, 2), 1.7), {"form": "scalar"}),
            Sample("python", values(1.5, 2.5), {"form": "array"}),
            Sample("python_integer", values(-1.5, 3), {"form": "array"}),
            Sample("float32", uniforms(0.5, 2, (4,), (4,), dtype="f4"), {"form": "ufunc"}),
            Sample("float32_number", lambda rng: (np.ones(3, "f4"), 2.5), {"form": "array"}),
            Sample("complex", complexes(3, count=2).inputs, {"form": "ufunc"}),
            Sample("complex_number", lambda rng: (*complexes(3).inputs(rng), 2 - 1j), {"form": "array"}),
            Sample("empty", normals((0,), (0,)), {"form": "ufunc"}),
            Sample(
                "zeros", values([0.0, 0.0, 0.0], [0.0, 1.0, 2.0]), {"form": "ufunc"}, differentiable=False
            ),
            Sample("shapes_differ", normals((3,), (4,)), {"form": "ufunc"}, breaks="C1"),
            Sample(
                "dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), {"form": "ufunc"}, breaks="C2"
            ),
        ),
        python=lambda x, y, **attrs: x**y,
        flow=Flow.SCALES,
    )
)
elementwise(
    "float_power",
    float_power_vjp,
    doc="x ** y in at least double precision",
    samples=(
        Sample("vectors", uniforms(0.5, 2, (4,), (4,))),
        Sample("scalar_exponent", uniforms(0.5, 2, (2, 3), ())),
        complexes(3, count=2),
        Sample("float32", uniforms(0.5, 2, (4,), (4,), dtype="f4"), breaks="C2"),
        Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    ),
)
