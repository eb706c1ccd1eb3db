"""Closed-over state: arrays by reference, names by guard, derived arrays never frozen in silence."""

import functools
import operator
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer.errors import ClosureWriteError, DerivedConstantError, SideEffectWarning

X = np.arange(3.0)
GRID = np.array([1.0, 2.0, 4.0])
RATE = 0.1
SETTINGS = {"rate": 0.1, "weights": np.ones(3), "unrelated": 1}
LAYERS = [np.ones(3), np.full(3, 2.0)]
FROZEN = np.array([1.0, 2.0, 3.0])
FROZEN.flags.writeable = False


def helper(x: Any) -> Any:
    return x * RATE


@pytest.fixture(autouse=True)
def restore(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test begins with the same globals."""
    monkeypatch.setitem(globals(), "GRID", np.array([1.0, 2.0, 4.0]))
    monkeypatch.setitem(globals(), "RATE", 0.1)
    monkeypatch.setitem(globals(), "SETTINGS", {"rate": 0.1, "weights": np.ones(3), "unrelated": 1})
    monkeypatch.setitem(globals(), "LAYERS", [np.ones(3), np.full(3, 2.0)])


def follows(function: Callable[..., Any], change: Callable[[], Any], x: Any = X) -> Any:
    """The compiled function, held to the plain one before and after a change of what it closes over."""
    compiled = tl.compile(function)
    np.testing.assert_array_equal(compiled(x), function(x))
    change()
    np.testing.assert_array_equal(compiled(x), function(x))
    np.testing.assert_array_equal(compiled(x), function(x))
    return compiled


# ---- by reference


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x + GRID, id="operator"),
        pytest.param(lambda x: GRID * x[:3], id="reflected"),
        pytest.param(lambda x: x + GRID[::-1], id="view"),
        pytest.param(lambda x: x @ GRID.reshape(3, 1), id="reshaped-view"),
        pytest.param(lambda x: np.stack([x, GRID]), id="joined"),
        pytest.param(lambda x: np.array([x, GRID]), id="nested-list"),
        pytest.param(lambda x: np.array(GRID) + x, id="copied"),
        pytest.param(lambda x: np.copy(GRID) * x, id="np.copy"),
        pytest.param(lambda x: np.asarray(GRID, dtype="f4") * x, id="cast"),
        pytest.param(lambda x: x * np.mean(GRID), id="reduced"),
        pytest.param(lambda x: (x - np.mean(GRID)) / np.std(GRID), id="standardised"),
        pytest.param(lambda x: x + np.exp(GRID) * np.multiply(GRID, 2), id="ufuncs"),
        pytest.param(lambda x: x + np.linalg.norm(GRID), id="linalg"),
        pytest.param(
            lambda x: np.where(GRID > 1, x, 0) if False else np.where(np.greater(GRID, 1), x, 0), id="where"
        ),
        pytest.param(lambda x: x * SETTINGS["weights"], id="in-a-dict"),
        pytest.param(lambda x: LAYERS[0] * x + LAYERS[1], id="in-a-list"),
        pytest.param(lambda x: sum(layer * x for layer in LAYERS), id="looped-over"),
    ],
)
def test_arrays_are_read_at_each_call(function: Any) -> None:
    def change() -> None:
        for array in (GRID, SETTINGS["weights"], *LAYERS):
            array += 10.0  # type: ignore[operator]

    compiled = follows(function, change)
    assert compiled.stats.traces == 1


def test_a_closed_over_array_may_be_returned_and_is_itself() -> None:
    def both(x: Any) -> Any:
        return GRID, GRID[1:], x

    grid, view, _ = tl.compile(both)(X)
    assert grid is GRID
    assert view.base is GRID
    assert np.shares_memory(view, GRID)


def test_cells_and_attributes_and_defaults() -> None:
    weights = np.ones(3)

    class Model:
        def __init__(self) -> None:
            self.w = np.ones(3)
            self.rate = 2.0

        def __call__(self, x: Any, scale: Any = weights) -> Any:
            return x * self.w * self.rate + weights + scale

    model = Model()

    def change() -> None:
        model.w += 1
        model.rate = 3.0
        weights[0] = 7

    compiled = follows(lambda x: model(x), change)
    assert "rate: 2.0 became 3.0" in compiled.explain()
    model.w = np.full(3, 9.0)
    np.testing.assert_array_equal(compiled(X), model(X))


def test_class_attributes_and_methods_are_guarded(monkeypatch: pytest.MonkeyPatch) -> None:
    class Base:
        rate = 2.0

    class Scale(Base):
        def apply(self, x: Any) -> Any:
            return x * self.rate

    scale = Scale()
    compiled = follows(lambda x: scale.apply(x), lambda: setattr(Base, "rate", 3.0))
    assert "Base.rate: 2.0 became 3.0" in compiled.explain()
    follows(lambda x: scale.apply(x), lambda: setattr(Scale, "apply", lambda self, x: x - 1))


def test_a_method_of_an_object_that_is_a_static_argument() -> None:
    class Scale:
        def __init__(self) -> None:
            self.factor = 2.0

        @tl.compile
        def apply(self, x: Any) -> Any:
            return x * self.factor

    scale = Scale()
    np.testing.assert_array_equal(scale.apply(X), X * 2)
    scale.factor = 5.0
    np.testing.assert_array_equal(scale.apply(X), X * 5)


# ---- guards


@pytest.mark.parametrize(
    ("function", "change", "reason"),
    [
        pytest.param(lambda x: x * RATE, {"RATE": 0.5}, "global RATE: 0.1 became 0.5", id="number"),
        pytest.param(
            lambda x: helper(x), {"RATE": 0.5}, "global RATE: 0.1 became 0.5", id="through-a-function"
        ),
        pytest.param(lambda x: x + GRID, {"GRID": np.zeros(3)}, "global GRID", id="array"),
        pytest.param(lambda x: helper(x), {"helper": lambda x: x - 1}, "global helper", id="function"),
    ],
)
def test_rebinding_a_name_retraces(
    function: Any, change: dict[str, Any], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = follows(function, lambda: [monkeypatch.setitem(globals(), k, v) for k, v in change.items()])
    assert compiled.stats.traces == 2
    assert reason in compiled.explain()


def test_an_equal_number_is_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = follows(lambda x: x * RATE, lambda: monkeypatch.setitem(globals(), "RATE", float("0.1")))
    assert compiled.stats.traces == 1


def test_contents_of_containers_are_guarded() -> None:
    compiled = follows(lambda x: x * SETTINGS["rate"], lambda: SETTINGS.update(rate=3.0))
    assert "SETTINGS['rate']: 0.1 became 3.0" in compiled.explain()
    follows(lambda x: x * SETTINGS["weights"], lambda: SETTINGS.update(weights=np.full(3, 5.0)))
    follows(lambda x: sum(layer * x for layer in LAYERS), lambda: LAYERS.append(np.full(3, 3.0)))
    follows(lambda x: LAYERS[0] * x, lambda: LAYERS.reverse())
    table = [float(i) for i in range(100)]
    compiled = follows(lambda x: x + table[50] + len(table), lambda: table.__setitem__(50, -1.0))
    assert "table: its items changed" in compiled.explain()


def test_equal_tuples_are_no_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SETTINGS", (3, 1))
    compiled = follows(
        lambda x: x.reshape(SETTINGS),
        lambda: monkeypatch.setitem(globals(), "SETTINGS", tuple(map(int, "31"))),
    )
    assert compiled.stats.traces == 1


def test_closed_over_variables_are_guarded() -> None:
    rate = 2.0

    def scaled(x: Any) -> Any:
        return x * rate

    def change() -> None:
        nonlocal rate
        rate = 3.0

    compiled = follows(scaled, change)
    assert "closed-over rate: 2.0 became 3.0" in compiled.explain()


def test_a_closed_over_array_may_change_its_shape() -> None:
    held = [np.arange(6.0)]
    table = held[0]

    def used(x: Any) -> Any:
        return x.sum() + table

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        compiled = follows(used, lambda: setattr(table, "shape", (2, 3)))
    assert compiled.stats.traces == 2


def test_names_that_mean_numpy_do_not_retrace_while_another_thread_traces() -> None:
    inside: list[Any] = []
    compiled = tl.compile(lambda x: np.tanh(x) + helper(x))
    compiled(X)

    def other(x: Any) -> Any:
        import threading

        thread = threading.Thread(target=lambda: inside.append(compiled(X)))
        thread.start()
        thread.join()
        return np.tanh(x)

    tl.compile(other)(X)
    assert compiled.stats.traces == 1
    np.testing.assert_array_equal(inside[0], np.tanh(X) + helper(X))


# ---- written to


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: GRID.__iadd__(x), id="iadd"),
        pytest.param(lambda x: GRID.__setitem__(0, x[0]), id="setitem"),
        pytest.param(lambda x: np.add(x, 1, out=GRID), id="out"),
        pytest.param(lambda x: np.copyto(GRID, x), id="copyto"),
        pytest.param(lambda x: np.fill_diagonal(GRID.reshape(1, 3), 0), id="fill_diagonal"),
        pytest.param(lambda x: GRID.__iadd__(1.0), id="iadd-of-a-number"),
        pytest.param(lambda x: GRID.__setitem__(0, 5.0), id="setitem-of-a-number"),
        pytest.param(lambda x: GRID.sort(), id="sort"),
        pytest.param(lambda x: np.asarray(GRID).fill(3.0), id="fill"),
    ],
)
def test_writing_into_a_closed_over_array_is_refused_and_undone(function: Any) -> None:
    GRID[:] = [3.0, 2.0, 1.0]
    with pytest.raises((ClosureWriteError, tl.TapelessError)):
        tl.compile(lambda x: (function(x), x + 1))(X)
    assert GRID.tolist() == [3.0, 2.0, 1.0]


def test_a_mutable_default_is_closed_over() -> None:
    def accumulate(x: Any, total: Any = np.zeros(3)) -> Any:  # noqa: B008
        total += x
        return total

    def count(x: Any, calls: Any = np.zeros(1)) -> Any:  # noqa: B008
        calls[0] += 1
        return x + 1

    for function in (accumulate, count):
        with pytest.raises(ClosureWriteError):
            tl.compile(function)(X)


def test_a_copy_may_be_written_to(agree: Callable[..., None]) -> None:
    def copied(x: Any) -> Any:
        own = GRID.copy() if x is None else np.copy(GRID)
        own[0] = x[0]
        return own

    agree(copied, lambda seed: (np.arange(3.0) + seed,))


def test_a_write_into_an_array_made_from_a_closed_over_one_names_that() -> None:
    def copied(x: Any) -> Any:
        made = GRID.copy()
        made += x
        return made

    def multiplied(x: Any) -> Any:
        made = GRID * 1
        np.add(made, x, out=made)
        return made

    for written in (copied, multiplied):
        with pytest.raises(DerivedConstantError, match=r"np\.copy\(GRID\)"):
            tl.compile(written)(X)

    def view(x: Any) -> Any:
        part = GRID[1:]
        part += x[1:]
        return part

    with pytest.raises(ClosureWriteError, match="closed-over array `GRID` is written to"):
        tl.compile(view)(X)


# ---- an argument that is closed over too


def test_a_written_argument_that_is_closed_over_is_refused() -> None:
    @tl.compile
    def grow(x: Any) -> Any:
        x += 1
        return x * GRID

    for argument in (GRID, GRID[::1], GRID[::-1]):
        with pytest.raises(
            ClosureWriteError, match="argument `x` shares memory with the closed-over array `GRID`"
        ):
            grow(argument)
    assert GRID.tolist() == [1.0, 2.0, 4.0]
    other = np.ones(3)
    np.testing.assert_array_equal(grow(other), np.full(3, 2.0) * GRID)


def test_an_argument_that_is_read_may_be_closed_over() -> None:
    compiled = tl.compile(lambda x: x * GRID)
    np.testing.assert_array_equal(compiled(GRID), GRID * GRID)


# ---- derived arrays


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x + GRID * 2, id="operator"),
        pytest.param(lambda x: x @ (GRID**2), id="power"),
        pytest.param(lambda x: x + (GRID * 2)[::-1], id="view-of-derived"),
        pytest.param(lambda x: x + GRID.astype("f4"), id="astype"),
        pytest.param(lambda x: x + GRID.copy(), id="copy"),
        pytest.param(lambda x: (x, GRID + 1), id="returned"),
        pytest.param(lambda x: x + SETTINGS["weights"] * 2, id="from-a-dict"),  # type: ignore[operator]
        pytest.param(lambda x: x[:2] + np.unique(GRID)[:2], id="unsupported-function"),
    ],
)
def test_what_is_derived_from_a_closed_over_array_is_refused(function: Any) -> None:
    with pytest.raises(DerivedConstantError) as raised:
        tl.compile(function)(X)
    text = str(raised.value)
    assert "computed once, while tracing" in text
    assert "tl.constant(" in text


def test_harmless_derived_arrays_are_kept() -> None:
    def quadrature(x: Any) -> Any:
        nodes = np.polynomial.legendre.leggauss(3)[0]
        return nodes * x, np.r_[0.0, 1.0, 2.0] + x, FROZEN * 2 + x, np.r_[1.0, 2.0]

    compiled = tl.compile(quadrature)
    for _ in range(2):
        for found, expected in zip(compiled(X), quadrature(X), strict=True):
            np.testing.assert_array_equal(found, expected)
    first, second = compiled(X)[3], compiled(X)[3]
    assert first is not second
    assert not np.shares_memory(first, second)


def test_declared_constants_are_computed_once() -> None:
    @tl.compile
    def shifted(x: Any) -> Any:
        table = tl.constant({"double": GRID * 2, "exp": np.exp(GRID), "mean": GRID.mean()})
        return x + table["double"] + table["exp"] + table["mean"] + tl.constant(3.0)

    expected = X + GRID * 2 + np.exp(GRID) + GRID.mean() + 3.0
    np.testing.assert_array_equal(shifted(X), expected)
    GRID[:] = 0
    np.testing.assert_array_equal(shifted(X), expected)
    assert tl.constant(GRID) is GRID


def test_a_constant_of_an_argument_is_refused() -> None:
    with pytest.raises(tl.TapelessError, match="depends on an argument"):
        tl.compile(lambda x: tl.constant(x * 2))(X)


def test_a_scalar_read_from_a_closed_over_array_in_a_hidden_way_warns() -> None:
    last, mean = operator.itemgetter(2), operator.methodcaller("mean")
    for function in (lambda x: x + GRID + last(GRID), lambda x: np.multiply(x, mean(GRID)) + GRID):
        with pytest.warns(SideEffectWarning, match="seems to come from `GRID`"):
            tl.compile(function)(X)


def test_a_scalar_read_from_a_small_array_retraces_when_it_changes() -> None:
    def change() -> None:
        GRID[:] = [7.0, 1.0, 0.0]

    for function in (lambda x: x * GRID.mean(), lambda x: x + 1 if GRID[0] < 5 else x - 1):
        GRID[:] = [1.0, 2.0, 4.0]
        assert follows(function, change).stats.traces == 2


def test_literal_scalars_do_not_warn() -> None:
    def gelu(x: Any) -> Any:
        return x * np.sqrt(2 / np.pi) * np.float64(0.5) + GRID + np.float32(2)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(tl.compile(gelu)(X), gelu(X))


# ---- caches


def test_a_cache_filled_while_tracing_stays_usable() -> None:
    @functools.lru_cache
    def table(n: int) -> Any:
        return np.arange(n) * 1.5

    memo: dict[int, Any] = {}

    def remembered(n: int) -> Any:
        if n not in memo:
            memo[n] = np.ones(n)
        return memo[n]

    @tl.compile
    def used(x: Any) -> Any:
        return x * table(3) + remembered(3)

    expected = X * [0, 1.5, 3.0] + 1
    np.testing.assert_array_equal(used(X), expected)
    assert type(memo[3]) is np.ndarray
    cached = table(3)
    assert isinstance(cached, np.ndarray)
    assert type(cached + 1) is np.ndarray
    assert type(cached[1:]) is type(cached.reshape(3, 1)) is type(np.stack([cached, X])) is np.ndarray
    assert (cached**2).tolist() == [0, 2.25, 9]
    assert float(cached[1]) == 1.5
    np.testing.assert_array_equal(np.asarray(cached), [0, 1.5, 3])
    np.testing.assert_array_equal(tl.compile(lambda x: x + table(3) + table(3)[::-1])(X), X + 3)
    np.testing.assert_array_equal(used(X), expected)


def test_warns_when_a_name_is_rebound_while_tracing() -> None:
    calls = 0

    def counts(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return x

    with pytest.warns(SideEffectWarning, match="rebinds `calls`"):
        tl.compile(counts)(X)
