"""Native calls in straight-line code: exact results, and memory that is never given twice."""

from __future__ import annotations

import importlib.util
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeless as tl

pytest.importorskip("llvmlite")

from tapeless.runtime.llvm.straight import Recycler, checker

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython", reason="counts of references are CPython's"
)


LARGE = 1 << 15


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """No poison: it walks step by step."""
    monkeypatch.delenv("TAPELESS_POISON", raising=False)


def straight(function: Any, *args: Any) -> Any:
    """The function compiled, and called until its call is written."""
    compiled = tl.compile(function, executor="native")
    for _ in range(4):
        compiled(*args)
    assert compiled.last.run._pool[-1].straight is not None
    return compiled


@pytest.fixture
def recycler() -> Recycler:
    return Recycler((64, 3), np.dtype("f4"), (12, 4))


def test_recycler_gives_an_array_again_when_nobody_holds_it(recycler: Recycler) -> None:
    first = id(recycler())
    assert id(recycler()) == first


def test_recycler_keeps_off_what_is_held(recycler: Recycler) -> None:
    held = [recycler() for _ in range(5)]
    assert len({array.ctypes.data for array in held}) == 5
    assert len(recycler.kept) == 2


HOLDERS = {
    "view": lambda a: a[1:],
    "transposed": lambda a: a.T,
    "buffer": memoryview,
    "list": lambda a: [a],
    "iterator": lambda a: a.flat,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_recycler_sees_every_holder(recycler: Recycler, name: str) -> None:
    array = recycler()
    holder, place = HOLDERS[name](array), array.ctypes.data
    del array
    others = [recycler() for _ in range(3)]
    assert all(other.ctypes.data != place for other in others)
    del holder


def test_recycler_leaves_what_is_weakly_known(recycler: Recycler) -> None:
    array = recycler()
    known = weakref.ref(array)
    array[...] = 7
    del array
    other = recycler()
    assert known() is not other


CHANGES = {
    "shape": lambda a: setattr(a, "shape", (3, 64)),
    "dtype": lambda a: setattr(a, "dtype", np.int32),
    "locked": lambda a: a.setflags(write=False),
    "resize": lambda a: a.resize((2, 2), refcheck=False),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_recycler_leaves_what_was_changed(recycler: Recycler, name: str) -> None:
    array = recycler()
    CHANGES[name](array)
    del array
    other = recycler()
    assert (other.shape, other.strides, other.dtype) == ((64, 3), (12, 4), np.dtype("f4"))
    assert other.flags.writeable
    other[...] = 1


@pytest.mark.parametrize("size", [5, LARGE], ids=["small", "large"])
def test_results_outlive_later_calls(plain: None, size: int) -> None:
    compiled = straight(lambda x, k: (x + k, (x * k).sum()), np.ones(size), 1.0)
    kept = [compiled(np.ones(size), float(k)) for k in range(6)]
    for k, (array, total) in enumerate(kept):
        assert np.array_equal(array, np.full(size, 1.0 + k))
        assert total == size * k
        assert type(total) is np.float64
        assert array.flags.owndata
        assert array.base is None
    assert len({array.ctypes.data for array, _ in kept}) == 6


def test_large_results_are_recycled_once_dropped(plain: None) -> None:
    compiled = straight(lambda x: x + 1, np.ones(LARGE))
    x = np.zeros(LARGE)
    places = set()
    for _ in range(10):
        result = compiled(x)
        places.add(result.ctypes.data)
    assert len(places) <= 3
    view = compiled(x)[3:9]
    del result
    for _ in range(4):
        compiled(x + 5)
    assert np.array_equal(view, np.ones(6))


def test_a_result_fed_back_is_not_overwritten_while_read(plain: None) -> None:
    compiled = straight(lambda x: np.cumsum(x[::-1]) * 0.5 + x, np.ones(LARGE))
    x = expected = np.linspace(0, 1, LARGE)
    for _ in range(6):
        x = compiled(x)
        expected = np.cumsum(expected[::-1]) * 0.5 + expected
    assert np.allclose(x, expected, rtol=1e-12)


def test_numpy_scalars_and_0d_arrays(plain: None) -> None:
    compiled = straight(lambda a, b, x: (a * b, x * a + b), np.float64(2), np.array(3.0), np.ones(4))
    for k in range(4):
        one, two = compiled(np.float64(k), np.array(3.0), np.ones(4))
        assert one == 3.0 * k
        assert type(one) is np.float64
        assert np.array_equal(two, np.full(4, k + 3.0))


def test_steps_run_by_numpy_between_native_ones(plain: None) -> None:
    def function(x: Any, k: Any) -> Any:
        y = np.sort(x * k) + 1
        return y, np.median(y), k * 2

    compiled = straight(function, np.ones(7), 2.0)
    rng = np.random.default_rng(1)
    for k in (1.0, 3.0, -2.0):
        x = rng.normal(size=7)
        for ours, numpys in zip(compiled(x, k), function(x, k), strict=True):
            assert np.allclose(ours, numpys, rtol=1e-14)


def test_a_step_that_raises_leaves_the_function_usable(plain: None) -> None:
    compiled = straight(lambda x, m: np.linalg.inv(m) @ x + 1, np.ones(2), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        compiled(np.ones(2), np.zeros((2, 2)))
    assert np.array_equal(compiled(np.ones(2), np.eye(2)), [2.0, 2.0])


@pytest.mark.parametrize("wrong", [3, -4, 1 << 40, -(1 << 62)])
@pytest.mark.parametrize("dtype", ["i8", "i4", ">i8", "u1"])
def test_index_checks(wrong: int, dtype: str) -> None:
    check = checker(3)
    for good in ([0, 1, 2], [-1, -3], [[2], [0]], []):
        if dtype != "u1" or -1 not in good:
            check(np.array(good, dtype))
    if np.iinfo(dtype).min <= wrong <= np.iinfo(dtype).max:
        with pytest.raises(IndexError, match=str(wrong)):
            check(np.array([0, wrong, 1], dtype))


def test_threads_get_memory_of_their_own(plain: None) -> None:
    compiled = straight(lambda x, k: np.exp(x * 0) * k, np.ones(LARGE), 1.0)
    wrong: list[Any] = []

    def work(k: float) -> None:
        for _ in range(20):
            result = compiled(np.ones(LARGE), k)
            if not (result == k).all():
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(float(k),)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_random_programs_agree_on_the_straight_way(plain: None, monkeypatch: pytest.MonkeyPatch) -> None:
    path = Path(__file__).with_name("test_random_programs.py")
    spec = importlib.util.spec_from_file_location("native_random_programs", path)
    assert spec is not None
    assert spec.loader is not None
    programs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(programs)
    monkeypatch.setattr("tapeless.runtime.llvm.executor._CALLS_TO_STRAIGHT", 1)
    for seed in range(5000, 5060):
        programs.compared(seed)


def test_settings_of_the_users_code_hold_for_numpys_steps(plain: None) -> None:
    def function(x: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return np.linalg.inv(x) + np.cumprod(np.full(3, np.inf)) * x

    compiled = tl.compile(function, executor="native")
    for _ in range(4):
        assert compiled(np.eye(3)).shape == (3, 3)
