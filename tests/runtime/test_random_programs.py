"""Random graphs over arrays of every layout: the executor equals the reference interpreter bit for bit.

Compared are results, their types and strides, and the arguments afterwards; every plan is verified, arena
memory is poisoned, and the careful form of the program is run as well.
"""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeless.compiler.ir import ArrayType, Builder, Graph, Node, ScalarType, TypeRuleError
from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ops.view import path_step, path_type
from tapeless.compiler.plan import Plan, Target, make_plan
from tapeless.compiler.plan_verify import verify_plan
from tapeless.runtime.executor import NumpyExecutor
from tapeless.runtime.interpret import InterpretExecutor, interpret

SHAPES = [(3, 4), (4, 3), (2, 3, 4), (5,), (4,), (), (3, 1), (2, 2, 3, 4), (24, 32), (32, 24)]
AXES = [shape for shape in SHAPES if shape]
DTYPES = ["f8", "f8", "f4", "i8", "c16", "?"]


def laid_out(rng: random.Random, array: Any) -> Any:
    """The array in C or Fortran order, reversed, with gaps, or with permuted axes."""
    if not array.ndim:
        return array
    choice = rng.randrange(6)
    if choice == 2:
        return np.asfortranarray(array)
    if choice == 3:
        return np.flip(np.flip(array, 0).copy(), 0)
    if choice == 4:
        wide = np.zeros([2 * n for n in array.shape], array.dtype)
        window = wide[tuple(slice(0, None, 2) for _ in array.shape)]
        window[...] = array
        return window
    if choice == 5:
        order = rng.sample(range(array.ndim), array.ndim)
        return np.ascontiguousarray(array.transpose(order)).transpose(np.argsort(order))
    return array


def twin(value: Any) -> Any:
    """A copy with the same strides."""
    if not isinstance(value, np.ndarray):
        return value
    low = sum(min((n - 1) * s, 0) for n, s in zip(value.shape, value.strides, strict=True))
    memory = np.zeros(value.nbytes * 20 + 64, np.uint8)
    copy = np.ndarray(value.shape, value.dtype, memory, -low, value.strides)
    copy[...] = value
    return copy


