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
        """The memory of a named array as unsigned integers."""
        ...

    def in_shape(self, name: str, shape: tuple[int, ...]) -> str:
        """The memory of a named array, which lies in C order, in another shape."""
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
    if out is None:
        return f"{operands[0]}.reshape({node.shape!r})"
    return f"{names.in_shape(out, node.inputs[0].shape)}[...] = {operands[0]}"


def index_source(axes: Sequence[int], indices: Sequence[str]) -> str:
    """What stands between the brackets of an advanced index."""
    parts = [":"] * (max(axes) + 1)
    for axis, index in zip(axes, indices, strict=True):
        parts[axis] = index
    return ", ".join(parts)


def gather_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    if not any(index.shape for index in node.inputs[1:]):
        return _assigned(out, reference(names, node, operands))
    return _assigned(out, f"{operands[0]}[{index_source(node.attrs['axes'], operands[1:])}]")


def accumulate_row(ufunc: np.ufunc) -> Row:
    def row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
        function = names.bind(ufunc.accumulate, ufunc.__name__ + "_accumulate")
        dtype = node.attrs.get("dtype")
        arguments = [operands[0], repr(node.attrs["axis"]), "None" if dtype is None else names.bind(dtype)]
        return f"{function}({', '.join([*arguments, *([] if out is None else [out])])})"

    return row


def einsum_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    if out is None:
        return reference(names, node, operands)
    einsum = names.bind(np.einsum, "einsum")
    return f"{einsum}({node.attrs['subscripts']!r}, {', '.join(operands)}, out={out})"


def concatenate_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    function = names.bind(np.concatenate, "concatenate")
    target = "" if out is None else f", {out}"
    return f"{function}(({', '.join(operands)},), {node.attrs['axis']}{target})"


def pad_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    """The value everywhere, then the operand in the middle: a tenth of np.pad's time."""
    if out is None:
        return reference(names, node, operands)
    x, value = operands
    lengths = zip(node.attrs["before"], node.inputs[0].shape, strict=True)
    middle = ", ".join(f"{start}:{start + length}" for start, length in lengths)
    return f"{out}[...] = {value}; {out}[{middle}] = {x}"


# Rows of ops that replace a part of what is in `out` already; operands are those behind the first.


def scatter_part(names: Names, node: Node, operands: Sequence[str], out: str) -> str:
    value, *indices = operands
    return f"{out}[{index_source(node.attrs['axes'], indices)}] = {value}"


def scatter_add_part(names: Names, node: Node, operands: Sequence[str], out: str) -> str:
    value, *indices = operands
    index = index_source(node.attrs["axes"], indices).replace(":", names.bind(slice(None), "all"))
    return f"{names.bind(np.add.at, 'add_at')}({out}, ({index},), {value})"


def ufunc_at_part(names: Names, node: Node, operands: Sequence[str], out: str) -> str:
    ufunc = getattr(np, node.attrs["ufunc"])
    values, indices = operands[: ufunc.nin - 1], operands[ufunc.nin - 1 :]
    index = index_source(node.attrs["axes"], indices).replace(":", names.bind(slice(None), "all"))
    arguments = ", ".join([out, f"({index},)", *values])
    return f"{names.bind(ufunc.at, ufunc.__name__ + '_at')}({arguments})"


def sort_part(names: Names, node: Node, operands: Sequence[str], out: str) -> str:
    return f"{out}.sort({node.attrs['axis']}, {node.attrs['kind']!r})"


def partition_part(names: Names, node: Node, operands: Sequence[str], out: str) -> str:
    attrs = node.attrs
    return f"{out}.partition({attrs['kth']!r}, {attrs['axis']}, {attrs['kind']!r})"


PARTS: dict[str, Callable[[Names, Node, Sequence[str], str], str]] = {
    "scatter": scatter_part,
    "scatter_add": scatter_add_part,
    "ufunc_at": ufunc_at_part,
    "sort": sort_part,
    "partition": partition_part,
}


def item_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    return f"{operands[0]}.item()"


def get_row(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    return f"{operands[0]}[{node.attrs['index']}]"


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
    "cumsum": accumulate_row(np.add),
    "cumprod": accumulate_row(np.multiply),
    "cast": cast_row,
    "copy": copy_row,
    "matmul": matmul_row,
    "einsum": einsum_row,
    "where": where_row,
    "power": power_row,
    "reshape": reshape_row,
    "gather": gather_row,
    "concatenate": concatenate_row,
    "pad": pad_row,
    "item": item_row,
    "get": get_row,
}


def kernel(names: Names, node: Node, operands: Sequence[str], out: str | None) -> str:
    """The source of one step; views and the ops of PARTS are the writer's own."""
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
