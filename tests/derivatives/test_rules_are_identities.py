"""Every derivative rule is an identity: with and without rules the gradients of random programs agree.

Programs are drawn from the parts that rules look for, so that patterns form, half form, and overlap; they are
compared where the plain chain rule is finite.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tapeless.compiler.ir.builder import Builder
from tapeless.compiler.ir.node import Graph, Node
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.passes import differentiate
from tapeless.compiler.passes.differentiate import ones_like, pull_back
from tapeless.compiler.rules.derivative import RULES, special_vjp
from tapeless.runtime.interpret import interpret

SHAPE = (2, 3)
DOUBLE = np.dtype("f8")


def kept(b: Builder, node: Node) -> Node:
    """A reduced value with its axis kept, as NumPy keeps it."""
    return b.reshape(node, (2, 1))


def wide(b: Builder, node: Node) -> Node:
    return b.broadcast_to(node, SHAPE)


def power(exponent: float) -> Any:
    return lambda b, x: b.power(x, b.constant(exponent), form="array")


def scaled(number: float) -> Any:
    return lambda b, x: b.multiply(x, b.scalar(number, x))


UNARY = {
    "exp": lambda b, x: b.exp(x),
    "log": lambda b, x: b.log(x),
    "log1p": lambda b, x: b.log1p(x),
    "negative": lambda b, x: b.negative(x),
    "absolute": lambda b, x: b.absolute(x),
    "square": lambda b, x: b.square(x),
    "product": lambda b, x: b.multiply(x, x),
    "sqrt": lambda b, x: b.sqrt(x),
    "cbrt": lambda b, x: b.cbrt(x),
    "reciprocal": lambda b, x: b.reciprocal(x),
    "tanh": lambda b, x: b.tanh(x),
    "cosh": lambda b, x: b.cosh(x),
    "expm1": lambda b, x: b.expm1(x),
    "expit": lambda b, x: b.expit(x),
    "arctan": lambda b, x: b.arctan(x),
    "power 2": power(2),
    "power 0.5": power(0.5),
    "power 3": power(3),
    "power -1": power(-1),
    "power 1.5": power(1.5),
    "power 1.25": power(1.25),
    "power 2.5": power(2.5),
    "plus one": lambda b, x: b.add(b.scalar(1, x), x),
    "one minus": lambda b, x: b.subtract(b.scalar(1, x), x),
    "minus two": lambda b, x: b.subtract(x, b.scalar(2, x)),
    "over two": lambda b, x: b.divide(x, b.scalar(2, x)),
    "one over": lambda b, x: b.divide(b.scalar(1, x), x),
    "times three": scaled(3.0),
    "times minus a half": scaled(-0.5),
    "ramp": lambda b, x: b.maximum(x, b.scalar(0, x)),
}
ALONG_ROWS = {
    "sum": lambda b, x: kept(b, b.sum(x, axes=(1,), dtype=DOUBLE)),
    "max": lambda b, x: kept(b, b.max(x, axes=(1,))),
    "mean": lambda b, x: b.divide(kept(b, b.sum(x, axes=(1,), dtype=DOUBLE)), b.scalar(3, x)),
    "transposed": lambda b, x: b.sum(b.transpose(x, axes=(1, 0)), axes=(0,), dtype=DOUBLE),
}


def image(b: Builder, x: Node) -> Node:
    """The rows times a matrix that is not definite."""
    return b.matmul(x, b.constant(np.array([[1.0, 2.0, 0.0], [2.0, -1.0, 0.5], [0.0, 0.5, 1.0]])))


ROWWISE = {
    "image": image,
    "form": lambda b, x: ALONG_ROWS["sum"](b, b.multiply(image(b, x), x)),
    "shifted": lambda b, x: b.subtract(x, wide(b, ALONG_ROWS["max"](b, x))),
    "normalized": lambda b, x: b.divide(x, wide(b, ALONG_ROWS["sum"](b, x))),
    "centred": lambda b, x: b.subtract(x, wide(b, ALONG_ROWS["mean"](b, x))),
    "less log of sum": lambda b, x: b.subtract(x, wide(b, b.log(ALONG_ROWS["sum"](b, b.exp(x))))),
    "log of sum": lambda b, x: b.log(ALONG_ROWS["sum"](b, b.exp(x))),
    "weighted sum": lambda b, x: ALONG_ROWS["sum"](b, b.multiply(b.exp(x), b.square(x))),
    "expit of the negative": lambda b, x: b.expit(b.negative(x)),
    "half ramp": lambda b, x: b.divide(b.add(x, b.absolute(x)), b.scalar(2, x)),
    "times its condition": lambda b, x: b.multiply(x, b.cast(b.greater(x, b.scalar(0, x)), DOUBLE)),
    "small tail": lambda b, x: b.log1p(b.exp(b.negative(b.absolute(x)))),
}
BINARY = {
    "add": lambda b, x, y: b.add(x, y),
    "subtract": lambda b, x, y: b.subtract(x, y),
    "multiply": lambda b, x, y: b.multiply(x, y),
    "divide": lambda b, x, y: b.divide(x, y),
    "maximum": lambda b, x, y: b.maximum(x, y),
    "hypot": lambda b, x, y: b.hypot(x, y),
    "logaddexp": lambda b, x, y: b.logaddexp(x, y),
    "where": lambda b, x, y: b.where(b.greater(x, y), x, y),
}

Step = tuple[str, int, int]


def build(b: Builder, x: Node, steps: list[Step]) -> Node:
    """The sum of the last few values of a program; each step takes values counted from the latest."""
    values = [x]
    for name, first, second in steps:
        one = values[-1 - first % len(values)]
        two = values[-1 - second % len(values)]
        if name in UNARY:
            values.append(UNARY[name](b, one))
        elif name in ROWWISE:
            values.append(ROWWISE[name](b, wide(b, one)))
        elif name in ALONG_ROWS:
            reduced = ALONG_ROWS[name](b, wide(b, one))
            values.append(kept(b, reduced) if reduced.shape == (2,) else reduced)
        else:
            values.append(
                BINARY[name](b, *((wide(b, one), wide(b, two)) if one.shape != two.shape else (one, two)))
            )
    total = wide(b, values[-1])
    for value in values[-3:-1]:
        total = b.add(total, wide(b, value))
    return b.sum(total, axes=(0, 1), dtype=DOUBLE)


NAMES = st.sampled_from([*UNARY, *ROWWISE, *ALONG_ROWS, *BINARY])
# Recent values are taken most often, so that patterns form.
PLACES = st.sampled_from([0, 0, 0, 1, 1, 2, 3, 5])
PROGRAMS = st.lists(st.tuples(NAMES, PLACES, PLACES), min_size=2, max_size=9)


def gradient(x: Node, b: Builder, loss: Node) -> Node:
    (found,) = pull_back(b, [loss], [ones_like(b, loss)], [x])
    return b.zeros(x.type) if found is None else found


def check(steps: list[Step], seed: int, monkeypatch: Any) -> None:
    """Gradients agree, and so do derivatives of their squares."""
    b = Builder()
    x = b.param("x", array_type(SHAPE, DOUBLE))
    loss = build(b, x, steps)
    results = []
    for rules in (special_vjp, lambda node: None):
        monkeypatch.setattr(differentiate, "special_vjp", rules)
        first = gradient(x, b, loss)
        again = gradient(x, b, b.sum(b.multiply(first, first), axes=(0, 1), dtype=DOUBLE))
        results += [first, again]
    rng = np.random.default_rng(seed)
    value = rng.uniform(0.3, 1.6, SHAPE) * (rng.choice([-1, 1], SHAPE) if seed % 2 else 1)
    with np.errstate(all="ignore"):
        everything = interpret(Graph("f", (x,), (*results, *loss_parts(loss))), [value])
    assume(all(np.all(np.isfinite(v)) and np.all(np.abs(v) < 1e3) for v in everything))
    ruled, ruled_again, plain, plain_again = everything[:4]
    scale = max(1.0, *(float(np.max(np.abs(v))) for v in everything)) ** 2
    np.testing.assert_allclose(ruled, plain, rtol=1e-7, atol=1e-11 * scale)
    np.testing.assert_allclose(ruled_again, plain_again, rtol=1e-6, atol=1e-10 * scale**2)


def loss_parts(loss: Node) -> list[Node]:
    """All values in the loss, to leave out programs that come near the ends of the number range."""
    graph = Graph("f", (), (loss,))
    return [node for node in graph.nodes if node.dtype == DOUBLE and node.op.name != "param"]


def test_rules_are_registered() -> None:
    assert sum(len(rules) for rules in RULES.values()) >= 25


@settings(max_examples=300)
@given(steps=PROGRAMS, seed=st.integers(0, 1000))
def test_random_programs(steps: list[Step], seed: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        check(steps, seed, patch)
