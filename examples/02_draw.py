"""Draw a graph, its plan, and a training step, as SVG files that a browser shows."""

import sys
from pathlib import Path

import numpy as np

import tapeless as tl


def loss(params, x, y):
    """Return the mean squared error of a network with one hidden layer."""
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    return np.mean((hidden @ params["w2"] - y) ** 2)


@tl.compile
def step(params, x, y):
    """Move the parameters one step against the gradient, in place."""
    value, grads = tl.value_and_grad(loss)(params, x, y)
    for name in params:
        params[name] -= 0.1 * grads[name]
    return value


rng = np.random.default_rng(0)
params = {"w1": rng.normal(size=(3, 16)), "b1": np.zeros(16), "w2": rng.normal(size=(16, 1))}
x, y = rng.normal(size=(64, 3)), rng.normal(size=(64, 1))

out = Path(sys.argv[1] if len(sys.argv) > 1 else "drawings")
out.mkdir(parents=True, exist_ok=True)

# What was written: the forward part alone.
print(tl.trace(loss, params, x, y).draw(out / "loss.svg"))

# What runs: forward and backward part; values that cross between them are bold, arguments that are updated
# stand out. The ending of the file's name chooses the format: .svg, .png, .pdf or .dot.
print(step.draw(out / "step.svg", params, x, y))

# How it runs: the steps in order, beside a map of the memory they use.
print(step.draw(out / "plan.svg", params, x, y, plan=True))
