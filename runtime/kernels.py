"""How NumPy runs each op: rows of source text for the executor's generated function.

A row gets the operands' names and the name of the memory to write into, or None where NumPy shall make the
result. With a name it gives a statement, without one an expression. Ops without a row call their reference
function. Every row must work when `out` is one of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ScalarType
from ..compiler.passes.memory import power_shortcut


class Names(Protocol):
    """What a row may ask of the writer of the source."""

    def bind(self, thing: Any, hint: str = ...) -> str:
        """A name for a function or constant."""
        ...

    def bits(self, name: str, itemsize: int) -> str:
        """A name or expression for the memory of a named array as unsigned integers."""
        ...


Row = Callable[[Names, Node, Sequence[str], "str | None"], str]

# NumPy warns when these get their output by position.
_OUT_BY_KEYWORD = (np.maximum, np.minimum)

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


def ufunc_call(names: Names, ufunc: np.ufunc, operands: Sequence[str], out: str | None) -> str:
    """A ufunc, its output by position."""
    arguments = list(operands)
    if out is not None:
        arguments.append(f"out={out}" if ufunc in _OUT_BY_KEYWORD else out)
    return f"{names.bind(ufunc, ufunc.__name__)}({', '.join(arguments)})"


def reference(names: Names, node: Node, operands: Sequence[str]) -> str:
    """The op's own function."""
    keywords = [f"{key}={names.bind(value, key)}" for key, value in sorted(node.attrs.items())]
    return f"{names.bind(node.op.numpy, node.op.name)}({', '.join([*operands, *keywords])})"


def python_call(names: Names, node: Node, operands: Sequence[str]) -> str:
    """An op among Python numbers, as an operator where there is one."""
    template = PYTHON.get(node.op.name)
    if template is not None:
        return template.format(*operands)
    keywords = [f"{key}={names.bind(value, key)}" for key, value in sorted(node.attrs.items())]
    return f"{names.bind(node.op.python, node.op.name)}({', '.join([*operands, *keywords])})"


def _assigned(out: str | None, expression: str) -> str:
    return expression if out is None else f"{out}[...] = {expression}"


def cast_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    (x,) = operands
    if out is not None:
        return f"{out}[...] = {x}"
    dtype = node.dtype
    if isinstance(node.inputs[0].type, ScalarType):
        if node.inputs[0].type.kind is float and dtype == np.float64:
            return f"{names.bind(np.float64, 'float64')}({x})"
        return f"{names.bind(np.asarray, 'asarray')}({x}, {names.bind(dtype, 'dtype')})[()]"
    return f"{x}.astype({names.bind(dtype, 'dtype')})"


def copy_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    return reference(names, node, operands) if out is None else f"{out}[...] = {operands[0]}"


def _reduction_row(ufunc: np.ufunc) -> Row:
    def row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
        axes = node.attrs["axes"]
        axis = repr(axes[0] if len(axes) == 1 else axes)
        wider = "dtype" in node.attrs and node.attrs["dtype"] != node.inputs[0].dtype
        dtype = names.bind(node.attrs["dtype"], "dtype") if wider else "None"
        arguments = [operands[0], axis, dtype, *([] if out is None else [out])]
        return f"{names.bind(ufunc.reduce, ufunc.__name__ + '_reduce')}({', '.join(arguments)})"

    return row


def matmul_distinct(x: Any, y: Any, out: Any = None) -> Any:
    """The product of operands that are different memory in NumPy: a shared operand is copied first."""
    if np.may_share_memory(x, y):
        y = y.copy(order="K")
    return np.matmul(x, y, out=out)


def matmul_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    function = matmul_distinct if node.attrs.get("distinct") else np.matmul
    arguments = [*operands, *([] if out is None else [out])]
    return f"{names.bind(function, 'matmul')}({', '.join(arguments)})"


def where_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    """np.where; x or +0 is a product of x's bits with the condition, twice as fast."""
    condition, x, y = operands
    if out is not None and _is_masked(node):
        size = node.dtype.itemsize
        multiply = names.bind(np.multiply, "multiply")
        return f"{multiply}({names.bits(x, size)}, {condition}, {names.bits(out, size)})"
    return _assigned(out, f"{names.bind(np.where, 'where')}({condition}, {x}, {y})")


def _is_masked(node: Node) -> bool:
    """Whether the node is x where the condition holds and +0 elsewhere."""
    condition, x, y = node.inputs
    if y.op.name != "constant" or y.shape or x.shape != node.shape or condition.shape != node.shape:
        return False
    return node.dtype.itemsize <= 8 and not any(y.attrs["value"].value.tobytes())


def power_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    x, y = operands
    shortcut = power_shortcut(node)
    if shortcut is not None and node.shape:
        return ufunc_call(names, getattr(np, shortcut), [x], out)
    if node.attrs["form"] == "ufunc":
        return ufunc_call(names, np.power, operands, out)
    if node.attrs["form"] == "array" and node.inputs[0].shape:
        return f"{x} ** {y}"
    return reference(names, node, operands)


def reshape_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    """A reshape that copies."""
    return _assigned(out, f"{operands[0]}.reshape({node.shape!r})")


def item_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    return f"{operands[0]}.item()"


def get_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    return f"{operands[0]}[{node.attrs['index']}]"


ROWS: dict[str, Row] = {
    "cast": cast_row,
    "copy": copy_row,
    "sum": _reduction_row(np.add),
    "max": _reduction_row(np.maximum),
    "min": _reduction_row(np.minimum),
    "matmul": matmul_row,
    "where": where_row,
    "power": power_row,
    "reshape": reshape_row,
    "item": item_row,
    "get": get_row,
}


def kernel(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    """The source of one step, without view and write, which are the writer's own."""
    op = node.op
    types = [operand.type for operand in node.inputs]
    if op.python is not None and types and all(isinstance(t, ScalarType) for t in types):
        return python_call(names, node, operands)
    row = ROWS.get(op.name)
    if row is not None:
        return row(names, node, operands, out)
    if isinstance(op.numpy, np.ufunc):
        return ufunc_call(names, op.numpy, operands, out)
    return _assigned(out, reference(names, node, operands))
