"""Views and copies: NumPy does the call on shadows; where the result lies in their memory it is a view."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from ...compiler.ir.types import supported
from ...compiler.ops.view import path_step
from ..refusals import refuse_conversion
from ..storage import Array, Window, address
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber, add_methods
from .registry import implements, refuse, trace_of


def rewrap(trace: Trace, parent: TracedArray, shadow: Any) -> Any:
    """The traced value of what a call on the parent's shadow gave: itself, a view, or a read scalar."""
    if shadow is parent.shadow:
        return parent
    if isinstance(shadow, np.generic):
        raise AssertionError("scalars are read by indexing")
    window = parent.window.affine(shadow)
    same_size = shadow.size == parent.size and shadow.shape != parent.shape
    if window is None and same_size and shadow.dtype == parent.dtype:
        return _reshaped(trace, parent, shadow, "C")
    if window is None:
        raise refuse("this view")
    return trace.window(parent.storage, shadow, window, scalar=False)


def shares(parent: TracedArray, shadow: Array) -> bool:
    """Whether an array lies in the memory of a window's storage."""
    memory = parent.storage.memory
    base: Any = shadow
    while base is not None:  # sliding windows have a holder between; without elements an address says nothing
        if base is memory:
            return True
        base = getattr(base, "base", None)
    start = address(memory)
    return bool(shadow.size) and start <= address(shadow) < start + memory.nbytes


def in_memory(trace: Trace, array: Any) -> TracedArray:
    """A user's value as an array that can be looked at: a NumPy scalar gets memory of its own."""
    parent = trace.array(array)
    if not parent.scalar:
        return parent
    if parent.constant:
        return trace.constant(np.array(parent.shadow))
    return trace.fresh(trace.read(parent), np.empty((), parent.dtype))


def through_shadow(function: Any, array: Any, *args: Any, **kwargs: Any) -> Any:
    """A NumPy function that only looks at its first argument another way (nested results too)."""
    trace = trace_of(array)
    args, kwargs = tuple(map(_plain, args)), {name: _plain(value) for name, value in kwargs.items()}
    parent = trace.array(array)
    if parent.scalar and isinstance(function(parent.dtype.type(0), *args, **kwargs), np.generic):
        return parent
    parent = in_memory(trace, parent)

    def wrap(result: Any) -> Any:
        if type(result) in (list, tuple):
            return type(result)(wrap(r) for r in result)
        if isinstance(result, np.generic) and not parent.ndim:
            return parent[()]
        if shares(parent, result):
            return rewrap(trace, parent, result)
        raise refuse(f"np.{function.__name__} that copies")

    return wrap(function(parent.shadow, *args, **kwargs))


def _plain(value: Any) -> Any:
    """An axis, a length or positions as NumPy has to know them: traced ints become static on demand."""
    if type(value) in (tuple, list):
        return type(value)(map(_plain, value))
    if type(value) is TracedArray:
        return np.asarray(value)
    if type(value) is not TracedNumber:
        return value
    if type(value.example) is int:
        return operator.index(value)
    raise refuse_conversion(value, "An index", [("make it static", '@compile(static=("name",))')])


def _register_views() -> None:
    for function in (
        np.transpose, np.swapaxes, np.moveaxis, np.rollaxis, np.squeeze, np.expand_dims, np.flip, np.fliplr,
        np.flipud, np.rot90, np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit, np.diagonal,
        np.broadcast_to, np.matrix_transpose, np.linalg.diagonal, np.linalg.matrix_transpose,
        *([np.unstack] if hasattr(np, "unstack") else []),
        np.lib.stride_tricks.sliding_window_view,
    ):  # fmt: skip

        def handler(array: Any, *args: Any, _function: Any = function, **kwargs: Any) -> Any:
            return through_shadow(_function, array, *args, **kwargs)

        implements(function)(handler)


_register_views()


def _order_axes(shadow: Array, order: str) -> tuple[int, ...] | None:
    """The axis order in which `order` reads an array; None for C order."""
    if order == "K":
        axes = sorted(range(shadow.ndim), key=lambda a: -abs(shadow.strides[a]))
        return None if axes == sorted(axes) else tuple(axes)
    if order == "F" or (order == "A" and shadow.flags.f_contiguous and not shadow.flags.c_contiguous):
        return tuple(reversed(range(shadow.ndim)))
    return None


