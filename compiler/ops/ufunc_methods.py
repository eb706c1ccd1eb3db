"""reduce, accumulate and reduceat of any ufunc, with `initial=` and `where=`.

Families that have an op of their own (sum, prod, max, cumsum …) use it where no mask or start is given;
these are for the rest. A ufunc without a rule here refuses to be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, NotDifferentiableError, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, conj, normal, normals, where_zero
from .cumulative import as_operand, shifted
from .reduction import expand, prod_vjp, reduced_shape

C_UFUNC = "C2: the ufunc has two operands and one result, and reduces this dtype over these axes"


@lru_cache(maxsize=1024)
def reduced_dtype(op: str, name: str, dtype: Any, wanted: Any, axes: int) -> Any:
    """The dtype NumPy reduces to; C2 is broken where it raises."""
    function = getattr(np, name, None)
    try:
        sample = np.ones((1,) * max(axes, 1), dtype)
        return function.reduce(sample, axis=tuple(range(axes)), dtype=wanted).dtype  # type: ignore[union-attr]
    except (AttributeError, TypeError, ValueError) as error:
        OPS[op].fail("C2", f"{name}: {error}")


def ufunc_reduce_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, *mask = arrays("ufunc_reduce", types)
    _, shape = reduced_shape("ufunc_reduce", [x], attrs)
    if mask and (mask[0].dtype != np.dtype(bool) or mask[0].shape != x.shape or len(mask) > 1):
        OPS["ufunc_reduce"].fail("C3", f"the mask is {mask[0]}, the operand {x}")
    axes = len(attrs["axes"])
    return array_type(shape, reduced_dtype("ufunc_reduce", attrs["ufunc"], x.dtype, attrs["dtype"], axes))


def ufunc_reduce_value(
    x: Any, *mask: Any, ufunc: str, axes: tuple[int, ...], dtype: Any, initial: Any
) -> Any:
    options = {} if initial is None else {"initial": initial}
    if mask:
        options["where"] = mask[0]
    return getattr(np, ufunc).reduce(x, axis=axes, dtype=dtype, **options)


Rule = Callable[[Builder, Node, Node, Node], Node]


def _add_rule(b: Builder, node: Node, x: Node, ct: Node) -> Node:
    return expand(b, ct, node.attrs["axes"], x.shape)


def _multiply_rule(b: Builder, node: Node, x: Node, ct: Node) -> Node:
    """The rule of `prod` on x with ones where the mask is false, times what the product started from."""
    axes, initial = node.attrs["axes"], node.attrs["initial"]
    if len(node.inputs) == 2:
        x = b.where(node.inputs[1], x, b.scalar(1, x))
    if initial is not None:
        ct = b.multiply(ct, conj(b, b.scalar(initial, ct)))
    product = b.prod(x, axes=axes, dtype=x.dtype)
    part = prod_vjp(b, product, ct)[0]
    assert part is not None
    return part


def _extremum_rule(b: Builder, node: Node, x: Node, ct: Node) -> Node:
    """Equal shares for all that reach the extremum, what it started from among them."""
    axes, initial = node.attrs["axes"], node.attrs["initial"]
    hits = b.equal(x, expand(b, node, axes, x.shape))
    if len(node.inputs) == 2:
        hits = b.logical_and(hits, node.inputs[1])
    count = b.sum(b.cast(hits, x.dtype), axes=axes, dtype=x.dtype)
    if initial is not None:
        count = b.add(count, b.cast(b.equal(node, b.scalar(initial, node)), x.dtype))
    return where_zero(b, hits, expand(b, b.divide(ct, count), axes, x.shape))


def _weights_rule(power: str) -> Rule:
    """Sums of exponentials: each element weighs as much as its part of the sum."""

    def rule(b: Builder, node: Node, x: Node, ct: Node) -> Node:
        axes = node.attrs["axes"]
        total = b.where(b.isfinite(node), node, b.scalar(0, node))
        weight = getattr(b, power)(b.subtract(x, expand(b, total, axes, x.shape)))
        return b.multiply(expand(b, ct, axes, x.shape), weight)

    return rule


def _hypot_rule(b: Builder, node: Node, x: Node, ct: Node) -> Node:
    """x / r, 0 where all are 0."""
    axes = node.attrs["axes"]
    radius = expand(b, b.where(b.equal(node, b.scalar(0, node)), b.scalar(1, node), node), axes, x.shape)
    return b.multiply(expand(b, ct, axes, x.shape), b.divide(x, radius))


RULES: dict[str, Rule] = {
    "add": _add_rule,
    "multiply": _multiply_rule,
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), _extremum_rule),
    "logaddexp": _weights_rule("exp"),
    "logaddexp2": _weights_rule("exp2"),
    "hypot": _hypot_rule,
}


def _no_rule(node: Node) -> NotDifferentiableError:
    return NotDifferentiableError(node, f"no rule is known for np.{node.attrs['ufunc']}")


def ufunc_reduce_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    operand, *mask = node.inputs
    rule = RULES.get(node.attrs["ufunc"])
    if rule is None:
        raise _no_rule(node)
    result = rule(b, node, b.cast(operand, node.dtype), ct)
    if mask:
        result = where_zero(b, mask[0], result)
    return as_operand(b, operand, result), *(None for _ in mask)


def _attrs(ufunc: str, *axes: int, initial: Any = None) -> dict[str, Any]:
    return {"ufunc": ufunc, "axes": axes, "dtype": None, "initial": initial}


def _masked(rng: Any) -> tuple[Any, ...]:
    return rng.normal(size=(2, 3)), np.array([[True, False, True], [True, True, False]])


register(
    OpDef(
        "ufunc_reduce",
        "np.<ufunc>.reduce over axes, of the elements where a mask is true, from an initial value",
        Kind.REDUCTION,
        ufunc_reduce_type,
        ufunc_reduce_value,
        ufunc_reduce_vjp,
        ("C1: axes are distinct axes of the operand, in increasing order", C_UFUNC, "C3: a mask fits it"),
        (
            Sample("bits", lambda rng: (np.array([[5, 3], [1, 8]]),), _attrs("bitwise_or", 0)),
            Sample("masked_sum", _masked, _attrs("add", 1)),
            Sample("sum_from", normal(3), _attrs("add", 0, initial=2.5)),
            Sample("masked_product_from", _masked, _attrs("multiply", 0, initial=2.0)),
            Sample("masked_maximum", _masked, _attrs("maximum", 0, 1, initial=-9.0)),
            Sample("minimum_from", normal(4), _attrs("minimum", 0, initial=-9.0)),
            Sample("logaddexp", normal(3, 2), _attrs("logaddexp", 0)),
            Sample("logaddexp2", normal(3, 2), _attrs("logaddexp2", 1)),
            Sample("hypot", normal(3, 2), _attrs("hypot", 0)),
            Sample("arctan2", normal(3), _attrs("arctan2", 0), differentiable=False),
            Sample("beyond", normal(3), _attrs("add", 1), breaks="C1"),
            Sample("unary", normal(3), _attrs("exp", 0), breaks="C2"),
            Sample("float_bits", normal(3), _attrs("bitwise_or", 0), breaks="C2"),
            Sample("mask_shape", lambda rng: (np.ones(3), np.ones(2, bool)), _attrs("add", 0), breaks="C3"),
        ),
    )
)


def ufunc_accumulate_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (x,) = arrays("ufunc_accumulate", types)
    if not 0 <= attrs["axis"] < x.ndim:
        OPS["ufunc_accumulate"].fail("C1", f"{x} has no axis {attrs['axis']}")
    dtype = reduced_dtype("ufunc_accumulate", attrs["ufunc"], x.dtype, attrs["dtype"], 1)
    return array_type(x.shape, dtype)


def ufunc_accumulate_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """For running sums of exponentials a recurrence, whose factors exp(y[i] - y[i + 1]) are at most 1."""
    (operand,) = node.inputs
    axis = node.attrs["axis"]
    exponential = {"logaddexp": b.exp, "logaddexp2": b.exp2}.get(node.attrs["ufunc"])
    if exponential is None:
        raise _no_rule(node)
    x = b.cast(operand, node.dtype)
    y = b.where(b.isfinite(node), node, b.scalar(0, node))
    fading = exponential(b.subtract(y, shifted(b, y, axis, -1, b.scalar(0, y))))
    later = b.recurrence(fading, ct, axis=axis, reverse=True)
    return (as_operand(b, operand, b.multiply(later, exponential(b.subtract(x, y)))),)


register(
    OpDef(
        "ufunc_accumulate",
        "np.<ufunc>.accumulate along an axis",
        Kind.OTHER,
        ufunc_accumulate_type,
        lambda x, ufunc, axis, dtype: getattr(np, ufunc).accumulate(x, axis=axis, dtype=dtype),
        ufunc_accumulate_vjp,
        ("C1: axis is an axis of the operand", C_UFUNC),
        (
            Sample("logaddexp", normal(3, 2), {"ufunc": "logaddexp", "axis": 0, "dtype": None}),
            Sample("logaddexp2", normal(3), {"ufunc": "logaddexp2", "axis": 0, "dtype": None}),
            Sample(
                "bits", lambda rng: (np.array([1, 2, 4]),), {"ufunc": "bitwise_or", "axis": 0, "dtype": None}
            ),
            Sample("beyond", normal(3), {"ufunc": "subtract", "axis": 1, "dtype": None}, breaks="C1"),
            Sample("unary", normal(3), {"ufunc": "exp", "axis": 0, "dtype": None}, breaks="C2"),
        ),
    )
)


def reduceat_type(types: Sequence[Type], attrs: Attrs) -> Type:
    x, starts = arrays("reduceat", types)
    axis = attrs["axis"]
    if not 0 <= axis < x.ndim or starts.ndim != 1 or starts.dtype.kind not in "iu":
        OPS["reduceat"].fail("C1", f"axis {axis} of {x}, starts {starts}")
    dtype = reduced_dtype("reduceat", attrs["ufunc"], x.dtype, attrs["dtype"], 1)
    return array_type((*x.shape[:axis], *starts.shape, *x.shape[axis + 1 :]), dtype)


def segments(starts: Any, length: int) -> tuple[Any, Any]:
    """Positions of the elements of each segment, and which of them are real: a row a segment."""
    starts = np.asarray(starts).astype(np.intp)
    counts = np.maximum(np.append(starts[1:], length) - starts, 1)
    steps = np.arange(counts.max(initial=0))
    inside = steps < counts[:, None]
    return np.where(inside, starts[:, None] + steps, starts[:, None]), inside


_STARTS = {"maximum": -np.inf, "minimum": np.inf, "fmax": -np.inf, "fmin": np.inf}


def reduceat_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """As a masked reduction over a table with a row a segment."""
    operand, starts = node.inputs
    axis, name = node.attrs["axis"], node.attrs["ufunc"]
    if name not in RULES:
        raise _no_rule(node)
    if starts.op.name != "constant":
        raise NotDifferentiableError(node, "where its segments begin is not known when the graph is built")
    positions, inside = segments(starts.attrs["value"].value, operand.shape[axis])
    where = b.constant(positions)
    x = b.cast(operand, node.dtype)
    table = b.gather(x, where, axes=(axis,))
    mask = b.broadcast(b.constant(inside), axes=(axis, axis + 1), shape=table.shape)
    attrs = {"ufunc": name, "axes": (axis + 1,), "dtype": None, "initial": _STARTS.get(name)}
    reduced = b.make(OPS["ufunc_reduce"], (table, mask), attrs)
    part = ufunc_reduce_vjp(b, reduced, ct)[0]
    assert part is not None
    return as_operand(b, operand, b.scatter_add(b.zeros(x.type), part, where, axes=(axis,))), None


_starts = np.array([0, 2, 1, 3])
register(
    OpDef(
        "reduceat",
        "np.<ufunc>.reduceat along an axis: reductions from each start to the next",
        Kind.OTHER,
        reduceat_type,
        lambda x, starts, ufunc, axis, dtype: getattr(np, ufunc).reduceat(x, starts, axis=axis, dtype=dtype),
        reduceat_vjp,
        ("C1: axis is an axis of x, the starts are a vector of integers", C_UFUNC),
        (
            Sample(
                "traced_starts",
                lambda rng: (rng.normal(size=5), _starts),
                {"ufunc": "add", "axis": 0, "dtype": None},
                differentiable=False,
            ),
            Sample(
                "columns",
                lambda rng: (rng.normal(size=(5, 2)), _starts),
                {"ufunc": "multiply", "axis": 0, "dtype": None},
                differentiable=False,
            ),
            Sample(
                "float_starts", normals((5,), (2,)), {"ufunc": "add", "axis": 0, "dtype": None}, breaks="C1"
            ),
            Sample(
                "unary",
                lambda rng: (rng.normal(size=5), _starts),
                {"ufunc": "exp", "axis": 0, "dtype": None},
                breaks="C2",
            ),
        ),
    )
)
