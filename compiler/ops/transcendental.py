"""Exponentials, logarithms, trigonometric and hyperbolic functions and their inverses.

The vjps neither overflow nor cancel where the derivative itself does not: 1 - x^2 is a product, 1 + x^2 a
hypot, and weights of exponentials are sigmoids of differences. At a pole of the derivative they give inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Cotangents, Sample
from .base import (
    complexes,
    conj,
    elementwise,
    is_complex,
    normal,
    normals,
    sigmoid,
    uniforms,
    values,
    where_zero,
)


def exp_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, conj(b, node)),)


def exp2_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, b.multiply(conj(b, node), b.scalar(math.log(2), node))),)


def expm1_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, conj(b, b.exp(x))),)


def log_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(ct, conj(b, x)),)


def log2_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(b.multiply(ct, b.scalar(1 / math.log(2), ct)), conj(b, x)),)


def log10_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(b.multiply(ct, b.scalar(1 / math.log(10), ct)), conj(b, x)),)


def log1p_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(ct, conj(b, b.add(b.scalar(1, x), x))),)


_any = (
    Sample("vector", normal(5)),
    Sample("float32", normal(4, dtype="f4")),
    Sample("empty", normal(0)),
    Sample("integers", values([1, 2]), breaks="C2"),
    complexes(3),
)
_positive = (
    Sample("vector", uniforms(0.2, 3, (5,))),
    Sample("float32", uniforms(0.2, 3, (4,), dtype="f4")),
    *_any[2:],
)
elementwise("exp", exp_vjp, doc="e ** x", samples=_any)
elementwise("exp2", exp2_vjp, doc="2 ** x", samples=_any)
elementwise("expm1", expm1_vjp, doc="exp(x) - 1, accurate near 0", samples=_any)
elementwise("log", log_vjp, doc="the natural logarithm", samples=_positive)
elementwise("log2", log2_vjp, doc="the logarithm to base 2", samples=_positive)
elementwise("log10", log10_vjp, doc="the logarithm to base 10", samples=_positive)
elementwise("log1p", log1p_vjp, doc="log(1 + x), accurate near 0", samples=_positive)


def _is_finite_constant(node: Node) -> bool:
    return node.op.name == "constant" and bool(np.all(np.isfinite(node.attrs["value"].value)))


def difference(b: Builder, x: Node, y: Node) -> Node:
    """x - y, and 0 for two equal infinities: what the weights of their exponentials depend on."""
    if _is_finite_constant(x) or _is_finite_constant(y):
        return b.subtract(x, y)
    infinite = b.logical_and(b.equal(x, y), b.isinf(x))
    return b.where(infinite, b.scalar(0, x), b.subtract(x, y))


def logaddexp_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Each operand's share of the sum; equal infinities share evenly."""
    x, y = node.inputs
    gap = difference(b, x, y)
    return b.multiply(ct, sigmoid(b, gap)), b.multiply(ct, sigmoid(b, b.negative(gap)))


def logaddexp2_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, y = node.inputs
    gap = difference(b, x, y)
    gap = b.multiply(gap, b.scalar(math.log(2), gap))
    return b.multiply(ct, sigmoid(b, gap)), b.multiply(ct, sigmoid(b, b.negative(gap)))


_pair = (
    Sample("vectors", normals((5,), (5,))),
    Sample("scalar_operand", normals((2, 3), ())),
    Sample("float32", normals((4,), (4,), dtype="f4")),
    Sample("empty", normals((0,), (0,))),
    Sample("far_apart", values([800.0, -3.0], [-800.0, 900.0])),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
)
_nothing = Sample("nothing", values([-np.inf, -np.inf], [-np.inf, 1.0]), differentiable=False)
elementwise("logaddexp", logaddexp_vjp, doc="log(exp(x) + exp(y))", samples=(*_pair, _nothing))
elementwise("logaddexp2", logaddexp2_vjp, doc="log2(2^x + 2^y)", samples=(*_pair, _nothing))


def sin_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, conj(b, b.cos(x))),)


def cos_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.negative(b.multiply(ct, conj(b, b.sin(x)))),)


def tan_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """1 + tan^2, through the result."""
    return (b.multiply(ct, conj(b, b.add(b.scalar(1, node), b.multiply(node, node)))),)


def _one_minus_square(b: Builder, x: Node) -> Node:
    """(1 - x)(1 + x), exact near the ends of [-1, 1]."""
    one = b.scalar(1, x)
    return b.multiply(b.subtract(one, x), b.add(one, x))


