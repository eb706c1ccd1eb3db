"""Random programs over a matrix, numbers of its rows and of its columns: what fuses into passes over rows.

Sums are cut at lengths of a few rows here, so that small programs take every path.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapeless as tl
from tapeless.compiler.kernel import row_space
from tapeless.compiler.passes import parts


class Rows:
    """A program of a seed: run on arrays or on traced values, it does the same."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        rng = np.random.default_rng(seed)
        self.shape = int(rng.choice([1, 2, 5, 17, 40, 65, 130])), int(rng.choice([1, 2, 3, 8, 33, 70]))
        n, c = self.shape
        dtype = rng.choice(["f4", "f8", "f8"])
        kinds = [(n, c), (n, c), (n,), (n,), (c,), (c,)]
        self.arguments = [self.laid_out(rng, rng.normal(size=shape).astype(dtype)) for shape in kinds]
        self.tolerance = 2e-4 if dtype == "f4" else 1e-11

    @staticmethod
    def laid_out(rng: np.random.Generator, array: Any) -> Any:
        kind = rng.integers(5)
        if kind == 0:
            return np.asfortranarray(array)
        if kind == 1:
            return np.repeat(array, 2, axis=-1)[..., ::2]
        return array[::-1].copy()[::-1] if kind == 2 else array

    def __call__(self, *arguments: Any) -> Any:
        rng = np.random.default_rng(self.seed + 1)
        pools: dict[str, list[Any]] = {
            "full": [*arguments[:2]], "row": [*arguments[2:4]], "column": [*arguments[4:]]
        }  # fmt: skip
        results: list[Any] = []

        def pick(kind: str) -> Any:
            return pools[kind][-min(int(rng.geometric(0.4)), len(pools[kind]))]

        def unary(x: Any) -> Any:
            return [np.tanh, np.sin, np.negative, lambda v: np.exp(-v * v), lambda v: v / (1 + v * v)][
                int(rng.integers(5))
            ](x)

        def binary(x: Any, y: Any) -> Any:
            return [np.add, np.subtract, np.multiply, np.maximum][int(rng.integers(4))](x, y)

        for _ in range(int(rng.integers(3, 16))):
            step = int(rng.integers(14))
            if step < 2:
                kind = str(rng.choice(["full", "row", "row", "column"]))
                pools[kind].append(np.tanh(binary(pick(kind), pick(kind))) if step else unary(pick(kind)))
            elif step == 2:
                pools["full"].append(binary(pick("full"), pick("row")[:, None]))
            elif step == 3:
                pools["full"].append(binary(pick("full"), pick("column")))
            elif step == 4:
                pools["row"].append(pick("full").mean(axis=1))
            elif step == 5:
                pools["row"].append(pick("full").max(axis=1))
            elif step in (6, 7):
                pools["row"].append(np.tanh(pick("full") @ pick("column")))
            elif step == 8:
                pools["column"].append(np.tanh(pick("full").mean(axis=0)))
            elif step in (9, 10):
                results.append(pick("row") @ pick("full"))
            elif step == 11:
                results.append((pick("full") * pick("full")).sum(axis=0))
            elif step == 12:
                results.append((pick("row") * pick("row")).sum())
            else:
                results.append((pick("full") * pick("row")[:, None]).sum())
        return *results, *(pool[-1] for pool in pools.values() if rng.random() < 0.5), pick("row").sum()


def compared(seed: int) -> bool:
    """Whether the program of a seed gives natively what it gives in NumPy."""
    program = Rows(seed)
    wide = [a.astype("f8") for a in program.arguments]
    exact = program(*wide)
    found = tl.compile(program, executor="native")(*program.arguments)
    for one, two in zip(found, exact, strict=True):
        scale = max(1.0, float(np.abs(two).max()), np.sqrt(np.prod(program.shape)))
        np.testing.assert_allclose(np.asarray(one, "f8"), two, rtol=0, atol=program.tolerance * scale)
    return True


def cut_everything(patch: pytest.MonkeyPatch, seed: int) -> None:
    """Cut every sum that can be, in blocks and tiles of a few rows."""
    patch.setattr(parts, "STEP", [1, 4, 16][seed % 3])
    patch.setattr(parts, "PARTS", [2, 5][seed % 2])
    patch.setattr(parts, "LARGE", -1)
    patch.setattr(row_space, "LARGE", -1)
    patch.setattr(row_space, "FEWEST", [1, 4, 16][seed % 3])
    patch.setattr(row_space, "TILE", [64, 4096][seed % 2])


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_passes_over_rows(seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        cut_everything(patch, seed)
        compared(seed)


@settings(max_examples=20)
@given(st.integers(0, 2**32))
def test_programs_as_they_are_cut(seed: int) -> None:
    compared(seed)
