"""One call of a NumPy function as it is, for functions that have no derivative and no primitive of their own.

`arguments` and `keywords` are templates in which ("operand", i) stands for an operand, ("list", ...) for a
list and ("value", v) for a known value. The shapes and dtypes of the results are known beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, NotDifferentiableError, OpDef, Sample, register
from ..ir.types import ArrayType, TupleType, Type, array_type
from .base import arrays

Template = tuple[Any, ...]


def function_of(name: str) -> Any:
    """The function that `linalg.eig` names under numpy."""
    return reduce(getattr, name.split("."), np)


def filled(template: Template, operands: Sequence[Any]) -> Any:
    """An argument with the operands in their places."""
    kind, *rest = template
    if kind == "operand":
        return operands[rest[0]]
    if kind == "list":
        return [filled(item, operands) for item in rest]
    return rest[0]


def results_of(attrs: Attrs) -> tuple[ArrayType, ...]:
    result = attrs["result"]
    items: Any = result.items if isinstance(result, TupleType) else (result,)
    return tuple(items)


def numpy_call_type(types: Sequence[Type], attrs: Attrs) -> Type:
    arrays("numpy_call", types)
    place: Any = np
    for part in attrs["function"].split("."):
        place = getattr(place, part, None)
    if not callable(place):
        OPS["numpy_call"].fail("C2", f"there is no np.{attrs['function']}")
    if not all(isinstance(item, ArrayType) for item in results_of(attrs)):
        OPS["numpy_call"].fail("C3", f"the result is {attrs['result']}")
    return attrs["result"]  # type: ignore[no-any-return]


def numpy_call_value(
    *operands: Any, function: str, arguments: Template, keywords: Template, result: Type
) -> Any:
    """The call; raises ValueError where a result has another shape than was foreseen."""
    found = function_of(function)(
        *(filled(item, operands) for item in arguments),
        **{name: filled(item, operands) for name, item in keywords},
    )
    expected = results_of({"result": result})
    values = tuple(found) if isinstance(result, TupleType) else (found,)
    for value, type_ in zip(values, expected, strict=True):
        if np.shape(value) != type_.shape or np.asarray(value).dtype != type_.dtype:
            raise ValueError(
                f"np.{function} gave {np.asarray(value).dtype}{list(np.shape(value))} for these values, but "
                f"{type_} was compiled: a compiled function has results of fixed shapes"
            )
    return values if isinstance(result, TupleType) else values[0]


def numpy_call_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    raise NotDifferentiableError(node, f"no rule is known for np.{node.attrs['function']}")


_vector = array_type((3,), np.dtype("i8"))
_call = {
    "function": "digitize",
    "arguments": (("operand", 0), ("list", ("value", 0.0), ("value", 1.0))),
    "keywords": (("right", ("value", True)),),
    "result": _vector,
}
register(
    OpDef(
        "numpy_call",
        "np.<function>(arguments), as NumPy does it",
        Kind.OTHER,
        numpy_call_type,
        numpy_call_value,
        numpy_call_vjp,
        ("C1: the operands are arrays", "C2: the function is one of numpy", "C3: results are arrays"),
        (
            Sample("digitize", lambda rng: (rng.normal(size=3),), _call, differentiable=False),
            Sample(
                "two_results",
                lambda rng: (np.array([3, 5]),),
                {
                    "function": "unravel_index",
                    "arguments": (("operand", 0), ("value", (2, 3))),
                    "keywords": (),
                    "result": TupleType((array_type((2,), np.dtype("i8")),) * 2),
                },
                differentiable=False,
            ),
            Sample("number", lambda rng: (1.0,), _call, breaks="C1"),
            Sample("unknown", lambda rng: (np.ones(3),), {**_call, "function": "no_such"}, breaks="C2"),
            Sample(
                "tuple_of_tuples",
                lambda rng: (np.ones(3),),
                {**_call, "result": TupleType((TupleType((_vector,)),))},
                breaks="C3",
            ),
        ),
    )
)
