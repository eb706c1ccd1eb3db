"""One op on one of its samples, as the tests of every op see it: its graph, values and derivatives.

The judges are central differences of the reference interpreter's values along random directions, and for
second derivatives central differences of the first.
"""

import copy
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, Graph, Node, NotDifferentiable, OpDef, ScalarType, TupleType, Type
from tapeless.compiler.ir.opdef import OPS, NotDifferentiableError, Sample
from tapeless.compiler.ir.types import GENERATOR, ArrayType, array_type, scalar_type
from tapeless.compiler.ops.base import is_inexact
from tapeless.compiler.passes.differentiate import pull_back
from tapeless.runtime.interpret import interpret

WIDE = (np.dtype("f8"), np.dtype("c16"))


def type_of(value: Any) -> Type:
    """The type of a param that holds this value."""
    if isinstance(value, tuple):
        return TupleType(tuple(type_of(item) for item in value))
    if isinstance(value, np.random.Generator):
        return GENERATOR
    if type(value) in (bool, int, float, complex):
        return scalar_type(type(value))
    return array_type(np.shape(value), np.asarray(value).dtype)


class Case:
    """The op applied to params of the sample's types; `smooth` are the results that have derivatives."""

    def __init__(self, op: OpDef, sample: Sample) -> None:
        self.op, self.sample = op, sample
        self.name = f"{op.name}-{sample.name}"
        self.rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        self.values = list(sample.inputs(self.rng))
        self.builder = b = Builder()
        self.params = [b.param(f"x{k}", type_of(value)) for k, value in enumerate(self.values)]
        self.node = b.make(op, self.params, sample.attrs)
        self.results = [self.node]
        if isinstance(self.node.type, TupleType):
            self.results = [b.get(self.node, index=k) for k in range(len(self.node.type.items))]
        self.smooth = [node for node in self.results if is_inexact(node.type)]
        self.wrt = [param for param in self.params if is_inexact(param.type)]
        self.cts = [b.param(f"ct{k}", node.type) for k, node in enumerate(self.smooth)]
        self.ct_values = [self.random(node.type) for node in self.smooth]

    @property
    def has_derivative(self) -> bool:
        """Whether anything inexact depends on anything inexact."""
        return bool(self.smooth and self.wrt)

    @property
    def refuses(self) -> bool:
        """Whether the op, or its vjp for these attrs, says that there is no derivative."""
        if isinstance(self.op.vjp, NotDifferentiable):
            return True
        try:
            self.gradients()
        except NotDifferentiableError:
            return True
        return False

    @property
    def is_regular(self) -> bool:
        """Whether the derivative exists at these values."""
        return self.has_derivative and self.sample.differentiable and not self.refuses

    @property
    def is_judged(self) -> bool:
        """Whether differences can judge the derivatives: at regular values in double precision."""
        return self.is_regular and all(node.dtype in WIDE for node in (*self.smooth, *self.wrt))

    @property
    def is_narrow(self) -> bool:
        """Whether the op meets single precision only."""
        if not self.has_derivative or self.refuses:
            return False
        return all(isinstance(n.type, ArrayType) and n.dtype not in WIDE for n in (*self.smooth, *self.wrt))

    @property
    def is_kink(self) -> bool:
        """Whether a vjp is asked for where there is no derivative."""
        return self.has_derivative and not self.sample.differentiable and not self.refuses

    @property
    def jumps(self) -> list[Node]:
        """The results that are constant between jumps: integers and truth values."""
        return [node for node in self.results if not is_inexact(node.type) and node.type != GENERATOR]

    def random(self, type_: Type) -> Any:
        made = self.rng.normal(size=type_.shape)
        if type_.dtype.kind == "c":
            made = made + 1j * self.rng.normal(size=type_.shape)
        return type_.kind(made) if isinstance(type_, ScalarType) else np.asarray(made, type_.dtype)

    def run(
        self, outputs: Sequence[Node], values: Sequence[Any], extra: dict[Node, Any] | None = None
    ) -> list[Any]:
        """The reference interpreter's values of nodes, given those of the params and of further ones."""
        extra = extra or {}
        graph = Graph("f", (*self.params, *extra), tuple(outputs))
        with np.errstate(all="ignore"):
            return interpret(graph, [*copy.deepcopy(list(values)), *extra.values()])

    def gradients(self) -> list[Node]:
        """The cotangents of `wrt` for the cotangents `cts`, zeros where nothing arrives."""
        return self.pulled(self.smooth, self.cts, self.wrt)

    def pulled(self, outputs: Sequence[Node], cts: Sequence[Node], wrt: Sequence[Node]) -> list[Node]:
        found = pull_back(self.builder, outputs, cts, wrt)
        for node, target in zip(found, wrt, strict=True):
            assert node is None or node.type == target.type
        return [self.builder.zeros(w.type) if n is None else n for n, w in zip(found, wrt, strict=True)]

    def given(self) -> dict[Node, Any]:
        """The values of the cotangents."""
        return dict(zip(self.cts, self.ct_values, strict=True))

    def directions(self) -> dict[Node, Any]:
        """A random direction for each differentiable argument, at the scale of its values."""
        table = dict(zip(self.params, self.values, strict=True))
        made = {p: self.random(p.type) * np.maximum(1, np.abs(table[p])) for p in self.wrt}
        return {p: p.type.kind(d) if isinstance(p.type, ScalarType) else d for p, d in made.items()}

    def moved(self, along: dict[Node, Any], step: float) -> list[Any]:
        pairs = zip(self.params, self.values, strict=True)
        return [v + step * along[p] if p in along else v for p, v in pairs]


