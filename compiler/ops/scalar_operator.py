"""Operators between complex NumPy scalars, whose bits are not those of the ufuncs.

NumPy multiplies arrays of complex numbers with fused steps where the processor has them, and scalars without;
the size of a scalar goes through C's hypot. Other operators agree.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import Type, array_type
from .arithmetic import absolute_vjp, multiply_vjp
from .base import arrays

OPERATORS: dict[str, Callable[..., Any]] = {"mul": operator.mul, "abs": abs}


def scalar_operator_type(types: Sequence[Type], attrs: Attrs) -> Type:
    operands = arrays("scalar_operator", types)
    first = operands[0]
    if any(type_ != first or type_.shape or type_.dtype.kind != "c" for type_ in operands):
        OPS["scalar_operator"].fail("C1", f"operands are {', '.join(map(str, types))}")
    if len(operands) != {"mul": 2, "abs": 1}.get(attrs["operator"]):
        OPS["scalar_operator"].fail("C2", f"{attrs['operator']!r} of {len(operands)} operands")
    return array_type((), first.dtype if attrs["operator"] == "mul" else np.empty(0, first.dtype).real.dtype)


def scalar_operator_value(*operands: Any, operator: str) -> Any:
    return OPERATORS[operator](*(np.asarray(x)[()] for x in operands))


def scalar_operator_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    rule = multiply_vjp if node.attrs["operator"] == "mul" else absolute_vjp
    return rule(b, node, ct)


register(
    OpDef(
        "scalar_operator",
        "x * y or abs(x) of complex NumPy scalars, as Python's operators do it",
        Kind.OTHER,
        scalar_operator_type,
        scalar_operator_value,
        scalar_operator_vjp,
        ("C1: operands are 0-d, complex, of one dtype", "C2: two operands of mul, one of abs"),
        (
            Sample("mul", lambda rng: (np.array(1.5 - 2j), np.array(0.3 + 1j)), {"operator": "mul"}),
            Sample("abs", lambda rng: (np.array(1.5 - 2j),), {"operator": "abs"}),
            Sample("complex64", lambda rng: (np.array(1.5 - 2j, "c8"),), {"operator": "abs"}),
            Sample("vector", lambda rng: (np.ones(2, "c16"),), {"operator": "abs"}, breaks="C1"),
            Sample("float", lambda rng: (np.array(1.0), np.array(2.0)), {"operator": "mul"}, breaks="C1"),
            Sample("alone", lambda rng: (np.array(1j),), {"operator": "mul"}, breaks="C2"),
        ),
    )
)
