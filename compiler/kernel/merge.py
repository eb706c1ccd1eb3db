"""Loops that stand side by side and run over the same range become one.

A reduction is lowered to a loop of its own before the loop that stores the outputs. Where the later loop does
not wait for the earlier one's result, both run as one: what they share is loaded and computed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..ir.record import replace
from .form import Accumulate, Affine, Compute, Constant, Kernel, Load, Loop, Statement, Store
from .statements import defined, flat, used, with_places


def merge_loops(kernel: Kernel) -> Kernel:
    """The kernel with independent loops of one range merged, and scratch memory that is left unread dropped.

    Where a loop is left before the last one, the kernel is not parallel: every thread would run it, and read
    what another one may have overwritten already.
    """
    scratch = frozenset(arg.name for arg in kernel.args if arg.role == "scratch")
    body = _merged(kernel.body, scratch)
    read = {s.arg for s in flat(body) if isinstance(s, Load)}
    unread = scratch - read
    body = _without_stores(body, unread)
    args = tuple(arg for arg in kernel.args if arg.name not in unread)
    *first, last = body
    alone = isinstance(last, Loop) and not last.accumulators and not any(isinstance(s, Loop) for s in first)
    parallel = kernel.parallel and alone
    return replace(kernel, args=args, body=body, parallel=parallel)


def _merged(statements: Sequence[Statement], scratch: frozenset[str]) -> tuple[Statement, ...]:
    found = [replace(s, body=_merged(s.body, scratch)) if isinstance(s, Loop) else s for s in statements]
    first = 0
    while first < len(found):
        for second in range(first + 1, len(found)):
            together = _together(found, first, second, scratch)
            if together is not None:
                found = together
                break
        else:
            first += 1
    return tuple(found)


def _together(
    statements: Sequence[Statement], first: int, second: int, scratch: frozenset[str]
) -> list[Statement] | None:
    """The statements with two of them, both loops, as one; None where the second needs the first's result.

    What stands between moves behind the new loop if it needs the first loop's result, else before it. The
    first loop stores to scratch memory alone: that the second may read where the first has just written.
    """
    a, b = statements[first], statements[second]
    if not isinstance(a, Loop) or not isinstance(b, Loop) or (a.extent, a.kind) != (b.extent, b.kind):
        return None
    stored = {s.arg: s for s in flat(a.body) if isinstance(s, Store)}
    if not stored.keys() <= scratch or a.stop is not None or b.stop is not None:
        return None
    results = {accumulator.name for accumulator in a.accumulators}
    written: set[str] = set()
    before: list[Statement] = []
    after: list[Statement] = []
    for statement in statements[first + 1 : second]:
        inside = list(flat([statement]))
        reads = {s.arg for s in inside if isinstance(s, Load)}
        if results & used(inside) or reads & (written | stored.keys()):
            after.append(statement)
            results |= defined(inside)
            written |= {s.arg for s in inside if isinstance(s, Store)}
        else:
            before.append(statement)
    inside = list(b.body)
    for old, new in zip(_nest(b), _nest(a), strict=False):
        if old.extent != new.extent:
            break
        inside = [_renamed(s, old.variable, new.variable) for s in inside]
    for statement in flat(inside):
        if results & used([statement]):
            return None
        if not isinstance(statement, Load):
            continue
        if statement.arg in written or stored.get(statement.arg, statement).at != statement.at:
            return None
    body = _merged(_shared([*a.body, *inside], {}, {}), scratch)
    loop = Loop(a.variable, a.extent, a.kind, body, (*a.accumulators, *b.accumulators))
    return [*statements[:first], *before, loop, *after, *statements[second + 1 :]]


def _nest(loop: Loop) -> Iterator[Loop]:
    """The loop, the only loop in it, the only one in that, and so on."""
    while True:
        yield loop
        loops = [s for s in loop.body if isinstance(s, Loop)]
        if len(loops) != 1:
            return
        loop = loops[0]


def _shared(
    statements: Sequence[Statement], known: dict[Any, str], names: dict[str, str]
) -> tuple[Statement, ...]:
    """The statements without what is computed or loaded a second time; `names` is what became of it."""
    found: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Loop):
            found.append(replace(statement, body=_shared(statement.body, dict(known), names)))
            continue
        statement = _with_names(statement, names)
        if isinstance(statement, Store) and not statement.adds:
            known[statement.arg, statement.at, statement.index, statement.index_stride] = statement.value
        elif isinstance(statement, (Constant, Load, Compute)):
            key = _key(statement)
            if key in known:
                names[statement.result] = known[key]
                continue
            known[key] = statement.result
        found.append(statement)
    return tuple(found)


def _key(statement: Constant | Load | Compute) -> Any:
    if isinstance(statement, Constant):
        return repr(statement.value), statement.dtype
    if isinstance(statement, Load):
        return statement.arg, statement.at, statement.index, statement.index_stride
    return statement.op, statement.operands, statement.dtype


def _with_names(statement: Statement, names: dict[str, str]) -> Statement:
    if isinstance(statement, Compute):
        return replace(statement, operands=tuple(names.get(o, o) for o in statement.operands))
    if isinstance(statement, Store):
        index = None if statement.index is None else names.get(statement.index, statement.index)
        return replace(statement, value=names.get(statement.value, statement.value), index=index)
    if isinstance(statement, Load) and statement.index is not None:
        return replace(statement, index=names.get(statement.index, statement.index))
    if isinstance(statement, Accumulate):
        factor = None if statement.factor is None else names.get(statement.factor, statement.factor)
        return replace(statement, value=names.get(statement.value, statement.value), factor=factor)
    return statement


def _renamed(statement: Statement, old: str, new: str) -> Statement:
    """The statement with another loop variable."""
    if isinstance(statement, Loop):
        variable = new if statement.variable == old else statement.variable
        body = tuple(_renamed(s, old, new) for s in statement.body)
        return replace(statement, variable=variable, body=body)
    return with_places(
        statement,
        lambda at: Affine(at.offset, tuple(sorted((new if v == old else v, s) for v, s in at.strides))),
    )


def _without_stores(statements: Sequence[Statement], args: frozenset[str]) -> tuple[Statement, ...]:
    return tuple(
        replace(s, body=_without_stores(s.body, args)) if isinstance(s, Loop) else s
        for s in statements
        if not (isinstance(s, Store) and s.arg in args)
    )
