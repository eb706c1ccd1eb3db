"""Steps that go through the same rows, one after the other, as one step that threads share once.

A product, the kernel that adds its bias and the next product each need a row of what the one before made. A
thread runs all of them on its rows, which are still in its cache, and nobody waits in between. Which steps
make such a chain follows from the bytes that each touches for a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from .costs import LEAST_SHARED
from .native_step import NativeStep

# How many steps a chain has at the most, and arguments, among which are three numbers for each step; and how
# many rows at the least, so that threads find enough to share.
MOST_STEPS, MOST_ARGUMENTS, LEAST_ROWS = 24, 256, 8
# Nanoseconds from which on a chain is shared of which no step is: what others made for all rows lies in the
# cache of the thread that made it.
LEAST_CHAIN = 8 * LEAST_SHARED
SYMBOL = "chain"
TEXT = """
define void @chain(ptr %args, i64 %begin, i64 %end) {
entry:
  %steps = load i64, ptr %args, align 8
  %first = getelementptr i64, ptr %args, i64 1
  br label %step
step:
  %left = phi i64 [ %steps, %entry ], [ %fewer, %step ]
  %place = phi ptr [ %first, %entry ], [ %next, %step ]
  %function = load ptr, ptr %place, align 8
  %p_rows = getelementptr i64, ptr %place, i64 1
  %rows = load i64, ptr %p_rows, align 8
  %p_count = getelementptr i64, ptr %place, i64 2
  %count = load i64, ptr %p_count, align 8
  %own = getelementptr i64, ptr %place, i64 3
  %from = mul nsw i64 %begin, %rows
  %to = mul nsw i64 %end, %rows
  call void %function(ptr %own, i64 %from, i64 %to)
  %next = getelementptr i64, ptr %own, i64 %count
  %fewer = sub nsw i64 %left, 1
  %more = icmp ne i64 %fewer, 0
  br i1 %more, label %step, label %out
out:
  ret void
}
"""


# A touch for all rows of a chain: the bytes that they may touch together, then the touch of row 0.
_Seen = tuple[int, int, int, int, int, bool]


class _Chain:
    """Steps so far, the number of their common rows, and what the steps touch for these, by base."""

    def __init__(self, first: NativeStep) -> None:
        self.steps = [first]
        self.rows = first.end
        self.arguments = 4 + len(first.arguments)
        self.seen: dict[int, list[_Seen]] = {}
        self.note(first)

    def note(self, step: NativeStep) -> None:
        for base, seen in self.touches(step):
            self.seen.setdefault(base, []).append(seen)

    def touches(self, step: NativeStep) -> list[tuple[int, _Seen]]:
        """What a step touches for a row of the chain, which may be several of its own."""
        several, far = step.end // self.rows, step.end - 1
        found = []
        for t in step.touches:
            near = t.pitch * (several - 1)
            low, high = t.low + min(near, 0), t.high + max(near, 0)
            first, last = t.low + min(t.pitch * far, 0), t.high + max(t.pitch * far, 0)
            found.append((t.base, (first, last, low, high, t.pitch * several, t.writes)))
        return found

    def takes(self, step: NativeStep) -> bool:
        """Whether a step may run in the chain; it is part of it then."""
        if not step.cut or len(self.steps) == MOST_STEPS:
            return False
        if self.arguments + 3 + len(step.arguments) > MOST_ARGUMENTS:
            return False
        if step.end % self.rows:
            if self.rows % step.end or step.end < LEAST_ROWS:
                return False
            self.rows, self.seen = step.end, {}
            for other in self.steps:
                self.note(other)
        for base, (first, last, low, high, pitch, writes) in self.touches(step):
            for first_, last_, low_, high_, pitch_, writes_ in self.seen.get(base, ()):
                if first >= last_ or first_ >= last or not (writes or writes_):
                    continue
                if pitch != pitch_ or max(high, high_) - min(low, low_) > abs(pitch):
                    return False  # a row may touch what another row does
        self.steps.append(step)
        self.arguments += 3 + len(step.arguments)
        self.note(step)
        return True

    def step(self, address: Callable[[str], int]) -> NativeStep:
        """The chain as one step."""
        arguments = [(-1, len(self.steps))]
        cut = 1
        for step in self.steps:
            several = step.end // self.rows
            if step.firm or several == 1:
                cut = math.lcm(cut, step.cut // math.gcd(step.cut, several))
            arguments += [(-1, address(step.symbol)), (-1, several), (-1, len(step.arguments))]
            arguments += step.arguments
        cost = sum(step.cost for step in self.steps)
        most = min(step.most for step in self.steps)
        sources = tuple(dict.fromkeys(number for step in self.steps for number in step.sources))
        return NativeStep(SYMBOL, arguments, self.rows, cut, cost, (), most, sources=sources)


def chained(steps: Sequence[NativeStep], address: Callable[[str], int]) -> list[NativeStep]:
    """The steps, where several can be a chain that is worth sharing replaced by it."""
    chains: list[_Chain | NativeStep] = []
    for step in steps:
        last = chains[-1] if chains else None
        if isinstance(last, _Chain) and last.takes(step):
            continue
        chains.append(_Chain(step) if step.cut and step.end else step)
    found: list[NativeStep] = []
    for chain in chains:
        if isinstance(chain, NativeStep):
            found.append(chain)
            continue
        made = chain.step(address)
        pays = made.cost > LEAST_CHAIN or any(step.grain for step in chain.steps)
        found += [made] if pays and len(chain.steps) > 1 and made.end > made.cut else chain.steps
    return found
