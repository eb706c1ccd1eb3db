"""Floating-point error settings: the caller's hold at each call, those set inside for their own lines."""

import gc
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

ZERO = np.zeros(3)
ONE = np.ones(3)


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """The result, the error's text, and the texts of the warnings."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = repr(function(*args).tolist())
        except FloatingPointError as error:
            result = str(error)
    return result, sorted({str(w.message) for w in given})


def plain(x: Any, y: Any) -> Any:
    return y / x


def silent(x: Any, y: Any) -> Any:
    with np.errstate(divide="ignore"):
        return y / x


def strict(x: Any, y: Any) -> Any:
    with np.errstate(all="raise"):
        return y / x


def mixed(x: Any, y: Any) -> Any:
    with np.errstate(divide="ignore"):
        a = y / x
        with np.errstate(divide="warn", invalid="ignore"):
            b = y / x
            c = x / x
    return a + b + c + np.log(x)


def decorated(x: Any, y: Any) -> Any:
    @np.errstate(divide="ignore")
    def inner() -> Any:
        return y / x

    return inner()


@pytest.mark.parametrize("mode", ["ignore", "warn", "raise"])
@pytest.mark.parametrize("function", [plain, silent, strict, mixed, decorated])
def test_settings_are_numpys(function: Any, mode: str) -> None:
    compiled = tl.compile(function, executor="numpy")
    with np.errstate(all="ignore"):
        compiled.graph(ZERO, ONE)
    with np.errstate(all=mode):  # type: ignore[call-overload]
        for _ in range(2):
            assert outcome(compiled, ZERO, ONE) == outcome(function, ZERO, ONE)
    assert compiled.stats.traces == 1


def test_the_graph_shows_what_was_set_inside() -> None:
    graph = tl.trace(mixed, ZERO, ONE)
    settings = [node.loc.errstate for node in graph.nodes if node.op.name == "divide"]
    assert settings == [
        (("divide", "ignore"),),
        (("divide", "warn"), ("invalid", "ignore")),
        (("divide", "warn"), ("invalid", "ignore")),
    ]
    assert [node.loc.errstate for node in graph.nodes if node.op.name == "log"] == [()]


def test_equal_operations_under_other_settings_stay_apart() -> None:
    def both(x: Any, y: Any) -> Any:
        with np.errstate(divide="raise"):
            first = y / x
        return first + y / x

    graph = tl.trace(both, ONE, ONE)
    assert sum(node.op.name == "divide" for node in graph.nodes) == 2


def test_geterr_inside_shows_the_callers_settings() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        seen.append(np.geterr())
        with np.errstate(over="raise"):
            seen.append(np.geterr())
        return x

    with np.errstate(divide="raise", under="warn"):
        tl.compile(look)(ONE)
        assert seen[0] == np.geterr()
        assert seen[1] == {**np.geterr(), "over": "raise"}


def test_errors_while_tracing_follow_the_callers_settings(capsys: pytest.CaptureFixture[str]) -> None:
    def constant(x: Any) -> Any:
        return x + np.ones(2) / np.zeros(2)

    with np.errstate(all="ignore"):
        assert outcome(tl.compile(constant), np.ones(2)) == ("[inf, inf]", [])
    with np.errstate(all="warn"):
        assert outcome(tl.compile(constant), np.ones(2))[1] == ["divide by zero encountered in divide"]
    with np.errstate(all="raise"):
        assert outcome(tl.compile(constant), np.ones(2))[0] == "divide by zero encountered in divide"
    with np.errstate(all="print"):
        tl.compile(constant)(np.ones(2))
        assert "divide by zero" in capsys.readouterr().out
    heard: list[Any] = []
    with np.errstate(all="call", call=lambda kind, flag: heard.append((kind, flag))):
        tl.compile(constant)(np.ones(2))
    assert heard[0] == ("divide by zero", 1)


def test_a_warning_while_tracing_points_at_the_users_line() -> None:
    def constant(x: Any) -> Any:
        return x + np.ones(2) / np.zeros(2)

    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        tl.compile(constant)(np.ones(2))
    assert given[0].filename == __file__


def changes_for_good(x: Any) -> Any:
    np.seterr(divide="ignore")
    return x


def changes_through_the_module(x: Any) -> Any:
    import sys

    sys.modules["numpy"].seterr(divide="ignore")
    return x


def calls(x: Any) -> Any:
    with np.errstate(divide="call", call=lambda kind, flag: None):
        return 1 / x


@pytest.mark.parametrize("function", [changes_for_good, changes_through_the_module, calls])
def test_what_cannot_be_recorded_is_refused(function: Any) -> None:
    before = np.geterr(), np.geterrcall()
    with pytest.raises(tl.TapelessError, match=r"np\.seterr|call="):
        tl.compile(function)(ONE)
    assert (np.geterr(), np.geterrcall()) == before


def test_another_threads_settings_are_its_own() -> None:
    seen: list[Any] = []

    def look(x: Any) -> Any:
        thread = threading.Thread(target=lambda: seen.append(np.geterr()))
        thread.start()
        thread.join()
        return x

    tl.compile(look)(ONE)
    assert "log" not in seen[0].values()


def test_a_trace_leaves_no_settings_object_behind() -> None:
    made: list[Any] = []

    def look(x: Any) -> Any:
        made.append(weakref.ref(np.geterrcall()))
        return x

    tl.compile(look)(ONE)
    gc.collect()
    assert made[0]() is None


MASKED = {
    "divide": lambda x, m: np.divide(1, x, where=m, out=np.zeros(4)),
    "divide_arrays": lambda x, m: np.divide(x[::-1], x, where=m, out=np.zeros(4)),
    "sqrt": lambda x, m: np.sqrt(x, where=x >= 0, out=np.zeros(4)),
    "log": lambda x, m: np.log(x, where=x > 0, out=x.copy()),
    "arctanh": lambda x, m: np.arctanh(x / 4, where=x < 2, out=np.zeros(4)),
    "arccosh": lambda x, m: np.arccosh(x, where=x > 1, out=np.zeros(4)),
    "power": lambda x, m: np.power(x, -0.5, where=x > 0, out=np.zeros(4)),
    "multiply": lambda x, m: np.multiply(x, [1e308, 2, 1e308, 1], where=x < 2, out=np.zeros(4)),
    "subtract": lambda x, m: np.subtract(np.where(m, 0, np.inf), [1, np.inf, 1, 1], where=m, out=np.zeros(4)),
    "floor_divide": lambda x, m: np.floor_divide(7, x.astype(int), where=m, out=np.zeros(4, int)),
    "two_results": lambda x, m: np.divmod(7, x, where=m, out=(np.zeros(4), np.ones(4))),
    "stored_narrow": lambda x, m: np.multiply(x, 1e38, where=x < 2, out=np.zeros(4, "f4")),
    "complex": lambda x, m: np.reciprocal(x + 0j, where=m, out=np.zeros(4, complex)),
    "in_place": lambda x, m: np.log(x, where=x > 0, out=x),
}


@pytest.mark.parametrize("executor", ["numpy", "interpret"])
@pytest.mark.parametrize("name", MASKED)
def test_what_a_mask_leaves_out_raises_nothing(name: str, executor: str) -> None:
    x = np.array([1.0, 0.0, -1.0, 4.0])
    program = MASKED[name]
    compiled = tl.compile(program, executor=executor)
    for _ in range(3):
        with np.errstate(all="raise"):
            found, expected = compiled(x.copy(), x != 0), program(x.copy(), x != 0)
        assert np.array_equal(found, expected)


def test_what_a_mask_shows_raises() -> None:
    compiled = tl.compile(MASKED["divide"], executor="numpy")
    with np.errstate(all="raise"), pytest.raises(FloatingPointError):
        compiled(np.arange(4.0), np.ones(4, bool))
