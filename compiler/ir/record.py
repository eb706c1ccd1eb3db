"""Records: what `dataclass` makes, made at a fraction of its cost when a module is imported.

A frozen dataclass compiles six functions, 0.4 ms a class; the classes of all three stages took a quarter of
the time to a first call. A record compiles its `__init__` and shares the other methods with every record
(docs/design/first-call.md). It has no ordering, no `__post_init__` and inherits no fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import MISSING, FrozenInstanceError, field
from operator import attrgetter
from typing import Any, NoReturn, TypeVar, dataclass_transform, overload

T = TypeVar("T")


@overload
def record(cls: type[T], /) -> type[T]: ...
@overload
def record(*, frozen: bool = True, eq: bool = True, slots: bool = False) -> Callable[[type[T]], type[T]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(
    cls: type[T] | None = None, /, *, frozen: bool = True, eq: bool = True, slots: bool = False
) -> Any:
    """A class whose annotations are its fields, as with `dataclass`.

    Args:
        cls: the class; `dataclasses.field` serves for a `default_factory`.
        frozen: fields cannot be assigned to; with `eq` the record is hashable.
        eq: records of one class are equal where their fields are; otherwise compared by identity.
        slots: fields live in slots, so that there is no `__dict__`.

    Raises:
        FrozenInstanceError: on assignment to a field of a frozen record.

    Example:
        >>> @record(slots=True)
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> Point(1.0), Point(1.0) == Point(1.0, 0.0)
        (Point(x=1.0, y=0.0), True)
    """

    def make(cls: type[T]) -> type[T]:
        names = tuple(inspect.get_annotations(cls))
        given = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        body = dict(_methods(names, frozen, eq))
        body["__init__"] = _initializer(names, given, frozen)
        if slots:
            kept = {k: v for k, v in cls.__dict__.items() if k not in (*names, "__dict__", "__weakref__")}
            cls = type(cls.__name__, cls.__bases__, {**kept, "__slots__": names})
            body["__reduce__"] = _reduce
        for name, method in body.items():
            if name == "__init__" or name not in cls.__dict__ or _is_implied(name, cls):
                setattr(cls, name, method)
        return cls

    return make if cls is None else make(cls)


def replace(record: T, /, **changes: Any) -> T:
    """The record with some fields changed.

    Example:
        >>> @record
        ... class Point:
        ...     x: float
        ...     y: float = 0.0
        >>> replace(Point(1.0), y=2.0)
        Point(x=1.0, y=2.0)
    """
    for name in fields(record):
        changes.setdefault(name, getattr(record, name))
    return type(record)(**changes)


def fields(record: Any) -> tuple[str, ...]:
    """The names of a record's fields, in order."""
    return record.__match_args__  # type: ignore[no-any-return]


def _is_implied(name: str, cls: type) -> bool:
    """Whether Python itself put a None there: `__hash__` of a class that defines `__eq__`."""
    return name == "__hash__" and cls.__dict__[name] is None


def _initializer(names: Sequence[str], given: dict[str, Any], frozen: bool) -> Any:
    """`__init__(self, a, b=…)`: the one function that is compiled."""
    parameters, lines, scope = ["self"], [], {"_put": object.__setattr__}
    for name in names:
        value = name
        if name in given:
            default = given[name]
            factory = getattr(default, "default_factory", MISSING)
            if factory is not MISSING:
                scope[f"_{name}_factory"], default = factory, MISSING
                value = f"_{name}_factory() if {name} is _{name} else {name}"
            scope[f"_{name}"] = default
            parameters.append(f"{name}=_{name}")
        else:
            parameters.append(name)
        lines.append(f" _put(self, {name!r}, {value})" if frozen else f" self.{name} = {value}")
    exec(f"def __init__({', '.join(parameters)}):\n" + "\n".join(lines or [" pass"]), scope)
    return scope["__init__"]


def _methods(names: tuple[str, ...], frozen: bool, eq: bool) -> dict[str, Any]:
    """Everything but `__init__`."""
    values: Callable[[Any], Any] = attrgetter(*names) if names else lambda self: ()

    def __repr__(self: Any) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in names])
        return f"{type(self).__qualname__}({shown})"

    def __eq__(self: Any, other: object) -> Any:
        return values(self) == values(other) if type(self) is type(other) else NotImplemented

    def __hash__(self: Any) -> int:
        return hash(values(self))

    methods: dict[str, Any] = {"__match_args__": names, "__repr__": __repr__}
    if eq:
        methods |= {"__eq__": __eq__, "__hash__": __hash__ if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse_set, "__delattr__": _refuse_delete}
    return methods


def _refuse_set(self: Any, name: str, value: Any) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> NoReturn:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


def _reduce(self: Any) -> tuple[Any, tuple[Any, ...]]:
    return type(self), tuple(getattr(self, name) for name in fields(self))