class Program:
    """A random graph with arguments and targets."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.values = np.random.default_rng(seed)
        self.b = Builder()
        self.params: list[Node] = []
        self.arguments: list[Any] = []
        self.pool: list[Node] = []
        for k in range(self.rng.randrange(1, 5)):
            shape, dtype = self.rng.choice(SHAPES), np.dtype(self.rng.choice(DTYPES))
            array = np.asarray(self.values.normal(size=shape) * 2).astype(dtype)
            self.param(f"x{k}", ArrayType(shape, dtype), laid_out(self.rng, array))
        if self.rng.random() < 0.5:
            self.param("s", ScalarType(float), 0.75)
        for _ in range(self.rng.choice([4, 12, 30])):
            self.grow()
        self.choose_outputs()

    def param(self, name: str, type_: Any, value: Any) -> None:
        self.params.append(self.b.param(name, type_))
        self.arguments.append(value)
        self.pool.append(self.params[-1])

    def pick(self, wanted: Callable[[Node], bool]) -> Node:
        """A node of the pool, more often a recent one; IndexError if none is wanted."""
        found = [node for node in self.pool if wanted(node)]
        return self.rng.choice(found[-6:] if self.rng.random() < 0.7 else found)

    def array(self, like: Node | None = None, shapes: Any = None) -> Node:
        """An array node, of the dtype of another and one of these shapes."""
        return self.pick(
            lambda n: (
                isinstance(n.type, ArrayType)
                and (like is None or n.dtype == like.dtype)
                and (shapes is None or n.shape in shapes)
            )
        )

    def grow(self) -> None:
        """Try to add a node; types that do not fit are no error."""
        step = self.rng.choice(GROWTH)
        try:
            node = step(self)
        except (TypeRuleError, IndexError, TypeError):
            return
        self.pool.append(node)

    def choose_outputs(self) -> None:
        inner = [node for node in self.pool if node not in self.params] or self.pool
        self.outputs: list[Node] = []
        self.targets: list[Target | None] = []
        for _ in range(self.rng.randrange(1, 5)):
            node = self.rng.choice(inner[-6:])
            number = isinstance(node.type, ScalarType)
            scalar = not number and not node.shape and self.rng.random() < 0.7
            self.outputs.append(node)
            self.targets.append(Target("number") if number else Target("scalar") if scalar else None)
        for k, param in enumerate(self.params):
            same = [node for node in self.pool if node.type == param.type and node is not param]
            if isinstance(param.type, ArrayType) and param.shape and same and self.rng.random() < 0.6:
                self.outputs.append(self.rng.choice(same[-3:]))
                self.targets.append(Target("commit", param=k))

    def graph(self) -> Graph:
        return Graph("f", tuple(self.params), tuple(self.outputs))


def binary(p: Program) -> Node:
    name = p.rng.choice(["add", "multiply", "subtract", "maximum", "divide", "less", "minimum", "equal"])
    x = p.array()
    y = p.array(x, (x.shape, ())) if p.rng.random() < 0.8 else p.b.constant(np.asarray(1.5).astype(x.dtype))
    return p.b.make(OPS[name], p.rng.sample([x, y], 2), {})


def unary(p: Program) -> Node:
    names = ["negative", "absolute", "square", "exp", "tanh", "isnan", "logical_not", "sin", "real", "imag"]
    return p.b.make(OPS[p.rng.choice(names)], (p.array(),), {})


def cast(p: Program) -> Node:
    x = p.array()
    dtypes = ["c8", "c16", "?"] if x.dtype.kind == "c" else DTYPES
    return p.b.cast(x, np.dtype(p.rng.choice(dtypes)))


def reshape(p: Program) -> Node:
    x = p.array()
    size = x.type.size  # type: ignore[union-attr]
    shapes = [(size,), (1, size), (size // 2, 2), *SHAPES]
    return p.b.reshape(x, p.rng.choice([s for s in shapes if int(np.prod(s)) == size]))


def transpose(p: Program) -> Node:
    x = p.array()
    return p.b.transpose(x, axes=tuple(p.rng.sample(range(len(x.shape)), len(x.shape))))


def slice_attrs(p: Program, shape: tuple[int, ...]) -> dict[str, Any]:
    start, size, step = [], [], []
    for length in shape:
        whole, first = p.rng.random() < 0.4, p.rng.randrange(length)
        stride = p.rng.choice([1, 2, -1])
        start.append((0 if stride > 0 else length - 1) if whole else first)
        step.append(stride)
        size.append((length - 1 - start[-1] if stride > 0 else start[-1]) // abs(stride) + 1)
    return {"start": tuple(start), "size": tuple(size), "step": tuple(step)}


def slice_(p: Program) -> Node:
    x = p.array()
    return p.b.slice(x, **slice_attrs(p, x.shape))


def broadcast(p: Program) -> Node:
    x = p.array()
    return p.b.broadcast_to(x, p.rng.choice([s for s in SHAPES if len(s) >= len(x.shape)]))


def reduction(p: Program) -> Node:
    x = p.array()
    axes = tuple(sorted(p.rng.sample(range(len(x.shape)), p.rng.randrange(len(x.shape) + 1))))
    name = p.rng.choice(["sum", "prod", "max", "min", "any"])
    wide = np.dtype("i8") if x.dtype.kind == "b" else x.dtype
    return p.b.make(OPS[name], (x,), {"axes": axes, **({"dtype": wide} if name in ("sum", "prod") else {})})


def matmul(p: Program) -> Node:
    x = p.array()
    return p.b.matmul(x, p.array(x), **({"distinct": True} if p.rng.random() < 0.3 else {}))


def where(p: Program) -> Node:
    x = p.array()
    condition = p.pick(lambda n: n.type == ArrayType(x.shape, np.dtype(bool)))
    y = p.array(x, (x.shape, ())) if p.rng.random() < 0.7 else p.b.scalar(0, x)
    return p.b.where(condition, *p.rng.sample([x, y], 2))


def write(p: Program) -> Node:
    x = p.array()
    attrs = slice_attrs(p, x.shape)
    path, size = [path_step("slice", **attrs)], attrs["size"]
    if p.rng.random() < 0.3:
        axes = tuple(p.rng.sample(range(len(size)), len(size)))
        path.append(path_step("transpose", axes=axes))
        size = tuple(size[axis] for axis in axes)
    if p.rng.random() < 0.2:
        path.append(path_step("reshape", shape=(int(np.prod(size)),)))
    shape = path_type(x.type, tuple(path)).shape  # type: ignore[union-attr]
    if p.rng.random() < 0.5:
        value = p.array(x, (shape,))
    else:
        value = p.b.broadcast_to(p.b.constant(np.asarray(3).astype(x.dtype)), shape)
    return p.b.write(x, value, path=tuple(path))


def copy(p: Program) -> Node:
    return p.b.copy(p.array(), order=p.rng.choice("KCFA"))


def power(p: Program) -> Node:
    x = p.pick(lambda n: isinstance(n.type, ArrayType) and n.dtype.kind in "fc")
    if p.rng.random() < 0.3:
        return p.b.power(x, p.array(x, (x.shape,)), form="ufunc")
    return p.b.power(x, p.b.constant(p.rng.choice([2, 3, 0.5, -1, 2.0, 1])), form="array")


def identity(p: Program) -> Node:
    x = p.array()
    return p.b.mark(x, tag=1) if p.rng.random() < 0.5 else p.b.stop_gradient(x)


def bitcast(p: Program) -> Node:
    x = p.pick(lambda n: isinstance(n.type, ArrayType) and n.dtype == np.dtype("f8"))
    return p.b.bitcast(x, dtype=np.dtype(p.rng.choice(["f4", "i8"])))


def number(p: Program) -> Node:
    if p.rng.random() < 0.5:
        return p.b.item(p.pick(lambda n: isinstance(n.type, ArrayType) and not n.shape))
    s = p.pick(lambda n: isinstance(n.type, ScalarType) and n.type.kind is float)
    return p.rng.choice([p.b.add(s, s), p.b.multiply(s, s), p.b.cast(s, np.dtype("f8"))])


def indices(p: Program, length: int, shape: tuple[int, ...]) -> Node:
    return p.b.constant(p.values.integers(-length, length, size=shape))


def gather(p: Program) -> Node:
    x = p.array(shapes=AXES)
    axes = tuple(sorted(p.rng.sample(range(len(x.shape)), p.rng.randrange(1, len(x.shape) + 1))))
    return p.b.gather(x, *(indices(p, x.shape[axis], (3,)) for axis in axes), axes=axes)


def scatter(p: Program) -> Node:
    x = p.array(shapes=AXES)
    axis = p.rng.randrange(len(x.shape))
    shape = (*x.shape[:axis], 3, *x.shape[axis + 1 :])
    value = p.b.broadcast_to(p.array(x, ((),)), shape) if p.rng.random() < 0.7 else p.array(x, (shape,))
    name = p.rng.choice(["scatter", "scatter_add"])
    return p.b.make(OPS[name], (x, value, indices(p, x.shape[axis], (3,))), {"axes": (axis,)})


def along_axis(p: Program) -> Node:
    x = p.array(shapes=AXES)
    axis = p.rng.randrange(len(x.shape))
    name = p.rng.choice(["cumsum", "cumprod", "sort"])
    return p.b.make(
        OPS[name], (x,), {"axis": axis, **({"kind": None} if name == "sort" else {"dtype": x.dtype})}
    )


def joined(p: Program) -> Node:
    x = p.array(shapes=AXES)
    if p.rng.random() < 0.5:
        width = tuple(p.rng.randrange(3) for _ in x.shape)
        return p.b.pad(x, p.b.scalar(p.rng.randrange(2), x), before=width, after=width[::-1])
    return p.b.concatenate(x, p.array(x, (x.shape,)), axis=p.rng.randrange(len(x.shape)))


def einsum(p: Program) -> Node:
    x = p.array(shapes=AXES)
    letters = "abcdefgh"[: len(x.shape)]
    kept = "".join(p.rng.sample(letters, p.rng.randrange(1, len(letters) + 1)))
    if p.rng.random() < 0.5:
        return p.b.einsum(x, subscripts=f"{letters}->{kept}")
    return p.b.einsum(x, p.array(x, (x.shape,)), subscripts=f"{letters},{letters}->{kept}")


GROWTH = [
    *[binary] * 4,
    *[write] * 2,
    *(unary, cast, reshape, transpose, slice_, broadcast, reduction, matmul, where, copy, power, identity),
    *(bitcast, number, gather, scatter, along_axis, joined, einsum),
]


def same(expected: Any, found: Any) -> bool:
    """Equal types and bytes, NaNs being equal among themselves."""
    if type(expected) is not type(found):
        return False
    if not isinstance(expected, (np.ndarray, np.generic)):
        return repr(expected) == repr(found)
    first, second = np.asarray(expected), np.asarray(found)
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    if first.tobytes() == second.tobytes():
        return True
    if first.dtype.kind not in "fc":
        return False
    nan = np.isnan(first)
    return np.array_equal(nan, np.isnan(second)) and first[~nan].tobytes() == second[~nan].tobytes()


def targets_of(program: Program, results: list[Any]) -> list[Target]:
    """Fresh results are asked for in the layout of a copy of NumPy's result, or in C order."""
    targets = []
    for target, result in zip(program.targets, results, strict=True):
        if target is None:
            array = np.asarray(result)
            plain = not array.ndim or program.rng.random() < 0.2
            target = Target("fresh", None if plain else np.empty_like(array).strides)
        targets.append(target)
    return targets


