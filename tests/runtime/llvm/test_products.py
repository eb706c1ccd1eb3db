"""Matrix products by tiles of our own: every cut of rows, columns and depth, every layout, any threads."""

import ctypes
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapeless as tl
from tapeless.runtime.llvm import cache, engine, products
from tapeless.runtime.llvm.thread_count import get_num_threads

SIZES = [1, 2, 3, 5, 8, 9, 15, 16, 17, 31, 48, 49, 100, 130]
DEPTHS = [1, 2, 7, 8, 64, 255, 256, 257, 600]
STACKS = [(), (1,), (3,), (2, 3), (2, 1, 3)]


@lru_cache(maxsize=8)
def code(letter: str, vector_bytes: int) -> products.Code:
    return products.Code(np.dtype(letter), vector_bytes)


# Widths of vectors in bytes; those that this CPU lacks are cut by the code generator.
WIDTHS = (16, 32, 64)


def laid_out(rng: Any, shape: tuple[int, ...], dtype: Any, layout: str) -> Any:
    """A random array of which rows or columns are contiguous, or neither."""
    *stack, m, n = shape
    if layout == "rows":
        return rng.normal(size=shape).astype(dtype)
    if layout == "columns":
        return np.swapaxes(rng.normal(size=(*stack, n, m)).astype(dtype), -1, -2)
    if layout == "gaps":
        return rng.normal(size=(*stack, 2 * m + 1, n + 3)).astype(dtype)[..., 1::2, :n]
    if layout == "stack last":
        order = (*range(2, 2 + len(stack)), 0, 1)
        return np.transpose(rng.normal(size=(m, n, *stack)).astype(dtype), order)
    return rng.normal(size=(*stack, m, 2 * n)).astype(dtype)[..., ::-1, ::-2]


def run(made: products.Code, x: Any, y: Any, out: Any, alpha: float, adds: bool, cuts: list[int]) -> None:
    """The rows between cuts, one call each."""

    def operand(array: Any) -> products.Operand:
        far, near = (0, 0, *array.strides[:-2])[-2:]
        return products.Operand(*array.strides[-2:], near, far)

    *stack, m, n = out.shape
    inner = stack[-1] if stack else 1
    shape = m, n, x.shape[-1]
    a, b, c = map(operand, (x, y, out))
    outer = int(np.prod(stack)) // inner
    described = products.describe(made, shape, a, b, c, inner, outer, alpha, adds)
    cache.load_together(made.missing())
    assert made.missing() == []
    pointers = [array.ctypes.data for array in (x, y, out, described.fields)]
    block = np.array(pointers, np.int64)
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(
        made.address(described.frame)
    )
    rows = int(np.prod(out.shape[:-1]))
    edges = sorted({0, rows, *(cut for cut in cuts if cut < rows)})
    for begin, end in pairwise(edges):
        function(block.ctypes.data, begin, end)


@settings(max_examples=150)
@given(st.data())
def test_products_of_every_shape_and_layout(data: Any) -> None:
    pick = lambda *choices: data.draw(st.sampled_from(choices))  # noqa: E731
    letter, width = pick("f", "d"), pick(*WIDTHS)
    dtype = np.dtype(letter)
    m, n, k, stack = pick(*SIZES), pick(*SIZES), pick(*DEPTHS), pick(*STACKS[:4])
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = laid_out(rng, (*stack, m, k), dtype, pick("rows", "columns", "gaps", "stack last", "reversed"))
    y = laid_out(rng, (*stack, k, n), dtype, pick("rows", "columns", "gaps"))
    alpha, adds = pick(1.0, -0.5), pick(True, False)
    memory = rng.normal(size=(*stack, m + 2, n + 5)).astype(dtype)
    before = memory.copy()
    out = memory[..., 1 : 1 + m, 2 : 2 + n]
    x_before, y_before = x.copy(), y.copy()
    made = code(letter, width)
    blocks = st.integers(1, 12).map(lambda c: made.shape.cut(m) * c)
    run(made, x, y, out, alpha, adds, [m] if stack else data.draw(st.lists(blocks, max_size=3)))
    wide = alpha * (x.astype("f8") @ y.astype("f8"))
    bound = np.abs(x).astype("f8") @ np.abs(y).astype("f8") + np.abs(before[..., 1 : 1 + m, 2 : 2 + n])
    if adds:
        wide = wide + before[..., 1 : 1 + m, 2 : 2 + n]
    assert np.all(np.abs(out - wide) <= 4 * np.finfo(dtype).eps * np.sqrt(k) * bound + np.finfo(dtype).tiny)
    out[...] = before[..., 1 : 1 + m, 2 : 2 + n]
    np.testing.assert_array_equal(memory, before)  # nothing beside the result is written
    np.testing.assert_array_equal(x, x_before)
    np.testing.assert_array_equal(y, y_before)


