"""A character-level transformer: 4 layers, 4 heads, width 128, exact GELU, tied embedding, AdamW."""

import numpy as np
from scipy.special import erf

import tapeless as tl

LAYERS, HEADS = 4, 4
LR, B1, B2, EPS, DECAY = 1e-4, 0.9, 0.99, 1e-8, 0.1


def norm(x, weight):
    x = x - np.mean(x, axis=-1, keepdims=True)
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + np.float32(1e-5)) * weight


def softmax(x):
    x = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return x / np.sum(x, axis=-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + erf(x * np.float32(np.sqrt(0.5))))


def attention(x, qkv, out, mask):
    n, t, c = x.shape
    q, k, v = (x.reshape(n * t, c) @ qkv).reshape(n, t, 3, HEADS, c // HEADS).transpose(2, 0, 3, 1, 4)
    scores = q @ k.swapaxes(-1, -2) * np.float32(np.sqrt(HEADS / c)) + mask
    mixed = softmax(scores) @ v
    return (mixed.swapaxes(1, 2).reshape(n * t, c) @ out).reshape(n, t, c)


def loss(params, tokens, targets):
    embedding, positions, *blocks, last = params
    n, t = tokens.shape
    mask = np.triu(np.full((t, t), -1e30, np.float32), 1)
    h = embedding[tokens] + positions
    for i in range(0, 6 * LAYERS, 6):
        norm1, qkv, out, norm2, up, down = blocks[i : i + 6]
        h = h + attention(norm(h, norm1), qkv, out, mask)
        u = gelu(norm(h, norm2).reshape(n * t, -1) @ up)
        h = h + (u @ down).reshape(h.shape)
    z = norm(h, last).reshape(n * t, -1) @ embedding.T
    z = z - np.max(z, axis=-1, keepdims=True)
    return np.mean(np.log(np.sum(np.exp(z), axis=-1)) - z[np.arange(n * t), targets.reshape(-1)])


@tl.compile
def train_step(params, first, second, count, tokens, targets):
    value, grads = tl.value_and_grad(loss)(params, tokens, targets)
    count += 1
    c1, c2 = 1 - B1**count, 1 - B2**count
    for param, m, v, grad in zip(params, first, second, grads, strict=True):
        m *= B1
        m += (1 - B1) * grad
        v *= B2
        v += (1 - B2) * grad * grad
        if param.ndim == 2:
            param *= 1 - LR * DECAY
        param -= LR * (m / c1) / (np.sqrt(v / c2) + EPS)
    return value


def peer_tapeless(d):
    params = [p.copy() for p in d["p"]]
    first, second = [np.zeros_like(p) for p in params], [np.zeros_like(p) for p in params]
    count = np.zeros((), np.float32)
    return lambda: train_step(params, first, second, count, d["x"], d["y"])
