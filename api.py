"""compile, the derivatives, trace, draw: the only place where the three stages meet."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .compiled import CompiledFunction, RetraceWarning
from .compiler.ir.node import Graph
from .compiler.plan import Plan
from .tracer.frames import hide_internal_frames
from .tracer.state import current

if TYPE_CHECKING:
    from .compiler.rules.rule import RuleSet
    from .tracer.differentiated import Wrt

__all__ = [
    "CompiledFunction",
    "RetraceWarning",
    "compile",
    "constant",
    "draw",
    "grad",
    "hessian",
    "hvp",
    "jacobian",
    "jvp",
    "set_num_threads",
    "stop_gradient",
    "trace",
    "value_and_grad",
    "vjp",
]


def compile(
    function: Callable[..., Any] | None = None,
    *,
    static: Sequence[str | int] = (),
    donate: Sequence[str | int] = (),
    executor: str | None = None,
    fast_math: bool = False,
    disabled: str | Sequence[str] = (),
    rules: Sequence[RuleSet] = (),
) -> Any:
    """Compile a function written in plain NumPy: traced once per signature, then run as a plan.

    Args:
        function: the function; left out when `compile` is used as a decorator with options.
        static: names or positions of arguments that are compared by value and never traced. What a function
            takes through `**kwargs` or `*args` is named by its keyword or position.
        donate: names or positions of arguments whose memory results may take over.
        executor: "auto", "native", "numpy" or "interpret"; by default the environment's TAPELESS_EXECUTOR,
            else "auto": native where llvmlite is installed, else the NumPy executor, whose bits are NumPy's.
        fast_math: let rules that change rounding or memory layout at the forward part, too; by default its
            bits are NumPy's, and such rules keep to what differentiation made.
        disabled: names of passes and of rewrite rules that are switched off.
        rules: rule sets of your own, tried after Tapeless' (see examples/06_add_a_rule.py).

    Returns:
        A CompiledFunction: called as the function is, with the same results and changes to arguments.

    Raises:
        TypeError: it is no function; an option is neither a name nor a position.
        ValueError: an option names no parameter, no executor, or no pass or rule.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> @tl.compile
        ... def scale(x, factor):
        ...     return x * factor
        >>> scale(np.arange(3.0), 2.0)
        array([0., 2., 4.])
    """

    def made(f: Callable[..., Any]) -> CompiledFunction:
        return CompiledFunction(f, static, donate, executor, fast_math, disabled, rules)

    return made if function is None else made(function)


def _transforms() -> Any:
    """The derivatives in a trace; loaded when there is one, so that importing Tapeless stays light."""
    from .tracer import transforms

    return transforms


def _traced(function: Callable[..., Any], inner: Callable[..., Any]) -> Callable[..., Any]:
    """`inner(trace, args, kwargs)` as a function: in the active trace, or traced and run once, uncached."""

    @functools.wraps(function, updated=())
    def traced(*args: Any, **kwargs: Any) -> Any:
        return inner(current(), args, kwargs)

    # This one does not name itself: a function that does is garbage in a cycle, with all it closes over.
    @functools.wraps(function, updated=())
    def transformed(*args: Any, **kwargs: Any) -> Any:
        return (CompiledFunction(traced) if current() is None else traced)(*args, **kwargs)

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
        lambda trace, args, kwargs: _transforms().value_and_grad(trace, function, wrt, has_aux, args, kwargs),
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
        result, gradients = _transforms().value_and_grad(trace, function, wrt, has_aux, args, kwargs)
        return (gradients, result[1]) if has_aux else gradients

    return _traced(function, inner)


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The value of `function(*primals)` and its pullback.

    The pullback takes a cotangent of the tree, shapes and dtypes of the value, and gives the cotangent of the
    primal, or a tuple of them if there are several primals. It is that at the primals as they were given,
    whatever was written to them since. Outside of a trace each pullback runs the forward part again, on
    copies of the primals; what the function closes over is read anew.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> value, pullback = tl.vjp(lambda x: x * x, np.array([1.0, 2.0]))
        >>> pullback(np.ones_like(value))
        array([2., 4.])
    """
    trace = current()
    if trace is not None:
        result: tuple[Any, Callable[[Any], Any]] = _transforms().vjp(trace, function, primals)
        return result
    from .tracer.copies import copied

    both, given = CompiledFunction(lambda primals, ct: vjp(function, *primals)[1](ct)), copied(primals)
    return CompiledFunction(function)(*primals), lambda cotangent: both(copied(given), cotangent)


