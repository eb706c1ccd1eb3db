"""Sums and products follow the memory of the array that is summed, also after all of it was written to."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl

LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "c": np.array,
    "fortran": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "reversed": lambda a: np.flip(np.flip(a).copy()),
    "gaps": lambda a: np.repeat(np.repeat(a, 2, 0), 2, 1)[::2, ::2],
}


def sums(x: Any) -> Any:
    return x.sum(), x.sum(0), x.sum(1), x.mean(), np.std(x), x.var(0), x.ravel("K").sum(), np.linalg.norm(x)


def in_place(x: Any, y: Any) -> Any:
    x -= y
    return sums(x)


def assigned(x: Any, y: Any) -> Any:
    x[...] = y
    x *= 2
    return sums(x[1:])


def through_out(x: Any, y: Any) -> Any:
    np.add(x, y, out=x)
    return sums(x * 2)


def through_flat(x: Any, y: Any) -> Any:
    x.flat = y
    return sums(x)


def under_masks(x: Any, y: Any) -> Any:
    x[x > 0] = 0
    x[y > 0] *= 2
    return sums(x)


def sorted_in_place(x: Any, y: Any) -> Any:
    np.copyto(x, y)
    x.sort(0)
    return sums(x)


def made_and_filled(x: Any, y: Any) -> Any:
    like = np.empty_like(x)
    like[...] = y
    like += y
    fortran = np.zeros(x.shape, order="F")
    fortran += y
    return like, like @ like.T, sums(like), fortran, sums(fortran)


def vector_products(x: Any, y: Any) -> Any:
    row, column = x[3], y[:17, 2]
    return (
        np.vdot(x, x),
        np.vdot(row, column),
        row @ column,
        np.dot(column, column),
        np.vdot(x[:, ::2], x[:, ::2]),
    )


def leaves(tree: Any) -> list[Any]:
    return [leaf for item in tree for leaf in leaves(item)] if isinstance(tree, tuple) else [tree]


@pytest.mark.parametrize("executor", ["numpy", "interpret"])
@pytest.mark.parametrize("other", LAYOUTS)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "program",
    [
        in_place,
        assigned,
        through_out,
        through_flat,
        under_masks,
        sorted_in_place,
        made_and_filled,
        vector_products,
    ],
)
def test_bits(program: Callable[..., Any], layout: str, other: str, executor: str) -> None:
    compiled = tl.compile(program, executor=executor)
    for seed in range(3):
        first, second = np.random.default_rng(seed).normal(size=(2, 33, 17))
        mine, its = (LAYOUTS[layout](first) for _ in range(2))
        y = LAYOUTS[other](second)
        for expected, found in zip(leaves(program(mine, y)), leaves(compiled(its, y)), strict=True):
            assert found.strides == expected.strides
            assert found.tobytes() == expected.tobytes()
        assert its.tobytes() == mine.tobytes()
