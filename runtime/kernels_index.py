"""Kernels of indexing, and of ops that replace a part of their first operand.

A part row changes what is in `out` already, a copy of the first operand; its call has the other operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ..compiler.ops.index import add_at
from .call import Call, Names, assigned, reference


def brackets(axes: Sequence[int], indices: Sequence[str], everything: str = ":") -> str:
    """What stands between the brackets of an advanced index."""
    parts = [everything] * (max(axes) + 1)
    for axis, index in zip(axes, indices, strict=True):
        parts[axis] = index
    return ", ".join(parts)


def gather_row(names: Names, call: Call) -> str:
    if not any(index.shape for index in call.node.inputs[1:]):
        return assigned(call, reference(names, call))
    x, *indices = call.operands
    return assigned(call, f"{x}[{brackets(call.attrs['axes'], indices)}]")


def scatter_part(names: Names, call: Call) -> str:
    value, *indices = call.operands
    return f"{call.out}[{brackets(call.attrs['axes'], indices)}] = {value}"


def _at(names: Names, call: Call, function: str, values: Sequence[str], indices: Sequence[str]) -> str:
    index = brackets(call.attrs["axes"], indices, names.bind(slice(None), "all"))
    return f"{function}({', '.join([str(call.out), f'({index},)', *values])})"


def scatter_add_part(names: Names, call: Call) -> str:
    return _at(names, call, names.bind(add_at, "add_at"), call.operands[:1], call.operands[1:])


def ufunc_at_part(names: Names, call: Call) -> str:
    ufunc = getattr(np, call.attrs["ufunc"])
    given = ufunc.nin - 1
    function = names.bind(ufunc.at, f"{ufunc.__name__}_at")
    return _at(names, call, function, call.operands[:given], call.operands[given:])


def sort_part(names: Names, call: Call) -> str:
    return f"{call.out}.sort({call.attrs['axis']}, {call.attrs['kind']!r})"


def partition_part(names: Names, call: Call) -> str:
    attrs = call.attrs
    return f"{call.out}.partition({attrs['kth']!r}, {attrs['axis']}, {attrs['kind']!r})"


PARTS: dict[str, Callable[[Names, Call], str]] = {
    "scatter": scatter_part,
    "scatter_add": scatter_add_part,
    "ufunc_at": ufunc_at_part,
    "sort": sort_part,
    "partition": partition_part,
}
