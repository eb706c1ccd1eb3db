"""reduce and accumulate of any ufunc, with `where=` and `initial=`; reduceat stands in `segments.py`.

Families that have an op of their own (sum, prod, max, cumsum …) use it where no mask or start is given;
these are for the rest. A ufunc without a rule here refuses to be differentiated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, NotDifferentiableError, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, conj, normal, where_zero
from .cumulative import as_operand, shifted
from .reduction import expand, prod_vjp, reduced_shape

C_UFUNC = "C3: the ufunc takes two operands, gives one result and has a loop for these dtypes"


def binary(op: str, name: str) -> np.ufunc:
    """The ufunc of this name (C3)."""
    ufunc = getattr(np, name, None)
    if not isinstance(ufunc, np.ufunc) or (ufunc.nin, ufunc.nout) != (2, 1):
        OPS[op].fail("C3", f"np.{name} is no ufunc of two operands and one result")
    return ufunc


def result_dtype(op: str, name: str, dtype: Any, wanted: Any) -> Any:
    """The dtype that NumPy reduces this dtype to (C3)."""
    try:
        return binary(op, name).reduce(np.ones(1, dtype), dtype=wanted).dtype
    except TypeError as error:
        OPS[op].fail("C3", str(error))


def no_rule(node: Node) -> NotDifferentiableError:
    name = node.attrs["ufunc"]
    return NotDifferentiableError(node, f"there is no rule for np.{name}; write it as a loop of np.{name}")


def split_operands(inputs: Sequence[Any], attrs: Attrs) -> tuple[Any, Any, Any]:
    """x, the mask or None, the start or None."""
    x, *rest = inputs
    mask = rest.pop(0) if attrs["masked"] else None
    return x, mask, rest.pop(0) if attrs["started"] else None


def ufunc_reduce_type(types: Sequence[Type], attrs: Attrs) -> Type:
    fail = OPS["ufunc_reduce"].fail
    masked, started = attrs["masked"], attrs["started"]
    if len(types) != 1 + masked + started:
        fail("C2", f"{len(types)} operands, masked {masked}, started {started}")
    x, mask, start = split_operands(arrays("ufunc_reduce", types), attrs)
    _, shape = reduced_shape("ufunc_reduce", [x], {"axes": attrs["axes"]})
    if mask is not None and (mask.shape != x.shape or mask.dtype != np.dtype(bool)):
        fail("C2", f"{mask} is no mask of {x}")
    if start is not None and start.shape:
        fail("C2", f"the start is {start}, not 0-d")
    return array_type(shape, result_dtype("ufunc_reduce", attrs["ufunc"], x.dtype, attrs["dtype"]))


def ufunc_reduce_value(
    *inputs: Any, ufunc: str, axes: tuple[int, ...], dtype: Any, masked: bool, started: bool
) -> Any:
    x, mask, start = split_operands(inputs, {"masked": masked, "started": started})
    options: dict[str, Any] = {}
    if masked:
        options["where"] = mask
    if started:
        options["initial"] = np.asarray(start)[()]
    axis = axes[0] if len(axes) == 1 else axes
    return getattr(np, ufunc).reduce(x, axis=axis, dtype=dtype, **options)


# A rule gives the cotangents of the elements, as if none was masked out, and of the start for each result.
Rule = Callable[[Builder, Node, Node, "Node | None", "Node | None", Node], "tuple[Node, Node | None]"]


def _add_rule(
    b: Builder, node: Node, x: Node, mask: Node | None, start: Node | None, ct: Node
) -> tuple[Node, Node | None]:
    return expand(b, ct, node.attrs["axes"], x.shape), ct


def _multiply_rule(
    b: Builder, node: Node, x: Node, mask: Node | None, start: Node | None, ct: Node
) -> tuple[Node, Node | None]:
    """The rule of `prod` on x with ones where the mask is false."""
    filled = x if mask is None else b.where(mask, x, b.scalar(1, x))
    product = b.prod(filled, axes=node.attrs["axes"], dtype=x.dtype)
    scaled = ct if start is None else b.multiply(ct, conj(b, start))
    part = prod_vjp(b, product, scaled)[0]
    assert part is not None
    return part, b.multiply(ct, conj(b, product))


def _extremum_rule(
    b: Builder, node: Node, x: Node, mask: Node | None, start: Node | None, ct: Node
) -> tuple[Node, Node | None]:
    """Equal shares for all that reach the extremum, the start among them."""
    axes = node.attrs["axes"]
    hits = b.equal(x, expand(b, node, axes, x.shape))
    if mask is not None:
        hits = b.logical_and(hits, mask)
    count = b.sum(b.cast(hits, x.dtype), axes=axes, dtype=x.dtype)
    begun = None if start is None else b.equal(b.broadcast_to(start, node.shape), node)
    if begun is not None:
        count = b.add(count, b.cast(begun, x.dtype))
    share = b.divide(ct, count)
    part = where_zero(b, hits, expand(b, share, axes, x.shape))
    return part, None if begun is None else where_zero(b, begun, share)


def _weights_rule(power: str) -> Rule:
    """Sums of exponentials: each element weighs as much as its part of the sum."""

    def rule(
        b: Builder, node: Node, x: Node, mask: Node | None, start: Node | None, ct: Node
    ) -> tuple[Node, Node | None]:
        axes = node.attrs["axes"]
        total = b.where(b.isfinite(node), node, b.scalar(0, node))
        weight = getattr(b, power)(b.subtract(x, expand(b, total, axes, x.shape)))
        part = b.multiply(expand(b, ct, axes, x.shape), weight)
        if start is None:
            return part, None
        begun = getattr(b, power)(b.subtract(b.broadcast_to(start, node.shape), total))
        return part, b.multiply(ct, begun)

    return rule


def _hypot_rule(
    b: Builder, node: Node, x: Node, mask: Node | None, start: Node | None, ct: Node
) -> tuple[Node, Node | None]:
    """x / r, 0 where all are 0."""
    axes = node.attrs["axes"]
    radius = b.where(b.equal(node, b.scalar(0, node)), b.scalar(1, node), node)
    slope = b.divide(x, expand(b, radius, axes, x.shape))
    part = b.multiply(expand(b, ct, axes, x.shape), slope)
    if start is None:
        return part, None
    return part, b.multiply(ct, b.divide(b.broadcast_to(start, node.shape), radius))


RULES: dict[str, Rule] = {
    "add": _add_rule,
    "multiply": _multiply_rule,
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), _extremum_rule),
    "logaddexp": _weights_rule("exp"),
    "logaddexp2": _weights_rule("exp2"),
    "hypot": _hypot_rule,
}


def ufunc_reduce_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Elements under the mask get what the reduction of them and the start gives; the rest gets zero."""
    x, mask, start = split_operands(node.inputs, node.attrs)
    rule = RULES.get(node.attrs["ufunc"])
    if rule is None:
        raise no_rule(node)
    begun = None if start is None else b.cast(start, node.dtype)
    part, of_start = rule(b, node, b.cast(x, node.dtype), mask, begun, ct)
    if mask is not None:
        part = where_zero(b, mask, part)
    result: list[Node | None] = [as_operand(b, x, part)]
    result += [None] * node.attrs["masked"]
    if start is not None and of_start is not None:
        whole = b.sum(of_start, axes=tuple(range(len(of_start.shape))), dtype=of_start.dtype)
        result.append(as_operand(b, start, whole))
    return result


