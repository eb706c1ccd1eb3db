"""Remainders, shifts, neighbours and bounds in vectors: NumPy's results bit for bit, in kernels too."""

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.kernel.form import (
    Accumulate,
    Accumulator,
    Affine,
    Arg,
    Compute,
    Constant,
    Kernel,
    Load,
    Loop,
    Store,
)
from tapeless.runtime.llvm import engine
from tapeless.runtime.llvm.mathematics import EXACT
from tapeless.runtime.llvm.mathematics.alone import compiled
from tapeless.runtime.llvm.mathematics.builder import Target
from tapeless.runtime.llvm.operations import is_printable
from tapeless.runtime.llvm.printer import print_kernel
from tapeless.runtime.llvm.types import NotPrintable
from tapeless.runtime.llvm.written import Module

FLOATS = ["f4", "f8"]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
ON_INTEGERS = [
    "floor_divide",
    "remainder",
    "fmod",
    "left_shift",
    "right_shift",
    "fmax",
    "fmin",
    "clip",
    "bitwise_count",
]
ON_FLOATS = [name for name in EXACT if "shift" not in name and name != "bitwise_count"]
ARITY = {"clip": 3} | dict.fromkeys(
    ("signbit", "conjugate", "spacing", "deg2rad", "radians", "rad2deg", "degrees", "bitwise_count"), 1
)


def reference(name: str, *operands: Any) -> Any:
    """NumPy's result. fmax and fmin of zeros of two signs give either, by position: here the second."""
    with np.errstate(all="ignore"):
        if name == "clip":
            return np.clip(*operands)
        result = getattr(np, name)(*operands)
        if name in ("fmax", "fmin"):
            result = np.where((operands[0] == 0) & (operands[1] == 0), operands[1], result)
        return result


def check(name: str, dtype: str, operands: list[Any]) -> None:
    given_ = operands[: ARITY.get(name, 2)]
    wanted = reference(name, *given_)
    got = compiled(name, [np.dtype(dtype)] * len(given_), 8)(*given_)
    assert got.dtype == wanted.dtype
    same = got == wanted
    if got.dtype.kind == "f":
        same = (same & (np.signbit(got) == np.signbit(wanted))) | (np.isnan(got) & np.isnan(wanted))
    bad = np.flatnonzero(~same)
    assert [(*(x[i] for x in given_), got[i], wanted[i]) for i in bad[:5]] == []


def float_operands(dtype: str) -> list[Any]:
    """Numbers of all magnitudes, small whole ones, and all pairs of special ones."""
    rng = np.random.default_rng(2)
    info = np.finfo(dtype)
    special = [0.0, 1.0, 0.5, 3.0, np.inf, np.nan, info.smallest_subnormal, info.tiny, info.max, 2.0**24 + 1]
    pairs = np.array(list(itertools.product([s for v in special for s in (v, -v)], repeat=2))).T
    span = np.log([float(info.smallest_subnormal), float(info.max)])
    sizes = np.exp(rng.uniform(*span, (2, 1500))) * rng.choice([-1, 1], (2, 1500))
    x, y = np.concatenate([pairs, sizes, np.rint(rng.uniform(-50, 50, (2, 500)))], axis=1).astype(dtype)
    return [x, y, np.roll(y, 7)]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ON_FLOATS)
def test_floats(name: str, dtype: str) -> None:
    check(name, dtype, float_operands(dtype))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", ON_INTEGERS)
def test_integers(name: str, dtype: str) -> None:
    rng, info = np.random.default_rng(3), np.iinfo(dtype)
    ends = [info.min, info.min + 1, info.max, info.max - 1, 0, 1, 2, 3, 7, 100, info.bits - 1, info.bits]
    ends += [-1, -2] if info.min < 0 else []
    pairs = np.array(list(itertools.product(ends, repeat=2)), dtype).T
    x, y = (np.r_[p, rng.integers(info.min, info.max, 700, dtype=dtype)] for p in pairs)
    y[-350:] >>= rng.integers(0, info.bits, 350).astype(dtype)
    check(name, dtype, [x, y, np.roll(y, 7)])


