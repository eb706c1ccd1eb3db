"""Infinities, NaN and overflow pass through folds as NumPy has them, for every way a fold is run."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

WEIGHTS = np.linspace(-1, 1, 40)

FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda x, axis: x.sum(axis),
    "mean of a product": lambda x, axis: (2 * x).mean(axis),
    "sum beside max": lambda x, axis: (x.sum(axis), x.max(axis), x.min(axis)),
    "sum of tanh": lambda x, axis: np.tanh(x).sum(axis) + x.sum(axis),
    "squares": lambda x, axis: (x * x).sum(axis),
    "prod": lambda x, axis: np.prod(np.sign(x) * 1.5, axis),
    "var": lambda x, axis: x.var(axis),
    "softmax": lambda x, axis: np.exp(x - x.max(axis, keepdims=True)),
    "log of a sum": lambda x, axis: np.log(np.exp(-abs(x)).sum(axis)),
    "any": lambda x, axis: (np.isinf(x).any(axis), np.isnan(x).sum(axis)),
}
SPECIAL = {
    "inf": [np.inf],
    "-inf": [-np.inf],
    "both": [np.inf, -np.inf],
    "nan": [np.nan],
    "inf and nan": [-np.inf, np.nan],
    "overflow": [1.7e308, 1.7e308, 1.7e308, 1.7e308],
}
SHAPES = {"whole": (40,), "rows": (64, 40), "long": (5000, 40), "wide": (9, 3001), "three": (30, 12, 40)}


def like_numpy(f: Callable[..., Any], *args: Any) -> None:
    with np.errstate(all="ignore"):
        wanted = f(*args)
    found = tl.compile(f, executor="native")(*args)
    if not isinstance(wanted, tuple):
        wanted, found = (wanted,), (found,)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("special", SPECIAL)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("fold", FOLDS)
def test_folds(fold: str, shape: str, special: str) -> None:
    values, sizes = SPECIAL[special], SHAPES[shape]
    if special == "overflow" and fold in ("squares", "var", "mean of a product"):
        values = values[:1]  # more are inf - inf or not by the order of the terms
    x = np.random.default_rng(7).standard_normal(sizes)
    for axis in (None, *range(len(sizes))):
        first = np.moveaxis(x, axis or 0, 0).copy()
        first.reshape(len(first), -1)[: len(values), 0] = values
        like_numpy(lambda x, axis=axis: FOLDS[fold](x, axis), np.moveaxis(first, 0, axis or 0).copy())


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
def test_single_values_everywhere(value: float, dtype: str) -> None:
    """Wherever in a row or a column the value stands: also past the last whole vector, and past a block."""
    x = np.ones((200, 37), dtype)
    f = tl.compile(lambda x: (x.sum(0), x.sum(1), x.sum(), x.mean(0)), executor="native")
    for row, column in [(0, 0), (199, 36), (63, 31), (64, 32), (127, 1)]:
        y = x.copy()
        y[row, column] = value
        for found, wanted in zip(f(y), (y.sum(0), y.sum(1), y.sum(), y.mean(0)), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.7e308])
def test_gradients(value: float) -> None:
    x = np.linspace(-2, 2, 64 * 40).reshape(64, 40)
    x[5, 7] = value
    grad = tl.grad(lambda x: (np.tanh(x) @ WEIGHTS).sum() + np.exp(-abs(x)).sum())
    with np.errstate(all="ignore"):
        wanted = tl.compile(grad, executor="numpy")(x)
    np.testing.assert_allclose(tl.compile(grad, executor="native")(x), wanted, rtol=1e-13, atol=1e-15)
