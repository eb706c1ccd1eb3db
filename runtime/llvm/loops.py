"""Questions about loops that the printer asks: where vectors run, how wide they are, what they accumulate."""

from __future__ import annotations

from collections.abc import Sequence

from ...compiler.kernel.form import Accumulate, Compute, Kernel, Load, Loop, Statement, Store
from ...compiler.kernel.space import COSTLY
from ...compiler.kernel.statements import flat

# Sums of products of one loop that leave room for vectors of two registers.
FEW = 2
# Registers that the running sums of a row may take, of the 32 of machines with the widest vectors.
MANY = 16
# Statements of a loop that is light.
LIGHT = 16


def holds_vector(loop: Loop) -> bool:
    """Whether a vector loop stands inside."""
    return any(isinstance(s, Loop) and (s.kind == "vector" or holds_vector(s)) for s in loop.body)


def accumulates_in_vector(loop: Loop, name: str) -> bool:
    """Whether the accumulate of this accumulator stands inside a vector loop below this one."""
    for inner in loop.body:
        if not isinstance(inner, Loop):
            continue
        if inner.kind != "vector":
            if accumulates_in_vector(inner, name):
                return True
        elif any(isinstance(s, Accumulate) and s.accumulator == name for s in flat(inner.body)):
            return True
    return False


def touched_by_vectors(statements: Sequence[Statement]) -> set[str]:
    """The arguments that vector loops load from or store to."""
    found: set[str] = set()
    for loop in statements:
        if isinstance(loop, Loop) and loop.kind == "vector":
            found |= {s.arg for s in flat(loop.body) if isinstance(s, (Load, Store))}
        elif isinstance(loop, Loop):
            found |= touched_by_vectors(loop.body)
    return found


def longest_vector(statements: Sequence[Statement]) -> int:
    """How many iterations the longest vector loop has."""
    loops = [s for s in statements if isinstance(s, Loop)]
    lengths = [loop.extent if loop.kind == "vector" else longest_vector(loop.body) for loop in loops]
    return max(lengths, default=0)


def lanes_of(kernel: Kernel, vector_bytes: int) -> int:
    """Elements of a vector: twice a register's, as independent chains of operations hide their latency.

    They are more where sums of products are all there is: a whole row, if it can be, is then read in one run.
    They are fewer where every vector loop is shorter than half of them. Loops with many sums of products keep
    many vectors in registers at once, so theirs are as wide as one.
    """
    touched = touched_by_vectors(kernel.body)
    dtypes = [arg.dtype for arg in kernel.args if arg.name in touched] or [arg.dtype for arg in kernel.args]
    widths = [dtype.itemsize for dtype in dtypes if dtype.kind == "f"] or [dtype.itemsize for dtype in dtypes]
    one = max(1, vector_bytes // max(widths, default=8))
    registers = 1 if most_products(kernel.body) > FEW else 2
    if is_product(kernel):
        many = min(MANY, vector_bytes // 4)
        registers = many if longest_vector(kernel.body) <= many * one else 4
    lanes = max(2, registers * one)
    while lanes > 2 and 2 * longest_vector(kernel.body) <= lanes:
        lanes //= 2
    return lanes


def is_product(kernel: Kernel) -> bool:
    """Whether sums of products are all that a kernel spends its time with: more vectors hide more latency."""
    loops = [s for s in kernel.body if isinstance(s, Loop)]
    return most_products(kernel.body) > 0 and all(is_light(loop) for loop in loops)


def is_light(loop: Loop) -> bool:
    """Whether a loop holds few statements, and none that takes long."""
    inside = list(flat(loop.body))
    return len(inside) <= LIGHT and not any(isinstance(s, Compute) and s.op in COSTLY for s in inside)


def most_products(statements: Sequence[Statement]) -> int:
    """How many sums of products the loop that has most of them has."""
    return max(
        (
            max(sum(a.op == "multiply_add" for a in s.accumulators), most_products(s.body))
            for s in statements
            if isinstance(s, Loop)
        ),
        default=0,
    )
