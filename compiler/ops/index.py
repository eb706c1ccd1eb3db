"""Indexing with integer arrays: gather, take, and the functional writes scatter, scatter_add, ufunc_at.

`axes` are the axes that the index arrays belong to; the arrays broadcast among themselves and their axes go
where NumPy's advanced indexing puts them: in the place of `axes` where these are adjacent, in front where
not. Slices, None and masks are the tracer's business. An index out of range raises IndexError at run time.
"""

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
from .base import arrays, normal, normals, where_zero

C_AXES = "C1: the operands are arrays; axes are distinct axes of x in increasing order, one an index array"
C_INTEGERS = "C2: index arrays hold integers and broadcast together"
C_VALUES = "C3: the values have the type of what the index arrays select"


def full_index(axes: tuple[int, ...], indices: Sequence[Any], ndim: int) -> tuple[Any, ...]:
    """What stands between the brackets: the index arrays at their axes, all of the others."""
    index: list[Any] = [slice(None)] * ndim
    for axis, array in zip(axes, indices, strict=True):
        index[axis] = array
    return tuple(index)


def place(axes: tuple[int, ...]) -> int:
    """The axis of the result where the axes of the index arrays begin."""
    adjacent = axes == tuple(range(axes[0], axes[0] + len(axes)))
    return axes[0] if adjacent else 0


def index_shape(op: str, indices: Sequence[ArrayType]) -> tuple[int, ...]:
    """The common shape of the index arrays (C2)."""
    if any(type_.dtype.kind not in "iu" for type_ in indices):
        OPS[op].fail("C2", f"index arrays are {', '.join(map(str, indices))}")
    try:
        return np.broadcast_shapes(*(type_.shape for type_ in indices))
    except ValueError:
        OPS[op].fail("C2", f"shapes {[type_.shape for type_ in indices]} do not broadcast together")


def selected(op: str, types: Sequence[Type], axes: tuple[int, ...]) -> ArrayType:
    """The type of x[index arrays] (C1, C2)."""
    x, *indices = arrays(op, types)
    in_order = list(axes) == sorted(set(axes)) and all(0 <= axis < x.ndim for axis in axes)
    if not axes or not in_order or len(axes) != len(indices):
        OPS[op].fail("C1", f"axes {axes} do not fit {x} and {len(indices)} index arrays")
    kept = [length for axis, length in enumerate(x.shape) if axis not in axes]
    at = place(axes)
    return array_type((*kept[:at], *index_shape(op, indices), *kept[at:]), x.dtype)


def gather_type(types: Sequence[Type], attrs: Attrs) -> Type:
    return selected("gather", types, attrs["axes"])


def gather_value(x: Any, *indices: Any, axes: tuple[int, ...]) -> Any:
    """NumPy's advanced indexing; where 0-d indices alone would give a view, a copy of it."""
    result = x[full_index(axes, indices, np.ndim(x))]
    return result if any(map(np.ndim, indices)) else result.copy(order="K")


def gather_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, *indices = node.inputs
    total = b.scatter_add(b.zeros(x.type), ct, *indices, axes=node.attrs["axes"])
    return total, *(None for _ in indices)


_rows = np.array([2, 0, 2, -1])
_columns = np.array([1, 1, 0, 3])
register(
    OpDef(
        "gather",
        "x[index arrays], as NumPy's advanced indexing",
        Kind.OTHER,
        gather_type,
        gather_value,
        gather_vjp,
        (C_AXES, C_INTEGERS),
        (
            Sample("rows", lambda rng: (rng.normal(size=(3, 4)), _rows), {"axes": (0,)}),
            Sample("columns", lambda rng: (rng.normal(size=(3, 4)), _columns), {"axes": (1,)}),
            Sample("pairs", lambda rng: (rng.normal(size=(3, 4)), _rows, _columns), {"axes": (0, 1)}),
            Sample(
                "grid",
                lambda rng: (rng.normal(size=(3, 4)), _rows[:, None], _columns[None, :]),
                {"axes": (0, 1)},
            ),
            Sample("apart", lambda rng: (rng.normal(size=(3, 2, 4)), _rows, _columns), {"axes": (0, 2)}),
            Sample("one", lambda rng: (rng.normal(size=(3, 4)), np.array(1)), {"axes": (1,)}),
            Sample("none", lambda rng: (rng.normal(size=(3, 4)), np.zeros(0, "i8")), {"axes": (0,)}),
            Sample("axis_beyond", lambda rng: (rng.normal(size=3), _rows), {"axes": (1,)}, breaks="C1"),
            Sample("float_index", normals((3,), (2,)), {"axes": (0,)}, breaks="C2"),
        ),
        flow=Flow.SELECTS,
    )
)


