"""What derivative rules ask about nodes: numbers, squares, sums of squares, where a value varies.

Rules meet graphs as they were traced, so one thing has many spellings here: a square is `square(u)`,
`u * u` or `u ** 2`, a kept axis is a reshape, a repeated value is a broadcast.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import NotDifferentiable
from ..ir.record import record
from ..ir.types import ScalarType
from ..ops.reduction import expand
from .match import scalar_value


def number(node: Node) -> Any:
    """The number that a constant is everywhere, through casts and broadcasts; None for any other node."""
    while node.op.name in ("cast", "broadcast", "reshape"):
        node = node.inputs[0]
    return scalar_value(node)


def is_number(node: Node, value: complex) -> bool:
    """Whether the node is this number everywhere."""
    found = number(node)
    return found is not None and bool(found == value)


def real_number(node: Node) -> float | None:
    """A real constant as a float, None for any other node."""
    found = number(node)
    return None if found is None or isinstance(found, complex) or found != found else float(found)


def power_of(node: Node) -> tuple[Node, float] | None:
    """(u, n) where the node is u to the constant power n: square, u * u, u ** n, sqrt, cbrt, 1 / u."""
    name = node.op.name
    if name == "multiply":
        return (node.inputs[0], 2.0) if node.inputs[0] is node.inputs[1] else None
    if name in ("power", "float_power"):
        exponent = real_number(node.inputs[1])
        return None if exponent is None else (node.inputs[0], exponent)
    exponent = {"square": 2.0, "sqrt": 0.5, "cbrt": 1 / 3, "reciprocal": -1.0}.get(name)
    return None if exponent is None else (node.inputs[0], exponent)


def unboxed(node: Node) -> Node:
    """The Python number that a node casts to an array, or the node itself."""
    boxed = node.op.name == "cast" and isinstance(node.inputs[0].type, ScalarType)
    return node.inputs[0] if boxed else node


def uncast(node: Node) -> Node:
    """The value below casts between floating-point dtypes."""
    while node.op.name == "cast" and node.dtype.kind == node.inputs[0].dtype.kind == "f":
        node = node.inputs[0]
    return node


def square_of(node: Node) -> Node | None:
    """u where the node is u * u."""
    found = power_of(node)
    return found[0] if found is not None and found[1] == 2 else None


def size_of(node: Node) -> tuple[Node, ...] | None:
    """The values whose common size the node is: |u|, or hypot(u, v)."""
    return node.inputs if node.op.name in ("absolute", "fabs", "hypot") else None


def vjp_of(b: Builder, node: Node, ct: Node) -> Node:
    """What the node's own vjp hands to its first operand."""
    assert not isinstance(node.op.vjp, NotDifferentiable)
    part = node.op.vjp(b, node, ct)[0]
    assert part is not None
    return part


@record(slots=True)
class Viewed:
    """A value seen through reshapes, transposes and slices, the last one first."""

    node: Node
    views: tuple[Node, ...]

    def put_back(self, b: Builder, value: Node) -> Node:
        """A value of the view's shape in the place of what it shows, zeros elsewhere."""
        for view in self.views:
            value = vjp_of(b, view, value)
        return value

    def lift(self, b: Builder) -> Callable[[Node], Node] | None:
        """What a contribution through these views does to a mask; None without views."""
        if not self.views:
            return None

        def lift(mask: Node) -> Node:
            moved = self.put_back(b, b.cast(mask, self.node.dtype))
            return b.not_equal(moved, b.scalar(0, moved))

        return lift


def viewed(node: Node) -> Viewed:
    """The node below a chain of such views, or the Python number that it is."""
    views = []
    while node.op.name in ("reshape", "transpose", "slice"):
        views.append(node)
        node = node.inputs[0]
    return Viewed(unboxed(node), tuple(views))


@record(slots=True)
class Source:
    """A value and, for each axis of what it was spread to, its own axis there; None where it is repeated."""

    node: Node
    axes: tuple[int | None, ...]

    def seen(self, shape: tuple[int, ...]) -> list[int]:
        """The source's axes that are longer than 1, in the order in which the spread value has them."""
        return [
            axis for axis, length in zip(self.axes, shape, strict=True) if axis is not None and length > 1
        ]


def source_of(node: Node) -> Source:
    """What a chain of broadcasts and reshapes that only add or drop axes of length 1 was made from."""
    axes: list[int | None] = list(range(len(node.shape)))
    while True:
        if node.op.name == "broadcast":
            place: dict[int, int] | None = {axis: k for k, axis in enumerate(node.attrs["axes"])}
        elif node.op.name == "reshape":
            place = _unit_reshape(node.inputs[0].shape, node.shape)
        else:
            place = None
        if place is None:
            return Source(node, tuple(axes))
        axes = [None if axis is None else place.get(axis) for axis in axes]
        node = node.inputs[0]


def _unit_reshape(before: tuple[int, ...], after: tuple[int, ...]) -> dict[int, int] | None:
    """Which axis each longer axis was, if a reshape only adds and drops axes of length 1."""
    old = [axis for axis, length in enumerate(before) if length != 1]
    new = [axis for axis, length in enumerate(after) if length != 1]
    if [before[axis] for axis in old] != [after[axis] for axis in new]:
        return None
    return dict(zip(new, old, strict=True))


def is_constant_along(node: Node, axes: tuple[int, ...]) -> bool:
    """Whether a value is seen to be repeated along these axes."""
    if not node.shape:
        return True
    source = source_of(node)
    return all(source.axes[axis] is None or node.shape[axis] == 1 for axis in axes)


@record(slots=True)
class Reduced:
    """A sum over axes, seen through reshapes that keep or drop axes of length 1."""

    total: Node
    terms: Node
    axes: tuple[int, ...]

    def lift(self, b: Builder, value: Node) -> Node:
        """Repeat a value of the sum's shape, axes kept or not, along the summed axes."""
        return expand(b, b.reshape(value, self.total.shape), self.axes, self.terms.shape)

    def is_lifted(self, node: Node, value: Node) -> bool:
        """Whether the node is `value`, which has the sum's shape, repeated along the summed axes."""
        if node.shape != self.terms.shape:
            return False
        source, own = source_of(node), source_of(value)
        kept = [axis for axis in range(len(node.shape)) if axis not in self.axes]
        repeated = all(source.axes[axis] is None or node.shape[axis] == 1 for axis in self.axes)
        return repeated and source.node is own.node and self._same_axes(source, own, node, value, kept)

    def _same_axes(self, source: Source, own: Source, node: Node, value: Node, kept: list[int]) -> bool:
        there = [source.axes[axis] for axis in kept if node.shape[axis] != 1]
        here = [axis for axis, length in zip(own.axes, value.shape, strict=True) if length != 1]
        return there == here


def sum_of(node: Node) -> Reduced | None:
    """The sum that a node is, through reshapes that keep or drop axes of length 1."""
    source = source_of(node)
    total = source.node
    if total.op.name != "sum" or node.op.name == "broadcast" or total.dtype != total.inputs[0].dtype:
        return None
    if any(axis is None and length != 1 for axis, length in zip(source.axes, node.shape, strict=True)):
        return None
    return Reduced(total, total.inputs[0], total.attrs["axes"])
