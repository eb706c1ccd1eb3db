"""The kernels of a `fused` node: which lowering serves it, and whether two kernels share a sum."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.ir.node import Graph
from ...compiler.ir.opdef import Attrs
from ...compiler.kernel.collapse import collapse
from ...compiler.kernel.columns import rows_outside
from ...compiler.kernel.form import Kernel
from ...compiler.kernel.lower import lower
from ...compiler.kernel.merge import merge_loops
from ...compiler.kernel.rows import row_kernel
from ...compiler.kernel.space import choose_space
from ...compiler.kernel.split import split_reduction
from .costs import LEAST_SPLIT, kernel_cost


def kernels_of(
    body: Graph, attrs: Attrs, strides: Sequence[tuple[int, ...]], out_strides: Sequence[tuple[int, ...]]
) -> tuple[Kernel, ...]:
    """The kernels of a body over memory with these strides, in elements; one runs after the other.

    It is passed over row by row where its partial sums ask for that or it pays; a reduction to one value that
    takes long is two kernels.
    """
    kernel = row_kernel(body, attrs, strides, out_strides)
    if kernel is not None:
        return (rows_outside(collapse(kernel)),)
    space = choose_space(body, attrs["shape"], attrs["folded"], attrs["alignments"], strides, out_strides)
    kernel = collapse(merge_loops(lower("kernel", body, space, strides, out_strides)))
    several = split_reduction(kernel) if kernel_cost(kernel) > LEAST_SPLIT else None
    return several or (rows_outside(kernel),)
