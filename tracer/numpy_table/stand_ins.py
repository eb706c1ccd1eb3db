"""What the names of functions that NumPy cannot dispatch mean while a trace is active.

Arrays that user code creates belong to the trace: they are known while tracing, until something traced is
written into them. A handler gets the trace and the user's arguments. What is no business of the trace
(arrays of strings or objects, foreign containers) is what NumPy makes of it.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ...compiler.ir.types import array_type, supported
from .. import floating_point
from ..stand_in import FunctionStandIn, class_stand_in, original
from ..storage import Storage
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from . import conversion
from .bodies import transplanted
from .concrete_calls import any_of, dispatched_stand_ins, is_plain_array, owned
from .creation import settled
from .metadata import looks
from .random import random_stand_ins
from .registry import is_traced, known, refuse
from .selection import Selection
from .special import scipy_stand_ins
from .support import dummy

Handler = Callable[..., Any]

_NUMBERS = (bool, int, float, complex, list, tuple, range, str, bytes, type(None))


def _unknown(value: Any) -> bool:
    return is_traced(value) and not known(value)


def _of_arrays(value: Any) -> bool:
    return is_traced(value) or type(value) is np.ndarray


# ---- results that are known


def _known(function: Any) -> Handler:
    """A function of plain arguments; with traced ones NumPy dispatches it, or refuses."""

    def handler(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        if any(any_of(v, _unknown_array) for v in (*args, *kwargs.values())):
            return function(*args, **kwargs)
        return owned(trace, function(*map(settled, args), **{k: settled(v) for k, v in kwargs.items()}))

    return handler


def _unknown_array(value: Any) -> bool:
    """A traced array, or a traced number that no Python int can stand for."""
    return _unknown(value) and not (type(value) is TracedNumber and type(value.example) is int)


def _arange(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    for value in (*args, *kwargs.values()):
        if _unknown_array(value):
            raise refuse(
                "np.arange of a traced value",
                why="Its size would depend on the value.",
                fixes=[("a size that is known", "start + step * np.arange(n)")],
            )
    return _known(np.arange)(trace, *args, **kwargs)


def _filled(function: Any, fill: int) -> Handler:
    """zeros, ones and empty: the graph repeats a number, no array of them is stored in it.

    Memory of np.empty is zeroed, so that nothing depends on what lay there.
    """

    def handler(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        made = function(*map(settled, args), **{k: settled(v) for k, v in kwargs.items()})
        if not supported(made.dtype) or type(made) is not np.ndarray:
            return made
        storage = Storage(made, "fresh")
        if made.flags.c_contiguous:
            storage.assume(trace.builder.full(fill, array_type(made.shape, made.dtype)))
        return trace.window(storage, made)

    return handler


def _empty(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    made = np.empty(*map(settled, args), **{k: settled(v) for k, v in kwargs.items()})
    if not supported(made.dtype) or type(made) is not np.ndarray:
        return made
    return _filled(np.zeros_like, 0)(trace, made)


def _full(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    if any(any_of(v, _of_arrays) for v in (*args, *kwargs.values())):
        return conversion.full(*args, **kwargs)
    return owned(trace, np.full(*args, **kwargs))


def _full_like(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    if any(any_of(v, _of_arrays) for v in (*args[1:], *kwargs.values())):
        return conversion.full_like(*args, **kwargs)
    return _known(np.full_like)(trace, *args, **kwargs)


def _fromfunction(
    trace: Trace, function: Any, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    return function(*trace.constant(np.indices(settled(shape), dtype=dtype)), **kwargs)


def _grid(grid: Any) -> Handler:
    return lambda trace, index: owned(trace, grid[_settled_index(index)])


def _joined(builder: Any) -> Handler:
    """np.r_ and np.c_: with arrays in the index NumPy's own body joins them."""

    def handler(trace: Trace, index: Any) -> Any:
        if not any_of(index, _of_arrays):
            return owned(trace, builder[_settled_index(index)])
        parts = [
            _settled_index(p) if type(p) is slice else p
            for p in (index if type(index) is tuple else (index,))
        ]
        # Python numbers are weak: the dtype is that of a model in which they are plain ones.
        kind = builder[tuple(dummy(looks(p)) for p in parts)].dtype
        strong = [trace.array(p).astype(kind) if type(p) is TracedNumber else p for p in parts]
        strong = [trace.array(p) if type(p) in (list, tuple) else p for p in strong]
        if type(parts[0]) is str and parts[0] in ("r", "c"):
            raise refuse("a matrix of np.r_ or np.c_")
        return transplanted(type(builder).__getitem__)(builder, tuple(strong))

    return handler


