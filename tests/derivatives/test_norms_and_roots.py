"""Norms, deviations, powers and roots, where the chain rule alone would multiply 0 by inf."""

from typing import Any

import numpy as np
import pytest

import tapeless as tl

VECTOR = np.array([0.3, -1.2, 2.0])
ZERO = np.zeros(3)
EYE = np.eye(3)

NORMS = {
    "sum of products": lambda x: np.sqrt(np.sum(x * x)),
    "sum of powers": lambda x: np.sqrt(np.sum(x**2)),
    "square": lambda x: np.sqrt(np.sum(np.square(x))),
    "power of a half": lambda x: np.sum(x**2) ** 0.5,
    "abs squared": lambda x: np.sqrt(np.sum(np.abs(x) ** 2)),
    "matmul": lambda x: np.sqrt(x @ x),
    "dot": lambda x: np.sqrt(np.dot(x, x)),
    "vdot": lambda x: np.sqrt(np.vdot(x, x)),
    "inner": lambda x: np.sqrt(np.inner(x, x)),
    "vecdot": lambda x: np.sqrt(np.vecdot(x, x)),
    "einsum": lambda x: np.sqrt(np.einsum("i,i->", x, x)),
    "kept axis": lambda x: np.sqrt(np.sum(x * x, keepdims=True))[0],
    "linalg": lambda x: np.linalg.norm(x),
    "linalg along an axis": lambda x: np.linalg.norm(x.reshape(1, 3), axis=1, keepdims=True)[0, 0],
    "vector_norm": lambda x: np.linalg.vector_norm(x),
    "float_power": lambda x: np.sqrt(np.sum(np.float_power(x, 2))),
    "element by element": lambda x: np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] ** 2),
    "hypot": lambda x: np.hypot(np.hypot(x[0], x[1]), x[2]),
    "quadratic form": lambda x: np.sqrt(x @ np.eye(3) @ x),
    "weighted": lambda x: np.sqrt(np.sum(np.array([1.0, 1.0, 1.0]) * x**2)),
}


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_norm(judge: Any, norm: Any) -> None:
    judge(norm, VECTOR)
    judge(norm, ZERO, ZERO, "unasked")
    judge(lambda x: norm(x) ** 3, ZERO, ZERO, 0 * EYE)


@pytest.mark.parametrize("name", [name for name in NORMS if name != "hypot"])
def test_squared_norm_is_smooth(judge: Any, name: str) -> None:
    norm = NORMS[name]
    judge(lambda x: norm(x) ** 2, VECTOR)
    judge(lambda x: norm(x) ** 2, ZERO, ZERO, 2 * EYE)
    judge(lambda x: norm(x) * norm(x), ZERO, ZERO, 2 * EYE)
    judge(lambda x: np.exp(-(norm(x) ** 2)), ZERO, ZERO, -2 * EYE)


FORMS = {
    "operators": lambda x, a: x @ a @ x,
    "other side": lambda x, a: x @ (a @ x),
    "sum of a product": lambda x, a: np.sum(x * (a @ x)),
    "dot": lambda x, a: np.dot(x, np.dot(a, x)),
    "vecdot": lambda x, a: np.vecdot(x, x @ a),
    "einsum": lambda x, a: np.einsum("i,ij,j->", x, a, x),
    "einsum, matrix last": lambda x, a: np.einsum("i,j,ij->", x, x, a),
    "einsum of an image": lambda x, a: np.einsum("i,i->", x @ a, x),
    "solve": lambda x, a: x @ np.linalg.solve(np.linalg.inv(a), x),
    "scaled": lambda x, a: 0.5 * (x @ a @ x),
    "added": lambda x, a: x @ a @ x + np.dot(np.multiply(x, 2), a @ np.multiply(x, 2)),
}
DEFINITE = np.array([[2.0, 1.0], [1.0, 3.0]])
INDEFINITE = np.array([[0.5, 1.0], [1.0, -2.5]])


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("exponent", [0.5, 0.75])
def test_root_of_a_quadratic_form(judge: Any, form: Any, exponent: float) -> None:
    for matrix, point in ((DEFINITE, [1.0, -2.0]), (INDEFINITE, [2.0, 1.0])):
        judge(lambda x, a=matrix: form(x, a) ** exponent, np.array(point))
        judge(lambda x, a=matrix: form(x, a) ** exponent, np.zeros(2), [0, 0], "unasked")


