"""Writes a plan as straight-line Python source.

Each chunk of a plan becomes a function `bind(names …)` that returns `run(P, S)`: P are the values of the
params, S holds what lives across chunks. Functions, constants and windows on the arena are bound as free
variables, everything made during a call is a local. Chunks of equal text share one code object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.opdef import Kind
from ..compiler.ir.types import ArrayType
from ..compiler.passes.memory import REPLACES, may_raise
from ..compiler.passes.strides import Strides, c_strides
from ..compiler.passes.views import path_view
from ..compiler.plan import Action, Place, Plan, Step, Target, Value
from .arena import empty, window
from .errstate import restore, silence
from .kernels import PARTS, kernel

CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Window:
    """A free variable that stands for a window on the arena, made anew for each instance."""

    offset: int
    shape: tuple[int, ...]
    dtype: Any
    strides: Strides


@dataclass
class Chunk:
    """One generated function: its text, and what its free variables stand for."""

    source: str
    bound: list[Any]


@dataclass
class _Scope:
    """The names of one chunk."""

    bound: dict[Any, str] = field(default_factory=dict)
    things: list[Any] = field(default_factory=list)
    locals: dict[Any, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)


class Writer:
    """Turns the steps of one plan into chunks.

    `aside` keeps direct commits out of the caller's memory until the end, for calls in which a
    floating-point error could raise half-way. `poison` fills dead arena memory with ones bits.
    """

    def __init__(self, plan: Plan, *, aside: bool = False, poison: bool = False) -> None:
        self.plan = plan
        self.aside = aside
        self.poison = poison
        self.scope = _Scope()
        self.mode: Any = None
        self.indent = 2
        self.fresh_made: set[int] = set()
        self.crossing = self._crossing()
        self.slots: dict[Any, int] = {}
        self.asides: dict[int, Value] = {}
        self.deaths = self._deaths()

    # -- names

    def bind(self, thing: Any, hint: str = "c") -> str:
        """A free variable for a function or constant."""
        key = thing if isinstance(thing, Window) else ("id", id(thing))
        name = self.scope.bound.get(key)
        if name is None:
            name = f"v{len(self.scope.things)}_{hint}"
            self.scope.bound[key] = name
            self.scope.things.append(thing)
        return name

    def line(self, text: str) -> None:
        self.scope.lines.append("    " * self.indent + text)

    def bits(self, name: str, itemsize: int) -> str:
        unsigned = np.dtype(f"u{itemsize}")
        for key, known in self.scope.bound.items():
            if known == name and isinstance(key, Window):
                return self.bind(Window(key.offset, key.shape, unsigned, key.strides), "bits")
        return f"{name}.view({self.bind(unsigned, 'bits')})"

    def in_shape(self, name: str, shape: tuple[int, ...]) -> str:
        for key, known in self.scope.bound.items():
            if known == name and isinstance(key, Window):
                strides = c_strides(shape, key.dtype.itemsize)
                return self.bind(Window(key.offset, shape, key.dtype, strides), "a")
        return f"{name}.reshape({shape!r})"

    def local(self, key: Any, make: str, number: int) -> str:
        """A local that is set up by the expression `make` where it is not there yet."""
        name = self.scope.locals.get(key)
        if name is None:
            name = self.scope.locals[key] = f"{key[0][0]}{number}"
            self.line(f"{name} = {make}")
        return name

    def name(self, number: int) -> str:
        """The name or expression for a value; views made at run time are made here, once a chunk."""
        value = self.plan.values[number]
        if value.place is Place.CONSTANT:
            if value.base is not None:
                return self._constant_view(value)
            return self.bind(value.node.attrs["value"].value, "constant")
        if value.place is Place.ARENA:
            assert value.buffer is not None
            return self._arena(value.buffer, value.offset, value.type, value.strides)
        if value.base is not None:
            return self._view(number, value)
        if value.place is Place.PARAM:
            return self._param(number, value)
        if value.place is Place.FRESH:
            assert value.buffer is not None
            return self._owned(number, value)
        return self._crossed(number)

    def _arena(self, buffer: int, offset: int, type_: Any, strides: Strides | None) -> str:
        assert strides is not None
        start = self.plan.buffers[buffer].offset + offset
        return self.bind(Window(start, type_.shape, type_.dtype, strides), "a")

    def _constant_view(self, value: Value) -> str:
        chain = []
        node = value.node
        while node.op.name != "constant":
            chain.append(node)
            node = node.inputs[0]
        array = node.attrs["value"].value
        for step in reversed(chain):
            array = step.op.numpy(array, **step.attrs)
        name = self.scope.locals.get(("constant", value.node))
        if name is None:
            name = self.scope.locals["constant", value.node] = self.bind(array, "constant")
        return name

    def _param(self, number: int, value: Value) -> str:
        buffer = value.buffer
        assert buffer is not None
        if value.first >= 0 and self.aside:
            return self._crossed(("aside", buffer))
        param = self.plan.buffers[buffer].param
        name = self.scope.locals.get(("param", param))
        if name is None:
            name = self.scope.locals["param", param] = f"p{param}"
            self.scope.loads.append(f"        p{param} = P[{param}]")
        return name

    def _owned(self, number: int, value: Value) -> str:
        assert value.buffer is not None
        whole = self._crossed(("buffer", value.buffer))
        made = self._made_as(value.buffer)
        if made.type == value.type and made.strides == value.strides:
            return whole
        return self.local(("window", number), self._window(whole, value), number)

    def _made_as(self, buffer: int) -> Value:
        """The value that the array of a fresh buffer is made as: the result."""
        return self.buffer_value[buffer]

    def _window(self, whole: str, value: Value) -> str:
        type_ = value.type
        assert isinstance(type_, ArrayType)
        dtype = self.bind(type_.dtype, "dtype")
        return (
            f"{self.bind(window, 'window')}({whole}, {type_.shape!r}, {dtype}, "
            f"{value.offset}, {value.strides!r})"
        )

    def _crossed(self, key: Any) -> str:
        """The local of something made during the call, fetched from S if an earlier chunk made it."""
        name = self.scope.locals.get(key)
        if name is None:
            name = self.scope.locals[key] = self._new_name(key)
            if key in self.slots:
                self.line(f"{name} = S[{self.slots[key]}]")
        return name

    def _new_name(self, key: Any) -> str:
        return f"d{key}" if isinstance(key, int) else f"{key[0][0]}{key[1]}"

    def _view(self, number: int, value: Value) -> str:
        name = self.scope.locals.get(("view", number))
        if name is not None:
            return name
        assert value.base is not None
        base = self.name(value.base)
        if value.node.op.name in ("mark", "stop_gradient"):
            return base
        return self.local(("view", number), self.view_source(value.node, base, value.strides), number)

    def view_source(self, node: Node, x: str, strides: Strides | None) -> str:
        """The expression of a view of a named array."""
        name, attrs = node.op.name, node.attrs
        operand = node.inputs[0]
        if strides is not None and operand.shape:
            if name == "transpose":
                return f"{x}.transpose({attrs['axes']!r})"
            if name == "reshape":
                return f"{x}.reshape({attrs['shape']!r})"
            if name == "slice":
                return f"{x}[{_index(attrs)}]"
            if name in ("real", "imag"):
                return f"{x}.{name}"
        keywords = [f"{key}={self.bind(item, key)}" for key, item in sorted(attrs.items())]
        return f"{self.bind(node.op.numpy, name)}({', '.join([x, *keywords])})"

    def broadcastable(self, number: int) -> str:
        """A name for an operand that NumPy will broadcast: a repeated value need not be spelled out."""
        value = self.plan.values[number]
        if value.node.op.name != "broadcast" or value.base is None:
            return self.name(number)
        base = self.plan.values[value.base]
        shape = getattr(base.type, "shape", ())
        axes, wide = value.node.attrs["axes"], value.node.attrs["shape"]
        if not shape:
            return self.broadcastable(value.base)
        if value.place in (Place.ARENA, Place.CONSTANT) or list(axes) != sorted(axes):
            return self.name(number)
        if axes == tuple(range(len(wide) - len(shape), len(wide))):
            return self.name(value.base)
        narrow = [1] * (len(wide) - axes[0])
        for axis, length in zip(axes, shape, strict=True):
            narrow[axis - axes[0]] = length
        made = f"{self.name(value.base)}.reshape({tuple(narrow)!r})"
        return self.local(("narrow", number), made, number)

    # -- lives

    def _crossing(self) -> None:
        self.buffer_value: dict[int, Value] = {}
        for value in self.plan.values:
            if value.place is Place.FRESH and value.buffer is not None and value.base is None:
                self.buffer_value[value.buffer] = value

    def _deaths(self) -> dict[int, list[int]]:
        """For each step the planned buffers and runtime values that are dead behind it."""
        table: dict[int, list[int]] = {}
        for number, value in enumerate(self.plan.values):
            if value.place is Place.RUNTIME and value.base is None and isinstance(value.type, ArrayType):
                if value.type.nbytes > 4096:
                    table.setdefault(value.last, []).append(number)
        return table

    # -- steps

    def write(self) -> list[Chunk]:
        """All chunks of the plan."""
        chunks = []
        steps = self.plan.steps
        for start in range(0, max(len(steps), 1), CHUNK):
            last = start + CHUNK >= len(steps)
            for number in range(start, min(start + CHUNK, len(steps))):
                self._step(number, steps[number])
            self._set_mode(None)
            if last:
                self._finish()
            else:
                self._store(start + CHUNK - 1)
            chunks.append(self._close())
        return chunks

    def _close(self) -> Chunk:
        scope = self.scope
        names = ", ".join(f"{name}" for name in scope.bound.values())
        body = [*scope.loads, *scope.lines] or ["        pass"]
        source = "\n".join([f"def bind({names}):", "    def run(P, S):", *body, "    return run", ""])
        self.scope = _Scope()
        return Chunk(source, scope.things)

    def _store(self, step: int) -> None:
        """Put what later chunks may need into S."""
        for key, name in self.scope.locals.items():
            lasting = (
                self.plan.values[key].last > step if isinstance(key, int) else key[0] in ("buffer", "aside")
            )
            if lasting:
                slot = self.slots.setdefault(key, len(self.slots))
                self.line(f"S[{slot}] = {name}")
            elif key in self.slots:
                self.line(f"S[{self.slots[key]}] = None")

    def _step(self, number: int, step: Step) -> None:
        output = self.plan.values[step.output]
        if step.action is Action.VIEW:
            pass  # made where it is first read
        elif step.action is Action.COPY:
            self._copy(number, step)
        elif step.node.op.name in REPLACES and output.place is not Place.RUNTIME:
            self._write_into(step)
        else:
            self._compute(step)
        self._bury(number)

    def _compute(self, step: Step) -> None:
        output = self.plan.values[step.output]
        operands = self._operands(step)
        self._prepare_mode(step)
        if output.place is Place.RUNTIME:
            expression = kernel(self, step.node, operands, None)
            if may_raise(step.node) and isinstance(output.type, ArrayType) and output.type.shape:
                expression = self._apart(expression, operands)
            self.line(f"{self._crossed(step.output)} = {expression}")
            return
        if self._must_make(output):
            name = self._make_name(output)
            if step.node.op.name in ("reshape", "copy", "pad"):
                self.line(f"{name} = {self._empty(output)}")
                self.line(kernel(self, step.node, operands, name))
            else:
                self.line(f"{name} = {kernel(self, step.node, operands, None)}")
            return
        self.line(kernel(self, step.node, operands, self.name(step.output)))

    def _operands(self, step: Step) -> list[str]:
        node = step.node
        wide = node.op.kind is Kind.ELEMENTWISE and isinstance(node.type, ArrayType) and bool(node.type.shape)
        output = self.plan.values[step.output]
        if wide and (output.place is Place.RUNTIME or self._must_make(output)):
            wide = any(self._spelled(number) for number in step.inputs)
        return [self.broadcastable(number) if wide else self.name(number) for number in step.inputs]

    def _spelled(self, number: int) -> bool:
        """Whether an operand has the full shape as it stands."""
        value = self.plan.values[number]
        return value.node.op.name != "broadcast" and bool(getattr(value.type, "shape", ()))

    def _apart(self, expression: str, operands: Sequence[str]) -> str:
        things = ", ".join(operands)
        return f"{self.bind(apart, 'apart')}({expression}, ({things}{',' if things else ''}))"

    def _must_make(self, output: Value) -> bool:
        """Whether this step makes the array of its buffer."""
        if output.place is Place.FRESH:
            return output.buffer not in self.fresh_made
        return output.place is Place.PARAM and self.aside and output.buffer not in self.fresh_made

    def _make_name(self, output: Value) -> str:
        assert output.buffer is not None
        self.fresh_made.add(output.buffer)
        if output.place is Place.PARAM:
            self.asides[output.buffer] = output
            return self._crossed(("aside", output.buffer))
        return self._crossed(("buffer", output.buffer))

    def _empty(self, value: Value) -> str:
        type_ = value.type
        assert isinstance(type_, ArrayType)
        dtype = self.bind(type_.dtype, "dtype")
        if value.strides == c_strides(type_.shape, type_.dtype.itemsize):
            return f"{self.bind(np.empty, 'empty')}({type_.shape!r}, {dtype})"
        return f"{self.bind(empty, 'empty')}({type_.shape!r}, {dtype}, {value.strides!r})"

    def _write_into(self, step: Step) -> None:
        """A base with a part replaced: it is copied unless it is there already, then the part is changed."""
        output = self.plan.values[step.output]
        base, *others = step.inputs
        if self._must_make(output):
            source = self.broadcastable(base)
            name = self._make_name(output)
            self.line(f"{name} = {self._empty(output)}")
            self.line(f"{name}[...] = {source}")
        elif step.in_place is None:
            self.line(f"{self.name(step.output)}[...] = {self.broadcastable(base)}")
        if step.node.op.name == "write":
            self.line(f"{self._part(step)}[...] = {self.broadcastable(others[0])}")
            return
        operands = [self.name(other) for other in others]
        self._prepare_mode(step)
        self.line(PARTS[step.node.op.name](self, step.node, operands, self.name(step.output)))

    def _part(self, step: Step) -> str:
        """The part of a write's output that its path shows."""
        output = self.plan.values[step.output]
        assert isinstance(output.type, ArrayType)
        assert output.strides is not None
        path = step.node.attrs["path"]
        view = path_view(output.type, output.strides, path)
        if view is None:
            raise AssertionError("the path of a planned write shows a copy")
        offset, type_, strides = view
        if output.place is Place.ARENA:
            assert output.buffer is not None
            return self._arena(output.buffer, output.offset + offset, type_, strides)
        dtype = self.bind(type_.dtype, "dtype")
        return f"{self.bind(window, 'window')}({self.name(step.output)}, {type_.shape!r}, {dtype}, {offset}, {strides!r})"

    def _copy(self, number: int, step: Step) -> None:
        output = self.plan.values[step.output]
        source = self.name(step.inputs[0])
        self._set_mode(None)
        if output.place is Place.FRESH:
            assert output.buffer is not None
            self.fresh_made.add(output.buffer)
            name = self._crossed(("buffer", output.buffer))
            self.line(f"{name} = {self._empty(output)}")
            self.line(f"{name}[...] = {source}")
        elif output.place is Place.ARENA:
            self.line(f"{self.name(step.output)}[...] = {source}")
        else:
            assert output.buffer is not None
            self._flush_asides()
            param = self.plan.buffers[output.buffer].param
            self.line(f"{self._param_array(param)}[...] = {source}")

    def _param_array(self, param: int | None) -> str:
        name = self.scope.locals.get(("param", param))
        if name is None:
            name = self.scope.locals["param", param] = f"p{param}"
            self.scope.loads.append(f"        p{param} = P[{param}]")
        return name

    def _flush_asides(self) -> None:
        """Copy what was kept aside into the caller's memory."""
        for buffer in self.asides:
            param = self.plan.buffers[buffer].param
            self.line(f"{self._param_array(param)}[...] = {self._crossed(('aside', buffer))}")
        self.asides = {}

    def _bury(self, number: int) -> None:
        for dead in self.deaths.get(number, ()):
            name = self.scope.locals.get(dead)
            if name is not None:
                self.line(f"{name} = None")
        if not self.poison:
            return
        for buffer in self.plan.buffers:
            if buffer.place is Place.ARENA and buffer.last == number:
                whole = self.bind(Window(buffer.offset, (buffer.nbytes,), np.dtype("u1"), (1,)), "dead")
                self.line(f"{whole}.fill(255)")

    def _finish(self) -> None:
        self._flush_asides()
        items = [
            self._result(number, target)
            for number, target in zip(self.plan.results, self.plan.targets, strict=True)
        ]
        self.line(f"return [{', '.join(items)}]")

    def _result(self, number: int | None, target: Target) -> str:
        if number is None:
            return "None"
        value = self.plan.values[number]
        name = self.name(number)
        if target.kind == "scalar":
            return f"{name}[()]"
        if target.kind == "fresh" and value.place is Place.RUNTIME:
            return f"{self.bind(owned, 'owned')}({name}, {target.strides!r})"
        return name

    # -- floating-point settings

    def _prepare_mode(self, step: Step) -> None:
        """Switch the error settings where this step needs others than those in force."""
        if _sets_flags(step.node):
            loc = step.node.loc
            self._set_mode("silent" if loc.backward else (loc.errstate or None))

    def _set_mode(self, mode: Any) -> None:
        if mode == self.mode:
            return
        if self.mode is not None:
            self.indent = 2
            if self.mode == "silent":
                self.line("finally:")
                self.line(f"    {self.bind(restore, 'restore')}(token)")
        if mode == "silent":
            self.line(f"token = {self.bind(silence, 'silence')}()")
            self.line("try:")
        elif mode is not None:
            settings = ", ".join(f"{kind}={how!r}" for kind, how in mode)
            self.line(f"with {self.bind(np.errstate, 'errstate')}({settings}):")
        self.mode = mode
        self.indent = 2 if mode is None else 3


def _index(attrs: Any) -> str:
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


def _sets_flags(node: Node) -> bool:
    """Whether running the node may set floating-point error flags."""
    types = [node.type, *(operand.type for operand in node.inputs)]
    return node.op.name not in ("write", "copy", "reshape", "get", "item") and any(
        isinstance(t, ArrayType) and t.dtype.kind in "fciu" for t in types
    )


def apart(result: Any, operands: tuple[Any, ...]) -> Any:
    """A result that lies in no operand's memory: a copy where NumPy gave a view."""
    if type(result) is np.ndarray and result.base is not None:
        for operand in operands:
            if type(operand) is np.ndarray and np.may_share_memory(result, operand):
                return result.copy(order="K")
    return result


def owned(result: Any, strides: Strides | None) -> Any:
    """A result that owns its memory and has these strides."""
    if type(result) is np.ndarray and result.flags.owndata and result.base is None:
        wanted = strides or c_strides(result.shape, result.itemsize)
        if all(a == b or n <= 1 for a, b, n in zip(result.strides, wanted, result.shape, strict=True)):
            return result
    result = np.asarray(result)
    copy = empty(result.shape, result.dtype, strides)
    copy[...] = result
    return copy
