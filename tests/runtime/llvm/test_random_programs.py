"""Random graphs over arrays of every layout: the native executor agrees with the reference interpreter.

How far it may differ is measured, not guessed: the interpreter runs again with every rounding result moved
by a few units in the last place, and native values lie within a few times what that changes. Values that
such a change turns over (a comparison of equals, a cast at an edge) are left out; layouts, dtypes, owners and
what is written to arguments are compared exactly.
"""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeless.compiler.ir import ArrayType, Graph, Node, ScalarType
from tapeless.compiler.plan import Target
from tapeless.runtime.interpret import InterpretExecutor, interpret
from tapeless.runtime.llvm.executor import NativeExecutor

_spec = importlib.util.spec_from_file_location(
    "random_graphs", Path(__file__).parents[1] / "test_random_programs.py"
)
assert _spec is not None
assert _spec.loader is not None
random_graphs = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(random_graphs)
twin, targets_of, Program = random_graphs.twin, random_graphs.targets_of, random_graphs.Program

ULPS, RUNS, SLACK = 4, 6, 6


def product(p: Any) -> Node:
    """A product that fits: of an array and its own transpose, either way round."""
    x = p.array(shapes=[shape for shape in random_graphs.AXES if len(shape) > 1])
    order = tuple(range(len(x.shape) - 2))
    y = p.b.transpose(x, axes=(*order, len(order) + 1, len(order)))
    made: Node = p.b.matmul(*p.rng.sample([x, y], 2))
    return made


def power(p: Any) -> Node:
    """A power of sizes: whether a negative number has one hangs on the last bit of the exponent."""
    x = p.pick(lambda n: isinstance(n.type, ArrayType) and n.dtype.kind == "f")
    if p.rng.random() < 0.5:
        return p.b.power(x, p.b.constant(p.rng.choice([2, 3, 0.5, -1, 2.0, 1])), form="array")  # type: ignore[no-any-return]
    return p.b.power(p.b.absolute(x), p.array(x, (x.shape,)), form="ufunc")  # type: ignore[no-any-return]


random_graphs.GROWTH = [g for g in random_graphs.GROWTH if g is not random_graphs.power]
random_graphs.GROWTH += [product, product, power]
SUMS = ("sum", "prod", "matmul", "einsum", "cumsum", "cumprod", "scatter_add")


def moved(node: Node, value: Any, inputs: list[Any], rng: np.random.Generator, sign: int) -> Any:
    """A float result changed by a few units in the last place; sums by units of what they add up."""
    array = np.asarray(value)
    if array.dtype.kind not in "fc" or isinstance(node.type, ScalarType):
        return value
    unit = ULPS * np.finfo(array.dtype).eps
    change = array * (unit * rng.uniform(-1, 1, array.shape))
    if node.op.name in SUMS:
        size = node.op.numpy(
            *[np.abs(x) if np.asarray(x).dtype.kind in "fc" else x for x in inputs], **node.attrs
        )
        change = change + unit * rng.uniform(-1, 1, array.shape) * size
    result = np.where(np.isfinite(array), array + change, array).astype(array.dtype)
    if array.dtype.kind == "f":  # the sign of a NaN is nobody's promise
        result = np.where(np.isnan(array), np.copysign(result, sign), result).astype(array.dtype)
    return result if type(value) is np.ndarray else result[()]


def disturbed(graph: Graph, values: list[Any], seed: int) -> list[Any]:
    """The graph's outputs with every float value on the way moved a little."""
    rng = np.random.default_rng(seed)
    known: dict[Node, Any] = dict(zip(graph.params, values, strict=True))
    for node in graph.nodes:
        if node in known:
            continue
        inputs = [known[operand] for operand in node.inputs]
        numbers = bool(inputs) and all(isinstance(operand.type, ScalarType) for operand in node.inputs)
        run = node.op.python if numbers and node.op.python else node.op.numpy
        known[node] = run(*inputs, **node.attrs)
        if node.op.name not in ("constant", "bitcast"):
            known[node] = moved(node, known[node], inputs, rng, 1 if seed % 2 else -1)
    return [known[output] for output in graph.outputs]


