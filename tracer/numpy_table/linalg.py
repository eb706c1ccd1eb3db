"""np.linalg: NumPy's own bodies down to the LAPACK gufuncs, which are primitives.

The gufuncs are reached by name; the dtypes they compute in are those of the signature that the body gives.
Functions whose bodies branch on values are written by hand.
Whether a matrix is singular is found out at run time, where NumPy raises as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from ...compiler.ir.node import Node
from ...compiler.ir.opdef import TypeRuleError
from ...compiler.ir.types import TupleType
from ..storage import Array
from ..trace import Trace
from ..traced_array import TracedArray
from .bodies import private, replaces, run_bodies
from .layout import like, miniature
from .registry import implements, refuse, trace_of
from .support import all_known, fold


@replaces(np.errstate)
def errstate(**settings: Any) -> Any:
    """Bodies set handlers for singular matrices, which the primitives do themselves; the rest is honoured."""
    return nullcontext() if "call" in settings else np.errstate(**settings)


_of_singular_values = private("numpy.linalg._linalg")._multi_svd_norm


@replaces(_of_singular_values)
def norm_of_singular_values(x: Any, row_axis: int, col_axis: int, op: Any, *initial: Any) -> Any:
    """What np.linalg.norm is made of where it is a fold of singular values.

    They are no less than 0: their sizes are the same numbers, and let a norm have a gradient of 0 at 0.
    """
    s: Any = np.linalg.svd(np.moveaxis(x, (row_axis, col_axis), (-2, -1)), compute_uv=False)
    options = zip(("initial",), initial or _of_singular_values.__defaults__ or (), strict=False)
    return op(np.abs(s), axis=-1, **dict(options))


def _stacked(trace: Trace, arrays: list[TracedArray], core: list[int], dtypes: list[Any]) -> list[Node]:
    """The operands of a gufunc in its dtypes, their leading axes broadcast together."""
    b = trace.builder
    lead = np.broadcast_shapes(*(a.shape[: a.ndim - n] for a, n in zip(arrays, core, strict=True)))
    return [
        b.broadcast_to(b.cast(trace.operand(a), dtype), lead + a.shape[a.ndim - n :])
        for a, n, dtype in zip(arrays, core, dtypes, strict=True)
    ]


def _unit(shadow: Array) -> Array:
    """A stack of unit matrices laid out as the operand, for LAPACK to be asked about layouts."""
    small = miniature(shadow)
    if small.ndim > 1:
        small[...] = np.eye(*small.shape[-2:])
    return small


def _results(trace: Trace, node: Node, function: Callable[..., Any], arrays: list[TracedArray]) -> Any:
    """The results of a primitive, laid out as the function lays out its own."""
    models = function(*(_unit(a.shadow) for a in arrays))
    if not isinstance(node.type, TupleType):
        return _laid_out(trace, node, models)
    parts = [trace.builder.get(node, index=i) for i in range(len(node.type.items))]
    return tuple(_laid_out(trace, part, model) for part, model in zip(parts, models, strict=True))


def _laid_out(trace: Trace, node: Node, model: Any) -> Any:
    return trace.fresh(node, like(np.asarray(model), node.shape, node.dtype), scalar=not node.shape)


def _register_gufuncs() -> None:
    from numpy.linalg import _umath_linalg as umath

    def gufunc(name: str, core: list[int], op: str, function: Callable[..., Any], **attrs: Any) -> None:
        original = getattr(umath, name, None)
        if original is None:
            return

        @implements(original)
        def handler(*operands: Any, signature: str | None = None, **options: Any) -> Any:
            trace = trace_of(*operands)
            arrays = [trace.array(o) for o in operands]
            if all_known(arrays):
                return _folded(trace, original, arrays, signature)
            letters = (signature or "").partition("->")[0] or "".join(a.dtype.char for a in arrays)
            trace.builder.loc = trace.loc()
            nodes = _stacked(trace, arrays, core, [np.dtype(c) for c in letters])
            try:
                node = getattr(trace.builder, op)(*nodes, **attrs)
            except TypeRuleError:
                # NumPy's own words for shapes that do not fit.
                original(*(np.ones(a.shape, a.dtype) for a in arrays), signature=signature)
                raise
            return _results(trace, node, function, arrays)

    gufunc("inv", [2], "inv", np.linalg.inv)
    gufunc("solve", [2, 2], "solve", np.linalg.solve)
    gufunc("det", [2], "det", np.linalg.det)
    gufunc("slogdet", [2], "slogdet", np.linalg.slogdet)
    for triangle in ("lo", "up"):
        upper, letter = triangle == "up", triangle[0].upper()
        gufunc(f"cholesky_{triangle}", [2], "cholesky", np.linalg.cholesky, upper=upper)
        for op in ("eigh", "eigvalsh"):
            real: Any = getattr(np.linalg, op)
            gufunc(f"{op}_{triangle}", [2], op, lambda a, f=real, u=letter: f(a, u), lower=not upper)

    def svd_of(full: bool) -> Callable[..., Any]:
        return lambda a: np.linalg.svd(a, full_matrices=full)

    # Older versions have one for tall and one for wide matrices.
    for name in ("svd", "svd_m", "svd_n"):
        gufunc(f"{name}_f", [2], "svd", svd_of(True), full_matrices=True)
        gufunc(f"{name}_s", [2], "svd", svd_of(False), full_matrices=False)
        gufunc(name, [2], "svdvals", lambda a: np.linalg.svd(a, compute_uv=False))

    @implements(umath.solve1)
    def solve1(a: Any, b: Any, signature: str | None = None, **options: Any) -> Any:
        """One right side: a single column."""
        trace = trace_of(a, b)
        columns = trace.array(b)[..., None]
        handler: Any = umath.solve
        return handler(trace.array(a), columns, signature=signature)[..., 0]


def _folded(trace: Trace, function: Any, arrays: list[TracedArray], signature: str | None) -> Any:
    options = {} if signature is None else {"signature": signature}
    with np.errstate(invalid="raise", over="ignore", divide="ignore", under="ignore"):
        try:
            return fold(trace, function, *arrays, **options)
        except FloatingPointError:
            raise np.linalg.LinAlgError("Singular matrix") from None


_register_gufuncs()


def _checked(function: Callable[..., Any], x: TracedArray, *args: Any, **kwargs: Any) -> Any:
    """NumPy's own call on a small unit matrix: raises for shapes, dtypes and arguments that it refuses."""
    if x.ndim < 2:
        return function(np.empty(x.shape, x.dtype), *args, **kwargs)
    return function(_unit(x.shadow), *args, **kwargs)


