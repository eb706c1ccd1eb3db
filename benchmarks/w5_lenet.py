"""LeNet-5: convolutions as windows and an einsum, max pooling as a reshape, momentum."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

import tapeless as tl

RATE, MOMENTUM = 0.005, 0.9


def convolve(x, weights, bias):
    windows = sliding_window_view(x, weights.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, weights, optimize=True) + bias[:, None, None]


def max_pool(x):
    n, c, h, w = x.shape
    return x.reshape(n, c, h // 2, 2, w // 2, 2).max(axis=(3, 5))


def loss(params, x, y):
    k1, c1, k2, c2, w1, b1, w2, b2, w3, b3 = params
    x = np.pad(x, ((0, 0), (0, 0), (2, 2), (2, 2)))
    x = max_pool(np.maximum(convolve(x, k1, c1), 0))
    x = max_pool(np.maximum(convolve(x, k2, c2), 0)).reshape(len(x), -1)
    x = np.maximum(x @ w1 + b1, 0)
    x = np.maximum(x @ w2 + b2, 0)
    x = x @ w3 + b3
    x = x - np.max(x, axis=1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(x), axis=1)) - x[np.arange(len(y)), y])


@tl.compile
def train_step(params, velocities, x, y):
    value, grads = tl.value_and_grad(loss)(params, x, y)
    for param, velocity, grad in zip(params, velocities, grads, strict=True):
        velocity *= MOMENTUM
        velocity += grad
        param -= RATE * velocity
    return value


def peer_tapeless(d):
    params = [p.copy() for p in d["p"]]
    velocities = [np.zeros_like(p) for p in params]
    return lambda: train_step(params, velocities, d["x"], d["y"])
