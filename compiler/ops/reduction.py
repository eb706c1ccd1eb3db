"""Reductions over axes. `dtype` is the dtype that NumPy accumulates in, which is also the result's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, OpDef, Sample, Vjp, register
from ..ir.types import ArrayType, Type, array_type
from .base import normal, where_zero

C_AXES = "C1: axes are distinct axes of the operand, in increasing order"


def reduced_shape(op: str, types: Sequence[Type], attrs: Attrs) -> tuple[ArrayType, tuple[int, ...]]:
    """The operand's type and the shape without the reduced axes (C1)."""
    (type_,) = types
    axes = attrs["axes"]
    if (
        not isinstance(type_, ArrayType)
        or list(axes) != sorted(set(axes))
        or any(a not in range(type_.ndim) for a in axes)
    ):
        OPS[op].fail("C1", f"axes {axes} do not fit {type_}")
    return type_, tuple(n for axis, n in enumerate(type_.shape) if axis not in axes)


def expand(b: Builder, reduced: Node, axes: tuple[int, ...], shape: tuple[int, ...]) -> Node:
    """A reduced value repeated along the axes that were reduced."""
    kept = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return b.broadcast(reduced, axes=kept, shape=shape)


def sum_type(types: Sequence[Type], attrs: Attrs) -> Type:
    return array_type(reduced_shape("sum", types, attrs)[1], attrs["dtype"])


def sum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.cast(expand(b, ct, node.attrs["axes"], x.shape), x.dtype),)


register(
    OpDef(
        "sum",
        "the sum over axes",
        Kind.REDUCTION,
        sum_type,
        lambda x, axes, dtype: np.add.reduce(x, axis=axes, dtype=dtype),
        sum_vjp,
        (C_AXES,),
        (
            Sample("rows", normal(3, 4), {"axes": (0,), "dtype": np.dtype("f8")}),
            Sample("all", normal(3, 4), {"axes": (0, 1), "dtype": np.dtype("f8")}),
            Sample("wider", normal(5, dtype="f4"), {"axes": (0,), "dtype": np.dtype("f8")}),
            Sample("empty", normal(0, 3), {"axes": (0,), "dtype": np.dtype("f8")}),
            Sample("beyond", normal(3), {"axes": (1,), "dtype": np.dtype("f8")}, breaks="C1"),
        ),
        flow=Flow.MOVES,
    )
)


def extremum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Every element that equals the extremum gets an equal share."""
    (x,) = node.inputs
    axes = node.attrs["axes"]
    hits = b.equal(x, expand(b, node, axes, x.shape))
    count = b.sum(b.cast(hits, x.dtype), axes=axes, dtype=x.dtype)
    return (where_zero(b, hits, expand(b, b.divide(ct, count), axes, x.shape)),)


def _extremum(name: str, ufunc: np.ufunc, vjp: Vjp) -> None:
    def rule(types: Sequence[Type], attrs: Attrs) -> Type:
        type_, shape = reduced_shape(name, types, attrs)
        if not type_.size and array_type(shape, type_.dtype).size:
            OPS[name].fail("C2", f"no elements along axes {attrs['axes']} of {type_}")
        return array_type(shape, type_.dtype)

    reduce: Callable[..., Any] = lambda x, axes: ufunc.reduce(x, axis=axes)  # noqa: E731
    register(
        OpDef(
            name,
            f"the {name} over axes; ties share the cotangent",
            Kind.REDUCTION,
            rule,
            reduce,
            vjp,
            (C_AXES, "C2: there is at least one element along the axes"),
            (
                Sample("rows", normal(3, 4), {"axes": (0,)}),
                Sample("all", normal(3, 4), {"axes": (0, 1)}),
                Sample("empty", normal(0, 3), {"axes": (0,)}, breaks="C2"),
            ),
            flow=Flow.SELECTS,
        )
    )


_extremum("max", np.maximum, extremum_vjp)
_extremum("min", np.minimum, extremum_vjp)
