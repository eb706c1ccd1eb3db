"""Sums that native code makes of matrix products with one row or column, and of long sums.

`sum_products` is a product of matrix and vector over its iteration space: nothing is multiplied out in
memory. `partial_sum` gives the sums of consecutive blocks along one axis, which threads share and which are
added up afterwards in one order. Both are made after differentiation, by `passes/vectors.py` and
`passes/parts.py`, so they have no derivatives of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.opdef import OPS, Attrs, Kind, NotDifferentiable, OpDef, Sample, register
from ..ir.types import ArrayType, Type, array_type
from .base import arrays, normals, values
from .reduction import C_AXES, reduced_shape

C_FACTORS = "C2: a second operand, the factor, has the first one's shape and floating dtype"


def _factors(op: str, types: Sequence[Type], attrs: Attrs) -> tuple[ArrayType, tuple[int, ...]]:
    """The operands' one type and the shape without the summed axes (C1, C2)."""
    x, *rest = arrays(op, types)
    if any(other != x or x.dtype.kind != "f" for other in rest) or len(rest) > 1:
        OPS[op].fail("C2", f"{', '.join(map(str, types))} are not of one shape and floating dtype")
    return reduced_shape(op, types[:1], attrs)


def sum_products_type(types: Sequence[Type], attrs: Attrs) -> Type:
    if len(types) != 2:
        OPS["sum_products"].fail("C2", f"{len(types)} operands")
    x, shape = _factors("sum_products", types, attrs)
    return array_type(shape, x.dtype)


def partial_sum_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, shape = _factors("partial_sum", types, attrs)
    if attrs["axis"] not in attrs["axes"] or attrs["size"] < 1:
        OPS["partial_sum"].fail("C3", f"no blocks of {attrs['size']} along axis {attrs['axis']} of {x}")
    return array_type((-(-x.shape[attrs["axis"]] // attrs["size"]), *shape), attrs["dtype"])


def partial_sum_value(
    x: Any, *factor: Any, axes: tuple[int, ...], axis: int, size: int, dtype: np.dtype[Any]
) -> Any:
    """Block by block: each is an ordinary sum."""
    terms = np.moveaxis(x * factor[0] if factor else x, axis, 0)
    others = tuple(a + (a < axis) for a in axes if a != axis)
    starts = range(0, len(terms), size)
    blocks = [terms[start : start + size].sum(axis=(0, *others), dtype=dtype) for start in starts]
    kept = tuple(n for k, n in enumerate(terms.shape) if k and k not in others)
    return np.array(blocks, dtype).reshape(len(blocks), *kept)


register(
    OpDef(
        "sum_products",
        "the sum over axes of the products of two operands",
        Kind.REDUCTION,
        sum_products_type,
        lambda x, y, axes: np.add.reduce(x * y, axis=axes),
        NotDifferentiable("it is made after differentiation"),
        (C_AXES, C_FACTORS),
        (
            Sample("rows", normals((3, 4), (3, 4)), {"axes": (1,)}, differentiable=False),
            Sample("columns", normals((5, 2), (5, 2)), {"axes": (0,)}, differentiable=False),
            Sample("dot", normals((7,), (7,)), {"axes": (0,)}, differentiable=False),
            Sample("empty", normals((0, 3), (0, 3)), {"axes": (0,)}, differentiable=False),
            Sample("shapes", normals((3,), (1,)), {"axes": (0,)}, breaks="C2"),
            Sample("integers", values(np.arange(3), np.arange(3)), {"axes": (0,)}, breaks="C2"),
            Sample("beyond", normals((3,), (3,)), {"axes": (1,)}, breaks="C1"),
        ),
    )
)

_double = np.dtype("f8")
register(
    OpDef(
        "partial_sum",
        "sums of consecutive blocks of `size` along an axis, and over the other axes in `axes`",
        Kind.REDUCTION,
        partial_sum_type,
        partial_sum_value,
        NotDifferentiable("it is made after differentiation"),
        (
            C_AXES,
            C_FACTORS,
            "C3: the blocks lie along one of the summed axes; the result's first axis counts them",
        ),
        (
            Sample(
                "columns",
                normals((7, 3)),
                {"axes": (0,), "axis": 0, "size": 3, "dtype": _double},
                differentiable=False,
            ),
            Sample(
                "all",
                normals((3, 5)),
                {"axes": (0, 1), "axis": 1, "size": 2, "dtype": _double},
                differentiable=False,
            ),
            Sample(
                "products",
                normals((2, 6), (2, 6)),
                {"axes": (1,), "axis": 1, "size": 3, "dtype": _double},
                differentiable=False,
            ),
            Sample(
                "still", normals((4, 3)), {"axes": (0,), "axis": 1, "size": 2, "dtype": _double}, breaks="C3"
            ),
            Sample(
                "shapes",
                normals((4,), (3,)),
                {"axes": (0,), "axis": 0, "size": 2, "dtype": _double},
                breaks="C2",
            ),
        ),
    )
)
