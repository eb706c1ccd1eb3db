"""The branch not taken, and the element not read, never poison: structural zeros to second order."""

from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless import testing

X = np.array([-1.0, 0.0, 4.0])
NAN, INF = np.nan, np.inf


def second(*diagonal: float) -> Any:
    return np.diag(np.array(diagonal, float))


def written(x: Any, index: Any) -> Any:
    y = np.sqrt(x)
    y[index] = 0.0
    return np.sum(y)


def sliding(x: Any, width: int) -> Any:
    return np.lib.stride_tricks.sliding_window_view(x, width)


WHERE = {
    "sqrt": (lambda x: np.where(x > 0, np.sqrt(x), 0), X, [0, 0, 0.25], second(0, 0, -1 / 32)),
    "scaled": (lambda x: np.where(x > 0, 2 * np.sqrt(x) + 1, 0), X, [0, 0, 0.5], second(0, 0, -1 / 16)),
    "chain": (lambda x: np.where(x > 0, np.log(np.sqrt(x) * 3), x), X, [1, 1, 0.125], second(0, 0, -1 / 32)),
    "nested": (
        lambda x: np.where(x > 0, np.where(x > 1, np.log(x - 1), np.sqrt(x)), np.exp(x)),
        X,
        [np.exp(-1), 1, 1 / 3],
        second(np.exp(-1), 1, -1 / 9),
    ),
    "guarded twice": (
        lambda x: np.where(x < 0, 1 / np.where(x < 0, x, 0), np.sqrt(np.where(x > 0, x, 1))),
        X,
        [-1, 0, 0.25],
        second(-2, 0, -1 / 32),
    ),
    "quotient": (lambda x: np.where(x != 0, 1 / x, 0), X, [-1, 0, -1 / 16], second(-2, 0, 2 / 64)),
    "power": (lambda x: np.where(x > 0, x**0.5, 0), X, [0, 0, 0.25], second(0, 0, -1 / 32)),
    "arccos": (lambda x: np.where(np.abs(x) < 1, np.arccos(x), 0), X, [0, -1, 0], second(0, 0, 0)),
    "x log x": (lambda x: np.where(x > 0, x * np.log(x), 0), X, [0, 0, 1 + np.log(4)], second(0, 0, 0.25)),
    "two masks": (
        lambda x: np.where(x > 0, np.sqrt(x), 0) + np.where(x < 0, np.sqrt(-x), 0),
        X,
        [-0.5, 0, 0.25],
        second(-0.25, 0, -1 / 32),
    ),
    "squared choice": (
        lambda x: np.where(x > 0, np.where(x > 0, np.sqrt(x), 0) ** 2, -x),
        X,
        [-1, -1, 1],
        second(0, 0, 0),
    ),
    "overflow": (
        lambda x: np.where(x < 1, x, np.exp(1000 * x) / np.exp(999.0 * x)),
        np.array([0.5, -3.0]),
        [1, 1],
        second(0, 0),
    ),
    "missing squared": (
        lambda x: np.where(np.isnan(x), 0, x**2),
        np.array([NAN, 3.0]),
        [0, 6],
        second(0, 2),
    ),
    "missing tanh": (
        lambda x: np.where(np.isnan(x), 0, np.tanh(x)),
        np.array([NAN, 0.0]),
        [0, 1],
        second(0, 0),
    ),
    "missing abs": (
        lambda x: np.where(np.isnan(x), 0, np.abs(x) * 2),
        np.array([NAN, 1.0]),
        [0, 2],
        second(0, 0),
    ),
    "missing sin": (lambda x: np.where(x < 9, np.sin(x), 0), np.array([INF, 0.0]), [0, 1], second(0, 0)),
    "clip below": (lambda x: np.sqrt(np.clip(x, 1e-3, None)), X, [0, 0, 0.25], second(0, 0, -1 / 32)),
    "clip of sqrt": (
        lambda x: np.clip(np.sqrt(x), 0.1, 3),
        np.array([0.0, 4.0, 16.0]),
        [0, 0.25, 0],
        second(0, -1 / 32, 0),
    ),
    "maximum of log": (lambda x: np.maximum(np.log(x), -10), X + 1, [0, 1, 0.2], second(0, -1, -0.04)),
    "maximum of sqrt": (lambda x: np.maximum(np.sqrt(x), 0.5), X + 1, [0, 0.5, 0.1 * 5**0.5], "unasked"),
    "minimum of quotient": (lambda x: np.minimum(1 / x, 10), X + 1, [0, -1, -0.04], second(0, 2, 2 / 125)),
    "fmax of log": (lambda x: np.fmax(np.log(x), -10), X, [0, 0, 0.25], second(0, 0, -1 / 16)),
    "select": (
        lambda x: np.select([x > 0, x < 0], [np.sqrt(x), np.sqrt(-x)], 0),
        X,
        [-0.5, 0, 0.25],
        second(-0.25, 0, -1 / 32),
    ),
    "nan_to_num": (lambda x: np.nan_to_num(np.log(x)), X + 2, [1, 0.5, 1 / 6], second(-1, -0.25, -1 / 36)),
    "complex": (lambda x: np.abs(np.where(x > 0, np.sqrt(x + 0j), 0)), X, [0, 0, 0.25], "unasked"),
}


