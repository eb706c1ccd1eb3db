"""Matrix products through the BLAS that NumPy has loaded, called by address.

NumPy's compiled module is linked with it, and where names are looked up through what a library is linked
with, asking that module is enough; elsewhere threadpoolctl knows which libraries are in the process. Names
and the width of integers differ between builds: a candidate is used if a small product through it is right.
"""

from __future__ import annotations

import ctypes
import importlib
import os
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.ir.record import record

ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE = 101, 111, 112
_CALLS = {"s": ctypes.c_float, "d": ctypes.c_double}


@record
class Blas:
    """Addresses of cblas_sgemm and cblas_dgemm, and the width of their integers in bits.

    `path` is the library that was asked for them.
    """

    path: str
    integer_bits: int
    sgemm: int
    dgemm: int

    def gemm(self, dtype: Any) -> int:
        """The address for a dtype; 0 where there is none."""
        return {"f": self.sgemm, "d": self.dgemm}.get(np.dtype(dtype).char, 0)


def _names(letter: str) -> Iterator[tuple[str, int]]:
    for prefix in ("scipy_", ""):
        yield f"{prefix}cblas_{letter}gemm64_", 64
        yield f"{prefix}cblas_{letter}gemm", 32
    yield f"cblas_{letter}gemm$NEWLAPACK$ILP64", 64
    yield f"cblas_{letter}gemm$NEWLAPACK", 32


def _address(library: ctypes.CDLL, letter: str) -> tuple[int, int]:
    """The address of a gemm that gives the right product, and its integers' width; (0, 0) without one."""
    for name, bits in _names(letter):
        try:
            function = getattr(library, name)
        except AttributeError:
            continue
        if _is_right(function, letter, bits):
            return ctypes.cast(function, ctypes.c_void_p).value or 0, bits
    return 0, 0


def _is_right(function: Any, letter: str, bits: int) -> bool:
    """Whether a product of 3×2 and 2×4 matrices with alpha and beta comes out right."""
    real, integer = _CALLS[letter], ctypes.c_int64 if bits == 64 else ctypes.c_int32
    pointer = ctypes.c_void_p
    function.argtypes = [
        ctypes.c_int, ctypes.c_int, ctypes.c_int, integer, integer, integer, real, pointer, integer, pointer,
        integer, real, pointer, integer,
    ]  # fmt: skip
    function.restype = None
    dtype = np.dtype("f4" if letter == "s" else "f8")
    a, b, c = (np.arange(n, dtype=dtype) for n in (6, 8, 12))
    wanted = 2 * (a.reshape(3, 2) @ b.reshape(4, 2).T) + 3 * c.reshape(3, 4)
    function(
        ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE, 3, 4, 2, 2.0, a.ctypes.data, 2, b.ctypes.data, 2, 3.0,
        c.ctypes.data, 4,
    )  # fmt: skip
    return bool(np.array_equal(c.reshape(3, 4), wanted))


@lru_cache(maxsize=1)
def find() -> Blas | None:
    """The BLAS of this process; None where none is found or none computes right."""
    for path in _candidates():
        library = ctypes.CDLL(path)
        sgemm, bits = _address(library, "s")
        dgemm, also = _address(library, "d")
        if sgemm and dgemm and bits == also:
            return Blas(path, bits, sgemm, dgemm)
    return None


def _candidates() -> Iterator[str]:
    """Libraries that may lead to NumPy's BLAS: its own module, then what threadpoolctl finds."""
    yield str(importlib.import_module("numpy._core._multiarray_umath").__file__)
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return
    np.dot(np.ones((2, 2)), np.ones((2, 2)))
    found = [info["filepath"] for info in threadpool_info() if info.get("user_api") == "blas"]
    yield from sorted(found, key=lambda path: "numpy" not in path)


def externals() -> dict[str, int]:
    """The addresses of what `gemm_function` names."""
    found = find()
    if found is None:
        return {}
    names = {"tapeless_sgemm": found.sgemm, "tapeless_dgemm": found.dgemm}
    control = thread_control()
    if control is not None:
        names |= zip(("tapeless_blas_get", "tapeless_blas_set"), control, strict=True)
    return names | {"tapeless_blas_held": _held.ctypes.data}


# A lock, how many products are running, and how many threads BLAS had before the first of them, in i64.
_held = np.zeros(3, np.int64)

_HOLD = """
@tapeless_blas_held = external global [3 x i64]
declare i32 @tapeless_blas_get()
declare void @tapeless_blas_set(i32)

define internal void @lock_blas() {
entry:
  br label %try
try:
  %had = atomicrmw xchg ptr @tapeless_blas_held, i64 1 seq_cst
  %free = icmp eq i64 %had, 0
  br i1 %free, label %out, label %try
out:
  ret void
}

define internal void @hold_blas() {
entry:
  call void @lock_blas()
  %p_users = getelementptr i64, ptr @tapeless_blas_held, i64 1
  %users = load i64, ptr %p_users, align 8
  %more = add i64 %users, 1
  store i64 %more, ptr %p_users, align 8
  %first = icmp eq i64 %users, 0
  br i1 %first, label %set, label %out
set:
  %had = call i32 @tapeless_blas_get()
  %wide = sext i32 %had to i64
  %p_had = getelementptr i64, ptr @tapeless_blas_held, i64 2
  store i64 %wide, ptr %p_had, align 8
  call void @tapeless_blas_set(i32 1)
  br label %out
out:
  store atomic i64 0, ptr @tapeless_blas_held release, align 8
  ret void
}

define internal void @free_blas() {
entry:
  call void @lock_blas()
  %p_users = getelementptr i64, ptr @tapeless_blas_held, i64 1
  %users = load i64, ptr %p_users, align 8
  %fewer = sub i64 %users, 1
  store i64 %fewer, ptr %p_users, align 8
  %last = icmp eq i64 %fewer, 0
  br i1 %last, label %set, label %out
set:
  %p_had = getelementptr i64, ptr @tapeless_blas_held, i64 2
  %had = load i64, ptr %p_had, align 8
  %narrow = trunc i64 %had to i32
  call void @tapeless_blas_set(i32 %narrow)
  br label %out
out:
  store atomic i64 0, ptr @tapeless_blas_held release, align 8
  ret void
}
"""

