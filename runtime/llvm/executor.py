"""The native executor: a plan as tables of kernels and products on one arena, NumPy calls in between.

An instance is an arena with the addresses that belong to it; a call takes an instance from the pool, lets
`enter` store the addresses of the caller's arrays and of new results, and walks the tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ...compiler.ir.node import Graph, Node
from ...compiler.ir.opdef import Kind
from ...compiler.ir.record import replace
from ...compiler.ir.types import ArrayType
from ...compiler.kernel.lower import PARTIAL, REDUCTIONS, accumulator_of
from ...compiler.passes.add_products import add_products
from ...compiler.passes.batch_last import batch_last
from ...compiler.passes.contractions import lower_contractions
from ...compiler.passes.fuse import fuse
from ...compiler.passes.native import plan_native
from ...compiler.passes.padding import merge_padding
from ...compiler.passes.parts import split_sums
from ...compiler.passes.scalar_operands import lower_scalar_operands
from ...compiler.passes.split_products import split_products
from ...compiler.passes.transpose_once import transpose_once
from ...compiler.passes.vectors import lower_vectors
from ...compiler.plan import Place, Plan, Target
from ..arena import Arena, empty, window
from . import blas, cache, chains, engine, threads, walker
from .native_step import NativeStep
from .operations import is_printable
from .steps import python_step
from .stepwise import Poison, times
from .straight import Run, Straight
from .table import TableBuilder

_POOLED = 8
_CALLS_TO_STRAIGHT = 3
# Nanoseconds of work from which on a segment is worth waking workers, and from which on it lets the GIL go.
_LEAST_TOGETHER = 60_000
_LEAST_RELEASED = 500_000


NATIVE_FORMS = (
    lower_scalar_operands,
    merge_padding,
    lower_contractions,
    batch_last,
    lower_vectors,
    add_products,
)


def is_native(node: Node) -> bool:
    """Whether a node's step runs natively whatever its layout is, or at least raises nothing."""
    if node.op.name in ("fused", "reshape", "copy", "write", "window_sum", "concatenate", "roll"):
        return True
    dtype = getattr(node.type, "dtype", None)
    if node.op.name == "contract_windows":
        return dtype in (np.float32, np.float64)
    return node.op.name in ("matmul", "add_matmul") and dtype in (np.float32, np.float64)


def has_native_form(node: Node) -> bool:
    """Whether a step of an optimised graph usually becomes native code."""
    if is_native(node) or node.op.name in ("einsum", "gather", "scatter", "scatter_add", "get"):
        return True
    if not all(isinstance(n.type, ArrayType) for n in (node, *node.inputs)):
        return False
    return (node.op.kind is Kind.ELEMENTWISE or node.op.name in REDUCTIONS) and can_fuse(node)


def can_fuse(node: Node) -> bool:
    """Whether the printer has code for a node."""
    if node.op.name in REDUCTIONS:
        return _can_reduce(node)
    if node.op.name == PARTIAL:
        return node.inputs[0].dtype.kind in "fbiu" and node.inputs[0].dtype.char != "e"
    if node.op.name == "power":
        return node.attrs.get("form") == "ufunc" and is_printable("power", 2, node.inputs[0].dtype)
    if node.attrs.get("order", 0):
        return False
    if node.op.name == "cast":
        return is_printable("cast", 1, node.inputs[0].dtype, node.dtype)
    first = node.inputs[-1] if node.op.name == "where" else node.inputs[0]
    return is_printable(node.op.name, len(node.inputs), first.dtype)


def _can_reduce(node: Node) -> bool:
    """Whether there is code for a reduction and for the casts around it."""
    have, want = node.inputs[0].dtype, node.dtype
    if node.op.name == "sum_products":
        return want.char in "fd"
    if have.kind not in "fbiu" or want.kind not in "fbiu":
        return False
    op, dtype, _ = accumulator_of(node)
    pairs = [(a, b) for a, b in ((have, dtype), (dtype, want)) if a != b]
    return is_printable(op, 2, dtype) and all(is_printable("cast", 1, a, b) for a, b in pairs)


