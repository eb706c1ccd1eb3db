"""The backward part loses its waste: whole texts where they are short, counts where they are long."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapeless.compiler import pipeline  # noqa: F401  (its rules fill the registry)
from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.passes.bisect import same_value
from tapeless.compiler.passes.differentiate import ones_like, pull_back
from tapeless.compiler.pipeline import optimize
from tapeless.runtime.interpret import interpret

F64 = np.dtype("f8")


def run(graph: Graph, values: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return interpret(graph, values)


def count(graph: Graph, op: str) -> int:
    return sum(node.op.name == op for node in graph.nodes)


def gradients(build: Callable[..., Node], **shapes: tuple[int, ...]) -> Graph:
    """The graph of all gradients of a scalar function of arrays."""
    b = Builder(Loc("f.py", 1, "f"))
    params = [b.param(name, array_type(shape, F64)) for name, shape in shapes.items()]
    loss = build(b, *params)
    found = pull_back(b, [loss], [ones_like(b, loss)], params)
    return Graph("gradients", tuple(params), tuple(ct for ct in found if ct is not None))


def mean(b: Builder, x: Node) -> Node:
    total = b.sum(x, axes=tuple(range(len(x.shape))), dtype=F64)
    return b.divide(total, b.constant(np.array(float(x.type.size))))  # type: ignore[union-attr]


def test_gradient_of_a_mean_is_one_number() -> None:
    assert str(optimize(gradients(mean, x=(8, 5)))) == (
        "graph @gradients(%x: f64[8,5]) {\n"
        "  %0: f64[] = constant {value=f64(0.025)}\n"
        "  %1: f64[8,5] = broadcast %0 {axes=(), shape=(8, 5)}\n"
        "  return %1\n"
        "}"
    )


def squared_error(b: Builder, x: Node, w: Node, c: Node, y: Node) -> Node:
    prediction = b.add(b.matmul(x, w), b.broadcast_to(c, y.shape))
    error = b.subtract(prediction, y)
    return mean(b, b.power(error, b.constant(2), form="array"))


def test_gradients_of_a_linear_regression() -> None:
    graph = optimize(gradients(squared_error, x=(20, 3), w=(3, 1), c=(1,), y=(20, 1)))
    assert str(graph) == (
        "graph @gradients(%x: f64[20,3], %w: f64[3,1], %c: f64[1], %y: f64[20,1]) {\n"
        "  %0: f64[20,1] = matmul %x, %w\n"
        "  %1: f64[20,1] = broadcast %c {axes=(1,), shape=(20, 1)}\n"
        "  %2: f64[20,1] = add %0, %1\n"
        "  %3: f64[20,1] = subtract %2, %y\n"
        "  %4: f64[] = constant {value=f64(0.1)}\n"
        "  %5: f64[20,1] = multiply %3, %4\n"
        "  %6: f64[1,3] = transpose %w {axes=(1, 0)}\n"
        "  %7: f64[20,3] = matmul %5, %6\n"
        "  %8: f64[3,20] = transpose %x {axes=(1, 0)}\n"
        "  %9: f64[3,1] = matmul %8, %5\n"
        "  %10: f64[1] = sum %5 {axes=(0,), dtype=f64}\n"
        "  %11: f64[20,1] = negative %5\n"
        "  return %7, %9, %10, %11\n"
        "}"
    )


def elements(b: Builder, x: Node) -> Node:
    """x[0] * x[1] + x[1] * x[2] + ..."""
    parts = [b.reshape(b.slice(x, start=(i,), size=(1,), step=(1,)), ()) for i in range(x.shape[0])]
    total = b.constant(np.array(0.0))
    for one, two in itertools.pairwise(parts):
        total = b.add(total, b.multiply(one, two))
    return total


def test_gradient_of_elements_writes_each_once() -> None:
    graph = optimize(gradients(elements, x=(30,)))
    assert count(graph, "write") == 30
    assert all(node.type.size == 1 for node in graph.nodes if node.op.name in ("add", "multiply"))  # type: ignore[union-attr]
    x = np.random.default_rng(0).normal(size=30)
    expected = np.concatenate([[0.0], x[:-1]]) + np.concatenate([x[1:], [0.0]])
    np.testing.assert_allclose(run(graph, [x])[0], expected, rtol=1e-15)


def test_cost_of_many_elements_is_linear() -> None:
    """Each element costs a few nodes on scalars, and no array of the whole length but the first."""
    graph = optimize(gradients(elements, x=(400,)))
    assert len(graph.nodes) < 400 * 8


def rows_in_reverse(length: int) -> Graph:
    """What differentiating `out[t] = h` in a loop gives: each row is read, then zeroed."""
    b = Builder(Loc("f.py", 1, "f", backward=True))
    ct = b.param("ct", array_type((length, 4), F64))
    rest, rows = ct, []
    zeros = b.zeros(array_type((1, 4), F64))
    for t in reversed(range(length)):
        attrs = {"start": (t, 0), "size": (1, 4), "step": (1, 1)}
        rows.append(b.slice(rest, **attrs))
        rest = b.write(rest, zeros, path=(("slice", tuple(sorted(attrs.items()))),))
    return Graph("rows", (ct,), tuple(rows))


def test_reads_pass_by_writes_elsewhere() -> None:
    graph = optimize(rows_in_reverse(500))
    assert count(graph, "write") == 0
    assert all(row.inputs == graph.params for row in graph.outputs)


def shared_weight(b: Builder, x: Node, w: Node) -> Node:
    repeated = b.broadcast_to(w, (x.shape[0], *w.shape))
    return mean(b, b.tanh(b.matmul(x, repeated)))


def test_gradient_of_a_weight_shared_by_a_stack_is_one_product() -> None:
    graph = gradients(shared_weight, x=(6, 5, 3), w=(3, 4))
    better = optimize(graph)
    products = [str(node.type) for node in better.nodes if node.op.name == "matmul"]
    assert sorted(products) == ["f64[3,4]", "f64[30,3]", "f64[6,5,4]"]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(6, 5, 3)), rng.normal(size=(3, 4))]
    for one, two in zip(run(graph, values), run(better, values), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-12, atol=1e-14)


def test_forward_part_of_a_gradient_keeps_its_bits() -> None:
    """The value that stands beside gradients is NumPy's, whatever happens to these."""
    b = Builder(Loc("f.py", 1, "f"))
    x, w = (b.param(name, array_type(shape, F64)) for name, shape in (("x", (6, 5, 3)), ("w", (3, 4))))
    loss = shared_weight(b, x, w)
    graph = Graph(
        "both", (x, w), (loss, *[g for g in pull_back(b, [loss], [ones_like(b, loss)], [x, w]) if g])
    )
    rng = np.random.default_rng(1)
    values = [np.asfortranarray(rng.normal(size=(6, 5, 3))), rng.normal(size=(4, 3)).T]
    assert same_value(run(graph, values)[0], run(optimize(graph), values)[0])


def test_fast_math_reaches_the_forward_part() -> None:
    graph = parse(
        "graph @f(%x: f64[3]) { %0: f64[] = constant {value=f64(3.0)} %1: f64[3] = divide %x, %0 return %1 }"
    )
    assert count(optimize(graph), "divide") == 1
    assert count(optimize(graph, fast_math=True), "divide") == 0
