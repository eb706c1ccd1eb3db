"""What a kernel row gets: one call of an op, and the names it may ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.record import record


class Names(Protocol):
    """What a row may ask of the writer of the source."""

    def bind(self, thing: Any, hint: str = ...) -> str:
        """A name for a function or constant."""
        ...

    def bits(self, name: str, itemsize: int) -> str:
        """The memory of a named array as unsigned integers."""
        ...

    def full(self, value: Any, shape: tuple[int, ...]) -> str:
        """A constant array full of a value."""
        ...

    def in_shape(self, name: str, shape: tuple[int, ...]) -> str:
        """The memory of a named array, which lies in C order, in another shape."""
        ...


@record(slots=True)
class Call:
    """A node, the names of its operands, and where its result goes.

    `out` names the memory to write into; None asks for an expression whose value is the result. `over` are
    the positions of operands that lie in the memory of `out`, each exactly as `out` does. `spread` says that
    the result is a number that ufuncs repeat over arrays.
    """

    node: Node
    operands: Sequence[str]
    out: str | None
    over: frozenset[int] = frozenset()
    spread: bool = False

    @property
    def attrs(self) -> Any:
        return self.node.attrs


Row = Callable[[Names, Call], str]

# NumPy warns when these get their output by position.
_OUT_BY_KEYWORD = (np.maximum, np.minimum)


def ufunc_call(names: Names, ufunc: np.ufunc, operands: Sequence[str], out: str | None) -> str:
    """A ufunc, its output by position."""
    arguments = list(operands)
    if out is not None:
        arguments.append(f"out={out}" if ufunc in _OUT_BY_KEYWORD else out)
    return f"{names.bind(ufunc, ufunc.__name__)}({', '.join(arguments)})"


def function_call(names: Names, function: Any, call: Call) -> str:
    """A function of the operands, with the attrs as keywords."""
    keywords = [f"{key}={names.bind(value, key)}" for key, value in sorted(call.attrs.items())]
    return f"{names.bind(function, call.node.op.name)}({', '.join([*call.operands, *keywords])})"


def reference(names: Names, call: Call) -> str:
    """The op's own function."""
    return function_call(names, call.node.op.numpy, call)


def assigned(call: Call, expression: str) -> str:
    """The expression, copied into `out` where there is one."""
    return expression if call.out is None else f"{call.out}[...] = {expression}"