@pytest.mark.parametrize(("function", "x", "gradient", "hessian"), WHERE.values(), ids=WHERE)
def test_elementwise(judge: Any, function: Any, x: Any, gradient: Any, hessian: Any) -> None:
    judge(lambda x: np.sum(function(x)), x, gradient, hessian)


ROWS = np.array([True, False])
LIVE = np.array([[1.0, 4.0], [0.0, -1.0]])
MOVED = {
    "reshape": (lambda x: np.where(x.reshape(3, 1) > 0, np.sqrt(x).reshape(3, 1), 0), X, [0, 0, 0.25]),
    "transpose": (
        lambda x: np.where(x.T > 0, np.sqrt(x).T, 0),
        np.array([[0.0, 4.0], [-1.0, 1.0]]),
        [[0, 0.25], [0, 0.5]],
    ),
    "broadcast": (lambda x: np.where(x[:, None] > 0, np.sqrt(x)[:, None] * np.ones(3), 0), X, [0, 0, 0.75]),
    "roll": (lambda x: np.where(np.roll(x, 1) > 0, np.roll(np.sqrt(x), 1), 0), X, [0, 0, 0.25]),
    "flip": (lambda x: np.where(x[::-1] > 0, np.sqrt(x)[::-1], 0), X, [0, 0, 0.25]),
    "pad": (lambda x: np.where(np.pad(x, 1) > 0, np.pad(np.sqrt(x), 1), 0), X, [0, 0, 0.25]),
    "repeat": (lambda x: np.where(np.repeat(x, 2) > 0, np.repeat(np.sqrt(x), 2), 0), X, [0, 0, 0.5]),
    "tile": (lambda x: np.where(np.tile(x, 2) > 0, np.tile(np.sqrt(x), 2), 0), X, [0, 0, 0.5]),
    "stack": (
        lambda x: np.where(np.eye(2, dtype=bool), np.stack([np.sqrt(x), np.log(x)]), 0),
        np.array([4.0, 1.0]),
        [0.25, 1],
    ),
    "differences of pairs": (
        lambda x: np.where(x[:, None] > x[None, :], np.sqrt(x[:, None] - x[None, :]), 0),
        np.array([0.0, 1.0, 5.0]),
        [-0.5 - 0.5 / 5**0.5, 0.5 - 0.25, 0.25 + 0.5 / 5**0.5],
    ),
    "sum of rows": (
        lambda x: np.where(ROWS, np.sum(np.sqrt(x), axis=1), 0),
        LIVE,
        [[0.5, 0.25], [0, 0]],
    ),
    "sum of rows, axis kept": (
        lambda x: np.where(ROWS[:, None], np.sum(np.sqrt(x), axis=1, keepdims=True), 0),
        LIVE,
        [[0.5, 0.25], [0, 0]],
    ),
    "mean of rows": (
        lambda x: np.where(ROWS, np.mean(np.log(x), axis=1), 0),
        LIVE,
        [[0.5, 0.125], [0, 0]],
    ),
    "maximum of rows": (
        lambda x: np.where(ROWS, np.max(np.sqrt(x), axis=1), 0),
        LIVE,
        [[0, 0.25], [0, 0]],
    ),
    "norm of rows": (
        lambda x: np.where(ROWS[:, None], x / np.sqrt(np.sum(x * x, axis=1, keepdims=True)), 0),
        np.array([[3.0, 4.0], [0.0, 0.0]]),
        [[4 / 125, -3 / 125], [0, 0]],
    ),
    "logsumexp of rows": (
        lambda x: np.where(ROWS, np.log(np.sum(np.exp(x), axis=1)), 0),
        np.array([[0.0, 0.0], [NAN, 1.0]]),
        [[0.5, 0.5], [0, 0]],
    ),
    "softmax of rows": (
        lambda x: np.where(
            ROWS[:, None], np.exp(x) / np.sum(np.exp(x), axis=1, keepdims=True) * np.array([1.0, 2.0]), 0
        ),
        np.array([[0.0, 0.0], [NAN, 1.0]]),
        [[-0.25, 0.25], [0, 0]],
    ),
    "running sum": (
        lambda x: np.where(np.array([True, True, False]), np.cumsum(np.sqrt(x)), 0),
        np.array([1.0, 4.0, 0.0]),
        [1, 0.25, 0],
    ),
}


