"""The special functions of scipy.special that are primitives, np.sinc and np.i0.

With SciPy installed the reference is SciPy's own function, bit for bit; without it, that of
`special_values.py`. Names are those of the ufuncs. Operands are float32 or float64. Derivatives stay exact
at zeros of a factor (xlogy, entr), at 0 (sinc) and in the tails (log_ndtr, expit).
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, Vjp, register
from ..ir.types import Type, array_type
from . import special_values
from .base import (
    C_SHAPES,
    arrays,
    common_shape,
    complexes,
    conj,
    normal,
    normals,
    rest_of_sigmoid,
    sigmoid,
    uniforms,
    values,
)

C_FLOATS = "C2: operands are all float32 or all float64"
C_ORDER = "C3: order is a whole number, not negative"


@lru_cache(maxsize=64)
def scipy_function(name: str) -> Callable[..., Any] | None:
    """The function of this name in scipy.special, None without SciPy; imported when it is first needed."""
    try:
        return getattr(importlib.import_module("scipy.special"), name)  # type: ignore[no-any-return]
    except ImportError:
        return None


def special(
    name: str,
    vjp: Vjp,
    doc: str,
    samples: tuple[Sample, ...],
    own: Callable[..., Any] | None = None,
    scipy: bool = True,
) -> OpDef:
    """Register the ufunc `scipy.special.<name>` as an elementwise primitive; `own` is its stand-in."""
    instead = own if own is not None else getattr(special_values, name)

    def rule(types: Sequence[Type], attrs: Attrs) -> Type:
        return _float_rule(name, types)

    def value(*operands: Any) -> Any:
        return ((scipy_function(name) if scipy else None) or instead)(*operands)

    record = OpDef(name, doc, Kind.ELEMENTWISE, rule, value, vjp, (C_SHAPES, C_FLOATS), samples)
    return register(record)


def _float_rule(name: str, types: Sequence[Type]) -> Type:
    """One shape, and one dtype of float32 and float64 (C1, C2)."""
    operands = arrays(name, types, "C2")
    shape = common_shape(name, operands)
    dtypes = {operand.dtype for operand in operands}
    if len(dtypes) != 1 or not dtypes <= {np.dtype("f4"), np.dtype("f8")}:
        OPS[name].fail("C2", f"operands are {', '.join(map(str, types))}")
    return array_type(shape, dtypes.pop())


def scaled(b: Builder, node: Node, factor: float) -> Node:
    return b.multiply(node, b.scalar(factor, node))


_any = (
    Sample("vector", normal(5)),
    Sample("float32", normal(2, 2, dtype="f4")),
    Sample("empty", normal(0)),
    Sample("complex", values([1j]), breaks="C2"),
    Sample("integers", values([1, 2]), breaks="C2"),
)


def _within(low: float, high: float) -> tuple[Sample, ...]:
    """The samples of a function of one operand that is regular between low and high."""
    single = Sample("float32", uniforms(low, high, (4,), dtype="f4"))
    return Sample("vector", uniforms(low, high, (5,))), single, *_any[2:]


# ---- the error function and the normal distribution


def erf_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    slope = scaled(b, b.exp(b.negative(b.multiply(x, x))), 2 / math.sqrt(math.pi))
    return (b.multiply(ct, slope),)


def erfc_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    slope = scaled(b, b.exp(b.negative(b.multiply(x, x))), -2 / math.sqrt(math.pi))
    return (b.multiply(ct, slope),)


def erfcx_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    slope = b.subtract(scaled(b, b.multiply(x, node), 2), b.scalar(2 / math.sqrt(math.pi), node))
    return (b.multiply(ct, slope),)


def ndtr_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    density = scaled(b, b.exp(scaled(b, b.multiply(x, x), -0.5)), 1 / math.sqrt(2 * math.pi))
    return (b.multiply(ct, density),)


def log_ndtr_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The density over the distribution, as sqrt(2/pi) / erfcx(-x/sqrt 2): neither underflows."""
    (x,) = node.inputs
    ratio = b.divide(b.scalar(math.sqrt(2 / math.pi), x), b.erfcx(scaled(b, x, -math.sqrt(0.5))))
    return (b.multiply(ct, ratio),)


special("erf", erf_vjp, "the error function", _any)
special("erfc", erfc_vjp, "1 - erf(x), accurate for large x", _any)
special("erfcx", erfcx_vjp, "exp(x^2) erfc(x)", _any)
special("ndtr", ndtr_vjp, "the standard normal distribution function", _any)
_tail = Sample("tail", values([-40.0, -12.5, 20.0]))
special("log_ndtr", log_ndtr_vjp, "the logarithm of ndtr", (*_any, _tail))