def inner(one: Iterable[Any], two: Iterable[Any]) -> float:
    """The real inner product of two lists of values."""
    return float(sum(np.sum((np.conjugate(a) * b).real) for a, b in zip(one, two, strict=True)))


def difference(function: Callable[[float], float], step: float = 1e-4) -> float:
    """The derivative at 0 by central differences of sixth order."""
    one, two, three = (function(k * step) - function(-k * step) for k in (1, 2, 3))
    return (45 * one - 9 * two + three) / (60 * step)


@pytest.fixture(name="inner")
def inner_product() -> Callable[..., float]:
    return inner


@pytest.fixture(name="difference")
def central_difference() -> Callable[..., float]:
    return difference


@cache
def all_cases() -> list[Case]:
    return [Case(op, sample) for op in OPS.values() for sample in op.samples if sample.breaks is None]


_TRAITS: dict[str, Callable[[Case], Any]] = {
    "case": lambda case: True,
    "judged": lambda case: case.is_judged,
    "regular": lambda case: case.is_regular,
    "narrow": lambda case: case.is_narrow,
    "kink": lambda case: case.is_kink,
    "jumping": lambda case: case.jumps and case.wrt,
    "differentiated": lambda case: case.has_derivative and not case.refuses,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    for name, holds in _TRAITS.items():
        if name in metafunc.fixturenames:
            cases = [case for case in all_cases() if holds(case)]
            metafunc.parametrize(
                name, [(c.op, c.sample) for c in cases], ids=[c.name for c in cases], indirect=True
            )
    if "invalid" in metafunc.fixturenames:
        found = [(op, s) for op in OPS.values() for s in op.samples if s.breaks is not None]
        metafunc.parametrize("invalid", found, ids=[f"{op.name}-{sample.name}" for op, sample in found])
    if "op" in metafunc.fixturenames:
        metafunc.parametrize("op", OPS.values(), ids=list(OPS))


def _fresh(request: pytest.FixtureRequest) -> Case:
    return Case(*request.param)


for _name in _TRAITS:
    globals()[f"_{_name}"] = pytest.fixture(name=_name)(_fresh)


@pytest.fixture
def cases_of() -> Callable[[OpDef], list[Case]]:
    """The cases of one op."""
    return lambda op: [case for case in all_cases() if case.op is op]


@pytest.fixture
def make_types() -> Callable[[Sample], list[Type]]:
    """The types of a sample's arguments."""

    def types(sample: Sample) -> list[Type]:
        return [type_of(value) for value in sample.inputs(np.random.default_rng(0))]

    return types
