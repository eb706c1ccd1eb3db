"""`x.flags` of a traced array: what the layout says, and a refusal of what only a call could say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import UnsupportedError

if TYPE_CHECKING:
    from .traced_array import TracedArray

_SHORT = {"C": "c_contiguous", "F": "f_contiguous", "W": "writeable", "X": "writebackifcopy"}
_OF_LAYOUT = frozenset(
    ("c_contiguous", "f_contiguous", "contiguous", "fortran", "fnc", "forc", "writeable", "writebackifcopy")
)


class TracedFlags:
    """The flags of a traced array, to be read; who owns its memory and how that is aligned is not known."""

    __slots__ = ("_array",)

    def __init__(self, array: TracedArray) -> None:
        object.__setattr__(self, "_array", array)

    def __getattr__(self, name: str) -> Any:
        flags = self._array.shadow.flags
        if name in _OF_LAYOUT or self._array.constant:
            return getattr(flags, name)
        getattr(flags, name)
        raise self._array.owner.error(
            UnsupportedError,
            f"flags.{name} is not supported on traced values",
            why="It depends on the memory of a call, and the function is traced once for many calls.",
            fixes=[("in the caller", f"x.flags.{name}")],
        )

    def __getitem__(self, name: str) -> Any:
        return getattr(self, _SHORT.get(name, name.lower()))

    def __setattr__(self, name: str, value: Any) -> None:
        raise self._array.owner.error(
            UnsupportedError,
            f"setting flags.{name} is not supported on traced values",
            fixes=[("read-only results", "set the flag in the caller")],
        )

    def __setitem__(self, name: str, value: Any) -> None:
        setattr(self, _SHORT.get(name, name.lower()), value)
