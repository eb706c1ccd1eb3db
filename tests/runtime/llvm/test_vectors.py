"""Products of matrices and vectors and long sums in native code, held against NumPy in higher precision."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl


def values(*shape: int, dtype: str = "f8", seed: int = 0) -> Any:
    return np.random.default_rng((seed, *shape)).normal(size=shape).astype(dtype)


def close(found: Any, exact: Any, terms: Any, dtype: str, length: int) -> None:
    """Within the error bound of a sum of `length` terms in blocks; `terms` sums their absolute values."""
    assert np.shape(found) == np.shape(exact)
    assert np.asarray(found).dtype == np.dtype(dtype)
    bound = (np.log2(length + 2) + 32) * np.finfo(dtype).eps
    assert np.all(np.abs(found.astype("f8") - exact) <= bound * terms + np.finfo(dtype).tiny)


SIZES = [1, 2, 3, 7, 16, 17, 33, 100, 257]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("m", SIZES)
@pytest.mark.parametrize("k", SIZES)
def test_matrix_times_vector(m: int, k: int, dtype: str) -> None:
    x, v, u = values(m, k, dtype=dtype), values(k, dtype=dtype), values(m, dtype=dtype)

    @tl.compile(executor="native")
    def products(x: Any, v: Any, u: Any) -> Any:
        return x @ v, u @ x, np.outer(u, v), v @ v, x.T @ u, v @ x.T

    found = products(x, v, u)
    X, V, U = (a.astype("f8") for a in (x, v, u))
    exact = X @ V, U @ X, np.outer(U, V), V @ V, X.T @ U, V @ X.T
    A, B, C = (np.abs(a) for a in (X, V, U))
    terms = A @ B, C @ A, np.outer(C, B), B @ B, A.T @ C, B @ A.T
    for one, two, scale in zip(found, exact, terms, strict=True):
        close(np.asarray(one), two, scale, dtype, max(m, k))


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "stepped": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "window": lambda a: np.pad(a, 3)[3:-3, 3:-3],
    "one-row": lambda a: np.broadcast_to(a[0], a.shape),
}


@pytest.mark.parametrize("shape", [(40, 70), (2100, 130), (3, 5000), (35, 5001)], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_memory_of_every_kind(layout: str, shape: tuple[int, int]) -> None:
    x = LAYOUTS[layout](values(*shape))
    v, u = values(2 * shape[1])[::2], values(shape[0])[::-1]

    @tl.compile(executor="native")
    def products(x: Any, v: Any, u: Any) -> Any:
        return x @ v, u @ x, np.tanh(x @ v) @ x

    found = products(x, v, u)
    scale = np.abs(x)
    close(found[0], x @ v, scale @ np.abs(v), "f8", shape[1])
    close(found[1], u @ x, np.abs(u) @ scale, "f8", shape[0])
    np.testing.assert_allclose(found[2], np.tanh(x @ v) @ x, atol=1e-12 * scale.sum(0).max())


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,j->i", ((30, 20), (20,))),
        ("ij,i->j", ((2000, 90), (2000,))),
        ("i,j->ij", ((9,), (8,))),
        ("i,i->", ((50_000,), (50_000,))),
        ("bij,bj->bi", ((3, 30, 20), (3, 20))),
        ("bij,bi->bj", ((3, 30, 20), (3, 30))),
        ("bi,bi->b", ((40, 33), (40, 33))),
        ("bi,bj->bij", ((4, 3), (4, 5))),
    ],
)
def test_einsums(subscripts: str, shapes: Any) -> None:
    operands = [values(*shape, seed=k) for k, shape in enumerate(shapes)]
    compiled = tl.compile(lambda *xs: np.einsum(subscripts, *xs), executor="native")
    exact = np.einsum(subscripts, *operands)
    scale = np.einsum(subscripts, *map(np.abs, operands))
    for _ in range(2):
        close(np.asarray(compiled(*operands)), exact, scale, "f8", max(map(max, shapes)))


A, B, C, U, V, W = values(30, 20), values(4, 30, 20), values(20, 7), values(30), values(20), values(4, 20)
SPELLINGS: dict[str, Callable[..., Any]] = {
    "dot-matrix-vector": lambda a, b, c, u, v, w: np.dot(a, v),
    "dot-vector-matrix": lambda a, b, c, u, v, w: np.dot(u, a),
    "dot-stack-vector": lambda a, b, c, u, v, w: np.dot(b, v),
    "dot-stack-matrix": lambda a, b, c, u, v, w: np.dot(b, c),
    "dot-stack-column": lambda a, b, c, u, v, w: np.dot(b, c[:, :1]),
    "dot-vector-stack": lambda a, b, c, u, v, w: np.dot(u, b),
    "dot-steps": lambda a, b, c, u, v, w: np.dot(v[::2], v[1::2]),
    "inner": lambda a, b, c, u, v, w: np.inner(b, v),
    "vdot": lambda a, b, c, u, v, w: np.vdot(a, a),
    "vecdot": lambda a, b, c, u, v, w: np.vecdot(a, v),
    "tensordot": lambda a, b, c, u, v, w: np.tensordot(a, v, 1),
    "multi-dot": lambda a, b, c, u, v, w: np.linalg.multi_dot([u, a, v]),
    "kron": lambda a, b, c, u, v, w: np.kron(u, v),
    "einsum": lambda a, b, c, u, v, w: np.einsum("bij,bj->bi", b, w),
}
if hasattr(np, "matvec"):
    SPELLINGS["matvec"] = lambda a, b, c, u, v, w: np.matvec(b, w)
    SPELLINGS["vecmat"] = lambda a, b, c, u, v, w: np.vecmat(u, b)


@pytest.mark.parametrize("name", SPELLINGS)
def test_every_spelling_is_native(name: str) -> None:
    args = A, B, C, U, V, W
    compiled = tl.compile(SPELLINGS[name], executor="native")
    found, wanted = compiled(*args), SPELLINGS[name](*args)
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    numpy_only = {"dot", "einsum", "vecdot", "matvec", "vecmat"}
    assert not numpy_only & {step.node.op.name for step in compiled.plan(*args).steps}


@pytest.mark.parametrize("shape", [(3, 30, 20), (1, 30, 20), (2, 1, 20), (2, 30, 1), (2, 3, 4, 5)], ids=str)
def test_stacks(shape: tuple[int, ...]) -> None:
    x, v, u = values(*shape), values(*shape[:-2], shape[-1], 1), values(*shape[:-2], 1, shape[-2])
    found = tl.compile(lambda x, v, u: (x @ v, u @ x, u @ x @ v), executor="native")(x, v, u)
    for one, two in zip(found, (x @ v, u @ x, u @ x @ v), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 1), (1, 0)], ids=str)
def test_nothing_to_sum(shape: tuple[int, int]) -> None:
    m, k = shape
    function = lambda x, v, u: (x @ v, u @ x, np.outer(u, v), v @ v)  # noqa: E731
    args = np.ones((m, k)), np.ones(k), np.ones(m)
    for one, two in zip(tl.compile(function, executor="native")(*args), function(*args), strict=True):
        np.testing.assert_array_equal(one, two)


# ---- sums over rows that fuse with what stands before them


def logistic(w: Any, x: Any, y: Any) -> Any:
    return np.mean(np.logaddexp(0, -(x @ w) * y)) + 0.5 * (w @ w)


@pytest.mark.parametrize("rows", [1, 2, 5, 63, 64, 65, 127, 128, 129, 1000, 4097, 40_001])
@pytest.mark.parametrize("columns", [1, 2, 9, 100, 131])
def test_logistic_regression(rows: int, columns: int) -> None:
    x, w = values(rows, columns), 0.1 * values(columns)
    y = np.sign(values(rows, seed=1))
    step = tl.compile(tl.value_and_grad(logistic), executor="native")
    for _ in range(2):
        value, gradient = step(w, x, y)
    margin = (x @ w) * y
    assert value == pytest.approx(np.logaddexp(0, -margin).mean() + 0.5 * (w @ w), rel=1e-13)
    slope = -y / (1 + np.exp(margin)) / rows
    np.testing.assert_allclose(gradient, x.T @ slope + w, rtol=0, atol=1e-13 * (np.abs(x).max() + 1))


def layer_norm_loss(gamma: Any, beta: Any, x: Any, c: Any) -> Any:
    d = x - x.mean(axis=-1, keepdims=True)
    return np.sum((d / np.sqrt((d * d).mean(axis=-1, keepdims=True) + 1e-5) * gamma + beta) * c)


def softmax_loss(b: Any, x: Any, c: Any) -> Any:
    z = x + b
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - (z * c).sum(axis=1))


PROGRAMS: dict[str, tuple[Callable[..., Any], Any, Any]] = {
    "layer-norm": (
        layer_norm_loss,
        (0, 1, 2),
        lambda n, k: (values(k), values(k, seed=1), values(n, k), values(n, k, seed=1)),
    ),
    "softmax": (softmax_loss, (0, 1), lambda n, k: (values(k), values(n, k), values(n, k, seed=2))),
    "linear": (
        lambda w, b, x: np.sum(np.square(np.sin(x @ w + b))),
        (0, 1, 2),
        lambda n, k: (values(k), values(n), values(n, k)),
    ),
    "columns": (lambda w, x: np.sum(np.exp(w @ x)), (0,), lambda n, k: (0.1 * values(k), values(k, n))),
}


@pytest.mark.parametrize("shape", [(64, 40), (513, 300), (3001, 77), (20_000, 12)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_agree_with_the_interpreter(name: str, shape: tuple[int, int]) -> None:
    function, wrt, make = PROGRAMS[name]
    args = make(*shape)
    step = tl.value_and_grad(function, wrt=wrt)
    wanted = tl.compile(step, executor="interpret")(*args)
    found = tl.compile(step, executor="native")(*args)
    assert found[0] == pytest.approx(wanted[0], rel=1e-11)
    for one, two in zip(found[1], wanted[1], strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-11 * np.abs(two).max())


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(200_003,), (3, 70_000), (1001, 501), (40, 50, 60)], ids=str)
def test_sums_of_everything(shape: tuple[int, ...], dtype: str) -> None:
    x = values(*shape, dtype=dtype)
    compiled = tl.compile(lambda x: (x.sum(), (x * x).mean(), np.exp(x).sum(axis=0)), executor="native")
    wide = x.astype("f8")
    found = compiled(x)
    eps = float(np.finfo(dtype).eps)
    assert abs(float(found[0]) - wide.sum()) <= 4 * eps * np.abs(wide).sum()
    assert float(found[1]) == pytest.approx((wide * wide).mean(), rel=8 * eps)
    np.testing.assert_allclose(found[2], np.exp(wide).sum(axis=0), rtol=16 * eps)


def test_long_sums_are_as_accurate_as_numpys() -> None:
    """Rounding errors against sums in extended precision, at the worst of many columns."""
    x, r = values(100_000, 30), values(100_000)
    sums, products = tl.compile(lambda x, r: (x.sum(axis=0), r @ x), executor="native")(x, r)
    exact = x.astype("g").sum(axis=0), r.astype("g") @ x.astype("g")
    assert np.abs(sums - exact[0]).max() <= np.abs(x.sum(axis=0) - exact[0]).max()
    assert np.abs(products - exact[1]).max() <= 2 * np.abs(r @ x - exact[1]).max()


def long_chain(w: Any, x: Any, c: Any) -> Any:
    """More operations than a kernel holds, on numbers of rows and of the whole space."""
    z, y = x @ w, x
    for k in range(70):
        z, y = np.tanh(z) + 0.1 * k * c, np.sin(y) * 0.9
    return np.sum(z) + np.sum(y.sum(axis=0) ** 2)


def column_chain(w: Any, x: Any) -> Any:
    for k in range(40):
        x = np.tanh(x + w * k) - x.sum(axis=0) / 50
    return np.sum(x)


@pytest.mark.parametrize("rows", [50, 3000])
def test_bodies_too_long_for_one_kernel(rows: int) -> None:
    x, w, c = values(rows, 60), values(60), values(rows)
    for function, args in ((long_chain, (w, x, c)), (column_chain, (w, x))):
        step = tl.value_and_grad(function, wrt=(0, 1))
        wanted = tl.compile(step, executor="interpret")(*args)
        found = tl.compile(step, executor="native")(*args)
        assert found[0] == pytest.approx(wanted[0], rel=1e-10)
        for one, two in zip(found[1], wanted[1], strict=True):
            np.testing.assert_allclose(one, two, rtol=0, atol=1e-10 * np.abs(two).max())


# ---- threads and memory

PROGRAM = """
import hashlib, sys
import numpy as np
import tapeless as tl
rng = np.random.default_rng(0)
x, w, y = rng.normal(size=(30_011, 51)), rng.normal(size=51), np.sign(rng.normal(size=30_011))
def loss(w, x, y):
    return np.mean(np.logaddexp(0, -(x @ w) * y))
