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
        or loop.part
        or inner.part
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
            yield from _places(statement.body)
        elif isinstance(statement, (Load, Store)):
            yield statement.at


def _without(statement: Statement, variable: str) -> Statement:
    """The statement with a variable's terms dropped: the merged variable counts them."""
    if isinstance(statement, Loop):
        return replace(statement, body=tuple(_without(s, variable) for s in statement.body))
    if isinstance(statement, (Load, Store)):
        at = Affine(statement.at.offset, tuple((v, s) for v, s in statement.at.strides if v != variable))
        return replace(statement, at=at)
    return statement
