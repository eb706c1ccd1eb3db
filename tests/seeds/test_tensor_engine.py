"""What a tensor engine built from scratch does, done by tracing: gradients as graph and as numbers."""

import networkx as nx
import numpy as np
import pytest

import tapeless as tl
from tapeless import testing

RNG = np.random.default_rng(7)
A = RNG.normal(size=(3, 3))
B = RNG.normal(size=(3, 3))


def test_operators_on_arrays_and_numbers() -> None:
    def f(a, b):
        return 2.0 * a, a * 3, a + b, a - b, a @ b, -a

    for plain, compiled in zip(f(A, B), tl.compile(f)(A, B), strict=True):
        np.testing.assert_array_equal(plain, compiled, strict=True)


def test_only_the_path_between_wrt_and_output_is_differentiated() -> None:
    def loss(w, x):
        return np.sum(np.tanh(x @ w) * np.exp(x).sum())

    graph = tl.compile(tl.grad(loss)).graph(np.ones((3, 2)), np.ones((4, 3)))
    backward = testing.count_ops(graph, backward=True)
    assert backward["matmul"] == 1, "x.T @ ct alone: no cotangent of x"
    assert testing.count_ops(graph)["exp"] == 1
    assert backward["exp"] == 0, "exp(x) does not depend on w"


def test_the_graph_is_acyclic_with_operations_as_nodes_and_operands_as_edges() -> None:
    graph = tl.trace(lambda a, b: (a @ b) * (a + b), A, B).to_networkx()
    assert nx.is_directed_acyclic_graph(graph)
    ops = sorted(data["op"] for _, data in graph.nodes(data=True))
    assert ops == ["add", "matmul", "multiply", "param", "param"]
    assert graph.number_of_edges() == 6


def test_backward_of_an_array_starts_from_the_cotangent_given() -> None:
    value, pullback = tl.vjp(lambda x: x * x, A)
    np.testing.assert_array_equal(value, A * A)
    np.testing.assert_allclose(pullback(np.ones_like(value)), 2 * A)
    np.testing.assert_allclose(pullback(B), 2 * A * B)


def test_gradient_of_an_array_is_an_error_that_says_what_to_do() -> None:
    with pytest.raises(TypeError, match="scalar result") as info:
        tl.grad(lambda x: x * x)(A)
    assert "tl.vjp" in str(info.value)


def product_and_sum(a, b):
    c = a @ b
    d = a + b
    return np.sum(c * d)


def test_a_value_used_twice_sums_its_contributions_as_numbers() -> None:
    """C = A B, D = A + B, E = sum(C * D): dC = D, dD = C, dA = dC B^T + dD, dB = A^T dC + dD."""
    c, d = A @ B, A + B
    da, db = tl.grad(product_and_sum, wrt=(0, 1))(A, B)
    np.testing.assert_allclose(da, d @ B.T + c)
    np.testing.assert_allclose(db, A.T @ d + c)


def test_a_value_used_twice_sums_its_contributions_as_graph() -> None:
    graph = tl.compile(tl.grad(product_and_sum, wrt=(0, 1))).graph(A, B)
    testing.assert_graph(
        graph,
        """
        graph @grad(%a: f64[3,3], %b: f64[3,3]) {
          %0: f64[3,3] = matmul %a, %b
          %1: f64[3,3] = add %a, %b
          %2: f64[3,3] = transpose %b {axes=(1, 0)}
          %3: f64[3,3] = matmul %1, %2
          %4: f64[3,3] = add %0, %3
          %5: f64[3,3] = transpose %a {axes=(1, 0)}
          %6: f64[3,3] = matmul %5, %1
          %7: f64[3,3] = add %0, %6
          return %4, %7
        }
        """,
    )


def test_a_matrix_product_pulls_back_through_two_products() -> None:
    def pulled(a, b, ct):
        return tl.vjp(lambda a, b: a @ b, a, b)[1](ct)

    testing.assert_graph(
        tl.compile(pulled).graph(A, B, A + B),
        """
        graph @pulled(%a: f64[3,3], %b: f64[3,3], %ct: f64[3,3]) {
          %0: f64[3,3] = transpose %b {axes=(1, 0)}
          %1: f64[3,3] = matmul %ct, %0
          %2: f64[3,3] = transpose %a {axes=(1, 0)}
          %3: f64[3,3] = matmul %2, %ct
          return %1, %3
        }
        """,
    )


def test_element_access_sends_the_cotangent_back_to_its_place() -> None:
    gradient = tl.grad(lambda x: 5.0 * x[1, 2])(A)
    expected = np.zeros((3, 3))
    expected[1, 2] = 5.0
    np.testing.assert_array_equal(gradient, expected)


def test_a_python_sum_over_elements() -> None:
    def total(x):
        return sum(x[i] * x[i] for i in range(len(x)))

    x = np.array([1.0, -2.0, 3.0])
    assert tl.compile(total)(x) == total(x)
    np.testing.assert_array_equal(tl.grad(total)(x), 2 * x)


def test_a_diamond_with_a_long_and_a_short_arm() -> None:
    def f(x):
        y = np.exp(x)
        long = y
        for _ in range(5):
            long = np.sin(long)
        return np.sum(long * y)

    testing.check_grads(f, (np.array([0.1, -0.4]),))
    plan = tl.compile(tl.grad(f)).plan(np.array([0.1, -0.4]))
    order = {step.output: number for number, step in enumerate(plan.steps)}
    for number, step in enumerate(plan.steps):
        assert all(order.get(value, -1) < number for value in step.inputs if value != step.output)


def test_two_leaves_and_a_square() -> None:
    def loss(t1, t2):
        t3 = t1 + t2
        return np.sum(t3 * t3)

    g1, g2 = tl.grad(loss, wrt=(0, 1))(np.array([3.0]), np.array([2.0]))
    assert g1.tolist() == [10.0]
    assert g2.tolist() == [10.0]


def test_a_wrong_cotangent_is_an_error_and_changes_nothing() -> None:
    x = np.array([1.0, 2.0])
    _, pullback = tl.vjp(lambda x: x * 2, x)
    with pytest.raises(tl.TapelessError, match="shape"):
        pullback(np.ones(3))
    with pytest.raises(tl.TapelessError, match="leaves"):
        pullback((np.ones(2), np.ones(2)))
    assert x.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(pullback(np.ones(2)), [2.0, 2.0])
