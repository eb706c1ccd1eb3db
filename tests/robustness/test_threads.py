"""Threads that trace and call at once, calls from a forked child, calls within calls and within traces."""

import multiprocessing
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.runtime.llvm import thread_count

ROUNDS = 60


def in_threads(count: int, action: Callable[[int], None]) -> None:
    """Run an action in so many threads at once; what one raises is raised here."""
    barrier, errors = threading.Barrier(count), []

    def run(number: int) -> None:
        barrier.wait(30)
        try:
            action(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_two_threads_trace_and_call() -> None:
    def act(number: int) -> None:
        for k in range(ROUNDS):
            factor = float(number * ROUNDS + k)

            def function(x: Any, factor: float = factor, seed: int = k) -> Any:
                out = np.zeros(3)
                out[:] = x
                out += np.arange(3.0) * factor
                return out, np.full(2, factor), np.random.default_rng(seed).normal(size=2)

            compiled = tl.compile(function)
            for shape in ((3,), (1,)):
                x = np.full(shape, factor)
                for found, expected in zip(compiled(x), function(x), strict=True):
                    assert found.tobytes() == expected.tobytes()

    in_threads(2, act)


def test_threads_call_one_function() -> None:
    compiled = tl.compile(lambda x, y: (np.tanh(x @ y) + np.sum(x), x * 2))
    rng = np.random.default_rng(0)
    inputs = [(rng.normal(size=(n, 40)), rng.normal(size=(40, n))) for n in range(1, 6)]
    expected = [compiled(x, y) for x, y in inputs]

    def act(number: int) -> None:
        for k in range(5 * ROUNDS):
            n = (number + k) % len(inputs)
            for found, right in zip(compiled(*inputs[n]), expected[n], strict=True):
                assert found.tobytes() == right.tobytes()

    in_threads(4, act)


def test_threads_update_arrays_of_their_own() -> None:
    @tl.compile
    def step(params: Any, x: Any) -> Any:
        value, gradient = tl.value_and_grad(lambda w, x: np.sum((w * x - 1) ** 2))(params["w"], x)
        params["w"] -= 0.01 * gradient
        params["steps"] += 1
        return value

    results: dict[int, Any] = {}

    def act(number: int) -> None:
        params = {"w": np.full(20, float(number)), "steps": 0}
        for _ in range(ROUNDS):
            step(params, np.linspace(0, 1, 20))
        results[number] = params

    in_threads(3, act)
    for number, params in results.items():
        w, x = np.full(20, float(number)), np.linspace(0, 1, 20)
        for _ in range(ROUNDS):
            w -= 0.01 * (2 * (w * x - 1) * x)
        np.testing.assert_allclose(params["w"], w, rtol=1e-12)
        assert params["steps"] == ROUNDS


def test_numpy_is_itself_in_another_thread_while_one_traces() -> None:
    inside, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def tracing(x: Any) -> Any:
        inside.set()
        assert leave.wait(20)
        return x + np.ones(2)

    worker = threading.Thread(target=lambda: seen.append(tl.compile(tracing)(np.ones(2))))
    worker.start()
    assert inside.wait(20)
    try:
        made = np.zeros(3)
        made[0] = np.array([1.5, 2.5]).sum()
        assert type(made) is np.ndarray
        assert isinstance(made, np.ndarray)
        assert type(np.random.default_rng(0).normal(size=2)) is np.ndarray
        assert np.sum(made) == 4.0
    finally:
        leave.set()
        worker.join(20)
    np.testing.assert_array_equal(seen[0], [2.0, 2.0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("while_tracing", [False, True], ids=["idle", "another_thread_traces"])
def test_calls_from_a_forked_child(while_tracing: bool) -> None:
    compiled = tl.compile(lambda x: (x * 2, np.zeros(2) + x[:2], np.linalg.inv(np.diag(x))))
    x = np.arange(1.0, 4.0)
    expected = [r.tobytes() for r in compiled(x)]
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def child() -> None:
        fresh = tl.compile(lambda x: x + np.ones(3))
        sender.send([*(r.tobytes() for r in compiled(x)), fresh(x).tobytes(), type(np.zeros(1)).__name__])

    inside, leave = threading.Event(), threading.Event()

    def slow(x: Any) -> Any:
        inside.set()
        leave.wait(20)
        return x + np.zeros(1)

    worker = threading.Thread(target=lambda: tl.compile(slow)(np.ones(1)))
    if while_tracing:
        worker.start()
        assert inside.wait(20)
    process = context.Process(target=child)
    process.start()
    try:
        assert receiver.poll(30), "the child hangs"
        *results, fresh, name = receiver.recv()
    finally:
        leave.set()
        process.join(10)
        if while_tracing:
            worker.join(20)
    assert results == expected
    assert fresh == (x + 1).tobytes()
    assert name == "ndarray"


def test_a_compiled_function_within_another() -> None:
    inner = tl.compile(lambda x: x * 2)

    @tl.compile
    def outer(x: Any) -> Any:
        made = tl.compile(lambda y: inner(y) + 1)
        return made(x) + inner(x)

    np.testing.assert_array_equal(outer(np.ones(2)), [5.0, 5.0])
    np.testing.assert_array_equal(inner(np.ones(2)), [2.0, 2.0])
    assert inner.stats.traces == 1, "within a trace it is the plain function"


def test_a_function_that_is_called_while_it_is_traced() -> None:
    @tl.compile
    def countdown(x: Any, n: int) -> Any:
        return x if n == 0 else countdown(x * 2, n - 1)

    static = tl.compile(countdown.function, static=("n",))
    np.testing.assert_array_equal(static(np.ones(2), 5), [32.0, 32.0])


def test_functions_as_arguments() -> None:
    compiled = tl.compile(lambda x, activation: activation(x) + 1)
    for activation in (np.tanh, np.exp, lambda v: v * 3, np.zeros_like, tl.compile(np.sin)):
        np.testing.assert_array_equal(compiled(np.ones(2), activation), activation(np.ones(2)) + 1)
    assert compiled.stats.traces == 5


def test_concrete_work_of_other_compiled_functions_while_tracing() -> None:
    table = tl.compile(lambda n: np.arange(6.0) * n)
    values = table(3.0)

    @tl.compile
    def lookup(x: Any) -> Any:
        return x * values + table(2.0)

    np.testing.assert_array_equal(lookup(np.ones(6)), np.arange(6.0) * 5)


def test_results_of_one_call_are_arguments_of_the_next() -> None:
    compiled = tl.compile(lambda x, y: (y + 1, x * 2))
    x, y = np.ones(3), np.zeros(3)
    plain_x, plain_y = x.copy(), y.copy()
    for _ in range(20):
        x, y = compiled(x, y)
        plain_x, plain_y = plain_y + 1, plain_x * 2
    np.testing.assert_array_equal(np.stack([x, y]), [plain_x, plain_y])


@pytest.mark.parametrize(
    ("threads", "error", "said"),
    [
        pytest.param(1.5, TypeError, "float", id="fraction"),
        pytest.param("2", TypeError, "str", id="text"),
        pytest.param(0, ValueError, "threads must be from 1 to", id="none"),
        pytest.param(10**9, ValueError, "threads must be from 1 to", id="many"),
    ],
)
def test_a_senseless_number_of_threads_is_refused(threads: Any, error: type[Exception], said: str) -> None:
    before = thread_count.get_num_threads()
    with pytest.raises(error, match=said):
        tl.set_num_threads(threads)
    assert thread_count.get_num_threads() == before


def test_the_environment_says_how_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread_count, "_chosen", None)
    for text, number in (("3", 3), (" 2 ", 2), ("256", 256)):
        monkeypatch.setenv("TAPELESS_NUM_THREADS", text)
        assert thread_count.get_num_threads() == number
    monkeypatch.delenv("TAPELESS_NUM_THREADS")
    default = thread_count.get_num_threads()
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "")
    assert thread_count.get_num_threads() == default
    monkeypatch.setattr(thread_count, "_chosen", 2)
    monkeypatch.setenv("TAPELESS_NUM_THREADS", "a")
    assert thread_count.get_num_threads() == 2


@pytest.mark.parametrize("text", ["0", "-1", "a", "1.5", "1000000000"])
def test_a_senseless_number_in_the_environment_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(thread_count, "_chosen", None)
    monkeypatch.setenv("TAPELESS_NUM_THREADS", text)
    x = np.ones(3)
    with pytest.raises(ValueError, match=f"TAPELESS_NUM_THREADS='{text}' is no number of threads"):
        tl.compile(lambda x: np.add(x, 1, out=x), executor="native")(x)
    assert x.tolist() == [1, 1, 1]
