"""Convolutions and pooling in plain NumPy: no window matrix is built, values are the interpreter's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import tapeless as tl
from tapeless.compiler.pipeline import optimize
from tapeless.compiler.plan import Target
from tapeless.runtime.llvm.executor import NativeExecutor
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


def test_a_view_of_what_goes_into_strided_memory_sees_it() -> None:
    def update(x: Any) -> Any:
        made = x * 2
        x[...] = made
        return made.T @ made

    whole, twin = mixed(6, 8), mixed(6, 8)
    result = tl.compile(update, executor="native")(whole[:, ::2])
    np.testing.assert_allclose(result, update(twin[:, ::2]), rtol=1e-5)
    np.testing.assert_array_equal(whole, twin)


def max_pool(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def average_pool(x: Any) -> Any:
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).mean(axis=(3, 5))


def sliding_max(x: Any) -> Any:
    return sliding_window_view(x, (3, 3), axis=(2, 3))[:, :, ::2, ::2].max(axis=(4, 5))


@pytest.mark.parametrize("pool", [max_pool, average_pool, sliding_max])
@pytest.mark.parametrize("ties", [False, True], ids=["distinct", "ties"])
def test_pooling_after_a_convolution_and_its_gradients(pool: Callable[..., Any], ties: bool) -> None:
    def block(x: Any, k: Any, bias: Any) -> Any:
        return pool(np.maximum(padded(x, k) + bias[:, None, None], 0))

    x, k, bias = mixed(9, 2, 8, 6), mixed(3, 2, 3, 5), mixed(3)
    if ties:
        x, k, bias = np.round(x), np.round(k), np.round(bias)
    weights = mixed(*block(x, k, bias).shape)
    gradients = tl.value_and_grad(lambda *a: np.sum(block(*a) * weights), wrt=(0, 1, 2))
    args = x, k, bias
    value, mine = tl.compile(gradients, executor="native")(*args)
    wanted, its = tl.compile(gradients, executor="interpret")(*args)
    assert value == pytest.approx(wanted, rel=1e-5)
    for a, b in zip(mine, its, strict=True):
        close(a, b)


@pytest.mark.parametrize("pool", [max_pool, average_pool, sliding_max])
def test_a_block_and_its_gradients_are_one_native_call(pool: Callable[..., Any]) -> None:
    def loss(x: Any, k: Any) -> Any:
        return np.sum(pool(np.maximum(padded(x, k), 0)) ** 2)

    args = mixed(9, 2, 8, 6), mixed(3, 2, 3, 5)
    graph = optimize(tl.trace(tl.grad(loss, wrt=(0, 1)), *args))
    executor = NativeExecutor(graph, [None] * 2, [Target("fresh")] * 2)
    assert [segment.step for segment in executor.segments] == [None]


def test_a_stack_of_convolutions_transposes_its_input_once() -> None:
    def network(x: Any, k: Any, k2: Any) -> Any:
        x = max_pool(np.maximum(padded(x, k), 0))
        x = max_pool(np.maximum(two_dimensional(x, k2), 0))
        return np.sum(x.reshape(len(x), -1) ** 2)

    args = mixed(16, 1, 14, 16), mixed(4, 1, 3, 5), mixed(6, 4, 2, 3)
    gradients = tl.value_and_grad(network, wrt=(1, 2))
    plan = tl.compile(gradients, executor="native").plan(*args)
    counts = count_ops(plan.graph)
    assert counts["contract_windows"] == 5
    assert counts["copy"] == 1
    made = [n for n in plan.graph.nodes if n.op.name == "contract_windows"]
    assert [n.type.shape[-1] for n in made if len(n.type.shape) == 4 and n.type.shape[-1] == 16] == [16] * 3


def test_a_border_of_one_number_is_written_once() -> None:
    padding = tl.compile(lambda x: np.pad(x, ((0, 0), (2, 1)), constant_values=3) * 2, executor="native")
    x = mixed(3, 5)
    np.testing.assert_array_equal(padding(x), np.pad(x, ((0, 0), (2, 1)), constant_values=3) * np.float32(2))
    assert count_ops(padding.plan(x).graph)["write"] == 1


@pytest.mark.parametrize(
    "words",
    [
        "ij,jk->ik", "ij,kj->ik", "bij,bjk->bik", "bhqd,bhkd->bhqk", "ij,ij->", "ij,ij->i", "i,j->ij",
        "ij,ij->ji", "ij->ji", "ij->j", "ij,k->i", "abc,cd->abd", "ij,j->i", "ii->i", "ij,jk,kl->il",
    ],
)  # fmt: skip
def test_einsums_agree_with_the_interpreter(words: str) -> None:
    lengths = dict(zip("abcdefhijklq", (3, 4, 5, 2, 6, 7, 3, 5, 5, 4, 3, 2), strict=True))
    args = [mixed(*(lengths[c] for c in word)) for word in words.split("->")[0].split(",")]
    native = tl.compile(lambda *a: np.einsum(words, *a), executor="native")(*args)
    plain = np.einsum(words, *args)
    close(np.asarray(native), np.asarray(plain))


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32))
def test_any_convolution_agrees_with_the_interpreter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, c, o = (int(rng.integers(1, top)) for top in (34, 5, 10))
    stride, dilation, pad = (int(rng.integers(low, 3)) for low in (1, 1, 0))
    kernel = [int(k) for k in rng.integers(1, 5, 2)]
    size = [dilation * (k - 1) + 1 + int(rng.integers(0, 12)) for k in kernel]
    x, k = (rng.normal(size=s).astype("f4") for s in ((n, c, *size), (o, c, *kernel)))

    def convolution(x: Any, k: Any) -> Any:
        around = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
        return np.maximum(two_dimensional(around, k, stride=stride, dilation=dilation), 0)

    gradients = tl.value_and_grad(loss_of(convolution), wrt=(0, 1))
    value, mine = tl.compile(gradients, executor="native")(x, k)
    wanted, its = tl.compile(gradients, executor="interpret")(x, k)
    assert value == pytest.approx(wanted, rel=1e-4, abs=1e-5)
    for a, b in zip(mine, its, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=2e-5 * float(np.max(np.abs(b), initial=1e-3)))
