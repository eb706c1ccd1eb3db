"""What the tests of robustness share: a chain of elementwise operations, and arrays of every kind."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def chain() -> Callable[[int], Callable[[Any], Any]]:
    """`chain(n)` is a function of one array that does n elementwise operations, one on the other."""

    def make(length: int) -> Callable[[Any], Any]:
        def chained(x: Any) -> Any:
            for step in range(length):
                x = x * 1.0001 if step % 2 else x + 0.5
            return x

        return chained

    return make


def misaligned(array: Any) -> Any:
    """The array one byte off its alignment."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    made = np.ndarray(array.shape, array.dtype, memory, 1)
    made[...] = array
    return made


def read_only(array: Any) -> Any:
    """The array, not to be written to."""
    made = array.copy()
    made.flags.writeable = False
    return made


KINDS: dict[str, Callable[[Any], Any]] = {
    "c_order": lambda a: a.copy(),
    "fortran": np.asfortranarray,
    "strided": lambda a: np.repeat(np.repeat(a, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda a: np.flip(a).copy()[::-1, ::-1],
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape),
    "byte_swapped": lambda a: a.astype(a.dtype.newbyteorder()),
    "misaligned": misaligned,
    "read_only": read_only,
    "zero_d": lambda a: np.array(a[0, 0]),
    "empty": lambda a: a[:0].copy(),
    "empty_inside": lambda a: a[:, :0].copy(),
    "one_element": lambda a: a[:1, :1].copy(),
    "of_bytes": lambda a: np.frombuffer(a.tobytes(), a.dtype).reshape(a.shape),
}


@pytest.fixture(params=list(KINDS))
def kind(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A way of laying an array of two axes in memory."""
    return KINDS[request.param]