def _as(trace: Trace, x: TracedArray, model: Any) -> Node:
    """The operand in the dtype in which NumPy computes results of the model's kind."""
    return trace.builder.cast(trace.operand(x), np.promote_types(model.dtype, np.float32))


@implements(np.linalg.qr)
def qr(a: Any, mode: str = "reduced") -> Any:
    """np.linalg.qr in the modes reduced, complete and r."""
    trace = trace_of(a)
    x = trace.array(a)
    model = _checked(np.linalg.qr, x, mode=mode)
    if mode not in ("reduced", "complete", "r"):
        raise refuse(f"np.linalg.qr with mode={mode!r}")
    last = model if mode == "r" else model[1]
    trace.builder.loc = trace.loc()
    node = trace.builder.qr(_as(trace, x, last), mode="reduced" if mode == "r" else mode)
    if mode == "r":
        return _laid_out(trace, trace.builder.get(node, index=1), model)
    parts = [trace.builder.get(node, index=i) for i in range(2)]
    return type(model)(*(_laid_out(trace, part, m) for part, m in zip(parts, model, strict=True)))


@implements(np.linalg.lstsq)
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """np.linalg.lstsq; the matrix is taken to have full rank where the residuals are used."""
    trace = trace_of(a, b)
    x, y = trace.array(a), trace.array(b)
    if rcond is not None and type(rcond) not in (int, float):
        raise refuse("np.linalg.lstsq with an rcond that is no number")
    with np.errstate(all="ignore"):
        model = np.linalg.lstsq(
            np.eye(*(x.shape if x.ndim == 2 else (1, 1)), dtype=x.dtype)
            if x.ndim == 2
            else np.empty(x.shape),
            np.ones(y.shape, y.dtype),
            rcond,
        )
    kind = model[0].dtype
    wide = np.promote_types(kind, np.float64)
    m, n = x.shape
    cut = float(np.finfo(np.float64).eps * max(m, n)) if rcond is None else float(rcond)
    trace.builder.loc = trace.loc()
    builder = trace.builder
    columns = y if y.ndim == 2 else y[:, None]
    nodes = [builder.cast(trace.operand(v), wide) for v in (x, columns)]
    node = builder.lstsq(*nodes, rcond=cut)
    solution, rank, values = (builder.get(node, index=i) for i in range(3))
    if y.ndim == 1:
        solution = builder.reshape(solution, (n,))
    real = np.empty(0, kind).real.dtype
    residuals: Any = trace.constant(np.array([], real))
    if m > n:
        residuals = trace.result(builder.cast(builder.residuals(*nodes, rcond=cut), real))
    return (
        _laid_out(trace, builder.cast(solution, kind), model[0]),
        residuals,
        trace.result(rank),
        trace.result(builder.cast(values, real)),
    )


