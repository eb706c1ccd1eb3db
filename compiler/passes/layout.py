"""The memory layout that NumPy's own result of each node would have.

Sums and products round by layout, so a plan keeps NumPy's. A layout is the tuple of byte strides; None means
that no rule knows it: such a value is left to NumPy at run time. An op without a rule here is no error; a
rule that differs from NumPy is, and a test runs every op's samples in many layouts to find it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..ir.node import Node
from ..ir.opdef import Kind
from ..ir.types import ArrayType
from ..ops.einsum import split
from .strides import (
    Strides,
    c_strides,
    dense,
    f_strides,
    is_contiguous,
    iteration_order,
    joined_order,
    like_order,
    reduced_order,
    same_layout,
)
from .views import view_of

Layouts = dict[Node, Strides | None]
LayoutRule = Callable[[Node, Sequence[Strides]], Strides | None]


def _c_order(node: Node, operands: Sequence[Strides]) -> Strides:
    return c_strides(node.shape, node.dtype.itemsize)


def _like_first(node: Node, operands: Sequence[Strides]) -> Strides:
    """As a copy of the first operand would lie (order "K")."""
    return like_order(node.shape, operands[0], node.dtype.itemsize)


def _elementwise(node: Node, operands: Sequence[Strides]) -> Strides:
    """Ufuncs and where: the order in which NumPy runs over the operands of the full shape."""
    shape, itemsize = node.shape, node.dtype.itemsize
    full = [(x.dtype.itemsize, strides) for x, strides in zip(node.inputs, operands, strict=True) if x.shape]
    if all(strides == c_strides(shape, size) for size, strides in full):
        return c_strides(shape, itemsize)
    return iteration_order(shape, itemsize, tuple(strides for _, strides in full))


def _reduction(node: Node, operands: Sequence[Strides]) -> Strides:
    """The axes that stay, in the order of the operand's memory."""
    axes, (strides,) = node.attrs["axes"], operands
    kept = tuple(stride for axis, stride in enumerate(strides) if axis not in axes)
    if len(kept) <= 1:
        return c_strides(node.shape, node.dtype.itemsize)
    return iteration_order(node.shape, node.dtype.itemsize, (kept,))


def _stacked(core: tuple[int, ...], result: int) -> LayoutRule:
    """Products and solvers of stacks: the last `result` axes in C order, the stack as the operands lie.

    `core` holds, for each operand, how many of its last axes belong to one product.
    """

    def rule(node: Node, operands: Sequence[Strides]) -> Strides:
        shape, itemsize = node.shape, node.dtype.itemsize
        outer = len(shape) - result
        if outer <= 1:
            return c_strides(shape, itemsize)
        inner = c_strides(shape[outer:], itemsize)
        unit = itemsize * int(np.prod(shape[outer:], dtype=int))
        stacks = tuple(strides[: len(strides) - n] for strides, n in zip(operands, core, strict=True))
        return iteration_order(shape[:outer], unit, stacks) + inner

    return rule


def _copy(node: Node, operands: Sequence[Strides]) -> Strides:
    shape, itemsize, (strides,) = node.shape, node.dtype.itemsize, operands
    order = node.attrs["order"]
    if type(order) is tuple:
        return dense(shape, order, itemsize)
    if order == "A":
        fortran = is_contiguous(shape[::-1], strides[::-1]) and not is_contiguous(shape, strides)
        order = "F" if fortran else "C"
    if order == "K":
        return like_order(shape, strides, itemsize)
    return f_strides(shape, itemsize) if order == "F" else c_strides(shape, itemsize)


def _einsum(node: Node, operands: Sequence[Strides]) -> Strides:
    """The order of NumPy's own loop over the letters of the result, then those that are summed."""
    words, result = split(node.attrs["subscripts"])
    lengths: dict[str, int] = {}
    for word, operand in zip(words, node.inputs, strict=True):
        lengths.update(zip(word, operand.shape, strict=True))
    letters = result + "".join(sorted(set(lengths) - set(result)))
    given = []
    for word, strides in zip(words, operands, strict=True):
        distinct = "".join(dict.fromkeys(word))
        steps = tuple(sum(s for c, s in zip(word, strides, strict=True) if c == d) for d in distinct)
        given.append((steps, tuple(distinct.find(c) for c in letters)))
    shape = tuple(lengths[c] for c in letters)
    return reduced_order(shape, node.dtype.itemsize, tuple(given), len(result))


