"""What the tests of the project as a whole share: where the root is, which modules and pages it has.

Everything is found by walking the tree, so a module, page or folder that is added later is tested from its
first day. Names are derived from paths; nothing is imported while tests are collected.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BESIDE_THE_PACKAGE = {"tests", "examples", "benchmarks", "docs", "build", "dist"}


def is_part_of_package(folder: Path) -> bool:
    beside = folder.parent == ROOT and folder.name in BESIDE_THE_PACKAGE
    return not beside and not folder.name.startswith((".", "__")) and not folder.name.endswith(".egg-info")


def find_modules() -> dict[str, Path]:
    """Every module of the package: its import name and its file."""
    modules = {}
    for folder, subfolders, files in os.walk(ROOT):
        subfolders[:] = sorted(name for name in subfolders if is_part_of_package(Path(folder, name)))
        for file in sorted(Path(folder, name) for name in files if name.endswith(".py")):
            parts = ("tapeless", *file.relative_to(ROOT).with_suffix("").parts)
            modules[".".join(parts).removesuffix(".__init__")] = file
    return modules


def find_pages() -> dict[str, Path]:
    """The Markdown pages at the root, in examples/ and everywhere under docs/: path from the root, file."""
    pages = [page for where in ("*.md", "docs/**/*.md", "examples/*.md") for page in sorted(ROOT.glob(where))]
    return {page.relative_to(ROOT).as_posix(): page for page in pages}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "module_name" in metafunc.fixturenames:
        metafunc.parametrize("module_name", find_modules())
    if "page" in metafunc.fixturenames:
        pages = find_pages()
        metafunc.parametrize("page", pages.values(), ids=pages.keys())


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def modules() -> dict[str, Path]:
    return find_modules()
