"""The NumPy executor: a plan bound to kernels and memory.

A plan is compiled once to Python functions (`writer.py`). An instance is these functions bound to one arena;
a call takes an instance from the pool and gives it back, so calls from several threads, or from within a
call, never share memory.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ..compiler.ir.node import Node
from ..compiler.plan import Action, Plan
from .arena import Arena
from .errstate import warnings_may_raise
from .scope import Chunk, Window
from .writer import Writer

Run = Callable[[Sequence[Any]], "list[Any]"]
_POOLED = 8


# A path inside the package, so that frames of generated functions count as Tapeless' own.
_FILE = os.path.join(os.path.dirname(__file__), "<plan>")


@lru_cache(maxsize=512)
def _compiled(source: str) -> Any:
    return compile(source, _FILE, "exec")


def _function(source: str) -> Callable[..., Any]:
    scope: dict[str, Any] = {}
    exec(_compiled(source), scope)
    return scope["bind"]  # type: ignore[no-any-return]


def whereabouts(node: Node) -> str:
    """Which step of the user's code a node is, with the source line where it can be found."""
    loc = node.loc
    part = f"the backward part of {node.op.name}" if loc.backward else node.op.name
    if not loc.file:
        return f"This was raised by {part}."
    source = linecache.getline(loc.file, loc.line).strip()
    return f"This was raised by {part}, written at {loc}, in {loc.function}" + (
        f"\n  {source}" if source else ""
    )


class _Program:
    """The compiled chunks of a plan in one of its two forms."""

    def __init__(self, plan: Plan, *, aside: bool, poison: bool, clock: Any = None) -> None:
        writer = Writer(plan, aside=aside, poison=poison, clock=clock)
        self.chunks: list[Chunk] = writer.write()
        self.slots = len(writer.names.slots)
        self.binders = [_function(chunk.source) for chunk in self.chunks]
        self.arena_bytes = plan.arena_bytes
        self.poison = poison

    def bind(self) -> Run:
        """The program on an arena of its own."""
        arena = Arena(self.arena_bytes)
        if self.poison:
            arena.memory.fill(255)
        windows: dict[Window, Any] = {}
        runs = []
        for chunk, binder in zip(self.chunks, self.binders, strict=True):
            bound = []
            for thing in chunk.bound:
                if type(thing) is Window:
                    array = windows.get(thing)
                    if array is None:
                        array = windows[thing] = arena.array(
                            thing.shape, thing.dtype, thing.offset, thing.strides
                        )
                    thing = array
                bound.append(thing)
            runs.append(binder(*bound))
        if len(runs) == 1:
            (only,) = runs
            return lambda values: only(values, None)
        slots = self.slots

        def run(values: Sequence[Any]) -> list[Any]:
            kept: list[Any] = [None] * slots
            result: list[Any] = []
            for number, part in enumerate(runs):  # noqa: B007 (read from the frame when a step raises)
                result = part(values, kept)
            return result

        return run


class NumpyExecutor:
    """Runs a plan with NumPy.

    `executor(values)` takes the values of the params in order and returns one value an output, None for
    commits. Calls are thread-safe and re-entrant. With `poison` (or TAPELESS_POISON=1) arena memory is
    filled with ones bits, NaN for floats, as soon as the value in it is dead. `aside` is the form in which
    nothing is written to an argument before the last step is done (see `careful`).
    """

    name = "numpy"

    def __init__(self, plan: Plan, *, poison: bool | None = None, aside: bool = False) -> None:
        self.plan = plan
        if poison is None:
            poison = os.environ.get("TAPELESS_POISON", "") not in ("", "0")
        self.poison = poison
        self._program = _Program(plan, aside=aside, poison=poison)
        self._pool: list[Run] = []
        self._careful: NumpyExecutor | None = None
        self._commits = not aside and any(step.tail and step.action is Action.COMPUTE for step in plan.steps)

    @property
    def source(self) -> str:
        """The Python source that the plan became."""
        return "\n".join(chunk.source for chunk in self._program.chunks)

    @property
    def careful(self) -> NumpyExecutor:
        """The executor of calls in which a floating-point error may raise: commits come at the very end."""
        if self._careful is None:
            self._careful = NumpyExecutor(self.plan, poison=self.poison, aside=True)
        return self._careful

    def times(self, values: Sequence[Any], again: Callable[[int], bool]) -> list[list[float]]:
        """Seconds of each step of the plan on these values, one list a round while `again(rounds done)`."""
        from .profile import Stopwatch

        watch = Stopwatch(len(self.plan.steps))
        run = _Program(self.plan, aside=False, poison=False, clock=watch).bind()
        rounds: list[list[float]] = []
        while again(len(rounds)):
            watch.start()
            run(values)
            rounds.append(watch.seconds)
        return rounds

    def __call__(self, values: Sequence[Any]) -> list[Any]:
        if self._commits and warnings_may_raise():
            return self.careful(values)
        pool = self._pool
        try:
            run = pool.pop()
        except IndexError:
            run = self._program.bind()
        try:
            return run(values)
        except Exception as error:
            self._say_where(error)
            raise
        finally:
            if len(pool) < _POOLED:
                pool.append(run)

    def _say_where(self, error: Exception) -> None:
        """Add a note that names the line of the user's code whose step raised."""
        chunk, line = 0, 0
        traceback = error.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            if code.co_filename == _FILE:
                line = traceback.tb_lineno
            elif code.co_filename == __file__:
                chunk = traceback.tb_frame.f_locals.get("number", chunk)
            traceback = traceback.tb_next
        step = self._program.chunks[chunk].steps[line - 1] if line else -1
        if step >= 0:
            error.add_note(whereabouts(self.plan.steps[step].node))
