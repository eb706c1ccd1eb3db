"""reduceat: reductions of segments of an axis, and the transpose of its sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, NotDifferentiableError, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, normals
from .cumulative import as_operand
from .ufunc_methods import C_UFUNC, RULES, no_rule, result_dtype, ufunc_reduce_vjp


def reduceat_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, starts = arrays("reduceat", types)
    axis = attrs["axis"]
    if not 0 <= axis < x.ndim:
        OPS["reduceat"].fail("C1", f"{x} has no axis {axis}")
    if starts.ndim != 1 or starts.dtype.kind not in "iu":
        OPS["reduceat"].fail("C2", f"the starts are {starts}")
    dtype = result_dtype("reduceat", attrs["ufunc"], x.dtype, attrs["dtype"])
    return array_type((*x.shape[:axis], *starts.shape, *x.shape[axis + 1 :]), dtype)


def reduceat_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Sums are transposed; for the rest a masked reduction over a table with a row a segment stands in."""
    operand, starts = node.inputs
    axis, name = node.attrs["axis"], node.attrs["ufunc"]
    if name == "add":
        part = b.segments_spread(ct, starts, axis=axis, length=operand.shape[axis])
        return as_operand(b, operand, part), None
    if name not in RULES or name == "hypot":
        # A segment of one element is that element, sign and all, while hypot.reduce gives its size.
        raise no_rule(node)
    if starts.op.name != "constant":
        raise NotDifferentiableError(node, "where its segments begin is not known when the graph is built")
    x = b.cast(operand, node.dtype)
    positions, inside = table(starts.attrs["value"].value, x.shape[axis])
    where = b.constant(positions)
    rows = b.gather(x, where, axes=(axis,))
    mask = b.broadcast(b.constant(inside), axes=(axis, axis + 1), shape=rows.shape)
    extreme = {"maximum": -np.inf, "minimum": np.inf, "fmax": -np.inf, "fmin": np.inf}.get(name)
    start = [] if extreme is None else [b.scalar(extreme, x)]
    attrs = {"ufunc": name, "axes": (axis + 1,), "dtype": None, "masked": True, "started": bool(start)}
    reduced = b.make(OPS["ufunc_reduce"], (rows, mask, *start), attrs)
    of_rows = ufunc_reduce_vjp(b, reduced, ct)[0]
    assert of_rows is not None
    return as_operand(b, operand, b.scatter_add(b.zeros(x.type), of_rows, where, axes=(axis,))), None


def table(starts: Any, length: int) -> tuple[Any, Any]:
    """A row a segment: the positions of its elements, filled up to equal length, and which are real."""
    starts = np.asarray(starts).astype(np.intp)
    counts = np.maximum(np.append(starts[1:], length) - starts, 1)
    steps = np.arange(counts.max(initial=0))
    inside = steps < counts[:, None]
    return np.where(inside, starts[:, None] + steps, starts[:, None]), inside


_starts = np.array([0, 3, 1])


def _attrs(ufunc: str, axis: int = 0) -> dict[str, Any]:
    return {"ufunc": ufunc, "axis": axis, "dtype": None}


register(
    OpDef(
        "reduceat",
        "np.<ufunc>.reduceat: a reduction of each segment along an axis",
        Kind.OTHER,
        reduceat_type,
        lambda x, starts, ufunc, axis, dtype: getattr(np, ufunc).reduceat(x, starts, axis=axis, dtype=dtype),
        reduceat_vjp,
        ("C1: axis is an axis of x", "C2: the starts are a vector of integers", C_UFUNC),
        (
            Sample("sums", lambda rng: (rng.normal(size=5), _starts), _attrs("add")),
            Sample("columns", lambda rng: (rng.normal(size=(2, 4)), _starts), _attrs("add", 1)),
            Sample(
                "products",
                lambda rng: (rng.normal(size=5), _starts),
                _attrs("multiply"),
                differentiable=False,
            ),
            Sample("beyond", lambda rng: (np.ones(5), _starts), _attrs("add", 1), breaks="C1"),
            Sample("float_starts", normals((3,), (2,)), _attrs("add"), breaks="C2"),
            Sample("unary", lambda rng: (np.ones(5), _starts), _attrs("exp"), breaks="C3"),
        ),
    )
)


def segments_spread_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, starts = arrays("segments_spread", types)
    axis = attrs["axis"]
    if not 0 <= axis < x.ndim or starts.ndim != 1 or x.shape[axis] != starts.shape[0]:
        OPS["segments_spread"].fail("C1", f"{starts} are no starts along axis {axis} of {x}")
    return array_type((*x.shape[:axis], attrs["length"], *x.shape[axis + 1 :]), x.dtype)


def segments_spread_value(x: Any, starts: Any, axis: int, length: int) -> Any:
    """A segment ends where the next begins; one that would be empty is the element at its start."""
    rows = np.moveaxis(np.asarray(x), axis, 0)
    total = np.zeros((length, *rows.shape[1:]), rows.dtype)
    ends = np.append(starts[1:], length)
    for row, start, end in zip(rows, starts, ends[: len(rows)], strict=True):
        total[start : max(end, start + 1)] += row
    return np.ascontiguousarray(np.moveaxis(total, 0, axis))


def segments_spread_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return b.reduceat(ct, node.inputs[1], ufunc="add", axis=node.attrs["axis"], dtype=ct.dtype), None


register(
    OpDef(
        "segments_spread",
        "the transpose of add.reduceat: each element added to all places of its segment along an axis",
        Kind.OTHER,
        segments_spread_type,
        segments_spread_value,
        segments_spread_vjp,
        ("C1: there is one start an element along the axis",),
        (
            Sample("vector", lambda rng: (rng.normal(size=3), _starts), {"axis": 0, "length": 5}),
            Sample("rows", lambda rng: (rng.normal(size=(2, 3)), _starts), {"axis": 1, "length": 4}),
            Sample("count", lambda rng: (np.ones(2), _starts), {"axis": 0, "length": 5}, breaks="C1"),
        ),
    )
)
