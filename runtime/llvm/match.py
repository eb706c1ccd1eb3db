"""Whether the arrays of a call are what a specialization was made for, asked natively.

`matcher(examples)` is a builtin function of as many arrays. It says True where each is a plain ndarray with
the shape, strides, dtype and writeability of its example, and no two look at the memory of one owner; False
where that is not so or cannot be told at once. It reads the fields of an ndarray, which are public, where a
probe found them; without that there is no matcher.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

MOST_ARRAYS = 64
_HEAD = 3
_BYTES = bytes.__basicsize__ - 1
_TYPE = object.__basicsize__ - 8
_ND, _DIMS, _STRIDES, _BASE, _DTYPE, _FLAGS = 24, 32, 40, 48, 56, 64
_OWNDATA, _WRITEABLE = 0x4, 0x400

# The table is the content of a bytes object, in i64; an array's row is nd, dtype, writeable, shape, strides.
TEXT = f"""
@tl_array_type = external global i8
@tl_true = external global i8
@tl_false = external global i8
declare void @Py_IncRef(ptr)

define ptr @match(ptr %self, ptr %args, i64 %count) {{
entry:
  %owners = alloca [{MOST_ARRAYS} x i64], align 8
  %table = getelementptr i8, ptr %self, i64 {_BYTES}
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %knext, %kept ]
  %row = phi ptr [ %table, %entry ], [ %rownext, %kept ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %yes
body:
  %slot = getelementptr ptr, ptr %args, i64 %k
  %array = load ptr, ptr %slot, align 8
  %typeat = getelementptr i8, ptr %array, i64 {_TYPE}
  %type = load ptr, ptr %typeat, align 8
  %plain = icmp eq ptr %type, @tl_array_type
  br i1 %plain, label %fields, label %no
fields:
  %ndat = getelementptr i8, ptr %array, i64 {_ND}
  %nd32 = load i32, ptr %ndat, align 4
  %nd = sext i32 %nd32 to i64
  %dtypeat = getelementptr i8, ptr %array, i64 {_DTYPE}
  %dtype = load i64, ptr %dtypeat, align 8
  %flagsat = getelementptr i8, ptr %array, i64 {_FLAGS}
  %flags = load i32, ptr %flagsat, align 4
  %writeable32 = and i32 %flags, {_WRITEABLE}
  %writeable = sext i32 %writeable32 to i64
  %wantnd = load i64, ptr %row, align 8
  %r1 = getelementptr i64, ptr %row, i64 1
  %wantdtype = load i64, ptr %r1, align 8
  %r2 = getelementptr i64, ptr %row, i64 2
  %wantwriteable = load i64, ptr %r2, align 8
  %c0 = icmp eq i64 %nd, %wantnd
  %c1 = icmp eq i64 %dtype, %wantdtype
  %c2 = icmp eq i64 %writeable, %wantwriteable
  %c01 = and i1 %c0, %c1
  %c012 = and i1 %c01, %c2
  br i1 %c012, label %lengths, label %no
lengths:
  %dimsat = getelementptr i8, ptr %array, i64 {_DIMS}
  %dims = load ptr, ptr %dimsat, align 8
  %stridesat = getelementptr i8, ptr %array, i64 {_STRIDES}
  %strides = load ptr, ptr %stridesat, align 8
  %wantdims = getelementptr i64, ptr %row, i64 {_HEAD}
  %wantstrides = getelementptr i64, ptr %wantdims, i64 %nd
  %rownext = getelementptr i64, ptr %wantstrides, i64 %nd
  br label %axes
axes:
  %d = phi i64 [ 0, %lengths ], [ %dnext, %axis ]
  %dmore = icmp slt i64 %d, %nd
  br i1 %dmore, label %axis, label %memory
axis:
  %p0 = getelementptr i64, ptr %dims, i64 %d
  %p1 = getelementptr i64, ptr %wantdims, i64 %d
  %p2 = getelementptr i64, ptr %strides, i64 %d
  %p3 = getelementptr i64, ptr %wantstrides, i64 %d
  %n0 = load i64, ptr %p0, align 8
  %n1 = load i64, ptr %p1, align 8
  %n2 = load i64, ptr %p2, align 8
  %n3 = load i64, ptr %p3, align 8
  %e0 = icmp eq i64 %n0, %n1
  %e1 = icmp eq i64 %n2, %n3
  %e = and i1 %e0, %e1
  %dnext = add nsw i64 %d, 1
  br i1 %e, label %axes, label %no
memory:
  %own = and i32 %flags, {_OWNDATA}
  %owns = icmp ne i32 %own, 0
  br i1 %owns, label %known, label %view
view:
  %baseat = getelementptr i8, ptr %array, i64 {_BASE}
  %base = load ptr, ptr %baseat, align 8
  %nobase = icmp eq ptr %base, null
  br i1 %nobase, label %no, label %based
based:
  %basetypeat = getelementptr i8, ptr %base, i64 {_TYPE}
  %basetype = load ptr, ptr %basetypeat, align 8
  %baseplain = icmp eq ptr %basetype, @tl_array_type
  br i1 %baseplain, label %owner, label %no
owner:
  %baseflagsat = getelementptr i8, ptr %base, i64 {_FLAGS}
  %baseflags = load i32, ptr %baseflagsat, align 4
  %baseown = and i32 %baseflags, {_OWNDATA}
  %baseowns = icmp ne i32 %baseown, 0
  br i1 %baseowns, label %known, label %no
known:
  %holder = phi ptr [ %array, %memory ], [ %base, %owner ]
  %held = ptrtoint ptr %holder to i64
  br label %others
others:
  %j = phi i64 [ 0, %known ], [ %jnext, %other ]
  %jmore = icmp slt i64 %j, %k
  br i1 %jmore, label %other, label %kept
other:
  %otherat = getelementptr i64, ptr %owners, i64 %j
  %another = load i64, ptr %otherat, align 8
  %shared = icmp eq i64 %another, %held
  %jnext = add nsw i64 %j, 1
  br i1 %shared, label %no, label %others
kept:
  %keep = getelementptr i64, ptr %owners, i64 %k
  store i64 %held, ptr %keep, align 8
  %knext = add nsw i64 %k, 1
  br label %head
yes:
  call void @Py_IncRef(ptr @tl_true)
  ret ptr @tl_true
no:
  call void @Py_IncRef(ptr @tl_false)
  ret ptr @tl_false
}}
"""


@lru_cache(maxsize=1)
def _builtin() -> tuple[Callable[[bytes], Any], Any] | None:
    """(from a table to its function, what keeps it alive); None where arrays are not laid out as expected."""
    from . import cache
    from .engine import Library
    from .walker import METH_FASTCALL, _MethodDef, _python

    if not all(map(_is_laid_out, _probes())):
        return None
    externals = {"tl_array_type": id(np.ndarray), "tl_true": id(True), "tl_false": id(False)}
    library = Library([cache.object_code(TEXT, 1)], externals | {"Py_IncRef": _python("Py_IncRef")})
    definition = _MethodDef(b"match", library.address("match"), METH_FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object]
    return lambda table: make(ctypes.byref(definition), table, None), (library, definition)


def matcher(examples: Sequence[Any]) -> Callable[..., bool] | None:
    """A function of arrays like these; None where there cannot be one."""
    found = _builtin() if 0 < len(examples) <= MOST_ARRAYS else None
    if found is None:
        return None
    made: Callable[..., bool] = found[0](_table(examples))
    return made


def _table(arrays: Sequence[Any]) -> bytes:
    numbers: list[int] = []
    for array in arrays:
        writeable = _WRITEABLE if array.flags.writeable else 0
        numbers += [array.ndim, id(array.dtype), writeable, *array.shape, *array.strides]
    return struct.pack(f"<{len(numbers)}q", *numbers)


def _probes() -> list[Any]:
    whole = np.arange(24.0).reshape(2, 3, 4).copy()
    locked = np.ones((3, 2), np.float32)
    locked.flags.writeable = False
    return [whole, whole[:, ::-1], whole[1].T, locked, np.array(7), np.ones((0, 3), np.int8)]


def _is_laid_out(array: Any) -> bool:
    """Whether an ndarray keeps its fields where `match` looks."""

    def field(offset: int, kind: Any = ctypes.c_int64, start: int = id(array)) -> int:
        found: int = kind.from_address(start + offset).value
        return found

    rank = array.ndim
    flags = field(_FLAGS, ctypes.c_int)
    return (
        field(_TYPE) == id(np.ndarray)
        and field(_ND, ctypes.c_int) == rank
        and field(_DTYPE) == id(array.dtype)
        and field(_BASE) == (id(array.base) if array.base is not None else 0)
        and bool(flags & _OWNDATA) == array.flags.owndata
        and bool(flags & _WRITEABLE) == array.flags.writeable
        and all(field(8 * k, start=field(_DIMS)) == n for k, n in enumerate(array.shape))
        and all(field(8 * k, start=field(_STRIDES)) == n for k, n in enumerate(array.strides))
        and ctypes.string_at(id(probe := b"table") + _BYTES, 5) == probe
    )
