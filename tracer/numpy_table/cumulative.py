"""Running sums, products and extrema: `ufunc.accumulate`, cumsum, cumprod and what is built on them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...compiler.ir.opdef import OPS
from ..traced_array import add_methods
from .bodies import run_bodies
from .reduce import accumulator
from .registry import implements, trace_of
from .support import axis_of, finish, fold

RUNNING_OF: dict[np.ufunc, str] = {
    np.add: "cumsum",
    np.multiply: "cumprod",
    np.maximum: "cummax",
    np.minimum: "cummin",
}


@implements("accumulate")
def accumulate(ufunc: np.ufunc, array: Any, axis: Any = 0, dtype: Any = None, out: Any = None) -> Any:
    """`ufunc.accumulate`: sums and products widen small integers, as their reductions do."""
    trace = trace_of(array, out)
    x = trace.array(array)
    if type(out) is tuple:
        (out,) = out
    if x.constant and out is None:
        return fold(trace, ufunc.accumulate, x, axis, dtype)
    target = None if out is None else np.empty((0,), trace.lift(out).dtype)
    if out is not None and np.shape(out) != x.shape:
        raise ValueError("provided out is the wrong size for the accumulation.")
    model = ufunc.accumulate(np.ones(0, x.dtype), 0, dtype, target)
    place = axis_of(axis, x.ndim) if x.ndim else 0
    if not x.ndim:
        ufunc.accumulate(np.ones((), x.dtype), axis)
    wanted = model.dtype if dtype is None and target is None else dtype
    trace.builder.loc = trace.loc()
    b = trace.builder
    name = RUNNING_OF.get(ufunc)
    if name in ("cumsum", "cumprod"):
        wanted = accumulator(ufunc, x.dtype, dtype if target is None or dtype is not None else target.dtype)
        node = b.make(OPS[name], (trace.operand(x),), {"axis": place, "dtype": np.dtype(wanted)})
    elif name is not None and (dtype is None or np.dtype(dtype) == x.dtype):
        node = b.make(OPS[name], (trace.operand(x),), {"axis": place})
    else:
        asked = None if dtype is None else np.dtype(dtype)
        node = b.ufunc_accumulate(trace.operand(x), ufunc=ufunc.__name__, axis=place, dtype=asked)
    return finish(trace, node, lambda v: ufunc.accumulate(v, place), [x.shadow], out)


def _running(ufunc: np.ufunc) -> Any:
    def handler(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = trace_of(a, out).array(a)
        if dtype is not None:
            # `accumulate` takes no byte order.
            dtype = np.dtype(dtype).newbyteorder("=")
        if axis is None:
            x, axis = x.ravel(), 0
        elif not x.ndim:
            axis_of(axis, 1)
            x = x.reshape(1)
        return accumulate(ufunc, x, axis, dtype, out)

    return handler


implements(np.cumsum)(_running(np.add))
implements(np.cumprod)(_running(np.multiply))
run_bodies(np.diff, np.ediff1d, np.trapezoid)
if hasattr(np, "cumulative_sum"):
    run_bodies(np.cumulative_sum, np.cumulative_prod)
add_methods({"cumsum": np.cumsum, "cumprod": np.cumprod})
