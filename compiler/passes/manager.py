"""Runs passes in order: switches, verification after each, dumps of each stage.

`TAPELESS_CHECK=1` verifies the graph after every pass and names the guilty one; `TAPELESS_DUMP=dir` writes
every stage as text and as DOT. What the passes are, and their order, stands in `compiler/pipeline.py`.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from ..ir.node import Graph
from ..ir.record import record
from ..rules.rule import RuleSet


@record
class Options:
    """What passes may do.

    `fast_math` allows other rounding in the forward part too; `disabled` names passes and rules that are off;
    `rules` are sets of the user's own.
    """

    fast_math: bool = False
    disabled: frozenset[str] = frozenset()
    rules: tuple[RuleSet, ...] = ()


DEFAULT = Options()


@record
class Pass:
    """One pass: a pure function, valid graph in, valid graph out."""

    name: str
    run: Callable[[Graph, Options], Graph]


_DUMPED = itertools.count(1)


def run_passes(graph: Graph, passes: Sequence[Pass], options: Options) -> Graph:
    """The graph after all passes that are not switched off.

    Raises:
        VerifyError: under `TAPELESS_CHECK=1`, where a pass made an invalid graph.
    """
    check = _checker(os.environ.get("TAPELESS_CHECK", ""))
    dump = _dumper(graph.name, os.environ.get("TAPELESS_DUMP", ""))
    check(graph, "tracing")
    dump("traced", graph)
    for each in passes:
        if each.name in options.disabled:
            continue
        graph = each.run(graph, options)
        check(graph, each.name)
        dump(each.name, graph)
    return graph


def _checker(wanted: str) -> Callable[[Graph, str], object]:
    """Verifies the graph after a stage; does nothing where that is not wanted."""
    if wanted in ("", "0"):
        return lambda graph, stage: None
    from ..ir.verify import verify

    return verify


def _dumper(name: str, directory: str) -> Callable[[str, Graph], None]:
    """Writes stage after stage into a folder of its own below the directory; does nothing without one."""
    if not directory:
        return lambda stage, graph: None
    from ..draw import dot_source
    from ..ir.text import graph_text

    folder = Path(directory) / f"{next(_DUMPED):03d}-{re.sub(r'[^A-Za-z0-9_.-]+', '_', name)}"
    folder.mkdir(parents=True, exist_ok=True)
    stages = itertools.count()

    def dump(stage: str, graph: Graph) -> None:
        stem = f"{next(stages):02d}-{stage}"
        (folder / f"{stem}.txt").write_text(graph_text(graph, locs=True) + "\n", encoding="utf-8")
        (folder / f"{stem}.dot").write_text(dot_source(graph), encoding="utf-8")

    return dump
