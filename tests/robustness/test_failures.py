"""Exceptions in the middle of a trace or of a call: nothing is half done, and the next call is as ever."""

import builtins
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer.state import current

EXECUTORS = ["numpy", "interpret"]
NUMPY = np


class Stop(BaseException):
    """Raised where Ctrl-C might be."""


def nothing_is_left_behind() -> None:
    """No trace is active, and NumPy's names mean NumPy."""
    assert current() is None
    assert NUMPY is __import__("numpy")
    assert type(np.zeros(2)) is type(np.arange(2.0)) is np.ndarray
    assert builtins.__import__.__module__ == "builtins"
    assert np.geterr() == {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


@pytest.mark.parametrize(
    "error", [KeyError, RuntimeError, Stop, KeyboardInterrupt, SystemExit, GeneratorExit]
)
def test_an_exception_while_tracing(error: type[BaseException]) -> None:
    def step(x: Any, box: Any, fail: bool) -> Any:
        with np.errstate(all="ignore"):
            x += 1
            box["new"] = x * 2
            box["rows"].append(np.zeros(2))
            if fail:
                raise error("half-way")
        return x

    x, box = np.zeros(2), {"rows": [np.ones(1)]}
    compiled = tl.compile(step)
    with pytest.raises(error, match="half-way"):
        compiled(x, box, True)
    nothing_is_left_behind()
    assert not x.any()
    assert list(box) == ["rows"]
    assert len(box["rows"]) == 1
    assert compiled(x, box, False) is x
    assert list(box) == ["rows", "new"]
    np.testing.assert_array_equal(box["new"], [2.0, 2.0])
    nothing_is_left_behind()


def test_the_users_exception_keeps_its_traceback() -> None:
    def inner(x: Any) -> Any:
        raise LookupError("no such thing")

    with pytest.raises(LookupError) as caught:
        tl.compile(lambda x: inner(x * 2))(np.ones(2))
    assert [entry.name for entry in caught.traceback][-2:] == ["<lambda>", "inner"]
    assert len(caught.traceback) == 4, "of Tapeless there is the call alone"


def test_an_exception_that_user_code_handles() -> None:
    def function(x: Any) -> Any:
        try:
            return x.reshape(5, 5)
        except ValueError:
            return x + 1

    np.testing.assert_array_equal(tl.compile(function)(np.zeros(4)), np.ones(4))


def test_a_refusal_cannot_be_swallowed() -> None:
    def function(x: Any) -> Any:
        try:
            return x * float(x[0])
        except Exception:
            return x

    compiled = tl.compile(function)
    with pytest.raises(tl.TapelessError, match="float"):
        compiled(np.ones(3))
    nothing_is_left_behind()


CALLS: dict[str, tuple[Callable[..., Any], Any, Any, type[Exception]]] = {
    "singular": (
        lambda x, y: np.linalg.inv(x),
        np.eye(2),
        np.zeros((2, 2)),
        np.linalg.LinAlgError,
    ),
    "index": (lambda x, y: y[x.astype(int)], np.zeros((2, 2)), np.full((2, 2), 9.0), IndexError),
    "negative_power": (
        lambda x, y: np.arange(4) ** x.astype(int).ravel(),
        np.ones((2, 2)),
        -np.ones((2, 2)),
        ValueError,
    ),
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("case", CALLS)
def test_an_exception_in_a_call(case: str, executor: str) -> None:
    inner, good, bad, error = CALLS[case]

    def step(x: Any, y: Any, box: Any) -> Any:
        y += 1
        box["first"] = y * 1
        z = inner(x, y)
        y += 1
        box["last"] = z
        return z, y

    compiled = tl.compile(step, executor=executor)
    y, box = np.zeros((4, 2)), {}
    expected = step(good, np.zeros((4, 2)), {})
    np.testing.assert_array_equal(compiled(good, y, box)[0], expected[0])
    y, box = np.zeros((4, 2)), {}
    with pytest.raises(error):
        compiled(bad, y, box)
    assert not y.any()
    assert not box
    np.testing.assert_array_equal(compiled(good, y, box)[0], expected[0])
    np.testing.assert_array_equal(y, np.full((4, 2), 2.0))
    nothing_is_left_behind()


@pytest.mark.parametrize("executor", EXECUTORS)
def test_floating_point_errors_that_raise(executor: str) -> None:
    def step(x: Any, y: Any) -> Any:
        y += 1
        z = 1 / x
        y *= z
        return y

    compiled, y = tl.compile(step, executor=executor), np.zeros(2)
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        compiled(np.array([1.0, 0.0]), y)
    assert not y.any()
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(compiled(np.array([1.0, 0.0]), y), [1.0, np.inf])


def test_endless_recursion_is_pythons_error() -> None:
    def forever(x: Any) -> Any:
        return forever(x + 1)

    with pytest.raises(RecursionError):
        tl.compile(forever)(np.ones(2))
    nothing_is_left_behind()


def generator(x: Any) -> Any:
    yield x


async def coroutine(x: Any) -> Any:
    return x


async def asynchronous_generator(x: Any) -> Any:
    yield x


@pytest.mark.parametrize("function", [generator, coroutine, asynchronous_generator])
def test_functions_whose_call_runs_nothing_are_refused(function: Any) -> None:
    with pytest.raises(tl.TapelessError, match="cannot be compiled"):
        tl.compile(function)(np.ones(2))


def test_a_generator_that_is_returned_is_refused() -> None:
    with pytest.raises(tl.TapelessError, match="generator"):
        tl.compile(lambda x: (v for v in x))(np.ones(2))
    nothing_is_left_behind()


def test_generators_inside_a_function_are_ordinary() -> None:
    def function(x: Any) -> Any:
        def doubled() -> Any:
            for value in x:
                yield 2 * value

        return sum(doubled()), np.stack(list(doubled()))

    total, stacked = tl.compile(function)(np.arange(3.0))
    assert total == 6
    np.testing.assert_array_equal(stacked, [0.0, 2.0, 4.0])


def test_an_exception_in_one_thread_leaves_another_alone() -> None:
    started, go_on = threading.Event(), threading.Event()
    results: list[Any] = []

    def slow(x: Any) -> Any:
        started.set()
        assert go_on.wait(20)
        return np.zeros(2) + x

    worker = threading.Thread(target=lambda: results.append(tl.compile(slow)(np.ones(2))))
    worker.start()
    assert started.wait(20)
    with pytest.raises(Stop):
        tl.compile(lambda x: (_ for _ in ()).throw(Stop()))(np.ones(2))
    assert type(np.zeros(2)) is np.ndarray
    go_on.set()
    worker.join(20)
    np.testing.assert_array_equal(results[0], [1.0, 1.0])
    nothing_is_left_behind()
