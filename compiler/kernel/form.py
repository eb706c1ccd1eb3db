"""Kernels: arguments in memory, and loops over loads, scalar computations, stores and accumulations.

Everything is frozen and compared by value, so equal kernels can share code. Addresses are affine in the loop
variables and count elements of the argument, from the element its pointer points to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ir.record import record

DType = np.dtype[Any]


@record
class Arg:
    """A piece of memory. `role` is "in", "out", "inout" or "scratch"; elements low … high - 1 may be touched.

    Scratch memory is the kernel's own: it is there while the kernel runs, one piece for each thread.
    """

    name: str
    dtype: DType
    role: str
    low: int
    high: int


@record
class Affine:
    """offset + the sum of stride * variable, in elements."""

    offset: int = 0
    strides: tuple[tuple[str, int], ...] = ()

    def stride(self, variable: str) -> int:
        return dict(self.strides).get(variable, 0)


@record
class Constant:
    """A number known when the kernel is made."""

    result: str
    value: Any
    dtype: DType


@record
class Load:
    """Read an element. With `index` the place is at + index_stride * the value of that name."""

    result: str
    arg: str
    at: Affine
    index: str | None = None
    index_stride: int = 0


@record
class Compute:
    """Apply a primitive to scalars; a cast is told by its dtype."""

    result: str
    op: str
    operands: tuple[str, ...]
    dtype: DType


@record
class Store:
    """Write an element, or add to it; with `index` the place is at + index_stride * the value of that name.

    Stores that add, or have an index, happen one iteration after another: their loops over places that may
    meet are serial.
    """

    arg: str
    at: Affine
    value: str
    index: str | None = None
    index_stride: int = 0
    adds: bool = False


@record
class Accumulate:
    """Fold a value, or the product of two, into an accumulator of an enclosing loop."""

    accumulator: str
    value: str
    factor: str | None = None


@record
class Accumulator:
    """A running value of a loop: set to `init` before it, readable under its name after it.

    `op` is add, multiply, maximum, minimum, logical_or or logical_and; or multiply_add, a sum of products of
    which each may be added with one rounding, as in matrix products. How terms are grouped is the printer's
    choice within the accuracy that the docs promise, and never depends on the number of threads.
    `narrow` says that the terms come from a narrower dtype, to which the result goes back: the rounding of
    the running value does not show.
    """

    name: str
    op: str
    dtype: DType
    init: Any
    narrow: bool = False

    @property
    def compensated(self) -> bool:
        """Whether the sum carries its rounding error: double sums do, others run in a wider type."""
        return self.op == "add" and self.dtype.kind == "f" and not self.narrow


@record
class Loop:
    """Run the body for variable = 0 … extent - 1, or to below `stop` where that comes first.

    `stop` is affine in the variables of enclosing loops: blocks of equal length end where the data does.
    `kind` is "vector" (iterations are independent but for accumulators; the printer runs several at once) or
    "serial". No vector loop stands inside another.
    """

    variable: str
    extent: int
    kind: str
    body: tuple[Statement, ...]
    accumulators: tuple[Accumulator, ...] = ()
    stop: Affine | None = None


Statement = Constant | Load | Compute | Store | Accumulate | Loop


@record
class Kernel:
    """A whole kernel: statements that run once, the last of them a loop.

    `parallel` says that the iterations of this last loop are independent: threads may take parts of it.
    """

    name: str
    args: tuple[Arg, ...]
    body: tuple[Statement, ...]
    parallel: bool = False

    def __str__(self) -> str:
        from .text import kernel_text

        return kernel_text(self)
