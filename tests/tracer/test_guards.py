"""What a trace looked up and what changes later: the compiled function follows the plain one."""

import functools
from array import array
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tapeless as tl

X = np.arange(1.0, 5.0)


def follows(function: Callable[..., Any], change: Callable[[], Any], traces: int = 2) -> Any:
    """The compiled function, held to the plain one after a change of what it closes over."""
    made = [tl.compile(function, executor=executor) for executor in ("numpy", "native")]
    for compiled in made:
        for _ in range(5):
            compiled(X)
        assert compiled.stats.traces == 1
    change()
    for compiled in made:
        for _ in range(3):
            np.testing.assert_array_equal(compiled(X), function(X))
        assert compiled.stats.traces == traces
    return made[0]


class Thing:
    rate = 1.0

    def __init__(self, value: Any = None) -> None:
        self.value = value

    def scaled(self, x: Any) -> Any:
        return x * self.rate

    def __call__(self, x: Any) -> Any:
        return x


class Derived(Thing):
    pass


# ---- containers


@pytest.mark.parametrize(
    ("before", "after", "function"),
    [
        pytest.param({"w": np.ones(4)}, {"w": np.full(4, 5.0)}, lambda x, v: x * v["w"], id="dict"),
        pytest.param((1.0, 2.0), (5.0, 2.0), lambda x, v: x * v[0], id="tuple"),
        pytest.param([1.0], [5.0], lambda x, v: x * v[0], id="list"),
        pytest.param([np.ones(4)], [np.full(4, 5.0)], lambda x, v: x * v[0], id="list-of-arrays"),
        pytest.param(Thing(1.0), Thing(5.0), lambda x, v: x * v.value, id="object"),
        pytest.param(np.float64(1), np.float64(5), lambda x, v: x * v, id="NumPy-scalar"),
        pytest.param(slice(0, 1), slice(0, 3), lambda x, v: x[v], id="slice"),
        pytest.param(range(2), range(3), lambda x, v: x * len(v), id="range"),
        pytest.param(frozenset((1,)), frozenset((5,)), lambda x, v: x * sum(v), id="frozenset"),
        pytest.param(Fraction(1, 2), Fraction(3, 2), lambda x, v: x * float(v), id="fraction"),
    ],
)
def test_slots_of_containers(before: Any, after: Any, function: Any) -> None:
    listed = [before]
    follows(lambda x: function(x, listed[0]), lambda: listed.__setitem__(0, after))
    for kind in (dict, OrderedDict, lambda items: defaultdict(list, items)):
        table = kind({0: before})
        follows(lambda x, table=table: function(x, table[0]), lambda table=table: table.update({0: after}))
    for thing in (Thing(before), SimpleNamespace(value=before)):
        follows(
            lambda x, thing=thing: function(x, thing.value),
            lambda thing=thing: setattr(thing, "value", after),
        )


def test_another_order_of_a_list() -> None:
    layers = [{"w": np.ones(4)}, {"w": np.full(4, 2.0)}]
    follows(lambda x: x * layers[0]["w"] - layers[1]["w"], layers.reverse)


def test_long_containers_of_mixed_kinds() -> None:
    listed: list[Any] = [*map(float, range(50)), np.ones(4)]
    compiled = follows(lambda x: x * listed[7] + listed[50], lambda: listed.__setitem__(7, 99.0))
    assert "listed: its items changed" in compiled.explain()
    table: dict[str, Any] = {str(n): float(n) for n in range(50)} | {"w": np.ones(4)}
    key = ["7"]
    follows(lambda x: x * table[key[0]] + table["w"], lambda: table.update({"7": 99.0}))
    follows(lambda x: x * table[key[0]] + table["w"], lambda: table.update({"7": float("5")}))
    assert follows(lambda x: x * listed[8], lambda: listed.__setitem__(8, float("8")), traces=1)


