"""Running sums, products and extrema along an axis, and the linear recurrence their derivatives need.

Nothing divides, so derivatives are exact where factors are zero, to every order. `dtype` is the dtype
that NumPy accumulates in, which is also the result's.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, conj, is_complex, normal, normals, values
from .join import flipped, slice_along

C_AXIS = "C1: the operand is an array, axis is one of its axes"
_DOUBLE = np.dtype("f8")


def cumulative_type(op: str, types: Sequence[Type], attrs: Attrs) -> Type:
    (x,) = arrays(op, types)
    if not 0 <= attrs["axis"] < x.ndim:
        OPS[op].fail("C1", f"{x} has no axis {attrs['axis']}")
    return array_type(x.shape, attrs.get("dtype", x.dtype))


def accumulate_value(ufunc: np.ufunc, x: Any, axis: int, dtype: Any = None) -> Any:
    return ufunc.accumulate(x, axis=axis, dtype=dtype)


def as_operand(b: Builder, x: Node, ct: Node) -> Node:
    """A cotangent computed in the accumulator's dtype as one of the operand."""
    if is_complex(ct) and not is_complex(x):
        ct = b.real(ct)
    return b.cast(ct, x.dtype)


def shifted(b: Builder, node: Node, axis: int, by: int, fill: Node) -> Node:
    """Element i is node[i - by] for by = 1 or -1, and the 0-d fill at the end where there is none."""
    length = node.shape[axis]
    if not length:
        return node
    edge = b.broadcast_to(fill, (*node.shape[:axis], 1, *node.shape[axis + 1 :]))
    if by > 0:
        return b.concatenate(edge, slice_along(b, node, axis, 0, length - 1), axis=axis)
    return b.concatenate(slice_along(b, node, axis, 1, length - 1), edge, axis=axis)


def recurrence_type(types: Sequence[Type], attrs: Attrs) -> Type:
    factor, term = arrays("recurrence", types)
    if not 0 <= attrs["axis"] < term.ndim:
        OPS["recurrence"].fail("C1", f"{term} has no axis {attrs['axis']}")
    if factor != term:
        OPS["recurrence"].fail("C2", f"factors are {factor}, terms {term}")
    return term


def recurrence_value(factor: Any, term: Any, axis: int, reverse: bool) -> Any:
    """One step an element; vectors are walked as Python numbers, which is faster than array elements."""
    result = np.array(term, order="C")
    rows, factors = np.moveaxis(result, axis, 0), np.moveaxis(np.asarray(factor), axis, 0)
    if reverse:
        rows, factors = rows[::-1], factors[::-1]
    if result.ndim == 1 and result.dtype in (np.dtype("f8"), np.dtype("c16")) and result.size:
        terms, scale = rows.tolist(), factors.tolist()
        for i in range(1, len(terms)):
            terms[i] += scale[i] * terms[i - 1]
        rows[...] = terms
        return result
    for i in range(1, len(rows)):
        rows[i] += factors[i] * rows[i - 1]
    return result


def recurrence_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The transposed recurrence runs the other way: r[i] = ct[i] + factor[i + 1] r[i + 1]."""
    factor, _ = node.inputs
    axis, reverse = node.attrs["axis"], node.attrs["reverse"]
    one, zero = b.scalar(1, node), b.scalar(0, node)
    towards = 1 if reverse else -1
    back = b.recurrence(shifted(b, conj(b, factor), axis, towards, one), ct, axis=axis, reverse=not reverse)
    earlier = shifted(b, conj(b, node), axis, -towards, zero)
    return b.multiply(back, earlier), back


register(
    OpDef(
        "recurrence",
        "s[i] = term[i] + factor[i] s[i - 1] along an axis, or with s[i + 1] in reverse",
        Kind.OTHER,
        recurrence_type,
        recurrence_value,
        recurrence_vjp,
        ("C1: axis is an axis of the operands", "C2: factors and terms have one type"),
        (
            Sample("vector", normals((5,), (5,)), {"axis": 0, "reverse": False}),
            Sample("columns", normals((4, 3), (4, 3)), {"axis": 0, "reverse": True}),
            Sample("float32", normals((4,), (4,), dtype="f4"), {"axis": 0, "reverse": False}),
            Sample("empty", normals((0, 2), (0, 2)), {"axis": 0, "reverse": False}),
            Sample("axis_beyond", normals((4,), (4,)), {"axis": 1, "reverse": False}, breaks="C1"),
            Sample("shapes_differ", normals((4,), (3,)), {"axis": 0, "reverse": False}, breaks="C2"),
        ),
    )
)


def cumsum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The running sum from the other end."""
    (x,) = node.inputs
    axis = node.attrs["axis"]
    total = flipped(b, b.cumsum(flipped(b, ct, axis), axis=axis, dtype=ct.dtype), axis)
    return (as_operand(b, x, total),)


