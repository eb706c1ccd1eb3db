"""Wheel, sdist and editable install, each in a fresh virtual environment, as a stranger's pip would do it.

Everything happens on a copy of the tree, so nothing is left in the checkout. The wheel is built from the
sdist: what the sdist forgets is missing from the wheel. The program that tries the installed package runs in
a folder full of files named like ours, which must never shadow it.
"""

import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", ".typing", ".*_cache", ".hypothesis", "__pycache__", "build", "dist", "*.egg-info"
)
USERS_OWN_FILES = ("api", "compiler", "nn", "plan", "runtime", "tracer", "tree")
PROGRAM = """
import importlib, sys
import numpy as np
import tapeless as tl

def loss(params, x, y):
    hidden = np.tanh(x @ params["w1"] + params["b1"])
    return np.mean((hidden @ params["w2"] + params["b2"] - y) ** 2)

@tl.compile
def train_step(params, x, y):
    value, grads = tl.value_and_grad(loss)(params, x, y)
    for name in params:
        params[name] -= 0.1 * grads[name]
    return value

rng = np.random.default_rng(0)
params = {"w1": rng.normal(size=(3, 4)), "b1": np.zeros(4), "w2": rng.normal(size=(4, 1)), "b2": np.zeros(1)}
x, y = rng.normal(size=(8, 3)), rng.normal(size=(8, 1))
losses = [train_step(params, x, y) for _ in range(20)]
assert losses[-1] < losses[0]
for name in sys.argv[1:]:
    importlib.import_module(name)
print(tl.__file__)
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture
def checkout(root: Path, tmp_path: Path) -> Path:
    return shutil.copytree(root, tmp_path / "checkout", ignore=NOT_COPIED)


def install_and_try(what: str | Path, *options: str, folder: Path, modules: dict[str, Path]) -> Path:
    """Install into a fresh environment, try the package there; return where it was imported from."""
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=folder)
    run(*pip, "install", "--quiet", *options, what, cwd=folder)
    run(*pip, "check", cwd=folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    for name in USERS_OWN_FILES:
        (elsewhere / f"{name}.py").write_text("raise ImportError('the file of a user was imported')\n")
    (elsewhere / "program.py").write_text(PROGRAM)
    for command in (["op", "tanh"], ["info"], ["demo", "--help"]):
        run(python, "-W", "error", "-m", "tapeless", *command, cwd=elsewhere)
    return Path(run(python, "-W", "error", "program.py", *importable(modules), cwd=elsewhere).strip())


def importable(modules: dict[str, Path]) -> list[str]:
    """The packages, of which every one imports with the core dependencies alone."""
    return [name for name, file in modules.items() if file.name == "__init__.py"]


def test_sdist_and_wheel(root: Path, checkout: Path, tmp_path: Path, modules: dict[str, Path]) -> None:
    run(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", checkout, cwd=tmp_path)
    (sdist,) = (tmp_path / "dist").glob("tapeless-*.tar.gz")
    (wheel,) = (tmp_path / "dist").glob("tapeless-*-py3-none-any.whl")

    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    sources = {f"tapeless/{file.relative_to(root).as_posix()}" for file in modules.values()}
    data = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"][
        "tapeless"
    ]
    assert held == sources | {f"tapeless/{name}" for name in data}

    with tarfile.open(sdist) as archive:
        shipped = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    assert {"LICENSE", "Makefile", "README.md", "tests/pytest.ini", "tests/conftest.py"} <= shipped
    assert not any(name.startswith((".typing", ".venv", ".git/")) for name in shipped)

    origin = install_and_try(wheel, folder=tmp_path, modules=modules)
    assert origin.is_relative_to(tmp_path / "venv")


@pytest.mark.sweep
def test_install_from_sdist(checkout: Path, tmp_path: Path, modules: dict[str, Path]) -> None:
    run(sys.executable, "-m", "build", "--sdist", "--outdir", tmp_path / "dist", checkout, cwd=tmp_path)
    (sdist,) = (tmp_path / "dist").glob("tapeless-*.tar.gz")
    origin = install_and_try(sdist, folder=tmp_path, modules=modules)
    assert origin.is_relative_to(tmp_path / "venv")


def test_editable_install(checkout: Path, tmp_path: Path, modules: dict[str, Path]) -> None:
    origin = install_and_try(checkout, "--editable", folder=tmp_path, modules=modules)
    assert origin == checkout / "__init__.py"
