"""Questions about statements, and changes of their places, that go through loops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..ir.record import replace
from .form import Accumulate, Affine, Compute, Constant, Load, Loop, Statement, Store
from .lower import add


def flat(statements: Iterable[Statement]) -> Iterator[Statement]:
    """Every statement, also those inside loops."""
    for statement in statements:
        yield statement
        if isinstance(statement, Loop):
            yield from flat(statement.body)


def places(statements: Iterable[Statement]) -> Iterator[Affine]:
    """The places of loads and stores, and the stops of loops."""
    for statement in flat(statements):
        if isinstance(statement, (Load, Store)):
            yield statement.at
        elif isinstance(statement, Loop) and statement.stop is not None:
            yield statement.stop


def with_places(statement: Statement, change: Callable[[Affine], Affine]) -> Statement:
    """The statement with each of its places changed."""
    if isinstance(statement, Loop):
        stop = None if statement.stop is None else change(statement.stop)
        return replace(statement, body=tuple(with_places(s, change) for s in statement.body), stop=stop)
    if isinstance(statement, (Load, Store)):
        return replace(statement, at=change(statement.at))
    return statement


def used(statements: Iterable[Statement]) -> set[str]:
    """The names of values that statements read."""
    names: set[str] = set()
    for s in statements:
        if isinstance(s, Compute):
            names |= set(s.operands)
        elif isinstance(s, Accumulate):
            names |= {s.value} if s.factor is None else {s.value, s.factor}
        elif isinstance(s, (Load, Store)):
            names |= {s.index} if s.index is not None else set()
            names |= {s.value} if isinstance(s, Store) else set()
    return names


def defined(statements: Iterable[Statement]) -> set[str]:
    """The names of values that statements define; those of a loop's accumulators among them."""
    names: set[str] = set()
    for s in statements:
        if isinstance(s, (Constant, Load, Compute)):
            names.add(s.result)
        elif isinstance(s, Loop):
            names |= {accumulator.name for accumulator in s.accumulators}
    return names


def needed(statements: Sequence[Statement], names: set[str]) -> list[Statement]:
    """Those of the statements that the names are made of."""
    found: list[Statement] = []
    names = set(names)
    for statement in reversed(statements):
        if defined([statement]) & names:
            names |= used([statement])
            found.insert(0, statement)
    return found


def in_pieces(statement: Statement, variable: str, outer: str, length: int) -> Statement:
    """The statement with length * outer + variable for the variable."""

    def change(at: Affine) -> Affine:
        stride = at.stride(variable)
        return add(at, Affine(0, ((outer, stride * length),))) if stride else at

    return with_places(statement, change)
