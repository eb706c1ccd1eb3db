"""Products with one row, column or term as fused sums, and long sums in parts: what the graphs become."""

from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.ir import Graph
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.passes.parts import block_length, split_sums
from tapeless.compiler.passes.vectors import lower_vectors
from tapeless.runtime.interpret import interpret


def product(left: Any, right: Any, dtype: str = "f64") -> Graph:
    def text(shape: tuple[int, ...]) -> str:
        return f"{dtype}[{','.join(map(str, shape))}]"

    result = (*left[:-1], right[-1])
    return parse(
        f"graph @f(%x: {text(left)}, %y: {text(right)}) {{ %0: {text(result)} = matmul %x, %y return %0 }}"
    )


def ops(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes if node.op.name not in ("param", "constant")]


@pytest.mark.parametrize(
    ("left", "right", "wanted"),
    [
        ((5, 7), (7, 1), ["reshape", "broadcast", "sum_products", "reshape"]),
        ((1, 7), (7, 5), ["reshape", "broadcast", "sum_products", "reshape"]),
        ((1, 7), (7, 1), ["reshape", "reshape", "sum_products", "reshape"]),
        ((5, 1), (1, 6), ["reshape", "broadcast", "reshape", "broadcast", "multiply"]),
        ((1, 1), (1, 1), ["reshape", "broadcast", "reshape", "broadcast", "multiply"]),
        ((3, 5, 7), (3, 7, 1), ["reshape", "broadcast", "sum_products", "reshape"]),
        ((1, 5, 7), (1, 7, 1), ["reshape", "reshape", "broadcast", "sum_products", "reshape"]),
        ((5, 7), (7, 2), ["matmul"]),
        ((0, 7), (7, 1), ["matmul"]),
        ((5, 0), (0, 1), ["matmul"]),
    ],
    ids=str,
)
def test_which_products_become_sums(left: Any, right: Any, wanted: list[str]) -> None:
    graph = product(left, right)
    lowered = lower_vectors(graph)
    assert ops(lowered) == wanted
    values = [np.random.default_rng(k).normal(size=shape) for k, shape in enumerate((left, right))]
    np.testing.assert_allclose(interpret(lowered, values)[0], interpret(graph, values)[0], rtol=1e-13)


@pytest.mark.parametrize("dtype", ["i64", "c128", "f16"])
def test_products_of_other_dtypes_stay(dtype: str) -> None:
    assert ops(lower_vectors(product((5, 7), (7, 1), dtype))) == ["matmul"]


TRANSPOSED = """
graph @f(%x: f64[9,4], %y: f64[9,1]) {
  %0: f64[4,9] = transpose %x {axes=(1, 0)}
  %1: f64[4,1] = matmul %0, %y
  return %1
}
"""


def test_a_transposed_matrix_is_summed_as_it_lies() -> None:
    lowered = lower_vectors(parse(TRANSPOSED))
    assert "transpose" not in ops(lowered)
    (node,) = [node for node in lowered.nodes if node.op.name == "sum_products"]
    assert (node.inputs[0].op.name, node.attrs["axes"]) == ("param", (0,))
    values = [np.random.default_rng(k).normal(size=s) for k, s in enumerate(((9, 4), (9, 1)))]
    np.testing.assert_allclose(interpret(lowered, values)[0], values[0].T @ values[1], rtol=1e-13)


def summed(shape: tuple[int, ...], axes: tuple[int, ...], op: str = "sum", dtype: str = "f64") -> Graph:
    def text(shape: tuple[int, ...]) -> str:
        return f"{dtype}[{','.join(map(str, shape))}]"

    result = tuple(n for axis, n in enumerate(shape) if axis not in axes)
    operands = "%x" if op == "sum" else "%x, %x"
    tail = f", dtype={dtype}" if op == "sum" else ""
    node = f"%0: {text(result)} = {op} {operands} {{axes={axes}{tail}}}"
    return parse(f"graph @f(%x: {text(shape)}) {{ {node} return %0 }}")


