"""Threads: traces and calls at the same time, and NumPy in the threads that do not trace."""

import linecache
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tapeless as tl

GRID = np.arange(3.0)


@pytest.fixture(autouse=True)
def quick_switches() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def work(x: Any, n: int) -> Any:
    out = np.zeros(n)
    for i in range(n):
        out[i] = x[i % 3] * i
    return np.array([out.sum(), np.mean(GRID)]) + np.tanh(x[0])


def together(functions: list[Callable[[], Any]]) -> list[Any]:
    with ThreadPoolExecutor(len(functions)) as pool:
        return [future.result(timeout=60) for future in [pool.submit(f) for f in functions]]


def test_one_function_traced_and_called_by_many_threads() -> None:
    compiled = tl.compile(work)
    x = np.array([0.5, 1.0, 2.0])
    sizes = [3, 4, 5, 6] * 4
    found = together([lambda n=n: compiled(x, n) for n in sizes])  # type: ignore[misc]
    for value, n in zip(found, sizes, strict=True):
        np.testing.assert_array_equal(value, work(x, n))
    assert compiled.stats.specializations == 4


def test_many_functions_traced_at_once() -> None:
    def make(k: int) -> Callable[[Any], Any]:
        return lambda x: np.array([x * k, np.full(3, k)]) + np.linalg.norm(x)

    functions = [make(k) for k in range(16)]
    x = np.arange(3.0)
    found = together([lambda f=f: tl.compile(f)(x) for f in functions])  # type: ignore[misc]
    for value, function in zip(found, functions, strict=True):
        np.testing.assert_array_equal(value, function(x))


def test_plain_numpy_beside_traces() -> None:
    stop = threading.Event()
    wrong: list[Any] = []

    def plain() -> int:
        rounds = 0
        while not stop.is_set():
            made = np.zeros(3)
            made[1] = 2.0
            joined = np.array([made, np.ones(3)])
            if type(made) is not np.ndarray or type(joined) is not np.ndarray or joined.sum() != 5.0:
                wrong.append((type(made), joined))
            rounds += 1
        return rounds

    def tracing() -> None:
        try:
            for k in range(40):
                tl.compile(lambda x, k=k: work(x, 3 + k % 5))(np.ones(3))
        finally:
            stop.set()

    rounds, _ = together([plain, tracing])
    assert wrong == []
    assert rounds > 0
    assert type(np).__name__ == "module"


def test_a_refusal_in_one_thread_leaves_others_alone() -> None:
    def refused() -> str:
        try:
            tl.compile(lambda x: x if x[0] > 0 else -x)(np.ones(3))
        except tl.TapelessError:
            return "refused"
        return "not refused"

    def fine() -> Any:
        return tl.compile(lambda x: np.zeros(3) + x)(np.ones(3)).sum()

    assert together([refused, fine] * 8) == ["refused", 3.0] * 8


def test_many_threads_read_source_for_their_errors() -> None:
    def refused(k: int) -> str:
        namespace: dict[str, Any] = {"np": np}
        filler = "\n".join(f"v{i} = [((({i} + {k}), 1), 2), lambda x: {{x: [x]}}]" for i in range(60))
        source = f"{filler}\ndef f(x):\n    if x[0] > {k}:\n        return x\n    return -x\n"
        name = f"<source {k}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)
        with pytest.raises(tl.TapelessError) as caught:
            tl.compile(namespace["f"])(np.arange(3.0))
        return str(caught.value)

    for start in range(0, 64, 16):
        messages = together([lambda k=k: refused(k) for k in range(start, start + 16)])  # type: ignore[misc]
        for k, message in enumerate(messages, start=start):
            assert f"x[0] > {k}" in message
