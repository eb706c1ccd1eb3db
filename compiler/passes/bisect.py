"""Finds the pass, and in it the rule, that changed a value.

The graph is run after each pass on copies of the same values; who runs it is handed in, as this package knows
no runtime. Rules that only promise accuracy change bits of gradients: a tolerance looks past them.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.equal import structurally_equal
from ..ir.node import Graph
from ..ir.record import record, replace
from ..rules.rule import CANONICAL, SIMPLIFY
from .manager import Options, Pass

Run = Callable[[Graph, Sequence[Any]], Sequence[Any]]


@record
class Finding:
    """Result `output` was `before` and became `after`; `rule` is None where no rule alone did it."""

    stage: str
    rule: str | None
    output: int
    before: Any
    after: Any

    def __str__(self) -> str:
        where = f"the rule {self.rule} of the pass {self.stage}" if self.rule else f"the pass {self.stage}"
        return f"{where} changed result {self.output} from {self.before!r} to {self.after!r}"


def find_change(
    graph: Graph,
    run: Run,
    values: Sequence[Any],
    passes: Sequence[Pass],
    options: Options,
    tolerance: float = 0.0,
) -> Finding | None:
    """The first pass after which a result differs; None if none does."""

    def results(candidate: Graph) -> list[Any]:
        return list(run(candidate, copy.deepcopy(list(values))))

    before = results(graph)
    for each in passes:
        if each.name in options.disabled:
            continue
        changed = each.run(graph, options)
        after = results(changed)
        place = _first_difference(before, after, tolerance)
        if place is not None:
            rule = _guilty_rule(graph, changed, each, options, results, before, tolerance)
            return Finding(each.name, rule, place, before[place], after[place])
        graph, before = changed, after
    return None


def _guilty_rule(
    graph: Graph,
    changed: Graph,
    guilty: Pass,
    options: Options,
    results: Callable[[Graph], list[Any]],
    before: list[Any],
    tolerance: float,
) -> str | None:
    """The rule without which the pass changes no value."""
    for rule in (rule for given in (CANONICAL, SIMPLIFY, *options.rules) for rule in given.rules):
        without = guilty.run(graph, replace(options, disabled=options.disabled | {rule.name}))
        if structurally_equal(without, changed):
            continue
        if _first_difference(before, results(without), tolerance) is None:
            return rule.name
    return None


def _first_difference(before: list[Any], after: list[Any], tolerance: float) -> int | None:
    pairs = zip(before, after, strict=True)
    return next((place for place, (x, y) in enumerate(pairs) if not same_value(x, y, tolerance)), None)


def same_value(x: Any, y: Any, tolerance: float = 0.0) -> bool:
    """Whether two results are equal: class, dtype, shape, and bits up to those of NaNs.

    With a tolerance numbers may differ by that part of the largest finite one.
    """
    if isinstance(x, np.random.Generator):
        return type(x) is type(y) and same_state(x.bit_generator.state, y.bit_generator.state)
    if isinstance(x, tuple):
        return len(x) == len(y) and all(map(same_value, x, y))
    one, two = np.asarray(x), np.asarray(y)
    if one.dtype != two.dtype or one.shape != two.shape:
        return False
    return all(_same_numbers(a, b, tolerance) for a, b in _real_parts(one, two))


def same_state(x: Any, y: Any) -> bool:
    """Whether two states of random numbers are equal: nested dicts of numbers, texts and arrays."""
    if isinstance(x, dict) and isinstance(y, dict):
        return x.keys() == y.keys() and all(same_state(x[key], y[key]) for key in x)
    return bool(np.array_equal(x, y))


def _real_parts(one: Any, two: Any) -> list[tuple[Any, Any]]:
    return [(one.real, two.real), (one.imag, two.imag)] if one.dtype.kind == "c" else [(one, two)]


def _same_numbers(one: Any, two: Any, tolerance: float) -> bool:
    if one.dtype.kind != "f":
        return bool(np.array_equal(one, two))
    if not tolerance:
        same = (one == two) & (np.signbit(one) == np.signbit(two))
        return bool(np.all(same | (np.isnan(one) & np.isnan(two))))
    finite = np.abs(one[np.isfinite(one)])
    scale = float(finite.max()) if finite.size else 0.0
    return bool(np.allclose(one, two, rtol=0, atol=tolerance * scale, equal_nan=True))
