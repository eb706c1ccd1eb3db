"""Functions without instructions of their own: exponentials, logarithms, trigonometry and more, as LLVM text.

`emit` writes a function's instructions straight into a kernel, for scalars or vectors of float32 and float64.
The error is at most 2 units in the last place, special values are NumPy's (docs/mathematics.md). Read
`builder.py` first, then `exponential.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..types import DType, NotPrintable
from . import bits, division, error, exponential, hyperbolic, inverse, logarithm, power, trigonometric
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
    "erfc": error.erfc,
    "erfcx": error.erfcx,
    "ndtr": error.ndtr,
    "log_ndtr": error.log_ndtr,
    "log_expit": exponential.log_expit,
    "logaddexp": exponential.logaddexp,
    "logaddexp2": exponential.logaddexp2,
    "xlogy": logarithm.xlogy,
    "xlog1py": logarithm.xlog1py,
    "entr": logarithm.entr,
    "logit": logarithm.logit,
    "sin": trigonometric.sin,
    "cos": trigonometric.cos,
    "tan": trigonometric.tan,
    "sinc": trigonometric.sinc,
    "arcsin": inverse.arcsin,
    "arccos": inverse.arccos,
    "arctan": inverse.arctan,
    "arctan2": inverse.arctan2,
    "sinh": hyperbolic.sinh,
    "cosh": hyperbolic.cosh,
    "arcsinh": hyperbolic.arcsinh,
    "arccosh": hyperbolic.arccosh,
    "arctanh": hyperbolic.arctanh,
    "power": power.power,
    "float_power": power.power,
    "cbrt": power.cbrt,
    "hypot": power.hypot,
}


EXACT: dict[str, Function] = {
    "floor_divide": division.floor_divide,
    "remainder": division.remainder,
    "fmod": division.fmod,
    "left_shift": bits.left_shift,
    "right_shift": bits.right_shift,
    "bitwise_count": bits.bitwise_count,
    "signbit": bits.signbit,
    "conjugate": bits.conjugate,
    "heaviside": bits.heaviside,
    "spacing": bits.spacing,
    "nextafter": bits.nextafter,
    "fmax": bits.fmax,
    "fmin": bits.fmin,
    "clip": bits.clip,
    "deg2rad": bits.radians,
    "radians": bits.radians,
    "rad2deg": bits.degrees,
    "degrees": bits.degrees,
}


def emit(
    w: Writer, name: str, operands: Sequence[str], dtype: DType, lanes: int, target: Target | None = None
) -> str:
    """The name of a function's result; raises NotPrintable where there is no code for it.

    The operands have one dtype; float16 is for the caller to widen.
    """
    function = EXACT.get(name)
    if function is None:
        function = FUNCTIONS.get(name)
        if function is None or dtype.kind != "f":
            raise NotPrintable(f"{name} of {dtype}")
    if dtype.kind not in "biuf" or (dtype.kind == "f" and dtype.itemsize not in (4, 8)):
        raise NotPrintable(f"{name} of {dtype}")
    e = Emitter(w, lanes, target or host_target())
    return function(*(Value(e, text, dtype) for text in operands)).text
