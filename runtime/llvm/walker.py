"""The native loops that run a plan, alone or with workers, and the way in from Python.

A table row is seven i64: function, first argument, argument count, begin, end, grain, parts. An argument is a
pair (base, offset): the pointer `bases[base] + offset`, or the plain integer `offset` where base is -1. A row
with a grain is shared: each thread owns a part of begin … end, and takes it in so many pieces, cut at
multiples of the grain. Other rows are run by the caller alone.

Who has finished its own part takes pieces of the others': a worker that comes late, because another program
has its CPU, holds nobody up. The same thread tends to have the same rows from step to step and call to call.

The way in is a builtin made here, `enter(run, *arrays)`: it stores the arrays' data pointers into the bases
of the run, walks the table, and returns None. It leans on two facts that are checked by a probe before use:
where an ndarray keeps its data pointer, and what METH_FASTCALL passes.
"""

from __future__ import annotations

import ctypes
import threading
from functools import lru_cache
from typing import Any

import numpy as np

from . import cache, chains
from .engine import Library

DATA_OFFSET = 16
ROW = 7

WALK = f"""
define void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %threads, ptr %shared) {{
entry:
  %block = alloca [{chains.MOST_ARGUMENTS} x i64], align 64
  %many = icmp sgt i64 %threads, 1
  br label %head
head:
  %step = phi i64 [ 0, %entry ], [ %next, %done ]
  %more = icmp slt i64 %step, %steps
  br i1 %more, label %body, label %out
body:
  %row = mul nsw i64 %step, {ROW}
  %p0 = getelementptr i64, ptr %table, i64 %row
  %address = load i64, ptr %p0, align 8
  %p1 = getelementptr i64, ptr %p0, i64 1
  %first = load i64, ptr %p1, align 8
  %p2 = getelementptr i64, ptr %p0, i64 2
  %count = load i64, ptr %p2, align 8
  %p3 = getelementptr i64, ptr %p0, i64 3
  %begin = load i64, ptr %p3, align 8
  %p4 = getelementptr i64, ptr %p0, i64 4
  %end = load i64, ptr %p4, align 8
  %p5 = getelementptr i64, ptr %p0, i64 5
  %grain = load i64, ptr %p5, align 8
  br label %arghead
arghead:
  %k = phi i64 [ 0, %body ], [ %knext, %argdone ]
  %kmore = icmp slt i64 %k, %count
  br i1 %kmore, label %argbody, label %call
argbody:
  %at = add nsw i64 %first, %k
  %pair = mul nsw i64 %at, 2
  %q0 = getelementptr i64, ptr %arguments, i64 %pair
  %base = load i64, ptr %q0, align 8
  %q1 = getelementptr i64, ptr %q0, i64 1
  %offset = load i64, ptr %q1, align 8
  %plain = icmp slt i64 %base, 0
  br i1 %plain, label %argdone, label %pointer
pointer:
  %bp = getelementptr i64, ptr %bases, i64 %base
  %origin = load i64, ptr %bp, align 8
  %place = add i64 %origin, %offset
  br label %argdone
argdone:
  %value = phi i64 [ %offset, %argbody ], [ %place, %pointer ]
  %slot = getelementptr i64, ptr %block, i64 %k
  store i64 %value, ptr %slot, align 8
  %knext = add nsw i64 %k, 1
  br label %arghead
call:
  %function = inttoptr i64 %address to ptr
  %splits = icmp ne i64 %grain, 0
  %open = and i1 %splits, %many
  br i1 %open, label %together, label %alone
alone:
  call void %function(ptr %block, i64 %begin, i64 %end)
  br label %done
together:
  %p6 = getelementptr i64, ptr %p0, i64 6
  %parts = load i64, ptr %p6, align 8
  call void @share(ptr %function, ptr %block, i64 %begin, i64 %end, i64 %grain, i64 %parts, i64 %threads,
                   ptr %shared)
  br label %done
done:
  %next = add nsw i64 %step, 1
  br label %head
out:
  ret void
}}
"""

WALK_DECLARED = "declare void @walk(ptr, i64, ptr, ptr, i64, ptr)\n"
SHARING_DECLARED = """
declare void @start(ptr, i64, ptr, ptr, i64, ptr)
declare void @share(ptr, ptr, i64, i64, i64, i64, i64, ptr)
"""

