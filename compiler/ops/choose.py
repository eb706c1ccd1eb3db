"""Choices among several arrays: choose by number, select by the first true condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, OpDef, Sample, register
from ..ir.types import ArrayType, Type
from .base import arrays, normals, where_zero
from .index import in_range

C_ALIKE = "C2: the choices have one type, of the shape of what chooses among them"


def alike(op: str, choices: Sequence[ArrayType], shapes: Sequence[tuple[int, ...]]) -> Type:
    """The type of the choices (C2)."""
    if any(type_ != choices[0] for type_ in choices) or any(shape != choices[0].shape for shape in shapes):
        OPS[op].fail("C2", f"choices {', '.join(map(str, choices))} for shapes {list(shapes)}")
    return choices[0]


def choose_type(types: Sequence[Type], attrs: Attrs) -> Type:
    index, *choices = arrays("choose", types)
    if index.dtype.kind not in "iu" or not choices or attrs["mode"] not in ("raise", "wrap", "clip"):
        OPS["choose"].fail("C1", f"index {index}, {len(choices)} choices, mode {attrs['mode']!r}")
    return alike("choose", choices, [index.shape])


def choose_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    index, *choices = node.inputs
    number = in_range(b, index, len(choices), node.attrs["mode"])
    return None, *(where_zero(b, b.equal(number, b.scalar(k, number)), ct) for k in range(len(choices)))


def _numbered(rng: Any) -> tuple[Any, ...]:
    return np.array([1, 0, 2, 1]), *rng.normal(size=(3, 4))


register(
    OpDef(
        "choose",
        "element by element, the choice that the index names",
        Kind.OTHER,
        choose_type,
        lambda index, *choices, mode: np.choose(index, choices, mode=mode),
        choose_vjp,
        ("C1: the index holds integers, there is a choice, mode is raise, wrap or clip", C_ALIKE),
        (
            Sample("three", _numbered, {"mode": "raise"}),
            Sample("wrap", lambda rng: (np.array([-1, 3, 7]), *rng.normal(size=(3, 3))), {"mode": "wrap"}),
            Sample("clip", lambda rng: (np.array([-1, 3, 1]), *rng.normal(size=(3, 3))), {"mode": "clip"}),
            Sample("float_index", normals((3,), (3,)), {"mode": "raise"}, breaks="C1"),
            Sample(
                "shapes_differ", lambda rng: (np.zeros(3, "i8"), np.ones(2)), {"mode": "raise"}, breaks="C2"
            ),
        ),
        flow=Flow.SELECTS,
    )
)


def select_type(types: Sequence[Type], attrs: Attrs) -> Type:
    operands = arrays("select", types)
    count = len(operands) // 2
    conditions, choices = operands[:count], operands[count:]
    if len(operands) % 2 == 0 or any(type_.dtype != np.dtype(bool) for type_ in conditions):
        OPS["select"].fail("C1", f"operands {', '.join(map(str, operands))}")
    return alike("select", choices, [type_.shape for type_ in conditions])


def select_value(*operands: Any) -> Any:
    count = len(operands) // 2
    return np.select(operands[:count], operands[count:-1], operands[-1]) if count else np.array(operands[-1])


def select_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Each choice gets the cotangent where its condition is the first to hold, the default the rest."""
    count = len(node.inputs) // 2
    parts: list[Node] = []
    left = ct
    for condition in node.inputs[:count]:
        parts.append(where_zero(b, condition, left))
        left = where_zero(b, b.logical_not(condition), left)
    return (*(None for _ in parts), *parts, left)


def _conditions(rng: Any) -> tuple[Any, ...]:
    return np.array([True, False, False]), np.array([True, True, False]), *rng.normal(size=(3, 3))


register(
    OpDef(
        "select",
        "element by element, the choice of the first condition that holds, the last operand where none does",
        Kind.OTHER,
        select_type,
        select_value,
        select_vjp,
        ("C1: booleans first, as many choices behind them, then a default", C_ALIKE),
        (
            Sample("two", _conditions),
            Sample("default_alone", normals((3,))),
            Sample("no_default", lambda rng: (np.ones(3, bool), np.ones(3)), breaks="C1"),
            Sample("float_condition", normals((3,), (3,), (3,)), breaks="C1"),
            Sample("shapes_differ", lambda rng: (np.ones(2, bool), np.ones(3), np.ones(3)), breaks="C2"),
        ),
        flow=Flow.SELECTS,
    )
)
