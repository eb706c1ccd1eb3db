"""Plans: order, memory, commits, results, text, and what the verifier refuses."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, Graph, Node
from tapeless.compiler.ir.record import replace
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.ops.view import path_step
from tapeless.compiler.passes.differentiate import pull_back
from tapeless.compiler.plan import Action, Place, Plan, Target, make_plan
from tapeless.compiler.plan_verify import PlanError, verify_plan

F8 = np.dtype("f8")
F4 = np.dtype("f4")


def vector(b: Builder, name: str = "x", length: int = 100) -> Node:
    return b.param(name, array_type((length,), F8))


def planned(
    params: Sequence[Node], outputs: Sequence[Node], targets: Sequence[Target], **options: Any
) -> Plan:
    plan = make_plan(Graph("f", tuple(params), tuple(outputs)), [None] * len(params), targets, **options)
    verify_plan(plan)
    return plan


def ops_of(plan: Plan) -> list[str]:
    return [step.node.op.name if step.action is not Action.COPY else "copy behind" for step in plan.steps]


def made(plan: Plan, op: str) -> Any:
    """The value of the only step of this op."""
    (step,) = [s for s in plan.steps if s.node.op.name == op and s.action is Action.COMPUTE]
    return plan.values[step.output]


def mlp_step(batch: int) -> Plan:
    """Value, gradients and SGD of a network 784-128-10, written out."""
    b = Builder()
    shapes = {"w1": (784, 128), "b1": (128,), "w2": (128, 10), "b2": (10,), "x": (batch, 784)}
    params = {name: b.param(name, array_type(shape, F4)) for name, shape in shapes.items()}
    y = b.param("y", array_type((batch, 10), F4))
    w1, b1, w2, b2, x = params.values()
    hidden = b.add(b.matmul(x, w1), b.broadcast_to(b1, (batch, 128)))
    hidden = b.maximum(hidden, b.constant(np.float32(0)))
    scores = b.add(b.matmul(hidden, w2), b.broadcast_to(b2, (batch, 10)))
    error = b.subtract(scores, y)
    loss = b.sum(b.multiply(error, error), axes=(0, 1), dtype=F4)
    wrt = [w1, b1, w2, b2]
    cts = pull_back(b, [loss], [b.constant(np.float32(1))], wrt)
    rate = b.constant(np.float32(0.1))
    new = [b.subtract(w, b.multiply(rate, ct)) for w, ct in zip(wrt, cts, strict=True) if ct is not None]
    targets = [Target("scalar"), *(Target("commit", param=k) for k in range(4))]
    return planned([*params.values(), y], [loss, *new], targets)


# -- order and memory


@pytest.mark.parametrize("batch", [64, 128])
def test_peak_of_a_training_step(batch: int) -> None:
    plan = mlp_step(batch)
    assert plan.peak_bytes <= 0.4 * plan.intermediate_bytes
    assert plan.arena_bytes <= 1.05 * plan.peak_bytes + 64 * len(plan.buffers)


def test_a_chain_needs_one_buffer() -> None:
    b = Builder()
    x = vector(b)
    y = b.multiply(x, x)
    for _ in range(50):
        y = b.sin(y)
    plan = planned([x], [b.sum(y, axes=(0,), dtype=F8)], [Target("scalar")])
    assert plan.arena_bytes == 832
    assert plan.peak_bytes == 808
    assert plan.intermediate_bytes == 51 * 800 + 8


def test_wide_graphs_are_reduced_early() -> None:
    """Each branch is summed before the next one begins, whatever order the graph lists them in."""
    b = Builder()
    x = vector(b, length=1000)
    branches = [b.exp(b.multiply(x, b.constant(np.float64(k)))) for k in range(20)]
    sums = [b.sum(branch, axes=(0,), dtype=F8) for branch in branches]
    total = sums[0]
    for part in sums[1:]:
        total = b.add(total, part)
    plan = planned([x], [total], [Target("scalar")])
    assert plan.arena_bytes <= 2 * 8064


def test_an_order_is_the_same_each_time() -> None:
    assert str(mlp_step(64)) == str(mlp_step(64))


def test_diamond_runs_inputs_first() -> None:
    b = Builder()
    x = vector(b)
    short = b.exp(x)
    long = b.sin(b.cos(b.tanh(x)))
    plan = planned([x], [b.add(short, long)], [Target("fresh")])
    order = ops_of(plan)
    assert order[-1] == "add"
    assert order.index("tanh") < order.index("cos") < order.index("sin")


# -- in place


def test_elementwise_results_take_over_dead_operands() -> None:
    b = Builder()
    x = vector(b)
    y = b.exp(x)
    plan = planned([x], [b.sum(b.multiply(y, y), axes=(0,), dtype=F8)], [Target("scalar")])
    assert [step.in_place for step in plan.steps] == [None, 0, None]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda b, y: b.slice(y, start=(99,), size=(100,), step=(-1,)), id="reversed"),
        pytest.param(
            lambda b, y: b.broadcast(
                b.reshape(b.slice(y, start=(0,), size=(1,), step=(1,)), ()), axes=(), shape=(100,)
            ),
            id="repeated",
        ),
    ],
)
def test_no_write_over_an_operand_that_is_read_otherwise(other: Callable[[Builder, Node], Node]) -> None:
    b = Builder()
    x = vector(b)
    y = b.exp(x)
    plan = planned([x], [b.sum(b.add(y, other(b, y)), axes=(0,), dtype=F8)], [Target("scalar")])
    assert next(step for step in plan.steps if step.node.op.name == "add").in_place is None


def test_writes_into_a_dead_base_copy_nothing() -> None:
    b = Builder()
    x = vector(b, length=10)
    y = b.exp(x)
    for k in range(5):
        part = path_step("slice", start=(k,), size=(2,), step=(1,))
        y = b.write(y, b.slice(x, start=(k,), size=(2,), step=(1,)), path=(part,))
    plan = planned([x], [y], [Target("fresh")])
    assert [step.in_place for step in plan.steps if step.node.op.name == "write"] == [0] * 5
    assert {value.place for value in plan.values[1:] if value.base is None} == {Place.FRESH}


def test_a_base_that_is_read_later_is_copied() -> None:
    b = Builder()
    x = vector(b, length=10)
    y = b.exp(x)
    part = (path_step("slice", start=(0,), size=(1,), step=(1,)),)
    z = b.write(y, b.slice(x, start=(3,), size=(1,), step=(1,)), path=part)
    plan = planned([x], [z, y], [Target("fresh")] * 2)
    assert next(step for step in plan.steps if step.node.op.name == "write").in_place is None


def test_complex_products_are_not_made_in_place() -> None:
    """NumPy rounds them otherwise there, where a single pair is left."""
    b = Builder()
    x = b.param("x", array_type((3,), np.dtype("c16")))
    y = b.exp(x)
    plan = planned([x], [b.negative(b.multiply(y, y))], [Target("fresh")])
    assert next(step for step in plan.steps if step.node.op.name == "multiply").in_place is None


# -- results


@pytest.mark.parametrize(
    ("view", "target"),
    [
        pytest.param(lambda b, y: b.reshape(y, (6,)), Target("fresh"), id="reshape"),
        pytest.param(lambda b, y: b.transpose(y, axes=(1, 0)), Target("fresh", (8, 24)), id="transpose"),
    ],
)
def test_results_that_show_all_of_a_value_need_no_copy(view: Any, target: Target) -> None:
    b = Builder()
    x = b.param("x", array_type((2, 3), F8))
    plan = planned([x], [view(b, b.exp(x))], [target])
    assert len(ops_of(plan)) == 2
    assert plan.arena_bytes == 0
    assert made(plan, "exp").place is Place.FRESH


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda b, y: b.slice(y, start=(0, 0), size=(1, 3), step=(1, 1)), id="part"),
        pytest.param(lambda b, y: b.slice(y, start=(1, 0), size=(2, 3), step=(-1, 1)), id="reversed"),
        pytest.param(lambda b, y: b.broadcast(y, axes=(1, 2), shape=(4, 2, 3)), id="repeated"),
    ],
)
def test_results_of_other_views_are_copied_out_of_the_arena(view: Any) -> None:
    b = Builder()
    x = b.param("x", array_type((2, 3), F8))
    plan = planned([x], [view(b, b.exp(x))], [Target("fresh")])
    assert ops_of(plan)[-1] == "copy behind"
    assert made(plan, "exp").place is Place.ARENA


def test_two_results_that_show_one_value_are_two_arrays() -> None:
    b = Builder()
    x = b.param("x", array_type((2, 3), F8))
    y = b.exp(x)
    plan = planned([x], [y, b.reshape(y, (6,))], [Target("fresh")] * 2)
    assert ops_of(plan)[-1] == "copy behind"


def test_one_value_twice_is_two_arrays() -> None:
    b = Builder()
    x = vector(b)
    y = b.exp(x)
    plan = planned([x], [y, y], [Target("fresh")] * 2)
    first, second = plan.results
    assert first != second


def test_results_in_another_layout_are_copied() -> None:
    b = Builder()
    x = b.param("x", array_type((2, 3), F8))
    plan = planned([x], [b.exp(x)], [Target("fresh", (8, 16))])
    assert ops_of(plan) == ["exp", "copy behind"]
    (result,) = plan.results
    assert result is not None
    assert plan.values[result].strides == (8, 16)


def test_donated_memory_holds_the_result() -> None:
    b = Builder()
    w, g = vector(b, "w"), vector(b, "g")
    plan = planned([w, g], [b.subtract(w, g)], [Target("fresh")], donated=frozenset([0]))
    assert made(plan, "subtract").place is Place.PARAM
    assert plan.peak_bytes == 0


# -- commits


def update(b: Builder, w: Node, g: Node) -> Node:
    return b.subtract(w, b.multiply(b.constant(np.float64(0.1)), g))


def test_an_update_is_computed_in_the_callers_memory() -> None:
    b = Builder()
    w, g = vector(b, "w"), vector(b, "g")
    plan = planned([w, g], [update(b, w, g)], [Target("commit", param=0)])
    assert [step.tail for step in plan.steps] == [False, True]
    assert made(plan, "subtract").place is Place.PARAM
    assert plan.results == (None,)


def test_commits_follow_all_readers_and_all_that_can_raise() -> None:
    b = Builder()
    w, g = vector(b, "w", 4), vector(b, "g", 4)
    i = b.param("i", array_type((2,), np.dtype("i8")))
    late = b.gather(g, i, axes=(0,))
    plan = planned(
        [w, g, i],
        [update(b, w, g), b.sum(w, axes=(0,), dtype=F8), late],
        [Target("commit", param=0), Target("scalar"), Target("fresh")],
    )
    order = ops_of(plan)
    assert order.index("subtract") > order.index("gather")
    assert order.index("subtract") > order.index("sum")


def test_a_committed_value_that_is_used_again_is_copied_at_the_end() -> None:
    b = Builder()
    w, g = vector(b, "w"), vector(b, "g")
    new = update(b, w, g)
    total = b.sum(new, axes=(0,), dtype=F8)
    plan = planned([w, g], [new, total], [Target("commit", param=0), Target("scalar")])
    assert ops_of(plan)[-1] == "copy behind"
    assert made(plan, "subtract").place is Place.ARENA


def test_commits_that_read_each_others_params_do_not_both_write_in_place() -> None:
    b = Builder()
    v, w = vector(b, "v"), vector(b, "w")
    targets = [Target("commit", param=0), Target("commit", param=1)]
    plan = planned([v, w], [b.subtract(v, w), b.add(w, v)], targets)
    assert ops_of(plan)[-1] == "copy behind"
    assert sum(step.tail and step.action is Action.COMPUTE for step in plan.steps) == 1


def test_params_that_change_places_are_read_before_they_are_written() -> None:
    b = Builder()
    v, w = vector(b, "v"), vector(b, "w")
    targets = [Target("commit", param=0), Target("commit", param=1)]
    plan = planned([v, w], [w, v], targets)
    assert [plan.values[step.output].place for step in plan.steps] == [
        Place.ARENA,
        Place.ARENA,
        Place.PARAM,
        Place.PARAM,
    ]


def test_stores_through_views_go_straight_into_the_param() -> None:
    b = Builder()
    w = vector(b, "w", 10)
    x = b.param("x", array_type((2,), F8))
    new = w
    for start in (0, 4):
        new = b.write(new, x, path=(path_step("slice", start=(start,), size=(2,), step=(1,)),))
    plan = planned([w, x], [new], [Target("commit", param=0)])
    assert [step.in_place for step in plan.steps] == [0, 0]
    assert all(step.tail for step in plan.steps)
    assert plan.peak_bytes == 0


@pytest.mark.parametrize(("reads", "in_place"), [(True, True), (False, False)])
def test_indexed_stores_need_an_index_that_was_read_through(reads: bool, in_place: bool) -> None:
    b = Builder()
    w = vector(b, "w", 10)
    i = b.param("i", array_type((2,), np.dtype("i8")))
    value = b.negative(b.gather(w, i, axes=(0,))) if reads else b.constant(np.ones(2))
    plan = planned([w, i], [b.scatter(w, value, i, axes=(0,))], [Target("commit", param=0)])
    assert (made(plan, "scatter").place is Place.PARAM) is in_place


def test_backwards_arguments_get_transcendental_results_by_a_copy() -> None:
    """NumPy's vector functions round otherwise where the result runs backwards."""
    b = Builder()
    w = vector(b, "w")
    graph = Graph("f", (w,), (b.exp(w),))
    plan = make_plan(graph, [(-8,)], [Target("commit", param=0)])
    verify_plan(plan)
    assert ops_of(plan) == ["exp", "copy behind"]


