"""logsumexp, softmax and log_softmax of scipy.special, with derivatives that neither overflow nor cancel.

With SciPy installed the reference is SciPy's own function, bit for bit; without it the shifted formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, normal, normals, values
from .reduction import expand, reduced_shape
from .special import scipy_function

C_AXES = "C1: axes are distinct axes of x, in increasing order"
C_FLOATS = "C2: operands are all float32 or all float64, of one shape"


def floats(op: str, types: Sequence[Type], attrs: Attrs) -> tuple[Any, tuple[int, ...]]:
    """The type of x and the shape without the reduced axes (C1, C2)."""
    operands = arrays(op, types, "C2")
    first = operands[0]
    if first.dtype.char not in "fd" or any(type_ != first for type_ in operands):
        OPS[op].fail("C2", f"operands are {', '.join(map(str, types))}")
    return reduced_shape(op, [first], attrs)


def logsumexp_value(x: Any, *weights: Any, axes: tuple[int, ...]) -> Any:
    own = scipy_function("logsumexp")
    if own is not None:
        return own(x, axis=axes, b=weights[0] if weights else None)
    top = np.max(x, axis=axes, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    with np.errstate(divide="ignore"):
        powers = np.exp(x - top)
        total = np.sum(weights[0] * powers if weights else powers, axis=axes, dtype=powers.dtype)
        return (np.log(total) + np.squeeze(top, axes)).astype(np.asarray(x).dtype)


def logsumexp_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Each element's part of the sum; a weight's is that part for a weight of 1."""
    x, *weights = node.inputs
    axes = node.attrs["axes"]
    finite = b.where(b.isfinite(node), node, b.scalar(0, node))
    share = b.exp(b.subtract(x, expand(b, finite, axes, x.shape)))
    part = b.multiply(expand(b, ct, axes, x.shape), share)
    return (b.multiply(part, weights[0]), part) if weights else (part,)


_weighted = (
    Sample("weights", lambda rng: (rng.normal(size=(2, 3)), rng.uniform(0.5, 2, (2, 3))), {"axes": (1,)}),
)
register(
    OpDef(
        "logsumexp",
        "log(sum(exp(x))) over axes, or log(sum(weights * exp(x)))",
        Kind.OTHER,
        lambda types, attrs: array_type(floats("logsumexp", types, attrs)[1], types[0].dtype),  # type: ignore[union-attr]
        logsumexp_value,
        logsumexp_vjp,
        (C_AXES, C_FLOATS),
        (
            Sample("rows", normal(3, 4), {"axes": (1,)}),
            Sample("all", normal(2, 3), {"axes": (0, 1)}),
            Sample("large", values([[1000.0, 1000.5]]), {"axes": (1,)}),
            Sample("float32", normal(4, dtype="f4"), {"axes": (0,)}),
            Sample("nothing", values([-np.inf, -np.inf]), {"axes": (0,)}, differentiable=False),
            *_weighted,
            Sample("beyond", normal(3), {"axes": (1,)}, breaks="C1"),
            Sample("integers", values([1, 2]), {"axes": (0,)}, breaks="C2"),
            Sample("shapes_differ", normals((3,), (2,)), {"axes": (0,)}, breaks="C2"),
        ),
    )
)


def softmax_value(x: Any, axes: tuple[int, ...]) -> Any:
    own = scipy_function("softmax")
    if own is not None:
        return own(x, axis=axes)
    powers = np.exp(x - np.max(x, axis=axes, keepdims=True))
    return powers / np.sum(powers, axis=axes, keepdims=True)


def softmax_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """s (ct - sum(ct s))."""
    axes = node.attrs["axes"]
    total = b.sum(b.multiply(ct, node), axes=axes, dtype=ct.dtype)
    return (b.multiply(node, b.subtract(ct, expand(b, total, axes, node.shape))),)


def log_softmax_value(x: Any, axes: tuple[int, ...]) -> Any:
    own = scipy_function("log_softmax")
    if own is not None:
        return own(x, axis=axes)
    shifted = x - np.max(x, axis=axes, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axes, keepdims=True))


def log_softmax_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Ct - softmax sum(ct)."""
    axes = node.attrs["axes"]
    total = expand(b, b.sum(ct, axes=axes, dtype=ct.dtype), axes, node.shape)
    return (b.subtract(ct, b.multiply(b.exp(node), total)),)


for _name, _value, _vjp, _doc in (
    ("softmax", softmax_value, softmax_vjp, "exp(x) over its sum along axes"),
    ("log_softmax", log_softmax_value, log_softmax_vjp, "the logarithm of softmax"),
):

    def _rule(types: Sequence[Type], attrs: Attrs, name: str = _name) -> Type:
        floats(name, types, attrs)
        return types[0]

    register(
        OpDef(
            _name,
            _doc,
            Kind.OTHER,
            _rule,
            _value,
            _vjp,
            (C_AXES, C_FLOATS),
            (
                Sample("rows", normal(3, 4), {"axes": (1,)}),
                Sample("all", normal(2, 3), {"axes": (0, 1)}),
                Sample("large", values([[1000.0, 1000.5, -1000.0]]), {"axes": (1,)}),
                Sample("float32", normal(4, dtype="f4"), {"axes": (0,)}),
                Sample("beyond", normal(3), {"axes": (1,)}, breaks="C1"),
                Sample("integers", values([1, 2]), {"axes": (0,)}, breaks="C2"),
            ),
        )
    )
