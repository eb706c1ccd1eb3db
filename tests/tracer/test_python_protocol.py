"""What Python asks of values: sequences, None, hashing, pickling, copies, exceptions as control flow."""

import copy
import functools
import itertools
import operator
import pickle
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tapeless as tl

TABLE = np.arange(4.0)


def vectors(seed: int) -> tuple[Any, ...]:
    return (np.random.default_rng(seed).normal(size=4),)


def compared_with_none(x: Any) -> Any:
    return x == None, x != None, x[0] == None, x[0] != None, np.asarray(x[0]) == None, x is None  # noqa: E711


def repeated_sequences(x: Any) -> Any:
    n, i = np.int64(2), x.astype(int).size
    return [x[0]] * 2, (1, x) * i, "ab" * n, [0] * np.arange(3)[2], 2 * [x]


def builtins_that_work(x: Any) -> Any:
    return (
        sum(x),
        abs(-x),
        divmod(x, 2),
        pow(x, 2),
        round(x[0], 2),
        len(x),
        [*reversed(x)],
        list(zip(x, x * 2, strict=True))[1],
        dict(enumerate(x))[2],
        list(map(np.sin, x))[1],
        functools.reduce(operator.mul, x),
        list(itertools.accumulate(x)),
    )


def containers_of_its_own(x: Any) -> Any:
    groups: dict[int, list[Any]] = defaultdict(list)
    for i, value in enumerate(x):
        groups[i % 2].append(value)

    @dataclass
    class Pair:
        first: Any
        second: Any

    pair = Pair(x, x * 2)
    pair.first = pair.first + 1
    return {k: sum(v) for k, v in groups.items()}, pair.first, pair.second


def copies(x: Any) -> Any:
    a, b = copy.copy(x), copy.deepcopy({"x": x, "again": [x]})
    a += 1
    b["x"] += 2
    return a, b["x"], b["again"][0], x, copy.deepcopy(x[0])


def exceptions_as_control_flow(x: Any) -> Any:
    attempts: list[Callable[[Any], Any]] = [
        lambda x: x[10],
        lambda x: x + np.zeros(5),
        lambda x: x.nothing,
        lambda x: x.reshape(3, 3),
    ]
    for attempt in attempts:
        try:
            return attempt(x)
        except (IndexError, ValueError, AttributeError):
            x = x * 2
    return x, hasattr(x, "shape"), hasattr(x, "nothing"), getattr(x, "nothing", 3)


def recursion_and_memo(x: Any) -> Any:
    memo: dict[int, Any] = {}

    def fibonacci(n: int) -> Any:
        if n not in memo:
            memo[n] = x * n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)
        return memo[n]

    return fibonacci(6)


def prototypes_from_outside(x: Any) -> Any:
    return np.full_like(TABLE, x[0]), np.zeros_like(TABLE) + x, np.ones_like(TABLE, shape=2) * x[1]


@pytest.mark.parametrize(
    "function",
    [
        compared_with_none,
        repeated_sequences,
        builtins_that_work,
        containers_of_its_own,
        copies,
        exceptions_as_control_flow,
        recursion_and_memo,
        prototypes_from_outside,
    ],
)
def test_python_means_what_it_means(function: Any, agree: Callable[..., None]) -> None:
    agree(function, vectors)


def test_python_numbers_repeat_sequences_and_become_static() -> None:
    compiled = tl.compile(lambda n, x: ([0] * n, n * (x,), "a" * n))
    for n in (1, 2):
        assert compiled(n, 3.0) == ([0] * n, n * (3.0,), "a" * n)
    assert compiled.stats.traces == 2
    for wrong in (lambda s: operator.add([0], s), lambda s: [0] * s, lambda s: "a" + s):
        with pytest.raises(TypeError):
            tl.compile(wrong)(2.5)


def test_constants_are_pickled_as_the_arrays_they_are() -> None:
    seen: list[Any] = []

    def store(x: Any) -> Any:
        seen.append(pickle.loads(pickle.dumps((np.arange(3), np.zeros(2)[0]))))
        return x

    tl.compile(store)(1.0)
    array, scalar = seen[0]
    assert type(array) is np.ndarray
    assert array.tolist() == [0, 1, 2]
    assert type(scalar) is np.float64
    with pytest.raises(tl.TapelessError, match="pickle"):
        tl.compile(lambda x: (pickle.dumps(x), x))(np.ones(2))
