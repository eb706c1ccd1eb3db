"""Tracebacks without Tapeless' own frames: an error shows the user's code and nothing in between.

`TAPELESS_TRACEBACK=full` keeps every frame. An error that begins in Tapeless and is none of those that user
code can cause is a fault of ours; it keeps its frames and says so.
"""

from __future__ import annotations

import os
from types import TracebackType

from .errors import TapelessError
from .state import is_internal

# What NumPy and Python raise for wrong user code, also when the tracer asks them what the code would do.
_USERS = (TapelessError, ValueError, TypeError, IndexError, ArithmeticError, MemoryError, Warning)
_OURS = "This is a fault of Tapeless itself, not of your code: please report it with the printed graph."


def hide_internal_frames(error: BaseException) -> BaseException:
    """The error with the frames of Tapeless and NumPy taken out of its traceback, ready to be raised."""
    if os.environ.get("TAPELESS_TRACEBACK") == "full":
        return error
    entries = _entries(error.__traceback__)
    if not entries:
        return error
    ours = is_internal(entries[-1].tb_frame.f_code)
    if ours and not isinstance(error, _USERS):
        if _OURS not in getattr(error, "__notes__", ()) and isinstance(error, Exception):
            error.add_note(_OURS)
        return error
    kept: TracebackType | None = None
    for entry in reversed(entries):
        if not is_internal(entry.tb_frame.f_code):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return error.with_traceback(kept)


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found
