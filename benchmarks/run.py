"""Every workload of this folder as one table: first call and warm step, with each executor.

    python benchmarks/run.py [W1 W3 …] [--executors numpy native] [--seconds 2]

Each pair of workload and executor runs in a fresh process. The first call holds the trace, the compiler and,
with `native`, code generation or what the disk cache kept of it. A step is the median of the warm calls that
fit into the time. Times of one table are comparable, those of two tables are only where the machine was idle.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Data = dict[str, Any]
SINGLE = np.float32


def layers(rng: np.random.Generator, *sizes: int) -> list[Any]:
    """Weights scaled for ReLU and biases of zero, one pair a layer."""
    params: list[Any] = []
    for rows, columns in itertools.pairwise(sizes):
        params.append(normal(rng, math.sqrt(2 / rows), rows, columns))
        params.append(np.zeros(columns, SINGLE))
    return params


def normal(rng: np.random.Generator, scale: float, *shape: int) -> Any:
    return rng.standard_normal(shape, dtype=SINGLE) * SINGLE(scale)


def scalar(rng: np.random.Generator) -> Data:
    return {"w": 1.5, "x": 0.75, "b": -0.25}


def neuron(rng: np.random.Generator) -> Data:
    x = normal(rng, 1, 32, 8)
    return {"p": [normal(rng, 0.5, 8), np.zeros((), SINGLE)], "x": x, "y": (x[:, 0] > x[:, 1]).astype(SINGLE)}


def mlp(sizes: tuple[int, ...], batch: int, **options: Any) -> Callable[[np.random.Generator], Data]:
    def make(rng: np.random.Generator) -> Data:
        x = rng.random((batch, sizes[0]), dtype=SINGLE)
        return {"p": layers(rng, *sizes), "x": x, "y": rng.integers(0, 10, batch), "opt": options}

    return make


def lenet(rng: np.random.Generator) -> Data:
    kernels: list[Any] = []
    for out, into in ((6, 1), (16, 6)):
        kernels += [normal(rng, math.sqrt(2 / (25 * into)), out, into, 5, 5), np.zeros(out, SINGLE)]
    x = rng.random((64, 1, 28, 28), dtype=SINGLE)
    return {"p": kernels + layers(rng, 400, 120, 84, 10), "x": x, "y": rng.integers(0, 10, 64)}


def gpt(rng: np.random.Generator) -> Data:
    vocabulary, length, width, batch, depth = 65, 64, 128, 12, 4
    params = [normal(rng, 0.02, vocabulary, width), normal(rng, 0.02, length, width)]
    narrow = 0.02 / math.sqrt(2 * depth)
    for _ in range(depth):
        params += [np.ones(width, SINGLE), normal(rng, 0.02, width, 3 * width)]
        params += [normal(rng, narrow, width, width), np.ones(width, SINGLE)]
        params += [normal(rng, 0.02, width, 4 * width), normal(rng, narrow, 4 * width, width)]
    tokens = rng.integers(0, vocabulary, (2, batch, length))
    return {"p": [*params, np.ones(width, SINGLE)], "x": tokens[0], "y": tokens[1]}


def options_on_stocks(dtype: Any) -> Callable[[np.random.Generator], Data]:
    bounds = {"S": (80, 120), "K": (80, 120), "T": (0.2, 2), "vol": (0.1, 0.5), "rate": (0, 0.08)}

    def make(rng: np.random.Generator) -> Data:
        return {name: rng.uniform(*b, 1_000_000).astype(dtype) for name, b in bounds.items()}

    return make


def regression(rng: np.random.Generator) -> Data:
    x = rng.standard_normal((100_000, 100))
    return {"x": x, "y": np.where(x @ rng.standard_normal(100) > 0, 1.0, -1.0)}


def recurrent(steps: int) -> Callable[[np.random.Generator], Data]:
    def make(rng: np.random.Generator) -> Data:
        width, batch = 32, 16
        turn = np.linalg.qr(rng.standard_normal((width, width)))[0].astype(SINGLE)
        params = [
            normal(rng, 0.1, width, width),
            turn,
            np.zeros(width, SINGLE),
            normal(rng, 0.2, width, width),
        ]
        return {"p": params, "x": normal(rng, 0.1, steps, batch, width), "y": normal(rng, 1, batch, width)}

    return make


ADAM = {"kind": "adam", "lr": 1e-4, "b1": 0.9, "b2": 0.999, "eps": 1e-8}
WORKLOADS: dict[str, tuple[str, Callable[[np.random.Generator], Data]]] = {
    "W1": ("w1_scalar", scalar),
    "W2": ("w2_neuron", neuron),
    "W3": ("w34_mlp", mlp((784, 128, 10), 64, kind="sgd", lr=0.01)),
    "W4": ("w34_mlp", mlp((784, 512, 512, 10), 256, **ADAM)),
    "W5": ("w5_lenet", lenet),
    "W6": ("w6_gpt", gpt),
    "W7f32": ("w7_blackscholes", options_on_stocks(np.float32)),
    "W7f64": ("w7_blackscholes", options_on_stocks(np.float64)),
    "W8": ("w8_logreg", regression),
    "W9T64": ("w9_rnn", recurrent(64)),
    "W9T256": ("w9_rnn", recurrent(256)),
    "W9T1024": ("w9_rnn", recurrent(1024)),
}


def measure(workload: str, seconds: float) -> dict[str, float]:
    """Times of one workload in this process, in seconds."""
    module, data = WORKLOADS[workload]
    step = importlib.import_module(module).peer_tapeless(data(np.random.default_rng(0)))
    start = time.perf_counter()
    step()
    first = time.perf_counter() - start
    for _ in range(3):
        step()
    times: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        start = time.perf_counter()
        step()
        times.append(time.perf_counter() - start)
    return {"first": first, "step": statistics.median(times)}


def in_fresh_process(workload: str, executor: str, seconds: float) -> dict[str, float]:
    command = [sys.executable, __file__, workload, "--measure", "--seconds", str(seconds)]
    environment = {**os.environ, "TAPELESS_EXECUTOR": executor}
    printed = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    measured: dict[str, float] = json.loads(printed)
    return measured


def shown(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def main() -> None:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    names = ", ".join(WORKLOADS)
    parser.add_argument("workloads", nargs="*", metavar="W", help=f"of {names}; all by default")
    parser.add_argument("--executors", nargs="+", default=["numpy", "native"])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    unknown = set(options.workloads) - set(WORKLOADS)
    if unknown:
        parser.error(f"no workload {', '.join(sorted(unknown))}; there are {names}")
    if options.measure:
        sys.path.insert(0, str(Path(__file__).parent))
        print(json.dumps(measure(options.workloads[0], options.seconds)))
        return
    columns = [f"{name} {what}" for name in options.executors for what in ("first call", "step")]
    print("| | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for workload in options.workloads or WORKLOADS:
        found = [in_fresh_process(workload, name, options.seconds) for name in options.executors]
        cells = [shown(times[what]) for times in found for what in ("first", "step")]
        print(f"| {workload} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
