"""`import tapeless` is light: little time beyond NumPy's own, and none of the heavy libraries."""

import json
import os
import statistics
import subprocess
import sys
from typing import Any

import pytest

HEAVY = {"graphviz", "llvmlite", "networkx", "scipy", "threadpoolctl", "tqdm"}
MOST_SECONDS = 0.060
ROUNDS = 7

MEASURE = """
import json, sys, time
import numpy
before = time.perf_counter()
import tapeless
seconds = time.perf_counter() - before
print(json.dumps({"seconds": seconds, "modules": sorted(sys.modules)}))
"""


def import_in_new_process() -> dict[str, Any]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TAPELESS_")}
    command = [sys.executable, "-W", "error", "-c", MEASURE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_import_loads_nothing_heavy() -> None:
    loaded = {name.split(".")[0] for name in import_in_new_process()["modules"]}
    assert loaded & HEAVY == set()
    assert {"numpy", "optree", "tapeless"} <= loaded


@pytest.mark.timing
def test_import_takes_little_longer_than_numpy() -> None:
    import_in_new_process()  # writes bytecode, warms the file cache
    seconds = [import_in_new_process()["seconds"] for _ in range(ROUNDS)]
    assert statistics.median(seconds) < MOST_SECONDS


FIRST_CALL = """
import json, sys
import numpy as np
import tapeless as tl
@tl.compile(executor=sys.argv[1])
def step(w, x, y):
    value, grad = tl.value_and_grad(lambda w: np.mean((np.tanh(x @ w) - y) ** 2))(w)
    w -= 0.1 * grad
    return value
step(np.ones((3, 2)), np.ones((8, 3)), np.ones((8, 2)))
print(json.dumps(sorted(sys.modules)))
"""
# What a first call has no use for, by module below `tapeless`; the other executor's parts come in addition.
UNUSED = {
    "compiler.draw",
    "compiler.drawing",
    "compiler.ir.parse",
    "compiler.ir.verify",
    "compiler.kernel.evaluate",
    "compiler.passes.bisect",
    "compiler.plan_verify",
    "runtime.interpret",
    "runtime.profile",
    "tracer.warm",
    *(
        f"compiler.ops.{name}"
        for name in ("eigen", "fft", "linalg", "sort", "softmax", "special", "spectral")
    ),
}
NATIVE = {"compiler.kernel", "runtime.llvm"}
# Elsewhere than here names are not looked up through what a library is linked with.
SEARCH = {"threadpoolctl"} if sys.platform == "linux" else set()
NUMPY = {"runtime.executor", "runtime.kernels", "runtime.writer"}


@pytest.mark.parametrize(
    ("executor", "others"),
    [("native", NUMPY | SEARCH), ("numpy", NATIVE | {"llvmlite", "threadpoolctl"})],
)
def test_a_first_call_loads_what_it_needs(executor: str, others: set[str]) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TAPELESS_")}
    command = [sys.executable, "-W", "error", "-c", FIRST_CALL, executor]
    environment["TAPELESS_CACHE_DIR"] = "off"
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    loaded = {name.removeprefix("tapeless.") for name in json.loads(done.stdout)}
    assert loaded & (UNUSED | others | (HEAVY - {"llvmlite", "threadpoolctl"})) == set()
    assert {"numpy": NUMPY, "native": NATIVE}[executor] <= loaded
