"""Estimates of a kernel's time, and what is decided by them."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.kernel.form import Compute, Kernel, Loop, Statement
from ...compiler.kernel.space import COSTLY

# Nanoseconds of work from which on a step is shared among threads.
LEAST_SHARED = 4000.0


# Nanoseconds of a step for each piece of a share.
LEAST_PIECE = 50_000.0


# Nanoseconds of work from which on a reduction to one value is shared, which takes a second kernel.
LEAST_SPLIT = 20_000.0


# Nanoseconds of work from which on better code is worth the time that it takes to make.
LEAST_POLISHED = 10_000.0


def code_level(kernel: Kernel, cost: float) -> int:
    """The code generation level of a kernel: 1 where values live across iterations or it costs much, else 0.

    Level 0 takes a third of the time; its elementwise code is 10 to 15 % slower, its sums many times.
    """

    def carries(statements: Sequence[Statement]) -> bool:
        return any(isinstance(s, Loop) and (s.accumulators or carries(s.body)) for s in statements)

    return int(carries(kernel.body) or cost > LEAST_POLISHED)


def kernel_cost(kernel: Kernel) -> float:
    """An estimate of a kernel's time in nanoseconds on one thread."""

    def cost(statements: Sequence[Statement]) -> float:
        total = 0.0
        for statement in statements:
            if isinstance(statement, Loop):
                total += statement.extent * cost(statement.body)
            elif isinstance(statement, Compute):
                total += 0.3 if statement.op in COSTLY else 0.03
            else:
                total += 0.08
        return total

    return cost(kernel.body)