@pytest.mark.parametrize(
    ("held", "change"),
    [
        pytest.param({1}, lambda held: held.add(5), id="set"),
        pytest.param({1}, lambda held: (held.clear(), held.add(5)), id="set-of-the-same-size"),
        pytest.param(deque([1.0]), lambda held: held.__setitem__(0, 5.0), id="deque"),
        pytest.param(bytearray(b"1"), lambda held: held.__setitem__(0, 5), id="bytearray"),
        pytest.param(array("d", [1.0]), lambda held: held.__setitem__(0, 5.0), id="array.array"),
        pytest.param(np.array([1.0, 2.0], object), lambda held: held.__setitem__(0, 5.0), id="object-array"),
    ],
)
def test_other_containers(held: Any, change: Any) -> None:
    follows(lambda x: x * sum(held), lambda: change(held))


# ---- attributes


def test_attributes_in_slots() -> None:
    @dataclass(slots=True)
    class Rate:
        rate: Any = 1.0

    class Private:
        __slots__ = ("__rate",)

        def __init__(self) -> None:
            self.__rate = 1.0

        def scaled(self, x: Any) -> Any:
            return x * self.__rate

        def change(self) -> None:
            self.__rate = 5.0

    rate, held, private = Rate(), Rate(np.ones(4)), Private()
    compiled = follows(lambda x: x * rate.rate, lambda: setattr(rate, "rate", 5.0))
    assert "rate.rate: 1.0 became 5.0" in compiled.explain()
    follows(lambda x: x * held.rate, lambda: setattr(held, "rate", np.full(4, 5.0)))
    follows(lambda x: private.scaled(x), private.change)
    follows(lambda x: x * getattr(rate, "rate", 7.0), lambda: delattr(rate, "rate"))


def test_attributes_that_were_not_there() -> None:
    def tried(x: Any) -> Any:
        try:
            return x * thing.missing  # type: ignore[attr-defined]
        except AttributeError:
            return x

    thing = Thing()
    follows(lambda x: x * 2 if hasattr(thing, "missing") else x, lambda: setattr(thing, "missing", 3.0))
    thing = Thing()
    follows(lambda x: x * getattr(thing, "missing", 1.0), lambda: setattr(thing, "missing", 3.0))
    thing = Thing()
    compiled = follows(tried, lambda: setattr(thing, "missing", 3.0))
    assert "thing.missing is new" in compiled.explain()
    compiled = follows(lambda x: thing.scaled(x), lambda: setattr(thing, "rate", 3.0))
    assert "thing.rate is new" in compiled.explain()
    follows(lambda x: thing.scaled(x), lambda: setattr(thing, "unrelated", 3.0), traces=1)


def test_attributes_of_classes_that_were_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    derived = Derived()
    follows(
        lambda x: x * getattr(Derived, "missing", 1.0),
        lambda: monkeypatch.setattr(Derived, "missing", 3.0, raising=False),
    )
    follows(lambda x: derived.scaled(x), lambda: monkeypatch.setattr(Derived, "rate", 3.0))
    follows(
        lambda x: derived.scaled(x), lambda: monkeypatch.setattr(Derived, "scaled", lambda self, x: x * 5)
    )
    follows(lambda x: derived(x), lambda: monkeypatch.setattr(Thing, "__call__", lambda self, x: x * 5))


# ---- functions


def test_what_a_function_has() -> None:
    def scaled(x: Any, factor: float = 1.0, *, shift: float = 0.0) -> Any:
        return x * factor + shift + scaled.extra  # type: ignore[attr-defined]

    scaled.extra = 0.0  # type: ignore[attr-defined]
    function = lambda x: scaled(x)  # noqa: E731
    follows(function, lambda: setattr(scaled, "extra", 3.0))
    follows(function, lambda: setattr(scaled, "__defaults__", (5.0,)))
    follows(function, lambda: scaled.__kwdefaults__.update(shift=3.0))
    follows(function, lambda: setattr(scaled, "__kwdefaults__", {"shift": 4.0}))
    follows(function, lambda: setattr(scaled, "__defaults__", (float("5"),)), traces=1)


