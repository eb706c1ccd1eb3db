"""Ufuncs: calls, `out=`, `where=`, `dtype=`, and the methods reduce, accumulate, outer, at.

The dtypes, shape and layout of a result are NumPy's; operands become cast and broadcast nodes around the
primitive of the ufunc's name. What is known while tracing is computed at once.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.ir.node import Node
from ...compiler.ir.opdef import OPS
from ...compiler.ir.types import ArrayType, TupleType, supported
from ...compiler.ops.scalar_operator import OPERATORS
from ..promote import (
    broadcast_shape,
    operand_node,
    operand_shadow,
    resolve,
    result_shadow,
    to_shape,
    weak_type,
)
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .registry import FUNCTIONS, concrete, implements, known, refuse, trace_of

OP_OF: dict[np.ufunc, str] = {}

# The ufuncs of scipy.special that have a primitive, known by their names: SciPy is not imported.
SCIPY = frozenset(
    (
        "entr", "erf", "erfc", "erfcx", "expit", "gamma", "gammaln", "i0", "i1", "kl_div", "log_expit",
        "log_ndtr", "logit", "ndtr", "psi", "rel_entr", "xlog1py", "xlogy",
    )
)  # fmt: skip


def takes_ellipsis() -> bool:
    """Whether ufuncs of this version of NumPy take `out=...`."""
    try:
        np.add(1, 1, out=...)
    except TypeError:
        return False
    return True


TAKES_ELLIPSIS = takes_ellipsis()


@lru_cache(maxsize=1024)
def _is_numpys(ufunc: np.ufunc) -> bool:
    from numpy._core import umath

    return getattr(umath, ufunc.__name__, None) is ufunc


def shown_ufunc(ufunc: np.ufunc) -> str:
    """A ufunc as users call it."""
    return f"np.{ufunc.__name__}" if _is_numpys(ufunc) else f"the ufunc {ufunc.__name__}"


def op_name(ufunc: np.ufunc) -> str:
    """The primitive that a ufunc maps to; refuses one that has none."""
    name = OP_OF.get(ufunc, ufunc.__name__)
    if name not in OPS or not (_is_numpys(ufunc) or name in SCIPY):
        raise refuse(shown_ufunc(ufunc))
    return name


def array_ufunc(ufunc: np.ufunc, method: str, inputs: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The whole ufunc protocol."""
    handler = FUNCTIONS.get(ufunc if method == "__call__" else (ufunc, method))
    if handler is not None:
        return handler(*inputs, **kwargs)
    if method == "__call__":
        return call(ufunc, *inputs, **kwargs)
    generic = FUNCTIONS.get(method)
    if generic is not None:
        return generic(ufunc, *inputs, **kwargs)
    raise refuse(f"np.{ufunc.__name__}.{method}")


def call(
    ufunc: np.ufunc,
    *inputs: Any,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    order: str = "K",
    subok: bool = True,
    signature: Any = None,
    sig: Any = None,
) -> Any:
    """`ufunc(*inputs, …)` elementwise."""
    trace = trace_of(*inputs, *(out if type(out) is tuple else (out,)), where)
    inputs, out = inputs[: ufunc.nin], (inputs[ufunc.nin :] or None) if len(inputs) > ufunc.nin else out
    outs, always_array = _outs(trace, ufunc, out)
    operands = [trace.lift(v) for v in inputs]
    if ufunc in _COMPARISONS:
        operands = _comparable(trace, operands)
    signature = _signature(ufunc, dtype, signature if signature is not None else sig)
    everything = [*operands, *(o for o in outs if o is not None)]
    if where is True and all(map(known, everything)):
        return _compute(trace, ufunc, operands, outs, always_array, casting=casting, signature=signature)
    shadows = [operand_shadow(o) for o in operands]
    out_shadows = [None if o is None else o.shadow for o in outs]
    dtypes = _dtypes(ufunc, operands, out_shadows, signature, casting)
    if not all(map(supported, dtypes)) or (not _is_numpys(ufunc) and dtypes[0].char not in "fd"):
        raise refuse(f"{shown_ufunc(ufunc)} in {', '.join(map(str, dtypes))}")
    shape = _shape(ufunc, shadows, out_shadows)
    trace.builder.loc = trace.loc()
    nodes = [
        to_shape(trace, operand_node(trace, o, t), shape) for o, t in zip(operands, dtypes, strict=False)
    ]
    if where is not True and out is not None:
        same = all(o is None or o.dtype == t for o, t in zip(outs, dtypes[ufunc.nin :], strict=True))
        nodes = _harmless(trace, ufunc, nodes, where, shape, same)
    made = apply(trace, op_name(ufunc), nodes, shape)
    results = []
    for node, target in zip(made, outs, strict=True):
        if target is None:
            if where is not True:
                raise refuse(
                    f"np.{ufunc.__name__} with where= and without out=",
                    why="The elements where the mask is False would be uninitialised memory.",
                    fixes=[("", "np.where(mask, np.… , other)")],
                )
            layout = _ordered(order, shadows, shape, node.dtype)
            results.append(trace.fresh(node, layout, scalar=not shape and not always_array))
        else:
            store(trace, target, node, where)
            results.append(target)
    return results[0] if ufunc.nout == 1 else tuple(results)


