"""Reductions over axes. `dtype` is the dtype that NumPy accumulates in, which is also the result's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, NotDifferentiable, OpDef, Sample, Vjp, register
from ..ir.types import ArrayType, Type, array_type
from .base import arrays, conj, normal, values, where_zero
from .cumulative import as_operand, product_before

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


def reduce_value(ufunc: np.ufunc, x: Any, axes: tuple[int, ...]) -> Any:
    return ufunc.reduce(x, axis=axes)


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

    register(
        OpDef(
            name,
            f"the {name} over axes; ties share the cotangent",
            Kind.REDUCTION,
            rule,
            partial(reduce_value, ufunc),
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
_extremum("nanmax", np.fmax, extremum_vjp)
_extremum("nanmin", np.fmin, extremum_vjp)


def merged(b: Builder, x: Node, axes: tuple[int, ...]) -> Node:
    """The node with the reduced axes as one axis, the last."""
    kept = tuple(axis for axis in range(len(x.shape)) if axis not in axes)
    moved = b.transpose(x, axes=(*kept, *axes)) if (*kept, *axes) != tuple(range(len(x.shape))) else x
    length = int(np.prod([x.shape[axis] for axis in axes], dtype=int))
    return b.reshape(moved, (*(x.shape[axis] for axis in kept), length))


def unmerged(b: Builder, node: Node, axes: tuple[int, ...], shape: tuple[int, ...]) -> Node:
    """The inverse of `merged`: back to an array of this shape."""
    order = (*(axis for axis in range(len(shape)) if axis not in axes), *axes)
    spread = b.reshape(node, tuple(shape[axis] for axis in order))
    if order == tuple(range(len(shape))):
        return spread
    return b.transpose(spread, axes=tuple(order.index(axis) for axis in range(len(shape))))


def prod_type(types: Sequence[Type], attrs: Attrs) -> Type:
    return array_type(reduced_shape("prod", types, attrs)[1], attrs["dtype"])


def prod_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Each element gets the product of the others: those before it times those behind it."""
    (operand,) = node.inputs
    axes = node.attrs["axes"]
    x = merged(b, b.cast(operand, node.dtype), axes)
    last = len(x.shape) - 1
    others = b.multiply(product_before(b, x, last), product_before(b, x, last, reverse=True))
    spread = expand(b, ct, axes, operand.shape)
    return (as_operand(b, operand, b.multiply(spread, conj(b, unmerged(b, others, axes, operand.shape)))),)


_double = np.dtype("f8")
register(
    OpDef(
        "prod",
        "the product over axes; derivatives are exact where elements are zero",
        Kind.REDUCTION,
        prod_type,
        lambda x, axes, dtype: np.multiply.reduce(x, axis=axes, dtype=dtype),
        prod_vjp,
        (C_AXES,),
        (
            Sample("rows", normal(3, 4), {"axes": (0,), "dtype": _double}),
            Sample("outer_axes", normal(2, 3, 2), {"axes": (0, 2), "dtype": _double}),
            Sample("zeros", values([[2.0, 0.0, 3.0], [0.0, 0.0, 5.0]]), {"axes": (1,), "dtype": _double}),
            Sample("wider", normal(5, dtype="f4"), {"axes": (0,), "dtype": _double}),
            Sample(
                "complex",
                lambda rng: (rng.normal(size=3) + 1j * rng.normal(size=3),),
                {"axes": (0,), "dtype": np.dtype("c16")},
            ),
            Sample("empty", normal(0, 3), {"axes": (0,), "dtype": _double}),
            Sample("beyond", normal(3), {"axes": (1,), "dtype": _double}, breaks="C1"),
        ),
    )
)


def truth_type(op: str, types: Sequence[Type], attrs: Attrs) -> Type:
    return array_type(reduced_shape(op, types, attrs)[1], np.dtype(bool))


_NO_SLOPE = NotDifferentiable("its result is no real number")
for _name, _logical in (("any", np.logical_or), ("all", np.logical_and)):
    register(
        OpDef(
            _name,
            f"whether {_name} elements along the axes are true",
            Kind.REDUCTION,
            partial(truth_type, _name),
            partial(reduce_value, _logical),
            _NO_SLOPE,
            (C_AXES,),
            (
                Sample("rows", lambda rng: (rng.normal(size=(3, 4)) > 0,), {"axes": (0,)}),
                Sample("floats", normal(3, 4), {"axes": (0, 1)}, differentiable=False),
                Sample("beyond", normal(3), {"axes": (1,)}, breaks="C1"),
            ),
        )
    )


def _argument(name: str, function: Callable[..., Any]) -> None:
    def rule(types: Sequence[Type], attrs: Attrs) -> Type:
        (x,) = arrays(name, types)
        axis = attrs["axis"]
        if not 0 <= axis < x.ndim:
            OPS[name].fail("C1", f"{x} has no axis {axis}")
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        if not x.shape[axis] and array_type(shape, x.dtype).size:
            OPS[name].fail("C2", f"no elements along axis {axis} of {x}")
        return array_type(shape, np.dtype(np.intp))

    register(
        OpDef(
            name,
            f"where the first {name[3:]} along an axis stands",
            Kind.REDUCTION,
            rule,
            lambda x, axis: function(x, axis=axis),
            NotDifferentiable("a position is an integer"),
            ("C1: axis is an axis of the operand", "C2: there is at least one element along the axis"),
            (
                Sample("rows", normal(3, 4), {"axis": 0}, differentiable=False),
                Sample("vector", normal(5), {"axis": 0}, differentiable=False),
                Sample("beyond", normal(3), {"axis": 1}, breaks="C1"),
                Sample("empty", normal(0, 3), {"axis": 0}, breaks="C2"),
            ),
        )
    )


_argument("argmax", np.argmax)
_argument("argmin", np.argmin)
