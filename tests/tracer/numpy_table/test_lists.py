"""Lists where NumPy takes an array, beside a closed-over array.

What NumPy makes of a list, out of the trace's sight, looks like an array derived from the closed-over one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

GRID = np.array([1.0, 2.0, 4.0])
MASK = [True, False, True]
MEANS: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: np.mean(x, where=MASK),
    "var": lambda x: np.var(x, where=MASK, ddof=1),
    "std": lambda x: np.std(x, where=MASK),
    "given mean": lambda x: np.std(x, where=MASK, mean=np.mean(x, where=MASK, keepdims=True)),
    "method": lambda x: x.mean(where=MASK) + x.var(where=MASK) + x.std(where=MASK),
    "nested": lambda x: np.mean(np.outer(x, x), axis=0, where=[[True], [False], [True]]),
    "one truth value": lambda x: np.mean(x, where=[True]),
    "sum": lambda x: np.sum(x, where=MASK),
    "of the array": lambda x: np.mean(x, where=[GRID[0] > 0, True, False]),
    "array": lambda x: np.mean(x, where=np.greater(GRID, 1)),
}
OTHERS: dict[str, Callable[[Any], Any]] = {
    "append": lambda x: np.append(x, [1.0])[:3],
    "append an element": lambda x: np.append(x, [GRID[0]])[1:],
    "append traced": lambda x: np.append(x, [x[0], 1])[:3],
    "append rows": lambda x: np.append(np.outer(x, x), [[1, 2, 3]], axis=0)[0],
    "select": lambda x: np.select([MASK], [x], [5.0, 6.0, 7.0]),
    "select an element": lambda x: np.select([x > 1], [[GRID[0], 2.0, 3.0]]),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("function", [*MEANS.values(), *OTHERS.values()], ids=[*MEANS, *OTHERS])
def test_lists_beside_a_closed_over_array(function: Callable[[Any], Any], executor: str) -> None:
    def program(x: Any) -> Any:
        return function(x) * np.multiply(GRID, 2) + np.sum(GRID)

    compiled, first = tl.compile(program, executor=executor), GRID[0]
    x = np.array([1.0, 5.0, 2.0])
    with np.errstate(all="ignore"):
        try:
            for _ in range(3):
                np.testing.assert_allclose(compiled(x), program(x), rtol=1e-14)
            GRID[0] = -3.0
            np.testing.assert_allclose(compiled(x), program(x), rtol=1e-14)
        finally:
            GRID[0] = first
