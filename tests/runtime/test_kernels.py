"""Every op through the NumPy executor: values, types and layouts as the reference interpreter has them."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import ArrayType, Builder, GeneratorType, Graph, Kind, Node, ScalarType, TupleType
from tapeless.compiler.ir.opdef import OPS, OpDef, Sample
from tapeless.compiler.ir.types import GENERATOR, Type, array_type, scalar_type
from tapeless.compiler.passes.memory import REPLACES, WRITES_OUT
from tapeless.compiler.plan import Place, Target, make_plan
from tapeless.compiler.plan_verify import verify_plan
from tapeless.runtime.executor import NumpyExecutor
from tapeless.runtime.interpret import interpret
from tapeless.runtime.kernels import PARTS, ROWS

SAMPLES = [
    pytest.param(op, sample, id=f"{op.name}-{sample.name}")
    for op in OPS.values()
    for sample in op.samples
    if sample.breaks is None
]


def type_of(value: Any) -> Type:
    if isinstance(value, np.random.Generator):
        return GENERATOR
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    if isinstance(value, (np.ndarray, np.generic)):
        return array_type(value.shape, value.dtype)
    return scalar_type(type(value))


def param(builder: Builder, name: str, value: Any) -> Node:
    return builder.param(name, type_of(value))


def target(node: Node, result: Any) -> Target:
    """What a user would get: the type of NumPy's own result in its own layout."""
    if not isinstance(node.type, ArrayType):
        return Target("number")
    if isinstance(result, np.generic):
        return Target("scalar")
    dense = np.empty_like(result)
    return Target("fresh", dense.strides if result.size else None)


def same(expected: Any, found: Any) -> bool:
    """Equal types and bytes; NaNs may differ in sign and payload."""
    if type(expected) is not type(found):
        return False
    if not isinstance(expected, (np.ndarray, np.generic)):
        return repr(expected) == repr(found)
    first, second = np.asarray(expected), np.asarray(found)
    if first.dtype != second.dtype or first.shape != second.shape:
        return False
    return bool(np.array_equal(first, second, equal_nan=first.dtype.kind in "fc")) and bool(
        np.array_equal(np.signbit(first.real), np.signbit(second.real)) if first.dtype.kind == "f" else True
    )


def layouts(value: Any) -> list[Any]:
    if not isinstance(value, np.ndarray) or not value.ndim:
        return [value]
    turned = np.ascontiguousarray(value.T).T
    reversed_ = np.flip(np.flip(value, 0).copy(), 0)
    wide = np.zeros([2 * n for n in value.shape], value.dtype)
    gaps = wide[tuple(slice(0, None, 2) for _ in value.shape)]
    gaps[...] = value
    return [value, turned, reversed_, gaps]


def fresh_inputs(sample: Sample, choice: int) -> list[Any]:
    """The sample's values anew, in one of the combinations of layouts."""
    values = sample.inputs(np.random.default_rng(3))
    combinations = list(itertools.product(*(layouts(value) for value in values)))
    order = np.random.default_rng(choice).permutation(len(combinations))
    return list(combinations[order[choice % len(order)]])


def build(op: OpDef, values: Sequence[Any], attrs: Any) -> tuple[Builder, list[Node], Node]:
    builder = Builder()
    params = [param(builder, f"x{k}", value) for k, value in enumerate(values)]
    return builder, params, builder.make(op, params, attrs)


def outputs_of(builder: Builder, node: Node) -> list[Node]:
    if isinstance(node.type, TupleType):
        return [
            builder.get(node, index=k)
            for k, item in enumerate(node.type.items)
            if not isinstance(item, GeneratorType)
        ]
    return [node]