class NativeExecutor:
    """Runs a graph natively; the interface is that of the NumPy executor.

    `executor(values)` takes the values of the params in order and returns one value an output, None for
    commits. Calls are thread-safe and re-entrant. With TAPELESS_POISON=1 dead arena memory is spoiled.
    """

    name = "native"

    def __init__(
        self,
        graph: Graph,
        layouts: Sequence[Any],
        targets: Sequence[Target],
        donated: frozenset[int] = frozenset(),
    ) -> None:
        updated = {graph.params[target.param] for target in targets if target.param is not None}
        for native_form in NATIVE_FORMS:
            graph = native_form(graph)
        self.graph = fuse(split_sums(transpose_once(split_products(graph, updated))), can_fuse)
        self.plan: Plan = plan_native(self.graph, layouts, targets, is_native, donated)
        self._bases: dict[int, int] = {}
        self._constants = self._number_bases()
        builder = TableBuilder(self.plan, self._bases, engine.vector_bytes())
        self.segments = builder.build()
        self._texts = builder.module_texts()
        self._outside, self._descriptions = builder.code.outside, builder.code.descriptions
        self._library: engine.Library | None = None
        made = dict.fromkeys(code for code, _ in self._outside.values())
        shared = [part for code in made for part in code.missing()]
        cache.load_together([(self._texts, self._load), *shared, *walker.missing()])
        self.arena_bytes = builder.arena_bytes
        self._checks = list(builder.checks)
        self._addresses = {symbol: code.address(frame) for symbol, (code, frame) in self._outside.items()}
        self._tables = [self._table(s.native) if s.step is None else None for s in self.segments]
        self._enter, self._alive = walker.enter()
        self._pool: list[_Instance] = []
        self._poison = os.environ.get("TAPELESS_POISON", "") not in ("", "0")
        self._costs = [sum(step.cost for step in segment.native) for segment in self.segments]
        pairs = zip(self.segments, self._costs, strict=True)
        self._chained = [
            chains.chained(segment.native, self._address) if cost > _LEAST_TOGETHER else segment.native
            for segment, cost in pairs
        ]
        self._shares = [
            cost > _LEAST_TOGETHER and any(step.grain for step in steps)
            for steps, cost in zip(self._chained, self._costs, strict=True)
        ]
        self.works_together = any(self._shares)
        together = tuple(s.sources for steps in self._chained for s in steps if len(s.sources) > 1)
        self.plan = replace(self.plan, chains=together)
        self._straight: Straight | None = None

    @property
    def llvm(self) -> str:
        """LLVM text of the plan's kernels, a module for each code generation level."""
        return "\n".join(f"; level {level}\n{text}" for text, level in self._texts)

    @property
    def asm(self) -> str:
        """Assembly of the plan's kernels for this machine."""
        return "\n".join(engine.assembly(text, level) for text, level in self._texts)

    def _load(self, codes: list[bytes]) -> None:
        if codes:
            self._library = engine.Library(codes, blas.externals())

    def straight(self) -> Straight:
        """The call as one function, written when first asked for."""
        if self._straight is None:
            self._straight = Straight(self)
        return self._straight

    def instance(self) -> _Instance:
        """Another arena, bound to the plan."""
        return _Instance(self)

    def times(self, values: Sequence[Any], again: Callable[[int], bool]) -> list[list[float]]:
        """Seconds of each step of the plan on these values, one list a round while `again(rounds done)`."""
        return times(self, values, again)

    def _number_bases(self) -> list[Any]:
        """Give each buffer outside of the arena, and each constant, a base; the constants' arrays."""
        plan = self.plan
        self.param_slots = []
        for position, param in enumerate(self.graph.params):
            if isinstance(param.type, ArrayType):
                self.param_slots.append(position)
        by_param = {b.param: k for k, b in enumerate(plan.buffers) if b.place is Place.PARAM}
        self.fresh = [k for k, b in enumerate(plan.buffers) if b.place is Place.FRESH]
        count = 1
        for position in self.param_slots:
            self._bases[by_param[position]] = count
            count += 1
        for k in self.fresh:
            self._bases[k] = count
            count += 1
        constants = []
        for number, value in enumerate(plan.values):
            if value.place is Place.CONSTANT and value.base is None and isinstance(value.type, ArrayType):
                self._bases[-1 - number] = count
                constants.append(np.ascontiguousarray(value.node.attrs["value"].value))
                count += 1
        self.base_count = count
        self.fresh_values = [next(v for v in plan.values if v.buffer == k) for k in self.fresh]
        return constants

    def _address(self, symbol: str) -> int:
        """Where a function of the steps is."""
        if symbol not in self._addresses:
            found = walker.library() if symbol == chains.SYMBOL else self._library
            assert found is not None
            self._addresses[symbol] = found.address(symbol)
        return self._addresses[symbol]

    def _table(self, steps: Sequence[NativeStep]) -> tuple[Any, Any]:
        """The table and the arguments of native steps as arrays of i64."""
        rows: list[list[int]] = []
        arguments: list[tuple[int, int]] = []
        for step in steps:
            where = self._address(step.symbol), len(arguments), len(step.arguments)
            rows.append([*where, 0, step.end, step.grain, step.parts])
            arguments += step.arguments
        return np.array(rows, np.int64), np.array(arguments or [(0, 0)], np.int64)

    @cached_property
    def shared_tables(self) -> list[tuple[Any, Any] | None]:
        """The tables for several threads, in which chains are one step."""
        return [
            self._table(steps) if shares else None
            for steps, shares in zip(self._chained, self._shares, strict=True)
        ]

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        pool = self._pool
        try:
            instance = pool.pop()
        except IndexError:
            instance = _Instance(self)
        try:
            run = instance.straight
            return instance.run(values) if run is None else run(values)
        finally:
            if len(pool) < _POOLED:
                pool.append(instance)


