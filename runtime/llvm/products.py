"""Matrix products by native code of our own: how a product is described, and the code of this process.

The code depends on the dtype and the CPU alone, so all plans of a process share it. Tiles are made when a
shape first needs them: rows are cut into eights, then halves of what is left; panels are up to three vectors
wide.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ...compiler.ir.record import record
from . import cache, engine
from .product_text import DEPTH, FIELDS, WIDTH, packing_text, product_text, shape_of, tile_text

# The bytes of A that a block of rows may have in a block of the summed axis: they stay in the second cache.
BLOCK_BYTES = 256 << 10
# A panel's rows that lie this far apart, and the rows of A from which on it is copied because of that.
FAR, MANY = 4096, 64


class Code:
    """The functions of a dtype; tiles are made when a plan first needs them and stay for good.

    `product` is the address of the function, once what is `missing` was loaded.
    """

    def __init__(self, dtype: np.dtype[Any], vector_bytes: int) -> None:
        self.shape = shape_of(dtype, vector_bytes)
        self.lock = threading.Lock()
        self.tiles = np.zeros(WIDTH * self.shape.rows.bit_length(), np.int64)
        self.product = 0
        self._libraries: list[engine.Library] = []
        self._wanted: dict[int, tuple[int, int]] = {}

    def need(self, rows: int, columns: int) -> None:
        """A product needs its tiles; threads cut rows at multiples of the highest."""
        with self.lock:
            for height in _heights(rows, self.shape.rows):
                for width in _widths(columns, self.shape.lanes):
                    place = WIDTH * (height.bit_length() - 1) + width - 1
                    if not self.tiles[place]:
                        self._wanted[place] = height, width

    def missing(self) -> list[cache.Part]:
        """What is needed and not made: at most one part for `cache.load_together`."""
        with self.lock:
            wanted = dict(self._wanted)
            modules = [(tile_text(self.shape, *tile), 1) for tile in wanted.values()]
            if not self.product:
                modules += [(packing_text(self.shape), 1), (product_text(self.shape), 0)]
        return [(modules, partial(self._load, wanted))] if modules else []

    def _load(self, wanted: dict[int, tuple[int, int]], codes: list[bytes]) -> None:
        library = engine.Library(codes, {})
        with self.lock:
            self._libraries.append(library)
            for place, (height, width) in wanted.items():
                self.tiles[place] = library.address(f"tile_{height}_{width}")
                self._wanted.pop(place, None)
            if len(codes) > len(wanted):
                self.product = library.address("product")


def _heights(rows: int, highest: int) -> Iterator[int]:
    if rows >= highest:
        yield highest
    yield from (1 << k for k in range(highest.bit_length() - 1) if rows % highest >> k & 1)


def _widths(columns: int, lanes: int) -> set[int]:
    full, rest = divmod(columns, WIDTH * lanes)
    return {WIDTH if full else 0, -(-rest // lanes)} - {0}


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


def describe(
    made: Code,
    shape: tuple[int, int, int],
    a: Operand,
    b: Operand,
    c: Operand,
    inner: int = 1,
    alpha: float = 1.0,
    adds: bool = False,
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The description that `made.product` reads, for m × n results that sum over k: `shape` is (m, n, k).

    C becomes alpha A B, or C + alpha A B where it adds. Columns of C are contiguous, and of B either its rows
    or its columns.
    """
    m, n, k = shape
    size = made.shape.size
    made.need(m, n)
    depth = -(-k // -(-k // DEPTH))
    rows = max(made.shape.rows, BLOCK_BYTES // (depth * size) // made.shape.rows * made.shape.rows)
    packs = 2 if b.column != size and n > 1 else int(b.row >= FAR and m >= MANY)
    known = {
        "rows": m, "columns": n, "depth": k, "inner": inner, "alpha": bits(alpha), "adds": int(adds),
        "packs": packs, "row_block": rows, "depth_block": depth, "tiles": made.tiles.ctypes.data,
        "a_row": a.row, "a_column": a.column, "b_row": b.row, "b_column": b.column, "c_row": c.row,
        "a_next": a.next, "b_next": b.next, "c_next": c.next, "a_far": a.far, "b_far": b.far, "c_far": c.far,
    }  # fmt: skip
    return np.array([known[name] for name in FIELDS], np.int64)


def bits(number: float) -> int:
    """A double as the i64 of its bits."""
    found: int = struct.unpack("<q", struct.pack("<d", number))[0]
    return found
