"""The BLAS that products are given to is the one NumPy calls, however it is found."""

import ctypes.util
from typing import Any

import numpy as np
import pytest

from tapeless.runtime.llvm import blas


@pytest.fixture
def anew() -> Any:
    """Nothing is known of an earlier search, nor of this one afterwards."""
    blas.find.cache_clear()
    yield
    blas.find.cache_clear()


def test_each_way_leads_to_the_same_functions(anew: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    _, *others = blas._candidates()
    found = blas.find()
    assert found is not None
    for path in others:
        if "numpy" not in path:  # SciPy has a BLAS of its own
            continue
        blas.find.cache_clear()
        monkeypatch.setattr(blas, "_candidates", lambda path=path: iter([path]))
        again = blas.find()
        assert again is not None
        assert (again.sgemm, again.dgemm) == (found.sgemm, found.dgemm)
        assert again.integer_bits == found.integer_bits


def test_a_library_without_blas_is_passed_over(anew: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = blas.find()
    blas.find.cache_clear()
    none, candidates = ctypes.util.find_library("c") or "libc.so.6", list(blas._candidates())
    monkeypatch.setattr(blas, "_candidates", lambda: iter([none, *candidates]))
    assert blas.find() == wanted
    blas.find.cache_clear()
    monkeypatch.setattr(blas, "_candidates", lambda: iter([none]))
    assert blas.find() is None


def test_its_threads_can_be_set(anew: Any) -> None:
    control = blas.thread_control()
    if control is None:
        pytest.skip("this BLAS is not OpenBLAS")
    get = ctypes.CFUNCTYPE(ctypes.c_int)(control[0])
    set_ = ctypes.CFUNCTYPE(None, ctypes.c_int)(control[1])
    before = get()
    try:
        set_(1)
        assert get() == 1
        assert np.array_equal(np.ones((40, 40)) @ np.ones((40, 40)), np.full((40, 40), 40.0))
    finally:
        set_(before)
