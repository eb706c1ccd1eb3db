"""Questions about loops that the printer asks: where vectors run, and what is accumulated in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...compiler.kernel.form import Accumulate, Load, Loop, Statement, Store


def holds_vector(loop: Loop) -> bool:
    """Whether a vector loop stands inside."""
    return any(isinstance(s, Loop) and (s.kind == "vector" or holds_vector(s)) for s in loop.body)


def accumulates_in_vector(loop: Loop, name: str) -> bool:
    """Whether the accumulate of this accumulator stands inside a vector loop below this one."""
    return any(
        isinstance(s, Loop)
        and (
            (s.kind == "vector" and any(isinstance(t, Accumulate) and t.accumulator == name for t in flat(s)))
            or (s.kind != "vector" and accumulates_in_vector(s, name))
        )
        for s in loop.body
    )


def flat(loop: Loop) -> Iterator[Statement]:
    """Every statement inside a loop."""
    for statement in loop.body:
        yield statement
        if isinstance(statement, Loop):
            yield from flat(statement)


def touched_by_vectors(statements: Sequence[Statement]) -> set[str]:
    """The arguments that vector loops load from or store to."""
    found: set[str] = set()
    for loop in statements:
        if isinstance(loop, Loop) and loop.kind == "vector":
            found |= {s.arg for s in flat(loop) if isinstance(s, (Load, Store))}
        elif isinstance(loop, Loop):
            found |= touched_by_vectors(loop.body)
    return found


def longest_vector(statements: Sequence[Statement]) -> int:
    """How many iterations the longest vector loop has."""
    loops = [s for s in statements if isinstance(s, Loop)]
    lengths = [loop.extent if loop.kind == "vector" else longest_vector(loop.body) for loop in loops]
    return max(lengths, default=0)


def multiplies(statements: Sequence[Statement]) -> bool:
    """Whether there are sums of products among the statements."""
    return any(
        isinstance(s, Loop) and (any(a.op == "multiply_add" for a in s.accumulators) or multiplies(s.body))
        for s in statements
    )
