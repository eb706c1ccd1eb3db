"""Vector functions held against mpmath, NumPy and SciPy: errors in ulp, special values, lanes, branches.

The cases, samples and measures are those of docs/measure_mathematics.py, which writes the published table.
"""

import itertools
import math
import runpy
import timeit
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.special

from tapeless.runtime.llvm.mathematics import FUNCTIONS
from tapeless.runtime.llvm.mathematics.alone import compiled, module
from tapeless.runtime.llvm.mathematics.builder import Target
from tapeless.runtime.llvm.mathematics.coefficients import TABLES
from tapeless.runtime.llvm.mathematics.tables import EXP2, LOGARITHMS, PIECES

DOCS = Path(__file__).resolve().parents[3] / "docs"
MEASURE = runpy.run_path(str(DOCS / "measure_mathematics.py"))
UNARY, BINARY, F4, F8 = (MEASURE[name] for name in ("UNARY", "BINARY", "F4", "F8"))
NAMES = [*UNARY, *BINARY]
DTYPES = [pytest.param(F4, id="float32"), pytest.param(F8, id="float64")]
UNFUSED = Target(fma=False, scalef=False)
NOT_LOOKED_UP = Target(fma=True, scalef=False)


def operands_of(name: str, dtype: Any, count: int, seed: int = 0) -> tuple[Any, ...]:
    if name in UNARY:
        return (MEASURE["unary_samples"](UNARY[name], dtype, count, seed),)
    found: tuple[Any, ...] = MEASURE["binary_samples"](name, BINARY[name], dtype, count, seed)
    return found


def largest_error(name: str, dtype: Any, operands: tuple[Any, ...], got: Any) -> tuple[float, Any]:
    """The error in ulp, and the operands that it is at."""
    case = UNARY.get(name) or BINARY[name]
    if dtype == F8:
        error, place = MEASURE["double_error"](case, got, operands)
    else:
        errors = MEASURE["single_errors"](case, got, operands)
        place = int(errors.argmax())
        error = float(errors[place])
    return error, [x[place] for x in operands]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_error_is_at_most_two_units(name: str, dtype: Any) -> None:
    operands = operands_of(name, dtype, 240 if dtype == F8 else 60_000)
    got = compiled(name, [dtype] * len(operands), MEASURE["lanes"](dtype))(*operands)
    assert got.dtype == dtype
    error, at = largest_error(name, dtype, operands, got)
    assert error <= 2, at


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_error_over_the_whole_range(name: str) -> None:
    assert MEASURE["largest_error"](name, F4, 3000, step=997) <= 2
    assert MEASURE["largest_error"](name, F8, 3000) <= 2


def kinds(values: Any) -> Any:
    """NaN, infinite, 0 or other, and the sign where there is one."""
    kind = np.where(np.isnan(values), 3, np.where(np.isinf(values), 2, np.where(values == 0, 0, 1)))
    return np.where(np.isnan(values), 30, 10 * kind + np.signbit(values))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_special_values_are_of_numpys_kind(name: str, dtype: Any) -> None:
    known = "power" if name == "float_power" else name
    reference: Any = getattr(np, known, None) or getattr(scipy.special, known)
    with np.errstate(all="ignore"):
        points = np.array([v for s in MEASURE["SPECIAL"] for v in (s, -s)]).astype(dtype)
    operands: tuple[Any, ...] = (points,)
    if name in BINARY or name == "float_power":
        operands = tuple(np.array(list(itertools.product(points, points))).T.copy())
    got = compiled(name, [dtype] * len(operands), MEASURE["lanes"](dtype))(*operands)
    with np.errstate(all="ignore"):
        wanted = kinds(reference(*operands))
    if name == "expit":
        underflow = (got > 0) & (wanted == 0)
        assert (got[underflow] < np.finfo(dtype).tiny).all()
        got = np.where(underflow, 0, got)
    different = np.flatnonzero(kinds(got) != wanted)
    assert [tuple(x[i] for x in operands) for i in different] == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "name",
    ["exp", "log", "log1p", "sin", "tan", "tanh", "erf", "erfc", "arctan2", "power", "fmod", "cbrt"],
)
def test_lanes_do_not_change_a_bit(name: str, dtype: Any) -> None:
    operands = operands_of(name, dtype, 300) if name != "fmod" else operands_of("arctan2", dtype, 300)
    wanted = compiled(name, [dtype] * len(operands), 16)(*operands).tobytes()
    for lanes in (0, 1, 2, 4, 8, 32, 64):
        assert compiled(name, [dtype] * len(operands), lanes)(*operands).tobytes() == wanted, lanes


