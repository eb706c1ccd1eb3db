"""Messages: what happened in the user's words, where, to which value, why, and code that cures it."""

import itertools
import math
import os
import re
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer import errors
from tapeless.tracer.errors import TapelessError, TracedBoolError, TracedConversionError
from tapeless.tracer.frames import hide_internal_frames

X = np.arange(4.0)
PAGES = Path(__file__).parents[2] / "docs" / "errors"
ELSEWHERE = np.zeros(3)


def refusal(function: Callable[..., Any], *args: Any) -> TapelessError:
    """The error of tracing a function."""
    with pytest.raises(TapelessError) as raised:
        tl.compile(function)(*(args or (X,)))
    return raised.value


def subclasses(kind: type) -> list[type]:
    return [kind, *(found for child in kind.__subclasses__() for found in subclasses(child))]


# ---- the format


def test_the_whole_message() -> None:
    def train_step(params: Any, x: Any) -> Any:
        loss = np.mean((x * params["w"]) ** 2)
        if loss > 1.0:
            return loss * 0.1
        return loss

    line = train_step.__code__.co_firstlineno
    text = str(refusal(train_step, {"w": np.ones(4)}, X))
    file = os.path.relpath(__file__)
    assert text.splitlines() == [
        "`if` needs True or False, but `loss > 1.0` is a traced value, bool[]",
        f"  {file}:{line + 2}, in train_step",
        "    if loss > 1.0:",
        "@compile runs train_step once, before there are numbers, so Python cannot pick a branch here.",
        "The value depends on the arguments x and params['w'], through  "
        f'loss = np.mean((x * params["w"]) ** 2)   {file}:{line + 1}',
        "Choose one:",
        "  per element, inside the graph    np.where(loss > 1.0, a, b)",
        '  once, when compiling             @compile(static=("name",)) and test the argument `name`',
        "  after the step                   return the value and branch in the caller",
        "(T01: docs/errors/T01.md)",
    ]


def test_names_of_arguments_are_written_as_the_user_would() -> None:
    class Point:
        pass

    def step(tree: Any, rows: Any) -> Any:
        return bool((tree["a"][1] + rows[0]).any())

    text = str(refusal(step, {"a": (1.0, np.ones(2))}, [np.ones(2)]))
    assert "depends on the arguments tree['a'][1] and rows[0]" in text


def test_closed_over_arrays_are_not_called_arguments() -> None:
    text = str(refusal(lambda x: bool((x + np.multiply(ELSEWHERE, 2)[0]).any())))
    assert "depends on the argument x and a closed-over array" in text


def test_static_is_proposed_by_name_for_python_numbers() -> None:
    assert "@compile(static=('flag',))" in str(refusal(lambda flag: 1 if flag > 0 else 2, 3))


# ---- forms of code


def conditional(x: Any) -> Any:
    return x if x[0] > 1 else -x


def loop(x: Any) -> Any:
    while (x > 0).any():
        x = x - 1
    return x


def asserted(x: Any) -> Any:
    assert x[0] > 0
    return x


def multiline(x: Any) -> Any:
    if (
        x[0]
        > 1
    ):  # fmt: skip
        return x
    return -x


def written_to(x: Any) -> Any:
    table = np.frombuffer(bytes(16)).copy()
    table[0] = x[1]
    return table


def closed_over(x: Any) -> Any:
    ELSEWHERE[0] = x[1]
    return x


