"""The memory layout that NumPy's own result of each node would have.

Sums and products round by layout, so a plan keeps NumPy's. A layout is the tuple of byte strides; None means
that no rule knows it: such a value is left to NumPy at run time. Strides of axes of length 1 mean nothing.
What NumPy does is asked of NumPy (`iteration_order`), once for each combination of strides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Kind
from ..ir.types import ArrayType
from ..ops.view import Path

Strides = tuple[int, ...]
Layouts = dict[Node, Strides | None]
LayoutRule = Callable[[Node, Sequence[Strides]], Strides | None]


@lru_cache(maxsize=65536)
def c_strides(shape: tuple[int, ...], itemsize: int) -> Strides:
    """The strides of a C-contiguous array; an axis without elements counts as one of length 1."""
    strides = [itemsize] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * (shape[axis + 1] or 1)
    return tuple(strides)


def f_strides(shape: tuple[int, ...], itemsize: int) -> Strides:
    """The strides of a Fortran-contiguous array."""
    return c_strides(shape[::-1], itemsize)[::-1]


def same_layout(shape: tuple[int, ...], first: Strides, second: Strides) -> bool:
    """Whether two strides mean the same memory for this shape."""
    return first == second or all(a == b or n <= 1 for a, b, n in zip(first, second, shape, strict=True))


def extent(shape: tuple[int, ...], strides: Strides, itemsize: int) -> tuple[int, int]:
    """The first byte and the byte after the last, counted from element 0; (0, 0) for no elements."""
    low, high = 0, itemsize
    for length, stride in zip(shape, strides, strict=True):
        if not length:
            return 0, 0
        reach = (length - 1) * stride
        if reach < 0:
            low += reach
        else:
            high += reach
    return low, high


def example(shape: tuple[int, ...], strides: Strides, itemsize: int) -> np.ndarray[Any, Any]:
    """An array of these strides whose values mean nothing; its memory is never touched."""
    low, high = extent(shape, strides, itemsize)
    memory = np.empty(high - low, np.uint8)
    return np.ndarray(shape, f"V{itemsize}", memory, -low, strides)


@lru_cache(maxsize=4096)
def iteration_order(shape: tuple[int, ...], itemsize: int, operands: tuple[Strides, ...]) -> Strides:
    """The strides of the result that `nditer` allocates over operands of these strides (ufuncs, where)."""
    if 0 in shape or not shape:
        return c_strides(shape, itemsize)
    arrays = [example(shape, strides, 1) for strides in operands]
    iterator = np.nditer(
        [*arrays, None],
        ["refs_ok"],
        [["readonly"]] * len(arrays) + [["writeonly", "allocate"]],
        op_dtypes=[array.dtype for array in arrays] + [np.dtype(f"V{itemsize}")],
        order="K",
    )
    return iterator.operands[-1].strides  # type: ignore[no-any-return]


@lru_cache(maxsize=4096)
def like_order(shape: tuple[int, ...], strides: Strides, itemsize: int) -> Strides:
    """The strides of a copy with order "K": dense, the axes in the order of their strides."""
    order = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    if _is_contiguous(shape, strides):
        order = list(range(len(shape)))
    elif _is_contiguous(shape[::-1], strides[::-1]):
        order.sort(reverse=True)
    result = [0] * len(shape)
    step = itemsize
    for axis in reversed(order):
        result[axis] = step
        step *= shape[axis]
    return tuple(result)


def _is_contiguous(shape: tuple[int, ...], strides: Strides) -> bool:
    """Whether the strides are C-contiguous for some item size."""
    lengths = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    return all(
        s == n_next * s_next for (_, s), (n_next, s_next) in zip(lengths, lengths[1:], strict=False)
    ) and (not lengths or lengths[-1][1] > 0)


@lru_cache(maxsize=65536)
def reshape_strides(
    shape: tuple[int, ...], strides: Strides, result: tuple[int, ...], itemsize: int
) -> Strides | None:
    """The strides that show the elements, in C order, in another shape; None where a copy is needed.

    The algorithm of NumPy's reshape: axes are matched in groups of equal product, and each group of the old
    ones must be contiguous in itself.
    """
    if strides == c_strides(shape, itemsize):
        return c_strides(result, itemsize)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    made: list[int] = []
    position = 0
    start = 0
    while start < len(result):
        stop = start + 1
        if result[start] == 1:
            made.append(itemsize)
            start = stop
            continue
        length, (reach, stride) = result[start], old[position]
        position += 1
        while length != reach:
            if length < reach:
                length *= result[stop]
                stop += 1
            else:
                count, inner = old[position]
                if stride != count * inner:
                    return None
                reach, stride = reach * count, inner
                position += 1
        made += [step * stride for step in c_strides(result[start:stop], 1)]
        start = stop
    return tuple(made)


def view_of(node: Node, strides: Strides) -> tuple[int, Strides] | None:
    """Byte offset and strides of a view node in the memory of its input; None where NumPy copies."""
    (x,) = node.inputs
    if not isinstance(node.type, ArrayType) or not isinstance(x.type, ArrayType):
        return None
    rule = _VIEWS.get(node.op.name)
    if rule is None or not x.type.size or not node.type.size:
        return None
    return rule(node, x, strides)


def _identity_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides]:
    return 0, strides


def _reshape_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides] | None:
    result = reshape_strides(x.shape, strides, node.shape, x.dtype.itemsize)
    return None if result is None else (0, result)


def _transpose_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides]:
    return 0, tuple([strides[axis] for axis in node.attrs["axes"]])


def _broadcast_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides] | None:
    axes = node.attrs["axes"]
    if list(axes) != sorted(axes):
        return None
    result = [0] * len(node.shape)
    for axis, stride in zip(axes, strides, strict=True):
        result[axis] = stride
    return 0, tuple(result)


def _slice_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides]:
    attrs = node.attrs
    offset = sum(first * stride for first, stride in zip(attrs["start"], strides, strict=True))
    return offset, tuple(step * stride for step, stride in zip(attrs["step"], strides, strict=True))


def _window_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides]:
    attrs = node.attrs
    offset = sum(first * stride for first, stride in zip(attrs["start"], strides, strict=True))
    steps = [sum(s * t for s, t in zip(step, strides, strict=True)) for step in attrs["steps"]]
    return offset, tuple(steps)


def _real_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides]:
    return 0, strides


def _imag_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides]:
    return node.dtype.itemsize, strides


def _bitcast_view(node: Node, x: Node, strides: Strides) -> tuple[int, Strides] | None:
    old, new = x.dtype.itemsize, node.dtype.itemsize
    if old == new:
        return 0, strides
    if x.shape[-1] != 1 and strides[-1] != old:
        return None
    return 0, (*strides[:-1], new)


_VIEWS: dict[str, Callable[[Node, Node, Strides], tuple[int, Strides] | None]] = {
    "mark": _identity_view,
    "stop_gradient": _identity_view,
    "reshape": _reshape_view,
    "transpose": _transpose_view,
    "broadcast": _broadcast_view,
    "slice": _slice_view,
    "window": _window_view,
    "real": _real_view,
    "imag": _imag_view,
    "bitcast": _bitcast_view,
}


def _elementwise(node: Node, operands: Sequence[Strides]) -> Strides:
    """Ufuncs and where: the order in which `nditer` runs over the operands of the full shape."""
    shape, itemsize = node.shape, node.dtype.itemsize
    full = [(x.dtype.itemsize, strides) for x, strides in zip(node.inputs, operands, strict=True) if x.shape]
    if all(strides == c_strides(shape, size) for size, strides in full):
        return c_strides(shape, itemsize)
    return iteration_order(shape, itemsize, tuple(strides for _, strides in full))


def _cast(node: Node, operands: Sequence[Strides]) -> Strides:
    return like_order(node.shape, operands[0], node.dtype.itemsize)


def _reduction(node: Node, operands: Sequence[Strides]) -> Strides:
    """The axes that stay, in the order of the operand's memory."""
    axes, (strides,) = node.attrs["axes"], operands
    kept = tuple(stride for axis, stride in enumerate(strides) if axis not in axes)
    if len(kept) <= 1:
        return c_strides(node.shape, node.dtype.itemsize)
    return iteration_order(node.shape, node.dtype.itemsize, (kept,))


