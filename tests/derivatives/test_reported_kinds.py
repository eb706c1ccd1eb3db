"""Kinds of faults that users of differentiating libraries report, each as a few lines of plain NumPy."""

from typing import Any

import numpy as np
import pytest
import scipy.special

import tapeless as tl

INF, NAN = np.inf, np.nan
V = np.array([0.3, -1.2, 2.0])
P = np.array([0.5, 1.5, 2.5])
ZERO = np.zeros(3)
LOG2 = np.log(2)


HALVES = np.array([0.5, 0.5])
SECOND = np.array([[0.25, -0.25], [-0.25, 0.25]])


def logaddexp(x: Any) -> Any:
    return np.logaddexp(x[0], x[1])


def xlogy(z: Any) -> Any:
    return scipy.special.xlogy(z[0], z[1])


def float_power(z: Any) -> Any:
    return np.float_power(z[0], z[1])


def fmod(z: Any) -> Any:
    return np.fmod(z[0], z[1])


POWERS = {
    "0 to a traced power": (lambda y: 0.0**y, 2.0, 0, 0),
    "array of bases": (
        lambda y: np.sum(np.array([0.0, 2.0]) ** y),
        np.array([2.0, 2.0]),
        [0, 4 * np.log(2)],
        "unasked",
    ),
    "base and exponent": (lambda z: z[0] ** z[1], np.array([0.0, 2.0]), [0, 0], [[2, 0], [0, 0]]),
    "whole exponents": (
        lambda x: np.sum(x ** np.array([0, 1, 2, 3])),
        np.zeros(4),
        [0, 1, 0, 0],
        np.diag([0, 0, 2, 0]),
    ),
    "exponent 0": (lambda z: z[0] ** z[1], np.array([2.0, 0.0]), [0, LOG2], [[0, 0.5], [0.5, LOG2**2]]),
    "np.power, exponent 0": (lambda z: np.power(z[0], z[1]), np.array([2.0, 0.0]), [0, LOG2], None),
    "np.float_power, exponent 0": (float_power, np.array([2.0, 0.0]), [0, LOG2], None),
    "exponents 0 and 1": (lambda z: np.sum(z[:3] ** z[3:]), np.array([2.0, 3, 4, 0, 1, 0]), None, None),
    "0 to the 0": (lambda z: z[0] ** z[1], np.zeros(2), [0, 0], np.zeros((2, 2))),
    "exponents 0 of what is tiny": (
        lambda x: np.sum(x[:, None] ** np.arange(4.0)),
        np.array([1e-200, 0]),
        [1, 1],
        np.diag([2, 2]),
    ),
    "negative base": (lambda x: np.sum(x ** np.array([3.0, 2.0, 3.0])), -P, None, None),
    "python float to a half": (lambda x: x**1.5, 0.0, 0, "unasked"),
    "python float to minus two": (lambda x: x**-2, 2.0, -0.25, 0.375),
    "python float to itself": (lambda x: x**x, 2.0, None, None),
    "python float as exponent": (lambda x: 2**x, 2.0, None, None),
    "x to the x": (lambda x: np.sum(x**x), P, None, None),
    "exponent of a negative base is not asked for": (lambda x: np.sum((-1.0) ** 2 * x**2), V, None, None),
}
TAILS = {
    "expm1": (lambda x: np.expm1(x) * 1e20, -50.0, np.exp(-50) * 1e20, np.exp(-50) * 1e20),
    "log1p": (lambda x: np.log1p(x), -1 + 1e-10, 1 / (1 + (-1 + 1e-10)), "unasked"),
    "arccosh": (lambda x: np.arccosh(x) * 1e200, 1e200, 1, "unasked"),
    "arcsinh": (lambda x: np.arcsinh(x) * 1e200, -1e200, 1, "unasked"),
    "arctan": (lambda x: np.arctan(x) * 1e150 * 1e150, 1e150, 1, "unasked"),
    "tanh": (np.tanh, 30.0, 0, 0),
    "logaddexp": (
        lambda x: np.logaddexp(x[0], x[1]),
        np.array([1e3, 1e3]),
        [0.5, 0.5],
        [[0.25, -0.25], [-0.25, 0.25]],
    ),
    "logaddexp of nothing": (
        lambda x: np.logaddexp(x[0], x[1]),
        np.array([-INF, -INF]),
        [0.5, 0.5],
        "unasked",
    ),
    "logaddexp with nothing": (logaddexp, np.array([-INF, 1.0]), [0, 1], "unasked"),
    "logaddexp with inf": (logaddexp, np.array([INF, 0.0]), [1, 0], "unasked"),
    "logaddexp over nothing": (np.logaddexp.reduce, np.array([-INF, 0.0, 0.0]), [0, 0.5, 0.5], "unasked"),
    "running logaddexp": (lambda x: np.sum(np.logaddexp.accumulate(x)), V, None, None),
    "semiring sum": (lambda x: np.logaddexp(np.logaddexp(-INF, -INF + x), 2.0), 0.7, 0, "unasked"),
    "log_ndtr": (
        scipy.special.log_ndtr,
        -40.0,
        np.sqrt(2 / np.pi) / scipy.special.erfcx(40 / np.sqrt(2)),
        "unasked",
    ),
    "weighted sum of exps": (
        lambda x: np.log(np.sum(np.array([1.0, 2.0, 3.0]) * np.exp(x))),
        np.array([800.0, 0.0, 800.0]),
        [0.25, 0, 0.75],
        "unasked",
    ),
}
NORMALIZED = {
    "mahalanobis": (lambda d: np.sqrt(d @ np.diag([2.0, 1.0, 3.0]) @ d), ZERO, ZERO, "unasked"),
    "rotation vector": (
        lambda v: (lambda t: np.sum(np.where(t < 1e-8, 1, np.sin(t) / t) * v))(np.sqrt(np.sum(v**2))),
        ZERO,
        [1, 1, 1],
        "unasked",
    ),
    "sine over its argument": (lambda x: np.where(x == 0, 1, np.sin(x) / x), 0.0, 0, "unasked"),
    "normal log-likelihood": (
        lambda z: np.sum(0.5 * np.log(2 * np.pi * z[1] ** 2) + 0.5 * ((P - z[0]) / z[1]) ** 2),
        np.array([0.3, 0.8]),
        None,
        None,
    ),
    "log of a variance": (lambda x: np.log(np.var(x)), V, None, None),
    "correlation": (lambda x: np.corrcoef(x, P)[0, 1], V, None, None),
    "weighted mean": (lambda w: np.average(P, weights=w), P, None, None),
    "cosine similarity": (lambda x: x @ P / (np.linalg.norm(x) * np.linalg.norm(P)), V, None, None),
    "frobenius": (lambda x: np.linalg.norm(x), np.zeros((2, 2)), np.zeros((2, 2)), "unasked"),
    "matrix_norm": (lambda x: np.linalg.matrix_norm(x), np.zeros((2, 2)), np.zeros((2, 2)), "unasked"),
    "missing values' deviation": (np.nanstd, np.array([1.0, NAN, 1.0]), ZERO, "unasked"),
}
ACTIVATIONS = {
    "gelu": (lambda x: np.sum(x * 0.5 * (1 + scipy.special.erf(x / np.sqrt(2)))), V, None, None),
    "elu": (
        lambda x: np.sum(np.where(x > 0, x, np.exp(x) - 1)),
        np.array([800.0, -1]),
        [1, np.exp(-1)],
        "unasked",
    ),
    "silu": (
        lambda x: np.sum(x * scipy.special.expit(x)),
        np.array([-800.0, 0, 800]),
        [0, 0.5, 1],
        np.diag([0, 0.5, 0]),
    ),
    "mish": (
        lambda x: np.sum(x * np.tanh(np.log1p(np.exp(x)))),
        np.array([-800.0, 0, 800]),
        [0, 0.6, 1],
        "unasked",
    ),
    "huber": (
        lambda x: np.sum(np.where(np.abs(x) < 1, 0.5 * x * x, np.abs(x) - 0.5)),
        np.array([0.0, 0.5, -2]),
        [0, 0.5, -1],
        np.diag([1, 1, 0]),
    ),
    "pseudo-huber": (lambda x: np.sum(np.sqrt(1 + x**2) - 1), V, None, None),
    "leaky ramp": (lambda x: np.sum(np.maximum(x, 0.1 * x)), V, [1, 0.1, 1], np.zeros((3, 3))),
}
PIECES = {
    "largest of equals": (np.max, np.array([1.0, 1, 0]), [0.5, 0.5, 0], np.zeros((3, 3))),
    "maximum of equals": (lambda x: np.maximum(x[0], x[1]), np.ones(2), [0.5, 0.5], "unasked"),
    "median": (np.median, np.array([1.0, 4, 3, 9]), [0, 0.5, 0.5, 0], "unasked"),
    "range": (np.ptp, V, [0, -1, 1], "unasked"),
    "mod": (lambda z: np.mod(z[0], z[1]), np.array([-7.0, 3.0]), [1, 3], "unasked"),
    "fmod": (fmod, np.array([-7.0, 3.0]), [1, 2], "unasked"),
    "fmod whose quotient rounds up": (
        lambda z: np.fmod(z[0], z[1]),
        np.array([0.3, 0.1]),
        [1, -2],
        "unasked",
    ),
    "percent": (lambda x: x % 3, -7.5, 1, 0),
    "divmod": (lambda x: np.sum(np.divmod(x, 2)[1]), P, [1, 1, 1], np.zeros((3, 3))),
    "modf": (lambda x: np.sum(np.modf(x)[0] * 2), P + 0.2, [2, 2, 2], "unasked"),
    "frexp": (lambda x: np.sum(np.frexp(x)[0]), P, [1, 0.5, 0.25], "unasked"),
    "ldexp": (lambda x: np.sum(np.ldexp(x, 2)), P, [4, 4, 4], "unasked"),
    "round": (lambda x: np.sum(np.round(x) * x), V, np.round(V), np.zeros((3, 3))),
    "floor": (lambda x: np.sum(np.floor(x) + x), V, [1, 1, 1], "unasked"),
    "heaviside": (lambda x: np.sum(np.heaviside(x, 0.5) * x), V, [1, 0, 1], "unasked"),
    "copysign": (lambda x: np.sum(np.copysign(x, np.array([-1.0, 1, -1]))), V, [-1, -1, -1], "unasked"),
    "degrees": (lambda x: np.sum(np.deg2rad(x) + np.degrees(x)), V, None, None),
    "running maximum": (lambda x: np.sum(np.maximum.accumulate(x)), V, [2, 0, 1], "unasked"),
    "running product": (lambda x: np.sum(np.cumprod(x) * P), np.array([2.0, 0, 3]), None, None),
    "product with two zeros": (np.prod, np.array([0.0, 0, 3]), None, None),
}
FUNCTIONS = {
    "sinc at 0": (np.sinc, 0.0, 0, -(np.pi**2) / 3),
    "sinc": (lambda x: np.sum(np.sinc(x)), np.array([1.0, -0.3, 5.2, 1e-9]), None, None),
    "np.i0": (lambda x: np.sum(np.i0(x)), np.array([0.0, -3.0, 9.0]), None, None),
    "np.i0 near 0": (lambda x: np.i0(x) * 1e200 * 1e100, 1e-300, 0.5, "unasked"),
    "xlogy": (
        lambda z: scipy.special.xlogy(z[0], z[1]),
        np.array([0.0, 3]),
        [np.log(3), 0],
        [[0, 1 / 3], [1 / 3, 0]],
    ),
    "xlogy of nothing": (xlogy, np.zeros(2), [0, 0], "unasked"),
    "xlog1py": (lambda z: scipy.special.xlog1py(z[0], z[1]), np.array([0.0, -1]), [0, 0], "unasked"),
    "rel_entr": (lambda z: scipy.special.rel_entr(z[0], z[1]), np.array([2.0, 3]), None, None),
    "kl_div": (lambda z: scipy.special.kl_div(z[0], z[1]), np.array([2.0, 3]), None, None),
}
CASES = {**POWERS, **TAILS, **NORMALIZED, **ACTIVATIONS, **PIECES, **FUNCTIONS}


