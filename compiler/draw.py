"""Pictures of graphs and plans: DOT text, and through Graphviz SVG, PNG and PDF.

A graph shows its forward and backward part as clusters, with the residuals that cross between them bold; long
repeats are drawn once. A plan shows its steps in order beside the arena. What is drawn is decided in
`drawing/`; the DOT text is always to be had, whether or not there is a Graphviz on the machine.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from .drawing.graph_dot import graph_dot
from .drawing.plan_dot import plan_dot
from .drawing.render import DrawError, find_dot, render
from .drawing.scene import scene_of
from .ir.node import Graph
from .ir.record import record
from .plan import Plan

__all__ = ["DrawError", "Drawing", "dot_source", "draw", "output_names"]

TEXT_FORMATS = ("dot", "gv")


@record
class Drawing:
    """A picture of `subject` before it is rendered. In a notebook it shows itself, as text if need be."""

    source: str
    subject: Graph | Plan
    timeout: float = 60.0

    def render(self, format: str = "svg") -> bytes:
        """The picture as svg, png or pdf, or its DOT text.

        Raises:
            ValueError: another format.
            DrawError: Graphviz is missing, failed, or took longer than `timeout` seconds.
        """
        if format in TEXT_FORMATS:
            return self.source.encode("utf-8")
        return render(self.source, format, timeout=self.timeout)

    def save(self, path: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write the picture to a file, in the format that its ending says unless one is given.

        Without Graphviz the DOT text is written beside it, and the DrawError says where.
        """
        path = Path(path)
        format = format or path.suffix.removeprefix(".").lower() or "svg"
        try:
            path.write_bytes(self.render(format))
        except DrawError as error:
            text = path.with_suffix(".dot")
            text.write_text(self.source, encoding="utf-8")
            raise DrawError(f"{error}\nIts DOT text is in {text}.") from error
        return path

    def __str__(self) -> str:
        return self.source

    def _repr_svg_(self) -> str | None:
        try:
            return self.render("svg").decode("utf-8")
        except DrawError:
            return None

    def _repr_html_(self) -> str | None:
        """The text, only where there is no picture: a notebook prefers HTML to SVG."""
        if find_dot() is not None:
            return None
        return f"<pre>{html.escape(str(self.subject))}</pre>"


def dot_source(
    graph_or_plan: Graph | Plan,
    *,
    expand: bool = False,
    direction: str = "TB",
    background: str = "transparent",
    parameters: Iterable[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> str:
    """The picture as DOT text, for which nothing need be installed.

    Args:
        graph_or_plan: what to draw.
        expand: draw every node. Otherwise what repeats in a graph of more than 60 nodes is drawn once, views
            that follow one another are joined, and where more than 160 items remain they are drawn by lines
            of code.
        direction: "TB", the forward part runs down the page, or "LR", it runs to the right.
        background: a colour name or #rrggbb; the default reads on white and on black.
        parameters: names of the params to mark as parameters; by default those that are updated.
        outputs: a name for each output; by default they are numbered.

    Returns:
        The text of one `digraph`.

    Raises:
        ValueError: direction is neither TB nor LR, or there are not as many names as outputs.

    >>> import numpy as np
    >>> from tapeless.compiler.ir import ArrayType, Builder, Graph
    >>> b = Builder()
    >>> x = b.param("x", ArrayType((3,), np.dtype("f8")))
    >>> text = dot_source(Graph("f", (x,), (b.tanh(x),)))
    >>> '"x" -> "0"' in text
    True
    """
    if direction not in ("TB", "LR"):
        raise ValueError(f"direction is {direction!r}, not 'TB' or 'LR'")
    if isinstance(graph_or_plan, Plan):
        return plan_dot(graph_or_plan, expand=expand, background=background)
    count = len(graph_or_plan.outputs)
    if outputs is not None and len(outputs) != count:
        raise ValueError(f"{len(outputs)} names for {count} outputs")
    scene = scene_of(graph_or_plan, expand=expand, parameters=parameters, outputs=outputs)
    return graph_dot(scene, direction=direction, background=background)


def output_names(plan: Plan) -> list[str]:
    """What outputs become, for the option `outputs` of their graph: `→ w` is written into the param w."""
    results = [number for number, target in enumerate(plan.targets) if target.kind != "commit"]
    names = []
    for number, target in enumerate(plan.targets):
        if target.param is not None and target.kind == "commit":
            names.append(f"→ {plan.graph.params[target.param].attrs['name']}")
        else:
            names.append("return" if len(results) == 1 else f"return {results.index(number)}")
    return names


def draw(
    graph_or_plan: Graph | Plan,
    path: str | os.PathLike[str] | None = None,
    *,
    format: str | None = None,
    timeout: float = 60.0,
    expand: bool = False,
    direction: str = "TB",
    background: str = "transparent",
    parameters: Iterable[str] | None = None,
    outputs: Sequence[str] | None = None,
) -> Drawing | Path:
    """Draw a graph or a plan.

    Args:
        graph_or_plan: what to draw.
        path: the file to write; its ending (.svg, .png, .pdf, .dot) says the format.
        format: the format, where the ending does not say it.
        timeout: seconds that Graphviz may take.
        expand: as for `dot_source`, like all that follow.
        direction: TB or LR.
        background: a colour; transparent by default.
        parameters: names of the params to mark as parameters.
        outputs: a name for each output.

    Returns:
        The path that was written, or, without one, a Drawing: `render(format)`, `save(path)`, `source`.

    Raises:
        DrawError: Graphviz is missing (the message names both cures), failed or took too long.
        ValueError: an option is none of those it may be.

    >>> import numpy as np
    >>> from tapeless.compiler.ir import ArrayType, Builder, Graph
    >>> b = Builder()
    >>> x = b.param("x", ArrayType((3,), np.dtype("f8")))
    >>> print(str(draw(Graph("f", (x,), (b.tanh(x),)))).splitlines()[0])
    digraph "f" {
    """
    source = dot_source(
        graph_or_plan,
        expand=expand,
        direction=direction,
        background=background,
        parameters=parameters,
        outputs=outputs,
    )
    drawing = Drawing(source, graph_or_plan, timeout)
    if path is None:
        return drawing
    return drawing.save(path, format)
