"""From a plan's outputs to the user's result: views, shared objects, containers, changes to arguments."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .function import Source, Spec, TracedFunction, View
from .tree import is_container, refill, set_contents, slots


class _Memory:
    """A piece of foreign memory, for NumPy to make an array of."""

    __slots__ = ("__array_interface__", "owner")

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def view_at(base: Any, offset: int, shape: tuple[int, ...], strides: tuple[int, ...], dtype: Any) -> Any:
    """An array over memory that starts `offset` bytes from the first element of `base`."""
    if base.flags.c_contiguous and offset >= 0:
        try:
            return np.ndarray(shape, dtype, base, offset, strides)
        except (ValueError, TypeError):
            pass
    interface = base.__array_interface__
    address, readonly = interface["data"]
    holder = _Memory(
        base,
        {
            "version": 3,
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
            "data": (address + offset, readonly),
        },
    )
    return np.asarray(holder)


class Assembler:
    """Gathers param values at a call and puts the result together."""

    def __init__(self, traced: TracedFunction) -> None:
        self.traced = traced
        self.sources = traced.sources
        self.plain = all(s.kind == "leaf" for s in self.sources)
        self.indices = [s.index for s in self.sources]
        self.closures = [s.value for s in self.sources if s.kind == "closure"]
        self.direct = _direct(traced.result) if not traced.containers and not traced.reshaped else None

    def gather(self, leaves: Sequence[Any]) -> list[Any]:
        """The values of the graph's params for a call."""
        if self.plain:
            return [leaves[i] for i in self.indices]
        return [self._value(source, leaves) for source in self.sources]

    def _value(self, source: Source, leaves: Sequence[Any]) -> Any:
        if source.kind == "leaf":
            return leaves[source.index]
        if source.kind == "closure":
            return source.value
        index, start = min(source.members, key=lambda m: (not leaves[m[0]].flags.writeable, m[1]))
        member = leaves[index]
        return view_at(member, -start, (source.length,), (member.itemsize,), member.dtype)

    def result(
        self, outputs: Sequence[Any], leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The user's result; changes to argument containers are made on the way."""
        if self.direct is not None:
            return self.direct(outputs)
        made: dict[int, Any] = {}
        containers = (
            _containers((args, kwargs)) if self.traced.containers or _mentions(self.traced.result) else []
        )

        def build(spec: Spec) -> Any:
            if spec.key and spec.key in made:
                return made[spec.key]
            value = make(spec)
            if spec.view is not None:
                value = viewed(value, spec.view)
            if spec.key:
                made[spec.key] = value
            return value

        def make(spec: Spec) -> Any:
            if spec.kind == "output":
                return outputs[spec.index]
            if spec.kind == "leaf":
                return leaves[spec.index]
            if spec.kind == "union":
                return self._value(self.sources[spec.index], leaves)
            if spec.kind == "closure":
                return self.closures[spec.index]
            if spec.kind == "copy":
                return np.array(self.closures[spec.index])
            if spec.kind == "duplicate":
                return copy.copy(spec.value)
            if spec.kind == "container":
                return containers[spec.index]
            if spec.kind == "build":
                return refill(spec.value, [(key, build(item)) for key, item in spec.items])
            return spec.value

        changes = [
            (containers[i], [(k, build(item)) for k, item in spec.items])
            for i, spec in self.traced.containers
        ]
        result = build(self.traced.result)
        for container, items in changes:
            set_contents(container, items)
        for index, shape in self.traced.reshaped:
            leaves[index].shape = shape
        return result


def viewed(base: Any, view: View) -> Any:
    """A result that looks at the memory of another array."""
    array = view_at(base, view.offset, view.shape, view.strides, view.dtype)
    if not view.writeable:
        array.flags.writeable = False
    return array


def _direct(spec: Spec) -> Any:
    """A fast builder for results that are an output, or a tuple of outputs."""
    if spec.kind == "output" and spec.view is None:
        return lambda outputs, i=spec.index: outputs[i]
    if spec.kind == "static" and spec.value is None:
        return lambda outputs: None
    if spec.kind == "build" and type(spec.value) is tuple:
        parts = [_direct(item) for _, item in spec.items]
        simple = all(item.kind == "output" and item.view is None for _, item in spec.items)
        if simple and len({item.index for _, item in spec.items}) == len(parts):
            indices = tuple(item.index for _, item in spec.items)
            return lambda outputs: tuple([outputs[i] for i in indices])
        if None not in parts and all(_distinct(item) for _, item in spec.items):
            return lambda outputs: tuple([part(outputs) for part in parts])
    return None


def _distinct(spec: Spec) -> bool:
    return spec.kind in ("output", "build")


def _mentions(spec: Spec) -> bool:
    return spec.kind == "container" or any(_mentions(item) for _, item in spec.items)


def _containers(tree: Any) -> list[Any]:
    """The containers of a call in the order in which the tracer copied them: children before parents."""
    seen: set[int] = set()
    found: list[Any] = []

    def walk(value: Any) -> None:
        if not is_container(value) or id(value) in seen:
            return
        seen.add(id(value))
        for _, child in slots(value):
            walk(child)
        found.append(value)

    args, kwargs = tree
    for value in (*args, *kwargs.values()):
        walk(value)
    return found
