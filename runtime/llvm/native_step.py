"""Native steps: a function with its arguments, its range, and the memory that it touches for a row of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ...compiler.ir.record import record
from ...compiler.kernel.form import Affine, Kernel, Load, Loop, Statement, Store
from ...compiler.kernel.split import MOST_PIECES
from ...compiler.plan import Value
from .costs import LEAST_PIECE, LEAST_SHARED
from .matrices import Argument

# The room of the partial results of one accumulator.
PARTIAL_BYTES = 8 * MOST_PIECES


@record
class Touch:
    """Bytes low … high - 1 behind a base that row 0 reads or writes; row i's lie `pitch` · i further.

    A pitch of 0 says that every row may touch all of them.
    """

    base: int
    low: int
    high: int
    pitch: int
    writes: bool


@record(frozen=False)
class NativeStep:
    """A call: the symbol of its function, its arguments, the range of its outermost loop.

    `cut` is at what multiples threads cut the range, 0 for not at all; the function needs that where it is
    `firm`, else other cuts are only slower. `most` bounds the pieces of a thread's share; `cost` estimates
    nanoseconds; `source` is the number of the plan's step, `sources` of several.
    """

    symbol: str
    arguments: list[Argument]
    end: int
    cut: int
    cost: float
    touches: tuple[Touch, ...]
    most: int = 4
    firm: bool = False
    source: int = -1
    sources: tuple[int, ...] = ()

    @property
    def grain(self) -> int:
        """At what multiples the range is shared; 0 where it takes too short a time."""
        return self.cut if self.cost > LEAST_SHARED else 0

    @property
    def parts(self) -> int:
        """In how many pieces a thread takes its share: more for long steps, so that others can help."""
        return min(self.most, 1 + int(self.cost // LEAST_PIECE))


@record
class Printed:
    """A kernel's function: its symbol, the names of its arguments, its range, as in NativeStep.

    `reaches` are touches with the number of an argument for a base.
    """

    symbol: str
    names: tuple[str, ...]
    end: int
    cut: int
    cost: float
    reaches: tuple[Touch, ...]

    def step(
        self,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        place: Callable[[Value], Argument],
        partial: int = 0,
    ) -> NativeStep:
        """A call with these values; scratch memory is the function's own, partial results at `partial`."""
        places = {f"a{n}": place(v) for n, v in enumerate(inputs)}
        places |= {f"o{n}": place(v) for n, v in enumerate(outputs)}
        for name in self.names:
            if name[0] == "p":
                places[name] = 0, partial + PARTIAL_BYTES * int(name[1:])
        arguments = [places.get(name, (-1, 0)) for name in self.names]
        touches = []
        for reach in self.reaches:
            base, offset = arguments[reach.base]
            if base >= 0:
                touches.append(
                    Touch(base, offset + reach.low, offset + reach.high, reach.pitch, reach.writes)
                )
        return NativeStep(self.symbol, arguments, self.end, self.cut, self.cost, tuple(touches))


def reaches(kernel: Kernel) -> tuple[Touch, ...]:
    """What an iteration of a kernel's last loop touches, one for each argument."""
    outer = kernel.body[-1]
    variable = outer.variable if isinstance(outer, Loop) else ""
    found = []
    accesses = list(_accesses(kernel.body, {}))
    for number, arg in enumerate(kernel.args):
        own = [access for access in accesses if access[0].arg == arg.name]
        writes = any(isinstance(statement, Store) for statement, _ in own)
        pitches = {statement.at.stride(variable) for statement, _ in own}
        low, high, pitch = arg.low, arg.high, 0
        if len(pitches) == 1 and 0 not in pitches and all(s.index is None for s, _ in own):
            (pitch,) = pitches
            ends = [_reach(statement.at, extents, variable) for statement, extents in own]
            low, high = min(e[0] for e in ends), max(e[1] for e in ends) + 1
        size = arg.dtype.itemsize
        found.append(Touch(number, low * size, high * size, pitch * size, writes))
    return tuple(found)


def _accesses(
    statements: Sequence[Statement], extents: dict[str, int]
) -> Iterator[tuple[Load | Store, dict[str, int]]]:
    for statement in statements:
        if isinstance(statement, Loop):
            yield from _accesses(statement.body, extents | {statement.variable: statement.extent})
        elif isinstance(statement, Load | Store):
            yield statement, extents


def _reach(at: Affine, extents: dict[str, int], outer: str) -> tuple[int, int]:
    """The least and the greatest element of an access in the first iteration of the outer loop."""
    low = high = at.offset
    for name, stride in at.strides:
        if name != outer:
            reach = stride * (extents[name] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
    return low, high