# Ufuncs that set no floating-point flag and never raise, of reals and of integers.
_SILENT = frozenset(
    (
        *(np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal),
        *(np.logical_and, np.logical_or, np.logical_xor, np.logical_not),
        *(np.maximum, np.minimum, np.fmax, np.fmin, np.negative, np.positive, np.sign, np.fabs, np.copysign),
        *(np.floor, np.ceil, np.trunc, np.rint, np.isnan, np.isinf, np.isfinite, np.signbit),
    )
)
_SILENT_OF_INTEGERS = _SILENT | {
    *(np.add, np.subtract, np.multiply, np.square, np.absolute, np.conjugate),
    *(np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.left_shift, np.right_shift),
}
# What the last operand may be for any other one, of floats.
_NEUTRAL = {np.add: 0, np.subtract: 0, np.multiply: 1, np.divide: 1}


def _harmless(
    trace: Trace, ufunc: np.ufunc, nodes: list[Node], where: Any, shape: tuple[int, ...], same: bool
) -> list[Node]:
    """The operands with others where the mask is False: NumPy computes nothing there, so nothing may raise.

    `same` says that results are stored in the dtype they have.
    """
    kinds = {node.dtype.kind for node in nodes}
    silent = _SILENT_OF_INTEGERS if kinds <= set("biu") else _SILENT if kinds <= set("biuf") else ()
    if ufunc in silent and same:
        return nodes
    b = trace.builder
    mask = to_shape(trace, b.cast(trace.operand(trace.array(where)), np.dtype(bool)), shape)

    def chosen(node: Node, other: int) -> Node:
        if node.op.name == "constant" and not node.shape:
            return node
        return b.where(mask, node, b.scalar(other, node))

    if ufunc in _NEUTRAL and kinds == {"f"} and same and nodes[-1].op.name != "constant":
        return [*nodes[:-1], chosen(nodes[-1], _NEUTRAL[ufunc])]
    return [chosen(node, 0 if ufunc is np.arctanh else 1) for node in nodes]


_COMPARISONS = frozenset((np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal))


def _comparable(trace: Trace, operands: list[Any]) -> list[Any]:
    """Operands with Python ints that may lie beyond the range of an integer array: NumPy compares these too.

    A plain one becomes an infinity; a traced one, whose value is not known yet, is compared as an int64.
    """
    arrays = [o for o in operands if type(o) is TracedArray and o.dtype.kind in "iu"]
    return [_within(trace, o, arrays[0].dtype) for o in operands] if len(arrays) == 1 else operands


def _within(trace: Trace, operand: Any, dtype: Any) -> Any:
    if type(operand) is TracedNumber:
        return _as_int64(trace, operand)
    if type(operand) is int and not np.iinfo(dtype).min <= operand <= np.iinfo(dtype).max:
        return trace.constant(np.float64(np.inf if operand > 0 else -np.inf))
    return operand


def _as_int64(trace: Trace, operand: Any) -> Any:
    """A Python int as np.asarray makes it an array; any other operand itself."""
    if type(operand) is int or (type(operand) is TracedNumber and type(operand.example) is int):
        return trace.array(operand)
    return operand


def _signature(ufunc: np.ufunc, dtype: Any, signature: Any) -> Any:
    """The dtypes that a call asks for, as a tuple; DTypes such as np.dtypes.Float64DType stay classes."""
    if dtype is not None:
        wanted = dtype if isinstance(dtype, type) and issubclass(dtype, np.dtype) else np.dtype(dtype)
        signature = (*[None] * ufunc.nin, *[wanted] * ufunc.nout)
    elif type(signature) is str:
        signature = tuple(map(np.dtype, signature.replace("->", "")))
    return signature


def apply(trace: Trace, name: str, nodes: Sequence[Node], shape: tuple[int, ...]) -> list[Node]:
    """One primitive on nodes, its results broadcast to the shape (0-d operands alone give 0-d)."""
    node = trace.builder.make(OPS[name], nodes, {"form": "ufunc"} if name == "power" else {})
    parts = [node]
    if isinstance(node.type, TupleType):
        parts = [trace.builder.get(node, index=i) for i in range(len(node.type.items))]
    return [trace.builder.broadcast_to(part, shape) for part in parts]


