"""Kernels of gathers and scatters: rows found by index arrays, read or added to one after the other.

Loops are in the order of the axes: those before the indexed ones are outermost, so that memory is read and
written as it lies; an index is looked up again for each of their iterations.

Negative indices count from the end. That an index is in range is checked before: a kernel cannot raise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.node import Node
from ..ir.types import ArrayType
from ..ops.index import place
from .form import Affine, Arg, Compute, Constant, Kernel, Load, Loop, Statement, Store
from .lower import add, reach

I64 = np.dtype(np.int64)
Strides = tuple[int, ...]


def gather_kernel(node: Node, x: Strides, indices: Sequence[Strides], out: Strides) -> Kernel:
    """x[index arrays]: the arguments are a0 (x), a1 … (the index arrays), o0."""
    return _kernel(node, node.inputs[0], list(node.inputs[1:]), x, indices, out, reads=True)


def scatter_kernel(node: Node, base: Strides, value: Strides, indices: Sequence[Strides]) -> Kernel:
    """result[index arrays] (+)= values: o0 is the values, a1 … the index arrays, a0 the result, in place."""
    return _kernel(node, node.inputs[0], list(node.inputs[2:]), base, indices, value, reads=False)


def _kernel(
    node: Node,
    x: Node,
    index_nodes: list[Node],
    own: Strides,
    indices: Sequence[Strides],
    rows: Strides,
    reads: bool,
) -> Kernel:
    axes = node.attrs["axes"]
    common = np.broadcast_shapes(*(i.shape for i in index_nodes))
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    at = place(axes)
    variables = [f"j{k}" for k in range(len(common))]
    inner = [f"i{axis}" for axis in kept]
    order = [*inner[:at], *variables, *inner[at:]]
    row_place = Affine()
    for variable, stride in zip(order, rows, strict=True):
        row_place = add(row_place, Affine(0, ((variable, 1),)), stride)
    x_place = Affine()
    for axis, variable in zip(kept, inner, strict=True):
        x_place = add(x_place, Affine(0, ((variable, 1),)), own[axis])
    finding = _finding(x, axes, index_nodes, indices, common, own)
    row: list[Statement]
    if reads:
        row = [Load("v", "a0", x_place, "place", 1), Store("o0", row_place, "v")]
    else:
        adds = node.op.name == "scatter_add"
        row = [Load("v", "o0", row_place), Store("a0", x_place, "v", "place", 1, adds)]
    extents = dict(zip((*inner, *variables), (*(x.shape[axis] for axis in kept), *common), strict=True))
    body = row
    for variable in reversed(order):
        if variables and variable == variables[-1]:
            body = [*finding, *body]
        contiguous = variable == order[-1] and variable not in variables and own[kept[-1]] == 1
        body = [Loop(variable, extents[variable], "vector" if contiguous else "serial", tuple(body))]
    if not variables:
        body = [*finding, *body]
    args = [_arg("a0", x, own, "in" if reads else "inout")]
    args += [_arg(f"a{k + 1}", i, s, "in") for k, (i, s) in enumerate(zip(index_nodes, indices, strict=True))]
    low, high = reach(node.shape if reads else node.inputs[1].shape, rows)
    args.append(Arg("o0", x.dtype, "out" if reads else "in", low, high))
    return Kernel("kernel", tuple(args), tuple(body), parallel=bool(variables) and (reads or at > 0))


def _arg(name: str, node: Node, strides: Strides, role: str) -> Arg:
    low, high = reach(node.shape, strides)
    return Arg(name, node.dtype, role, low, high)


def _finding(
    x: Node,
    axes: Sequence[int],
    index_nodes: list[Node],
    indices: Sequence[Strides],
    common: tuple[int, ...],
    own: Strides,
) -> list[Statement]:
    """Statements that compute the element offset of the row which the indices point at."""
    made: list[Statement] = [Constant("zero", 0, I64)]
    total = "zero"
    for k, (axis, node, strides) in enumerate(zip(axes, index_nodes, indices, strict=True)):
        assert isinstance(node.type, ArrayType)
        first = len(common) - len(node.shape)
        where = Affine()
        for dimension, (length, stride) in enumerate(zip(node.shape, strides, strict=True)):
            if length > 1:
                where = add(where, Affine(0, ((f"j{first + dimension}", 1),)), stride)
        made += [
            Load(f"raw{k}", f"a{k + 1}", where),
            Compute(f"wide{k}", "cast", (f"raw{k}",), I64),
            Constant(f"length{k}", x.shape[axis], I64),
            Constant(f"step{k}", own[axis], I64),
            Compute(f"below{k}", "less", (f"wide{k}", "zero"), np.dtype(bool)),
            Compute(f"moved{k}", "add", (f"wide{k}", f"length{k}"), I64),
            Compute(f"index{k}", "where", (f"below{k}", f"moved{k}", f"wide{k}"), I64),
            Compute(f"part{k}", "multiply", (f"index{k}", f"step{k}"), I64),
            Compute(f"total{k}", "add", (total, f"part{k}"), I64),
        ]
        total = f"total{k}"
    return [*made, Compute("place", "add", (total, "zero"), I64)]
