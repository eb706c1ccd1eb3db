"""The way of a warm call: one function written for a call that was seen before, from arguments to result.

It checks all that the signature holds (containers and their keys, types, shapes, strides, dtypes,
writeable, static values, that no two arrays share memory, guards), and answers MISS before anything has
happened where one of them differs: then the call goes the long way (`signature.py`), which also says what
changed. What straight-line code cannot tell as exactly as the long way is never given a warm way.
"""

from __future__ import annotations

import copy
import enum
import os
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from .assemble import Assembler, viewed
from .function import Spec
from .signature import MISS, NUMBERS, Static, flatten, is_registered, memory, overlaps, shared_containers
from .tree import CONTAINERS, refill, slots

_MOST_LEAVES = 1000
# A path inside the package, so that frames of generated functions count as Tapeless' own.
_FILE = os.path.join(os.path.dirname(__file__), "<call>")
# Values of these types never change, and are equal to nothing but their like.
_PLAIN = (str, bytes, int, bool, float, complex, type(None))
_BY_IDENTITY = (FunctionType, BuiltinFunctionType, type, np.ufunc)


Matcher = Callable[[Sequence[Any]], "Callable[..., bool] | None"]


class _Unable(Exception):
    """Straight-line code cannot tell this as exactly as the long way."""


