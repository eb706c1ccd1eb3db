"""Matrix products through the BLAS that NumPy has loaded, called by address.

NumPy's compiled module is linked with it, and where names are looked up through what a library is linked
with, asking that module is enough; elsewhere threadpoolctl knows which libraries are in the process. Names
and the width of integers differ between builds: a candidate is used if a small product through it is right.
"""

from __future__ import annotations

import ctypes
import importlib
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
    """The addresses of what `gemm_function` calls."""
    found = find()
    return {} if found is None else {"tapeless_sgemm": found.sgemm, "tapeless_dgemm": found.dgemm}


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

    BLAS' own function is called by the name that `externals` gives it.

    The argument block: A, B, C, then as integers transpose A, transpose B, n, k, lda, ldb, ldc, the distances
    of A's and C's rows in elements, then the bits of alpha and beta as doubles.
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
        "  %count = sub nsw i64 %end, %begin",
        "  %m = add i64 %count, 0" if integer == "i64" else f"  %m = trunc i64 %count to {integer}",
    ]
    for letter in "ac":
        lines += [
            f"  %skip{letter} = mul nsw i64 %begin, %row{letter}",
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
        "  ret void",
        "}",
    ]
    return "\n".join(lines)
