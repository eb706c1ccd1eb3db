"""Attr values as text and back, exactly: every bit of every number, dtype, order of axes.

A Python number is written bare (`1.0`, `-0.0`, `nan`), an array under its dtype (`f64(1.0)`,
`f32([1.0, 2.0])`), a large one as base64 of its bytes. `array_from_text` is the inverse for arrays.
"""

from __future__ import annotations

import base64
import math
import struct
from typing import Any

import numpy as np

from .body import Body
from .literal import Literal, axis_order, exact_bytes
from .opdef import OPS
from .types import ArrayType, DType, GeneratorType, ScalarType, TupleType, dtype_name

LONGEST_LIST = 64
_LONGEST_DECIMAL = 4000


class NoTextError(TypeError):
    """An attr holds a value that has no text form."""


def attr_text(value: Any) -> str:
    """One attr value; raises NoTextError where there is no text that parses back to it."""
    kind = type(value)
    if kind in _NUMBERS:
        return number_text(value)
    if kind is str:
        return repr(value)
    if kind is tuple:
        return _tuple_text(value)
    if kind is Literal:
        return number_text(value.value) if value.is_number else array_text(value.value)
    if isinstance(value, np.dtype):
        return dtype_name(value)
    if isinstance(value, ArrayType | GeneratorType):
        return str(value)
    if isinstance(value, ScalarType):
        return f"number.{value}"
    if isinstance(value, TupleType):
        return f"tuple{value}"
    if isinstance(value, type) and value in PYTHON_CLASSES:
        return f"py.{value.__name__}"
    if kind is Body:
        return value.text  # type: ignore[no-any-return]
    raise NoTextError(f"a value of class {kind.__name__} has no text form: {value!r}")


PYTHON_CLASSES = (bool, int, float, complex)
_NUMBERS = frozenset([bool, int, float, complex, type(None)])


def number_text(value: Any) -> str:
    """A Python number, or None."""
    if type(value) is float:
        return float_text(value)
    if type(value) is complex:
        return _complex_text(float_text(value.real), float_text(value.imag))
    if type(value) is int and value.bit_length() > 3 * _LONGEST_DECIMAL:
        return hex(value)
    return repr(value)


def float_text(value: float) -> str:
    """A float; a NaN with its sign, and with its bits in hexadecimal where they are not the usual ones."""
    if not math.isnan(value):
        return repr(value)
    bits = struct.unpack("<Q", struct.pack("<d", value))[0]
    sign, bits = "-" * (bits >> 63), bits & ~(1 << 63)
    return f"{sign}nan" if bits == 0x7FF8 << 48 else f"{sign}nan:{bits:x}"


def float_from_text(text: str) -> float:
    """The inverse of `float_text`."""
    if "nan" not in text:
        return float(text)
    bits = int(text.partition(":")[2] or f"{0x7FF8 << 48:x}", 16) | (text[0] == "-") << 63
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _complex_text(real: str, imag: str) -> str:
    return f"{real}{'' if imag[0] == '-' else '+'}{imag}j"


def _tuple_text(value: tuple[Any, ...]) -> str:
    if _is_path(value):
        return f"[{', '.join(_step_text(name, attrs) for name, attrs in value)}]"
    inner = ", ".join(map(attr_text, value))
    return f"({inner},)" if len(value) == 1 else f"({inner})"


def _is_path(value: tuple[Any, ...]) -> bool:
    """Whether a tuple is a path of views, as `write` has it: (op name, ((attr, value), ...)) steps."""
    return bool(value) and all(
        type(step) is tuple
        and len(step) == 2
        and step[0] in OPS
        and type(step[1]) is tuple
        and all(type(pair) is tuple and len(pair) == 2 and str(pair[0]).isidentifier() for pair in step[1])
        for step in value
    )


def _step_text(name: str, attrs: tuple[tuple[str, Any], ...]) -> str:
    inner = ", ".join(f"{key}={attr_text(value)}" for key, value in attrs)
    return f"{name} {{{inner}}}" if inner else name


def array_text(array: Any) -> str:
    """An array: its elements where they are few and decimal digits hold them exactly, else its bytes."""
    order = axis_order(array)
    behind = "" if order == tuple(range(array.ndim)) else f", order={order}"
    name = dtype_name(array.dtype)
    if array.size and array.size <= LONGEST_LIST:
        elements = _nested_text(array)
        items = elements.replace("[", "").replace("]", "").split(", ")
        if exact_bytes(elements_from_text(items, array.dtype)) == exact_bytes(array):
            return f"{name}({elements}{behind})"
    shape = ",".join(map(str, array.shape))
    data = base64.b64encode(exact_bytes(array)).decode()
    return f"{name}[{shape}]({data!r}{behind})"


def _nested_text(array: Any) -> str:
    if array.ndim:
        return f"[{', '.join(map(_nested_text, array))}]"
    return _element_text(array[()])


def _element_text(value: Any) -> str:
    if isinstance(value, np.complexfloating):
        return _complex_text(_real_text(value.real), _real_text(value.imag))
    return _real_text(value)


def _real_text(value: Any) -> str:
    return float_text(float(value)) if np.isnan(value) else str(value)


def elements_from_text(items: list[str], dtype: DType) -> Any:
    """A 1-d array of this dtype from the text of its elements."""
    result = np.empty(len(items), dtype)
    for place, text in enumerate(items):
        result[place] = _element_from_text(text, dtype)
    return result


def _element_from_text(text: str, dtype: DType) -> Any:
    if dtype.kind == "b":
        return {"True": True, "False": False}[text]
    if dtype.kind in "iu":
        return int(text)
    if dtype.kind == "f":
        return _real_from_text(text, dtype.itemsize)
    value = np.zeros((), dtype)
    value.real, value.imag = (_real_from_text(part, dtype.itemsize // 2) for part in split_complex(text))
    return value


def _real_from_text(text: str, itemsize: int) -> Any:
    if "nan" in text:
        return float_from_text(text)
    return float(text) if itemsize <= 8 else np.longdouble(text)


def split_complex(text: str) -> tuple[str, str]:
    """The real and the imaginary part of `1.0-2.5e-3j`."""
    body = text.removesuffix("j")
    cut = max(
        place for place, sign in enumerate(body) if sign in "+-" and place and body[place - 1] not in "eE"
    )
    return body[:cut], body[cut:].removeprefix("+")


def array_from_bytes(text: str, shape: tuple[int, ...], dtype: DType) -> Any:
    """The array whose bytes, in C order, `text` holds as base64; ValueError if their number is wrong."""
    return np.frombuffer(base64.b64decode(text, validate=True), dtype).reshape(shape)


def in_order(array: Any, order: tuple[int, ...]) -> Any:
    """A copy of the array whose memory runs along the axes in this order."""
    inverse = tuple(order.index(axis) for axis in range(array.ndim))
    return np.transpose(np.ascontiguousarray(np.transpose(array, order)), inverse)
