"""Writes a plan as straight-line Python source.

Each chunk of steps becomes one function, so that CPython compiles a plan of any length in linear time, and
functions of equal text are compiled once. Steps run in the caller's floating-point error settings, but for
backward ones, which are silent, and those that the user's code set explicitly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.opdef import Kind
from ..compiler.ir.types import ArrayType, TupleType, Type
from ..compiler.passes.layout import RULES
from ..compiler.passes.memory import REPLACES, may_raise
from ..compiler.passes.strides import Strides, c_strides
from ..compiler.plan import Action, Place, Plan, Step, Target, Value
from .arena import empty
from .call import Call
from .errstate import restore, silence
from .kernels import PARTS, is_scalar_operation, kernel
from .naming import Naming
from .scope import Chunk, Window

CHUNK = 1000
_SILENT = "silent"
_SMALL = 4096


class Writer:
    """Turns the steps of one plan into chunks.

    `aside` keeps direct commits out of the caller's memory until the end, for calls in which a
    floating-point error could raise half-way. `poison` fills dead arena memory, and fresh arrays before
    anything is in them, with ones bits. `clock` is called with the number of each step behind it.
    """

    def __init__(self, plan: Plan, *, aside: bool = False, poison: bool = False, clock: Any = None) -> None:
        self.plan = plan
        self.clock = clock
        self.aside = aside
        self.poison = poison
        self.names = Naming(plan, aside=aside)
        self.mode: Any = None
        self.made: set[int] = set()
        self.asides: list[int] = []
        self.deaths: dict[int, list[int]] = {}
        self.dead_buffers: dict[int, list[int]] = {}
        for number, value in enumerate(plan.values):
            if value.place is Place.RUNTIME and value.base is None and _nbytes(value.type) > _SMALL:
                self.deaths.setdefault(value.last, []).append(number)
        self.spread: set[int] = set()
        for step in plan.steps:
            if _repeats(step.node):
                self.spread.update(map(self._repeated, step.inputs))
        for number, buffer in enumerate(plan.buffers):
            if poison and buffer.place is Place.ARENA:
                self.dead_buffers.setdefault(buffer.last, []).append(number)

    def _repeated(self, number: int) -> int:
        """The value that a broadcast value repeats, or the value itself."""
        value = self.plan.values[number]
        while value.node.op.name == "broadcast" and value.base is not None:
            number, value = value.base, self.plan.values[value.base]
        return number

    def write(self) -> list[Chunk]:
        """All chunks of the plan."""
        steps, chunks = self.plan.steps, []
        for start in range(0, max(len(steps), 1), CHUNK):
            stop = min(start + CHUNK, len(steps))
            for number in range(start, stop):
                self.names.scope.step = number
                self._step(number, steps[number])
            self._set_mode(None)
            if stop == len(steps):
                self._return()
            else:
                self._store(stop - 1)
            chunks.append(self.names.scope.finish())
            self.names.scope = self.names.new_scope()
        return chunks

    def line(self, text: str) -> None:
        self.names.scope.line(text)

    def _store(self, step: int) -> None:
        """Leave in S what later chunks may need, and only that."""
        slots = self.names.slots
        for key, name in self.names.scope.locals.items():
            lasting = key[0] in ("fresh", "aside") if isinstance(key, tuple) else self._lasts(key, step)
            if lasting:
                slot = slots.setdefault(key, len(slots))
                self.line(f"S[{slot}] = {name}")
            elif key in slots:
                self.line(f"S[{slots[key]}] = None")

    def _lasts(self, number: int, step: int) -> bool:
        return self.plan.values[number].last > step

    # -- steps

    def _step(self, number: int, step: Step) -> None:
        output = self.plan.values[step.output]
        if step.action is Action.COPY:
            self._copy(step, output)
        elif step.action is Action.COMPUTE:
            if step.node.op.name in REPLACES and output.place is not Place.RUNTIME:
                self._replace(step, output)
            else:
                self._compute(step, output)
        self._bury(number)
        if self.clock is not None:
            self.line(f"{self.names.bind(self.clock, 'clock')}({number})")

    def _compute(self, step: Step, output: Value) -> None:
        node = step.node
        operands = self._operands(step, output)
        self._prepare_mode(node)
        if output.place is Place.RUNTIME:
            spread = step.output in self.spread
            expression = kernel(self.names, Call(node, operands, None, spread=spread))
            if isinstance(output.type, ArrayType) and _may_look(node):
                expression = f"{self.names.bind(apart, 'apart')}({expression}, {', '.join(operands)})"
            self.line(f"{self.names.crossing(step.output)} = {expression}")
        elif not self._must_make(output):
            call = Call(node, operands, self.names.name(step.output), self._over(step, output))
            self.line(kernel(self.names, call))
        elif node.op.name in ("reshape", "copy", "pad") or not self._is_made_whole(output):
            self._make(output)
            self.line(kernel(self.names, Call(node, operands, self.names.name(step.output))))
        else:
            name = self._make_name(output)
            self.line(f"{name} = {kernel(self.names, Call(node, operands, None))}")

    def _operands(self, step: Step, output: Value) -> list[str]:
        """Names of the operands; ufuncs repeat theirs themselves where one has the full shape."""
        if is_scalar_operation(step.node):
            return [self.names.scalar(number) for number in step.inputs]
        shape = getattr(step.node.type, "shape", ())
        repeats = _repeats(step.node)
        if repeats and (output.place is Place.RUNTIME or self._must_make(output)):
            values = [self.plan.values[number] for number in step.inputs]
            repeats = any(v.node.op.name != "broadcast" and v.node.shape == shape for v in values)
        name = self.names.broadcastable if repeats else self.names.name
        return [name(number) for number in step.inputs]

    def _over(self, step: Step, output: Value) -> frozenset[int]:
        """The positions of operands that lie in the output's memory."""
        values = [self.plan.values[number] for number in step.inputs]
        return frozenset(
            k for k, v in enumerate(values) if v.buffer is not None and v.buffer == output.buffer
        )

    def _replace(self, step: Step, output: Value) -> None:
        """A base with a part replaced: copied first unless it is there already."""
        base, *others = step.inputs
        if self._must_make(output):
            self._make(output)
            source = self.names.broadcastable(base)
            self.line(f"{self.names.name(step.output)}[...] = {source}")
        elif step.in_place is None:
            source = self.names.broadcastable(base)
            self.line(f"{self.names.name(step.output)}[...] = {source}")
        if step.node.op.name == "write":
            value = self.names.broadcastable(others[0])
            self.line(f"{self.names.part(step)}[...] = {value}")
            return
        operands = [self.names.name(other) for other in others]
        self._prepare_mode(step.node)
        call = Call(step.node, operands, self.names.name(step.output))
        self.line(PARTS[step.node.op.name](self.names, call))

    def _copy(self, step: Step, output: Value) -> None:
        source = self.names.name(step.inputs[0])
        if output.place is Place.FRESH:
            self._make(output)
            self.line(f"{self.names.name(step.output)}[...] = {source}")
        elif output.place is Place.ARENA:
            self.line(f"{self.names.name(step.output)}[...] = {source}")
        else:
            assert output.buffer is not None
            self._set_mode(None)
            self._flush_asides()
            self.line(f"{self.names.param(output.buffer)}[...] = {source}")

    def _flush_asides(self) -> None:
        """Copy what was kept aside into the caller's memory."""
        for buffer in self.asides:
            self.line(f"{self.names.param(buffer)}[...] = {self.names.crossing(('aside', buffer))}")
        self.asides = []

    # -- arrays made during the call

    def _must_make(self, output: Value) -> bool:
        """Whether this step makes the array of its buffer."""
        mine = output.place is Place.FRESH or (output.place is Place.PARAM and self.aside)
        return mine and output.buffer not in self.made

    def _make_name(self, output: Value) -> str:
        assert output.buffer is not None
        self.made.add(output.buffer)
        if output.place is Place.FRESH:
            return self.names.crossing(("fresh", output.buffer))
        self.asides.append(output.buffer)
        return self.names.crossing(("aside", output.buffer))

    def _is_made_whole(self, output: Value) -> bool:
        """Whether the array of the buffer is made just as this value."""
        return output.place is not Place.FRESH or self.names.is_whole(output)

    def _make(self, output: Value) -> None:
        """Make the buffer's array, without values."""
        name, whole = self._make_name(output), output
        if output.place is Place.FRESH:
            assert output.buffer is not None
            whole = self.names.whole(output.buffer)
        type_ = whole.type
        assert isinstance(type_, ArrayType)
        arguments = f"{type_.shape!r}, {self.names.bind(type_.dtype, 'dtype')}"
        if whole.strides == c_strides(type_.shape, type_.dtype.itemsize):
            self.line(f"{name} = {self.names.bind(np.empty, 'empty')}({arguments})")
        else:
            self.line(f"{name} = {self.names.bind(empty, 'empty')}({arguments}, {whole.strides!r})")
        if self.poison:
            self.line(f"{self.names.bind(spoil, 'spoil')}({name})")

    def _bury(self, step: int) -> None:
        """Let go of runtime values that are dead behind this step, and poison dead arena memory."""
        known = self.names.scope.locals
        for number in self.deaths.get(step, ()):
            views = [("view", view) for view in self.names.views[number]]
            views += [("narrow", view) for view in self.names.views[number]]
            held = [known[key] for key in (number, *views) if key in known]
            if held:
                self.line(f"{' = '.join(held)} = None")
        for number in self.dead_buffers.get(step, ()):
            buffer = self.plan.buffers[number]
            whole = Window(buffer.offset, (buffer.nbytes,), np.dtype("u1"), (1,))
            self.line(f"{self.names.bind(whole, 'dead')}.fill(255)")

    # -- results

    def _return(self) -> None:
        self._flush_asides()
        pairs = zip(self.plan.results, self.plan.targets, strict=True)
        self.line(f"return [{', '.join([self._result(*pair) for pair in pairs])}]")

    def _result(self, number: int | None, target: Target) -> str:
        if number is None:
            return "None"
        value = self.plan.values[number]
        name = self.names.name(number)
        if target.kind == "scalar":
            return f"{name}[()]"
        if target.kind == "fresh" and value.place is Place.RUNTIME:
            return f"{self.names.bind(owned, 'owned')}({name}, {target.strides!r})"
        return name

    # -- floating-point error settings

    def _prepare_mode(self, node: Node) -> None:
        """Switch the error settings where this step needs others than those in force."""
        if _sets_flags(node):
            self._set_mode(_SILENT if node.loc.backward else (node.loc.errstate or None))

    def _set_mode(self, mode: Any) -> None:
        if mode == self.mode:
            return
        scope = self.names.scope
        scope.indent = 2
        if self.mode == _SILENT:
            self.line("finally:")
            self.line(f"    {scope.bind(restore, 'restore')}(token)")
        if mode == _SILENT:
            self.line(f"token = {scope.bind(silence, 'silence')}()")
            self.line("try:")
        elif mode is not None:
            settings = ", ".join(f"{kind}={how!r}" for kind, how in mode)
            self.line(f"with {scope.bind(np.errstate, 'errstate')}({settings}):")
        self.mode = mode
        scope.indent = 2 if mode is None else 3


