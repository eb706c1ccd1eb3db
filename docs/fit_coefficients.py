"""Derives the polynomials of the native functions: `python docs/fit_coefficients.py [name …]`.

Each table is a weighted minimax fit (Remez exchange on a fine grid of Chebyshev points, 60 digits) of a smooth
function g by a polynomial, where |weight * (p - g)| is the relative error of the function that p serves. The
first coefficients are rounded to the dtype one after another, the later ones fitted anew each time. The result
is runtime/llvm/mathematics/coefficients.py; names given on the command line are fitted anew, others kept.
Needs mpmath.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import mpmath
import numpy as np
from mpmath import mp, mpf

FILE = Path(__file__).resolve().parent.parent / "runtime" / "llvm" / "mathematics" / "coefficients.py"
Function = Callable[[mpf], mpf]
ROUNDED_ONE_BY_ONE = 4


@dataclass(frozen=True)
class Fit:
    """A polynomial for g on [low, high]; `terms` and `grid` for float32 and float64."""

    name: str
    g: Function
    weight: Function
    low: float
    high: float
    terms: dict[str, int]


def rounded(value: mpf, dtype: str) -> mpf:
    """The nearest number of the dtype (through 60 digits, so rounded once)."""
    bits = 24 if dtype == "f4" else 53
    with mp.workprec(bits):
        return +value


def grid(low: float, high: float, count: int) -> list[mpf]:
    """Chebyshev points, the ends among them."""
    middle, half = (mpf(high) + mpf(low)) / 2, (mpf(high) - mpf(low)) / 2
    return [middle - half * mpmath.cospi(mpf(i) / (count - 1)) for i in range(count)]


def remez(
    points: Sequence[mpf], values: Sequence[mpf], weights: Sequence[mpf], first: int, terms: int
) -> tuple[list[mpf], mpf]:
    """Coefficients of x^first … x^(first + terms - 1) of least weighted error on the points, and that error."""
    count = terms + 1
    usable = [i for i, w in enumerate(weights) if w > 0 and points[i] != 0]
    reference = [usable[round(j * (len(usable) - 1) / (count - 1))] for j in range(count)]
    for _ in range(60):
        rows = mpmath.matrix(count, count)
        right = mpmath.matrix(count, 1)
        for row, i in enumerate(reference):
            power = points[i] ** first
            for column in range(terms):
                rows[row, column] = power
                power *= points[i]
            rows[row, terms] = (-1) ** row / weights[i]
            right[row] = values[i]
        solution = mpmath.lu_solve(rows, right)
        found, level = [solution[j] for j in range(terms)], abs(solution[terms])
        errors = {
            i: weights[i] * (mpmath.polyval(found[::-1], points[i]) * points[i] ** first - values[i])
            for i in usable
        }
        worst = max(abs(e) for e in errors.values())
        if worst <= level * mpf("1.001"):
            break
        reference = exchanged(usable, errors, count)
    return found, worst


def exchanged(usable: Sequence[int], errors: dict[int, mpf], count: int) -> list[int]:
    """The largest error of each run of one sign; runs are dropped from the end with the smaller one."""
    peaks: list[int] = []
    for i in usable:
        if peaks and (errors[i] > 0) == (errors[peaks[-1]] > 0):
            if abs(errors[i]) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > count:
        if len(peaks) == count + 1:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
            continue
        gaps = [min(abs(errors[a]), abs(errors[b])) for a, b in zip(peaks, peaks[1:], strict=False)]
        least = gaps.index(min(gaps))
        del peaks[least : least + 2]
    if len(peaks) < count:
        raise ArithmeticError(f"{len(peaks)} alternations of {count}")
    return peaks


def fitted(fit: Fit, dtype: str) -> tuple[list[mpf], float]:
    """The rounded coefficients, and log2 of the largest weighted error that they leave."""
    terms = fit.terms[dtype]
    points = grid(fit.low, fit.high, 24 * (terms + 2) + 1)
    points = [p for p in points if p != 0]
    values = [fit.g(p) for p in points]
    weights = [abs(fit.weight(p)) for p in points]
    known: list[mpf] = []
    rest = list(values)
    while len(known) < terms:
        found, _ = remez(points, rest, weights, len(known), terms - len(known))
        if len(known) >= ROUNDED_ONE_BY_ONE or len(known) == terms - 1:
            known += [rounded(c, dtype) for c in found]
            break
        known.append(rounded(found[0], dtype))
        rest = [v - mpmath.polyval(known[::-1], p) for v, p in zip(values, points, strict=True)]
    error = max(
        w * abs(mpmath.polyval(known[::-1], p) - v) for v, w, p in zip(values, weights, points, strict=True)
    )
    return known, float(mpmath.log(error, 2))


def written(tables: dict[tuple[str, str], tuple[list[float], float]]) -> str:
    """The module's text."""
    lines = [
        '"""Coefficients of the vector functions, lowest power first, written by docs/fit_coefficients.py.'
    ]
    lines += [
        "",
        "A key is a table's name and a dtype; the comment is log2 of the fit's relative error.",
        '"""',
        "",
    ]
    lines += ["from __future__ import annotations", "", "_HEX = {"]
    for (name, dtype), (values, error) in sorted(tables.items()):
        lines.append(f'    ("{name}", "{dtype}"): (  # {error:.1f}')
        lines += [f'        "{value.hex()}",' for value in values]
        lines.append("    ),")
    lines += [
        "}",
        "TABLES = {key: tuple(float.fromhex(text) for text in texts) for key, texts in _HEX.items()}",
        "",
    ]
    return "\n".join(lines)


