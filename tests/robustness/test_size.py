"""Long chains, many inputs, deep trees: nothing recurses over them, and time grows with their size alone."""

import copy
import gc
import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless import testing

LENGTHS = [10_000, pytest.param(100_000, marks=[pytest.mark.sweep, pytest.mark.timeout(600)])]
Chain = Callable[[int], Callable[[Any], Any]]


def seconds(action: Callable[[], Any]) -> float:
    """How long an action takes, at best of a few times."""
    times = []
    for _ in range(3):
        gc.collect()
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)


def gradient_of(chained: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return tl.grad(lambda x: np.sum(chained(x)))


def expected_slope(length: int) -> float:
    return 1.0001 ** (length // 2)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_chain_is_traced_differentiated_compiled_and_run(chain: Chain, length: int) -> None:
    chained, x = chain(length), np.array([0.5, -2.0])
    graph = tl.trace(chained, x)
    assert len(graph.nodes) == length + 3
    np.testing.assert_array_equal(tl.compile(chained)(x), chained(x))
    np.testing.assert_array_equal(tl.compile(chained, executor="interpret")(x), chained(x))
    np.testing.assert_allclose(gradient_of(chained)(x), expected_slope(length), rtol=1e-9)


def test_a_chain_has_second_derivatives_and_tangents(chain: Chain) -> None:
    chained, x = chain(5_000), np.array([0.5, -2.0])
    squared = lambda x: np.sum(chained(x) ** 2)  # noqa: E731
    slope = expected_slope(5_000)
    np.testing.assert_allclose(tl.hvp(squared, x, np.ones(2)), 2 * slope**2, rtol=1e-9)
    np.testing.assert_allclose(tl.jvp(chained, (x,), (np.ones(2),))[1], slope, rtol=1e-9)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_chain_prints_parses_pickles_and_draws(chain: Chain, length: int) -> None:
    graph = tl.trace(chain(length), np.ones(2))
    text = str(graph)
    assert text.count("\n") == length + 4
    assert str(testing.parse(text)) == text
    assert str(pickle.loads(pickle.dumps(graph))) == text
    assert copy.deepcopy(graph) is graph
    assert graph.to_networkx().number_of_nodes() == length + 3
    assert len(graph.draw().source) < 200_000, "long repeats are drawn once"


def test_a_long_plan_prints_and_reports_its_memory(chain: Chain) -> None:
    plan = tl.compile(chain(10_000), executor="numpy").plan(np.ones(1000))
    assert len(str(plan).splitlines()) > 10_000
    assert plan.peak_bytes <= 3 * 8000, "a chain needs no more than its neighbours"


def test_writes_in_a_loop_are_in_place() -> None:
    def fill(x: Any) -> Any:
        out = np.zeros(2_000)
        for i in range(2_000):
            out[i] = x[i] * 2
        return out

    x = np.arange(2_000.0)
    compiled = tl.compile(fill)
    np.testing.assert_array_equal(compiled(x), 2 * x)
    assert compiled.plan(x).peak_bytes <= 3 * x.nbytes
    np.testing.assert_array_equal(tl.grad(lambda x: np.sum(fill(x)))(x), np.full(2_000, 2.0))


def test_a_thousand_inputs() -> None:
    params = {f"w{i}": np.full(3, float(i)) for i in range(1000)}

    def step(params: Any) -> Any:
        value, gradient = tl.value_and_grad(lambda p: sum(np.sum(w * w) for w in p.values()))(params)
        for name in params:
            params[name] -= 0.5 * gradient[name]
        return value

    compiled = tl.compile(step)
    before = list(params.values())
    assert compiled(params) == sum(3.0 * i * i for i in range(1000))
    assert all(new is old for new, old in zip(params.values(), before, strict=True))
    assert all(not w.any() for w in params.values())


def test_a_thousand_results() -> None:
    results = tl.compile(lambda x: [x * i for i in range(1000)])(np.ones(2))
    assert [r[0] for r in results] == list(range(1000))


@pytest.mark.parametrize("depth", [10, 200])
def test_deeply_nested_containers(depth: int) -> None:
    tree = nested(depth)

    def function(tree: Any) -> Any:
        inner = tree
        while isinstance(inner, list):
            outer, inner = inner, inner[0]
        outer[0] = inner * 2
        return tree

    result = tl.compile(function)(tree)
    assert result is tree
    for _ in range(depth):
        result = result[0]
    np.testing.assert_array_equal(result, [2.0, 2.0])


def nested(depth: int) -> Any:
    tree: Any = np.ones(2)
    for _ in range(depth):
        tree = [tree]
    return tree


def holding_itself() -> Any:
    tree: list[Any] = [np.ones(2)]
    tree.append(tree)
    return tree


@pytest.mark.parametrize("make", [lambda: nested(5_000), holding_itself], ids=["too_deep", "cycle"])
def test_containers_that_are_no_trees_are_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(
        tl.TapelessError, match="an argument are nested too deeply, or one of them holds itself"
    ):
        tl.compile(lambda tree: 1)(make())
    with pytest.raises(
        tl.TapelessError, match="the result are nested too deeply, or one of them holds itself"
    ):
        tl.compile(lambda x: make())(np.ones(2))


@pytest.mark.timing
def test_ten_thousand_nodes_are_ready_in_time(chain: Chain) -> None:
    chained, x = chain(10_000), np.ones(100)
    assert seconds(lambda: tl.compile(chained).plan(x)) < 1.5


@pytest.mark.slow
@pytest.mark.timing
def test_a_hundred_thousand_nodes_are_ready_in_time(chain: Chain) -> None:
    chained, x = chain(100_000), np.ones(100)
    start = time.perf_counter()
    compiled = tl.compile(chained)
    compiled.plan(x)
    assert time.perf_counter() - start < 20
    assert seconds(lambda: compiled(x)) < 1.0


@pytest.mark.timing
def test_time_grows_in_line_with_length(chain: Chain) -> None:
    x = np.ones(100)
    short = seconds(lambda: tl.compile(gradient_of(chain(2_000))).plan(x))
    long = seconds(lambda: tl.compile(gradient_of(chain(8_000))).plan(x))
    assert long < 8 * short
