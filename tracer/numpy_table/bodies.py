"""NumPy's own Python bodies, run on traced values.

Most functions of NumPy are written in Python over a few others. Such a body is rebuilt here over a copy of
its module's globals, in which conversions and creation functions are the tracer's and private helpers are
rebuilt the same way; public functions it calls are dispatched as ever. So a composition has NumPy's values,
layouts and errors in whichever version is installed, and derivatives for free. NumPy itself stays as it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from ..trace import active
from ..traced_array import TracedArray, TracedNumber
from . import conversion
from .elementwise import call
from .registry import implements, is_traced

BODIES: set[Any] = set()
"""The functions whose handler is NumPy's own body."""

_REPLACED: dict[int, Any] = {}
_GLOBALS: dict[str, dict[str, Any]] = {}
_STANDS: dict[str, Stand] = {}
_UFUNCS: dict[np.ufunc, Ufunc] = {}


class Stand:
    """A module of NumPy as a body sees it: with the tracer's conversions and creation functions."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        value = substitute(getattr(self._module, name))
        setattr(self, name, value)
        return value


class Ufunc:
    """A ufunc as a body sees it: NumPy keeps `out=...` to itself, so it has to be seen before the call."""

    def __init__(self, ufunc: np.ufunc) -> None:
        self._ufunc = ufunc

    def __call__(self, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if out is Ellipsis and any(map(is_traced, inputs)):
            return call(self._ufunc, *inputs, out=out, **options)
        result = self._ufunc(*inputs, **options) if out is None else self._ufunc(*inputs, out=out, **options)
        return active(self._ufunc.__name__).constant(result) if type(result) is np.ndarray else result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ufunc, name)


def private(module: str) -> Any:
    """One of NumPy's modules that are not public."""
    return importlib.import_module(module)


def replaces(*functions: Any) -> Callable[[Any], Any]:
    """Register what bodies call in the place of functions that NumPy does not dispatch."""

    def register(replacement: Any) -> Any:
        for function in functions:
            _REPLACED[id(function)] = replacement
        return replacement

    return register


def _of_numpy(name: Any) -> bool:
    return str(name).partition(".")[0] == "numpy"


def substitute(value: Any) -> Any:
    """What a body sees in the place of a global of its module, or of an attribute of a module."""
    known = _REPLACED.get(id(value))
    if known is not None:
        return known
    if type(value) is ModuleType and _of_numpy(value.__name__):
        return _STANDS.setdefault(value.__name__, Stand(value))
    if isinstance(value, np.ufunc):
        return _UFUNCS.setdefault(value, Ufunc(value))
    if type(value) is FunctionType and _of_numpy(value.__module__):
        return transplanted(value)
    return value


