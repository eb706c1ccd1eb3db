"""Two nested loops over memory without gaps become one."""

from __future__ import annotations

from ..ir.record import replace
from .form import Affine, Kernel, Loop, Statement
from .statements import places, with_places


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
            at.stride(loop.variable) == at.stride(inner.variable) * inner.extent for at in places(inner.body)
        )
    ):
        return loop
    kind = "vector" if "vector" in (loop.kind, inner.kind) else "serial"
    # The merged variable counts what the outer one did.
    body = tuple(with_places(s, lambda at: _without(at, loop.variable)) for s in inner.body)
    return Loop(inner.variable, loop.extent * inner.extent, kind, body, loop.accumulators)


def _without(at: Affine, variable: str) -> Affine:
    return Affine(at.offset, tuple((v, s) for v, s in at.strides if v != variable))
