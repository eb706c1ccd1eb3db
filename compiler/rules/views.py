"""Rules for views: identities fall away, chains become one view. Values and strides stay what they were.

A `reshape` may have to copy, and then its result has C order whatever it looked at; so in what the user wrote
two of them become one only where the first cannot copy. Transposes move inwards, broadcasts outwards.
"""

from __future__ import annotations

from ..ir.builder import Builder
from ..ir.node import Node
from .match import without_unit_axes
from .rule import CANONICAL, Fidelity


@CANONICAL.rule(
    "mark(x) -> x, stop_gradient(x) -> x",
    on=("mark", "stop_gradient"),
    before="(%x: f64[3]) { %0: f64[3] = mark %x {tag=0} return %0 }",
    after="(%x: f64[3]) { return %x }",
)
def erase_identity(b: Builder, node: Node) -> Node | None:
    """Differentiation is over when this runs."""
    return node.inputs[0]


@CANONICAL.rule(
    "limit(x, at) -> x",
    on="limit",
    fidelity=Fidelity.VALUES,
    before="(%x: f64[3], %y: f64[3]) { %0: f64[3] = limit %x, %y return %0 }",
    after="(%x: f64[3], %y: f64[3]) { return %x }",
)
def erase_limit(b: Builder, node: Node) -> Node | None:
    return node.inputs[0]


@CANONICAL.rule(
    "transpose(x, identity) -> x",
    on="transpose",
    before="(%x: f64[2,3]) { %0: f64[2,3] = transpose %x {axes=(0, 1)} return %0 }",
    after="(%x: f64[2,3]) { return %x }",
)
def transpose_identity(b: Builder, node: Node) -> Node | None:
    axes = node.attrs["axes"]
    return node.inputs[0] if axes == tuple(range(len(axes))) else None


