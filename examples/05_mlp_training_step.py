"""The training step of a network in plain NumPy: its graph, its plan, and what memory it needs."""

import numpy as np

import tapeless as tl


def loss(params, x, y):
    """Return the mean squared error of a network with one hidden layer."""
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    return np.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)


@tl.compile(executor="numpy")  # its plan has a step for each operation
def train_step(params, x, y):
    """Move the parameters one step against the gradient; return the loss before it."""
    value, grads = tl.value_and_grad(loss)(params, x, y)
    for name in params:
        params[name] -= 0.1 * grads[name]  # in place, exactly as NumPy would do it
    return value


rng = np.random.default_rng(0)
x = rng.uniform(-3, 3, size=(64, 1))
y = np.sin(x)
params = {
    "w1": rng.normal(size=(1, 32)),
    "b1": rng.normal(size=32),
    "w2": rng.normal(size=(32, 1)) / np.sqrt(32),
    "b2": np.zeros(1),
}

# Forward part, backward part and update are one graph; nothing has run yet.
print(train_step.graph(params, x, y))
plan = train_step.plan(params, x, y)
print(plan)
print(f"peak memory {plan.peak_bytes} bytes; every value on its own: {plan.intermediate_bytes} bytes")

w1 = params["w1"]
for step in range(1001):
    value = train_step(params, x, y)
    if step % 250 == 0:
        print(f"step {step:4}: loss {value:.5f}")

assert params["w1"] is w1, "the very array was updated"
print(train_step.explain())
