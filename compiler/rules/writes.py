"""Rules for functional writes: what is read back, overwritten or added to zeros.

The gradient of reading elements in a loop is a sum of arrays that are zero but for one window each; adding
window by window makes its cost the size of the windows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs
from ..ops.view import Path, apply_path
from .match import is_zero, size_of
from .rule import SIMPLIFY, Fidelity, RuleBuilder

_FARTHEST = 16


@SIMPLIFY.rule(
    "write(write(x, y, path), z, path) -> write(x, z, path)",
    on="write",
    before="""(%x: f64[5], %y: f64[2], %z: f64[2]) {
      %0: f64[5] = write %x, %y {path=[slice {size=(2,), start=(1,), step=(1,)}]}
      %1: f64[5] = write %0, %z {path=[slice {size=(2,), start=(1,), step=(1,)}]}
      return %1
    }""",
    after="""(%x: f64[5], %y: f64[2], %z: f64[2]) {
      %0: f64[5] = write %x, %z {path=[slice {size=(2,), start=(1,), step=(1,)}]}
      return %0
    }""",
)
def write_twice(b: Builder, node: Node) -> Node | None:
    base, value = node.inputs
    if base.op is not node.op or base.attrs["path"] != node.attrs["path"]:
        return None
    return b.make(node.op, (base.inputs[0], value), node.attrs)


@SIMPLIFY.rule(
    "slice(write(x, y, a slice), the same slice) -> y, a slice elsewhere -> slice(x)",
    on="slice",
    fidelity=Fidelity.VALUES,
    before="""(%x: f64[5], %y: f64[2]) {
      %0: f64[5] = write %x, %y {path=[slice {size=(2,), start=(1,), step=(1,)}]}
      %1: f64[2] = slice %0 {size=(2,), start=(1,), step=(1,)}
      %2: f64[2] = slice %0 {size=(2,), start=(3,), step=(1,)}
      return %1, %2
    }""",
    after="""(%x: f64[5], %y: f64[2]) {
      %0: f64[2] = slice %x {size=(2,), start=(3,), step=(1,)}
      return %y, %0
    }""",
)
def read_after_write(b: RuleBuilder, node: Node) -> Node | None:
    """Jumps over all writes that lie elsewhere together, and looks past some way one by one."""
    base, seen = node.inputs[0], _spans(node.attrs)
    for _ in range(_FARTHEST):
        window = _window(base)
        if window is None:
            break
        if window == node.attrs and all(name == "reshape" for name, _ in base.attrs["path"][1:]):
            return b.reshape(base.inputs[1], node.shape)
        origin, hull = _writes_below(b, base)
        if _apart(hull, seen):
            base = origin
            break
        if not _apart(_spans(window), seen):
            break
        base = base.inputs[0]
    if base is node.inputs[0] or (base.op.name == "write" and not is_zero(base.inputs[0])):
        return None
    return b.make(node.op, (base,), node.attrs)


def _window(node: Node) -> Attrs | None:
    """The attrs of the slice that a write goes through first; None for any other node."""
    if node.op.name != "write" or not node.attrs["path"] or node.attrs["path"][0][0] != "slice":
        return None
    return dict(node.attrs["path"][0][1])


Spans = tuple[tuple[int, int], ...]


def _writes_below(b: RuleBuilder, node: Node) -> tuple[Node, Spans]:
    """What a chain of writes through slices began with, and the box that holds all their windows."""
    known: dict[Node, tuple[Node, Spans]] = b.notes.setdefault(_writes_below, {})
    pending: list[tuple[Node, Spans]] = []
    while node not in known:
        window = _window(node)
        if window is None:
            break
        pending.append((node, _spans(window)))
        node = node.inputs[0]
    origin, hull = known.get(node, (node, ()))
    for write, spans in reversed(pending):
        pairs = zip(hull, spans, strict=True) if hull else [(span, span) for span in spans]
        hull = tuple([(min(low, start), max(high, stop)) for (low, high), (start, stop) in pairs])
        known[write] = origin, hull
    return origin, hull


def _apart(one: Spans, two: Spans) -> bool:
    """Whether two boxes have no element in common: on some axis their spans do not meet."""
    return any(high <= start or stop <= low for (low, high), (start, stop) in zip(one, two, strict=True))


def _spans(attrs: Attrs) -> Spans:
    """On each axis the first index of a slice, and the one behind the last."""
    return _spans_of(attrs["start"], attrs["size"], attrs["step"])


@lru_cache(maxsize=4096)
def _spans_of(start: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> Spans:
    found = []
    for first, count, stride in zip(start, size, step, strict=True):
        last = first + (count - 1) * stride
        found.append((min(first, last), max(first, last) + 1) if count else (first, first))
    return tuple(found)


def _is_one_to_one(path: Path) -> bool:
    return all(name in ("slice", "reshape", "transpose") for name, _ in path)


def _window_of_zeros(node: Node) -> bool:
    """Whether a node is zero but for a window smaller than half of it."""
    return (
        node.op.name == "write"
        and is_zero(node.inputs[0])
        and 2 * size_of(node.inputs[1]) <= size_of(node)
        and _is_one_to_one(node.attrs["path"])
    )


@SIMPLIFY.rule(
    "add(x, write(zeros, y, path)) -> write(x, add(x seen through the path, y), path)",
    on="add",
    fidelity=Fidelity.ROUNDING,
    lowers="work",
    before="""(%x: f64[9], %y: f64[2]) {
      %0: f64[] = constant {value=f64(0.0)}
      %1: f64[9] = broadcast %0 {axes=(), shape=(9,)}
      %2: f64[9] = write %1, %y {path=[slice {size=(2,), start=(1,), step=(1,)}]}
      %3: f64[9] = add %x, %2
      return %3
    }""",
    after="""(%x: f64[9], %y: f64[2]) {
      %0: f64[2] = slice %x {size=(2,), start=(1,), step=(1,)}
      %1: f64[2] = add %0, %y
      %2: f64[9] = write %x, %1 {path=[slice {size=(2,), start=(1,), step=(1,)}]}
      return %2
    }""",
)
def add_window(b: Builder, node: Node) -> Node | None:
    for total, window in (node.inputs, node.inputs[::-1]):
        if _window_of_zeros(window) and total.type == node.type:
            path = window.attrs["path"]
            return b.write(total, b.add(apply_path(b, total, path), window.inputs[1]), path=path)
    return None


@SIMPLIFY.rule(
    "add(x, scatter_add(zeros, y, indices)) -> scatter_add(x, y, indices)",
    on="add",
    fidelity=Fidelity.ROUNDING,
    lowers="work",
    before="""(%x: f64[9], %y: f64[2], %i: i64[2]) {
      %0: f64[] = constant {value=f64(0.0)}
      %1: f64[9] = broadcast %0 {axes=(), shape=(9,)}
      %2: f64[9] = scatter_add %1, %y, %i {axes=(0,)}
      %3: f64[9] = add %2, %x
      return %3
    }""",
    after="""(%x: f64[9], %y: f64[2], %i: i64[2]) {
      %0: f64[9] = scatter_add %x, %y, %i {axes=(0,)}
      return %0
    }""",
)
def add_scattered(b: RuleBuilder, node: Node) -> Node | None:
    """A table that is looked up twice gets both cotangents in one array."""
    for total, scattered in (node.inputs, node.inputs[::-1]):
        if scattered.op.name != "scatter_add" or not is_zero(scattered.inputs[0]):
            continue
        if total.type == node.type and not b.is_shared(scattered):
            return b.make(scattered.op, (total, *scattered.inputs[1:]), scattered.attrs)
    return None


@SIMPLIFY.rule(
    "write(x, y, the whole of x) -> y",
    on="write",
    fidelity=Fidelity.VALUES,
    lowers="work",
    before="""(%x: f64[2,3], %y: f64[3,2]) {
      %0: f64[2,3] = write %x, %y {path=[transpose {axes=(1, 0)}]}
      return %0
    }""",
    after="""(%x: f64[2,3], %y: f64[3,2]) {
      %0: f64[2,3] = transpose %y {axes=(1, 0)}
      return %0
    }""",
)
def write_whole(b: Builder, node: Node) -> Node | None:
    base, value = node.inputs
    if size_of(base) != size_of(value):
        return None
    shape = base.shape
    undo: list[tuple[str, Any]] = []
    for name, step in node.attrs["path"]:
        attrs = dict(step)
        if name == "reshape":
            undo.append((name, {"shape": shape}))
            shape = attrs["shape"]
        elif name == "transpose":
            axes = attrs["axes"]
            undo.append((name, {"axes": tuple(axes.index(axis) for axis in range(len(axes)))}))
            shape = tuple(shape[axis] for axis in axes)
        elif name != "slice" or any(step < 0 for step in attrs["step"]):
            return None
    for name, attrs in reversed(undo):
        value = getattr(b, name)(value, **attrs)
    return value
