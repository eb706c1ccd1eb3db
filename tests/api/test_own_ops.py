"""Primitives of a user's own, reached through `function_of`."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless import testing
from tapeless.compiler.ir import ArrayType, Kind, NotDifferentiable, OpDef, TupleType
from tapeless.compiler.ir.opdef import OPS, PLACES, TypeRuleError, register
from tapeless.tracer.numpy_table.own import function_of


@pytest.fixture
def own() -> Iterator[Callable[..., Any]]:
    """Make a function of a new op; the op is forgotten after the test."""
    before = set(OPS)

    def make(name: str, numpy: Callable[..., Any], vjp: Any, **details: Any) -> Any:
        def same_type(types: Sequence[Any], attrs: Any) -> Any:
            if not all(isinstance(t, ArrayType) and t.dtype.kind == "f" for t in types):
                OPS[name].fail("C1", "operands are float arrays")
            return max(types, key=lambda t: len(t.shape))

        given = {"kind": Kind.ELEMENTWISE, "type_rule": same_type, "constraints": ("C1: floats",)} | details
        return function_of(register(OpDef(name=name, doc="for a test", numpy=numpy, vjp=vjp, **given)))

    yield make
    for name in set(OPS) - before:
        del OPS[name], PLACES[name]


@pytest.fixture
def swish(own: Any) -> Any:
    def vjp(b: Any, node: Any, ct: Any) -> Any:
        (x,) = node.inputs
        s = b.reciprocal(b.add(b.scalar(1, x), b.exp(b.negative(x))))
        rest = b.multiply(node, b.subtract(b.scalar(1, s), s))
        return (b.multiply(ct, b.add(s, rest)),)

    return own("swish", lambda x: x / (1 + np.exp(-x)), vjp)


def test_it_is_numpy_outside_of_a_trace(swish: Any) -> None:
    x = np.linspace(-2, 2, 5)
    assert np.array_equal(swish(x), x / (1 + np.exp(-x)))


def test_it_is_one_node_with_derivatives(swish: Any) -> None:
    x = np.linspace(-2, 2, 6).reshape(2, 3)
    assert testing.count_ops(tl.trace(swish, x)) == {"swish": 1}
    testing.assert_same_values(lambda x: swish(x.T)[0], x)
    testing.assert_same_values(lambda x: swish(x).sum(), x[:, ::2])
    testing.check_grads(swish, (x,))
    text = str(tl.trace(swish, x))
    assert str(testing.parse(text)) == text


def test_layouts_and_scalars_are_those_of_the_reference(swish: Any) -> None:
    transposed = np.ones((3, 4)).T
    assert tl.compile(swish)(transposed).strides == swish(transposed).strides
    result = tl.compile(swish)(1.5)
    assert type(result) is np.float64
    assert result == swish(np.float64(1.5))


def test_what_is_known_is_computed_at_once(swish: Any) -> None:
    graph = tl.trace(lambda x: x * swish(np.ones(3)), np.ones(3))
    assert "swish" not in testing.count_ops(graph)


def test_elementwise_operands_are_broadcast(own: Any) -> None:
    mixed = own(
        "mixed", lambda x, y, share=0.5: share * x + (1 - share) * y, NotDifferentiable("of the test")
    )
    x, y = np.ones((2, 3)), np.arange(3.0)
    testing.assert_same_values(lambda x, y: mixed(x, y, share=0.25), x, y)
    with pytest.raises(tl.TapelessError, match="of the test"):
        tl.grad(lambda x: mixed(x, y).sum())(x)


def test_several_results(own: Any) -> None:
    halves = own(
        "halves",
        lambda x: (x[: len(x) // 2].copy(), x[len(x) // 2 :].copy()),
        NotDifferentiable("of the test"),
        kind=Kind.OTHER,
        type_rule=lambda types, attrs: TupleType((ArrayType((2,), types[0].dtype),) * 2),
    )
    testing.assert_same_values(halves, np.arange(4.0))


def test_a_broken_constraint_names_itself(swish: Any) -> None:
    with pytest.raises(TypeRuleError, match="swish C1: operands are float arrays"):
        tl.compile(swish)(np.arange(3))
