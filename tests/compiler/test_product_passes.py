"""Products that are added where their sum lies, and products cut along the summed axis."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.ir.node import Graph
from tapeless.compiler.passes.add_products import add_products
from tapeless.compiler.passes.split_products import split_products
from tapeless.compiler.passes.transpose_once import transpose_once
from tapeless.runtime.interpret import interpret
from tapeless.testing import count_ops

RNG = np.random.default_rng(0)


def traced(function: Callable[..., Any], *arrays: Any) -> Graph:
    graph = tl.compile(function).graph(*arrays)
    assert isinstance(graph, Graph)
    return graph


def agrees(graph: Graph, changed: Graph, arrays: list[Any]) -> None:
    for wanted, found in zip(interpret(graph, arrays), interpret(changed, arrays), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def normals(*shapes: tuple[int, ...]) -> list[Any]:
    return [RNG.normal(size=shape) for shape in shapes]


SUMS: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], int]] = {
    "update": (lambda w, x, g: w - 0.1 * (x.T @ g), [(4, 3), (5, 4), (5, 3)], 1),
    "on the left": (lambda w, x, g: x.T @ g + w, [(4, 3), (5, 4), (5, 3)], 1),
    "scaled on the right": (lambda w, x, g: w + (x.T @ g) * 2, [(4, 3), (5, 4), (5, 3)], 1),
    "two products": (lambda x, v, y, w: x @ v + y @ w, [(4, 3), (3, 2), (4, 5), (5, 2)], 1),
    "a difference": (lambda x, v, y, w: x @ v - y @ w, [(4, 3), (3, 2), (4, 5), (5, 2)], 1),
    "around a bias": (lambda x, v, b, y, w: x @ v + b + y @ w, [(4, 3), (3, 2), (2,), (4, 5), (5, 2)], 1),
    "many steps": (lambda x, w: x[0].T @ w[0] + x[1].T @ w[1] + x[2].T @ w[2], [(3, 3, 4), (3, 3, 2)], 2),
    "stacks": (lambda w, x, y: w + x @ y, [(2, 4, 3), (2, 4, 5), (2, 5, 3)], 1),
    "read twice": (lambda w, x, y: ((p := x @ y), w + p), [(4, 3), (4, 5), (5, 3)], 0),
    "broadcast": (lambda b, x, y: b + x @ y, [(3,), (4, 5), (5, 3)], 0),
    "a computed base": (lambda w, x, y: np.exp(w) + x @ y, [(4, 3), (4, 5), (5, 3)], 0),
    "no base": (lambda w, x, y: x @ y - w, [(4, 3), (4, 5), (5, 3)], 0),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
def test_sums_with_products(name: str) -> None:
    function, shapes, count = SUMS[name]
    arrays = normals(*shapes)
    graph = traced(function, *arrays)
    changed = add_products(graph)
    agrees(graph, changed, arrays)
    assert count_ops(changed)["add_matmul"] == count


def test_a_product_that_is_an_output_stays() -> None:
    arrays = normals((4, 3), (4, 5), (5, 3))
    graph = traced(lambda w, x, y: (x @ y, x @ y + w), *arrays)
    changed = add_products(graph)
    assert count_ops(changed)["add_matmul"] == 0
    agrees(graph, changed, arrays)


@pytest.mark.parametrize(
    ("rows", "depth", "columns", "parts"),
    [
        (8, 1024, 32, 4),
        (8, 1022, 32, 2),
        (8, 1021, 32, 1),
        (200, 1024, 32, 1),
        (8, 1024, 4, 1),
        (1, 1024, 32, 1),
    ],
)
def test_products_with_updated_weights_are_cut(rows: int, depth: int, columns: int, parts: int) -> None:
    arrays = normals((rows, depth), (depth, columns))
    graph = traced(lambda x, w: np.tanh(x @ w), *arrays)
    changed = split_products(graph, {graph.params[1]})
    (product,) = (node for node in changed.nodes if node.op.name == "matmul")
    assert product.shape == ((rows, columns) if parts == 1 else (parts, rows, columns))
    agrees(graph, changed, arrays)
    assert split_products(graph, set()) is graph


@pytest.mark.parametrize(("steps", "copies"), [(2, 0), (3, 1), (5, 1)])
def test_a_weight_read_transposed_many_times_is_transposed_once(steps: int, copies: int) -> None:
    def function(w: Any, x: Any) -> Any:
        for _ in range(steps):
            x = np.tanh(x @ w.T)
        return x @ w

    arrays = normals((4, 4), (3, 4))
    graph = traced(function, *arrays)
    changed = transpose_once(graph)
    assert count_ops(changed)["copy"] == copies
    agrees(graph, changed, arrays)
