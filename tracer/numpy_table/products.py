"""Products of arrays: dot, inner, vdot, einsum, the vector products, convolve and correlate.

einsum runs NumPy's own body, contraction paths and all, down to its C loop, which is the primitive `einsum`
or, for one operand with nothing to sum, a view. What is a matrix product to the bit is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..promote import operand_node
from ..trace import Trace
from ..traced_array import TracedArray, add_methods
from .bodies import private, replaces, run_bodies, transplanted
from .elementwise import store
from .layout import like, miniature
from .matmul import matmul
from .registry import FUNCTIONS, implements, refuse, trace_of
from .shape import rewrap, shares
from .support import all_known, concrete, dummy, finish, fold, out_array


def _pair(trace: Trace, a: Any, b: Any) -> tuple[Any, Any]:
    return trace.array(a), trace.array(b)


def _contiguous(x: TracedArray) -> bool:
    return bool(x.shadow.flags.c_contiguous or x.shadow.flags.f_contiguous)


@implements(np.dot)
def dot(a: Any, b: Any, out: Any = None) -> Any:
    """np.dot: a matrix product where NumPy's is one to the bit, else the primitive of that name."""
    trace = trace_of(a, b, out)
    x, y = _pair(trace, a, b)
    if out is None and all_known(x, y):
        return fold(trace, np.dot, x, y)
    _check_lengths(x, y)
    kind = np.dot(np.ones((0, 1), x.dtype), np.ones((1, 0), y.dtype)).dtype
    target = None if out is None else _exact_out(trace, out, x, y, kind)
    if _is_matrix_product(x, y):
        product = matmul(x, y)
        if target is None:
            return product
        node = trace.read(product)
    else:
        trace.builder.loc = trace.loc()
        node = trace.builder.dot(operand_node(trace, x, kind), operand_node(trace, y, kind))
    if target is not None:
        store(trace, target, node)
        return target
    return finish(trace, node, np.dot, [x.shadow, y.shadow])


def _rows_together(x: TracedArray) -> bool:
    """Whether the rows or the columns of a matrix lie each in one piece, as BLAS takes them."""
    strides = x.shadow.strides
    return min(strides) == x.itemsize and (_contiguous(x) or max(strides) >= x.itemsize * min(x.shape))


def _is_matrix_product(x: TracedArray, y: TracedArray) -> bool:
    """Whether np.dot and np.matmul round alike: not where NumPy takes another path for strided vectors."""
    if not 1 <= min(x.ndim, y.ndim) <= max(x.ndim, y.ndim) <= 2:
        return False
    if x.ndim == y.ndim == 2:
        if x.shape[0] > 1 and y.shape[1] > 1:
            return _rows_together(x) and _rows_together(y)
        if "c" in (x.dtype.kind, y.dtype.kind):
            return False
    return _contiguous(x) and _contiguous(y)


def _check_lengths(x: TracedArray, y: TracedArray) -> None:
    if x.ndim and y.ndim and x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        np.dot(np.empty(x.shape, x.dtype), np.empty(y.shape, y.dtype))


def _exact_out(trace: Trace, out: Any, x: TracedArray, y: TracedArray, kind: Any) -> TracedArray:
    """np.dot takes an `out` of exactly the result's dtype, shape and C order."""
    target = out_array(trace, out)
    shape = np.dot(dummy(x)[..., :1] if x.ndim else dummy(x), _one_row(dummy(y))).shape
    if target.dtype != kind or target.shape != shape or not target.shadow.flags.c_contiguous:
        np.dot(np.zeros(x.shape, x.dtype), np.zeros(y.shape, y.dtype), out=np.empty_like(target.shadow))
    return target


def _one_row(y: Any) -> Any:
    return y[..., :1, :] if y.ndim > 1 else y[:1] if y.ndim else y


