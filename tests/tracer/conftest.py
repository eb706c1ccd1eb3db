"""A judge for small programs: the compiled one is traced with some values and then run beside the plain one.

Results are compared in bytes, dtype, shape, strides and kind, and arguments in what became of them.
"""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl


def leaves(value: Any) -> list[Any]:
    """The leaves of nested results."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in leaves(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def facts(value: Any) -> list[Any]:
    """What must be equal of a result: kinds, dtypes, shapes, strides, bytes."""
    found = []
    for leaf in leaves(value):
        if isinstance(leaf, np.ndarray):
            strides = tuple(s for s, n in zip(leaf.strides, leaf.shape, strict=True) if n > 1)
            found.append((leaf.dtype.str, leaf.shape, strides if leaf.size else (), leaf.tobytes()))
        elif isinstance(leaf, np.generic):
            found.append((type(leaf), leaf.tobytes()))
        elif isinstance(leaf, np.random.Generator):
            found.append(repr(leaf.bit_generator.state))
        else:
            found.append((type(leaf), repr(leaf)))
    return found


@pytest.fixture(autouse=True)
def to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared in bytes runs in the NumPy executor, whose bits are NumPy's."""
    monkeypatch.setenv("TAPELESS_EXECUTOR", "numpy")


@pytest.fixture
def agree() -> Callable[..., None]:
    """`agree(function, make)`: compiled and plain do the same with what `make(seed)` gives as arguments."""

    def check(function: Callable[..., Any], make: Callable[[int], tuple[Any, ...]], calls: int = 2) -> None:
        compiled = tl.compile(function)
        compiled(*make(0))
        mine, its = make(1), copy.deepcopy(make(1))
        for _ in range(calls):
            expected, found = function(*mine), compiled(*its)
            assert facts(found) == facts(expected)
            assert facts(its) == facts(mine)
        assert compiled.stats.traces == 1

    return check


def vector(seed: int, size: int = 4) -> Any:
    """A vector of random numbers."""
    return np.random.default_rng([seed, size]).normal(size=size)