def _outs(trace: Trace, ufunc: np.ufunc, out: Any) -> tuple[list[Any], bool]:
    """The out arrays, lifted and checked; and whether `out=...` asked for arrays always."""
    if out is None:
        return [None] * ufunc.nout, False
    if type(out) is not tuple:
        out = (out,)
    if len(out) == 1 and out[0] is Ellipsis:
        if not TAKES_ELLIPSIS:
            raise TypeError("return arrays must be of ArrayType")
        return [None] * ufunc.nout, True
    lifted: list[Any] = [None if o is None else trace.lift(o) for o in out]
    for o in lifted:
        if o is not None and (type(o) is not TracedArray or o.scalar):
            raise TypeError("return arrays must be of ArrayType")
        if o is not None:
            if not o.shadow.flags.writeable:
                raise ValueError("output array is read-only")
            trace.check_writeable(o)
    memories = [id(o.storage) for o in lifted if o is not None]
    if len(set(memories)) < len(memories):
        raise refuse(f"np.{ufunc.__name__} with two results in one array")
    return lifted + [None] * (ufunc.nout - len(lifted)), False


def _dtypes(
    ufunc: np.ufunc, operands: Sequence[Any], outs: Sequence[Any], signature: Any, casting: str
) -> tuple[Any, ...]:
    try:
        return resolve(ufunc, operands, [None if o is None else o.dtype for o in outs], signature, casting)
    except TypeError:
        examples = [
            o.example
            if type(o) is TracedNumber
            else o
            if type(o) is not TracedArray
            else np.zeros((), o.dtype)
            for o in operands
        ]
        targets = tuple(None if o is None else np.empty((), o.dtype) for o in outs)
        options: dict[str, Any] = {"out": targets} if any(t is not None for t in targets) else {}
        if signature is not None:
            options["signature"] = signature
        with np.errstate(all="ignore"):
            ufunc(*examples, casting=casting, **options)
        raise


def _shape(ufunc: np.ufunc, shadows: Sequence[Any], outs: Sequence[Any]) -> tuple[int, ...]:
    given = [o for o in outs if o is not None]
    try:
        shape = broadcast_shape(shadows)
        if not given or all(o.shape == shape for o in given):
            return shape
        raise ValueError
    except ValueError:
        shape = np.broadcast_shapes(*(s.shape for s in (*shadows, *given))) if given else ()
        if given and all(o.shape == shape for o in given):
            return shape
        dummies = [np.broadcast_to(np.zeros((), s.dtype), s.shape) for s in shadows]
        targets = tuple(None if o is None else np.empty(o.shape, o.dtype) for o in outs)
        with np.errstate(all="ignore"):
            ufunc(*dummies, **({"out": targets} if given else {}), casting="unsafe")
        raise


def _ordered(order: str, shadows: Sequence[Any], shape: tuple[int, ...], dtype: Any) -> Any:
    if order in ("C", "F"):
        return np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
    return result_shadow(shadows, shape, dtype)


def _compute(
    trace: Trace,
    ufunc: np.ufunc,
    operands: Sequence[Any],
    outs: Sequence[Any],
    always_array: bool,
    **options: Any,
) -> Any:
    """A ufunc whose operands are all known: done now, by NumPy."""
    options = {k: v for k, v in options.items() if v is not None}
    if any(o is not None for o in outs):
        options["out"] = tuple(None if o is None else o.shadow for o in outs)
    elif always_array:
        options["out"] = ...
    results = ufunc(*(concrete(o) for o in operands), **options)
    results = (results,) if ufunc.nout == 1 else results
    made = []
    for value, target in zip(results, outs, strict=True):
        if target is not None:
            target.storage.touched()
        made.append(trace.constant(value) if target is None else target)
    return made[0] if ufunc.nout == 1 else tuple(made)


def store(trace: Trace, target: TracedArray, node: Node, where: Any = True) -> None:
    """Write a value into a window: cast to its dtype, broadcast to its shape, under a mask."""
    b = trace.builder
    node = b.broadcast_to(b.cast(node, target.dtype), target.shape)
    if where is not True:
        mask = trace.array(where)
        condition = b.broadcast_to(b.cast(trace.operand(mask), np.dtype(bool)), target.shape)
        before = trace.operand(target)
        node = b.cast(b.where(condition, b.cast(node, before.dtype), before), target.dtype)
    trace.write(target, node)


# ---- powers