def _attrs(ufunc: str, *axes: int, masked: bool = False, started: bool = False) -> dict[str, Any]:
    return {"ufunc": ufunc, "axes": axes, "dtype": None, "masked": masked, "started": started}


_mask = np.array([[True, False, True], [True, True, False]])


def _masked(rng: Any) -> tuple[Any, ...]:
    return rng.normal(size=(2, 3)), _mask


def _started(rng: Any) -> tuple[Any, ...]:
    return rng.normal(size=(2, 3)), np.asarray(rng.normal())


def _both(rng: Any) -> tuple[Any, ...]:
    return *_masked(rng), np.asarray(-0.3)


register(
    OpDef(
        "ufunc_reduce",
        "np.<ufunc>.reduce over axes, of what a mask selects if `masked`, from a 0-d operand if `started`",
        Kind.OTHER,
        ufunc_reduce_type,
        ufunc_reduce_value,
        ufunc_reduce_vjp,
        (
            "C1: axes are distinct axes of the operand, in increasing order",
            "C2: operands are x, a boolean array of its shape if masked, a 0-d array if started",
            C_UFUNC,
        ),
        (
            Sample("bits", lambda rng: (np.array([[5, 3], [1, 8]]),), _attrs("bitwise_or", 0)),
            Sample("masked_sum", _masked, _attrs("add", 1, masked=True)),
            Sample("started_sum", _started, _attrs("add", 0, 1, started=True)),
            Sample("masked_product", _masked, _attrs("multiply", 0, 1, masked=True)),
            Sample("started_product", _started, _attrs("multiply", 0, started=True)),
            Sample("maximum", _both, _attrs("maximum", 1, masked=True, started=True)),
            Sample("minimum", _started, _attrs("fmin", 0, started=True)),
            Sample("logaddexp", _both, _attrs("logaddexp", 0, masked=True, started=True)),
            Sample("logaddexp2", normal(3, 2), _attrs("logaddexp2", 1)),
            Sample("hypot", _started, _attrs("hypot", 0, started=True)),
            Sample("difference", normal(2, 3), _attrs("subtract", 0), differentiable=False),
            Sample("beyond", normal(3), _attrs("add", 1), breaks="C1"),
            Sample("no_start", _masked, _attrs("add", 1, masked=True, started=True), breaks="C2"),
            Sample("unary", normal(3), _attrs("exp", 0), breaks="C3"),
            Sample("float_bits", normal(3), _attrs("bitwise_or", 0), breaks="C3"),
        ),
    )
)


