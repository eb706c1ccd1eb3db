"""Sorting and searching.

Equal elements share the cotangents of the places they take evenly, so which of them stands first does not
matter; median, quantile and their like are compositions of sort and partition.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, NotDifferentiable, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, normal, normals, values

C_AXIS = "C1: the operands are arrays, axis is an axis of theirs"
POSITIONS = NotDifferentiable("positions are integers")


def along_axis(b: Builder, indices: Node, axis: int, shape: tuple[int, ...]) -> list[Node]:
    """The index arrays, one an axis, by which `indices` select along one axis of an array of this shape."""
    result = []
    for k, length in enumerate(shape):
        if k == axis:
            result.append(indices)
        else:
            grid = np.arange(length).reshape([-1 if j == k else 1 for j in range(len(shape))])
            result.append(b.constant(grid))
    return result


def take_along(b: Builder, x: Node, indices: Node, axis: int) -> Node:
    """np.take_along_axis."""
    return b.gather(x, *along_axis(b, indices, axis, x.shape), axes=tuple(range(len(x.shape))))


def put_along(b: Builder, x: Node, indices: Node, values: Node, axis: int) -> Node:
    """x after np.put_along_axis; the values have the shape that the indices select."""
    return b.scatter(x, values, *along_axis(b, indices, axis, x.shape), axes=tuple(range(len(x.shape))))


def axis_rule(op: str, types: Sequence[Type], attrs: Attrs) -> Type:
    (x,) = arrays(op, types)
    if not 0 <= attrs["axis"] < x.ndim:
        OPS[op].fail("C1", f"{x} has no axis {attrs['axis']}")
    return x


def position_rule(op: str, types: Sequence[Type], attrs: Attrs) -> Type:
    return array_type(arrays(op, [axis_rule(op, types, attrs)])[0].shape, np.dtype(np.intp))


def from_sorted(b: Builder, x: Node, ct: Node, axis: int) -> Node:
    """The cotangent of x, given that of its elements in rising order."""
    order = b.argsort(x, axis=axis, kind="stable")
    shared = b.tie_mean(ct, take_along(b, x, order, axis), axis=axis)
    return take_along(b, shared, b.argsort(order, axis=axis, kind="stable"), axis)


def sort_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (from_sorted(b, x, ct, node.attrs["axis"]),)


_ties = values([3.0, 1.0, 3.0, 2.0, 1.0])
register(
    OpDef(
        "sort",
        "the elements along an axis in rising order; ties share the cotangent",
        Kind.OTHER,
        partial(axis_rule, "sort"),
        lambda x, axis, kind: np.sort(x, axis=axis, kind=kind),
        sort_vjp,
        (C_AXIS,),
        (
            Sample("vector", normal(6), {"axis": 0, "kind": None}),
            Sample("rows", normal(3, 4), {"axis": 1, "kind": "stable"}),
            Sample("columns", normal(3, 4), {"axis": 0, "kind": None}),
            Sample("integers", values([3, 1, 2]), {"axis": 0, "kind": None}),
            Sample("ties", _ties, {"axis": 0, "kind": None}, differentiable=False),
            Sample("beyond", normal(3), {"axis": 1, "kind": None}, breaks="C1"),
        ),
        flow=Flow.MOVES,
    )
)
register(
    OpDef(
        "argsort",
        "the positions of the elements along an axis in rising order",
        Kind.OTHER,
        partial(position_rule, "argsort"),
        lambda x, axis, kind: np.argsort(x, axis=axis, kind=kind),
        POSITIONS,
        (C_AXIS,),
        (
            Sample("vector", normal(6), {"axis": 0, "kind": None}, differentiable=False),
            Sample("rows", normal(3, 4), {"axis": 1, "kind": "stable"}, differentiable=False),
            Sample("beyond", normal(3), {"axis": 1, "kind": None}, breaks="C1"),
        ),
    )
)


def tie_mean_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, keys = arrays("tie_mean", types)
    axis_rule("tie_mean", [x], attrs)
    if x.shape != keys.shape:
        OPS["tie_mean"].fail("C2", f"{x} and {keys} differ in shape")
    return x


def tie_mean_value(x: Any, keys: Any, axis: int) -> Any:
    """Numbers the runs of equal keys through the whole array and averages each run."""
    rows = np.moveaxis(np.asarray(x), axis, -1)
    sorted_keys = np.moveaxis(np.asarray(keys), axis, -1)
    if not rows.size:
        return np.array(x)
    first = np.ones(rows.shape, bool)
    first[..., 1:] = sorted_keys[..., 1:] != sorted_keys[..., :-1]
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=rows.size)
    if len(starts) == rows.size:
        return np.array(x)
    means = np.add.reduceat(rows.reshape(-1), starts) / lengths.astype(rows.dtype)
    return np.array(np.moveaxis(np.repeat(means, lengths).reshape(rows.shape), -1, axis))


def tie_mean_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Averaging over groups is symmetric."""
    return b.tie_mean(ct, node.inputs[1], axis=node.attrs["axis"]), None


