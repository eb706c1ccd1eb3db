"""Random numbers: a Generator that is an argument draws at each call, in the order of the traced code.

A TracedGenerator stands for it. Its methods become `draw` steps that call the caller's own generator, so
values and state are NumPy's, bit for bit. Permutations, shuffles and choices of traced arrays are draws of
positions, then indexing. A generator seeded by the traced code itself draws the same numbers at every call:
its draws are constants. Everything else draws behind the trace's back and is refused.
"""

from __future__ import annotations

import copy
import inspect
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ...compiler.ir.node import Node
from ...compiler.ir.types import ScalarType
from ...compiler.ops.random import METHODS, OPTIONS
from ..errors import RandomStateError
from ..stand_in import FunctionStandIn, class_stand_in, original
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from . import conversion
from .concrete_calls import owned
from .creation import settled
from .layout import layout_of
from .registry import is_traced, known, refuse

PASS_IT_IN = [
    ("pass a generator in", "def step(x, rng): … rng.normal(size=3), called with np.random.default_rng(0)")
]
_SEEDED = (np.random.BitGenerator, np.random.RandomState)


class Chain:
    """The draws from one bit generator, in order: `node` is the generator after the last of them.

    `scratch` is a copy that draws along while tracing, for examples of Python numbers.
    """

    def __init__(self, node: Node, generator: Any) -> None:
        self.start = self.node = node
        self._generator = generator
        self._scratch: Any = None

    @property
    def scratch(self) -> Any:
        if self._scratch is None:
            self._scratch = np.random.Generator(copy.deepcopy(self._generator.bit_generator))
        return self._scratch


class TracedGenerator:
    """Stands for an argument that is a numpy.random.Generator."""

    __slots__ = ("__weakref__", "chain", "owner")

    def __init__(self, trace: Trace, node: Node, generator: Any) -> None:
        self.owner = trace
        key = id(generator.bit_generator)
        if key not in trace.generators:
            trace.generators[key] = Chain(node, generator)
        self.chain: Chain = trace.generators[key]
        trace.watch(self)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.random.Generator

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *args, **kwargs: draw(self, name, args, kwargs)
        if hasattr(np.random.Generator, name):
            raise self.owner.error(
                RandomStateError,
                f"rng.{name} is not supported on a generator that is traced",
                why="The generator is an argument: its state is known only at each call.",
                fixes=[("draw arrays", "rng.random(size), rng.normal(size=…), rng.integers(…)"),
                       ("or use it in the caller", f"rng.{name}, and pass the result in")],
            )  # fmt: skip
        raise AttributeError(f"'numpy.random._generator.Generator' object has no attribute '{name}'")

    def shuffle(self, x: Any, axis: Any = 0) -> None:
        """Permute an array in place along an axis."""
        if type(x) is np.ndarray:
            x = self.owner.closure(x)
        if type(x) is not TracedArray:
            raise refuse(
                f"rng.shuffle of a {type(x).__name__}",
                why="The order of a Python container is fixed while tracing.",
                fixes=[("positions", "order = rng.permutation(n), then index an array with it")],
            )
        if not x.shadow.flags.writeable or not x.ndim:
            np.random.default_rng(0).shuffle(x.shadow, axis)
        self.owner.check_writeable(x)
        x[...] = permuted_along(self, x, axis)

    def __repr__(self) -> str:
        return "<traced Generator>"

    def __reduce__(self) -> Any:
        raise TypeError("a traced generator cannot be pickled")

    def __copy__(self) -> Any:
        return self.__getattr__("__copy__")

    def __deepcopy__(self, memo: Any) -> Any:
        return self.__getattr__("__deepcopy__")


@lru_cache(maxsize=128)
def signature_of(method: str) -> inspect.Signature:
    """The parameters of a Generator's method; from its documentation where Cython keeps none."""
    function = getattr(np.random.Generator, method)
    try:
        found = inspect.signature(function)
        kept = [p for p in found.parameters.values() if p.name != "self"]
        return found.replace(parameters=kept)
    except (TypeError, ValueError):
        text = re.match(r"\s*\w+\((.*?)\)\s*\n\s*\n", function.__doc__ or "", re.DOTALL)
        assert text is not None, f"Generator.{method} documents its parameters"
        made: Callable[..., Any] = eval(f"lambda {text[1]}: None", {"np": np})
        return inspect.signature(made)