@pytest.mark.parametrize("letter", ["f", "d"])
def test_a_sum_does_not_depend_on_where_rows_are_cut(letter: str) -> None:
    rng = np.random.default_rng(5)
    dtype = np.dtype(letter)
    x, y = rng.normal(size=(67, 700)).astype(dtype), rng.normal(size=(700, 75)).astype(dtype)
    results = []
    made = code(letter, engine.vector_bytes())
    rows = made.shape.cut(67)
    for cuts in ([], [rows], [3 * rows, 5 * rows], [rows * c for c in range(12)]):
        out = np.empty((67, 75), dtype)
        run(made, x, y, out, 1.0, False, cuts)
        results.append(out)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("letter", ["f", "d"])
def test_rows_that_lie_pages_apart(letter: str, width: int) -> None:
    """Both operands are copied, and the whole tiles are those that know the distances of copies."""
    rng = np.random.default_rng(6)
    dtype = np.dtype(letter)
    x, y = rng.normal(size=(157, 1024)).astype(dtype), rng.normal(size=(1024, 531)).astype(dtype)
    for left, right in ((x, y), (x, y.T.copy().T), (x.T.copy().T, y), (x.T.copy().T, y.T.copy().T)):
        out = np.empty((157, 531), dtype)
        run(code(letter, width), left, right, out, 1.0, False, [])
        wide = x.astype("f8") @ y.astype("f8")
        bound = np.abs(x).astype("f8") @ np.abs(y).astype("f8")
        assert np.all(np.abs(out - wide) <= 100 * np.finfo(dtype).eps * bound)


def test_nan_and_infinity_go_where_they_belong() -> None:
    x, y = np.ones((20, 30), np.float32), np.ones((30, 50), np.float32)
    x[3, 4], x[7, 1], y[1, 9] = np.nan, np.inf, 0
    out = np.full((20, 50), np.nan, np.float32)
    run(code("f", engine.vector_bytes()), x, y, out, 1.0, False, [])
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, x @ y)


# ---- through compiled functions


@pytest.fixture
def threads() -> Iterator[Any]:
    had = get_num_threads()
    yield tl.set_num_threads
    tl.set_num_threads(had)


def network(p: Any, x: Any, y: Any) -> Any:
    def loss(p: Any) -> Any:
        h = np.maximum(x @ p["w1"] + p["b1"], 0)
        return np.mean((h @ p["w2"] - y) ** 2)

    value, grads = tl.value_and_grad(loss)(p)
    for name in p:
        p[name] -= 0.01 * grads[name]
    return value


def parameters() -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    p = {"w1": rng.normal(size=(784, 96)), "b1": rng.normal(size=96), "w2": rng.normal(size=(96, 40))}
    p = {name: value.astype("f4") for name, value in p.items()}
    return p, rng.normal(size=(60, 784)).astype("f4"), rng.normal(size=(60, 40)).astype("f4")


def test_results_do_not_depend_on_the_number_of_threads(threads: Any) -> None:
    found = []
    for count in (1, 2, 3, 7):
        threads(count)
        p, x, y = parameters()
        step = tl.compile(network, executor="native")
        values = [float(step(p, x, y)) for _ in range(5)]
        found.append((values, p))
    for values, p in found[1:]:
        assert values == found[0][0]
        for name in p:
            np.testing.assert_array_equal(p[name], found[0][1][name])


def test_more_threads_than_cpus_come_to_an_end(threads: Any) -> None:
    threads(16)
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(300, 200)), rng.normal(size=(200, 150))
    compiled = tl.compile(lambda x, y: np.tanh(x @ y) + 1, executor="native")
    wanted = np.tanh(x @ y) + 1
    for _ in range(200):
        np.testing.assert_allclose(compiled(x, y), wanted, rtol=1e-12, atol=1e-12)


