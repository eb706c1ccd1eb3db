"""Each example runs as a stranger would run it: plain Python, an empty folder, warnings being errors."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
NUMBERED = sorted(EXAMPLES.glob("[0-9]*.py"))
LONGEST = 80

Run = Callable[..., list[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run an example by its number; gives the lines that it prints."""

    def run_example(number: str, *arguments: str) -> list[str]:
        (file,) = EXAMPLES.glob(f"{number}_*.py")
        command = [sys.executable, "-W", "error", str(file), *arguments]
        environment = os.environ | {"TAPELESS_CHECK": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    return run_example


def test_trace_and_print(run: Run) -> None:
    lines = run("01")
    heads = [line.split(" ")[0] for line in lines if line.startswith(("graph", "plan"))]
    assert heads == ["graph", "graph", "plan"]
    assert any("power" in line for line in lines[: lines.index("}")]), "the graph as it was written"
    assert any(line.startswith("arena ") for line in lines)
    assert lines[-1] == "dw = [-1.9504  1.267  -1.4517], db = -0.1874"


def test_draw(run: Run, tmp_path: Path) -> None:
    lines = run("02", "pictures")
    assert lines == [str(Path("pictures", f"{name}.svg")) for name in ("loss", "step", "plan")]
    for line in lines:
        assert "</svg>" in (tmp_path / line).read_text(encoding="utf-8")


def test_linear_regression(run: Run) -> None:
    assert run("03")[-2:] == [
        "epoch 50: loss 0.000001, y = 0.998 x -0.099",
        "expected:             y = 1.000 x -0.100",
    ]


def test_neuron(run: Run) -> None:
    assert run("04") == [
        "weights [ 0.1036 -0.1425]",
        "bias    -0.0167",
        "losses  [0.3033, 0.2942]",
    ]


def test_mlp_training_step(run: Run) -> None:
    lines = run("05")
    assert lines[0].startswith("graph @train_step(%params.w1: f64[1,32], ")
    products = [line for line in lines[: lines.index("}")] if " matmul " in line]
    assert len(products) == 5, "two forward, three backward: the inputs need no gradient"
    updates = [line for line in lines if " subtract %params." in line and " over %params." in line]
    assert len(updates) == 4, "every parameter is updated in its own memory"
    (memory,) = (line.split() for line in lines if line.startswith("peak memory"))
    assert int(memory[2]) < 0.5 * int(memory[-2])
    losses = [float(line.split()[-1]) for line in lines if line.startswith("step")]
    assert losses[-1] < 0.001 * losses[0]
    assert "train_step: traced 1 times, called 1001 times" in lines


def test_add_a_rule(run: Run) -> None:
    lines = run("06")
    assert sum(" = log " in line for line in lines) == 1
    assert sum(" = log1p " in line for line in lines) == 1
    assert "} [0.00000000e+00 1.00000008e-10 4.05465108e-01]" in lines
    assert "} [1.00000000e-20 1.00000000e-10 4.05465108e-01]" in lines
    assert lines[-1].startswith("the rule log_of_sum_with_one of the pass simplify changed result 0")


def test_add_an_op(run: Run) -> None:
    lines = run("07")
    assert "  %4: f64[100] = huber %3 {width=0.5}" in lines
    assert lines[-1] == "weights [ 1.   -1.99], loss 0.988"


def test_test_a_graph(run: Run) -> None:
    lines = run("08")
    assert len(lines) == 5
    assert all(line.startswith("passed ") for line in lines)


def test_all_are_tested_short_and_listed() -> None:
    tests = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for file in NUMBERED:
        assert file.stem[3:] in tests
        assert len(file.read_text(encoding="utf-8").splitlines()) < LONGEST
        assert f"({file.name})" in listed
    assert [file.name[:2] for file in NUMBERED] == [f"{number:02}" for number in range(1, len(NUMBERED) + 1)]
