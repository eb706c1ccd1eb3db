"""Functions that ask for shapes, dtypes and memory: answered now, by NumPy, from what shadows look like."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..traced_array import TracedArray, TracedNumber
from .bodies import run_bodies, transplanted
from .registry import implements, refuse, trace_of


def looks(value: Any) -> Any:
    """What a value looks like: a shadow, or a Python number of its class."""
    if type(value) is TracedNumber:
        return value.model
    if type(value) is TracedArray:
        return value.shadow
    if type(value) in (list, tuple):
        return trace_of(*value).array(value).shadow
    return value


def dtype_of(value: Any) -> Any:
    """What promotion goes by: a dtype, or a weak Python number."""
    return value.dtype if type(value) is TracedArray else looks(value)


@implements(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """np.result_type."""
    return np.result_type(*map(dtype_of, arrays_and_dtypes))


@implements(np.can_cast)
def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """np.can_cast: NumPy refuses Python numbers here."""
    return np.can_cast(dtype_of(from_), to, casting=casting)  # type: ignore[arg-type]


@implements(np.min_scalar_type)
def min_scalar_type(a: Any, /) -> Any:
    """np.min_scalar_type: for a single number it depends on the value."""
    x = trace_of(a).array(a)
    if x.ndim:
        return x.dtype
    if x.constant:
        return np.min_scalar_type(x.known())
    raise refuse("np.min_scalar_type", why="The dtype depends on the value of a 0-d operand.")


@implements(np.shape)
def shape(a: Any) -> Any:
    """np.shape."""
    return trace_of(a).array(a).shape


@implements(np.ndim)
def ndim(a: Any) -> int:
    """np.ndim."""
    return trace_of(a).array(a).ndim


@implements(np.size)
def size(a: Any, axis: Any = None) -> int:
    """np.size: of the whole, or along an axis or axes."""
    return transplanted(np.size._implementation)(trace_of(a).array(a), axis)  # type: ignore[attr-defined, no-any-return]


@implements(np.may_share_memory)
def may_share_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """np.may_share_memory: of what the trace knows."""
    return _share(np.may_share_memory, a, b, max_work)


@implements(np.shares_memory)
def shares_memory(a: Any, b: Any, /, max_work: Any = None) -> bool:
    """np.shares_memory: of what the trace knows."""
    return _share(np.shares_memory, a, b, max_work)


def _share(function: Any, a: Any, b: Any, max_work: Any) -> bool:
    left, right = (trace_of(a, b).array(v) for v in (a, b))
    if left.scalar or right.scalar:
        return False
    return bool(function(left.shadow, right.shadow, max_work))


run_bodies(np.iscomplexobj, np.isrealobj, np.common_type)