def agree(expected: Any, found: Any, others: list[Any]) -> bool:
    """Whether a value lies within what the disturbed runs say."""
    e, f = np.asarray(expected), np.asarray(found)
    if (e.dtype, e.shape) != (f.dtype, f.shape):
        return False
    o = np.stack([np.asarray(other).reshape(e.shape) for other in others])
    if e.dtype.kind not in "fc":
        firm = (o == e).all(axis=0)
        return bool(np.array_equal(e[firm], f[firm]))
    if e.dtype.kind == "c":
        parts = [[a.real for a in (e, f, *o)], [a.imag for a in (e, f, *o)]]
        # A complex result that holds an infinity may hold any other part.
        return all(_close(p[0], p[1], np.stack(p[2:]), np.isfinite(e)) for p in parts)
    return _close(e, f, o, np.ones(e.shape, bool))


def _close(e: Any, f: Any, o: Any, counted: Any) -> bool:
    firm = counted & (np.isfinite(o) == np.isfinite(e)).all(axis=0)
    finite = firm & np.isfinite(e)
    special = firm & ~finite
    special &= (np.isnan(o) == np.isnan(e)).all(axis=0) & ((o > 0) == (e > 0)).all(axis=0)
    wide = np.result_type(e.dtype, np.float64)
    ew, fw, ow = e.astype(wide), f.astype(wide), o.astype(wide)
    spread = np.abs(ow - ew).max(axis=0)
    info = np.finfo(e.dtype)
    allowed = SLACK * spread + SLACK * info.eps * np.abs(ew) + 4 * float(info.smallest_subnormal)
    right = np.abs(fw - ew) <= allowed
    return bool(right[finite].all()) and bool(np.array_equal(e[special], f[special], equal_nan=True))


def compared(seed: int) -> set[str] | None:
    """Run one program natively and compare; what ran natively. None if NumPy itself refuses it."""
    program = Program(seed)
    graph = program.graph()
    with np.errstate(all="ignore"):
        try:
            results = interpret(graph, program.arguments)
            disturbances = [disturbed(graph, program.arguments, k) for k in range(RUNS)]
        except (ValueError, OverflowError):
            return None
        targets: list[Target] = targets_of(program, results)
        layouts = [a.strides if isinstance(a, np.ndarray) else None for a in program.arguments]
        executor = NativeExecutor(graph, layouts, targets)
        wanted_arguments = [twin(a) for a in program.arguments]
        wanted = InterpretExecutor(graph, targets)(wanted_arguments)
        for _ in range(2):
            arguments = [twin(a) for a in program.arguments]
            found = executor(arguments)
            for expected, value, target, others in zip(
                wanted, found, targets, zip(*disturbances, strict=True), strict=True
            ):
                if target.kind == "commit":
                    assert value is None
                    continue
                assert type(value) is type(expected)
                assert agree(expected, value, list(others)), (expected, value)
                if target.kind == "fresh":
                    assert value.flags.owndata
                    assert value.flags.writeable
                    assert expected.strides == value.strides or value.size <= 1 or 1 in value.shape
            written = {t.param: k for k, t in enumerate(targets) if t.kind == "commit"}
            for number, (expected, value) in enumerate(zip(wanted_arguments, arguments, strict=True)):
                if number in written:
                    others = [run[written[number]] for run in disturbances]
                    assert agree(expected, value, others), (number, expected, value)
                else:
                    assert random_graphs.same(expected, value)
    return {executor.plan.steps[s.sources[0]].node.op.name for part in executor.segments for s in part.native}


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_native_agrees_with_the_interpreter(seed: int) -> None:
    compared(seed)


@pytest.mark.sweep
@pytest.mark.timeout(1200)
def test_native_agrees_on_many_programs() -> None:
    for seed in range(1500):
        compared(seed)


def test_programs_run_natively_what_they_should() -> None:
    seen: set[str] = set()
    for seed in range(60):
        seen |= compared(seed) or set()
    assert {"fused", "matmul", "write", "copy", "gather"} <= seen
