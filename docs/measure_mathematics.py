"""Measures the native functions and writes mathematics.md: `python docs/measure_mathematics.py`.

Errors are in units in the last place of the exact result: for float64 against mpmath on samples of the whole
range and around the places where a function changes its formula, for float32 against float64 on every 997th
of all 2^32 patterns (functions of two operands: on random pairs). Needs mpmath, scipy and llvmlite.
"""

import ctypes
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import scipy.special
from mpmath import mp, mpf

from tapeless.runtime.llvm import engine
from tapeless.runtime.llvm.mathematics.alone import compiled

HERE = Path(__file__).resolve().parent
F4, F8 = np.dtype(np.float32), np.dtype(np.float64)
Array = Any


@dataclass(frozen=True)
class Case:
    """A function: exact, in NumPy or SciPy, where to sample it, and around which points.

    `largest` bounds the samples of all magnitudes, where the exact function cannot go farther. `beside` says
    that the error counts in units of the largest operand, too: the result of a sum may cancel.
    """

    exact: Callable[..., mpf]
    numpy: Callable[..., Array]
    low: float
    high: float
    points: tuple[float, ...] = ()
    largest: float = np.inf
    beside: bool = False


def cube_root(x: mpf) -> mpf:
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def log_ndtr(x: mpf) -> mpf:
    half = mpmath.erfc(abs(x) / mpmath.sqrt(2)) / 2
    return mpmath.log(half) if x < 0 else mpmath.log1p(-half)


def expit(x: mpf) -> mpf:
    return 1 / (1 + mpmath.exp(-x))