_HOLD_NOTHING = """
define internal void @hold_blas() {
  ret void
}
define internal void @free_blas() {
  ret void
}
"""


def hold_text() -> str:
    """LLVM text of what keeps BLAS at one thread while products run, on all threads of the process."""
    return _HOLD if thread_control() is not None else _HOLD_NOTHING


def _forget() -> None:
    """A forked child runs no product of its parent's."""
    if _held[1]:
        control = thread_control()
        if control is not None:
            ctypes.CFUNCTYPE(None, ctypes.c_int)(control[1])(int(_held[2]))
    _held[:] = 0


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def thread_control() -> tuple[int, int] | None:
    """The addresses of the functions that get and set how many threads BLAS uses; None where unknown."""
    found = find()
    if found is None:
        return None
    library = ctypes.CDLL(found.path)
    for prefix in ("scipy_openblas", "openblas"):
        for suffix in ("64_", ""):
            try:
                functions = [
                    getattr(library, f"{prefix}_{verb}_num_threads{suffix}") for verb in ("get", "set")
                ]
            except AttributeError:
                continue
            get, set_ = (ctypes.cast(f, ctypes.c_void_p).value or 0 for f in functions)
            return get, set_
    return None


def gemm_function(symbol: str, dtype: Any, blas: Blas) -> str:
    """LLVM text of `void symbol(ptr args, i64 begin, i64 end)`: rows begin … end - 1 of a product.

    BLAS' own function is called by the name that `externals` gives it, on one thread, for blocks of rows that
    do not depend on begin and end where those are multiples of the block: so the bits of a product do not
    depend on the number of threads.

    The argument block: A, B, C, then as integers transpose A, transpose B, n, k, lda, ldb, ldc, the distances
    of A's and C's rows in elements, the bits of alpha and beta as doubles, and the rows of a block.
    """
    real = "float" if np.dtype(dtype).char == "f" else "double"
    integer = f"i{blas.integer_bits}"
    gemm = f"tapeless_{'s' if real == 'float' else 'd'}gemm"
    operand = f"ptr, {integer}, "
    types = f"i32, i32, i32, {3 * (integer + ', ')}{real}, {2 * operand}{real}, ptr"
    lines = [f"declare void @{gemm}({types}, {integer})"]
    lines += [f"define void @{symbol}(ptr noalias readonly %args, i64 %begin, i64 %end) {{", "entry:"]
    for number, name in enumerate(("a0", "b", "c0")):
        lines += [
            f"  %p{name} = getelementptr ptr, ptr %args, i64 {number}",
            f"  %{name} = load ptr, ptr %p{name}, align 8",
        ]
    for number, name in enumerate(("ta", "tb", "n", "k", "lda", "ldb", "ldc", "rowa", "rowc"), start=3):
        lines += [
            f"  %p{name} = getelementptr i64, ptr %args, i64 {number}",
            f"  %w{name} = load i64, ptr %p{name}, align 8",
        ]
        wanted = "i32" if name in ("ta", "tb") else "i64" if name.startswith("row") else integer
        if wanted == "i64":
            lines.append(f"  %{name} = add i64 %w{name}, 0")
        else:
            lines.append(f"  %{name} = trunc i64 %w{name} to {wanted}")
    lines += [
        "  %pblock = getelementptr i64, ptr %args, i64 14",
        "  %block = load i64, ptr %pblock, align 8",
        "  call void @hold_blas()",
        "  br label %head",
        "head:",
        "  %row = phi i64 [ %begin, %entry ], [ %next, %body ]",
        "  %more = icmp slt i64 %row, %end",
        "  br i1 %more, label %body, label %out",
        "body:",
        "  %after = add nsw i64 %row, %block",
        "  %inside = icmp slt i64 %after, %end",
        "  %next = select i1 %inside, i64 %after, i64 %end",
        "  %count = sub nsw i64 %next, %row",
        "  %m = add i64 %count, 0" if integer == "i64" else f"  %m = trunc i64 %count to {integer}",
    ]
    for letter in "ac":
        lines += [
            f"  %skip{letter} = mul nsw i64 %row, %row{letter}",
            f"  %{letter} = getelementptr {real}, ptr %{letter}0, i64 %skip{letter}",
        ]
    for number, name in enumerate(("alpha", "beta"), start=12):
        lines += [
            f"  %p{name} = getelementptr double, ptr %args, i64 {number}",
            f"  %w{name} = load double, ptr %p{name}, align 8",
        ]
        if real == "float":
            lines.append(f"  %{name} = fptrunc double %w{name} to float")
        else:
            lines.append(f"  %{name} = fadd double %w{name}, -0.0")
    lines += [
        f"  call void @{gemm}(i32 {ROW_MAJOR}, i32 %ta, i32 %tb, {integer} %m, {integer} %n, {integer} %k, "
        f"{real} %alpha, ptr %a, {integer} %lda, ptr %b, {integer} %ldb, {real} %beta, ptr %c, "
        f"{integer} %ldc)",
        "  br label %head",
        "out:",
        "  call void @free_blas()",
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