def operator_power(base: Any, exponent: Any, out: Any = None) -> Any:
    """`base ** exponent`: NumPy's operator picks its path by the exponent's value, so it stays a number."""
    trace = trace_of(base, exponent)
    x, y = trace.lift(base), trace.lift(exponent)
    if known(x) and known(y) and (out is None or known(out)):
        if out is None:
            return trace.constant(concrete(x) ** concrete(y))
        memory = out.shadow
        memory **= concrete(y)
        out.storage.touched()
        return out
    if out is not None:
        _outs(trace, np.power, out)
    if type(x) is TracedArray and not x.scalar and x.dtype == np.bool_ and weak_type(y) is int:
        # The square of booleans, and no other power, is an int8: a traced exponent has to be known.
        y = operator.index(y)
        if y == 2:
            return call(np.square, x, out=out)
    of_scalars = type(x) is not TracedArray and type(y) is TracedArray and y.scalar and out is None
    if not of_scalars and (
        type(x) is not TracedArray or (type(y) is TracedArray and y.shape) or weak_type(y) == np.bool_
    ):
        return call(np.power, x, y, out=out)
    shape = () if of_scalars else x.shape
    dtypes = _dtypes(np.power, [x, y], [None if out is None else out.shadow], None, "same_kind")
    trace.builder.loc = trace.loc()
    scalars = of_scalars or (x.scalar and (type(y) is not TracedArray or y.scalar))
    form = "scalar" if scalars else "array"
    if type(y) is TracedArray:
        operands = [operand_node(trace, x, dtypes[0]), operand_node(trace, y, dtypes[1])]
    else:
        exponent_node = y.node if type(y) is TracedNumber else trace.builder.constant(y)
        operands = [trace.operand(x), exponent_node]
    node = trace.builder.power(*operands, form=form)
    if out is not None:
        trace.check_writeable(out)
        store(trace, out, node)
        return out
    layout = np.empty((), node.dtype) if not shape else result_shadow([x.shadow], shape, node.dtype)
    return trace.fresh(node, layout, scalar=not shape)


def scalar_operator(name: str, *values: Any) -> Any:
    """`x * y` and `abs(x)` of complex NumPy scalars."""
    trace = trace_of(*values)
    operands = [trace.lift(v) for v in values]
    if all(map(known, operands)):
        return trace.constant(OPERATORS[name](*map(concrete, operands)))
    dtypes = _dtypes(np.multiply if name == "mul" else np.absolute, operands, [None], None, "same_kind")
    trace.builder.loc = trace.loc()
    nodes = [operand_node(trace, v, dtype) for v, dtype in zip(operands, dtypes, strict=False)]
    node = trace.builder.scalar_operator(*nodes, operator=name)
    return trace.fresh(node, np.empty((), node.dtype), scalar=True)


# ---- where


@implements(np.where)
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    """np.where with three arguments; with one its result has a data-dependent size."""
    trace = trace_of(condition, x, y)
    if x is None and y is None:
        from .indexing import nonzero

        return nonzero(condition)
    c, x, y = trace.array(condition), trace.lift(x), trace.lift(y)
    if known(c) and known(x) and known(y):
        return trace.constant(np.where(concrete(c), concrete(x), concrete(y)))
    operands = [x, y]
    dtype = np.result_type(*(t(0) if isinstance(t, type) else t for t in map(weak_type, operands)))
    shadows = [c.shadow, *(operand_shadow(o) for o in operands)]
    try:
        shape = broadcast_shape(shadows)
    except ValueError:
        np.where(*(np.broadcast_to(np.zeros((), s.dtype), s.shape) for s in shadows))
        raise
    trace.builder.loc = trace.loc()
    mask = trace.operand(c)
    if mask.dtype != np.dtype(bool):
        mask = trace.builder.not_equal(mask, trace.builder.scalar(0, mask))
    operands = [_chosen_from(trace, o, dtype) for o in operands]
    nodes = [to_shape(trace, n, shape) for n in (mask, *(operand_node(trace, o, dtype) for o in operands))]
    node = trace.builder.broadcast_to(trace.builder.where(*nodes), shape)
    return trace.fresh(node, result_shadow(shadows, shape, dtype))


def _chosen_from(trace: Trace, operand: Any, dtype: Any) -> Any:
    """An operand of np.where: Python ints become arrays before they are cast, so they wrap around.

    One that no integer array holds becomes a float, or raises what NumPy raises.
    """
    if type(operand) is int and not -(2**63) <= operand < 2**64:
        return trace.constant(np.asarray(operand, dtype if dtype.kind in "fc" else np.int64))
    return _as_int64(trace, operand)


def type_of(node: Node) -> ArrayType:
    """The array type of a node that is known to be an array."""
    assert isinstance(node.type, ArrayType)
    return node.type
