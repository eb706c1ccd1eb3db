"""Functions without instructions of their own: exponentials, logarithms, trigonometry and more, as LLVM text.

`emit` writes a function's instructions straight into a kernel, for scalars or vectors of float32 and float64.
The error is at most 2 units in the last place, special values are NumPy's (docs/mathematics.md). Read
`builder.py` first, then `exponential.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..types import DType, NotPrintable
from . import error, exponential, logarithm, power, trigonometric
from .builder import Emitter, Target, Value, Writer, host_target

Function = Callable[..., Value]
FUNCTIONS: dict[str, Function] = {
    "exp": exponential.exp,
    "exp2": exponential.exp2,
    "expm1": exponential.expm1,
    "tanh": exponential.tanh,
    "expit": exponential.expit,
    "log": logarithm.log,
    "log2": logarithm.log2,
    "log10": logarithm.log10,
    "log1p": logarithm.log1p,
    "erf": error.erf,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "power": power.power,
}


def emit(
    w: Writer, name: str, operands: Sequence[str], dtype: DType, lanes: int, target: Target | None = None
) -> str:
    """The name of a function's result; raises NotPrintable where there is no code for it."""
    function = FUNCTIONS.get(name)
    if function is None or dtype.kind != "f" or dtype.itemsize not in (4, 8):
        raise NotPrintable(f"{name} of {dtype}")
    e = Emitter(w, lanes, target or host_target())
    return function(*(Value(e, text, dtype) for text in operands)).text
