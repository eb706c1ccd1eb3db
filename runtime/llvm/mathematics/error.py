"""The error function.

Near zero erf x = x + x p(x^2); beyond, erf x = 1 - exp(-x - x p(x)), where the exponential is the smaller part,
so that its errors shrink (after N. Juffa's erff).
"""

from __future__ import annotations

from .builder import Value, fma, magnitude, polynomial, smaller, where, with_sign
from .constants import constants, table
from .exponential import power_of_two, reduced


def erf(x: Value) -> Value:
    c = constants(x.dtype)
    a = smaller(magnitude(x), c.erf_one)
    z = x * x
    near = fma(polynomial(z, table("erf_small", x)), x, x)
    r, k = reduced(-fma(polynomial(a, table("erf_tail", x)), a, a))
    far = 1.0 - polynomial(r, (1.0, 1.0, *table("exp", x))) * power_of_two(k.shifted)
    return where(a < c.erf_near, near, with_sign(far, x))
