"""Traced values that outlive their trace: found, their holder named; swallowed refusals come up again."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer import leaks
from tapeless.tracer.errors import ArgumentError, LeakedTraceError, TracedBoolError
from tapeless.tracer.state import current

X = np.arange(3.0)
KEPT: list[Any] = []
LATEST: Any = None
BY_NAME: dict[str, Any] = {}


class Model:
    def __init__(self) -> None:
        self.hidden: Any = None
        self.history: list[Any] = []
        self.table: Any = None


class Slotted:
    __slots__ = ("hidden",)


@pytest.fixture(autouse=True)
def empty() -> Iterator[None]:
    yield
    KEPT.clear()
    BY_NAME.clear()
    assert current() is None


def leak(function: Callable[[Any], Any]) -> str:
    """The message of the refusal of a leak."""
    with pytest.raises(LeakedTraceError) as raised:
        tl.compile(function)(X)
    return str(raised.value)


def test_an_attribute_is_named() -> None:
    model = Model()

    def step(x: Any) -> Any:
        model.hidden = np.tanh(x)
        return model.hidden.sum()

    text = leak(step)
    assert "<traced f64[3]> was left behind in the attribute `hidden` of a Model object" in text
    assert "model.hidden = np.tanh(x)" in text
    assert "test_leaks.py" in text


def test_a_list_in_an_attribute_is_named() -> None:
    model = Model()

    def step(x: Any) -> Any:
        loss = (x * x).sum()
        model.history.append(loss)
        return loss

    assert "in a list, which is the attribute `history` of a Model object" in leak(step)


def test_globals_are_named() -> None:
    def into_list(x: Any) -> Any:
        KEPT.append(x * 2)
        return x

    def into_dict(x: Any) -> Any:
        BY_NAME["h"] = x * 2
        return x

    def into_name(x: Any) -> Any:
        global LATEST
        LATEST = x * 2
        return x

    assert "in a list, which is the global `KEPT` of module" in leak(into_list)
    assert "in a dict under 'h', which is the global `BY_NAME` of module" in leak(into_dict)
    with pytest.warns(UserWarning, match="rebinds the global `LATEST`"):
        assert "in the global `LATEST` of module" in leak(into_name)


def test_slots_and_cells_and_arguments_themselves() -> None:
    slotted = Slotted()
    kept = None

    def into_slot(x: Any) -> Any:
        slotted.hidden = x[1:]
        return x

    def into_cell(x: Any) -> Any:
        nonlocal kept
        kept = x
        return x

    assert "the attribute `hidden` of a Slotted object" in leak(into_slot)
    del slotted.hidden
    with pytest.warns(UserWarning, match="rebinds `kept`"):
        assert "a variable of an enclosing function" in leak(into_cell)


def test_traced_python_numbers_and_generators_leak_too() -> None:
    @tl.compile
    def number(s: float) -> Any:
        KEPT.append(s * 2)
        return s

    @tl.compile
    def generator(rng: Any) -> Any:
        KEPT.append(rng)
        return rng.normal()

    with pytest.raises(LeakedTraceError, match="<traced float> was left behind in a list"):
        number(2.0)
    KEPT.clear()
    with pytest.raises(LeakedTraceError, match="<traced Generator> was left behind"):
        generator(np.random.default_rng(0))


def test_garbage_in_cycles_is_no_leak() -> None:
    def recursive(x: Any) -> Any:
        def power(n: int) -> Any:
            return x if n == 0 else power(n - 1) * x

        box: list[Any] = [x]
        box.append(box)
        return power(3)

    gc.disable()
    try:
        np.testing.assert_array_equal(tl.compile(recursive)(X), X**4)
    finally:
        gc.enable()


def loss(params: Any, x: Any) -> Any:
    return np.sum(np.tanh(x @ params["w"] + params["b"]) ** 2)


TRANSFORMS: dict[str, Callable[..., Any]] = {
    "value": loss,
    "grad": lambda params, x: tl.grad(loss)(params, x),
    "value_and_grad": lambda params, x: tl.value_and_grad(loss, wrt=(0, 1))(params, x),
    "vjp": lambda params, x: tl.vjp(loss, params, x)[1](1.0),
    "jvp": lambda params, x: tl.jvp(lambda x: loss(params, x), (x,), (x,)),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_trace_leaves_no_cycles(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Traced values in cycles would be found by a collection alone, which takes long in a large process."""
    collected: list[Any] = []
    monkeypatch.setattr(leaks.gc, "collect", lambda *args: collected.append(args))
    gc.disable()
    try:
        tl.compile(TRANSFORMS[name])({"w": np.ones((3, 2)), "b": np.zeros(2)}, np.ones((4, 3)))
    finally:
        gc.enable()
    assert collected == []