def sums(x, w, y):
    return x @ w, y @ x, x.sum(), x.astype("f4").sum(0), np.tanh(x @ w)
step, more = (tl.compile(f, executor="native") for f in (tl.value_and_grad(loss), sums))
found = []
for _ in range(6):
    parts = [*step(w, x, y), *more(x, w, y)]
    found.append(hashlib.sha256(b"".join(np.asarray(p).tobytes() for p in parts)).hexdigest())
assert len(set(found)) == 1, found
print(found[0])
"""


def test_the_bits_do_not_depend_on_the_number_of_threads() -> None:
    found = set()
    for threads in (1, 2, 3, 5):
        env = {**os.environ, "TAPELESS_NUM_THREADS": str(threads)}
        run = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
        found.add(run.stdout)
    assert len(found) == 1


def test_dead_memory_is_never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPELESS_POISON", "1")
    x, w, y = values(5000, 60), values(60), np.sign(values(5000))
    step = tl.compile(tl.value_and_grad(logistic), executor="native")
    wanted = tl.compile(tl.value_and_grad(logistic), executor="interpret")(w, x, y)
    for _ in range(4):
        value, gradient = step(w, x, y)
        assert value == pytest.approx(wanted[0], rel=1e-13)
        np.testing.assert_allclose(gradient, wanted[1], rtol=1e-11)


def test_an_operand_that_a_later_pass_reads_is_not_overwritten() -> None:
    """The rows' outputs would fit into the operand's memory, which the sums over columns read after them."""

    def program(x: Any, y: Any) -> Any:
        a, b = np.sort(x), np.sort(y)
        return a * 2, b + 1, a.sum(axis=0), b @ a

    x, y = values(3000, 50), values(3000)
    found = tl.compile(program, executor="native")(x, y)
    for one, two in zip(found, program(x, y), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-10)