def _settled_index(index: Any) -> Any:
    if type(index) is tuple:
        return tuple(map(_settled_index, index))
    if type(index) is slice:
        return slice(settled(index.start), settled(index.stop), settled(index.step))
    return settled(index)


# ---- conversions


def _conversion(function: Any, traced: Handler) -> Handler:
    """array, asarray and their kin: `traced` serves where an array is among what is converted."""

    def handler(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        if not args:
            name = "object" if function is np.array else "a"
            if name not in kwargs:
                return function(**kwargs)
            args, kwargs = (kwargs[name],), {k: v for k, v in kwargs.items() if k != name}
        value = args[0]
        if kwargs.get("like") is not None:
            raise refuse(f"np.{function.__name__} with like=")
        if type(value) is np.ndarray:
            return _of_concrete(trace, function, traced, args, kwargs)
        if any_of(value, _of_arrays):
            return traced(*args, **kwargs)
        if type(value) in _NUMBERS or isinstance(value, np.generic):
            return owned(trace, function(*args, **kwargs))
        return function(*args, **kwargs)

    return handler


def _of_concrete(trace: Trace, function: Any, traced: Handler, args: Any, kwargs: Any) -> Any:
    """Of a concrete array: itself or a view of it where NumPy gives that, else computed at each call."""
    value = args[0]
    if not supported(value.dtype):
        return function(*args, **kwargs)
    if function is not np.array or kwargs.get("copy", True) is not True:
        made = function(*args, **kwargs)
        if made is value or np.may_share_memory(made, value):
            return made
        if not supported(made.dtype):
            return made
    return traced(trace.closure(value), *args[1:], **kwargs)


def _copy(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    if args and is_plain_array(args[0]):
        args = (trace.closure(args[0]), *args[1:])
    elif args and not any_of(args[0], _of_arrays):
        return owned(trace, np.copy(*args, **kwargs))
    return np.copy(*args, **kwargs)


# ---- the table


def function_stand_ins() -> dict[ModuleType, dict[str, Any]]:
    """For each module of NumPy the names that have stand-ins."""
    handlers: dict[str, Handler] = {
        "zeros": _filled(np.zeros, 0),
        "ones": _filled(np.ones, 1),
        "empty": _empty,
        "full": _full,
        "arange": _arange,
        "fromfunction": _fromfunction,
        "full_like": _full_like,
        "copy": _copy,
        "r_": _joined(np.r_),
        "c_": _joined(np.c_),
        "mgrid": _grid(np.mgrid),
        "ogrid": _grid(np.ogrid),
        "seterr": floating_point.refuse_setting("np.seterr"),
        "seterrcall": floating_point.refuse_setting("np.seterrcall"),
        "geterr": floating_point.user_settings,
    }
    for name in (
        "array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "asarray_chkfinite",
        "require",
    ):  # fmt: skip
        handlers[name] = _conversion(getattr(np, name), getattr(conversion, name))
    for name in (
        "eye", "identity", "linspace", "logspace", "geomspace", "tri", "indices", "fromiter",
        "zeros_like", "ones_like", "hanning", "hamming", "blackman", "bartlett", "kaiser",
        "tril_indices", "triu_indices", "diag_indices", "mask_indices",
    ):  # fmt: skip
        handlers[name] = _known(getattr(np, name))
    handlers["empty_like"] = _known(np.zeros_like)
    table = {name: FunctionStandIn(getattr(np, name), handler) for name, handler in handlers.items()}
    return {
        np: {**dispatched_stand_ins(np), **table},
        np.linalg: dispatched_stand_ins(np.linalg),
        np.fft: dispatched_stand_ins(np.fft),
        np.random: random_stand_ins(),
        **scipy_stand_ins(),
    }


# ---- builtins


def _type_of(trace: Trace, *args: Any, **kwargs: Any) -> Any:
    if len(args) != 1 or kwargs:
        return type(*args, **kwargs)
    value = args[0]
    if type(value) in (TracedArray, TracedNumber, Selection):
        return value.__class__
    kind = type(original(value))
    return TYPE if kind is type else kind


def _print(trace: Trace, *args: Any, **kwargs: Any) -> None:
    """The text of traced values may be shown, though not kept: see `traced_array.text_of`."""
    trace.showing = True
    try:
        builtins.print(*args, **kwargs)
    finally:
        trace.showing = False


TYPE = class_stand_in(type, _type_of)


def builtin_stand_ins() -> dict[str, Any]:
    """The builtins that user code is given stand-ins for where it names them."""
    return {"type": TYPE, "print": FunctionStandIn(builtins.print, _print)}
