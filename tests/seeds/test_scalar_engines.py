"""What scalar engines built from scratch do, done by tracing: Python numbers, a neuron, linear regression."""

import math

import numpy as np
import pytest

import tapeless as tl


@pytest.mark.parametrize(
    ("function", "args", "gradients"),
    [
        pytest.param(lambda a, b: a + b, (2.0, 3.0), (1.0, 1.0), id="add"),
        pytest.param(lambda a, b: a - b, (2.0, 3.0), (1.0, -1.0), id="subtract"),
        pytest.param(lambda a, b: a * b, (2.0, 3.0), (3.0, 2.0), id="multiply"),
        pytest.param(lambda a, b: a / b, (2.0, 4.0), (0.25, -0.125), id="divide"),
        pytest.param(lambda a, b: -a + 0 * b, (2.0, 3.0), (-1.0, 0.0), id="negate"),
        pytest.param(lambda a, b: a**3 + b**-1, (2.0, 4.0), (12.0, -0.0625), id="power"),
        pytest.param(lambda a, b: a**b, (2.0, 3.0), (12.0, 8.0 * math.log(2.0)), id="power-of-both"),
        pytest.param(lambda a, b: 2 + a * 3 - b / 2, (2.0, 3.0), (3.0, -0.5), id="with-numbers"),
    ],
)
def test_operators_on_python_numbers(function, args, gradients) -> None:
    value, found = tl.value_and_grad(function, wrt=(0, 1))(*args)
    assert value == function(*args)
    assert type(value) is float
    assert found == pytest.approx(gradients, rel=1e-14)
    assert all(type(g) is float for g in found)


def test_numpy_scalars_stay_numpy_scalars() -> None:
    value, gradient = tl.value_and_grad(lambda x: x * x + 1)(np.float32(3.0))
    assert (value, gradient) == (10.0, 6.0)
    assert type(value) is type(gradient) is np.float32


def test_square_of_a_line() -> None:
    """y = (w x + b)^2 at x = 2, w = 3, b = 1."""
    value, (dw, dx, db) = tl.value_and_grad(lambda w, x, b: (w * x + b) ** 2, wrt=(0, 1, 2))(3.0, 2.0, 1.0)
    assert (value, dw, db, dx) == (49.0, 28.0, 14.0, 42.0)


def test_product() -> None:
    assert tl.grad(lambda w, x: w * x, wrt=(0, 1))(3.0, 2.0) == (2.0, 3.0)


def test_one_parameter_reached_by_two_losses() -> None:
    assert tl.grad(lambda w, x1, x2: w * x1 + w * x2)(1.5, 2.0, 5.0) == 7.0


def test_the_plan_prints_the_forward_part_then_the_backward_part() -> None:
    """loss = (w x + b - y)^2: multiply, add, subtract, power, then the backward products."""

    def loss(w, x, b, y):
        return (w * x + b - y) ** 2

    text = str(tl.compile(tl.value_and_grad(loss, wrt=(0, 2))).plan(3.0, 2.0, 1.0, 4.0))
    places = [text.index(f" = {op}") for op in ("multiply %w", "add", "subtract", "power")]
    assert places == sorted(places)
    after = text[places[-1] :]
    assert " = multiply " in after, "the backward part follows the loss"


def test_sigmoid_neuron_trained_on_mean_squared_error() -> None:
    features = np.array([[1.0, 2.0], [2.0, 1.0], [-1.0, -2.0]])
    labels = np.array([1.0, 0.0, 0.0])

    def loss(params, features, labels):
        predicted = 1 / (1 + np.exp(-(features @ params["weights"] + params["bias"])))
        return np.mean((predicted - labels) ** 2)

    @tl.compile
    def epoch(params, features, labels):
        value, grads = tl.value_and_grad(loss)(params, features, labels)
        params["weights"] -= 0.1 * grads["weights"]
        params["bias"] -= 0.1 * grads["bias"]
        return value

    params = {"weights": np.array([0.1, -0.2]), "bias": 0.0}
    losses = [round(float(epoch(params, features, labels)), 4) for _ in range(2)]
    assert losses == [0.3033, 0.2942]
    assert np.round(params["weights"], 4).tolist() == [0.1036, -0.1425]
    assert round(params["bias"], 4) == -0.0167


def test_linear_regression_by_gradient_descent() -> None:
    """y = x - 1 with inputs scaled to [0, 1]: in 50 epochs the line goes through the scaled points."""
    x = np.arange(0.0, 11.0)
    scaled = (x - x.min()) / (x.max() - x.min())
    y = scaled - 0.1

    @tl.compile
    def epoch(slope, intercept, x, y):
        def loss(slope, intercept):
            return np.mean((slope * x + intercept - y) ** 2)

        value, (ds, di) = tl.value_and_grad(loss, wrt=(0, 1))(slope, intercept)
        return value, slope - 0.7 * ds, intercept - 0.7 * di

    slope, intercept = 0.0, 0.0
    for _ in range(50):
        value, slope, intercept = epoch(slope, intercept, scaled, y)
    assert value < 1e-4
    assert slope == pytest.approx(1.0, abs=0.05)
    assert intercept == pytest.approx(-0.1, abs=0.05)
    assert epoch.stats.traces <= 2, "new values of Python numbers are no reason to retrace"


def test_the_name_of_an_operation_is_kept() -> None:
    assert "tanh" in str(tl.trace(lambda x: np.tanh(x), np.ones(2)))
