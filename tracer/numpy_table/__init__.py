"""The list of supported NumPy: which call reaches which primitives, one family a file.

Importing this package fills the registry. A NumPy function that is not in it raises, naming itself.
"""

from . import (
    bodies,
    conversion,
    creation,
    cumulative,
    elementwise,
    indexing,
    joining,
    matmul,
    mutate,
    reduce,
    registry,
    rounding,
    shape,
    sorting,
    statistics,
    ufunc_methods,
)

__all__ = [
    "bodies",
    "conversion",
    "creation",
    "cumulative",
    "elementwise",
    "indexing",
    "joining",
    "matmul",
    "mutate",
    "reduce",
    "registry",
    "rounding",
    "shape",
    "sorting",
    "statistics",
    "ufunc_methods",
]
