"""Matrix products by native code of our own: how a product is described, and the code of this process.

The code depends on the dtype and the CPU alone, so all plans of a process share it. Tiles are made when a
shape first needs them.
"""

from __future__ import annotations

import os
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ...compiler.ir.record import record
from . import cache, engine
from .matrices import Argument
from .native_step import Touch
from .packing_text import PACKING, packing_text
from .product_text import A_BYTES, B_BYTES, FIELDS, SLOT_BYTES, SLOTS, direct_text, product_text
from .tile_text import Shape, shape_of, tile_text

# The longest block of the summed axis: a panel and the rows of a tile stay in the first cache.
DEPTH = 256
# The bytes of A that a block of rows may have in a block of the summed axis: they stay in the second cache.
BLOCK_BYTES = 256 << 10


class Code:
    """The functions of a dtype, made when a plan first needs them; they stay for good.

    `table` has the addresses of tiles and of what packs, `address` those of `product` and `direct`, once what
    is `missing` was loaded.
    """

    def __init__(self, dtype: np.dtype[Any], vector_bytes: int) -> None:
        self.shape = shape_of(dtype, vector_bytes)
        self.lock = threading.Lock()
        self.table = np.zeros(self.shape.tiles + len(PACKING), np.int64)
        self.address = {"product": 0, "direct": 0}
        self._libraries: list[engine.Library] = []
        self._wanted: dict[int, str] = {}
        self._frames: set[str] = set()

    def need(self, frame: str, rows: int, columns: int, packs: int = 0, copies: int = 0) -> None:
        """A product needs `frame`, its tiles, those of its pieces, and what packs, as FIELDS has it."""
        cut = self.shape.cut(rows)
        pieces = {rows, *range(cut, min(rows, 12 * cut), cut), *range(rows % cut, min(rows, 12 * cut), cut)}
        levels = {level for piece in pieces for level in _levels(piece, self.shape, copies > 0)}
        names = {
            self.shape.width * level + width - 1: f"tile_{self.shape.heights[level]}_{width}"
            for level in levels
            for width in _widths(columns, self.shape)
        }
        packing = [packs - 1] * (packs > 0) + [copies + 1] * (copies > 0)
        names |= {self.shape.tiles + k: PACKING[k] for k in packing}
        with self.lock:
            self._wanted |= {place: name for place, name in names.items() if not self.table[place]}
            if not self.address[frame]:
                self._frames.add(frame)

    def missing(self) -> list[cache.Part]:
        """What is needed and not made: at most one part for `cache.load_together`."""
        with self.lock:
            wanted, frames = dict(self._wanted), sorted(self._frames)
            modules = [(self._text(name), 1) for name in wanted.values()]
            modules += [_FRAMES[frame](self.shape) for frame in frames]
        return [(modules, partial(self._load, wanted, frames))] if modules else []

    def _text(self, name: str) -> str:
        if name in PACKING:
            return packing_text(self.shape, name)
        _, height, width = name.split("_")
        return tile_text(self.shape, int(height), int(width))

    def _load(self, wanted: dict[int, str], frames: list[str], codes: list[bytes]) -> None:
        library = engine.Library(codes, {})
        with self.lock:
            self._libraries.append(library)
            for place, name in wanted.items():
                self.table[place] = library.address(name)
                self._wanted.pop(place, None)
            for frame in frames:
                self.address[frame] = library.address(frame)
                self._frames.discard(frame)


# What stands around tiles, with its level. Large products spend their time in tiles.
_FRAMES: dict[str, Callable[[Shape], tuple[str, int]]] = {
    "product": lambda shape: (product_text(shape), 0),
    "direct": lambda shape: (direct_text(shape), 1),
}


def _levels(rows: int, shape: Shape, strips: bool) -> Iterator[int]:
    """The numbers of the heights into which rows are cut, as `panel` does it."""
    for level in reversed(range(len(shape.heights))):
        height = shape.heights[level]
        while rows >= height and not (rows == 8 and height == 6 and not strips):
            yield level
            rows -= height


