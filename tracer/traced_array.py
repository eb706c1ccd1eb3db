"""TracedArray and TracedNumber: what user code holds while it is traced.

A TracedArray answers for an ndarray or a NumPy scalar, a TracedNumber for a Python number; both say so to
`isinstance`. What they do goes where NumPy would go: through ufuncs (see operators.py) and the functions of
`numpy_table`. The tracer itself must never use isinstance, `==` or `in` on user values. After its trace a
constant is the array it stands for, and everything else raises.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import dtype_name
from .flags import TracedFlags
from .numpy_patch import namespace_stand_in
from .refusals import leaked, needs_static, refuse_bool, refuse_conversion
from .state import current, is_internal
from .storage import Array, Storage, Window
from .user_code import is_own_code

if TYPE_CHECKING:
    from .trace import Trace

Converted = TypeVar("Converted")


@cache
def _table() -> Any:
    from . import numpy_table

    return numpy_table


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

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """The methods that `add_methods` gives it, for type checkers."""

    # ---- what it answers for

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return self.shadow.dtype.type if self.scalar else np.ndarray

    @property
    def constant(self) -> bool:
        """Whether the value is known while tracing."""
        return self.storage.constant

    def type_text(self) -> str:
        """dtype and shape as messages show them."""
        return f"{dtype_name(self.dtype)}[{','.join(map(str, self.shape))}]"

    def known(self) -> Any:
        """The value of a constant: the shadow itself, or a NumPy scalar."""
        return self.shadow[()] if self.scalar else self.shadow

    def _check_attribute(self, name: str) -> None:
        """Raise what NumPy raises where an attribute of a NumPy scalar is assigned to."""
        if self.scalar:
            raise AttributeError(f"attribute {name!r} of 'numpy.generic' objects is not writable")

    def _fixed(self, name: str) -> Any:
        """The refusal of an assignment to an attribute that says how memory is seen."""
        self._check_attribute(name)
        return _table().registry.refuse(f"assigning to ndarray.{name}", fixes=[("", "x.view(dtype)")])

    @property
    def shape(self) -> Any:
        return self.shadow.shape

    @shape.setter
    def shape(self, shape: Any) -> None:
        self._check_attribute("shape")
        _table().shape.set_shape(self, shape)

    @property
    def dtype(self) -> Any:
        return self.shadow.dtype

    @dtype.setter
    def dtype(self, dtype: Any) -> None:
        raise self._fixed("dtype")

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

    @strides.setter
    def strides(self, strides: Any) -> None:
        raise self._fixed("strides")

    @property
    def flags(self) -> Any:
        return TracedFlags(self)

    @property
    def T(self) -> Any:
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        return np.matrix_transpose(self)

    @property
    def real(self) -> Any:
        return np.real(self)

    @real.setter
    def real(self, value: Any) -> None:
        self._check_attribute("real")
        if value is not self or self.dtype.kind == "c":
            np.real(self)[...] = self.owner.array(value)

    @property
    def imag(self) -> Any:
        return np.imag(self)

    @imag.setter
    def imag(self, value: Any) -> None:
        self._check_attribute("imag")
        np.imag(self)[...] = self.owner.array(value)

    @property
    def flat(self) -> Any:
        return _table().indexing.Flat(self)

    @flat.setter
    def flat(self, value: Any) -> None:
        self._check_attribute("flat")
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
        if self.owner.ended:
            return self.left_behind()[index]
        return _table().indexing.getitem(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if self.owner.ended:
            self.left_behind()[index] = value
        else:
            _table().indexing.setitem(self, index, value)

    def left_behind(self) -> Any:
        """What a value is after its trace: a constant is concrete, in a later trace closed over."""
        trace = current()
        if not self.constant:
            raise leaked(self)
        return self.known() if trace is None else trace.mine(self)

    # ---- protocols

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if self.owner.ended:
            return getattr(ufunc, method)(*settle(inputs), **settle(kwargs))
        if issubclass(type(inputs[0]), np.generic) and not is_internal(sys._getframe(1).f_code):
            self.owner.note_scalar(inputs[0])
        return _table().elementwise.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if self.owner.ended:
            return func(*settle(args), **settle(kwargs))
        return _table().registry.call(func, args, kwargs)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace_stand_in()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        if self.constant:
            return np.array(self.shadow, dtype=dtype)
        raise refuse_conversion(
            self, "A concrete array", [("keep it traced", "use np. functions on it; np.array([a, b]) stacks")]
        )

    # ---- conversions

    def _concrete(self, convert: Callable[[Any], Converted], into: str, cure: str) -> Converted:
        if self.constant:
            return convert(self.known())
        raise refuse_conversion(self, into, [("keep it traced", cure)])

    def __bool__(self) -> bool:
        if self.constant:
            return bool(self.known())
        if self.size != 1:
            bool(np.empty(self.shape))
        raise refuse_bool(self)

    def __float__(self) -> float:
        return self._concrete(float, "A Python float", "x.astype(np.float64)")

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
        return bytes(self._concrete(lambda v: v.tobytes(*args), "The bytes", "x.view(np.uint8)"))

    def __hash__(self) -> int:
        if self.scalar:
            return int(self._concrete(hash, "A hash", "a static argument as the key"))
        raise TypeError("unhashable type: 'numpy.ndarray'")

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())

    def __repr__(self) -> str:
        return repr(self.known()) if self.constant else text_of(self, sys._getframe(1))

    def __str__(self) -> str:
        return str(self.known()) if self.constant else text_of(self, sys._getframe(1))

    def __format__(self, spec: str) -> str:
        return format(self.known(), spec) if self.constant else text_of(self, sys._getframe(1))

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def copy(self, order: str = "C") -> Any:
        """A copy in memory of its own; a scalar is itself."""
        if self.owner.ended:
            return self.left_behind().copy()
        return self if self.scalar else _table().shape.copy(self, order)

    def __reduce__(self) -> Any:
        return self._concrete(lambda value: value.__reduce__(), "A pickle", "pickle it in the caller")


def settle(value: Any) -> Any:
    """Arguments with what an ended trace left behind in them made concrete."""
    if type(value) in (list, tuple):
        return type(value)(map(settle, value))
    if type(value) is dict:
        return {key: settle(item) for key, item in value.items()}
    return value.left_behind() if type(value) is TracedArray and value.owner.ended else value


def text_of(value: Any, frame: FrameType) -> str:
    """`<traced f64[3]>`, for print, debuggers and libraries; the user's code may not keep such a text."""
    trace = current()
    if trace is value.owner and not trace.showing and is_own_code(frame.f_code, frame.f_globals):
        raise refuse_conversion(value, "A text", [("to see it", "print(value)")])
    return f"<traced {value.type_text()}>"


