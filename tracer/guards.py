"""Guards: names that a trace looked up once, and closed-over arrays it reads at each call.

A specialization holds while every global, closure variable, attribute and container slot that its code names
still holds the object it held, and while closed-over arrays keep their shape, strides and dtype. Small arrays
that the code names and the graph does not read, as in `if flags[0]:`, have to keep their content. The check
is one expression made for the purpose: some 20 ns a name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import CellType, ModuleType
from typing import Any

import numpy as np

from ..compiler.ir.record import record
from ..compiler.ir.types import array_type
from .errors import ClosureWriteError, make_error
from .exact import content, exact
from .reach import Reach
from .stand_in import original

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_WHOLE = 32
_LIMIT = 400
_SMALL_BYTES = 4096


@record(frozen=False)
class Slot:
    """One place that is guarded: `read` gives what it holds now, `shown` names it."""

    shown: str
    holder: Any
    key: Any
    value: Any

    def read(self) -> Any:
        """What the place holds now; itself (the slot) where there is no such place any more."""
        try:
            found = self.holder.cell_contents if self.key is CellType else self.holder[self.key]
        except (KeyError, IndexError, ValueError):
            return self
        return original(found)

    def text(self, holder: str) -> str:
        """The place as an expression; `holder` is the name the holder has in it."""
        return f"{holder}.cell_contents" if self.key is CellType else f"{holder}[{self.key!r}]"


class Guards:
    """What has to hold for a specialization to be used again."""

    def __init__(
        self,
        slots: Sequence[Slot],
        lengths: Sequence[tuple[str, Any, int]],
        arrays: Sequence[Any],
        contents: Sequence[tuple[str, Any]] = (),
        wholes: Sequence[tuple[str, Any, Any]] = (),
    ) -> None:
        self._slots = list(slots)
        self._lengths = list(lengths)
        self._arrays = [(array, array.shape, array.strides, array.dtype) for array in arrays]
        self._contents = [(name, array, array.tobytes()) for name, array in contents]
        self._wholes = list(wholes)
        self.holds = self._expression()

    def __bool__(self) -> bool:
        return bool(self._slots or self._lengths or self._arrays or self._contents or self._wholes)

    def _expression(self) -> Callable[[], bool]:
        """A function of no arguments that is True while nothing changed."""
        values: dict[str, Any] = {}
        terms: list[str] = []

        def name(value: Any) -> str:
            made = f"v{len(values)}"
            values[made] = value
            return made

        holders: dict[int, str] = {}
        for slot in self._slots:
            holder = holders.get(id(slot.holder))
            if holder is None:
                holder = holders[id(slot.holder)] = name(slot.holder)
            key = slot.text(holder) if type(slot.key) in (str, int, type) else f"{holder}[{name(slot.key)}]"
            terms.append(f"{key} is {name(slot.value)}")
        for _, container, length in self._lengths:
            terms.append(f"len({name(container)}) == {length}")
        for array, shape, strides, dtype in self._arrays:
            it = name(array)
            terms.append(
                f"{it}.shape == {shape!r} and {it}.strides == {strides!r} and {it}.dtype == {name(dtype)}"
            )
        terms += [f"{name(array)}.tobytes() == {name(was)}" for _, array, was in self._contents]
        terms += [f"{name(content)}({name(it)}) == {name(before)}" for _, it, before in self._wholes]
        source = f"lambda {', '.join(values)}: lambda: {' and '.join(terms) or 'True'}"
        made: Callable[[], bool] = eval(source)(*values.values())
        return made

    def changed(self) -> str:
        """What no longer holds, as `explain` shows it; empty if everything does."""
        try:
            if self.holds():
                return ""
        except (KeyError, IndexError, ValueError):
            pass
        return self._difference()

    def _difference(self) -> str:
        renewed = False
        for slot in self._slots:
            now = slot.read()
            if now is slot.value:
                continue
            if not _equal(now, slot.value):
                became = (
                    "is gone" if now is slot else f"{_shown(slot.value)} became {_another(slot.value, now)}"
                )
                return f"{slot.shown}: {became}"
            slot.value = now
            renewed = True
        for shown, container, length in self._lengths:
            if len(container) != length:
                return f"{shown}: {length} items became {len(container)}"
        for array, shape, strides, dtype in self._arrays:
            if (array.shape, array.strides, array.dtype) != (shape, strides, dtype):
                now = array_type(array.shape, array.dtype)
                return f"a closed-over array: {array_type(shape, dtype)} became {now}"
        for shown, array, was in self._contents:
            if array.tobytes() != was:
                return f"closed-over array {shown}: its content changed, and Python looked at it"
        for shown, container, before in self._wholes:
            if content(container) != before:
                return f"{shown}: its items changed"
        if renewed:
            self.holds = self._expression()
        return ""


def _equal(one: Any, other: Any) -> bool:
    """Whether two immutable values are as good as the same object."""
    if type(one) is not type(other):
        return False
    if type(one) is tuple:
        return len(one) == len(other) and all(map(_equal, one, other))
    return (type(one) in _PLAIN or isinstance(one, np.generic)) and bool(exact(one) == exact(other))


def _shown(value: Any) -> str:
    if type(value) is np.ndarray:
        return f"an array {array_type(value.shape, value.dtype)}"
    text = repr(value) if type(value) in _PLAIN else f"a {type(value).__name__}"
    return text if len(text) < 60 else f"{text[:57]}…"


def _another(before: Any, now: Any) -> str:
    """What is there now; "another" where it looks the same."""
    shown = _shown(now)
    return f"another {shown.removeprefix('an ').removeprefix('a ')}" if shown == _shown(before) else shown


def guards_of(reach: Reach, arrays: Sequence[Any]) -> Guards:
    """The guards of a trace that ended: of what it could see, where that is still as it was."""
    used = {id(array) for array in arrays}
    slots: list[Slot] = []
    lengths: list[tuple[str, Any, int]] = []
    for holder in (*reach.holders.values(), *(holder for _, holder in reach.class_attributes())):
        for name, value in holder.used.items():
            if name.startswith("__"):
                continue
            shown = f"{holder.prefix}.{name}" if holder.prefix else f"global {name}"
            slots.append(Slot(shown, holder.namespace, name, value))
    slots += [Slot(f"closed-over {label}", cell, CellType, value) for label, cell, value in reach.cells]
    wholes: list[tuple[str, Any, Any]] = []
    for name, container in reach.containers:
        if len(container.now) != container.count:
            continue
        if (
            _WHOLE < container.count == len(container.items)
            and type(container.now) in (list, dict)
            and all(type(v) in _PLAIN for _, v in container.items)
            and (before := content(container.now)) is not None
        ):
            wholes.append((name, container.now, before))
        else:
            _guard_container(name, container, reach.texts, used, slots, lengths)
    kept = [slot for slot in slots if type(slot.value) is not ModuleType and slot.read() is slot.value]
    return Guards(kept[:_LIMIT], lengths, arrays, looked_at(reach, arrays), wholes)


def looked_at(reach: Reach, arrays: Sequence[Any]) -> list[tuple[str, Any]]:
    """Small writeable arrays that the code names, of which the graph (which reads `arrays`) knows nothing.

    Python may have looked at their elements: a later change of these would be missed.
    """
    read = {id(_memory(array)) for array in arrays}
    return [
        (name, array)
        for array, name in reach.arrays.values()
        if _memory(array).flags.writeable
        and array.nbytes <= _SMALL_BYTES
        and not array.dtype.hasobject
        and id(_memory(array)) not in read
    ]


def _memory(array: Any) -> Any:
    """The array that owns the memory an array looks at, as far as it is one."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def _guard_container(
    name: str,
    container: Any,
    texts: set[str],
    used: set[int],
    slots: list[Slot],
    lengths: list[tuple[str, Any, int]],
) -> None:
    """Guard what a dict or list held when the trace began."""
    small = container.count <= _WHOLE
    if small:
        lengths.append((name, container.now, container.count))
    for key, value in container.items:
        wanted = id(value) in used or (small and _plain_slot(value)) or (type(key) is str and key in texts)
        if wanted:
            slots.append(Slot(f"{name}[{key!r}]", container.now, key, value))


