"""How NumPy runs each op: rows of source text for the executor's generated function.

With a name to write into a row gives a statement, without one an expression. Ops without a row call their
reference function. Every row must work when `out` is one of its operands.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ArrayType, ScalarType
from ..compiler.passes.memory import power_shortcut
from .call import Call, Names, Row, assigned, function_call, reference, ufunc_call
from .kernels_index import PARTS, gather_row
from .kernels_select import extremum_row, where_row

PYTHON: dict[str, str] = {
    "add": "{} + {}",
    "subtract": "{} - {}",
    "multiply": "{} * {}",
    "divide": "{} / {}",
    "floor_divide": "{} // {}",
    "remainder": "{} % {}",
    "power": "{} ** {}",
    "negative": "-{}",
    "positive": "+{}",
    "absolute": "abs({})",
    "equal": "{} == {}",
    "not_equal": "{} != {}",
    "less": "{} < {}",
    "less_equal": "{} <= {}",
    "greater": "{} > {}",
    "greater_equal": "{} >= {}",
}


# Ops whose operators NumPy's float scalars have with the same bits, a tenth of the time of a ufunc's call.
_SCALAR = frozenset(PYTHON) - {"floor_divide", "remainder", "power", "absolute"}


def is_scalar_operation(node: Node) -> bool:
    """Whether a node is an operator on real floats that are 0-d."""
    if node.op.name not in _SCALAR or not isinstance(node.type, ArrayType) or node.shape:
        return False
    return all(isinstance(x.type, ArrayType) and x.dtype.char in "fd" for x in node.inputs)


def cast_row(names: Names, call: Call) -> str:
    (x,), dtype = call.operands, call.node.dtype
    if call.out is not None:
        return f"{call.out}[...] = {x}"
    source = call.node.inputs[0].type
    if not isinstance(source, ScalarType):
        return f"{x}.astype({names.bind(dtype, 'dtype')})"
    if source.kind is float and dtype == np.float64:
        return f"{names.bind(np.float64, 'float64')}({x})"
    scalar = "" if call.spread else "[()]"  # ufuncs take 0-d arrays faster than scalars
    return f"{names.bind(np.asarray, 'asarray')}({x}, {names.bind(dtype, 'dtype')}){scalar}"


def copy_row(names: Names, call: Call) -> str:
    return reference(names, call) if call.out is None else f"{call.out}[...] = {call.operands[0]}"


def reshape_row(names: Names, call: Call) -> str:
    """A reshape that copies: the result, seen in the operand's shape, gets the operand."""
    (x,) = call.operands
    if call.out is None:
        return f"{x}.reshape({call.node.shape!r})"
    return f"{names.in_shape(call.out, call.node.inputs[0].shape)}[...] = {x}"


def _reduction_row(ufunc: np.ufunc) -> Row:
    def row(names: Names, call: Call) -> str:
        axes = call.attrs["axes"]
        axis = repr(axes[0] if len(axes) == 1 else axes)
        wanted, given = call.attrs.get("dtype"), call.node.inputs[0].dtype
        # Without a dtype, sums and products of small integers would widen.
        plain = wanted is None or (wanted == given and given.kind in "fc")
        dtype = "None" if plain else names.bind(wanted, "dtype")
        arguments = [call.operands[0], axis, dtype, *([] if call.out is None else [call.out])]
        return f"{names.bind(ufunc.reduce, ufunc.__name__ + '_reduce')}({', '.join(arguments)})"

    return row


def _accumulate_row(ufunc: np.ufunc) -> Row:
    def row(names: Names, call: Call) -> str:
        dtype = names.bind(call.attrs["dtype"], "dtype")
        out = [] if call.out is None else [call.out]
        arguments = [call.operands[0], repr(call.attrs["axis"]), dtype, *out]
        return f"{names.bind(ufunc.accumulate, ufunc.__name__ + '_accumulate')}({', '.join(arguments)})"

    return row


def matmul_distinct(x: Any, y: Any, out: Any = None) -> Any:
    """The product of operands that are different memory in NumPy: a shared operand is copied first."""
    if np.may_share_memory(x, y):
        y = y.copy(order="K")
    return np.matmul(x, y, out=out)


def matmul_row(names: Names, call: Call) -> str:
    function = matmul_distinct if call.attrs.get("distinct") else np.matmul
    arguments = [*call.operands, *([] if call.out is None else [call.out])]
    return f"{names.bind(function, 'matmul')}({', '.join(arguments)})"


def power_row(names: Names, call: Call) -> str:
    x, y = call.operands
    shortcut = power_shortcut(call.node)
    if shortcut is not None and call.node.shape:
        return ufunc_call(names, getattr(np, shortcut), [x], call.out)
    if call.attrs["form"] == "ufunc":
        return ufunc_call(names, np.power, call.operands, call.out)
    is_array = call.attrs["form"] == "array" and call.node.inputs[0].shape
    return assigned(call, f"{x} ** {y}" if is_array else reference(names, call))


def concatenate_row(names: Names, call: Call) -> str:
    out = "" if call.out is None else f", {call.out}"
    operands = "".join(f"{operand}, " for operand in call.operands)
    return f"{names.bind(np.concatenate, 'concatenate')}(({operands}), {call.attrs['axis']}{out})"


def pad_row(names: Names, call: Call) -> str:
    """The value everywhere, then the operand in the middle: a tenth of np.pad's time."""
    if call.out is None:
        return reference(names, call)
    x, value = call.operands
    lengths = zip(call.attrs["before"], call.node.inputs[0].shape, strict=True)
    middle = ", ".join(f"{start}:{start + length}" for start, length in lengths)
    return f"{call.out}[...] = {value}; {call.out}[{middle}] = {x}"


def item_row(names: Names, call: Call) -> str:
    return f"{call.operands[0]}.item()"


def get_row(names: Names, call: Call) -> str:
    return f"{call.operands[0]}[{call.attrs['index']}]"


_REDUCTIONS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "nanmax": np.fmax,
    "nanmin": np.fmin,
    "any": np.logical_or,
    "all": np.logical_and,
}

ROWS: dict[str, Row] = {
    **{name: _reduction_row(ufunc) for name, ufunc in _REDUCTIONS.items()},
    **dict.fromkeys(("maximum", "minimum", "fmax", "fmin"), extremum_row),
    "where": where_row,
    "cumsum": _accumulate_row(np.add),
    "cumprod": _accumulate_row(np.multiply),
    "cast": cast_row,
    "copy": copy_row,
    "reshape": reshape_row,
    "matmul": matmul_row,
    "power": power_row,
    "gather": gather_row,
    "concatenate": concatenate_row,
    "pad": pad_row,
    "item": item_row,
    "get": get_row,
}


def kernel(names: Names, call: Call) -> str:
    """The source of one step; views and the ops of PARTS are the writer's own."""
    op = call.node.op
    types = [operand.type for operand in call.node.inputs]
    if op.python is not None and types and all(isinstance(t, ScalarType) for t in types):
        template = PYTHON.get(op.name)
        return template.format(*call.operands) if template else function_call(names, op.python, call)
    if call.out is None and is_scalar_operation(call.node):
        return PYTHON[op.name].format(*call.operands)
    row = ROWS.get(op.name)
    if row is not None and isinstance(call.node.type, ArrayType | ScalarType):
        return row(names, call)
    if isinstance(op.numpy, np.ufunc):
        return ufunc_call(names, op.numpy, call.operands, call.out)
    return assigned(call, reference(names, call))


__all__ = ["PARTS", "PYTHON", "ROWS", "kernel", "matmul_distinct"]
