"""The NumPy executor: instances and threads, error settings, transactions, long plans, memory let go."""

import gc
import multiprocessing
import os
import sys
import threading
import time
import tracemalloc
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, Graph, Loc, Node, ScalarType
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.ops.view import path_step
from tapeless.compiler.plan import Place, Target, make_plan
from tapeless.compiler.plan_verify import verify_plan
from tapeless.runtime import errstate, writer
from tapeless.runtime.arena import Arena, empty, window
from tapeless.runtime.executor import NumpyExecutor
from tapeless.runtime.interpret import interpret

F8 = np.dtype("f8")
HERE = Loc("train.py", 3, "step")


def vector(b: Builder, name: str = "x", length: int = 100) -> Node:
    return b.param(name, array_type((length,), F8))


def executor_of(
    params: Sequence[Node], outputs: Sequence[Node], targets: Sequence[Target], **options: Any
) -> NumpyExecutor:
    plan = make_plan(Graph("f", tuple(params), tuple(outputs)), [None] * len(params), targets, **options)
    verify_plan(plan)
    return NumpyExecutor(plan, poison=True)


@pytest.fixture
def plain_warnings() -> Iterator[None]:
    """Warnings as they are outside of tests: not errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def chain(length: int) -> tuple[NumpyExecutor, Callable[[Any], Any]]:
    b = Builder()
    x = vector(b)
    y = x
    for _ in range(length):
        y = b.add(b.sin(y), x)

    def plain(x: Any) -> Any:
        y = x
        for _ in range(length):
            y = np.sin(y) + x
        return y

    return executor_of([x], [y], [Target("fresh")]), plain


# -- instances


def test_calls_from_many_threads_do_not_share_memory() -> None:
    executor, plain = chain(200)
    inputs = [np.random.default_rng(k).normal(size=100) for k in range(8)]
    expected = [plain(x) for x in inputs]
    wrong: list[int] = []

    def work(k: int) -> None:
        for _ in range(30):
            (found,) = executor([inputs[k]])
            if not np.array_equal(found, expected[k]):
                wrong.append(k)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == []


def test_a_call_within_a_call_has_memory_of_its_own() -> None:
    """A floating-point error handler that calls the same executor."""
    b = Builder()
    x = vector(b, length=4)
    y = b.add(b.log(x), b.negative(x))
    executor = executor_of(
        [x], [b.sum(y, axes=(0,), dtype=F8), b.negative(y)], [Target("scalar"), Target("fresh")]
    )
    inner: list[Any] = []

    def handler(kind: str, flag: int) -> None:
        with np.errstate(all="ignore"):
            inner.append(executor([np.ones(4)])[0])

    with np.errstate(divide="call", call=handler):
        _, result = executor([np.array([0.0, 1.0, 2.0, 3.0])])
    assert inner == [-4.0]
    assert np.array_equal(result[1:], -(np.log([1.0, 2.0, 3.0]) - [1.0, 2.0, 3.0]))


def test_a_forked_child_can_call() -> None:
    executor, plain = chain(20)
    x = np.random.default_rng(0).normal(size=100)
    expected = plain(x)
    executor([x])
    if "fork" not in multiprocessing.get_all_start_methods():
        pytest.fail("this test wants a system that forks")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
        if pid == 0:
            os._exit(0 if np.array_equal(executor([x])[0], expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert np.array_equal(executor([x])[0], expected)


def test_an_exception_gives_the_instance_back() -> None:
    b = Builder()
    x = vector(b, length=4)
    i = b.param("i", array_type((2,), np.dtype("i8")))
    executor = executor_of([x, i], [b.gather(b.exp(x), i, axes=(0,))], [Target("fresh")])
    for _ in range(3):
        with pytest.raises(IndexError):
            executor([np.ones(4), np.array([0, 9])])
    assert len(executor._pool) == 1
    assert np.array_equal(executor([np.ones(4), np.array([0, 1])])[0], np.exp(np.ones(2)))


@pytest.mark.parametrize("size", [1, 1000])
def test_an_exception_names_the_line_of_its_step(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CHUNK", size)
    b = Builder(HERE)
    x = vector(b, length=4)
    i = b.param("i", array_type((2,), np.dtype("i8")))
    y = b.exp(b.exp(x))
    b.loc = Loc("train.py", 7, "loss")
    part = b.gather(y, i, axes=(0,))
    b.loc = HERE
    executor = executor_of([x, i], [b.exp(part)], [Target("fresh")])
    with pytest.raises(IndexError) as error:
        executor([np.ones(4), np.array([0, 9])])
    assert error.value.__notes__ == ["This was raised by gather, written at train.py:7, in loss"]


def test_memory_stays_bounded_over_calls() -> None:
    executor, _ = chain(20)
    x = np.ones(100)
    executor([x])
    gc.collect()
    tracemalloc.start()
    for _ in range(300):
        executor([x])
    grown, _peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 20_000


def test_dropping_an_executor_frees_its_arena() -> None:
    executor, _ = chain(5)
    executor([np.ones(100)])
    dropped = weakref.ref(executor)
    del executor
    gc.collect()
    assert dropped() is None


# -- results


def test_results_never_share_memory_with_an_earlier_call() -> None:
    executor, _ = chain(3)
    x = np.ones(100)
    first = executor([x])[0]
    before = first.copy()
    second = executor([2 * x])[0]
    assert not np.shares_memory(first, second)
    assert np.array_equal(first, before)


def test_runtime_values_are_let_go_at_their_last_use() -> None:
    """A large value that NumPy makes is dropped before the next one is made."""
    b = Builder()
    x = vector(b, length=100_000)
    i = b.constant(np.arange(100_000))
    y = x
    for _ in range(6):
        y = b.gather(b.negative(y), i, axes=(0,))
    executor = executor_of([x], [b.sum(y, axes=(0,), dtype=F8)], [Target("scalar")])
    values = [np.ones(100_000)]
    executor(values)
    tracemalloc.start()
    executor(values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2.5 * 800_000


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), (24, 8)), ((2, 3), (8, 16)), ((2, 3, 4), (8, 64, 16)), ((1, 3), (5, 8))],
)
def test_fresh_arrays_own_their_memory(shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    array = empty(shape, F8, strides)
    assert array.strides == strides
    assert array.flags.owndata
    assert array.base is None


@pytest.mark.parametrize("strides", [(-24, 8), (48, 8), (0, 8)])
def test_fresh_arrays_of_odd_strides_are_writeable(strides: tuple[int, ...]) -> None:
    array = empty((2, 3), F8, strides)
    array[...] = 1
    assert array.strides == strides


def test_arena_is_aligned_and_windows_share_it() -> None:
    arena = Arena(256)
    first = arena.array((2, 4), F8, 64, (32, 8))
    assert first.__array_interface__["data"][0] % 64 == 0
    first[...] = 7
    assert np.array_equal(arena.memory[64:128].view(F8), np.full(8, 7.0))


def test_windows_on_any_array() -> None:
    array = np.arange(12.0).reshape(3, 4)
    for base in (array, array.T):
        seen = window(base, (2, 3), F8, 8, (32, 8))
        seen[0, 0] = -1
        assert array[0, 1] == -1
        array[0, 1] = 1
    assert np.array_equal(window(array[1:, ::-1], (2,), F8, 0, (-8,)), [7.0, 6.0])


def test_donated_memory_is_returned() -> None:
    b = Builder()
    w, g = vector(b, "w", 4), vector(b, "g", 4)
    executor = executor_of([w, g], [b.subtract(w, g)], [Target("fresh")], donated=frozenset([0]))
    mine = np.arange(4.0)
    (result,) = executor([mine, np.ones(4)])
    assert result is mine
    assert np.array_equal(mine, [-1.0, 0.0, 1.0, 2.0])


def test_poison_fills_what_is_dead() -> None:
    b = Builder()
    x = vector(b, length=8)
    y = b.exp(x)
    executor = executor_of([x], [b.sum(b.negative(y), axes=(0,), dtype=F8)], [Target("scalar")])
    assert ".fill(255)" in executor.source
    plain = NumpyExecutor(executor.plan, poison=False)
    assert ".fill(255)" not in plain.source
    assert executor([np.zeros(8)]) == plain([np.zeros(8)]) == [-8.0]


def test_poison_by_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    executor, _ = chain(1)
    monkeypatch.setenv("TAPELESS_POISON", "1")
    assert NumpyExecutor(executor.plan).poison
    monkeypatch.setenv("TAPELESS_POISON", "0")
    assert not NumpyExecutor(executor.plan).poison


def test_programs_are_readable() -> None:
    """The generated source of a small plan, whole: what people see who debug."""
    b = Builder()
    w, x = (b.param(name, ScalarType(float)) for name in "wx")
    y = b.power(b.add(b.multiply(w, x), b.constant(1.0)), b.constant(2), form="array")
    executor = executor_of([w, x], [y], [Target("number")])
    assert executor.source == (
        "def bind(v0_constant, v1_constant):\n"
        "    def run(P, S):\n"
        "        p0, p1 = P\n"
        "        d4 = p0 * p1\n"
        "        d5 = d4 + v0_constant\n"
        "        d6 = d5 ** v1_constant\n"
        "        return [d6]\n"
        "    return run\n"
    )


# -- long plans


@pytest.mark.parametrize("size", [1, 3, 7])
def test_values_cross_from_chunk_to_chunk(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CHUNK", size)
    b = Builder()
    x = vector(b, length=6)
    s = b.param("s", ScalarType(float))
    t = b.multiply(s, s)
    y = b.exp(x)
    rows = b.gather(y, b.constant(np.array([5, 0])), axes=(0,))
    part = path_step("slice", start=(1,), size=(2,), step=(1,))
    z = b.write(y, rows, path=(part,))
    total = b.multiply(b.sum(z, axes=(0,), dtype=F8), b.cast(b.add(t, s), F8))
    graph = Graph("f", (x, s), (z, total, t))
    plan = make_plan(graph, [None, None], [Target("fresh"), Target("scalar"), Target("number")])
    executor = NumpyExecutor(plan, poison=True)
    values = [np.linspace(0, 1, 6), 1.5]
    expected, found = interpret(graph, values), executor(values)
    assert len(executor._program.chunks) > 1
    assert np.array_equal(expected[0], found[0])
    assert expected[1:] == found[1:]


def test_a_chain_of_many_steps() -> None:
    executor, plain = chain(3000)
    x = np.linspace(-1, 1, 100)
    assert np.array_equal(executor([x])[0], plain(x))
    sources = {chunk.source for chunk in executor._program.chunks}
    assert len(sources) < len(executor._program.chunks)


@pytest.mark.slow
def test_many_steps_in_linear_time() -> None:
    def seconds(length: int) -> float:
        b = Builder()
        x = vector(b, length=8)
        y = x
        for k in range(length):
            y = b.add(y, x) if k % 3 else b.sin(y)
        graph = Graph("f", (x,), (y,))
        start = time.perf_counter()
        executor = NumpyExecutor(make_plan(graph, [None], [Target("fresh")]))
        executor([np.ones(8)])
        return time.perf_counter() - start

    short, long = seconds(5_000), seconds(50_000)
    assert long < 30 * short
    assert long < 15


# -- floating-point settings


def backward(b: Builder) -> None:
    b.loc = HERE.as_backward()


def test_forward_steps_follow_the_caller_and_backward_ones_are_silent() -> None:
    b = Builder(HERE)
    x = vector(b, length=2)
    forward = b.log(x)
    backward(b)
    silent = b.divide(x, b.subtract(x, x))
    executor = executor_of([x], [forward, silent], [Target("fresh")] * 2)
    zeros = np.zeros(2)
    with np.errstate(all="ignore"):
        assert np.isneginf(executor([zeros])[0]).all()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        executor([zeros])
    with np.errstate(all="raise"):
        (_, quotient) = executor([np.ones(2)])
    assert np.isinf(quotient).all()
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in log"):
        executor([zeros])


def test_settings_are_restored_after_an_exception_in_a_silent_part() -> None:
    b = Builder(HERE)
    x = vector(b, length=2)
    i = b.param("i", array_type((1,), np.dtype("i8")))
    backward(b)
    part = b.gather(b.divide(x, x), i, axes=(0,))
    executor = executor_of([x, i], [b.exp(part)], [Target("fresh")])
    with np.errstate(all="warn", under="raise"):
        before = np.geterr()
        with pytest.raises(IndexError):
            executor([np.zeros(2), np.array([7])])
        assert np.geterr() == before


def test_settings_of_the_users_code_are_in_force_for_its_steps() -> None:
    b = Builder(Loc("train.py", 4, "step", errstate=(("divide", "raise"),)))
    x = vector(b, length=2)
    loud = b.log(x)
    b.loc = HERE
    executor = executor_of([x], [b.exp(loud), b.log(b.negative(loud))], [Target("fresh")] * 2)
    with np.errstate(all="ignore"):
        executor([np.ones(2)])
        with pytest.raises(FloatingPointError):
            executor([np.zeros(2)])


def test_both_ways_of_silencing_do_the_same() -> None:
    for silence, restore in (errstate._through_errstate(), (errstate.silence, errstate.restore)):
        with np.errstate(over="raise", under="warn"):
            before = np.geterr()
            token = silence()
            assert set(np.geterr().values()) == {"ignore"}
            restore(token)
            assert np.geterr() == before


@pytest.mark.parametrize(
    ("settings", "action", "raises"),
    [
        pytest.param({"all": "ignore"}, "error", False, id="ignored"),
        pytest.param({"all": "warn"}, "error", True, id="warnings-are-errors"),
        pytest.param({"all": "warn"}, "ignore", False, id="warnings"),
        pytest.param({"all": "ignore", "over": "raise"}, "ignore", True, id="raise"),
    ],
)
def test_whether_errors_may_raise(settings: Any, action: Any, raises: bool) -> None:
    with warnings.catch_warnings(), np.errstate(**settings):
        warnings.simplefilter(action)
        assert errstate.warnings_may_raise() is raises


# -- arguments are changed at the end, or not at all


def updates() -> tuple[NumpyExecutor, list[Any]]:
    """Two parameters that move, the second by something that can overflow."""
    b = Builder(HERE)
    v, w, g = vector(b, "v", 3), vector(b, "w", 3), vector(b, "g", 3)
    outputs = [b.subtract(v, g), b.multiply(w, b.exp(g))]
    executor = executor_of([v, w, g], outputs, [Target("commit", param=0), Target("commit", param=1)])
    return executor, [np.ones(3), np.full(3, 1e300), np.full(3, 300.0)]


def test_updates_are_made_in_the_callers_memory(plain_warnings: None) -> None:
    executor, values = updates()
    v, w, _ = values
    assert executor(values) == [None, None]
    assert executor._careful is None
    assert np.array_equal(v, np.full(3, -299.0))
    assert np.isinf(w).all()


@pytest.mark.parametrize("how", ["raise", "error"])
def test_a_floating_point_error_in_an_update_leaves_the_arguments(how: str) -> None:
    executor, values = updates()
    before = [value.copy() for value in values]
    with warnings.catch_warnings(), np.errstate(over="raise" if how == "raise" else "warn"):
        warnings.simplefilter("error")
        with pytest.raises((FloatingPointError, RuntimeWarning)):
            executor(values)
    assert all(map(np.array_equal, values, before))


@pytest.mark.parametrize("careful", [False, True])
def test_an_error_before_an_update_leaves_the_arguments(careful: bool, plain_warnings: None) -> None:
    b = Builder(HERE)
    w, g = vector(b, "w", 3), vector(b, "g", 3)
    i = b.param("i", array_type((1,), np.dtype("i8")))
    executor = executor_of(
        [w, g, i],
        [b.subtract(w, g), b.gather(g, i, axes=(0,))],
        [Target("commit", param=0), Target("fresh")],
    )
    run = executor.careful if careful else executor
    mine = np.ones(3)
    with pytest.raises(IndexError):
        run([mine, np.ones(3), np.array([3])])
    assert np.array_equal(mine, np.ones(3))
    run([mine, np.ones(3), np.array([2])])
    assert np.array_equal(mine, np.zeros(3))


def test_stores_through_an_index_are_all_or_nothing(plain_warnings: None) -> None:
    b = Builder(HERE)
    w = vector(b, "w", 5)
    i = b.param("i", array_type((2,), np.dtype("i8")))
    moved = b.scatter(w, b.negative(b.gather(w, i, axes=(0,))), i, axes=(0,))
    executor = executor_of([w, i], [moved], [Target("commit", param=0)])
    assert any(value.place is Place.PARAM and value.first >= 0 for value in executor.plan.values)
    mine = np.arange(5.0)
    executor([mine, np.array([1, 3])])
    assert np.array_equal(mine, [0.0, -1.0, 2.0, -3.0, 4.0])
    with pytest.raises(IndexError):
        executor([mine, np.array([1, 5])])
    assert np.array_equal(mine, [0.0, -1.0, 2.0, -3.0, 4.0])


def test_a_read_only_argument_is_never_written(plain_warnings: None) -> None:
    executor, values = updates()
    values[1].flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        executor(values)