@pytest.mark.parametrize("name", ["exp", "exp2", "expit", "sinh"])
def test_scaling_instruction_does_not_change_a_bit(name: str) -> None:
    operands = operands_of(name, F4, 5000)
    plain, quick = (
        compiled(name, [F4], 16, Target(fma=True, scalef=scalef))(*operands)
        for scalef in (False, "+avx512f" in MEASURE["engine"].host()[1])
    )
    assert plain.tobytes() == quick.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_without_fused_instructions(name: str, dtype: Any) -> None:
    operands = operands_of(name, dtype, 120 if dtype == F8 else 20_000, seed=1)
    text, _ = module(name, [dtype] * len(operands), 8, UNFUSED)
    assert "@llvm.fma" not in text
    got = compiled(name, [dtype] * len(operands), 8, UNFUSED)(*operands)
    error, at = largest_error(name, dtype, operands, got)
    assert error <= 2, at


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "log", "erf", "tanh", "xlogy", "entr", "logit"])
def test_without_tables(name: str, dtype: Any) -> None:
    """What machines without permutations of registers compute."""
    operands = operands_of(name, dtype, 240 if dtype == F8 else 60_000, seed=2)
    text, _ = module(name, [dtype] * len(operands), 16, NOT_LOOKED_UP)
    assert "@llvm.x86" not in text
    got = compiled(name, [dtype] * len(operands), 16, NOT_LOOKED_UP)(*operands)
    error, at = largest_error(name, dtype, operands, got)
    assert error <= 2, at


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "log", "erf", "tanh"])
def test_special_values_without_tables(name: str, dtype: Any) -> None:
    reference: Any = getattr(np, name, None) or getattr(scipy.special, name)
    with np.errstate(all="ignore"):
        points = np.array([v for s in MEASURE["SPECIAL"] for v in (s, -s)]).astype(dtype)
        wanted = kinds(reference(points))
    for lanes in (0, 16):
        got = compiled(name, [dtype], lanes, NOT_LOOKED_UP)(points)
        assert [points[i] for i in np.flatnonzero(kinds(got) != wanted)] == []


@pytest.mark.parametrize("key", sorted(PIECES))
def test_pieces_meet_and_end_at_one(key: tuple[str, str]) -> None:
    """Beside the ends of the pieces, and from the last one on."""
    name, dtype = key[0].removesuffix("_eight"), key[1]
    pieces = PIECES[key]
    ends = (np.arange(len(pieces.rows[0])) + 0.5) * pieces.step
    x = ends.astype(dtype)
    x = np.concatenate([x, np.nextafter(x, 0, dtype=dtype), np.nextafter(x, 9, dtype=dtype)])
    got = compiled(name, [np.dtype(dtype)], MEASURE["lanes"](np.dtype(dtype)))(x)
    assert largest_error(name, np.dtype(dtype), (x,), got)[0] <= 2
    far = np.array([pieces.last, 2 * pieces.last, np.inf], dtype)
    got = compiled(name, [np.dtype(dtype)], MEASURE["lanes"](np.dtype(dtype)))(np.concatenate([far, -far]))
    np.testing.assert_array_equal(got, [1, 1, 1, -1, -1, -1])


