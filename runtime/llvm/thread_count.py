"""How many threads native code may use: what was asked for, else what the environment or the machine says."""

from __future__ import annotations

import operator
import os

_VARIABLE = "TAPELESS_NUM_THREADS"
MOST = max(256, os.cpu_count() or 1)
_chosen: int | None = None


def default_threads() -> int:
    """TAPELESS_NUM_THREADS, else the CPUs that this process may use, 8 at most; ValueError for no number."""
    asked = os.environ.get(_VARIABLE, "").strip()
    if asked:
        if asked.isdecimal() and 1 <= int(asked) <= MOST:
            return int(asked)
        raise ValueError(f"{_VARIABLE}={asked!r} is no number of threads: a whole number from 1 to {MOST} is")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


def choose(threads: int) -> None:
    """Ask for a number of threads; ValueError for too few or too many, TypeError for no whole number."""
    global _chosen
    number = operator.index(threads)
    if not 1 <= number <= MOST:
        raise ValueError(f"threads must be from 1 to {MOST}, not {number}")
    _chosen = number


def get_num_threads() -> int:
    """How many threads a compiled function may use."""
    return _chosen or default_threads()
