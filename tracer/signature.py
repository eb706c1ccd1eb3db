"""What makes one call like another: the tree, shapes, strides, dtypes, overlaps and static values.

Flattening is optree's (dictionaries in insertion order); a leaf is an array, a number, a generator, or
static: everything else, which is compared by value.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from ..compiler.ir.types import supported
from .errors import ArgumentError, make_error
from .exact import exact
from .tree import CONTAINERS, is_container, slots

NAMESPACE = "tapeless"
_insertion_order = optree.dict_insertion_ordered(True, namespace=NAMESPACE)
_insertion_order.__enter__()

NUMBERS = (int, float, complex)
MISS: Any = object()
_registered: set[type] = set()
_plain_leaves: set[type] = {np.ndarray, int, float, complex, bool, str}


class Static:
    """An argument that is compared by value and never traced."""

    __slots__ = ("key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.key = exact(value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Static) and bool(self.key == other.key)

    def __hash__(self) -> int:
        return hash(self.key)


def flatten(tree: Any) -> tuple[list[Any], Any]:
    """Leaves and tree definition; dataclasses and subclasses of containers are taken apart too."""
    try:
        leaves, spec = optree.tree_flatten(tree, namespace=NAMESPACE)
    except RecursionError:
        raise too_deep("an argument") from None
    unknown = {kind for kind in map(type, leaves) if kind not in _plain_leaves and _is_container_class(kind)}
    if not unknown:
        return leaves, spec
    for kind in unknown:
        _register(kind)
    return flatten(tree)


def too_deep(what: str) -> Any:
    """The refusal of containers that are no tree that can be walked."""
    return make_error(
        ArgumentError,
        f"the containers of {what} are nested too deeply, or one of them holds itself",
        None,
        why="Arguments and results are trees: their leaves are found by walking down.",
    )


def _is_container_class(kind: type) -> bool:
    if kind not in _registered and (dataclasses.is_dataclass(kind) or issubclass(kind, CONTAINERS)):
        return True
    _plain_leaves.add(kind)
    return False


def _register(kind: type) -> None:
    """Let optree take apart a class of containers; signatures never put one together again."""
    _registered.add(kind)

    def take_apart(value: Any) -> tuple[Any, Any, Any]:
        keys, children = zip(*slots(value), strict=True) if slots(value) else ((), ())
        return children, (keys, value.maxlen if isinstance(value, deque) else None), keys

    def build(keys: Any, children: Any) -> Any:
        raise AssertionError("trees are put together by tracer/tree.py")

    optree.register_pytree_node(kind, take_apart, build, namespace=NAMESPACE)


def is_registered(kind: type) -> bool:
    """Whether a class of containers is taken apart by its slots."""
    return kind in _registered


def leaf_key(leaf: Any, static: bool = False) -> Any:
    """What of a leaf belongs to the signature; an array where others were static is an array."""
    kind = type(leaf)
    if kind is np.ndarray:
        return leaf.shape, leaf.strides, leaf.dtype, leaf.flags.writeable
    if static:
        return exact(leaf)
    if kind is float or kind is int or kind is complex:
        return kind
    if isinstance(leaf, np.generic):
        return kind
    if kind is np.random.Generator:
        return kind
    return exact(leaf)


def describe(leaf: Any, static: bool = False) -> str:
    """A leaf as `explain` shows it."""
    if isinstance(leaf, Static):
        return repr(leaf.value)
    if type(leaf) is np.ndarray:
        shown = f"{leaf.dtype}[{','.join(map(str, leaf.shape))}]"
        if not leaf.flags.c_contiguous:
            shown += f" with strides {leaf.strides}"
        return shown if leaf.flags.writeable else f"read-only {shown}"
    if type(leaf) in NUMBERS and not static:
        return type(leaf).__name__
    if isinstance(leaf, np.generic):
        return str(leaf.dtype)
    return f"{leaf!r} (static)"


def is_traced_leaf(leaf: Any) -> bool:
    """Whether a leaf becomes a param when it is not static."""
    kind = type(leaf)
    return kind is np.ndarray or kind in NUMBERS or isinstance(leaf, (np.generic, np.random.Generator))


def check_leaf(leaf: Any, name: str) -> None:
    """Raise for leaves that can be neither traced nor static, naming the argument."""
    kind = type(leaf.value if type(leaf) is Static else leaf)
    if hasattr(kind, "__next__"):
        raise make_error(
            ArgumentError,
            f"argument {name} is an iterator ({kind.__name__}), which would move on once only",
            None,
            why="The function runs once, to be traced: what next() gives then would be frozen for all calls.",
            fixes=[("", f"call next({name}) outside and pass the batch")],
        )
    if isinstance(leaf, np.ndarray) and type(leaf) is not np.ndarray:
        raise make_error(
            ArgumentError,
            f"argument {name} is a {type(leaf).__name__}; only plain ndarrays are traced",
            None,
            fixes=[("", f"pass np.asarray({name})")],
        )
    if isinstance(leaf, (np.ndarray, np.generic)) and not supported(leaf.dtype):
        raise make_error(
            ArgumentError,
            f"argument {name} has dtype {leaf.dtype}, which cannot be traced",
            None,
            fixes=[
                ("convert it", f"{name}.astype(float)"),
                ("or keep it out", f"@compile(static=({name!r},))"),
            ],
        )
    try:
        hash(leaf_key(leaf)) if not isinstance(leaf, np.ndarray) else None
    except TypeError:
        raise make_error(
            ArgumentError,
            f"argument {name} of type {kind.__name__} is no array, number or container, and not hashable",
            None,
            why="Such an argument is static: it is compared at each call, so it has to be hashable.",
        ) from None


def shared_containers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    """Pairs (number, first number) of containers that can change and are met again; empty in most calls."""
    first: dict[int, int] = {}
    pairs: list[tuple[int, int]] = []
    waiting = [*args, *kwargs.values()]
    for number, value in enumerate(waiting):
        kind = type(value)
        if kind in _plain_leaves or not (kind in (dict, list, tuple) or is_container(value)):
            continue
        known = number if issubclass(kind, tuple) else first.setdefault(id(value), number)
        if known == number:
            waiting += [child for _, child in slots(value)]
        else:
            pairs.append((number, known))
    return tuple(pairs)


def has_generator(leaves: Sequence[Any]) -> bool:
    """Whether a generator of random numbers is among the leaves."""
    return np.random.Generator in map(type, leaves)


def overlaps(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """How leaves share state: groups of (leaf, twin, byte offset) of arrays that overlap, and repeats.

    Empty when each array looks at the memory of another owner, which is proved without bounds.
    """
    arrays = [(i, leaf) for i, leaf in enumerate(leaves) if type(leaf) is np.ndarray]
    shared: tuple[Any, ...] = ()
    if len(arrays) < len(leaves) and has_generator(leaves):
        shared = _shared_generators(leaves)
    if len(arrays) < 2:
        return shared
    owners = {id(memory(a)) for _, a in arrays}
    if len(owners) == len(arrays) and id(None) not in owners:
        return shared
    return (*_groups(arrays), *shared)


def _shared_generators(leaves: Sequence[Any]) -> tuple[tuple[int, int, int], ...]:
    """For each generator that shares its state: the leaf, the first with this state, the first that is it."""
    states: dict[int, int] = {}
    objects: dict[int, int] = {}
    found = [(i, leaf) for i, leaf in enumerate(leaves) if type(leaf) is np.random.Generator]
    groups = [
        (i, states.setdefault(id(leaf.bit_generator), i), objects.setdefault(id(leaf), i))
        for i, leaf in found
    ]
    return tuple(group for group in groups if group[0] != group[1])


def memory(array: Any) -> Any:
    """The array whose own memory an array looks at; None where that cannot be told at once."""
    if array.flags.owndata:
        return array
    base = array.base
    return base if type(base) is np.ndarray and base.flags.owndata else None


def may_be_reused(leaf: Any) -> bool:
    """Whether a leaf is an array whose memory can hold other values."""
    return type(leaf) is np.ndarray and leaf.flags.writeable


def bounds(array: Any) -> tuple[int, int]:
    """The first byte and the one past the last."""
    from numpy.lib.array_utils import byte_bounds

    low, high = byte_bounds(array)
    return int(low), int(high)


def _groups(arrays: Sequence[tuple[int, Any]]) -> tuple[Any, ...]:
    ranges = sorted((*bounds(a), i, a) for i, a in arrays if a.size)
    groups: list[tuple[int, ...]] = []
    found: list[list[tuple[int, int]]] = []
    end = -1
    for low, high, i, _ in sorted(ranges, key=lambda r: r[:3]):
        if low < end and found:
            found[-1].append((i, low))
        else:
            found.append([(i, low)])
        end = max(end, high)
    for members in found:
        if len(members) > 1:
            start = members[0][1]
            first: dict[int, int] = {}
            objects = dict(arrays)
            flat: list[int] = []
            for i, low in sorted(members):
                twin = first.setdefault(id(objects[i]), i)
                flat += [i, twin, low - start]
            groups.append(tuple(flat))
    seen: dict[int, int] = {}
    repeats = [(i, seen.setdefault(id(a), i)) for i, a in arrays if not a.size]
    groups += [(i, j, 0) for i, j in repeats if i != j]
    return tuple(groups)


def parameters(function: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """A function's parameters; None where it has no signature."""
    with contextlib.suppress(TypeError, ValueError):
        return list(inspect.signature(function).parameters.values())
    return None


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """The names of a function's parameters; empty where it has no signature."""
    return [p.name for p in parameters(function) or ()]


def function_name(function: Callable[..., Any]) -> str:
    """What a function is called: a partial as the function inside, a callable object as its class."""
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))
