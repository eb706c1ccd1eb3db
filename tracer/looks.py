"""Which closed-over arrays Python may look at itself, as in `if grid[0] > 3` or `float(grid)`.

NumPy tells nobody that an element of a concrete array was read, so the bytecode is run without values: each
value is the names under which it can be found, with how many items deep. Nothing is run. It is over-cautious
where code is not reached, and blind where a value goes ways that have no names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import CodeType, FunctionType
from typing import Any

from .look_steps import DEEPEST, Body, Key, Origins, local_key

_NONE: Origins = frozenset()
_PASSES = 6
_MOST_INSTRUCTIONS = 50_000
# Methods that make, show, compare and copy objects, which computations do not run: dataclasses have them.
_APART = {
    "__init__", "__new__", "__post_init__", "__init_subclass__", "__class_getitem__", "__del__",
    "__repr__", "__str__", "__format__", "__dir__", "__sizeof__", "__hash__", "__eq__", "__ne__", "__lt__",
    "__le__", "__gt__", "__ge__", "__copy__", "__deepcopy__", "__replace__", "__reduce__", "__reduce_ex__",
    "__getstate__", "__setstate__",
}  # fmt: skip


class Looks:
    """What the code of some functions looks at."""

    def __init__(self, functions: Iterable[FunctionType]) -> None:
        self._looked: dict[Key, int] = {}
        self._items: dict[Key, int] = {}
        self._aliases: dict[Key, Origins] = {}
        self._returns: dict[CodeType, Origins] = {}
        self._by_name: dict[str, tuple[CodeType, ...]] = {}
        self._changed = True
        bodies: list[tuple[CodeType, dict[str, Any], dict[str, Any]]] = []
        for function in functions:
            if function.__name__ in _APART:
                continue
            cells = dict(
                zip(function.__code__.co_freevars, map(_held, function.__closure__ or ()), strict=False)
            )
            for code in _nested(function.__code__):
                bodies.append((code, function.__globals__, cells))
                self._by_name[code.co_name] = (*self._by_name.get(code.co_name, ()), code)
            self._defaults(function)
        self.complete = sum(len(code.co_code) for code, _, _ in bodies) < 2 * _MOST_INSTRUCTIONS
        for _ in range(_PASSES):
            if self._changed and self.complete:
                self._changed = False
                for body in bodies:
                    Body(self, *body).run()

    def at(self, names: Iterable[tuple[Key, int]], ndim: int) -> bool:
        """Whether Python may look at elements of an array of `ndim` axes found under these names."""
        return not self.complete or any(
            self._looked.get(key, -DEEPEST) >= depth or self._items.get(key, -DEEPEST) >= depth + ndim
            for key, depth in names
        )

    # ---- what the bodies tell

    def look(self, origins: Origins) -> None:
        for key, depth in origins:
            self._looked[key] = max(depth, self._looked.get(key, depth))

    def take(self, origins: Origins) -> None:
        for key, depth in origins:
            self._items[key] = max(depth, self._items.get(key, depth))

    def alias(self, key: Key, origins: Origins) -> None:
        known = self._aliases.get(key, _NONE)
        if not origins <= known:
            self._aliases[key] = known | origins
            self._changed = True

    def named(self, key: Key) -> Origins:
        return self._aliases.get(key, _NONE) | {(key, 0)}

    def returns(self, code: CodeType, origins: Origins) -> None:
        if not origins <= self._returns.get(code, _NONE):
            self._returns[code] = self._returns.get(code, _NONE) | origins
            self._changed = True

    def returned(self, codes: Sequence[CodeType]) -> Origins:
        return _NONE.union(*(self._returns.get(code, _NONE) for code in codes))

    def called(self, name: str) -> tuple[CodeType, ...]:
        return self._by_name.get(name, ())

    def _defaults(self, function: FunctionType) -> None:
        """Arrays that are defaults are found under `a default of …` (see reach.py)."""
        code = function.__code__
        found = frozenset({(f"a default of {function.__name__}", 0)})
        names = code.co_varnames[: code.co_argcount][-len(function.__defaults__ or ()) or code.co_argcount :]
        for name in (*names, *(function.__kwdefaults__ or ())):
            self.alias(local_key(code, name), found)


def keys_of(label: str) -> list[tuple[Key, int]]:
    """The names under which code finds what `reach.py` calls `model.layers[0]['w']`, and how deep."""
    found, depth = [], 0
    while label.endswith("]"):
        label, _, key = label[:-1].rpartition("[")
        if key[:1] in "'\"":
            found.append((key[1:-1], depth))
        depth += 1
    return [*found, (label if " " in label else label.rpartition(".")[2], depth)]


def _nested(code: CodeType) -> list[CodeType]:
    inner = [part for part in code.co_consts if type(part) is CodeType]
    return [code, *(found for part in inner for found in _nested(part))]


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
