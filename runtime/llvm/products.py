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
from pathlib import Path
from typing import Any

import numpy as np

from ...compiler.ir.record import record
from ...compiler.kernel.lower import reach
from . import cache, engine
from .matrices import Argument
from .native_step import Touch
from .packing_text import PACKING, packing_text
from .product_text import A_BYTES, FIELDS, SLOT_BYTES, SLOTS, STRIP_GAP, direct_text, product_text
from .tile_text import KINDS, Shape, shape_of, tile_text

# The longest block of the summed axis: a panel and the rows of a tile stay in the first cache.
DEPTH = 256
# The same where A is copied for tiles that fill 32 registers: its strips stay in the first cache too.
STRIP_DEPTH = 128
# The bytes of A that a block of rows may have in a block of the summed axis, at least: more where the second
# cache is large, so that a panel of B is copied less often.
BLOCK_BYTES = 256 << 10
# From what distance of its rows on B is copied: their lines fall into few sets of the first cache. Where
# multiplying vectors of 512 bits takes two cycles, the second cache keeps up.
FAR = 256


# What stands around tiles, with its text and level: large products spend their time in tiles.
FRAMES: dict[str, tuple[Callable[[Shape], str], int]] = {
    "product": (product_text, 0),
    "direct": (direct_text, 1),
}


class Code:
    """The functions of a dtype, made when a plan first needs them; they stay for good.

    `table` has the addresses of tiles, of what packs, and of the frames, once what is `missing` was loaded.
    """

    def __init__(self, dtype: np.dtype[Any], vector_bytes: int) -> None:
        self.shape = shape_of(dtype, vector_bytes)
        self.lock = threading.Lock()
        tiles = [
            f"tile_{height}_{width + 1}" for height in self.shape.heights for width in range(self.shape.width)
        ]
        kinds = [f"{kind}_{width + 1}" for kind in KINDS for width in range(self.shape.width)]
        self.places = {name: place for place, name in enumerate([*tiles, *kinds, *PACKING, *FRAMES])}
        self.table = np.zeros(len(self.places), np.int64)
        self._libraries: list[engine.Library] = []
        self._wanted: dict[str, None] = {}

    def address(self, name: str) -> int:
        """Where a function is; 0 while it is not made."""
        return int(self.table[self.places[name]])

    def need(self, frame: str, rows: int, columns: int, packs: int = 0, copies: int = 0) -> None:
        """A product needs its frame, its tiles, those of its pieces, and what packs, as FIELDS has it."""
        cut = self.shape.cut(rows)
        pieces = {rows, *range(cut, min(rows, 12 * cut), cut), *range(rows % cut, min(rows, 12 * cut), cut)}
        heights = {height for piece in pieces for height in _heights(piece, self.shape, copies > 0)}
        widths = _widths(columns, self.shape)
        kinds = [f"tile_{height}" for height in heights]
        if packs:
            kinds += ["copying"] * (packs == 1) + ["along_strips" if copies else "along_rows"]
        names = [f"{kind}_{width}" for kind in kinds for width in widths]
        names += ["turn"] * (packs == 2) + [PACKING[copies]] * (copies > 0) + [frame]
        with self.lock:
            self._wanted |= dict.fromkeys(name for name in names if not self.address(name))

    def missing(self) -> list[cache.Part]:
        """What is needed and not made: at most one part for `cache.load_together`."""
        with self.lock:
            wanted = list(self._wanted)
        return [([self._module(name) for name in wanted], partial(self._load, wanted))] if wanted else []

    def _module(self, name: str) -> tuple[str, int]:
        if name in FRAMES:
            text, level = FRAMES[name]
            return text(self.shape), level
        if name in PACKING:
            return packing_text(self.shape, name), 1
        kind, width = name.rsplit("_", 1)
        if kind in KINDS:
            return tile_text(self.shape, self.shape.rows, int(width), kind), 1
        return tile_text(self.shape, int(kind.removeprefix("tile_")), int(width)), 1

    def _load(self, wanted: list[str], codes: list[bytes]) -> None:
        library = engine.Library(codes, {})
        with self.lock:
            self._libraries.append(library)
            for name in wanted:
                self.table[self.places[name]] = library.address(name)
                self._wanted.pop(name, None)