def jvp(function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """The value of `function(*primals)` and its directional derivative along `tangents`.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> tl.jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))[1]
        array([2., 0.])
    """
    inner = _traced(
        function, lambda trace, args, kwargs: _transforms().jvp(trace, function, args[0], args[1])
    )
    result: tuple[Any, Any] = inner(tuple(primals), tuple(tangents))
    return result


def jacobian(function: Callable[..., Any], wrt: Wrt = 0) -> Callable[..., Any]:
    """A function that gives the derivatives of every result element by every element of `wrt`.

    Each block has shape (*result.shape, *argument.shape) and, as gradients do, the dtype of the argument;
    complex of that precision for complex results. A row of a real result by a complex argument is its
    gradient. Results may be trees, `wrt` may be a tuple. The graph grows with the smaller of the two sizes.

    Raises:
        GradientError: a result is an integer or boolean, or complex by a complex argument.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> tl.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """
    return _traced(
        function, lambda trace, args, kwargs: _transforms().jacobian(trace, function, wrt, args, kwargs)
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


def constant(value: Any) -> Any:
    """The value, declared to be computed once: while a function is traced, its arrays become the graph's own.

    For arrays derived from closed-over ones by operators, which a trace cannot see (`grid * 2`), and for what
    is expensive and stays the same. Any tree. Outside of a trace it is the value itself.

    Raises:
        TracedConversionError: the value depends on an argument of the compiled function.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> grid = np.arange(3.0)
        >>> @tl.compile
        ... def shifted(x):
        ...     return x + tl.constant(grid * 2)
        >>> shifted(np.ones(3))
        array([1., 3., 5.])
    """
    trace = current()
    if trace is None:
        return value
    from .tracer import constants

    return constants.constant(trace, value)


def stop_gradient(value: Any) -> Any:
    """The value itself, constant for derivatives; any tree.

    Example:
        >>> import tapeless as tl
        >>> tl.grad(lambda x: x * tl.stop_gradient(x))(3.0)
        3.0
    """
    trace = current()
    return value if trace is None else _transforms().stop_gradient(trace, value)


def trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Graph:
    """The graph of `function(*args, **kwargs)` as traced, before any pass.

    Example:
        >>> import numpy as np
        >>> import tapeless as tl
        >>> def double(x):
        ...     return x + x
        >>> print(tl.trace(double, np.zeros(3)))
        graph @double(%x: f64[3]) {
          %0: f64[3] = add %x, %x
          return %0
        }
    """
    from .specialize import trace_with_demands

    try:
        return trace_with_demands(function, args, kwargs, frozenset())[0].graph
    except Exception as error:
        raise hide_internal_frames(error)  # noqa: B904


def draw(what: Graph | Plan, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
    """Draw a graph or a plan to an SVG, PNG, PDF or DOT file, or show it in a notebook without a path."""
    from .compiler.draw import draw as draw_it

    return draw_it(what, path, **options)


def set_num_threads(threads: int) -> None:
    """How many threads natively compiled functions may use, the caller's own included.

    It takes effect at their next calls. The environment's TAPELESS_NUM_THREADS sets the default, else the
    CPUs that the process may use, 8 at the most.

    Raises:
        TypeError: it is no whole number.
        ValueError: fewer than one, or more than 256 and than the machine has CPUs.

    Example:
        >>> import tapeless as tl
        >>> tl.set_num_threads(2)
    """
    from .runtime.llvm import threads as workers

    workers.set_num_threads(threads)
