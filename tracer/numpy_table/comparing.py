"""Comparisons of whole arrays, and functions whose results depend on values in shape or dtype.

allclose, array_equal and array_equiv give a Python bool, so they give a traced one. What has no fixed shape
or dtype is done for known values and refused for others.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..traced_array import TracedArray
from .bodies import run_bodies
from .conversion import asarray
from .registry import implements, known, refuse, trace_of
from .selecting import data_dependent
from .support import all_known, concrete, fold


def _python_bool(value: Any) -> Any:
    """A 0-d boolean as a Python bool."""
    if type(value) is not TracedArray:
        return bool(value)
    if value.constant:
        return bool(value.known())
    trace = value.owner
    trace.builder.loc = trace.loc()
    return trace.number(trace.builder.item(trace.operand(value)), False)


@implements(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> Any:
    """np.allclose."""
    return _python_bool(np.all(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


@implements(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """np.array_equal: False at once where the shapes differ."""
    trace = trace_of(a1, a2)
    x, y = trace.array(a1), trace.array(a2)
    if x.shape != y.shape:
        return False
    same = np.equal(x, y)
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        same = same | (np.isnan(x) & np.isnan(y))
    return _python_bool(np.all(same))


@implements(np.array_equiv)
def array_equiv(a1: Any, a2: Any) -> Any:
    """np.array_equiv: equal after broadcasting."""
    trace = trace_of(a1, a2)
    x, y = trace.array(a1), trace.array(a2)
    try:
        np.broadcast_shapes(x.shape, y.shape)
    except ValueError:
        return False
    return _python_bool(np.all(np.equal(x, y)))


@implements(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """np.real_if_close: a real array is itself; for a complex one the dtype depends on the values."""
    trace = trace_of(a)
    x = trace.array(a)
    if x.dtype.kind != "c":
        return asarray(x)
    if x.constant:
        return fold(trace, np.real_if_close, x, tol)
    raise refuse(
        "np.real_if_close of a complex array",
        why="Whether its result is real or complex depends on the values.",
        fixes=[("", "np.real(x)")],
    )


# ---- results whose size depends on values


KNOWN_ONLY: set[Any] = set()
"""The functions that are computed of known values and refused for others."""


def _refused(name: str, fixes: list[tuple[str, str]]) -> None:
    function = getattr(np, name, None)
    if function is None:
        return
    KNOWN_ONLY.add(function)

    @implements(function)
    def handler(*args: Any, **kwargs: Any) -> Any:
        given = [*args, *kwargs.values()]
        trace = trace_of(*[v for g in given for v in (g if type(g) in (list, tuple) else [g])])
        if all(
            all_known(g) if type(g) in (list, tuple) else known(g) and type(g) is not np.ndarray
            for g in given
        ):
            result = function(*map(concrete, args), **{k: concrete(v) for k, v in kwargs.items()})
            if isinstance(result, tuple):
                return (
                    type(result)(*map(trace.constant, result))
                    if hasattr(result, "_fields")
                    else tuple(map(trace.constant, result))
                )
            return trace.constant(result)
        raise data_dependent(f"np.{name}", fixes)


for _name in (
    "unique", "unique_all", "unique_counts", "unique_inverse", "unique_values", "union1d", "intersect1d",
    "setdiff1d", "setxor1d", "trim_zeros",
):  # fmt: skip
    _refused(_name, [("the values in order", "np.sort(x)"), ("in the caller", f"np.{_name} of the result")])
for _name in ("roots", "polydiv", "polymul"):
    _refused(_name, [("", "leading zeros are cut off; np.convolve(a, b) keeps them")])


# ---- results whose dtype depends on values


def _scimath(name: str, function: Callable[..., Any]) -> None:
    @implements(function)
    def handler(*args: Any) -> Any:
        trace = trace_of(*args)
        given = [trace.lift(v) for v in args]
        if all_known(given):
            return fold(trace, function, *given)
        if all(trace.array(v).dtype.kind == "c" for v in given) and hasattr(np, name):
            return getattr(np, name)(*given)
        raise refuse(
            f"np.emath.{name} of a real value",
            why="Whether its result is real or complex depends on the values.",
            fixes=[("real results", f"np.{name}(x)"), ("complex results", f"np.emath.{name}(x + 0j)")],
        )


for _name in ("arccos", "arcsin", "arctanh", "log", "log10", "log2", "logn", "power", "sqrt"):
    _scimath(_name, getattr(np.emath, _name))


@implements(np.polyfit)
def polyfit(
    x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: bool = False
) -> Any:
    """np.polyfit: the coefficients; without the warning for dependent columns."""
    if full or cov:
        raise refuse("np.polyfit with full= or cov=")
    trace = trace_of(x, y, w)
    points: Any = np.add(trace.array(x), 0.0)
    values: Any = np.add(trace.array(y), 0.0)
    order = operator.index(deg) + 1
    if (
        points.ndim != 1
        or not points.size
        or values.ndim not in (1, 2)
        or points.shape[0] != values.shape[0]
        or deg < 0
    ):
        np.polyfit(np.ones(points.shape), np.ones(values.shape), deg)
    if rcond is None:
        rcond = len(points) * np.finfo(points.dtype).eps
    lhs, rhs = np.vander(points, order), values
    if w is not None:
        weights: Any = np.add(trace.array(w), 0.0)
        lhs = lhs * weights[:, np.newaxis]
        rhs = rhs * (weights[:, np.newaxis] if rhs.ndim == 2 else weights)
    scale = np.sqrt(np.sum(lhs * lhs, axis=0))
    lhs = lhs / scale
    solution = np.linalg.lstsq(lhs, rhs, float(rcond))[0]
    return (solution.T / scale).T


run_bodies(np.isclose, np.poly)