def transplanted(function: Any) -> Any:
    """A Python function of NumPy over globals that are the tracer's."""
    known = _REPLACED.get(id(function))
    if known is not None:
        return known
    made = FunctionType(
        function.__code__,
        _globals(function.__globals__),
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    _REPLACED[id(function)] = made
    return made


def _globals(original: dict[str, Any]) -> dict[str, Any]:
    """The globals of a module of NumPy with everything substituted; one dictionary a module."""
    name = original["__name__"]
    made = _GLOBALS.get(name)
    if made is None:
        made = _GLOBALS[name] = {}
        for key, value in original.items():
            made[key] = value if key.startswith("__") else substitute(value)
    return made


def lifted(value: Any) -> Any:
    """A user's argument with concrete arrays in it taken in by reference."""
    kind = type(value)
    if kind is np.ndarray:
        return active("a NumPy function").closure(value)
    if kind is list or kind is tuple:
        return kind(map(lifted, value))
    return value


def body(function: Any) -> Callable[..., Any]:
    """A dispatched function of NumPy as a handler that runs its own body on traced values."""
    made: list[Any] = []

    def handler(*args: Any, **kwargs: Any) -> Any:
        if not made:
            made.append(transplanted(function._implementation))
        return made[0](*map(lifted, args), **{key: lifted(value) for key, value in kwargs.items()})

    handler.__name__ = function.__name__
    return handler


def run_bodies(*functions: Any) -> None:
    """Register functions of NumPy whose own bodies do."""
    for function in functions:
        implements(function)(body(function))
        BODIES.add(function)


# ---- what bodies get instead of functions that NumPy does not dispatch


def _conversion(convert: Callable[..., Any]) -> Callable[..., Any]:
    """A conversion inside a body, where a concrete array can only be one that the body made."""

    def made(value: Any, *args: Any, **kwargs: Any) -> Any:
        if type(value) is np.ndarray:
            value = active("a NumPy function").constant(value)
        return convert(value, *args, **kwargs)

    return made


for _name in (
    "array",
    "asarray",
    "asanyarray",
    "ascontiguousarray",
    "asfortranarray",
    "asarray_chkfinite",
    "require",
):
    replaces(getattr(np, _name))(_conversion(getattr(conversion, _name)))
replaces(np.full)(conversion.full)


def _known_result(function: Any) -> Any:
    """The function with its result belonging to the trace."""

    def made(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        if type(result) in (tuple, list):
            return type(result)(active(function.__name__).constant(r) for r in result)
        return active(function.__name__).constant(result)

    return made


for _function in (np.zeros, np.ones, np.arange, np.eye, np.identity, np.indices, np.tri):
    replaces(_function)(_known_result(_function))
replaces(np.empty)(_known_result(np.zeros))  # what lay in memory before never shows in a graph


def _of_arrays(function: Any) -> Any:
    """A function that bodies call on a user's lists as they are, with arrays in their place."""
    convert = substitute(np.asanyarray)

    def made(*operands: Any, **options: Any) -> Any:
        given = [convert(value) if type(value) in (list, tuple) else value for value in operands]
        return function(*given, **options)

    return made


replaces(np.ravel)(_of_arrays(np.ravel))
replaces(np.broadcast_arrays)(_of_arrays(np.broadcast_arrays))


@replaces(np.broadcast)
def broadcast(*operands: Any) -> Any:
    """np.broadcast of what the operands look like."""
    return np.broadcast(*(o.shadow if type(o) is TracedArray else o for o in operands))


class ArrayConverter:
    """`numpy._core._multiarray_umath._array_converter` for traced values."""

    def __init__(self, *values: Any) -> None:
        self._values = values
        self._arrays = tuple(conversion.asarray(v) for v in values)
        self._scalars = tuple(type(v) is not TracedArray or v.scalar for v in values)
        self.scalar_input = tuple(s and not a.ndim for s, a in zip(self._scalars, self._arrays, strict=True))

    def __len__(self) -> int:
        return len(self._arrays)

    def __getitem__(self, index: int) -> Any:
        return self._arrays[index]

    def as_arrays(self, subok: bool = True, pyscalars: str = "convert_if_no_array") -> tuple[Any, ...]:
        return self._arrays

    def result_type(self, extra_dtype: Any = None, ensure_inexact: bool = False) -> Any:
        """The common dtype; Python numbers are weak, unless there are only such."""
        numbers = [v.model if type(v) is TracedNumber else v for v in self._values]
        given: list[Any] = [
            v if type(v) in (int, float, complex) else a.dtype
            for v, a in zip(numbers, self._arrays, strict=True)
        ]
        if extra_dtype is not None:
            given.append(extra_dtype)
        if ensure_inexact:
            given.append(0.0)
        return np.result_type(*given)

    def wrap(self, result: Any, /, to_scalar: bool | None = None) -> Any:
        """A 0-d result as a scalar where every input was one."""
        scalar = all(self.scalar_input) if to_scalar is None else to_scalar
        if scalar and type(result) is TracedArray and not result.ndim:
            return result[()]
        return result


def _register_converter() -> None:
    umath = private("numpy._core._multiarray_umath")
    for name, replacement in (("_array_converter", ArrayConverter),):
        if hasattr(umath, name):
            replaces(getattr(umath, name))(replacement)


_register_converter()
