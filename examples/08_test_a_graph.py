"""Test what the compiler makes of your code: structure first, values second, derivatives last.

These are ordinary tests: `pytest examples/08_test_a_graph.py` runs them, and so does plain Python.
"""

import numpy as np

import tapeless as tl
from tapeless import testing


def normalise(x):
    """Return x with mean 0 and standard deviation 1 along its last axis."""
    return (x - x.mean(-1, keepdims=True)) / x.std(-1, keepdims=True)


def product(a, b):
    """Return the sum of a matrix product."""
    return np.sum(a @ b)


A, B = np.arange(6.0).reshape(2, 3), np.ones((3, 4))


def test_the_gradient_needs_no_second_product() -> None:
    graph = tl.compile(tl.grad(product)).graph(A, B)
    testing.assert_graph(
        graph,
        """graph @gradient(%a: f64[2,3], %b: f64[3,4]) {
          %0: f64[] = constant {value=f64(1.0)}
          %1: f64[2,4] = broadcast %0 {axes=(), shape=(2, 4)}
          %2: f64[4,3] = transpose %b {axes=(1, 0)}
          %3: f64[2,3] = matmul %1, %2
          return %3
        }""",
    )
    assert testing.count_ops(graph)["matmul"] == 1


def test_only_what_is_asked_for_is_differentiated() -> None:
    graph = tl.compile(tl.grad(product, wrt=("a", "b"))).graph(A, B)
    assert testing.count_ops(graph, backward=True)["matmul"] == 2


def test_values_are_numpys_to_the_bit() -> None:
    testing.assert_same_values(normalise, np.random.default_rng(0).normal(size=(5, 7)))


def test_derivatives_agree_with_differences() -> None:
    testing.check_grads(normalise, (np.random.default_rng(0).normal(size=(2, 4)),))


def test_memory_is_planned() -> None:
    plan = tl.compile(normalise).plan(np.ones((100, 100)))
    assert plan.peak_bytes <= 2.1 * np.ones((100, 100)).nbytes


if __name__ == "__main__":
    for name, test in list(globals().items()):
        if name.startswith("test_"):
            test()
            print("passed", name.removeprefix("test_").replace("_", " "))
