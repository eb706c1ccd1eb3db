"""Running sums that carry their rounding error, and folds over the lanes of a vector."""

from __future__ import annotations

from .mathematics.builder import Writer
from .operations import compute
from .types import DType, value_type
from .written import Running


def two_sum(w: Writer, running: Running, term: str) -> None:
    """Add a term and gather the rounding error (Knuth, TAOCP vol. 2, 4.2.2, theorem B)."""
    type_ = value_type(running.accumulator.dtype, running.lanes)
    total = w.let(f"fadd {type_} {running.current}, {term}")
    back = w.let(f"fsub {type_} {total}, {running.current}")
    rest = w.let(f"fsub {type_} {total}, {back}")
    first = w.let(f"fsub {type_} {running.current}, {rest}")
    second = w.let(f"fsub {type_} {term}, {back}")
    error = w.let(f"fadd {type_} {first}, {second}")
    running.error = w.let(f"fadd {type_} {running.error}, {error}")
    running.current = total


def with_error(w: Writer, total: str, error: str, dtype: DType, lanes: int) -> str:
    """A sum with the rounding error that it carried. That is NaN once the sum has left the finite numbers."""
    type_, bits = value_type(dtype, lanes), f"<{lanes} x i1>" if lanes else "i1"
    whole = w.let(f"fadd {type_} {total}, {error}")
    lost = w.let(f"fcmp uno {type_} {error}, {error}")
    return w.let(f"select {bits} {lost}, {type_} {total}, {type_} {whole}")


def fold(w: Writer, op: str, text: str, dtype: DType, lanes: int) -> str:
    """Fold the lanes of a vector with an op, halves with halves."""
    while lanes > 1:
        type_, half = value_type(dtype, lanes), lanes // 2
        low = ", ".join(f"i32 {i}" for i in range(half))
        high = ", ".join(f"i32 {i + half}" for i in range(half))
        first = w.let(f"shufflevector {type_} {text}, {type_} poison, <{half} x i32> <{low}>")
        second = w.let(f"shufflevector {type_} {text}, {type_} poison, <{half} x i32> <{high}>")
        text = compute(w, op, [first, second], [dtype] * 2, dtype, half)
        lanes = half
    return w.let(f"extractelement {value_type(dtype, 1)} {text}, i64 0")
