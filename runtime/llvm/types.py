"""How values look in LLVM text: scalars and vectors of a dtype, and constants written out."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

DType = np.dtype[Any]

# A function's attribute: registers that it puts aside lie in memory so that none crosses a line of the cache.
STACK = "alignstack(64)"

_NAMES = {"f2": "half", "f4": "float", "f8": "double"}


class NotPrintable(Exception):
    """A dtype or op that the printer has no code for."""


def scalar_type(dtype: DType) -> str:
    """The type of one value in a register; booleans are i1."""
    if not dtype.isnative:
        raise NotPrintable(f"dtype {dtype}")
    if dtype.kind == "b":
        return "i1"
    if dtype.kind in "iu":
        return f"i{8 * dtype.itemsize}"
    name = _NAMES.get(f"{dtype.kind}{dtype.itemsize}")
    if name is None:
        raise NotPrintable(f"dtype {dtype}")
    return name


def memory_type(dtype: DType) -> str:
    """The type of one element in memory; booleans are bytes."""
    return "i8" if dtype.kind == "b" else scalar_type(dtype)


def value_type(dtype: DType, lanes: int) -> str:
    """The type of a value: a scalar where lanes is 0, a vector otherwise."""
    return f"<{lanes} x {scalar_type(dtype)}>" if lanes else scalar_type(dtype)


def suffix(dtype: DType, lanes: int) -> str:
    """The end of an intrinsic's name: `v16f64`, `f32`."""
    kind = {"b": "i", "i": "i", "u": "i", "f": "f"}[dtype.kind]
    bits = 1 if dtype.kind == "b" else 8 * dtype.itemsize
    return f"v{lanes}{kind}{bits}" if lanes else f"{kind}{bits}"


def literal(value: Any, dtype: DType) -> str:
    """A scalar constant, floating ones by their bits."""
    if dtype.kind == "b":
        return "true" if value else "false"
    if dtype.kind in "iu":
        return str(int(value))
    if type(value) is float and dtype.itemsize > 2 and abs(value) < 1e38:  # nearly all, and there are many
        exact = value if dtype.itemsize == 8 else float(np.float32(value))
    else:
        with np.errstate(over="ignore"):
            exact = float(np.asarray(value, dtype))
    if dtype.itemsize == 2:
        return f"0xH{np.asarray(value, dtype).view(np.uint16):04X}"
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def constant(value: Any, dtype: DType, lanes: int) -> str:
    """A constant of a value type, without its type."""
    text = literal(value, dtype)
    return f"splat ({scalar_type(dtype)} {text})" if lanes else text