def compared(seed: int) -> Plan | None:
    """Run one program in every way and compare; None if NumPy itself refuses it."""
    program = Program(seed)
    graph = program.graph()
    try:
        with np.errstate(all="ignore"):
            results = interpret(graph, program.arguments)
    except (ValueError, OverflowError):
        return None
    targets = targets_of(program, results)
    layouts = [a.strides if isinstance(a, np.ndarray) else None for a in program.arguments]
    plan = make_plan(graph, layouts, targets)
    verify_plan(plan)
    executor = NumpyExecutor(plan, poison=True)
    wanted_arguments = [twin(a) for a in program.arguments]
    with np.errstate(all="ignore"):
        wanted = InterpretExecutor(graph, targets)(wanted_arguments)
    for run in (executor, executor, executor.careful):
        arguments = [twin(a) for a in program.arguments]
        with np.errstate(all="ignore"):
            found = run(arguments)
        for expected, value, target in zip(wanted, found, targets, strict=True):
            assert same(expected, value), (expected, value)
            if target.kind == "fresh":
                assert value.base is None
                assert value.flags.owndata
                assert value.flags.writeable
                assert expected.strides == value.strides or value.size <= 1 or 1 in value.shape
        assert all(same(a, b) for a, b in zip(wanted_arguments, arguments, strict=True))
    return plan


@settings(max_examples=500)
@given(st.integers(0, 2**32))
def test_executor_equals_interpreter(seed: int) -> None:
    compared(seed)


def test_programs_reach_what_they_should() -> None:
    """The random programs do use direct commits, writes in place, fresh results and every growth."""
    seen: set[str] = set()
    for seed in range(600):
        plan = compared(seed)
        if plan is None:
            continue
        for step in plan.steps:
            seen.add(step.node.op.name)
            if step.in_place is not None:
                seen.add(f"in place {step.node.op.name}")
            if step.tail:
                seen.add(f"tail {step.action.value}")
    assert {"tail compute", "tail copy", "in place write", "in place add", "in place scatter"} <= seen
    assert {"gather", "einsum", "sort", "cumsum", "concatenate", "pad", "matmul", "where", "item"} <= seen
