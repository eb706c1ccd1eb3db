"""What the tests of op families share: a function of arrays written with builder calls, and its derivatives.

The judge of first derivatives are central differences of the reference interpreter's values, of second ones
central differences of the first, and forward mode is the transposed vjp.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, Graph, Node, TupleType
from tapeless.compiler.ir.types import GENERATOR, Type, array_type
from tapeless.compiler.ops.base import is_inexact
from tapeless.compiler.passes.differentiate import pull_back
from tapeless.runtime.interpret import interpret


def type_of(value: Any) -> Type:
    if isinstance(value, np.random.Generator):
        return GENERATOR
    return array_type(np.shape(value), np.asarray(value).dtype)


class Function:
    """`build(builder, *nodes)` gives one node or several; all results with a derivative count."""

    def __init__(self, build: Callable[..., Any], *values: Any) -> None:
        self.values = [v if isinstance(v, np.random.Generator) else np.asarray(v) for v in values]
        self.builder = Builder()
        self.params = [self.builder.param(f"x{k}", type_of(v)) for k, v in enumerate(self.values)]
        built = build(self.builder, *self.params)
        nodes = list(built) if isinstance(built, Sequence) else [built]
        self.outputs = [part for node in nodes for part in self._parts(node)]
        self.smooth = [node for node in self.outputs if is_inexact(node.type)]
        self.wrt = [k for k, param in enumerate(self.params) if is_inexact(param.type)]

    def _parts(self, node: Node) -> list[Node]:
        if not isinstance(node.type, TupleType):
            return [node]
        return [self.builder.get(node, index=k) for k in range(len(node.type.items))]

    def _run(self, outputs: Sequence[Node], extra: dict[Node, Any], values: Sequence[Any]) -> list[Any]:
        graph = Graph("f", (*self.params, *extra), tuple(outputs))
        with np.errstate(all="ignore"):
            return [np.asarray(v) for v in interpret(graph, [*values, *extra.values()])]

    def value(self) -> list[Any]:
        return self._run(self.outputs, {}, self.values)

    def vjp(self, *cts: Any) -> list[Any]:
        """The cotangents of all inexact arguments; a missing cotangent is all ones."""
        given = self._cotangents(cts)
        return self._run(self._gradients(given), given, self.values)

    def _cotangents(self, cts: Sequence[Any]) -> dict[Node, Any]:
        whole = [*cts, *(np.ones(node.shape, node.dtype) for node in self.smooth[len(cts) :])]
        return {
            self.builder.param(f"ct{k}", node.type): np.asarray(ct, node.dtype)
            for k, (node, ct) in enumerate(zip(self.smooth, whole, strict=True))
        }

    def _gradients(self, cts: dict[Node, Any]) -> list[Node]:
        wrt = [self.params[k] for k in self.wrt]
        found = pull_back(self.builder, self.smooth, list(cts), wrt)
        for node, param in zip(found, wrt, strict=True):
            assert node is None or node.type == param.type
        return [self.builder.zeros(p.type) if n is None else n for n, p in zip(found, wrt, strict=True)]

    def hessian(self) -> Any:
        """The second derivatives of the sum of all results by the first argument, flattened."""
        given = self._cotangents(())
        (gradient, *_) = self._gradients(given)
        unit = self.builder.param("u", gradient.type)
        (row,) = pull_back(self.builder, [gradient], [unit], [self.params[self.wrt[0]]])
        size = int(np.prod(gradient.shape))
        if row is None:
            return np.zeros((size, size))
        rows = []
        for k in range(size):
            direction = np.zeros(size)
            direction[k] = 1
            rows += self._run([row], {**given, unit: direction.reshape(gradient.shape)}, self.values)
        return np.array(rows).reshape(size, size)

    def _moved(self, direction: dict[int, Any], step: float) -> list[Any]:
        return [v + step * direction[k] if k in direction else v for k, v in enumerate(self.values)]

    def check(self, *, step: float = 1e-4, tolerance: float = 1e-7, second: bool = True) -> None:
        """Hold vjp, transposed vjp and second derivatives to differences along random directions."""
        rng = np.random.default_rng(11)
        cts = self._cotangents([random_like(rng, node) for node in self.smooth])
        gradients = self._gradients(cts)
        along = {k: random_like(rng, self.params[k]) for k in self.wrt}
        weights = {self.builder.param(f"u{k}", self.params[k].type): along[k] for k in self.wrt}

        def loss(values: Sequence[Any]) -> float:
            return inner(cts.values(), self._run(self.smooth, {}, values))

        def slope(values: Sequence[Any]) -> float:
            return inner(weights.values(), self._run(gradients, cts, values))

        def close(found: float, function: Callable[[Sequence[Any]], float], scale: float) -> None:
            wanted = difference(lambda h: function(self._moved(along, h)), step)
            assert abs(found - wanted) <= scale * tolerance * max(1, abs(wanted)), (found, wanted)

        close(inner(along.values(), self._run(gradients, cts, self.values)), loss, 1)
        if not second:
            return
        wrt = [*(self.params[k] for k in self.wrt), *cts]
        again = pull_back(self.builder, gradients, list(weights), wrt)
        nodes = [self.builder.zeros(w.type) if n is None else n for n, w in zip(again, wrt, strict=True)]
        results = self._run(nodes, {**cts, **weights}, self.values)
        close(inner(along.values(), results[: len(self.wrt)]), slope, 10)
        close(inner(cts.values(), results[len(self.wrt) :]), loss, 10)


def random_like(rng: np.random.Generator, node: Node) -> Any:
    made = rng.normal(size=node.shape)
    if node.dtype.kind == "c":
        made = made + 1j * rng.normal(size=node.shape)
    return np.asarray(made, node.dtype)


def inner(one: Any, two: Any) -> float:
    return float(sum(np.sum((np.conjugate(a) * b).real) for a, b in zip(one, two, strict=True)))


def difference(function: Callable[[float], float], step: float) -> float:
    """The derivative at 0 by fourth-order central differences."""
    near = function(step) - function(-step)
    far = function(2 * step) - function(-2 * step)
    return (8 * near - far) / (12 * step)


@pytest.fixture(scope="session")
def function() -> type[Function]:
    return Function
