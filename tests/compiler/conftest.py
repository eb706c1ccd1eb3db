"""Random graphs out of the samples of all primitives, and values for their params in many memory layouts."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tapeless.compiler import ops  # noqa: F401  (fills the registry)
from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.opdef import OPS, Sample
from tapeless.compiler.ir.types import GENERATOR, ArrayType, TupleType, Type, array_type, scalar_type

SAMPLES = [
    (name, sample) for name, op in sorted(OPS.items()) for sample in op.samples if sample.breaks is None
]


@dataclass
class Case:
    """A graph and a value for each of its params."""

    graph: Graph
    values: list[Any]


def type_of(value: Any) -> Type:
    if isinstance(value, np.random.Generator):
        return GENERATOR
    if type(value) in (bool, int, float, complex):
        return scalar_type(type(value))
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    return array_type(np.shape(value), np.asarray(value).dtype)


def laid_out(array: Any, layout: str) -> Any:
    """An array of the same values whose memory runs another way."""
    if not isinstance(array, np.ndarray) or not array.ndim:
        return array
    if layout == "F":
        return np.asfortranarray(array)
    if layout == "stepped":
        wide = np.zeros(tuple(2 * n for n in array.shape), array.dtype)
        view = wide[tuple(slice(None, None, 2) for _ in array.shape)]
        view[...] = array
        return view
    if layout == "reversed":
        return np.ascontiguousarray(array[::-1])[::-1]
    if layout == "rolled":
        order = (*range(1, array.ndim), 0)
        inverse = tuple(order.index(axis) for axis in range(array.ndim))
        return np.ascontiguousarray(array.transpose(order)).transpose(inverse)
    return np.ascontiguousarray(array)


LAYOUTS = ("C", "F", "stepped", "reversed", "rolled")


@st.composite
def cases(draw: st.DrawFn, only: tuple[str, ...] = (), backward: bool = False, most: int = 8) -> Case:
    """A graph that applies primitives to each other's results and to new params.

    Each op gets the operands of one of its samples; a floating operand may be exchanged for any earlier value
    of its type. Every value that nothing reads is an output.
    """
    builder = Builder(Loc("f.py", 1, "f", backward=backward))
    pool: list[Node] = []
    params: list[Node] = []
    values: list[Any] = []
    samples = [pair for pair in SAMPLES if not only or pair[0] in only]
    for _ in range(draw(st.integers(1, most))):
        name, sample = draw(st.sampled_from(samples))
        operands = []
        for value in sample.inputs(np.random.default_rng(draw(st.integers(0, 3)))):
            type_ = type_of(value)
            known = [node for node in pool if node.type == type_ and can_be_exchanged(node)]
            if known and draw(st.booleans()):
                operands.append(draw(st.sampled_from(known)))
                continue
            param = builder.param(f"p{len(params)}", type_)
            params.append(param)
            values.append(laid_out(value, draw(st.sampled_from(LAYOUTS))))
            operands.append(param)
            pool.append(param)
        pool += results(builder, builder.make(OPS[name], operands, sample.attrs))
    read = {operand for node in pool for operand in node.inputs}
    outputs = tuple(node for node in pool if node not in read and node.op.name != "param")
    return Case(Graph("f", tuple(params), outputs), values)


def can_be_exchanged(node: Node) -> bool:
    """Integers may be indices; floats fit anywhere."""
    return isinstance(node.type, ArrayType) and node.type.dtype.kind in "fc"


def results(builder: Builder, node: Node) -> list[Node]:
    if isinstance(node.type, TupleType):
        return [node, *(builder.get(node, index=index) for index in range(len(node.type.items)))]
    return [node]


@pytest.fixture(scope="session")
def strategy() -> Any:
    """`strategy(only=…)` draws a `Case`."""
    return cases


@pytest.fixture(scope="session")
def layout() -> Any:
    """`layout(array, name)` gives an array of the same values in another memory layout."""
    return laid_out


@pytest.fixture(scope="session")
def every_sample() -> list[tuple[str, Sample]]:
    """All valid samples, with the names of their ops."""
    return SAMPLES


@pytest.fixture(scope="session")
def sample_graph() -> Any:
    """`sample_graph(name, sample)` gives the graph of one op on one of its samples, with values."""

    def make(name: str, sample: Sample) -> Case:
        builder = Builder()
        values = list(sample.inputs(np.random.default_rng(0)))
        params = [builder.param(f"x{i}", type_of(value)) for i, value in enumerate(values)]
        made = results(builder, builder.make(OPS[name], params, sample.attrs))
        return Case(Graph(name, tuple(params), tuple(made)), values)

    return make
