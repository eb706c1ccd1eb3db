"""What surrounds one trace: stand-ins bound, settings watched, and what is checked when it is over.

`tracing` is the time in which the user's function runs. `finish` looks back: what was drawn, rebound, frozen
or left behind, and what the specialization depends on beside its arguments.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..compiler.ir.record import replace
from . import floating_point
from .constants import check_derived
from .errors import ArgumentError, SideEffectWarning, make_error
from .function import FunctionTracer, Spec, TracedFunction
from .guards import Overlap, guards_of
from .leaks import check_leaks
from .numpy_patch import patch
from .random_state import RandomStates
from .reach import Reach
from .snapshots import Snapshots, write_error
from .state import activate, user_stacklevel
from .trace import Trace

_ARRAYS_AND_NUMBERS = (np.ndarray, bool, int, float, complex, str, bytes, type(None))


class DrawnWhileTracing(Exception):
    """A generator that is no argument was drawn from, by the traced function or by another thread."""


class Watch:
    """The surroundings of one trace of a function."""

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any], names: Sequence[str]) -> None:
        refuse_coroutines(function)
        self.function = function
        objects = [(leaf, name) for leaf, name in zip(leaves, names, strict=True) if _is_object(leaf)]
        self.reach = Reach.of(function, objects)
        self.names = {key: name for key, (_, name) in self.reach.arrays.items() if name}

    @contextmanager
    def tracing(self, trace: Trace) -> Iterator[None]:
        """The time in which the user's function runs."""
        trace.function_name = getattr(self.function, "__name__", "")
        states, snapshots = RandomStates(self.reach), Snapshots(self.reach)
        try:
            with patch.installed(self.reach), floating_point.watched(trace):
                before = activate(trace)
                try:
                    yield
                finally:
                    activate(before)
        finally:
            drawn, written = states.drawn(), snapshots.written()
        if drawn and trace.refusal is None:
            raise DrawnWhileTracing(drawn)
        if written is not None and trace.refusal is None:
            raise write_error(written)

    def finish(self, tracer: FunctionTracer, traced: TracedFunction) -> None:
        """Check what the trace leaves, and find what the specialization depends on."""
        trace = tracer.trace
        self._warn_of_rebinding()
        tracer.forget()
        harmless = check_derived(trace, self.reach, traced)
        if harmless:
            closures = [source.value for source in traced.sources if source.kind == "closure"]
            copied = frozenset(i for i, c in enumerate(closures) if any(c is h for h in harmless))
            traced.result = _copied(traced.result, copied)
            traced.containers = [(number, _copied(spec, copied)) for number, spec in traced.containers]
        arrays = [(value, window.storage.name) for value, window in trace.closures.values()]
        trace.forget()
        check_leaks(trace, self.reach.forget)
        self._guard(traced, [pair for pair in arrays if not any(pair[0] is h for h in harmless)])

    def _guard(self, traced: TracedFunction, arrays: list[tuple[Any, str]]) -> None:
        guards = guards_of(self.reach, [array for array, _ in arrays])
        traced.guards = guards if guards else None
        written = []
        for position in traced.written:
            source = traced.sources[position]
            members = [source.index] if source.kind == "leaf" else [index for index, _ in source.members]
            written += [(index, traced.names[position], "written to") for index in members]
        traced.overlap = Overlap(written, arrays) if written and arrays else None

    def _warn_of_rebinding(self) -> None:
        for shown, read, before in self.reach.rebound:
            if read() is not before:
                warnings.warn(
                    f"{getattr(self.function, '__name__', 'the function')} rebinds {shown}: that happens "
                    "once, while it is traced, and not at each call",
                    SideEffectWarning,
                    stacklevel=user_stacklevel(),
                )


def refuse_coroutines(function: Callable[..., Any]) -> None:
    """Refuse functions whose call runs nothing: generators and coroutines."""
    inner: Any = inspect.unwrap(function)
    inner = getattr(inner, "__func__", inner)
    for test, kind in (
        (inspect.isgeneratorfunction, "generator"),
        (inspect.iscoroutinefunction, "coroutine"),
        (inspect.isasyncgenfunction, "asynchronous generator"),
    ):
        if test(inner):
            raise make_error(
                ArgumentError,
                f"{getattr(function, '__name__', function)} is a {kind} function, which cannot be compiled",
                None,
                why="Calling it runs none of its code.",
                fixes=[("", "compile the function that it calls for each item")],
            )


def _is_object(leaf: Any) -> bool:
    """Whether a leaf is an object or function that stays what it is and may lead to more."""
    leaf = getattr(leaf, "value", leaf) if type(leaf).__name__ == "Static" else leaf
    return type(leaf) not in _ARRAYS_AND_NUMBERS and not isinstance(leaf, np.generic)


def _copied(spec: Spec, numbers: frozenset[int]) -> Spec:
    """A result in which arrays made by the trace are copied at each call, so that each result is fresh."""
    if spec.kind == "closure" and spec.index in numbers:
        return replace(spec, kind="copy")
    return replace(spec, items=tuple((key, _copied(item, numbers)) for key, item in spec.items))
