"""Which trace is active in this thread, and where in the user's code it stands."""

from __future__ import annotations

import os
import sys
import threading
from types import CodeType
from typing import TYPE_CHECKING

import numpy as np

from ..compiler.ir.node import Loc

if TYPE_CHECKING:
    from .trace import Trace


class _Active(threading.local):
    trace: Trace | None = None


active = _Active()


def current() -> Trace | None:
    """The trace that is active in this thread."""
    return active.trace


def activate(trace: Trace | None) -> Trace | None:
    """Make a trace the active one of this thread; gives the one before it."""
    before = active.trace
    active.trace = trace
    return before


_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INTERNAL = (
    *(os.path.join(_ROOT, part) for part in ("tracer" + os.sep, "compiler" + os.sep, "runtime" + os.sep)),
    os.path.dirname(os.path.abspath(np.__file__)) + os.sep,
    "<__array_function__",
)
_internal_files: dict[str, bool] = {}
# The code object is kept so that its id stays its own.
_locs: dict[tuple[int, int], tuple[CodeType, Loc]] = {}


def is_internal(code: CodeType) -> bool:
    """Whether a code object belongs to Tapeless' own stages or to NumPy."""
    file = code.co_filename
    known = _internal_files.get(file)
    if known is None:
        known = _internal_files[file] = file.startswith(_INTERNAL) or os.path.dirname(file) == _ROOT
    return known


def user_loc() -> Loc:
    """The innermost line of user code on this thread's stack."""
    frame = sys._getframe(1)
    known = _internal_files.get
    while frame.f_back is not None:
        internal = known(frame.f_code.co_filename)
        if internal is None:
            internal = is_internal(frame.f_code)
        if not internal:
            break
        frame = frame.f_back
    code, line = frame.f_code, frame.f_lineno
    found = _locs.get((id(code), line))
    if found is None:
        if len(_locs) > 100_000:
            _locs.clear()
        found = _locs[id(code), line] = code, Loc(code.co_filename, line, code.co_name)
    return found[1]


def user_stacklevel() -> int:
    """The `stacklevel` with which a warning of the calling function shows the innermost line of user code."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and is_internal(frame.f_code):
        frame = frame.f_back
        level += 1
    return level