@pytest.mark.parametrize(("function", "x", "gradient", "hessian"), CASES.values(), ids=CASES)
def test_derivatives(judge: Any, function: Any, x: Any, gradient: Any, hessian: Any) -> None:
    judge(function, x, gradient, hessian)


@pytest.mark.parametrize(
    "name", ["erf", "erfc", "erfcx", "expit", "ndtr", "log_ndtr", "log_expit", "i0", "i1"]
)
def test_special_functions(judge: Any, name: str) -> None:
    judge(lambda x: np.sum(getattr(scipy.special, name)(x) * P), V)


@pytest.mark.parametrize("name", ["gammaln", "gamma", "psi", "entr", "logit"])
def test_special_functions_of_positive_numbers(judge: Any, name: str) -> None:
    judge(lambda x: np.sum(getattr(scipy.special, name)(x / 4) * V), P)


CROSS_ENTROPIES = {
    "picked": lambda z: (
        -np.mean(np.log(np.exp(z) / np.sum(np.exp(z), 1, keepdims=True))[np.arange(2), [0, 2]])
    ),
    "one-hot": lambda z: (
        -np.sum(np.eye(3)[[0, 2]] * (z - np.log(np.sum(np.exp(z - z.max()), 1, keepdims=True)) - z.max()))
    ),
}


