"""Cheap switches of NumPy's floating-point error settings.

`np.errstate` takes most of a microsecond; the context variable behind it, where NumPy has one, a tenth of
that. Both do the same: a test compares them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np


def _through_errstate() -> tuple[Callable[[], Any], Callable[[Any], None]]:
    def enter() -> Any:
        state = np.errstate(all="ignore")
        state.__enter__()
        return state

    def leave(state: Any) -> None:
        state.__exit__(None, None, None)

    return enter, leave


def _variable() -> Any:
    """The context variable of NumPy's settings; None where there is none that works as expected."""
    try:
        from numpy._core import umath

        variable = umath._extobj_contextvar
        with np.errstate(all="ignore"):
            silent = variable.get()
        token = variable.set(silent)
        works = set(np.geterr().values()) == {"ignore"}
        variable.reset(token)
    except (ImportError, AttributeError, TypeError):
        return None
    return variable if works else None


def _through_variable(variable: Any) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    with np.errstate(all="ignore"):
        silent = variable.get()
    set_variable = variable.set
    return (lambda: set_variable(silent)), variable.reset


def _all_settings() -> Any:
    return tuple(np.geterr().items())


_VARIABLE = _variable()
silence, restore = _through_errstate() if _VARIABLE is None else _through_variable(_VARIABLE)
_settings: Callable[[], Any] = _all_settings if _VARIABLE is None else _VARIABLE.get


_latest: list[tuple[tuple[Any, ...], bool]] = [((), False)]


def warnings_may_raise() -> bool:
    """Whether a floating-point error could raise in the caller's settings, or call the caller's function.

    Warnings raise where the first filter that takes them says "error". Asked again with the same settings and
    filters, which is the rule, the answer is remembered.
    """
    key = (_settings(), *warnings.filters)
    known, answer = _latest[0]
    if known != key:
        answer = _ask()
        _latest[0] = key, answer
    return answer


def _ask() -> bool:
    modes = set(np.geterr().values())
    if modes == {"ignore"}:
        return False
    if not modes.isdisjoint(("raise", "call", "log")):
        return True
    for action, message, category, module, line in warnings.filters:
        if issubclass(RuntimeWarning, category):
            if action == "error":
                return True
            if message is None and module is None and not line:
                return False
    return False