_axis = {"axis": 0, "dtype": _DOUBLE}
_sums = (
    Sample("vector", normal(5), _axis),
    Sample("columns", normal(3, 4), _axis),
    Sample("rows", normal(3, 4), {"axis": 1, "dtype": _DOUBLE}),
    Sample("wider", normal(4, dtype="f4"), _axis),
    Sample(
        "complex",
        lambda rng: (rng.normal(size=3) + 1j * rng.normal(size=3),),
        {"axis": 0, "dtype": np.dtype("c16")},
    ),
    Sample("empty", normal(0, 2), _axis),
    Sample("axis_beyond", normal(3), {"axis": 1, "dtype": _DOUBLE}, breaks="C1"),
)
register(
    OpDef(
        "cumsum",
        "the running sum along an axis",
        Kind.OTHER,
        partial(cumulative_type, "cumsum"),
        partial(accumulate_value, np.add),
        cumsum_vjp,
        (C_AXIS,),
        _sums,
        flow=Flow.MOVES,
    )
)


def product_before(b: Builder, x: Node, axis: int, *, reverse: bool = False) -> Node:
    """The product of all elements before each one along the axis, or of all behind it."""
    one = b.scalar(1, x)
    if not reverse:
        return b.cumprod(shifted(b, x, axis, 1, one), axis=axis, dtype=x.dtype)
    behind = flipped(b, shifted(b, x, axis, -1, one), axis)
    return flipped(b, b.cumprod(behind, axis=axis, dtype=x.dtype), axis)


def cumprod_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """(product before i) * s[i] with s[i] = ct[i] + x[i + 1] s[i + 1]: exact where elements are zero."""
    (operand,) = node.inputs
    axis = node.attrs["axis"]
    x = b.cast(operand, node.dtype)
    factor = shifted(b, conj(b, x), axis, -1, b.scalar(1, x))
    later = b.recurrence(factor, ct, axis=axis, reverse=True)
    return (as_operand(b, operand, b.multiply(later, conj(b, product_before(b, x, axis)))),)


register(
    OpDef(
        "cumprod",
        "the running product along an axis",
        Kind.OTHER,
        partial(cumulative_type, "cumprod"),
        partial(accumulate_value, np.multiply),
        cumprod_vjp,
        (C_AXIS,),
        (*_sums, Sample("zeros", values([2.0, 0.0, 3.0, 0.0, 5.0]), _axis)),
    )
)


def running_extremum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """A cotangent goes back to the elements so far that equal the extremum, in equal shares."""
    (x,) = node.inputs
    axis = node.attrs["axis"]
    one = b.scalar(1, x)
    hits = b.cast(b.equal(x, node), x.dtype)
    same = b.cast(b.equal(node, shifted(b, node, axis, 1, one)), x.dtype)
    count = b.recurrence(same, hits, axis=axis, reverse=False)
    none = b.equal(count, b.scalar(0, count))
    share = b.divide(ct, b.where(none, one, count))
    onward = b.recurrence(shifted(b, same, axis, -1, one), share, axis=axis, reverse=True)
    return (b.where(b.equal(x, node), onward, b.scalar(0, onward)),)


for _name, _ufunc in (("cummax", np.maximum), ("cummin", np.minimum)):
    register(
        OpDef(
            _name,
            f"the {_name[3:]} so far along an axis; ties share the cotangent",
            Kind.OTHER,
            partial(cumulative_type, _name),
            partial(accumulate_value, _ufunc),
            running_extremum_vjp,
            (C_AXIS,),
            (
                Sample("vector", normal(6), {"axis": 0}),
                Sample("rows", normal(3, 4), {"axis": 1}),
                Sample("integers", values([3, 1, 4, 1, 5]), {"axis": 0}),
                Sample("axis_beyond", normal(3), {"axis": 1}, breaks="C1"),
            ),
            flow=Flow.SELECTS,
        )
    )