# -- text


def test_text_of_every_kind_of_step(golden: Callable[[str, str], None]) -> None:
    b = Builder()
    w = b.param("w", array_type((3, 4), F8))
    x = b.param("x", array_type((3, 4), F8))
    i = b.param("i", array_type((2,), np.dtype("i8")))
    y = b.exp(b.add(x, b.constant(np.ones((3, 4)))))
    rows = b.gather(y, i, axes=(0,))
    part = (path_step("slice", start=(1, 0), size=(2, 4), step=(1, 1)),)
    outputs = [
        b.transpose(b.write(y, rows, path=part), axes=(1, 0)),
        b.slice(y, start=(0, 0), size=(1, 4), step=(1, 1)),
        b.sum(y, axes=(0, 1), dtype=F8),
        b.subtract(w, x),
    ]
    targets = [Target("fresh", (8, 32)), Target("fresh"), Target("scalar"), Target("commit", param=0)]
    golden("plan_every_kind", str(planned([w, x, i], outputs, targets)))


# -- verifier


def two_buffers() -> Plan:
    b = Builder()
    x = vector(b, length=16)
    y, z = b.exp(x), b.sin(x)
    return planned([x], [b.sum(b.matmul(*(b.reshape(n, (4, 4)) for n in (y, z))), axes=(0, 1), dtype=F8)],
                   [Target("scalar")])  # fmt: skip


