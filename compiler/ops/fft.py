"""Discrete Fourier transforms along one axis; those along several are compositions.

With its scale moved to the other side, each transform is the adjoint of its inverse, so every vjp is a
transform again. `n` is the length transformed: the operand is cut or filled with zeros to it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import Type, array_type
from .base import arrays, is_complex, normal
from .join import slice_along

C_ATTRS = "C1: axis is an axis of the operand, n is at least 1, norm is backward, ortho or forward"
_OPPOSITE = {"backward": "forward", "ortho": "ortho", "forward": "backward"}


@lru_cache(maxsize=256)
def spectrum_dtype(name: str, dtype: Any) -> Any:
    """The dtype of NumPy's transform of this dtype."""
    return getattr(np.fft, name)(np.ones(2, dtype)).dtype


def transform_type(name: str, types: Sequence[Type], attrs: Attrs) -> Type:
    (x,) = arrays(name, types)
    axis, n = attrs["axis"], attrs["n"]
    if not 0 <= axis < x.ndim or n < 1 or attrs["norm"] not in _OPPOSITE:
        OPS[name].fail("C1", f"{dict(attrs)} for {x}")
    if (name == "rfft" and x.dtype.kind == "c") or (name == "irfft" and x.dtype.kind != "c"):
        OPS[name].fail("C2", f"the operand is {x}")
    length = n // 2 + 1 if name == "rfft" else n
    return array_type((*x.shape[:axis], length, *x.shape[axis + 1 :]), spectrum_dtype(name, x.dtype))


def transform_value(name: str, x: Any, n: int, axis: int, norm: str) -> Any:
    return getattr(np.fft, name)(x, n=n, axis=axis, norm=norm)


def fit(b: Builder, ct: Node, axis: int, length: int) -> Node:
    """The cotangent cut or filled with zeros to the operand's length."""
    have = ct.shape[axis]
    if have > length:
        return slice_along(b, ct, axis, 0, length)
    if have == length:
        return ct
    nothing, missing = [0] * len(ct.shape), [0] * len(ct.shape)
    missing[axis] = length - have
    return b.pad(ct, b.scalar(0, ct), before=tuple(nothing), after=tuple(missing))


def back(b: Builder, node: Node, ct: Node, adjoint: str) -> Node:
    """The transform that is the adjoint up to its scale."""
    attrs = node.attrs
    return b.make(OPS[adjoint], (ct,), {**attrs, "norm": _OPPOSITE[attrs["norm"]]})


def as_primal(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    ct = fit(b, ct, node.attrs["axis"], x.shape[node.attrs["axis"]])
    if is_complex(ct) and not is_complex(x):
        ct = b.real(ct)
    return (b.cast(ct, x.dtype),)


def fft_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return as_primal(b, node, back(b, node, ct, "ifft"))


def ifft_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return as_primal(b, node, back(b, node, ct, "fft"))


def weighted(b: Builder, ct: Node, axis: int, n: int, inner: float) -> Node:
    """Frequencies that stand for a pair, all but the first and an even length's last, times `inner`."""
    weights = np.full(n // 2 + 1, inner)
    weights[0] = 1
    if n % 2 == 0:
        weights[-1] = 1
    shape = [1] * len(ct.shape)
    shape[axis] = len(weights)
    return b.multiply(ct, b.broadcast_to(b.constant(weights.reshape(shape).astype(ct.dtype)), ct.shape))


def rfft_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """irfft counts each pair of frequencies twice."""
    axis, n = node.attrs["axis"], node.attrs["n"]
    return as_primal(b, node, back(b, node, weighted(b, ct, axis, n, 0.5), "irfft"))


def irfft_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    axis, n = node.attrs["axis"], node.attrs["n"]
    return as_primal(b, node, weighted(b, back(b, node, ct, "rfft"), axis, n, 2))


def _complex(*shape: int) -> Any:
    return lambda rng: (rng.normal(size=shape) + 1j * rng.normal(size=shape),)


def _attrs(n: int, axis: int = 0, norm: str = "backward") -> dict[str, Any]:
    return {"n": n, "axis": axis, "norm": norm}


_bad = (
    Sample("axis_beyond", _complex(4), _attrs(4, 1), breaks="C1"),
    Sample("length", _complex(4), _attrs(0), breaks="C1"),
    Sample("norm", _complex(4), _attrs(4, 0, "half"), breaks="C1"),
)
_for_complex = (
    Sample("even", _complex(4), _attrs(4)),
    Sample("odd", _complex(5), _attrs(5)),
    Sample("columns", _complex(4, 3), _attrs(4, 0, "ortho")),
    Sample("rows", _complex(3, 4), _attrs(4, 1, "forward")),
    Sample("cut", _complex(6), _attrs(4)),
    Sample("filled", _complex(3), _attrs(5)),
    Sample("one", _complex(1), _attrs(1)),
    *_bad,
)
_for_real = (
    Sample("real_even", normal(4), _attrs(4)),
    Sample("real_odd", normal(2, 5), _attrs(5, 1, "forward")),
    Sample("real_ortho", normal(4), _attrs(4, 0, "ortho")),
    Sample("real_cut", normal(6), _attrs(3)),
    Sample("real_filled", normal(3), _attrs(6)),
    Sample("float32", normal(4, dtype="f4"), _attrs(4)),
)
for _name, _vjp, _samples, _doc in (
    ("fft", fft_vjp, (*_for_complex, *_for_real), "the discrete Fourier transform"),
    ("ifft", ifft_vjp, (*_for_complex, *_for_real), "the inverse discrete Fourier transform"),
    (
        "rfft",
        rfft_vjp,
        (*_for_real, *_bad, Sample("complex", _complex(4), _attrs(4), breaks="C2")),
        "the first half of the transform of a real operand",
    ),
    (
        "irfft",
        irfft_vjp,
        (
            *_for_complex,
            Sample("longest", _complex(4), _attrs(6)),
            Sample("real", normal(4), _attrs(4), breaks="C2"),
        ),
        "the real inverse transform, given the first half",
    ),
):
    register(
        OpDef(
            _name,
            _doc,
            Kind.OTHER,
            partial(transform_type, _name),
            partial(transform_value, _name),
            _vjp,
            (C_ATTRS, "C2: rfft takes a real operand, irfft a complex one"),
            _samples,
        )
    )
