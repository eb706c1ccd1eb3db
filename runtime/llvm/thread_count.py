"""How many threads native code may use: what was asked for, else what the environment or the machine says."""

from __future__ import annotations

import os

_chosen: int | None = None


def default_threads() -> int:
    """TAPELESS_NUM_THREADS, else the CPUs that this process may use, 8 at the most."""
    asked = os.environ.get("TAPELESS_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


def choose(threads: int) -> None:
    """Ask for a number of threads; ValueError for fewer than one."""
    global _chosen
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    _chosen = threads


def get_num_threads() -> int:
    """How many threads a compiled function may use."""
    return _chosen or default_threads()