def test_what_an_earlier_trace_left_is_refused_wherever_it_is_used() -> None:
    def keep(x: Any) -> Any:
        KEPT.append(x * 2)
        return x

    with pytest.raises(LeakedTraceError):
        tl.compile(keep)(X)
    left = KEPT[0]
    uses: list[Callable[[], Any]] = [
        lambda: left + 1,
        lambda: 1 / left,
        lambda: left**2,
        lambda: 2**left,
        lambda: np.sum(left),
        lambda: left.sum(),
        lambda: left[0],
        lambda: left.__setitem__(0, 1),
        lambda: float(left[0]),
        lambda: np.asarray(left),
        lambda: bool(left.any()),
        lambda: tl.compile(lambda x: x + left)(X),
        lambda: tl.compile(lambda x: np.stack([left, x]))(X),
        lambda: tl.compile(lambda x: left * 2)(X),
        lambda: tl.compile(lambda x: x[left])(X),
    ]
    for use in uses:
        with pytest.raises(LeakedTraceError, match="outside of the trace that made it"):
            use()
    assert "<traced f64[3]>" in repr(left)


def test_constants_left_behind_become_arrays() -> None:
    model = Model()

    def step(x: Any) -> Any:
        model.table = np.arange(3) * 2.0
        model.history.append(np.eye(2))
        BY_NAME["last"] = np.zeros(2)[1:]
        return x * model.table

    np.testing.assert_array_equal(tl.compile(step)(X), X * [0, 2, 4])
    for found, expected in ((model.table, [0, 2, 4]), (model.history[0], np.eye(2)), (BY_NAME["last"], [0])):
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, expected)


# ---- what cannot be compiled at all


def test_generators_and_coroutines_are_refused() -> None:
    def generator(x: Any) -> Any:
        yield x

    async def coroutine(x: Any) -> Any:
        return x

    async def stream(x: Any) -> Any:
        yield x

    for function, kind in (
        (generator, "generator"),
        (coroutine, "coroutine"),
        (stream, "asynchronous generator"),
    ):
        with pytest.raises(ArgumentError, match=f"is a {kind} function, which cannot be compiled"):
            tl.compile(function)(X)
    with pytest.raises(ArgumentError, match="generator"):
        tl.compile(lambda x: generator(x))(X)
    with pytest.raises(ArgumentError, match="generator"):
        tl.compile(lambda x: (v for v in x))(X)


def test_generators_inside_are_fine() -> None:
    def inner(x: Any) -> Any:
        for value in x:
            yield value * 2

    def total(x: Any) -> Any:
        return sum(inner(x)), [v for v in inner(x) if v is not None]

    compiled = tl.compile(total)
    assert compiled(X)[0] == total(X)[0]


def test_a_coroutine_may_call_a_compiled_function() -> None:
    double = tl.compile(lambda x: x * 2)

    async def work() -> Any:
        first = double(X)
        await asyncio.sleep(0)
        return first + double(X)

    np.testing.assert_array_equal(asyncio.run(work()), X * 4)


# ---- refusals that were swallowed


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: np.testing.assert_array_equal(x, x), id="numpy.testing"),
        pytest.param(lambda x: x[0] in [1.0, 2.0], id="in-a-list"),
    ],
)
def test_a_refusal_inside_library_code_comes_up(function: Any) -> None:
    with pytest.raises(tl.TapelessError):
        tl.compile(lambda x: (function(x), x))(X)


def test_a_swallowed_refusal_is_raised_at_the_end() -> None:
    reached = []

    def careless(x: Any) -> Any:
        try:
            if x[0] > 1:
                x = x * 2
        except TypeError:
            reached.append(True)
        return x

    def replaced(x: Any) -> Any:
        try:
            return float(x[0])
        except TypeError as error:
            raise ValueError("something that says less") from error

    with pytest.raises(TracedBoolError, match="x\\[0\\] > 1"):
        tl.compile(careless)(X)
    assert reached == [True]
    with pytest.raises(tl.TapelessError, match="float"):
        tl.compile(replaced)(X)


def test_a_failed_trace_is_forgotten() -> None:
    def sometimes(x: Any, fail: bool) -> Any:
        KEPT.append(x) if fail else None
        if fail:
            raise RuntimeError("on purpose")
        return x * 2

    compiled = tl.compile(sometimes)
    with pytest.raises(RuntimeError, match="on purpose"):
        compiled(X, True)
    np.testing.assert_array_equal(compiled(X, False), X * 2)


def test_a_swallowed_demand_for_a_static_argument_is_met() -> None:
    def first(x: Any, n: int) -> Any:
        try:
            return x[:n]
        except:  # noqa: E722
            return x

    compiled = tl.compile(first)
    for n in (1, 2):
        np.testing.assert_array_equal(compiled(X, n), X[:n])
    assert compiled.stats.traces == 2
