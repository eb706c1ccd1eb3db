"""The judge of whole programs: plain NumPy and the compiled program side by side, and nothing may differ.

A program is traced with other values of the same kinds first and then called. Compared are the classes of
results, bytes, dtype, shape, strides (of axes longer than 1), the writeable flag, what became of arguments
and their containers, and which results are, or share memory with, which arguments and results. Exceptions
must agree in class. A refusal has to be a TapelessError.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tapeless as tl


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dead memory of the executor is filled with NaN."""
    monkeypatch.setenv("TAPELESS_POISON", "1")


def leaves(tree: Any) -> list[Any]:
    """What nested dicts, lists and tuples hold, in order."""
    if isinstance(tree, dict):
        return [leaf for item in tree.values() for leaf in leaves(item)]
    if isinstance(tree, (list, tuple)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def form(tree: Any) -> Any:
    """All of nested values but the values: classes, keys in order, dtypes, shapes, strides, flags."""
    if isinstance(tree, dict):
        return (type(tree), [(key, form(item)) for key, item in tree.items()])
    if isinstance(tree, (list, tuple)):
        return (type(tree), list(map(form, tree)))
    if isinstance(tree, np.ndarray):
        strides = [s for s, n in zip(tree.strides, tree.shape, strict=True) if n > 1] if tree.size else []
        return (tree.dtype.str, tree.shape, strides, _writeable(tree))
    return type(tree)


def _writeable(array: Any) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return bool(array.flags.writeable)


def bits(leaf: Any) -> Any:
    """Something that is equal for equal bits only; which NaN it is does not count."""
    if not isinstance(leaf, (np.ndarray, np.generic)):
        return repr(leaf)
    array = np.array(leaf, order="C")
    if array.dtype.kind in "fc":
        array = array.reshape(-1).view(array.real.dtype)
        array[np.isnan(array)] = np.nan
    return array.tobytes()


def sharing(results: Any, arguments: Any) -> list[tuple[bool, bool]]:
    """Which result is, and which shares memory with, which argument or result."""
    mine = [leaf for leaf in leaves(results) if isinstance(leaf, np.ndarray)]
    others = [*mine, *(leaf for leaf in leaves(arguments) if isinstance(leaf, np.ndarray))]
    return [
        (a is b, bool(np.may_share_memory(a, b) and np.shares_memory(a, b))) for a in mine for b in others
    ]


@dataclass
class Outcome:
    """What a call gave: a result or an exception, and the arguments as they are afterwards."""

    arguments: list[Any]
    result: Any = None
    error: Exception | None = None


def outcome(function: Callable[..., Any], arguments: list[Any]) -> Outcome:
    """Call a function, whatever it does."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Outcome(arguments, function(*arguments))
        except Exception as error:
            return Outcome(arguments, error=error)


def difference(plain: Outcome, other: Outcome) -> str:
    """What differs between two outcomes; empty if nothing does."""
    if plain.error is not None:
        same = type(other.error) is type(plain.error) or isinstance(other.error, tl.TapelessError)
        return "" if same else f"NumPy raises {plain.error!r}, compiled gives {other.error or other.result!r}"
    if other.error is not None:
        return f"compiled raises {other.error!r}"
    if form(plain.result) != form(other.result):
        return f"{form(plain.result)} became {form(other.result)}"
    if form(plain.arguments) != form(other.arguments):
        return f"arguments {form(plain.arguments)} became {form(other.arguments)}"
    for name, mine, its in (
        ("result", plain.result, other.result),
        ("argument", plain.arguments, other.arguments),
    ):
        for a, b in zip(leaves(mine), leaves(its), strict=True):
            if bits(a) != bits(b):
                return f"{name} {a!r} became {b!r}"
    if sharing(plain.result, plain.arguments) != sharing(other.result, other.arguments):
        return "results alias differently"
    return ""


@pytest.fixture
def judge() -> Callable[..., str]:
    """`judge(function, make, **options)`: "same", "refused", or a failure that says what differs.

    `make(seed)` gives the arguments; options are those of `tl.compile`.
    """

    def check(function: Callable[..., Any], make: Callable[[int], list[Any]], **options: Any) -> str:
        compiled = tl.compile(function, **options)
        outcome(compiled, make(1))
        plain, its = outcome(function, make(0)), outcome(compiled, make(0))
        if its.error is not None and isinstance(its.error, tl.TapelessError):
            return "refused"
        found = difference(plain, its)
        assert not found, found
        return "same"

    return check
