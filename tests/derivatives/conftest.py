"""What the tests of derivatives share: gradients and Hessians of functions in plain NumPy, and their judges.

A case without an expected gradient or Hessian is judged by central differences, of the function and of the
gradient. Where these cannot judge, at kinks, poles and at the ends of the number range, a case gives what
mathematics says; `UNASKED` where it says nothing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

Judge = Callable[..., None]


def differences(function: Callable[[Any], Any], x: Any, step: float = 1e-4) -> Any:
    """The derivative of a function by its one argument, by central differences of fourth order."""
    x = np.asarray(x, float)
    columns = []
    for index in np.ndindex(x.shape):

        def at(k: int, index: Any = index) -> Any:
            moved = x.copy()
            moved[index] += k * step
            return np.asarray(function(moved if moved.shape else float(moved)), float)

        columns.append((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step))
    return np.stack(columns, -1).reshape(columns[0].shape + x.shape)


@pytest.fixture
def judge() -> Judge:
    """`judge(f, x, gradient=None, hessian=None)`: None asks differences, "unasked" asks nothing."""

    def check(function: Any, x: Any, gradient: Any = None, hessian: Any = None) -> None:
        slope = tl.grad(function)
        with np.errstate(all="ignore"):
            found = np.asarray(slope(x))
            wanted = differences(function, x) if gradient is None else np.asarray(gradient)
            assert found.shape == np.shape(x)
            np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-8)
            if isinstance(hessian, str):
                return
            found = np.asarray(tl.hessian(function)(x))
            wanted = differences(slope, x) if hessian is None else np.asarray(hessian)
            np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)

    return check