def draw(generator: TracedGenerator, method: str, args: Any, kwargs: Any) -> Any:
    """`rng.method(*args, **kwargs)` as a step."""
    trace = generator.owner
    parameters = dict(signature_of(method).bind(*args, **kwargs).arguments)
    out = parameters.pop("out", None)
    if method in ("permutation", "permuted"):
        return _permutation(generator, method, parameters, out)
    if method == "choice" and _is_array(parameters["a"]):
        return _choice(generator, parameters)
    if out is None:
        return step(generator, method, parameters)
    return _into(trace, generator, method, parameters, out)


def step(generator: TracedGenerator, method: str, parameters: dict[str, Any]) -> Any:
    """One draw: parameters that vary are operands, the others stand in the step."""
    trace = generator.owner
    trace.check(generator)
    names: list[str] = []
    operands: list[Node] = []
    fixed: dict[str, Any] = {}
    for name, value in parameters.items():
        if name in OPTIONS:
            fixed[name] = option(method, name, value)
        elif value is None or type(value) in (bool, int, float):
            if value is not None:
                fixed[name] = value
        else:
            lifted = trace.lift(value)
            names.append(name)
            operands.append(
                lifted.node if type(lifted) is TracedNumber else trace.operand(trace.array(lifted))
            )
    fixed = {name: value for name, value in fixed.items() if value is not None}
    trace.builder.loc = trace.loc()
    chain = generator.chain
    both = trace.builder.draw(
        chain.node, *operands, method=method, names=tuple(names), fixed=tuple(sorted(fixed.items()))
    )
    chain.node = trace.builder.get(both, index=0)
    values = trace.builder.get(both, index=1)
    if isinstance(values.type, ScalarType):
        return trace.number(values, _example(chain, method, parameters, values.type.kind))
    shadow = np.empty(values.shape, values.dtype)
    return trace.fresh(values, shadow, scalar=not values.shape and parameters.get("size") is None)


def option(method: str, name: str, value: Any) -> Any:
    """A parameter that has to be known while tracing, in a form that can be compared."""
    if name == "size":
        value = settled(value)
        if isinstance(value, np.ndarray):
            value = value.tolist()
        if type(value) in (list, tuple):
            return tuple(n.__index__() for n in value)
        return value if value is None else value.__index__()
    if name == "dtype":
        value = original(value)
        plain = method == "integers" and value in (int, bool)
        return value if plain or value is None else np.dtype(value)
    if is_traced(value) and not known(value):
        raise refuse(
            f"rng.{method} with a traced {name}=",
            why="It decides how numbers are drawn, so it has to be known while tracing.",
            fixes=[("make it static", f'@compile(static=("{name}",))')],
        )
    return settled(value)


def _example(chain: Chain, method: str, parameters: dict[str, Any], kind: type) -> Any:
    """A Python number such as the draw may give: the very one, where its parameters are known."""
    given = {
        name: value.example if type(value) is TracedNumber else settled(value)
        for name, value in parameters.items()
    }
    try:
        return kind(getattr(chain.scratch, method)(**given))
    except (TypeError, ValueError, RandomStateError):
        return kind(1)


# ---- positions and indexing


def _is_array(value: Any) -> bool:
    if type(value) is TracedNumber or type(value) is int:
        return False
    return bool(np.ndim(value.shadow if type(value) is TracedArray else value))


def _permutation(generator: TracedGenerator, method: str, parameters: dict[str, Any], out: Any) -> Any:
    trace = generator.owner
    x, axis = parameters["x"], settled(parameters.get("axis", 0 if method == "permutation" else None))
    if method == "permutation" and not _is_array(x):
        if type(x) is TracedArray or isinstance(x, np.ndarray):
            np.random.default_rng(0).permutation(np.empty(()))
        return step(generator, "permutation", {"x": settled(x) if type(x) is TracedNumber else int(x)})
    array = trace.array(x)
    if method == "permutation":
        return permuted_along(generator, array, axis)
    made = _permuted(generator, array, axis)
    if out is None:
        return made
    target = _checked_out(trace, out, lambda dummy: np.random.default_rng(0).permuted(
        np.zeros(array.shape, array.dtype), axis=axis, out=dummy))  # fmt: skip
    target[...] = made
    return target


