"""Functions without instructions of their own: exponentials, logarithms, trigonometry and more, as LLVM text.

`emit` writes a function's instructions straight into a kernel, for scalars or vectors of float32 and float64.
The error is at most 2 units in the last place, special values are NumPy's (docs/mathematics.md). Read
`builder.py` first, then `exponential.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from functools import lru_cache

from ..types import DType, NotPrintable
from .builder import Emitter, Target, Value, Writer, host_target

Function = Callable[..., Value]
# Module and function of each name; a module is loaded when a kernel first needs one of its functions.
FUNCTIONS = {
    "exp": "exponential.exp",
    "exp2": "exponential.exp2",
    "expm1": "exponential.expm1",
    "tanh": "exponential.tanh",
    "expit": "exponential.expit",
    "log": "logarithm.log",
    "log2": "logarithm.log2",
    "log10": "logarithm.log10",
    "log1p": "logarithm.log1p",
    "erf": "error.erf",
    "erfc": "error.erfc",
    "erfcx": "error.erfcx",
    "ndtr": "error.ndtr",
    "log_ndtr": "error.log_ndtr",
    "log_expit": "exponential.log_expit",
    "logaddexp": "exponential.logaddexp",
    "logaddexp2": "exponential.logaddexp2",
    "xlogy": "logarithm.xlogy",
    "xlog1py": "logarithm.xlog1py",
    "entr": "logarithm.entr",
    "logit": "logarithm.logit",
    "sin": "trigonometric.sin",
    "cos": "trigonometric.cos",
    "tan": "trigonometric.tan",
    "sinc": "trigonometric.sinc",
    "arcsin": "inverse.arcsin",
    "arccos": "inverse.arccos",
    "arctan": "inverse.arctan",
    "arctan2": "inverse.arctan2",
    "sinh": "hyperbolic.sinh",
    "cosh": "hyperbolic.cosh",
    "arcsinh": "hyperbolic.arcsinh",
    "arccosh": "hyperbolic.arccosh",
    "arctanh": "hyperbolic.arctanh",
    "power": "power.power",
    "float_power": "power.power",
    "cbrt": "power.cbrt",
    "hypot": "power.hypot",
}


# The same for any dtype.
EXACT = {
    "floor_divide": "division.floor_divide",
    "remainder": "division.remainder",
    "fmod": "division.fmod",
    "left_shift": "bits.left_shift",
    "right_shift": "bits.right_shift",
    "bitwise_count": "bits.bitwise_count",
    "signbit": "bits.signbit",
    "conjugate": "bits.conjugate",
    "heaviside": "bits.heaviside",
    "spacing": "bits.spacing",
    "nextafter": "bits.nextafter",
    "fmax": "bits.fmax",
    "fmin": "bits.fmin",
    "clip": "bits.clip",
    "deg2rad": "bits.radians",
    "radians": "bits.radians",
    "rad2deg": "bits.degrees",
    "degrees": "bits.degrees",
}


def values(name: str, operands: Sequence[Value]) -> Value:
    """A function's result; raises NotPrintable where there is no code for it. Operands have one dtype."""
    dtype = operands[0].dtype
    place = EXACT.get(name) or (FUNCTIONS.get(name) if dtype.kind == "f" else None)
    if place is None or dtype.kind not in "biuf" or (dtype.kind == "f" and dtype.itemsize not in (4, 8)):
        raise NotPrintable(f"{name} of {dtype}")
    function = _function(place)
    if operands[0].emitter.lanes == 1:
        return _as_scalars(function, operands)
    return function(*operands)


@lru_cache(maxsize=256)
def _function(place: str) -> Function:
    module, _, name = place.partition(".")
    function: Function = getattr(importlib.import_module(f".{module}", __name__), name)
    return function


def _as_scalars(function: Function, operands: Sequence[Value]) -> Value:
    """The function of one lane: LLVM cannot branch on a vector of one boolean."""
    e = operands[0].emitter
    scalars = Emitter(e.writer, 0, e.target)
    let = e.writer.let
    picked = [let(f"extractelement {e.type(x.dtype)} {x.text}, i64 0") for x in operands]
    result = function(*(Value(scalars, text, x.dtype) for text, x in zip(picked, operands, strict=True)))
    type_, scalar = e.type(result.dtype), scalars.type(result.dtype)
    return Value(e, let(f"insertelement {type_} poison, {scalar} {result.text}, i64 0"), result.dtype)


def emit(
    w: Writer, name: str, operands: Sequence[str], dtype: DType, lanes: int, target: Target | None = None
) -> str:
    """The name of a function's result, its lines written to the kernel's; the caller widens float16."""
    e = Emitter(w, lanes, target or host_target())
    return values(name, [Value(e, text, dtype) for text in operands]).text