def _widths(columns: int, shape: Shape) -> set[int]:
    full, rest = divmod(columns, shape.width * shape.lanes)
    return {shape.width if full else 0, -(-rest // shape.lanes)} - {0}


_codes: dict[str, Code] = {}
_making = threading.Lock()


def code(dtype: np.dtype[Any]) -> Code:
    """The functions of float32 or float64 on this CPU; plans hold their addresses: there is one of each."""
    with _making:
        if dtype.char not in _codes:
            _codes[dtype.char] = Code(dtype, engine.vector_bytes())
        return _codes[dtype.char]


def frame_of(shape: Shape, product: tuple[int, int, int], a: Operand, b: Operand, count: int) -> str:
    """Which function runs a product of m × n results that sum over k, of which there are so many."""
    m, n, k = product
    direct = count == 1 and k <= DEPTH and _copied(shape, m, n, a, b) == (0, 0)
    return "direct" if direct else "product"


@record
class Operand:
    """A matrix in a stack: byte strides of its rows and columns, and of the two axes of the stack."""

    row: int
    column: int
    next: int = 0
    far: int = 0


def describe(
    made: Code,
    shape: tuple[int, int, int],
    a: Operand,
    b: Operand,
    c: Operand,
    inner: int = 1,
    alpha: float = 1.0,
    adds: bool = False,
    frame: str = "product",
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The description that a frame reads, for m × n results that sum over k: `shape` is (m, n, k).

    C becomes alpha A B, or C + alpha A B where it adds. Columns of C are contiguous, and of B either its rows
    or its columns.
    """
    m, n, k = shape
    size = made.shape.size
    depth = -(-k // -(-k // DEPTH))
    height, wide = made.shape.rows, made.shape.panel
    packs, copies = _copied(made.shape, m, n, a, b)
    made.need(frame, m, n, packs, copies)
    rows = _part(m, (A_BYTES if copies else BLOCK_BYTES) // (depth * size), height)
    group = _part(n, B_BYTES // (depth * size), wide)
    slots, room = _slots() if packs or copies else (0, 0)
    known = {
        "rows": m, "columns": n, "depth": k, "inner": inner, "alpha": bits(alpha), "adds": int(adds),
        "packs": packs, "copies": copies, "row_block": rows, "depth_block": depth, "group": group,
        "slots": slots, "room": room, "tiles": made.table.ctypes.data,
        "a_row": a.row, "a_column": a.column, "b_row": b.row, "b_column": b.column, "c_row": c.row,
        "a_next": a.next, "b_next": b.next, "c_next": c.next, "a_far": a.far, "b_far": b.far, "c_far": c.far,
    }  # fmt: skip
    return np.array([known[name] for name in FIELDS], np.int64)


def touches(
    places: Sequence[Argument],
    shape: tuple[int, int, int],
    operands: Sequence[Operand],
    inner: int,
    outer: int,
    size: int,
) -> tuple[Touch, ...]:
    """What a row of the products of a stack touches: its row of A and of C, and all of B."""
    m, n, k = shape

    def reach(*axes: tuple[int, int]) -> tuple[int, int]:
        ends = [stride * (length - 1) for length, stride in axes]
        return sum(min(end, 0) for end in ends), sum(max(end, 0) for end in ends) + size

    found = []
    for number, (operand, columns) in enumerate(zip(operands, (k, 0, n), strict=True)):
        base, offset = places[number]
        rows = m if number != 1 else k
        line = (columns if number != 1 else n, operand.column)
        even = (inner == 1 or operand.next == m * operand.row) and (
            outer == 1 or operand.far == inner * (operand.next if inner > 1 else m * operand.row)
        )
        pitch = operand.row if even and number != 1 else 0
        stack = ((inner, operand.next), (outer, operand.far), (rows, operand.row))
        low, high = reach(line) if pitch else reach(line, *stack)
        found.append(Touch(base, offset + low, offset + high, pitch, number == 2))
    return tuple(found)


def _copied(shape: Shape, m: int, n: int, a: Operand, b: Operand) -> tuple[int, int]:
    """Whether B and A are copied, as FIELDS has it; they are where that was measured to pay.

    Tiles that fill 32 registers read an element of A less often, and with one walk from line to line.
    """
    wide = shape.rows == 8
    far, many = (4096, 64) if wide else (256, 32)
    packs = 2 if b.column != shape.size and n > 1 else int(b.row >= far and m >= many)
    if wide:
        return packs, 0
    if a.row == shape.size:
        return packs, int(n >= 96 and m >= 32)
    return packs, 2 if n >= 256 and m >= 32 else 0


def _part(length: int, most: int, step: int) -> int:
    """A length in equal parts of at most so much, at least a step, in multiples of a step."""
    most = max(step, most // step * step)
    return -(-length // -(-length // most) // step) * step


def bits(number: float) -> int:
    """A double as the i64 of its bits."""
    found: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return found


@lru_cache(maxsize=1)
def _memory() -> tuple[Any, Any]:
    """The flags of all slots and their memory, which takes room only once it is used."""
    return np.zeros(8 * SLOTS + 8, np.int64), np.empty(SLOTS * SLOT_BYTES + 64, np.uint8)


def _slots() -> tuple[int, int]:
    """The addresses of the flags and of the memory of slots, at the beginning of a line."""
    flags, memory = (-(-array.ctypes.data // 64) * 64 for array in _memory())
    return flags, memory


def _forget() -> None:
    """A forked child runs no product of its parent's."""
    if _memory.cache_info().currsize:
        _memory()[0][:] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
