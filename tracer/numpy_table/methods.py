"""Methods of arrays that are no function's, and the refusal of those that cannot be traced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..traced_array import TracedArray, add_methods
from .registry import refuse


def conjugate(array: TracedArray, *args: Any, **options: Any) -> Any:
    """`x.conj()`: a real array is itself, unlike with np.conjugate."""
    if array.dtype.kind != "c" and not args and not options:
        return array
    return np.conjugate(array, *args, **options)


def trace_method(
    array: TracedArray, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None
) -> Any:
    """`x.trace()`: the sum of a diagonal."""
    if array.ndim < 2:
        np.empty(array.shape, array.dtype).trace(offset, axis1, axis2)
    diagonal = np.diagonal(array, offset, axis1, axis2)
    native = None if dtype is None else np.dtype(dtype).newbyteorder("=")
    return np.add.reduce(diagonal, axis=-1, dtype=native, out=out)


def array_wrap(array: TracedArray, result: Any, context: Any = None, return_scalar: bool = False) -> Any:
    """`x.__array_wrap__`: NumPy's bodies give 0-d results through it."""
    return result[()] if return_scalar and type(result) is TracedArray and not result.ndim else result


def compress_method(array: TracedArray, condition: Any, axis: Any = None, out: Any = None) -> Any:
    """`x.compress(condition)`."""
    return np.compress(condition, array, axis, out)


def byteswap(array: TracedArray, inplace: bool = False) -> Any:
    """`x.byteswap()`: the bytes of each element reversed, seen as the same dtype."""
    if inplace:
        raise refuse("byteswap(inplace=True)")
    if array.itemsize == 1:
        return array.copy(order="K")
    return array.astype(array.dtype.newbyteorder("S")).view(array.dtype)


def to_device(array: TracedArray, device: Any, /, *, stream: Any = None) -> TracedArray:
    """`x.to_device("cpu")`: the array itself."""
    np.empty(()).to_device(device, stream=stream)
    return array


add_methods(
    {
        "conj": conjugate,
        "conjugate": conjugate,
        "trace": trace_method,
        "__array_wrap__": array_wrap,
        "nonzero": np.nonzero,
        "compress": compress_method,
        "byteswap": byteswap,
        "to_device": to_device,
    }
)


def _refusing(name: str) -> Callable[..., Any]:
    def missing(self: TracedArray) -> Any:
        raise refuse(f"ndarray.{name}")

    return missing


def _refusing_of_scalars(name: str) -> Callable[..., Any]:
    def missing(self: TracedArray) -> Any:
        kind: Any = self.__class__
        if not hasattr(kind, name):
            raise AttributeError(f"'{kind.__module__}.{kind.__name__}' object has no attribute '{name}'")
        raise refuse(f"{kind.__name__}.{name}")

    return missing


def _refuse_the_rest() -> None:
    """What an ndarray has and a traced array has not raises, naming itself."""
    for name in {*dir(np.ndarray)} - {*dir(TracedArray)}:
        if not name.startswith("_"):
            setattr(TracedArray, name, property(_refusing(name)))
    for name in {*dir(np.float64), *dir(np.int64), *dir(np.complex128)} - {*dir(TracedArray)}:
        if not name.startswith("_"):
            setattr(TracedArray, name, property(_refusing_of_scalars(name)))


TracedArray.device = property(lambda self: "cpu")  # type: ignore[attr-defined]
_refuse_the_rest()
