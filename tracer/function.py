"""Trace a whole function: arguments in, a Graph out, and how results and arguments are put together again.

What comes out is a TracedFunction: the graph, where each param's value is found at a call, what each
output becomes, and a plan for assembling the user's result from them.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.ir.node import Graph, Node
from ..compiler.ir.record import record
from ..compiler.ir.types import GENERATOR, array_type, scalar_type, supported
from . import signature
from .errors import ArgumentError, make_error
from .guards import Guards, Overlap
from .numpy_patch import stand_in
from .numpy_table.random import TracedGenerator
from .numpy_table.selection import Selection
from .random_state import random_error
from .stand_in import original
from .storage import Storage, Window, address, overlaps_itself
from .trace import NeedsStatic, Trace, shadow_like
from .traced_array import TracedArray, TracedNumber
from .tree import ContainerCopies, child_name, is_container, slots, template

if TYPE_CHECKING:
    from .watch import Watch


@record
class Source:
    """Where a param's value is found at a call: "leaf" i, "union" of leaves, or "closure" array."""

    kind: str
    index: int = 0
    value: Any = None
    members: tuple[tuple[int, int], ...] = ()
    length: int = 0


@record
class View:
    """A result that looks at another array's memory."""

    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: Any
    writeable: bool


@record
class Spec:
    """How one value of the user's result is made at a call.

    kind: "output" i; "leaf" i (the caller's object); "container" i (the caller's container); "closure" i;
    "static" value; "duplicate" of a value; "build" (a container like `value` of `items`). `view` is taken of
    what the kind names.
    `key` tells results that must be one object.
    """

    kind: str
    index: int = 0
    value: Any = None
    items: tuple[tuple[Any, Spec], ...] = ()
    view: View | None = None
    key: int = 0


@record
class Output:
    """What an output node becomes: see compiler.plan.Target, whose fields these are."""

    kind: str
    strides: tuple[int, ...] | None = None
    param: int | None = None


@record(frozen=False)
class TracedFunction:
    """The result of tracing a function once; `reshaped` are the leaves whose shape the function sets."""

    graph: Graph
    sources: list[Source]
    layouts: list[tuple[int, ...] | None]
    outputs: list[Output]
    result: Spec
    containers: list[tuple[int, Spec]]
    names: list[str] = field(default_factory=list)
    written: tuple[int, ...] = ()
    reshaped: tuple[tuple[int, tuple[int, ...]], ...] = ()
    guards: Guards | None = None
    overlap: Overlap | None = None


