"""Derives the polynomials of the native functions: `python docs/fit_coefficients.py [name …]`.

Each table is a weighted minimax fit (Remez exchange on a fine grid of Chebyshev points, 60 digits) of a
smooth function g by a polynomial p, where |weight * (p - g)| is the relative error of the function that p
serves. The first coefficients are rounded to the dtype one after another, the later ones fitted anew each
time (where 0 is inside the interval, higher powers cannot make good for lower ones, and all are rounded
together). The result is runtime/llvm/mathematics/coefficients.py; names given on the command line are fitted
anew, others kept. `python docs/fit_coefficients.py tables` writes tables.py: functions in pieces, a fit for
each, and the numbers that logarithms look up. Needs mpmath.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from textwrap import wrap

import mpmath
import numpy as np
from mpmath import mp, mpf

FOLDER = Path(__file__).resolve().parent.parent / "runtime" / "llvm" / "mathematics"
FILE, TABLES = FOLDER / "coefficients.py", FOLDER / "tables.py"
Function = Callable[[mpf], mpf]
ROUNDED_ONE_BY_ONE = 4


@dataclass(frozen=True)
class Fit:
    """A polynomial for g on [low, high]; `split` writes the first coefficient as a sum of two numbers."""

    name: str
    g: Function
    weight: Function
    low: float
    high: float
    terms: dict[str, int]
    split: bool = False


def rounded(value: mpf, dtype: str) -> mpf:
    """The nearest number of the dtype (through 60 digits, so rounded once)."""
    bits = 24 if dtype == "f4" else 53
    with mp.workprec(bits):
        return +value


def at(coefficients: Sequence[mpf], x: mpf) -> mpf:
    """The polynomial's value, lowest power first."""
    total = mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def grid(low: float, high: float, count: int) -> list[mpf]:
    """Chebyshev points, the ends among them."""
    middle, half = (mpf(high) + mpf(low)) / 2, (mpf(high) - mpf(low)) / 2
    return [middle - half * mpmath.cospi(mpf(i) / (count - 1)) for i in range(count)]


def remez(
    points: Sequence[mpf], values: Sequence[mpf], weights: Sequence[mpf], first: int, terms: int
) -> tuple[list[mpf], mpf]:
    """Coefficients of `terms` powers from x^first on, of least weighted error, and that error."""
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
        errors = {i: weights[i] * (at(found, points[i]) * points[i] ** first - values[i]) for i in usable}
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
        gaps = [min(abs(errors[a]), abs(errors[b])) for a, b in pairwise(peaks)]
        least = gaps.index(min(gaps))
        del peaks[least : least + 2]
    if len(peaks) < count:
        raise ArithmeticError(f"{len(peaks)} alternations of {count}")
    return peaks


def fitted(fit: Fit, dtype: str) -> tuple[list[mpf], float]:
    """The rounded coefficients, and log2 of the largest weighted error that they leave."""
    terms = fit.terms[dtype]
    points = [p for p in grid(fit.low, fit.high, 24 * (terms + 2) + 1) if p != 0]
    values = [fit.g(p) for p in points]
    weights = [abs(fit.weight(p)) for p in points]
    together = fit.low < 0 < fit.high
    known: list[mpf] = []
    rest = values
    while True:
        found, _ = remez(points, rest, weights, len(known), terms - len(known))
        if together or len(known) >= ROUNDED_ONE_BY_ONE or len(known) == terms - 1:
            break
        known.append(rounded(found[0], dtype))
        rest = [v - at(known, p) for v, p in zip(values, points, strict=True)]
    known += [rounded(c, dtype) for c in found]
    low = [rounded(found[0] - known[0], dtype)] if fit.split else []
    exact = [known[0] + sum(low), *known[1:]]
    errors = (w * abs(at(exact, p) - v) for v, w, p in zip(values, weights, points, strict=True))
    return [known[0], *low, *known[1:]], float(mpmath.log(max(errors), 2))


