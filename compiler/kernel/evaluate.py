"""The NumPy evaluator of kernels: slow, obvious, the judge of printers.

Loops become array axes: a value inside loops is an array with one axis per enclosing loop, so each statement
runs once, on all iterations. That is right because iterations are independent but for accumulators, and
because a loop never reads what the same loop writes elsewhere. The exception are loops that carry values from
one iteration to the next in scratch memory: they run one iteration after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.opdef import OPS
from .form import (
    Accumulate,
    Accumulator,
    Affine,
    Arg,
    Compute,
    Constant,
    Kernel,
    Load,
    Loop,
    Statement,
    Store,
)
from .statements import flat

UFUNCS = {
    "add": np.add,
    "multiply_add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "logical_or": np.logical_or,
    "logical_and": np.logical_and,
}


class _Evaluator:
    def __init__(self, memory: dict[str, Any]) -> None:
        self.memory = memory
        self.values: dict[str, Any] = {}
        self.loops: list[Loop] = []
        self.carrying: list[Loop] = []
        self.fixed: dict[str, int] = {}
        self.folded: dict[str, Any] = {}
        self.neutral: dict[str, Any] = {}
        self.pieces: dict[str, list[str]] = {}

    def variable(self, name: str) -> Any:
        """The values of a loop variable along its axis, or the one it has in a loop that carries values."""
        if name in self.fixed:
            return np.full([1] * len(self.loops), self.fixed[name])
        axis = next(i for i, loop in enumerate(self.loops) if loop.variable == name)
        shape = [1] * len(self.loops)
        shape[axis] = self.loops[axis].extent
        return np.arange(self.loops[axis].extent).reshape(shape)

    def place(self, at: Affine) -> Any:
        total: Any = np.full([1] * len(self.loops), at.offset)
        for name, stride in at.strides:
            total = total + stride * self.variable(name)
        return total

    def arg_place(self, arg: str, at: Affine) -> Any:
        """`place` in an argument; scratch memory has a piece for each iteration of the loops around a row.

        Those are the loops around the store whose variables its place does not have.
        """
        place = self.place(at)
        memory = self.memory[arg]
        if memory.scratch:
            around = [loop for loop in self.loops if not at.stride(loop.variable)]
            names = self.pieces.setdefault(arg, [loop.variable for loop in around])
            piece: Any = 0
            for loop in around:
                if loop.variable in names:
                    piece = piece * loop.extent + self.variable(loop.variable)
            place = place + memory.length * piece
        return place

    def alive(self) -> Any:
        """Which iterations there are: those before the stops of their loops."""
        found: Any = np.ones([1] * len(self.loops), bool)
        for loop in (*self.loops, *self.carrying):
            if loop.stop is not None:
                found = found & (self.variable(loop.variable) < self.place(loop.stop))
        return found

    def value(self, name: str) -> Any:
        """A value with an axis for every enclosing loop, also for those opened after it was made."""
        found = np.asarray(self.values[name])
        return found.reshape(found.shape + (1,) * (len(self.loops) - found.ndim))

    def run(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Constant):
                shape = [1] * len(self.loops)
                self.values[statement.result] = np.full(shape, statement.value, statement.dtype)
            elif isinstance(statement, Load):
                place = self.arg_place(statement.arg, statement.at)
                if statement.index is not None:
                    place = place + statement.index_stride * self.value(statement.index)
                alive = self.alive()
                place = place if alive.all() else np.where(alive, place, self.memory[statement.arg].low)
                self.values[statement.result] = self.memory[statement.arg][place]
            elif isinstance(statement, Compute):
                self.compute(statement)
            elif isinstance(statement, Store):
                place = self.arg_place(statement.arg, statement.at)
                full = tuple(loop.extent for loop in self.loops)
                if statement.index is not None:
                    place = place + statement.index_stride * self.value(statement.index)
                value = np.broadcast_to(self.value(statement.value), np.broadcast_shapes(full, place.shape))
                alive = np.broadcast_to(self.alive(), value.shape)
                place = np.broadcast_to(place, value.shape)
                if not alive.all():
                    place, value = place[alive], value[alive]
                self.memory[statement.arg].write(place, value, statement.adds)
            elif isinstance(statement, Accumulate):
                full = tuple(loop.extent for loop in self.loops)
                term = self.value(statement.value)
                if statement.factor is not None:
                    term = term * self.value(statement.factor)
                alive = self.alive()
                if not alive.all():
                    term = np.where(alive, term, self.neutral[statement.accumulator])
                self.folded.setdefault(statement.accumulator, []).append(np.broadcast_to(term, full))
            else:
                self.loop(statement)

    def compute(self, statement: Compute) -> None:
        operands = [self.value(name) for name in statement.operands]
        if statement.op == "cast":
            self.values[statement.result] = operands[0].astype(statement.dtype)
        else:
            self.values[statement.result] = OPS[statement.op].numpy(*operands)

    def loop(self, loop: Loop) -> None:
        if not loop.accumulators and self.carries(loop):
            self.carrying.append(loop)
            for number in range(loop.extent):
                self.fixed[loop.variable] = number
                self.run(loop.body)
            del self.fixed[loop.variable]
            self.carrying.pop()
            return
        depth = len(self.loops)
        self.loops.append(loop)
        self.neutral |= {a.name: np.asarray(a.init, a.dtype) for a in loop.accumulators}
        self.run(loop.body)
        self.loops.pop()
        for accumulator in loop.accumulators:
            self.values[accumulator.name] = self.fold(accumulator, depth)

    def carries(self, loop: Loop) -> bool:
        """Whether an iteration reads in scratch memory what the one before has written there."""
        read: set[str] = set()
        written: set[str] = set()
        for s in flat(loop.body):
            if isinstance(s, Store):
                written.add(s.arg)
            elif isinstance(s, Load) and s.arg not in written and not s.at.stride(loop.variable):
                read.add(s.arg)
        return any(self.memory[arg].scratch for arg in read & written)

    def fold(self, accumulator: Accumulator, depth: int) -> Any:
        terms = np.stack(self.folded.pop(accumulator.name), axis=-1)
        ufunc = UFUNCS[accumulator.op]
        axes = tuple(range(depth, terms.ndim))
        total = ufunc.reduce(terms.astype(accumulator.dtype), axis=axes)
        return ufunc(total, np.asarray(accumulator.init, accumulator.dtype)).astype(accumulator.dtype)


def evaluate(kernel: Kernel, memory: dict[str, Any]) -> None:
    """Run a kernel on memory: for each argument but scratch a 1-d array whose element 0 is element `low`.

    Outputs are written in place.
    """
    memories = {
        arg.name: _Memory(None if arg.role == "scratch" else memory[arg.name], arg) for arg in kernel.args
    }
    with np.errstate(all="ignore"):
        _Evaluator(memories).run(kernel.body)


class _Memory:
    """An argument's elements from `low` on; scratch memory grows to what is stored into it."""

    def __init__(self, array: Any, arg: Arg) -> None:
        self.scratch = arg.role == "scratch"
        self.array = np.zeros(0, arg.dtype) if array is None else array
        self.low = arg.low
        self.length = arg.high - arg.low

    def __getitem__(self, place: Any) -> Any:
        return self.array[place - self.low]

    def write(self, place: Any, value: Any, adds: bool) -> None:
        if self.scratch and place.size:
            more = int(place.max()) + 1 - self.array.size
            self.array = np.concatenate([self.array, np.zeros(max(more, 0), self.array.dtype)])
        if adds:
            np.add.at(self.array, place - self.low, value)
        else:
            self.array[place - self.low] = value
