"""The native executor held against NumPy: values, changes to arguments, results that own their memory."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.plan import Action
from tapeless.testing import count_ops

RNG = np.random.default_rng(3)


def mixed(*shape: int, dtype: str = "f8") -> np.ndarray:
    return (3 * np.random.default_rng(sum(shape)).normal(size=shape)).astype(dtype)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layer_norm(x: Any, w: Any) -> Any:
    d = x - x.mean(axis=-1, keepdims=True)
    return d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * w


def loss(p: Any, x: Any, y: Any) -> Any:
    h = np.maximum(x @ p["w1"] + p["b1"], 0)
    z = h @ p["w2"] + p["b2"]
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y])


def step(p: Any, x: Any, y: Any) -> Any:
    value, grads = tl.value_and_grad(loss)(p, x, y)
    for name in p:
        p[name] -= 0.1 * grads[name]
    return value


def adam(w: Any, m: Any, v: Any, g: Any) -> None:
    m *= 0.9
    m += 0.1 * g
    v *= 0.99
    v += 0.01 * g * g
    w -= 0.01 * m / (np.sqrt(v) + 1e-8)


CASES: dict[str, tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]] = {
    "elementwise": (lambda x, y: (x * y + 1.5, x / y, -x, abs(x), x > y), lambda: (mixed(33), mixed(33) + 9)),
    "float32": (lambda x: x * 2 + x.sum(), lambda: (mixed(7, 5, dtype="f4"),)),
    "broadcast": (lambda x, b: np.maximum(x + b, 0), lambda: (mixed(9, 70), mixed(70))),
    "no-axes": (
        lambda x: ((x > 1).min(axis=()), x.sum(axis=()), (x > 2).any(axis=1)),
        lambda: (mixed(4, 5),),
    ),
    "columns": (lambda x: (x * x).sum(axis=0), lambda: (mixed(40, 77),)),
    "rows": (lambda x: (x * x).sum(axis=1), lambda: (mixed(40, 77),)),
    "all": (lambda x: (x.sum(), x.max(), x.min(), x.mean()), lambda: (mixed(40, 77),)),
    "middle": (lambda x: x.sum(axis=1), lambda: (mixed(4, 5, 6),)),
    "softmax": (softmax, lambda: (mixed(12, 50),)),
    "layer-norm": (layer_norm, lambda: (mixed(12, 50), mixed(50))),
    "strided": (lambda x: x[::2, ::-1] * 2 + x.T[:4, :4].sum(), lambda: (mixed(8, 8),)),
    "fortran": (lambda x: np.sqrt(np.abs(x)).sum(axis=0), lambda: (np.asfortranarray(mixed(6, 8)),)),
    "integers": (lambda x: (x * x - 3, x.sum(), x > 2, x.max()), lambda: (np.arange(-9, 40),)),
    "booleans": (lambda x, y: (x & y, x | ~y, x.any(), y.all()), lambda: (mixed(20) > 0, mixed(20) > 1)),
    "where": (lambda x: np.where(x > 0, x, 0.1 * x), lambda: (mixed(50),)),
    "matmul": (lambda x, y: (x @ y, y.T @ x.T, x @ x.T), lambda: (mixed(5, 8), mixed(8, 3))),
    "batched": (lambda x, y: x @ y, lambda: (mixed(3, 5, 8), mixed(3, 8, 4))),
    "sorted": (lambda x: np.sort(x * 2)[1:] + 1, lambda: (mixed(20),)),
    "writes": (lambda x: x.__setitem__(slice(1, 3), x[4:6] * 2), lambda: (mixed(8),)),
    "empty": (lambda x: (x + 1, x.sum(axis=0)), lambda: (np.zeros((0, 3)),)),
    "numbers": (lambda x, s, n: x * s + n, lambda: (mixed(9), 2.5, 3)),
    "scalars": (lambda x, s: (x * s, s * s), lambda: (mixed(9, dtype="f4"), np.float32(1.5))),
    "adam": (adam, lambda: tuple(np.abs(mixed(30, 4)) + k for k in range(4))),
    "swap": (
        lambda x, y: (x.__setitem__(..., y + 0), y.__setitem__(..., x - 1)),
        lambda: (mixed(5), mixed(5)),
    ),
    "views-returned": (lambda x: (x * 2).reshape(2, -1).T, lambda: (mixed(12),)),
    "rows-by-index": (
        lambda x, i: (x[i], x[i, 1:3] * 2, x[:, i]),
        lambda: (mixed(6, 6), np.array([0, -1, 3, 3])),
    ),
    "pairs-by-index": (lambda x, i: x[np.arange(4), i], lambda: (mixed(4, 6), np.array([0, -1, 3, 3]))),
    "writes-by-index": (
        lambda x, i: x.__setitem__(i, 2 * x[:4]),
        lambda: (mixed(6, 3), np.array([0, 2, 0, -1])),
    ),
    "constant-result": (lambda x: (np.full(3, 2.0), x + np.arange(4.0)), lambda: (mixed(4),)),
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_arguments_are_those_of_numpy(name: str) -> None:
    function, make = CASES[name]
    compiled = tl.compile(function, executor="native")
    for _ in range(3):
        plain_args, native_args = make(), make()
        plain, native = function(*plain_args), compiled(*native_args)
        compare(plain, native)
        compare(plain_args, native_args)


def compare(plain: Any, native: Any) -> None:
    if isinstance(plain, tuple):
        assert len(plain) == len(native)
        for a, b in zip(plain, native, strict=True):
            compare(a, b)
        return
    assert type(plain) is type(native)
    if plain is None:
        return
    assert np.asarray(plain).dtype == np.asarray(native).dtype
    single = np.asarray(plain).dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(native, plain, rtol=2e-6 if single else 1e-13, atol=1e-6 if single else 1e-13)


def test_a_training_step_agrees_with_the_interpreter() -> None:
    def params() -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        return {
            "w1": rng.normal(size=(20, 16)) / 4, "b1": np.zeros(16),
            "w2": rng.normal(size=(16, 5)) / 4, "b2": np.zeros(5),
        }  # fmt: skip

    x, y = RNG.normal(size=(32, 20)), RNG.integers(0, 5, 32)
    reference, native = params(), params()
    by_reference = tl.compile(step, executor="interpret")
    by_native = tl.compile(step, executor="native")
    for _ in range(5):
        assert by_native(native, x, y) == pytest.approx(by_reference(reference, x, y), rel=1e-12)
    for name in reference:
        np.testing.assert_allclose(native[name], reference[name], rtol=1e-11, atol=1e-13)


def test_elementwise_work_becomes_one_kernel_and_prints_in_the_plan() -> None:
    compiled = tl.compile(lambda x: np.where(x > 0, x * 2 + 1, -x), executor="native")
    plan = compiled.plan(mixed(100))
    computing = [s for s in plan.steps if s.action is Action.COMPUTE]
    assert [s.node.op.name for s in computing] == ["fused"]
    assert "graph @body" in str(plan)
    assert count_ops(plan.graph)["fused"] == 1


def test_updates_are_written_straight_into_the_callers_memory() -> None:
    plan = tl.compile(adam, executor="native").plan(*CASES["adam"][1]())
    assert plan.arena_bytes == 0
    assert not any(s.action is Action.COPY for s in plan.steps)


def test_an_index_out_of_range_raises_and_changes_nothing() -> None:
    def shift(x: Any, i: Any) -> Any:
        x += 1
        return x[i]

    compiled = tl.compile(shift, executor="native")
    x = mixed(5)
    np.testing.assert_array_equal(compiled(x, np.array([0, -5])), x[[0, -5]])
    before = x.copy()
    with pytest.raises(IndexError, match="index 5 is out of bounds"):
        compiled(x, np.array([0, 5]))
    np.testing.assert_array_equal(x, before)


def test_the_gradient_of_rows_read_twice_adds_up() -> None:
    def picked(x: Any, i: Any) -> Any:
        return np.sum(x[i] ** 2)

    x, i = mixed(6, 3), np.array([0, 2, 0, -1])
    gradient = tl.compile(tl.grad(picked), executor="native")(x, i)
    expected = 2 * x * np.array([2, 0, 1, 0, 0, 1])[:, None]
    np.testing.assert_allclose(gradient, expected, rtol=1e-14)


def test_results_outlive_the_next_call() -> None:
    compiled = tl.compile(lambda x: x * 3, executor="native")
    first = compiled(np.arange(4.0))
    kept = first.copy()
    compiled(np.arange(4.0) + 10)
    np.testing.assert_array_equal(first, kept)


def test_a_kernel_with_a_transpose_inside_overwrites_nothing_that_it_reads() -> None:
    rng = np.random.default_rng(0)
    x, y, d = (rng.normal(size=(5, 5)) for _ in range(3))

    def function(x: Any, y: Any, d: Any) -> Any:
        return np.sum(d * (np.cumsum(x, 0) * np.cumsum(y, 1)).T, axis=0)

    found = tl.compile(function, executor="native")(x, y, d)
    np.testing.assert_allclose(found, function(x, y, d), rtol=1e-12)
    into = tl.compile(lambda x, d: x.__setitem__(..., d * (x * 2).T), executor="native")
    wanted = d * (x * 2).T
    into(x, d)
    np.testing.assert_allclose(x, wanted, rtol=1e-12)


def test_an_output_of_one_row_overwrites_nothing_that_the_row_still_reads() -> None:
    def function(x: Any, r: Any, c: Any) -> Any:
        m = np.maximum(x, c)
        first, total = (m * (x - r[:, None])).sum(axis=0), m.sum(axis=1)
        return first, ((m - total[:, None]) * (m - c)).sum(axis=0), total @ x, m - c

    x, r, c = np.array([[1.5]]), np.array([0.5]), np.array([0.25])
    found, wanted = tl.compile(function, executor="native")(x, r, c), function(x, r, c)
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)


def test_a_value_kept_for_a_row_is_not_read_before_it() -> None:
    def function(x: Any, y: Any, c: Any) -> Any:
        t = np.tanh(x)
        w = np.tanh(t + y)
        m = np.tanh(c - np.tanh(t.mean(axis=0)))
        return (x * w).sum(axis=0), (t * t).sum(axis=0), w, m, np.tanh(y @ m).sum()

    arrays = mixed(17, 1), mixed(17, 1) - 1, mixed(1)
    found, wanted = tl.compile(function, executor="native")(*arrays), function(*arrays)
    for one, two in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12)
