"""What of NumPy is supported, as a table: the source of docs/numpy.md.

Everything is asked of the registry; what stands here are the limits of single functions in words.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from ...compiler.ir.opdef import OPS
from ..traced_array import TracedArray
from .bodies import BODIES
from .comparing import KNOWN_ONLY
from .elementwise import OP_OF, SCIPY
from .opaque import OPAQUE
from .registry import FUNCTIONS
from .special import FUNCTIONS as SCIPY_FUNCTIONS

MODULES = (np, np.linalg, np.fft, np.emath)
LIMITS = {
    "average": "weights that sum to zero give NaN or inf instead of raising",
    "argwhere": "known values",
    "bincount": "with `minlength` above every value",
    "compress": "a known condition",
    "einsum": "`out=` of another memory layout may round otherwise in the last place",
    "extract": "a known condition",
    "flatnonzero": "known values",
    "nonzero": "known values",
    "geomspace": "an end of zero gives NaN instead of raising",
    "gradient": "traced coordinates: both of NumPy's formulas, one is chosen",
    "histogram": "a number of bins, or their edges",
    "histogram_bin_edges": "a number of bins",
    "nanmean": "no warning for slices without a number",
    "nanquantile": "known `q`, method linear",
    "nanpercentile": "known `q`, method linear",
    "nanvar": "no warning for slices without a number",
    "percentile": "known `q`, no weights",
    "quantile": "known `q`, no weights",
    "partition": "known `kth`",
    "argpartition": "known `kth`",
    "piecewise": "functions see the elements as a masked selection",
    "polyfit": "without `full` and `cov`; no warning for dependent columns",
    "poly": "of real roots",
    "real_if_close": "of real arrays; a complex one has a dtype that depends on its values",
    "repeat": "known counts",
    "roll": "known shifts",
    "lexsort": "keys as a tuple or an array, not a list",
    "linalg.cond": "a singular matrix raises at run time unless p is None, 2 or -2",
    "linalg.eig": "of complex matrices: of a real one, NumPy's dtype depends on the values",
    "linalg.eigvals": "of complex matrices",
    "linalg.lstsq": "residuals of a matrix with dependent columns raise at run time",
    "linalg.pinv": "a cut-off that is a number",
    "linalg.qr": "modes reduced, complete and r",
    "fft.irfft": "not of real float32 (NumPy mixes precisions there)",
}


def dispatched(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """The public functions of a module that NumPy dispatches, by name."""
    for name in sorted(dir(module)):
        function = getattr(module, name)
        if not name.startswith("_") and hasattr(function, "_implementation"):
            yield name, function


def how(function: Any) -> str:
    """How a function is supported; empty where it is refused."""
    if function not in FUNCTIONS:
        return ""
    if function in KNOWN_ONLY:
        return "known values only"
    if function in OPAQUE:
        return "one call at run time"
    return "NumPy's own body" if function in BODIES else "primitives"


def prefix(module: ModuleType) -> str:
    return "" if module is np else {np.emath: "emath."}.get(module, module.__name__.partition(".")[2] + ".")


def function_rows() -> Iterator[tuple[str, str, str]]:
    """Name, way and limit of each supported function."""
    for module in MODULES:
        for name, function in dispatched(module):
            full = prefix(module) + name
            limit = LIMITS.get(full, "of complex values" if module is np.emath else "")
            if how(function):
                yield f"np.{full}", how(function), limit


def refused() -> list[str]:
    """The dispatched functions that raise, naming themselves."""
    return [
        f"np.{prefix(module)}{name}"
        for module in MODULES
        for name, function in dispatched(module)
        if not how(function)
    ]


def ufuncs() -> tuple[list[str], list[str]]:
    """NumPy's ufuncs, supported and refused."""
    found = {
        name: getattr(np, name)
        for name in sorted(dir(np))
        if not name.startswith("_") and isinstance(getattr(np, name), np.ufunc)
    }
    fits = {name: u in FUNCTIONS or OP_OF.get(u, u.__name__) in OPS for name, u in found.items()}
    return [n for n, fit in fits.items() if fit], [n for n, fit in fits.items() if not fit]


def methods() -> tuple[list[str], list[str]]:
    """The public attributes and methods of arrays, supported and refused."""
    names = [name for name in dir(np.ndarray) if not name.startswith("_")]
    refusing = [name for name in names if getattr(TracedArray, name).__class__ is property and _refuses(name)]
    return [n for n in names if n not in refusing], refusing


def _refuses(name: str) -> bool:
    getter = getattr(TracedArray, name).fget
    return getter is not None and getter.__qualname__.startswith("_refusing")


def table() -> str:
    """The whole table as Markdown."""
    rows = "\n".join(f"| `{name}` | {way} | {limit} |" for name, way, limit in function_rows())
    supported_ufuncs, refused_ufuncs = ufuncs()
    supported_methods, refused_methods = methods()
    return f"""## Functions

| function | how | limit |
|---|---|---|
{rows}

Refused, by name: {_listed(refused())}.

## Ufuncs

Called with `out=`, `where=`, `dtype=`, `casting=`, `order=` and `signature=`, and by `reduce`, `accumulate`,
`reduceat`, `outer` and `at`: {_listed(f"np.{n}" for n in supported_ufuncs)}.

Refused: {_listed(f"np.{n}" for n in refused_ufuncs)}.

Of scipy.special, by name: {_listed(sorted([*SCIPY, *SCIPY_FUNCTIONS]))}.

## Attributes and methods of arrays

{_listed(supported_methods)}.

Refused: {_listed(refused_methods)}.
"""


def _listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)
