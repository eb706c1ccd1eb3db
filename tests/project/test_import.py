"""`import tapeless` is light: little time beyond NumPy's own, and none of the heavy libraries."""

import json
import os
import statistics
import subprocess
import sys
from typing import Any

import pytest

HEAVY = {"graphviz", "llvmlite", "networkx", "safetensors", "scipy", "threadpoolctl", "tqdm"}
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
