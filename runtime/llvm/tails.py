"""Neighbouring elements in memory, and the ends of loops, where vectors have lanes past the end.

A short body is written twice, for whole vectors and for the rest. In a longer one places are stretches of the
stack while lanes lie past the end: what the body reads is copied there before, what it wrote is copied to
memory after it. So whole vectors are read and written without masks. Masked memory takes long: with
AVX2 a store may take twenty cycles, and with AVX-512 a Zen 5 waits for every masked load that misses its
caches, as nothing is fetched ahead. No address past the end is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ...compiler.ir.record import record
from ...compiler.kernel.form import Affine, Load, Loop, Store
from .mathematics.builder import Writer
from .types import DType, memory_type, suffix

# Bytes of a register from which on the rest of a vector is stored by a mask, not in pieces.
MASKING = 64
# The mask of vectors whose lanes all lie before the end.
EVERY = "splat (i1 true)"


@record
class Place:
    """As many neighbouring elements as a vector has lanes, and whether a loop reads and writes them."""

    arg: str
    at: Affine
    reads: bool
    writes: bool


def places_of(loop: Loop) -> tuple[Place, ...]:
    """The places of a vector loop that the stack can stand for; none where there are loops inside."""
    if any(isinstance(s, Loop) for s in loop.body):
        return ()
    reads: dict[tuple[str, Affine], bool] = {}
    writes: dict[tuple[str, Affine], bool] = {}
    for s in loop.body:
        if isinstance(s, (Load, Store)) and s.index is None and s.at.stride(loop.variable) == 1:
            key = s.arg, s.at
            reads[key] = reads.get(key, False) or isinstance(s, Load) or s.adds
            writes[key] = writes.get(key, False) or isinstance(s, Store)
    return tuple(Place(arg, at, reads[arg, at], writes[arg, at]) for arg, at in reads)


class Printer(Writer, Protocol):
    """A writer that knows whether its machine stores by masks."""

    masking: bool


def first_lanes(count: int, lanes: int) -> str:
    """The mask of the first lanes."""
    return f"<{', '.join(f'i1 {str(lane < count).lower()}' for lane in range(lanes))}>"


def memory_suffix(dtype: DType) -> str:
    """The end of the name of an intrinsic for memory."""
    return "i8" if dtype.kind == "b" else suffix(dtype, 0)


def load_lanes(w: Writer, dtype: DType, lanes: int, pointer: str, mask: str) -> str:
    """Neighbouring elements, those of the mask."""
    type_ = f"<{lanes} x {memory_type(dtype)}>"
    if mask == EVERY:
        return w.let(f"load {type_}, ptr {pointer}, align 1")
    name = f"@llvm.masked.load.v{lanes}{memory_suffix(dtype)}.p0"
    w.declare(f"declare {type_} {name}(ptr, i32, <{lanes} x i1>, {type_})")
    return w.let(f"call {type_} {name}(ptr {pointer}, i32 1, <{lanes} x i1> {mask}, {type_} zeroinitializer)")


def store_lanes(w: Printer, dtype: DType, lanes: int, pointer: str, mask: str, text: str) -> None:
    """Write neighbouring elements, those of the mask."""
    type_ = f"<{lanes} x {memory_type(dtype)}>"
    if mask == EVERY:
        w.line(f"store {type_} {text}, ptr {pointer}, align 1")
        return
    if mask.startswith("<") and not w.masking:
        _store_first(w, dtype, lanes, pointer, mask.count("true"), text)
        return
    name = f"@llvm.masked.store.v{lanes}{memory_suffix(dtype)}.p0"
    w.declare(f"declare void {name}({type_}, ptr, i32, <{lanes} x i1>)")
    w.line(f"call void {name}({type_} {text}, ptr {pointer}, i32 1, <{lanes} x i1> {mask})")


def _store_first(w: Writer, dtype: DType, lanes: int, pointer: str, count: int, text: str) -> None:
    """Write the first lanes, in pieces of 2^k."""
    element, begin = memory_type(dtype), 0
    while begin < count:
        size = 1 << (count - begin).bit_length() - 1
        picked = ", ".join(f"i32 {begin + lane}" for lane in range(size))
        whole = f"<{lanes} x {element}>"
        part = w.let(f"shufflevector {whole} {text}, {whole} poison, <{size} x i32> <{picked}>")
        place = w.let(f"getelementptr {element}, ptr {pointer}, i64 {begin}")
        w.line(f"store <{size} x {element}> {part}, ptr {place}, align 1")
        begin += size


def copy_lanes(
    w: Printer, lanes: int, moves: Sequence[tuple[DType, str, str]], source: str, target: str
) -> None:
    """Copy vectors of a dtype from one pointer to another, with a mask for each side."""
    for dtype, here, there in moves:
        store_lanes(w, dtype, lanes, there, target, load_lanes(w, dtype, lanes, here, source))


def lane_mask(w: Writer, index: str, end: str, lanes: int) -> str:
    """Which lanes lie before the end."""
    left = w.let(f"sub nsw i64 {end}, {index}")
    few = w.let(f"icmp slt i64 {left}, {lanes}")
    count = w.let(f"select i1 {few}, i64 {left}, i64 {lanes}")
    short = w.let(f"trunc i64 {count} to i32")
    first = w.let(f"insertelement <{lanes} x i32> poison, i32 {short}, i64 0")
    wide = w.let(
        f"shufflevector <{lanes} x i32> {first}, <{lanes} x i32> poison, <{lanes} x i32> zeroinitializer"
    )
    numbers = ", ".join(f"i32 {lane}" for lane in range(lanes))
    return w.let(f"icmp slt <{lanes} x i32> <{numbers}>, {wide}")


def end_of_whole(w: Writer, begin: str, end: str, lanes: int) -> str:
    """Where the last vector ends whose lanes all lie before the end."""
    length = w.let(f"sub nsw i64 {end}, {begin}")
    rest = w.let(f"srem i64 {length}, {lanes}")
    return w.let(f"sub nsw i64 {end}, {rest}")
