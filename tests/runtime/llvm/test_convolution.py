"""Convolutions and pooling written in plain NumPy: no window matrix is built, values are the interpreter's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tapeless as tl
from tapeless.testing import count_ops


def mixed(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def windows(x: Any, k: Any, stride: int = 1, dilation: int = 1) -> Any:
    reach = [dilation * (n - 1) + 1 for n in k.shape[2:]]
    axes = tuple(range(2, k.ndim))
    found = sliding_window_view(x, reach, axis=axes)
    inner = (slice(None, None, stride),) * len(axes)
    return found[(slice(None), slice(None), *inner, *(slice(None, None, dilation),) * len(axes))]


def two_dimensional(x: Any, k: Any, **options: Any) -> Any:
    return np.einsum("nchwij,ocij->nohw", windows(x, k, **options), k, optimize=True)


def by_loop(x: Any, k: Any) -> Any:
    return np.einsum("nchwij,ocij->nohw", windows(x, k), k)


def by_tensordot(x: Any, k: Any) -> Any:
    return np.tensordot(windows(x, k), k, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def strided(x: Any, k: Any) -> Any:
    return two_dimensional(x, k, stride=2)


def dilated(x: Any, k: Any) -> Any:
    return two_dimensional(x, k, dilation=2)


def padded(x: Any, k: Any) -> Any:
    return two_dimensional(np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 2))), k)


def one_dimensional(x: Any, k: Any) -> Any:
    return np.einsum("nclk,ock->nol", windows(x, k), k, optimize=True)


def channels_last(x: Any, k: Any) -> Any:
    found = sliding_window_view(x, k.shape[:2], axis=(1, 2))
    return np.einsum("nhwcij,ijco->nhwo", found, k, optimize=True)


def grouped(x: Any, k: Any) -> Any:
    n, c, h, w = x.shape
    found = sliding_window_view(x.reshape(n, 2, c // 2, h, w), k.shape[3:], axis=(3, 4))
    return np.einsum("ngchwij,gocij->ngohw", found, k)


def depthwise(x: Any, k: Any) -> Any:
    return np.einsum("nchwij,cij->nchw", sliding_window_view(x, k.shape[1:], axis=(2, 3)), k)


def moving_average(x: Any, k: Any) -> Any:
    return sliding_window_view(x, len(k)) @ k


CASES: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "plain": (two_dimensional, (mixed(9, 3, 8, 7), mixed(4, 3, 3, 2))),
    "one-channel": (two_dimensional, (mixed(16, 1, 8, 8), mixed(5, 1, 3, 3))),
    "one-sample": (two_dimensional, (mixed(1, 2, 12, 24), mixed(3, 2, 3, 3))),
    "double": (two_dimensional, (mixed(9, 2, 6, 6, dtype="f8"), mixed(4, 2, 3, 3, dtype="f8"))),
    "loop": (by_loop, (mixed(9, 3, 8, 7), mixed(4, 3, 3, 2))),
    "tensordot": (by_tensordot, (mixed(9, 3, 8, 7), mixed(4, 3, 3, 2))),
    "strided": (strided, (mixed(8, 2, 9, 8), mixed(3, 2, 3, 2))),
    "dilated": (dilated, (mixed(8, 2, 9, 8), mixed(3, 2, 3, 2))),
    "padded": (padded, (mixed(8, 2, 5, 6), mixed(3, 2, 3, 5))),
    "one-dimensional": (one_dimensional, (mixed(5, 2, 30), mixed(4, 2, 5))),
    "channels-last": (channels_last, (mixed(8, 6, 7, 4), mixed(3, 3, 4, 16))),
    "groups": (grouped, (mixed(8, 6, 7, 6), mixed(2, 5, 3, 3, 3))),
    "depthwise": (depthwise, (mixed(8, 3, 7, 6), mixed(3, 3, 3))),
}


def loss_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """A number that asks for every element of the result with another weight."""

    def loss(x: Any, k: Any) -> Any:
        made = function(x, k)
        return np.sum(made * made * 0.5)

    return loss


def close(native: Any, plain: Any) -> None:
    assert native.dtype == plain.dtype
    assert native.shape == plain.shape
    size = float(np.max(np.abs(plain), initial=1e-30))
    tolerance = 4e-6 if plain.dtype == np.float32 else 1e-14
    np.testing.assert_allclose(native, plain, rtol=0, atol=tolerance * size)


@pytest.mark.parametrize("name", CASES)
def test_convolutions_and_both_gradients_are_those_of_the_interpreter(name: str) -> None:
    function, args = CASES[name]
    gradients = tl.value_and_grad(loss_of(function), wrt=(0, 1))
    native = tl.compile(lambda *a: (function(*a), *gradients(*a)), executor="native")
    plain = tl.compile(lambda *a: (function(*a), *gradients(*a)), executor="interpret")
    (result, value, grads), (expected, wanted, plain_grads) = native(*args), plain(*args)
    close(result, expected)
    assert value == pytest.approx(wanted, rel=1e-5)
    for mine, its in zip(grads, plain_grads, strict=True):
        close(mine, its)


@pytest.mark.parametrize("name", CASES)
def test_convolutions_and_both_gradients_build_no_window_matrix(name: str) -> None:
    function, args = CASES[name]
    gradients = tl.value_and_grad(loss_of(function), wrt=(0, 1))
    compiled = tl.compile(gradients, executor="native")
    counts = count_ops(compiled.plan(*args).graph)
    assert counts["contract_windows"] == 3
    assert "window" not in counts
    assert "window_sum" not in counts
