"""Real losses of complex arguments get the gradient that points uphill: conjugate Wirtinger derivatives.

Judged by central differences in the real and in the imaginary direction.
"""

from typing import Any

import numpy as np
import pytest

import tapeless as tl

RNG = np.random.default_rng(3)
Z = RNG.normal(size=4) + 1j * RNG.normal(size=4)
W = RNG.normal(size=4) + 1j * RNG.normal(size=4)
CONJUGATE = np.conj(W)


def uphill(function: Any, z: Any, step: float = 1e-5) -> Any:
    gradient = np.zeros(z.shape, complex)
    for index in np.ndindex(z.shape):
        for unit in (1, 1j):
            above, below = z.copy(), z.copy()
            above[index] += step * unit
            below[index] -= step * unit
            gradient[index] += unit * (function(above) - function(below)) / (2 * step)
    return gradient


def real(w: Any) -> Any:
    """The real inner product with something, so that a complex result becomes a real loss."""
    return np.sum((CONJUGATE * w).real)


HOLOMORPHIC = {
    "sqrt": np.sqrt,
    "square": np.square,
    "reciprocal": np.reciprocal,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "arcsin": np.arcsin,
    "arccos": np.arccos,
    "arctan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "arcsinh": np.arcsinh,
    "arccosh": np.arccosh,
    "arctanh": np.arctanh,
    "cube": lambda z: z**3,
    "broken power": lambda z: z**2.5,
    "complex power": lambda z: z ** (2 - 1j),
    "power of itself": lambda z: z**z,
    "float_power": lambda z: np.float_power(z, 1.5),
    "root squared": lambda z: np.sqrt(z) ** 2,
    "log of a square": lambda z: np.log(z * z),
    "exp of a log": lambda z: np.exp(2 * np.log(z)),
    "sigmoid": lambda z: 1 / (1 + np.exp(-z)),
    "softmax": lambda z: np.exp(z) / np.sum(np.exp(z)),
    "logsumexp": lambda z: np.log(np.sum(np.exp(z))),
    "quotient": lambda z: W / z,
}


@pytest.mark.parametrize("function", HOLOMORPHIC.values(), ids=HOLOMORPHIC)
def test_holomorphic(function: Any) -> None:
    def loss(z: Any) -> Any:
        return real(function(z))

    np.testing.assert_allclose(tl.grad(loss)(Z), uphill(loss, Z), rtol=1e-6, atol=1e-7)


REAL = {
    "abs": lambda z: np.sum(np.abs(z)),
    "abs squared": lambda z: np.sum(np.abs(z) ** 2),
    "abs cubed": lambda z: np.sum(np.abs(z) ** 3),
    "times conjugate": lambda z: np.sum((z * np.conj(z)).real),
    "norm": lambda z: np.sqrt(np.sum((np.conj(z) * z).real)),
    "linalg norm": np.linalg.norm,
    "vdot": lambda z: np.sqrt(np.vdot(z, z).real),
    "hypot": lambda z: np.sum(np.hypot(z.real, z.imag)),
    "variance": np.var,
    "deviation": np.std,
    "abs of a product": lambda z: np.abs(z @ W),
}


@pytest.mark.parametrize("function", REAL.values(), ids=REAL)
def test_real_results(function: Any) -> None:
    np.testing.assert_allclose(tl.grad(function)(Z), uphill(function, Z), rtol=1e-6, atol=1e-7)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(tl.grad(function)(np.zeros(4, complex)), np.zeros(4))


MIXED = {
    "angle": lambda z: np.sum(np.angle(z)),
    "sign": lambda z: real(np.sign(z)),
    "direction": lambda z: real(z / np.abs(z)),
    "parts": lambda z: np.sum(z.real**2 * z.imag),
    "choice": lambda z: real(np.where(z.real > 0, z * z, np.conj(z))),
    "maximum": lambda z: real(np.maximum(z, W)),
    "mean": lambda z: real(z - np.mean(z)),
    "prod": lambda z: np.prod(z).real,
}


@pytest.mark.parametrize("function", MIXED.values(), ids=MIXED)
def test_neither(function: Any) -> None:
    np.testing.assert_allclose(tl.grad(function)(Z), uphill(function, Z), rtol=1e-6, atol=1e-7)


def test_second_derivatives_at_zero_of_the_squared_size() -> None:
    """|z|^2 is smooth at 0: the real and imaginary parts of its gradient have derivative 2."""

    def gradient(x: Any) -> Any:
        slope = tl.grad(lambda z: np.sum(np.abs(z) ** 2))(x[:2] + 1j * x[2:])
        return np.concatenate([slope.real, slope.imag])

    np.testing.assert_allclose(tl.jacobian(gradient)(np.zeros(4)), 2 * np.eye(4), atol=1e-14)


def test_single_precision_stays() -> None:
    gradient = tl.grad(lambda z: np.sum(np.abs(np.exp(z)) ** 2))(Z.astype("c8"))
    assert gradient.dtype == np.dtype("c8")
