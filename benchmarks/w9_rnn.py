"""A tanh recurrent network unrolled over time in Python, gradient descent."""

import numpy as np

import tapeless as tl

RATE = 0.01


def loss(params, x, y):
    wx, wh, b, wo = params
    h = np.tanh(x[0] @ wx + b)
    for t in range(1, len(x)):
        h = np.tanh(x[t] @ wx + b + h @ wh)
    return np.mean((h @ wo - y) ** 2)


@tl.compile
def train_step(params, x, y):
    value, grads = tl.value_and_grad(loss)(params, x, y)
    for param, grad in zip(params, grads, strict=True):
        param -= RATE * grad
    return value


def peer_tapeless(d):
    params = [p.copy() for p in d["p"]]
    return lambda: train_step(params, d["x"], d["y"])
