"""Python ints as arguments: of any size, as bounds and positions, and arrays where an int was before.

One compiled function is called with one value after the other, and each call must do what NumPy does: what
was traced with one int is not taken for another.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.ir.types import array_type

pytestmark = [
    pytest.mark.filterwarnings("ignore::tapeless.RetraceWarning"),
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),
]
F8, I8, I1, U1 = np.arange(3.0), np.arange(3), np.arange(3, dtype="i1"), np.arange(3, dtype="u1")
HUGE = [2**63, 2**64, 10**20, -(2**63) - 1, 10**400]


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    try:
        found = function(*copy.deepcopy(arguments))
    except (ArithmeticError, IndexError, TypeError, ValueError) as error:
        return type(error), str(error).split("\n")[0]
    return [
        (type(a), getattr(a, "dtype", None), repr(a)) for a in (found if type(found) is tuple else (found,))
    ]


def check(function: Callable[..., Any], *calls: tuple[Any, ...]) -> None:
    for executor in ("native", "numpy"):
        compiled = tl.compile(function, executor=executor)
        for arguments in calls:
            assert outcome(compiled, arguments) == outcome(function, arguments), (executor, arguments)


RANGES: dict[str, Callable[..., Any]] = {
    "compared": lambda x, k: (x > k, x == k, k <= x),
    "chosen": lambda x, k: np.where(x > 1, x, k),
    "chosen_from_computed": lambda x, k: np.where(x > 1, x, k + k),
    "clipped": lambda x, k: (x.clip(0, k), np.clip(x, None, k), np.minimum(x, k)),
    "computed": lambda x, k: (x > k * k, x + k),
}


@pytest.mark.parametrize("x", [F8, I8, I1, U1], ids=["f8", "i8", "i1", "u1"])
@pytest.mark.parametrize("name", RANGES)
def test_ints_beyond_the_range_of_arrays(name: str, x: Any) -> None:
    for huge in HUGE:
        check(RANGES[name], (x, 2), (x, huge), (x, 3), (x, huge))
        check(RANGES[name], (x, huge), (x, 2), (x, huge))


@pytest.mark.parametrize("k", [2**63, 2**64 - 1])
@pytest.mark.parametrize(
    "function",
    [
        lambda k: np.array(k),
        lambda k: np.array([k, 2]),
        lambda k: np.full(3, k),
        lambda k: np.asarray(k) + F8,
        lambda k: np.sum(k),
        lambda k: np.add(k, k),
        lambda k: np.stack([k, 2]),
        lambda k: np.array(k - 1),
    ],
)
def test_ints_that_unsigned_integers_hold(function: Callable[..., Any], k: int) -> None:
    check(function, (2,), (k,), (5,), (k,))
    check(function, (k,), (2,), (k,), (5,))


def test_a_huge_int_is_chosen_as_numpy_chooses_it() -> None:
    """No array of objects comes into being, whichever call is the first."""
    for dtype in ("?", "i1", "u1", "i8", "u8", "f4", "f8", "c8"):
        x = np.arange(3).astype(dtype)
        for huge in HUGE:
            check(lambda x, k: np.where(x != 0, x, k), (x, huge), (x, 300), (x, huge))
    check(lambda x, k: np.where(x > 2, x, k), (F8, 2**64), (I1, 300), (F8, 300), (U1, 2**64))
    check(lambda a, b: np.where(a, a, b), (1, 10**20), (1, 2), (0, 2**63), (0, 10**20))
    check(lambda x: np.where(x > 1, x, 10**20), (F8,), (I8,))


def test_no_graph_holds_objects() -> None:
    with pytest.raises(TypeError, match="object"):
        array_type((3,), np.dtype(object))


@pytest.mark.parametrize("x", [I1, U1, I8], ids=["i1", "u1", "i8"])
def test_bounds_beyond_the_range_of_an_array(x: Any) -> None:
    for k in (-1, 300, -300, 127, -128, 255, 2**70, -(2**70)):
        check(lambda x, k: x.clip(0, k), (x, 5), (x, k), (x, 2))
        check(lambda x, k: np.clip(x, k, 5), (x, 1), (x, k), (x, 2))
        check(lambda x, k: np.clip(x, k, None), (x, k), (x, 1), (x, k))


def test_other_ints_stay_traced_after_a_huge_one() -> None:
    compiled = tl.compile(lambda x, k: x > k)
    for k in (1, 2**63, 2, 3, 4, 2**63, 5):
        assert np.array_equal(compiled(I8, k), k < I8)
    assert compiled.stats.traces == 2
    assert "k: int became 9223372036854775808 (static)" in compiled.explain()


def test_a_static_argument_beside_a_huge_int() -> None:
    compiled = tl.compile(lambda x, k, power: x**power > k, static=("power",))
    for k, power in ((1, 2), (2**63, 2), (2**64, 3), (1, 3)):
        assert np.array_equal(compiled(I8, k, power), I8**power > k)


def test_arguments_are_written_once() -> None:
    def program(x: Any, k: int) -> Any:
        x += 1
        return x > k

    for executor in ("native", "numpy"):
        compiled = tl.compile(program, executor=executor)
        for k in (1, 2**63, 2, 2**64):
            mine, other = np.arange(3), np.arange(3)
            assert np.array_equal(compiled(mine, k), program(other, k))
            assert np.array_equal(mine, other)


def test_random_numbers_are_not_drawn_twice() -> None:
    """Where numbers were drawn before the int did not fit, the call raises."""

    def program(rng: Any, x: Any, k: int) -> Any:
        return rng.integers(3, size=3) + x > k

    compiled = tl.compile(program)
    mine, other = np.random.default_rng(0), np.random.default_rng(0)
    assert np.array_equal(compiled(mine, I8, 1), program(other, I8, 1))
    with pytest.raises(OverflowError):
        compiled(mine, I8, 2**63)
    assert np.array_equal(
        tl.compile(program)(np.random.default_rng(0), I8, 2**63),
        program(np.random.default_rng(0), I8, 2**63),
    )


# ---- where an int was static


@pytest.mark.parametrize("k", [np.array([0, 1]), np.array(1), np.array([True, False] * 3), 1, np.int64(2)])
def test_an_array_where_an_int_was_an_index(k: Any) -> None:
    x = np.arange(6.0)
    if np.asarray(k).dtype != bool:
        check(lambda x, k: x[k], (x, 2), (x, k), (x, 1), (x, k))
    check(lambda x, k: x[k] * 2 if type(k) is int else x + k, (x, 2), (x, k), (x, 1), (x, k))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: x.sum(axis=k),
        lambda x, k: x.reshape(k, -1),
        lambda x, k: [x * i for i in range(k)],
        lambda x, k: np.zeros(k),
        lambda x, k: np.roll(x, k),
        lambda x, k: np.round(x, k),
        lambda x, k: np.linspace(0, x[0], k),
        lambda x, k: np.split(x, k),
        lambda x, k: {0: x, 1: x}[k],
    ],
)
def test_an_array_where_an_int_was_static_is_refused_or_right(function: Callable[..., Any]) -> None:
    x, compiled = np.arange(6.0), tl.compile(function)
    for k in (0, 1, np.array([0, 1]), 1):
        found, wanted = outcome(compiled, (x, k)), outcome(function, (x, k))
        refused = type(found) is tuple and issubclass(found[0], tl.TapelessError)
        assert found == wanted or refused or (type(found) is type(wanted) is tuple and found[0] is wanted[0])


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: tuple(np.split(x, k)),
        lambda x, k: tuple(np.split(x, [k, 4])),
        lambda x, k: tuple(np.split(x, k, axis=k - k)),
        lambda x, k: tuple(np.array_split(x, k)),
        lambda x, k: tuple(np.array_split(x, indices_or_sections=k)),
        lambda x, k: tuple(np.hsplit(x, k)),
        lambda x, k: tuple(np.vsplit(x.reshape(6, 1), k)),
        lambda x, k: tuple(np.dsplit(x.reshape(1, 1, 6), k)),
        lambda x, k: np.rot90(x.reshape(2, 3), k),
        lambda x, k: np.broadcast_to(x, (k, 6)),
        lambda x, k: np.lib.stride_tricks.sliding_window_view(x, k),
    ],
)
def test_ints_that_say_how_an_array_is_looked_at(function: Callable[..., Any]) -> None:
    x = np.arange(6.0)
    check(function, (x, 2), (x, 3), (x, 4), (x, 2))
    compiled = tl.compile(function)
    with pytest.raises(TypeError):
        compiled(x, 2.0)
    assert outcome(compiled, (x, 2)) == outcome(function, (x, 2))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: np.tile(x, k),
        lambda x, k: np.tile(x, (k, 1)),
        lambda x, k: np.resize(x, (k, 3)),
        lambda x, k: np.triu(x, k),
        lambda x, k: np.tril(x, k=k),
        lambda x, k: np.partition(x, k)[..., k],
        lambda x, k: np.diff(x, k),
        lambda x, k: np.pad(x, k),
        lambda x, k: np.pad(x, ((k, 0), (0, 1))),
        lambda x, k: np.delete(x, k, axis=1),
        lambda x, k: np.insert(x, k, 9.0, axis=0),
        lambda x, k: np.percentile(x, k),
        lambda x, k: np.quantile(x, k / 10, axis=k - 1),
        lambda x, k: np.linalg.norm(x[0], k),
        lambda x, k: np.fft.fft(x, k),
        lambda x, k: np.histogram(x, k),
        lambda x, k: np.bincount(np.minimum(x.ravel().astype(int), k), minlength=k + 1),
        lambda x, k: np.packbits(x > 3, axis=k - 1),
        lambda x, k: np.nanargmax(x, k - 1),
    ],
)
def test_ints_that_a_function_of_numpy_has_to_know(function: Callable[..., Any]) -> None:
    check(function, *((np.arange(12.0).reshape(3, 4), k) for k in (1, 2, 1)))


def test_what_only_values_decide_is_asked_about_in_the_users_own_lines() -> None:
    """An int that the function's own `if` asks about is refused, as any other value."""

    def program(x: Any, k: int) -> Any:
        return x if k > 1 else -x

    with pytest.raises(tl.TapelessError, match="static"):
        tl.compile(program)(F8, 1)
    with pytest.raises(tl.TapelessError, match="static"):
        tl.compile(lambda x, k: np.tile(x, k))(F8, 1.0)