@pytest.mark.parametrize("choice", [0, 1, 2])
@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_op_equals_its_reference(op: OpDef, sample: Sample, choice: int) -> None:
    values = fresh_inputs(sample, choice)
    builder, params, node = build(op, values, sample.attrs)
    outputs = outputs_of(builder, node)
    graph = Graph("f", tuple(params), tuple(outputs))
    with np.errstate(all="ignore"):
        expected = interpret(graph, fresh_inputs(sample, choice))
    targets = [target(n, value) for n, value in zip(outputs, expected, strict=True)]
    given = [v.strides if isinstance(v, np.ndarray) else None for v in values]
    plan = make_plan(graph, given, targets)
    verify_plan(plan)
    with np.errstate(all="ignore"):
        found = NumpyExecutor(plan, poison=True)(values)
    for want, got, asked in zip(expected, found, targets, strict=True):
        assert same(want if asked.kind != "fresh" else np.asarray(want), got), (want, got)
        if asked.kind == "fresh":
            assert got.base is None
            assert got.flags.owndata
            assert got.flags.writeable


@pytest.mark.parametrize("choice", [0, 1, 2])
@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_op_between_others(op: OpDef, sample: Sample, choice: int) -> None:
    """Operands and results in the arena, in place where the plan says so, with poisoned neighbours."""
    values = fresh_inputs(sample, choice)
    builder = Builder()
    params = [param(builder, f"x{k}", value) for k, value in enumerate(values)]
    operands = [
        builder.copy(p, order="K") if isinstance(p.type, ArrayType) and p.shape and p.type.size else p
        for p in params
    ]
    outputs = outputs_of(builder, builder.make(op, operands, sample.attrs))
    outputs = [builder.copy(o, order="C") if isinstance(o.type, ArrayType) else o for o in outputs]
    graph = Graph("f", tuple(params), tuple(outputs))
    with np.errstate(all="ignore"):
        expected = interpret(graph, fresh_inputs(sample, choice))
    targets = [Target("fresh") if isinstance(o.type, ArrayType) else Target("number") for o in outputs]
    given = [v.strides if isinstance(v, np.ndarray) else None for v in values]
    plan = make_plan(graph, given, targets)
    verify_plan(plan)
    executor = NumpyExecutor(plan, poison=True)
    untouched = [np.array(v) if isinstance(v, np.ndarray) else None for v in values]
    for _ in range(2):
        if any(isinstance(v, np.random.Generator) for v in values):
            values = fresh_inputs(sample, choice)
        with np.errstate(all="ignore"):
            found = executor(values)
        for want, got in zip(expected, found, strict=True):
            assert same(want, got), (want, got)
    for before, value in zip(untouched, values, strict=True):
        assert before is None or same(before, np.array(value))


def test_planned_ops_have_rows() -> None:
    assert set(ROWS) <= set(OPS)
    assert WRITES_OUT - set(ROWS) - set(PARTS) == {"write"}
    assert set(PARTS) | {"write"} == REPLACES


def test_ops_that_are_planned_write_into_their_memory() -> None:
    """A planned op's kernel leaves its result in the arena, not in a new array."""
    builder = Builder()
    x = builder.param("x", array_type((3, 4), np.dtype("f8")))
    y = builder.exp(builder.negative(x))
    total = builder.sum(y, axes=(1,), dtype=y.dtype)
    plan = make_plan(Graph("f", (x,), (builder.negative(total),)), [None], [Target("fresh")])
    assert [plan.values[step.output].place for step in plan.steps] == [
        Place.ARENA,
        Place.ARENA,
        Place.FRESH,
        Place.FRESH,
    ]


def test_python_numbers_stay_python_numbers() -> None:
    builder = Builder()
    w, x = (builder.param(name, ScalarType(float)) for name in "wx")
    square = builder.power(builder.multiply(w, x), builder.constant(2), form="array")
    graph = Graph("f", (w, x), (square, builder.less(w, x)))
    plan = make_plan(graph, [None, None], [Target("number")] * 2)
    assert NumpyExecutor(plan)([3.0, 2.0]) == [36.0, False]
    assert all(node.op.kind is not Kind.VIEW for node in graph.nodes)
