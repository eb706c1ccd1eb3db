"""Reductions of the elements that a mask selects, in the order and with the bits of `x[mask]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import (
    OPS,
    Attrs,
    Cotangents,
    Flow,
    Kind,
    NotDifferentiable,
    NotDifferentiableError,
    OpDef,
    Sample,
    register,
)
from ..ir.types import ArrayType, Type, array_type
from .base import where_zero

UFUNCS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}


def masked_reduce_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, mask = types
    if not isinstance(x, ArrayType) or mask != array_type(x.shape, np.dtype(bool)):
        OPS["masked_reduce"].fail("C1", f"{mask} is no mask of {x}")
    if attrs["reduction"] not in UFUNCS:
        OPS["masked_reduce"].fail("C2", f"there is no reduction {attrs['reduction']!r}")
    return array_type((), UFUNCS[attrs["reduction"]].reduce(np.ones(1, x.dtype)).dtype)


def masked_reduce_value(x: Any, mask: Any, reduction: str) -> Any:
    return UFUNCS[reduction].reduce(np.asarray(x)[mask])


def masked_reduce_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Selected elements get what the reduction of all of them would give; the rest gets a structural zero."""
    x, mask = node.inputs
    reduction = node.attrs["reduction"]
    axes = tuple(range(len(x.shape)))
    if reduction == "sum":
        return where_zero(b, mask, b.broadcast_to(ct, x.shape)), None
    if reduction == "prod":
        filled = b.where(mask, x, b.scalar(1, x))
        whole = b.prod(filled, axes=axes, dtype=x.dtype)
        (part,) = whole.op.vjp(b, whole, ct)  # type: ignore[operator]
        assert part is not None
        return where_zero(b, mask, part), None
    if reduction in ("max", "min"):
        hits = b.logical_and(b.equal(x, b.broadcast_to(node, x.shape)), mask)
        count = b.sum(b.cast(hits, x.dtype), axes=axes, dtype=x.dtype)
        return where_zero(b, hits, b.broadcast_to(b.divide(ct, count), x.shape)), None
    raise NotDifferentiableError(node, "its result is a truth value")


_half = np.array([[True, False, True], [False, True, True]])
register(
    OpDef(
        "masked_reduce",
        "the reduction (sum, prod, max, min, any, all) of x[mask]",
        Kind.OTHER,
        masked_reduce_type,
        masked_reduce_value,
        masked_reduce_vjp,
        ("C1: the mask is a boolean array of the shape of x", "C2: reduction names one of the six"),
        (
            *(
                Sample(name, lambda rng: (rng.normal(size=(2, 3)), _half), {"reduction": name})
                for name in ("sum", "prod", "max", "min")
            ),
            Sample("any", lambda rng: (rng.normal(size=(2, 3)) > 0, _half), {"reduction": "any"}),
            Sample("shapes_differ", lambda rng: (np.ones(3), _half), {"reduction": "sum"}, breaks="C1"),
            Sample("unknown", lambda rng: (np.ones((2, 3)), _half), {"reduction": "mean"}, breaks="C2"),
        ),
        flow=Flow.SELECTS,
    )
)


def mask_ranks_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (mask,) = types
    shape, axis = attrs["shape"], attrs["axis"]
    if not isinstance(mask, ArrayType) or mask.dtype != np.dtype(bool):
        OPS["mask_ranks"].fail("C1", f"{mask} is no mask")
    if shape[axis : axis + mask.ndim] != mask.shape:
        OPS["mask_ranks"].fail("C2", f"{mask} is no mask of axes from {axis} on of shape {shape}")
    return array_type(mask.shape, np.dtype(np.intp))


def mask_ranks_value(mask: Any, shape: tuple[int, ...], axis: int, values: tuple[int, ...]) -> Any:
    """Where the mask holds for another number of elements, NumPy's own assignment raises its error."""
    mask = np.asarray(mask)
    behind = len(shape) - axis - mask.ndim
    if np.count_nonzero(mask) != values[len(values) - behind - 1]:
        np.empty(shape, bool)[(slice(None),) * axis + (mask,)] = np.empty(values, bool)
    return np.maximum(np.cumsum(mask, dtype=np.intp) - 1, 0).reshape(mask.shape)


register(
    OpDef(
        "mask_ranks",
        "which of the values each True of a mask gets; raises unless there are as many of both",
        Kind.OTHER,
        mask_ranks_type,
        mask_ranks_value,
        NotDifferentiable("it is about positions alone"),
        ("C1: the operand is an array of booleans", "C2: shape has the axes of the mask from axis on"),
        (
            Sample("whole", lambda rng: (_half,), {"shape": (2, 3), "axis": 0, "values": (4,)}, None, False),
            Sample(
                "columns",
                lambda rng: (_half[0],),
                {"shape": (4, 3, 5), "axis": 1, "values": (2, 1)},
                differentiable=False,
            ),
            Sample("number", lambda rng: (np.ones(3),), {"shape": (3,), "axis": 0, "values": (3,)}, "C1"),
            Sample("other_axes", lambda rng: (_half,), {"shape": (3, 2), "axis": 0, "values": (4,)}, "C2"),
        ),
    )
)