# A run is eight i64: table, steps, arguments, bases, the first base that arrays go to, whether to let the GIL
# go, how many threads, and the shared slots.
ENTER = f"""
@_Py_NoneStruct = external global i8
declare ptr @PyLong_AsVoidPtr(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
declare void @Py_IncRef(ptr)

define ptr @enter(ptr %self, ptr %args, i64 %count) {{
entry:
  %token = load ptr, ptr %args, align 8
  %run = call ptr @PyLong_AsVoidPtr(ptr %token)
  %table = load ptr, ptr %run, align 8
  %r1 = getelementptr i64, ptr %run, i64 1
  %steps = load i64, ptr %r1, align 8
  %r2 = getelementptr i64, ptr %run, i64 2
  %arguments = load ptr, ptr %r2, align 8
  %r3 = getelementptr i64, ptr %run, i64 3
  %bases = load ptr, ptr %r3, align 8
  %r4 = getelementptr i64, ptr %run, i64 4
  %first = load i64, ptr %r4, align 8
  %r5 = getelementptr i64, ptr %run, i64 5
  %free = load i64, ptr %r5, align 8
  %r6 = getelementptr i64, ptr %run, i64 6
  %threads = load i64, ptr %r6, align 8
  %r7 = getelementptr i64, ptr %run, i64 7
  %shared = load ptr, ptr %r7, align 8
  br label %head
head:
  %k = phi i64 [ 1, %entry ], [ %next, %body ]
  %more = icmp slt i64 %k, %count
  br i1 %more, label %body, label %go
body:
  %slot = getelementptr ptr, ptr %args, i64 %k
  %array = load ptr, ptr %slot, align 8
  %field = getelementptr i8, ptr %array, i64 {DATA_OFFSET}
  %data = load i64, ptr %field, align 8
  %number = sub nsw i64 %k, 1
  %where = add nsw i64 %first, %number
  %target = getelementptr i64, ptr %bases, i64 %where
  store i64 %data, ptr %target, align 8
  %next = add nsw i64 %k, 1
  br label %head
go:
  %release = icmp ne i64 %free, 0
  br i1 %release, label %unlocked, label %locked
locked:
  call void @start(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %threads, ptr %shared)
  br label %leave
unlocked:
  %state = call ptr @PyEval_SaveThread()
  call void @start(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %threads, ptr %shared)
  call void @PyEval_RestoreThread(ptr %state)
  br label %leave
leave:
  call void @Py_IncRef(ptr @_Py_NoneStruct)
  ret ptr @_Py_NoneStruct
}}
"""


def _python(name: str) -> int:
    """The address of a function of the C API."""
    found = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value
    assert found is not None
    return found


def modules() -> list[tuple[str, int]]:
    """LLVM texts and levels; `externals` has the addresses of what they name.

    What every call and step goes through is generated with care, which takes most of the time, and the
    sharing of steps among threads quickly.
    """
    from . import threads

    return [(WALK + chains.TEXT + SHARING_DECLARED + ENTER, 1), (WALK_DECLARED + threads.text(), 0)]


def externals() -> dict[str, int]:
    """Where the functions outside of the text are in this process."""
    from . import threads

    names = ("PyLong_AsVoidPtr", "PyEval_SaveThread", "PyEval_RestoreThread", "Py_IncRef")
    return {name: _python(name) for name in names} | {"_Py_NoneStruct": id(None)} | threads.externals()


class _MethodDef(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("doc", ctypes.c_char_p),
    )


METH_FASTCALL = 0x0080


_loaded: list[Library] = []
_loading = threading.Lock()


def missing() -> list[cache.Part]:
    """What of this module's code is not made: parts for `cache.load_together`."""
    return [] if _loaded else [(modules(), _load)]


def _load(codes: list[bytes]) -> None:
    with _loading:
        if not _loaded:
            _loaded.append(Library(codes, externals()))


def library() -> Library:
    """The native code of this module."""
    cache.load_together(missing())
    return _loaded[0]


@lru_cache(maxsize=1)
def enter() -> tuple[Any, Any]:
    """(enter, what keeps it alive). `enter(run, *arrays)` is a builtin function."""
    probe_array_layout()
    definition = _MethodDef(b"enter", library().address("enter"), METH_FASTCALL, None)
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.POINTER(_MethodDef), ctypes.py_object, ctypes.py_object]
    return make(ctypes.byref(definition), None, None), (library(), definition)


def probe_array_layout() -> None:
    """Raise OSError unless an ndarray keeps its data pointer where `enter` looks."""
    for array in (np.arange(5.0), np.arange(6)[2:], np.ones((2, 3), np.float32).T):
        held = ctypes.c_size_t.from_address(id(array) + DATA_OFFSET).value
        if held != array.ctypes.data:
            raise OSError("this build of NumPy keeps an array's data pointer elsewhere")
