"""Steps that threads run row by row together: which may be, and that results stay what they are."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tapeless as tl
from tapeless.compiler.drawing.plan_dot import plan_dot
from tapeless.compiler.kernel.collapse import collapse
from tapeless.compiler.kernel.form import Affine, Arg, Compute, Kernel, Load, Loop, Store
from tapeless.runtime.llvm import chains
from tapeless.runtime.llvm.executor import NativeExecutor
from tapeless.runtime.llvm.native_step import NativeStep, Touch, reaches
from tapeless.runtime.llvm.thread_count import get_num_threads


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    had = get_num_threads()
    yield
    tl.set_num_threads(had)


def step(*touches: tuple[int, int, int, bool], rows: int = 16, cut: int = 1, base: int = 0) -> NativeStep:
    """A step with touches (low, high, pitch, writes) that is worth sharing."""
    found = tuple(Touch(base, *touch) for touch in touches)
    return NativeStep("f", [(0, 0)], rows, cut, 10_000.0, found)


def sizes(*steps: NativeStep) -> list[int]:
    """How many steps each step of the table has."""
    made = chains.chained(steps, lambda symbol: 1)
    return [s.arguments[0][1] if s.symbol == chains.SYMBOL else 1 for s in made]


ROW = (0, 40, 40, True)
READ = (0, 40, 40, False)


def test_a_step_that_reads_the_row_that_was_written() -> None:
    assert sizes(step(ROW), step(READ, (1000, 1040, 40, True))) == [2]


def test_a_step_that_reads_other_rows_waits() -> None:
    assert sizes(step(ROW), step((0, 640, 0, False))) == [1, 1]
    assert sizes(step(ROW), step((40, 80, 40, False))) == [1, 1]
    assert sizes(step(ROW), step((0, 41, 40, False))) == [1, 1]
    assert sizes(step(ROW), step((0, 4, 4, False))) == [1, 1]
    assert sizes(step(ROW), step((600, 640, -40, False))) == [1, 1]


def test_a_step_that_overwrites_what_other_rows_still_read_waits() -> None:
    assert sizes(step((0, 640, 0, False)), step(ROW)) == [1, 1]
    assert sizes(step(READ), step(ROW)) == [2]


def test_steps_of_two_that_only_read_the_same() -> None:
    assert sizes(step((0, 640, 0, False)), step((0, 640, 0, False), (1000, 1040, 40, True))) == [2]


def test_rows_of_one_are_several_of_another() -> None:
    elements = step((0, 4, 4, True), rows=160, cut=64)
    (chain,) = chains.chained([step(ROW, cut=6), elements], lambda symbol: 1)
    assert (chain.end, chain.cut) == (16, 6)
    assert sizes(elements, step(ROW)) == [2]
    assert sizes(step((0, 4, 4, True), rows=150), step(ROW)) == [1, 1]
    assert sizes(step((0, 8, 4, True), rows=160), step(ROW)) == [1, 1]  # a row reaches into the next


def test_chains_end_where_they_would_be_too_long() -> None:
    assert sizes(*[step(READ)] * 50) == [24, 24, 2]
    wide = NativeStep("f", [(0, 0)] * 200, 16, 1, 10_000.0, ())
    assert sizes(wide, wide) == [1, 1]


def test_what_is_not_shared_is_not_in_a_chain() -> None:
    assert sizes(step(ROW), step(READ, cut=0), step(READ)) == [1, 1, 1]
    cheap = NativeStep("f", [(0, 0)], 16, 1, 100.0, ())
    assert sizes(cheap, cheap) == [1, 1]
    assert sizes(step(ROW), step(ROW, rows=2)) == [1, 1]


def kernel(at: Affine, extent: int = 8) -> Kernel:
    """y[8 i + j] = -x[at] for rows i and columns j."""
    inner = (Load("v", "x", at), Compute("w", "negative", ("v",), np.dtype("f4")))
    store = Store("y", Affine(0, (("i", 8), ("j", 1))), "w")
    loop = Loop("j", extent, "vector", (*inner, store))
    args = Arg("x", np.dtype("f4"), "in", -100, 200), Arg("y", np.dtype("f4"), "out", 0, 100)
    return Kernel("k", args, (Loop("i", 4, "serial", (loop,)),), True)


def test_what_a_row_of_a_kernel_touches() -> None:
    x, y = reaches(kernel(Affine(3, (("i", 16), ("j", -1)))))
    assert x == Touch(0, 4 * (3 - 7), 4 * (3 + 1), 4 * 16, False)
    assert y == Touch(1, 0, 4 * 8, 4 * 8, True)
    x, _ = reaches(kernel(Affine(0, (("j", 8),))))
    assert x == Touch(0, -400, 800, 0, False)  # every row reads the same
    x, _ = reaches(collapse(kernel(Affine(0, (("i", 8), ("j", 1))))))
    assert (x.low, x.high, x.pitch) == (0, 4, 4)


# ---- through compiled functions


def chain_lengths(compiled: Any, *args: Any) -> list[int]:
    compiled(*args)
    (executor,) = [s.run for s in compiled._cache.values() if isinstance(s.run, NativeExecutor)]
    made = [s for steps in executor._chained for s in steps]
    return [s.arguments[0][1] for s in made if s.symbol == chains.SYMBOL]


def network(x: Any, *weights: Any) -> Any:
    for w in weights:
        x = np.tanh(x @ w + 0.1)
    return x


def test_a_network_is_a_chain_and_bits_do_not_depend_on_threads() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 64))
    weights = [rng.normal(size=(64, 64)) / 8 for _ in range(4)]
    found = []
    for count in (1, 2, 3, 5):
        tl.set_num_threads(count)
        compiled = tl.compile(network, executor="native")
        for _ in range(4):
            found.append(compiled(x, *weights))
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])
    np.testing.assert_allclose(found[0], network(x, *weights), rtol=1e-12, atol=1e-14)


def softmax(x: Any, w: Any) -> Any:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


BLOCKS = {
    "bias": lambda x, w: x + w[0],
    "product": lambda x, w: x @ w,
    "transposed": lambda x, w: x @ w.T,
    "columns": lambda x, w: np.tanh(x @ (x.T @ x)),
    "softmax": softmax,
    "reversed": lambda x, w: x[::-1] * 0.5,
    "shifted": lambda x, w: np.concatenate((x[1:], x[:1])) + x,
    "mean": lambda x, w: x - x.mean(0),
    "relu": lambda x, w: np.maximum(x, 0.01 * x),
    "turned": lambda x, w: (x.reshape(x.shape[1], -1).T * 1.0).reshape(x.shape),
    "cumulative": lambda x, w: np.cumsum(x, 0) / 100,
}


@settings(max_examples=30, deadline=None)
@example(
    ["columns", "softmax", "softmax", "softmax", "softmax"], 64, "f4", False
)  # one kernel, six kept rows
@given(
    st.lists(st.sampled_from(sorted(BLOCKS)), min_size=2, max_size=9),
    st.sampled_from([64, 96, 130]),
    st.sampled_from(["f4", "f8"]),
    st.booleans(),
)
def test_random_sequences_give_the_bits_of_one_thread(
    names: list[str], rows: int, dtype: str, grad: bool
) -> None:
    rng = np.random.default_rng(len(names) + rows)
    x, w = rng.normal(size=(rows, 48)).astype(dtype), (rng.normal(size=(48, 48)) / 7).astype(dtype)

    def function(x: Any, w: Any) -> Any:
        for name in names:
            x = BLOCKS[name](x, w)
        return x

    wanted = tl.grad(lambda x, w: np.sum(np.sin(function(x, w))), wrt=(0, 1)) if grad else function
    results = []
    for count in (1, 2, 3):
        tl.set_num_threads(count)
        compiled = tl.compile(wanted, executor="native")
        results += [np.vstack(compiled(x, w)) for _ in range(2)]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])


def test_the_plan_and_its_picture_show_chains() -> None:
    x, w = np.ones((200, 64)), np.eye(64)
    plan = tl.compile(network, executor="native").plan(x, w, w)
    (chain,) = plan.chains
    assert [plan.steps[k].node.op.name for k in chain] == ["matmul", "fused", "matmul", "fused"]
    assert f"row by row through the steps {', '.join(map(str, chain))}" in str(plan)
    picture = plan_dot(plan)
    assert "row by row through the steps" in picture
    assert "multiply, tanh" in picture or "add, tanh" in picture
    assert tl.compile(network, executor="numpy").plan(x, w, w).chains == ()
