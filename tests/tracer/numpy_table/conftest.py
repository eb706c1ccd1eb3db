"""The differential harness: a small program runs plain and compiled, and nothing may differ.

It is traced with one set of values and called with another. Compared are bytes, dtype, shape, strides
(but of axes of length 1 or less), kind (array, NumPy scalar, Python object), changes to arguments, which
results share memory with which arguments and results, and what is raised.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "c": lambda a: a,
    "f": np.asfortranarray,
    "strided": lambda a: (
        np.repeat(a, 3, -1)[..., ::3] if a.ndim < 2 else np.repeat(np.repeat(a, 2, 0), 3, -1)[::2, ..., ::3]
    ),
    "reversed": lambda a: np.flip(np.flip(a).copy()),
    "permuted": lambda a: a.transpose(np.roll(range(a.ndim), 1)).copy().transpose(np.roll(range(a.ndim), -1)),
}


def make(shape: tuple[int, ...], dtype: str, layout: str, seed: int) -> Any:
    """An array of a shape, dtype and memory layout with random values."""
    rng = np.random.default_rng([seed, *shape])
    values = rng.normal(size=shape) * 3
    if np.dtype(dtype).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    if dtype == "?":
        values = values > 0
    with np.errstate(invalid="ignore"):
        array = np.asarray(np.rint(values) if np.dtype(dtype).kind in "iu" else values).astype(dtype)
    return LAYOUTS[layout](array) if array.ndim else array


def flatten(value: Any) -> list[Any]:
    """The leaves of nested results."""
    if isinstance(value, (tuple, list)):
        return [leaf for item in value for leaf in flatten(item)]
    if isinstance(value, dict):
        return [leaf for key in value for leaf in flatten(value[key])]
    return [value]


def structure(value: Any) -> Any:
    """The classes of nested results, and what of a leaf is no value: dtype, shape, strides."""
    if isinstance(value, (tuple, list)):
        return (type(value).__name__, *map(structure, value))
    if isinstance(value, np.ndarray):
        strides = tuple(s for s, n in zip(value.strides, value.shape, strict=True) if n > 1)
        flag = value.flags.writeable
        return ("array", value.dtype.str, value.shape, strides if value.size else (), flag)
    return type(value).__name__


def leaf_bytes(value: Any) -> Any:
    """Something that is equal only for equal bits."""
    if isinstance(value, (np.ndarray, np.generic)):
        array = np.array(value, order="C")
        if array.dtype.kind in "fc":
            array[np.isnan(array)] = np.nan
        return array.tobytes()
    return repr(value)


def aliases(results: list[Any], others: list[Any]) -> list[tuple[bool, bool]]:
    """Which results are, or share memory with, which other arrays."""
    pairs = [
        (a, b) for a in results for b in others if isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    ]
    return [(a is b, bool(np.may_share_memory(a, b) and np.shares_memory(a, b))) for a, b in pairs]


def run(function: Any, arguments: list[Any]) -> tuple[Any, Exception | None, set[type[Warning]]]:
    """The result or the exception, and the classes of warnings given."""
    with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result, error = function(*arguments), None
        except Exception as raised:
            result, error = None, raised
    return result, error, {w.category for w in given}


def differences(program: Any, arguments: Callable[[int], list[Any]], executor: str = "interpret") -> str:
    """What a compiled program does differently from the plain one; empty if nothing."""
    compiled = tl.compile(program, executor=executor)
    _, _, tracing_warned = run(compiled, arguments(1))
    plain_arguments, its_arguments = arguments(2), arguments(2)
    plain, expected_error, warned = run(program, plain_arguments)
    result, error, its_warnings = run(compiled, its_arguments)
    if (tracing_warned | its_warnings) - warned:
        return f"compiled warns: {tracing_warned | its_warnings}"
    if expected_error is not None:
        if error is None:
            return f"NumPy raises {expected_error!r}, compiled does not"
        if not isinstance(error, type(expected_error)) or str(expected_error) not in str(error):
            return f"NumPy raises {expected_error!r}, compiled {error!r}"
        return ""
    if error is not None:
        return f"compiled raises {error!r}"
    if any(str(p.attrs["name"]).startswith("closure") for p in compiled.graph(*arguments(2)).params):
        return "an array that the program does not hold is read by reference"
    return _compare(plain, result, plain_arguments, its_arguments)


def _compare(plain: Any, result: Any, plain_arguments: list[Any], its_arguments: list[Any]) -> str:
    if structure(plain) != structure(result):
        return f"{structure(plain)} became {structure(result)}"
    for a, b in zip(flatten(plain), flatten(result), strict=True):
        if leaf_bytes(a) != leaf_bytes(b):
            return f"value {a} became {b}"
    for a, b in zip(plain_arguments, its_arguments, strict=True):
        if leaf_bytes(a) != leaf_bytes(b):
            return f"argument {a} became {b}"
    mine, its = flatten(plain), flatten(result)
    if aliases(mine, [*plain_arguments, *mine]) != aliases(its, [*its_arguments, *its]):
        return "results alias differently"
    return ""


SHAPES: dict[str, tuple[int, ...]] = {
    "vector": (6,),
    "matrix": (4, 5),
    "cube": (2, 3, 4),
    "zero_d": (),
    "scalar": (),
    "empty": (0, 3),
}


def argument(kind: str, dtype: str, layout: str, seed: int) -> Any:
    """An argument of a kind: an array, or a NumPy scalar."""
    array = make(SHAPES[kind], dtype, layout, seed)
    return array[()] if kind == "scalar" else array


def variants(kind: str, dtypes: str = "df", layouts: str = "") -> list[tuple[str, str, str]]:
    """(shape, dtype, layout) triples to try: every layout in the first dtype, C order in the others."""
    first, *others = dtypes.split() if " " in dtypes else list(dtypes)
    names = layouts.split() or list(LAYOUTS)
    if not SHAPES[kind]:
        names = ["c"]
    return [*((kind, first, name) for name in names), *((kind, dtype, "c") for dtype in others)]


@pytest.fixture
def same() -> Callable[..., None]:
    """`same(program, arguments)` fails if the compiled program differs from the plain one."""

    def check(program: Any, arguments: Callable[[int], list[Any]], executor: str = "interpret") -> None:
        found = differences(program, arguments, executor)
        assert not found, found

    return check


@pytest.fixture
def everywhere() -> Callable[..., None]:
    """`everywhere(program, "vector matrix", "dfl")` tries all layouts, dtypes and both executors."""

    def check(program: Any, kinds: str, dtypes: str = "dfl?D") -> None:
        count = len(inspect.signature(program).parameters)
        failures = []
        for kind, dtype, layout in (v for name in kinds.split() for v in variants(name, dtypes)):

            def arguments(seed: int, kind: str = kind, dtype: str = dtype, layout: str = layout) -> list[Any]:
                return [argument(kind, dtype, layout, seed + 10 * i) for i in range(count)]

            executors = (
                ("interpret", "numpy") if layout in ("c", "f") and dtype == dtypes[0] else ("interpret",)
            )
            for executor in executors:
                found = differences(program, arguments, executor)
                if found:
                    failures.append(f"{kind} {dtype} {layout} {executor}: {found}")
        assert not failures, "\n".join(failures[:5])

    return check