def previous() -> dict[tuple[str, str], tuple[list[float], float]]:
    """The tables of the file, with the errors of its comments."""
    if not FILE.exists():
        return {}
    names: dict[str, object] = {}
    text = FILE.read_text(encoding="utf-8")
    exec(text, names)
    errors = [float(line.split("# ")[1]) for line in text.splitlines() if "(  # " in line]
    tables: dict[tuple[str, str], tuple[float, ...]] = names["TABLES"]  # type: ignore[assignment]
    return {key: (list(values), error) for (key, values), error in zip(tables.items(), errors, strict=True)}


# ---- the functions


def expm1_rest(r: mpf) -> mpf:
    return (mpmath.expm1(r) - r) / r**2


def log1p_rest(f: mpf) -> mpf:
    return (mpmath.log1p(f) - f + f * f / 2) / f**3


def erf_far(x: mpf) -> mpf:
    return -mpmath.log(mpmath.erfc(x)) / x - 1


def erf_far_weight(x: mpf) -> mpf:
    return x * mpmath.erfc(x) / mpmath.erf(x)


def of_square(function: Function) -> Function:
    """A function of z = x^2 where one of x is given."""
    return lambda z: function(mpmath.sqrt(z))


erf_near = of_square(lambda x: mpmath.erf(x) / x - 1)
erf_near_weight = of_square(lambda x: x / mpmath.erf(x))
LN2 = float(mpmath.log(2))
HALF_LN2 = LN2 / 2 * 1.0001
EIGHTH = float(mpmath.pi / 4) * 1.003
SQRT2 = float(mpmath.sqrt(2))
RATIO = ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * 1.001

FITS = [
    # e^r = 1 + r + r^2 p(r)
    Fit("exp", expm1_rest, lambda r: r**2 / mpmath.exp(r), -HALF_LN2, HALF_LN2, {"f4": 5, "f8": 10}),
    Fit("expm1", expm1_rest, lambda r: r**2 / mpmath.expm1(r), -HALF_LN2, HALF_LN2, {"f4": 5, "f8": 11}),
    # 2^r = 1 + r p(r)
    Fit(
        "exp2",
        lambda r: mpmath.expm1(r * mpmath.log(2)) / r,
        lambda r: r / mpf(2) ** r,
        -0.5,
        0.5,
        {"f4": 6, "f8": 11},
    ),
    # log(1 + f) = f - f^2 / 2 + f^3 p(f)
    Fit(
        "log",
        log1p_rest,
        lambda f: f**3 / mpmath.log1p(f),
        SQRT2 / 2 - 1.0001,
        SQRT2 - 0.9999,
        {"f4": 9, "f8": 19},
    ),
    # log(1 + f) = f - f^2/2 + s (f^2/2 + s^2 p(s^2)), s = f / (2 + f)
    Fit(
        "log_ratio",
        of_square(lambda s: (2 * mpmath.atanh(s) - 2 * s) / s**3),
        of_square(lambda s: s**3 / mpmath.atanh(s) / 2),
        0,
        RATIO,
        {"f8": 7},
    ),
    # sin r = r + r^3 p(r^2), cos r = 1 - r^2/2 + r^4 p(r^2)
    Fit(
        "sin",
        of_square(lambda r: (mpmath.sin(r) - r) / r**3),
        of_square(lambda r: r**3 / mpmath.sin(r)),
        0,
        EIGHTH**2,
        {"f4": 3, "f8": 6},
    ),
    Fit(
        "cos",
        of_square(lambda r: (mpmath.cos(r) - 1 + r**2 / 2) / r**4),
        of_square(lambda r: r**4 / mpmath.cos(r)),
        0,
        EIGHTH**2,
        {"f4": 3, "f8": 6},
    ),
    # erf x = x + x p(x^2) near 0
    Fit("erf_small", erf_near, erf_near_weight, 0, 0.93, {"f4": 7}),
    Fit("erf_small", erf_near, erf_near_weight, 0, 1.0, {"f8": 12}),
    # erf x = 1 - exp(-x - x p(x)) beyond
    Fit("erf_tail", erf_far, erf_far_weight, 0.92, 4.0, {"f4": 6}),
    Fit("erf_tail", erf_far, erf_far_weight, 1.0, 6.0, {"f8": 17}),
    # log2((1 + s) / (1 - s)) = s p(s^2), for float32 powers
    Fit(
        "log2_ratio",
        of_square(lambda s: 2 * mpmath.atanh(s) / s / mpmath.log(2)),
        of_square(lambda s: s / mpmath.atanh(s) / 2 * mpmath.log(2)),
        0,
        RATIO,
        {"f8": 5},
    ),
    # 2^r = 1 + r p(r) to the accuracy of float32
    Fit(
        "exp2_short",
        lambda r: mpmath.expm1(r * mpmath.log(2)) / r,
        lambda r: r / mpf(2) ** r,
        -0.5,
        0.5,
        {"f8": 7},
    ),
    # log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + s^2 p(s^2)), for float64 powers
    Fit(
        "log_pair",
        of_square(lambda s: (2 * mpmath.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5),
        of_square(lambda s: s**5 / mpmath.atanh(s) / 2),
        0,
        RATIO,
        {"f8": 8},
    ),
]


def main(names: Sequence[str]) -> None:
    """Fit the named tables (all without names) and write the file."""
    mp.dps = 60
    tables = previous()
    wanted = {(f.name, dtype) for f in FITS for dtype in f.terms}
    tables = {key: table for key, table in tables.items() if key in wanted}
    for fit in FITS:
        for dtype in fit.terms:
            if names and fit.name not in names and (fit.name, dtype) in tables:
                continue
            coefficients, error = fitted(fit, dtype)
            tables[fit.name, dtype] = [float(np.dtype(dtype).type(float(c))) for c in coefficients], error
            print(f"{fit.name} {dtype}: {len(coefficients)} terms, 2^{error:.1f}")
    FILE.write_text(written(tables), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
