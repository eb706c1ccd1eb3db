"""The primitives, one family a file. Importing this package fills the registry.

Primitives neither broadcast nor promote: elementwise operands have one shape and the dtypes their NumPy
function computes in; a 0-d operand of the same dtype may stand for a repeated one.
"""

from . import (
    arithmetic,
    choose,
    compare,
    contraction,
    cumulative,
    decompose,
    eigen,
    einsum,
    fft,
    floating,
    index,
    join,
    least_squares,
    linalg,
    masked,
    memory,
    power,
    random,
    reduction,
    select,
    sort,
    transcendental,
    ufunc_methods,
    view,
)

__all__ = [
    "arithmetic",
    "choose",
    "compare",
    "contraction",
    "cumulative",
    "decompose",
    "eigen",
    "einsum",
    "fft",
    "floating",
    "index",
    "join",
    "least_squares",
    "linalg",
    "masked",
    "memory",
    "power",
    "random",
    "reduction",
    "select",
    "sort",
    "transcendental",
    "ufunc_methods",
    "view",
]