def take_type(types: Sequence[Type], attrs: Attrs) -> Type:
    if attrs["mode"] not in ("raise", "wrap", "clip"):
        OPS["take"].fail("C3", f"there is no mode {attrs['mode']!r}")
    x, indices = arrays("take", types)
    axis = attrs["axis"]
    if not 0 <= axis < x.ndim:
        OPS["take"].fail("C1", f"{x} has no axis {axis}")
    return array_type((*x.shape[:axis], *index_shape("take", [indices]), *x.shape[axis + 1 :]), x.dtype)


def in_range(b: Builder, indices: Node, length: int, mode: str) -> Node:
    """The index array as `gather` wants it: clipped or wrapped where the mode says so."""
    if mode == "wrap":
        return b.remainder(indices, b.scalar(length, indices))
    if mode == "clip":
        return b.minimum(b.maximum(indices, b.scalar(0, indices)), b.scalar(length - 1, indices))
    return indices


def take_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, indices = node.inputs
    axis = node.attrs["axis"]
    places = in_range(b, indices, x.shape[axis], node.attrs["mode"])
    return b.scatter_add(b.zeros(x.type), ct, places, axes=(axis,)), None


register(
    OpDef(
        "take",
        "np.take: what gather selects along one axis, always in C order",
        Kind.OTHER,
        take_type,
        lambda x, indices, axis, mode: np.take(x, indices, axis=axis, mode=mode),
        take_vjp,
        ("C1: the operands are arrays, axis is one of x", C_INTEGERS, "C3: mode is raise, wrap or clip"),
        (
            Sample("rows", lambda rng: (rng.normal(size=(3, 4)), _rows), {"axis": 0, "mode": "raise"}),
            Sample("wrap", lambda rng: (rng.normal(size=3), 3 * _rows), {"axis": 0, "mode": "wrap"}),
            Sample("clip", lambda rng: (rng.normal(size=3), 3 * _rows), {"axis": 0, "mode": "clip"}),
            Sample(
                "axis_beyond", lambda rng: (rng.normal(size=3), _rows), {"axis": 1, "mode": "raise"}, "C1"
            ),
            Sample("float_index", normals((3,), (2,)), {"axis": 0, "mode": "raise"}, "C2"),
            Sample("mode", lambda rng: (rng.normal(size=3), _rows), {"axis": 0, "mode": "mirror"}, "C3"),
        ),
        flow=Flow.SELECTS,
    )
)


def written(op: str, types: Sequence[Type], axes: tuple[int, ...]) -> ArrayType:
    """The type of x after a write of values at the index arrays (C1, C2, C3)."""
    x, values, *indices = arrays(op, types)
    seen = selected(op, [x, *indices], axes)
    if seen != values:
        OPS[op].fail("C3", f"the index arrays select {seen}, the values are {values}")
    return x


def scatter_type(types: Sequence[Type], attrs: Attrs) -> Type:
    return written("scatter", types, attrs["axes"])


def scatter_value(x: Any, values: Any, *indices: Any, axes: tuple[int, ...]) -> Any:
    result = np.array(x, order="K")
    result[full_index(axes, indices, result.ndim)] = values
    return result


def scatter_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """x keeps its cotangent where nothing was written; a value gets its own if no later one hit its place."""
    x, values, *indices = node.inputs
    axes = node.attrs["axes"]
    kept = b.scatter(ct, b.zeros(values.type), *indices, axes=axes)
    given = b.gather(ct, *indices, axes=axes)
    lengths = tuple(x.shape[axis] for axis in axes)
    if not _surely_distinct(indices, lengths):
        lasting = b.last_writes(*indices, shape=lengths)
        at = place(axes)
        wins = b.broadcast(lasting, axes=tuple(range(at, at + len(lasting.shape))), shape=values.shape)
        given = where_zero(b, wins, given)
    return kept, given, *(None for _ in indices)


