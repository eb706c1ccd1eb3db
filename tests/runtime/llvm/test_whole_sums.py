"""Reductions of large arrays to one value: one pass with the outputs beside them, shared among threads."""

from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.runtime.llvm.thread_count import get_num_threads

N = 300_007


def numbers(dtype: str, seed: int = 0) -> Any:
    return np.random.default_rng(seed).uniform(0.5, 1.5, N).astype(dtype)


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest) -> Any:
    before = get_num_threads()
    tl.set_num_threads(request.param)
    yield request.param
    tl.set_num_threads(before)


def several(x: Any, y: Any) -> Any:
    p = x * y
    return p.sum(), p.max(), p.min(), (p > 1.2).any(), (p > 0).all(), np.exp(p), p.mean()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.usefixtures("threads")
def test_sums_beside_outputs(dtype: str) -> None:
    x, y = numbers(dtype), numbers(dtype, 1)
    found = tl.compile(several, executor="native")(x, y)
    rtol = 2e-7 if dtype == "f4" else 4e-16
    p = x * y
    np.testing.assert_allclose(found[0], p.astype("f8").sum(), rtol=rtol)
    np.testing.assert_allclose(found[6], p.astype("f8").mean(), rtol=rtol)
    assert found[1:5] == (p.max(), p.min(), True, True)
    np.testing.assert_allclose(found[5], np.exp(p), rtol=4e-7 if dtype == "f4" else 4e-16)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "u1", "?"])
def test_every_number_of_threads_gives_the_same_bits(dtype: str) -> None:
    x = (100 * numbers("f8")).astype(dtype)
    x[-1] = 7 if dtype != "?" else True

    def f(x: Any) -> Any:
        return x.sum(), x.max(), x.any()

    before = get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            tl.set_num_threads(count)
            results.append([np.asarray(r).tobytes() for r in tl.compile(f, executor="native")(x)])
    finally:
        tl.set_num_threads(before)
    assert results[0] == results[1] == results[2]
    assert results[0][1:] == [np.asarray(r).tobytes() for r in (x.max(), x.any())]


@pytest.mark.usefixtures("threads")
def test_integers_are_summed_exactly() -> None:
    x = np.random.default_rng(2).integers(-(2**31), 2**31, N)
    assert tl.compile(lambda x: (x * x).sum(), executor="native")(x) == (x * x).sum()


def test_an_argument_written_in_place_is_summed_as_it_was() -> None:
    """No thread may sum what another one has overwritten already."""
    x = numbers("f4")

    @tl.compile(executor="native")
    def step(x: Any, w: Any) -> Any:
        total = (x * x * w).sum()
        x -= w
        return total

    w = numbers("f4", 1)
    for _ in range(30):
        wanted = (x.astype("f8") ** 2 * w).sum()
        following = x - w
        np.testing.assert_allclose(step(x, w), wanted, rtol=1e-6)
        np.testing.assert_array_equal(x, following)


def test_a_reversed_argument_is_summed_as_it_was() -> None:
    x = numbers("f8")

    @tl.compile(executor="native")
    def step(x: Any) -> Any:
        total = (x[::-1] * np.arange(N)).sum()
        x += 1.0
        return total

    for _ in range(10):
        wanted, following = (x[::-1] * np.arange(N)).sum(), x + 1.0
        np.testing.assert_allclose(step(x), wanted, rtol=1e-13)
        np.testing.assert_array_equal(x, following)


LAYOUTS = {
    "rows": lambda: np.random.default_rng(0).normal(size=(523, 401)),
    "columns": lambda: np.asfortranarray(np.random.default_rng(0).normal(size=(523, 401))),
    "steps": lambda: np.random.default_rng(0).normal(size=(1046, 802))[::2, ::2],
    "backwards": lambda: np.random.default_rng(0).normal(size=(523, 401))[::-1, ::-1],
    "wide": lambda: np.random.default_rng(0).normal(size=(3, 100_001)),
    "tall": lambda: np.random.default_rng(0).normal(size=(100_001, 3)),
    "cube": lambda: np.random.default_rng(0).normal(size=(31, 83, 101)).transpose(1, 2, 0),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.usefixtures("threads")
def test_layouts(layout: str) -> None:
    x = LAYOUTS[layout]()
    b = np.linspace(0.5, 1, x.shape[-1])

    def f(x: Any, b: Any) -> Any:
        p = x * b
        return p.sum(), np.tanh(p), np.abs(p).max()

    total, result, largest = tl.compile(f, executor="native")(x, b)
    np.testing.assert_allclose(total, (x * b).sum(), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(result, np.tanh(x * b), rtol=1e-15)
    assert largest == np.abs(x * b).max()


def test_nothing_is_computed_twice() -> None:
    """Forward and backward of a loss are one loop: each exponential stands in it once."""

    def loss(x: Any, w: Any) -> Any:
        return np.sum(np.exp(x * w))

    f = tl.compile(tl.value_and_grad(loss, wrt=(0, 1)), executor="native")
    x, w = numbers("f8"), numbers("f8", 1)
    value, (dx, dw) = f(x, w)
    e = np.exp(x * w)
    np.testing.assert_allclose(value, e.sum(), rtol=1e-14)
    np.testing.assert_allclose(dx, e * w, rtol=1e-15)
    np.testing.assert_allclose(dw, e * x, rtol=1e-15)
    pieces = f.llvm.split("define void @kernel1")[0]
    assert pieces.count("splat (double 0x3FF71547652B82FE)") == 1