register(
    OpDef(
        "tie_mean",
        "x with each run of equal neighbouring keys along an axis replaced by its mean",
        Kind.OTHER,
        tie_mean_type,
        tie_mean_value,
        tie_mean_vjp,
        (C_AXIS, "C2: x and the keys have one shape"),
        (
            Sample(
                "runs",
                lambda rng: (rng.normal(size=5), np.array([1, 1, 2, 3, 3])),
                {"axis": 0},
            ),
            Sample(
                "columns",
                lambda rng: (rng.normal(size=(3, 2)), np.array([[1, 1], [1, 2], [4, 2]])),
                {"axis": 0},
            ),
            Sample("beyond", normals((3,), (3,)), {"axis": 1}, breaks="C1"),
            Sample("shapes_differ", normals((3,), (2,)), {"axis": 0}, breaks="C2"),
        ),
        flow=Flow.MOVES,
    )
)


def _kth_fits(op: str, types: Sequence[Type], attrs: Attrs) -> None:
    length = arrays(op, [axis_rule(op, types, attrs)])[0].shape[attrs["axis"]]
    if any(not 0 <= k < length for k in attrs["kth"]):
        OPS[op].fail("C2", f"kth {attrs['kth']} for an axis of length {length}")


def partition_type(types: Sequence[Type], attrs: Attrs) -> Type:
    _kth_fits("partition", types, attrs)
    return types[0]


def argpartition_type(types: Sequence[Type], attrs: Attrs) -> Type:
    _kth_fits("argpartition", types, attrs)
    return position_rule("argpartition", types, attrs)


def partition_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """By way of the rising order, which x and its partition have in common."""
    (x,) = node.inputs
    axis = node.attrs["axis"]
    in_order = take_along(b, ct, b.argsort(node, axis=axis, kind="stable"), axis)
    return (from_sorted(b, x, in_order, axis),)


_kth = {"kth": (2,), "axis": 0, "kind": "introselect"}
_places = "C2: each kth is a position along the axis"
register(
    OpDef(
        "partition",
        "np.partition: the kth elements stand where sorting would put them, smaller ones before them",
        Kind.OTHER,
        partition_type,
        lambda x, kth, axis, kind: np.partition(x, np.array(kth, np.intp), axis=axis, kind=kind),
        partition_vjp,
        (C_AXIS, _places),
        (
            Sample("vector", normal(7), _kth),
            Sample("rows", normal(2, 5), {"kth": (1, 3), "axis": 1, "kind": "introselect"}),
            Sample("beyond", normal(3), {**_kth, "axis": 1}, breaks="C1"),
            Sample("kth_beyond", normal(2), _kth, breaks="C2"),
        ),
        flow=Flow.MOVES,
    )
)
register(
    OpDef(
        "argpartition",
        "the positions of the elements in the order that np.partition gives them",
        Kind.OTHER,
        argpartition_type,
        lambda x, kth, axis, kind: np.argpartition(x, kth, axis=axis, kind=kind),
        POSITIONS,
        (C_AXIS, _places),
        (
            Sample("vector", normal(7), _kth, differentiable=False),
            Sample("beyond", normal(3), {**_kth, "axis": 1}, breaks="C1"),
            Sample("kth_beyond", normal(2), _kth, breaks="C2"),
        ),
    )
)


def searchsorted_type(types: Sequence[Type], attrs: Attrs) -> Type:
    edges, x, *sorter = arrays("searchsorted", types)
    if edges.ndim != 1 or any(type_.shape != edges.shape or type_.dtype.kind not in "iu" for type_ in sorter):
        OPS["searchsorted"].fail("C1", f"{edges} and a sorter {sorter} are not vectors of one length")
    if edges.dtype != x.dtype:
        OPS["searchsorted"].fail("C2", f"dtypes {edges.dtype} and {x.dtype} differ")
    return array_type(x.shape, np.dtype(np.intp))


register(
    OpDef(
        "searchsorted",
        "where elements would have to be inserted in a sorted vector, with a third operand as its sorter",
        Kind.OTHER,
        searchsorted_type,
        lambda edges, x, *sorter, side: np.searchsorted(edges, x, side, *sorter),
        POSITIONS,
        (
            "C1: the sorted operand and its integer sorter are vectors of one length",
            "C2: both have one dtype",
        ),
        (
            Sample(
                "left",
                lambda rng: (np.sort(rng.normal(size=5)), rng.normal(size=(2, 3))),
                {"side": "left"},
                differentiable=False,
            ),
            Sample(
                "sorter",
                lambda rng: (np.array([2.0, 0.0, 1.0]), rng.normal(size=4), np.array([1, 2, 0])),
                {"side": "right"},
                differentiable=False,
            ),
            Sample("matrix", normals((2, 2), (3,)), {"side": "left"}, breaks="C1"),
            Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), {"side": "left"}, "C2"),
        ),
    )
)


def lexsort_type(types: Sequence[Type], attrs: Attrs) -> Type:
    keys = arrays("lexsort", types)
    if not keys or any(type_.shape != keys[0].shape for type_ in keys):
        OPS["lexsort"].fail("C2", f"keys are {', '.join(map(str, keys))}")
    return position_rule("lexsort", keys[:1], attrs)


register(
    OpDef(
        "lexsort",
        "the positions of the elements in rising order of several keys, the last the first to count",
        Kind.OTHER,
        lexsort_type,
        lambda *keys, axis: np.lexsort(keys, axis=axis),
        POSITIONS,
        (C_AXIS, "C2: there is at least one key and all have one shape"),
        (
            Sample("pair", values([1.0, 2.0, 3.0], [1, 0, 0]), {"axis": 0}, differentiable=False),
            Sample("beyond", normals((3,), (3,)), {"axis": 1}, breaks="C1"),
            Sample("shapes_differ", normals((3,), (2,)), {"axis": 0}, breaks="C2"),
        ),
    )
)
