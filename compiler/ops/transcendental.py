"""Exponentials, logarithms, trigonometric and hyperbolic functions and their inverses."""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Cotangents, Flow, Sample
from .base import conj, elementwise, normal, uniforms


def exp_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, conj(b, node)),)


def log_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(ct, conj(b, x)),)


def log1p_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(ct, conj(b, b.add(b.scalar(1, x), x))),)


def expm1_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, conj(b, b.exp(x))),)


def tanh_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """1 - tanh^2, through the result."""
    return (b.multiply(ct, conj(b, b.subtract(b.scalar(1, node), b.multiply(node, node)))),)


def sin_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, conj(b, b.cos(x))),)


def cos_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.negative(b.multiply(ct, conj(b, b.sin(x)))),)


_any = (
    Sample("vector", normal(5)),
    Sample("float32", normal(4, dtype="f4")),
    Sample("complex", lambda rng: (rng.normal(size=3) + 1j * rng.normal(size=3),)),
    Sample("empty", normal(0)),
)
_positive = (Sample("vector", uniforms(0.2, 3, (5,))), _any[2])
elementwise("exp", exp_vjp, doc="e ** x", samples=_any)
elementwise("expm1", expm1_vjp, doc="exp(x) - 1, accurate near 0", samples=_any)
elementwise("log", log_vjp, doc="the natural logarithm", samples=_positive)
elementwise("log1p", log1p_vjp, doc="log(1 + x), accurate near 0", samples=_positive)
elementwise("tanh", tanh_vjp, doc="the hyperbolic tangent", samples=_any, flow=Flow.BOUNDED)
elementwise("sin", sin_vjp, doc="the sine", samples=_any)
elementwise("cos", cos_vjp, doc="the cosine", samples=_any)
