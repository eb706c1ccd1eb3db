"""Warm calls: guards, results, errors, threads and shared containers are as on the long way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiled import WARM_WAYS, CompiledFunction
from tapeless.tracer.errors import ClosureWriteError
from tapeless.tracer.signature import MISS

pytestmark = pytest.mark.filterwarnings("ignore::tapeless.RetraceWarning")


@pytest.fixture(autouse=True, params=["numpy", "native"])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both executors, each with a check of its own."""
    if request.param == "native":
        pytest.importorskip("llvmlite")
    monkeypatch.setenv("TAPELESS_EXECUTOR", request.param)


def warmed(function: Callable[..., Any], *args: Any, **options: Any) -> CompiledFunction:
    """The function compiled and called three times; the third call went the straight way."""
    compiled = tl.compile(function, **options)
    for _ in range(3):
        compiled(*args)
    assert len(compiled._warm) == 1
    assert is_warm(compiled, *args)
    return compiled


def is_warm(compiled: CompiledFunction, *args: Any, **kwargs: Any) -> bool:
    return any(way(args, kwargs) is not MISS for way in compiled._warm)


def double(x: Any) -> Any:
    return x * 2


SCALE = 2.0


def test_guards_are_asked_at_each_call() -> None:
    global SCALE
    SCALE = 2.0
    compiled = warmed(lambda x: x * SCALE, 3.0)
    assert compiled(3.0) == 6.0
    SCALE = 5.0
    assert compiled(3.0) == 15.0
    SCALE = 2.0
    assert compiled(3.0) == 6.0
    assert compiled.stats.traces == 3


def test_closed_over_arrays_are_read_at_each_call() -> None:
    held = np.ones(3)
    compiled = warmed(lambda x: x + held, np.zeros(3))
    held[:] = 4
    assert np.array_equal(compiled(np.zeros(3)), np.full(3, 4.0))


def test_a_written_argument_that_is_closed_over_is_refused() -> None:
    held = np.ones(3)

    def add(x: Any) -> Any:
        x += held

    compiled = warmed(add, np.zeros(3))
    with pytest.raises(ClosureWriteError):
        compiled(held)


def test_results_outlive_the_next_call() -> None:
    compiled = warmed(lambda p, x: {"y": [p["w"] * x, x.sum()], "x": x}, {"w": np.ones(3)}, np.ones(3))
    kept = [compiled({"w": np.full(3, float(k))}, np.ones(3)) for k in range(5)]
    for k, result in enumerate(kept):
        assert np.array_equal(result["y"][0], np.full(3, float(k)))
    assert len({id(result["y"]) for result in kept}) == 5


def test_results_alias_as_the_function_says() -> None:
    def function(x: Any) -> Any:
        inner = [x]
        y = x * 2
        return x, x[1:], inner, inner, y, y

    compiled = tl.compile(function)
    for _ in range(3):
        x = np.arange(4.0)
        same, view, one, two, y, z = compiled(x)
        assert same is x
        assert np.shares_memory(view, x)
        assert one is two
        assert one[0] is x
        assert y is z


def test_containers_are_changed_on_the_way() -> None:
    def push(state: Any, x: Any) -> Any:
        state["last"] = x * 2
        return state

    compiled = tl.compile(push)
    state = {"last": 0.0}
    for k in range(5):
        assert compiled(state, float(k)) is state
        assert state == {"last": 2.0 * k}


def test_keywords_in_another_order() -> None:
    compiled = tl.compile(lambda a, b: a - b)
    for _ in range(3):
        assert compiled(a=3.0, b=1.0) == 2.0
        assert compiled(b=1.0, a=3.0) == 2.0
        assert compiled(3.0, b=1.0) == 2.0
        assert compiled(3.0, 1.0) == 2.0
    with pytest.raises(TypeError):
        compiled(3.0)
    with pytest.raises(TypeError):
        compiled(3.0, 1.0, 2.0)


def test_generators_draw_in_order() -> None:
    compiled = tl.compile(lambda rng, x: rng.normal() * x)
    ours, numpys = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(5):
        assert compiled(ours, 2.0) == numpys.normal() * 2.0


def test_signatures_in_turn_keep_their_ways() -> None:
    compiled = tl.compile(double)
    shapes = [(k,) for k in range(WARM_WAYS + 2)]
    for _ in range(4):
        for shape in shapes:
            assert compiled(np.ones(shape)).shape == shape
    assert len(compiled._warm) == WARM_WAYS
    assert compiled.stats.traces == len(shapes)
    assert compiled.stats.calls == 4 * len(shapes)


def test_errors_show_no_frame_of_ours() -> None:
    compiled = tl.compile(lambda x, y: x / y)
    for _ in range(3):
        compiled(1.0, 2.0)
    with pytest.raises(ZeroDivisionError) as caught:
        compiled(1.0, 0.0)
    files = [str(entry.path) for entry in caught.traceback]
    assert not any("tapeless" in file and "tests" not in file for file in files[1:])
    assert compiled(1.0, 4.0) == 0.25


def test_threads_do_not_meet() -> None:
    compiled = tl.compile(lambda p, x: (p["w"] * x + x).sum())
    wrong: list[Any] = []

    def work(number: float) -> None:
        for k in range(200):
            n = 3 + k % 3
            got = compiled({"w": np.full(n, number)}, np.full(n, number))
            if got != n * (number * number + number):
                wrong.append(got)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_call_inside_of_a_trace_is_traced() -> None:
    inner = warmed(double, np.ones(3))
    outer = tl.compile(lambda x: inner(x) + 1)
    for _ in range(3):
        assert np.array_equal(outer(np.ones(3)), np.full(3, 3.0))
    assert inner.stats.calls == 3


@pytest.mark.parametrize("first", ["apart", "shared"])
def test_shared_containers_belong_to_the_signature(first: str) -> None:
    def move(p: Any, q: Any) -> Any:
        p["n"] = p["n"] + 1.0
        return q["n"]

    compiled = tl.compile(move)
    for shared in (first == "shared", first != "shared") * 3:
        p = {"n": 1.0}
        assert compiled(p, p if shared else {"n": 1.0}) == (2.0 if shared else 1.0)
        assert p == {"n": 2.0}
    assert compiled.stats.traces == 2


def test_views_are_warm_where_owners_came_first() -> None:
    data = np.arange(20.0)
    compiled = warmed(lambda p, x: (p["w"] * x).sum(), {"w": np.ones(4)}, np.ones(4))
    for k in range(0, 20, 4):
        assert compiled({"w": np.ones(4)}, data[k : k + 4]) == data[k : k + 4].sum()
    assert is_warm(compiled, {"w": data[:4]}, np.ones(4))
    assert not is_warm(compiled, {"w": data[:4]}, data[4:8])
    assert compiled.stats.traces == 1


def test_native_leaves_numbers_to_python() -> None:
    compiled = tl.compile(lambda a, b: (a / b, a**b), executor="native")
    assert compiled(3.0, 2.0) == (1.5, 9.0)
    assert compiled(-8.0, 0.5) == (-16.0, (-8.0) ** 0.5)
    with pytest.raises(ZeroDivisionError):
        compiled(1.0, 0.0)
    assert compiled(10**30, 3) == (10**30 / 3, 10**90)
    assert "no arrays" in compiled.explain()
    assert "divide" in str(compiled.plan(1.0, 2.0))
