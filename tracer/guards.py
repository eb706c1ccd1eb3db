"""Guards: names that a trace looked up once, and closed-over arrays it reads at each call.

A specialization holds while every global, closure variable, attribute and container slot that its code names
still holds the object it held, and while closed-over arrays keep their shape, strides and dtype. Arrays at
whose elements Python may look, as in `if flags[0]:`, have to keep their content. The check is one expression
made for the purpose: some 20 ns a name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import is_
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..compiler.ir.record import record
from ..compiler.ir.types import array_type
from .errors import ClosureWriteError, make_error
from .exact import exact
from .reach import Attribute, Container, Holder, Reach, Slotted
from .stand_in import original
from .tree import tree_leaves
from .user_code import is_own_code

_PLAIN = (bool, int, float, complex, str, bytes, type(None))
_WHOLE = 32
_SMALL_BYTES = 4096
_MOST_BYTES = 1 << 20
_CELL = object()


@record(frozen=False)
class Slot:
    """One place that is guarded: `read` gives what it holds now, `shown` names it.

    `key` is the key of an item in `holder`, the Attribute of an object, or _CELL for what is in a cell.
    """

    shown: str
    holder: Any
    key: Any
    value: Any

    def read(self) -> Any:
        """What the place holds now; itself (the slot) where there is no such place any more."""
        try:
            if self.key is _CELL:
                found = self.holder.cell_contents
            elif type(self.key) is Attribute:
                found = getattr(self.holder, self.key, self)
            elif isinstance(self.holder, dict):
                found = dict.get(self.holder, self.key, self)  # which makes no item, as __missing__ may
            else:
                found = self.holder[self.key]
        except (KeyError, IndexError, ValueError):
            return self
        if type(found) is tuple:
            real = tuple(map(original, found))
            return found if all(map(is_, real, found)) else real
        return original(found)

    def text(self, name: Callable[[Any], str]) -> str:
        """The place as an expression; `name` gives the name of an object in it."""
        holder = name(self.holder)
        if self.key is _CELL:
            return f"{holder}.cell_contents"
        if type(self.holder) is FunctionType and type(self.key) is Attribute:
            return f"{holder}.{self.key}"
        if type(self.key) is Attribute:
            return f"{name(getattr)}({holder}, {str(self.key)!r}, {holder})"
        key = repr(self.key) if type(self.key) in (str, int) else name(self.key)
        if isinstance(self.holder, dict) and type(self.holder) is not dict:
            return f"{name(dict.get)}({holder}, {key}, {holder})"
        return f"{holder}[{key}]"


@record(frozen=False)
class Length:
    """How many items something has; in a namespace only new ones among `names` matter."""

    shown: str
    holder: Any
    count: int
    names: frozenset[str] | None = None
    known: frozenset[str] = frozenset()

    def difference(self) -> str:
        """What became of it, in words; the count of a namespace is renewed where that means nothing."""
        now = len(self.holder)
        if now == self.count:
            return ""
        if self.names is None:
            return f"{self.shown}: {self.count} items became {now}"
        new = (self.holder.keys() & self.names) - self.known
        if new:
            return f"{self.shown}.{min(new)} is new"
        self.count = now
        return ""


class Guards:
    """What has to hold for a specialization to be used again."""

    def __init__(
        self,
        slots: Sequence[Slot],
        lengths: Sequence[Length],
        arrays: Sequence[Any],
        contents: Sequence[tuple[str, Any]] = (),
        wholes: Sequence[tuple[str, Any]] = (),
    ) -> None:
        self._slots = list(slots)
        self._lengths = list(lengths)
        self._arrays: list[Any] = [(array, array.shape, array.strides, array.dtype) for array in arrays]
        self._contents = [(name, array, bytearray(_bytes(array))) for name, array in contents]
        self._wholes = [(name, it, [list(part) for part in _parts(it)]) for name, it in wholes]
        self.holds = self._expression()

    def __bool__(self) -> bool:
        return bool(self._slots or self._lengths or self._arrays or self._contents or self._wholes)

    def condition(self, name: Callable[[Any], str]) -> str:
        """What is true while nothing changed, as an expression; `name` gives the name of an object in it."""
        terms = [f"len({name(length.holder)}) == {length.count}" for length in self._lengths]
        terms += [f"{slot.text(name)} is {name(slot.value)}" for slot in self._slots]
        for array, shape, strides, dtype in self._arrays:
            it = name(array)
            terms.append(
                f"{it}.shape == {shape!r} and {it}.strides == {strides!r} and {it}.dtype is {name(dtype)}"
            )
        for _, array, was in self._contents:
            # A bytearray compares itself with any memory in one piece, and copies nothing.
            now = name(array) if _in_one_piece(array) else f"{name(_bytes)}({name(array)})"
            terms.append(f"{name(was)} == {now}")
        for _, it, before in self._wholes:
            for how, part in zip(_PARTS.get(_kind(it), ("{}",)), before, strict=True):
                terms.append(f"all(map({name(is_)}, {how.format(name(it))}, {name(part)}))")
        return " and ".join(terms) or "True"

    def _expression(self) -> Callable[[], bool]:
        """A function of no arguments that is True while nothing changed."""
        values: dict[str, Any] = {}
        names: dict[int, str] = {}

        def name(value: Any) -> str:
            made = names.get(id(value))
            if made is None:
                made = names[id(value)] = f"v{len(values)}"
                values[made] = value
            return made

        condition = self.condition(name)
        made: Callable[[], bool] = eval(f"lambda {', '.join(values)}: lambda: {condition}")(*values.values())
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
        for length in self._lengths:
            if found := length.difference():
                return found
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
        for array, shape, strides, dtype in self._arrays:
            if (array.shape, array.strides, array.dtype) != (shape, strides, dtype):
                now = array_type(array.shape, array.dtype)
                return f"a closed-over array: {array_type(shape, dtype)} became {now}"
        self._arrays = [(array, *rest, array.dtype) for array, *rest, _ in self._arrays]
        for shown, array, was in self._contents:
            if was != _bytes(array):
                return f"closed-over array {shown}: its content changed, and Python looked at it"
        for number, (shown, it, before) in enumerate(self._wholes):
            now = [list(part) for part in _parts(it)]
            if not all(map(_equal, map(tuple, now), map(tuple, before))):
                return f"{shown}: its items changed"
            self._wholes[number] = shown, it, now
        self.holds = self._expression()
        return ""


_PARTS = {dict: ("{}", "{}.values()"), np.ndarray: ("{}.flat",)}


def _kind(it: Any) -> type:
    return dict if isinstance(it, dict) else type(it)


def _parts(it: Any) -> Iterator[Iterable[Any]]:
    """What is in a container: items, the keys and the values of a dict, the objects of an array."""
    if isinstance(it, dict):
        yield it.keys()
        yield it.values()
    else:
        yield it.flat if type(it) is np.ndarray else it


def _in_one_piece(it: Any) -> bool:
    return type(it) is not np.ndarray or (bool(it.flags.c_contiguous) and it.dtype.kind not in "mM")


def _bytes(it: Any) -> bytes:
    """What an array, an array.array or a bytearray holds."""
    return bytes(it) if type(it) is bytearray else bytes(it.tobytes())


def _equal(one: Any, other: Any) -> bool:
    """Whether two immutable values are as good as the same object."""
    if one is other:
        return True
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
    """The guards of a trace that ended: of what it could see, and of what it left there itself."""
    slots = [Slot(f"closed-over {label}", cell, _CELL, value) for label, cell, value in reach.cells]
    lengths: list[Length] = []
    wholes: list[tuple[str, Any]] = []
    for holder in reach.namespaces():
        _guard_namespace(holder, reach, slots, lengths)
    for function in reach.functions:
        _guard_function(function, slots)
    words = reach.names | reach.texts
    for name, container in reach.containers:
        _guard_container(name, container, words, slots, lengths, wholes)
    kept: list[Slot] = []
    contents = [*looked_at(reach, arrays), *reach.buffers]
    read = {id(_memory(array)) for array in arrays}
    for slot in slots:
        now = slot.read()
        if now is slot or type(now) is ModuleType:
            continue
        if now is not slot.value or not reach.met(now):
            # The trace put it there: what it is from now on is what later calls find.
            slot.value = now
            contents += [
                (slot.shown, array) for array in _left_behind(now, reach) if id(_memory(array)) not in read
            ]
        kept.append(slot)
    return Guards(kept, lengths, arrays, contents, wholes)


def looked_at(reach: Reach, arrays: Sequence[Any]) -> list[tuple[str, Any]]:
    """Writeable arrays whose elements Python may have looked at: a later change of these would be missed.

    That are small ones of which the graph (which reads `arrays`) knows nothing, and those of which the code
    says so.
    """
    return _looked_at(reach, arrays)[0]


def too_large(reach: Reach, arrays: Sequence[Any]) -> list[tuple[str, Any]]:
    """The same that are too large, together, to be compared at each call."""
    return _looked_at(reach, arrays)[1]


def _looked_at(reach: Reach, arrays: Sequence[Any]) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
    read = {id(_memory(array)) for array in arrays}
    guarded: list[tuple[str, Any]] = []
    beyond: list[tuple[str, Any]] = []
    budget = _MOST_BYTES
    for array, name in sorted(reach.arrays.values(), key=lambda pair: pair[0].nbytes):
        small = array.nbytes <= _SMALL_BYTES
        if _can_change(array) and (
            (small and id(_memory(array)) not in read) or reach.may_look_at(name, array)
        ):
            budget -= 0 if small else array.nbytes
            (guarded if small or budget >= 0 else beyond).append((name, array))
    return guarded, beyond


def _can_change(array: Any) -> bool:
    return bool(_memory(array).flags.writeable and array.size and not array.dtype.hasobject)


def _left_behind(value: Any, reach: Reach) -> list[Any]:
    """The arrays in a value that a trace left behind, which were not there before."""
    try:
        leaves = tree_leaves(value)
    except RecursionError:
        return []
    arrays = [leaf for leaf in leaves if type(leaf) is np.ndarray and not reach.met(leaf)]
    return [array for array in arrays if array.nbytes <= _MOST_BYTES and _can_change(array)]


def _memory(array: Any) -> Any:
    """The array that owns the memory an array looks at, as far as it is one."""
    while type(array.base) is np.ndarray:
        array = array.base
    return array


def _guard_namespace(holder: Holder, reach: Reach, slots: list[Slot], lengths: list[Length]) -> None:
    """Guard the names used of a module, an instance or a class; of the last two also that none is new."""
    names = dict(holder.used)
    if holder.closed:
        words = frozenset(reach.names | reach.texts)
        names |= dict.fromkeys((holder.namespace.keys() & words) - holder.used.keys())
        if not isinstance(holder.namespace, Slotted):
            known = frozenset(holder.namespace)
            lengths.append(Length(holder.prefix, holder.namespace, len(known), words, known))
    for name, value in names.items():
        if name.startswith("__") and type(value) is not FunctionType:
            continue
        shown = f"{holder.prefix}.{name}" if holder.prefix else f"global {name}"
        if isinstance(holder.namespace, Slotted):
            slots.append(Slot(shown, holder.namespace.owner, Attribute(name), value))
        else:
            slots.append(Slot(shown, holder.namespace, name, value))


def _guard_function(function: FunctionType, slots: list[Slot]) -> None:
    """Guard what a function of the user's runs: tools that reload modules put new code into old functions."""
    if not is_own_code(function.__code__, function.__globals__):
        return
    for name in ("__code__", "__defaults__", "__kwdefaults__"):
        value = getattr(function, name)
        if value is not None:
            slots.append(Slot(f"{name} of {function.__name__}", function, Attribute(name), value))


def _guard_container(
    name: str,
    container: Container,
    words: set[str],
    slots: list[Slot],
    lengths: list[Length],
    wholes: list[tuple[str, Any]],
) -> None:
    """Guard what a container held when the trace began, and what the trace put into it."""
    now, complete = container.now, container.count == len(container.items)
    listed, small = isinstance(now, (dict, list)), container.count <= _WHOLE
    same = (now.size if type(now) is np.ndarray else len(now)) == container.count
    if same and (small or not container.foreign) and type(now) is not np.ndarray:
        lengths.append(Length(name, now, container.count))
    if same and complete and not container.foreign and not (listed and small):
        wholes.append((name, now))
        return
    if not listed:
        return
    items = list(container.items)
    if not same and complete:
        known = {key for key, _ in items}
        pairs = now.items() if isinstance(now, dict) else enumerate(now)
        items += [(key, value) for key, value in pairs if key not in known]
    for key, value in items:
        plain = small and (not container.foreign or _plain_slot(value))
        if plain or (type(key) is str and key in words):
            slots.append(Slot(f"{name}[{key!r}]", now, key, value))


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
