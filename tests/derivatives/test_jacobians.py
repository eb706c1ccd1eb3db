"""Jacobians and Hessians: each row is the gradient of one element, whichever mode it was made by.

Structural zeros, dtypes and complex numbers must not depend on whether the result or the argument is larger.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

X = np.array([0.0, 1.0, 4.0])
INF = np.inf


def written(x: Any) -> Any:
    y = np.sqrt(x)
    y[0] = x[2]
    return y


ROWS: dict[str, Callable[[Any], Any]] = {
    "root": np.sqrt,
    "logarithm": np.log,
    "quotient": lambda x: 1 / x,
    "power": lambda x: x**0.5,
    "chain": lambda x: np.exp(np.sqrt(x) * 2),
    "elements": lambda x: np.array([np.sqrt(x[0]), np.log(x[1]), x[2] ** 0.5]),
    "moved": lambda x: np.sqrt(x)[::-1] + x,
    "sum with another": lambda x: np.sqrt(x) + np.roll(x, 1) ** 2,
    "sums of rows": lambda x: np.sum(np.sqrt(np.stack([x, x], axis=1)), axis=1),
    "running sum": lambda x: np.cumsum(np.sqrt(x)),
    "sorted": lambda x: np.sort(np.sqrt(x)),
    "choice": lambda x: np.where(x > 0, np.sqrt(x), x),
    "written": written,
    "norms": lambda x: np.array([np.linalg.norm(x[:1]), np.linalg.norm(x[1:]), x[0]]),
    "product with a matrix": lambda x: np.arange(9.0).reshape(3, 3) @ np.sqrt(x + 1),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("copies", [1, 3], ids=["backward", "forward"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_are_the_gradients_of_elements(name: str, copies: int, executor: str) -> None:
    function = ROWS[name]
    with np.errstate(all="ignore"):
        rows = np.stack([tl.grad(lambda x, i=i: function(x)[i])(X) for i in range(3)])
        compiled = tl.compile(
            tl.jacobian(lambda x: np.concatenate([function(x)] * copies)), executor=executor
        )
        for _ in range(3):
            np.testing.assert_allclose(compiled(X), np.tile(rows, (copies, 1)), rtol=1e-12)
    assert not np.isnan(rows).any()


SECOND: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "powers of elements": (lambda x: x[0] ** 1.5 + x[1] ** 1.5 + x[2] ** 1.5, [INF, 0.75, 0.375]),
    "power": (lambda x: np.sum(x**1.5), [INF, 0.75, 0.375]),
    "root": (lambda x: np.sum(np.sqrt(x)), [-INF, -0.25, -1 / 32]),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_of_separate_elements(name: str, executor: str) -> None:
    function, diagonal = SECOND[name]
    with np.errstate(all="ignore"):
        found = tl.compile(tl.hessian(function), executor=executor)(X)
    expected = np.zeros((3, 3))
    np.fill_diagonal(expected, diagonal)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_zeros_of_given_vectors_are_values() -> None:
    """A product of such a zero and inf is NaN; and a tangent that is 0 still has its derivative."""
    x, direction = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tl.hvp(lambda x: np.sum(x**1.5), x, direction), [np.nan, 0.75])

    def along(v: Any) -> Any:
        return np.sum(tl.jvp(np.sqrt, (np.array([4.0, 1.0]),), (v,))[1])

    np.testing.assert_array_equal(tl.grad(along)(np.zeros(2)), [0.25, 0.5])


TO: dict[str, Callable[[Any], Any]] = {
    "same": lambda x: x * 2,
    "wider": lambda x: x.astype("f8") * 2,
    "narrower": lambda x: x.astype("f4") * np.float32(2),
}


@pytest.mark.parametrize("copies", [1, 2], ids=["backward", "forward"])
@pytest.mark.parametrize("dtype", ["f4", "f8", ">f8"])
@pytest.mark.parametrize("name", TO)
def test_the_precision_is_that_of_the_argument(name: str, dtype: str, copies: int) -> None:
    x = np.array([1, 2, 4], dtype)
    found = tl.jacobian(lambda x: np.concatenate([TO[name](x)] * copies))(x)
    assert found.dtype == x.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, np.tile(2 * np.eye(3), (copies, 1)))
    complex_one = tl.jacobian(lambda x: np.concatenate([TO[name](x) * 1j] * copies))(x)
    assert complex_one.dtype == np.result_type(x.dtype, "c8")
    np.testing.assert_array_equal(complex_one, np.tile(2j * np.eye(3), (copies, 1)))


@pytest.mark.parametrize("z", [np.array([1 + 2j, 3 - 1j]), np.array([1 + 2j, 3 - 1j], "c8"), 1 + 2j], ids=str)
@pytest.mark.parametrize("copies", [1, 3], ids=["backward", "forward"])
def test_real_results_of_complex_arguments_have_gradients_as_rows(z: Any, copies: int) -> None:
    found = tl.jacobian(lambda z: np.stack([np.abs(z) ** 2] * copies))(z)
    rows = np.stack([np.eye(np.size(z)) * 2 * z if np.ndim(z) else 2 * z] * copies)
    assert found.dtype == np.asarray(z).dtype
    np.testing.assert_allclose(found, rows, rtol=1e-6)


def test_complex_results_of_real_arguments() -> None:
    np.testing.assert_allclose(tl.jacobian(lambda t: np.exp(1j * t))(0.5), 1j * np.exp(0.5j))
    np.testing.assert_allclose(tl.jacobian(lambda x: np.sum(x * x * (2 - 1j)))(X), 2 * X * (2 - 1j))
    empty = tl.jacobian(lambda x: x * 1j)(np.zeros(0))
    assert (empty.shape, empty.dtype) == ((0, 0), np.dtype(complex))


@pytest.mark.parametrize("copies", [1, 2], ids=["backward", "forward"])
def test_complex_results_of_complex_arguments_are_refused(copies: int) -> None:
    z = np.array([1 + 2j, 3 - 1j])
    with pytest.raises(tl.TapelessError, match="complex results by a complex argument"):
        tl.jacobian(lambda z: np.concatenate([z * z] * copies))(z)
    with pytest.raises(tl.TapelessError, match="complex results by a complex argument"):
        tl.hessian(lambda z: np.sum(np.abs(z) ** 2))(z)
