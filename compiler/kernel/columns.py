"""Folds down the columns of a matrix read it row by row.

As lowered, a vector loop over columns holds the loop over rows: its running values stay in registers, and
memory is read in pieces of a vector, a row apart. Where the matrix lies outside the first cache that takes up
to three times as long as reading whole rows. So the loops are turned: running values of a block of columns
lie in scratch memory, which the first cache holds, and each row of the block is folded into them.

Sums of double precision carry their rounding error along (Knuth, TAOCP vol. 2, 4.2.2, theorem B).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.record import replace
from .form import (
    Accumulate,
    Accumulator,
    Affine,
    Arg,
    Compute,
    Constant,
    Kernel,
    Load,
    Loop,
    Statement,
    Store,
)
from .space import COSTLY
from .statements import flat, in_pieces, needed, used

# Bytes of a matrix from which on it does not lie in the first cache, and in the second one.
SECOND, MEMORY = 1 << 15, 1 << 20
# Bytes of a row from which on loops are turned where the matrix lies there: a short row waits for what the
# row before has stored, which takes less time than memory does.
LONG, SHORT = 1024, 256
# Columns of a block at the most; fewer where threads share the blocks. Several blocks have a multiple.
MOST, SHARED, MULTIPLE = 4096, 1024, 64


def rows_outside(kernel: Kernel) -> Kernel:
    """The kernel with loops over columns that hold a fold over rows turned, where that pays."""
    scratch: list[Arg] = []
    args = {arg.name: arg for arg in kernel.args}

    def turn(
        statements: Sequence[Statement], around: Sequence[Statement], most: int
    ) -> tuple[Statement, ...]:
        """The statements with loops turned in blocks of so many columns; those around run before or after."""
        found: list[Statement] = []
        for statement in statements:
            others = [*around, *(s for s in statements if s is not statement)]
            fold = _Fold.of(statement)
            if fold is not None and fold.pays(args, others):
                found.append(fold.turned(scratch, most))
            elif isinstance(statement, Loop):
                found.append(replace(statement, body=turn(statement.body, others, MOST)))
            else:
                found.append(statement)
        return tuple(found)

    body = turn(kernel.body, (), SHARED)
    return replace(kernel, args=(*kernel.args, *scratch), body=body)


class _Run:
    """An accumulator: its values for a block of columns lie in scratch memory, with their rounding errors."""

    def __init__(self, accumulator: Accumulator, at: Affine, length: int, scratch: list[Arg]) -> None:
        self.accumulator = accumulator
        self.at = at
        self.args = [f"c{len(scratch) + number}" for number in range(1 + accumulator.compensated)]
        scratch += [Arg(name, accumulator.dtype, "scratch", 0, length) for name in self.args]

    def start(self) -> list[Statement]:
        """The values before the first row."""
        name, dtype = self.accumulator.name, self.accumulator.dtype
        found: list[Statement] = []
        for arg, value in zip(self.args, (self.accumulator.init, 0), strict=False):
            found += [Constant(f"{arg}{name}", value, dtype), Store(arg, self.at, f"{arg}{name}")]
        return found

    def step(self, term: Accumulate) -> list[Statement]:
        """Fold a term of a row."""
        name, op, value = self.accumulator.name, self.accumulator.op, term.value
        found: list[Statement] = [Load(f"{name}s", self.args[0], self.at)]
        if term.factor is not None:
            value, op = f"{name}p", "add"
            found.append(self.compute(value, "multiply", term.value, term.factor))
        found.append(self.compute(f"{name}t", op, f"{name}s", value))
        found.append(Store(self.args[0], self.at, f"{name}t"))
        for error in self.args[1:]:
            found += [
                self.compute(f"{name}b", "subtract", f"{name}t", f"{name}s"),
                self.compute(f"{name}r", "subtract", f"{name}t", f"{name}b"),
                self.compute(f"{name}f", "subtract", f"{name}s", f"{name}r"),
                self.compute(f"{name}g", "subtract", value, f"{name}b"),
                self.compute(f"{name}h", "add", f"{name}f", f"{name}g"),
                Load(f"{name}e", error, self.at),
                self.compute(f"{name}n", "add", f"{name}e", f"{name}h"),
                Store(error, self.at, f"{name}n"),
            ]
        return found

    def finish(self) -> list[Statement]:
        """The result, under the accumulator's name; the error of a sum that is not finite is NaN."""
        name = self.accumulator.name
        if len(self.args) == 1:
            return [Load(name, self.args[0], self.at)]
        return [
            Load(f"{name}s", self.args[0], self.at),
            Load(f"{name}e", self.args[1], self.at),
            self.compute(f"{name}t", "add", f"{name}s", f"{name}e"),
            Compute(f"{name}q", "isnan", (f"{name}e",), np.dtype(bool)),
            self.compute(name, "where", f"{name}q", f"{name}s", f"{name}t"),
        ]

    def compute(self, result: str, op: str, *operands: str) -> Compute:
        return Compute(result, op, operands, self.accumulator.dtype)


