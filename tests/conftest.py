"""Settings that hold for every test: passes are verified, dead memory is poisoned, golden texts are files.

`TAPELESS_CHECK` is set before anything imports the package, so each pass and plan of each compilation is
verified; under `TAPELESS_POISON` whatever reads dead arena memory finds NaN there. Native code is generated
anew, so a run leaves nothing behind and finds nothing from another.
A golden test compares a whole text with a file; `python -m pytest tests --accept` writes the files anew, and
the change is then read in the diff.
"""

import difflib
import os
from collections.abc import Callable

import pytest
from hypothesis import settings

os.environ["TAPELESS_CHECK"] = "1"
os.environ["TAPELESS_POISON"] = "1"
os.environ["TAPELESS_CACHE_DIR"] = "off"

# An example's time says nothing on a shared machine; the time of a whole test is bounded by pytest-timeout.
# The same commit tries the same examples; `--hypothesis-profile=explore` tries new ones.
settings.register_profile("tapeless", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, derandomize=False)
settings.load_profile("tapeless")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--accept", action="store_true", help="write golden texts anew instead of comparing")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """`golden(name, text)` compares `text` with the file golden/<name>.txt beside the test."""
    accept = request.config.getoption("--accept")

    def compare(name: str, text: str) -> None:
        path = request.path.parent / "golden" / f"{name}.txt"
        text = text.rstrip("\n") + "\n"
        if accept:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        if not path.exists():
            pytest.fail(f"{path} is missing: run pytest with --accept and read what it wrote\n\n{text}")
        expected = path.read_text(encoding="utf-8")
        if text != expected:
            before, now = expected.splitlines(), text.splitlines()
            change = "\n".join(difflib.unified_diff(before, now, str(path), "now", lineterm=""))
            pytest.fail(f"{change}\nIf the new text is right, run pytest with --accept", pytrace=False)

    return compare
