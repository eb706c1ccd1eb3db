"""Random graphs out of the samples of all primitives, and values for their params in many memory layouts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.opdef import OPS, Sample
from tapeless.compiler.ir.types import GENERATOR, ArrayType, TupleType, Type, array_type, scalar_type
from tapeless.runtime.interpret import interpret

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


def order_in_memory(array: Any) -> list[tuple[int, int]] | None:
    """Axes longer than 1 from slow to fast, with the sign of their strides; None for what is no array."""
    if not isinstance(array, np.ndarray | np.generic):
        return None
    long = [axis for axis, length in enumerate(array.shape) if length > 1]
    return [
        (axis, int(np.sign(array.strides[axis])))
        for axis in sorted(long, key=lambda axis: -abs(array.strides[axis]))
    ]


def said_by(graph: Graph, values: Sequence[Any]) -> set[str]:
    """What NumPy would warn of."""
    said: set[str] = set()

    class Log:
        def write(self, message: str) -> None:
            said.add(message)

    with np.errstate(all="log", call=Log()):
        interpret(graph, values)
    return said


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


F64 = np.dtype("f8")
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


CONSTANTS = (0.0, -0.0, 1.0, -1.0, 2.0, -0.5, 3.0)
SHAPES = ((), (3,), (2, 3), (3, 2), (6,), (1, 3), (3, 1), (2, 1, 3), (2, 2, 3), (4, 3))
FLOAT = scalar_type(float)


class Program:
    """Makes one node after another out of a seed: ops meet constants, views and each other."""

    def __init__(self, seed: int, backward: bool) -> None:
        self.rng = np.random.default_rng(seed)
        self.b = Builder(Loc("f.py", 1, "f", backward=backward))
        shapes = {"x": (2, 3), "y": (2, 3), "z": (2, 2, 3), "v": (3,), "s": ()}
        self.params = [self.b.param(n, array_type(shape, F64)) for n, shape in shapes.items()]
        self.params += [self.b.param(name, FLOAT) for name in "pq"]
        x, y, _, v, _, _, _ = self.params
        self.masks = [self.b.greater(x, y), self.b.isnan(v), self.b.constant(np.array(True))]
        self.constants = [self.b.constant(np.array(value)) for value in CONSTANTS]
        self.pool = list(self.params)

    def flip(self, chance: float = 0.5) -> bool:
        return bool(self.rng.random() < chance)

    def one(self, choices: Sequence[Any]) -> Any:
        """One of the choices, rather a late one."""
        return choices[-min(int(self.rng.geometric(0.3)), len(choices))]

    def any(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def arrays(self, shape: tuple[int, ...] | None = None) -> list[Node]:
        """The nodes of the pool that are arrays of 64-bit floats, of this shape if one is given."""
        found = [node for node in self.pool if isinstance(node.type, ArrayType) and node.dtype == F64]
        return [node for node in found if shape is None or node.shape == shape]

    def array(self) -> Node:
        return self.one(self.arrays())  # type: ignore[no-any-return]

    def operand(self, shape: tuple[int, ...]) -> Node:
        """Something of the shape: a value, one repeated, or a number."""
        if self.flip(0.3):
            number = self.any(self.constants)
            return self.b.broadcast_to(number, shape) if self.flip() else number
        fitting = [node for node in self.arrays() if _broadcasts(node.shape, shape)]
        return self.b.broadcast_to(self.one(fitting), shape)

    def unary(self) -> Node:
        name = self.any(["negative", "negative", "tanh", "square", "positive", "absolute"])
        return self.b.make(OPS[name], (self.array(),), {})

    def binary(self) -> Node:
        x = self.array()
        name = self.any(["add", "subtract", "multiply", "maximum"])
        pair = [x, self.operand(x.shape)]
        return self.b.make(OPS[name], pair[:: self.any([1, -1])], {})

    def quotient(self) -> Node:
        x = self.array()
        divisor = self.any([*self.constants[2:], self.b.exp(self.b.tanh(self.operand(x.shape)))])
        if self.flip(0.3):
            return self.b.multiply(self.b.divide(self.constants[2], self.b.exp(self.b.tanh(x))), x)
        return self.b.divide(x, divisor)

    def power(self) -> Node:
        exponent = self.any([2, 1, 2.0, 3])
        return self.b.power(self.array(), self.b.constant(exponent), form=self.any(["array", "ufunc"]))

    def number(self) -> Node:
        """Arithmetic among Python numbers, and between them and 0-d arrays."""
        numbers = [node for node in self.pool if node.type == FLOAT]
        x, y = self.one(numbers), self.any([*numbers, self.b.constant(self.any([0.0, 1.0, -2.0]))])
        name = self.any(["add", "multiply", "subtract", "negative", "cast", "item", "power"])
        if name == "item":
            return self.b.item(self.one(self.arrays(())))
        if name == "cast":
            return self.b.cast(x, F64)
        if name == "power":
            return self.b.power(x, self.b.constant(self.any([1, 2])), form="array", result=float)
        return self.b.negative(x) if name == "negative" else self.b.make(OPS[name], (x, y), {})

    def reshape(self) -> Node:
        x = self.array()
        fitting = [shape for shape in SHAPES if np.prod(shape) == np.prod(x.shape)]
        return self.b.make(OPS["reshape"], (x,), {"shape": self.any([x.shape, *fitting])})

    def transpose(self) -> Node:
        x = self.array()
        return self.b.transpose(x, axes=tuple(self.rng.permutation(len(x.shape)).tolist()))

    def broadcast(self) -> Node:
        x = self.array()
        fitting = [shape for shape in SHAPES if _broadcasts(x.shape, shape)]
        return self.b.broadcast_to(x, self.any([x.shape, *fitting]))

    def window(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """The attrs of a slice."""
        found = []
        for length in shape:
            stride = self.any([1, 1, 1, 2, -1])
            count = int(self.rng.integers((length + abs(stride) - 1) // abs(stride))) + 1
            reach = (count - 1) * abs(stride)
            first = int(self.rng.integers(length - reach))
            found.append((first if stride > 0 else first + reach, count, stride))
        start, size, step = zip(*found, strict=True) if found else ((), (), ())
        return {"start": start, "size": size, "step": step}

    def slice(self) -> Node:
        x = self.array()
        if x.op.name == "write" and self.flip():
            return self.b.slice(x, **dict(x.attrs["path"][0][1]))
        return self.b.slice(x, **self.window(x.shape))

    def write(self) -> Node:
        x = self.b.zeros(self.array().type) if self.flip() else self.array()
        attrs = self.window(x.shape)
        path = (("slice", tuple(sorted(attrs.items()))),)
        if x.op.name == "write" and self.flip():
            path, attrs = x.attrs["path"], dict(x.attrs["path"][0][1])
        value = self.operand(attrs["size"])
        return self.b.write(x, self.b.broadcast_to(value, attrs["size"]), path=path)

    def sum(self) -> Node:
        x = self.array()
        axes = tuple(axis for axis in range(len(x.shape)) if self.flip(0.6))
        return self.b.sum(x, axes=axes, dtype=F64) if axes else x

    def extremum(self) -> Node:
        x = self.array()
        axes = tuple(axis for axis in range(len(x.shape)) if self.flip(0.6))
        return self.b.max(x, axes=axes) if axes else x

    def choice(self) -> Node:
        mask = self.one(self.masks)
        if self.flip():
            mask = self.b.logical_not(mask)
            self.masks.append(mask)
        elif self.flip():
            mask = self.b.logical_and(mask, mask)
        shape = mask.shape or self.array().shape
        return self.b.where(mask, self.operand(shape), self.operand(shape))

    def casts(self) -> Node:
        wide = self.b.cast(self.array(), np.dtype(self.any(["g", "c16"])))
        return self.b.real(wide) if wide.dtype.kind == "c" else self.b.cast(wide, F64)

    def product(self) -> Node:
        stacks = [x for x in self.arrays() if len(x.shape) >= 2]
        x = self.one(stacks)
        fitting = [y for y in stacks if y.shape[-2] == x.shape[-1]]
        fitting = [y for y in fitting if not (y.shape[:-2] and x.shape[:-2]) or y.shape[:-2] == x.shape[:-2]]
        turned = self.b.transpose(x, axes=(*range(len(x.shape) - 2), len(x.shape) - 1, len(x.shape) - 2))
        y = self.any([turned, *fitting])
        if y.shape[:-2] != x.shape[:-2]:
            stack = y.shape[:-2] or x.shape[:-2]
            x = self.b.broadcast_to(x, (*stack, *x.shape[-2:]))
            y = self.b.broadcast_to(y, (*stack, *y.shape[-2:]))
        return self.b.matmul(x, y)

    STEPS = (unary, binary, binary, binary, quotient, power, number, reshape, transpose, broadcast, slice)
    STEPS += (write, sum, sum, extremum, choice, casts, product, slice, transpose, broadcast, unary)

    def grow(self, steps: int) -> None:
        while steps:
            node = self.any(self.STEPS)(self)
            if np.prod(node.shape) <= 40 and len(node.shape) <= 3:
                self.pool.append(node)
                steps -= 1


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


@st.composite
def programs(draw: st.DrawFn, backward: bool = False, special: bool = False, most: int = 25) -> Case:
    """A graph in which most rules find something, with values for its params."""
    seed = draw(st.integers(0, 2**32))
    program = Program(seed, backward)
    program.grow(draw(st.integers(1, most)))
    read = {operand for node in program.pool for operand in node.inputs}
    made = [node for node in program.pool if node not in read and node.op.name not in ("param", "constant")]
    rng = np.random.default_rng(seed)
    values: list[Any] = []
    for param in program.params:
        array = rng.normal(size=param.shape)
        if special:
            array = np.where(rng.random(param.shape) < 0.3, rng.choice(SPECIAL, param.shape), array)
        layout = LAYOUTS[int(rng.integers(len(LAYOUTS)))]
        values.append(
            laid_out(np.asarray(array), layout) if isinstance(param.type, ArrayType) else float(array)
        )
    return Case(Graph("f", tuple(program.params), tuple(made)), values)


SPECIAL = (0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 5e-324, -1e-308, 1e300)


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
def random_program() -> Any:
    """`random_program(special=…)` draws a `Case` in which most rules find something."""
    return programs


@pytest.fixture(scope="session")
def memory_order() -> Any:
    """`memory_order(array)` tells layouts apart that NumPy's loops tell apart."""
    return order_in_memory


@pytest.fixture(scope="session")
def warnings_of() -> Any:
    """`warnings_of(graph, values)` is the set of what NumPy warns of."""
    return said_by


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
