"""Closed-over arrays that the graph reads and Python looks at too, told from those that are only read."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer.errors import SideEffectWarning

X = np.arange(1.0, 5.0)
GRID = np.arange(1.0, 5.0)
LENGTH = np.array(2.0)
COUNT = np.array(2)
PLACES = np.array([0, 1, 2])
TABLE = np.arange(1.0, 17.0).reshape(4, 4)
WEIGHTS = {"w": np.arange(1.0, 5.0), "deep": [np.arange(1.0, 5.0)]}
LAYERS = [np.ones((4, 4)), np.full((4, 4), 2.0)]
ALL = (GRID, TABLE, WEIGHTS["w"], WEIGHTS["deep"][0], *LAYERS)


class Layer:
    def __init__(self) -> None:
        self.w = np.arange(1.0, 5.0)

    @property
    def weight(self) -> Any:
        return self.w

    def __repr__(self) -> str:
        return f"{self.w[0]:.2f}"

    def scaled(self, x: Any) -> Any:
        return x * self.w / self.w.max()

    def plain(self, x: Any, w: Any) -> Any:
        return x * self.w + w

    def __call__(self, x: Any) -> Any:
        return x * self.w


@dataclass
class Record:
    w: Any
    rate: float = 0.5


LAYER, RECORD = Layer(), Record(np.arange(1.0, 5.0))
ARRAYS = [*ALL, LAYER.w, RECORD.w]


@pytest.fixture(autouse=True)
def restore() -> Any:
    """Every test begins with the same numbers."""
    before = [array.copy() for array in (*ARRAYS, LENGTH, COUNT, PLACES)]
    yield
    for array, was in zip((*ARRAYS, LENGTH, COUNT, PLACES), before, strict=True):
        array[...] = was


def large(w: Any) -> bool:
    return bool(w[0] > 3)


def chosen(x: Any, w: Any) -> Any:
    return x * w if w[0] > 3 else x - w


def product(x: Any, w: Any) -> Any:
    return x * w


def by_alias(x: Any) -> Any:
    held = other = GRID
    return x * held if other[0] > 3 else x - held


def by_default(x: Any, w: Any = GRID) -> Any:
    return x * w if w[0] > 3 else x - w


def in_a_loop(x: Any) -> Any:
    for w in LAYERS:
        x = x @ w
        if w[0, 0] > 3:
            x = -x
    return x


def by_rows(x: Any) -> Any:
    for row in TABLE:
        x = x * row + float(row[0])
    return x


def with_numbers(x: Any) -> Any:
    return x * GRID + sum(element for element in GRID)


def of_a_view(x: Any) -> Any:
    part = GRID[:2]
    return x[:2] * part * (2 if part[0] > 3 else 1)


def tried(x: Any) -> Any:
    if not LENGTH > 3:
        return x * LENGTH
    return x - LENGTH


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        pytest.param(lambda x: x * GRID if GRID[0] > 3 else x - GRID, [GRID], id="element"),
        pytest.param(lambda x: x * GRID + float(GRID[0]), [GRID], id="float"),
        pytest.param(lambda x: x * GRID / GRID.sum(), [GRID], id="sum"),
        pytest.param(lambda x: x * GRID + GRID.max(), [GRID], id="max"),
        pytest.param(lambda x: x * GRID + max(GRID), [GRID], id="builtin"),
        pytest.param(lambda x: x * GRID + math.fsum(GRID), [GRID], id="math"),
        pytest.param(lambda x: x * GRID + GRID.tolist()[0], [GRID], id="list"),
        pytest.param(lambda x: x * GRID if (GRID > 3).all() else x - GRID, [GRID], id="compared"),
        pytest.param(lambda x: x * GRID if (GRID * 2)[0] > 3 else x - GRID, [GRID], id="doubled"),
        pytest.param(lambda x: x * GRID[::-1] + GRID[1:].sum(), [GRID], id="view"),
        pytest.param(lambda x: x * LENGTH + float(LENGTH), [LENGTH], id="0-d"),
        pytest.param(lambda x: x * LENGTH if LENGTH > 3 else x - LENGTH, [LENGTH], id="0-d-compared"),
        pytest.param(lambda x: x + COUNT + len(x[: int(COUNT)]), [COUNT], id="length"),
        pytest.param(lambda x: x @ TABLE + TABLE[0, 1], [TABLE], id="element-of-two"),
        pytest.param(lambda x: x @ TABLE + TABLE[0][0], [TABLE], id="element-of-a-row"),
        pytest.param(lambda x: x * WEIGHTS["w"] + WEIGHTS["w"].max(), [WEIGHTS["w"]], id="in-a-dict"),
        pytest.param(
            lambda x: sum(x * WEIGHTS[k] + float(WEIGHTS[k][0]) for k in ("w",)), [WEIGHTS["w"]], id="by-key"
        ),
        pytest.param(
            lambda x: x * WEIGHTS["deep"][0] if WEIGHTS["deep"][0][0] > 3 else x,
            [WEIGHTS["deep"][0]],
            id="deep",
        ),
        pytest.param(lambda x: LAYER.scaled(x), [LAYER.w], id="method"),
        pytest.param(lambda x: x * LAYER.w if LAYER.weight[0] > 3 else x, [LAYER.w], id="property"),
        pytest.param(lambda x: x * GRID if large(GRID) else x - GRID, [GRID], id="through-a-test"),
        pytest.param(lambda x: chosen(x, GRID), [GRID], id="through-a-function"),
        pytest.param(lambda x: chosen(x, w=LAYER.w), [LAYER.w], id="by-keyword"),
        pytest.param(lambda x: tl.grad(lambda v: np.sum(chosen(v, GRID)))(x), [GRID], id="gradient"),
        pytest.param(by_alias, [GRID], id="alias"),
        pytest.param(by_default, [GRID], id="default"),
        pytest.param(in_a_loop, LAYERS, id="loop"),
        pytest.param(by_rows, [TABLE], id="rows"),
        pytest.param(with_numbers, [GRID], id="generator-expression"),
        pytest.param(of_a_view, [GRID], id="view-by-name"),
        pytest.param(tried, [LENGTH], id="negated"),
    ],
)
@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_arrays_that_python_looks_at_too(function: Any, arrays: Any, executor: str) -> None:
    compiled = tl.compile(function, executor=executor)
    for _ in range(4):
        np.testing.assert_allclose(compiled(X), function(X))
    assert compiled.stats.traces == 1
    for value in (100, 1):
        for array in arrays:
            array.reshape(-1)[0] = value
        for _ in range(2):
            np.testing.assert_allclose(compiled(X), function(X))
    assert "its content changed, and Python looked at it" in compiled.explain()


def by_tables(x: Any) -> Any:
    for w, b in zip(LAYERS, TABLE, strict=False):
        x = np.tanh(x @ w) + b
    return x


def by_number(x: Any) -> Any:
    for i in range(len(TABLE)):
        x = x * TABLE[i]
    return x


def shaped(x: Any) -> Any:
    if GRID.shape == x.shape and GRID.ndim == 1 and GRID.dtype.kind == "f" and GRID is not None:
        return x * GRID
    return x


def branched(x: Any, flag: bool = True) -> Any:
    return x * GRID if flag else (x - GRID).sum() * GRID


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x * GRID + np.exp(GRID) * np.max(GRID), id="numpy"),
        pytest.param(lambda x: np.where(x > GRID, x, GRID), id="compared-with-an-argument"),
        pytest.param(lambda x: (x * GRID).sum() + (x - GRID)[0], id="results"),
        pytest.param(lambda x: x @ TABLE[:, 1] + TABLE[0] @ x + TABLE.T[1:], id="views"),
        pytest.param(lambda x: product(x, GRID) + product(GRID, x), id="function"),
        pytest.param(lambda x: LAYER(x) + LAYER.plain(x, GRID) + LAYER.weight, id="layer"),
        pytest.param(lambda x: x * RECORD.w * RECORD.rate, id="dataclass"),
        pytest.param(lambda x: tl.value_and_grad(lambda v: np.sum(product(v, GRID)))(x), id="gradient"),
        pytest.param(lambda x: np.stack([x, GRID]) + np.stack((GRID, x)), id="lists"),
        pytest.param(lambda x: x * WEIGHTS["w"] + WEIGHTS["deep"][0], id="containers"),
        pytest.param(lambda x: x * tl.constant(GRID.max() * 0) + GRID, id="declared"),
        by_tables,
        by_number,
        shaped,
        branched,
    ],
)
def test_arrays_that_are_only_read_do_not_retrace(function: Callable[[Any], Any]) -> None:
    compiled = tl.compile(function, executor="numpy")
    for _ in range(4):
        for one, other in zip(np.broadcast_arrays(*_parts(compiled(X))), _parts(function(X)), strict=True):
            np.testing.assert_allclose(one, other + np.zeros_like(one))
        for array in ARRAYS:
            array += 1
    assert compiled.stats.traces == 1


def _parts(value: Any) -> Any:
    return value if isinstance(value, tuple) else (value,)


def test_an_array_that_is_too_large_to_be_compared_warns() -> None:
    table = np.arange(200_000.0)
    for function in (
        lambda x: x if table[0] > 3 else -x,
        lambda x: (x + table[:4]) * (2 if table.any() else 1),
    ):
        with pytest.warns(SideEffectWarning, match="`table` is too large"):
            tl.compile(function)(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tl.compile(lambda x: x * len(table) + table[: len(x)])(X)
        table.flags.writeable = False
        tl.compile(lambda x: x if table[0] > 3 else -x)(X)
