"""`contract_windows`: a sum of products of two windows, what convolutions and their gradients are.

Iteration axes have lengths `extents`; the first `kept` of them are the result's, the others are summed. An
operand's element at an iteration is the one at start + sum of index * steps, as for `window`. With `result`,
(shape, start, steps), the kept axes are a window on the result, to which sums are added as by `window_sum`.
It is made after differentiation, by `passes/contractions.py`, so it has no derivative of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.opdef import OPS, Attrs, Kind, NotDifferentiable, OpDef, Sample, TypeRuleError, register
from ..ir.types import Type, array_type
from .base import arrays, normals, values
from .view import window_sum_value, window_value

Steps = tuple[tuple[int, ...], ...]


def contract_windows_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, y = arrays("contract_windows", types)
    extents, kept = attrs["extents"], attrs["kept"]
    if not 0 <= kept <= len(extents):
        OPS["contract_windows"].fail("C1", f"there are no {kept} axes among {extents}")
    for type_, start, steps in (
        (x, attrs["left_start"], attrs["left_steps"]),
        (y, attrs["right_start"], attrs["right_steps"]),
    ):
        try:
            OPS["window"].type_rule([type_], {"start": start, "steps": steps, "shape": extents})
        except TypeRuleError as error:
            OPS["contract_windows"].fail("C2", str(error))
    if x.dtype != y.dtype or x.dtype.kind not in "fc":
        OPS["contract_windows"].fail("C3", f"dtypes {x.dtype} and {y.dtype} are not one inexact one")
    type_ = array_type(extents[:kept], x.dtype)
    if not attrs.get("result"):
        return type_
    shape, start, steps = attrs["result"]
    try:
        return OPS["window_sum"].type_rule([type_], {"shape": shape, "start": start, "steps": steps})
    except TypeRuleError as error:
        OPS["contract_windows"].fail("C2", str(error))


def contract_windows_value(
    x: Any,
    y: Any,
    extents: tuple[int, ...],
    kept: int,
    left_start: tuple[int, ...],
    left_steps: Steps,
    right_start: tuple[int, ...],
    right_steps: Steps,
    result: tuple[Any, ...] = (),
) -> Any:
    """einsum over the two windows; axes along which an operand does not move are left out of it."""
    operands: list[Any] = []
    for array, start, steps in ((x, left_start, left_steps), (y, right_start, right_steps)):
        moving = [axis for axis, step in enumerate(steps) if any(step)]
        shape = tuple(extents[axis] for axis in moving)
        operands += [window_value(array, start, tuple(steps[axis] for axis in moving), shape), moving]
    moved = {*operands[1], *operands[3]}
    still = [axis for axis in range(len(extents)) if axis not in moved]
    times = np.prod([extents[axis] for axis in still if axis >= kept], dtype=int)
    total = np.einsum(*operands, [axis for axis in range(kept) if axis in moved]) * x.dtype.type(times)
    wide = np.expand_dims(total, tuple(axis for axis in still if axis < kept))
    sums = np.broadcast_to(wide, extents[:kept])
    return window_sum_value(sums, *result) if result else sums.copy()


def _attrs(extents: tuple[int, ...], kept: int, left: Steps, right: Steps) -> dict[str, Any]:
    return {
        "extents": extents,
        "kept": kept,
        "left_start": (0,) * len(left[0]),
        "left_steps": left,
        "right_start": (0,) * len(right[0]),
        "right_steps": right,
    }


register(
    OpDef(
        "contract_windows",
        "sums of products of the elements that two windows show",
        Kind.CONTRACTION,
        contract_windows_type,
        contract_windows_value,
        NotDifferentiable("it is made after differentiation"),
        (
            "C1: the result's axes are the first of the iteration's",
            "C2: each window lies in its operand, or in the result",
            "C3: both have one dtype, floating or complex",
        ),
        (
            Sample(
                "convolution",
                normals((6,), (3,)),
                _attrs((4, 3), 1, ((1,), (1,)), ((0,), (1,))),
                differentiable=False,
            ),
            Sample(
                "strided",
                normals((2, 9), (3, 2, 2)),
                _attrs(
                    (3, 4, 2, 2),
                    2,
                    ((0, 0), (0, 2), (1, 0), (0, 1)),
                    ((1, 0, 0), (0, 0, 0), (0, 1, 0), (0, 0, 1)),
                ),
                differentiable=False,
            ),
            Sample(
                "still",
                normals((4,), (4,)),
                _attrs((2, 4, 3), 1, ((0,), (1,), (0,)), ((0,), (1,), (0,))),
                differentiable=False,
            ),
            Sample(
                "added",
                normals((4,), (3,)),
                {**_attrs((4, 3), 2, ((1,), (0,)), ((0,), (1,))), "result": ((6,), (0,), ((1,), (1,)))},
                differentiable=False,
            ),
            Sample(
                "added_beyond",
                normals((4,), (3,)),
                {**_attrs((4, 3), 2, ((1,), (0,)), ((0,), (1,))), "result": ((5,), (0,), ((1,), (1,)))},
                breaks="C2",
            ),
            Sample("axes", normals((3,), (3,)), _attrs((3,), 2, ((1,),), ((1,),)), breaks="C1"),
            Sample("beyond", normals((3,), (3,)), _attrs((4,), 0, ((1,),), ((1,),)), breaks="C2"),
            Sample(
                "integers",
                values(np.arange(3), np.arange(3)),
                _attrs((3,), 0, ((1,),), ((1,),)),
                breaks="C3",
            ),
        ),
    )
)
