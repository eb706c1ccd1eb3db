"""The judge of whole programs: plain NumPy and the compiled program side by side, and nothing may differ.

A program is traced with other values of the same kinds first and then called. Compared are the classes of
results, bytes, dtype, shape, strides (of axes longer than 1), the writeable flag, what became of arguments
and their containers, and which results are, or share memory with, which arguments and results. Exceptions
must agree in class. A refusal has to be a TapelessError.
"""

import re
import warnings
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
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
    if isinstance(tree, (list, tuple, deque)):
        return [leaf for item in tree for leaf in leaves(item)]
    return [tree]


def form(tree: Any) -> Any:
    """All of nested values but the values: classes, keys in order, dtypes, shapes, strides, flags."""
    if isinstance(tree, dict):
        return (type(tree), [(key, form(item)) for key, item in tree.items()])
    if isinstance(tree, (list, tuple, deque)):
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


@pytest.fixture
def sequence() -> Callable[..., str]:
    """`sequence(function, executor)`: as `judge`, of functions that call what `wrap` gives them."""

    def check(function: Callable[..., Any], executor: str) -> str:
        plain = outcome(function, [lambda inner, **options: inner])
        its = outcome(function, [lambda inner, **options: tl.compile(inner, executor=executor, **options)])
        if isinstance(its.error, tl.TapelessError):
            return "refused"
        its.arguments = plain.arguments
        found = difference(plain, its)
        assert not found, found
        return "same"

    return check


# ---- tables of small programs


@dataclass
class Program:
    """A program of a table: its name, the text of its arguments, and the function."""

    name: str
    given: str
    function: Callable[..., Any]

    def arguments(self, seed: int) -> list[Any]:
        """The arguments; their random numbers depend on the seed."""
        scope = {**self.function.__globals__, "mk": partial(mk, seed)}
        return list(eval(f"dict({self.given})", scope).values())


def mk(seed: int, *shape: int, dt: str = "f8", order: Any = "C") -> Any:
    """A random array."""
    rng = np.random.default_rng([seed, *shape])
    values = rng.normal(size=shape) * 3
    if np.dtype(dt).kind == "c":
        values = values + 1j * rng.normal(size=shape)
    return np.array(values.astype(dt), order=order)


def entries(table: str) -> list[tuple[str, str, list[str]]]:
    """A table's entries: a line `name  arguments`, which may go on indented by eight, then indented lines."""
    found = []
    for entry in re.split(r"\n(?=\S)", table.strip("\n")):
        head, *lines = entry.split("\n")
        while lines and lines[0].startswith("        "):
            head += lines.pop(0).strip()
        name, _, given = head.partition("  ")
        found.append((name, given, lines))
    return found


def programs(table: str, scope: dict[str, Any]) -> list[Program]:
    """The programs of a table."""
    found = []
    for name, given, lines in entries(table):
        parameters = eval(f"dict({given})", {**scope, "mk": partial(mk, 0)}) or ["wrap"]
        made = {**scope}
        exec(f"def program({', '.join(parameters)}):\n" + "\n".join(lines), made)
        found.append(Program(name, given, made["program"]))
    return found


# ---- tables of derivatives


@dataclass
class Case:
    """A function with arguments and, where it is written down, the gradient by all of them."""

    name: str
    given: list[Any]
    function: Callable[..., Any]
    expected: tuple[Any, ...] | None

    def arguments(self) -> list[Any]:
        return [np.array(a) if isinstance(a, np.ndarray) else a for a in self.given]


def cases(table: str, scope: dict[str, Any]) -> list[Case]:
    """The cases of a table; lines indented by eight go on the one before."""
    found = []
    for name, given, lines in entries(table):
        expression, *gradient = "\n".join(lines).replace("\n        ", " ").split("\n")
        arguments, made = eval(f"dict({given})", scope), dict(scope)
        exec(f"def function({', '.join(arguments)}):\n    return {expression.strip()}", made)
        expected = eval(gradient[0].strip().removeprefix("="), scope) if gradient else None
        if gradient and len(arguments) == 1:
            expected = (expected,)
        found.append(Case(name, list(arguments.values()), made["function"], expected))
    return found


def differences(case: Case, position: int) -> Any:
    """Central differences of fourth order by one argument."""
    at = np.asarray(case.given[position], float)
    found = np.zeros(at.shape)
    for place in np.ndindex(at.shape):
        width = 1e-3 * max(1.0, abs(at[place]))
        values = []
        for steps in (-2, -1, 1, 2):
            moved, arguments = at.copy(), case.arguments()
            moved[place] += steps * width
            arguments[position] = moved if at.shape else float(moved)
            values.append(case.function(*arguments))
        found[place] = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * width)
    return found


@pytest.fixture
def right_gradient() -> Callable[[Case, str], None]:
    """`right_gradient(case, executor)` fails if the value, the gradient or the tangent is wrong."""

    def check(case: Case, executor: str) -> None:
        positions = tuple(range(len(case.given)))
        with np.errstate(all="ignore"):
            both = tl.compile(tl.value_and_grad(case.function, wrt=positions), executor=executor)
            value, gradients = both(*case.arguments())
            assert bits(value) == bits(case.function(*case.arguments()))
            expected = case.expected or tuple(differences(case, position) for position in positions)
            rtol, atol = (1e-7, 1e-9) if case.expected else (1e-5, 1e-8)
            for argument, found, right in zip(case.given, gradients, expected, strict=True):
                assert form(found)[:2] == form(argument)[:2] if np.ndim(argument) else True
                np.testing.assert_allclose(found, right, rtol=rtol, atol=atol)
            rng = np.random.default_rng(0)
            tangents = [rng.normal(size=a.shape) if np.ndim(a) else rng.normal() for a in case.given]
            _, tangent = tl.jvp(case.function, case.arguments(), tangents)
            along = sum(np.sum(g * t) for g, t in zip(gradients, tangents, strict=True))
            np.testing.assert_allclose(tangent, along, rtol=1e-7, atol=1e-9)

    return check


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that take a program, or a case, over the tables of their module."""
    scope = {"np": np, **vars(metafunc.module)}
    for fixture, table, read in (
        ("program", "PROGRAMS", programs),
        ("refused", "REFUSED", programs),
        ("case", "CASES", cases),
    ):
        if table in scope and fixture in metafunc.fixturenames:
            found: list[Any] = read(scope[table], scope)
            metafunc.parametrize(fixture, found, ids=[one.name for one in found])
            metafunc.parametrize("executor", ["numpy", "interpret"])
