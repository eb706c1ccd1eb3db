"""The command line: what it prints, what it draws, and what it says to a request that cannot be met."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tapeless.__main__ import main
from tapeless.runtime.llvm import thread_count

FILE = """
import numpy as np
import tapeless as tl

start = np.ones(3)

def loss(w, x):
    return np.sum(np.tanh(x @ w))

@tl.compile
def called(x):
    return x * 2

called(start)

class Model:
    def step(self, x):
        return x + 1

model = Model()

def table(n=3):
    return np.arange(n) * 2.0
"""

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Run a command in a folder that has models.py; gives its exit code and what it printed."""
    (tmp_path / "models.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.delitem(sys.modules, "models", raising=False)
        code = main(arguments)
        monkeypatch.delitem(sys.modules, "models", raising=False)
        return code, *capsys.readouterr()

    return run


def test_op_prints_a_card(command: Command) -> None:
    code, out, _ = command("op", "matmul")
    assert code == 0
    assert out.startswith("matmul: the matrix product over the last two axes\n")
    for word in ("C1: ", "contraction.py:", "runtime/kernels.py:", "tracer/numpy_table/matmul.py:", "rule "):
        assert word in out


def test_op_without_a_name_lists_all(command: Command) -> None:
    code, out, _ = command("op")
    assert code == 0
    assert "\ntanh  " in out


def test_an_unknown_op_is_told_its_neighbours(command: Command) -> None:
    assert command("op", "tanhh") == (2, "", "there is no primitive 'tanhh'; near it: tan, tanh\n")
    assert command("op", "") == (2, "", "there is no primitive ''\n")


def test_info(command: Command) -> None:
    code, out, _ = command("info")
    assert code == 0
    labels = [line.split()[0] for line in out.splitlines()]
    assert labels[:3] == ["tapeless", "python", "numpy"]
    assert labels[-6:] == ["executor", "dot", "BLAS", "vectors", "threads", "cache"]


def test_info_says_what_is_in_the_cache(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said() -> str:
        return command("info")[1].splitlines()[-1].removeprefix("cache").strip()

    monkeypatch.setenv("TAPELESS_CACHE_DIR", str(tmp_path / "objects"))
    assert said() == f"{tmp_path / 'objects'}, not made yet"
    (tmp_path / "objects").mkdir(mode=0o700)
    assert said() == f"{tmp_path / 'objects'}, 0 objects, 0.0 of 268 MB"
    monkeypatch.setenv("TAPELESS_CACHE_DIR", "off")
    assert said() == "off"


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        pytest.param(["models.py:loss", "f64[3]", "f64[4,3]"], "loss.svg", id="types"),
        pytest.param(["models.py:loss", "start", "np.eye(3)", "--out", "l.dot"], "l.dot", id="expressions"),
        pytest.param(["models.py:called"], "called.svg", id="called"),
        pytest.param(["models.py:called", "--plan", "--out", "p.png"], "p.png", id="plan"),
        pytest.param(["models.py:model.step", "float"], "step.svg", id="method"),
        pytest.param(["models.py:table"], "table.svg", id="no-parameters"),
    ],
)
def test_draw(command: Command, tmp_path: Path, arguments: list[str], file: str) -> None:
    code, out, err = command("draw", *arguments)
    assert (code, out) == (0, f"{file}\n"), err
    assert (tmp_path / file).stat().st_size > 100


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["models.py:loss"], "its arguments are unknown", id="no-arguments"),
        pytest.param(["models.py:los"], "it has loss, called, Model, model, table", id="no-function"),
        pytest.param(["model.py:loss"], "a file that exists", id="no-file"),
        pytest.param(["models.py"], "is not FILE:FUNCTION", id="no-colon"),
        pytest.param(["models.py:loss", "x", "y"], "neither a type nor an expression", id="no-expression"),
        pytest.param(["models.py:loss", "1", "1", "1"], "does not take 3 arguments", id="many-arguments"),
        pytest.param(["models.py:called", "1", "1"], "does not take 2 arguments", id="many-for-compiled"),
        pytest.param(["models.py:loss", "f64[9999999999999]", "1"], "cannot be made up", id="too-large"),
        pytest.param(["models.py:called", "--out", "x.foo"], "does not end in one of .svg", id="ending"),
        pytest.param(["models.py:called", "--out", "no/x.svg"], "no/x.svg cannot be written", id="no-folder"),
    ],
)
def test_what_cannot_be_drawn(command: Command, arguments: list[str], said: str) -> None:
    code, out, err = command("draw", *arguments)
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("TAPELESS_EXECUTOR", "='wrong' is none of auto, "),
        ("TAPELESS_NUM_THREADS", "='wrong' is no number of"),
    ],
)
def test_what_the_environment_asks_for_wrongly(
    command: Command, monkeypatch: pytest.MonkeyPatch, variable: str, said: str
) -> None:
    monkeypatch.setattr(thread_count, "_chosen", None)
    monkeypatch.setenv(variable, "wrong")
    for arguments in (["draw", "models.py:loss", "f64[3]", "f64[3]"], ["demo"], ["info"]):
        code, out, err = command(*arguments)
        assert (code, bool(out)) == (2, arguments == ["info"])
        assert err.startswith(variable + said)
        assert err.count("\n") == 1
    assert command("op", "tanh")[0] == 0


def test_as_a_module(tmp_path: Path) -> None:
    environment = os.environ | {"PYTHONPATH": ""}
    command = [sys.executable, "-W", "error", "-m", "tapeless"]
    done = subprocess.run(
        [*command, "demo", "--help"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--epochs" in done.stdout
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "COMMAND" in done.stderr