def with_step(plan: Plan, number: int, **changes: Any) -> Plan:
    steps = list(plan.steps)
    steps[number] = replace(steps[number], **changes)
    return replace(plan, steps=tuple(steps))


def with_value(plan: Plan, number: int, **changes: Any) -> Plan:
    values = list(plan.values)
    values[number] = replace(values[number], **changes)
    return replace(plan, values=tuple(values))


def overlapping(plan: Plan) -> Plan:
    buffers = tuple(replace(b, offset=0) if b.place is Place.ARENA else b for b in plan.buffers)
    return replace(plan, buffers=buffers)


def reading_too_late(plan: Plan) -> Plan:
    """The second computation writes over what the first one made."""
    first, second, *_ = (step.output for step in plan.steps if step.action is Action.COMPUTE)
    old, new = plan.values[second].buffer, plan.values[first].buffer
    moved = (replace(value, buffer=new) if value.buffer == old else value for value in plan.values)
    return replace(plan, values=tuple(moved))


def with_a_view_moved(plan: Plan) -> Plan:
    """The view of one value lies in the buffer of the other."""
    numbers = [k for k, value in enumerate(plan.values) if value.base is not None]
    return with_value(plan, numbers[0], buffer=plan.values[numbers[1]].buffer)


BROKEN = [
    pytest.param("P1", lambda plan: replace(plan, steps=plan.steps[::-1]), id="order"),
    pytest.param("P1", lambda plan: replace(plan, steps=plan.steps[:-1]), id="missing"),
    pytest.param("P2", lambda plan: replace(plan, arena_bytes=64), id="arena"),
    pytest.param("P2", lambda plan: with_value(plan, plan.steps[0].output, offset=8), id="bounds"),
    pytest.param("P3", overlapping, id="overlap"),
    pytest.param("P4", reading_too_late, id="holder"),
    pytest.param("P5", lambda plan: with_step(plan, len(plan.steps) - 2, in_place=0), id="in-place"),
    pytest.param("P6", with_a_view_moved, id="view"),
    pytest.param("P8", lambda plan: replace(plan, results=(None,)), id="result"),
    pytest.param("P8", lambda plan: replace(plan, targets=(Target("commit", param=0),)), id="commit"),
]


