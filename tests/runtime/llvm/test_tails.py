"""Vector loops whose end is known at run time, by width of registers: nothing past it is read or written."""

import ctypes
import re
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.kernel.form import (
    Accumulate,
    Accumulator,
    Affine,
    Arg,
    Compute,
    Kernel,
    Load,
    Loop,
    Statement,
    Store,
)
from tapeless.runtime.llvm import engine
from tapeless.runtime.llvm.printer import print_kernel
from tapeless.runtime.llvm.written import Module

F8 = np.dtype("f8")
WIDTHS = [16, 32, 64]
HERE = Affine(0, (("i", 1),))
LENGTH = 100


def function(kernel: Kernel, width: int, level: int) -> tuple[Any, str]:
    module = Module()
    print_kernel(kernel, "f", module, width)
    library = engine.Library([engine.object_code(module.text(), level)], {})
    found = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(library.address("f"))

    def run(memory: list[Any], begin: int, end: int) -> None:
        found((ctypes.c_void_p * len(memory))(*(a.ctypes.data for a in memory)), begin, end)

    run.library = library  # type: ignore[attr-defined]
    return run, module.text()


def body_of(dtype: np.dtype[Any], steps: int) -> tuple[Statement, ...]:
    """b = a + … + a, c = c + b and a = b, all at one place; the last where a was read."""
    sums = [Compute(f"x{n + 1}", "add", (f"x{n}", "x0"), dtype) for n in range(steps)]
    end = f"x{steps}"
    return (
        Load("x0", "a", HERE),
        *sums,
        Store("b", HERE, end),
        Store("c", HERE, end, adds=True),
        Load("y", "b", HERE),
        Store("a", HERE, "y"),
    )


@pytest.mark.parametrize("level", [0, 1])
@pytest.mark.parametrize("steps", [2, 20], ids=["light", "long"])
@pytest.mark.parametrize("letter", ["f4", "f8", "i2", "i8"])
@pytest.mark.parametrize("width", WIDTHS)
def test_lanes_past_the_end(width: int, letter: str, steps: int, level: int) -> None:
    dtype = np.dtype(letter)
    args = (
        Arg("a", dtype, "inout", 0, LENGTH),
        Arg("b", dtype, "out", 0, LENGTH),
        Arg("c", dtype, "inout", 0, LENGTH),
    )
    run, text = function(
        Kernel("k", args, (Loop("i", LENGTH, "vector", body_of(dtype, steps)),)), width, level
    )
    assert ("alloca" in text) == (steps == 20)
    label = "whole" if steps == 20 else "body"
    loop = re.search(rf"^{label}\d+:\n((?:  .*\n)+)", text, re.MULTILINE)
    assert loop is not None
    assert "store" in loop[1]
    assert "@llvm.masked" not in loop[1]
    for begin, end in [(0, 1), (0, LENGTH), (3, 20), (5, 69), (7, 7), (64, 99), (9, 5)]:
        a = np.arange(1, LENGTH + 1).astype(dtype)
        b, c = np.full(LENGTH, 77, dtype), np.full(LENGTH, 5, dtype)
        wanted = [array.copy() for array in (a, b, c)]
        part = slice(begin, max(begin, end))
        wanted[1][part] = wanted[0][part] * (steps + 1)
        wanted[2][part] += wanted[1][part]
        wanted[0][part] = wanted[1][part]
        run([a, b, c], begin, end)
        for got, right in zip((a, b, c), wanted, strict=True):
            np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("costly", [False, True])
@pytest.mark.parametrize("width", WIDTHS)
def test_sums_in_blocks_that_end_where_the_data_does(width: int, costly: bool) -> None:
    """Blocks of forty; the last has twenty."""
    place, total = Affine(0, (("j", 40), ("i", 1))), Accumulator("total", "add", F8, 0)
    body = (
        Load("x", "a", place),
        Compute("y", "exp" if costly else "negative", ("x",), F8),
        Store("b", place, "y"),
        Accumulate("total", "y"),
    )
    inner = Loop("i", 40, "vector", body, (total,), Affine(LENGTH, (("j", -40),)))
    outer = Loop("j", 3, "serial", (inner, Store("s", Affine(0, (("j", 1),)), "total")))
    args = (
        Arg("a", F8, "in", 0, LENGTH),
        Arg("b", F8, "out", 0, LENGTH),
        Arg("s", F8, "out", 0, 3),
    )
    run, _ = function(Kernel("k", args, (outer,)), width, 1)
    a, b, s = np.linspace(0, 1, LENGTH), np.zeros(LENGTH + 8), np.zeros(3)
    run([a, b, s], 0, 3)
    wanted = np.exp(a) if costly else -a
    np.testing.assert_allclose(b[:LENGTH], wanted, rtol=1e-15)
    np.testing.assert_allclose(s, [wanted[k : k + 40].sum() for k in (0, 40, 80)], rtol=1e-14)
    assert not b[LENGTH:].any()


@pytest.mark.parametrize("letter", ["f4", "f8", "i1", "?"])
@pytest.mark.parametrize("length", [1, 7, 10, 16, 33])
@pytest.mark.parametrize("width", WIDTHS)
def test_rows_of_known_length(width: int, length: int, letter: str) -> None:
    """Rows lie apart from each other; what is between them stays."""
    dtype, apart = np.dtype(letter), 40
    place = Affine(0, (("j", apart), ("i", 1)))
    op = "logical_not" if letter == "?" else "negative"
    body = (Load("x", "a", place), Compute("y", op, ("x",), dtype), Store("b", place, "y"))
    args = (Arg("a", dtype, "in", 0, 4 * apart), Arg("b", dtype, "out", 0, 4 * apart))
    rows = Loop("j", 4, "serial", (Loop("i", length, "vector", body),))
    run, text = function(Kernel("k", args, (rows,)), width, 0)
    assert width == 64 or "masked.store" not in text
    a, b = (np.arange(4 * apart) % 3).astype(dtype), np.ones(4 * apart, dtype)
    run([a, b], 0, 4)
    wanted = np.ones((4, apart), dtype)
    wanted[:, :length] = (~a if letter == "?" else -a).reshape(4, apart)[:, :length]
    np.testing.assert_array_equal(b.reshape(4, apart), wanted)
