"""Two nested loops over memory without gaps become one."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.record import replace
from .form import Affine, Kernel, Load, Loop, Statement, Store


def collapse(kernel: Kernel) -> Kernel:
    """The kernel with each loop merged into the one loop that is its whole body, where addresses allow."""
    return replace(kernel, body=tuple(_collapsed(s) for s in kernel.body))


def _collapsed(statement: Statement) -> Statement:
    if not isinstance(statement, Loop):
        return statement
    loop = replace(statement, body=tuple(_collapsed(s) for s in statement.body))
    if len(loop.body) != 1 or not isinstance(loop.body[0], Loop):
        return loop
    inner = loop.body[0]
    if (
        inner.accumulators
        or loop.stop is not None
        or inner.stop is not None
        or not all(
            at.stride(loop.variable) == at.stride(inner.variable) * inner.extent for at in _places(inner.body)
        )
    ):
        return loop
    kind = "vector" if "vector" in (loop.kind, inner.kind) else "serial"
    body = tuple(_without(s, loop.variable) for s in inner.body)
    return Loop(inner.variable, loop.extent * inner.extent, kind, body, loop.accumulators)


def _places(statements: tuple[Statement, ...]) -> Iterator[Affine]:
    for statement in statements:
        if isinstance(statement, Loop):
            yield from () if statement.stop is None else (statement.stop,)
            yield from _places(statement.body)
        elif isinstance(statement, (Load, Store)):
            yield statement.at


def _without(statement: Statement, variable: str) -> Statement:
    """The statement with a variable's terms dropped: the merged variable counts them."""
    if isinstance(statement, Loop):
        stop = None if statement.stop is None else _dropped(statement.stop, variable)
        return replace(statement, body=tuple(_without(s, variable) for s in statement.body), stop=stop)
    if isinstance(statement, (Load, Store)):
        return replace(statement, at=_dropped(statement.at, variable))
    return statement


def _dropped(at: Affine, variable: str) -> Affine:
    return Affine(at.offset, tuple((v, s) for v, s in at.strides if v != variable))
