"""Trace: one run of a user's function with traced arguments, and everything it met on the way.

A trace owns the builder, reads and writes windows, takes in concrete arrays by reference (they become
params of kind "closure") and records refusals, so that user code cannot swallow one.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..compiler.ir.builder import Builder
from ..compiler.ir.node import Loc, Node
from ..compiler.ir.types import ArrayType, array_type, supported
from ..compiler.ops.view import apply_path
from .errors import ArgumentError, LeakedTraceError, TapelessError, UnsupportedError, make_error
from .floating_point import CallerSettings, explicit, with_settings
from .layouts import Layouts
from .operators import add_operators
from .refusals import leaked, refuse_closure_write
from .source import own_loc
from .state import current, user_loc
from .storage import Array, Storage, Window, overlaps_itself
from .traced_array import TracedArray, TracedNumber

add_operators()

PYTHON_NUMBERS = (bool, int, float, complex)


class NeedsStatic(BaseException):
    """A Python int argument is used as an index, length, axis or option: it has to become static."""

    def __init__(self, params: Sequence[Node], use: str) -> None:
        super().__init__(use)
        self.params = tuple(params)
        self.leaves: tuple[int, ...] = ()
        self.use = use


class Trace:
    """The state of one trace. `names` maps ids of closed-over objects to the user's names for them."""

    def __init__(self, names: dict[int, str] | None = None) -> None:
        self.builder = Builder()
        self.memory = Layouts()
        self.closures: dict[int, tuple[Any, TracedArray]] = {}
        self.refusal: TapelessError | None = None
        self.demand: NeedsStatic | None = None
        self.alive: list[weakref.ref[Any]] = []
        self.names = names or {}
        self.function_name = ""
        self.showing = False
        self.arguments: dict[str, Any] = {}
        self.generators: dict[int, Any] = {}
        self.first_use: dict[int, Loc] = {}
        self.scalars: list[tuple[Any, Loc]] = []
        self.caller_settings: CallerSettings | None = None
        self.ended = False
        self.tags = 0

    def forget(self) -> None:
        """Let go of traced values; the trace has ended."""
        self.ended = True
        self.closures.clear()
        self.generators.clear()
        self.arguments.clear()

    # ---- making traced values

    def fresh(self, node: Node, shadow: Array, scalar: bool = False) -> TracedArray:
        """A value in memory of its own; `scalar` for what NumPy gives as a NumPy scalar."""
        # NumPy scalars have the machine's byte order.
        if scalar and not shadow.dtype.isnative:
            shadow = np.empty((), shadow.dtype.newbyteorder("="))
            node = self.builder.cast(node, shadow.dtype)
        return self.window(Storage(shadow, "fresh", node), shadow, scalar=scalar)

    def result(self, node: Node, layout: Array | None = None) -> TracedArray:
        """A fresh value of the node's type, a NumPy scalar if 0-d, C order unless a shadow is given."""
        type_ = node.type
        assert isinstance(type_, ArrayType)
        shadow = np.empty(type_.shape, type_.dtype) if layout is None else layout
        return self.fresh(node, shadow, scalar=not type_.shape)

    def constant(self, value: Any) -> TracedArray:
        """A value known now, in memory of its own: an array or a NumPy scalar, as given."""
        scalar = isinstance(value, np.generic)
        array = np.asarray(value)
        if not supported(array.dtype):
            raise self.error(ArgumentError, f"an array of dtype {array.dtype} cannot be traced")
        if array.base is not None or array is value:
            array = array.copy(order="K")
        return self.window(Storage(array, "fresh"), array, scalar=scalar)

    def window(
        self, storage: Storage, shadow: Array, window: Window | None = None, scalar: bool = False
    ) -> TracedArray:
        made = TracedArray(self, storage, shadow, window or Window.whole(storage.root), scalar)
        self.alive.append(weakref.ref(made))
        return made

    def note_scalar(self, value: Any) -> None:
        """Remember a NumPy scalar that met a traced value: it may have been read from an array."""
        if issubclass(type(value), np.generic):
            self.scalars.append((value, user_loc()))

    def watch(self, value: Any) -> None:
        """Look after the trace whether something still holds this value of its."""
        self.alive.append(weakref.ref(value))

    def number(self, node: Node, example: Any) -> Any:
        """A traced Python number; one that depends on nothing is the number itself."""
        if node.op.name == "constant":
            return node.attrs["value"].value
        made = TracedNumber(self, node, example)
        self.alive.append(weakref.ref(made))
        return made

    def lift(self, value: Any) -> Any:
        """A user's operand as a TracedArray, a TracedNumber or a plain Python number.

        Concrete arrays are taken in by reference, NumPy scalars and nested lists as constants.
        """
        kind = type(value)
        if kind is TracedArray or kind is TracedNumber:
            return self.mine(value)
        if kind in PYTHON_NUMBERS:
            return value
        if kind is np.ndarray:
            return self.closure(value)
        if isinstance(value, np.generic):
            return self.constant(value)
        if kind is list or kind is tuple:
            from .numpy_table.creation import array_of_nested

            return array_of_nested(self, value)
        if isinstance(value, np.ndarray):
            raise self.error(
                ArgumentError,
                f"a {kind.__name__} cannot be traced, only plain ndarrays",
                fixes=[("", "pass np.asarray(value)")],
            )
        raise self.error(
            ArgumentError, f"a value of type {kind.__name__} cannot be used in a traced computation"
        )

    def array(self, value: Any) -> TracedArray:
        """`lift`, with Python numbers turned into 0-d arrays as np.asarray does."""
        lifted = self.lift(value)
        if type(lifted) is TracedArray:
            return lifted
        if type(lifted) is TracedNumber:
            dtype = np.asarray(lifted.model).dtype
            self.builder.loc = self.loc()
            return self.fresh(self.builder.cast(lifted.node, dtype), np.empty((), dtype))
        return self.constant(np.asarray(lifted))

    def closure(self, value: Array) -> TracedArray:
        """The traced value of a concrete array that the user's code holds."""
        known = self.closures.get(id(value))
        if known is not None:
            return known[1]
        if not supported(value.dtype):
            raise self.error(ArgumentError, f"an array of dtype {value.dtype} cannot be traced")
        name = self.names.get(id(value)) or f"closure{len(self.closures)}"
        node = self.builder.param(name, array_type(value.shape, value.dtype))
        self.memory.given(node, value.strides)
        shadow = shadow_like(value)
        traced = self.window(Storage(shadow, "closure", node, name), shadow)
        self.closures[id(value)] = (value, traced)
        if current() is self:
            self.first_use[id(value)] = user_loc()
        return traced

    # ---- reading and writing

    def read(self, value: TracedArray) -> Node:
        """The node of what a window shows now."""
        self.check(value)
        storage = value.storage
        if value.cache is not None and value.cache[0] == storage.version:
            return value.cache[1]
        self.builder.loc = self.loc()
        node = apply_path(self.builder, storage.node(self.builder), value.window.path)
        value.cache = (storage.version, node)
        return node

    def node_of(self, value: Any) -> Node:
        """The node of a traced array or number as it is now."""
        return value.node if type(value) is TracedNumber else self.read(value)

    def operand(self, value: TracedArray) -> Node:
        """`read`, in the machine's byte order."""
        node = self.read(value)
        if not node.dtype.isnative:
            node = self.builder.cast(node, node.dtype.newbyteorder("="))
        return node

    def write(self, target: TracedArray, node: Node) -> None:
        """Replace what a window shows; the node has the window's shape and dtype already."""
        self.check(target)
        storage = target.storage
        self.check_writeable(target)
        if overlaps_itself(target.shadow):
            raise self.error(
                UnsupportedError,
                "a view whose elements share memory is written to",
                why="What the memory then holds depends on the order in which the elements are written.",
                fixes=[("write into the array itself", "x[...] = value")],
            )
        assert (node.shape, node.dtype) == (target.shape, target.dtype), "a value of the window's type"
        self.builder.loc = self.loc()
        path = target.window.path
        if path:
            storage.replace(self.builder.write(storage.node(self.builder), node, path=path))
            # Else the value is read through the window, in whose order NumPy sums it.
            same = self.memory.lies_as(node, target.shadow, storage.root.itemsize)
            target.cache = (storage.version, node) if same else None
        else:
            node = self.memory.laid_out(self.builder, node, storage.root)
            storage.replace(node)
            target.cache = (storage.version, node)

    def check_writeable(self, target: TracedArray) -> None:
        """Raise what NumPy raises for a read-only array, and refuse writes into closed-over ones."""
        if not target.shadow.flags.writeable:
            raise ValueError("assignment destination is read-only")
        storage = target.storage
        if storage.kind == "stopped":
            raise self.error(
                UnsupportedError,
                "the result of tl.stop_gradient is written to",
                why="Outside of a trace that would be a write into the value itself.",
                fixes=[("write to a copy", "y = tl.stop_gradient(x).copy()")],
            )
        if storage.kind == "closure":
            raise refuse_closure_write(self, storage.name)

    # ---- checks and errors

    def loc(self) -> Loc:
        """The user's line, with the floating-point error settings that differ from the caller's."""
        loc, settings = user_loc(), explicit(self)
        return with_settings(loc, settings) if settings else loc

    def mine(self, value: Any) -> Any:
        """A traced value of this trace; what an earlier trace left behind is concrete if it was constant."""
        if value.owner is not self and type(value) is TracedArray and value.owner.ended and value.constant:
            return self.constant(value.known()) if value.scalar else self.closure(value.shadow)
        self.check(value)
        return value

    def check(self, value: Any) -> None:
        """Raise if a traced value belongs to another trace."""
        if value.owner is not self:
            raise leaked(value)

    def error(self, kind: type[TapelessError], what: str, **details: Any) -> Any:
        """A refusal: an error with its whole message, recorded so that it cannot be swallowed."""
        error = make_error(kind, what, own_loc(), arguments=self.arguments, **details)
        if self.refusal is None:
            self.refusal = error
        return error


def shadow_like(value: Array) -> Array:
    """An array of the same shape, strides, dtype and flags in memory whose pages are never touched."""
    if value.flags.c_contiguous and value.size:
        shadow = np.empty(value.shape, value.dtype)
    else:
        low = sum(s * (n - 1) for s, n in zip(value.strides, value.shape, strict=True) if s < 0)
        high = sum(s * (n - 1) for s, n in zip(value.strides, value.shape, strict=True) if s > 0)
        memory = np.empty(high - low + value.itemsize if value.size else 1, np.uint8)
        shadow = np.ndarray(value.shape, value.dtype, memory, -low if value.size else 0, value.strides)
    shadow.flags.writeable = value.flags.writeable
    return shadow


def active(what: str) -> Trace:
    """The active trace; raises LeakedTraceError if there is none."""
    trace = current()
    if trace is None:
        raise make_error(
            LeakedTraceError,
            f"{what} was used outside of its trace",
            own_loc(),
            why="A traced value means something only while its function is being traced.",
            fixes=[("", "return the value from the compiled function and use the result")],
        )
    return trace
