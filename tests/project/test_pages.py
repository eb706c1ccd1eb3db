"""Documentation that runs: every Python block of every page, and every link between pages.

The blocks of a page run in order in one namespace, as a reader would type them, in an empty folder. A block
that begins with `>>>` (or is marked `pycon`) is a doctest, so what it prints, or the error it raises, is
compared; any other block marked `python` is executed. Blocks keep the page's line numbers in tracebacks.
"""

import doctest
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

FENCE = re.compile(r"^(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<language>\w*)[^\n`]*$")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\((?P<target>[^)\s]+)\)")
LANGUAGES = {"python", "py", "pycon"}


class Block(NamedTuple):
    """A fenced block: its language, the number of its first line (from 0) and its text."""

    language: str
    line: int
    text: str


def blocks_of(page: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown page; a fence closes with its own kind and at least its own length."""
    opened = None
    lines: list[str] = []
    for number, line in enumerate(page.splitlines()):
        match = FENCE.match(line)
        if opened is None:
            if match:
                opened, start, lines = match, number + 1, []
        elif match and match["fence"].startswith(opened["fence"]) and not match["language"]:
            yield Block(opened["language"], start, "\n".join(lines) + "\n")
            opened = None
        else:
            lines.append(line.removeprefix(opened["indent"]))
    if opened:
        raise ValueError(f"the block that begins in line {start} is never closed")


def run_doctest(block: Block, name: str, namespace: dict[str, object]) -> None:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    test = doctest.DocTestParser().get_doctest(block.text, namespace, name, name, block.line)
    test.globs = namespace
    doctest.DebugRunner(optionflags=flags, verbose=False).run(test, clear_globs=False)


def run_page(text: str, name: str, folder: Path) -> int:
    """Run all Python blocks of a page; return their number."""
    blocks = [block for block in blocks_of(text) if block.language in LANGUAGES]
    # The tracer and tracebacks read source lines from a file: one that holds the code where the page has it.
    file = folder / (re.sub(r"\W", "_", name) + ".py")
    lines = [""] * len(text.splitlines())
    for block in blocks:
        lines[block.line : block.line + block.text.count("\n")] = block.text.splitlines()
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__page__", "__file__": str(file)}
    for block in blocks:
        if block.text.lstrip().startswith(">>>"):
            run_doctest(block, name, namespace)
        else:
            exec(compile("\n" * block.line + block.text, str(file), "exec"), namespace)
    return len(blocks)


def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page(page.read_text(encoding="utf-8"), page.stem, tmp_path)


def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"(?ms)^ *(`{3,}|~{3,}).*?^ *\1", "", page.read_text(encoding="utf-8"))
    targets = [match["target"] for match in LINK.finditer(text)]
    local = [target.split("#")[0] for target in targets if not re.match(r"https?:|mailto:|#", target)]
    assert [target for target in local if not (page.parent / target).exists()] == []


PAGE = """
Text.
```python
import inspect
x = 3
```
  - indented
    ```python
    def double(value):
        return 2 * value
    ```
```text
not code: 1 / 0
```
````python
assert '''
```python
''' and double(x) == 6
assert inspect.getsource(double).startswith("def double")
````
```pycon
>>> double(4)
8
>>> double()
Traceback (most recent call last):
    ...
TypeError: ...
```
"""


def test_a_page_runs_in_one_namespace_with_its_sources(tmp_path: Path) -> None:
    assert run_page(PAGE, "page", tmp_path) == 4


@pytest.mark.parametrize(
    ("text", "error"),
    [
        pytest.param("```python\n1 / 0\n```", ZeroDivisionError, id="raises"),
        pytest.param("```python\n>>> 1 + 1\n3\n```", doctest.DocTestFailure, id="wrong-output"),
        pytest.param("```pycon\n>>> 1 / 0\n3\n```", doctest.UnexpectedException, id="doctest-raises"),
        pytest.param("```python\nx = 1\n", ValueError, id="never-closed"),
    ],
)
def test_a_wrong_page_fails(text: str, error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error):
        run_page(text, "page", tmp_path)