@implements(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    """np.inner: np.dot with the last axis of both summed."""
    trace = trace_of(a, b)
    x, y = _pair(trace, a, b)
    if x.ndim and y.ndim and x.shape[-1] != y.shape[-1]:
        np.inner(np.empty(x.shape, x.dtype), np.empty(y.shape, y.dtype))
    return dot(x, np.swapaxes(y, -1, -2) if y.ndim > 1 else y)


@implements(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    """np.vdot: the sum of conj(a) b over all elements, in C order."""
    trace = trace_of(a, b)
    x, y = (v.reshape(-1) for v in _pair(trace, a, b))
    if all_known(x, y):
        return fold(trace, np.vdot, x, y)
    if x.size != y.size:
        np.vdot(np.empty(x.shape, x.dtype), np.empty(y.shape, y.dtype))
    kind = np.vdot(np.ones(0, x.dtype), np.ones(0, y.dtype)).dtype
    trace.builder.loc = trace.loc()
    node = trace.builder.vecdot(operand_node(trace, x, kind), operand_node(trace, y, kind))
    return trace.result(node)


# ---- generalised ufuncs of vectors and matrices

_CORE = {"vecdot": (1, 1), "matvec": (2, 1), "vecmat": (1, 2)}


def _vector_product(name: str) -> None:
    ufunc = getattr(np, name, None)
    if ufunc is None:
        return
    left_core, right_core = _CORE[name]

    @implements(ufunc)
    def handler(
        x1: Any, x2: Any, /, out: Any = None, *, axes: Any = None, axis: Any = None, keepdims: bool = False,
        dtype: Any = None, casting: str = "same_kind", order: str = "K", subok: bool = True,
        signature: Any = None,
    ) -> Any:  # fmt: skip
        if axes is not None or keepdims or signature is not None:
            raise refuse(f"np.{name} with axes=, keepdims= or signature=")
        trace = trace_of(x1, x2, out)
        x, y = _pair(trace, x1, x2)
        options: dict[str, Any] = {"dtype": dtype, "casting": casting}
        if axis is not None:
            x, y = np.moveaxis(x, axis, -1), np.moveaxis(y, axis, -1)
        if out is None and all_known(x, y):
            return fold(trace, ufunc, x, y, **options)
        model = ufunc(
            *(np.ones((1,) * core, v.dtype) for core, v in zip(_CORE[name], (x, y), strict=True)), **options
        )
        if x.ndim < left_core or y.ndim < right_core or x.shape[-1] != y.shape[-right_core]:
            ufunc(np.empty(x.shape, x.dtype), np.empty(y.shape, y.dtype))
        lead = x.shape[: x.ndim - left_core], y.shape[: y.ndim - right_core]
        stack = np.broadcast_shapes(*lead)
        trace.builder.loc = trace.loc()
        b = trace.builder
        nodes = [
            b.broadcast_to(b.cast(trace.operand(v), model.dtype), (*stack, *v.shape[v.ndim - core :]))
            for core, v in zip(_CORE[name], (x, y), strict=True)
        ]
        node = getattr(b, name)(*nodes)
        target = None if out is None else out_array(trace, out)
        return finish(trace, node, ufunc, [x.shadow, y.shadow], target)


for _name in _CORE:
    _vector_product(_name)


# ---- einsum


def _c_einsum() -> Any:
    return private("numpy._core.einsumfunc").c_einsum


@replaces(_c_einsum())
def loop_einsum(*operands: Any, out: Any = None, **options: Any) -> Any:
    """NumPy's C loop of einsum."""
    parse = private("numpy._core.einsumfunc")._parse_einsum_input
    subscripts, result, arrays = transplanted(parse)(operands)
    explicit = f"{subscripts}->{result}"
    given = [trace_of(*operands).array(v) for v in arrays]
    trace = trace_of(*given)
    if out is None and all_known(given):
        return _folded(trace, explicit, given, options)
    _check_letters(subscripts.split(","), given, explicit)
    target = None if out is None else out_array(trace, out)
    if len(given) == 1 and target is None and len(set(subscripts)) == len(set(result)):
        (x,) = given
        view = np.einsum(explicit, x.shadow, **options)
        if isinstance(view, np.ndarray) and shares(x, view):
            return rewrap(trace, x, view)
    model = np.einsum(explicit, *(miniature(v.shadow) for v in given), optimize=False, **options)
    kind = model.dtype
    if target is not None:
        _check_out(explicit, given, target, options)
    trace.builder.loc = trace.loc()
    letters = subscripts.split(",")
    lengths = _lengths(letters, given)
    nodes = [
        trace.builder.broadcast_to(
            trace.builder.cast(trace.operand(v), kind), tuple(lengths[c] for c in word)
        )
        for word, v in zip(letters, given, strict=True)
    ]
    node = trace.builder.einsum(*nodes, subscripts=explicit)
    if target is not None:
        store(trace, target, node)
        return target
    return trace.fresh(node, like(np.asarray(model), node.shape, node.dtype), scalar=not node.shape)


def _folded(trace: Trace, explicit: str, given: list[Any], options: dict[str, Any]) -> Any:
    result = np.einsum(explicit, *map(concrete, given), optimize=False, **options)
    (first, *_) = given
    if isinstance(result, np.ndarray) and shares(first, result):
        return rewrap(trace, first, result)
    return trace.constant(result)


def _lengths(letters: list[str], given: list[Any]) -> dict[str, int]:
    """The length of each letter's axis; length 1 gives way."""
    lengths: dict[str, int] = {}
    for word, v in zip(letters, given, strict=True):
        for letter, length in zip(word, v.shape, strict=True):
            if lengths.get(letter, 1) == 1:
                lengths[letter] = length
    return lengths


def _check_letters(letters: list[str], given: list[Any], explicit: str) -> None:
    """Let NumPy raise for subscripts that do not fit the operands or whose lengths differ."""
    fits = all(len(word) == v.ndim for word, v in zip(letters, given, strict=True))
    if fits:
        lengths = _lengths(letters, given)
        fits = all(
            n in (1, lengths[c])
            for w, v in zip(letters, given, strict=True)
            for c, n in zip(w, v.shape, strict=True)
        ) and all(
            len({n for c, n in zip(w, v.shape, strict=True) if c == letter}) == 1
            for w, v in zip(letters, given, strict=True)
            for letter in set(w)
        )
    if not fits:
        np.einsum(explicit, *map(dummy, given))


def _check_out(explicit: str, given: list[Any], target: TracedArray, options: dict[str, Any]) -> None:
    small = tuple(min(n, 3) for n in target.shape)
    np.einsum(explicit, *(miniature(v.shadow) for v in given), out=np.empty(small, target.dtype), **options)
    lengths = _lengths(explicit.partition("->")[0].split(","), given)
    if target.shape != tuple(lengths[c] for c in explicit.partition("->")[2]):
        np.einsum(explicit, *map(dummy, given), out=np.empty(target.shape, target.dtype))


# ---- convolutions


def _convolution(function: Any) -> None:
    name = function.__name__

    @implements(function)
    def handler(a: Any, v: Any, mode: Any = "full" if name == "convolve" else "valid") -> Any:
        trace = trace_of(a, v)
        x, y = (_at_least_1d(o) for o in _pair(trace, a, v))
        if all_known(x, y):
            return fold(trace, function, x, y, mode)
        if x.ndim != 1 or y.ndim != 1 or not x.size or not y.size:
            function(np.empty(x.shape, x.dtype), np.empty(y.shape, y.dtype), mode)
        kind = function(np.ones(1, x.dtype), np.ones(1, y.dtype), mode).dtype
        if type(mode) is not str:
            mode = ("valid", "same", "full")[mode]
        trace.builder.loc = trace.loc()
        nodes = [trace.builder.cast(trace.operand(o), kind) for o in (x, y)]
        return trace.result(
            getattr(trace.builder, name)(*nodes, mode={"v": "valid", "s": "same", "f": "full"}[mode[0]])
        )


def _at_least_1d(x: TracedArray) -> Any:
    return x if x.ndim else x.reshape(1)


_convolution(np.convolve)
_convolution(np.correlate)
run_bodies(np.einsum, np.einsum_path, np.tensordot, np.outer, np.cross, np.kron)
add_methods({"dot": np.dot})
FUNCTIONS[np.dot] = dot
