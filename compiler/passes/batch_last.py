"""Convolutions with the batch innermost: one transposing copy at the entry, every vector full.

A contraction of windows runs along an axis that no window slides over, if there is a long one: its operands
are laid out with that axis last. What is computed from its result keeps that order of axes: elementwise
ops, reductions, pooling by reshapes, writes of zeros around it. Others see a transposed view, which a matrix
product takes as it is. So a stack of convolutions transposes its input once. Values change by rounding only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.opdef import OPS, Attrs, Kind
from ..ir.types import ArrayType
from ..kernel.lower import REDUCTIONS
from ..ops.view import path_step

SHORTEST = 8
Order = tuple[int, ...]


def batch_last(graph: Graph) -> Graph:
    """The graph with the operands of its convolutions laid out for vectors along the batch."""
    if not any(node.op.name == "contract_windows" for node in graph.nodes):
        return graph
    return _Mover(graph).run()


class _Mover:
    """`moved` holds values in another order of axes: axis k there is axis order[k] of the node."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.b = Builder()
        self.new: dict[Node, Node] = {param: param for param in graph.params}
        self.moved: dict[Node, tuple[Node, Order]] = {}

    def run(self) -> Graph:
        for node in self.graph.nodes:
            if node in self.new:
                continue
            self.b.loc = node.loc
            handler = _handler(node)
            found = handler(self, node) if handler is not None else None
            if found is None:
                self.new[node] = self.b.again(node, tuple(self.plain(o) for o in node.inputs))
            else:
                self.moved[node] = found
        return Graph(self.graph.name, self.graph.params, tuple(self.plain(o) for o in self.graph.outputs))

    def plain(self, node: Node) -> Node:
        """The value in its own order of axes."""
        if node not in self.new:
            made, order = self.moved[node]
            self.new[node] = self.b.transpose(made, axes=_inverse(order))
        return self.new[node]

    def ordered(self, node: Node, order: Order) -> Node:
        """The value in this order of axes."""
        if node in self.moved and self.moved[node][1] == order:
            return self.moved[node][0]
        x = self.plain(node)
        return x if order == tuple(range(len(order))) else self.b.transpose(x, axes=order)

    def laid_out(self, node: Node, order: Order) -> Node:
        """The value in memory in this order of axes; what is written into is laid out before the write."""
        around: list[tuple[Node, Node]] = []
        while node not in self.moved and _in_slice(node):
            around.append((node, node.inputs[0]))
            node = node.inputs[1]
        made = self.ordered(node, order)
        if order != tuple(range(len(order))):
            made = self.b.copy(made, order="C")
        for write, base in reversed(around):
            made = self.written(write, self.ordered(base, order), made, order)
        return made

    def written(self, write: Node, base: Node, value: Node, order: Order) -> Node:
        """A write into a slice in another order of axes."""
        ((_, parts),) = write.attrs["path"]
        attrs = {name: tuple(part[axis] for axis in order) for name, part in parts}
        return self.b.write(base, value, path=(path_step("slice", **attrs),))


def _in_slice(node: Node) -> bool:
    """Whether a node is a write into a slice."""
    return node.op.name == "write" and len(node.attrs["path"]) == 1 and node.attrs["path"][0][0] == "slice"


def _inverse(order: Order) -> Order:
    return tuple(order.index(axis) for axis in range(len(order)))


def _handler(node: Node) -> Callable[[_Mover, Node], tuple[Node, Order] | None] | None:
    if not isinstance(node.type, ArrayType) or not all(isinstance(o.type, ArrayType) for o in node.inputs):
        return None
    if node.op.kind is Kind.ELEMENTWISE:
        return _elementwise
    if node.op.name in REDUCTIONS:
        return _reduction
    return _HANDLERS.get(node.op.name)


# ---- contractions


