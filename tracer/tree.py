"""Traced copies of argument containers, and what a function did to them.

The traced function gets copies of the containers, made once per object, so that sharing is kept. After
the trace each copy is compared with what it was: slots that hold the same traced value are unchanged.
"""

from __future__ import annotations

import copy
import dataclasses
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

CONTAINERS = (dict, list, tuple, deque)


def is_container(value: Any) -> bool:
    """Whether a value is a dict, list, tuple, deque or dataclass instance."""
    kind = type(value)
    return issubclass(kind, CONTAINERS) or (dataclasses.is_dataclass(value) and kind is not type)


def slots(value: Any) -> list[tuple[Any, Any]]:
    """The (key, value) pairs of a container in order."""
    kind = type(value)
    if issubclass(kind, dict):
        return list(value.items())
    if issubclass(kind, (list, tuple, deque)):
        return list(enumerate(value))
    return [(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)]


def refill(like: Any, items: list[tuple[Any, Any]]) -> Any:
    """A container of the kind of `like` with these slots; what is beside its slots is shared."""
    kind = type(like)
    if kind is list:
        return [v for _, v in items]
    if not issubclass(kind, tuple):
        made = copy.copy(like)
        set_contents(made, items)
        return made
    values = [v for _, v in items]
    if hasattr(kind, "n_sequence_fields"):  # such as os.stat_result, which tuple.__new__ refuses to make
        return kind(values)
    made = tuple.__new__(kind, values)
    if hasattr(like, "__dict__"):
        made.__dict__.update(like.__dict__)
    return made


def template(like: Any) -> Any:
    """A container from which `refill` makes ones of its kind, without what is in it."""
    kind = type(like)
    if issubclass(kind, (list, tuple, deque)):
        return refill(like, [(key, None) for key, _ in slots(like)])
    made = copy.copy(like)
    if issubclass(kind, dict):
        set_contents(made, [])
        return made
    for name, _ in slots(like):
        object.__setattr__(made, name, None)
    return made


def map_tree(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with the function applied to its leaves; None stays None."""
    if is_container(tree):
        return refill(tree, [(key, map_tree(function, value)) for key, value in slots(tree)])
    return None if tree is None else function(tree)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree in order, None left out."""
    if is_container(tree):
        return [leaf for _, value in slots(tree) for leaf in tree_leaves(value)]
    return [] if tree is None else [tree]


def set_contents(target: Any, items: list[tuple[Any, Any]]) -> None:
    """Give a mutable container exactly these slots, in place.

    The methods are those of the built-in classes; those of a subclass may mean more, as Counter.update does.
    """
    kind = type(target)
    if issubclass(kind, OrderedDict):  # its order is beside what dict.update knows of
        OrderedDict.clear(target)
        for key, value in items:
            OrderedDict.__setitem__(target, key, value)
    elif issubclass(kind, dict):
        dict.clear(target)
        dict.update(target, items)
    elif issubclass(kind, list):
        list.__setitem__(target, slice(None), [v for _, v in items])
    elif issubclass(kind, deque):
        deque.clear(target)
        deque.extend(target, (v for _, v in items))
    else:
        for name, value in items:
            object.__setattr__(target, name, value)


class ContainerCopies:
    """Copies of containers by identity; remembers how each looked when it was made.

    Leaves are numbered as `signature.flatten` lists them: a shared container counts each time it is met.
    """

    def __init__(self) -> None:
        self.position = 0
        self.made: dict[int, tuple[Any, int]] = {}
        self.originals: list[tuple[Any, Any, list[tuple[Any, Any]]]] = []

    def copy(self, leaf: Callable[[Any, int, str], Any], value: Any, name: str) -> Any:
        """The traced copy of an argument; leaves go through `leaf(value, number, name)`."""
        if not is_container(value):
            if value is None:
                return None
            self.position += 1
            return leaf(value, self.position - 1, name)
        known = self.made.get(id(value))
        if known is not None:
            self.position += known[1]
            return known[0]
        first = self.position
        if issubclass(type(value), tuple):
            items = [(k, self.copy(leaf, v, child_name(name, k, value))) for k, v in slots(value)]
            made = refill(value, items)
        else:
            made = copy.copy(value)
            items = [(k, self.copy(leaf, v, child_name(name, k, value))) for k, v in slots(value)]
            set_contents(made, items)
        self.made[id(value)] = made, self.position - first
        self.originals.append((value, made, items))
        return made

    def forget(self) -> None:
        """Let go of the copies and what is in them."""
        self.made.clear()
        self.originals.clear()

    def changed(self) -> list[tuple[Any, Any]]:
        """(original, copy) of each mutable container whose slots are not what they were."""
        found = []
        for original, made, items in self.originals:
            if issubclass(type(made), tuple):
                continue
            now = slots(made)
            same = len(now) == len(items) and all(
                a[1] is b[1] and (a[0] is b[0] or a[0] == b[0]) for a, b in zip(now, items, strict=True)
            )
            if not same:
                found.append((original, made))
        return found


def child_name(name: str, key: Any, parent: Any) -> str:
    """The name of a slot: `params.w1`, `layers.0`."""
    if issubclass(type(parent), tuple) and hasattr(type(parent), "_fields"):
        key = type(parent)._fields[key]
    return f"{name}.{key}"
