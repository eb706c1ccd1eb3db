"""Python's operators on traced values.

Those of a TracedArray are NumPy's ufuncs; those among Python numbers are Python's own, recorded as such. A
value that an ended trace left behind is concrete again.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.opdef import OPS
from .errors import UnsupportedError
from .state import is_internal
from .traced_array import TracedArray, TracedNumber

if TYPE_CHECKING:
    from .trace import Trace


@cache
def _table() -> Any:
    from . import numpy_table

    return numpy_table


_BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "truediv": np.divide, "floordiv": np.floor_divide,
    "mod": np.remainder, "matmul": np.matmul, "and": np.bitwise_and, "or": np.bitwise_or,
    "xor": np.bitwise_xor, "lshift": np.left_shift, "rshift": np.right_shift, "divmod": np.divmod,
}  # fmt: skip
_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal,
}  # fmt: skip
_UNARY = {
    "neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert,
}  # fmt: skip


def _defers(other: Any) -> bool:
    """Whether NumPy would leave the operator to the other operand."""
    kind = type(other)
    return kind is not TracedArray and (getattr(kind, "__array_ufunc__", 0) is None or other is None)


def _note(self: Any, other: Any, frame: FrameType) -> None:
    """Remember a NumPy scalar that user code combines with a traced array."""
    if type(other) is not TracedArray and isinstance(other, np.generic) and not is_internal(frame.f_code):
        self.owner.note_scalar(other)


_SEQUENCES = (list, tuple, str, bytes)


def _repeats(self: Any, other: Any, ufunc: Any) -> bool:
    """Whether `*` repeats a Python sequence instead of multiplying."""
    return ufunc is np.multiply and type(other) in _SEQUENCES and self.scalar


def _repeat(self: Any, other: Any) -> Any:
    if self.dtype.kind not in "iu":
        return other * self.dtype.type(1)
    return other * operator.index(self)


def _complex_scalars(self: Any, other: Any) -> bool:
    """Whether both are scalars and one is complex: they multiply with other bits than the ufunc."""
    if not self.scalar or self.owner.ended:
        return False
    kind = type(other)
    if kind is TracedArray:
        return other.scalar and "c" in (self.dtype.kind, other.dtype.kind)
    value = other.example if kind is TracedNumber else other
    number = isinstance(value, (bool, int, float, complex, np.number, np.bool_))
    return number and (self.dtype.kind == "c" or isinstance(value, (complex, np.complexfloating)))


def _compared_with_none(self: Any, answer: bool) -> Any:
    """`x == None` and `x != None`: of an array per element, of a scalar Python's answer."""
    if self.scalar or self.owner.ended:
        return answer
    return self.owner.constant(np.full(self.shape, answer) if self.ndim else np.bool_(answer))


def _binary(ufunc: np.ufunc) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    def forward(self: Any, other: Any) -> Any:
        if other is None and ufunc in (np.equal, np.not_equal):
            return _compared_with_none(self, ufunc is np.not_equal)
        if _repeats(self, other, ufunc):
            return _repeat(self, other)
        _note(self, other, sys._getframe(1))
        if ufunc is np.multiply and _complex_scalars(self, other):
            return _table().elementwise.scalar_operator("mul", self, other)
        return NotImplemented if _defers(other) else ufunc(self, other)

    def reflected(self: Any, other: Any) -> Any:
        if _repeats(self, other, ufunc):
            return _repeat(self, other)
        _note(self, other, sys._getframe(1))
        found = _complex_with_float(ufunc, other, self)
        if found is not NotImplemented:
            return found
        if ufunc is np.multiply and _complex_scalars(self, other):
            return _table().elementwise.scalar_operator("mul", other, self)
        return NotImplemented if _defers(other) else ufunc(other, self)

    def in_place(self: Any, other: Any) -> Any:
        return forward(self, other) if self.scalar else ufunc(self, other, out=self)

    return forward, reflected, in_place


def _power(self: Any, other: Any, modulo: Any = None) -> Any:
    if modulo is not None or _defers(other):
        return NotImplemented
    if self.owner.ended:
        return self.left_behind() ** other
    return _table().elementwise.operator_power(self, other)


def _reflected_power(self: Any, other: Any) -> Any:
    if _defers(other):
        return NotImplemented
    if self.owner.ended:
        return other ** self.left_behind()
    found = _complex_with_float(np.power, other, self)
    return _table().elementwise.operator_power(other, self) if found is NotImplemented else found


