"""Matrix products: matmul and dot in all their shapes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..promote import operand_node, resolve
from ..traced_array import TracedArray, add_methods
from .elementwise import store
from .registry import implements, known, refuse, trace_of
from .support import out_array


@implements(np.matmul)
def matmul(x1: Any, x2: Any, /, out: Any = None, **options: Any) -> Any:
    """np.matmul: vectors get an axis for the product and lose it after, stacks broadcast."""
    trace = trace_of(x1, x2, out)
    if type(out) is tuple:
        (out,) = out
    given = {name for name, value in options.items() if value is not None} - {"dtype", "casting", "subok"}
    if given:
        raise refuse(f"np.matmul with {'=, '.join(sorted(given))}=")
    x, y = trace.array(x1), trace.array(x2)
    if known(x) and known(y) and out is None:
        return trace.constant(np.matmul(x.known(), y.known(), **options))
    dtypes = resolve(
        np.matmul,
        [x, y],
        [None],
        None if "dtype" not in options else (None, None, np.dtype(options["dtype"])),
    )
    if out is not None:
        # NumPy raises where the result does not cast to the array, before it looks at shapes.
        ndims = [max(v.ndim, 1) for v in (x, y)]
        core = (1,) * sum(min(ndim, 2) - 1 for ndim in ndims)
        first, second = (np.empty((1,) * n, v.dtype) for n, v in zip(ndims, (x, y), strict=True))
        np.matmul(first, second, out=np.empty(core, out_array(trace, out).dtype), **options)
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
        np.matmul(np.empty(x.shape), np.empty(y.shape))
    trace.builder.loc = trace.loc()
    b = trace.builder
    left, right = operand_node(trace, x, dtypes[0]), operand_node(trace, y, dtypes[1])
    rows = (1,) if x.ndim == 1 else ()
    columns = (1,) if y.ndim == 1 else ()
    if rows:
        left = b.reshape(left, (1, *x.shape))
    if columns:
        right = b.reshape(right, (*y.shape, 1))
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    left = b.broadcast_to(left, (*stack, *left.shape[-2:]))
    right = b.broadcast_to(right, (*stack, *right.shape[-2:]))
    same_value = x.storage is not y.storage and left.op.name != "constant" and _base(left) is _base(right)
    node = b.matmul(left, right, **({"distinct": True} if same_value else {}))
    shape = (*stack, *(() if rows else node.shape[-2:-1]), *(() if columns else node.shape[-1:]))
    node = b.reshape(node, shape)
    if out is not None:
        target = out_array(trace, out)
        core = shape[len(stack) :]
        lead = target.ndim - len(core)
        if target.shape[lead:] != core or _misfits(stack, target.shape[:lead]):
            np.matmul(np.empty(x.shape), np.empty(y.shape), out=np.empty(target.shape))
        store(trace, target, node)
        return target
    return trace.result(node)


def _misfits(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether a shape does not broadcast to another."""
    return len(shape) > len(target) or any(
        n not in (1, m) for n, m in zip(reversed(shape), reversed(target), strict=False)
    )


def _base(node: Any) -> Any:
    while node.op.kind.value == "view":
        node = node.inputs[0]
    return node


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """np.dot: a matrix product up to 2-d; sums over the last axis of a and the second-last of b beyond."""
    trace = trace_of(a, b, out)
    x, y = trace.array(a), trace.array(b)
    if not x.ndim or not y.ndim:
        return np.multiply(x, y, **({"out": out} if out is not None else {}))
    if (x.ndim <= 2 and y.ndim <= 2) or y.ndim == 1:
        if x.shape[-1] != y.shape[-2 if y.ndim > 1 else 0]:
            np.dot(np.empty(x.shape), np.empty(y.shape))
        return matmul(x, y, out=out)
    axis = max(y.ndim - 2, 0)
    result = np.tensordot(x, y, ((x.ndim - 1,), (axis,)))
    if out is None:
        return result
    target: TracedArray = trace.lift(out)
    target[...] = result
    return target


add_methods({"dot": np.dot})