@pytest.mark.parametrize(("function", "x", "gradient"), MOVED.values(), ids=MOVED)
def test_masks_go_through_shapes_and_sums(judge: Any, function: Any, x: Any, gradient: Any) -> None:
    judge(lambda x: np.sum(function(x)), x, gradient, "unasked")


V = np.array([0.0, 4.0, 1.0])
SQUARE = np.array([[4.0, 0.0], [0.0, 1.0]])
READ = {
    "element": (lambda x: np.sqrt(x)[1], V, [0, 0.25, 0]),
    "slice": (lambda x: np.sqrt(x)[1:], V, [0, 0.25, 0.5]),
    "integers": (lambda x: np.sqrt(x)[[1, 1, 2]], V, [0, 0.5, 0.5]),
    "boolean": (lambda x: np.sqrt(x)[x > 0], V, [0, 0.25, 0.5]),
    "take": (lambda x: np.take(np.sqrt(x), [1, 2]), V, [0, 0.25, 0.5]),
    "take_along_axis": (
        lambda x: np.take_along_axis(np.sqrt(x), np.array([[1], [0]]), axis=1),
        np.array([[0.0, 4.0], [1.0, 0.0]]),
        [[0, 0.25], [0.5, 0]],
    ),
    "diagonal": (lambda x: np.diagonal(np.sqrt(x)), SQUARE, [[0.25, 0], [0, 0.5]]),
    "trace": (lambda x: np.trace(np.log(x)), SQUARE, [[0.25, 0], [0, 1]]),
    "einsum": (lambda x: np.einsum("ii->i", np.sqrt(x)), SQUARE, [[0.25, 0], [0, 0.5]]),
    "triu": (lambda x: np.triu(np.log(x)), np.array([[4.0, 2.0], [0.0, 1.0]]), [[0.25, 0.5], [0, 1]]),
    "windows": (lambda x: sliding(np.sqrt(x), 2)[1:], np.array([0.0, 1.0, 4.0, 9.0]), [0, 0.5, 0.5, 1 / 6]),
    "write": (lambda x: written(x, 0), V, [0, 0.25, 0.5]),
    "write under a mask": (lambda x: written(x, x <= 0), X, [0, 0, 0.25]),
    "largest": (lambda x: np.max(np.sqrt(x)), V, [0, 0.25, 0]),
    "smallest": (lambda x: np.min(np.where(x > 1, 1 / x, INF)), np.array([0.0, 4.0, 2.0]), [0, -1 / 16, 0]),
    "sorted": (lambda x: np.sort(np.sqrt(x))[1:], V, [0, 0.25, 0.5]),
    "position": (lambda x: np.sqrt(x)[np.argmax(x)], V, [0, 0.25, 0]),
    "concatenate": (lambda x: np.concatenate([np.sqrt(x)[1:], x]), V, [1, 1.25, 1.5]),
    "choose": (lambda x: np.choose(np.array([1, 0, 0]), [np.sqrt(x), x]), V, [1, 0.25, 0.5]),
    "sum where": (lambda x: np.sum(np.log(x), where=x > 0), V, [0, 0.25, 1]),
    "mean where": (lambda x: np.mean(np.sqrt(x), where=x > 0), V, [0, 0.125, 0.25]),
    "nansum": (lambda x: np.nansum(x**2), np.array([NAN, 3.0]), [0, 6]),
    "nanmean": (lambda x: np.nanmean(x**2), np.array([NAN, 3.0]), [0, 6]),
}