def _in_place_power(self: Any, other: Any) -> Any:
    if self.owner.ended:
        value = self.left_behind()
        value **= other
        return value
    return _table().elementwise.operator_power(self, other, out=None if self.scalar else self)


def _round(self: Any, ndigits: int | None = None) -> Any:
    if not self.scalar:
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if self.dtype.kind == "c":
        raise TypeError(f"type numpy.{self.dtype.type.__name__} doesn't define __round__ method")
    if ndigits is None and self.scalar:
        return self._concrete(round, "A Python int", "np.rint(x)")
    return np.round(self, ndigits or 0)


def _no_arrays(self: Any, other: Any) -> bool:
    """Whether both are scalars: these have no `@`."""
    kind = type(other)
    return self.scalar and (
        kind is TracedNumber
        or kind in _PLAIN
        or (kind is TracedArray and other.scalar)
        or issubclass(kind, np.generic)
    )


def _matmul(self: Any, other: Any) -> Any:
    return NotImplemented if _defers(other) or _no_arrays(self, other) else np.matmul(self, other)


def _reflected_matmul(self: Any, other: Any) -> Any:
    return NotImplemented if _defers(other) or _no_arrays(self, other) else np.matmul(other, self)


def _in_place_matmul(self: Any, other: Any) -> Any:
    if self.scalar or _defers(other):
        return NotImplemented
    if np.ndim(other) == 1:
        raise ValueError(
            "inplace matrix multiplication requires the first operand to have at least one and the second at "
            "least two dimensions."
        )
    return np.matmul(self, other, out=self)