def _matmul(node: Node, operands: Sequence[Strides]) -> Strides:
    """Matrices in C order, stacks of them in the order of the operands' stacking axes."""
    shape, itemsize = node.shape, node.dtype.itemsize
    if len(shape) <= 3:
        return c_strides(shape, itemsize)
    core = c_strides(shape[-2:], itemsize)
    outer = tuple(strides[:-2] for strides in operands)
    return iteration_order(shape[:-2], itemsize * shape[-2] * shape[-1], outer) + core


def _copy(node: Node, operands: Sequence[Strides]) -> Strides:
    itemsize = node.dtype.itemsize
    order = node.attrs["order"]
    if order == "F":
        return f_strides(node.shape, itemsize)
    if order == "C":
        return c_strides(node.shape, itemsize)
    if order == "A" and _is_contiguous(node.shape[::-1], operands[0][::-1]):
        return (
            f_strides(node.shape, itemsize)
            if not _is_contiguous(node.shape, operands[0])
            else c_strides(node.shape, itemsize)
        )
    return c_strides(node.shape, itemsize) if order == "A" else like_order(node.shape, operands[0], itemsize)


def _write(node: Node, operands: Sequence[Strides]) -> Strides:
    return like_order(node.shape, operands[0], node.dtype.itemsize)


