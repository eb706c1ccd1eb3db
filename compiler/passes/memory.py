"""Which nodes share memory, and which can be given memory before the call.

A view lies in the memory of its root: the node below it that was computed, passed in or constant. Planned
roots have a known layout and an op that can write into memory it is given; the others are made by NumPy or
Python when their step runs.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..ir.node import Node
from ..ir.opdef import Kind
from ..ir.record import record
from ..ir.types import ArrayType, ScalarType
from .layout import Layouts
from .strides import Strides
from .views import path_view, view_of

# Ops whose result is the first operand with a part replaced: they may take over a dead first operand.
REPLACES = frozenset({"write", "scatter", "scatter_add", "ufunc_at", "sort", "partition"})

# Ops that native code runs in the memory of a dead first operand.
TAKES_FIRST = REPLACES | {"add_matmul"}

# Ops besides ufuncs that can write into memory they are given.
WRITES_OUT = REPLACES | {
    *("where", "cast", "copy", "reshape", "matmul", "concatenate", "pad", "cumsum", "cumprod"),
    *("sum", "prod", "max", "min", "nanmax", "nanmin", "any", "all"),
}

# Of these, the ones that check values and may raise.
_CHECKS_VALUES = frozenset({"scatter", "scatter_add", "ufunc_at"})


@record(slots=True)
class Memory:
    """Facts about the nodes of one graph.

    `root[n]` is the node whose memory n lies in, `offset[n]` the bytes between their elements 0.
    `planned` are the roots that can be given memory. A view whose place in its root is known only at run
    time has a root but no offset.
    """

    layouts: Layouts
    root: dict[Node, Node]
    offset: dict[Node, int]
    planned: set[Node]

    def strides(self, node: Node) -> Strides | None:
        return self.layouts[node]

    def is_view(self, node: Node) -> bool:
        return self.root[node] is not node


def find_roots(order: Iterable[Node], layouts: Layouts) -> Memory:
    """The roots of all nodes of a topological order."""
    memory = Memory(layouts, {}, {}, set())
    root, offset = memory.root, memory.offset
    for node in order:
        if node.op.kind is Kind.VIEW and node.inputs and _places_view(node, memory):
            continue
        root[node] = node
        offset[node] = 0
        if is_planned(node, layouts[node]):
            memory.planned.add(node)
    return memory


def _places_view(node: Node, memory: Memory) -> bool:
    """Enter a view into the tables; False where the node copies."""
    (x,) = node.inputs
    strides = memory.layouts[x]
    view = None
    if strides is not None:
        view = view_of(node, strides)
        if view is None and node.type.size and node.op.name in ("reshape", "bitcast"):  # type: ignore[union-attr]
            return False
    memory.root[node] = memory.root[x]
    if view is not None and x in memory.offset:
        memory.offset[node] = memory.offset[x] + view[0]
    return True


def is_planned(node: Node, strides: Strides | None) -> bool:
    """Whether the result of this node can be given memory before the call."""
    type_ = node.type
    if strides is None or not isinstance(type_, ArrayType) or not type_.shape or not type_.size:
        return False
    op = node.op
    if op.name == "power":
        return node.attrs["form"] == "ufunc" or power_shortcut(node) is not None
    if op.name == "write":
        return path_view(type_, strides, node.attrs["path"]) is not None
    if op.name in WRITES_OUT:
        return True
    return op.kind is Kind.ELEMENTWISE and isinstance(op.numpy, np.ufunc) and op.numpy.nout == 1


_SHORTCUTS = {2: "square", 1: "positive", -1: "reciprocal", 0.5: "sqrt"}


def power_shortcut(node: Node) -> str | None:
    """The ufunc that NumPy's operator `x ** y` takes for a real floating x and this constant number y."""
    x, y = node.inputs
    if node.attrs["form"] != "array" or not isinstance(y.type, ScalarType) or y.op.name != "constant":
        return None
    if x.dtype != node.dtype or x.dtype.kind != "f" or isinstance(x.type, ScalarType):
        return None
    return _SHORTCUTS.get(y.attrs["value"].value)


def is_exact_in_place(node: Node) -> bool:
    """Whether an elementwise node gives the same bits when its result lies in an operand.

    NumPy's complex products of a single pair round otherwise in place.
    """
    return not (node.op.name in ("multiply", "square") and node.dtype.kind == "c")


def rarely_true(node: Node) -> bool:
    """Whether a condition holds for few elements, as a rule: equality of floats, NaN, infinity."""
    if node.op.name in ("isnan", "isinf"):
        return True
    return node.op.name == "equal" and node.inputs[0].dtype.kind in "fc"


def may_raise(node: Node) -> bool:
    """Whether the node can raise for reasons other than the floating-point error settings."""
    op = node.op
    if op.kind is Kind.VIEW or op.name in ("param", "constant"):
        return False
    if any(not isinstance(operand.type, ArrayType) for operand in node.inputs):
        return True
    if op.name == "power":
        return node.type.dtype.kind not in "fc"  # type: ignore[union-attr]
    if op.name == "cast":  # warns where the imaginary part is lost
        return node.inputs[0].dtype.kind == "c" and node.dtype.kind not in "cb"
    if op.kind is Kind.ELEMENTWISE:
        return not (isinstance(op.numpy, np.ufunc) or op.name in WRITES_OUT)
    return op.name not in WRITES_OUT or op.name in _CHECKS_VALUES