def _plain_slot(value: Any) -> bool:
    return type(value) in _PLAIN or callable(value) or type(value) is np.ndarray


# ---- written arguments and closed-over arrays


class Overlap:
    """At each call: no argument that is written to or donated may lie in a closed-over array's memory.

    `rows` are (leaf, its name, what is done to it).
    """

    def __init__(self, rows: Sequence[tuple[int, str, str]], arrays: Sequence[tuple[Any, str]]) -> None:
        self.rows = tuple(rows)
        self._arrays = tuple(arrays)

    def check(self, leaves: Sequence[Any]) -> None:
        """Raise ClosureWriteError if one does."""
        for index, name, what in self.rows:
            leaf = leaves[index]
            for array, label in self._arrays:
                if leaf is array or (
                    not (leaf.base is None and array.base is None)
                    and np.may_share_memory(leaf, array)
                    and np.shares_memory(leaf, array)
                ):
                    raise _overlap_error(name, label, what)


def _overlap_error(name: str, label: str, what: str) -> Any:
    return make_error(
        ClosureWriteError,
        f"argument `{name}` shares memory with the closed-over array `{label}`, and it is {what}",
        None,
        why=f"The plan reads `{label}` as it was before the call, so it would not see what it wrote itself.",
        fixes=[("pass both", f"make `{label}` an argument too"), ("or part them", f"pass {name}.copy()")],
    )
