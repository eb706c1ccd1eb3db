"""The table from NumPy functions to handlers, and the one place where a call is looked up.

A handler has the signature of its NumPy function and gets the user's arguments as they are; it may use
TracedArrays as if they were arrays, or reach for nodes through the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..errors import UnsupportedError
from ..state import current
from ..trace import Trace, active
from ..traced_array import TracedArray, TracedNumber

Handler = Callable[..., Any]
F = TypeVar("F", bound=Handler)

FUNCTIONS: dict[Any, Handler] = {}


# `out=...` is for ufuncs, and for these, which hand it on to one.
_TAKE_ELLIPSIS = frozenset(("clip", "cumulative_sum", "cumulative_prod"))


def implements(*functions: Any) -> Callable[[F], F]:
    """Register a handler for one or several NumPy functions."""

    def register(handler: F) -> F:
        for function in functions:
            FUNCTIONS[function] = handler
        return handler

    return register


def public_name(function: Any) -> str:
    """`np.linalg.inv` for the function of that name."""
    module = (getattr(function, "__module__", None) or "numpy").replace("numpy", "np", 1)
    return f"{module}.{getattr(function, '__name__', function)}"


def call(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """What `function(*args, **kwargs)` means with traced values among the arguments."""
    if kwargs.get("out") is Ellipsis and function.__name__ not in _TAKE_ELLIPSIS:
        raise TypeError("output must be an array")
    handler = FUNCTIONS.get(function)
    if handler is not None:
        return handler(*args, **kwargs)
    raise refuse(public_name(function))


def refuse(what: str, why: str = "", fixes: Sequence[tuple[str, str]] = ()) -> Any:
    """The refusal of a NumPy feature by name."""
    trace = active(what)
    return trace.error(
        UnsupportedError,
        f"{what} is not supported on traced values",
        why=why,
        fixes=fixes
        or [("", "compose it from supported functions, or call it outside of the compiled function")],
    )


def is_traced(value: Any) -> bool:
    """Whether a user's value is one of ours."""
    return type(value) is TracedArray or type(value) is TracedNumber


def trace_of(*values: Any) -> Trace:
    """The active trace; without one that of the first traced value."""
    trace = current()
    if trace is not None:
        return trace
    for value in values:
        if is_traced(value):
            return value.owner  # type: ignore[no-any-return]
    return active("a NumPy function")


def known(value: Any) -> bool:
    """Whether a lifted operand's value is known while tracing."""
    return not (type(value) is TracedNumber or (type(value) is TracedArray and not value.storage.constant))


def concrete(value: Any) -> Any:
    """The real value of a known operand."""
    return value.known() if type(value) is TracedArray else value
