"""`window_sum` as two kernels: zeros everywhere, then each window position added in place.

Axes that alone move along an axis of the result (the batch) are outermost, where threads share them; window
positions that meet in an element follow one another inside.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.node import Node
from .form import Affine, Arg, Constant, Kernel, Load, Loop, Statement, Store
from .lower import NotLowered, add, reach


def fill_kernel(node: Node, out: Sequence[int]) -> Kernel:
    """Zeros in every element of o0."""
    axes = sorted(range(len(out)), key=lambda axis: -abs(out[axis]))
    place = Affine()
    for axis in axes:
        place = add(place, Affine(0, ((f"i{axis}", out[axis]),)))
    body: list[Statement] = [Store("o0", place, "zero")]
    for number, axis in enumerate(reversed(axes)):
        kind = "vector" if number == 0 else "serial"
        body = [Loop(f"i{axis}", node.shape[axis], kind, tuple(body))]
    zero = Constant("zero", np.zeros((), node.dtype).item(), node.dtype)
    return Kernel("kernel", (_out(node, out),), (zero, *body), parallel=bool(axes))


def window_sum_kernel(node: Node, x: Sequence[int], out: Sequence[int]) -> Kernel:
    """Every element of a0 added to the place in o0 that its window position gives; strides count elements."""
    steps, shape = node.attrs["steps"], node.inputs[0].shape
    start = sum(first * stride for first, stride in zip(node.attrs["start"], out, strict=True))
    moves = [sum(s * stride for s, stride in zip(step, out, strict=True)) for step in steps]
    alone = [axis for axis in range(len(shape)) if _alone(steps, axis)]
    meeting = [axis for axis in range(len(shape)) if axis not in alone]
    vector = next((a for a in sorted(range(len(shape)), key=lambda a: -shape[a]) if moves[a] == 1), None)
    if vector is None:
        raise NotLowered("no axis of a sum of windows is contiguous")
    outer = sorted((a for a in alone if a != vector), key=lambda a: -abs(moves[a]))
    inner = sorted((a for a in meeting if a != vector), key=lambda a: (shape[a], a))
    source, target = Affine(), Affine(start)
    for axis in range(len(shape)):
        source = add(source, Affine(0, ((f"i{axis}", x[axis]),)))
        target = add(target, Affine(0, ((f"i{axis}", moves[axis]),)))
    body: list[Statement] = [Load("term", "a0", source), Store("o0", target, "term", adds=True)]
    for axis in reversed([*outer, *inner, vector]):
        kind = "vector" if axis == vector else "serial"
        body = [Loop(f"i{axis}", shape[axis], kind, tuple(body))]
    low, high = reach(shape, x)
    args = (Arg("a0", node.dtype, "in", low, high), _out(node, out))
    shared = bool(outer) or (vector in alone and not inner)
    return Kernel("kernel", args, tuple(body), parallel=shared)


def _out(node: Node, strides: Sequence[int]) -> Arg:
    low, high = reach(node.shape, strides)
    return Arg("o0", node.dtype, "inout", low, high)


def _alone(steps: Sequence[Sequence[int]], axis: int) -> bool:
    """Whether nothing else moves along the axes of the result that this axis moves along, and it moves."""
    moving = [k for k, step in enumerate(steps[axis]) if step]
    return bool(moving) and not any(
        steps[other][k] for k in moving for other in range(len(steps)) if other != axis
    )