@pytest.mark.parametrize("name", [name for name in FORMS if name != "solve"])
def test_root_of_a_form_that_cancels_has_no_finite_derivative(name: str) -> None:
    form, x = FORMS[name], np.ones(2)
    assert form(x, INDEFINITE) == 0
    with np.errstate(all="ignore"):
        assert not np.any(np.isfinite(tl.grad(lambda x: np.sqrt(form(x, INDEFINITE)))(x)))
        assert not np.any(np.isfinite(tl.grad(lambda a: np.sqrt(form(x, a)))(INDEFINITE)))


def test_root_of_a_solved_form_that_cancels_has_no_finite_derivative() -> None:
    with np.errstate(all="ignore"):
        slope = tl.grad(lambda x: np.sqrt(x @ np.linalg.solve(np.diag([1.0, -1.0]), x)))(np.ones(2))
    assert not np.any(np.isfinite(slope))


def test_root_of_a_form_at_a_null_vector_of_its_matrix(judge: Any) -> None:
    laplacian = np.array([[1.0, -1.0], [-1.0, 1.0]])
    judge(lambda x: np.sqrt(x @ laplacian @ x), np.ones(2), [0, 0], "unasked")


STACKED = {
    "sum": lambda x: np.sum((x @ DEFINITE) * x, axis=1),
    "mean": lambda x: 2 * np.mean((x @ DEFINITE) * x, axis=1),
    "einsum": lambda x: np.einsum("bi,ij,bj->b", x, DEFINITE, x),
    "einsum of an image": lambda x: np.einsum("ij,ij->i", x @ DEFINITE, x),
    "matmul": lambda x: (x[:, None, :] @ DEFINITE @ x[:, :, None])[:, 0, 0],
    "vecdot": lambda x: np.vecdot(x, x @ DEFINITE),
}


@pytest.mark.parametrize("form", STACKED.values(), ids=STACKED)
def test_roots_of_forms_of_rows(judge: Any, form: Any) -> None:
    x = np.array([[0.0, 0.0], [1.0, 0.0]])
    judge(lambda x: np.sum(np.sqrt(form(x))), x, [[0, 0], [2**0.5, 0.5**0.5]], "unasked")


def test_products_of_different_rows_are_no_squares() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    with np.errstate(all="ignore"):
        slope = tl.grad(lambda x: np.sqrt(np.einsum("ai,ij,bj->ab", x, np.ones((2, 2)) - 1 + rows, x))[0, 1])(
            rows
        )
    assert not np.any(np.isfinite(slope))


OTHER_NORMS = {
    "third": lambda x: np.sum(np.abs(x) ** 3) ** (1 / 3),
    "linalg third": lambda x: np.linalg.norm(x, 3),
    "linalg first": lambda x: np.linalg.norm(x, 1),
    "linalg inf": lambda x: np.linalg.norm(x, np.inf),
    "fourth": lambda x: np.sum(x**4) ** 0.25,
    "root mean square": lambda x: np.sqrt(np.mean(x**2)),
    "power between": lambda x: np.sum(x**2) ** 0.6,
    "guarded": lambda x: np.sqrt(np.maximum(np.sum(x * x), 0)),
}


@pytest.mark.parametrize("norm", OTHER_NORMS.values(), ids=OTHER_NORMS)
def test_other_norms(judge: Any, norm: Any) -> None:
    judge(norm, VECTOR)
    judge(norm, ZERO, ZERO, "unasked")


SINGULAR_VALUES = {
    "nuc": (np.diag([1.0, -1.0, 0.0]), np.diag([1.0, -1.0, 0.0])),
    2: (np.diag([1.0, 0.0, 0.0]), np.diag([2.0, 0.0, 0.0])),
    -2: (np.diag([0.0, 0.0, 0.0]), np.diag([2.0, 1.0, 0.0])),
}


