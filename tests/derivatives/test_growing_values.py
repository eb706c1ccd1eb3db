"""Sigmoids, softplus, hyperbolic functions, softmax and logsumexp in the spellings that people use.

Each is judged at regular points by differences, and far out, where exp is inf or 0, by mathematics.
"""

from typing import Any

import numpy as np
import pytest
import scipy.special

import tapeless as tl

REGULAR = np.array([0.3, -1.2, 2.0])
FAR = np.array([-800.0, 0.0, 800.0])
NONE = np.zeros((3, 3))
WEIGHTS = np.array([1.0, 2.0, 3.0])

SIGMOIDS = {
    "one over": lambda x: 1 / (1 + np.exp(-x)),
    "exp first": lambda x: 1.0 / (np.exp(-x) + 1.0),
    "quotient of exps": lambda x: np.exp(x) / (1 + np.exp(x)),
    "reciprocal": lambda x: np.reciprocal(1 + np.exp(-x)),
    "power": lambda x: (1 + np.exp(-x)) ** -1,
    "tanh": lambda x: 0.5 * (1 + np.tanh(x / 2)),
    "one minus": lambda x: 1 - 1 / (1 + np.exp(x)),
    "choice": lambda x: np.where(x >= 0, 1 / (1 + np.exp(-x)), np.exp(x) / (1 + np.exp(x))),
}


@pytest.mark.parametrize("sigmoid", SIGMOIDS.values(), ids=SIGMOIDS)
def test_sigmoid(judge: Any, sigmoid: Any) -> None:
    judge(lambda x: np.sum(sigmoid(x) * WEIGHTS), REGULAR)
    judge(lambda x: np.sum(sigmoid(x)), FAR, [0, 0.25, 0], NONE)
    judge(lambda x: np.sum(np.log(sigmoid(x))), REGULAR)
    judge(lambda x: np.sum(np.log(1 - sigmoid(x))), REGULAR)
    judge(lambda x: np.sum(np.log1p(-sigmoid(x))), REGULAR)


@pytest.mark.parametrize("name", ["one over", "exp first", "reciprocal", "power"])
def test_logarithm_of_a_saturated_sigmoid(judge: Any, name: str) -> None:
    sigmoid = SIGMOIDS[name]
    curvature = np.diag([0, -0.25, 0])
    judge(lambda x: np.sum(np.log(sigmoid(x))), FAR, [1, 0.5, 0], curvature)
    judge(lambda x: np.sum(np.log(1 - sigmoid(x))), FAR, [0, -0.5, -1], curvature)
    judge(lambda x: np.sum(np.log1p(-sigmoid(x))), FAR, [0, -0.5, -1], curvature)


def test_sigmoid_of_a_python_float(judge: Any) -> None:
    judge(SIGMOIDS["one over"], 0.7)
    judge(SIGMOIDS["one over"], -800.0, 0, 0)


def hyperbolic(x: Any, wide: Any) -> tuple[Any, Any]:
    """The slope of the sigmoid and that one's slope, in all digits."""
    small = np.exp(-np.abs(wide(x)))
    slope = small / (1 + small) ** 2
    return slope, -np.tanh(wide(x) / 2) * slope


SATURATED = {name: SIGMOIDS[name] for name in SIGMOIDS if name not in ("tanh", "choice")}
SATURATED["expit"] = scipy.special.expit


@pytest.mark.parametrize("sigmoid", SATURATED.values(), ids=SATURATED)
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_slope_of_a_sigmoid_keeps_its_digits(sigmoid: Any, executor: str) -> None:
    def slopes(x: Any) -> Any:
        slope = tl.grad(lambda x: np.sum(sigmoid(x)))
        return slope(x), tl.grad(lambda x: np.sum(slope(x)))(x)

    compiled = tl.compile(slopes, executor=executor)
    for dtype, tolerance, points in (
        (np.float64, 1e-13, [-1000, -600, -40, -5, -0.5, 0.5, 5, 40, 100, 600]),
        (np.float32, 5e-6, [-1000, -80, -30, -12, -0.5, 0.5, 5, 12, 40, 80]),
    ):
        x = np.array(points, dtype)
        for _ in range(3):
            with np.errstate(all="ignore"):
                found = compiled(x)
            for one, wanted in zip(found, hyperbolic(x, np.longdouble), strict=True):
                assert one.dtype == dtype
                np.testing.assert_allclose(
                    one, wanted.astype(dtype), rtol=tolerance, atol=np.finfo(dtype).tiny
                )
    assert tl.grad(sigmoid)(40.0) == pytest.approx(np.exp(-40.0), rel=1e-14)