@implements(np.linalg.pinv)
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue) -> Any:
    """np.linalg.pinv with a known cut-off."""
    trace = trace_of(a, rcond)
    x = trace.array(a)
    options: dict[str, Any] = {} if rtol is np._NoValue else {"rtol": rtol}
    model = _checked(np.linalg.pinv, x, rcond, hermitian, **options)
    if rcond is None:
        if rtol is np._NoValue:
            rcond = 1e-15
        elif rtol is None:
            rcond = max(x.shape[-2:]) * np.finfo(x.dtype).eps
        else:
            rcond = rtol
    if np.ndim(rcond) or type(rcond) is TracedArray:
        raise refuse("np.linalg.pinv with an array as cut-off")
    trace.builder.loc = trace.loc()
    node = trace.builder.pinv(_as(trace, x, model), rcond=float(rcond), hermitian=bool(hermitian))
    return _laid_out(trace, node, model)


def _general(name: str, function: Callable[..., Any]) -> None:
    @implements(function)
    def handler(a: Any) -> Any:
        trace = trace_of(a)
        x = trace.array(a)
        model = _checked(function, x)
        if x.dtype.kind != "c":
            raise refuse(
                f"np.linalg.{name} of a real matrix",
                why="Whether NumPy's result is real or complex depends on the values.",
                fixes=[
                    ("complex results", f"np.linalg.{name}(a + 0j)"),
                    ("a symmetric matrix", f"np.linalg.{name}h(a)"),
                ],
            )
        trace.builder.loc = trace.loc()
        node = getattr(trace.builder, name)(trace.operand(x))
        results = _results(trace, node, function, [x])
        return type(model)(*results) if isinstance(model, tuple) else results


_general("eig", np.linalg.eig)
_general("eigvals", np.linalg.eigvals)


@implements(np.linalg.cond)
def cond(x: Any, p: Any = None) -> Any:
    """np.linalg.cond; a singular matrix raises at run time unless p is None, 2 or -2."""
    a = trace_of(x).array(x)
    kind = _checked(np.linalg.cond, a, p).dtype
    if p is None or p in (2, -2):
        s = np.linalg.svd(a, compute_uv=False)
        result = s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    else:
        result = np.linalg.norm(a, p, axis=(-2, -1)) * np.linalg.norm(np.linalg.inv(a), p, axis=(-2, -1))
    broken = np.isnan(result) & ~np.isnan(a).any(axis=(-2, -1))
    filled: Any = np.where(broken, result.dtype.type(np.inf), result).astype(kind, copy=False)
    return filled if filled.ndim else filled[()]


run_bodies(
    np.linalg.inv, np.linalg.solve, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.svd,
    np.linalg.svdvals, np.linalg.eigh, np.linalg.eigvalsh, np.linalg.matrix_rank, np.linalg.matrix_power,
    np.linalg.multi_dot, np.linalg.norm, np.linalg.matrix_norm, np.linalg.vector_norm, np.linalg.tensorinv,
    np.linalg.tensorsolve, np.linalg.trace, np.linalg.outer, np.linalg.cross, np.linalg.vecdot,
    np.linalg.matmul, np.linalg.tensordot, np.trace,
)  # fmt: skip
