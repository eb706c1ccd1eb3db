"""Traced values that outlive their trace: found, named by who holds them, and refused.

A constant that was left behind is no harm: where its holder is a dict, a list, an attribute or a closure
variable it is replaced by the array it stands for; elsewhere (in a cache, say) it answers like one.
"""

from __future__ import annotations

import gc
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..compiler.ir.node import NOWHERE, Loc
from .errors import LeakedTraceError, make_error
from .numpy_table.random import SeededGenerator
from .trace import Trace
from .traced_array import TracedArray, TracedNumber


def survivors(trace: Trace) -> list[Any]:
    """The trace's values that something still holds; garbage in cycles is collected first."""
    found = _alive(trace)
    for generation in (1, 2):
        if not found:
            break
        del found
        gc.collect(generation)
        found = _alive(trace)
    return found


def _alive(trace: Trace) -> list[Any]:
    return [value for reference in trace.alive if (value := reference()) is not None]


def check_leaks(trace: Trace, forget: Callable[[], None]) -> None:
    """Raise LeakedTraceError if a value that depends on an argument was left behind; settle constants.

    `forget` lets go of what the tracer itself remembers of the user's objects, before holders are named.
    """
    found = survivors(trace)
    if not found:
        return
    for value in found:
        if _is_known(value):
            _materialise(value, found)
    for value in found:
        if not _is_known(value):
            forget()
            raise _leak_error(value, found)


def _is_known(value: Any) -> bool:
    """Whether a value stands for something real that is known: a constant, a generator with a fixed seed."""
    return type(value) is SeededGenerator or (type(value) is TracedArray and value.constant)


def _leak_error(value: Any, found: list[Any]) -> Any:
    holder = _holder(value, [found])
    loc = _loc_of(value)
    return make_error(
        LeakedTraceError,
        f"{value!r} was left behind in {holder}",
        loc,
        why="The function runs once, to be traced: what it leaves is no number, and no call leaves another.",
        fixes=[("return it", "return loss, hidden"), ("and keep it", "loss, model.hidden = step(…)")],
    )


def _loc_of(value: Any) -> Loc:
    """Where a value was made, as far as known without making anything."""
    if type(value) is TracedNumber:
        return value.node.loc
    if type(value) is TracedArray:
        node = value.cache[1] if value.cache is not None else value.storage.made()
        return NOWHERE if node is None else node.loc
    return NOWHERE


# ---- who holds it


def _referrers(value: Any, mine: Sequence[Any]) -> list[Any]:
    skipped = {id(one) for one in mine}
    return [r for r in gc.get_referrers(value) if id(r) not in skipped and not isinstance(r, types.FrameType)]


def _holder(value: Any, mine: Sequence[Any], depth: int = 0) -> str:
    """The holder of a value in words: an attribute, a global, a list in an attribute."""
    referrers = _referrers(value, mine)
    mine = [*mine, referrers]
    for referrer in referrers:
        name = _name_in(referrer, value, mine, depth)
        if name:
            return name
    if any(isinstance(r, types.GeneratorType) for r in gc.get_referrers(value)):
        return "a suspended generator"
    return f"a {type(referrers[0]).__name__}" if referrers else "a suspended generator or frame"


def _name_in(referrer: Any, value: Any, mine: Sequence[Any], depth: int) -> str:
    kind = type(referrer)
    if kind is dict:
        keys = _keys_of(referrer.items(), value)
        return _name_of_dict(referrer, keys[0] if keys else None, mine, depth)
    if kind is types.CellType:
        return "a variable of an enclosing function"
    if kind in (list, tuple, set, frozenset):
        outer = _holder(referrer, mine, depth + 1) if depth < 2 else ""
        return f"a {kind.__name__}, which is {outer}" if outer else f"a {kind.__name__}"
    if kind is types.FunctionType:
        return f"the defaults of function `{referrer.__name__}`"
    if kind.__name__.startswith("_lru"):
        return "a cache (functools.lru_cache)"
    names = _keys_of(_attributes(referrer), value)
    return f"the attribute `{names[0]}` of a {kind.__name__} object" if names else ""


def _attributes(owner: Any) -> list[tuple[str, Any]]:
    """The attributes of an instance, those in slots too."""
    slots = [s for base in type(owner).__mro__ for s in base.__dict__.get("__slots__", ()) if type(s) is str]
    found = list(getattr(owner, "__dict__", {}).items())
    return found + [(name, getattr(owner, name, None)) for name in slots]


def _name_of_dict(found: dict[Any, Any], key: Any, mine: Sequence[Any], depth: int) -> str:
    if "__name__" in found and "__builtins__" in found:
        return f"the global `{key}` of module {found['__name__']}"
    for owner in _referrers(found, mine):
        if getattr(owner, "__dict__", None) is found:
            if isinstance(owner, types.ModuleType):
                return f"the global `{key}` of module {owner.__name__}"
            return f"the attribute `{key}` of a {type(owner).__name__} object"
    outer = _holder(found, mine, depth + 1) if depth < 2 else ""
    return f"a dict under {key!r}, which is {outer}" if outer else f"a dict under {key!r}"


# ---- constants that were left behind


def _materialise(value: Any, found: list[Any]) -> None:
    """Put the array or generator that a value stands for in its place."""
    real = value.real_generator() if type(value) is SeededGenerator else value.known()
    for referrer in _referrers(value, [found]):
        if isinstance(referrer, list):
            for key in _keys_of(enumerate(referrer), value):
                referrer[key] = real
        elif isinstance(referrer, dict):
            for key in _keys_of(referrer.items(), value):
                referrer[key] = real
        elif type(referrer) is types.CellType:
            referrer.cell_contents = real
        else:
            for key in _keys_of(getattr(referrer, "__dict__", {}).items(), value):
                setattr(referrer, key, real)


def _keys_of(pairs: Iterable[tuple[Any, Any]], value: Any) -> list[Any]:
    """The keys under which a value stands; a function, so that no variable of the caller's becomes a cell."""
    return [key for key, item in pairs if item is value]
