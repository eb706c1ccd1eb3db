"""Numbers as a sum of two floats, for the steps whose errors would be multiplied later.

The sums and products are those of Dekker (1971) and Knuth. Every operation is exact to about twice the digits
of the dtype; `low` is at most a few units of `high`'s last place.
"""

from __future__ import annotations

from ....compiler.ir.record import record
from .builder import Value, fma


@record
class Pair:
    """high + low."""

    high: Value
    low: Value

    def times(self, other: Pair) -> Pair:
        """The product, without the product of the low parts."""
        product = two_product(self.high, other.high)
        return Pair(product.high, fma(self.high, other.low, fma(self.low, other.high, product.low)))

    def squared(self) -> Pair:
        return self.times(self)

    def doubled(self) -> Pair:
        return Pair(self.high * 2.0, self.low * 2.0)


def quick_sum(a: Value, b: Value) -> Pair:
    """a + b exactly, where |a| >= |b|."""
    total = a + b
    return Pair(total, b - (total - a))


def two_sum(a: Value, b: Value) -> Pair:
    """a + b exactly."""
    total = a + b
    back = total - a
    return Pair(total, (a - (total - back)) + (b - back))


def two_product(a: Value, b: Value) -> Pair:
    """a * b exactly, while nothing over- or underflows."""
    product = a * b
    if a.emitter.target.fma:
        return Pair(product, fma(a, b, -product))
    (ah, al), (bh, bl) = _split(a), _split(b)
    return Pair(product, ((ah * bh - product) + ah * bl + al * bh) + al * bl)


def remaining(c: Value, a: Value, b: Value) -> Value:
    """c - a * b, where a * b is nearly c: exact but for one rounding, with fused instructions or without."""
    if a.emitter.target.fma:
        return fma(-a, b, c)
    product = two_product(a, b)
    return (c - product.high) - product.low


def _split(a: Value) -> tuple[Value, Value]:
    """Two halves of the digits (Veltkamp)."""
    scaled = a * (2.0 ** (12 if a.dtype.itemsize == 4 else 27) + 1.0)
    high = scaled - (scaled - a)
    return high, a - high
