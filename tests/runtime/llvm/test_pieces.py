"""Arrays joined and rolled natively: pieces copied to where they lie."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.plan import Action

RNG = np.random.default_rng(5)

CASES: dict[str, Callable[[Any, Any], Any]] = {
    "rows": lambda x, y: np.concatenate([x, y, x[:1]]),
    "columns": lambda x, y: np.concatenate([x[:, :2], y, x[:, ::-1]], axis=1),
    "all": lambda x, y: np.concatenate([x, y], axis=None),
    "with nothing": lambda x, y: np.concatenate([x[:0], y, x[:0]]),
    "nothing": lambda x, y: np.concatenate([x[:0], y[:0]]),
    "transposed": lambda x, y: np.concatenate([x.T, y.T], axis=1),
    "stacks": lambda x, y: (np.stack([x, y, x]), np.hstack([x, y]), np.vstack([x, y]), np.dstack([x, y])),
    "a constant": lambda x, y: np.concatenate([x, np.ones((1, 5), x.dtype)]) * 2,
    "computed": lambda x, y: np.concatenate([x * 2, y + 1]).sum(0),
    "roll": lambda x, y: np.roll(x, 1, 0),
    "roll back": lambda x, y: np.roll(x, -2, 1) + y,
    "roll around": lambda x, y: np.roll(x, (3, 9), (0, 1)),
    "roll flat": lambda x, y: np.roll(x, 7),
    "roll by nothing": lambda x, y: np.roll(x, 0, 0) + np.roll(y, 4, 0),
    "roll nothing": lambda x, y: np.roll(x[:0], 1, 0),
    "a stencil": lambda x, y: np.roll(x, 1, 0) + np.roll(x, -1, 0) + np.roll(x, 1, 1) - 3 * x,
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "u1", "?", "c16"])
@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(name: str, dtype: str) -> None:
    x, y = (RNG.integers(0, 2 if dtype == "?" else 9, (4, 5)).astype(dtype) for _ in range(2))
    if dtype == "?" and name == "a stencil":
        pytest.skip("NumPy does not subtract truth values")
    wanted, compiled = CASES[name](x, y), tl.compile(CASES[name], executor="native")
    for _ in range(4):
        found = compiled(x, y)
        several = isinstance(wanted, tuple)
        for a, b in zip(found, wanted, strict=True) if several else [(found, wanted)]:
            np.testing.assert_array_equal(a, b)
            assert a.dtype == b.dtype
            assert a.strides == b.strides


@pytest.mark.parametrize("name", ["rows", "columns", "roll", "a stencil", "computed"])
def test_the_whole_is_one_native_call(name: str) -> None:
    """Also where it stands between other steps."""

    def f(x: Any, y: Any) -> Any:
        return np.exp(CASES[name](np.tanh(x), y))

    x, y = RNG.normal(size=(2, 4, 5))
    compiled = tl.compile(f, executor="native")
    np.testing.assert_allclose(compiled(x, y), f(x, y), rtol=1e-14)
    (special,) = compiled._cache.values()
    assert [segment.step for segment in special.run.segments] == [None]
    assert any(step.action is Action.COMPUTE for step in special.run.plan.steps)


def test_gradients_through_pieces() -> None:
    def loss(x: Any, y: Any) -> Any:
        joined = np.concatenate([x, np.roll(y, 1, 0)], axis=1)
        return np.sum(np.tanh(joined) * np.arange(40.0).reshape(4, 10))

    grad = tl.grad(loss, wrt=(0, 1))
    x, y = RNG.normal(size=(2, 4, 5))
    for found, wanted in zip(tl.compile(grad, executor="native")(x, y), grad(x, y), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
