"""NumPy's functions in user code when no traced value is among the arguments.

Of closed-over arrays that may change the result is computed at each call, as if the array were traced; where
the tracer cannot do that NumPy computes it now, and `constants.py` judges what becomes of it. Of plain
numbers and read-only arrays the result is a constant of the trace.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ...compiler.ir.types import supported
from ..errors import ClosureWriteError, TapelessError
from ..stand_in import FunctionStandIn
from ..trace import Trace
from .elementwise import TAKES_ELLIPSIS, array_ufunc
from .registry import is_traced
from .selection import Selection

# Functions that do not look at values, or whose effect is on the world outside.
_OF_NO_VALUES = frozenset(
    (
        *(
            "shape",
            "ndim",
            "size",
            "result_type",
            "can_cast",
            "common_type",
            "min_scalar_type",
            "iscomplexobj",
        ),
        *("isrealobj", "may_share_memory", "shares_memory", "array_repr", "array_str", "array2string"),
        *("save", "savez", "savez_compressed", "savetxt", "einsum_path"),
    )
)
_DISPATCHED = (type(np.sum), np.ufunc)


def owned(trace: Trace, value: Any) -> Any:
    """A fresh concrete result as a constant of the trace; tuples and lists of them too."""
    if type(value) is tuple or type(value) is list:
        return type(value)(owned(trace, v) for v in value)
    if isinstance(value, np.generic) or type(value) is np.ndarray:
        return trace.constant(value) if supported(value.dtype) else value
    return value


def is_plain_array(value: Any) -> bool:
    """Whether a value is a concrete array that can be taken in."""
    return type(value) is np.ndarray and supported(value.dtype)


def may_change(array: Any) -> bool:
    """Whether an array, or the memory it looks at, can be written to."""
    while type(array) is np.ndarray:
        if array.flags.writeable:
            return True
        array = array.base
    return array is not None


def any_of(value: Any, test: Callable[[Any], bool]) -> bool:
    """Whether something in nested lists and tuples passes the test."""
    if type(value) is list or type(value) is tuple:
        return any(any_of(v, test) for v in value)
    return test(value)


def _changing(value: Any) -> bool:
    return is_plain_array(value) and may_change(value)


def _lifted(trace: Trace, value: Any) -> Any:
    if type(value) is list or type(value) is tuple:
        return type(value)(_lifted(trace, v) for v in value)
    return trace.closure(value) if _changing(value) else value


def _dispatches(value: Any) -> bool:
    return is_traced(value) or type(value) is Selection


def handler_of(function: Any) -> Callable[..., Any]:
    """What a dispatched function or ufunc means when user code calls it while tracing."""

    def handler(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        values = (*args, *kwargs.values())
        if any(any_of(v, _dispatches) for v in values):
            for value in values:
                trace.note_scalar(value)
            if TAKES_ELLIPSIS and kwargs.get("out") is Ellipsis and isinstance(function, np.ufunc):
                # NumPy keeps `out=...` to itself when it dispatches.
                return array_ufunc(function, "__call__", args, kwargs)
            return function(*args, **kwargs)
        if any(any_of(v, _changing) for v in values):
            return _at_each_call(trace, function, args, kwargs)
        result = function(*args, **kwargs)
        looks_at_array = any(any_of(v, is_plain_array) for v in values)
        if (
            looks_at_array
            and type(result) is np.ndarray
            and (result.base is not None or not result.flags.owndata)
        ):
            return result
        return result if any(result is v for v in values) else owned(trace, result)

    return handler


def _reduce_of(ufunc: np.ufunc) -> Callable[..., Any]:
    """What `ufunc.reduce` means: NumPy keeps `out=...` to itself here too."""

    def reduce(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        if TAKES_ELLIPSIS and kwargs.get("out") is Ellipsis and any(map(_dispatches, args)):
            return array_ufunc(ufunc, "reduce", args, kwargs)
        return ufunc.reduce(*args, **kwargs)

    return reduce


def _stand_in(function: Any) -> FunctionStandIn:
    made = FunctionStandIn(function, handler_of(function))
    if isinstance(function, np.ufunc):
        made.__dict__["reduce"] = FunctionStandIn(function.reduce, _reduce_of(function))
    return made


def _at_each_call(trace: Trace, function: Any, args: Any, kwargs: Any) -> Any:
    before = trace.refusal
    try:
        return function(
            *(_lifted(trace, v) for v in args), **{name: _lifted(trace, v) for name, v in kwargs.items()}
        )
    except ClosureWriteError:
        raise
    except TapelessError:
        if kwargs.get("out") is not None:
            raise
        trace.refusal = before
        return function(*args, **kwargs)


def dispatched_stand_ins(module: ModuleType) -> dict[str, Any]:
    """Stand-ins for the dispatched functions and ufuncs of a module."""
    found = {name: value for name, value in vars(module).items() if isinstance(value, _DISPATCHED)}
    return {
        name: _stand_in(value)
        for name, value in found.items()
        if not name.startswith("_") and name not in _OF_NO_VALUES
    }
