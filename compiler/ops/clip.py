"""clip: NumPy's own loop, which treats signed zeros unlike minimum of maximum; its derivatives are theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy._core import umath

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Cotangents, Flow, Sample
from .base import elementwise, normals, values


def clip_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """By way of minimum(maximum(x, low), high), so that the kinks agree with it."""
    x, low, high = node.inputs
    raised = b.maximum(x, low)
    lowered = b.minimum(raised, high)
    ct_raised, ct_high = _pulled_back(b, lowered, ct)
    ct_x, ct_low = _pulled_back(b, raised, ct_raised)
    return ct_x, ct_low, ct_high


def _pulled_back(b: Builder, node: Node, ct: Node) -> Any:
    vjp: Any = node.op.vjp
    return vjp(b, node, ct)


elementwise(
    "clip",
    clip_vjp,
    doc="x between low and high; what lies on a bound shares the cotangent with it",
    samples=(
        Sample("vectors", normals((6,), (6,), (6,))),
        Sample("bounds", lambda rng: (rng.normal(size=(2, 3)), np.array(-0.5), np.array(0.5))),
        Sample("float32", lambda rng: (rng.normal(size=4).astype("f4"), np.float32(-0.5), np.float32(0.5))),
        Sample("integers", values([1, 5, -3], np.array(0), np.array(3))),
        Sample("ties", values([1.0, 2.0, -0.0], np.array(0.0), np.array(2.0)), differentiable=False),
        Sample("shapes_differ", normals((3,), (4,), ()), breaks="C1"),
        Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4"), np.ones(())), breaks="C2"),
    ),
    ufunc=getattr(umath, "clip"),  # noqa: B009
    flow=Flow.SELECTS,
)