def _contraction(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    """Both operands and the result with the axis to run along last."""
    attrs = dict(node.attrs)
    vector = _vector(node)
    if vector is None:
        return None
    operands = []
    for side, x in zip(("left", "right"), node.inputs, strict=True):
        steps = attrs[f"{side}_steps"]
        axis = next((k for k, step in enumerate(steps[vector]) if step), None)
        made, order = self.moved.get(x, (None, ()))
        if axis is None:
            order = tuple(range(len(x.shape)))
            made = self.plain(x)
        elif made is None or order[-1] != axis:
            order = (*(k for k in range(len(x.shape)) if k != axis), axis)
            made = self.laid_out(x, order)
        operands.append(made)
        attrs[f"{side}_steps"] = tuple(tuple(step[k] for k in order) for step in steps)
        attrs[f"{side}_start"] = tuple(attrs[f"{side}_start"][k] for k in order)
    kept = attrs["kept"]
    order = tuple(range(kept))
    if vector < kept:
        order = (*(k for k in order if k != vector), vector)
    places = (*order, *range(kept, len(attrs["extents"])))
    for name in ("extents", "left_steps", "right_steps"):
        attrs[name] = tuple(attrs[name][k] for k in places)
    if attrs.get("result"):
        shape, start, steps = attrs["result"]
        axis = steps[vector].index(1)
        steps = [steps[k] for k in order]
        order = (*(k for k in range(len(shape)) if k != axis), axis)
        shape, start = (tuple(part[k] for k in order) for part in (shape, start))
        attrs["result"] = shape, start, tuple(tuple(step[k] for k in order) for step in steps)
    return self.b.make(OPS["contract_windows"], operands, attrs), order


def _vector(node: Node) -> int | None:
    """The axis to run along: long, and alone in moving along one axis of an operand, or of both."""
    attrs = node.attrs
    sides = attrs["left_steps"], attrs["right_steps"]

    def alone(steps: Sequence[tuple[int, ...]], axis: int) -> bool:
        moving = [k for k, step in enumerate(steps[axis]) if step]
        if not moving:
            return True
        (k, *others) = moving
        return not others and steps[axis][k] == 1 and not any(s[k] for i, s in enumerate(steps) if i != axis)

    found = [
        axis
        for axis, extent in enumerate(attrs["extents"])
        if extent >= SHORTEST
        and all(alone(steps, axis) for steps in sides)
        and (any(sides[0][axis]) or any(sides[1][axis]))
        and _of_batch(axis, attrs)
        and _through(axis, attrs)
    ]
    kept, extents = attrs["kept"], attrs["extents"]
    summed = _sums_the_data(attrs)
    return max(found, key=lambda axis: ((axis >= kept) == summed, extents[axis]), default=None)


def _sums_the_data(attrs: Attrs) -> bool:
    """Whether the longer axis of a sliding pair is summed, and so the batch: a gradient to the weights."""
    kept, extents = attrs["kept"], attrs["extents"]
    for steps in (attrs["left_steps"], attrs["right_steps"]):
        for k in range(len(steps[0])):
            pair = [axis for axis, step in enumerate(steps) if step[k]]
            if len(pair) == 2 and pair[0] < kept <= pair[1]:
                return bool(extents[pair[1]] > extents[pair[0]])
    return False


def _through(axis: int, attrs: Attrs) -> bool:
    """Whether an axis runs alone through an axis of the result, where sums are added to that."""
    if not attrs.get("result"):
        return True
    shape, _, steps = attrs["result"]
    if axis >= attrs["kept"]:
        return False
    moving = [k for k, step in enumerate(steps[axis]) if step]
    if len(moving) != 1 or steps[axis][moving[0]] != 1:
        return False
    (k,) = moving
    return shape[k] == attrs["extents"][axis] and not any(s[k] for i, s in enumerate(steps) if i != axis)


def _of_batch(axis: int, attrs: Attrs) -> bool:
    """Whether an axis runs through the data: the operand that windows slide over, or come from."""
    sides = attrs["left_steps"], attrs["right_steps"]
    if attrs.get("result"):
        places = attrs["result"][2]
        meeting = [k for k, step in enumerate(places) if any(map(bool, step)) and not _lone(places, k)]
        reach = [math.prod(attrs["extents"][k] for k in meeting if any(steps[k])) for steps in sides]
        return any(sides[reach[1] > reach[0]][axis])
    return any(
        any(steps[axis]) and any(sum(bool(s[k]) for s in steps) > 1 for k in range(len(steps[0])))
        for steps in sides
    )


def _lone(steps: Sequence[Sequence[int]], axis: int) -> bool:
    """Whether no other axis moves where this one does."""
    return not any(
        a and b for k, other in enumerate(steps) if k != axis for a, b in zip(steps[axis], other, strict=True)
    )


# ---- what keeps the order


def _elementwise(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    order = next((self.moved[o][1] for o in node.inputs if o in self.moved and o.shape == node.shape), None)
    if order is None or order == tuple(range(len(order))):
        return None
    operands = tuple(self.ordered(o, order) if o.shape else self.plain(o) for o in node.inputs)
    return self.b.make(node.op, operands, node.attrs), order


def _reduction(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    (x,) = node.inputs
    if x not in self.moved:
        return None
    made, order = self.moved[x]
    axes = node.attrs["axes"]
    attrs = {**node.attrs, "axes": tuple(sorted(order.index(axis) for axis in axes))}
    kept = [axis for axis in range(len(order)) if axis not in axes]
    rest = tuple(kept.index(axis) for axis in order if axis not in axes)
    return self.b.make(node.op, (made,), attrs), rest


def _transpose(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    (x,) = node.inputs
    if x not in self.moved:
        return None
    made, order = self.moved[x]
    axes = node.attrs["axes"]
    return made, tuple(axes.index(axis) for axis in order)


def _reshape(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    """Axes split, merged where they stay together, or of length 1 gone and come."""
    (x,) = node.inputs
    if x not in self.moved:
        return None
    made, order = self.moved[x]
    groups = _groups(x.shape, node.shape)
    if groups is None:
        return None
    place: dict[int, list[int]] = {}
    for sources, results in groups:
        at = [order.index(axis) for axis in sources]
        if at != list(range(at[0], at[0] + len(at))):
            return None
        place[at[0]] = results
    wanted = [axis for first in sorted(place) for axis in place[first]]
    lone = [axis for axis in range(len(node.shape)) if axis not in wanted]
    result = (*lone, *wanted)
    return self.b.reshape(made, tuple(node.shape[axis] for axis in result)), result


def _groups(source: Sequence[int], result: Sequence[int]) -> list[tuple[list[int], list[int]]] | None:
    """Axes of both shapes in the smallest groups of equal size; axes of length 1 stand in none."""
    if 0 in source:
        return None
    left = [axis for axis, n in enumerate(source) if n != 1]
    right = [axis for axis, n in enumerate(result) if n != 1]
    found: list[tuple[list[int], list[int]]] = []
    while left:
        mine, its = [left.pop(0)], [right.pop(0)]
        m, n = source[mine[0]], result[its[0]]
        while m != n:
            if m < n:
                mine.append(left.pop(0))
                m *= source[mine[-1]]
            else:
                its.append(right.pop(0))
                n *= result[its[-1]]
        found.append((mine, its))
    return found


def _broadcast(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    """New axes stand after the axis that they follow in the value."""
    (x,) = node.inputs
    if x not in self.moved:
        return None
    made, order = self.moved[x]
    axes = node.attrs["axes"]
    result = [axes[axis] for axis in order]
    for axis in range(len(node.shape)):
        if axis not in axes:
            result.insert(result.index(axis - 1) + 1 if axis else 0, axis)
    attrs = {
        "axes": tuple(result.index(axes[axis]) for axis in order),
        "shape": tuple(node.shape[axis] for axis in result),
    }
    if list(attrs["axes"]) != sorted(attrs["axes"]):
        return None
    return self.b.make(OPS["broadcast"], (made,), attrs), tuple(result)


def _slice(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    (x,) = node.inputs
    if x not in self.moved:
        return None
    made, order = self.moved[x]
    attrs = {name: tuple(node.attrs[name][axis] for axis in order) for name in ("start", "size", "step")}
    return self.b.make(OPS["slice"], (made,), attrs), order


def _write(self: _Mover, node: Node) -> tuple[Node, Order] | None:
    """A write into a slice, of a value that is in another order, or into a base that is."""
    base, value = node.inputs
    if not _in_slice(node) or not (base in self.moved or value in self.moved):
        return None
    order = self.moved[value if value in self.moved else base][1]
    return self.written(node, self.ordered(base, order), self.ordered(value, order), order), order


_HANDLERS: dict[str, Callable[[_Mover, Node], tuple[Node, Order] | None]] = {
    "contract_windows": _contraction,
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "slice": _slice,
    "write": _write,
}
