"""Joining, padding, repeating and rolling: results made of whole pieces of the operands.

stack is a reshape and concatenate, tile and flip are views and copies, padding by anything but a constant
is composed of slices. Results lie in memory as NumPy's functions lay them out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, normal, normals
from .view import path_step


def slice_along(b: Builder, node: Node, axis: int, start: int, size: int) -> Node:
    """The elements start … start + size - 1 along one axis."""
    ndim = len(node.shape)
    begin, length = [0] * ndim, list(node.shape)
    begin[axis], length[axis] = start, size
    return b.slice(node, start=tuple(begin), size=tuple(length), step=(1,) * ndim)


def flipped(b: Builder, node: Node, axis: int) -> Node:
    """The node in reverse order along one axis."""
    start, step = [0] * len(node.shape), [1] * len(node.shape)
    start[axis], step[axis] = max(node.shape[axis] - 1, 0), -1
    return b.slice(node, start=tuple(start), size=node.shape, step=tuple(step))


def concatenate_type(types: Sequence[Type], attrs: Attrs) -> Type:
    operands = arrays("concatenate", types)
    axis = attrs["axis"]
    if not operands or not 0 <= axis < operands[0].ndim:
        OPS["concatenate"].fail("C1", f"{len(operands)} arrays, axis {axis}")
    first = operands[0]
    total = 0
    for type_ in operands:
        fits = len(type_.shape) == first.ndim and all(
            n == m for k, (n, m) in enumerate(zip(type_.shape, first.shape, strict=True)) if k != axis
        )
        if not fits:
            OPS["concatenate"].fail("C2", f"{first} and {type_} differ beside axis {axis}")
        if type_.dtype != first.dtype:
            OPS["concatenate"].fail("C3", f"dtypes {first.dtype} and {type_.dtype} differ")
        total += type_.shape[axis]
    return array_type((*first.shape[:axis], total, *first.shape[axis + 1 :]), first.dtype)


def concatenate_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Each operand gets its own part of the cotangent."""
    axis = node.attrs["axis"]
    parts = []
    start = 0
    for operand in node.inputs:
        size = operand.shape[axis]
        parts.append(slice_along(b, ct, axis, start, size))
        start += size
    return parts


register(
    OpDef(
        "concatenate",
        "arrays one after the other along an axis",
        Kind.OTHER,
        concatenate_type,
        lambda *operands, axis: np.concatenate(operands, axis=axis),
        concatenate_vjp,
        (
            "C1: there is at least one array, axis is one of theirs",
            "C2: shapes agree beside the axis",
            "C3: all have one dtype",
        ),
        (
            Sample("rows", normals((2, 3), (1, 3), (0, 3)), {"axis": 0}),
            Sample("columns", normals((2, 3), (2, 1)), {"axis": 1}),
            Sample("float32", normals((2,), (3,), dtype="f4"), {"axis": 0}),
            Sample(
                "transposed", lambda rng: (rng.normal(size=(2, 3)).T, rng.normal(size=(2, 3)).T), {"axis": 0}
            ),
            Sample("axis_beyond", normals((2,), (2,)), {"axis": 1}, breaks="C1"),
            Sample("shapes_differ", normals((2, 3), (2, 2)), {"axis": 0}, breaks="C2"),
            Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), {"axis": 0}, breaks="C3"),
        ),
        flow=Flow.MOVES,
    )
)


def pad_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, value = arrays("pad", types)
    before, after = attrs["before"], attrs["after"]
    if not len(before) == len(after) == x.ndim or any(count < 0 for count in (*before, *after)):
        OPS["pad"].fail("C1", f"widths {before} and {after} do not fit {x}")
    if value.shape or value.dtype != x.dtype:
        OPS["pad"].fail("C2", f"the value is {value}, x is {x}")
    return array_type(tuple(i + n + j for i, n, j in zip(before, x.shape, after, strict=True)), x.dtype)


def pad_value(x: Any, value: Any, before: tuple[int, ...], after: tuple[int, ...]) -> Any:
    return np.pad(x, list(zip(before, after, strict=True)), constant_values=value)