def _surely_distinct(indices: Sequence[Node], lengths: tuple[int, ...]) -> bool:
    """Whether the index arrays are constants that name no place twice."""
    if any(node.op.name != "constant" for node in indices):
        return False
    try:
        return bool(last_writes_value(*(node.attrs["value"].value for node in indices), shape=lengths).all())
    except IndexError:
        return False


_doubled = (
    Sample("twice", lambda rng: (rng.normal(size=(3, 4)), rng.normal(size=(4, 4)), _rows), {"axes": (0,)}),
    Sample(
        "pairs",
        lambda rng: (rng.normal(size=(3, 4)), rng.normal(size=4), _rows, _columns),
        {"axes": (0, 1)},
    ),
    Sample(
        "apart",
        lambda rng: (rng.normal(size=(3, 2, 4)), rng.normal(size=(4, 2)), _rows, _columns),
        {"axes": (0, 2)},
    ),
    Sample("one", lambda rng: (rng.normal(size=(3, 4)), rng.normal(size=3), np.array(1)), {"axes": (1,)}),
    Sample("axis_beyond", lambda rng: (np.ones(3), np.ones(4), _rows), {"axes": (1,)}, breaks="C1"),
    Sample("float_index", normals((3,), (2,), (2,)), {"axes": (0,)}, breaks="C2"),
    Sample("lengths_differ", lambda rng: (np.ones(3), np.ones(3), _rows), {"axes": (0,)}, breaks="C3"),
)
register(
    OpDef(
        "scatter",
        "x with x[index arrays] = values; the last value written to a place stays",
        Kind.OTHER,
        scatter_type,
        scatter_value,
        scatter_vjp,
        (C_AXES, C_INTEGERS, C_VALUES),
        _doubled,
        flow=Flow.SELECTS,
    )
)


def last_writes_type(types: Sequence[Type], attrs: Attrs) -> Type:
    indices = arrays("last_writes", types)
    if len(indices) != len(attrs["shape"]) or not indices:
        OPS["last_writes"].fail("C1", f"{len(indices)} index arrays for shape {attrs['shape']}")
    return array_type(index_shape("last_writes", indices), np.dtype(bool))


def last_writes_value(*indices: Any, shape: tuple[int, ...]) -> Any:
    """Writes each position's number through the index arrays and looks which ones stayed."""
    common = np.broadcast_shapes(*map(np.shape, indices))
    number = np.arange(int(np.prod(common))).reshape(common)
    places = np.empty(shape, np.intp)
    places[indices] = number
    return places[indices] == number


register(
    OpDef(
        "last_writes",
        "which of the writes through the index arrays stay, as no later one goes to the same place",
        Kind.OTHER,
        last_writes_type,
        last_writes_value,
        NotDifferentiable("it is about positions alone"),
        ("C1: one index array an axis of shape", C_INTEGERS),
        (
            Sample("twice", lambda rng: (_rows,), {"shape": (3,)}, differentiable=False),
            Sample("pairs", lambda rng: (_rows, _columns), {"shape": (3, 4)}, differentiable=False),
            Sample("count", lambda rng: (_rows, _columns), {"shape": (3,)}, breaks="C1"),
            Sample("float_index", normal(3), {"shape": (3,)}, breaks="C2"),
        ),
    )
)


def scatter_add_type(types: Sequence[Type], attrs: Attrs) -> Type:
    return written("scatter_add", types, attrs["axes"])


def add_at(target: Any, index: tuple[Any, ...], values: Any) -> None:
    """np.add.at; whole rows go by flat positions, in the same order and several times as fast."""
    rows, *rest = index
    by_rows = type(rows) is not slice and all(type(part) is slice for part in rest)
    if not by_rows or target.ndim < 2 or not target.flags.c_contiguous:
        np.add.at(target, index, values)
        return
    width = target[:1].size
    # Looking the positions up raises IndexError where one is out of range, and counts negative ones anew.
    starts = np.arange(len(target))[rows] * width
    np.add.at(target.reshape(-1), (starts[..., None] + np.arange(width)).reshape(-1), values.reshape(-1))