@pytest.mark.parametrize("order", SINGULAR_VALUES)
def test_norms_of_singular_values(judge: Any, order: Any) -> None:
    gradient, singular = SINGULAR_VALUES[order]
    full = np.array([[3.0, 1.0, 0.5], [0.0, -2.0, 1.0], [1.0, 0.0, 0.7]])
    for norm in (np.linalg.norm, np.linalg.matrix_norm):
        judge(lambda x, norm=norm: norm(x, ord=order), full)
        judge(lambda x, norm=norm: norm(x, ord=order), 0 * full, 0 * full, "unasked")
        judge(lambda x, norm=norm: norm(x, ord=order), singular, gradient, "unasked")


DEVIATIONS = {
    "std": np.std,
    "by hand": lambda x: np.sqrt(np.mean((x - np.mean(x)) ** 2)),
    "by two means": lambda x: np.sqrt(np.mean(x**2) - np.mean(x) ** 2),
    "without bias": lambda x: np.std(x, ddof=1),
    "nanstd": np.nanstd,
    "pooled": lambda x: np.sqrt(np.var(x) + np.var(2 * x)),
}


@pytest.mark.parametrize("deviation", DEVIATIONS.values(), ids=DEVIATIONS)
def test_deviation(judge: Any, deviation: Any) -> None:
    judge(deviation, VECTOR)
    judge(deviation, np.ones(3), ZERO, "unasked")


def test_deviation_of_equal_numbers_whose_mean_is_rounded(judge: Any) -> None:
    judge(np.std, np.full(3, 0.1), ZERO, "unasked")


def test_squared_deviation_is_smooth(judge: Any) -> None:
    judge(lambda x: np.std(x) ** 2, np.ones(3), ZERO, 2 / 3 * (EYE - 1 / 3))


def test_rows_on_their_own(judge: Any) -> None:
    x = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]])
    weights = np.array([1.0, 2.0])
    gradient = [[0, 0, 0], [2 / 3, 4 / 3, 4 / 3]]
    judge(lambda x: np.sum(np.sqrt(np.sum(x * x, axis=1)) * weights), x, gradient, "unasked")
    judge(lambda x: np.sum(np.linalg.norm(x, axis=1) * weights), x, gradient, "unasked")
    judge(lambda x: np.sum(np.sqrt(np.einsum("ij,ij->i", x, x)) * weights), x, gradient, "unasked")


def test_distances_between_points(judge: Any) -> None:
    def distances(x: Any) -> Any:
        return np.sum(np.sqrt(np.sum((x[:, None] - x[None]) ** 2, -1)))

    x = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0]])
    judge(distances, x, [[-1.2, -1.6], [2.4, 3.2], [-1.2, -1.6]], "unasked")


def test_direction_guarded_against_zero(judge: Any) -> None:
    judge(lambda x: np.sum(x / (np.sqrt(np.sum(x * x)) + 1e-3)), ZERO, np.full(3, 1e3), "unasked")
    judge(lambda x: np.sum(x / np.maximum(np.linalg.norm(x), 1e-3)), ZERO, np.full(3, 1e3), "unasked")
    judge(lambda x: np.sum(x / np.sqrt(np.sum(x * x)) * np.array([1.0, 2, 3])), VECTOR)