def permuted_along(generator: TracedGenerator, array: TracedArray, axis: Any) -> Any:
    """The array with its entries along one axis in a drawn order: a copy."""
    from numpy.lib.array_utils import normalize_axis_index

    axis = normalize_axis_index(axis, array.ndim)
    order = step(generator, "permutation", {"x": array.shape[axis]})
    return array[(*[slice(None)] * axis, order)]


def _permuted(generator: TracedGenerator, array: TracedArray, axis: int | None) -> Any:
    """`rng.permuted`: along the axis each lane is shuffled on its own, without one all elements are."""
    trace = generator.owner
    if not array.ndim or (axis is None and array.ndim > 1):
        layout = np.empty_like(array.shadow, subok=False)
    else:
        layout = layout_of(
            lambda a: np.random.default_rng(0).permuted(a, axis=axis),
            [array.shadow],
            array.shape,
            array.dtype,
        )
    made = step(generator, "permuted", {"x": array, "axis": axis})
    if type(made) is TracedNumber:
        return made
    return trace.fresh(made.storage.node(trace.builder), layout)


def _choice(generator: TracedGenerator, parameters: dict[str, Any]) -> Any:
    trace = generator.owner
    array = trace.array(parameters["a"])
    axis = settled(parameters.pop("axis", 0))
    rest = {name: value for name, value in parameters.items() if name != "a"}
    length = array.shape[axis]
    if not length:
        np.random.default_rng(0).choice(
            np.empty(array.shape), **{k: settled(v) for k, v in rest.items()}, axis=axis
        )
    positions = step(generator, "choice", {"a": length, **rest})
    index = trace.array(positions)
    if rest.get("size") is None:
        index = trace.fresh(trace.operand(index), np.empty((), index.dtype), scalar=True)
    chosen = np.take(array, index, axis=axis)
    return conversion.asarray(chosen) if rest.get("size") is not None else chosen


# ---- out=


def _checked_out(trace: Trace, out: Any, attempt: Callable[[Any], Any]) -> TracedArray:
    """An `out=` array of the trace, after NumPy has seen one like it and raised what it raises."""
    if type(out) is np.ndarray:
        out = trace.closure(out)
    if type(out) is not TracedArray or out.scalar:
        attempt(out)
        raise AssertionError("NumPy refuses what is no array")
    dummy = np.empty_like(out.shadow)
    if not out.shadow.flags.forc:
        dummy = np.empty((*out.shape, 2), out.dtype)[..., 0]
    dummy.flags.writeable = out.shadow.flags.writeable
    attempt(dummy)
    trace.check_writeable(out)
    return out


def _into(trace: Trace, generator: TracedGenerator, method: str, parameters: dict[str, Any], out: Any) -> Any:
    """A draw into an array: NumPy fills its memory in order, so a Fortran array is filled transposed."""
    plain = {
        name: 1.0 if name not in OPTIONS else option(method, name, value)
        for name, value in parameters.items()
    }
    target = _checked_out(
        trace, out, lambda dummy: getattr(np.random.default_rng(0), method)(**plain, out=dummy)
    )
    flipped = target.shadow.flags.f_contiguous and not target.shadow.flags.c_contiguous
    shape = target.shape[::-1] if flipped else target.shape
    if flipped and any(_is_array(v) for k, v in parameters.items() if k not in OPTIONS):
        raise refuse(f"rng.{method} with array parameters into an array in Fortran order")
    made = step(generator, method, {**parameters, "size": shape})
    target[...] = made.T if flipped else made
    return target


# ---- generators that the traced code makes itself


