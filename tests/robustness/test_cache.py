"""Specializations are bounded, compiled functions pickle, and what is dropped is freed."""

import gc
import pickle
import tracemalloc
import warnings
import weakref
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiled import CACHE_SIZE


@tl.compile
def double(x: Any) -> Any:
    return x * 2


def scaled(x: Any, n: int) -> Any:
    return x * n


def test_a_thousand_signatures() -> None:
    compiled = tl.compile(lambda x: x + 1)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        for n in range(1000):
            assert compiled(np.zeros(n)).shape == (n,)
    assert [w.category for w in given] == [tl.RetraceWarning]
    assert "x: float64[4] became float64[5]" in str(given[0].message)
    assert compiled.stats.traces == 1000
    assert compiled.stats.specializations == CACHE_SIZE
    assert len(compiled.explain().splitlines()) < 1500
    compiled(np.zeros(999))
    assert compiled.stats.traces == 1000, "the newest are kept"


def test_a_changing_number_is_no_new_signature() -> None:
    compiled = tl.compile(lambda x, rate: x * rate)
    for k in range(200):
        compiled(np.ones(2), k * 0.1)
    assert compiled.stats.traces == 1


def test_a_changing_static_number_warns_once() -> None:
    compiled = tl.compile(lambda x, n: x[:n])
    with pytest.warns(tl.RetraceWarning) as given:
        assert [compiled(np.ones(30), n).size for n in range(20)] == list(range(20))
    assert len(given) == 1
    assert "static" in str(given[0].message)


@pytest.mark.parametrize("options", [{}, {"executor": "interpret"}, {"static": ("n",), "disabled": "cse"}])
def test_compiled_functions_pickle(options: dict[str, Any]) -> None:
    compiled = tl.compile(scaled, **options)
    again = pickle.loads(pickle.dumps(compiled))
    np.testing.assert_array_equal(again(np.ones(2), 3), [3.0, 3.0])
    assert again.stats.traces == 1
    assert pickle.loads(pickle.dumps(double)) is double, "what has a name is pickled by it"


def test_dropped_functions_are_freed() -> None:
    def make() -> Any:
        weights = np.ones(1000)
        compiled = tl.compile(lambda x: np.tanh(x * weights) @ weights)
        compiled(np.ones(1000))
        return weakref.ref(compiled), weakref.ref(weights)

    references = make()
    gc.collect()
    assert [r() for r in references] == [None, None]


def test_arguments_and_results_are_not_kept() -> None:
    compiled = tl.compile(lambda x, box: (x * 2, box["y"] + 1))
    x, box = np.ones(1000), {"y": np.ones(1000)}
    results = compiled(x, box)
    references = [weakref.ref(a) for a in (x, box["y"], *results)]
    del x, box, results
    gc.collect()
    assert [r() for r in references] == [None] * 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "rounds", [60, pytest.param(600, marks=[pytest.mark.sweep, pytest.mark.timeout(600)])]
)
def test_memory_does_not_grow_with_rounds_of_compiling(rounds: int) -> None:
    def round_of_work(k: int) -> None:
        compiled = tl.compile(lambda p, x: tl.value_and_grad(lambda p: np.sum((p["w"] @ x) ** 2))(p))
        value, _ = compiled({"w": np.full((8, 8), float(k))}, np.ones(8))
        assert value == 8 * (8 * k) ** 2
        with pytest.raises(tl.TapelessError):
            tl.compile(lambda x: float(x[0]))(np.ones(3))

    for k in range(50):
        round_of_work(k)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for k in range(rounds):
            round_of_work(k)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < 400_000 * rounds // 300, f"{grown} bytes in {rounds} rounds"


def test_memory_does_not_grow_with_calls() -> None:
    compiled = tl.compile(lambda x, n: (np.sin(x) @ x, x[1:] * n, {"a": [x]}))
    x = np.ones(100)
    for _ in range(20):
        compiled(x, 2.0)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for k in range(500):
            compiled(x, float(k))
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 20_000
    finally:
        tracemalloc.stop()
