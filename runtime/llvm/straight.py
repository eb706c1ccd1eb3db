"""A native call as one Python function: values in, tables walked, results out, nothing looked up.

It is written once a plan, after a few calls, and bound to each instance. Large results are made in memory
that an earlier call of the instance returned, once nobody holds that array any more; small ones are new.
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.ir.types import ArrayType
from ...compiler.passes.strides import c_strides
from ...compiler.plan import Place
from ..arena import empty

if TYPE_CHECKING:
    from .executor import NativeExecutor, _Instance

Run = Callable[[Sequence[Any]], "list[Any]"]
_FILE = os.path.join(os.path.dirname(__file__), "<native call>")
_MOST_ACTIONS = 40
# Bytes of results worth keeping: new memory costs less below, and above too much would be held for too long.
_LEAST_KEPT, _MOST_KEPT = 1 << 16, 1 << 26
_KEPT = 2


def _references(arrays: Sequence[Any], number: int) -> int:
    return sys.getrefcount(arrays[number])


_ALONE = _references([np.empty(0)], 0)
_RECYCLES = sys.implementation.name == "cpython" and getattr(sys, "_is_gil_enabled", lambda: True)()


class Recycler:
    """Makes arrays of one kind; gives one again when nobody but the recycler holds it.

    `shape`, `dtype` and `strides` are those of `arena.empty`. An array that has weak references, or that its
    holder reshaped, locked or otherwise changed before letting go, is not given again.
    """

    def __init__(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None) -> None:
        self.make = maker(shape, dtype, strides)
        example = self.make()
        self.kind = _kind(example)
        self.kept: list[Any] = []

    def __call__(self) -> Any:
        kept = self.kept
        for number in range(len(kept)):
            if _references(kept, number) == _ALONE and not weakref.getweakrefcount(kept[number]):
                array = kept.pop(number)
                if _kind(array) == self.kind:
                    kept.append(array)
                    return array
                break
        array = self.make()
        if len(kept) == _KEPT:
            del kept[0]
        kept.append(array)
        return array


def _kind(array: Any) -> Any:
    flags = array.flags
    return array.shape, array.strides, array.dtype, flags.writeable, flags.owndata


def maker(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...] | None) -> Callable[[], Any]:
    """A function that makes new arrays as `arena.empty` does."""
    new = np.empty
    if strides is None or strides == c_strides(shape, np.dtype(dtype).itemsize):
        return lambda: new(shape, dtype)
    return lambda: empty(shape, dtype, strides)


class Straight:
    """The source of a plan's call, and what it names that does not belong to an instance."""

    def __init__(self, executor: NativeExecutor) -> None:
        self.executor = executor
        self.names: dict[str, Any] = {
            "ndarray": np.ndarray,
            "asarray": np.asarray,
            "new_array": np.empty,
            "enter": executor._enter,
        }
        self.windows: dict[str, int] = {}
        self.python = any(segment.step is not None for segment in executor.segments)
        source = "\n  ".join(self._lines())
        given = ", ".join((*self.names, *self._own()))
        scope: dict[str, Any] = {}
        exec(compile(f"def bind({given}):\n def run(values):\n  {source}\n return run", _FILE, "exec"), scope)
        self._bind: Callable[..., Run] = scope["bind"]

    def _own(self) -> list[str]:
        """What belongs to an instance."""
        makers = [f"new{k}" for k in range(len(self.executor.fresh_values))]
        actions = [f"act{k}" for k in range(len(self.executor.segments))]
        return ["instance", "new_call", *makers, *actions, *self.windows]

    def bind(self, instance: _Instance, new_call: Any) -> Run:
        """The function on one instance's memory."""
        makers = [_maker(value) for value in self.executor.fresh_values]
        windows = [instance.window(number) for number in self.windows.values()]
        bound = (*makers, *instance.actions, *windows)
        return self._bind(*self.names.values(), instance, new_call, *bound)

    def _lines(self) -> list[str]:
        executor = self.executor
        pairs = zip(executor.plan.results, executor.plan.targets, strict=True)
        results = ", ".join([self._result(number, target) for number, target in pairs])
        params = [f"a{k}" for k in range(len(executor.graph.params))]
        lines = [f"{', '.join(params)}, = values"] if params else []
        for number, (position, length) in enumerate(executor._checks):
            self.names[f"check{number}"] = checker(length)
            lines.append(f"check{number}({params[position]})")
        fresh = [f"f{k}" for k in range(len(executor.fresh_values))]
        lines += [f"{name} = {self._new(k)}" for k, name in enumerate(fresh)]
        if self.python:
            lines.append(f"call = new_call(instance, values, [{', '.join(fresh)}])")
        for k in executor.param_slots:
            lines.append(f"if type(a{k}) is not ndarray: a{k} = asarray(a{k})")
        arguments = [*(params[k] for k in executor.param_slots), *fresh]
        return [*lines, *self._walks(arguments), f"return [{results}]"]

    def _new(self, number: int) -> str:
        """A new array for a result."""
        value = self.executor.fresh_values[number]
        kind = value.type
        assert isinstance(kind, ArrayType)
        if _is_kept(kind) or value.strides not in (None, c_strides(kind.shape, kind.dtype.itemsize)):
            return f"new{number}()"
        self.names[f"dtype{number}"] = kind.dtype
        return f"new_array({kind.shape!r}, dtype{number})"

    def _walks(self, arguments: Sequence[str]) -> list[str]:
        given = "".join(f", {name}" for name in arguments)
        if self.executor.works_together or len(self.executor.segments) > _MOST_ACTIONS:
            return [f"instance.walk_all({'call' if self.python else 'None'}, ({given[2:]},))"]
        return [
            f"enter(act{k}{given})" if segment.step is None else f"act{k}(call)"
            for k, segment in enumerate(self.executor.segments)
        ]

    def _result(self, number: int | None, target: Any) -> str:
        if number is None:
            return "None"
        plan = self.executor.plan
        value = plan.values[number]
        if value.place is Place.FRESH and value.base is None and target.kind == "fresh" and value.type.size:  # type: ignore[union-attr]
            assert value.buffer is not None
            return f"f{self.executor.fresh.index(value.buffer)}"
        if value.place is Place.ARENA and target.kind == "scalar" and isinstance(value.type, ArrayType):
            name = f"w{len(self.windows)}"
            self.windows[name] = number
            return f"{name}[()]"
        self.python = True
        self.names.setdefault(f"target{number}", target)
        return f"call.result({number}, target{number})"


def _maker(value: Any) -> Callable[[], Any]:
    kind = value.type
    if _is_kept(kind):
        return Recycler(kind.shape, kind.dtype, value.strides)
    return maker(kind.shape, kind.dtype, value.strides)


def _is_kept(kind: ArrayType) -> bool:
    return _RECYCLES and _LEAST_KEPT <= kind.nbytes <= _MOST_KEPT


def checker(length: int) -> Callable[[Any], None]:
    """`check_index` for an axis of this length; one pass where no index is negative."""
    from .executor import check_index

    largest = np.maximum.reduce
    signed, unsigned = np.dtype(np.int64), np.dtype(np.uint64)

    def check(index: Any) -> None:
        if index.dtype is signed and index.size and largest(index.view(unsigned), axis=None) < length:
            return
        check_index(index, length)

    return check