@pytest.mark.parametrize(
    ("function", "what", "cure"),
    [
        pytest.param(
            conditional, "`if` needs True or False, but `x[0] > 1`", "np.where(x[0] > 1, x, -x)", id="if-else"
        ),
        pytest.param(
            loop, "`while` needs True or False, but `(x > 0).any()`", "for _ in range(n)", id="while"
        ),
        pytest.param(asserted, "`assert` needs True or False, but `x[0] > 0`", "check it there", id="assert"),
        pytest.param(
            multiline, "`if` needs True or False, but `x[0] > 1`", "np.where(x[0] > 1, a, b)", id="lines"
        ),
        pytest.param(lambda x: 0 < x[0] < 1, "a chained comparison", "(0 < x[0]) & (x[0] < 1)", id="chain"),
        pytest.param(
            lambda x: x[0] > 1 and x[1] > 2 and x[2],
            "`and` needs",
            "np.logical_and(np.logical_and(x[0] > 1",
            id="and",
        ),
        pytest.param(lambda x: x[0] or x[1], "`or` needs", "np.logical_or(x[0], x[1])", id="or"),
        pytest.param(
            lambda x: not x[0], "`not` needs True or False, but `x[0]`", "np.logical_not(x[0])", id="not"
        ),
        pytest.param(lambda x: x[0] in (1, 2), "`in` needs", "np.isin(x[0], (1, 2))", id="in"),
        pytest.param(
            lambda x: [v for v in x if v > 1], "`if` needs True or False, but `v > 1`", "where=", id="filter"
        ),
        pytest.param(lambda x: max(x), "`max` needs", "np.max(x)", id="max"),
        pytest.param(lambda x: min(x[0], 2.0), "`min` needs", "np.minimum(x[0], 2.0)", id="min-of-two"),
        pytest.param(lambda x: sorted(x), "`sorted` needs", "np.sort(x)", id="sorted"),
        pytest.param(lambda x: any(x), "`any` needs", "np.any(x)", id="any"),
        pytest.param(lambda x: bool(x[0]), "`bool` needs", "x[0] != 0", id="bool"),
        pytest.param(
            lambda x: float(x[0]), "`float` needs a Python float", "x[0].astype(np.float64)", id="float"
        ),
        pytest.param(lambda x: int(x[0]), "`int` needs a Python int", "np.trunc(x[0])", id="int"),
        pytest.param(lambda x: round(x[0]), "`round` needs a Python int", "np.rint(x[0])", id="round"),
        pytest.param(lambda x: math.sin(x[0]), "`math.sin` needs", "np.sin(x[0])", id="math"),
        pytest.param(
            lambda x: math.atan2(x[0], x[1]),
            "`math.atan2` needs",
            "np.arctan2(x[0], x[1])",
            id="math-renamed",
        ),
        pytest.param(
            lambda x: np.float32(x[0]), "`np.float32` needs", "x[0].astype(np.float32)", id="scalar-type"
        ),
        pytest.param(lambda x: range(x[0].astype(int)), "`range` needs an index", "np.take", id="range"),
        pytest.param(
            lambda x: [1, 2][x[0].astype(int)],
            "An index was asked for in `[1, 2][",
            "np.take",
            id="list-index",
        ),
        pytest.param(lambda x: x.tolist(), "`x.tolist` needs a list of numbers", "list(x)", id="tolist"),
        pytest.param(lambda x: {x[0]: 1}, "A hash was asked for in `{x[0]: 1}`", "static", id="hash"),
        pytest.param(
            written_to, "is written into `table`, which is no array of the trace", "np.zeros", id="setitem"
        ),
        pytest.param(
            closed_over,
            "the closed-over array `ELSEWHERE` is written to",
            "np.copy(ELSEWHERE)",
            id="closed-over",
        ),
        pytest.param(
            lambda x: f"{x}",
            "A text was asked for in `f'{x}'`".replace("'", '"'),
            "print(value)",
            id="f-string",
        ),
    ],
)
def test_each_form_names_itself_and_its_cure(function: Any, what: str, cure: str) -> None:
    text = str(refusal(function))
    assert what in text.splitlines()[0]
    assert cure in text


def test_a_refusal_deep_in_a_library_is_shown_at_the_users_line() -> None:
    import scipy.linalg

    def solve(x: Any) -> Any:
        return scipy.linalg.solve_toeplitz(x, X)

    text = str(refusal(solve))
    assert "`scipy.linalg.solve_toeplitz` needs a concrete array" in text
    assert f"{os.path.basename(__file__)}:{solve.__code__.co_firstlineno + 1}, in solve" in text


def test_messages_without_source() -> None:
    namespace: dict[str, Any] = {}
    exec("def f(x):\n    return x if x[0] > 1 else -x", namespace)
    text = str(refusal(namespace["f"]))
    assert text.startswith(
        "Python needs True or False, but the value is a traced value, bool[]\n  <string>:2, in f"
    )


@pytest.mark.parametrize("options", [{}, {"static": "batches"}])
@pytest.mark.parametrize("make", [iter, enumerate, zip, itertools.cycle, lambda items: (i for i in items)])
def test_iterators_are_refused_and_left_alone(make: Any, options: dict[str, Any]) -> None:
    compiled, batches = tl.compile(lambda p, batches: p * next(batches), **options), make([1.0, 2.0])
    for _ in range(2):
        with pytest.raises(errors.ArgumentError, match=r"call next\(batches\) outside and pass the batch"):
            compiled(1.0, batches)
    assert len(list(itertools.islice(batches, 2))) == 2
    with (
        open(__file__, encoding="utf-8") as lines,
        pytest.raises(errors.ArgumentError, match=r"argument p\.lines is an iterator \(TextIOWrapper\)"),
    ):
        tl.grad(lambda x, p: x * float(next(p["lines"])))(1.0, {"lines": lines})


