"""Numbers stored into integer arrays: NumPy checks the range of scalars, and wraps elements of arrays."""

import warnings
from typing import Any

import numpy as np
import pytest

import tapeless as tl

STORES = """
x[0] = v
x[1:] = v
x[...] = v
x[0, ...] = v
x[np.array(1)] = v
x[np.array([0, 1])] = v
x[np.array([True, False, True])] = v
x[x == 1] = v
x[:2] = [v, 1]
x[[0, 1]] = [v, v]
x[:] = np.array([v, 2, v], x.dtype)
x[0] = np.reshape(v, ())
x.fill(v)
x.flat[:] = v
np.copyto(x, v, casting="unsafe")
np.copyto(x, v, casting="unsafe", where=x == 1)
np.put(x, [0], v)
x[...] = np.full_like(x, v)
x[...] = np.full(3, v, x.dtype)
"""

NUMBERS: dict[str, Any] = {
    "nan": np.float64(np.nan),
    "infinite": np.float32(np.inf),
    "large": np.float64(1e300),
    "fraction": np.float64(2.75),
    "integer": np.int64(300),
    "negative": np.int8(-1),
    "unsigned": np.uint8(200),
    "complex": np.complex128(300),
    "bool": np.bool_(True),
    "python_int": 300,
    "python_float": 300.0,
    "zero_d": np.array(300),
    "zero_d_nan": np.array(np.nan),
}


def program(line: str) -> Any:
    names: dict[str, Any] = {"np": np}
    exec(f"def stored(x, v):\n    x += x.dtype.type(1)\n    {line}\n    return x", names)
    return names["stored"]


def outcome(function: Any, dtype: str, value: Any) -> Any:
    """What a store leaves in the array, or the error; compiled code leaves the array as it was."""
    x = np.zeros(3, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(x, value).tolist()
        except (ValueError, OverflowError, TypeError) as error:
            assert type(function) is type(program) or not x.any()
            return type(error), str(error)


@pytest.mark.parametrize("executor", ["numpy", "native"])
@pytest.mark.parametrize("line", STORES.strip().splitlines())
def test_a_number_is_checked_where_numpy_checks_it(line: str, executor: str) -> None:
    plain = program(line)
    for name, value in NUMBERS.items():
        for dtype in ("i1", ">u4"):
            expected = outcome(plain, dtype, value)
            known = outcome(tl.compile(plain, executor=executor), dtype, value)
            later = tl.compile(plain, executor=executor)
            outcome(later, dtype, np.ones_like(value) if type(value) is np.ndarray else type(value)(1))
            assert (known, outcome(later, dtype, value)) == (expected, expected), (name, dtype)


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_a_computed_number_is_checked(executor: str) -> None:
    def sums(x: Any, y: Any) -> Any:
        x[0] = y.sum()
        return x

    compiled = tl.compile(sums, executor=executor)
    for dtype in ("f8", "i8"):
        for factor in (1, 1, 1000, 1):
            y = np.full(2, factor, dtype)
            assert outcome(compiled, "i1", y) == outcome(sums, "i1", y)


def test_numbers_that_fit_by_their_dtype_are_not_checked() -> None:
    def stores(x: Any, y: Any) -> Any:
        x[0] = y.sum()
        return x

    def text(x: str, y: str) -> str:
        return str(tl.compile(stores).graph(np.ones(3, x), np.ones(3, y)))

    assert "as_element" not in text("i8", "i8") + text("i8", "i4") + text("i8", "?") + text("f4", "f8")
    assert "as_element" in text("i4", "i8")


def test_the_imaginary_part_is_dropped_with_a_warning() -> None:
    compiled = tl.compile(lambda x, v: (np.full_like(x, 2 + 1j), np.full_like(x, v)))
    for _ in range(3):
        with pytest.warns(np.exceptions.ComplexWarning):
            filled = compiled(np.ones(3, "f4"), 2 + 1j)
        for found in filled:
            assert found.dtype == np.float32
            assert found.tolist() == [2, 2, 2]
