"""What a function can see: the globals, closure cells, attributes and containers that its code names.

From the function through the user functions it names, to a fixed point. Nothing is run and nothing copied.
It is over-cautious in one way (a name in the code counts as used) and blind in another: what is found only
by running, `getattr(module, text)` say, is not seen.
"""

from __future__ import annotations

import functools
import gc
import itertools
from array import array as PythonArray
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from .code_facts import facts_of
from .looks import Looks, keys_of
from .stand_in import original
from .user_code import is_stage, is_user_namespace

_ATOMS = (bool, int, float, complex, str, bytes, type(None), np.dtype, np.ufunc, ModuleType)
_SEQUENCES = (list, tuple, set, frozenset, deque)
_BUFFERS = (bytearray, PythonArray)
_RANDOM = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
_LIMIT = 20_000
_ITEMS = 1_000
_FOREIGN = 2_000


class Attribute(str):
    """The name of an attribute, where a string could be a key as well."""

    __slots__ = ()


class Slotted(Mapping[str, Any]):
    """The attributes of an object that lie in `__slots__`, as a namespace."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self._names = [name for base in type(owner).__mro__ for name in _slot_names(base)]

    def __getitem__(self, name: str) -> Any:
        if name in self._names and hasattr(self.owner, name):
            return getattr(self.owner, name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._names if hasattr(self.owner, name))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class Holder:
    """A namespace of which only some names are used: that of a module, an instance or a class.

    A `closed` one, of an instance, class or function, gets new names so seldom that its size is looked at.
    """

    __slots__ = ("closed", "namespace", "prefix", "used")

    def __init__(self, namespace: Mapping[str, Any], prefix: str, closed: bool = False) -> None:
        self.namespace = namespace
        self.prefix = prefix
        self.closed = closed
        self.used: dict[str, Any] = {}


class Container:
    """A container that the code can see, and what was in it: the first thousand items.

    A `foreign` one was found in an object of a class that is not the user's.
    """

    __slots__ = ("count", "foreign", "items", "now")

    def __init__(self, now: Any, foreign: bool = False) -> None:
        self.now = now
        self.foreign = foreign
        pairs = now.items() if isinstance(now, dict) else enumerate(now.flat if _is_array(now) else now)
        self.items = list(itertools.islice(pairs, _ITEMS))
        self.count = now.size if _is_array(now) else len(now)


class Reach:
    """The result of the walk.

    `holders` are namespaces with the names used of them, `cells` the closure cells (label, cell, value),
    `containers` the containers met that can change, `buffers` the bytearrays and array.arrays, `arrays` and
    `generators` what was met of these, by id.
    """

    def __init__(self) -> None:
        self.functions: list[FunctionType] = []
        self.holders: dict[int, Holder] = {}
        self.cells: list[tuple[str, CellType, Any]] = []
        self.containers: list[tuple[str, Container]] = []
        self.buffers: list[tuple[str, Any]] = []
        self.arrays: dict[int, tuple[Any, str]] = {}
        self.generators: dict[int, tuple[Any, str]] = {}
        self.builtins: list[tuple[dict[str, Any], frozenset[str]]] = []
        self.names: set[str] = set()
        self.texts: set[str] = set()
        self.numbers: set[float | complex] = set()
        self.rebound: list[tuple[str, Callable[[], Any], Any]] = []
        self._seen: dict[int, Any] = {}
        self._todo: list[tuple[Any, str]] = []
        self._by_name: list[Holder] = []
        self._classes: list[tuple[type, Holder]] = []
        self._kinds: dict[int, type] = {}
        self._foreign_parts: set[int] = set()
        self._budget = _FOREIGN
        self._looks: Looks | None = None

    @classmethod
    def of(cls, function: Any, arguments: Iterable[tuple[Any, str]] = ()) -> Reach:
        """Walk from a function and from arguments that stay what they are (objects, functions)."""
        reach = cls()
        reach._add(function, "")
        for value, name in arguments:
            reach._add(value, name)
        while reach._todo or reach._grow():
            while reach._todo:
                value, name = reach._todo.pop()
                reach._visit(value, name)
        return reach

    def met(self, value: Any) -> bool:
        """Whether this very object was there before the function ran."""
        return self._seen.get(id(value)) is value

    def may_look_at(self, name: str, array: Any) -> bool:
        """Whether some of the code may look at the elements of an array that was met under a name."""
        if self._looks is None:
            self._looks = Looks(self.functions)
        return self._looks.at(keys_of(name), array.ndim)

    def forget(self) -> None:
        """Let go of everything that was met."""
        lists = (self.functions, self.cells, self.containers, self.buffers, self.rebound, self.builtins)
        for part in (*lists, self._by_name):
            part.clear()
        for table in (self.holders, self.arrays, self.generators, self._seen):
            table.clear()

    def class_attributes(self) -> list[tuple[type, Holder]]:
        """The classes met, with the attributes used of them."""
        return self._classes

    def namespaces(self) -> list[Holder]:
        """All namespaces met: of modules, instances, functions and classes."""
        slotted = [holder for holder in self._by_name if isinstance(holder.namespace, Slotted)]
        return [*self.holders.values(), *slotted, *(holder for _, holder in self._classes)]

    # ---- the walk

    def _add(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind in _ATOMS or id(value) in self._seen or len(self._seen) > _LIMIT:
            return
        self._seen[id(value)] = value
        self._todo.append((value, name))

    def _grow(self) -> bool:
        """Look up newly found names in the namespaces and classes met so far."""
        for holder in self._by_name:
            for name in self.names & holder.namespace.keys() - holder.used.keys():
                self._use(holder, name, f"{holder.prefix}.{name}" if holder.prefix else name)
        for kind, holder in self._classes:
            for name, member in list(holder.namespace.items()):
                if name not in holder.used and (name in self.names or name.startswith("__")):
                    holder.used[name] = original(member)
                    for part in _functions_of(member):
                        self._add(part, f"{kind.__name__}.{name}")
        return bool(self._todo)

    def _use(self, holder: Holder, name: str, shown: str) -> None:
        value = holder.used[name] = original(holder.namespace[name])
        if type(value) is ModuleType:
            self._module(value, shown)
        else:
            self._add(value, shown)

    def _module(self, module: ModuleType, name: str) -> None:
        if id(module) not in self._seen and is_user_namespace(vars(module)):
            self._seen[id(module)] = module
            self._by_name.append(self._holder(vars(module), name))

    def _holder(self, namespace: dict[str, Any], prefix: str, closed: bool = False) -> Holder:
        return self.holders.setdefault(id(namespace), Holder(namespace, prefix, closed))

    def _visit(self, value: Any, name: str) -> None:
        kind = type(value)
        if kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            self._add(value.__func__, name)
            self._add(value.__self__, name.rpartition(".")[0])
        elif kind is np.ndarray:
            if value.dtype.hasobject and value.dtype.names is None:
                self._container(value, name)
            else:
                self.arrays[id(value)] = value, name
        elif issubclass(kind, _BUFFERS):
            self.buffers.append((name, value))
        elif issubclass(kind, _RANDOM):
            self.generators[id(value)] = value, name
        elif issubclass(kind, functools.partial):
            self._add(value.func, name)
            for part in (*value.args, *value.keywords.values()):
                self._add(part, name)
        elif issubclass(kind, (dict, *_SEQUENCES)):
            self._container(value, name)
        elif issubclass(kind, type):
            self._class(value)
        else:
            self._object(value, name)

    def _container(self, value: Any, name: str) -> None:
        foreign = id(value) in self._foreign_parts
        found = Container(value, foreign)
        if not isinstance(value, (tuple, frozenset)):
            self.containers.append((name, found))
        for key, item in found.items:
            if foreign:
                self._foreign_parts.add(id(item))
            self._add(item, f"{name}[{key!r}]")

    def _function(self, function: FunctionType) -> None:
        namespace = function.__globals__
        own = is_stage(str(namespace.get("__name__")))
        for label, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            if own:
                self._add(_contents(cell), label)
            else:
                self._cell(label, cell)
        wrapped = function.__dict__.get("__wrapped__")
        if wrapped is not None:
            self._add(wrapped, function.__name__)
        if function.__dict__ and is_user_namespace(namespace):
            self._by_name.append(self._holder(function.__dict__, function.__name__, closed=True))
        if not is_user_namespace(namespace):
            return
        self.functions.append(function)
        facts = facts_of(function.__code__)
        self.names |= facts.names
        self.texts |= facts.texts
        self.numbers |= facts.numbers
        holder = self._holder(namespace, "")
        for name in facts.loads:
            if name in namespace and name not in holder.used:
                self._use(holder, name, name)
        self.builtins.append((namespace, facts.loads))
        for name in facts.stores:
            read: Callable[[], Any] = functools.partial(namespace.get, name)
            self.rebound.append((f"the global `{name}`", read, read()))
        for label, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=False):
            if label in facts.rebinds:
                read = functools.partial(_contents, cell)
                self.rebound.append((f"`{label}`", read, read()))
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._add(original(default), f"a default of {function.__name__}")
        if function.__kwdefaults__:
            self._add(function.__kwdefaults__, f"__kwdefaults__ of {function.__name__}")

    def _cell(self, label: str, cell: CellType) -> None:
        value = original(_contents(cell))
        self.cells.append((label, cell, value))
        if type(value) is ModuleType:
            self._module(value, label)
        else:
            self._add(value, label)

    def _class(self, kind: type) -> None:
        for base in kind.__mro__:
            module = base.__dict__.get("__module__")
            if (
                type(module) is str
                and is_user_namespace({"__name__": module})
                and id(base) not in self._kinds
            ):
                self._kinds[id(base)] = base
                holder = Holder(vars(base), base.__name__, closed=True)
                self._classes.append((base, holder))

    def _object(self, value: Any, name: str) -> None:
        namespace = getattr(value, "__dict__", None)
        if not is_user_namespace({"__name__": type(value).__module__}):
            self._foreign(value, namespace, name)
            return
        self._add(type(value), name)
        if type(namespace) is dict:
            self._by_name.append(self._holder(namespace, name, closed=True))
        if any(_slot_names(base) for base in type(value).__mro__):
            self._by_name.append(Holder(Slotted(value), name, closed=True))

    def _foreign(self, value: Any, namespace: Any, name: str) -> None:
        """An object of a class that is not the user's: what it wraps, or what the collector sees in it."""
        if type(namespace) is dict and "__wrapped__" in namespace:
            self._add(namespace["__wrapped__"], name)
        if is_stage(type(value).__module__):
            return
        for part in gc.get_referents(value):
            if self._budget > 0 and not issubclass(type(part), type):
                self._budget -= 1
                self._foreign_parts.add(id(part))
                self._add(part, name)


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None


def _is_array(value: Any) -> bool:
    return type(value) is np.ndarray


def _slot_names(kind: type) -> list[str]:
    """The attributes that a class keeps in slots, under the names that code has for them."""
    names = kind.__dict__.get("__slots__", ())
    private = f"_{kind.__name__.lstrip('_')}"
    found = [names] if isinstance(names, str) else [name for name in names if type(name) is str]
    mangled = [f"{private}{n}" if n.startswith("__") and not n.endswith("__") else n for n in found]
    return [name for name in mangled if name not in ("__dict__", "__weakref__")]


def _functions_of(member: Any) -> tuple[Any, ...]:
    """The functions behind a class attribute."""
    if isinstance(member, (staticmethod, classmethod)):
        return (member.__func__,)
    if isinstance(member, property):
        return member.fget, member.fset
    if isinstance(member, functools.cached_property):
        return (member.func,)
    return (member,)
