"""Random elementwise programs of choices and of functions with poles: what is dead never shows.

Every element has a derivative of its own, judged by differences of plain NumPy at that element alone,
whatever NaN the branches not taken hold. (An inf that is alive and then flattened, as in tanh(exp(1000)), is
no matter of branches: its derivative is 0 times inf.)
"""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import tapeless as tl

X = np.array([-1.37, -0.41, 0.33, 0.92, 1.71, 3.2])
STEPS = np.array([-2.0, -1.0, 1.0, 2.0])
# Poles are moved off the numbers that programs make by themselves, 0 and 1, where a live element has none.
SMOOTH = {
    "sqrt": lambda x: np.sqrt(x + 0.017),
    "log": lambda x: np.log(x + 0.019),
    "quotient": lambda x: 2 / (x * x + 0.05),
    "root": lambda x: (x + 0.023) ** 0.5,
    "arcsin": lambda x: np.arcsin(0.97 * x),
    "power": lambda x: x**1.7,
    "tanh": np.tanh,
    "square": lambda x: x * x,
    "norm": lambda x: np.sqrt(x * x + 1),
    "sigmoid": lambda x: 1 / (1 + np.exp(-3 * x)),
    "scaled": lambda x: 0.5 * x - 0.3,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "absolute": lambda x: np.abs(x) ** 1.5,
}
CHOICES = {
    "above": lambda x, a, b: np.where(x > 0.5, a, b),
    "below": lambda x, a, b: np.where(x < 0.1, a, b),
    "finite": lambda x, a, b: np.where(np.isfinite(a), a, b),
    "maximum": lambda x, a, b: np.maximum(a, -0.7),
    "clip": lambda x, a, b: np.clip(b, -0.6, 0.83),
    "fmin": lambda x, a, b: np.fmin(a, b + 0.11),
    "written": lambda x, a, b: written(x, a, b),
}
BOTH = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / (b + 0.013),
    "subtract": lambda a, b: a - b,
}


def written(x: Any, a: Any, b: Any) -> Any:
    result = a + 0.0
    result[x > 1.0] = 0.25
    return result


Step = tuple[str, int, int]


def program(x: Any, steps: list[Step]) -> Any:
    """Each step takes values counted from the latest."""
    values = [x]
    for name, first, second in steps:
        a, b = values[-1 - first % len(values)], values[-1 - second % len(values)]
        if name in SMOOTH:
            values.append(SMOOTH[name](a))
        elif name in CHOICES:
            values.append(CHOICES[name](x, a, b))
        else:
            values.append(BOTH[name](a, b))
    return np.where(np.isfinite(values[-1]), values[-1], 0.0)


def slopes(steps: list[Step], step: float) -> Any:
    values = [program(X + k * step, steps) for k in STEPS]
    return (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * step)


NAMES = st.sampled_from([*SMOOTH, *CHOICES, *CHOICES, *BOTH])
PLACES = st.sampled_from([0, 0, 0, 1, 1, 2, 3])


@given(steps=st.lists(st.tuples(NAMES, PLACES, PLACES), min_size=2, max_size=10))
def test_random_programs(steps: list[Step]) -> None:
    with np.errstate(all="ignore"):
        around = [program(X + k * h, steps) for k in (-2, 0, 2) for h in (1e-4, 2e-3)]
        wide, narrow = slopes(steps, 3e-5), slopes(steps, 1e-5)
        bent = kinked(steps)
        gradient = tl.grad(lambda x: np.sum(program(x, steps)))(X)
    size = np.max(np.abs(around), axis=0)
    alike = np.isclose(wide, narrow, rtol=1e-6, atol=1e-7 * np.maximum(1, size))
    judged = alike & (size < 1e3) & (np.abs(narrow) < 1e4) & ~bent
    np.testing.assert_allclose(
        gradient[judged], narrow[judged], rtol=1e-4, atol=1e-5 * max(1.0, float(np.max(size, initial=1)))
    )


def kinked(steps: list[Step]) -> Any:
    """Elements where two one-sided slopes differ, or where the result jumps."""
    values = [program(X + k * 1e-3, steps) for k in (-2, -1, 0, 1, 2)]
    bends = np.abs(values[0] - 4 * values[1] + 6 * values[2] - 4 * values[3] + values[4])
    return ~(bends < 1e-6 * (1 + np.max(np.abs(values), axis=0)))