@CANONICAL.rule(
    "transpose(transpose(x, p), q) -> transpose(x, p[q])",
    on="transpose",
    before="""(%x: f64[2,3,4]) {
      %0: f64[3,4,2] = transpose %x {axes=(1, 2, 0)}
      %1: f64[4,3,2] = transpose %0 {axes=(1, 0, 2)}
      return %1
    }""",
    after="""(%x: f64[2,3,4]) {
      %0: f64[4,3,2] = transpose %x {axes=(2, 1, 0)}
      return %0
    }""",
)
def transpose_transpose(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "transpose":
        return None
    return b.transpose(inner.inputs[0], axes=tuple(inner.attrs["axes"][axis] for axis in node.attrs["axes"]))


@CANONICAL.rule(
    "transpose(broadcast(x)) -> broadcast(transpose(x))",
    on="transpose",
    lowers="views around broadcasts",
    before="""(%x: f64[2,3]) {
      %0: f64[2,4,3] = broadcast %x {axes=(0, 2), shape=(2, 4, 3)}
      %1: f64[3,4,2] = transpose %0 {axes=(2, 1, 0)}
      return %1
    }""",
    after="""(%x: f64[2,3]) {
      %0: f64[3,2] = transpose %x {axes=(1, 0)}
      %1: f64[3,4,2] = broadcast %0 {axes=(0, 2), shape=(3, 4, 2)}
      return %1
    }""",
)
def transpose_broadcast(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "broadcast":
        return None
    (x,) = inner.inputs
    places = [node.attrs["axes"].index(axis) for axis in inner.attrs["axes"]]
    order = tuple(sorted(range(len(places)), key=places.__getitem__))
    return b.broadcast(b.transpose(x, axes=order), axes=tuple(sorted(places)), shape=node.shape)


@CANONICAL.rule(
    "reshape(x, its own shape) -> x",
    on="reshape",
    before="(%x: f64[2,3]) { %0: f64[2,3] = reshape %x {shape=(2, 3)} return %0 }",
    after="(%x: f64[2,3]) { return %x }",
)
def reshape_identity(b: Builder, node: Node) -> Node | None:
    return node.inputs[0] if node.inputs[0].type == node.type else None


@CANONICAL.rule(
    "reshape(reshape(x)) -> reshape(x)  where the inner one cannot copy",
    on="reshape",
    before="""(%x: f64[64]) {
      %0: f64[64,1] = reshape %x {shape=(64, 1)}
      %1: f64[8,8] = reshape %0 {shape=(8, 8)}
      return %1
    }""",
    after="""(%x: f64[64]) {
      %0: f64[8,8] = reshape %x {shape=(8, 8)}
      return %0
    }""",
)
def reshape_reshape(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "reshape" or not (node.loc.backward or never_copies(inner)):
        return None
    return b.make(node.op, inner.inputs, node.attrs)


def never_copies(reshape: Node) -> bool:
    """Whether a reshape is a view whatever the strides: each axis that is not 1 stays whole or is split."""
    old, new = (without_unit_axes(shape) for shape in (reshape.inputs[0].shape, reshape.shape))
    if 0 in old or old == new:
        return True
    place = 0
    for length in old:
        while length > 1 and place < len(new) and length % new[place] == 0:
            length //= new[place]
            place += 1
        if length != 1:
            return False
    return place == len(new)


@CANONICAL.rule(
    "broadcast(x, no new axes) -> x",
    on="broadcast",
    before="(%x: f64[3]) { %0: f64[3] = broadcast %x {axes=(0,), shape=(3,)} return %0 }",
    after="(%x: f64[3]) { return %x }",
)
def broadcast_identity(b: Builder, node: Node) -> Node | None:
    return node.inputs[0] if node.inputs[0].type == node.type else None


@CANONICAL.rule(
    "broadcast(broadcast(x)) -> broadcast(x)",
    on="broadcast",
    before="""(%x: f64[]) {
      %0: f64[3] = broadcast %x {axes=(), shape=(3,)}
      %1: f64[3,2] = broadcast %0 {axes=(0,), shape=(3, 2)}
      return %1
    }""",
    after="""(%x: f64[]) {
      %0: f64[3,2] = broadcast %x {axes=(), shape=(3, 2)}
      return %0
    }""",
)
def broadcast_broadcast(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "broadcast":
        return None
    axes = tuple(node.attrs["axes"][axis] for axis in inner.attrs["axes"])
    return b.broadcast(inner.inputs[0], axes=axes, shape=node.shape)


def _unit_axes_gone(axes: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(axis for axis in axes if shape[axis] != 1)


@CANONICAL.rule(
    "broadcast(reshape(x, axes of length 1 added)) -> broadcast(x)",
    on="broadcast",
    before="""(%x: f64[3]) {
      %0: f64[3,1] = reshape %x {shape=(3, 1)}
      %1: f64[2,3,1] = broadcast %0 {axes=(1, 2), shape=(2, 3, 1)}
      return %1
    }""",
    after="""(%x: f64[3]) {
      %0: f64[2,3,1] = broadcast %x {axes=(1,), shape=(2, 3, 1)}
      return %0
    }""",
)
def broadcast_reshape(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "reshape" or inner.inputs[0].shape != without_unit_axes(inner.shape):
        return None
    return b.broadcast(
        inner.inputs[0], axes=_unit_axes_gone(node.attrs["axes"], node.shape), shape=node.shape
    )


@CANONICAL.rule(
    "reshape(broadcast(0-d)) -> broadcast(0-d); likewise where only axes of length 1 come and go",
    on="reshape",
    before="""(%x: f64[], %y: f64[3]) {
      %0: f64[4] = broadcast %x {axes=(), shape=(4,)}
      %1: f64[2,2] = reshape %0 {shape=(2, 2)}
      %2: f64[2,1,3] = broadcast %y {axes=(2,), shape=(2, 1, 3)}
      %3: f64[2,3] = reshape %2 {shape=(2, 3)}
      return %1, %3
    }""",
    after="""(%x: f64[], %y: f64[3]) {
      %0: f64[2,2] = broadcast %x {axes=(), shape=(2, 2)}
      %1: f64[2,3] = broadcast %y {axes=(1,), shape=(2, 3)}
      return %0, %1
    }""",
)
def reshape_broadcast(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "broadcast":
        return None
    (x,) = inner.inputs
    if not x.shape:
        return b.broadcast(x, axes=(), shape=node.shape)
    if 1 in x.shape or without_unit_axes(node.shape) != without_unit_axes(inner.shape):
        return None
    old = _unit_axes_gone(tuple(range(len(inner.shape))), inner.shape)
    new = _unit_axes_gone(tuple(range(len(node.shape))), node.shape)
    axes = tuple(new[old.index(axis)] for axis in inner.attrs["axes"])
    return b.broadcast(x, axes=axes, shape=node.shape)


@CANONICAL.rule(
    "slice(x, all of it) -> x",
    on="slice",
    before="(%x: f64[4]) { %0: f64[4] = slice %x {size=(4,), start=(0,), step=(1,)} return %0 }",
    after="(%x: f64[4]) { return %x }",
)
def slice_identity(b: Builder, node: Node) -> Node | None:
    (x,) = node.inputs
    if x.type != node.type:
        return None
    whole = all(step == 1 or n <= 1 for step, n in zip(node.attrs["step"], x.shape, strict=True))
    return x if whole else None


@CANONICAL.rule(
    "slice(slice(x)) -> slice(x)",
    on="slice",
    before="""(%x: f64[9]) {
      %0: f64[4] = slice %x {size=(4,), start=(1,), step=(2,)}
      %1: f64[2] = slice %0 {size=(2,), start=(3,), step=(-2,)}
      return %1
    }""",
    after="""(%x: f64[9]) {
      %0: f64[2] = slice %x {size=(2,), start=(7,), step=(-4,)}
      return %0
    }""",
)
def slice_slice(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "slice":
        return None
    outer = zip(node.attrs["start"], node.attrs["step"], strict=True)
    places = list(zip(inner.attrs["start"], inner.attrs["step"], outer, strict=True))
    return b.slice(
        inner.inputs[0],
        start=tuple(first + start * stride for first, stride, (start, _) in places),
        size=node.attrs["size"],
        step=tuple(stride * step for _, stride, (_, step) in places),
    )


@CANONICAL.rule(
    "slice(broadcast(x)) -> broadcast(slice(x))",
    on="slice",
    lowers="views around broadcasts",
    before="""(%x: f64[4]) {
      %0: f64[3,4] = broadcast %x {axes=(1,), shape=(3, 4)}
      %1: f64[2,2] = slice %0 {size=(2, 2), start=(1, 0), step=(1, 2)}
      return %1
    }""",
    after="""(%x: f64[4]) {
      %0: f64[2] = slice %x {size=(2,), start=(0,), step=(2,)}
      %1: f64[2,2] = broadcast %0 {axes=(1,), shape=(2, 2)}
      return %1
    }""",
)
def slice_broadcast(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "broadcast":
        return None
    axes = inner.attrs["axes"]
    part = {key: tuple(node.attrs[key][axis] for axis in axes) for key in ("start", "size", "step")}
    return b.broadcast(b.slice(inner.inputs[0], **part), axes=axes, shape=node.shape)


@CANONICAL.rule(
    "bitcast(bitcast(x)) -> bitcast(x), and x where the dtype is its own",
    on="bitcast",
    before="""(%x: f64[3]) {
      %0: i64[3] = bitcast %x {dtype=i64}
      %1: f64[3] = bitcast %0 {dtype=f64}
      return %1
    }""",
    after="(%x: f64[3]) { return %x }",
)
def bitcast_bitcast(b: Builder, node: Node) -> Node | None:
    (inner,) = node.inputs
    if inner.type == node.type:
        return inner
    if inner.op.name != "bitcast" or inner.shape != inner.inputs[0].shape:
        return None
    return b.bitcast(inner.inputs[0], dtype=node.dtype)


@CANONICAL.rule(
    "reshape(transpose(x, axes of length 1 moved)) -> reshape(x)",
    on="reshape",
    before="""(%x: f64[4,1]) {
      %0: f64[1,4] = transpose %x {axes=(1, 0)}
      %1: f64[2,2] = reshape %0 {shape=(2, 2)}
      return %1
    }""",
    after="""(%x: f64[4,1]) {
      %0: f64[2,2] = reshape %x {shape=(2, 2)}
      return %0
    }""",
)
def reshape_transpose(b: Builder, node: Node) -> Node | None:
    inner = node.inputs[0]
    if inner.op.name != "transpose":
        return None
    (x,) = inner.inputs
    moved = [axis for axis in inner.attrs["axes"] if x.shape[axis] != 1]
    return b.make(node.op, inner.inputs, node.attrs) if moved == sorted(moved) else None