def _c_order(node: Node, operands: Sequence[Strides]) -> Strides:
    return c_strides(node.shape, node.dtype.itemsize)


RULES: dict[str, LayoutRule] = {
    "cast": _cast,
    "sum": _reduction,
    "max": _reduction,
    "min": _reduction,
    "matmul": _matmul,
    "copy": _copy,
    "write": _write,
    "reshape": _c_order,
    "bitcast": _c_order,
    "window": _c_order,
}


def layout_of(node: Node, layouts: Layouts) -> Strides | None:
    """The layout of NumPy's result of one node, given those of its inputs."""
    type_ = node.type
    if not isinstance(type_, ArrayType):
        return None
    if not type_.shape:
        return ()
    if node.op.name == "constant":
        return node.attrs["value"].value.strides  # type: ignore[no-any-return]
    operands: list[Strides] = []
    for operand in node.inputs:
        strides = layouts[operand] if isinstance(operand.type, ArrayType) else ()
        if strides is None:
            return _c_order(node, ()) if node.op.name == "matmul" and len(node.shape) <= 3 else None
        operands.append(strides)
    if node.op.kind is Kind.VIEW:
        view = view_of(node, operands[0])
        if view is not None:
            return view[1]
    rule = RULES.get(node.op.name) or (_elementwise if node.op.kind is Kind.ELEMENTWISE else None)
    return None if rule is None else rule(node, operands)


def assign_layouts(order: Iterable[Node], params: Sequence[Node], given: Sequence[Strides | None]) -> Layouts:
    """The layout of every node of a topological order; None where it is not known before the call.

    `given` holds the byte strides of each param, None for C order and for what is no array.
    """
    layouts: Layouts = {}
    for param, strides in zip(params, given, strict=True):
        type_ = param.type
        if strides is None and isinstance(type_, ArrayType):
            strides = c_strides(type_.shape, type_.dtype.itemsize)
        layouts[param] = strides
    for node in order:
        if node not in layouts:
            layouts[node] = layout_of(node, layouts)
    return layouts


@lru_cache(maxsize=4096)
def path_view(type_: ArrayType, strides: Strides, path: Path) -> tuple[int, ArrayType, Strides] | None:
    """Offset, type and strides of what a path of views shows of an array; None where a step copies."""
    builder = Builder()
    node = builder.param("base", type_)
    offset = 0
    for name, attrs in path:
        seen = builder.make(OPS[name], (node,), dict(attrs))
        view = view_of(seen, strides)
        if view is None:
            return None
        offset += view[0]
        node, strides = seen, view[1]
    assert isinstance(node.type, ArrayType)
    return offset, node.type, strides
