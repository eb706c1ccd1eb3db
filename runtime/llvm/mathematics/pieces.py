"""Functions by a polynomial for each piece of their range, the coefficients picked from registers.

With a = k step + t, k whole, each coefficient of the polynomial in t is looked up by the low bits of k: that
costs one instruction where a register holds a row of coefficients for all pieces (two of AVX-512, or one of
AVX2), and spares the exponentials and quotients that one formula for the whole range would need.
"""

from __future__ import annotations

from .builder import Value, fma, polynomial, smaller, where
from .constants import constants
from .registers import looked_up, looked_up_in_eight
from .tables import PIECES


def by_pieces(name: str, a: Value) -> Value:
    """The odd function at a >= 0; beyond the last piece, at its end."""
    pieces = PIECES[name, a.dtype.str[1:]]
    c = constants(a.dtype)
    a = smaller(a, pieces.last)
    shifted = fma(a, 1.0 / pieces.step, c.magic)
    t = fma(shifted - c.magic, -pieces.step, a)
    index = shifted.bits()
    symbol = f"tl_{name}_{a.dtype.str[1:]}"
    find = looked_up_in_eight if len(pieces.rows[0]) == 8 else looked_up
    rows = [find(f"{symbol}_{n}", row, index, a.dtype) for n, row in enumerate(pieces.rows)]
    first, *others = rows
    return fma(polynomial(t, others), t, where(shifted.equals(c.magic), t, first))
