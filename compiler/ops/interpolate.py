"""np.interp: the piecewise linear function through given points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, conj, is_complex, values, where_zero


def interp_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, places, heights = arrays("interp", types)
    if places.ndim != 1 or not places.size or heights.shape != places.shape:
        OPS["interp"].fail("C1", f"{places} and {heights} are not vectors of one length, at least 1")
    if x.dtype.char != "d" or places.dtype.char != "d" or heights.dtype.char not in "dD":
        OPS["interp"].fail("C2", f"dtypes are {x.dtype}, {places.dtype}, {heights.dtype}")
    return array_type(x.shape, heights.dtype)


def interp_value(x: Any, places: Any, heights: Any, left: Any, right: Any) -> Any:
    return np.interp(x, places, heights, left=left, right=right)


def interp_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """On each piece f0 + t (f1 - f0) with t = (x - x0) / (x1 - x0), held to [0, 1] beyond the ends."""
    x, places, heights = node.inputs
    count = places.shape[0]
    below, above = b.less(x, _end(b, places, 0)), b.greater(x, _end(b, places, count - 1))
    given = ct
    for outside, value in ((below, node.attrs["left"]), (above, node.attrs["right"])):
        if value is not None:
            given = where_zero(b, b.logical_not(outside), given)
    if count == 1:
        whole = b.sum(given, axes=tuple(range(len(x.shape))), dtype=ct.dtype)
        return None, None, b.reshape(whole, (1,))
    first = b.subtract(b.searchsorted(places, x, side="right"), _integer(b, 1))
    first = b.minimum(b.maximum(first, _integer(b, 0)), _integer(b, count - 2))
    second = b.add(first, _integer(b, 1))

    def at(vector: Node, index: Node) -> Node:
        return b.gather(vector, index, axes=(0,))

    def spread(vector: Node, at_first: Node, at_second: Node) -> Node:
        total = b.scatter_add(b.zeros(vector.type), at_first, first, axes=(0,))
        return b.scatter_add(total, at_second, second, axes=(0,))

    zero, one = b.scalar(0, x), b.scalar(1, x)
    width = b.subtract(at(places, second), at(places, first))
    t = b.minimum(b.maximum(b.divide(b.subtract(x, at(places, first)), width), zero), one)
    share = b.cast(t, ct.dtype)
    of_second = b.multiply(given, share)
    slope = b.divide(b.subtract(at(heights, second), at(heights, first)), b.cast(width, heights.dtype))
    steep = b.multiply(ct, conj(b, slope))
    ct_x = where_zero(
        b, b.logical_not(b.logical_or(below, above)), b.real(steep) if is_complex(ct) else steep
    )
    moved = b.multiply(ct_x, t)
    return (
        ct_x,
        spread(places, b.subtract(moved, ct_x), b.negative(moved)),
        spread(heights, b.subtract(given, of_second), of_second),
    )


def _end(b: Builder, places: Node, position: int) -> Node:
    return b.reshape(b.slice(places, start=(position,), size=(1,), step=(1,)), ())


def _integer(b: Builder, value: int) -> Node:
    return b.constant(np.asarray(value, np.intp))


_places, _heights = np.array([-1.0, 0.0, 0.5, 2.0]), np.array([3.0, -1.0, 4.0, 1.0])


_between = np.array([[-1.6, -0.4, 0.2], [1.1, 2.7, -0.8]])
_ends = {"left": None, "right": None}
register(
    OpDef(
        "interp",
        "the piecewise linear function through points; beyond them its end values, or `left` and `right`",
        Kind.OTHER,
        interp_type,
        interp_value,
        interp_vjp,
        (
            "C1: places and heights are vectors of one length, at least 1",
            "C2: dtypes are f64, the heights' f64 or c128",
        ),
        (
            Sample("vector", values(_between[0], _places, _heights), _ends),
            Sample("matrix", values(_between, _places, _heights), {"left": -5.0, "right": 5.0}),
            Sample("complex", values(_between[1], _places, _heights * (1 + 2j)), _ends),
            Sample("one_point", values([0.3, 0.7], [0.5], [2.0]), {"left": None, "right": 9.0}),
            Sample("lengths_differ", values([0.3], [0.5], [2.0, 1.0]), _ends, breaks="C1"),
            Sample("float32", values(np.ones(2, "f4"), [0.5], [2.0]), _ends, breaks="C2"),
        ),
    )
)