# ---- classes and pages


@pytest.mark.parametrize("kind", [k for k in subclasses(TapelessError) if k is not TapelessError])
def test_every_error_has_a_code_and_a_page(kind: Any) -> None:
    assert re.fullmatch(r"T\d\d", kind.code)
    page = (PAGES / f"{kind.code}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {kind.code}: {kind.__name__}\n")
    if kind is not errors.TapelessInternalError:
        assert f"tapeless.tracer.errors.{kind.__name__}: " in page
        assert "## Cures" in page


def test_codes_are_unique_and_pages_are_all_known() -> None:
    kinds = [k for k in subclasses(TapelessError) if k is not TapelessError]
    codes = [kind.code for kind in kinds]  # type: ignore[attr-defined]
    assert len(set(codes)) == len(codes)
    assert {page.stem for page in PAGES.glob("T*.md")} == set(codes)


def test_errors_are_the_matching_built_ins() -> None:
    assert issubclass(TracedBoolError, TypeError)
    assert issubclass(errors.DataDependentShapeError, IndexError)
    assert issubclass(errors.ClosureWriteError, ValueError)
    assert issubclass(errors.LeakedTraceError, RuntimeError)


# ---- tracebacks


def inner(x: Any) -> Any:
    return float(np.tanh(x)[0])


def outer(x: Any) -> Any:
    return inner(x * 2)


def frames_of(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


def test_internal_frames_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    frames = frames_of(refusal(outer))
    assert frames[-2:] == ["outer", "inner"]
    assert [f for f in frames if f not in ("refusal", "outer", "inner")] == ["__call__"]
    monkeypatch.setenv("TAPELESS_TRACEBACK", "full")
    assert "refuse_conversion" in "".join(frames_of(refusal(outer))) or len(frames_of(refusal(outer))) > 6


def test_frames_are_hidden_where_nothing_is_run_too() -> None:
    for ask in (lambda: tl.trace(outer, X), lambda: tl.compile(outer).graph(X), lambda: tl.grad(outer)(X)):
        with pytest.raises(TapelessError) as raised:
            ask()
        frames = frames_of(raised.value)
        assert frames[-2:] == ["outer", "inner"]
        assert len([f for f in frames if f not in ("<lambda>", "outer", "inner")]) <= 4


def test_numpys_own_errors_end_at_the_users_line() -> None:
    def wrong(x: Any) -> Any:
        return x.reshape(3, 3)

    with pytest.raises(ValueError, match="cannot reshape array of size 4") as raised:
        tl.compile(wrong)(X)
    assert frames_of(raised.value)[-1] == "wrong"
    with pytest.raises(IndexError, match="out of bounds") as raised_at:
        tl.compile(lambda x: x[7])(X)
    assert frames_of(raised_at.value)[-1] == "<lambda>"


def test_the_users_own_errors_keep_the_users_frames() -> None:
    def fails(x: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError) as raised:
        tl.compile(fails)(X)
    assert frames_of(raised.value)[-1] == "fails"
    assert not getattr(raised.value, "__notes__", [])


def test_a_fault_of_ours_says_so() -> None:
    with pytest.raises(AttributeError) as raised:
        hide_internal_frames(None)  # type: ignore[arg-type]
    assert hide_internal_frames(raised.value) is raised.value
    assert "fault of Tapeless itself" in raised.value.__notes__[0]
    assert frames_of(raised.value)[-1] == "hide_internal_frames"


def test_a_traceback_in_a_terminal() -> None:
    program = """
        import numpy as np
        import tapeless as tl

        def step(x):
            return x if x[0] > 1 else -x

        tl.compile(step)(np.ones(3))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "compiled.py" in done.stderr
    assert "traced_array.py" not in done.stderr
    assert done.stderr.strip().endswith("(T01: docs/errors/T01.md)")


def test_conversion_errors_are_type_errors_for_users_who_catch_them() -> None:
    def guarded(x: Any) -> Any:
        try:
            return float(x[0])
        except TypeError:
            return x[0]

    assert isinstance(refusal(guarded), TracedConversionError)