SMALL = {
    "bose": (lambda x: 1 / (np.exp(x) - 1), -40.0, -np.exp(-40.0)),
    "log of one minus exp": (lambda x: np.log(1 - np.exp(x)), -40.0, -np.exp(-40.0)),
    "share": (lambda x: np.exp(x) / (2 + 3 * np.exp(x)), 40.0, 2 / 9 * np.exp(-40.0)),
    "share on the left": (lambda x: np.exp(x) / (2 + 3 * np.exp(x)), -40.0, 0.5 * np.exp(-40.0)),
    "share of a difference": (lambda x: np.exp(x) / (3 * np.exp(x) - 2), 40.0, -2 / 9 * np.exp(-40.0)),
}


@pytest.mark.parametrize(("function", "x", "slope"), SMALL.values(), ids=SMALL)
def test_slopes_where_values_have_long_settled(function: Any, x: float, slope: float) -> None:
    assert tl.grad(function)(x) == pytest.approx(slope, rel=1e-13, abs=0)
    assert tl.hessian(function)(x) == pytest.approx(-np.sign(x) * slope, rel=1e-13, abs=0)


SOFTPLUS = {
    "log of one plus": lambda x: np.log(1 + np.exp(x)),
    "log1p": lambda x: np.log1p(np.exp(x)),
    "logaddexp": lambda x: np.logaddexp(0, x),
    "maximum": lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    "maximum last": lambda x: np.log(1 + np.exp(-np.abs(x))) + np.maximum(0, x),
    "choice": lambda x: np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x))),
    "two exps": lambda x: np.log(np.exp(0 * x) + np.exp(x)),
    "three exps": lambda x: np.log(0.5 * np.exp(0 * x) + np.exp(x) + 0.5),
}


@pytest.mark.parametrize("softplus", SOFTPLUS.values(), ids=SOFTPLUS)
def test_softplus(judge: Any, softplus: Any) -> None:
    judge(lambda x: np.sum(softplus(x) * WEIGHTS), REGULAR)
    judge(lambda x: np.sum(softplus(x)), FAR, [0, 0.5, 1], np.diag([0, 0.25, 0]))


RAMPS = {
    "maximum": lambda x: np.maximum(x, 0),
    "fmax": lambda x: np.fmax(0.0, x),
    "choice": lambda x: np.where(x > 0, x, 0),
    "choice the other way": lambda x: np.where(np.less_equal(x, 0), 0.0, x),
    "choice with 0 on the left": lambda x: np.where(np.less(0.0, x), x, 0.0),
    "half of a sum": lambda x: (x + np.abs(x)) / 2,
    "half times a sum": lambda x: 0.5 * (np.abs(x) + x),
    "less the negative half": lambda x: -((-x - np.abs(x)) / 2),
    "times a condition": lambda x: x * (x > 0),
    "condition times": lambda x: (x >= 0) * x,
    "negative minimum": lambda x: -np.minimum(-x, 0),
    "without its minimum": lambda x: x - np.minimum(x, 0),
    "clip": lambda x: np.clip(x, 0, None),
}
TAILS = {
    "log1p": lambda x: np.log1p(np.exp(-np.abs(x))),
    "log": lambda x: np.log(1 + np.exp(-np.abs(-x))),
    "logaddexp": lambda x: np.logaddexp(0, -np.abs(x)),
}
ORDERS = {
    "ramp first": lambda ramp, tail, x: ramp(x) - 0.3 * x + tail(x),
    "ramp last": lambda ramp, tail, x: tail(x) - 0.3 * x + ramp(x),
    "grouped": lambda ramp, tail, x: ramp(x) + (tail(x) - 0.3 * x),
    "subtracted": lambda ramp, tail, x: -(0.3 * x - ramp(x) - tail(x)),
}


@pytest.mark.parametrize("ramp", RAMPS.values(), ids=RAMPS)
@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_softplus_in_any_order(judge: Any, ramp: Any, order: Any) -> None:
    for tail in TAILS.values():
        judge(lambda x, tail=tail: np.sum(order(ramp, tail, x)), np.array([0.0, -1.5, 2.0]), None, "unasked")
        judge(lambda x, tail=tail: order(ramp, tail, x), np.float64(0), 0.2, 0.25)
        judge(lambda x, tail=tail: order(ramp, tail, x), 0.0, 0.2, 0.25)


@pytest.mark.parametrize("ramp", RAMPS.values(), ids=RAMPS)
def test_halves_of_two_softplus_are_told_apart(judge: Any, ramp: Any) -> None:
    tail = TAILS["log1p"]
    judge(lambda x: ramp(x) + tail(2 * x) - x + (ramp(2 * x) + tail(x)), np.float64(0), 0.5, 1.25)


