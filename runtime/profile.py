"""Where the time of a call goes: seconds and bytes of each step of a plan, with the user's lines.

Executors run the plan step by step with a clock between; this module turns their times into a table. What a
step costs beside its work, some 0.2 µs for the clock and the way into it, is part of its time.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiler.ir.record import record
from ..compiler.ir.types import ArrayType
from ..compiler.plan import Action, Plan, Step
from .arena import empty

SHOWN = 40
_FEWEST_ROUNDS, _MOST_ROUNDS, _SECONDS = 3, 50, 0.5


@record(slots=True)
class StepTime:
    """One step of a plan.

    Attributes:
        number: the step's number in the plan.
        what: its op, and for a fused step the ops inside.
        where: file and line of the user's code that it comes from last.
        backward: whether differentiation made it.
        seconds: the median over the rounds.
        nbytes: bytes of the arrays that it reads and writes, each counted once.
    """

    number: int
    what: str
    where: str
    backward: bool
    seconds: float
    nbytes: int


@record
class Profile:
    """The steps of one call in the order of the plan; `str` shows the slowest first.

    Attributes:
        executor: "native" or "numpy".
        rounds: how often the plan was run.
        steps: one StepTime a step that does something.
    """

    executor: str
    rounds: int
    steps: tuple[StepTime, ...]

    @property
    def seconds(self) -> float:
        """The sum over the steps."""
        return sum(step.seconds for step in self.steps)

    def __str__(self) -> str:
        total = self.seconds
        head = (
            f"{len(self.steps)} steps by {self.executor}, {_duration(total)}, median of {self.rounds} rounds"
        )
        rows = [("time", "share", "bytes", "GB/s", "step", "line")]
        slowest = sorted(self.steps, key=lambda step: -step.seconds)
        for step in slowest[:SHOWN]:
            speed = step.nbytes / step.seconds / 1e9 if step.seconds else 0.0
            rows.append(
                (
                    _duration(step.seconds), _share(step.seconds, total), f"{step.nbytes:,}",
                    f"{speed:.1f}", f"{step.number} {step.what}",
                    f"{step.where}{' (gradient)' if step.backward else ''}",
                )
            )  # fmt: skip
        rest = slowest[SHOWN:]
        if rest:
            seconds = sum(step.seconds for step in rest)
            share = _share(seconds, total)
            nbytes = sum(step.nbytes for step in rest)
            rows.append((_duration(seconds), share, f"{nbytes:,}", "", f"{len(rest)} more", ""))
        widths = [max(len(row[column]) for row in rows) for column in range(6)]
        lines = [
            "  ".join(
                text.rjust(width) if column < 4 else text.ljust(width)
                for column, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([head, *lines])

    __repr__ = __str__


def profile(run: Any, plan: Plan, values: Sequence[Any]) -> Profile:
    """Time the steps of an executor's plan on copies of the values."""
    started = time.perf_counter()

    def again(done: int) -> bool:
        late = time.perf_counter() - started > _SECONDS
        return done < _FEWEST_ROUNDS or (done < _MOST_ROUNDS and not late)

    rounds: list[list[float]] = run.times(_copied(values), again)
    steps = [
        StepTime(
            number, _what(step), str(step.node.loc) if step.node.loc.line else "-", step.node.loc.backward,
            float(np.median([seconds[number] for seconds in rounds])), _nbytes(plan, step),
        )
        for number, step in enumerate(plan.steps)
        if step.action is not Action.VIEW
    ]  # fmt: skip
    return Profile(run.name, len(rounds), tuple(steps))


def _copied(values: Sequence[Any]) -> list[Any]:
    """Arrays of the same layouts with memory of their own, and generators with states of their own."""
    known: dict[int, Any] = {}
    copies = []
    for value in values:
        if isinstance(value, np.ndarray):
            array = empty(value.shape, value.dtype, value.strides)
            array[...] = value
            copies.append(array)
        else:
            copies.append(copy.deepcopy(value, known))
    return copies


def _what(step: Step) -> str:
    if step.action is Action.COPY:
        return "copy"
    node = step.node
    return f"fused {node.attrs['body'].summary}" if node.op.name == "fused" else node.op.name


def _nbytes(plan: Plan, step: Step) -> int:
    types = [plan.values[n].type for n in {*step.inputs, *(step.more or (step.output,))}]
    return sum(type_.nbytes for type_ in types if isinstance(type_, ArrayType))


def _share(part: float, total: float) -> str:
    return f"{part / total:.1%}" if total else "-"


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.2f} {unit}"
    return f"{seconds * 1e6:.2f} µs"


class Stopwatch:
    """Notes how long after the step before it each step is done."""

    def __init__(self, steps: int) -> None:
        self.seconds = [0.0] * steps
        self.last = 0.0

    def start(self) -> None:
        self.seconds = [0.0] * len(self.seconds)
        self.last = time.perf_counter()

    def __call__(self, number: int) -> None:
        now = time.perf_counter()
        self.seconds[number] += now - self.last
        self.last = time.perf_counter()
