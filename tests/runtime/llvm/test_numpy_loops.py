"""What NumPy does by dtype and operand, natively: signs of zero, exact comparisons, scalars read in time."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

SIGNED = np.array([1, -1, 5, 0, -(2**63), 2**63 - 1, 3])
UNSIGNED = np.array([2**63, 2**64 - 1, 5, 0, 2**63 - 1, 3, 1], "u8")
ZEROS = np.array([-0.0, 0.0, -5, 5, np.nan, -np.inf, np.inf])
COMPARISONS = [np.less, np.less_equal, np.equal, np.not_equal, np.greater, np.greater_equal]


def same_bits(f: Callable[..., Any], *args: Any) -> None:
    """Equal to NumPy's, signs of zero included, where NaN has no sign."""
    with np.errstate(all="ignore"):
        wanted = np.asarray(f(*args))
        found = np.asarray(tl.compile(f, executor="native")(*args))
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)
    if wanted.dtype.kind == "f":
        there = ~np.isnan(wanted)
        np.testing.assert_array_equal(np.signbit(found)[there], np.signbit(wanted)[there])


@pytest.mark.parametrize("compare", COMPARISONS)
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8"])
def test_signed_and_unsigned_integers_compare_by_value(compare: np.ufunc, dtype: str) -> None:
    x = np.clip(SIGNED, np.iinfo(dtype).min, np.iinfo(dtype).max).astype(dtype)
    for a, b in itertools.product((x, x[:, None], x[1]), (UNSIGNED, UNSIGNED[0])):
        same_bits(lambda a, b: compare(a, b), a, b)
        same_bits(lambda a, b: compare(b, a), a, b)
    same_bits(lambda a: compare(a.astype("u8"), a), x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("low", [0, -0.0, np.nan, -5.0])
@pytest.mark.parametrize("high", [0, -0.0, np.nan, 5.0])
def test_an_element_equal_to_a_bound_of_clip_stays(low: float, high: float, dtype: str) -> None:
    x = ZEROS.astype(dtype)
    same_bits(lambda x: np.clip(x, low, high), x)
    same_bits(lambda x, low: np.clip(x, low, high), x, np.array(low, dtype))
    same_bits(lambda x: x.clip(min=low), x)
    same_bits(lambda x: x.clip(max=high), x)
    same_bits(lambda x, low: np.clip(x, low, high), x[:, None], np.full((7, 7), low, dtype))


@pytest.mark.parametrize("choose", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_half_precision_keeps_the_first_of_equal_operands(choose: np.ufunc) -> None:
    x = ZEROS.astype("f2")
    for y in (np.float16(0), np.float16(-0.0), -x, x[::-1]):
        same_bits(lambda x, y: choose(x, y), x, y)
        same_bits(lambda x, y: choose(y, x), x, y)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize("exponent", [0.5, -0.5, 1.0])
def test_a_power_of_one_half_is_a_square_root_where_numpy_takes_one(exponent: float, dtype: str) -> None:
    x = np.array([-np.inf, -0.0, -1, 4, np.nan, 0.25, np.inf], dtype)
    same_bits(lambda x: np.power(x, exponent), x)
    same_bits(lambda x, y: np.power(x, y), x, np.array(exponent, dtype))
    same_bits(lambda x, y: np.power(x, y), x, np.full(7, exponent, dtype))
    same_bits(lambda x: x**exponent, x)
    same_bits(lambda x: np.power(x[0], exponent), x)


def increased(x: Any) -> Any:
    first = x[0]
    x += 1
    return first


def swapped(x: Any) -> Any:
    first = x[0]
    x[0] = x[1]
    x[1] = first
    return first


def around(x: Any) -> Any:
    first, second = x[0], x.copy()[1]
    x[:2] *= 2
    between = x[1]
    x.sort()
    return first, second, between, x[1], x * 2, x[1:]


def into_a_dict(x: Any) -> Any:
    found = {"old": x[0], "all": [x[1], x[-1]]}
    x.fill(3)
    return found


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1", "c16", "?"])
@pytest.mark.parametrize("f", [increased, swapped, around, into_a_dict])
def test_scalars_read_from_arguments_are_those_of_before_the_writes(
    f: Callable[..., Any], dtype: str
) -> None:
    if dtype == "?" and f in (increased, around):
        pytest.skip("NumPy does not add 1 to truth values in place")
    compiled = tl.compile(f, executor="native")
    mine, numpys = (np.array([5, 3, 4, 1]).astype(dtype) for _ in range(2))
    for _ in range(6):
        assert repr(compiled(mine)) == repr(f(numpys))
        np.testing.assert_array_equal(mine, numpys)
