"""Creation functions while a trace is active: their results belong to the trace.

`np.array([t, 2 * t])` stacks; `np.zeros(3)` is known until something traced is written into it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .registry import is_traced


def contains_traced(value: Any) -> bool:
    """Whether a nested list or tuple holds a traced value."""
    if type(value) in (list, tuple):
        return any(contains_traced(v) for v in value)
    return is_traced(value)


def array_of_nested(trace: Trace, value: Any, dtype: Any = None) -> TracedArray:
    """np.array of nested lists and tuples, traced values among them."""
    if not contains_traced(value):
        return trace.constant(np.array(value, dtype))
    parts = [array_of_nested(trace, v) if type(v) in (list, tuple) else v for v in value]
    shadows = [_stand_in(p) for p in parts]
    common = np.array(shadows, dtype)
    result = trace.constant(np.empty(common.shape, common.dtype))
    for position, part in enumerate(parts):
        result[position] = part
    return result


def _stand_in(value: Any) -> Any:
    if type(value) is TracedNumber:
        return value.example
    if type(value) is TracedArray:
        return np.zeros(value.shape, value.dtype) if value.shape else value.dtype.type(0)
    return value