def hexadecimal(value: float) -> str:
    digits, exponent = value.hex().split("p")
    return f"{digits.rstrip('0')}p{exponent}".replace(".p", "p")


def written(tables: dict[tuple[str, str], tuple[list[float], float]]) -> str:
    """The module's text."""
    lines = [
        '"""Coefficients of the vector functions, lowest power first, written by docs/fit_coefficients.py.',
        "",
        "A key is a table's name and a dtype; the comment is log2 of the fit's relative error.",
        '"""',
        "",
        "from __future__ import annotations",
        "",
        "_TEXTS = {",
    ]
    for (name, dtype), (values, error) in sorted(tables.items()):
        lines.append(f'    ("{name}", "{dtype}"): (  # {error:.1f}')
        lines += [
            f'        "{row}"' for row in wrap(" ".join(map(hexadecimal, values)), 96, drop_whitespace=False)
        ]
        lines.append("    ),")
    lines += [
        "}",
        "TABLES = {key: tuple(map(float.fromhex, text.split())) for key, text in _TEXTS.items()}",
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


def of_square(function: Function) -> Function:
    """A function of z = x^2 where one of x is given."""
    return lambda z: function(mpmath.sqrt(z))


def odd(name: str, function: Function, high: float, terms: dict[str, int]) -> Fit:
    """f(x) = x + x^3 p(x^2) for an odd function with slope 1 at 0, |x| <= high."""
    rest = of_square(lambda x: (function(x) - x) / x**3)
    return Fit(name, rest, of_square(lambda x: x**3 / function(x)), 0, high**2, terms)


def expm1_rest(r: mpf) -> mpf:
    return (mpmath.expm1(r) - r) / r**2


def exp2_rest(r: mpf) -> mpf:
    return mpmath.expm1(r * mpmath.log(2)) / r


def exp2_weight(r: mpf) -> mpf:
    return r / mpf(2) ** r


def log1p_rest(f: mpf) -> mpf:
    return (mpmath.log1p(f) - f + f * f / 2) / f**3


def near_one_rest(z: mpf) -> mpf:
    return (mpmath.log1p(z) - z) / z**2


def near_one_weight(z: mpf) -> mpf:
    return z**2 / mpmath.log1p(z)


def cos_rest(r: mpf) -> mpf:
    return (mpmath.cos(r) - 1 + r**2 / 2) / r**4


def ratio_rest(s: mpf) -> mpf:
    return (2 * mpmath.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5


def log2_of_ratio(s: mpf) -> mpf:
    return 2 * mpmath.atanh(s) / s / mpmath.log(2)


def erf_rest(x: mpf) -> mpf:
    return mpmath.erf(x) / x - 1


def erf_far(x: mpf) -> mpf:
    return -mpmath.log(mpmath.erfc(x)) / x - 1


def erf_far_weight(x: mpf) -> mpf:
    return x * mpmath.erfc(x) / mpmath.erf(x)


def erfcx(x: mpf) -> mpf:
    """exp(x^2) erfc(x), by 1 / (x + (1/2) / (x + 1 / (x + …))) where the factors leave the range."""
    if x < 40:
        return mpmath.exp(x * x) * mpmath.erfc(x)
    fraction = x
    for k in range(80, 0, -1):
        fraction = x + mpf(k) / 2 / fraction
    return 1 / fraction / mpmath.sqrt(mpmath.pi)


def in_t(function: Function, middle: float) -> Function:
    """A function of t = (x - middle) / (x + middle) where one of x in [0, inf) is given."""
    return lambda t: function(middle * (1 + t) / (1 - t))


def tail(x: mpf) -> mpf:
    return erfcx(x) * (1 + 2 * x)


def normal_tail(x: mpf) -> mpf:
    return erfcx(x / mpmath.sqrt(2)) / 2 * (1 + x)


def reciprocal(function: Function) -> Function:
    return lambda x: 1 / function(x)


HALF_LN2 = float(mpmath.log(2)) / 2 * 1.0001
EIGHTH = float(mpmath.pi / 4) * 1.003
SQRT2 = float(mpmath.sqrt(2))
RATIO = ((SQRT2 - 1) / (SQRT2 + 1)) ** 2 * 1.001

FITS = [
    # e^r = 1 + r + r^2 p(r)
    Fit("exp", expm1_rest, lambda r: r**2 / mpmath.exp(r), -HALF_LN2, HALF_LN2, {"f4": 5, "f8": 10}),
    # the same where 2^(j/16) is looked up
    Fit("exp_near", expm1_rest, lambda r: r**2 / mpmath.exp(r), -HALF_LN2 / 16, HALF_LN2 / 16, {"f8": 5}),
    Fit("expm1", expm1_rest, lambda r: r**2 / mpmath.expm1(r), -HALF_LN2, HALF_LN2, {"f4": 5, "f8": 11}),
    # 2^r = 1 + r p(r); to the accuracy of float32 for powers
    Fit("exp2", exp2_rest, exp2_weight, -0.5, 0.5, {"f4": 6, "f8": 11}),
    Fit("exp2_short", exp2_rest, exp2_weight, -0.5, 0.5, {"f8": 7}),
    # log(1 + f) = f - f^2 / 2 + f^3 p(f)
    Fit("log", log1p_rest, lambda f: f**3 / mpmath.log1p(f), SQRT2 / 2 - 1.0001, SQRT2 - 0.9999, {"f4": 9}),
    # log(1 + f) = f - f^2 / 2 + s (f^2 / 2 + s^2 p(s^2)), s = f / (2 + f)
    Fit(
        "log_ratio",
        of_square(lambda s: (2 * mpmath.atanh(s) - 2 * s) / s**3),
        of_square(lambda s: s**3 / mpmath.atanh(s) / 2),
        0,
        RATIO,
        {"f8": 7},
    ),
    # log((1 + s) / (1 - s)) = 2 s + s^3 (2/3 + s^2 p(s^2)), for float64 powers
    Fit(
        "log_pair",
        of_square(ratio_rest),
        of_square(lambda s: s**5 / mpmath.atanh(s) / 2),
        0,
        RATIO,
        {"f8": 8},
    ),
    # log(1 + z) = z + z^2 p(z) where z is small
    Fit("log_near", near_one_rest, near_one_weight, -1 / 63, 1 / 31, {"f4": 3}),
    Fit("log_near", near_one_rest, near_one_weight, -1 / 31, 1 / 15, {"f8": 9}),
    # log2((1 + s) / (1 - s)) = s p(s^2), for float32 powers
    Fit("log2_ratio", of_square(log2_of_ratio), of_square(reciprocal(log2_of_ratio)), 0, RATIO, {"f8": 5}),
    odd("sin", mpmath.sin, EIGHTH, {"f4": 3, "f8": 6}),
    # cos r = 1 - r^2/2 + r^4 p(r^2)
    Fit(
        "cos",
        of_square(cos_rest),
        of_square(lambda r: r**4 / mpmath.cos(r)),
        0,
        EIGHTH**2,
        {"f4": 3, "f8": 6},
    ),
    odd("tan", mpmath.tan, EIGHTH, {"f4": 7, "f8": 14}),
    odd("arcsin", mpmath.asin, 0.626, {"f4": 7, "f8": 17}),
    odd("arctan", mpmath.atan, 1.0, {"f4": 9, "f8": 20}),
    odd("sinh", mpmath.sinh, 1.0, {"f4": 4, "f8": 8}),
    odd("arcsinh", mpmath.asinh, 0.5, {"f4": 5, "f8": 12}),
    odd("arctanh", mpmath.atanh, 0.5, {"f4": 6, "f8": 14}),
    # erf x = x + x p(x^2) near 0, 1 - exp(-x - x p(x)) beyond
    Fit("erf_near", of_square(erf_rest), of_square(lambda x: x / mpmath.erf(x)), 0, 0.93, {"f4": 7}),
    Fit("erf_near", of_square(erf_rest), of_square(lambda x: x / mpmath.erf(x)), 0, 1.0, {"f8": 12}),
    Fit("erf_far", erf_far, erf_far_weight, 0.92, 4.0, {"f4": 6}),
    Fit("erf_far", erf_far, erf_far_weight, 1.0, 6.0, {"f8": 17}),
    # exp(x^2) erfc(x) (1 + 2x) of t = (x - 4) / (x + 4): as far as erfc(x) is not 0, and everywhere
    Fit("erfc", in_t(tail, 4), in_t(reciprocal(tail), 4), -0.785, 0.44, {"f4": 11}, split=True),
    Fit("erfc", in_t(tail, 4), in_t(reciprocal(tail), 4), -0.785, 0.75, {"f8": 22}, split=True),
    Fit(
        "erfcx_near",
        lambda x: (erfcx(x) - 1) / x,
        lambda x: x / erfcx(x),
        -0.5,
        0.5,
        {"f4": 10, "f8": 20},
    ),
    Fit("erfcx", in_t(tail, 4), in_t(reciprocal(tail), 4), -0.785, 0.9999, {"f4": 14, "f8": 26}, split=True),
    # ndtr(-x) exp(x^2 / 2) (1 + x) of t = (x - 5) / (x + 5); ndtr(x) = 1/2 + x p(x^2) near 0
    Fit("ndtr", in_t(normal_tail, 5), in_t(reciprocal(normal_tail), 5), -0.79, 0.49, {"f4": 10}, split=True),
    Fit("ndtr", in_t(normal_tail, 5), in_t(reciprocal(normal_tail), 5), -0.79, 0.775, {"f8": 22}, split=True),
    Fit(
        "ndtr_near",
        of_square(lambda x: (mpmath.ncdf(x) - 0.5) / x),
        of_square(lambda x: x / mpmath.ncdf(-x)),
        0,
        1.0,
        {"f4": 6, "f8": 11},
    ),
    # the cube root of m in [sqrt(1/2), sqrt(2)], to half of the digits
    Fit("cbrt", mpmath.cbrt, reciprocal(mpmath.cbrt), SQRT2 / 2 - 0.001, SQRT2 + 0.001, {"f4": 4, "f8": 9}),
]


# ---- tables


@dataclass(frozen=True)
class InPieces:
    """A function on [0, (count - 1/2) step] in pieces around the multiples of the step; it is odd."""

    name: str
    g: Function
    dtype: str
    step: float
    count: int
    terms: int
    last: float


IN_PIECES = [
    InPieces("erf", mpmath.erf, "f4", 33 / 256, 32, 6, 4.0),
    InPieces("erf", mpmath.erf, "f8", 25 / 64, 16, 14, 6.0),
    InPieces("erf_eight", mpmath.erf, "f4", 137 / 256, 8, 8, 4.0),
    InPieces("tanh", mpmath.tanh, "f4", 19 / 64, 32, 7, 9.25),
]


def piece(whole: InPieces, number: int) -> list[mpf]:
    """Coefficients of g(number * step + t) in powers of t, of g(t) - t for the first piece.

    What rounding takes from the first two, d, becomes d (1 - t^2 / half^2): it is gone at the ends of the
    piece, where g may be smaller than in the middle, and its last place with it.
    """
    g, half, middle, terms = whole.g, whole.step * 0.505, mpf(whole.step) * number, {whole.dtype: whole.terms}
    if number == 0:
        terms = {whole.dtype: whole.terms - 1}
        fit = Fit("", lambda t: g(t) / t - 1, lambda t: t / g(t), 1e-9, half, terms)
        return [mpf(0), *fitted(fit, whole.dtype)[0]]
    points = grid(-half, half, 24 * (whole.terms + 2))
    values = [g(middle + t) for t in points]
    found, _ = remez(points, values, [1 / value for value in values], 0, whole.terms)
    for power in (0, 1):
        found[power + 2] -= (rounded(found[power], whole.dtype) - found[power]) / mpf(half) ** 2
    return [rounded(c, whole.dtype) for c in found]


# What products of ln2_high with the exponents are multiples of.
LOG_UNIT = {"f4": mpf(2) ** -15, "f8": mpf(2) ** -42}


def logarithms(dtype: str) -> list[list[mpf]]:
    """1/m in few bits, and -log of it as a multiple of a unit and the rest, by the first bits of m."""
    count, unit = (32 if dtype == "f4" else 16), LOG_UNIT[dtype]
    rows: list[list[mpf]] = [[], [], []]
    for j in range(count):
        middle = 1 + (mpf(j) + mpf(1) / 2) / count
        if j >= count // 2:
            middle /= 2
        inverse = mpf(1) if j in (0, count - 1) else mpmath.nint(256 / middle) / 256
        exact = -mpmath.log(inverse)
        high = mpmath.nint(exact / unit) * unit
        for row, value in zip(rows, (inverse, high, rounded(exact - high, dtype)), strict=True):
            row.append(value)
    return rows


def powers_of_two() -> list[mpf]:
    """2^(j/16)."""
    return [rounded(mpf(2) ** (mpf(j) / 16), "f8") for j in range(16)]


def rows_text(rows: Sequence[Sequence[mpf]], indent: str) -> list[str]:
    """Rows as lines of text."""
    lines = []
    for row in rows:
        text = " ".join(hexadecimal(float(value)) for value in row)
        parts = [f'{indent}    "{line}"' for line in wrap(text, 92, drop_whitespace=False)]
        lines += [f"{indent}_row(", *parts, f"{indent}){',' * bool(indent)}"]
    return lines


def tables_text() -> str:
    """The module of tables."""
    lines = [
        '"""Numbers that functions look up, written by `docs/fit_coefficients.py tables`."""',
        "",
        "from __future__ import annotations",
        "",
        "from ....compiler.ir.record import record",
        "",
        "Row = tuple[float, ...]",
        "",
        "",
        "def _row(text: str) -> Row:",
        "    return tuple(map(float.fromhex, text.split()))",
        "",
        "",
        "@record",
        "class Pieces:",
        '    """An odd function in pieces around the multiples of `step`, up to `last`.',
        "",
        "    A row for each power of the distance t, one number a piece; the first piece lacks a term t.",
        '    """',
        "",
        "    step: float",
        "    last: float",
        "    rows: tuple[Row, ...]",
        "",
        "",
        "PIECES = {",
    ]
    for whole in IN_PIECES:
        columns = [piece(whole, number) for number in range(whole.count)]
        lines += [
            f'    ("{whole.name}", "{whole.dtype}"): Pieces(',
            f"        {whole.step!r},",
            f"        {whole.last!r},",
            "        (",
        ]
        lines += [*rows_text(list(zip(*columns, strict=True)), "            "), "        ),", "    ),"]
        print(f"{whole.name} {whole.dtype}: {whole.count} pieces of {whole.terms} terms")
    lines += ["}", "# 1/m, and -log of it as a sum of two, by the first bits of m", "LOGARITHMS = {"]
    for dtype in ("f4", "f8"):
        lines += [f'    "{dtype}": (', *rows_text(logarithms(dtype), "        "), "    ),"]
    (first, *others) = rows_text([powers_of_two()], "")
    lines += ["}", "# 2^(j/16)", f"EXP2 = {first}", *others]
    return "\n".join([*lines, ""])


def main(names: Sequence[str]) -> None:
    """Fit the named tables (all without names) and write the file."""
    mp.dps = 60
    if "tables" in names:
        TABLES.write_text(tables_text(), encoding="utf-8")
        return
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
