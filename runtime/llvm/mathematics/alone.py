"""A vector function on its own, as a callable on arrays: for tests and measurements.

Kernels do not use this: there a function's lines stand among others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..engine import Library, object_code
from ..types import STACK, DType, memory_type, value_type
from . import values
from .builder import BOOL, Emitter, Target, Value, host_target


class Lines:
    """A writer that gathers a function's lines and what stands beside it in the module."""

    def __init__(self) -> None:
        self.block = "entry"
        self.body: list[str] = []
        self.outside: dict[str, str] = {}
        self.count = 0

    def let(self, instruction: str) -> str:
        self.count += 1
        self.body.append(f"  %v{self.count} = {instruction}")
        return f"%v{self.count}"

    def line(self, text: str) -> None:
        self.body.append(f"  {text}")

    def label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}{self.count}"

    def start(self, label: str) -> None:
        self.body.append(f"{label}:")
        self.block = label

    def declare(self, declaration: str) -> None:
        self.outside[declaration] = declaration

    def private(self, symbol: str, text: str) -> None:
        self.outside[symbol] = text


def module(
    name: str,
    dtypes: Sequence[DType],
    lanes: int,
    target: Target | None = None,
    constants: Sequence[float] = (),
) -> tuple[str, DType]:
    """A module with `void f(ptr arguments, i64 n)`, and the result's dtype.

    `arguments` points to the operands' and the result's addresses; n is a multiple of the lanes. Operands
    that are constants follow the others.
    """
    w = Lines()
    w.line("br label %head")
    w.start("head")
    place = len(w.body)
    w.line("%more = icmp slt i64 %i, %n")
    w.line("br i1 %more, label %body, label %done")
    w.start("body")
    e = Emitter(w, lanes, target or host_target())
    operands = [_load(e, number, dtype) for number, dtype in enumerate(dtypes)]
    result = values(name, operands + [e.constant(number, dtypes[0]) for number in constants])
    _store(e, len(dtypes), result)
    w.line(f"%next = add i64 %i, {max(lanes, 1)}")
    w.line("br label %head")
    w.body.insert(place, f"  %i = phi i64 [ 0, %entry ], [ %next, %{w.block} ]")
    w.start("done")
    w.line("ret void")
    head = f"define void @f(ptr %arguments, i64 %n) {STACK} {{\nentry:"
    return "\n".join([*w.outside.values(), head, *w.body, "}"]) + "\n", result.dtype


def _address(e: Emitter, number: int, dtype: DType) -> str:
    slot = e.writer.let(f"getelementptr ptr, ptr %arguments, i64 {number}")
    array = e.writer.let(f"load ptr, ptr {slot}")
    return e.writer.let(f"getelementptr {memory_type(dtype)}, ptr {array}, i64 %i")


def _load(e: Emitter, number: int, dtype: DType) -> Value:
    pointer = _address(e, number, dtype)
    return Value(e, e.writer.let(f"load {e.type(dtype)}, ptr {pointer}, align {dtype.itemsize}"), dtype)


def _store(e: Emitter, number: int, result: Value) -> None:
    pointer, text, type_ = _address(e, number, result.dtype), result.text, e.type(result.dtype)
    if result.dtype == BOOL:
        bytes_ = value_type(np.dtype(np.int8), e.lanes)
        text, type_ = e.writer.let(f"zext {type_} {text} to {bytes_}"), bytes_
    e.writer.line(f"store {type_} {text}, ptr {pointer}, align {result.dtype.itemsize}")


def compiled(
    name: str,
    dtypes: Sequence[DType],
    lanes: int,
    target: Target | None = None,
    level: int = 0,
    constants: Sequence[float] = (),
) -> Callable[..., Any]:
    """The function of arrays of one shape; the last lanes are filled up with the first elements."""
    text, dtype = module(name, dtypes, lanes, target, constants)
    library = Library([object_code(text, level)], {})
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library.address("f"))

    def call(*arrays: Any) -> Any:
        shape = np.shape(arrays[0])
        length = -(-max(int(np.prod(shape)), 1) // max(lanes, 1)) * max(lanes, 1)
        operands = [np.resize(np.asarray(a, d), length) for a, d in zip(arrays, dtypes, strict=True)]
        result = np.empty(length, dtype)
        addresses = [a.ctypes.data for a in (*operands, result)]
        function((ctypes.c_void_p * len(addresses))(*addresses), length)
        return result[: int(np.prod(shape))].reshape(shape)

    call.library = library  # type: ignore[attr-defined]
    call.function = function  # type: ignore[attr-defined]
    return call