@pytest.mark.parametrize(("function", "x", "gradient"), READ.values(), ids=READ)
def test_elements_not_read(judge: Any, function: Any, x: Any, gradient: Any) -> None:
    judge(lambda x: np.sum(function(x)), x, gradient, "unasked")


def test_scalar_whose_every_use_is_dead(judge: Any) -> None:
    judge(lambda s: np.sum(np.where(np.array([-1.0, -2.0]) > 0, np.sqrt(s), 0)), 0.0, 0, "unasked")
    judge(lambda s: np.sum(np.maximum(np.array([1.0, 2.0]), np.sqrt(s))), 0.0, 0, "unasked")


def test_python_floats(judge: Any) -> None:
    judge(lambda x: np.where(x > 0, np.sqrt(x), 0.0), 0.0, 0, 0)
    judge(lambda x: np.where(x > 0, np.sqrt(x * 2.0), 0.0), 0.0, 0, 0)


def test_no_blanket_zero(judge: Any) -> None:
    """0 times inf is NaN where nothing structural says otherwise."""
    assert np.isnan(tl.grad(lambda x: 0.0 * np.sqrt(x))(0.0))
    judge(lambda x: np.sqrt(x) ** 2, 0.0, 1, 0)


def count(function: Any, *args: Any) -> Any:
    return testing.count_ops(tl.trace(tl.grad(function), *args), backward=True)


def test_masks_cost_nothing_where_no_pullback_needs_them() -> None:
    """Between a choice and the product that mixes it there is one `where` for the choice itself, no more."""
    x, w = np.ones((4, 3)), np.ones((3, 3))

    def layer(w: Any, x: Any) -> Any:
        scores = np.where(x > 0, (x @ w) / np.sqrt(3.0) + 1, -1e9)
        return np.sum(np.exp(scores))

    assert count(layer, w, x)["where"] == 1

    def ramp(w: Any, x: Any) -> Any:
        return np.sum(np.maximum(x @ w + np.ones(3), 0) @ w)

    assert count(ramp, w, x)["where"] == 2  # the winner's, and the tie's
    assert count(lambda w, x: np.sum((x @ w)[:, 1]), w, x)["where"] == 0


def test_one_restoration_serves_a_chain() -> None:
    def chain(x: Any) -> Any:
        return np.sum(np.where(x > 0, np.sqrt(np.log(np.exp(np.tanh(x)) + 2)), 0))

    assert count(chain, X)["where"] == 1


def test_slices_that_cover_an_array_need_no_mask() -> None:
    assert count(lambda x: np.sum(np.diff(np.log(x)) ** 2), V + 1)["where"] == 0


def test_long_chains_of_choices() -> None:
    """Masks are built without recursion, as deep as the graph is."""

    def chain(x: Any) -> Any:
        for _ in range(3000):
            x = np.maximum(x, -1.0)
        return np.sum(np.sqrt(np.sqrt(x)))

    np.testing.assert_allclose(tl.grad(chain)(np.array([1.0, 16.0])), [0.25, 1 / 32])


def test_masks_of_long_chains_are_built_when_needed() -> None:
    def chain(x: Any) -> Any:
        y = np.sqrt(x)
        for k in range(1500):
            y = np.maximum(y, -1.0 - k)
        return np.sum(np.where(x > 0, y, 0))

    np.testing.assert_allclose(tl.grad(chain)(np.array([0.0, 4.0])), [0, 0.25])