# ---- the logistic function


def expit_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """s (1 - s), through the result and exp, which is quicker than another expit."""
    rest = rest_of_sigmoid(b, b.exp(b.negative(node.inputs[0])), node)
    return (b.multiply(ct, b.multiply(node, rest)),)


def logit_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.divide(ct, b.multiply(x, b.subtract(b.scalar(1, x), x))),)


def log_expit_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    (x,) = node.inputs
    return (b.multiply(ct, sigmoid(b, b.negative(x))),)


_saturated = Sample("saturated", values([-800.0, 800.0]))
special("expit", expit_vjp, "1 / (1 + exp(-x))", (*_any, _saturated))
special("logit", logit_vjp, "log(x / (1 - x)), the inverse of expit", _within(0.1, 0.9))
special("log_expit", log_expit_vjp, "the logarithm of expit", (*_any, _saturated))


# ---- gamma and its logarithmic derivatives


def gammaln_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, b.psi(node.inputs[0])),)


def gamma_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, b.multiply(node, b.psi(node.inputs[0]))),)


def psi_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, b.polygamma(node.inputs[0], order=1)),)


def polygamma_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, b.polygamma(node.inputs[0], order=node.attrs["order"] + 1)),)


special("gammaln", gammaln_vjp, "the logarithm of |gamma(x)|", _within(0.3, 6))
special("gamma", gamma_vjp, "the gamma function", _within(0.3, 6))
special("psi", psi_vjp, "digamma, the derivative of gammaln", _within(0.3, 6))


def ordered(
    name: str,
    vjp: Vjp,
    doc: str,
    samples: tuple[Sample, ...],
    value: Callable[[Any, int], Any],
    kinds: str = "f",
) -> OpDef:
    """Register a family of functions told apart by the attr `order`."""

    def rule(types: Sequence[Type], attrs: Attrs) -> Type:
        if not isinstance(attrs["order"], int) or attrs["order"] < 0:
            OPS[name].fail("C3", f"order is {attrs['order']!r}")
        if "c" not in kinds:
            return _float_rule(name, types)
        (type_,) = arrays(name, types, "C2")
        if type_.dtype.kind not in kinds:
            OPS[name].fail("C2", f"the operand is {type_}")
        return type_

    reference: Callable[..., Any] = lambda x, order: value(x, order)  # noqa: E731
    operands = "C2: the operand is floating or complex" if "c" in kinds else C_FLOATS
    return register(
        OpDef(name, doc, Kind.ELEMENTWISE, rule, reference, vjp, (C_SHAPES, operands, C_ORDER), samples)
    )


def _with_order(samples: Sequence[Sample], *orders: int) -> tuple[Sample, ...]:
    """The samples once for every order, and one whose order is negative."""
    made = [
        Sample(
            f"{sample.name}_{order}", sample.inputs, {"order": order}, sample.breaks, sample.differentiable
        )
        for order in orders
        for sample in samples
    ]
    return *made, Sample("negative_order", normal(3), {"order": -1}, breaks="C3")


def polygamma_value(x: Any, order: int) -> Any:
    """SciPy's composition of its own parts, in the operand's dtype."""
    zeta = scipy_function("zeta")
    if order == 0:
        return (scipy_function("psi") or special_values.psi)(x)
    if zeta is None:
        return special_values.polygamma(x, order=order)
    sign = 1.0 if order % 2 else -1.0
    value = sign * math.factorial(order) * zeta(order + 1, np.asarray(x, np.float64))
    return value.astype(np.asarray(x).dtype)


ordered(
    "polygamma",
    polygamma_vjp,
    "the derivative of psi of the given order",
    _with_order(_within(0.3, 6), 0, 1, 2),
    polygamma_value,
)


# ---- products with logarithms


def xlogy_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """log y and x / y; both 0 where x and y are 0."""
    x, y = node.inputs
    nothing = b.equal(x, b.scalar(0, x))
    safe = b.where(b.logical_and(nothing, b.less_equal(y, b.scalar(0, y))), b.scalar(1, y), y)
    return b.multiply(ct, b.log(safe)), b.multiply(ct, b.divide(x, safe))


def xlog1py_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """log(1 + y) and x / (1 + y); both 0 where x is 0 and y is -1."""
    x, y = node.inputs
    nothing = b.equal(x, b.scalar(0, x))
    safe = b.where(b.logical_and(nothing, b.less_equal(y, b.scalar(-1, y))), b.scalar(0, y), y)
    return b.multiply(ct, b.log1p(safe)), b.multiply(ct, b.divide(x, b.add(b.scalar(1, y), safe)))


