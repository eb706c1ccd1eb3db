"""Kernels of choices: where without branches, extrema with the constant spelled out."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ArrayType
from ..compiler.passes.memory import rarely_true
from .call import Call, Names, ufunc_call

# The most bytes that a constant may take when it is spelled out.
_SPELLED_OUT = 1 << 18

# Fewer elements are chosen faster by np.where.
_FEW = 512


def where_row(names: Names, call: Call) -> str:
    """A choice; where the condition rarely holds and `out` has the other values, it is looked at first."""
    if call.out is None:
        return f"{names.bind(np.where, 'where')}({', '.join(call.operands)})"
    chosen = _chosen(names, call, call.out)
    if call.over == {2} and rarely_true(call.node.inputs[0]):
        return f"if {names.bind(np.count_nonzero, 'count')}({call.operands[0]}): {chosen}"
    return chosen


def _chosen(names: Names, call: Call, out: str) -> str:
    """A choice by bits: np.where's branches are mispredicted every other time on a random condition.

    With c as 0 or 1: x where c, else +0, is c times the bits of x; x where c, else y, is ((x ^ y) c) ^ y.
    """
    (condition, x, y), node = call.operands, call.node
    assert isinstance(node.type, ArrayType)
    size = node.dtype.itemsize
    if call.over.issuperset((1, 2)):
        return f"{out}[...] = {x}"
    if size not in (1, 2, 4, 8) or 0 in call.over or node.type.size < _FEW:
        return f"{out}[...] = {names.bind(np.where, 'where')}({condition}, {x}, {y})"
    multiply, target = names.bind(np.multiply, "multiply"), names.bits(out, size)
    other = f"{names.bind(np.logical_not, 'logical_not')}({condition})"
    if _is_zero(node.inputs[2]):
        return f"{multiply}({names.bits(x, size)}, {condition}, {target})"
    if _is_zero(node.inputs[1]):
        return f"{multiply}({names.bits(y, size)}, {other}, {target})"
    if 2 in call.over:
        x, y, condition = y, x, other
    xor, kept = names.bind(np.bitwise_xor, "xor"), names.bits(y, size)
    return (
        f"{xor}({names.bits(x, size)}, {kept}, {target}); {multiply}({target}, {condition}, {target}); "
        f"{xor}({target}, {kept}, {target})"
    )


def _is_zero(node: Node) -> bool:
    """Whether a node is the constant +0, 0-d."""
    return node.op.name == "constant" and not node.shape and not any(node.attrs["value"].value.tobytes())


@lru_cache(maxsize=64)
def _repeated_is_exact(ufunc: np.ufunc, dtype: Any) -> bool:
    """Whether, on this machine, a ufunc gives the same bits for a scalar and for an array full of it."""
    special = np.array([0.0, -0.0, 1.0, -1.0, np.nan, -np.nan, np.inf, -np.inf], dtype)
    x = np.tile(np.repeat(special, [1, 2, 1, 3, 1, 2, 1, 1]), 11)[:-1]
    return all(
        ufunc(x, value).tobytes() == ufunc(x, np.full_like(x, value)).tobytes()
        and ufunc(value, x).tobytes() == ufunc(np.full_like(x, value), x).tobytes()
        for value in special
    )


def extremum_row(names: Names, call: Call) -> str:
    """NumPy's vector loops for extrema want two arrays, and are several times faster than the others."""
    node, operands = call.node, call.operands
    ufunc = node.op.numpy
    assert isinstance(ufunc, np.ufunc)
    type_ = node.type
    assert isinstance(type_, ArrayType)
    if call.out is not None and type_.dtype.char in "fd" and type_.nbytes <= _SPELLED_OUT:
        operands = [
            names.full(operand.attrs["value"].value, type_.shape)
            if operand.op.name == "constant" and not operand.shape and _repeated_is_exact(ufunc, type_.dtype)
            else name
            for operand, name in zip(node.inputs, operands, strict=True)
        ]
    return ufunc_call(names, ufunc, operands, call.out)
