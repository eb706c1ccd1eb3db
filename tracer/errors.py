"""Trace errors: what happened, where, to which value, why, and code that cures it.

Each class has a code (T01 …) with a page of its own under docs/errors/, and inherits from the built-in
exception that matches. A refusal is also recorded in the trace, so that user code cannot swallow it.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ..compiler.ir.node import Loc, Node
from ..compiler.ir.visit import topological
from .tree import is_container, slots


class TapelessError(Exception):
    """What every error of Tapeless inherits from. `code` names its page, docs/errors/<code>.md."""

    code = "T00"


class TracedBoolError(TapelessError, TypeError):
    """Python asked a traced value for True or False."""

    code = "T01"


class TracedConversionError(TapelessError, TypeError):
    """Python or C code asked a traced value for its number, index or array."""

    code = "T02"


class UnsupportedError(TapelessError, TypeError):
    """A NumPy function, method or argument that Tapeless does not trace."""

    code = "T03"


class DataDependentShapeError(TapelessError, IndexError):
    """The shape of a result would depend on traced values."""

    code = "T04"


class ClosureWriteError(TapelessError, ValueError):
    """A closed-over array was written to."""

    code = "T05"


class LeakedTraceError(TapelessError, RuntimeError):
    """A traced value outlived its trace, or was used outside of it."""

    code = "T06"


class DerivedConstantError(TapelessError, ValueError):
    """An array computed while tracing, from arrays the trace cannot see, would be frozen."""

    code = "T07"


class RandomStateError(TapelessError, ValueError):
    """Random numbers were drawn while tracing from a generator that is no argument."""

    code = "T08"


class ArgumentError(TapelessError, TypeError):
    """An argument of a kind that cannot be traced: a dtype, a subclass, an unknown object."""

    code = "T09"


class GradientError(TapelessError, TypeError):
    """A derivative was asked for that does not exist: of an array, of integers, through an op without one."""

    code = "T10"


class TapelessInternalError(TapelessError, RuntimeError):
    """A fault of Tapeless itself; please report it with the printed graph."""

    code = "T99"


class SideEffectWarning(UserWarning):
    """Something the traced function does happens once, while it is traced, and not at each call."""


def source_line(loc: Loc) -> str:
    """The user's source line at a location, stripped; empty if it cannot be read."""
    return linecache.getline(loc.file, loc.line).strip()


def place(loc: Loc) -> str:
    """`train.py:41`: the file as seen from the working directory, where it lies below it."""
    below = os.path.join(os.getcwd(), "")
    return f"{loc.file.removeprefix(below)}:{loc.line}"


def where_text(loc: Loc | None) -> list[str]:
    """The file, line, function and source of a location, as two indented lines."""
    if loc is None or not loc.file:
        return []
    line = source_line(loc)
    return [f"  {place(loc)}, in {loc.function}", *([f"    {line}"] if line else [])]


def dependencies(node: Node) -> list[str]:
    """The names of the params that a node depends on, in their order."""
    return [str(n.attrs["name"]) for n in topological([node]) if n.op.name == "param"]


def shown_name(name: str, arguments: Mapping[str, Any]) -> str:
    """An argument's name as the user would write it: `params.w` as `params['w']` where it is a key."""
    first, *rest = name.split(".")
    value, shown = arguments.get(first), first
    for part in rest:
        pairs = slots(value) if is_container(value) else []
        found = next(((key, item) for key, item in pairs if str(key) == part), None)
        if issubclass(type(value), dict) and found:
            shown += f"[{found[0]!r}]"
        elif part.isdigit():
            shown += f"[{part}]"
        else:
            shown += f".{part}"
        value = found[1] if found else getattr(value, part, None)
    return shown


def listed(names: Sequence[str]) -> str:
    """Names in a sentence; the first five of many."""
    if len(names) > 6:
        return f"{', '.join(names[:5])} and {len(names) - 5} more"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _maker(node: Node, loc: Loc | None) -> Node | None:
    """The nearest node behind a value that another line of the user's made."""
    seen = {node}
    level = [node]
    while level:
        for candidate in level:
            made_here = loc is not None and (candidate.loc.file, candidate.loc.line) == (loc.file, loc.line)
            if candidate.op.name not in ("param", "constant", "mark") and not made_here:
                return candidate if source_line(candidate.loc) else None
        level = [operand for one in level for operand in one.inputs if operand not in seen]
        seen.update(level)
    return None


def origin_text(node: Node, loc: Loc | None = None, arguments: Mapping[str, Any] | None = None) -> list[str]:
    """Which arguments a value depends on, and the line that made it if that is another than `loc`."""
    known = arguments or {}
    names = dependencies(node)
    if not names:
        return []
    passed = [shown_name(name, known) for name in names if not known or name.split(".")[0] in known]
    closed_over = len(names) - len(passed)
    parts = [f"the argument{'s' if len(passed) > 1 else ''} {listed(passed)}"] if passed else []
    if closed_over:
        parts.append("a closed-over array" if closed_over == 1 else f"{closed_over} closed-over arrays")
    text = f"The value depends on {' and '.join(parts)}"
    maker = _maker(node, loc)
    if maker is None:
        return [f"{text}."]
    return [f"{text}, through  {source_line(maker.loc)}   {place(maker.loc)}"]


def message(
    what: str,
    loc: Loc | None,
    node: Node | None = None,
    why: str = "",
    fixes: Sequence[tuple[str, str]] = (),
    code: str = "T00",
    arguments: Mapping[str, Any] | None = None,
) -> str:
    """The text of a trace error, in the order: what, where, why, value, fixes, page."""
    lines = [what, *where_text(loc)]
    if why:
        lines.append(why)
    if node is not None:
        lines += origin_text(node, loc, arguments)
    if fixes:
        lines.append("Choose one:" if len(fixes) > 1 else "Instead:")
        width = max(len(label) for label, _ in fixes)
        lines += [f"  {label.ljust(width)}    {cure}" if label else f"  {cure}" for label, cure in fixes]
    lines.append(f"({code}: docs/errors/{code}.md)")
    return "\n".join(lines)


def make_error(
    kind: type[TapelessError],
    what: str,
    loc: Loc | None,
    node: Node | None = None,
    why: str = "",
    fixes: Sequence[tuple[str, str]] = (),
    arguments: Mapping[str, Any] | None = None,
) -> Any:
    """An error of this class with its whole message."""
    return kind(message(what, loc, node, why, fixes, kind.code, arguments))
