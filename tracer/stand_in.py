"""Stand-ins: what a user's names for NumPy's modules, functions and classes mean while a trace is active.

A stand-in answers with the tracer's meaning in the thread that traces and is the real thing everywhere else:
it forwards attributes, compares and hashes like it, and pickles as it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import GenericAlias, ModuleType, new_class
from typing import Any

from .state import current

Handler = Callable[..., Any]


class FunctionStandIn:
    """A function; `handler(trace, *args, **kwargs)` answers while this thread traces."""

    def __init__(self, real: Any, handler: Handler) -> None:
        self._real = real
        self._handler = handler
        for name in ("__name__", "__qualname__", "__module__", "__doc__"):
            self.__dict__[name] = getattr(real, name, None)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._real)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        trace = current()
        if trace is None:
            return self._real(*args, **kwargs)
        return self._handler(trace, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __getitem__(self, index: Any) -> Any:
        trace = current()
        return self._real[index] if trace is None else self._handler(trace, index)

    def __repr__(self) -> str:
        return repr(self._real)

    def __eq__(self, other: object) -> bool:
        return self._real == original(other)  # type: ignore[no-any-return]

    def __hash__(self) -> int:
        return hash(self._real)

    def __reduce__(self) -> Any:
        return real_by_name, (self.__module__, self.__qualname__)


class ModuleStandIn(ModuleType):
    """A module in which some names have stand-ins; `refresh` takes in what the real module holds now."""

    _real: ModuleType

    def __init__(self, real: ModuleType) -> None:
        super().__init__(real.__name__)
        self.__dict__["_real"] = real

    def refresh(self, replaced: dict[str, Any]) -> None:
        """The real module's contents as they are now, with these names replaced."""
        real = self._real
        self.__dict__.update(vars(real))
        self.__dict__.update(replaced)
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._real, name, original(value))
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        delattr(self._real, name)
        self.__dict__.pop(name, None)

    def __dir__(self) -> list[str]:
        return dir(self._real)

    def __reduce__(self) -> Any:
        return sys.modules.__getitem__, (self.__name__,)


class ClassStandIn(type):
    """The class of stand-ins for classes: calling one asks its handler, everything else is the real class's.

    A stand-in is a class itself, so that it can be the second argument of isinstance.
    """

    _real: Any
    _handler: Handler

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> Any:
        """A new stand-in; a class derived from one is derived from the real class."""
        if bases:
            return new_class(name, tuple(map(original, bases)), {}, lambda body: body.update(namespace))
        return super().__new__(cls, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        trace = current()
        if trace is None:
            return cls._real(*args, **kwargs)
        return cls._handler(trace, *args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls._real)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        return issubclass(original(subclass), cls._real)

    def __getattribute__(cls, name: str) -> Any:
        if name == "_real" or name == "_handler":
            return super().__getattribute__(name)
        return getattr(cls._real, name)

    def __getitem__(cls, item: Any) -> Any:
        return GenericAlias(cls._real, item)

    def __repr__(cls) -> str:
        return repr(cls._real)

    def __eq__(cls, other: object) -> bool:
        return cls._real is original(other)

    def __hash__(cls) -> int:
        return hash(cls._real)


def class_stand_in(real: type, handler: Handler) -> Any:
    """A stand-in for a class; `handler(trace, *args, **kwargs)` is called for it while this thread traces."""
    namespace = {"_real": real, "_handler": staticmethod(handler), "__module__": real.__module__}
    return ClassStandIn(real.__name__, (), namespace)


def real_by_name(module: str, name: str) -> Any:
    """What a stand-in is pickled as."""
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part)
    return found


def original(value: Any) -> Any:
    """The real thing behind a stand-in; any other value itself."""
    kind = type(value)
    if kind is FunctionStandIn or kind is ModuleStandIn or kind is ClassStandIn:
        return value._real
    return value