class _Instance:
    """One arena, with tokens for the segments and the Python steps bound to it."""

    def __init__(self, executor: NativeExecutor) -> None:
        self.executor = executor
        self.arena = Arena(executor.arena_bytes)
        self.bases = np.zeros(executor.base_count, np.int64)
        self.bases[0] = self.arena.memory.ctypes.data
        first = executor.base_count - len(executor._constants)
        for k, constant in enumerate(executor._constants):
            self.bases[first + k] = constant.ctypes.data
        self.windows: dict[int, Any] = {}
        self.runs = []
        self.actions: list[Callable[[_Call], None] | int] = []
        self.together: list[tuple[int, Any]] = []
        self.threads, self.shared = 1, 0
        for number, (segment, table) in enumerate(zip(executor.segments, executor._tables, strict=True)):
            if table is None:
                assert segment.step is not None
                self.actions.append(python_step(executor, self, segment.step))
                continue
            rows, arguments = table
            cost = executor._costs[number]
            run = np.array(
                [
                    rows.ctypes.data,
                    len(rows),
                    arguments.ctypes.data,
                    self.bases.ctypes.data,
                    1,
                    cost > _LEAST_RELEASED,
                    1,
                    0,
                ],
                np.int64,
            )
            self.runs.append(run)
            if executor._shares[number]:
                self.together.append((number, run))
            self.actions.append(run.ctypes.data)
        self.calls = 0
        self.straight: Run | None = None
        self.poison = Poison(self) if executor._poison else None

    def window(self, number: int) -> Any:
        """The array of a value in the arena or of a constant."""
        found = self.windows.get(number)
        if found is None:
            value = self.executor.plan.values[number]
            if value.place is Place.CONSTANT and value.base is None:
                found = value.node.attrs["value"].value
            elif value.place is Place.CONSTANT:
                found = _seen(self.window(_root(self.executor.plan, number)), value)
            else:
                assert value.buffer is not None
                assert isinstance(value.type, ArrayType)
                offset = self.executor.plan.buffers[value.buffer].offset + value.offset
                assert value.strides is not None
                found = self.arena.array(value.type.shape, value.type.dtype, offset, value.strides)
            self.windows[number] = found
        return found

    def walk_all(self, call: Any, arguments: tuple[Any, ...]) -> None:
        """Run the segments in order, with workers where that pays."""
        workers = threads.pool() if self.together else None
        if workers is None or not workers.lock.acquire(blocking=False):
            self.walk(call, arguments, 1, 0)
            return
        try:
            self.walk(call, arguments, workers.threads, workers.shared)
        finally:
            workers.lock.release()

    def walk(self, call: _Call, arguments: tuple[Any, ...], count: int, shared: int) -> None:
        """Run the segments in order with so many threads."""
        if count != self.threads or shared != self.shared:
            self.share(count, shared)
        enter = self.executor._enter
        for action in self.actions:
            if type(action) is int:
                enter(action, *arguments)
            else:
                action(call)  # type: ignore[operator]

    def share(self, count: int, shared: int) -> None:
        """Let the next runs be on so many threads, which have their own tables."""
        executor = self.executor
        tables = executor.shared_tables if count > 1 else executor._tables
        for number, run in self.together:
            table = tables[number]
            assert table is not None
            rows, arguments = table
            run[0], run[1], run[2] = rows.ctypes.data, len(rows), arguments.ctypes.data
            run[6], run[7] = count, shared
        self.threads, self.shared = count, shared

    def bind(self, values: Sequence[Any]) -> tuple[_Call, tuple[Any, ...]]:
        """A call with these values, and the arrays whose addresses the walker needs."""
        executor = self.executor
        for position, length in executor._checks:
            check_index(values[position], length)
        arrays = [values[i] for i in executor.param_slots]
        arrays = [a if type(a) is np.ndarray else np.asarray(a) for a in arrays]
        fresh = [empty(v.type.shape, v.type.dtype, v.strides) for v in executor.fresh_values]  # type: ignore[union-attr]
        return _Call(self, values, fresh), (*arrays, *fresh)

    def run(self, values: Sequence[Any]) -> list[Any]:
        executor = self.executor
        self.calls += 1
        if self.calls == _CALLS_TO_STRAIGHT and self.poison is None:
            self.straight = executor.straight().bind(self, _Call)
            return self.straight(values)
        call, arguments = self.bind(values)
        if self.poison is not None:
            self.poison.spoil(call.fresh)
        if self.poison is not None and self.poison.turn():
            self.poison.walk(call, arguments)
        else:
            self.walk_all(call, arguments)
        return [
            None if n is None else call.result(n, t)
            for n, t in zip(executor.plan.results, executor.plan.targets, strict=True)
        ]


