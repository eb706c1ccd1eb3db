"""A reduction to one value in two kernels, so that threads can share it.

The first folds pieces of the range, each to a partial result, and the pieces are independent; the second
folds the partial results. The pieces depend on the kernel alone, so the result does not depend on the number
of threads.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.record import replace
from .form import Accumulate, Accumulator, Affine, Arg, Kernel, Load, Loop, Statement, Store
from .statements import flat, in_pieces, needed, used

MOST_PIECES = 256
LEAST_ELEMENTS = 2048
MULTIPLE = 64


def split_reduction(kernel: Kernel) -> tuple[Kernel, Kernel] | None:
    """The kernels of pieces and of their results, None for a kernel of another kind.

    The first stores its partial results to the arguments `p0`, `p1` …, one for each accumulator; the second
    reads them.
    """
    loops = [number for number, s in enumerate(kernel.body) if isinstance(s, Loop)]
    if kernel.parallel or len(loops) != 1:
        return None
    loop = kernel.body[loops[0]]
    assert isinstance(loop, Loop)
    length = _piece(loop)
    if not loop.accumulators or loop.extent <= length:
        return None
    before, after = kernel.body[: loops[0]], kernel.body[loops[0] + 1 :]
    count = -(-loop.extent // length)
    stored = {s.arg for s in flat(loop.body) if isinstance(s, Store)}
    partial = [Arg(f"p{n}", a.dtype, "out", 0, count) for n, a in enumerate(loop.accumulators)]
    outer = "b"
    inside = tuple(in_pieces(s, loop.variable, outer, length) for s in loop.body)
    pieces = replace(loop, extent=length, body=inside, stop=Affine(loop.extent, ((outer, -length),)))
    stores = [
        Store(arg.name, Affine(0, ((outer, 1),)), a.name)
        for arg, a in zip(partial, loop.accumulators, strict=True)
    ]
    parts = Loop(outer, count, "serial", (pieces, *stores))
    first = needed(before, used(flat([parts])))
    second = needed(before, used(flat(after)))
    folds = _folds(loop.accumulators, partial, count)
    return (
        _kernel(f"{kernel.name}_pieces", (*kernel.args, *partial), (*first, parts), parallel=True),
        _kernel(
            f"{kernel.name}_whole",
            (*(a for a in kernel.args if a.name not in stored), *(replace(p, role="in") for p in partial)),
            (*second, folds, *after),
            parallel=False,
        ),
    )


def _piece(loop: Loop) -> int:
    """How many iterations a piece has: enough elements that folding it costs little, not too many pieces."""
    inner = max(1, _elements(loop.body))
    length = max(-(-loop.extent // MOST_PIECES), -(-LEAST_ELEMENTS // inner))
    return -(-length // MULTIPLE) * MULTIPLE if loop.kind == "vector" else length


def _elements(statements: Sequence[Statement]) -> int:
    """The iterations of the longest loop nest among the statements."""
    return max((s.extent * max(1, _elements(s.body)) for s in statements if isinstance(s, Loop)), default=0)


def _folds(accumulators: Sequence[Accumulator], partial: Sequence[Arg], count: int) -> Loop:
    """One loop that folds the partial results of all accumulators."""
    at = Affine(0, (("r", 1),))
    body: list[Statement] = []
    for accumulator, arg in zip(accumulators, partial, strict=True):
        body.append(Load(f"{arg.name}r", arg.name, at))
        body.append(Accumulate(accumulator.name, f"{arg.name}r"))
    folds = (replace(a, op="add") if a.op == "multiply_add" else a for a in accumulators)
    return Loop("r", count, "vector", tuple(body), tuple(folds))


def _kernel(name: str, args: Sequence[Arg], body: Sequence[Statement], parallel: bool) -> Kernel:
    """A kernel with those of the arguments that it touches."""
    touched = {s.arg for s in flat(body) if isinstance(s, (Load, Store))}
    return Kernel(name, tuple(arg for arg in args if arg.name in touched), tuple(body), parallel)
