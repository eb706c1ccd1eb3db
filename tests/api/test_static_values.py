"""Static and closed-over values are told apart as NumPy tells them apart, not as Python's == does."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import tapeless as tl

pytestmark = pytest.mark.filterwarnings("ignore::tapeless.RetraceWarning")
SCALE: Any = 0.0
MANY: list[Any] = [1] * 50


@dataclasses.dataclass(frozen=True)
class Settings:
    rate: Any


LOOKALIKES = [
    [0.0, -0.0],
    [1, 1.0, True, np.float32(1), np.int8(1), np.float64(1), 1 + 0j],
    [complex(0.0, 0.0), complex(-0.0, 0.0), complex(0.0, -0.0)],
]


@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: (v,), lambda v: ("s", (v, 2)), Settings])
@pytest.mark.parametrize("values", LOOKALIKES)
def test_static_values_that_python_calls_equal(wrap: Any, values: list[Any]) -> None:
    def unwrapped(value: Any) -> Any:
        while isinstance(value, tuple | Settings):
            value = value.rate if isinstance(value, Settings) else value[0] if value[0] != "s" else value[1]
        return value

    def f(x: Any, s: Any) -> Any:
        return x * unwrapped(s), np.copysign(1.0, np.real(unwrapped(s)))

    compiled = tl.compile(f, static=("s",))
    x = np.ones(2, np.int16)
    for value in [*values, *reversed(values), *values]:
        for found, wanted in zip(compiled(x, wrap(value)), f(x, wrap(value)), strict=True):
            assert np.asarray(found).dtype == np.asarray(wanted).dtype
            assert np.asarray(found).tobytes() == np.asarray(wanted).tobytes()
    assert compiled.stats.traces == len(values)


def test_a_static_nan_is_itself() -> None:
    compiled = tl.compile(lambda x, s: x * s, static=("s",))
    for _ in range(5):
        assert np.isnan(compiled(np.ones(2), float("nan"))).all()
    assert compiled.stats.traces == 1


def test_globals_that_python_calls_equal() -> None:
    global SCALE
    compiled = tl.compile(lambda x: x * SCALE)
    x = np.arange(3)
    for value in (0.0, -0.0, 1, 1.0, True, np.float32(1), 0.0):
        SCALE = value
        assert compiled(x).tobytes() == (x * value).tobytes()
        assert compiled(x).dtype == (x * value).dtype


def test_items_of_long_containers_that_python_calls_equal() -> None:
    compiled = tl.compile(lambda x: x * MANY[7])
    x = np.arange(3)
    for value in (1, 1.0, 0.0, -0.0, True, 1):
        MANY[7] = value
        assert compiled(x).tobytes() == (x * value).tobytes()
        assert compiled(x).dtype == (x * value).dtype