def test_softplus_of_the_negative(judge: Any) -> None:
    judge(lambda x: np.maximum(-x, 0) + np.log1p(np.exp(-np.abs(x))), 0.0, -0.5, 0.25)
    judge(lambda x: (np.abs(x) - x) / 2 + np.log1p(np.exp(-np.abs(x))), 0.0, -0.5, 0.25)
    judge(lambda x: np.log1p(np.exp(-np.abs(x))) - np.minimum(x, 0), 0.0, -0.5, 0.25)


def test_ramps_of_another_sign_are_no_softplus(judge: Any) -> None:
    def tail(x: Any) -> Any:
        return np.log1p(np.exp(-np.abs(x)))

    x = np.array([-1.5, 2.0])
    judge(lambda x: np.sum(tail(x) - np.maximum(x, 0)), x)
    judge(lambda x: np.sum(tail(x) + np.minimum(x, 0)), x)
    judge(lambda x: np.sum(tail(x) + np.where(x > 0, 0, -x) + np.where(x > 0, 2 * x, 0)), x)
    judge(lambda x: np.sum(tail(x) + (np.abs(x) - 2 * x) / 2), x)
    judge(lambda x: np.sum(tail(x) + np.where(x > 1, x, 0) + np.where(x > 0, x, 1)), x)


def test_many_softplus_in_one_sum(judge: Any) -> None:
    def total(x: Any) -> Any:
        loss = 0.0
        for k in range(12):
            y = x * (1 + k / 10)
            loss = loss + (np.maximum(y, 0) - 0.3 * y + np.log1p(np.exp(-np.abs(y))))
        return np.sum(loss)

    scales = 1 + np.arange(12) / 10
    judge(total, np.zeros(2), np.full(2, 0.2 * scales.sum()), np.eye(2) * 0.25 * np.sum(scales**2))


def test_log_sigmoid_from_minimum(judge: Any) -> None:
    def log_sigmoid(x: Any) -> Any:
        return np.sum(np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))))

    judge(log_sigmoid, REGULAR)
    judge(log_sigmoid, FAR, [1, 0.5, 0], np.diag([0, -0.25, 0]))


def test_cross_entropy_from_logits(judge: Any) -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.maximum(x, 0) - x * 0.3 + np.log1p(np.exp(-np.abs(x))))

    judge(loss, REGULAR)
    judge(loss, FAR, [-0.3, 0.2, 0.7], np.diag([0, 0.25, 0]))


FLAT = {
    "swish": (lambda x: x / (1 + np.exp(-x)), [0, 0.5, 1], np.diag([0, 0.5, 0])),
    "tanh by exps": (lambda x: 1 - 2 / (1 + np.exp(2 * x)), [0, 1, 0], NONE),
    "sech": (lambda x: 1 / np.cosh(x), [0, 0, 0], np.diag([0, -1, 0])),
    "sech squared": (lambda x: np.cosh(x) ** -2, [0, 0, 0], np.diag([0, -2, 0])),
    "sech by exps": (lambda x: 2 / (np.exp(x) + np.exp(-x)), [0, 0, 0], np.diag([0, -1, 0])),
    "log cosh": (lambda x: np.log(np.cosh(x)), [-1, 0, 1], np.diag([0, 1, 0])),
    "tanh": (np.tanh, [0, 1, 0], NONE),
    "squared sigmoid": (lambda x: (1 + np.exp(-x)) ** -2, [0, 0.25, 0], np.diag([0, 0.125, 0])),
    "fermi": (lambda x: 3 / (2 + np.exp(x)), [0, -1 / 3, 0], np.diag([0, -1 / 9, 0])),
    "mixture": (lambda x: np.log(2 + 3 * np.exp(x)), [0, 0.6, 1], np.diag([0, 0.24, 0])),
    "scaled log1p": (lambda x: np.log1p(3 * np.exp(x)), [0, 0.75, 1], np.diag([0, 0.1875, 0])),
}


@pytest.mark.parametrize(("function", "gradient", "hessian"), FLAT.values(), ids=FLAT)
def test_values_that_flatten_out(judge: Any, function: Any, gradient: Any, hessian: Any) -> None:
    judge(lambda x: np.sum(function(x) * WEIGHTS), REGULAR)
    judge(lambda x: np.sum(function(x)), FAR, gradient, hessian)


FAR_RIGHT = {
    "x over exp": (lambda x: x / np.exp(x), 0.0),
    "bose": (lambda x: 1 / (np.exp(x) - 1), 0.0),
    "x over sinh": (lambda x: x / np.sinh(x), 0.0),
    "log expm1": (lambda x: np.log(np.expm1(x)), 1.0),
    "log of a difference": (lambda x: np.log(np.exp(x) - np.exp(0.5 * x)), 1.0),
    "log exp": (lambda x: np.log(np.exp(x)), 1.0),
    "log of a product": (lambda x: np.log(x * np.exp(x) * 3), 1 + 1 / 800),
}


