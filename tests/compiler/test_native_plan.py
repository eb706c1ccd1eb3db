"""The verifier on plans of fused graphs: good ones pass, each way of breaking one is named."""

from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.ir.node import Node
from tapeless.compiler.ir.record import replace
from tapeless.compiler.plan import Place, Plan
from tapeless.compiler.plan_verify import PlanError, verify_plan


def chain(x: Any) -> Any:
    y = np.sort(np.exp(x))
    return np.sort(y * 2 + 1) * 3


def adam(w: Any, m: Any, g: Any) -> None:
    m *= 0.9
    m += 0.1 * g
    w -= 0.01 * m


def plan_of(function: Any, *args: Any) -> Plan:
    return tl.compile(function, executor="native").plan(*args)


def fused(plan: Plan) -> int:
    """The number of a fused step that overwrites an operand, or of the last one."""
    numbers = [k for k, step in enumerate(plan.steps) if step.node.op.name == "fused"]
    return next((k for k in numbers if plan.steps[k].in_place is not None), numbers[-1])


def with_node(plan: Plan, number: int, **attrs: Any) -> Plan:
    step = plan.steps[number]
    node = Node(step.node.op, step.node.inputs, {**step.node.attrs, **attrs}, step.node.type, step.node.loc)
    steps = list(plan.steps)
    steps[number] = replace(step, node=node)
    return replace(plan, steps=tuple(steps))


def test_memory_is_taken_over_where_the_body_allows_it() -> None:
    plan = plan_of(chain, np.ones(50))
    assert any(step.in_place is not None for step in plan.steps)
    verify_plan(plan)
    number = fused(plan)
    outputs = len(plan.steps[number].node.attrs["overwrites"])
    with pytest.raises(PlanError, match="which it reads elsewhere") as caught:
        verify_plan(with_node(plan, number, overwrites=((),) * outputs))
    assert caught.value.check == "P5"


def test_updates_of_several_params_in_one_step() -> None:
    plan = plan_of(adam, np.ones(9), np.ones(9), np.ones(9))
    (step,) = [step for step in plan.steps if step.node.op.name == "fused"]
    assert len(step.more) == 2
    assert step.tail
    verify_plan(plan)
    with pytest.raises(PlanError, match="which it reads elsewhere"):
        verify_plan(with_node(plan, fused(plan), overwrites=((), ())))


def test_an_operand_that_lives_on_is_not_overwritten() -> None:
    plan = plan_of(chain, np.ones(50))
    number = fused(plan)
    step = plan.steps[number]
    assert step.in_place is not None
    values = list(plan.values)
    operand = step.inputs[step.in_place]
    values[operand] = replace(values[operand], last=values[step.output].first + 1)
    with pytest.raises(PlanError, match="that lives until step"):
        verify_plan(replace(plan, values=tuple(values)))


def test_a_result_of_several_is_made_once() -> None:
    plan = plan_of(lambda x: (np.sort(x * 2), np.sort(x + 1)), np.ones(5))
    (number,) = [k for k, step in enumerate(plan.steps) if len(step.more) == 2]
    step = plan.steps[number]
    steps = list(plan.steps)
    steps[number] = replace(step, more=(step.more[0], step.more[0]))
    with pytest.raises(PlanError, match="again") as caught:
        verify_plan(replace(plan, steps=tuple(steps)))
    assert caught.value.check == "P1"
    assert all(plan.values[n].place is not Place.RUNTIME for n in step.more)


def test_a_param_that_is_written_to_another_at_the_end_keeps_its_value() -> None:
    def rotate(x: Any, y: Any) -> None:
        old = x.copy()
        x *= 2
        y[...] = old

    compiled = tl.compile(rotate, executor="native")
    for _ in range(2):
        x, y = np.arange(4.0), np.zeros(4)
        compiled(x, y)
        np.testing.assert_array_equal(x, 2 * np.arange(4.0))
        np.testing.assert_array_equal(y, np.arange(4.0))


def test_a_decayed_moment_runs_with_the_update_that_waits_for_a_product() -> None:
    def step(w: Any, m: Any, x: Any) -> None:
        adam(w, m, x.T @ x)

    w, m, x = np.ones((9, 9)), np.full((9, 9), 2.0), np.arange(90.0).reshape(10, 9)
    plan = plan_of(step, w, m, x)
    assert sum(step.node.op.name == "fused" for step in plan.steps) == 1
    wanted_w, wanted_m = w.copy(), m.copy()
    step(wanted_w, wanted_m, x)
    tl.compile(step, executor="native")(w, m, x)
    np.testing.assert_allclose((w, m), (wanted_w, wanted_m), rtol=1e-13)


def test_what_two_groups_read_is_a_kernel_of_its_own() -> None:
    def function(a: Any, x: Any) -> Any:
        scaled = np.exp(a)
        return scaled + x @ x, scaled * np.sort(x, axis=None)[:1]

    a, x = np.arange(16.0).reshape(4, 4), np.linspace(-1, 1, 16).reshape(4, 4)
    plan = plan_of(function, a, x)
    exponentials = [s for s in plan.steps if "exp" in str(s.node.attrs.get("body", ""))]
    assert len(exponentials) == 1
    for found, wanted in zip(tl.compile(function, executor="native")(a, x), function(a, x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-13)
