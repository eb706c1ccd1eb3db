"""Choices: where, maximum, minimum. The branch not taken gets a structural zero.

Ties of maximum and minimum share the cotangent evenly, which is the subgradient of least norm of both
operands together. `where` is no kink: its condition is constant, and the branch taken counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs, Cotangents, Flow, Kind, OpDef, Sample, register
from ..ir.types import ArrayType, Type, array_of, array_type
from .base import C_SHAPES, common_shape, complexes, elementwise, normals, values, where_zero


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
            Sample("scalar_condition", lambda rng: (np.array(True), *normals((4,), (4,))(rng))),
            Sample("float32", lambda rng: (np.array([True, False]), *normals((2,), (2,), dtype="f4")(rng))),
            Sample("complex", lambda rng: (np.array([True, False]), *complexes(2, count=2).inputs(rng))),
            Sample("empty", lambda rng: (np.zeros(0, bool), *normals((0,), (0,))(rng))),
            Sample("shapes_differ", lambda rng: (np.ones(3, bool), *normals((3,), (4,))(rng)), breaks="C1"),
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


def fmax_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """As for maximum; a number also wins against NaN."""
    x, y = node.inputs
    x_wins = b.logical_or(b.greater_equal(x, y), b.isnan(y))
    y_wins = b.logical_or(b.greater_equal(y, x), b.isnan(x))
    return _shared(b, x, y, ct, x_wins), _shared(b, y, x, ct, y_wins)


def fmin_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """As for minimum; a number also wins against NaN."""
    x, y = node.inputs
    x_wins = b.logical_or(b.less_equal(x, y), b.isnan(y))
    y_wins = b.logical_or(b.less_equal(y, x), b.isnan(x))
    return _shared(b, x, y, ct, x_wins), _shared(b, y, x, ct, y_wins)


_pair = (
    Sample("vectors", normals((5,), (5,))),
    Sample("scalar_operand", normals((2, 3), ())),
    Sample("float32", normals((4,), (4,), dtype="f4")),
    complexes(4, count=2),
    Sample("integers", values([1, -2], [0, 3])),
    Sample("empty", normals((0,), (0,))),
    Sample("ties", values([1.0, 0.0, -0.0], [1.0, -0.0, 2.0]), differentiable=False),
    Sample("not_a_number", values([1.0, np.nan], [np.nan, 2.0]), differentiable=False),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
)
for _name, _vjp in {
    "maximum": maximum_vjp,
    "minimum": minimum_vjp,
    "fmax": fmax_vjp,
    "fmin": fmin_vjp,
}.items():
    elementwise(
        _name, _vjp, doc=f"NumPy's {_name}; ties share the cotangent", samples=_pair, flow=Flow.SELECTS
    )