def _concatenate(node: Node, operands: Sequence[Strides]) -> Strides:
    shapes = [x.shape for x in node.inputs]
    return joined_order(node.shape, node.dtype.itemsize, tuple(zip(shapes, operands, strict=True)))


def _pad(node: Node, operands: Sequence[Strides]) -> Strides:
    x, strides = node.inputs[0], operands[0]
    fortran = is_contiguous(x.shape[::-1], strides[::-1]) and not is_contiguous(x.shape, strides)
    order = f_strides if fortran and _dense(x, strides) else c_strides
    return order(node.shape, node.dtype.itemsize)


def _dense(x: Node, strides: Strides) -> bool:
    return not x.shape or same_layout(x.shape, strides, f_strides(x.shape, x.dtype.itemsize))


def _gather(node: Node, operands: Sequence[Strides]) -> Strides | None:
    """The axes of the index arrays outside the others, unless they stand between them in the result.

    Known where the index arrays lie in C order.
    """
    axes, itemsize = node.attrs["axes"], node.dtype.itemsize
    x, *indices = node.inputs
    for index, strides in zip(indices, operands[1:], strict=True):
        if not same_layout(index.shape, strides, c_strides(index.shape, index.dtype.itemsize)):
            return None
    kept = [axis for axis in range(len(x.shape)) if axis not in axes]
    shape = tuple(x.shape[axis] for axis in kept)
    inner = iteration_order(shape, itemsize, (tuple(operands[0][axis] for axis in kept),)) if kept else ()
    at = axes[0] if axes == tuple(range(axes[0], axes[0] + len(axes))) else 0
    ndim = len(node.shape) - len(kept)
    outer = c_strides(node.shape[at : at + ndim], itemsize * int(np.prod(shape, dtype=int)))
    return (*inner[:at], *outer, *inner[at:])


def _get(node: Node, operands: Sequence[Strides]) -> Strides | None:
    """Numbers that a generator draws lie in C order, but for those it only permutes."""
    made = node.inputs[0]
    drawn = made.op.name == "draw" and made.attrs["method"] != "permuted"
    return _c_order(node, operands) if drawn else None


RULES: dict[str, LayoutRule] = {
    **dict.fromkeys(("cast", "write", "scatter", "scatter_add", "ufunc_at"), _like_first),
    **dict.fromkeys(("sort", "partition", "cumsum", "cumprod", "cummax", "cummin", "roll"), _like_first),
    **dict.fromkeys(("sum", "prod", "max", "min", "nanmax", "nanmin", "any", "all"), _reduction),
    **dict.fromkeys(("reshape", "bitcast", "window", "window_sum", "take", "repeat"), _c_order),
    **dict.fromkeys(("argmax", "argmin", "argsort", "argpartition", "recurrence"), _c_order),
    "matmul": _stacked((2, 2), 2),
    "matvec": _stacked((2, 1), 1),
    "vecmat": _stacked((1, 2), 1),
    "vecdot": _stacked((1, 1), 0),
    "inv": _stacked((2,), 2),
    "cholesky": _stacked((2,), 2),
    "solve": _stacked((2, 2), 2),
    "det": _stacked((2,), 0),
    "copy": _copy,
    "einsum": _einsum,
    "concatenate": _concatenate,
    "pad": _pad,
    "gather": _gather,
    "get": _get,
}


def _is_always_c(node: Node) -> bool:
    """Whether the result lies in C order however the operands lie."""
    product = node.op.name == "matmul" and len(node.shape) <= 3
    return product or (RULES.get(node.op.name) is _c_order and node.op.kind is not Kind.VIEW)


def layout_of(node: Node, layouts: Layouts) -> Strides | None:
    """The layout of NumPy's result of one node, given those of its inputs."""
    type_ = node.type
    if not isinstance(type_, ArrayType):
        return None
    if not type_.shape:
        return ()
    if node.op.name == "constant":
        return node.attrs["value"].value.strides  # type: ignore[no-any-return]
    is_view = node.op.kind is Kind.VIEW
    if len(type_.shape) == 1 and not is_view:
        return (type_.dtype.itemsize,)  # a vector that is made has no gaps
    operands: list[Strides] = []
    for operand in node.inputs:
        strides = layouts[operand] if isinstance(operand.type, ArrayType) else ()
        if strides is None:
            return _c_order(node, ()) if _is_always_c(node) else None
        operands.append(strides)
    if is_view:
        view = view_of(node, operands[0])
        if view is not None:
            return view[1]
    rule = RULES.get(node.op.name)
    if rule is None and node.op.kind is Kind.ELEMENTWISE:
        rule = _elementwise
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