def add_methods(names: dict[str, Callable[..., Any]]) -> None:
    """Give TracedArray methods that call a NumPy function (or handler) with the array first."""
    for name, function in names.items():

        def method(
            self: Any, *args: Any, _name: str = name, _function: Callable[..., Any] = function, **kwargs: Any
        ) -> Any:
            if self.owner.ended:
                return getattr(self.left_behind(), _name)(*settle(args), **settle(kwargs))
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

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.example)

    @property
    def model(self) -> Any:
        """The example, for NumPy to say what array it becomes: an int beyond int64 has to be known then."""
        if type(self.example) is int and not -(2**63) <= self.example < 2**63:
            return self.__index__()
        return self.example

    @property
    def real(self) -> Any:
        if type(self.example) is complex:
            raise self._missing("real")
        return self.__pos__()

    @property
    def imag(self) -> Any:
        if type(self.example) is complex:
            raise self._missing("imag")
        return type(+self.example)(0)

    def __getattr__(self, name: str) -> Any:
        getattr(self.example, name)
        raise self._missing(name)

    def _missing(self, name: str) -> Any:
        """The refusal of what a Python number has and a traced one has not."""
        kind = type(self.example).__name__
        cures = [("as NumPy's number", "pass np.complex128(z)")] if kind == "complex" else []
        return refuse_conversion(self, f"{kind}.{name}", cures)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if self.owner.ended:
            raise leaked(self)
        return _table().elementwise.array_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if self.owner.ended:
            raise leaked(self)
        return _table().registry.call(func, args, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise refuse_conversion(self, "A concrete array", [("keep it traced", "np.array([a, b]) stacks")])

    def __bool__(self) -> bool:
        raise refuse_bool(self)

    def __float__(self) -> float:
        raise refuse_conversion(self, "A Python float", [("keep it traced", "it is a Python float already")])

    def __int__(self) -> int:
        if type(self.example) is int:
            return self.__index__()
        raise refuse_conversion(self, "A Python int", [("keep it traced", "np.trunc(x)")])

    def __complex__(self) -> complex:
        raise refuse_conversion(self, "A Python complex", [("keep it traced", "x + 0j")])

    def __index__(self) -> int:
        if type(self.example) is not int:
            raise TypeError(f"'{type(self.example).__name__}' object cannot be interpreted as an integer")
        raise needs_static(self.owner, self.node) or refuse_conversion(
            self, "An index", [("", "compute it from static arguments")]
        )

    def __hash__(self) -> int:
        if type(self.example) is int:
            return hash(self.__index__())
        raise refuse_conversion(self, "A hash", [("make it static", '@compile(static=("name",))')])

    def type_text(self) -> str:
        """The type as messages show it."""
        return str(self.node.type)

    def __repr__(self) -> str:
        return text_of(self, sys._getframe(1))

    def __format__(self, spec: str) -> str:
        return text_of(self, sys._getframe(1))

    def __reduce__(self) -> Any:
        raise refuse_conversion(self, "A pickle", [("keep it traced", "pickle it in the caller")])

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __round__(self, ndigits: int | None = None) -> Any:
        raise refuse_conversion(self, "A rounded number", [("keep it traced", "np.round(x, n)")])
