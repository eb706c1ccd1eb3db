"""A native plan walked step by step: for the profile, and for poison.

Each step of the plan is a walk of its own over the rows that it became, so a clock or a fill fits between.
Under poison arena memory is filled with ones bits, NaN for floats, as soon as the value in it is dead, and
before each call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.plan import Place
from . import threads
from .walker import ROW

if TYPE_CHECKING:
    from .executor import NativeExecutor, _Instance

Part = tuple[int, Callable[[Any, tuple[Any, ...]], None]]


def parts(instance: _Instance, workers: threads.Pool | None = None) -> list[Part]:
    """(number of a plan's step, what runs it) in order; the arguments are a call and its arrays."""
    executor = instance.executor
    found: list[Part] = []
    for segment, table, action in zip(executor.segments, executor._tables, instance.actions, strict=True):
        if table is None:
            found.append((segment.number, _by_python(action)))
            continue
        rows, arguments = table
        sources = [step.sources[0] for step in segment.native]
        first = 0
        for end in range(1, len(sources) + 1):
            if end < len(sources) and sources[end] == sources[first]:
                continue
            shares = workers is not None and any(rows[first:end, 5])
            count, shared = (workers.threads, workers.shared) if shares and workers else (1, 0)
            place = rows.ctypes.data + first * ROW * 8
            run = [place, end - first, arguments.ctypes.data, instance.bases.ctypes.data, 1, 0, count, shared]
            found.append((sources[first], _by_walker(executor._enter, np.array(run, np.int64))))
            first = end
    return found


def _by_python(action: Any) -> Callable[[Any, tuple[Any, ...]], None]:
    return lambda call, arguments: action(call)


def _by_walker(enter: Any, run: Any) -> Callable[[Any, tuple[Any, ...]], None]:
    address = run.ctypes.data

    def walk(call: Any, arguments: tuple[Any, ...], kept: Any = run) -> None:
        enter(address, *arguments)

    return walk


class Poison:
    """The step-by-step walk of one instance that spoils what is dead."""

    def __init__(self, instance: _Instance) -> None:
        self.instance = instance
        plan = instance.executor.plan
        self.parts = parts(instance)
        self.deaths: dict[int, list[Any]] = {}
        for buffer in plan.buffers:
            if buffer.place is Place.ARENA:
                memory = instance.arena.memory[buffer.offset : buffer.offset + buffer.nbytes]
                self.deaths.setdefault(buffer.last, []).append(memory)
        self.calls = 0

    def spoil(self, fresh: Sequence[Any]) -> None:
        """Fill the arena and the arrays that are to become results."""
        from ..writer import spoil

        self.instance.arena.memory.fill(255)
        for array in fresh:
            spoil(array)

    def walk(self, call: Any, arguments: tuple[Any, ...]) -> None:
        """Run the plan, filling each buffer behind the last step that has it."""
        plan = self.instance.executor.plan
        for number, run in self.parts:
            run(call, arguments)
            for memory in self.deaths.get(plan.values[plan.steps[number].output].first, ()):
                memory.fill(255)

    def turn(self) -> bool:
        """Whether this call goes step by step; every second one does, the others run whole segments."""
        self.calls += 1
        return self.calls % 2 == 0


def times(executor: NativeExecutor, values: Sequence[Any], again: Callable[[int], bool]) -> list[list[float]]:
    """Seconds of each step of the plan, one list a round; rounds go on while `again(rounds done)`."""
    instance = executor.instance()
    call, arguments = instance.bind(values)
    workers = threads.pool() if instance.together else None
    if workers is not None and not workers.lock.acquire(blocking=False):
        workers = None
    try:
        order = parts(instance, workers)
        rounds: list[list[float]] = []
        while again(len(rounds)):
            seconds = [0.0] * len(executor.plan.steps)
            for number, run in order:
                start = time.perf_counter()
                run(call, arguments)
                seconds[number] += time.perf_counter() - start
            rounds.append(seconds)
        return rounds
    finally:
        if workers is not None:
            workers.lock.release()