def test_a_function_whose_code_was_replaced() -> None:
    def helper(x: Any) -> Any:
        return x * 2

    def better(x: Any) -> Any:
        return x * 7

    follows(lambda x: helper(x), lambda: setattr(helper, "__code__", better.__code__))


@functools.singledispatch
def dispatched(x: Any) -> Any:
    return x * 2


@dispatched.register(np.ndarray)
def _(x: Any) -> Any:
    return x * 3


def test_single_dispatch() -> None:
    follows(lambda x: dispatched(x), lambda: None, traces=1)


# ---- what the trace itself leaves behind


def remembered(x: Any, cache: dict[str, Any]) -> Any:
    if "k" not in cache:
        cache["k"] = np.arange(4.0)
    return x * cache["k"]


class Lazy:
    def __init__(self) -> None:
        self.table: Any = None

    @functools.cached_property
    def cached(self) -> Any:
        return np.arange(4.0)

    def filled(self, x: Any) -> Any:
        if self.table is None:
            self.table = np.arange(4.0)
        return x * self.table


def test_what_a_trace_fills_is_guarded_from_then_on() -> None:
    nine = np.full(4, 9.0)
    for kind in (dict, OrderedDict):
        for change in (
            lambda cache: cache.update(k=nine),
            lambda cache: cache["k"].__setitem__(..., nine),
            lambda cache: cache.clear() or cache.update(k=nine),
        ):
            cache = kind()
            function = functools.partial(remembered, cache=cache)
            compiled = tl.compile(function)
            np.testing.assert_array_equal(compiled(X), X * np.arange(4.0))
            np.testing.assert_array_equal(compiled(X), X * np.arange(4.0))
            assert compiled.stats.traces == 1
            change(cache)
            np.testing.assert_array_equal(compiled(X), X * 9)
            np.testing.assert_array_equal(compiled(X), X * 9)
            assert compiled.stats.traces == 2
    lazy, tables = Lazy(), {}  # type: ignore[var-annotated]
    missing: Any = defaultdict(lambda: np.arange(4.0))
    for function, held in (
        (lambda x: lazy.filled(x), lambda: lazy.table),
        (lambda x: x * lazy.cached, lambda: lazy.cached),
        (lambda x: x * tables.setdefault("w", np.arange(4.0)), lambda: tables["w"]),
        (lambda x: x * missing["w"], lambda: missing["w"]),
    ):
        compiled = tl.compile(function)
        np.testing.assert_array_equal(compiled(X), X * np.arange(4.0))
        held()[...] = 9
        np.testing.assert_array_equal(compiled(X), X * 9)
        np.testing.assert_array_equal(compiled(X), X * 9)
        assert compiled.stats.traces == 2


def test_what_is_counted_while_tracing_does_not_retrace() -> None:
    thing, calls, seen = Thing(0), [], set()  # type: ignore[var-annotated]

    def counts(x: Any) -> Any:
        thing.value += 1
        calls.append(len(calls))
        seen.add(len(seen))
        return x * 2

    compiled = tl.compile(counts)
    for _ in range(3):
        compiled(X)
    assert (thing.value, calls, seen) == (1, [0], {0})


# ---- arrays that Python alone looks at


def test_larger_arrays_that_python_looks_at() -> None:
    table = np.arange(100_000.0)
    for function in (
        lambda x: x if table[0] > 3 else -x,
        lambda x: x + float(table[0]),
        lambda x: x[int(table[0]) % 3 :],
        lambda x: x * float(table.max()),
    ):
        table[0] = 1
        compiled = follows(function, lambda: table.__setitem__(0, 1e6 + 1))
        assert "its content changed, and Python looked at it" in compiled.explain()
    strided = np.arange(40.0).reshape(5, 8)[:, ::2]
    follows(lambda x: x if strided[0, 0] > 3 else -x, lambda: strided.__setitem__((0, 0), 100))
