"""What a chain of views shows of an array, axis by axis, merged and split axes included.

Each axis of the view is a list of factors, outermost first; a factor has a length and moves through the base
by a step vector. So a reshape of a window is no copy here: it regroups factors. Axes of length 1 have none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..ir.node import Node
from ..ir.record import record, replace
from ..ops.einsum import split

Steps = tuple[int, ...]
Factor = tuple[int, Steps]
Axes = tuple[tuple[Factor, ...], ...]


@record
class Seen:
    """A view of `base`: its element 0 lies at `start`, each axis is a list of factors."""

    base: Node
    start: Steps
    axes: Axes

    def shows_more(self) -> bool:
        """Whether it shows elements twice, as sliding windows do; repetition by broadcasting aside."""
        shown = 1
        for axis in self.axes:
            for extent, steps in axis:
                shown *= extent if any(steps) else 1
        size = 1
        for length in self.base.shape:
            size *= length
        return shown > size


def unit(axis: int, ndim: int, step: int = 1) -> Steps:
    """A step along one axis."""
    return tuple(step * (k == axis) for k in range(ndim))


def whole(node: Node) -> Seen:
    """An array as a view of itself."""
    ndim = len(node.shape)
    axes = tuple(((n, unit(k, ndim)),) if n != 1 else () for k, n in enumerate(node.shape))
    return Seen(node, (0,) * ndim, axes)


def times(steps: Steps, factor: int) -> Steps:
    """A step vector taken several times."""
    return tuple(factor * step for step in steps)


def plus(a: Steps, b: Steps) -> Steps:
    """The sum of two step vectors."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def chain(node: Node) -> list[Node]:
    """The node and the views below it, outermost first, down to what is no view."""
    found = [node]
    while found[-1].op.name in _VIEWS and len(found[-1].inputs) == 1:
        found.append(found[-1].inputs[0])
    return found


def seen(node: Node) -> Seen:
    """What a node shows of the array at the end of its chain of views, or as far as factors can say it."""
    *views, base = chain(node)
    found = whole(base)
    for view in reversed(views):
        found = through(found, view) or whole(view)
    return found


def through(inner: Seen, view: Node) -> Seen | None:
    """What a view of a view shows; None where factors cannot say it."""
    return _VIEWS[view.op.name](inner, view)


def regroup(factors: Sequence[Factor], shape: Sequence[int]) -> Axes | None:
    """Factors dealt out to axes of these lengths, split where they have to be."""
    pending = [factor for factor in reversed(factors) if factor[0] != 1]
    axes: list[tuple[Factor, ...]] = []
    for length in shape:
        group: list[Factor] = []
        while length > 1:
            extent, steps = pending.pop()
            taken = min(extent, length)
            if length % taken or extent % taken:
                return None
            if extent > taken:
                pending.append((extent // taken, steps))
            group.append((taken, times(steps, extent // taken)))
            length //= taken
        axes.append(tuple(group))
    return tuple(axes)


def refine(a: Sequence[Factor], b: Sequence[Factor]) -> list[tuple[int, Steps, Steps]] | None:
    """Two lists of factors of one product as one list of common factors."""
    left, right = list(a), list(b)
    found: list[tuple[int, Steps, Steps]] = []
    while left and right:
        (m, first), (n, second) = left.pop(), right.pop()
        taken = min(m, n)
        if m % taken or n % taken:
            return None
        found.append((taken, first, second))
        if m > taken:
            left.append((m // taken, times(first, taken)))
        if n > taken:
            right.append((n // taken, times(second, taken)))
    return found[::-1]


# ---- the views


def _same(inner: Seen, view: Node) -> Seen:
    return inner


def _transpose(inner: Seen, view: Node) -> Seen:
    return replace(inner, axes=tuple(inner.axes[axis] for axis in view.attrs["axes"]))


def _reshape(inner: Seen, view: Node) -> Seen | None:
    if 0 in view.shape:
        return None
    axes = regroup([factor for axis in inner.axes for factor in axis], view.shape)
    return None if axes is None else replace(inner, axes=axes)


def _broadcast(inner: Seen, view: Node) -> Seen:
    still = (0,) * len(inner.base.shape)
    kept = dict(zip(view.attrs["axes"], inner.axes, strict=True))
    axes = tuple(kept.get(k, ((n, still),) if n != 1 else ()) for k, n in enumerate(view.shape))
    return replace(inner, axes=axes)


def _moved(inner: Seen, start: Sequence[int], moves: Sequence[Steps], shape: Sequence[int]) -> Seen | None:
    """A view whose axes take the given moves along the inner one's axes, from a first element there."""
    if any(len(axis) > 1 for axis in inner.axes) or 0 in shape:
        return None
    still = (0,) * len(inner.base.shape)
    units = [axis[0][1] if axis else still for axis in inner.axes]

    def place(move: Sequence[int]) -> Steps:
        total = still
        for count, steps in zip(move, units, strict=True):
            total = plus(total, times(steps, count))
        return total

    axes = tuple(((n, place(move)),) if n != 1 else () for n, move in zip(shape, moves, strict=True))
    return Seen(inner.base, plus(inner.start, place(start)), axes)


def _slice(inner: Seen, view: Node) -> Seen | None:
    attrs, ndim = view.attrs, len(view.shape)
    moves = [unit(axis, ndim, step) for axis, step in enumerate(attrs["step"])]
    return _moved(inner, attrs["start"], moves, view.shape)


def _window(inner: Seen, view: Node) -> Seen | None:
    return _moved(inner, view.attrs["start"], view.attrs["steps"], view.shape)


def _einsum(inner: Seen, view: Node) -> Seen | None:
    """Axes in another order; summed ones have to be of length 1."""
    (letters, *others), result = split(view.attrs["subscripts"])
    if others or len(set(letters)) != len(letters):
        return None
    axes = dict(zip(letters, inner.axes, strict=True))
    if any(axes[letter] for letter in letters if letter not in result):
        return None
    return replace(inner, axes=tuple(axes[letter] for letter in result))


_VIEWS: dict[str, Callable[[Seen, Node], Seen | None]] = {
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "slice": _slice,
    "window": _window,
    "einsum": _einsum,
    "copy": _same,
    "mark": _same,
    "stop_gradient": _same,
}
