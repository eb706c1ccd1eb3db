"""Floating-point error settings: which ones the traced code set itself, and which are the caller's.

A trace runs under settings of its own (everything is logged to a `CallerSettings`). What differs from these
where an operation is traced was set inside, by `np.errstate`, and goes into the operation's Loc; everything
else is the caller's at each call. Errors of what is computed while tracing are passed on to the caller's
settings.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.ir.node import Loc
from ..compiler.ir.record import replace
from .errors import UnsupportedError
from .state import user_stacklevel

if TYPE_CHECKING:
    from .trace import Trace

Settings = tuple[tuple[str, str], ...]

_KINDS = {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}
_FLAGS = {"divide by zero": 1, "overflow": 2, "underflow": 4, "invalid value": 8}


def _state_getter() -> Callable[[], Any]:
    """A cheap look at NumPy's settings: the same object comes back while nothing is set."""
    try:
        from numpy._core import umath

        get: Callable[[], Any] = umath._extobj_contextvar.get
        with np.errstate(all="ignore"):
            inside = get()
        if inside is get():
            raise AttributeError
        return get
    except (ImportError, AttributeError):
        return object


_state = _state_getter()


class CallerSettings:
    """What NumPy logs floating-point errors to during a trace; does what the caller's settings say."""

    def __init__(self) -> None:
        self.settings: dict[str, str] = np.geterr()  # type: ignore[assignment]
        self.call: Any = np.geterrcall()
        self.state: Any = None

    def write(self, message: str) -> None:
        """Handle one error as NumPy words it: `Warning: overflow encountered in exp`."""
        text = message.strip().removeprefix("Warning: ")
        phrase = next(phrase for phrase in _KINDS if text.startswith(phrase))
        mode = self.settings[_KINDS[phrase]]
        if mode == "warn":
            warnings.warn(text, RuntimeWarning, stacklevel=user_stacklevel())
        elif mode == "raise":
            raise FloatingPointError(text)
        elif mode == "call":
            self.call(phrase, _FLAGS[phrase])
        elif mode == "log":
            self.call.write(message)
        elif mode == "print":
            sys.stdout.write(message)


@contextmanager
def watched(trace: Trace) -> Iterator[None]:
    """Trace under settings of the trace's own; refuse settings that outlive the function."""
    caller = CallerSettings()
    with np.errstate(all="log", call=caller):
        caller.state = _state()
        trace.caller_settings = caller
        try:
            yield
            if explicit(trace):
                refuse_setting("np.seterr")(trace)
        finally:
            trace.caller_settings = None
            # NumPy's state holds the caller's settings, and the collector cannot see into it.
            caller.state = None


def explicit(trace: Trace) -> Settings:
    """The settings that the traced code made itself and that hold now."""
    caller = trace.caller_settings
    if caller is None or _state() is caller.state:
        return ()
    settings = tuple(sorted((kind, str(mode)) for kind, mode in np.geterr().items() if mode != "log"))
    if np.geterrcall() is not caller or any(mode == "call" for _, mode in settings):
        raise trace.error(
            UnsupportedError,
            "np.errstate with call= is not supported inside a compiled function",
            why="It would be called while the plan runs, with no line of yours on the stack.",
            fixes=[("around the call", "with np.errstate(…, call=handler): compiled(…)")],
        )
    return settings


@lru_cache(maxsize=4096)
def with_settings(loc: Loc, settings: Settings) -> Loc:
    """A location under these settings."""
    return replace(loc, errstate=settings)


def user_settings(trace: Trace) -> dict[str, str]:
    """`np.geterr()` inside a traced function."""
    caller = trace.caller_settings
    current: dict[str, str] = np.geterr()  # type: ignore[assignment]
    if caller is None:
        return current
    return {kind: caller.settings[kind] if mode == "log" else mode for kind, mode in current.items()}


def refuse_setting(name: str) -> Callable[..., Any]:
    """What stands for functions that change the settings for good."""

    def handler(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        raise trace.error(
            UnsupportedError,
            f"{name} is not supported inside a compiled function",
            why="It would change the settings once, while the function is traced, and not at each call.",
            fixes=[
                ("for some lines", "with np.errstate(divide='ignore'): …"),
                ("for the program", "call it outside of the compiled function"),
            ],
        )

    return handler
