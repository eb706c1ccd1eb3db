"""NumPy's names in user code while a trace is active: they mean the tracer's functions, NumPy stays as it is.

`np.zeros` cannot be dispatched, and must never be replaced in NumPy itself, whose compiled parts look it up
there. So the names that mean NumPy (the module, functions imported from it) are bound to stand-ins in the
globals of user modules, and in the closure cells, defaults and attributes that the traced function can see,
for as long as any thread traces. Imports inside functions are answered the same way. What a name means while
tracing is listed in `numpy_table/stand_ins.py`.
"""

from __future__ import annotations

import builtins
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from .stand_in import ModuleStandIn, original
from .state import current
from .user_code import is_stage, is_user_namespace, user_modules

if TYPE_CHECKING:
    from .reach import Reach

_MISSING = object()


class _Mine(threading.local):
    """How many traces are active in this thread."""

    depth = 0


class _Names:
    """The names of one module that mean NumPy, as found when it held `count` names."""

    __slots__ = ("count", "names", "namespace")

    def __init__(self, namespace: dict[str, Any], names: list[str]) -> None:
        self.namespace = namespace
        self.count = len(namespace)
        self.names = names


class Patch:
    """The stand-ins and where they are bound now. There is one for the process, `patch`."""

    def __init__(self) -> None:
        self.table: dict[int, Any] = {}
        self.builtins: dict[str, Any] = {}
        self._keep: list[Any] = []
        self._modules: list[tuple[ModuleStandIn, dict[str, Any]]] = []
        self._lock = threading.RLock()
        self._depth = 0
        self._mine = _Mine()
        self._undo: list[Callable[[], None]] = []
        self._known: dict[str, _Names] = {}
        self.real_import: Any = None
        self.loaded = 0

    def stand_in(self, value: Any) -> Any:
        """What a value means in user code while this thread traces."""
        self._fill()
        found = self.table.get(id(value))
        return value if found is None else found

    def _fill(self) -> None:
        """Make the stand-ins, once."""
        if self.table:
            return
        with self._lock:
            if self.table:
                return
            from .numpy_table.stand_ins import builtin_stand_ins, function_stand_ins

            self.builtins = builtin_stand_ins()
            table: dict[int, Any] = {}
            for module, stand_ins in function_stand_ins().items():
                made = ModuleStandIn(module)
                self._modules.append((made, stand_ins))
                table[id(module)] = made
                for name, stand_in in stand_ins.items():
                    real = original(stand_in)
                    self._keep.append(real)
                    if getattr(module, name) is real:
                        table[id(real)] = stand_in
            for made, stand_ins in self._modules:
                prefix = made._real.__name__ + "."
                for other, _ in self._modules:
                    name = other._real.__name__
                    if name.startswith(prefix) and "." not in name[len(prefix) :]:
                        stand_ins[name[len(prefix) :]] = other
            self.table = table

    # ---- binding and unbinding

    @contextmanager
    def installed(self, reach: Reach) -> Iterator[None]:
        """Bind the stand-ins for the time of a trace."""
        self._fill()
        with self._lock:
            if self._depth == 0:
                for module, stand_ins in self._modules:
                    module.refresh(stand_ins)
                self.real_import = builtins.__import__
                builtins.__import__ = _import
            self._depth += 1
            self._mine.depth += 1
            self._bind(reach)
        try:
            yield
        finally:
            with self._lock:
                self._depth -= 1
                self._mine.depth -= 1
                if self._depth == 0:
                    self._unbind()

    def _bind(self, reach: Reach) -> None:
        self.bind_modules()
        for holder in reach.holders.values():
            if isinstance(holder.namespace, dict):
                self._bind_names(holder.namespace, holder.used)
        for kind, holder in reach.class_attributes():
            for name, value in holder.used.items():
                if id(value) in self.table and vars(kind).get(name) is value:
                    self._bind_attribute(kind, name, value)
        for _, cell, value in reach.cells:
            if id(value) in self.table:
                self._bind_cell(cell, value)
        for function in reach.functions:
            if function.__defaults__ and any(id(d) in self.table for d in function.__defaults__):
                self._bind_defaults(function)
            if function.__kwdefaults__:
                self._bind_names(function.__kwdefaults__, list(function.__kwdefaults__))
        for namespace, loads in reach.builtins:
            for name in loads & self.builtins.keys():
                if name not in namespace:
                    self._set(namespace, name, self.builtins[name])

    def bind_modules(self, loading: bool = False) -> None:
        """Bind in the globals of every loaded module of user code; while `loading` not of unfinished ones."""
        table = self.table
        self.loaded = len(sys.modules)
        for module in user_modules():
            if loading and getattr(getattr(module, "__spec__", None), "_initializing", False):
                self.loaded = -1
                continue
            namespace = vars(module)
            known = self._known.get(module.__name__)
            if known is None or known.count != len(namespace) or known.namespace is not namespace:
                names = [n for n, value in list(namespace.items()) if id(original(value)) in table]
                known = self._known[module.__name__] = _Names(namespace, names)
            if known.names:
                self._bind_names(namespace, known.names)

    def _bind_names(self, namespace: dict[str, Any], names: Any) -> None:
        for name in names:
            stand_in = self.table.get(id(namespace.get(name)))
            if stand_in is not None:
                self._set(namespace, name, stand_in)

    def _set(self, namespace: dict[str, Any], name: str, stand_in: Any) -> None:
        before = namespace.get(name, _MISSING)
        namespace[name] = stand_in

        def undo() -> None:
            if namespace.get(name) is not stand_in:
                return
            if before is _MISSING:
                del namespace[name]
            else:
                namespace[name] = before

        self._undo.append(undo)

    def _bind_attribute(self, kind: type, name: str, value: Any) -> None:
        stand_in = self.table[id(value)]
        setattr(kind, name, stand_in)

        def undo() -> None:
            if vars(kind).get(name) is stand_in:
                setattr(kind, name, value)

        self._undo.append(undo)

    def _bind_cell(self, cell: Any, value: Any) -> None:
        if cell.cell_contents is not value:
            return
        stand_in = cell.cell_contents = self.table[id(value)]

        def undo() -> None:
            if cell.cell_contents is stand_in:
                cell.cell_contents = value

        self._undo.append(undo)

    def _bind_defaults(self, function: Any) -> None:
        before = function.__defaults__
        made = function.__defaults__ = tuple(map(self.stand_in, before))

        def undo() -> None:
            if function.__defaults__ is made:
                function.__defaults__ = before

        self._undo.append(undo)

    def _unbind(self) -> None:
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        if builtins.__import__ is _import:
            builtins.__import__ = self.real_import

    # ---- imports and forks

    def imported(self, module: Any, namespace: Any, within: Any) -> Any:
        """What `import` gives in a thread that traces: in a function of user code numpy's stand-in."""
        if len(sys.modules) != self.loaded:
            with self._lock:
                self.bind_modules(loading=True)
        # The body of a module or class passes its locals, a function does not.
        if within is None and type(namespace) is dict and is_user_namespace(namespace):
            return self.stand_in(module)
        return module

    def after_fork(self) -> None:
        """In a forked child no other thread is left that could trace."""
        self._lock = threading.RLock()
        if self._depth and not self._mine.depth:
            self._unbind()
        self._depth = self._mine.depth


patch = Patch()


def _import(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
    """Stands for `builtins.__import__` while a trace is active."""
    module = patch.real_import(name, globals, locals, fromlist, level)
    plain = locals is not None or id(module) not in patch.table
    if (plain and len(sys.modules) == patch.loaded) or current() is None:
        return module
    importer = str(globals.get("__name__")) if globals is not None else ""
    if importer.startswith("importlib.") or is_stage(importer):
        return module  # a part of another import, or of Tapeless, which brings no user code
    return patch.imported(module, globals, locals)


def stand_in(value: Any) -> Any:
    """What a value means in user code while a trace is active."""
    return patch.stand_in(value)


def namespace_stand_in() -> Any:
    """The module numpy as user code sees it now."""
    return np if current() is None else patch.stand_in(np)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=patch.after_fork)