class _Writer:
    """Collects the lines of one function and what they name."""

    def __init__(self, static: frozenset[int], views: bool) -> None:
        self.static = static
        self.views = views
        self.lines: list[str] = []
        self.names: dict[str, Any] = {}
        self._known: dict[int, str] = {}
        self.leaves: list[Any] = []
        self.mutable: list[str] = []
        self.arrays: list[tuple[str, Any]] = []
        self.count = 0

    def bind(self, value: Any) -> str:
        """The name of a value in the function."""
        name = self._known.get(id(value))
        if name is None:
            name = self._known[id(value)] = f"k{len(self.names)}"
            self.names[name] = value
        return name

    def unless(self, condition: str) -> None:
        self.lines.append(f"if not ({condition}): return {self.bind(MISS)}")

    def fresh(self, count: int) -> list[str]:
        self.count += count
        return [f"v{n}" for n in range(self.count - count, self.count)]

    # ---- containers

    def children(self, source: str, values: Sequence[Any]) -> None:
        """Unpack the items of a container, whose number was checked, and take each apart."""
        if not values:
            return
        names = self.fresh(len(values))
        self.lines.append(f"{', '.join(names)}, = {source}")
        for name, value in zip(names, values, strict=True):
            self.take(name, value)

    def take(self, name: str, value: Any) -> None:
        """Check a part of the arguments, and what is in it."""
        kind = type(value)
        if value is None:
            self.unless(f"{name} is None")
        elif kind is dict:
            self.mutable.append(name)
            self.unless(f"type({name}) is dict and [*{name}] == {self.bind(list(value))}")
            self.children(f"{name}.values()", list(value.values()))
        elif kind is list or kind is tuple:
            if kind is list:
                self.mutable.append(name)
            self.unless(f"type({name}) is {kind.__name__} and len({name}) == {len(value)}")
            self.children(name, value)
        elif is_registered(kind):
            self.instance(name, value)
        elif isinstance(value, tuple) and hasattr(kind, "_fields") and kind.__iter__ is tuple.__iter__:
            self.unless(f"type({name}) is {self.bind(kind)}")
            self.children(name, value)
        else:
            self.leaf(name, value)

    def instance(self, name: str, value: Any) -> None:
        """A dataclass instance; subclasses of other containers may iterate as they like."""
        if isinstance(value, CONTAINERS):
            raise _Unable
        self.mutable.append(name)
        self.unless(f"type({name}) is {self.bind(type(value))}")
        items = slots(value)
        self.children("".join(f"{name}.{key}, " for key, _ in items), [child for _, child in items])

    # ---- leaves

    def leaf(self, name: str, value: Any) -> None:
        kind, static = type(value), len(self.leaves) in self.static
        self.leaves.append((name, value))
        if len(self.leaves) > _MOST_LEAVES:
            raise _Unable
        if kind is np.ndarray:
            self.array(name, value)
        elif kind is Static:
            self.constant(name, value.value)
        elif not static and (kind in NUMBERS or kind is np.random.Generator or isinstance(value, np.generic)):
            self.unless(f"type({name}) is {self.bind(kind)}")
        else:
            self.constant(name, value)

    def constant(self, name: str, value: Any) -> None:
        """A leaf that is compared by value."""
        kind = type(value)
        if kind in (float, complex) and (not value or value != value):  # == knows no -0.0, and no NaN
            raise _Unable
        if kind in _PLAIN:
            self.unless(f"type({name}) is {self.bind(kind)} and {name} == {self.bind(value)}")
        elif isinstance(value, enum.Enum) or kind in _BY_IDENTITY:
            self.unless(f"{name} is {self.bind(value)}")
        else:
            raise _Unable

    def array(self, name: str, value: Any) -> None:
        self.arrays.append((name, value))

    def arrays_alike(self, matcher: Matcher | None) -> None:
        """Check all arrays, at once where there is a matcher."""
        match = matcher([value for _, value in self.arrays]) if matcher is not None else None
        if match is not None:
            self.unless(f"{self.bind(match)}({', '.join(name for name, _ in self.arrays)})")
            return
        for name, value in self.arrays:
            self.array_alike(name, value)
        self.apart()

    def array_alike(self, name: str, value: Any) -> None:
        flags = value.flags
        self.unless(
            f"type({name}) is {self.bind(np.ndarray)} and {name}.shape == {value.shape!r}"
            f" and {name}.strides == {value.strides!r} and {name}.dtype is {self.bind(value.dtype)}"
            f" and {'' if flags.writeable else 'not '}(f := {name}.flags).writeable"
            f"{' and f.owndata' if flags.owndata and not self.views else ''}"
        )

    # ---- what the parts have to do with each other

    def apart(self) -> None:
        """No two arrays share memory."""
        if not self.views and all(value.flags.owndata for _, value in self.arrays):
            alike: dict[Any, list[str]] = {}
            for name, value in self.arrays:
                alike.setdefault((value.shape, value.strides, value.dtype), []).append(name)
            for names in alike.values():
                self.distinct(names)
        elif len(self.arrays) > 1:
            owners = self.fresh(len(self.arrays))
            for owner, (name, value) in zip(owners, self.arrays, strict=True):
                if value.flags.owndata and not self.views:
                    self.lines.append(f"{owner} = {name}")
                else:
                    self.lines.append(f"{owner} = {self.bind(memory)}({name})")
                    self.unless(f"{owner} is not None")
            self.distinct(owners)

    def distinct(self, names: Sequence[str]) -> None:
        if 1 < len(names) < 5:
            pairs = [f"{b} is not {a}" for k, a in enumerate(names) for b in names[k + 1 :]]
            self.unless(" and ".join(pairs))
        elif names[1:]:
            self.unless(f"len({{{', '.join(f'id({name})' for name in names)}}}) == {len(names)}")

    # ---- results

    def result(self, spec: Spec, met: set[int]) -> str:
        """A result as an expression over the outputs `o` and the leaves."""
        if spec.key and (spec.view is not None or spec.kind in ("build", "duplicate")):
            if spec.key in met:
                raise _Unable
            met.add(spec.key)
        made = self._made(spec, met)
        return f"{self.bind(viewed)}({made}, {self.bind(spec.view)})" if spec.view is not None else made

    def _made(self, spec: Spec, met: set[int]) -> str:
        if spec.kind == "output":
            return f"o[{spec.index}]"
        if spec.kind == "leaf":
            return str(self.leaves[spec.index][0])
        if spec.kind == "static":
            return self.bind(spec.value)
        if spec.kind == "duplicate":
            return f"{self.bind(copy.copy)}({self.bind(spec.value)})"
        if spec.kind != "build":
            raise _Unable
        items = [(key, self.result(item, met)) for key, item in spec.items]
        kind = type(spec.value)
        if kind is tuple or kind is list:
            inner = "".join(f"{text}, " for _, text in items)
            return f"({inner})" if kind is tuple else f"[{inner}]"
        if kind is dict:
            return f"{{{', '.join(f'{self.bind(key)}: {text}' for key, text in items)}}}"
        pairs = ", ".join(f"({self.bind(key)}, {text})" for key, text in items)
        return f"{self.bind(refill)}({self.bind(spec.value)}, [{pairs}])"


