"""Where a view lies in the memory of its input: byte offset of element 0 and strides, or None for a copy."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS
from ..ir.types import ArrayType
from ..ops.view import Path
from .strides import Strides, reshape_strides

Seen = tuple[int, Strides]


def view_of(node: Node, strides: Strides) -> Seen | None:
    """Byte offset and strides of a view node in the memory of its input; None where NumPy copies."""
    (x,) = node.inputs
    rule = VIEWS.get(node.op.name)
    if rule is None or not isinstance(node.type, ArrayType) or not isinstance(x.type, ArrayType):
        return None
    return rule(node, x, strides) if x.type.size and node.type.size else None


@lru_cache(maxsize=4096)
def path_nodes(type_: ArrayType, path: Path) -> tuple[Node, ...]:
    """The view nodes of a path on an array of this type, which is the input of the first."""
    builder = Builder()
    made = [builder.param("base", type_)]
    for name, attrs in path:
        made.append(builder.make(OPS[name], (made[-1],), dict(attrs)))
    return tuple(made[1:])


@lru_cache(maxsize=4096)
def path_view(type_: ArrayType, strides: Strides, path: Path) -> tuple[int, ArrayType, Strides] | None:
    """Offset, type and strides of what a path of views shows of an array; None where a step copies."""
    offset = 0
    seen = type_
    for node in path_nodes(type_, path):
        view = view_of(node, strides)
        if view is None:
            return None
        offset += view[0]
        strides = view[1]
        assert isinstance(node.type, ArrayType)
        seen = node.type
    return offset, seen, strides


def _identity(node: Node, x: Node, strides: Strides) -> Seen:
    return 0, strides


def _reshape(node: Node, x: Node, strides: Strides) -> Seen | None:
    result = reshape_strides(x.shape, strides, node.shape, x.dtype.itemsize)
    return None if result is None else (0, result)


def _transpose(node: Node, x: Node, strides: Strides) -> Seen:
    return 0, tuple([strides[axis] for axis in node.attrs["axes"]])


def _broadcast(node: Node, x: Node, strides: Strides) -> Seen:
    result = [0] * len(node.shape)
    for axis, stride in zip(node.attrs["axes"], strides, strict=True):
        result[axis] = stride
    return 0, tuple(result)


def _slice(node: Node, x: Node, strides: Strides) -> Seen:
    attrs = node.attrs
    offset = sum(first * stride for first, stride in zip(attrs["start"], strides, strict=True))
    return offset, tuple(step * stride for step, stride in zip(attrs["step"], strides, strict=True))


def _window(node: Node, x: Node, strides: Strides) -> Seen:
    attrs = node.attrs
    offset = sum(first * stride for first, stride in zip(attrs["start"], strides, strict=True))
    steps = [sum(s * t for s, t in zip(step, strides, strict=True)) for step in attrs["steps"]]
    return offset, tuple(steps)


def _imag(node: Node, x: Node, strides: Strides) -> Seen:
    return node.dtype.itemsize, strides


def _bitcast(node: Node, x: Node, strides: Strides) -> Seen | None:
    """The last axis must be dense where its length changes."""
    old, new = x.dtype.itemsize, node.dtype.itemsize
    if old == new:
        return 0, strides
    dense = strides[-1] == old or x.shape[-1] == 1
    return (0, (*strides[:-1], new)) if dense else None


VIEWS: dict[str, Callable[[Node, Node, Strides], Seen | None]] = {
    "mark": _identity,
    "stop_gradient": _identity,
    "reshape": _reshape,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "slice": _slice,
    "window": _window,
    "real": _identity,
    "imag": _imag,
    "bitcast": _bitcast,
}