@pytest.mark.parametrize(("check", "breaks"), BROKEN)
def test_verifier_finds_what_is_broken(check: str, breaks: Callable[[Plan], Plan]) -> None:
    with pytest.raises(PlanError) as error:
        verify_plan(breaks(two_buffers()))
    assert error.value.check == check


def test_verifier_finds_writes_to_params_outside_the_tail() -> None:
    b = Builder()
    w, g = vector(b, "w"), vector(b, "g")
    plan = planned([w, g], [update(b, w, g)], [Target("commit", param=0)])
    with pytest.raises(PlanError, match="P7"):
        verify_plan(with_step(plan, 1, tail=False))


def test_verifier_finds_what_raises_behind_a_commit() -> None:
    b = Builder()
    w, g = vector(b, "w"), vector(b, "g")
    i = b.param("i", array_type((2,), np.dtype("i8")))
    plan = planned(
        [w, g, i],
        [update(b, w, g), b.gather(g, i, axes=(0,))],
        [Target("commit", param=0), Target("fresh")],
    )
    late = sorted(plan.steps, key=lambda step: step.node.op.name == "gather")
    with pytest.raises(PlanError, match="P7"):
        verify_plan(replace(plan, steps=tuple(late)))


def test_the_verifier_runs_where_passes_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr("tapeless.compiler.plan_verify.verify_plan", called.append)
    b = Builder()
    x = vector(b)
    graph = Graph("f", (x,), (b.exp(x),))
    monkeypatch.setenv("TAPELESS_CHECK", "1")
    make_plan(graph, [None], [Target("fresh")])
    monkeypatch.setenv("TAPELESS_CHECK", "0")
    make_plan(graph, [None], [Target("fresh")])
    assert len(called) == 1