def _repeats(node: Node) -> bool:
    """Whether a node is a ufunc over arrays, which repeats operands that are 0-d."""
    return node.op.kind is Kind.ELEMENTWISE and isinstance(node.type, ArrayType) and bool(node.shape)


def _nbytes(type_: Type) -> int:
    if isinstance(type_, TupleType):
        return sum(map(_nbytes, type_.items))
    return type_.nbytes if isinstance(type_, ArrayType) else 0


def _may_look(node: Node) -> bool:
    """Whether NumPy's result might be a view of an operand, as far as is known."""
    return node.op.kind is Kind.VIEW or (node.op.name not in RULES and may_raise(node))


# Ops that move, compare or choose: no floating-point error is reported for them, whatever the values.
_QUIET = frozenset(
    (
        *("write", "scatter", "copy", "reshape", "get", "item", "gather", "take", "concatenate", "pad"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "where"),
        *("logical_and", "logical_or", "logical_xor", "logical_not", "isfinite", "isinf", "isnan", "signbit"),
        *("negative", "positive", "absolute", "maximum", "minimum", "fmax", "fmin", "max", "min"),
    )
)


def _sets_flags(node: Node) -> bool:
    """Whether running the node may set floating-point error flags."""
    if node.op.name in _QUIET and not (node.op.name == "absolute" and node.inputs[0].dtype.kind == "c"):
        return False
    types = [node.type, *(operand.type for operand in node.inputs)]
    return any(isinstance(t, ArrayType) and t.dtype.kind in "fciu" for t in types)


def apart(result: Any, *operands: Any) -> Any:
    """A result that lies in no operand's memory: a copy where NumPy gave a view."""
    if type(result) is np.ndarray and result.base is not None:
        for operand in operands:
            if type(operand) is np.ndarray and np.may_share_memory(result, operand):
                return result.copy(order="K")
    return result


def spoil(array: Any) -> None:
    """Fill an array with ones bits: NaN, -1, True."""
    array.fill(np.frombuffer(b"\xff" * array.itemsize, array.dtype)[0])


def owned(result: Any, strides: Strides | None) -> Any:
    """A result that owns its memory and has these strides."""
    if type(result) is np.ndarray and result.flags.owndata:
        wanted = strides or c_strides(result.shape, result.itemsize)
        if all(a == b or n <= 1 for a, b, n in zip(result.strides, wanted, result.shape, strict=True)):
            return result
    result = np.asarray(result)
    copy = empty(result.shape, result.dtype, strides)
    copy[...] = result
    return copy
