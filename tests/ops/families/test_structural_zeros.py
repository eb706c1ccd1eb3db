"""An element that is not read stays without influence, whatever moved it about on the way.

Each function moves sqrt(x) at x = [0, 4] about and reads only what came from the 4: the infinite slope at 0
must not turn the zero cotangent of the other element into NaN.
"""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, Node

F8 = np.dtype("f8")


def pick(b: Builder, y: Node, *places: int) -> Node:
    return b.gather(y, b.constant(np.array(places)), axes=(0,))


def constant(b: Builder, *values: float) -> Node:
    return b.constant(np.array(values))


MOVES = {
    "concatenate": lambda b, y: pick(b, b.concatenate(y, y, axis=0), 1, 3),
    "pad": lambda b, y: pick(b, b.pad(y, b.constant(np.array(7.0)), before=(1,), after=(0,)), 2, 0, 2),
    "roll": lambda b, y: pick(b, b.roll(y, shift=(1,), axes=(0,)), 0, 0),
    "repeat": lambda b, y: pick(b, b.repeat(y, repeats=2, axis=0), 2, 3),
    "repeat_none": lambda b, y: b.repeat(y, repeats=(0, 2), axis=0),
    "take": lambda b, y: b.take(y, b.constant(np.array([1, -1])), axis=0, mode="raise"),
    "scatter": lambda b, y: b.scatter(y, constant(b, 5.0), b.constant(np.array([0])), axes=(0,)),
    "scatter_values": lambda b, y: pick(
        b, b.scatter(constant(b, 1.0, 2.0), y, b.constant(np.array([1, 0])), axes=(0,)), 0, 0
    ),
    "scatter_last": lambda b, y: b.scatter(constant(b, 1.0), y, b.constant(np.array([0, 0])), axes=(0,)),
    "scatter_add": lambda b, y: pick(
        b, b.scatter_add(constant(b, 1.0, 1.0), y, b.constant(np.array([0, 1])), axes=(0,)), 1, 1
    ),
    "sort": lambda b, y: pick(b, b.sort(y, axis=0, kind=None), 1, 1),
    "partition": lambda b, y: pick(b, b.partition(y, kth=(0,), axis=0, kind="introselect"), 1, 1),
    "cummax": lambda b, y: pick(b, b.cummax(y, axis=0), 1, 1),
    "cumsum": lambda b, y: pick(b, b.cumsum(b.roll(y, shift=(1,), axes=(0,)), axis=0, dtype=F8), 0, 0),
    "max": lambda b, y: b.max(y, axes=(0,)),
    "nanmax": lambda b, y: b.nanmax(y, axes=(0,)),
    "choose": lambda b, y: b.choose(b.constant(np.array([1, 0])), y, constant(b, 1.0, 1.0), mode="raise"),
    "select": lambda b, y: b.select(b.constant(np.array([True, False])), constant(b, 1.0, 1.0), y),
    "gather_pairs": lambda b, y: b.gather(
        b.reshape(y, (1, 2)), b.constant(np.array([0, 0])), b.constant(np.array([1, 1])), axes=(0, 1)
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_is_not_read_does_not_poison(function: Any, name: str) -> None:
    f = function(lambda b, x: MOVES[name](b, b.sqrt(x)), [0.0, 4.0])
    ct = f.vjp()[0]
    assert ct[0] == 0
    assert 0 < ct[1] < np.inf
