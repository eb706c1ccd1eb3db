"""Inputs, constants, casts, copies and functional writes.

`write` is what an assignment through a view becomes: the base with the part that `path` shows replaced.
`mark` is an identity that gives a `wrt` argument a node of its own; it is gone after differentiation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.literal import Literal
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Flow, Kind, NotDifferentiable, OpDef, Sample, register
from ..ir.types import ArrayType, ScalarType, TupleType, Type, array_of, array_type, scalar_type
from .base import is_complex, is_inexact, normal, normals
from .view import apply_path, numpy_path, path_step, path_type

LEAF = NotDifferentiable("it has no inputs")


def _never(*args: Any, **attrs: Any) -> Any:
    raise AssertionError("a leaf has no computation")


register(OpDef("param", "an input of the graph", Kind.OTHER, lambda types, attrs: attrs["of"], _never, LEAF))
register(
    OpDef(
        "constant",
        "a value known when the graph is built",
        Kind.OTHER,
        lambda types, attrs: attrs["value"].type,
        lambda value: value.value,
        LEAF,
        samples=(
            Sample("array", lambda rng: (), {"value": Literal.of([1.0, 2.0])}),
            Sample("number", lambda rng: (), {"value": Literal.of(2.5)}),
        ),
    )
)


def same_type(types: Sequence[Type], attrs: Attrs) -> Type:
    return types[0]


def identity_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (ct,)


register(
    OpDef(
        "mark",
        "x itself, told apart from every other use of x while differentiating",
        Kind.VIEW,
        same_type,
        lambda x, tag: x,
        identity_vjp,
        samples=(Sample("vector", normal(3), {"tag": 0}),),
        flow=Flow.MOVES,
    )
)


register(
    OpDef(
        "stop_gradient",
        "x itself, constant for derivatives",
        Kind.VIEW,
        same_type,
        lambda x: x,
        NotDifferentiable("stop_gradient asks for none"),
        samples=(Sample("vector", normal(3), differentiable=False),),
    )
)


def copy_value(x: Any, order: Any) -> Any:
    if type(order) is tuple:
        return np.transpose(x, order).copy().transpose(np.argsort(order))
    return np.array(x, order=order, copy=True)


register(
    OpDef(
        "copy",
        "the same values in memory of their own, in order K, C, F, or of the axes from the outermost in",
        Kind.OTHER,
        same_type,
        copy_value,
        identity_vjp,
        samples=(
            Sample("matrix", normal(2, 3), {"order": "F"}),
            Sample("cube", normal(2, 3, 4), {"order": (1, 2, 0)}),
        ),
        flow=Flow.MOVES,
    )
)


def cast_type(types: Sequence[Type], attrs: Attrs) -> Type:
    return array_type(array_of(types[0]).shape, attrs["dtype"])


def cast_value(x: Any, dtype: Any) -> Any:
    """Arrays as `astype` casts them; a Python number as NumPy takes it in, with its range check."""
    if isinstance(x, (np.ndarray, np.generic)):
        return x.astype(dtype)
    return np.asarray(x, dtype)[()]


def cast_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    if not is_inexact(x.type):
        return (None,)
    if is_complex(ct) and not is_complex(x):
        ct = b.real(ct)
    if isinstance(x.type, ScalarType):
        return (b.item(ct),)
    return (b.cast(ct, x.dtype),)


register(
    OpDef(
        "cast",
        "the values as another dtype, as astype does it; a Python number becomes 0-d",
        Kind.ELEMENTWISE,
        cast_type,
        cast_value,
        cast_vjp,
        samples=(
            Sample("narrow", normal(3), {"dtype": np.dtype("f4")}),
            Sample("complex", normal(3), {"dtype": np.dtype("c16")}),
            Sample("number", lambda rng: (2.5,), {"dtype": np.dtype("f8")}),
        ),
        flow=Flow.BOUNDED,
    )
)


def as_element_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (type_,) = types
    if not isinstance(type_, ArrayType) or type_.shape:
        OPS["as_element"].fail("C1", f"{type_} is not 0-d")
    if attrs["dtype"].kind not in "iu":
        OPS["as_element"].fail("C2", f"{attrs['dtype']} is no dtype of integers")
    return array_type((), attrs["dtype"])


def as_element_value(x: Any, dtype: Any) -> Any:
    """The assignment itself: NumPy raises where the number is NaN, infinite or out of range."""
    made = np.empty((), dtype)
    made[()] = x[()]
    return made[()]


register(
    OpDef(
        "as_element",
        "a number as an integer dtype, as NumPy assigns a scalar: it raises where the number does not fit",
        Kind.OTHER,
        as_element_type,
        as_element_value,
        NotDifferentiable("integers have no derivatives"),
        ("C1: the operand is 0-d", "C2: the dtype is one of integers"),
        (
            Sample("float", normal(), {"dtype": np.dtype("i8")}, differentiable=False),
            Sample("narrow", lambda rng: (np.array(100),), {"dtype": np.dtype("i1")}, differentiable=False),
            Sample("vector", normal(3), {"dtype": np.dtype("i8")}, breaks="C1"),
            Sample("to_float", normal(), {"dtype": np.dtype("f4")}, breaks="C2"),
        ),
    )
)


def item_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (type_,) = types
    if not isinstance(type_, ArrayType) or type_.shape:
        OPS["item"].fail("C1", f"{type_} is not 0-d")
    kind = {"b": bool, "i": int, "u": int, "f": float, "c": complex}[type_.dtype.kind]
    return scalar_type(kind)


def item_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.cast(ct, node.inputs[0].dtype),)


register(
    OpDef(
        "item",
        "a 0-d array as a Python number",
        Kind.OTHER,
        item_type,
        lambda x: np.asarray(x).item(),
        item_vjp,
        ("C1: the operand is 0-d",),
        (Sample("number", normal()), Sample("vector", normal(3), breaks="C1")),
        flow=Flow.MOVES,
    )
)


def get_type(types: Sequence[Type], attrs: Attrs) -> Type:
    (type_,) = types
    if not isinstance(type_, TupleType) or not 0 <= attrs["index"] < len(type_.items):
        OPS["get"].fail("C1", f"{type_} has no result {attrs['index']}")
    return type_.items[attrs["index"]]


register(
    OpDef(
        "get",
        "one result of an op that has several",
        Kind.OTHER,
        get_type,
        lambda x, index: x[index],
        NotDifferentiable("the driver hands its cotangent to the op below"),
        ("C1: the operand is a tuple that has this index",),
        (
            Sample("second", lambda rng: ((rng.normal(size=3), rng.normal(size=2)),), {"index": 1}),
            Sample("beyond", lambda rng: ((rng.normal(size=3),),), {"index": 1}, breaks="C1"),
            Sample("no_tuple", normal(3), {"index": 0}, breaks="C1"),
        ),
    )
)


def write_type(types: Sequence[Type], attrs: Attrs) -> Type:
    base, value = types
    seen = path_type(base, attrs["path"])
    if seen != value:
        OPS["write"].fail("C1", f"the path shows {seen}, the value is {value}")
    return base


def write_value(base: Any, value: Any, path: Any) -> Any:
    """A copy of the base in its own layout with the part that the path shows replaced."""
    result = np.array(base, order="K")
    target = numpy_path(result, path)
    if np.shares_memory(target, result) or not target.size:
        target[...] = value
        return result
    places = numpy_path(np.arange(result.size).reshape(result.shape), path)
    flat = np.ravel(result)
    flat[places] = value
    result[...] = flat.reshape(result.shape)
    return result


def write_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The base keeps its cotangent outside the window, the value gets the window of it."""
    _, value = node.inputs
    path = node.attrs["path"]
    if not is_inexact(path_type(node.type, path)):
        return None, None
    part = apply_path(b, ct, path)
    return b.write(ct, b.zeros(value.type), path=path), part


register(
    OpDef(
        "write",
        "the base with the part that the path of views shows replaced by the value",
        Kind.OTHER,
        write_type,
        write_value,
        write_vjp,
        ("C1: the value has the type that the path shows",),
        (
            Sample(
                "slice",
                normals((5,), (2,)),
                {"path": (path_step("slice", start=(1,), size=(2,), step=(2,)),)},
            ),
            Sample(
                "transposed_row",
                normals((3, 4), (3,)),
                {
                    "path": (
                        path_step("transpose", axes=(1, 0)),
                        path_step("slice", start=(2, 0), size=(1, 3), step=(1, 1)),
                        path_step("reshape", shape=(3,)),
                    )
                },
            ),
            Sample(
                "shapes_differ",
                normals((5,), (3,)),
                {"path": (path_step("slice", start=(1,), size=(2,), step=(2,)),)},
                breaks="C1",
            ),
        ),
        flow=Flow.SELECTS,
    )
)
