"""Runs of a repeating pattern in a sequence of integers, found by naming windows.

Windows of length 1, 2, 4, … get numbers by pairing the numbers of their halves (prefix doubling, Karp,
Miller and Rosenberg 1972), so equality of windows is exact and everything is O(n log² n) in NumPy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np


class Run(NamedTuple):
    """`sequence[i] == sequence[i + period]` for every i from `start` to `stop - period`."""

    start: int
    stop: int
    period: int

    @property
    def copies(self) -> int:
        return (self.stop - self.start) // self.period

    @property
    def saved(self) -> int:
        """How many elements go when one copy stands for all."""
        return (self.copies - 1) * self.period


def periodic_runs(sequence: Sequence[int], min_copies: int = 3) -> list[Run]:
    """All maximal runs of at least `min_copies` (3 or more) copies of a primitive pattern.

    A pattern of length p is found among the windows of the power of two w with w/2 < p <= w: where a window
    is seen again p places on, the p elements before it repeat.

    Example:
        >>> periodic_runs([7, 1, 2, 1, 2, 1, 2, 9])
        [Run(start=1, stop=7, period=2)]
    """
    names = np.asarray(sequence, dtype=np.int64)
    total = len(names)
    runs: list[Run] = []
    width = 1
    while len(names) > 1:
        runs += [run for run in _runs_of_width(names, width) if run.copies >= min_copies]
        if 2 * width > total:
            break
        pairs = names[:-width] * (int(names.max()) + 1) + names[width:]
        names = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
        width *= 2
    return runs


def _runs_of_width(names: Any, width: int) -> list[Run]:
    """Stretches where windows of this width recur at one distance p with width/2 < p <= width."""
    distance = _distance_to_previous(names)
    distance[(distance * 2 <= width) | (distance > width)] = 0
    edges = np.flatnonzero(np.diff(distance, prepend=0, append=0))
    runs = []
    for first, after in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        period = int(distance[first])
        if period:
            runs.append(Run(first - period, after - 1 + width, period))
    return runs


def _distance_to_previous(names: Any) -> Any:
    """How far back the same name was last seen; 0 where it is new."""
    order = np.argsort(names, kind="stable")
    again = names[order[1:]] == names[order[:-1]]
    distance = np.zeros(len(names), dtype=np.int64)
    distance[order[1:][again]] = (order[1:] - order[:-1])[again]
    return distance
