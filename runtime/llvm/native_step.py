"""Native steps: a function with its arguments, its range, and the memory that it touches for a row of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...compiler.ir.record import record
from ...compiler.kernel.form import Affine, Kernel, Load, Loop, Store
from ...compiler.kernel.lower import reach
from ...compiler.kernel.split import MOST_PIECES
from ...compiler.kernel.statements import flat
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
    nanoseconds; `sources` are the numbers of the plan's steps.
    """

    symbol: str
    arguments: list[Argument]
    end: int
    cut: int
    cost: float
    touches: tuple[Touch, ...]
    most: int = 4
    firm: bool = False
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
        for touch in self.reaches:
            base, offset = arguments[touch.base]
            if base >= 0:
                low, high = offset + touch.low, offset + touch.high
                touches.append(Touch(base, low, high, touch.pitch, touch.writes))
        return NativeStep(self.symbol, arguments, self.end, self.cut, self.cost, tuple(touches))


def reaches(kernel: Kernel) -> tuple[Touch, ...]:
    """What an iteration of a kernel's last loop touches, one for each argument."""
    outer = kernel.body[-1]
    variable = outer.variable if isinstance(outer, Loop) else ""
    statements = list(flat(kernel.body))
    extents = {s.variable: s.extent for s in statements if isinstance(s, Loop)} | {variable: 1}
    found = []
    for number, arg in enumerate(kernel.args):
        own = [s for s in statements if isinstance(s, Load | Store) and s.arg == arg.name]
        pitches = {s.at.stride(variable) for s in own}
        low, high, pitch = arg.low, arg.high, 0
        if len(pitches) == 1 and 0 not in pitches and all(s.index is None for s in own):
            (pitch,) = pitches
            ends = [_ends(s.at, extents) for s in own]
            low, high = min(e[0] for e in ends), max(e[1] for e in ends)
        size, writes = arg.dtype.itemsize, any(isinstance(s, Store) for s in own)
        found.append(Touch(number, low * size, high * size, pitch * size, writes))
    return tuple(found)


def _ends(at: Affine, extents: Mapping[str, int]) -> tuple[int, int]:
    """The range of elements of a place, for loops of these lengths."""
    low, high = reach([extents[name] for name, _ in at.strides], [stride for _, stride in at.strides])
    return at.offset + low, at.offset + high
