"""Rules for functional writes: what is read back, overwritten or added to zeros.

The gradient of reading elements in a loop is a sum of arrays that are zero but for one window each; adding
window by window makes its cost the size of the windows.
"""

from __future__ import annotations

from typing import Any

from ..ir.builder import Builder
from ..ir.node import Node
from ..ops.view import Path, apply_path
from .match import is_zero, size_of
from .rule import SIMPLIFY, Fidelity

_FARTHEST = 32


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
def read_after_write(b: Builder, node: Node) -> Node | None:
    """Looks past writes elsewhere, some way: a walk past all of them would make loops quadratic."""
    base = node.inputs[0]
    for _ in range(_FARTHEST):
        if base.op.name != "write" or not base.attrs["path"]:
            break
        (name, step), *rest = base.attrs["path"]
        if name != "slice":
            break
        written = dict(step)
        if written == node.attrs and all(name == "reshape" for name, _ in rest):
            return b.reshape(base.inputs[1], node.shape)
        if not _apart(written, node.attrs):
            break
        base = base.inputs[0]
    if base is node.inputs[0] or (base.op.name == "write" and not is_zero(base.inputs[0])):
        return None
    return b.make(node.op, (base,), node.attrs)


def _apart(one: Any, two: Any) -> bool:
    """Whether two slices have no element in common: on some axis their ranges do not meet."""
    both = zip(*(_ranges(attrs) for attrs in (one, two)), strict=True)
    return any(a.stop <= b.start or b.stop <= a.start for a, b in both)


def _ranges(attrs: Any) -> list[range]:
    """On each axis the range from the first element in memory to behind the last."""
    found = []
    for first, size, step in zip(attrs["start"], attrs["size"], attrs["step"], strict=True):
        last = first + (size - 1) * step
        found.append(range(min(first, last), max(first, last) + 1) if size else range(0))
    return found


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