class _Fold:
    """A loop over columns with a nest of loops over rows that folds, and statements before and after that."""

    def __init__(self, columns: Loop, nest: Sequence[Loop]) -> None:
        self.columns = columns
        self.nest = nest
        number = columns.body.index(nest[0])
        self.before, self.after = columns.body[:number], columns.body[number + 1 :]
        self.accumulators = nest[0].accumulators

    @classmethod
    def of(cls, loop: Statement) -> _Fold | None:
        """The parts of a loop over columns; None for other statements."""
        if not isinstance(loop, Loop) or loop.kind != "vector" or loop.accumulators or loop.stop is not None:
            return None
        nest: list[Loop] = []
        body: Sequence[Statement] = loop.body
        while inner := [s for s in body if isinstance(s, Loop)]:
            if len(inner) > 1 or (nest and (inner[0].accumulators or body[-1] is not inner[0])):
                return None
            nest.append(inner[0])
            body = inner[0].body
        if not nest or not nest[0].accumulators:
            return None
        outer = [s for level in nest[:-1] for s in level.body if not isinstance(s, Loop)]
        if any(isinstance(s, (Accumulate, Store)) for s in (*loop.body[: loop.body.index(nest[0])], *outer)):
            return None
        return cls(loop, nest)

    def pays(self, args: dict[str, Arg], others: Sequence[Statement]) -> bool:
        """Whether rows are long and many, nothing else reads them, and no costly value is computed again."""
        inside = list(flat(self.nest))
        loads = [s for s in inside if isinstance(s, Load) and s.at.stride(self.columns.variable) == 1]
        widest = max(loads, key=lambda s: args[s.arg].high - args[s.arg].low, default=None)
        if widest is None:
            return False
        arg = args[widest.arg]
        row, size = self.columns.extent * arg.dtype.itemsize, (arg.high - arg.low) * arg.dtype.itemsize
        elsewhere = {s.arg for s in flat(others) if isinstance(s, Load)}
        again = [*self.before, *(s for loop in self.nest[:-1] for s in loop.body)]
        return (
            size > SECOND
            and row >= (LONG if size <= MEMORY else SHORT)
            and not elsewhere & {s.arg for s in loads}
            and not any(isinstance(s, Store) for s in inside)
            and not any(isinstance(s, Compute) and s.op in COSTLY for s in again)
        )

    def turned(self, scratch: list[Arg], most: int) -> Loop:
        """Blocks of columns: running values are set, rows are folded into them, results are used."""
        j, extent = self.columns.variable, self.columns.extent
        count = -(-extent // most)
        length = extent if count == 1 else -(-extent // (count * MULTIPLE)) * MULTIPLE
        block = f"{j}b"
        stop = None if count * length == extent else Affine(extent, ((block, -length),))
        runs = {a.name: _Run(a, Affine(0, ((j, 1),)), length, scratch) for a in self.accumulators}

        def here(statements: Sequence[Statement]) -> list[Statement]:
            """Statements at a block's columns."""
            return [in_pieces(s, j, block, length) for s in statements if not isinstance(s, Loop)]

        before = here(self.before)

        def over(statements: Sequence[Statement]) -> Loop:
            """The loop over a block's columns, with what its statements need of those before."""
            first = needed(before, used(statements))
            return Loop(j, length, "vector", (*first, *statements), (), stop)

        rows: list[Statement] = []
        for statement in here([s for loop in self.nest for s in loop.body]):
            if isinstance(statement, Accumulate):
                rows += runs[statement.accumulator].step(statement)
            else:
                rows.append(statement)
        folded: Statement = over(rows)
        for loop in reversed(self.nest):
            folded = replace(loop, body=(folded,), accumulators=())
        start = over([s for run in runs.values() for s in run.start()])
        finish = over([*(s for run in runs.values() for s in run.finish()), *here(self.after)])
        return Loop(block, count, "serial", (start, folded, finish))