def entr_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """-log x - 1, inf at 0."""
    (x,) = node.inputs
    return (b.negative(b.multiply(ct, b.add(b.log(x), b.scalar(1, x)))),)


def _ratio(b: Builder, x: Node, y: Node) -> Node:
    """x / y, and 0 where both are 0."""
    zero = b.scalar(0, y)
    both = b.logical_and(b.equal(x, zero), b.equal(y, zero))
    return b.divide(x, b.where(both, b.scalar(1, y), y))


def rel_entr_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """log(x / y) + 1 and -x / y."""
    x, y = node.inputs
    ratio = _ratio(b, x, y)
    return b.multiply(ct, b.add(b.log(ratio), b.scalar(1, x))), b.negative(b.multiply(ct, ratio))


def kl_div_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """log(x / y) and 1 - x / y."""
    x, y = node.inputs
    ratio = _ratio(b, x, y)
    return b.multiply(ct, b.log(ratio)), b.multiply(ct, b.subtract(b.scalar(1, y), ratio))


_pair = (
    Sample("vectors", uniforms(0.2, 3, (5,), (5,))),
    Sample("scalar_operand", uniforms(0.2, 3, (2, 3), ())),
    Sample("float32", uniforms(0.2, 3, (4,), (4,), dtype="f4")),
    Sample("empty", normals((0,), (0,))),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
)
_zero = Sample("zero", values([0.0, 0.0, 0.0], [0.0, 2.0, -0.5]), differentiable=False)
special("xlogy", xlogy_vjp, "x log y, 0 where x is 0", (*_pair, _zero))
special("xlog1py", xlog1py_vjp, "x log(1 + y), 0 where x is 0", (*_pair, _zero))
special("entr", entr_vjp, "-x log x, 0 at 0", _within(0.2, 3))
special("rel_entr", rel_entr_vjp, "x log(x / y)", _pair)
special("kl_div", kl_div_vjp, "x log(x / y) - x + y", _pair)


# ---- Bessel functions and sinc


def i0_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return (b.multiply(ct, b.i1(node.inputs[0])),)


def i1_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """(I_0 + I_2) / 2."""
    (x,) = node.inputs
    return (b.multiply(ct, scaled(b, b.add(b.i0(x), b.bessel_i(x, order=2)), 0.5)),)


def bessel_i_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """I_1 for order 0, else the mean of the neighbours (DLMF 10.29.1)."""
    (x,) = node.inputs
    order = node.attrs["order"]
    above = b.bessel_i(x, order=order + 1)
    if order == 0:
        return (b.multiply(ct, above),)
    return (b.multiply(ct, scaled(b, b.add(b.bessel_i(x, order=order - 1), above), 0.5)),)


def bessel_i_value(x: Any, order: int) -> Any:
    """SciPy's functions for order 0 and 1, and its iv for the others."""
    if order < 2:
        function = scipy_function(f"i{order}")
        return function(x) if function is not None else special_values.bessel_i(x, order=order)
    function = scipy_function("iv")
    if function is None:
        return special_values.bessel_i(x, order=order)
    return function(np.asarray(order, np.asarray(x).dtype), x)


_near_zero = Sample("near_zero", values([1e-300, 0.0, -1e-5]))
special(
    "i0",
    i0_vjp,
    "the modified Bessel function of order 0, with SciPy's bits",
    (*_any, _near_zero),
    lambda x: special_values.bessel_i(x, order=0),
)
special(
    "i1",
    i1_vjp,
    "the modified Bessel function of order 1",
    (*_any, _near_zero),
    lambda x: special_values.bessel_i(x, order=1),
)
ordered(
    "bessel_i",
    bessel_i_vjp,
    "the modified Bessel function of the first kind of the given order",
    _with_order(_any, 0, 1, 2, 3),
    bessel_i_value,
)
special(
    "numpy_i0",
    i0_vjp,
    "np.i0, the modified Bessel function of order 0 with NumPy's bits",
    (*_any, _near_zero),
    np.i0,
    scipy=False,
)


def sinc_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    slope = b.sinc(node.inputs[0], order=node.attrs["order"] + 1)
    return (b.multiply(ct, conj(b, slope)),)


ordered(
    "sinc",
    sinc_vjp,
    "the derivative of the given order of sin(pi x) / (pi x); order 0 is np.sinc",
    _with_order((*_any[:3], _any[4], complexes(4), _near_zero), 0, 1, 2),
    special_values.sinc_derivative,
    kinds="fc",
)
