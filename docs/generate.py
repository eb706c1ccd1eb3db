"""Writes the generated pages anew, `python docs/generate.py`: ops.md, api.md, numpy.md, from the code alone.

A test holds the files against `pages()`. What the pages say stands in docstrings and OpDefs; what stands here
is the order, and how a docstring becomes Markdown.
"""

import inspect
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import tapeless as tl
from tapeless import testing
from tapeless.cards import op_matrix
from tapeless.compiler.ir.opdef import OPS
from tapeless.tracer.numpy_table.listing import table as numpy_table

HERE = Path(__file__).resolve().parent
NOTE = "<!-- Written by docs/generate.py; change the docstrings, not this page. -->"
CHAPTERS = {
    "Compile": ["compile", "CompiledFunction", "constant"],
    "Differentiate": [
        "grad", "value_and_grad", "vjp", "jvp", "jacobian", "hessian", "hvp", "stop_gradient",
    ],
    "Look": ["trace", "draw", "Graph", "Plan"],
}  # fmt: skip
SECTIONS = ("Args", "Returns", "Raises", "Attributes", "Example")


def pages() -> dict[str, str]:
    """The text of each page under its file's name."""
    return {"ops.md": ops_page(), "api.md": api_page(), "numpy.md": numpy_page()}


def ops_page() -> str:
    """All primitives, one family a table."""
    return f"""{NOTE}

# Primitives

The {len(OPS)} ops that graphs are made of, one table a family. `python -m tapeless op NAME` prints the card
of one: its constraints, its samples, and file and line of every place it stands in.

*Derivative* names the vjp, or says why there is none; *kernel* is how the NumPy executor runs the op where
that is not its reference function; *rules* counts what rewrites it, also while differentiating.

{op_matrix()}
"""


def numpy_page() -> str:
    """Which of NumPy's functions, ufuncs and methods are supported, and how."""
    version = ".".join(np.__version__.split(".")[:2])
    return f"""{NOTE}

# Supported NumPy

What NumPy {version} has, and what becomes of it while a function is traced. *Primitives* are nodes with
derivatives; *NumPy's own body* runs NumPy's Python code on traced values, which ends in primitives; *one call
at run time* has no derivative. What is refused raises when it is met, naming itself. Creation functions
(`np.array`, `np.zeros`, `np.arange` …) mean the tracer's in user code.

{numpy_table()}"""


def api_page() -> str:
    """Every public name with its docstring."""
    chapters = dict(CHAPTERS)
    rest = set(tl.__all__) - {name for names in chapters.values() for name in names}
    chapters["Errors and warnings"] = sorted(name for name in rest if _is_error(name))
    chapters["More"] = sorted(name for name in rest if not _is_error(name))
    parts = [NOTE, "# The public names", "`import tapeless as tl`; every example runs as a test."]
    for title, names in chapters.items():
        if names:
            parts += [f"## {title}", *(entry(f"tl.{name}", getattr(tl, name)) for name in names)]
    parts += ["## Test", "`from tapeless import testing`"]
    parts += [entry(f"testing.{name}", getattr(testing, name)) for name in testing.__all__]
    return "\n\n".join(parts) + "\n"


def _is_error(name: str) -> bool:
    return inspect.isclass(getattr(tl, name)) and issubclass(getattr(tl, name), BaseException | Warning)


def entry(name: str, thing: Any) -> str:
    """One name: its signature, its docstring and, of a class, its public methods."""
    head = [f"### {name}"]
    if inspect.isclass(thing):
        bases = ", ".join(base.__name__ for base in thing.__bases__ if base is not object)
        head += [f"*A class{f', a kind of {bases}' if bases else ''}.*"]
        return "\n\n".join([*head, markdown(thing), *members(thing)])
    return "\n\n".join([*head, f"```text\n{name}{signature(thing)}\n```", markdown(thing)])


def members(kind: type) -> Iterator[str]:
    """The public methods and properties of a class, in the order in which it defines them."""
    for name, member in vars(kind).items():
        if name.startswith("_") or not inspect.getdoc(member):
            continue
        if inspect.isfunction(member):
            shown = f".{name}{signature(member, bound=True)}"
            yield f"#### .{name}\n\n```text\n{shown}\n```\n\n{markdown(member)}"
        elif isinstance(member, property) or hasattr(member, "func"):
            yield f"#### .{name}\n\n{markdown(member)}"


def signature(function: Any, bound: bool = False) -> str:
    """The parameters as they are written, one a line where they are many."""
    parameters = list(inspect.signature(function).parameters.values())[bound:]
    words = []
    for position, each in enumerate(parameters):
        star = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        if each.kind is each.KEYWORD_ONLY and not any(
            p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL) for p in parameters[:position]
        ):
            words.append("*")
        default = "" if each.default is each.empty else f" = {_short(repr(each.default))}"
        words.append(f"{star}{each.name}: {each.annotation}{default}")
    result = inspect.signature(function).return_annotation
    line = f"({', '.join(words)}) -> {result}"
    return line if len(line) < 90 else "(\n" + "".join(f"    {word},\n" for word in words) + f") -> {result}"


def _short(default: str) -> str:
    return default if len(default) < 30 else "…"


def markdown(thing: Any) -> str:
    """A Google-style docstring as Markdown: arguments as a list, examples as code that runs."""
    text = inspect.getdoc(thing) or ""
    parts, section, lines = [], "", []
    for line in [*text.splitlines(), "End:"]:
        title = line.removesuffix(":")
        if line.endswith(":") and title in (*SECTIONS, "End"):
            parts.append(_section(section, lines))
            section, lines = title, []
        else:
            lines.append(line)
    return "\n\n".join(part for part in parts if part)


def _section(title: str, lines: list[str]) -> str:
    text = textwrap.dedent("\n".join(lines)).strip()
    if not text:
        return ""
    if title == "Example":
        return f"```python\n{text}\n```"
    if title in ("Args", "Raises", "Attributes"):
        items = re.findall(r"^(\S[^:]*): (.*(?:\n +.*)*)", text, re.MULTILINE)
        rows = [f"- `{name}`: {' '.join(said.split())}" for name, said in items]
        return "\n".join([f"**{title}**", "", *rows])
    if title:
        return f"**{title}** {text}"
    before, prompt, example = text.partition(">>> ")
    return f"{before.strip()}\n\n```python\n{prompt}{example}\n```" if prompt else text


def main() -> None:
    for name, text in pages().items():
        (HERE / name).write_text(text, encoding="utf-8")
        print(HERE / name)


if __name__ == "__main__":
    main()