LN2 = float(np.log(2))
UNARY = {
    "exp": Case(mpmath.exp, np.exp, -760, 720, (0, LN2 / 2, 88.7, -87.3, -103.9, 709.8, -708.4, -745.1), 800),
    "exp2": Case(
        lambda x: mpf(2) ** x, np.exp2, -1100, 1030, (0, 0.5, 128, -126, -150, 1024, -1022, -1074), 2000
    ),
    "expm1": Case(mpmath.expm1, np.expm1, -50, 720, (0, LN2 / 2, -LN2 / 2, 88.7, 709.8, 1), 800),
    "log": Case(mpmath.log, np.log, 0, 3, (1, 0.5**0.5, 2**0.5, 0.75, 0.96875, 1.0625, 1.5)),
    "log2": Case(lambda x: mpmath.log(x, 2), np.log2, 0, 3, (1, 0.5**0.5, 2**0.5)),
    "log10": Case(mpmath.log10, np.log10, 0, 3, (1, 0.5**0.5, 2**0.5)),
    "log1p": Case(mpmath.log1p, np.log1p, -1, 3, (-1, 0, 2**0.5 - 1, 0.5**0.5 - 1)),
    "sin": Case(mpmath.sin, np.sin, -10, 10, tuple(k * np.pi / 4 for k in range(1, 13))),
    "cos": Case(mpmath.cos, np.cos, -10, 10, tuple(k * np.pi / 4 for k in range(1, 13))),
    "tan": Case(mpmath.tan, np.tan, -10, 10, tuple(k * np.pi / 4 for k in range(1, 13))),
    "arcsin": Case(mpmath.asin, np.arcsin, -1, 1, (1, -1, 0.625)),
    "arccos": Case(mpmath.acos, np.arccos, -1, 1, (1, -1, 0.625, -0.625)),
    "arctan": Case(mpmath.atan, np.arctan, -3, 3, (1, -1)),
    "sinh": Case(mpmath.sinh, np.sinh, -712, 712, (1, -1, 89.4, 710.4), 800),
    "cosh": Case(mpmath.cosh, np.cosh, -712, 712, (0, 89.4, 710.4), 800),
    "tanh": Case(mpmath.tanh, np.tanh, -10, 10, (LN2 / 4, 19 / 128, 0.55, 9, 19), 1000),
    "arcsinh": Case(mpmath.asinh, np.arcsinh, -3, 3, (0.5, 1)),
    "arccosh": Case(mpmath.acosh, np.arccosh, 1, 3, (1,)),
    "arctanh": Case(mpmath.atanh, np.arctanh, -1, 1, (1, -1, 0.5)),
    "cbrt": Case(cube_root, np.cbrt, -10, 10, (1, 2)),
    "erf": Case(mpmath.erf, scipy.special.erf, -6, 6, (33 / 512, 25 / 128, 0.921875, 1, 3.9, 5.9), 100),
    "erfc": Case(mpmath.erfc, scipy.special.erfc, -6, 28, (0.5, 10, 26.5), 40),
    "erfcx": Case(
        lambda x: mpmath.exp(x * x) * mpmath.erfc(x), scipy.special.erfcx, -26, 26, (0.5, -0.5, -9.3), 1e4
    ),
    "ndtr": Case(mpmath.ncdf, scipy.special.ndtr, -39, 9, (0.625, -0.625, -14, -37.5), 60),
    "log_ndtr": Case(log_ndtr, scipy.special.log_ndtr, -50, 39, (0.625, -0.625, -14.5, -38.75), 1e4),
    "expit": Case(expit, scipy.special.expit, -760, 40, (0, -88, -708), 800),
    "log_expit": Case(
        lambda x: -mpmath.log1p(mpmath.exp(-x)), scipy.special.log_expit, -50, 760, (0, 0.88), 800
    ),
    "logit": Case(
        lambda x: mpmath.log(x) - mpmath.log1p(-x), scipy.special.logit, 0, 1, (0.25, 0.5, 0.75, 1)
    ),
    "entr": Case(lambda x: -x * mpmath.log(x), scipy.special.entr, 0, 3, (1,)),
}
BINARY = {
    "power": Case(mpmath.power, np.power, 0, 0),
    "arctan2": Case(mpmath.atan2, np.arctan2, -3, 3),
    "hypot": Case(mpmath.hypot, np.hypot, -3, 3),
    "logaddexp": Case(lambda x, y: x + mpmath.log1p(mpmath.exp(y - x)), np.logaddexp, -40, 40, beside=True),
    "logaddexp2": Case(
        lambda x, y: x + mpmath.log1p(mpf(2) ** (y - x)) / mpmath.log(2), np.logaddexp2, -40, 40, beside=True
    ),
    "xlogy": Case(lambda x, y: x * mpmath.log(y), scipy.special.xlogy, 0, 3),
    "xlog1py": Case(lambda x, y: x * mpmath.log1p(y), scipy.special.xlog1py, -1, 3),
}
SPECIAL = [
    0.0, np.inf, np.nan, 5e-324, 1e-310, 2.0**-1022, 1e-45, 1e-40, 2.0**-126, 1e-30, 0.5, 1.0, 1.5, 2.0, 2.5,
    3.0, 88.8, 100.0, 104.0, 709.9, 710.5, 746.0, 1e10, 2.0**24, 2.0**24 + 2, 2.0**53, 2.0**53 + 2, 1e30,
    3.4e38, 1e300,
]  # fmt: skip
PAGE = """# Native mathematics

Native kernels compute these functions by polynomials of their own, written out for whole vectors, instead of
calling a library. The largest error is held at 2 units in the last place (ulp), for float32 and float64, over
the whole range: subnormal numbers, huge arguments, the neighbourhood of every place where a formula changes.
What is infinite, NaN, 0 or -0.0 in NumPy (SciPy) is so here, with one exception: `expit(x)` far to the left
is the tiny number that it is, where SciPy gives 0.

| function | float32: ulp | ns | NumPy's ns | float64: ulp | ns | NumPy's ns |
|---|---|---|---|---|---|---|
{rows}

- Measured by `python docs/measure_mathematics.py` on {machine}; NumPy {numpy}, SciPy {scipy}.
  Errors of float64 are against mpmath, those of float32 against float64 for every 997th of all 2^32 patterns,
  or for random pairs.
- Where vectors have 256 bits or fewer these have formulas of their own, and other errors (float32, float64):
  `exp` (0.82, 0.84), `log` (0.82, 0.83), `tanh` (1.63, 1.19), `erf` (1.31 with AVX2, 0.88),
  `xlogy` (1.80, 1.69), `entr` (1.61, 1.58), `logit` (1.35, 1.26). With AVX2 polynomials of fourteen
  terms and more are added up in another order; `erfc` in float64 errs by 1.52.
- ns: nanoseconds for an element in cache, one core, one function alone; in a fused kernel it is less.
- `logaddexp` and `logaddexp2` count in units of the largest of result and operands: their result may cancel.
- Exact, as in NumPy: `floor_divide`, `remainder`, `fmod` (floats and integers), shifts, `bitwise_count`,
  `signbit`, `spacing`, `nextafter`, `heaviside`, `fmax`, `fmin`, `clip`, `deg2rad`, `rad2deg`.
- `sinc` is NumPy's formula, sin(pi x) / (pi x), with this sine. float16 is computed in float32.
- Not among them, so computed by NumPy between native kernels: gamma functions and their derivatives, Bessel
  functions, `rel_entr`, `kl_div`, `ldexp`, `gcd`, `lcm`, powers of integers, what gives several results.
- Without fused multiply-add (processors before 2013) the bound holds, too; float remainders are NumPy's.
"""