def _sine_of_arc(b: Builder, x: Node) -> Node:
    """sqrt(1 - x^2); a complex one by two roots, so that its cuts are those of arcsin."""
    if not is_complex(x):
        return b.sqrt(_one_minus_square(b, x))
    one = b.scalar(1, x)
    below = b.sqrt(b.negative(b.subtract(x, one)))
    return b.multiply(below, b.sqrt(b.add(one, x)))


def arcsin_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(ct, conj(b, _sine_of_arc(b, x))),)


def arccos_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.negative(b.divide(ct, conj(b, _sine_of_arc(b, x)))),)


def arctan_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """1 / (1 + x^2); for real x by hypot twice, which cannot overflow."""
    (x,) = node.inputs
    one = b.scalar(1, x)
    if is_complex(x):
        return (b.divide(ct, conj(b, b.add(one, b.multiply(x, x)))),)
    size = b.hypot(one, x)
    return (b.divide(b.divide(ct, size), size),)


def arctan2_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """(x, -y) / (x^2 + y^2), by the direction over the size; 0 at the origin, where there is no angle."""
    y, x = node.inputs
    size = b.hypot(x, y)
    zero = b.equal(size, b.scalar(0, size))
    safe = b.where(zero, b.scalar(1, size), size)
    ct = where_zero(b, b.logical_not(zero), ct)
    cosine, sine = b.divide(x, safe), b.divide(y, safe)
    return b.divide(b.multiply(ct, cosine), safe), b.negative(b.divide(b.multiply(ct, sine), safe))


elementwise("sin", sin_vjp, doc="the sine", samples=_any)
elementwise("cos", cos_vjp, doc="the cosine", samples=_any)
_inside = (
    Sample("vector", uniforms(-0.9, 0.9, (5,))),
    Sample("float32", uniforms(-0.9, 0.9, (4,), dtype="f4")),
    *_any[2:],
)
elementwise("tan", tan_vjp, doc="the tangent", samples=_inside)
_ends = Sample("ends", values([-1.0, 1.0]), differentiable=False)
elementwise("arcsin", arcsin_vjp, doc="the inverse sine", samples=(*_inside, _ends))
elementwise("arccos", arccos_vjp, doc="the inverse cosine", samples=(*_inside, _ends))
_large = Sample("large", values([1e200, -1e150]))
elementwise("arctan", arctan_vjp, doc="the inverse tangent", samples=(*_any, _large))
elementwise(
    "arctan2",
    arctan2_vjp,
    doc="the angle of the point (second, first operand)",
    samples=(
        *_pair,
        Sample("tiny_and_huge", values([3e-200, 4e200], [4e-200, -3e200]), differentiable=False),
        Sample("origin", values([0.0, 0.0], [0.0, -1.0]), differentiable=False),
    ),
)


def sinh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, conj(b, b.cosh(x))),)


def cosh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, conj(b, b.sinh(x))),)


def tanh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """1 - tanh^2, through the result."""
    return (b.multiply(ct, conj(b, b.subtract(b.scalar(1, node), b.multiply(node, node)))),)


def arcsinh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """1 / sqrt(1 + x^2); for real x by hypot, which cannot overflow."""
    (x,) = node.inputs
    one = b.scalar(1, x)
    root = b.sqrt(b.add(one, b.multiply(x, x))) if is_complex(x) else b.hypot(one, x)
    return (b.divide(ct, conj(b, root)),)


def arccosh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """1 / sqrt(x^2 - 1), by two roots: no overflow, and the cuts of arccosh."""
    (x,) = node.inputs
    one = b.scalar(1, x)
    root = b.multiply(b.sqrt(b.subtract(x, one)), b.sqrt(b.add(x, one)))
    return (b.divide(ct, conj(b, root)),)


def arctanh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(ct, conj(b, _one_minus_square(b, x))),)


elementwise("sinh", sinh_vjp, doc="the hyperbolic sine", samples=_any)
elementwise("cosh", cosh_vjp, doc="the hyperbolic cosine", samples=_any)
elementwise(
    "tanh",
    tanh_vjp,
    doc="the hyperbolic tangent",
    samples=(*_any, Sample("saturated", values([-800.0, 800.0]))),
)
elementwise("arcsinh", arcsinh_vjp, doc="the inverse hyperbolic sine", samples=(*_any, _large))
_above: Callable[[np.random.Generator], tuple[np.ndarray, ...]] = uniforms(1.2, 4, (5,))
elementwise(
    "arccosh",
    arccosh_vjp,
    doc="the inverse hyperbolic cosine",
    samples=(
        Sample("vector", _above),
        Sample("float32", lambda rng: (_above(rng)[0].astype("f4"),)),
        Sample("large", values([1e200])),
        *_any[2:],
    ),
)
elementwise("arctanh", arctanh_vjp, doc="the inverse hyperbolic tangent", samples=(*_inside, _ends))