# Hard cases of the reduction: numbers closest to a multiple of pi/2 (Muller et al., Handbook of Floating-
# Point Arithmetic, section 10.2), powers of two, the largest numbers, and those around the quick way's limit.
LARGE = {
    F8: [6381956970095103.0 * 2.0**797, 2.0**27, 2.0**27 + 2.0**-25, 4.3e10, 1e22, 2.0**1023, 1.79e308],
    F4: [16367173.0 * 2.0**72, 2.0**15, 2.0**15 + 2.0**-8, 1e10, 3.4028235e38],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_arguments(name: str, dtype: Any) -> None:
    points = np.array([v for x in LARGE[dtype] for v in (x, -x)], dtype)
    got = compiled(name, [dtype], 4)(points)
    with mpmath.workprec(2400):
        wanted = [getattr(mpmath, name)(mpmath.mpf(float(x))) for x in points]
        for x, result, exact in zip(points, got, wanted, strict=True):
            unit = int(MEASURE["unit_exponents"](mpmath.frexp(exact)[1], dtype))
            assert abs(mpmath.mpf(float(result)) - exact) <= 2 * mpmath.ldexp(1, unit), x


EXPONENTS = [0.0, 1.0, 2.0, 3.0, -1.0, 0.5, -0.5, -2.0, 5.0, 1.7, -3.0, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("lanes", [0, 8])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("exponent", EXPONENTS)
def test_powers_of_a_known_exponent(exponent: float, dtype: Any, lanes: int) -> None:
    x = operands_of("power", dtype, 1000)[0]
    with np.errstate(over="ignore"):
        special = np.array([v for s in MEASURE["SPECIAL"] for v in (s, -s)]).astype(dtype)
    x = np.concatenate([x, -x, special])
    y = np.full(len(x), exponent, dtype)
    got = compiled("power", [dtype], lanes, constants=[exponent])(x)
    with np.errstate(all="ignore"):
        wanted = np.power(x, y)
    np.testing.assert_array_equal(kinds(got), kinds(wanted))
    finite = np.isfinite(wanted) & (x > 0)
    error, at = largest_error("power", dtype, (x[finite], y[finite]), got[finite])
    assert error <= 2, at


def test_sinc_is_numpys_formula() -> None:
    x = np.array([0.0, -0.0, 1.0, -1.5, 1e-300, 1e5, np.nan])
    np.testing.assert_allclose(compiled("sinc", [F8], 8)(x), np.sinc(x), rtol=1e-15, atol=0)


def test_text_of_exp(golden: Callable[[str, str], None]) -> None:
    golden("exp_f32", module("exp", [F4], 4, Target(fma=True, scalef=False))[0])


@pytest.mark.parametrize(("name", "dtype"), [("exp2", "f4"), ("sin", "f8"), ("erfc", "f4")])
def test_coefficients_are_those_of_the_script(name: str, dtype: str) -> None:
    script = runpy.run_path(str(DOCS / "fit_coefficients.py"))
    fit = next(f for f in script["FITS"] if f.name == name and dtype in f.terms)
    with mpmath.workdps(60):
        found, error = script["fitted"](fit, dtype)
    assert tuple(map(float, found)) == TABLES[name, dtype]
    assert error < (-26 if dtype == "f4" else -54) + (name == "exp2")


@pytest.mark.parametrize(("name", "dtype"), sorted(PIECES))
def test_pieces_are_those_of_the_script(name: str, dtype: str) -> None:
    script = runpy.run_path(str(DOCS / "fit_coefficients.py"))
    whole = next(w for w in script["IN_PIECES"] if (w.name, w.dtype) == (name, dtype))
    with mpmath.workdps(60):
        for number in (0, 3):
            found = tuple(map(float, script["piece"](whole, number)))
            assert found == tuple(row[number] for row in PIECES[name, dtype].rows)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_looked_up_logarithms_are_those_of_the_script(dtype: str) -> None:
    script = runpy.run_path(str(DOCS / "fit_coefficients.py"))
    with mpmath.workdps(60):
        found = tuple(tuple(map(float, row)) for row in script["logarithms"](dtype))
    assert found == LOGARITHMS[dtype]


def test_looked_up_powers_are_those_of_the_script() -> None:
    script = runpy.run_path(str(DOCS / "fit_coefficients.py"))
    with mpmath.workdps(60):
        assert tuple(map(float, script["powers_of_two"]())) == EXP2


@pytest.mark.timing
@pytest.mark.parametrize("target", [None, NOT_LOOKED_UP], ids=["instructions", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["exp", "exp2", "expit"])
def test_what_vanishes_takes_no_longer(name: str, dtype: Any, target: Target | None) -> None:
    """Operations with subnormal results take a hundred times as long on many CPUs."""
    function = compiled(name, [dtype], MEASURE["lanes"](dtype), target)

    def seconds(number: float) -> float:
        x = np.full(40_000, number, dtype)
        return min(timeit.repeat(lambda: function(x), number=1, repeat=20))

    assert max(seconds(-1e4), seconds(-math.inf)) < 4 * seconds(-1.0)
