"""compile, grad, value_and_grad, trace, draw: the only place where the three stages meet."""

from __future__ import annotations

import functools
import inspect
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .compiler.ir.node import Graph
from .compiler.plan import Plan, Target
from .runtime.interpret import InterpretExecutor, interpret
from .tracer import signature, transforms
from .tracer.assemble import Assembler
from .tracer.function import TracedFunction, trace_function
from .tracer.state import current
from .tracer.trace import NeedsStatic

CACHE_SIZE = 256


class Specialization:
    """One traced, compiled and planned signature of a function."""

    def __init__(self, traced: TracedFunction, executor: str, donated: frozenset[int]) -> None:
        self.traced = traced
        self.graph = traced.graph
        targets = [Target(o.kind, o.strides, o.param) for o in traced.outputs]
        self.assembler = Assembler(traced)
        self.run = InterpretExecutor(self.graph, targets)

    def __call__(self, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = self.assembler.gather(leaves)
        return self.assembler.result(self.run(values), leaves, args, kwargs)


class CompiledFunction:
    """A function that is traced once per signature and then runs as a plan."""

    def __init__(
        self,
        function: Callable[..., Any],
        static: Sequence[str | int] = (),
        donate: Any = (),
        executor: str = "auto",
    ) -> None:
        self.function = function
        self._executor = executor
        self._static = tuple(static)
        self._cache: OrderedDict[Any, Specialization] = OrderedDict()
        self._on_demand: dict[Any, frozenset[int]] = {}
        self._lock = threading.RLock()
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current() is not None:
            return self.function(*args, **kwargs)
        leaves, tree = signature.flatten((args, kwargs) if kwargs else (args,))
        key = self._key(leaves, tree)
        found = self._cache.get(key)
        if found is None:
            found, leaves = self._specialize(args, kwargs)
        return found(leaves, args, kwargs)

    def _key(self, leaves: Sequence[Any], tree: Any) -> Any:
        static = self._on_demand.get(tree)
        if static:
            keys = tuple(signature.leaf_key(leaf, i in static) for i, leaf in enumerate(leaves))
        else:
            keys = tuple(map(signature.leaf_key, leaves))
        return tree, keys, signature.overlaps(leaves)

    def _specialize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Specialization, list[Any]]:
        with self._lock:
            leaves, tree = signature.flatten((args, kwargs) if kwargs else (args,))
            key = self._key(leaves, tree)
            found = self._cache.get(key)
            if found is None:
                traced = self._trace(args, kwargs, tree)
                found = Specialization(traced, self._executor, frozenset())
                self._cache[self._key(leaves, tree)] = found
                while len(self._cache) > CACHE_SIZE:
                    self._cache.popitem(last=False)
            return found, leaves

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], tree: Any) -> TracedFunction:
        while True:
            static = self._on_demand.get(tree, frozenset())
            try:
                return trace_function(self.function, args, kwargs, static=static)
            except NeedsStatic as need:
                self._on_demand[tree] = static | frozenset(need.leaves)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph for these arguments."""
        return self._specialize(args, kwargs)[0].graph

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The plan for these arguments."""
        return self._specialize(args, kwargs)[0].plan

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)


def compile(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function written in plain NumPy; also used as a decorator, with or without options."""
    if function is None:
        return lambda f: CompiledFunction(f, **options)
    return CompiledFunction(function, **options)


def _run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Trace, differentiate and run once, without a cache."""
    return CompiledFunction(function)(*args, **kwargs)


def value_and_grad(
    function: Callable[..., Any], wrt: transforms.Wrt = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the value and the gradient with respect to `wrt`."""

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        trace = current()
        if trace is None:
            return _run(differentiated, args, kwargs)
        return transforms.value_and_grad(trace, function, wrt, has_aux, args, kwargs)

    return differentiated


def grad(function: Callable[..., Any], wrt: transforms.Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient with respect to `wrt`."""

    @functools.wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        value, gradients = value_and_grad(function, wrt, has_aux)(*args, **kwargs)
        return (gradients, value[1]) if has_aux else gradients

    return differentiated


def trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Graph:
    """The graph of a function for these arguments, before optimisation."""
    return trace_function(function, args, kwargs).graph


__all__ = ["CompiledFunction", "compile", "grad", "inspect", "interpret", "np", "trace", "value_and_grad"]