REMAINDERS = {name: compiled(name, [np.dtype("f8")] * 2, 0) for name in ("fmod", "remainder", "floor_divide")}


@given(x=st.floats(width=64), y=st.floats(width=64))
def test_remainders_of_any_numbers(x: float, y: float) -> None:
    for name, function in REMAINDERS.items():
        got, wanted = function(np.array([x]), np.array([y])), reference(name, np.array([x]), np.array([y]))
        np.testing.assert_array_equal(got, wanted, strict=True)
        assert np.isnan(got[0]) or np.signbit(got[0]) == np.signbit(wanted[0])


def test_what_has_no_code_says_so() -> None:
    with pytest.raises(NotPrintable, match="fused"):
        compiled("fmod", [np.dtype("f8")] * 2, 4, Target(fma=False, scalef=False))
    assert not is_printable("gamma", 1, np.dtype("f8"))
    assert not is_printable("power", 2, np.dtype("i8"))
    assert not is_printable("exp", 1, np.dtype("i4"))
    assert not is_printable("spacing", 1, np.dtype("f2"))
    assert is_printable("exp", 1, np.dtype("f2"))
    assert is_printable("floor_divide", 2, np.dtype("u2"))


def run(kernel: Kernel, memory: list[Any], level: int) -> None:
    """Print, compile and run a kernel over its whole range."""
    module = Module()
    print_kernel(kernel, "f", module, engine.vector_bytes())
    library = engine.Library([engine.object_code(module.text(), level)], {})
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(library.address("f"))
    addresses = (ctypes.c_void_p * len(memory))(*(array.ctypes.data for array in memory))
    last = kernel.body[-1]
    function(addresses, 0, last.extent if isinstance(last, Loop) else 1)


@pytest.mark.parametrize("level", [0, 1])
def test_branches_inside_a_loop_with_a_running_sum(level: int) -> None:
    """The blocks of sin's and fmod's branches stand between the loop's, whose sum goes on through them."""
    here = Affine(0, (("i0", 1),))
    body = (
        Load("x", "a0", here),
        Compute("s", "sin", ("x",), np.dtype("f8")),
        Compute("m", "fmod", ("s", "three"), np.dtype("f8")),
        Store("o0", here, "m"),
        Accumulate("total", "m"),
    )
    total = Accumulator("total", "add", np.dtype("f8"), 0)
    kernel = Kernel(
        "k",
        (
            Arg("a0", np.dtype("f8"), "in", 0, 77),
            Arg("o0", np.dtype("f8"), "out", 0, 77),
            Arg("o1", np.dtype("f8"), "out", 0, 1),
        ),
        (
            Constant("three", 1e-18, np.dtype("f8")),
            Loop("i0", 77, "vector", body, (total,)),
            Store("o1", Affine(0, ()), "total"),
        ),
    )
    x = np.geomspace(1, 1e300, 77)
    memory = [x, np.zeros(77), np.zeros(1)]
    run(kernel, memory, level)
    sines = compiled("sin", [np.dtype("f8")], 0)(x)
    np.testing.assert_array_equal(memory[1], np.fmod(sines, 1e-18))
    np.testing.assert_allclose(memory[2][0], memory[1].sum(), rtol=1e-13)


def test_half_precision_is_computed_in_single() -> None:
    here = Affine(0, (("i0", 1),))
    half = np.dtype("f2")
    body = (Load("x", "a0", here), Compute("r", "tanh", ("x",), half), Store("o0", here, "r"))
    args = (Arg("a0", half, "in", 0, 999), Arg("o0", half, "out", 0, 999))
    x = np.linspace(-5, 5, 999).astype(half)
    memory = [x, np.zeros(999, half)]
    run(Kernel("k", args, (Loop("i0", 999, "vector", body),), parallel=True), memory, 0)
    np.testing.assert_array_equal(memory[1], np.tanh(x.astype("f8")).astype(half))
