"""ReLU networks, softmax cross-entropy: a small one with plain gradient descent, a large one with Adam."""

import numpy as np

import tapeless as tl


def loss(params, x, y):
    for i in range(0, len(params), 2):
        x = x @ params[i] + params[i + 1]
        if i < len(params) - 2:
            x = np.maximum(x, 0)
    x = x - np.max(x, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(x), axis=1)) - x[np.arange(len(y)), y])


def sgd(rate):
    @tl.compile
    def train_step(params, x, y):
        value, grads = tl.value_and_grad(loss)(params, x, y)
        for param, grad in zip(params, grads, strict=True):
            param -= rate * grad
        return value

    return train_step


def adam(lr, b1, b2, eps):
    @tl.compile
    def train_step(params, first, second, count, x, y):
        value, grads = tl.value_and_grad(loss)(params, x, y)
        count += 1
        c1, c2 = 1 - b1**count, 1 - b2**count
        for param, m, v, grad in zip(params, first, second, grads, strict=True):
            m *= b1
            m += (1 - b1) * grad
            v *= b2
            v += (1 - b2) * grad * grad
            param -= lr * (m / c1) / (np.sqrt(v / c2) + eps)
        return value

    return train_step


def peer_tapeless(d):
    params, x, y, options = [p.copy() for p in d["p"]], d["x"], d["y"], dict(d["opt"])
    if options.pop("kind") == "sgd":
        train_step = sgd(options["lr"])
        return lambda: train_step(params, x, y)
    first, second = [np.zeros_like(p) for p in params], [np.zeros_like(p) for p in params]
    count = np.zeros((), np.float32)
    train_step = adam(**options)
    return lambda: train_step(params, first, second, count, x, y)