# ---- samples


def spread(dtype: np.dtype[Any], count: int, largest: float, rng: np.random.Generator) -> Array:
    """Numbers of both signs and all magnitudes up to one, subnormal ones among them."""
    tiny, huge = float(np.finfo(dtype).smallest_subnormal), min(float(np.finfo(dtype).max), largest)
    sizes = np.exp(rng.uniform(np.log(tiny), np.log(huge), count))
    return sizes * np.where(rng.random(count) < 0.5, -1, 1)


def around(points: Sequence[float], dtype: np.dtype[Any], count: int, rng: np.random.Generator) -> Array:
    """Numbers close to the points: relative distances of all magnitudes down to one unit."""
    if not points:
        return np.zeros(0)
    distance = spread(dtype, count, 1.0, rng)
    distance = np.where(abs(distance) < 1e-17, 0, distance)
    return rng.choice(points, count) * (1 + distance * 0.1)


def unary_samples(case: Case, dtype: np.dtype[Any], count: int, seed: int = 0) -> Array:
    """A third uniform, a third of all magnitudes, a third around the points."""
    rng = np.random.default_rng(seed)
    third = max(count // 3, 1)
    parts = [
        rng.uniform(case.low, case.high, third),
        spread(dtype, third, case.largest, rng),
        around(case.points, dtype, third, rng),
    ]
    return np.concatenate(parts).astype(dtype)


def binary_samples(
    name: str, case: Case, dtype: np.dtype[Any], count: int, seed: int = 0
) -> tuple[Array, Array]:
    """Uniform pairs, and pairs of all magnitudes; powers whose results cover the range."""
    rng = np.random.default_rng(seed)
    if name == "power":
        x = np.abs(spread(dtype, count, np.inf, rng)).astype(dtype)
        x[: count // 2] = rng.uniform(0.5, 2, count // 2)
        span = 104 if dtype == F4 else 745
        with np.errstate(all="ignore"):
            return x, (rng.uniform(-span, span, count) / np.log(x.astype(F8))).astype(dtype)
    half = count // 2
    x, y = (
        np.concatenate([rng.uniform(case.low, case.high, half), spread(dtype, half, case.largest, rng)])
        for _ in range(2)
    )
    if case.beside:
        x, y = x[:half], y[:half]
    return x.astype(dtype), y.astype(dtype)


# ---- errors


def unit_exponents(exponents: Array, dtype: np.dtype[Any]) -> Array:
    """log2 of the unit in the last place of numbers 2^(exponent - 1) <= |x| < 2^exponent."""
    info = np.finfo(dtype)
    return np.maximum(exponents, info.minexp + 1) - info.nmant - 1


def double_error(case: Case, got: Array, operands: Sequence[Array]) -> tuple[float, int]:
    """The largest error of float64 results in ulp, and where; infinite where the kinds of results differ."""
    worst, place = 0.0, -1
    largest = mpf(float(np.finfo(F8).max))
    for i, (result, *point) in enumerate(zip(got.tolist(), *(x.tolist() for x in operands), strict=True)):
        try:
            exact = case.exact(*map(mpf, point))
        except (ValueError, ZeroDivisionError):
            continue
        if not isinstance(exact, mpf) or not mpmath.isfinite(exact):
            continue
        if abs(exact) >= largest * (1 + mpf(2) ** -54):
            error = 0.0 if np.isinf(result) else np.inf
        elif not np.isfinite(result):
            error = np.inf if abs(exact) < largest else 0.0
        else:
            sizes = [abs(exact), *(abs(mpf(p)) for p in point)] if case.beside else [abs(exact)]
            unit = int(unit_exponents(mpmath.frexp(max(sizes))[1], F8))
            error = float(abs(mpf(result) - exact) / mpmath.ldexp(1, unit))
        if error > worst:
            worst, place = error, i
    return worst, place


def single_errors(case: Case, got: Array, operands: Sequence[Array]) -> Array:
    """The errors of float32 results in ulp; infinite where the kinds of results differ."""
    with np.errstate(all="ignore"):
        wide = [x.astype(F8) for x in operands]
        exact = case.numpy(*wide)
        size = np.maximum.reduce([np.abs(exact), *map(np.abs, wide)]) if case.beside else exact
        unit = np.ldexp(1.0, unit_exponents(np.frexp(size)[1], F4))
        errors = np.abs(got.astype(F8) - exact) / unit
        largest = float(np.finfo(F4).max)
        beyond = np.abs(exact) >= largest * (1 + 2.0**-25)
        errors = np.where(beyond & np.isinf(got) & (np.sign(got) == np.sign(exact)), 0.0, errors)
        errors = np.where(np.isnan(exact) & np.isnan(got), 0.0, errors)
    return np.where(np.isnan(errors), np.inf, errors)


def patterns(step: int) -> Array:
    """Every step-th of the float32 patterns, NaN among them."""
    return np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32).view(F4)


def lanes(dtype: np.dtype[Any]) -> int:
    """Twice the width of a register, as in kernels."""
    return max(2, 2 * engine.vector_bytes() // dtype.itemsize)


def largest_error(name: str, dtype: np.dtype[Any], count: int, step: int = 997) -> float:
    """The largest error of a function in ulp, on `count` samples (float32: also every step-th pattern)."""
    case, arity = (UNARY[name], 1) if name in UNARY else (BINARY[name], 2)
    function = compiled(name, [dtype] * arity, lanes(dtype))
    if dtype == F8:
        operands = (unary_samples(case, F8, count),) if arity == 1 else binary_samples(name, case, F8, count)
        return double_error(case, function(*operands), operands)[0]
    if arity == 1:
        samples: tuple[Array, ...] = (np.concatenate([unary_samples(case, F4, 100 * count), patterns(step)]),)
    else:
        samples = binary_samples(name, case, F4, 100 * count)
    return float(single_errors(case, function(*samples), samples).max())


# ---- times and the page


def nanoseconds(call: Callable[[], Any], length: int) -> float:
    """The best of many calls, per element."""
    best = np.inf
    for _ in range(40):
        start = time.perf_counter()
        for _ in range(10):
            call()
        best = min(best, (time.perf_counter() - start) / 10)
    return float(best / length * 1e9)


def times(name: str, dtype: np.dtype[Any], length: int = 8192) -> tuple[float, float]:
    """Nanoseconds for an element in cache, ours at code generation level 0 and NumPy's or SciPy's."""
    case, arity = (UNARY[name], 1) if name in UNARY else (BINARY[name], 2)
    x = np.random.default_rng(0).uniform(0.1, 0.9, length) + (name == "arccosh")
    operands = [x.astype(dtype)] * arity
    result = np.empty(length, dtype)
    function = compiled(name, [dtype] * arity, lanes(dtype))
    addresses = (ctypes.c_void_p * (arity + 1))(*(a.ctypes.data for a in (*operands, result)))
    ours = nanoseconds(lambda: function.function(addresses, length), length)  # type: ignore[attr-defined]
    return ours, nanoseconds(lambda: case.numpy(*operands, out=result), length)


def page(count: int) -> str:
    """The page's text."""
    rows = []
    for name in [*UNARY, *BINARY]:
        cells = [f"`{name}`"]
        for dtype in (F4, F8):
            ours, numpys = times(name, dtype)
            cells += [f"{largest_error(name, dtype, count):.2f}", f"{ours:.2f}", f"{numpys:.2f}"]
        rows.append("| " + " | ".join(cells) + " |")
        print(rows[-1], flush=True)
    machine = f"{engine.host()[0]} ({platform.machine()}, vectors of {8 * engine.vector_bytes()} bits)"
    return PAGE.format(rows="\n".join(rows), machine=machine, numpy=np.__version__, scipy=scipy.__version__)


def main(count: int) -> None:
    mp.prec = 160
    (HERE / "mathematics.md").write_text(page(count), encoding="utf-8")


mp.prec = 160
if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 6000)