ROOTS = {
    "sqrt squared": (lambda x: np.sqrt(x) ** 2, [1, 1, 1], [0, 0, 0]),
    "sqrt times sqrt": (lambda x: np.sqrt(x) * np.sqrt(x), [1, 1, 1], [0, 0, 0]),
    "square of sqrt": (lambda x: np.square(np.sqrt(x)), [1, 1, 1], [0, 0, 0]),
    "half power squared": (lambda x: (x**0.5) ** 2, [1, 1, 1], [0, 0, 0]),
    "sqrt to the fourth": (lambda x: np.sqrt(x) ** 4, [0, 2, 8], [2, 2, 2]),
    "cbrt cubed": (lambda x: np.cbrt(x) ** 3, [1, 1, 1], [0, 0, 0]),
    "third power cubed": (lambda x: (x ** (1 / 3)) ** 3, [1, 1, 1], [0, 0, 0]),
    "exp log": (lambda x: np.exp(np.log(x)), [1, 1, 1], [0, 0, 0]),
    "exp two log": (lambda x: np.exp(2 * np.log(x)), [0, 2, 8], [2, 2, 2]),
    "exp log times": (lambda x: np.exp(np.log(x) * 2.5), [0, 2.5, 20], [0, 3.75, 7.5]),
    "zeroth power": (lambda x: x**0.0, [0, 0, 0], [0, 0, 0]),
    "powers in an array": (lambda x: x ** np.array([2.0, 2.0, 2.0]), [0, 2, 8], [2, 2, 2]),
    "first powers": (lambda x: x ** np.array([1.0, 1.0, 1.0]), [1, 1, 1], [0, 0, 0]),
}


@pytest.mark.parametrize(("function", "gradient", "second"), ROOTS.values(), ids=ROOTS)
def test_roots_and_powers_at_zero(judge: Any, function: Any, gradient: Any, second: Any) -> None:
    judge(lambda x: np.sum(function(x)), np.array([0.0, 1.0, 4.0]), gradient, np.diag(second))


SIZES = {
    "abs": np.abs,
    "fabs": np.fabs,
    "maximum": lambda x: np.maximum(x, -x),
    "root of a product": lambda x: np.sqrt(x * x),
    "root of a power": lambda x: np.sqrt(x**2),
    "root of a square": lambda x: np.sqrt(np.square(x)),
    "half power": lambda x: (x**2) ** 0.5,
    "hypot": lambda x: np.hypot(x, 0),
    "times sign": lambda x: x * np.sign(x),
    "copysign": lambda x: np.copysign(x, 1),
    "complex": lambda x: np.abs(x + 0j),
}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_equal_formulations_of_the_absolute_value_agree(judge: Any, size: Any) -> None:
    judge(lambda x: np.sum(size(x)), np.array([0.0, -3.0, 4.0]), [0, -1, 1], 0 * EYE)


@pytest.mark.parametrize("name", [n for n in SIZES if n not in ("maximum", "times sign", "copysign")])
def test_square_of_an_absolute_value_is_smooth(judge: Any, name: str) -> None:
    size = SIZES[name]
    judge(lambda x: np.sum(size(x) ** 2), np.array([0.0, -3.0, 4.0]), [0, -6, 8], 2 * EYE)


def test_even_root_of_an_even_power(judge: Any) -> None:
    judge(lambda x: np.sum(np.sqrt(x**4)), np.array([0.0, -3.0, 4.0]), [0, -6, 8], 2 * EYE)
    judge(lambda x: np.sum((x**2) ** 1.5), np.array([0.0, -3.0, 4.0]), [0, -27, 48], np.diag([0, 18, 24]))


BROKEN_POWERS = {
    "abs": lambda x: np.abs(x) ** 2.5,
    "absolute value of a number": lambda x: abs(x) ** 2.5,
    "float_power": lambda x: np.float_power(np.abs(x), 2.5),
    "power of a square": lambda x: (x**2) ** 1.25,
    "float_power of a square": lambda x: np.float_power(x * x, 1.25),
    "power of a root": lambda x: np.sqrt(x * x) ** 2.5,
    "root of a power": lambda x: np.sqrt(np.sqrt(x**4) ** 2.5),
    "fourth": lambda x: (x**4) ** 0.625,
    "hypot": lambda x: np.hypot(x, 0) ** 2.5,
    "complex": lambda x: np.abs(x + 0j) ** 2.5,
}


