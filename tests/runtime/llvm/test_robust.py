"""The native executor under unusual arguments, errors half-way, threads, forks, and many compilations."""

import gc
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeless as tl

ULPS = {"rtol": 1e-13, "atol": 1e-13}


def work(x: Any, w: Any) -> Any:
    y = np.tanh(x) * 2 + w
    return y, y.sum(axis=0), y @ y.T


def check(function: Callable[..., Any], *args: Any) -> None:
    compiled = tl.compile(function, executor="native")
    expected = function(*args)
    for _ in range(3):
        found = compiled(*args)
        for one, two in zip(found, expected, strict=True):
            assert one.dtype == np.asarray(two).dtype
            np.testing.assert_allclose(one, two, **ULPS)


# ---- arguments of every layout


def plain() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(6, 35))


def misaligned() -> np.ndarray:
    memory = np.zeros(6 * 35 * 8 + 1, np.uint8)
    array = np.ndarray((6, 35), np.float64, memory, 1)
    array[...] = plain()
    return array


def in_a_record() -> np.ndarray:
    records = np.zeros((6, 35), [("tag", "u1"), ("x", "f8")])
    records["x"] = plain()
    return records["x"]


LAYOUTS: dict[str, Callable[[], np.ndarray]] = {
    "misaligned": misaligned,
    "in-a-record": in_a_record,
    "byte-swapped": lambda: plain().astype(">f8"),
    "backwards": lambda: plain()[::-1, ::-1],
    "gaps": lambda: np.repeat(np.repeat(plain(), 2, 0), 3, 1)[::2, ::3],
    "fortran": lambda: np.asfortranarray(plain()),
    "repeated-row": lambda: np.broadcast_to(plain()[:1], (6, 35)),
    "overlapping-windows": lambda: np.lib.stride_tricks.sliding_window_view(np.linspace(-1, 1, 40), 35),
    "read-only": lambda: np.frombuffer(plain().tobytes()).reshape(6, 35),
    "no-rows": lambda: plain()[:0],
    "no-columns": lambda: plain()[:, :0],
    "one-element": lambda: plain()[:1, :1],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_of_every_layout(layout: str) -> None:
    x = LAYOUTS[layout]()
    check(work, x, np.linspace(0, 1, x.shape[1]))


@pytest.mark.parametrize(
    "layout", ["misaligned", "in-a-record", "byte-swapped", "backwards", "gaps", "fortran"]
)
def test_updates_of_every_layout(layout: str) -> None:
    def update(x: Any) -> Any:
        x *= 0.5
        x[1:3] += np.exp(x[3:5])
        return x.sum()

    compiled = tl.compile(update, executor="native")
    for _ in range(3):
        x, y = LAYOUTS[layout](), LAYOUTS[layout]()
        found, expected = compiled(x), update(y)
        np.testing.assert_allclose(found, expected, **ULPS)
        np.testing.assert_allclose(x, y, **ULPS)


@pytest.mark.parametrize("dtype", [">i4", ">u2", ">f4", ">c16", "O"])
def test_dtypes_without_kernels_go_to_numpy(dtype: str) -> None:
    x = np.arange(12).astype(dtype)
    if dtype == "O":
        with pytest.raises(tl.TapelessError):
            tl.compile(lambda x: x + x, executor="native")(x)
        return
    check(lambda x: (x + x, x[::-1] * 3, x.sum() + x), x)


def test_arguments_without_axes() -> None:
    def function(x: Any, y: Any, n: Any) -> Any:
        return x * y, np.exp(x) + n, np.maximum(y, x)

    for x in (np.array(1.5), np.float64(1.5)):
        check(function, x, np.array(2.5), 3)


def test_overlapping_views_of_one_array() -> None:
    def shift(a: Any, b: Any) -> None:
        a[...] = b * 2
        b += 1

    compiled = tl.compile(shift, executor="native")
    for _ in range(3):
        x, y = np.arange(12.0), np.arange(12.0)
        compiled(x[:10], x[2:])
        shift(y[:10], y[2:])
        np.testing.assert_array_equal(x, y)


def test_a_read_only_argument_is_not_written() -> None:
    x = np.arange(4.0)
    x.flags.writeable = False
    compiled = tl.compile(lambda x: x.__iadd__(1), executor="native")
    with pytest.raises(ValueError, match="read-only"):
        compiled(x)
    np.testing.assert_array_equal(x, np.arange(4.0))


# ---- errors half-way


@pytest.mark.parametrize("commits_first", [False, True])
def test_a_numpy_step_that_raises_changes_nothing(commits_first: bool) -> None:
    def step(w: Any, a: Any) -> Any:
        w *= 2
        if commits_first:
            w += 1
        inverse = np.linalg.inv(a + 0)
        w += inverse.sum()
        return np.exp(w)

    compiled = tl.compile(step, executor="native")
    good, w, v = np.eye(3) * 2, np.arange(5.0), np.arange(5.0)
    for _ in range(2):
        np.testing.assert_allclose(compiled(w, good), step(v, good), **ULPS)
        before = w.copy()
        with pytest.raises(np.linalg.LinAlgError):
            compiled(w, np.zeros((3, 3)))
        np.testing.assert_array_equal(w, before)


# ---- threads, forks, many compilations


def test_threads_call_one_function_at_once() -> None:
    def function(x: Any, w: Any) -> Any:
        h = np.tanh(x @ w)
        return np.sort(h, axis=0) + h.sum(), (h * h).mean(axis=0)

    compiled = tl.compile(function, executor="native")
    rng = np.random.default_rng(0)
    cases = [(rng.normal(size=(64, 30)), rng.normal(size=(30, 40))) for _ in range(4)]
    wanted = [compiled(*case) for case in cases]
    wrong: list[int] = []

    def caller(number: int) -> None:
        for _ in range(50):
            for one, two in zip(compiled(*cases[number]), wanted[number], strict=True):
                if not np.array_equal(one, two):
                    wrong.append(number)

    callers = [threading.Thread(target=caller, args=(number,)) for number in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert not wrong


def test_threads_compile_at_once() -> None:
    wrong: list[int] = []

    def compile_and_call(number: int) -> None:
        for k in range(5):
            x = np.arange(float(10 + k + number))
            found = tl.compile(lambda x: np.sqrt(x) * (k + 2) + number, executor="native")(x)  # noqa: B023
            if not np.allclose(found, np.sqrt(x) * (k + 2) + number, rtol=1e-14):
                wrong.append(number)

    callers = [threading.Thread(target=compile_and_call, args=(number,)) for number in range(4)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert not wrong


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_calls_and_compiles() -> None:
    def function(x: Any) -> Any:
        return np.tanh(x @ x.T) * 3

    compiled = tl.compile(function, executor="native")
    x = np.random.default_rng(0).normal(size=(300, 300))
    wanted = compiled(x)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            again = compiled(x)
            new = tl.compile(lambda x: function(x) + 1, executor="native")(x)
            code = int(not (np.allclose(again, wanted) and np.allclose(new, wanted + 1)))
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    np.testing.assert_allclose(compiled(x), wanted, rtol=1e-9, atol=1e-12)


def resident() -> int:
    """Bytes of memory that this process has in use."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def drop(rounds: int) -> None:
    x = np.arange(16.0)
    for k in range(rounds):
        compiled = tl.compile(lambda x: np.exp(x) * 2.5 + x.sum(), executor="native")
        compiled(x)
        del compiled
        if k % 50 == 0:
            gc.collect()
    gc.collect()


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="/proc tells what is resident")
@pytest.mark.parametrize(
    "rounds", [300, pytest.param(10_000, marks=[pytest.mark.sweep, pytest.mark.timeout(1200)])]
)
def test_compile_and_drop_does_not_grow_memory(rounds: int) -> None:
    drop(100)
    before = resident()
    drop(rounds)
    grown = resident() - before
    assert grown < 4_000_000, f"{grown / rounds:.0f} bytes a round"


def test_an_empty_plan() -> None:
    compiled = tl.compile(lambda x: None, executor="native")
    assert compiled(np.ones(3)) is None


# ---- plans of unusual size


def test_a_chain_longer_than_the_stack_of_calls() -> None:
    def chain(x: Any) -> Any:
        for _ in range(1500):
            x = x * 0.99 + 0.25
        return x

    x = np.linspace(0, 1, 40)
    np.testing.assert_allclose(tl.compile(chain, executor="native")(x), chain(x), rtol=1e-12)


def test_more_arrays_than_a_kernel_takes() -> None:
    def total(arrays: Any) -> Any:
        result = arrays[0]
        for array in arrays[1:]:
            result = result + array * 2
        return result

    arrays = [np.linspace(k, k + 1, 40) for k in range(600)]
    np.testing.assert_allclose(tl.compile(total, executor="native")(arrays), total(arrays), rtol=1e-12)


def test_groups_with_reductions_are_cut_too() -> None:
    def softmaxes(arrays: Any) -> Any:
        result = 0.0
        for array in arrays:
            e = np.exp(array - array.max(axis=1, keepdims=True))
            result = result + e / e.sum(axis=1, keepdims=True)
        return result

    arrays = [np.random.default_rng(k).normal(size=(8, 40)) for k in range(60)]
    np.testing.assert_allclose(
        tl.compile(softmaxes, executor="native")(arrays), softmaxes(arrays), rtol=1e-12
    )


@pytest.mark.parametrize("enabled", [True, False])
def test_the_collector_of_garbage_is_left_as_it_was(enabled: bool) -> None:
    def refused(x: Any) -> Any:
        return [1, 2][np.argmax(x)]

    was = gc.isenabled()
    try:
        (gc.enable if enabled else gc.disable)()
        tl.compile(lambda x: x * 2, executor="native")(np.ones(3))
        assert gc.isenabled() is enabled
        with pytest.raises(tl.TapelessError):
            tl.compile(refused, executor="native")(np.ones(3))
        assert gc.isenabled() is enabled
    finally:
        (gc.enable if was else gc.disable)()
