"""The table of benchmarks: what `python benchmarks/run.py` prints."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).parents[2] / "benchmarks" / "run.py"


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(RUN), *options], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workload", ["W1", "W2", "W3", "W9T64"])
def test_a_row_has_a_time_for_every_column(workload: str) -> None:
    done = run(workload, "--executors", "numpy", "--seconds", "0")
    assert done.returncode == 0, done.stderr
    *_, row = done.stdout.splitlines()
    assert re.fullmatch(rf"\| {workload} \| [\d.e+]+ (s|ms|µs) \| [\d.e+]+ (s|ms|µs|ns) \|", row)


def test_an_unknown_workload_is_named() -> None:
    done = run("W12")
    assert done.returncode == 2
    assert "no workload W12; there are W1, W2" in done.stderr
