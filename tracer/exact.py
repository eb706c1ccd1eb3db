"""Values compared as a trace sees them: 1, 1.0 and True differ, so do 0.0 and -0.0, and a NaN is itself.

Python's `==` says otherwise, and a specialization made for one of them would answer for another.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np


def exact(value: Any) -> Any:
    """A key that two values share only where nothing but their identity tells them apart.

    It is hashable where the value is. Objects of unknown classes are compared by their own `==`.

    >>> exact((1, -0.0)) == exact((1, -0.0))
    True
    >>> exact((1, 0.0)) == exact((1, -0.0)) or exact((1,)) == exact((True,))
    False
    """
    kind = type(value)
    if kind is float:
        return kind, value.hex()
    if kind is complex:
        return kind, value.real.hex(), value.imag.hex()
    if isinstance(value, np.generic) and not isinstance(value, np.object_ | np.void):
        return kind, value.dtype, value.tobytes()
    if isinstance(value, tuple):
        return kind, tuple(map(exact, value))
    if kind is frozenset:
        return kind, frozenset(map(exact, value))
    if kind is slice:
        return kind, exact(value.start), exact(value.stop), exact(value.step)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return (
            kind,
            value,
            tuple(exact(getattr(value, f.name)) for f in dataclasses.fields(value) if f.compare),
        )
    return kind, value