def _unary(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda self: ufunc(self)


def _abs(self: Any) -> Any:
    if self.scalar and self.dtype.kind == "c" and not self.owner.ended:
        return _table().elementwise.scalar_operator("abs", self)
    return np.absolute(self)


def _array_operators() -> dict[str, Callable[..., Any]]:
    """The special methods of TracedArray."""
    methods: dict[str, Callable[..., Any]] = {
        "__pow__": _power,
        "__rpow__": _reflected_power,
        "__ipow__": _in_place_power,
        "__round__": _round,
    }
    for name, ufunc in _BINARY.items():
        forward, reflected, in_place = _binary(ufunc)
        methods[f"__{name}__"] = forward
        methods[f"__r{name}__"] = reflected
        if name != "divmod":
            methods[f"__i{name}__"] = in_place
    for name, ufunc in _COMPARE.items():
        methods[f"__{name}__"] = _binary(ufunc)[0]
    for name, ufunc in _UNARY.items():
        methods[f"__{name}__"] = _unary(ufunc)
    methods["__abs__"] = _abs
    methods["__matmul__"] = _matmul
    methods["__rmatmul__"] = _reflected_matmul
    methods["__imatmul__"] = _in_place_matmul
    return methods


_NUMBER_BINARY: dict[str, tuple[str, Callable[[Any, Any], Any], np.ufunc]] = {
    "add": ("add", operator.add, np.add),
    "sub": ("subtract", operator.sub, np.subtract),
    "mul": ("multiply", operator.mul, np.multiply),
    "truediv": ("divide", operator.truediv, np.divide),
    "floordiv": ("floor_divide", operator.floordiv, np.floor_divide),
    "mod": ("remainder", operator.mod, np.remainder),
    "pow": ("power", operator.pow, np.power),
    "eq": ("equal", operator.eq, np.equal),
    "ne": ("not_equal", operator.ne, np.not_equal),
    "lt": ("less", operator.lt, np.less),
    "le": ("less_equal", operator.le, np.less_equal),
    "gt": ("greater", operator.gt, np.greater),
    "ge": ("greater_equal", operator.ge, np.greater_equal),
    "and": ("bitwise_and", operator.and_, np.bitwise_and),
    "or": ("bitwise_or", operator.or_, np.bitwise_or),
    "xor": ("bitwise_xor", operator.xor, np.bitwise_xor),
    "lshift": ("left_shift", operator.lshift, np.left_shift),
    "rshift": ("right_shift", operator.rshift, np.right_shift),
}


def _number_node(trace: Trace, value: Any) -> tuple[Node, Any]:
    if type(value) is TracedNumber:
        trace.check(value)
        return value.node, value.example
    return trace.builder.constant(value), value


def number_operation(op: str, python: Callable[..., Any], *operands: Any) -> Any:
    """A Python operator among Python numbers, at least one of them traced."""
    from .trace import active

    trace = active("a traced number")
    pairs = [_number_node(trace, v) for v in operands]
    example = python(*(e for _, e in pairs))
    attrs: dict[str, Any] = {}
    if op == "power":
        attrs = {"form": "array", "result": type(example)}
    trace.builder.loc = trace.loc()
    node = trace.builder.make(OPS[op], [n for n, _ in pairs], attrs)
    return trace.number(node, example)


_PLAIN = (bool, int, float, complex)


def _is_number(value: Any) -> bool:
    return type(value) is TracedNumber or type(value) in _PLAIN


def _takes_ufuncs(other: Any) -> bool:
    """Whether NumPy computes with the other operand of a Python number."""
    return type(other) is not TracedArray and getattr(type(other), "__array_ufunc__", None) is not None


_OF_COMPLEX = frozenset((np.add, np.subtract, np.multiply, np.divide, np.power, np.equal, np.not_equal))
_PYTHONS = {ufunc: (op, python) for op, python, ufunc in _NUMBER_BINARY.values() if ufunc in _OF_COMPLEX}


def _complex_with_float(ufunc: np.ufunc, left: Any, right: Any) -> Any:
    """A Python complex and a np.float64 to its right, which is a Python float: Python computes with them.

    NotImplemented for other operands.
    """
    kind = type(left.example) if type(left) is TracedNumber else type(left)
    if kind is not complex or ufunc not in _PYTHONS:
        return NotImplemented
    number: Any
    if type(right) is TracedArray and right.scalar and right.dtype == np.float64 and not right.owner.ended:
        trace = right.owner
        number = float(right.known()) if right.constant else trace.number(_item(trace, right), 1.0)
    elif type(right) is np.float64:
        number = float(right)
    else:
        return NotImplemented
    op, python = _PYTHONS[ufunc]
    traced = TracedNumber in (type(left), type(number))
    return number_operation(op, python, left, number) if traced else python(left, number)


def _item(trace: Trace, scalar: TracedArray) -> Node:
    node = trace.read(scalar)
    trace.builder.loc = trace.loc()
    return trace.builder.item(node)


def _number_methods(op: str, python: Callable[..., Any], ufunc: np.ufunc) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        if _is_number(other):
            return number_operation(op, python, self, other)
        if op == "multiply" and type(other) in _SEQUENCES:
            return other * operator.index(self)
        found = _complex_with_float(ufunc, self, other)
        if found is not NotImplemented:
            return found
        return ufunc(self, other) if _takes_ufuncs(other) else NotImplemented

    def reflected(self: Any, other: Any) -> Any:
        if _is_number(other):
            return number_operation(op, python, other, self)
        if op == "multiply" and type(other) in _SEQUENCES:
            return other * operator.index(self)
        return ufunc(other, self) if _takes_ufuncs(other) else NotImplemented

    return forward, reflected


def _number_pow(self: Any, other: Any, modulo: Any = None) -> Any:
    if modulo is not None:
        raise self.owner.error(UnsupportedError, "pow with a modulus is not supported on traced numbers")
    return _power_forward(self, other)


_power_forward, _power_reflected = _number_methods(*_NUMBER_BINARY["pow"])


def _number_divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


def _number_reflected_divmod(self: Any, other: Any) -> Any:
    return other // self, other % self


def _number_unary(op: str, python: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: number_operation(op, python, self)


def _number_operators() -> dict[str, Callable[..., Any]]:
    """The special methods of TracedNumber."""
    methods: dict[str, Callable[..., Any]] = {
        "__divmod__": _number_divmod,
        "__rdivmod__": _number_reflected_divmod,
    }
    for name, (op, python, ufunc) in _NUMBER_BINARY.items():
        forward, reflected = _number_methods(op, python, ufunc)
        methods[f"__{name}__"] = forward
        if name not in _COMPARE:
            methods[f"__r{name}__"] = reflected
    for name, op, unary in (
        ("neg", "negative", operator.neg),
        ("pos", "positive", operator.pos),
        ("abs", "absolute", abs),
        ("invert", "invert", operator.invert),
    ):
        methods[f"__{name}__"] = _number_unary(op, unary)
    methods["conjugate"] = lambda self: number_operation("conjugate", _conjugate, self)
    methods["__pow__"] = _number_pow
    return methods


def _conjugate(value: Any) -> Any:
    return value.conjugate()


def add_operators() -> None:
    """Give the traced values their operators; called once, when the tracer is loaded."""
    for kind, methods in ((TracedArray, _array_operators()), (TracedNumber, _number_operators())):
        for name, method in methods.items():
            method.__name__ = name
            setattr(kind, name, method)
