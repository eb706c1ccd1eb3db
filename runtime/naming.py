"""Names for the values of a plan in the function that is being written.

Planned memory is bound beforehand; views of what exists only during the call (params, fresh and runtime
values) are made once a function, where they are first read.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ArrayType
from ..compiler.passes.strides import Strides
from ..compiler.passes.views import path_nodes, path_view
from ..compiler.plan import Place, Plan, Step, Value
from .arena import window
from .scope import Scope, Window


class Naming:
    """Names of values and of windows on them.

    `aside` gives values that are committed directly an array of their own. The Names protocol of the kernel
    rows is met by this class.
    """

    def __init__(self, plan: Plan, *, aside: bool) -> None:
        self.plan = plan
        self.aside = aside
        self.scope = self.new_scope()
        self.slots: dict[Any, int] = {}
        self.views: dict[int, list[int]] = defaultdict(list)
        self._made_as: dict[int, Value] = {}
        self._spelled_out: dict[Any, Any] = {}
        self._constants: dict[Node, Any] = {}
        self._scalars: dict[Node, Any] = {}
        root: list[int] = []
        for number, value in enumerate(plan.values):
            root.append(number if value.base is None else root[value.base])
            if value.base is not None:
                self.views[root[number]].append(number)
            elif value.place is Place.FRESH and value.buffer is not None:
                self._made_as[value.buffer] = value
        for result, target in zip(plan.results, plan.targets, strict=True):
            # A NumPy scalar is taken out of whatever holds it.
            if result is not None and target.kind == "fresh" and plan.values[result].place is Place.FRESH:
                buffer = plan.values[result].buffer
                assert buffer is not None
                self._made_as[buffer] = plan.values[result]

    def new_scope(self) -> Scope:
        """The scope of the next function."""
        return Scope(len(self.plan.graph.params))

    def bind(self, thing: Any, hint: str = "c") -> str:
        return self.scope.bind(thing, hint)

    def bits(self, name: str, itemsize: int) -> str:
        return self.scope.bits(name, itemsize)

    def in_shape(self, name: str, shape: tuple[int, ...]) -> str:
        return self.scope.in_shape(name, shape)

    def full(self, value: Any, shape: tuple[int, ...]) -> str:
        """A constant array full of a value."""
        key = value.dtype, value.tobytes(), shape
        if key not in self._spelled_out:
            self._spelled_out[key] = np.full(shape, value)
        return self.bind(self._spelled_out[key], "constant")

    def name(self, number: int) -> str:
        """The name of a value, or an expression for it that costs nothing."""
        value = self.plan.values[number]
        place = value.place
        if place is Place.CONSTANT:
            return self.bind(self._constant(value.node), "constant")
        if place is Place.ARENA:
            return self._window(value, value.offset, value.type, value.strides)
        if value.base is not None and not self.is_whole(value):
            return self._view(number, value)
        if place is Place.RUNTIME:
            return self.crossing(number)
        assert value.buffer is not None
        if place is Place.FRESH:
            return self._fresh(number, value, value.buffer)
        if value.first >= 0 and self.aside:
            return self.crossing(("aside", value.buffer))
        return self.param(value.buffer)

    def scalar(self, number: int) -> str:
        """The name of a 0-d value, a constant as a NumPy scalar."""
        value = self.plan.values[number]
        if value.node.op.name != "constant":
            return self.name(number)
        if value.node not in self._scalars:
            self._scalars[value.node] = value.node.attrs["value"].value[()]
        return self.bind(self._scalars[value.node], "scalar")

    def whole(self, buffer: int) -> Value:
        """What the array of a fresh buffer is made as: the result."""
        return self._made_as[buffer]

    def is_whole(self, value: Value) -> bool:
        """Whether a value is just what the array of its fresh buffer is made as."""
        if value.place is not Place.FRESH or value.buffer is None:
            return False
        made = self._made_as[value.buffer]
        return made.type == value.type and made.strides == value.strides and made.offset == value.offset

    def param(self, buffer: int) -> str:
        """The caller's array of a param's buffer."""
        position = self.plan.buffers[buffer].param
        assert position is not None
        return self.scope.param(position)

    def crossing(self, key: Any) -> str:
        """The local of something made during the call; an earlier function may have left it in S."""
        name = self.scope.locals.get(key)
        if name is None:
            letter, number = ("d", key) if isinstance(key, int) else (key[0][0], key[1])
            name = self.scope.locals[key] = f"{letter}{number}"
            if key in self.slots:
                self.scope.line(f"{name} = S[{self.slots[key]}]")
        return name

    def _window(self, value: Value, offset: int, type_: Any, strides: Strides | None) -> str:
        assert value.buffer is not None
        assert strides is not None
        start = self.plan.buffers[value.buffer].offset + offset
        return self.bind(Window(start, type_.shape, type_.dtype, strides), "a")

    def _constant(self, node: Node) -> Any:
        """The value of a constant, or of a view of one, computed here and now."""
        if node.op.name == "constant":
            return node.attrs["value"].value
        if node not in self._constants:
            chain = [node]
            while chain[-1].op.name != "constant":
                chain.append(chain[-1].inputs[0])
            array = chain.pop().attrs["value"].value
            for view in reversed(chain):
                array = view.op.numpy(array, **view.attrs)
            self._constants[node] = array
        return self._constants[node]

    def _fresh(self, number: int, value: Value, buffer: int) -> str:
        """The array of a fresh buffer is made as the result is; other values in it are windows."""
        whole = self.crossing(("fresh", buffer))
        if self.is_whole(value):
            return whole
        assert isinstance(value.type, ArrayType)
        arguments = f"{whole}, {value.type.shape!r}, {self.bind(value.type.dtype, 'dtype')}"
        make = f"{self.bind(window, 'window')}({arguments}, {value.offset}, {value.strides!r})"
        return self.scope.local(("view", number), "s", number, make)

    def _view(self, number: int, value: Value) -> str:
        known = self.scope.locals.get(("view", number))
        if known is not None:
            return known
        assert value.base is not None
        base = self.name(value.base)
        if value.node.op.name in ("mark", "stop_gradient"):
            return base
        make = self.view_source(value.node, base, known=value.strides is not None)
        return self.scope.local(("view", number), "s", number, make)

    def view_source(self, node: Node, x: str, *, known: bool = True) -> str:
        """The expression of a view; `known` says that its operand is an array of a known layout."""
        name, attrs = node.op.name, node.attrs
        if known and node.inputs[0].shape:
            if name == "transpose":
                return f"{x}.transpose({attrs['axes']!r})"
            if name == "reshape":
                return f"{x}.reshape({attrs['shape']!r})"
            if name == "slice":
                return f"{x}[{slice_source(attrs)}]"
            if name in ("real", "imag"):
                return f"{x}.{name}"
        keywords = [f"{key}={self.bind(item, key)}" for key, item in sorted(attrs.items())]
        return f"{self.bind(node.op.numpy, name)}({', '.join([x, *keywords])})"

    def broadcastable(self, number: int) -> str:
        """A name for an operand that NumPy will repeat: what it repeats, instead of the repeated value."""
        value = self.plan.values[number]
        if value.node.op.name != "broadcast" or value.base is None:
            return self.name(number)
        shape = getattr(self.plan.values[value.base].type, "shape", ())
        axes, wide = value.node.attrs["axes"], value.node.attrs["shape"]
        if not shape:
            return self.broadcastable(value.base)
        if value.place in (Place.ARENA, Place.CONSTANT):
            return self.name(number)
        if axes == tuple(range(len(wide) - len(shape), len(wide))):
            return self.name(value.base)
        narrow = [1] * (len(wide) - axes[0])
        for axis, length in zip(axes, shape, strict=True):
            narrow[axis - axes[0]] = length
        make = f"{self.name(value.base)}.reshape({tuple(narrow)!r})"
        return self.scope.local(("narrow", number), "n", number, make)

    def part(self, step: Step) -> str:
        """The part of a write's result that its path shows."""
        output, path = self.plan.values[step.output], step.node.attrs["path"]
        assert isinstance(output.type, ArrayType)
        if output.place is Place.ARENA:
            assert output.strides is not None
            view = path_view(output.type, output.strides, path)
            assert view is not None, "the path of a planned write shows memory"
            offset, type_, strides = view
            return self._window(output, output.offset + offset, type_, strides)
        source = self.name(step.output)
        for node in path_nodes(output.type, path):
            source = self.view_source(node, source)
        return source


def slice_source(attrs: Any) -> str:
    """What stands between the brackets of a slice."""
    parts = []
    for first, count, stride in zip(attrs["start"], attrs["size"], attrs["step"], strict=True):
        stop = first + count * stride
        if not count:
            parts.append("0:0")
        elif stride == 1:
            parts.append(f"{first}:{stop}")
        else:
            parts.append(f"{first}:{stop if stop >= 0 else ''}:{stride}")
    return ", ".join(parts)
