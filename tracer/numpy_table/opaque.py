"""Functions that stay one call of NumPy at run time: they have no derivative, and their results fixed shapes.

Histograms, counts and positions; the dtypes and shapes of their results are asked of NumPy on stand-ins.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...compiler.ir.types import TupleType, array_type
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .layout import like
from .registry import implements, is_traced, known, refuse, trace_of
from .support import concrete

OPAQUE: set[Any] = set()
"""The functions that are one call of NumPy at run time."""


class Call:
    """One opaque call being put together: templates of its arguments and the operands in them."""

    def __init__(self, trace: Trace, name: str) -> None:
        self.trace = trace
        self.name = name
        self.operands: list[TracedArray] = []

    def template(self, value: Any) -> tuple[Any, ...]:
        """An argument as a template: arrays become operands, the rest is kept."""
        if type(value) in (list, tuple) and any(is_traced(v) or type(v) is np.ndarray for v in value):
            return ("list", *map(self.template, value))
        if is_traced(value) or isinstance(value, (np.ndarray, np.generic)):
            self.operands.append(self.trace.array(value))
            return ("operand", len(self.operands) - 1)
        return ("value", _plain(value))

    def __call__(self, models: Any, *args: Any, **kwargs: Any) -> Any:
        """The results, of the models' shapes, dtypes, layouts and kinds."""
        several = type(models) is not np.ndarray and isinstance(models, tuple)
        given = models if several else (models,)
        shown = list(map(np.asarray, given))
        types = tuple(array_type(m.shape, m.dtype) for m in shown)
        trace = self.trace
        trace.builder.loc = trace.loc()
        templates = tuple(map(self.template, args))
        keywords = tuple((name, self.template(value)) for name, value in sorted(kwargs.items()))
        node = trace.builder.numpy_call(
            *map(trace.operand, self.operands),
            function=self.name, arguments=templates, keywords=keywords,
            result=TupleType(types) if several else types[0],
        )  # fmt: skip
        parts = [trace.builder.get(node, index=i) for i in range(len(types))] if several else [node]
        made = [
            trace.fresh(part, like(model, part.shape, part.dtype), scalar=type(was) is not np.ndarray)
            for part, model, was in zip(parts, shown, given, strict=True)
        ]
        return tuple(made) if several else made[0]


def _plain(value: Any) -> Any:
    """A known argument as attrs hold it."""
    return tuple(map(_plain, value)) if type(value) in (list, tuple) else value


def _all_known(trace: Trace, values: Sequence[Any]) -> bool:
    flat = [v for value in values for v in (value if type(value) in (list, tuple) else [value])]
    return all(known(v) and type(v) is not np.ndarray for v in flat)


def opaque(function: Callable[..., Any], model: Callable[..., Any], values: int = 1) -> Callable[..., Any]:
    """A handler: NumPy now if all is known, else one opaque call with the results that `model` shows.

    The first arguments, `values` of them, are values; ints among the others are lengths and axes, which have
    to be known.
    """
    name = function.__name__

    def handler(*args: Any, **kwargs: Any) -> Any:
        args = (*args[:values], *map(_length, args[values:]))
        kwargs = {key: _length(value) for key, value in kwargs.items()}
        flat = [
            v
            for value in (*args, *kwargs.values())
            for v in (value if type(value) in (list, tuple) else [value])
        ]
        trace = trace_of(*flat)
        if _all_known(trace, [*args, *kwargs.values()]):
            result = function(*map(concrete, args), **{k: concrete(v) for k, v in kwargs.items()})
            if isinstance(result, tuple):
                return tuple(trace.constant(r) for r in result)
            return trace.constant(result)
        shown = model(*map(stand_in, args), **{k: stand_in(v) for k, v in kwargs.items()})
        return Call(trace, name)(shown, *args, **kwargs)

    handler.__name__ = name
    OPAQUE.add(function)
    return handler


def _length(value: Any) -> Any:
    """An argument with a traced int made static."""
    return operator.index(value) if type(value) is TracedNumber and type(value.example) is int else value


def stand_in(value: Any) -> Any:
    """A real argument of the same shape and dtype: zeros for what is not known."""
    if type(value) in (list, tuple):
        return type(value)(map(stand_in, value))
    if type(value) is TracedArray and not value.constant:
        return np.zeros((), value.dtype)[()] if value.scalar else np.zeros_like(value.shadow)
    if type(value) is TracedNumber:
        return value.model
    return concrete(value)


def _digitize_model(x: Any, bins: Any, right: bool = False) -> Any:
    return np.digitize(x, np.arange(np.shape(bins)[0]) if np.ndim(bins) == 1 else bins, right)


def _position_model(function: Callable[..., Any]) -> Callable[..., Any]:
    def model(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = False) -> Any:
        if out is not None:
            raise refuse(f"np.{function.__name__} with out=")
        return function(np.zeros_like(a), axis=axis, keepdims=keepdims)

    return model


def _bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Any:
    if not minlength:
        raise refuse(
            "np.bincount without minlength",
            why="The size of its result depends on the largest value.",
            fixes=[("", "np.bincount(x, minlength=n) with n above every value")],
        )
    return np.bincount(np.zeros(np.shape(x), x.dtype), weights, minlength)


implements(np.digitize)(opaque(np.digitize, _digitize_model))
implements(np.nanargmax)(opaque(np.nanargmax, _position_model(np.nanargmax)))
implements(np.nanargmin)(opaque(np.nanargmin, _position_model(np.nanargmin)))
implements(np.bincount)(opaque(np.bincount, _bincount))
implements(np.unravel_index)(opaque(np.unravel_index, np.unravel_index))
implements(np.ravel_multi_index)(opaque(np.ravel_multi_index, np.ravel_multi_index))
implements(np.packbits)(opaque(np.packbits, np.packbits))
implements(np.unpackbits)(opaque(np.unpackbits, np.unpackbits))
implements(np.isin)(opaque(np.isin, np.isin, values=2))


# ---- histograms


def _known_bins(bins: Any, name: str) -> None:
    if isinstance(bins, str):
        raise refuse(
            f"np.{name} with bins={bins!r}", why="How many bins there are depends on the values.",
            fixes=[("", "a number of bins, or their edges")],
        )  # fmt: skip


def _histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    _known_bins(bins, "histogram")
    if np.ndim(bins) == 1 and np.size(bins) > 1:
        bins = np.linspace(0, 1, np.size(bins)).astype(np.asarray(bins).dtype)
    return np.histogram(a, bins, range, density, weights)


def _histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    _known_bins(bins, "histogram_bin_edges")
    return np.histogram_bin_edges(a, bins, range, weights)


def _histogram2d_model(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    return np.histogram2d(x, y, bins, range, density, weights)


implements(np.histogram)(opaque(np.histogram, _histogram))
implements(np.histogram_bin_edges)(opaque(np.histogram_bin_edges, _histogram_bin_edges))
_histogram2d = opaque(np.histogram2d, _histogram2d_model)


@implements(np.histogram2d)
def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """np.histogram2d: the counts lie within a table that has room for what is beyond the edges."""
    counts, *edges = _histogram2d(x, y, bins, range, density, weights)
    if density:
        return counts, *edges
    table = trace_of(x, y).constant(np.zeros([n + 2 for n in counts.shape]))
    inner = table[1:-1, 1:-1]
    inner[...] = counts
    return inner, *edges
