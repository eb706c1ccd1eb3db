"""Trace a function once and read what it became: a graph, its gradient, and the plan that runs it."""

import numpy as np

import tapeless as tl


def loss(w, b, x, y):
    """Return the mean squared error of a linear model: plain NumPy, nothing else."""
    error = x @ w + b - y
    return np.mean(error**2)


rng = np.random.default_rng(0)
x, w = rng.normal(size=(8, 3)), np.zeros(3)
y, b = x @ [1.0, -2.0, 0.5] + 0.1, 0.0

# The graph as the function was traced: one line a node, every type shown.
print(tl.trace(loss, w, b, x, y))

# The gradient is a graph too, so it is traced, printed and compiled like any other function.
gradient = tl.compile(tl.grad(loss, wrt=("w", "b")))
print(gradient.graph(w, b, x, y))

# The plan says how: in which order, and in which bytes of memory.
print(gradient.plan(w, b, x, y))

# And it runs, with NumPy's own numbers.
dw, db = gradient(w, b, x, y)
assert np.allclose(dw, 2 * x.T @ (x @ w + b - y) / 8)
print(f"dw = {dw.round(4)}, db = {db:.4f}")