@pytest.mark.parametrize(("function", "slope"), FAR_RIGHT.values(), ids=FAR_RIGHT)
def test_where_exp_is_inf(judge: Any, function: Any, slope: float) -> None:
    judge(lambda x: np.sum(function(x)), np.array([0.4, 1.7]))
    judge(function, 800.0, slope, "unasked")


def test_density_whose_exp_underflows(judge: Any) -> None:
    def log_density(x: Any) -> Any:
        return np.sum(np.log(np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)))

    judge(log_density, np.array([40.0, -1.0, 2.0]), [-40, 1, -2], -np.eye(3))


MATRIX = np.array([[0.3, -1.2, 2.0], [1.0, 0.2, -0.7]])
EXTREME = np.array([[1000.0, 1000.0, -1000.0], [-1000.0, -1001.0, -np.inf]])
_E = np.exp(-1.0)
EXTREME_WEIGHTS = [[0.5, 0.5, 0], [1 / (1 + _E), _E / (1 + _E), 0]]


def shifted(x: Any) -> Any:
    m = x.max(axis=1, keepdims=True)
    return (m + np.log(np.sum(np.exp(x - m), axis=1, keepdims=True)))[:, 0]


def shifted_by_rows(x: Any) -> Any:
    m = np.max(x, axis=1)
    return m + np.log(np.sum(np.exp(x - m[:, None]), axis=1))


LOGSUMEXP = {
    "plain": lambda x: np.log(np.sum(np.exp(x), axis=1)),
    "kept axis": lambda x: np.log(np.sum(np.exp(x), axis=1, keepdims=True))[:, 0],
    "shifted": shifted,
    "shifted by rows": shifted_by_rows,
    "of the mean": lambda x: np.log(np.mean(np.exp(x), axis=1)) + np.log(3),
    "weighted": lambda x: np.log(np.sum(2.0 * np.exp(x), axis=1)),
    "logaddexp": lambda x: np.logaddexp.reduce(x, axis=1),
    "python sum": lambda x: np.log(sum(np.exp(x[:, k]) for k in range(3))),
}


@pytest.mark.parametrize("function", LOGSUMEXP.values(), ids=LOGSUMEXP)
def test_logsumexp(judge: Any, function: Any) -> None:
    judge(lambda x: np.sum(function(x) * np.array([1.0, 2.0])), MATRIX)
    judge(lambda x: np.sum(function(x)), EXTREME, EXTREME_WEIGHTS, "unasked")


SOFTMAX = {
    "plain": lambda x: np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True),
    "shifted": lambda x: (lambda e: e / e.sum(axis=1, keepdims=True))(
        np.exp(x - x.max(axis=1, keepdims=True))
    ),
    "by logarithm": lambda x: np.exp(x - np.log(np.sum(np.exp(x), axis=1, keepdims=True))),
    "transposed": lambda x: (np.exp(x).T / np.sum(np.exp(x), axis=1)).T,
    "new axis": lambda x: np.exp(x) / np.sum(np.exp(x), axis=1)[:, None],
}


@pytest.mark.parametrize("softmax", SOFTMAX.values(), ids=SOFTMAX)
def test_softmax(judge: Any, softmax: Any) -> None:
    judge(lambda x: np.sum(softmax(x) * MATRIX * MATRIX), MATRIX)
    judge(lambda x: np.sum(np.log(softmax(x)) * MATRIX * MATRIX), MATRIX)
    judge(lambda x: -np.sum(softmax(x) * np.log(softmax(x))), MATRIX)


def test_log_softmax_shifted(judge: Any) -> None:
    def loss(x: Any) -> Any:
        z = x - x.max(axis=1, keepdims=True)
        return np.sum((z - np.log(np.sum(np.exp(z), axis=1, keepdims=True))) * MATRIX * MATRIX)

    judge(loss, MATRIX)


def test_logarithm_of_a_softmax_that_underflows(judge: Any) -> None:
    def loss(x: Any) -> Any:
        return np.sum(np.log(SOFTMAX["shifted"](x))[:, 0])

    judge(loss, np.array([[-800.0, 0.0, 0.0]]), [[1, -0.5, -0.5]], "unasked")


def test_shift_that_is_no_shift_counts(judge: Any) -> None:
    """Subtracting anything else than what is added back leaves its own derivative."""

    def loss(x: Any) -> Any:
        return np.sum(2 * x[:, 0] + np.log(np.sum(np.exp(x - x[:, :1]), axis=1)))

    judge(loss, MATRIX)
