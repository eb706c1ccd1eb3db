"""Choices: where, maximum, minimum. The branch not taken gets a structural zero.

Ties of maximum and minimum share the cotangent evenly.
"""

from __future__ import annotations

from collections.abc import Sequence


import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs, Cotangents, Flow, Kind, OpDef, Sample, register
from ..ir.types import ArrayType, Type, array_of, array_type
from .base import C_SHAPES, common_shape, elementwise, normals, where_zero


def where_type(types: Sequence[Type], attrs: Attrs) -> Type:
    condition, x, y = (array_of(t) for t in types)
    if not all(isinstance(t, ArrayType) for t in (condition, x, y)) or condition.dtype != np.dtype(bool):
        where.fail("C2", f"the condition is {condition}, not booleans")
    if x.dtype != y.dtype:
        where.fail("C3", f"the choices have dtypes {x.dtype} and {y.dtype}")
    return array_type(common_shape("where", [condition, x, y]), x.dtype)


def where_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    condition, _, _ = node.inputs
    zero = b.scalar(0, ct)
    return None, b.where(condition, ct, zero), b.where(condition, zero, ct)


where = register(
    OpDef(
        name="where",
        doc="x where the condition holds, y elsewhere",
        kind=Kind.ELEMENTWISE,
        type_rule=where_type,
        numpy=np.where,
        vjp=where_vjp,
        constraints=(
            C_SHAPES,
            "C2: the condition is a boolean array",
            "C3: both choices have one dtype",
        ),
        samples=(
            Sample("vectors", lambda rng: (rng.normal(size=4) > 0, rng.normal(size=4), rng.normal(size=4))),
            Sample("scalar_choice", lambda rng: (rng.normal(size=4) > 0, rng.normal(size=4), np.array(0.0))),
            Sample("float_condition", normals((3,), (3,), (3,)), breaks="C2"),
            Sample(
                "dtypes_differ", lambda rng: (np.ones(3, bool), np.ones(3), np.ones(3, "f4")), breaks="C3"
            ),
        ),
        flow=Flow.SELECTS,
    )
)


def _shared(b: Builder, mine: Node, other: Node, ct: Node, wins: Node) -> Node:
    """The cotangent of one side: all of it where it wins, half of it at a tie."""
    tie = b.equal(mine, other)
    half = b.multiply(ct, b.scalar(0.5, ct))
    return where_zero(b, wins, b.where(tie, half, ct))


def maximum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, y = node.inputs
    return _shared(b, x, y, ct, b.greater_equal(x, y)), _shared(b, y, x, ct, b.greater_equal(y, x))


def minimum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, y = node.inputs
    return _shared(b, x, y, ct, b.less_equal(x, y)), _shared(b, y, x, ct, b.less_equal(y, x))


_pair = (Sample("vectors", normals((5,), (5,))), Sample("scalar_operand", normals((2, 3), ())))
for _name, _vjp in {
    "maximum": maximum_vjp,
    "minimum": minimum_vjp,
    "fmax": maximum_vjp,
    "fmin": minimum_vjp,
}.items():
    elementwise(
        _name, _vjp, doc=f"NumPy's {_name}; ties share the cotangent", samples=_pair, flow=Flow.SELECTS
    )