def argument_names(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The user's names for positional arguments, then keywords."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names = []
    for position in range(len(args)):
        if position < len(parameters) and parameters[position].kind in (
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
        ):
            names.append(parameters[position].name)
        else:
            rest = next((p.name for p in parameters if p.kind is inspect.Parameter.VAR_POSITIONAL), "arg")
            names.append(f"{rest}.{position}")
    return names + list(kwargs)


def leaf_names(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The user's name for every leaf of a call, in the order of `signature.flatten`."""
    found: list[str] = []

    def walk(value: Any, name: str) -> None:
        if is_container(value):
            for key, child in slots(value):
                walk(child, child_name(name, key, value))
        elif value is not None:
            found.append(name)

    for value, name in zip((*args, *kwargs.values()), argument_names(function, args, kwargs), strict=True):
        walk(value, name)
    return found


class FunctionTracer:
    """One tracing of one function: holds the maps between the caller's objects and traced values."""

    def __init__(
        self,
        function: Callable[..., Any],
        leaves: Sequence[Any],
        groups: tuple[Any, ...],
        static: frozenset[int],
        watch: Watch,
    ) -> None:
        self.function = function
        self.leaves = leaves
        self.groups = groups
        self.static = static
        self.watch = watch
        self.trace = Trace(watch.names)
        self.params: list[Node] = []
        self.sources: list[Source] = []
        self.layouts: list[tuple[int, ...] | None] = []
        self.names: list[str] = []
        self.values: list[Any] = [None] * len(leaves)
        self.storages: list[tuple[Storage, int]] = []
        self._by_object: dict[int, Any] = {}
        self._mixed: dict[int, Any] = {}

    def run(self, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> TracedFunction:
        """Trace the function on these arguments."""
        labels = argument_names(self.function, args, kwargs)
        self.trace.arguments = dict(zip(labels, (*args, *kwargs.values()), strict=False))
        self._unions: dict[int, Storage] = {}
        copies = ContainerCopies()
        try:
            traced_args = tuple(copies.copy(self._leaf, a, n) for a, n in zip(args, labels, strict=False))
            traced_kwargs = {k: copies.copy(self._leaf, v, k) for k, v in kwargs.items()}
        except RecursionError:
            raise signature.too_deep("an argument") from None
        self.copies = copies
        result = self._call(traced_args, traced_kwargs)
        return self._finish(result, name)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            with self.watch.tracing(self.trace):
                result = self.function(*args, **kwargs)
        except NeedsStatic as need:
            raise self._located(need) from None
        except Exception as error:
            if self.trace.demand is not None:
                raise self._located(self.trace.demand) from None
            if self.trace.refusal is None or error is self.trace.refusal:
                raise
            # NumPy, or the user's code, caught a refusal and raised something that says less.
            raise self.trace.refusal.with_traceback(error.__traceback__) from None
        if self.trace.demand is not None:
            # A bare `except:` of the user's swallowed it.
            raise self._located(self.trace.demand)
        if inspect.isgenerator(result) or inspect.iscoroutine(result):
            raise make_error(
                ArgumentError, "a generator or coroutine function cannot be compiled", None,
                fixes=[("", "compile the function that it calls for each item")],
            )  # fmt: skip
        if self.trace.refusal is not None:
            raise self.trace.refusal
        return result

    def _located(self, need: NeedsStatic) -> NeedsStatic:
        """The demand with the positions of the leaves that have to become static."""
        position = {param: source.index for param, source in zip(self.params, self.sources, strict=True)}
        need.leaves = tuple(position[param] for param in need.params)
        return need

    # ---- arguments

    def _leaf(self, leaf: Any, index: int, name: str) -> Any:
        signature.check_leaf(leaf, name)
        if type(leaf) is signature.Static:
            return stand_in(leaf.value)
        fixed = index in self.static and type(leaf) is not np.ndarray
        if fixed or not signature.is_traced_leaf(leaf):
            return stand_in(leaf)
        made = self._make_leaf(leaf, index, name)
        self.values[index] = made
        return made

    def _make_leaf(self, leaf: Any, index: int, name: str) -> Any:
        kind = type(leaf)
        if kind in (int, float, complex):
            node = self._param(name, scalar_type(kind), Source("leaf", index), None)
            return self.trace.number(node, leaf)
        if kind is np.random.Generator:
            if id(leaf) not in self._by_object:
                node = self._param(name, GENERATOR, Source("leaf", index), None)
                self._by_object[id(leaf)] = TracedGenerator(self.trace, node, leaf)
            return self._by_object[id(leaf)]
        if kind is not np.ndarray:
            node = self._param(name, array_type((), leaf.dtype), Source("leaf", index), None)
            return self.trace.fresh(node, np.empty((), leaf.dtype), scalar=True)
        known = self._by_object.get(id(leaf))
        if known is not None:
            return known
        made = self._union_member(leaf, index, name)
        if made is None:
            made = self._alone(leaf, index, name, shadow_like(leaf))
        self._by_object[id(leaf)] = made
        return made

    def _alone(self, leaf: Any, index: int, name: str, shadow: Any) -> TracedArray:
        """The window of an array that is a storage of its own."""
        node = self._param(name, array_type(leaf.shape, leaf.dtype), Source("leaf", index), leaf.strides)
        storage = Storage(shadow, "argument", node, name)
        self.storages.append((storage, len(self.params) - 1))
        return self.trace.window(storage, shadow)

    def _param(self, name: str, type_: Any, source: Source, layout: Any) -> Node:
        node = self.trace.builder.param(name, type_)
        self.trace.memory.given(node, layout)
        self.params.append(node)
        self.sources.append(source)
        self.layouts.append(layout)
        self.names.append(name)
        return node

    def _members(self, leaf: Any, index: int) -> tuple[int, ...]:
        """The leaves that span one memory with this one: those that overlap it, or it alone if it does so.

        What np.broadcast_to gave needs none: it is read-only, and each repeat is like the first.
        """
        for group in self.groups:
            if index in group[::3] and len(set(group[1::3])) > 1:
                return tuple(group[::3])
        if not leaf.flags.writeable:
            leaf = leaf[tuple(slice(None) if stride else slice(1) for stride in leaf.strides)]
        return (index,) if overlaps_itself(leaf) else ()

    def _union_member(self, leaf: Any, index: int, name: str) -> TracedArray | None:
        """The window of an array that overlaps others or itself, on one storage that spans them all."""
        members = self._members(leaf, index)
        if not members:
            return None
        arrays = [self.leaves[i] for i in members]
        dtype = leaf.dtype
        low = min(signature.bounds(a)[0] for a in arrays)
        high = max(signature.bounds(a)[1] for a in arrays)
        starts = [address(a) - low for a in arrays]
        unit = dtype.itemsize
        if any(a.dtype != dtype for a in arrays) or any(
            s % unit for a, start in zip(arrays, starts, strict=True) for s in (*a.strides, start)
        ):
            if len(members) > 1:
                memory = self._mixed.setdefault(members[0], np.empty(high - low, np.uint8))
                shadow = np.ndarray(leaf.shape, dtype, memory, address(leaf) - low, leaf.strides)
                shadow.flags.writeable = leaf.flags.writeable
                return self._alone(leaf, index, name, shadow)
            raise make_error(
                ArgumentError,
                f"the elements of argument {name} lie in parts of each other",
                None,
                fixes=[("", f"pass {name}.copy()")],
            )
        storage = self._unions.get(members[0])
        if storage is None:
            length = (high - low) // unit
            root = np.empty(length, dtype)
            source = Source("union", members=tuple(zip(members, starts, strict=True)), length=length)
            node = self._param(name, array_type((length,), dtype), source, (unit,))
            storage = self._unions[members[0]] = Storage(root, "argument", node, name)
            self.storages.append((storage, len(self.params) - 1))
        shadow = np.ndarray(leaf.shape, dtype, storage.root, address(leaf) - low, leaf.strides)
        shadow.flags.writeable = leaf.flags.writeable
        window = Window.whole(storage.root).affine(shadow)
        assert window is not None, "a view of its own memory"
        return self.trace.window(storage, shadow, window)

    # ---- results

    def _finish(self, result: Any, name: str) -> TracedFunction:
        trace = self.trace
        self._outputs: list[Output] = []
        self._nodes: list[Node] = []
        self._output_of: dict[int, int] = {}
        self._keep: list[Any] = []
        try:
            spec = self._spec(result)
        except RecursionError:
            raise signature.too_deep("the result") from None
        containers = [
            (
                self._container_index(original),
                Spec("build", value=type(made), items=tuple((k, self._spec(v)) for k, v in slots(made))),
            )
            for original, made in self.copies.changed()
        ]
        params = [*self.params, *(t.storage.node(trace.builder) for _, t in self._closures())]
        for storage, position in self.storages:
            node = storage.node(trace.builder)
            if storage.version and any(storage.memory is memory for memory in self._mixed.values()):
                raise make_error(
                    ArgumentError,
                    f"argument {storage.name} is written to, and shares memory with an argument of another "
                    "dtype or alignment",
                    None,
                    fixes=[("", "pass a copy of one of them")],
                )
            if storage.version and node is not self.params[position]:
                self._add_output(node, Output("commit", param=position))
        for chain in trace.generators.values():
            if chain.node is not chain.start:
                self._add_output(chain.node, Output("number"))
        sources = [*self.sources, *(Source("closure", value=value) for value, _ in self._closures())]
        layouts = [*self.layouts, *(value.strides for value, _ in self._closures())]
        trace.ended = True
        return TracedFunction(
            Graph(name, tuple(params), tuple(self._nodes)),
            sources,
            layouts,
            self._outputs,
            spec,
            containers,
            [*self.names, *(t.storage.name for _, t in self._closures())],
            tuple(p for s, p in self.storages if s.version),
            self._reshaped(),
        )

    def _reshaped(self) -> tuple[tuple[int, tuple[int, ...]], ...]:
        """The leaves whose shape was assigned to, and what it is now."""
        pairs = enumerate(zip(self.leaves, self.values, strict=True))
        arrays = [(i, leaf, value) for i, (leaf, value) in pairs if type(value) is TracedArray]
        return tuple((i, value.shape) for i, leaf, value in arrays if value.shape != leaf.shape)

    def _closures(self) -> list[tuple[Any, TracedArray]]:
        return list(self.trace.closures.values())

    def _container_index(self, original: Any) -> int:
        for number, (container, _, _) in enumerate(self.copies.originals):
            if container is original:
                return number
        raise AssertionError("a container that was no argument")

    def _add_output(self, node: Node, output: Output) -> int:
        self._nodes.append(node)
        self._outputs.append(output)
        return len(self._nodes) - 1

    def _spec(self, value: Any) -> Spec:
        if type(value) is TracedArray:
            return self._array_spec(value)
        if type(value) is TracedNumber:
            return Spec("output", self._once(value, value.node, Output("number")))
        if type(value) is np.ndarray and supported(value.dtype):
            return self._array_spec(self.trace.closure(value))
        if type(value) is TracedGenerator:
            return Spec("leaf", next(i for i, leaf in enumerate(self.values) if leaf is value))
        if type(value) is Selection:
            raise value.refuse("returning it")
        for number, (_, made, _) in enumerate(self.copies.originals):
            if value is made:
                return Spec("container", number, key=id(value))
        if self.watch.reach.met(value):
            return Spec("static", value=value)
        if type(value) in (set, bytearray):
            return Spec("duplicate", value=value, key=id(value))
        if is_container(value):
            self._keep.append(value)
            return Spec(
                "build",
                value=template(value),
                items=tuple((k, self._spec(v)) for k, v in slots(value)),
                key=id(value),
            )
        return Spec("static", value=original(value))

    def _once(self, value: Any, node: Node, output: Output) -> int:
        self._keep.append(value)
        known = self._output_of.get(id(value))
        if known is None:
            known = self._output_of[id(value)] = self._add_output(node, output)
        return known

    def _array_spec(self, value: TracedArray) -> Spec:
        storage, trace = value.storage, self.trace
        for index, leaf in enumerate(self.values):
            if leaf is value:
                return Spec("leaf", index)
        if value.scalar:
            if value.constant:
                return Spec("static", value=value.known())
            return Spec("output", self._once(value, trace.read(value), Output("scalar")))
        self._keep.append(value)
        if storage.kind == "argument":
            position = next(p for s, p in self.storages if s is storage)
            source = self.sources[position]
            if source.kind == "union":
                return Spec("union", position, view=self._view(value, storage.root), key=id(value))
            return Spec("leaf", source.index, view=self._view(value, storage.root), key=id(value))
        if storage.kind == "closure":
            number = next(i for i, (_, t) in enumerate(self._closures()) if t.storage is storage)
            view = None if self._closures()[number][1] is value else self._view(value, storage.root)
            return Spec("closure", number, view=view, key=id(value))
        index = self._once(storage, storage.node(trace.builder), Output("fresh", storage.root.strides))
        whole = value.shadow is storage.root and storage.root.flags.writeable
        view = None if whole else self._view(value, storage.root)
        return Spec("output", index, view=view, key=id(value))

    def forget(self) -> None:
        """Let go of every traced value, so that those which are still alive were left behind."""
        self.values.clear()
        self.storages.clear()
        self._by_object.clear()
        self._unions.clear()
        self._keep.clear()
        self.copies.forget()

    def _view(self, value: TracedArray, root: Any) -> View:
        shadow = value.shadow
        return View(
            address(shadow) - address(root),
            shadow.shape,
            shadow.strides,
            shadow.dtype,
            shadow.flags.writeable,
        )


def trace_function(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    name: str | None = None,
    static: frozenset[int] = frozenset(),
) -> TracedFunction:
    """Trace `function(*args, **kwargs)` once; `static` holds positions of leaves that stay what they are."""
    from .watch import DrawnWhileTracing, Watch

    leaves, _ = signature.flatten((args, kwargs))
    groups = signature.overlaps(leaves)
    drawn = ""
    for _ in range(2):
        watch = Watch(function, leaves, leaf_names(function, args, kwargs))
        tracer = FunctionTracer(function, leaves, groups, static, watch)
        try:
            traced = tracer.run(args, kwargs, name or signature.function_name(function))
        except DrawnWhileTracing as error:
            drawn = str(error)
            continue
        watch.finish(tracer, traced)
        return traced
    raise random_error(drawn)
