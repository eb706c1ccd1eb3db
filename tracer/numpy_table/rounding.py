"""clip and round, and the functions on them that run NumPy's own bodies."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ..traced_array import TracedArray, TracedNumber, add_methods
from .bodies import body, private, run_bodies, transplanted
from .layout import miniature
from .registry import implements, trace_of


def clip_method(array: Any, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
    """`x.clip(min, max)`."""
    bounds = (_in_range(array, min), _in_range(array, max))
    return transplanted(private("numpy._core._methods")._clip)(array, *bounds, out=out, **options)


def _in_range(array: Any, bound: Any) -> Any:
    """A bound; a traced Python int that an integer array cannot hold has to be known: it may bind nothing."""
    if type(bound) is TracedNumber and type(bound.example) is int and array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        return bound if limits.min <= bound.example <= limits.max else operator.index(bound)
    return bound


@implements(np.round, np.around)
def round_(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    """np.round: scaled, rounded half to even, scaled back."""
    trace = trace_of(a, out)
    x = trace.array(a)
    decimals = operator.index(decimals)
    if x.dtype.kind == "c":
        return _round_complex(x, decimals, out)
    if x.dtype.kind in "iu" and decimals >= 0:
        if out is None:
            small = miniature(x.shadow)
            if x.scalar or small.round(decimals) is small:
                return x
            return x.copy(order="K")[() if not x.ndim else ...]
        _check_shape(x, out)
        out[...] = x
        return out
    if decimals == 0:
        return np.rint(x, **({} if out is None else {"out": out}))
    return _scaled(x, decimals, out)


def _check_shape(x: TracedArray, out: Any) -> None:
    if np.shape(out) != x.shape:
        raise ValueError("invalid output shape")


def _order(x: TracedArray) -> str:
    """The order of the memory that NumPy makes for a rounded array: Fortran's for Fortran's, else C."""
    flags = x.shadow.flags
    return "F" if flags.f_contiguous and not flags.c_contiguous else "C"


def _scaled(x: TracedArray, decimals: int, out: Any) -> Any:
    first, last = (np.multiply, np.divide) if decimals > 0 else (np.divide, np.multiply)
    factor = 10.0 ** abs(decimals)
    whole = x.dtype.kind in "iu"
    result = out
    if out is None:
        kind = np.dtype("f8") if whole else x.dtype
        made = np.zeros_like(x.shadow, kind) if whole else np.zeros(x.shape, kind, order=_order(x))  # type: ignore[call-overload]
        result = x.owner.constant(made)
    else:
        _check_shape(x, out)
    first(x, factor, out=result)
    np.rint(result, out=result)
    last(result, factor, out=result)
    if whole and out is None:
        result = result.astype(x.dtype, order=_order(x))
    return result if result.ndim or out is not None else result[()]


def _round_complex(x: TracedArray, decimals: int, out: Any) -> Any:
    result = out
    if out is None:
        result = x.owner.constant(np.zeros_like(x.shadow))
    else:
        _check_shape(x, out)
    real, imag = round_(np.real(x), decimals), round_(np.imag(x), decimals)
    np.real(result)[...] = real
    np.imag(result)[...] = imag
    return result if result.ndim or out is not None else result[()]


_fix = body(np.fix)


@implements(np.fix)
def fix(x: Any, out: Any = None) -> Any:
    """np.fix: rounded towards zero; some versions of NumPy unwrap 0-d results by the class of the array."""
    result = _fix(x, out)
    return result[()] if out is None and not result.ndim else result


run_bodies(
    np.clip, np.nan_to_num, np.isposinf, np.isneginf, np.isreal, np.iscomplex, np.angle, np.unwrap,
)  # fmt: skip
add_methods({"clip": clip_method, "round": np.round})