def _reshape_path(shadow: Array, shape: tuple[int, ...], order: str) -> list[Any]:
    """View steps of a reshape in the given order."""
    steps: list[Any] = []
    axes = _order_axes(shadow, order)
    if axes is None:
        return [path_step("reshape", shape=shape)] if shape != shadow.shape else []
    backwards = tuple(reversed(range(len(shape))))
    if axes != tuple(range(len(axes))):
        steps.append(path_step("transpose", axes=axes))
    if order == "K":
        steps.append(path_step("reshape", shape=shape))
        return steps
    steps.append(path_step("reshape", shape=tuple(reversed(shape))))
    if backwards != tuple(range(len(shape))):
        steps.append(path_step("transpose", axes=backwards))
    return steps


def _reshaped(trace: Trace, parent: TracedArray, shadow: Array, order: str) -> TracedArray:
    steps = _reshape_path(parent.shadow, shadow.shape, order)
    if shares(parent, shadow):
        if shadow is parent.shadow:
            return parent
        return trace.window(parent.storage, shadow, parent.window.then_anchor(shadow, *steps))
    if parent.constant:
        return trace.constant(shadow)
    from ...compiler.ops.view import apply_path

    node = apply_path(trace.builder, trace.read(parent), tuple(steps))
    if not parent.shadow.flags.c_contiguous and _looks_again(parent.shadow, tuple(steps)):
        node = trace.builder.copy(node, order="C")
    return trace.fresh(node, shadow)


def _looks_again(shadow: Array, path: Any) -> bool:
    """Whether a path of transposes and reshapes needs no copy of this memory."""
    for name, attrs in path:
        (value,) = (value for _, value in attrs)
        if name == "reshape" and not _reshapes_in_place(shadow, value):
            return False
        shadow = getattr(shadow, name)(value)
    return True


def _reshapes_in_place(shadow: Array, shape: tuple[int, ...]) -> bool:
    try:
        shadow.reshape(shape, copy=False)
    except ValueError:
        return False
    except TypeError:
        # NumPy 2.0 has no `copy`.
        return not shadow.size or np.may_share_memory(shadow, shadow.reshape(shape))
    return True


@implements(np.reshape)
def reshape(
    array: Any, shape: Any = None, order: str = "C", *, copy: Any = None, newshape: Any = None
) -> Any:
    """np.reshape: a view exactly where NumPy's is one."""
    trace = trace_of(array)
    parent = in_memory(trace, array)
    if shape is None:
        shape = newshape
    options: dict[str, Any] = {} if copy is None else {"copy": copy}
    shadow = parent.shadow.reshape(_plain_shape(shape), order=order, **options)  # type: ignore[call-overload]
    if not shadow.ndim and type(array) is TracedArray and array.scalar:
        return array
    return _reshaped(trace, parent, shadow, order)


def _plain_shape(shape: Any) -> Any:
    if type(shape) is TracedArray:
        return np.asarray(shape)
    if type(shape) in (tuple, list):
        return tuple(operator.index(n) if type(n) is not int else n for n in shape)
    return shape if type(shape) is np.ndarray else operator.index(shape)


@implements(np.ravel)
def ravel(array: Any, order: str = "C") -> Any:
    """np.ravel: a view where the memory allows it."""
    trace = trace_of(array)
    parent = in_memory(trace, array)
    return _reshaped(trace, parent, parent.shadow.ravel(order), order)  # type: ignore[arg-type]


def flatten(array: Any, order: str = "C") -> Any:
    """`x.flatten()`: always a copy."""
    trace = trace_of(array)
    parent = in_memory(trace, array)
    shadow = parent.shadow
    shadow = shadow.flatten(order) if parent.constant else np.empty(shadow.size, shadow.dtype)  # type: ignore[arg-type]
    return _reshaped(trace, parent, shadow, order)


def set_shape(array: TracedArray, shape: Any) -> None:
    """`x.shape = …` changes this window only."""
    trace = trace_of(array)
    shadow: Any = array.shadow.view()
    shadow.shape = shape
    array.window = array.window.then_anchor(shadow, *_reshape_path(array.shadow, shadow.shape, "C"))
    array.shadow = shadow
    array.cache = None
    trace.check(array)