@pytest.mark.parametrize(
    ("shape", "axes", "op", "cut"),
    [
        ((400_000,), (0,), "sum", False),
        ((2_000, 200), (0, 1), "sum", False),
        ((2_000, 100), (0,), "sum", True),
        ((300, 100), (0,), "sum", True),
        ((150, 100), (0,), "sum", False),
        ((2_000, 100), (1,), "sum", False),
        ((100, 2_000), (1,), "sum_products", False),
        ((20, 10_000), (1,), "sum_products", True),
        ((100, 2_000), (1,), "sum", False),
        ((2_000, 2_000), (1,), "sum_products", False),
        ((100, 10_000), (0,), "sum", False),
    ],
    ids=str,
)
def test_which_sums_are_cut(shape: Any, axes: Any, op: str, cut: bool) -> None:
    graph = summed(shape, axes, op)
    assert (ops(split_sums(graph))[0] == "partial_sum") == cut


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_a_sum_in_parts_is_the_sum(dtype: str) -> None:
    graph = summed((70_001, 7), (0,), "sum", dtype)
    parts = split_sums(graph)
    value = np.random.default_rng(0).normal(size=(70_001, 7)).astype("f4" if dtype == "f32" else "f8")
    wanted = np.abs(value.astype("f8")).sum(axis=0)
    error = np.abs(interpret(parts, [value])[0] - value.astype("f8").sum(axis=0))
    assert np.all(error <= 4 * np.finfo(value.dtype).eps * wanted)
    assert parts.outputs[0].dtype == value.dtype


BOTH = """
graph @f(%x: f64[3000,100], %y: f64[3000], %z: f64[2999]) {
  %0: f64[100] = sum %x {axes=(0,), dtype=f64}
  %1: f64[] = sum %y {axes=(0,), dtype=f64}
  %2: f64[] = sum %x {axes=(0, 1), dtype=f64}
  %3: f64[] = sum %z {axes=(0,), dtype=f64}
  return %0, %1, %2, %3
}
"""


def test_sums_of_everything_join_sums_over_rows() -> None:
    cut = split_sums(parse(BOTH))
    blocks = [node for node in cut.nodes if node.op.name == "partial_sum"]
    assert [(node.inputs[0].shape, node.attrs["axes"]) for node in blocks] == [
        ((3000, 100), (0,)),
        ((3000,), (0,)),
        ((3000, 100), (0, 1)),
    ]
    assert {(node.attrs["axis"], node.attrs["size"]) for node in blocks} == {(0, 128)}


@pytest.mark.parametrize("length", [128, 129, 2_048, 2_049, 100_000, 10**9 + 7])
def test_blocks_are_multiples_of_a_step_and_about_as_many_as_wanted(length: int) -> None:
    size = block_length(length)
    assert size % 64 == 0
    assert 2 <= -(-length // size) <= 32


def fused(function: Any, *args: Any) -> list[Any]:
    plan = tl.compile(function, executor="native").plan(*args)
    assert not any(step.node.op.name in ("matmul", "sum_products") for step in plan.steps)
    return [step.node for step in plan.steps if step.node.op.name == "fused"]


def inside(node: Any) -> list[str]:
    return [n.op.name for n in node.attrs["body"].graph.nodes if n.op.name not in ("param", "constant")]


def test_forward_and_backward_of_a_matrix_are_one_kernel() -> None:
    def objective(w: Any, x: Any, y: Any) -> Any:
        return np.mean(np.logaddexp(0, -(x @ w) * y))

    first, *others = fused(tl.value_and_grad(objective), np.zeros(100), np.zeros((3000, 100)), np.zeros(3000))
    found = inside(first)
    assert found.count("sum_products") == 1
    assert found.count("partial_sum") == 2
    assert first.attrs["row"] == 0
    assert all(not any(x.shape == (3000, 100) for x in node.inputs) for node in others)


def test_features_first_fuses_as_well() -> None:
    def objective(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(w @ x))

    x = np.zeros((50, 20_000))
    first, *others = fused(tl.value_and_grad(objective), np.zeros(50), x)
    assert first.attrs["row"] == 1
    assert inside(first).count("partial_sum") == 2
    assert all(not any(operand.shape == x.shape for operand in node.inputs) for node in others)


def test_elementwise_work_joins_the_product() -> None:
    (node,) = fused(lambda x, w, b: np.tanh(x @ w + b) * 2, np.zeros((30, 20)), np.zeros(20), np.zeros(30))
    assert inside(node).count("tanh") == 1
