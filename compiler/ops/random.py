"""Draws of random numbers: ordered steps that call the very generator that came as an argument.

The generator goes in and comes out again, so that draws keep their order and none is dropped or merged.
Values have no derivative by the parameters; permutations, shuffles and choices of a traced array are draws
of positions followed by `gather`, which has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.literal import Literal
from ..ir.opdef import OPS, Attrs, Kind, NotDifferentiable, OpDef, Sample, register
from ..ir.types import GENERATOR, GeneratorType, TupleType, Type, array_of, array_type, scalar_type
from .base import normal

FLOATS = frozenset(
    (
        *("beta", "chisquare", "exponential", "f", "gamma", "gumbel", "laplace", "logistic", "lognormal"),
        *("noncentral_chisquare", "noncentral_f", "normal", "pareto", "power", "rayleigh"),
        *("standard_cauchy", "standard_t", "triangular", "uniform", "vonmises", "wald", "weibull"),
    )
)
SIZED_FLOATS = frozenset(["random", "standard_exponential", "standard_gamma", "standard_normal"])
COUNTS = frozenset(
    ("binomial", "geometric", "hypergeometric", "logseries", "negative_binomial", "poisson", "zipf")
)
VECTORS = {"dirichlet": "alpha", "multinomial": "pvals", "multivariate_hypergeometric": "colors"}
POSITIONS = frozenset(("choice", "permutation", "permuted"))
METHODS = (
    FLOATS | SIZED_FLOATS | COUNTS | POSITIONS | frozenset((*VECTORS, "integers", "multivariate_normal"))
)


# Parameters that are no arrays to be broadcast.
OPTIONS = frozenset(
    ("size", "dtype", "endpoint", "replace", "shuffle", "axis", "method", "check_valid", "tol")
)


def value_of(value: Any) -> Any:
    """A fixed parameter's value: what a Literal holds, anything else itself."""
    return value.value if isinstance(value, Literal) else value


def draw_type(types: Sequence[Type], attrs: Attrs) -> Type:
    """The generator and the values."""
    generator, *rest = types
    method, names, fixed = attrs["method"], attrs["names"], dict(attrs["fixed"])
    if method not in METHODS:
        OPS["draw"].fail("C1", f"Generator.{method} is no known draw")
    if not isinstance(generator, GeneratorType) or len(names) != len(rest) or {*names} & {*fixed}:
        OPS["draw"].fail("C2", f"parameters {names} and {tuple(fixed)} for {len(rest)} operands")
    shapes = {name: array_of(type_).shape for name, type_ in zip(names, rest, strict=True)}
    shapes.update({name: np.shape(value_of(v)) for name, v in fixed.items() if name not in OPTIONS})
    size = fixed.get("size")
    if method == "permuted":
        values: Type = rest[0]
    elif method == "permutation":
        values = array_type((fixed["x"],), np.dtype("i8"))
    elif method in VECTORS or method == "multivariate_normal":
        values = _vectors_type(method, shapes, (size,) if isinstance(size, int) else size)
    else:
        values = _numbers_type(method, shapes, (size,) if isinstance(size, int) else size, fixed)
    return TupleType((GENERATOR, values))


def _vectors_type(method: str, shapes: dict[str, tuple[int, ...]], size: tuple[int, ...] | None) -> Type:
    """The vector's axis follows those of size, or those that the parameters broadcast to."""
    if method == "multivariate_normal":
        return array_type((*(size or ()), *shapes["mean"]), np.dtype("f8"))
    vector = shapes.pop(VECTORS[method])
    outer = np.broadcast_shapes(vector[:-1], *shapes.values()) if size is None else size
    return array_type((*outer, vector[-1]), np.dtype("f8" if method == "dirichlet" else "i8"))


def _numbers_type(
    method: str, shapes: dict[str, tuple[int, ...]], size: tuple[int, ...] | None, fixed: dict[str, Any]
) -> Type:
    """Without size and array parameters one Python number; `integers` gives one only for a Python class."""
    broadcast = () if method == "choice" else np.broadcast_shapes(*shapes.values())
    whole = method in COUNTS or method == "choice"
    if method == "integers" and size is None and not broadcast and fixed.get("dtype") in (int, bool):
        return scalar_type(fixed["dtype"])
    if method != "integers" and size is None and not broadcast:
        return scalar_type(int if whole else float)
    typed = method in SIZED_FLOATS or method == "integers"
    default = np.dtype("i8" if whole or method == "integers" else "f8")
    dtype = np.dtype(fixed.get("dtype") or default) if typed else default
    return array_type(broadcast if size is None else size, dtype)


def draw_value(generator: Any, *rest: Any, method: str, names: Any, fixed: Any) -> Any:
    """Calls the generator's method, which advances its state."""
    parameters = {name: value_of(value) for name, value in fixed}
    parameters.update(zip(names, rest, strict=True))
    return generator, getattr(generator, method)(**parameters)


def _draw(name: str, method: str, *operands: Any, names: tuple[str, ...] = (), **fixed: Any) -> Sample:
    return Sample(
        name,
        lambda rng: (np.random.default_rng(5), *operands),
        {"method": method, "names": names, "fixed": tuple(sorted(fixed.items()))},
        differentiable=False,
    )


register(
    OpDef(
        "draw",
        "the values of one method of a numpy.random.Generator, and the generator after it",
        Kind.OTHER,
        draw_type,
        draw_value,
        NotDifferentiable(
            "random numbers do not follow the parameters they were drawn with; scale and shift "
            "standard ones, as in loc + scale * rng.standard_normal(size)"
        ),
        ("C1: the method is one that draws", "C2: the first operand is a generator, the others have names"),
        (
            _draw("normal", "normal", size=(2, 3)),
            _draw("normal_of_arrays", "normal", np.zeros(3), np.ones((2, 1)), names=("loc", "scale")),
            _draw("number", "random"),
            _draw("float32", "standard_normal", size=4, dtype=np.dtype("f4")),
            _draw("integers", "integers", low=0, high=10, size=(3,)),
            _draw("python_int", "integers", low=7, dtype=int),
            _draw("bytes_like", "integers", low=0, high=255, size=4, dtype=np.dtype("u1"), endpoint=True),
            _draw("counts", "poisson", np.array([1.0, 5.0]), names=("lam",)),
            _draw("vectors", "multivariate_normal", mean=(0.0, 1.0), cov=((1.0, 0.0), (0.0, 1.0)), size=3),
            _draw("dirichlet", "dirichlet", np.ones(3), names=("alpha",), size=2),
            _draw("multinomial", "multinomial", n=5, pvals=(0.5, 0.5)),
            _draw("choice", "choice", a=10, size=3, replace=False),
            _draw("permutation", "permutation", x=6),
            _draw("permuted", "permuted", np.arange(6).reshape(2, 3), names=("x",), axis=1),
            Sample(
                "spawn",
                lambda rng: (np.random.default_rng(5),),
                {"method": "spawn", "names": (), "fixed": ()},
                breaks="C1",
            ),
            Sample("no_generator", normal(3), {"method": "random", "names": (), "fixed": ()}, breaks="C2"),
        ),
    )
)
