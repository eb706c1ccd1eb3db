"""np.fft: transforms along one axis are primitives, those along several run NumPy's own bodies over them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..traced_array import TracedArray
from .bodies import run_bodies
from .elementwise import store
from .layout import like, miniature
from .registry import implements, refuse, trace_of
from .support import fold, out_array


def _length(name: str, x: TracedArray, n: Any, axis: int) -> int:
    """How many points are transformed."""
    if n is not None:
        return int(operator.index(n))
    length: int = x.shape[axis]
    return (length - 1) * 2 if name == "irfft" else length


def _transform(function: Callable[..., Any]) -> None:
    name = function.__name__

    @implements(function)
    def handler(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        trace = trace_of(a, out)
        x = trace.array(a)
        if out is None and x.constant:
            return fold(trace, function, x, n, axis, norm)
        try:
            model = function(miniature(x.shadow), n, axis, norm)
        except TypeError:
            # The message names a loop by the parity of the length.
            function(np.ones(x.shape, x.dtype), n, axis, norm)
            raise
        if name == "irfft" and x.dtype in (np.float16, np.float32):
            raise refuse(
                f"np.fft.irfft of {x.dtype}",
                why="NumPy computes it in double precision with a scale in single precision.",
                fixes=[("", "np.fft.irfft(x.astype(np.complex64))")],
            )
        length = _length(name, x, n, axis)
        place = axis % x.ndim
        trace.builder.loc = trace.loc()
        operand = trace.operand(x)
        if name == "irfft":
            operand = trace.builder.cast(operand, np.promote_types(model.dtype, np.complex64))
        node = getattr(trace.builder, name)(operand, n=length, axis=place, norm=norm or "backward")
        if out is None:
            return trace.fresh(node, like(model, node.shape, node.dtype))
        target = out_array(trace, out)
        if target.shape != node.shape or not np.can_cast(node.dtype, target.dtype, "same_kind"):
            function(np.empty(x.shape, x.dtype), n, axis, norm, out=np.empty(target.shape, target.dtype))
        store(trace, target, node)
        return target


for _function in (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft):
    _transform(_function)
run_bodies(
    np.fft.hfft, np.fft.ihfft, np.fft.fft2, np.fft.ifft2, np.fft.fftn, np.fft.ifftn, np.fft.rfft2,
    np.fft.rfftn, np.fft.irfft2, np.fft.irfftn, np.fft.fftshift, np.fft.ifftshift,
)  # fmt: skip
