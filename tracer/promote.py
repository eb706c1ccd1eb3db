"""NumPy's promotion and broadcasting as explicit cast and broadcast nodes.

Which dtypes an operation computes in is asked of the ufunc itself; Python numbers are weak operands
(NEP 50). A 0-d operand is left 0-d: primitives accept it for a repeated one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from .storage import Array
from .trace import Trace
from .traced_array import TracedArray, TracedNumber


def weak_type(operand: Any) -> Any:
    """What ufunc type resolution takes for an operand: a dtype, or a Python number's class."""
    if type(operand) is TracedArray:
        return operand.shadow.dtype
    kind = type(operand.example) if type(operand) is TracedNumber else type(operand)
    return np.dtype(bool) if kind is bool else kind


@lru_cache(maxsize=16384)
def _resolve(ufunc: np.ufunc, given: tuple[Any, ...], signature: Any, casting: str) -> tuple[Any, ...]:
    options: dict[str, Any] = {} if signature is None else {"signature": signature}
    return tuple(ufunc.resolve_dtypes(given, casting=casting, **options))  # type: ignore[arg-type]


def resolve(
    ufunc: np.ufunc,
    operands: Sequence[Any],
    outs: Sequence[Any],
    signature: Any = None,
    casting: str = "same_kind",
) -> tuple[Any, ...]:
    """The dtypes a ufunc computes in; raises NumPy's own error where there is no loop or no safe cast."""
    given = [weak_type(o) for o in operands]
    if all(isinstance(g, type) for g in given):
        given = [np.dtype(given[0]), *given[1:]]
    return _resolve(ufunc, (*given, *outs), signature, casting)


def operand_node(trace: Trace, operand: Any, dtype: Any) -> Node:
    """The node of an operand, cast to the dtype the operation computes in."""
    if type(operand) is TracedArray:
        return trace.builder.cast(trace.operand(operand), dtype)
    if type(operand) is TracedNumber:
        return trace.builder.cast(operand.node, dtype)
    return trace.builder.constant(np.asarray(operand, dtype))


def operand_shadow(operand: Any) -> Array:
    """Something real of the operand's shape and strides."""
    if type(operand) is TracedArray:
        return operand.shadow
    return np.empty((), np.dtype(type(operand.example) if type(operand) is TracedNumber else type(operand)))


def broadcast_shape(shadows: Sequence[Array]) -> tuple[int, ...]:
    """The common shape; raises ValueError as np.broadcast words it."""
    shape: tuple[int, ...] = ()
    for shadow in shadows:
        if shadow.shape != shape:
            if not shape:
                shape = shadow.shape
            elif shadow.shape:
                return np.broadcast_shapes(*(s.shape for s in shadows))
    return shape


def result_shadow(shadows: Sequence[Array], shape: tuple[int, ...], dtype: Any) -> Array:
    """Memory laid out as a ufunc lays out its result for these operands (K order)."""
    if all(s.flags.c_contiguous or not s.ndim for s in shadows) or len(shape) < 2:
        return np.empty(shape, dtype)
    if not all(shape):
        return np.empty(shape, dtype)
    operands: Any = [*shadows, None]
    allocate: Any = np.nditer
    iterator = allocate(
        operands,
        ["refs_ok", "reduce_ok", "zerosize_ok"],
        [*[["readonly"]] * len(shadows), ["writeonly", "allocate"]],
        op_dtypes=[*(s.dtype for s in shadows), dtype],
        order="K",
        casting="unsafe",
    )
    made: Array = iterator.operands[-1]
    return made


def to_shape(trace: Trace, node: Node, shape: tuple[int, ...]) -> Node:
    """The node broadcast to a shape, unless it is 0-d and may stay so."""
    if node.shape == shape or not node.shape:
        return node
    return trace.builder.broadcast_to(node, shape)
