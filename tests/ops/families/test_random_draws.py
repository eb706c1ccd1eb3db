"""draw: the generator's own numbers, in order, its state advanced as by NumPy."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, ScalarType
from tapeless.compiler.ir.opdef import NotDifferentiableError
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.ops.random import COUNTS, FLOATS, SIZED_FLOATS


def fixed(**parameters: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(parameters.items()))


ONE = {
    "chisquare": "df",
    "exponential": "scale",
    "geometric": "p",
    "logseries": "p",
    "pareto": "a",
    "poisson": "lam",
}
ONE |= {
    "power": "a",
    "rayleigh": "scale",
    "standard_gamma": "shape",
    "standard_t": "df",
    "weibull": "a",
    "zipf": "a",
}
MORE = {
    "beta": {"a": 1.0, "b": 2.0},
    "binomial": {"n": 5, "p": 0.5},
    "f": {"dfnum": 2.0, "dfden": 3.0},
    "gamma": {"shape": 2.0},
    "hypergeometric": {"ngood": 5, "nbad": 4, "nsample": 3},
    "negative_binomial": {"n": 2, "p": 0.5},
    "noncentral_chisquare": {"df": 2.0, "nonc": 1.0},
    "noncentral_f": {"dfnum": 2.0, "dfden": 3.0, "nonc": 1.0},
    "triangular": {"left": 0.0, "mode": 1.0, "right": 2.0},
    "vonmises": {"mu": 0.0, "kappa": 1.0},
    "wald": {"mean": 1.0, "scale": 2.0},
}
VALUES = {"geometric": 0.5, "logseries": 0.5}


def parameters(method: str) -> dict[str, Any]:
    if method in ONE:
        return {ONE[method]: VALUES.get(method, 2.0)}
    return MORE.get(method, {})


def same(one: Any, two: Any) -> bool:
    return type(one) is type(two) and np.asarray(one).tobytes() == np.asarray(two).tobytes()


@pytest.mark.parametrize("size", [None, (), 3, (2, 2)], ids=str)
@pytest.mark.parametrize("method", sorted(FLOATS | SIZED_FLOATS | COUNTS))
def test_every_distribution(method: str, size: Any) -> None:
    given = parameters(method)
    b = Builder()
    attrs = {"method": method, "names": (), "fixed": fixed(**given, size=size)}
    node = b.draw(b.param("rng", _generator_type()), **attrs)
    mine, judge = np.random.default_rng(3), np.random.default_rng(3)
    _, found = node.op.numpy(mine, **attrs)
    wanted = getattr(judge, method)(**given, size=size)
    assert same(found, wanted)
    assert mine.bit_generator.state == judge.bit_generator.state
    type_ = node.type.items[1]  # type: ignore[union-attr]
    if isinstance(type_, ScalarType):
        assert type(wanted) is type_.kind
    else:
        assert type_ == array_type(np.shape(wanted), wanted.dtype)


def _generator_type() -> Any:
    from tapeless.compiler.ir.types import GENERATOR

    return GENERATOR


def test_draws_keep_their_order(function: Any) -> None:
    def build(b: Builder, rng: Any, scale: Any) -> list[Any]:
        first = b.draw(rng, scale, method="normal", names=("scale",), fixed=fixed(size=(3,)))
        second = b.draw(
            b.get(first, index=0), method="integers", names=(), fixed=fixed(high=9, low=0, size=2)
        )
        return [b.get(second, index=1), b.get(first, index=1)]

    judge = np.random.default_rng(8)
    normal = judge.normal(scale=2.0, size=3)
    integers = judge.integers(0, 9, 2)
    found = function(build, np.random.default_rng(8), 2.0).value()
    assert found[0].tolist() == integers.tolist()
    assert found[1].tolist() == normal.tolist()


def test_a_parameter_has_no_derivative_and_the_reason_names_the_way_out(function: Any) -> None:
    def build(b: Builder, rng: Any, scale: Any) -> Any:
        return b.get(b.draw(rng, scale, method="normal", names=("scale",), fixed=fixed(size=(3,))), index=1)

    with pytest.raises(NotDifferentiableError, match=r"loc \+ scale \* rng.standard_normal"):
        function(build, np.random.default_rng(8), 2.0).vjp()


def test_a_draw_behind_one_with_differentiated_parameters_is_a_constant(function: Any) -> None:
    def build(b: Builder, rng: Any, scale: Any) -> Any:
        first = b.draw(rng, scale, method="gamma", names=("shape",), fixed=())
        second = b.draw(b.get(first, index=0), method="random", names=(), fixed=fixed(size=3))
        return b.multiply(b.get(second, index=1), scale)

    values = function(build, np.random.default_rng(8), 2.0)
    judge = np.random.default_rng(8)
    judge.gamma(2.0)
    assert values.vjp()[0] == pytest.approx(judge.random(3).sum())