@pytest.mark.parametrize("function", CROSS_ENTROPIES.values(), ids=CROSS_ENTROPIES)
def test_cross_entropy(judge: Any, function: Any) -> None:
    judge(function, np.array([[1.0, 2, 3], [0, 0.5, 1]]))


PYTHON_FLOATS = {
    "root of a square": (lambda x: (x**2) ** 0.5, 0.0, 0, 0),
    "square of abs": (lambda x: abs(x) ** 2, 0.0, 0, 2),
    "abs times abs": (lambda x: abs(x) * abs(x), 0.0, 0, 2),
    "norm": (lambda x: (x * x + x**2) ** 0.5, 0.0, 0, "unasked"),
    "square of a root": (lambda x: (x**0.5) ** 2, 0.0, 1, 0),
    "root times root": (lambda x: (x**0.5) * (x**0.5), 0.0, 1, 0),
    "NumPy's square of a root": (lambda x: np.square(x**0.5), 0.0, 1, 0),
    "NumPy's product of roots": (lambda x: np.multiply(x**0.5, x**0.5), 0.0, 1, 0),
    "NumPy's square of abs": (lambda x: np.square(abs(x)), 0.0, 0, 2),
    "NumPy's root of a square": (lambda x: np.sqrt(x * x) ** 2.5, 0.0, 0, 0),
    "NumPy's quotient by abs": (lambda x: np.divide(x, abs(x)) * 1e300, 1e-300, 0, 0),
    "NumPy's log of a square": (lambda x: np.log(x**2), 1e-200, 2e200, "unasked"),
    "NumPy's log of a product": (lambda x: np.log(2 * x * np.exp(x)), 800.0, 1 + 1 / 800, "unasked"),
    "NumPy's angle of a quotient": (lambda x: np.arctan(1.5 / x), 1e-200, -1 / 1.5, "unasked"),
    "complex size": (lambda x: abs(x + 1j * x) ** 2, 0.0, 0, 4),
    "complex root": (lambda x: abs((x + 0j) ** (1 / 3)) ** 2, -8.0, None, None),
    "everything": (lambda x: (x * x + 1) ** 0.5 / (x + 3) + x**2.5 - 2**x + x % 2 + x // 3, 1.3, None, None),
}


@pytest.mark.parametrize(("function", "x", "gradient", "hessian"), PYTHON_FLOATS.values(), ids=PYTHON_FLOATS)
def test_python_floats(judge: Any, function: Any, x: Any, gradient: Any, hessian: Any) -> None:
    judge(function, x, gradient, hessian)


@pytest.mark.parametrize("name", ["exp", "tanh", "sqrt", "arcsinh", "log1p", "sinc", "absolute"])
def test_single_precision_is_kept(name: str) -> None:
    x = np.array([0.5, 2.0], np.float32)
    gradient = tl.grad(lambda x: np.sum(getattr(np, name)(x) * np.float32(2)))(x)
    second = tl.hessian(lambda x: np.sum(getattr(np, name)(x)))(x)
    assert gradient.dtype == second.dtype == np.float32