def scatter_add_value(x: Any, values: Any, *indices: Any, axes: tuple[int, ...]) -> Any:
    result = np.array(x, order="K")
    add_at(result, full_index(axes, indices, result.ndim), values)
    return result


def scatter_add_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    _, _, *indices = node.inputs
    return ct, b.gather(ct, *indices, axes=node.attrs["axes"]), *(None for _ in indices)


register(
    OpDef(
        "scatter_add",
        "x with the values added at the index arrays, in order and each time a place is named",
        Kind.OTHER,
        scatter_add_type,
        scatter_add_value,
        scatter_add_vjp,
        (C_AXES, C_INTEGERS, C_VALUES),
        _doubled,
        flow=Flow.MOVES,
    )
)


def ufunc_at_type(types: Sequence[Type], attrs: Attrs) -> Type:
    ufunc = getattr(np, attrs["ufunc"])
    x, *rest = arrays("ufunc_at", types)
    selected("ufunc_at", [x, *rest[ufunc.nin - 1 :]], attrs["axes"])
    if ufunc.nin > 2 or ufunc.nout > 1:
        OPS["ufunc_at"].fail("C3", f"{attrs['ufunc']} has {ufunc.nin} operands and {ufunc.nout} results")
    return x


def ufunc_at_value(x: Any, *rest: Any, ufunc: str, axes: tuple[int, ...]) -> Any:
    function = getattr(np, ufunc)
    values, indices = rest[: function.nin - 1], rest[function.nin - 1 :]
    result = np.array(x, order="K")
    function.at(result, full_index(axes, indices, result.ndim), *values)
    return result


def ufunc_at_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Sums pass the cotangent on, extrema share it among all that reach them, x among them."""
    axes, name = node.attrs["axes"], node.attrs["ufunc"]
    x, *rest = node.inputs
    if name in ("add", "subtract"):
        part = b.cast(b.gather(ct, *rest[1:], axes=axes), rest[0].dtype)
        return ct, part if name == "add" else b.negative(part), *(None for _ in rest[1:])
    if name in ("maximum", "minimum"):
        values, *indices = rest
        kept = b.equal(x, node)
        hits = b.equal(values, b.gather(node, *indices, axes=axes))
        count = b.scatter_add(b.cast(kept, x.dtype), b.cast(hits, x.dtype), *indices, axes=axes)
        share = b.divide(ct, count)
        given = where_zero(b, hits, b.gather(share, *indices, axes=axes))
        return where_zero(b, kept, share), given, *(None for _ in indices)
    raise NotDifferentiableError(
        node, f"np.{name}.at may name a place twice; write x[index] with an operator where it does not"
    )


register(
    OpDef(
        "ufunc_at",
        "np.<ufunc>.at: x with the ufunc applied at the index arrays, each time a place is named",
        Kind.OTHER,
        ufunc_at_type,
        ufunc_at_value,
        ufunc_at_vjp,
        (C_AXES, C_INTEGERS, "C3: the ufunc has one or two operands and one result"),
        (
            Sample(
                "subtract",
                lambda rng: (rng.normal(size=3), rng.normal(size=4), _rows),
                {"ufunc": "subtract", "axes": (0,)},
            ),
            Sample(
                "maximum",
                lambda rng: (rng.normal(size=(3, 4)), rng.normal(size=(4, 4)), _rows),
                {"ufunc": "maximum", "axes": (0,)},
            ),
            Sample(
                "unary",
                lambda rng: (rng.normal(size=3), _rows),
                {"ufunc": "negative", "axes": (0,)},
                differentiable=False,
            ),
            Sample("float_index", normals((3,), (2,), (2,)), {"ufunc": "add", "axes": (0,)}, breaks="C2"),
            Sample(
                "results",
                lambda rng: (np.ones(3), np.ones(4), _rows),
                {"ufunc": "divmod", "axes": (0,)},
                "C3",
            ),
        ),
    )
)