def method_reshape(array: Any, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    """`x.reshape(2, 3)` and `x.reshape((2, 3))`."""
    return reshape(array, shape[0] if len(shape) == 1 else shape, order=order, copy=copy)


def method_transpose(array: Any, *axes: Any) -> Any:
    """`x.transpose()`, `x.transpose(1, 0)`, `x.transpose((1, 0))`."""
    if len(axes) == 1 and (axes[0] is None or type(axes[0]) in (tuple, list, np.ndarray)):
        return np.transpose(array, axes[0])
    return np.transpose(array, axes or None)


@implements(np.real)
def real(array: Any) -> Any:
    """The real part: a view of a complex array, the array itself if it is real."""
    return array.real if type(array) is TracedNumber else _part(array, "real")


@implements(np.imag)
def imag(array: Any) -> Any:
    """The imaginary part: a view of a complex array, read-only zeros if it is real."""
    return array.imag if type(array) is TracedNumber else _part(array, "imag")


def _part(array: Any, name: str) -> Any:
    trace = trace_of(array)
    parent = trace.array(array)
    shadow = getattr(parent.shadow, name)
    if parent.scalar:
        if parent.constant:
            return trace.constant(getattr(parent.known(), name))
        if parent.dtype.kind != "c":
            return parent if name == "real" else trace.constant(parent.dtype.type(0))
        return trace.result(getattr(trace.builder, name)(trace.operand(parent)))
    if shadow is parent.shadow:
        return parent
    if not shares(parent, shadow):
        flags = parent.shadow.flags
        order = "F" if flags.f_contiguous and not flags.c_contiguous else "C"
        zeros = trace.constant(np.zeros(parent.shape, parent.dtype, order=order))  # type: ignore[call-overload]
        zeros.shadow.flags.writeable = False
        return zeros
    return trace.window(parent.storage, shadow, parent.window.then_anchor(shadow, path_step(name)))


def copy(array: Any, order: str = "K") -> Any:
    """A copy in memory of its own, laid out in the given order."""
    trace = trace_of(array)
    parent = trace.array(array)
    if parent.constant:
        return trace.constant(np.array(parent.shadow, order=order))  # type: ignore[call-overload]
    node = trace.read(parent)
    layout = np.empty_like(parent.shadow, order=order, subok=False)  # type: ignore[call-overload]
    if layout.strides != np.empty(layout.shape, layout.dtype).strides or not parent.shadow.flags.c_contiguous:
        trace.builder.loc = trace.loc()
        node = trace.builder.copy(node, order=order)
    return trace.fresh(node, layout)


@implements(np.copy)
def np_copy(a: Any, order: str = "K", subok: bool = False) -> Any:
    """np.copy: always an array."""
    return copy(a, order)


def astype(
    array: Any, dtype: Any, order: str = "K", casting: str = "unsafe", subok: bool = True, copy: bool = True
) -> Any:
    """`x.astype(dtype)`: the array itself only with copy=False and nothing to do."""
    trace = trace_of(array)
    parent = trace.array(array)
    shadow = np.zeros((), parent.dtype).astype(dtype, casting=casting, copy=True)  # type: ignore[call-overload]
    same = shadow.dtype == parent.dtype
    if not copy and same:
        return parent
    if parent.constant:
        return trace.constant(parent.known().astype(dtype, order))
    if same:
        return parent if parent.scalar else _copy(trace, parent, order)
    if not supported(shadow.dtype):
        raise refuse(f"astype({np.dtype(dtype)})")
    trace.builder.loc = trace.loc()
    node = trace.builder.cast(trace.read(parent), shadow.dtype)
    layout = np.empty_like(parent.shadow, dtype=shadow.dtype, order=order, subok=False)  # type: ignore[call-overload]
    return trace.fresh(node, layout, scalar=parent.scalar)


def _copy(trace: Trace, parent: TracedArray, order: str) -> Any:
    return copy(parent, order)


@implements(np.astype)
def np_astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    """np.astype."""
    return astype(x, dtype, copy=copy)


def view(array: Any, dtype: Any = None, type: Any = None) -> Any:
    """`x.view(dtype)`: the same bytes as another dtype."""
    trace = trace_of(array)
    parent = trace.array(array)
    if type is not None:
        raise refuse("view(type=…)")
    if parent.scalar:
        model = parent.dtype.type(0).view(dtype or parent.dtype)
        window = view(in_memory(trace, parent), model.dtype)
        return window[()]
    shadow = parent.shadow.view() if dtype is None else parent.shadow.view(dtype)
    if shadow.dtype == parent.dtype:
        return trace.window(
            parent.storage,
            shadow,
            Window(parent.window.anchor, parent.window.anchor_path, parent.window.path),
        )
    return trace.window(
        parent.storage, shadow, parent.window.then_anchor(shadow, path_step("bitcast", dtype=shadow.dtype))
    )


add_methods(
    {
        "reshape": method_reshape,
        "transpose": method_transpose,
        "ravel": ravel,
        "flatten": flatten,
        "swapaxes": np.swapaxes,
        "squeeze": np.squeeze,
        "diagonal": np.diagonal,
        "astype": astype,
        "view": view,
    }
)
