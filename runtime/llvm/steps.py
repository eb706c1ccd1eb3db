"""Steps of a native plan that NumPy or Python runs: what they read and write is found when they are bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...compiler.ir.types import ScalarType
from ...compiler.plan import Action, Place, Step
from ..errstate import restore, silence

if TYPE_CHECKING:
    from .executor import NativeExecutor, _Call, _Instance

Run = Callable[["_Call"], None]
Reader = Callable[["_Call"], Any]


def python_step(executor: NativeExecutor, instance: _Instance, step: Step) -> Run:
    """A step as a function of a call; its result goes where the plan wants it."""
    if step.action is Action.COPY:
        return _copy(_reader(executor, instance, step.output), _reader(executor, instance, step.inputs[0]))
    compute = _compute(executor, instance, step)
    if step.node.loc.backward:
        compute = _silently(compute)
    elif step.node.loc.errstate:
        compute = _under(dict(step.node.loc.errstate), compute)
    return _stored(executor, instance, step, compute)


def _reader(executor: NativeExecutor, instance: _Instance, number: int) -> Reader:
    """How a call gives a value."""
    plan = executor.plan
    value = plan.values[number]
    if value.place is Place.RUNTIME and value.base is None:
        return lambda call: call.made[number]
    if value.place is Place.ARENA or (value.place is Place.CONSTANT and value.base is None):
        found = instance.window(number)
        return lambda call: found
    if value.base is None and value.buffer is not None and value.place is Place.PARAM:
        position = plan.buffers[value.buffer].param
        return lambda call: call.values[position]  # type: ignore[index]
    if value.base is None and value.buffer is not None and value.place is Place.FRESH:
        slot = executor.fresh.index(value.buffer)
        return lambda call: call.fresh[slot]
    return lambda call: call.value(number)


def _copy(target: Reader, source: Reader) -> Run:
    def run(call: _Call) -> None:
        target(call)[...] = source(call)

    return run


def _compute(executor: NativeExecutor, instance: _Instance, step: Step) -> Reader:
    node = step.node
    numbers = bool(node.inputs) and all(isinstance(o.type, ScalarType) for o in node.inputs)
    function: Any = node.op.python if numbers and node.op.python else node.op.numpy
    readers = [_reader(executor, instance, number) for number in step.inputs]
    attrs = dict(node.attrs)
    return lambda call: function(*[read(call) for read in readers], **attrs)


def _silently(compute: Reader) -> Reader:
    def run(call: _Call) -> Any:
        token = silence()
        try:
            return compute(call)
        finally:
            restore(token)

    return run


def _under(settings: dict[str, Any], compute: Reader) -> Reader:
    def run(call: _Call) -> Any:
        with np.errstate(**settings):
            return compute(call)

    return run


def _stored(executor: NativeExecutor, instance: _Instance, step: Step, compute: Reader) -> Run:
    """The step with its result put into the plan's memory, or kept by the call."""
    plan = executor.plan
    if step.more:
        targets = [_reader(executor, instance, number) for number in step.more]
        indices = [plan.values[number].node.attrs["index"] for number in step.more]

        def several(call: _Call) -> None:
            made = compute(call)
            for target, index in zip(targets, indices, strict=True):
                target(call)[...] = made[index]

        return several
    if plan.values[step.output].buffer is not None:
        return _copy(_reader(executor, instance, step.output), compute)
    number = step.output

    def keep(call: _Call) -> None:
        call.made[number] = compute(call)

    return keep
