"""Writes into closed-over arrays that no traced value takes part in, found by looking before and after.

`counts[0] += 1` on a closed-over array would happen once, while tracing. Arrays in reach are compared with
what they held: whole ones up to a few megabytes together, larger ones at some thousand places.
"""

from __future__ import annotations

from typing import Any

from .errors import ClosureWriteError, make_error
from .reach import Reach

_WHOLE_BYTES = 4_000_000
_PLACES = 4096


class Snapshots:
    """What the writeable arrays in reach hold when a trace begins."""

    def __init__(self, reach: Reach) -> None:
        self._taken: list[tuple[Any, str, Any]] = []
        budget = _WHOLE_BYTES
        for array, name in reach.arrays.values():
            if not array.flags.writeable or array.dtype.hasobject or not array.size:
                continue
            whole = array.nbytes <= budget
            budget -= array.nbytes if whole else 0
            self._taken.append((array, name, array.copy(order="K") if whole else _sample(array)))

    def written(self) -> str | None:
        """The name of an array that was written to since; what can be put back is. None if there is none."""
        found = None
        for array, name, before in self._taken:
            if before.shape == array.shape:
                if not _same_bytes(array, before):
                    array[...] = before
                    found = name if found is None else found
            elif not _same_bytes(_sample(array), before):
                found = name if found is None else found
        return found


def _sample(array: Any) -> Any:
    """Elements spread over a large array, as one row."""
    return (
        array.reshape(-1)[:: max(array.size // _PLACES, 1)].copy()
        if array.flags.contiguous
        else array.ravel()[:_PLACES]
    )


def _same_bytes(one: Any, other: Any) -> bool:
    return bool(one.tobytes() == other.tobytes())


def write_error(name: str) -> Any:
    """The refusal of such a write."""
    shown = name or "an array"
    return make_error(
        ClosureWriteError,
        f"the closed-over array `{shown}` was written to while tracing",
        None,
        why="That happens once, while the function is traced, and not at each call. (If another thread "
        "writes to it at this very time, this is a false alarm.)",
        fixes=[
            ("pass it in", f"def step(…, {shown.rpartition('.')[2]}): …"),
            ("or write to a copy", f"np.copy({shown})"),
        ],
    )  # fmt: skip
