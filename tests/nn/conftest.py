"""What the tests of `tapeless.nn` share: the scripts of the project as modules."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


def script(path: str) -> ModuleType:
    """Return a file of the project that is no part of the package as a module."""
    file = Path(__file__).parents[2] / path
    spec = importlib.util.spec_from_file_location(file.parent.name + "_" + file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def by_hand() -> ModuleType:
    """Return benchmarks/mnist_by_hand.py."""
    return script("benchmarks/mnist_by_hand.py")


@pytest.fixture(scope="session")
def example() -> ModuleType:
    """Return examples/mnist.py."""
    return script("examples/mnist.py")
