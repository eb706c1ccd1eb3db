"""The list of supported NumPy: which call reaches which primitives, one family a file.

Importing this package fills the registry. A NumPy function that is not in it raises, naming itself.
"""

from . import creation, elementwise, indexing, matmul, reduce, registry, shape

__all__ = ["creation", "elementwise", "indexing", "matmul", "reduce", "registry", "shape"]