def check_index(index: Any, length: int) -> None:
    """Raise NumPy's IndexError if an index array points outside of an axis of this length."""
    if index.size and not (-length <= index.min() and index.max() < length):
        wrong = index[(index < -length) | (index >= length)].flat[0]
        raise IndexError(f"index {wrong} is out of bounds for axis 0 with size {length}")


class _Call:
    """What one call knows: the caller's values, new results, values that NumPy or Python made."""

    __slots__ = ("fresh", "instance", "made", "values")

    def __init__(self, instance: _Instance, values: Sequence[Any], fresh: list[Any]) -> None:
        self.instance = instance
        self.values = values
        self.fresh = fresh
        self.made: dict[int, Any] = {}

    def value(self, number: int) -> Any:
        """A value as NumPy takes it."""
        if number in self.made:
            return self.made[number]
        executor = self.instance.executor
        plan = executor.plan
        value = plan.values[number]
        if value.place is Place.PARAM:
            assert value.buffer is not None
            position = plan.buffers[value.buffer].param
            assert position is not None
            given = self.values[position]
            if value.base is None:
                return given
            return _seen(given, value)
        if value.place is Place.FRESH:
            assert value.buffer is not None
            whole = self.fresh[executor.fresh.index(value.buffer)]
            return whole if value.base is None else _seen(whole, value)
        return self.instance.window(number)

    def result(self, number: int, target: Target) -> Any:
        found = self.value(number)
        if target.kind == "scalar":
            return np.asarray(found)[()]
        if target.kind == "fresh" and not self.instance.executor.plan.values[number].type.size:  # type: ignore[union-attr]
            return np.array(found)
        return found


def _root(plan: Plan, number: int) -> int:
    """The value that a chain of views looks at."""
    base = plan.values[number].base
    while base is not None:
        number, base = base, plan.values[base].base
    return number


def _seen(array: Any, value: Any) -> Any:
    return window(np.asarray(array), value.type.shape, value.type.dtype, value.offset, value.strides)
