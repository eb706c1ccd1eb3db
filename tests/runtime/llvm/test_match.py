"""The native check of a call's arrays: True for arrays like the examples that share no memory, else False."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from tapeless.runtime.llvm.match import MOST_ARRAYS, matcher


class MyArray(np.ndarray):
    pass


def locked(array: Any) -> Any:
    array.flags.writeable = False
    return array


EXAMPLES = {
    "plain": lambda: np.ones((2, 3)),
    "transposed": lambda: np.ones((2, 3)).T,
    "reversed": lambda: np.ones((2, 3))[:, ::-1],
    "step": lambda: np.ones((2, 6))[:, ::2],
    "narrow": lambda: np.ones((2, 3), np.float32),
    "integer": lambda: np.ones((2, 3), np.int64),
    "unsigned": lambda: np.ones((2, 3), np.uint64),
    "0-d": lambda: np.array(1.0),
    "1-d": lambda: np.ones(6),
    "longer": lambda: np.ones((2, 3, 1)),
    "empty": lambda: np.ones((0, 3)),
    "locked": lambda: locked(np.ones((2, 3))),
}
OTHERS = {
    "none": lambda: None,
    "number": lambda: 1.0,
    "scalar": lambda: np.float64(1),
    "list": lambda: [1.0],
    "text": lambda: "text",
    "class": lambda: np.ndarray,
    "subclass": lambda: np.ones((2, 3)).view(MyArray),
    "masked": lambda: np.ma.ones((2, 3)),
    "byte order": lambda: np.ones((2, 3), ">f8"),
    "foreign": lambda: np.frombuffer(bytearray(48)).reshape(2, 3),
}


def match(*examples: Any) -> Any:
    made = matcher(examples)
    assert made is not None
    return made


@pytest.mark.parametrize("name", EXAMPLES)
def test_only_arrays_of_the_kind_match(name: str) -> None:
    same = match(EXAMPLES[name]())
    for other, make in {**EXAMPLES, **OTHERS}.items():
        assert same(make()) is (other == name), other


def test_many_arrays_are_all_looked_at() -> None:
    makers = list(EXAMPLES.values())
    same = match(*(make() for make in makers))
    assert same(*(make() for make in makers))
    for place in range(len(makers)):
        arrays = [make() for make in makers]
        arrays[place] = np.ones((4, 4))
        assert not same(*arrays)


def test_shared_memory_is_no_match() -> None:
    same = match(np.ones(4), np.ones(4), np.ones(4))
    data, other = np.ones(12), np.ones(4)
    one = np.ones(4)
    assert same(data[:4], other, one)
    assert same(one, data[4:8], other)
    assert not same(one, one, other)
    assert not same(one, other, one[:])
    assert not same(data[:4], other, data[4:8])
    assert not same(one[::1], other, one)


def test_views_of_subclasses_and_foreign_memory_are_no_match() -> None:
    same = match(np.ones(4))
    assert same(np.ones(9)[2:6])
    assert not same(np.asarray(MyArray(4)))
    assert not same(np.frombuffer(bytearray(32)))
    assert not same(np.lib.stride_tricks.as_strided(np.ones(4), (4,), (8,)))


def test_no_matcher_for_too_many_arrays() -> None:
    assert matcher([np.ones(1)] * (MOST_ARRAYS + 1)) is None
    assert matcher([]) is None
    arrays = [np.ones(1) for _ in range(MOST_ARRAYS)]
    same = match(*arrays)
    assert same(*arrays)
    assert not same(*arrays[:-1], arrays[0])


def test_nothing_is_leaked_or_let_go() -> None:
    same = match(np.ones(3), np.ones(3))
    one, two = np.ones(3), np.ones(3)
    before = [sys.getrefcount(thing) for thing in (one, two, True, False)]
    for _ in range(1000):
        same(one, two)
        same(one, one)
    assert [sys.getrefcount(thing) for thing in (one, two)] == before[:2]
    assert all(
        abs(sys.getrefcount(thing) - count) < 100
        for thing, count in zip((True, False), before[2:], strict=True)
    )


def test_a_matcher_keeps_its_table() -> None:
    made = [match(np.ones((k, 2))) for k in range(200)]
    gc.collect()
    junk = [bytes(64) for _ in range(1000)]
    assert all(same(np.ones((k, 2))) and not same(np.ones((k + 1, 2))) for k, same in enumerate(made))
    assert len(junk) == 1000