def ufunc_accumulate_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (x,) = arrays("ufunc_accumulate", types)
    if not 0 <= attrs["axis"] < x.ndim:
        OPS["ufunc_accumulate"].fail("C1", f"{x} has no axis {attrs['axis']}")
    return array_type(x.shape, result_dtype("ufunc_accumulate", attrs["ufunc"], x.dtype, attrs["dtype"]))


def ufunc_accumulate_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """For running sums of exponentials a recurrence, whose factors exp(y[i] - y[i + 1]) are at most 1."""
    (operand,) = node.inputs
    axis = node.attrs["axis"]
    exponential = {"logaddexp": b.exp, "logaddexp2": b.exp2}.get(node.attrs["ufunc"])
    if exponential is None:
        raise no_rule(node)
    y = b.where(b.isfinite(node), node, b.scalar(0, node))
    fading = exponential(b.subtract(y, shifted(b, y, axis, -1, b.scalar(0, y))))
    later = b.recurrence(fading, ct, axis=axis, reverse=True)
    part = b.multiply(later, exponential(b.subtract(b.cast(operand, node.dtype), y)))
    return (as_operand(b, operand, part),)


def _along(ufunc: str, axis: int = 0) -> dict[str, Any]:
    return {"ufunc": ufunc, "axis": axis, "dtype": None}


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
            Sample("logaddexp", normal(3, 2), _along("logaddexp")),
            Sample("logaddexp2", normal(2, 3), _along("logaddexp2", 1)),
            Sample("bits", lambda rng: (np.array([1, 2, 4]),), _along("bitwise_or")),
            Sample("difference", normal(4), _along("subtract"), differentiable=False),
            Sample("beyond", normal(3), _along("subtract", 1), breaks="C1"),
            Sample("unary", normal(3), _along("exp"), breaks="C3"),
        ),
    )
)