def pad_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x gets the middle, the value the sum of the rim."""
    x, _ = node.inputs
    window = {"start": node.attrs["before"], "size": x.shape, "step": (1,) * len(x.shape)}
    rim = b.write(ct, b.zeros(x.type), path=(path_step("slice", **window),))
    return b.slice(ct, **window), b.sum(rim, axes=tuple(range(len(x.shape))), dtype=ct.dtype)


register(
    OpDef(
        "pad",
        "x with a constant value before and after along each axis",
        Kind.OTHER,
        pad_type,
        pad_value,
        pad_vjp,
        ("C1: one width before and one after an axis, none negative", "C2: the value is 0-d, of x's dtype"),
        (
            Sample("matrix", normals((2, 3), ()), {"before": (1, 0), "after": (0, 2)}),
            Sample("nothing", normals((2,), ()), {"before": (0,), "after": (0,)}),
            Sample("empty", normals((0,), ()), {"before": (1,), "after": (2,)}),
            Sample("widths", normals((2, 3), ()), {"before": (1,), "after": (0,)}, breaks="C1"),
            Sample("vector_value", normals((2,), (1,)), {"before": (1,), "after": (0,)}, breaks="C2"),
        ),
        flow=Flow.MOVES,
    )
)


def repeat_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (x,) = arrays("repeat", types)
    axis, counts = attrs["axis"], attrs["repeats"]
    if not 0 <= axis < x.ndim:
        OPS["repeat"].fail("C1", f"{x} has no axis {axis}")
    length = x.shape[axis]
    if min((counts,) if isinstance(counts, int) else counts, default=0) < 0 or (
        not isinstance(counts, int) and len(counts) != length
    ):
        OPS["repeat"].fail("C2", f"counts {counts} for an axis of length {length}")
    total = counts * length if isinstance(counts, int) else sum(counts)
    return array_type((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype)


def repeat_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The sum over the copies of each element."""
    (x,) = node.inputs
    axis, counts = node.attrs["axis"], node.attrs["repeats"]
    if isinstance(counts, int):
        shape = (*x.shape[: axis + 1], counts, *x.shape[axis + 1 :])
        return (b.sum(b.reshape(ct, shape), axes=(axis + 1,), dtype=ct.dtype),)
    origin = b.constant(np.repeat(np.arange(len(counts)), counts))
    return (b.scatter_add(b.zeros(x.type), ct, origin, axes=(axis,)),)


register(
    OpDef(
        "repeat",
        "each element along an axis several times, a fixed number or one an element",
        Kind.OTHER,
        repeat_type,
        lambda x, repeats, axis: np.repeat(x, repeats, axis=axis),
        repeat_vjp,
        ("C1: axis is one of x", "C2: a count that is not negative, or one for each element"),
        (
            Sample("twice", normal(3, 2), {"repeats": 2, "axis": 0}),
            Sample("counts", normal(2, 3), {"repeats": (2, 0, 1), "axis": 1}),
            Sample("axis_beyond", normal(3), {"repeats": 2, "axis": 1}, breaks="C1"),
            Sample("too_few_counts", normal(3), {"repeats": (1, 2), "axis": 0}, breaks="C2"),
        ),
        flow=Flow.SELECTS,
    )
)


def roll_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (x,) = arrays("roll", types)
    axes, shift = attrs["axes"], attrs["shift"]
    if len(axes) != len(shift) or len(set(axes)) != len(axes) or any(a not in range(x.ndim) for a in axes):
        OPS["roll"].fail("C1", f"axes {axes}, shifts {shift}, {x}")
    return x


def roll_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    back = tuple(-count for count in node.attrs["shift"])
    return (b.roll(ct, shift=back, axes=node.attrs["axes"]),)


register(
    OpDef(
        "roll",
        "elements moved along axes; what leaves at one end enters at the other",
        Kind.OTHER,
        roll_type,
        lambda x, shift, axes: np.roll(x, shift, axis=axes),
        roll_vjp,
        ("C1: axes are distinct axes of x, one shift each",),
        (
            Sample("vector", normal(5), {"shift": (2,), "axes": (0,)}),
            Sample("both", normal(3, 4), {"shift": (-1, 7), "axes": (1, 0)}),
            Sample("empty", normal(0, 4), {"shift": (1,), "axes": (0,)}),
            Sample("axis_beyond", normal(3), {"shift": (1,), "axes": (1,)}, breaks="C1"),
        ),
        flow=Flow.MOVES,
    )
)