def test_a_training_step_adds_products_to_its_weights() -> None:
    p, x, y = parameters()
    q = {name: value.copy() for name, value in p.items()}
    step = tl.compile(network, executor="native")
    for _ in range(3):
        value, wanted = step(p, x, y), tl.compile(network, executor="interpret")(q, x, y)
        np.testing.assert_allclose(value, wanted, rtol=1e-5)
    for name in p:
        np.testing.assert_allclose(p[name], q[name], rtol=1e-4, atol=1e-6)
    assert "add_matmul" in str(step.plan(p, x, y))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("donate", [True, False])
def test_products_added_to_an_argument_of_any_layout(order: str, donate: bool) -> None:
    rng = np.random.default_rng(2)
    w = np.asarray(rng.normal(size=(30, 20)), order=order)  # type: ignore[call-overload]
    x, g = rng.normal(size=(9, 30)), rng.normal(size=(9, 20))
    kept = w.copy()

    def update(w: Any, x: Any, g: Any) -> Any:
        if donate:
            w -= 0.5 * (x.T @ g)
            return None
        return w - 0.5 * (x.T @ g)

    wanted = kept - 0.5 * (x.T @ g)
    for _ in range(4):
        w[...] = kept
        found = tl.compile(update, executor="native")(w, x, g)
        np.testing.assert_allclose(w if donate else found, wanted, rtol=1e-12, atol=1e-12)
        if not donate:
            np.testing.assert_array_equal(w, kept)


def test_a_weight_that_the_product_itself_reads_is_not_written_too_early() -> None:
    rng = np.random.default_rng(4)
    w, x = rng.normal(size=(12, 12)), rng.normal(size=(12, 12))
    wanted = w - 0.1 * (w.T @ x)
    tl.compile(lambda w, x: w.__isub__(0.1 * (w.T @ x)), executor="native")(w, x)
    np.testing.assert_allclose(w, wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_of_blas_do_not_depend_on_threads(
    dtype: str, threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "vector_bytes", lambda: 16)  # where vectors are narrow, BLAS multiplies
    rng = np.random.default_rng(0)
    x, y, z, w = (
        rng.normal(size=s).astype(dtype) for s in ((300, 257), (257, 190), (4, 70, 300), (257, 190))
    )

    def function(x: Any, y: Any, z: Any, w: Any) -> Any:
        a = np.tanh(x @ y)
        w -= 0.1 * (x.T @ a)
        return z @ a, a

    found = []
    for count in (1, 2, 3):
        threads(count)
        compiled, changed = tl.compile(function, executor="native"), w.copy()
        found.append((*compiled(x, y, z, changed), changed))
        assert "gemm" in compiled.llvm
    for other in found[1:]:
        for value, first in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(value, first)
    changed = w.copy()
    for value, wanted in zip(found[0], (*function(x, y, z, changed), changed), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-4, atol=1e-4)


def test_blas_has_its_threads_again_after_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "vector_bytes", lambda: 32)
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def counts() -> list[int]:
        return [i["num_threads"] for i in threadpoolctl.threadpool_info() if i["user_api"] == "blas"]

    before = counts()
    x = np.random.default_rng(0).normal(size=(200, 200))
    compiled = tl.compile(lambda x: x @ x, executor="native")
    together = [threading.Thread(target=lambda: [compiled(x) for _ in range(50)]) for _ in range(4)]
    for thread in together:
        thread.start()
    for thread in together:
        thread.join()
    assert counts() == before


def test_without_workers_and_without_blas() -> None:
    """Where the system has no futex and no BLAS is found, the caller computes everything itself."""
    code = """
import numpy as np, tapeless as tl
from tapeless.runtime.llvm import blas, threads
threads.supported, blas.find = lambda: False, lambda: None
x, y = np.random.default_rng(0).normal(size=(2, 300, 300))
compiled = tl.compile(lambda x, y: np.tanh(x @ y) + y.T @ x, executor="native")
np.testing.assert_allclose(compiled(x, y), np.tanh(x @ y) + y.T @ x, rtol=1e-10, atol=1e-10)
assert threads.pool() is None
assert all(segment.step is None for segment in compiled.last.run.segments)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)