class SeededGenerator:
    """A generator seeded inside the traced function: its draws are the same at every call, so constants."""

    __slots__ = ("__weakref__", "_real", "_trace")

    def __init__(self, trace: Trace, real: Any) -> None:
        self._trace = trace
        self._real = real
        trace.watch(self)

    def real_generator(self) -> Any:
        """The generator itself, for what outlives the trace."""
        return self._real

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.random.Generator

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._real, name)
        if name not in METHODS or self._trace.ended:
            return found
        return lambda *args, **kwargs: self._draw(name, found, args, kwargs)

    def _draw(self, name: str, method: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        for value in (*args, *kwargs.values(), out):
            self._check(name, value)
        made = method(*map(settled, args), **{k: settled(original(v)) for k, v in kwargs.items()},
                      **({} if out is None else {"out": out.shadow}))  # fmt: skip
        if out is None:
            return owned(self._trace, made)
        out.storage.touched()
        return out

    def shuffle(self, x: Any, axis: int = 0) -> None:
        """Permute an array of constants in place."""
        self._check("shuffle", x)
        if type(x) is TracedArray:
            self._real.shuffle(x.shadow, axis)
            x.storage.touched()
        else:
            self._real.shuffle(x, axis)

    def spawn(self, n_children: int) -> list[SeededGenerator]:
        """Children, whose draws are constants too."""
        return [SeededGenerator(self._trace, child) for child in self._real.spawn(settled(n_children))]

    def _check(self, name: str, value: Any) -> None:
        if type(value) in (list, tuple):
            for item in value:
                self._check(name, item)
        if type(value) is np.ndarray or (is_traced(value) and not known(value)):
            what = "a traced value" if is_traced(value) else "a closed-over array"
            raise self._trace.error(
                RandomStateError,
                f"rng.{name} of {what} with a generator that the compiled function makes itself",
                why="Its draws are made once, while tracing, and are the same at every call.",
                fixes=PASS_IT_IN,
            )

    def __repr__(self) -> str:
        return repr(self._real)


def _default_rng(trace: Trace, seed: Any = None) -> Any:
    if type(seed) is TracedGenerator or type(seed) is SeededGenerator:
        return seed
    if seed is None:
        raise unseeded(trace, "np.random.default_rng()")
    if is_traced(seed) and not known(seed) and type(seed) is not TracedNumber:
        raise trace.error(
            RandomStateError,
            "np.random.default_rng of a traced value",
            why="The generator is made once, while tracing.",
            fixes=[*PASS_IT_IN, ("or make the seed static", '@compile(static=("seed",))')],
        )
    seed = settled(seed)
    made = np.random.default_rng(seed)
    if isinstance(seed, (np.random.Generator, np.random.BitGenerator, np.random.RandomState)):
        return made
    return SeededGenerator(trace, made)


def unseeded(trace: Trace, what: str) -> Any:
    """The refusal of a generator without a seed."""
    return trace.error(
        RandomStateError,
        f"{what} without a seed inside a compiled function",
        why="It would be seeded once, while tracing, and draw the same numbers at every call.",
        fixes=PASS_IT_IN,
    )


def _needs_seed(kind: Any) -> Callable[..., Any]:
    def handler(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        if (*args, *kwargs.values()) in ((), (None,)):
            raise unseeded(trace, f"np.random.{kind.__name__}()")
        return kind(*map(settled, args), **{k: settled(v) for k, v in kwargs.items()})

    return handler


def _legacy(name: str) -> Callable[..., Any]:
    def handler(trace: Trace, *args: Any, **kwargs: Any) -> Any:
        raise trace.error(
            RandomStateError,
            f"np.random.{name} uses NumPy's global generator, which is no argument",
            why="It would be called once, while tracing, and its numbers would be the same at every call.",
            fixes=PASS_IT_IN,
        )

    return handler


def random_stand_ins() -> dict[str, Any]:
    """The names of numpy.random that have stand-ins."""
    table: dict[str, Any] = {"default_rng": FunctionStandIn(np.random.default_rng, _default_rng)}
    for name in dir(np.random):
        value = getattr(np.random, name)
        if type(getattr(value, "__self__", None)) is np.random.RandomState:
            table[name] = FunctionStandIn(value, _legacy(name))
        elif isinstance(value, type) and value is not np.random.BitGenerator and issubclass(value, _SEEDED):
            table[name] = class_stand_in(value, _needs_seed(value))
    return table
