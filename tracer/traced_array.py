"""TracedArray and TracedNumber: what user code holds while it is traced.

A TracedArray answers for an ndarray or a NumPy scalar, a TracedNumber for a Python number; both say so to
`isinstance`. Operators go where NumPy would go: through ufuncs and the functions of `numpy_table`. The
tracer itself must never use isinstance, `==` or `in` on user values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.opdef import OPS
from ..compiler.ir.types import dtype_name
from .errors import TracedBoolError, TracedConversionError
from .storage import Array, Storage, Window

if TYPE_CHECKING:
    from .trace import Trace


def _table() -> Any:
    from . import numpy_table

    return numpy_table


def refuse_bool(value: Any, node: Node) -> Any:
    from .trace import active

    shown = str(node.type)
    return active("a traced value").error(
        TracedBoolError,
        f"Python asked for True or False here, but the value is traced, {shown}",
        node=node,
        why="@compile runs the function once, before there are numbers, so Python cannot pick a branch here.",
        fixes=[
            ("per element, inside the graph", "np.where(condition, a, b)"),
            ("once, when compiling", '@compile(static=("name",)) and test the argument `name`'),
            ("after the step", "return the value and branch in the caller"),
        ],
    )


def refuse_conversion(value: Any, node: Node, into: str, fixes: list[tuple[str, str]]) -> Any:
    from .trace import active

    return active("a traced value").error(
        TracedConversionError,
        f"{into} was asked of a traced value, {node.type}",
        node=node,
        why="There are no numbers yet while the function is traced; a number taken now would be frozen.",
        fixes=fixes,
    )


class TracedArray:
    """A window on a Storage. `scalar` is True where NumPy would give a NumPy scalar.

    `cache` holds the storage's version at the last read and the node read then.
    """

    __slots__ = ("__weakref__", "cache", "owner", "scalar", "shadow", "storage", "window")
    __array_priority__ = 1000.0

    def __init__(
        self, trace: Trace, storage: Storage, shadow: Array, window: Window, scalar: bool = False
    ) -> None:
        self.owner = trace
        self.storage = storage
        self.shadow = shadow
        self.window = window
        self.scalar = scalar
        self.cache: tuple[int, Node] | None = None

    # ---- what it answers for

    @property
    def __class__(self) -> Any:
        return self.shadow.dtype.type if self.scalar else np.ndarray

    @property
    def constant(self) -> bool:
        """Whether the value is known while tracing."""
        return self.storage.constant

    def known(self) -> Any:
        """The value of a constant: the shadow itself, or a NumPy scalar."""
        return self.shadow[()] if self.scalar else self.shadow

    @property
    def shape(self) -> tuple[int, ...]:
        return self.shadow.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        _table().shape.set_shape(self, shape)

    @property
    def dtype(self) -> Any:
        return self.shadow.dtype

    @property
    def ndim(self) -> int:
        return self.shadow.ndim

    @property
    def size(self) -> int:
        return self.shadow.size

    @property
    def itemsize(self) -> int:
        return self.shadow.itemsize

    @property
    def nbytes(self) -> int:
        return self.shadow.nbytes

    @property
    def strides(self) -> tuple[int, ...]:
        return self.shadow.strides

    @property
    def flags(self) -> Any:
        flags = self.shadow.view()
        flags.flags.writeable = False
        return flags.flags if not self.shadow.flags.writeable else self.shadow.flags

    @property
    def T(self) -> Any:
        return np.transpose(self)  # type: ignore[call-overload]

    @property
    def mT(self) -> Any:
        return np.matrix_transpose(self)  # type: ignore[call-overload]

    @property
    def real(self) -> Any:
        return np.real(self)  # type: ignore[call-overload]

    @real.setter
    def real(self, value: Any) -> None:
        np.real(self)[...] = value  # type: ignore[call-overload]

    @property
    def imag(self) -> Any:
        return np.imag(self)  # type: ignore[call-overload]

    @imag.setter
    def imag(self, value: Any) -> None:
        np.imag(self)[...] = value  # type: ignore[call-overload]

    @property
    def flat(self) -> Any:
        return _table().indexing.Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        _table().indexing.Flat(self)[:] = value

    def __len__(self) -> int:
        return len(self.known()) if self.scalar else len(self.shadow)

    def __iter__(self) -> Iterator[Any]:
        if self.shadow.ndim == 0:
            raise TypeError(
                "iteration over a 0-d array"
                if not self.scalar
                else f"'{self.dtype.type.__module__}.{self.dtype.type.__name__}' object is not iterable"
            )
        return (self[i] for i in range(len(self.shadow)))

    def __getitem__(self, index: Any) -> Any:
        return _table().indexing.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        _table().indexing.setitem(self, index, value)

    # ---- protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _table().elementwise.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _table().registry.call(func, args, kwargs)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return np

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self.constant:
            return np.array(self.shadow, dtype=dtype)
        raise refuse_conversion(
            self,
            self.owner.read(self),
            "A concrete array",
            [
                ("keep it traced", "use np. functions on it; np.array([a, b]) stacks traced values"),
                ("after the step", "return the value and convert it in the caller"),
            ],
        )

    # ---- conversions

    def _concrete(self, convert: Callable[[Any], Any], into: str, cure: str) -> Any:
        if self.constant:
            return convert(self.known())
        raise refuse_conversion(
            self,
            self.owner.read(self),
            into,
            [("keep it traced", cure), ("after the step", "return the value")],
        )

    def __bool__(self) -> bool:
        if self.constant:
            return bool(self.known())
        if self.size != 1:
            bool(np.empty(self.shape))
        raise refuse_bool(self, self.owner.read(self))

    def __float__(self) -> float:
        return self._concrete(
            float, "A Python float", "np.float64 values need no float(); use x.astype(np.float64)"
        )

    def __int__(self) -> int:
        return self._concrete(int, "A Python int", "x.astype(int)")

    def __complex__(self) -> complex:
        return self._concrete(complex, "A Python complex", "x.astype(complex)")

    def __index__(self) -> int:
        return self._concrete(
            operator.index, "An index", "np.take(x, i) or x[i] with the traced array itself"
        )

    def item(self, *args: Any) -> Any:
        """A Python number, of a constant only."""
        return self._concrete(lambda v: v.item(*args), "A Python number", "x[()] keeps a traced scalar")

    def tolist(self) -> Any:
        """Nested lists of Python numbers, of a constant only."""
        return self._concrete(lambda v: v.tolist(), "A list of numbers", "list(x) gives traced elements")

    def tobytes(self, *args: Any) -> bytes:
        """The bytes, of a constant only."""
        return self._concrete(lambda v: v.tobytes(*args), "The bytes", "x.view(np.uint8)")

    def __hash__(self) -> int:
        if self.scalar:
            return int(self._concrete(hash, "A hash", "an argument that is static"))
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __repr__(self) -> str:
        if self.constant and not self.owner.ended:
            return repr(self.known())
        shape = ",".join(map(str, self.shape))
        return f"<traced {dtype_name(self.dtype)}[{shape}]>"

    def __str__(self) -> str:
        return str(self.known()) if self.constant else repr(self)

    def __format__(self, spec: str) -> str:
        return str(self._concrete(lambda v: format(v, spec), "Formatted text", "print it in the caller"))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def copy(self, order: str = "C") -> Any:
        """A copy in memory of its own; a scalar is itself."""
        return self if self.scalar else _table().shape.copy(self, order)

    def __reduce__(self) -> Any:
        raise TypeError("a traced value cannot be pickled")


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


def _binary(ufunc: np.ufunc) -> tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]:
    def forward(self: Any, other: Any) -> Any:
        return NotImplemented if _defers(other) else ufunc(self, other)

    def reflected(self: Any, other: Any) -> Any:
        return NotImplemented if _defers(other) else ufunc(other, self)

    def in_place(self: Any, other: Any) -> Any:
        return forward(self, other) if self.scalar else ufunc(self, other, out=self)

    return forward, reflected, in_place


for _name, _ufunc in _BINARY.items():
    _forward, _reflected, _in_place = _binary(_ufunc)
    setattr(TracedArray, f"__{_name}__", _forward)
    setattr(TracedArray, f"__r{_name}__", _reflected)
    if _name != "divmod":
        setattr(TracedArray, f"__i{_name}__", _in_place)
for _name, _ufunc in _COMPARE.items():
    setattr(TracedArray, f"__{_name}__", _binary(_ufunc)[0])
for _name, _ufunc in _UNARY.items():
    setattr(TracedArray, f"__{_name}__", (lambda ufunc: lambda self: ufunc(self))(_ufunc))


def _power(self: Any, other: Any, modulo: Any = None) -> Any:
    if modulo is not None or _defers(other):
        return NotImplemented
    return _table().elementwise.operator_power(self, other)


def _reflected_power(self: Any, other: Any) -> Any:
    return NotImplemented if _defers(other) else _table().elementwise.operator_power(other, self)


def _in_place_power(self: Any, other: Any) -> Any:
    return _table().elementwise.operator_power(self, other, out=None if self.scalar else self)


def _round(self: Any, ndigits: int | None = None) -> Any:
    if not self.scalar:
        raise TypeError("type numpy.ndarray doesn't define __round__ method")
    if ndigits is None and self.scalar:
        return self._concrete(round, "A Python int", "np.rint(x)")
    return np.round(self, ndigits or 0)


TracedArray.__pow__ = _power  # type: ignore[attr-defined]
TracedArray.__rpow__ = _reflected_power  # type: ignore[attr-defined]
TracedArray.__ipow__ = _in_place_power  # type: ignore[attr-defined]
TracedArray.__round__ = _round  # type: ignore[attr-defined]


def add_methods(names: dict[str, Callable[..., Any]]) -> None:
    """Give TracedArray methods that call a NumPy function (or handler) with the array first."""
    for name, function in names.items():

        def method(self: Any, *args: Any, _function: Callable[..., Any] = function, **kwargs: Any) -> Any:
            return _function(self, *args, **kwargs)

        method.__name__ = name
        setattr(TracedArray, name, method)


class TracedNumber:
    """A Python number that depends on arguments. `example` is its value in the call being traced."""

    __slots__ = ("__weakref__", "example", "node", "owner")
    __array_priority__ = 999.0

    def __init__(self, trace: Trace, node: Node, example: Any) -> None:
        self.owner = trace
        self.node = node
        self.example = example

    @property
    def __class__(self) -> Any:
        return type(self.example)

    @property
    def real(self) -> Any:
        return self if type(self.example) is not complex else np.real(self)

    @property
    def imag(self) -> Any:
        return type(self.example)(0) if type(self.example) is not complex else np.imag(self)

    def conjugate(self) -> Any:
        """The complex conjugate; a real number itself."""
        return self if type(self.example) is not complex else np.conjugate(self)  # type: ignore[call-overload]

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return _table().elementwise.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return _table().registry.call(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise refuse_conversion(
            self, self.node, "A concrete array", [("keep it traced", "np.array([a, b]) stacks")]
        )

    def __bool__(self) -> bool:
        raise refuse_bool(self, self.node)

    def __float__(self) -> float:
        raise refuse_conversion(
            self,
            self.node,
            "A Python float",
            [
                ("keep it traced", "np.sin(x) instead of math.sin(x)"),
                ("once, when compiling", '@compile(static=("name",))'),
            ],
        )

    def __int__(self) -> int:
        if type(self.example) is int:
            return self.__index__()
        raise refuse_conversion(self, self.node, "A Python int", [("keep it traced", "np.trunc(x)")])

    def __complex__(self) -> complex:
        raise refuse_conversion(self, self.node, "A Python complex", [("keep it traced", "x + 0j")])

    def __index__(self) -> int:
        from ..compiler.ir.visit import topological
        from .trace import NeedsStatic

        params = [n for n in topological([self.node]) if n.op.name == "param"]
        if type(self.example) is not int:
            raise TypeError(f"'{type(self.example).__name__}' object cannot be interpreted as an integer")
        if any(getattr(n.type, "kind", None) is not int for n in params):
            raise refuse_conversion(
                self, self.node, "An index", [("", "compute the index from static arguments")]
            )
        raise NeedsStatic(params, "an index, length or axis")

    def __hash__(self) -> int:
        raise refuse_conversion(self, self.node, "A hash", [("", "an argument that is static")])

    def __repr__(self) -> str:
        return f"<traced {self.node.type}>"

    def __format__(self, spec: str) -> str:
        raise refuse_conversion(self, self.node, "Formatted text", [("", "print it in the caller")])

    def __reduce__(self) -> Any:
        raise TypeError("a traced value cannot be pickled")

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __round__(self, ndigits: int | None = None) -> Any:
        raise refuse_conversion(self, self.node, "A rounded number", [("keep it traced", "np.round(x, n)")])


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
    trace = next(v.owner for v in operands if type(v) is TracedNumber)
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


def _number_methods(op: str, python: Callable[..., Any], ufunc: np.ufunc) -> tuple[Any, Any]:
    def forward(self: Any, other: Any) -> Any:
        if _is_number(other):
            return number_operation(op, python, self, other)
        return NotImplemented if type(other) is TracedArray or _defers(other) else ufunc(self, other)

    def reflected(self: Any, other: Any) -> Any:
        if _is_number(other):
            return number_operation(op, python, other, self)
        return NotImplemented if _defers(other) else ufunc(other, self)

    return forward, reflected


for _name, (_op, _python, _ufunc) in _NUMBER_BINARY.items():
    _forward, _reflected = _number_methods(_op, _python, _ufunc)
    setattr(TracedNumber, f"__{_name}__", _forward)
    if _name not in _COMPARE:
        setattr(TracedNumber, f"__r{_name}__", _reflected)


def _number_divmod(self: Any, other: Any) -> Any:
    return self // other, self % other


TracedNumber.__divmod__ = _number_divmod  # type: ignore[attr-defined]
TracedNumber.__rdivmod__ = lambda self, other: (other // self, other % self)  # type: ignore[attr-defined]
for _name, _op, _unary in (
    ("neg", "negative", operator.neg),
    ("pos", "positive", operator.pos),
    ("abs", "absolute", abs),
):
    setattr(
        TracedNumber,
        f"__{_name}__",
        (lambda op, python: lambda self: number_operation(op, python, self))(_op, _unary),
    )
