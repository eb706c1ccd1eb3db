"""What the families share: the elementwise type rule and factory, and small helpers for vjps.

Cotangent convention for complex numbers: dL = Re(conj(ct) * dz), so a holomorphic f pulls back as
ct * conj(f'(z)) and the gradient of a real loss points uphill.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Attrs, Flow, Kind, NotDifferentiable, OpDef, Sample, TypeRuleError, Vjp, register
from ..ir.types import ArrayType, ScalarType, TupleType, Type, array_of, array_type, scalar_type

C_SHAPES = "C1: operands have the result's shape or are 0-d"
C_DTYPES = "C2: operands have the dtypes that the NumPy function computes in"

_MANY = 4096
_PYTHON_RANK = {bool: 0, int: 1, float: 2, complex: 3}


@lru_cache(maxsize=4096)
def resolved(ufunc: np.ufunc, dtypes: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dtypes (operands, then results) that a ufunc computes in for these operand dtypes."""
    return tuple(ufunc.resolve_dtypes((*dtypes, *[None] * ufunc.nout)))


def arrays(op: str, types: Sequence[Type], constraint: str = "C1") -> list[ArrayType]:
    """The operands' types; the constraint is broken when one of them is no array."""
    found = [type_ for type_ in types if isinstance(type_, ArrayType)]
    if len(found) != len(types):
        raise TypeRuleError(op, constraint, f"operands are {', '.join(map(str, types))}, not all arrays")
    return found


def common_shape(op: str, types: Sequence[ArrayType | ScalarType]) -> tuple[int, ...]:
    """The shape of an elementwise result; C1 is broken when two operands that are not 0-d differ."""
    shape: tuple[int, ...] = ()
    for type_ in types:
        if type_.shape and type_.shape != shape:
            if shape:
                raise TypeRuleError(op, "C1", f"operands have shapes {shape} and {type_.shape}")
            shape = type_.shape
    return shape


def python_result(kinds: Sequence[type], attrs: Attrs) -> type:
    """The class of a Python operator's result: the widest operand's, at least int for arithmetic."""
    return attrs.get("result") or max([int, *kinds], key=_PYTHON_RANK.__getitem__)


def ufunc_rule(
    name: str, ufunc: np.ufunc, python: Callable[[Sequence[type], Attrs], type] | None
) -> Callable[[Sequence[Type], Attrs], Type]:
    """The type rule of an elementwise op that is a ufunc (C1, C2); several results make a tuple."""
    known: dict[tuple[Type, ...], Type] = {}

    def rule(types: Sequence[Type], attrs: Attrs) -> Type:
        key = tuple(types)
        found = None if attrs else known.get(key)
        if found is None:
            found = resolve(types, attrs)
            if len(known) < _MANY and not attrs:
                known[key] = found
        return found

    def resolve(types: Sequence[Type], attrs: Attrs) -> Type:
        operands = [array_of(t) for t in types]
        if python is not None and all(isinstance(t, ScalarType) for t in operands):
            return scalar_type(python([t.kind for t in operands if isinstance(t, ScalarType)], attrs))
        shape = common_shape(name, operands)
        dtypes = tuple(t.dtype for t in operands)
        try:
            computed = resolved(ufunc, dtypes)
        except TypeError as error:
            raise TypeRuleError(name, "C2", str(error)) from None
        if computed[: len(dtypes)] != dtypes or any(isinstance(t, ScalarType) for t in operands):
            shown = ", ".join(str(t) for t in types)
            raise TypeRuleError(name, "C2", f"({shown}) would be computed in {computed[: len(dtypes)]}")
        results = tuple(array_type(shape, dtype) for dtype in computed[len(dtypes) :])
        return results[0] if len(results) == 1 else TupleType(results)

    return rule


def elementwise(
    name: str,
    vjp: Vjp | NotDifferentiable,
    *,
    doc: str,
    samples: tuple[Sample, ...] = (),
    ufunc: np.ufunc | None = None,
    python: Callable[..., Any] | None = None,
    python_type: Callable[[Sequence[type], Attrs], type] = python_result,
    flow: Flow = Flow.SCALES,
) -> OpDef:
    """Register an elementwise primitive whose meaning is the ufunc of the same name."""
    function: np.ufunc = ufunc if ufunc is not None else getattr(np, name)
    return register(
        OpDef(
            name=name,
            doc=doc,
            kind=Kind.ELEMENTWISE,
            type_rule=ufunc_rule(name, function, python_type if python else None),
            numpy=function,
            vjp=vjp,
            constraints=(C_SHAPES, C_DTYPES),
            samples=samples,
            python=python,
            flow=flow,
        )
    )


def conj(b: Builder, node: Node) -> Node:
    """The complex conjugate; a real node itself."""
    return b.conjugate(node) if node.dtype.kind == "c" else node


def is_complex(node: Node) -> bool:
    return bool(node.dtype.kind == "c")


def is_inexact(type_: Type) -> bool:
    """Whether values of this type have derivatives: floating or complex."""
    if isinstance(type_, ScalarType):
        return type_.kind in (float, complex)
    return isinstance(type_, ArrayType) and type_.dtype.kind in "fc"


def where_zero(b: Builder, mask: Node, node: Node) -> Node:
    """The node where the mask holds, zero elsewhere."""
    return b.where(mask, node, b.scalar(0, node))


def sigmoid(b: Builder, x: Node) -> Node:
    """1 / (1 + exp(-x)): exp may overflow to inf, which gives 0. Its derivative is a recognised pattern."""
    return b.reciprocal(b.add(b.scalar(1, x), b.exp(b.negative(x))))


def rest_of_sigmoid(b: Builder, exponential: Node, s: Node) -> Node:
    """1 - s as exp(v) s, for s = 1 / (1 + exp(v)): all digits where s is nearly 1; exp(v) may be inf."""
    largest = b.scalar(np.finfo(s.dtype).max, s)
    return b.multiply(b.minimum(exponential, largest), s)


def normal(*shape: int, dtype: str = "f8") -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """A sample maker: one normally distributed array."""
    return lambda rng: (np.asarray(rng.normal(size=shape)).astype(dtype),)


def normals(*shapes: tuple[int, ...], dtype: str = "f8") -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """A sample maker: one normally distributed array per shape."""
    return lambda rng: tuple(np.asarray(rng.normal(size=s)).astype(dtype) for s in shapes)


def uniforms(
    low: float, high: float, *shapes: tuple[int, ...], dtype: str = "f8"
) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """A sample maker: one array per shape, uniform between low and high."""
    return lambda rng: tuple(np.asarray(rng.uniform(low, high, size=s)).astype(dtype) for s in shapes)


def values(*arrays: Any) -> Callable[[np.random.Generator], tuple[Any, ...]]:
    """A sample maker: exactly these values."""
    return lambda rng: tuple(a if type(a) in (bool, int, float, complex) else np.array(a) for a in arrays)


def complexes(*shape: int, count: int = 1) -> Sample:
    """A sample of normally distributed complex arrays."""
    return Sample(
        "complex",
        lambda rng: tuple(rng.normal(size=shape) + 1j * rng.normal(size=shape) for _ in range(count)),
    )
