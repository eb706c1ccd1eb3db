"""The list of packages against the tree, and what the tree must keep to: file sizes, test folders' names."""

import importlib.metadata
import re
import sys
import tomllib
from pathlib import Path

LONGEST_FILE = 500


def test_package_list_is_the_tree(root: Path, modules: dict[str, Path]) -> None:
    listed = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = {file.parent for file in modules.values()}
    found = {".".join(("tapeless", *folder.relative_to(root).parts)) for folder in folders}
    assert listed == sorted(found)


def test_every_package_has_an_init(modules: dict[str, Path]) -> None:
    folders = {file.parent for file in modules.values()}
    assert [str(folder) for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []


def test_no_file_is_too_long(modules: dict[str, Path]) -> None:
    lengths = {name: len(file.read_text(encoding="utf-8").splitlines()) for name, file in modules.items()}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_test_folder_hides_an_installed_package(root: Path) -> None:
    """pytest registers test folders as modules: one called `packaging` would hide PyPI's."""
    taken = set(importlib.metadata.packages_distributions()) | set(sys.stdlib_module_names)
    folders = {folder.name for folder in (root / "tests").iterdir() if folder.is_dir()}
    assert folders & taken == set()


def test_no_test_folder_is_a_package(root: Path) -> None:
    """With an `__init__.py` in it, pytest would import the root a second time under the folder's name."""
    assert list((root / "tests").rglob("__init__.py")) == []


def test_architecture_names_files_that_exist(root: Path) -> None:
    page = (root / "ARCHITECTURE.md").read_text(encoding="utf-8")
    files = {f"/{file.relative_to(root).as_posix()}" for file in root.rglob("*.py")}
    named = set(re.findall(r"[\w/]+\.py\b", page))
    assert sorted(name for name in named if not any(file.endswith(f"/{name}") for file in files)) == []


def test_index_lists_every_page(root: Path) -> None:
    index = (root / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [page.relative_to(root / "docs").as_posix() for page in (root / "docs").rglob("*.md")]
    assert sorted(page for page in pages if page != "README.md" and f"({page})" not in index) == []
