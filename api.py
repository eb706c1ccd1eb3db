"""compile, the derivatives, trace, draw: the only place where the three stages meet."""

from __future__ import annotations

import functools
import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .compiler.ir.node import Graph
from .compiler.pipeline import optimize
from .compiler.plan import Plan, Target, make_plan
from .runtime.executor import NumpyExecutor
from .runtime.interpret import InterpretExecutor
from .tracer import signature, transforms
from .tracer.assemble import Assembler
from .tracer.function import TracedFunction, leaf_names, trace_function
from .tracer.signature import Static
from .tracer.state import current
from .tracer.trace import NeedsStatic
from .tracer.transforms import Wrt

F = TypeVar("F", bound=Callable[..., Any])

CACHE_SIZE = 256
RETRACES_BEFORE_WARNING = 5
EXECUTORS = ("auto", "numpy", "interpret")


class RetraceWarning(UserWarning):
    """A compiled function is traced again and again; `explain()` says why."""


@dataclass
class Stats:
    """How often a compiled function was called and traced. `specializations` counts those kept."""

    calls: int = 0
    traces: int = 0
    specializations: int = 0


class Specialization:
    """One traced, compiled and planned signature of a function."""

    def __init__(self, traced: TracedFunction, executor: str, donated: frozenset[int]) -> None:
        self.traced = traced
        self.graph = optimize(traced.graph)
        targets = [Target(o.kind, o.strides, o.param) for o in traced.outputs]
        params = frozenset(
            i for i, source in enumerate(traced.sources) if source.kind == "leaf" and source.index in donated
        )
        self.plan: Plan = make_plan(self.graph, traced.layouts, targets, donated=params)
        self.assembler = Assembler(traced)
        self.run: Any = (
            InterpretExecutor(self.graph, targets) if executor == "interpret" else NumpyExecutor(self.plan)
        )

    def __call__(self, leaves: Sequence[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        values = self.assembler.gather(leaves)
        return self.assembler.result(self.run(values), leaves, args, kwargs)


class CompiledFunction:
    """A function that is traced once per signature and then runs as a plan. Made by `compile`."""

    def __init__(
        self,
        function: Callable[..., Any],
        static: Sequence[str | int] = (),
        donate: Sequence[str | int] = (),
        executor: str | None = None,
    ) -> None:
        self.function = function
        self._options = {"static": static, "donate": donate, "executor": executor}
        self._executor = executor or os.environ.get("TAPELESS_EXECUTOR") or "auto"
        if self._executor not in EXECUTORS:
            raise ValueError(f"executor={self._executor!r} is none of {', '.join(EXECUTORS)}")
        self._static = _positions(function, static, "static")
        self._donate = _positions(function, donate, "donate")
        self._cache: OrderedDict[Any, Specialization] = OrderedDict()
        self._on_demand: dict[Any, frozenset[int]] = {}
        self._history: list[list[tuple[str, str]]] = []
        self._latest: Specialization | None = None
        self._lock = threading.RLock()
        self.stats = Stats()
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if current() is not None:
            return self.function(*args, **kwargs)
        self.stats.calls += 1
        if self._static:
            args, kwargs = self._wrap_static(args, kwargs)
        leaves, tree = signature.flatten((args, kwargs) if kwargs else args)
        found = self._cache.get(self._key(leaves, tree))
        if found is None:
            found = self._specialize(args, kwargs)
        return found(leaves, args, kwargs)

    def _wrap_static(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        wrapped = tuple(Static(a) if i in self._static else a for i, a in enumerate(args))
        return wrapped, {k: Static(v) if k in self._static else v for k, v in kwargs.items()}

    def _key(self, leaves: Sequence[Any], tree: Any) -> Any:
        static = self._on_demand.get(tree)
        if static:
            keys = tuple([signature.leaf_key(leaf, i in static) for i, leaf in enumerate(leaves)])
        else:
            keys = tuple(map(signature.leaf_key, leaves))
        return tree, keys, signature.overlaps(leaves)

    def _specialize(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Specialization:
        """The specialization for these arguments (static ones wrapped), traced now if it is new."""
        with self._lock:
            leaves, tree = signature.flatten((args, kwargs) if kwargs else args)
            found = self._cache.get(self._key(leaves, tree))
            if found is None:
                traced = self._trace(args, kwargs, tree)
                found = Specialization(traced, self._executor, self._donated(args, kwargs))
                self._cache[self._key(leaves, tree)] = found
                if len(self._cache) > CACHE_SIZE:
                    self._cache.popitem(last=False)
                self._remember(args, kwargs, leaves, tree)
            self._latest = found
            return found

    def _trace(self, args: tuple[Any, ...], kwargs: dict[str, Any], tree: Any) -> TracedFunction:
        while True:
            static = self._on_demand.get(tree, frozenset())
            try:
                return trace_function(self.function, args, kwargs, static=static)
            except NeedsStatic as need:
                self._on_demand[tree] = static | frozenset(need.leaves)

    def _donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[int]:
        """The numbers of the leaves that belong to donated arguments."""
        found: set[int] = set()
        position = 0
        for key, value in [*enumerate(args), *kwargs.items()]:
            count = len(signature.flatten(value)[0])
            if key in self._donate:
                found.update(range(position, position + count))
            position += count
        return frozenset(found)

    def _remember(self, args: Any, kwargs: Any, leaves: Sequence[Any], tree: Any) -> None:
        names = leaf_names(self.function, args, kwargs)
        static = self._on_demand.get(tree, frozenset())
        shown = [signature.describe(leaf, i in static) for i, leaf in enumerate(leaves)]
        self._history.append(list(zip(names, shown, strict=True)))
        self.stats.traces += 1
        self.stats.specializations = len(self._cache)
        if self.stats.traces == RETRACES_BEFORE_WARNING + 1:
            warnings.warn(
                f"{self.__name__} was traced {self.stats.traces} times; {self._change(len(self._history) - 1)}. "  # type: ignore[attr-defined]
                "See explain() for all of them.",
                RetraceWarning,
                stacklevel=4,
            )

    def _change(self, number: int) -> str:
        """What made specialization `number` differ from the one before it."""
        now, before = self._history[number], dict(self._history[number - 1]) if number else {}
        if not number:
            return "first call: " + ", ".join(f"{name} {shown}" for name, shown in now)
        gone = [f"{name} is gone" for name in before if name not in dict(now)]
        new = [
            f"{name}: {before[name]} became {shown}" if name in before else f"{name} is new"
            for name, shown in now
            if before.get(name) != shown
        ]
        return (
            "; ".join(new + gone)
            or "arguments share memory in another way, or containers are nested differently"
        )

    def explain(self) -> str:
        """One line per trace: what the first call had, and which argument caused each retrace."""
        lines = [f"{self.__name__}: traced {self.stats.traces} times, called {self.stats.calls} times"]  # type: ignore[attr-defined]
        lines += [f"  {number + 1}. {self._change(number)}" for number in range(len(self._history))]
        return "\n".join(lines)

    def specialization(self, *args: Any, **kwargs: Any) -> Specialization:
        """The specialization for these arguments; nothing is run."""
        if self._static:
            args, kwargs = self._wrap_static(args, kwargs)
        return self._specialize(args, kwargs)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The optimised graph for these arguments; nothing is run."""
        return self.specialization(*args, **kwargs).graph

    def plan(self, *args: Any, **kwargs: Any) -> Plan:
        """The plan for these arguments; nothing is run."""
        return self.specialization(*args, **kwargs).plan

    def _last(self) -> Specialization:
        if self._latest is None:
            raise RuntimeError(f"{self.__name__} was not traced yet: call it, or graph(*args), first")  # type: ignore[attr-defined]
        return self._latest

    @property
    def text(self) -> str:
        """The text of the graph that was traced last."""
        return str(self._last().graph)

    def draw(
        self, path: str | os.PathLike[str] | None = None, *args: Any, plan: bool = False, **kwargs: Any
    ) -> Any:
        """Draw the graph (or the plan) for these arguments, or of the last trace if none are given."""
        found = self.specialization(*args, **kwargs) if args or kwargs else self._last()
        if plan:
            return draw(found.plan, path)
        from .compiler.draw import output_names

        return draw(found.graph, path, outputs=output_names(found.plan))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<compiled {self.__name__}: {len(self._cache)} specializations>"  # type: ignore[attr-defined]

    def __reduce__(self) -> Any:
        """By name where the module's name means this object, else by the function and the options."""
        import sys

        module = sys.modules.get(self.__module__)
        found: Any = module
        for part in self.__qualname__.split("."):  # type: ignore[attr-defined]
            found = getattr(found, part, None)
        if found is self:
            return self.__qualname__  # type: ignore[attr-defined]
        return _rebuild, (self.function, self._options)


def _rebuild(function: Callable[..., Any], options: dict[str, Any]) -> CompiledFunction:
    return CompiledFunction(function, **options)


def _positions(
    function: Callable[..., Any], wanted: Sequence[str | int], option: str
) -> frozenset[str | int]:
    """Names and positions of arguments, each by both where the signature tells."""
    if isinstance(wanted, (str, int)):
        wanted = (wanted,)
    names = transforms.parameter_names(function)
    found: set[str | int] = set()
    for item in wanted:
        if isinstance(item, str) and names and item not in names:
            raise ValueError(
                f"{option}={item!r} is no parameter of {getattr(function, '__name__', function)}"
            )
        found.add(item)
        if isinstance(item, str) and item in names:
            found.add(names.index(item))
        elif isinstance(item, int) and item < len(names):
            found.add(names[item])
    return frozenset(found)


def compile(
    function: Callable[..., Any] | None = None,
    *,
    static: Sequence[str | int] = (),
    donate: Sequence[str | int] = (),
    executor: str | None = None,
) -> Any:
    """Compile a function written in plain NumPy: traced once per signature, then run as a plan.

    Args:
        function: the function; left out when `compile` is used as a decorator with options.
        static: names or positions of arguments that are compared by value and never traced.
        donate: names or positions of arguments whose memory results may take over.
        executor: "auto", "numpy" or "interpret"; by default the environment's TAPELESS_EXECUTOR, else "auto".

    Returns:
        A CompiledFunction: called as the function is, with the same results and changes to arguments.

    Raises:
        ValueError: an option names no parameter or no executor.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> @tl.compile
        ... def scale(x, factor):
        ...     return x * factor
        >>> scale(np.arange(3.0), 2.0)
        array([0., 2., 4.])
    """
    if function is None:
        return lambda f: CompiledFunction(f, static, donate, executor)
    return CompiledFunction(function, static, donate, executor)


def _traced(function: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    """`inner(trace, args, kwargs)` as a function: in the active trace, or traced and run once without a cache."""

    @functools.wraps(function)
    def transformed(*args: Any, **kwargs: Any) -> Any:
        trace = current()
        if trace is None:
            return CompiledFunction(transformed)(*args, **kwargs)
        return inner(trace, args, kwargs)

    return transformed


def value_and_grad(function: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the value and the gradient with respect to `wrt`.

    Args:
        function: returns one real number, or (number, anything) with `has_aux`.
        wrt: a position, a name, or a tuple of them; each a tree of floating-point leaves.
        has_aux: whether the function returns (value, aux).

    Returns:
        A function with the same arguments that returns (value, gradient): the gradient has the tree, shapes
        and dtypes of the argument; a tuple of gradients if `wrt` is a tuple.

    Raises:
        GradientError: the result is no real scalar, or a `wrt` leaf is an integer or boolean.

    Example:
        >>> import tapeless as tl
        >>> tl.value_and_grad(lambda w, x, b: (w * x + b) ** 2, wrt=(0, 1, 2))(3.0, 2.0, 1.0)
        (49.0, (28.0, 42.0, 14.0))
    """
    return _traced(
        function,
        lambda trace, args, kwargs: transforms.value_and_grad(trace, function, wrt, has_aux, args, kwargs),
    )


def grad(function: Callable[..., Any], wrt: Wrt = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient with respect to `wrt`; (gradient, aux) with `has_aux`.

    Args and errors are those of `value_and_grad`. For a complex argument the gradient of a real loss is
    dL/da + i dL/db at z = a + ib, so that `z - rate * gradient` descends.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> tl.grad(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
        array([ 3., 12.])
    """

    def inner(trace: Any, args: Any, kwargs: Any) -> Any:
        result, gradients = transforms.value_and_grad(trace, function, wrt, has_aux, args, kwargs)
        return (gradients, result[1]) if has_aux else gradients

    return _traced(function, inner)


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The value of `function(*primals)` and its pullback.

    The pullback takes a cotangent of the tree, shapes and dtypes of the value, and gives the cotangent of the
    primal, or a tuple of them if there are several primals. Outside of a trace each pullback runs the
    forward part again.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> value, pullback = tl.vjp(lambda x: x * x, np.array([1.0, 2.0]))
        >>> pullback(np.ones_like(value))
        array([2., 4.])
    """
    trace = current()
    if trace is not None:
        return transforms.vjp(trace, function, primals)
    both = CompiledFunction(lambda primals, ct: vjp(function, *primals)[1](ct))
    return CompiledFunction(function)(*primals), lambda cotangent: both(primals, cotangent)


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of `function(*primals)` and its directional derivative along `tangents`.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> tl.jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))[1]
        array([2., 0.])
    """
    inner = _traced(function, lambda trace, args, kwargs: transforms.jvp(trace, function, args[0], args[1]))
    result: tuple[Any, Any] = inner(tuple(primals), tuple(tangents))
    return result


def jacobian(function: Callable[..., Any], wrt: Wrt = 0) -> Callable[..., Any]:
    """A function that gives the derivatives of every result element by every element of `wrt`.

    Each block has shape (*result.shape, *argument.shape); results may be trees, `wrt` may be a tuple. The
    graph grows with the smaller of the two sizes.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> tl.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """
    return _traced(
        function, lambda trace, args, kwargs: transforms.jacobian(trace, function, wrt, args, kwargs)
    )


def hessian(function: Callable[..., Any], wrt: int | str = 0) -> Callable[..., Any]:
    """A function that gives the second derivatives of a scalar function, shape (*argument, *argument).

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> tl.hessian(lambda x: x[0] ** 2 * x[1])(np.array([1.0, 2.0]))
        array([[4., 2.],
               [2., 0.]])
    """
    return jacobian(grad(function, wrt), wrt)


def hvp(function: Callable[..., Any], primal: Any, vector: Any) -> Any:
    """The product of the Hessian of a scalar function of one argument with a vector, without the Hessian.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> tl.hvp(lambda x: np.sum(x**3), np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([6., 0.])
    """
    return jvp(grad(function), (primal,), (vector,))[1]


def stop_gradient(value: Any) -> Any:
    """The value itself, constant for derivatives; any tree.

    Example:
        >>> import tapeless as tl
        >>> tl.grad(lambda x: x * tl.stop_gradient(x))(3.0)
        3.0
    """
    trace = current()
    return value if trace is None else transforms.stop_gradient(trace, value)


def trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Graph:
    """The graph of `function(*args, **kwargs)` as traced, before any pass.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> print(tl.trace(lambda x: np.tanh(x), np.zeros(3)))
        graph @_lambda_(%x: f64[3]) {
          %0: f64[3] = tanh %x
          return %0
        }
    """
    static: frozenset[int] = frozenset()
    while True:
        try:
            return trace_function(function, args, kwargs, static=static).graph
        except NeedsStatic as need:
            static |= frozenset(need.leaves)


def draw(what: Graph | Plan, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """Draw a graph or a plan to an SVG, PNG, PDF or DOT file, or show it in a notebook without a path."""
    from .compiler.draw import draw as draw_it

    return draw_it(what, path, **options)