@pytest.mark.parametrize("power", BROKEN_POWERS.values(), ids=BROKEN_POWERS)
def test_powers_of_sizes_between_whole_ones(judge: Any, power: Any) -> None:
    second = 3.75 * 1.5
    judge(power, 0.0, 0, 0)
    judge(power, -2.25, -2.5 * 1.5**3, second)
    judge(lambda x: np.sum(power(x)), np.array([0.0, 2.25]), [0, 2.5 * 1.5**3], np.diag([0, second]))


def test_third_derivative_of_a_power_of_a_size() -> None:
    for power in (lambda x: np.abs(x) ** 3.5, lambda x: (x**2) ** 1.75, lambda x: np.sqrt(x * x) ** 3.5):
        assert tl.grad(tl.grad(tl.grad(power)))(0.0) == 0


@pytest.mark.parametrize("name", NORMS)
def test_powers_of_norms_between_whole_ones(judge: Any, name: str) -> None:
    norm = NORMS[name]
    judge(lambda x: norm(x) ** 2.5, ZERO, ZERO, 0 * EYE)
    judge(lambda x: (norm(x) ** 2) ** 1.25, ZERO, ZERO, 0 * EYE)


def test_broken_power_of_a_sum_of_squares(judge: Any) -> None:
    judge(lambda x: np.sum(x * x) ** 1.25, ZERO, ZERO, 0 * EYE)
    judge(lambda x: np.sum(x * x) ** 1.25, VECTOR)
    norm = lambda x: np.linalg.norm(x, 2.5)  # noqa: E731
    judge(norm, np.array([3.0, 4.0]))
    inner = tl.hessian(norm)(np.array([3.0, 4.0]))
    judge(norm, np.array([0.0, 3.0, 4.0]), None, np.pad(inner, ((1, 0), (1, 0))))


def test_logarithms_of_values_that_underflow(judge: Any) -> None:
    tiny = np.array([1e-200, -1e-180, 1e200])
    judge(lambda x: np.sum(np.log(x**2)), tiny, 2 / tiny, "unasked")
    judge(lambda x: np.sum(np.log(x * x)), tiny, 2 / tiny, "unasked")
    judge(lambda x: np.sum(np.log(np.abs(x))), tiny, 1 / tiny, "unasked")
    judge(lambda x: np.sum(np.log(np.sqrt(x))), np.array([0.5, 2.0]))


def test_product_by_logarithms(judge: Any) -> None:
    hessian = [[0, 5, 2], [5, 0, 0], [2, 0, 0]]
    judge(lambda x: np.exp(np.sum(np.log(x))), np.array([0.0, 2.0, 5.0]), [10, 0, 0], hessian)


def test_hyperbolic_secant_by_its_square(judge: Any) -> None:
    x = np.array([-30.0, 1.0, 40.0])
    judge(lambda x: np.sum(np.log(1 - np.tanh(x) ** 2)), x, -2 * np.tanh(x), "unasked")
    slope = [0, -np.tanh(1) / np.cosh(1), 0]
    judge(lambda x: np.sum(np.sqrt(1 - np.tanh(x) ** 2)), x, slope, "unasked")


def test_angles(judge: Any) -> None:
    judge(lambda x: np.arctan(x[0] / x[1]), np.array([1.0, 2.0]))
    judge(lambda x: np.arctan(x[0] / x[1]), np.array([2.0, 0.0]), [0, -0.5], "unasked")
    judge(lambda x: np.arctan2(x[0], x[1]), np.array([0.0, -2.0]), [-0.5, 0], [[0, -0.25], [-0.25, 0]])
    for size in (1e-200, 1e-14, 1e150):
        x = np.array([3 * size, 4 * size])
        judge(lambda x: np.arctan2(x[0], x[1]), x, [0.16 / size, -0.12 / size], "unasked")
        judge(lambda x: np.hypot(x[0], x[1]), x, [0.6, 0.8], "unasked")


def test_signs(judge: Any) -> None:
    judge(lambda x: np.sum(x / np.abs(x)), VECTOR, ZERO, 0 * EYE)
    judge(lambda x: np.sum(x * np.abs(x)), np.array([0.0, -3.0, 2.0]), [0, 6, 4], np.diag([0, -2, 2]))
