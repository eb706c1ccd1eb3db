"""Generated pages are what the code says now, and every public name has something to say."""

import inspect
import runpy
from pathlib import Path

import pytest

import tapeless as tl
from tapeless import testing
from tapeless.cards import op_card
from tapeless.compiler.ir.opdef import OPS, OpDef


@pytest.fixture(scope="module")
def pages(root: Path) -> dict[str, str]:
    """What docs/generate.py would write now."""
    found: dict[str, str] = runpy.run_path(str(root / "docs" / "generate.py"))["pages"]()
    return found


@pytest.mark.parametrize("name", ["api.md", "ops.md", "numpy.md"])
def test_page_is_what_the_code_says(pages: dict[str, str], root: Path, name: str) -> None:
    written = (root / "docs" / name).read_text(encoding="utf-8")
    assert written == pages[name], "run  python docs/generate.py"


def test_every_public_name_stands_on_the_page(root: Path) -> None:
    page = (root / "docs" / "api.md").read_text(encoding="utf-8")
    names = [f"tl.{name}" for name in tl.__all__] + [f"testing.{name}" for name in testing.__all__]
    assert [name for name in names if f"### {name}\n" not in page] == []


@pytest.mark.parametrize("name", tl.__all__)
def test_a_public_name_has_a_docstring(name: str) -> None:
    said = inspect.getdoc(getattr(tl, name)) or ""
    assert said.splitlines()[0].endswith((".", ":"))


@pytest.mark.parametrize("op", OPS.values(), ids=list(OPS))
def test_card_names_every_place(op: OpDef, root: Path) -> None:
    """Each place on a card is a line of a file that is there, and the op's own line says its name."""
    card = op_card(op)
    assert card.startswith(f"{op.name}: {op.doc}")
    places = [word for word in card.split() if word.partition(".py:")[2].isdecimal()]
    for place in places:
        file, _, line = place.partition(":")
        assert int(line) <= len((root / file).read_text(encoding="utf-8").splitlines())
    assert any(place.startswith("compiler/ops/") for place in places)
    assert all(constraint in card for constraint in op.constraints)