def _heights(rows: int, shape: Shape, strips: bool) -> Iterator[int]:
    """The heights into which rows are cut, as `panel` does it."""
    for height in reversed(shape.heights):
        while rows >= height and not (rows == 8 and height == 6 and not strips):
            yield height
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


@record
class Operand:
    """A matrix in a stack: byte strides of its rows and columns, and of the two axes of the stack."""

    row: int
    column: int
    next: int = 0
    far: int = 0


@record
class Description:
    """The function that runs a product, and what it reads about the product."""

    frame: str
    fields: np.ndarray[Any, np.dtype[np.int64]]


def describe(
    made: Code,
    shape: tuple[int, int, int],
    a: Operand,
    b: Operand,
    c: Operand,
    inner: int = 1,
    outer: int = 1,
    alpha: float = 1.0,
    adds: bool = False,
) -> Description:
    """How m × n results that sum over k are computed: `shape` is (m, n, k).

    C becomes alpha A B, or C + alpha A B where it adds. Columns of C are contiguous, and of B either its rows
    or its columns.
    """
    m, n, k = shape
    size, lanes = made.shape.size, made.shape.lanes
    packs, copies = _copied(made.shape, m, n, k, a, b)
    depth = _part(k, STRIP_DEPTH if copies == 1 and made.shape.rows == 8 else DEPTH, lanes)
    frame = "direct" if inner == outer == 1 and k <= DEPTH and not packs and not copies else "product"
    made.need(frame, m, n, packs, copies)
    height = made.shape.rows
    strip = height * depth * size
    most = A_BYTES // (strip + STRIP_GAP) if copies else _block_bytes() // strip
    rows = _part(m, most * height, height)
    slots, room = _slots() if packs or copies else (0, 0)
    known = {
        "rows": m, "columns": n, "depth": k, "inner": inner, "alpha": bits(alpha), "adds": int(adds),
        "packs": packs, "copies": copies, "row_block": rows, "depth_block": depth,
        "slots": slots, "room": room, "tiles": made.table.ctypes.data,
        "a_row": a.row, "a_column": a.column, "b_row": b.row, "b_column": b.column, "c_row": c.row,
        "a_next": a.next, "b_next": b.next, "c_next": c.next, "a_far": a.far, "b_far": b.far, "c_far": c.far,
    }  # fmt: skip
    return Description(frame, np.array([known[name] for name in FIELDS], np.int64))


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
    found = []
    for number, (operand, columns) in enumerate(zip(operands, (k, n, n), strict=True)):
        base, offset = places[number]
        even = (inner == 1 or operand.next == m * operand.row) and (
            outer == 1 or operand.far == inner * (operand.next if inner > 1 else m * operand.row)
        )
        pitch = operand.row if even and number != 1 else 0
        axes = [(columns, operand.column)]
        if not pitch:
            axes += [(inner, operand.next), (outer, operand.far), (k if number == 1 else m, operand.row)]
        low, high = reach(*zip(*axes, strict=True))
        # `high` counts the first byte of the last element.
        found.append(Touch(base, offset + low, offset + high - 1 + size, pitch, number == 2))
    return tuple(found)


@lru_cache(maxsize=1)
def _block_bytes() -> int:
    """A quarter of the second cache, where Linux tells its size."""
    try:
        size = Path("/sys/devices/system/cpu/cpu0/cache/index2/size").read_text().strip()
        return max(BLOCK_BYTES, int(size.removesuffix("K")) * 1024 // 4)
    except (OSError, ValueError):
        return BLOCK_BYTES


def _copied(shape: Shape, m: int, n: int, k: int, a: Operand, b: Operand) -> tuple[int, int]:
    """Whether B and A are copied, as FIELDS has it; they are where that was measured to pay."""
    wide, strips = shape.rows == 8, a.row == shape.size
    far = 4096 if engine.host()[0] == "znver4" else FAR
    packs = 2 if b.column != shape.size and n > 1 else int(b.row >= far and m >= (128 if wide else 32))
    if strips:
        return packs, int(n >= 96 and m >= 32 and (k >= 128 or not wide))
    # Tiles that fill 32 registers read an element of A less often, and with one walk from line to line.
    many = n >= 512 and m >= 128 and a.row % 4096 == 0 if wide else n >= 256 and m >= 32
    return packs, 2 * many


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