def make_warm(
    assembler: Assembler,
    run: Callable[[Any], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    static: frozenset[int],
    *,
    views: bool = False,
    matcher: Matcher | None = None,
) -> Callable[[Any, Any], Any] | None:
    """A function of (args, kwargs) that gives the result of a call like this one, or MISS.

    None where straight-line code would not do. `static` holds the leaves that are compared by value on
    demand; what `Static` wraps here is given unwrapped there. Arrays that own their memory now may be views
    then if `views` says so. `matcher` makes a function of arrays that checks them all (see runtime/llvm).
    """
    writer = _Writer(static, views)
    try:
        _write(writer, assembler, args, kwargs, matcher)
    except (_Unable, RecursionError):
        return None
    writer.names["run"] = run
    body = "\n  ".join(writer.lines)
    source = f"def bind({', '.join(writer.names)}):\n def call(args, kwargs):\n  {body}\n return call"
    scope: dict[str, Any] = {}
    exec(compile(source, _FILE, "exec"), scope)
    made: Callable[[Any, Any], Any] = scope["bind"](*writer.names.values())
    return made


def _write(
    writer: _Writer,
    assembler: Assembler,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    matcher: Matcher | None,
) -> None:
    traced = assembler.traced
    writer.unless(
        f"len(args) == {len(args)} and {f'[*kwargs] == {list(kwargs)!r}' if kwargs else 'not kwargs'}"
    )
    writer.children("args", args)
    writer.children("kwargs.values()", list(kwargs.values()))
    leaves, _ = flatten((args, kwargs) if kwargs else args)
    found = [value for _, value in writer.leaves]
    if len(found) != len(leaves) or any(a is not b for a, b in zip(found, leaves, strict=True)):
        raise _Unable
    if overlaps(leaves) or shared_containers(args, kwargs):
        raise _Unable
    if sum(type(leaf) is np.random.Generator for leaf in leaves) > 1:
        raise _Unable
    writer.distinct(writer.mutable)
    writer.arrays_alike(matcher)
    if traced.guards:
        guards, miss = writer.bind(traced.guards), writer.bind(MISS)
        condition = traced.guards.condition(writer.bind)
        writer.lines += ["try:", f"  if not ({condition}) and {guards}.changed(): return {miss}"]
        writer.lines.append(f"except (KeyError, IndexError, ValueError): return {miss}")
    listed = f"[{', '.join(name for name, _ in writer.leaves)}]"
    if traced.overlap is not None:
        writer.lines.append(f"{writer.bind(traced.overlap.check)}({listed})")
    if any(source.kind == "union" for source in assembler.sources):
        raise _Unable
    values = [
        writer.leaves[s.index][0] if s.kind == "leaf" else writer.bind(s.value) for s in assembler.sources
    ]
    writer.lines.append(f"o = run([{', '.join(values)}])")
    writer.lines.append(f"return {_result(writer, assembler, listed, found)}")


def _result(writer: _Writer, assembler: Assembler, listed: str, leaves: Sequence[Any]) -> str:
    traced = assembler.traced
    try:
        if not traced.containers and not traced.reshaped:
            return writer.result(traced.result, set())
    except _Unable:
        if any(type(leaf) is Static for leaf in leaves):
            raise
    if any(type(leaf) is Static for leaf in leaves):
        raise _Unable
    return f"{writer.bind(assembler.result)}(o, {listed}, args, kwargs)"
