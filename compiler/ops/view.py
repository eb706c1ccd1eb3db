"""Views: ops that look at the memory of their input another way.

All are logical, free of strides: whether `reshape` can look or must copy is the planner's business. A
chain of views can also be an attr (`path`) of `write`: a tuple of (op name, sorted attrs) steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, OpDef, Sample, register
from ..ir.types import ArrayType, Type, array_type
from .base import is_complex, normal

Path = tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]


def _array(op: str, types: Sequence[Type]) -> ArrayType:
    (type_,) = types
    if not isinstance(type_, ArrayType):
        OPS[op].fail("C1", f"the operand is {type_}, not an array")
    return type_


C_ARRAY = "C1: the operand is an array"


def path_step(name: str, **attrs: Any) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """One step of a path."""
    return name, tuple(sorted(attrs.items()))


def apply_path(b: Builder, node: Node, path: Path) -> Node:
    """The view nodes of a path on a node."""
    for name, attrs in path:
        node = b.make(OPS[name], (node,), dict(attrs))
    return node


def path_type(type_: Type, path: Path) -> Type:
    """The type of a value seen through a path."""
    for name, attrs in path:
        type_ = OPS[name].type_rule([type_], dict(attrs))
    return type_


def numpy_path(array: Any, path: Path) -> Any:
    """A path applied to a real array by the reference semantics."""
    for name, attrs in path:
        array = OPS[name].numpy(array, **dict(attrs))
    return array


def reshape_type(types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array("reshape", types)
    result = array_type(attrs["shape"], type_.dtype)
    if result.size != type_.size:
        OPS["reshape"].fail(
            "C2", f"{type_} has {type_.size} elements, shape {attrs['shape']} has {result.size}"
        )
    return result


def reshape_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.reshape(ct, node.inputs[0].shape),)


register(
    OpDef(
        "reshape",
        "the same elements in C order in another shape",
        Kind.VIEW,
        reshape_type,
        lambda x, shape: np.reshape(x, shape),
        reshape_vjp,
        (C_ARRAY, "C2: both shapes have the same number of elements"),
        (
            Sample("split", normal(6), {"shape": (2, 3)}),
            Sample("transposed", lambda rng: (rng.normal(size=(2, 3)).T,), {"shape": (6,)}),
            Sample("sizes_differ", normal(6), {"shape": (4,)}, breaks="C2"),
        ),
        flow=Flow.MOVES,
    )
)


def transpose_type(types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array("transpose", types)
    axes = attrs["axes"]
    if sorted(axes) != list(range(type_.ndim)):
        OPS["transpose"].fail("C2", f"axes {axes} are no permutation of the axes of {type_}")
    return array_type(tuple(type_.shape[axis] for axis in axes), type_.dtype)


def transpose_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    axes = node.attrs["axes"]
    return (b.transpose(ct, axes=tuple(axes.index(axis) for axis in range(len(axes)))),)


register(
    OpDef(
        "transpose",
        "axes in another order: axis i of the result is axis axes[i] of x",
        Kind.VIEW,
        transpose_type,
        lambda x, axes: np.transpose(x, axes),
        transpose_vjp,
        (C_ARRAY, "C2: axes are a permutation"),
        (
            Sample("cycle", normal(2, 3, 4), {"axes": (1, 2, 0)}),
            Sample("repeated", normal(2, 3), {"axes": (0, 0)}, breaks="C2"),
        ),
        flow=Flow.MOVES,
    )
)


def broadcast_type(types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array("broadcast", types)
    axes, shape = attrs["axes"], attrs["shape"]
    if len(axes) != type_.ndim or any(shape[axis] != n for axis, n in zip(axes, type_.shape, strict=False)):
        OPS["broadcast"].fail("C2", f"the axes of {type_} do not match axes {axes} of shape {shape}")
    if any(one >= two for one, two in pairwise(axes)):
        OPS["broadcast"].fail("C3", f"axes {axes} do not increase")
    return array_type(shape, type_.dtype)


def broadcast_value(x: Any, axes: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    widened = [1] * len(shape)
    for axis, length in zip(axes, np.shape(x), strict=True):
        widened[axis] = length
    return np.broadcast_to(np.reshape(x, widened), shape)


def broadcast_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    kept = node.attrs["axes"]
    axes = tuple(axis for axis in range(len(node.shape)) if axis not in kept)
    return (b.sum(ct, axes=axes, dtype=ct.dtype) if axes else ct,)


register(
    OpDef(
        "broadcast",
        "repeat along new axes: axis i of x becomes axis axes[i] of the result",
        Kind.VIEW,
        broadcast_type,
        broadcast_value,
        broadcast_vjp,
        (C_ARRAY, "C2: axis i of x has the length of axis axes[i] of shape", "C3: axes increase"),
        (
            Sample("rows", normal(3), {"axes": (1,), "shape": (2, 3)}),
            Sample("scalar", normal(), {"axes": (), "shape": (2, 3)}),
            Sample("lengths_differ", normal(3), {"axes": (0,), "shape": (2, 3)}, breaks="C2"),
            Sample("turned", normal(2, 3), {"axes": (1, 0), "shape": (3, 2)}, breaks="C3"),
        ),
        flow=Flow.MOVES,
    )
)


def slice_type(types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array("slice", types)
    start, size, step = attrs["start"], attrs["size"], attrs["step"]
    if not len(start) == len(size) == len(step) == type_.ndim:
        OPS["slice"].fail("C2", f"{type_} has {type_.ndim} axes, the slice {len(start)}")
    for first, count, stride, length in zip(start, size, step, type_.shape, strict=True):
        last = first + (count - 1) * stride
        if count and not (0 <= first < length and 0 <= last < length):
            OPS["slice"].fail("C3", f"elements {first} to {last} do not lie in an axis of length {length}")
    return array_type(tuple(size), type_.dtype)


def slice_value(x: Any, start: Any, size: Any, step: Any) -> Any:
    index = []
    for first, count, stride in zip(start, size, step, strict=True):
        stop = first + count * stride
        index.append(slice(first, stop, stride) if stop >= 0 else slice(first, None, stride))
        if not count:
            index[-1] = slice(0, 0)
    return x[tuple(index)] if np.ndim(x) else np.asarray(x)


def slice_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    step = path_step("slice", **node.attrs)
    return (b.write(b.zeros(node.inputs[0].type), ct, path=(step,)),)


register(
    OpDef(
        "slice",
        "every step-th element from start, size of them, along each axis",
        Kind.VIEW,
        slice_type,
        slice_value,
        slice_vjp,
        (C_ARRAY, "C2: one start, size and step an axis", "C3: every element lies in x"),
        (
            Sample("middle", normal(6), {"start": (1,), "size": (2,), "step": (2,)}),
            Sample("reversed", normal(6, 2), {"start": (5, 0), "size": (6, 2), "step": (-1, 1)}),
            Sample("beyond", normal(6), {"start": (4,), "size": (3,), "step": (1,)}, breaks="C3"),
        ),
        flow=Flow.SELECTS,
    )
)


def window_type(types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array("window", types)
    start, steps, shape = attrs["start"], attrs["steps"], attrs["shape"]
    if len(steps) != len(shape) or len(start) != type_.ndim or any(len(s) != type_.ndim for s in steps):
        OPS["window"].fail("C2", f"start {start} and steps {steps} do not fit {type_}")
    if 0 not in shape:
        for axis, length in enumerate(type_.shape):
            reach = [(count - 1) * step[axis] for count, step in zip(shape, steps, strict=True)]
            low = start[axis] + sum(r for r in reach if r < 0)
            high = start[axis] + sum(r for r in reach if r > 0)
            if low < 0 or high >= length:
                OPS["window"].fail("C3", f"elements {low} to {high} do not lie in an axis of length {length}")
    return array_type(shape, type_.dtype)


def window_value(x: Any, start: Any, steps: Any, shape: Any) -> Any:
    x = np.asarray(x)
    strides = tuple(sum(s * t for s, t in zip(step, x.strides, strict=True)) for step in steps)
    if 0 in shape:
        return np.empty(shape, x.dtype)
    index = tuple(slice(first, first + 1) for first in start)
    return as_strided(x[index], shape, strides)


def window_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, attrs = node.inputs[0], node.attrs
    return (b.window_sum(ct, shape=x.shape, start=attrs["start"], steps=attrs["steps"]),)


register(
    OpDef(
        "window",
        "element k is x[start + sum of k[j] * steps[j]]: diagonals, sliding windows, any affine view",
        Kind.VIEW,
        window_type,
        window_value,
        window_vjp,
        (C_ARRAY, "C2: one start an axis of x, one step vector an axis of the result", "C3: all lies in x"),
        (
            Sample("diagonal", normal(3, 4), {"start": (0, 1), "steps": ((1, 1),), "shape": (3,)}),
            Sample("sliding", normal(6), {"start": (0,), "steps": ((1,), (1,)), "shape": (4, 3)}),
            Sample("beyond", normal(6), {"start": (0,), "steps": ((1,), (1,)), "shape": (5, 3)}, breaks="C3"),
        ),
        flow=Flow.SELECTS,
    )
)


def window_sum_type(types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array("window_sum", types)
    base = array_type(attrs["shape"], type_.dtype)
    OPS["window"].type_rule([base], {"start": attrs["start"], "steps": attrs["steps"], "shape": type_.shape})
    return base


def window_sum_value(x: Any, shape: Any, start: Any, steps: Any) -> Any:
    """Adds one window position at a time, over the axes that may meet in one element of the result."""
    x = np.asarray(x)
    total = np.zeros(shape, x.dtype)
    if x.size == 0:
        return total
    seen: set[int] = set()
    loops = []
    for j in sorted(range(x.ndim), key=lambda j: -x.shape[j]):
        moved = {axis for axis, s in enumerate(steps[j]) if s}
        if moved & seen or (not moved and x.shape[j] > 1):
            loops.append(j)
        seen |= moved
    for position in np.ndindex(*(x.shape[j] for j in loops)):
        index: list[Any] = [slice(None)] * x.ndim
        first = list(start)
        kept = [j for j in range(x.ndim) if j not in loops]
        for j, k in zip(loops, position, strict=True):
            index[j] = k
            first = [f + k * s for f, s in zip(first, steps[j], strict=True)]
        target = window_value(
            total, tuple(first), tuple(steps[j] for j in kept), tuple(x.shape[j] for j in kept)
        )
        target += x[tuple(index)]
    return total


def window_sum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    attrs = node.attrs
    return (b.window(ct, start=attrs["start"], steps=attrs["steps"], shape=node.inputs[0].shape),)


register(
    OpDef(
        "window_sum",
        "the transpose of window: add each element k to result[start + sum of k[j] * steps[j]]",
        Kind.OTHER,
        window_sum_type,
        window_sum_value,
        window_sum_vjp,
        (C_ARRAY, "C2, C3: as for window"),
        (
            Sample("diagonal", normal(3), {"start": (0, 1), "steps": ((1, 1),), "shape": (3, 4)}),
            Sample("sliding", normal(4, 3), {"start": (0,), "steps": ((1,), (1,)), "shape": (6,)}),
        ),
        flow=Flow.MOVES,
    )
)


def part_type(name: str, types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array(name, types)
    if type_.dtype.kind != "c":
        OPS[name].fail("C2", f"{type_} is not complex")
    return array_type(type_.shape, np.empty(0, type_.dtype).real.dtype)


def real_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.cast(ct, node.inputs[0].dtype),)


def imag_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x = node.inputs[0]
    return (b.multiply(b.cast(ct, x.dtype), b.scalar(1j, x)),)


for _name, _function, _vjp in (("real", np.real, real_vjp), ("imag", np.imag, imag_vjp)):
    register(
        OpDef(
            _name,
            f"the {_name} part of a complex array",
            Kind.VIEW,
            partial(part_type, _name),
            _function,
            _vjp,
            (C_ARRAY, "C2: the operand is complex"),
            (
                Sample("complex", lambda rng: (rng.normal(size=3) + 1j * rng.normal(size=3),)),
                Sample("float", normal(3), breaks="C2"),
            ),
            flow=Flow.MOVES,
        )
    )


def bitcast_type(types: Sequence[Type], attrs: Attrs) -> Type:
    type_ = _array("bitcast", types)
    dtype = attrs["dtype"]
    shape = type_.shape
    if dtype.itemsize != type_.dtype.itemsize:
        if not shape or shape[-1] * type_.dtype.itemsize % dtype.itemsize:
            OPS["bitcast"].fail("C2", f"the last axis of {type_} is no multiple of {dtype}")
        shape = (*shape[:-1], shape[-1] * type_.dtype.itemsize // dtype.itemsize)
    return array_type(shape, dtype)


def bitcast_value(x: Any, dtype: Any) -> Any:
    x = np.asarray(x)
    try:
        return x.view(dtype)
    except ValueError:  # items of another size in a last axis with gaps
        return np.ascontiguousarray(x).view(dtype)


def bitcast_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Pairs of reals seen as complex numbers, or the reverse: the cotangent is seen the other way back."""
    x = node.inputs[0]
    if {x.dtype.kind, node.dtype.kind} == {"f", "c"} and is_complex(x) != is_complex(node):
        return (b.bitcast(ct, dtype=x.dtype),)
    if x.dtype == node.dtype:
        return (ct,)
    return (None,)


register(
    OpDef(
        "bitcast",
        "the same bytes as another dtype; the last axis grows or shrinks where the item size differs",
        Kind.VIEW,
        bitcast_type,
        bitcast_value,
        bitcast_vjp,
        (C_ARRAY, "C2: the last axis holds a whole number of items"),
        (
            Sample("integers", normal(3), {"dtype": np.dtype("i8")}, differentiable=False),
            Sample("halves", normal(3), {"dtype": np.dtype("f4")}, differentiable=False),
            Sample("pairs", normal(2, 4), {"dtype": np.dtype("c16")}),
            Sample("uneven", normal(3, dtype="f4"), {"dtype": np.dtype("f8")}, breaks="C2"),
        ),
    )
)
