"""The verifier of plans: numbered checks that a plan's memory is sound.

P1  every value is made before it is read, once.
P2  every planned value lies inside its buffer, every arena buffer inside the arena, at a multiple of 64.
P3  arena buffers that are alive at the same step do not overlap.
P4  a value is read only while its buffer still holds it.
P5  a result in place takes over an operand that dies, that lies exactly as it does, and that no other
    operand overlaps in another way; replacing ops take over their first operand. A result of a fused step
    lies over no operand but one that its body lets it overwrite.
P6  a view has the place of its base and stays inside it.
P7  only steps of the tail write to a param; behind the first of them nothing can raise, and nothing reads
    a param's old values once they are written.
P8  results are what their targets ask for, and never lie in the arena or a param that was not donated.
"""

from __future__ import annotations

from typing import NoReturn

from .ir.opdef import Kind
from .ir.types import ArrayType
from .passes.commit import index_of
from .passes.memory import TAKES_FIRST, may_raise
from .passes.strides import extent, same_layout
from .plan import Action, Place, Plan, Step, Value


class PlanError(AssertionError):
    """A plan breaks one of the checks; `check` is its number. This is an error of the compiler's own."""

    def __init__(self, check: str, detail: str) -> None:
        super().__init__(f"{check}: {detail} (an error in the planner, not in your code)")
        self.check = check


def verify_plan(plan: Plan) -> None:
    """Raise PlanError naming the first check that the plan breaks."""
    _check_order(plan)
    _check_bounds(plan)
    _check_overlap(plan)
    _check_holders(plan)
    for number, step in enumerate(plan.steps):
        if step.node.op.name == "fused":
            _check_fused(plan, number, step)
        elif step.in_place is not None:
            _check_in_place(plan, number, step, step.in_place)
    _check_tail(plan)
    _check_results(plan)


def _fail(check: str, detail: str) -> NoReturn:
    raise PlanError(check, detail)


def _span(plan: Plan, value: Value) -> tuple[int, int]:
    """The bytes of a value in its buffer."""
    assert isinstance(value.type, ArrayType)
    assert value.strides is not None
    low, high = extent(value.type.shape, value.strides, value.type.dtype.itemsize)
    return value.offset + low, value.offset + high


def _check_order(plan: Plan) -> None:
    made = {number for number, value in enumerate(plan.values) if value.first < 0}
    for number, step in enumerate(plan.steps):
        for operand in step.inputs:
            if operand not in made:
                _fail("P1", f"step {number} reads value {operand} before it is made")
        for output in (step.output, *step.more):
            if output in made:
                _fail("P1", f"step {number} makes value {output} again")
            made.add(output)
    if len(made) != len(plan.values):
        _fail("P1", "a value is never made")


def _check_bounds(plan: Plan) -> None:
    for number, value in enumerate(plan.values):
        if value.buffer is None or value.place is Place.PARAM or value.place is Place.RUNTIME:
            continue
        low, high = _span(plan, value)
        if low < 0 or high > plan.buffers[value.buffer].nbytes:
            _fail("P2", f"value {number} lies at bytes {low} to {high} of its buffer")
    for number, buffer in enumerate(plan.buffers):
        if buffer.place is Place.ARENA and (
            buffer.offset % 64 or buffer.offset < 0 or buffer.offset + buffer.nbytes > plan.arena_bytes
        ):
            _fail("P2", f"buffer {number} lies at {buffer.offset} of an arena of {plan.arena_bytes} bytes")


def _check_overlap(plan: Plan) -> None:
    """A sweep over the steps with the live buffers sorted by offset."""
    from bisect import bisect_left, insort

    buffers = [buffer for buffer in plan.buffers if buffer.place is Place.ARENA and buffer.nbytes]
    births = sorted(buffers, key=lambda buffer: buffer.first)
    deaths = sorted(buffers, key=lambda buffer: buffer.last)
    live: list[tuple[int, int]] = []
    dead = 0
    for buffer in births:
        while deaths[dead].last < buffer.first:
            gone = deaths[dead]
            del live[bisect_left(live, (gone.offset, gone.offset + gone.nbytes))]
            dead += 1
        span = (buffer.offset, buffer.offset + buffer.nbytes)
        place = bisect_left(live, span)
        if place < len(live) and live[place][0] < span[1]:
            _fail("P3", f"bytes {span} and {live[place]} of the arena are in use at step {buffer.first}")
        if place and live[place - 1][1] > span[0]:
            _fail("P3", f"bytes {span} and {live[place - 1]} of the arena are in use at step {buffer.first}")
        insort(live, span)


def _check_holders(plan: Plan) -> None:
    """Replay which root value each buffer holds."""
    root = _roots(plan)
    holds: dict[int, int] = {
        value.buffer: number
        for number, value in enumerate(plan.values)
        if value.first < 0 and value.buffer is not None
    }
    for number, step in enumerate(plan.steps):
        for operand in step.inputs:
            _check_held(plan, root, holds, operand, f"step {number}")
        if step.action is Action.VIEW:
            _check_view(plan, number, step)
            continue
        for output in (step.output, *step.more):
            buffer = plan.values[output].buffer
            if buffer is not None:
                holds[buffer] = output
    for result in plan.results:
        if result is not None:
            _check_held(plan, root, holds, result, "the end")


def _check_held(plan: Plan, root: list[int], holds: dict[int, int], number: int, reader: str) -> None:
    value = plan.values[number]
    if value.buffer is None or value.place is Place.RUNTIME:
        return
    if holds.get(value.buffer) != root[number]:
        _fail("P4", f"{reader} reads value {number}, but its buffer holds {holds.get(value.buffer)}")


def _roots(plan: Plan) -> list[int]:
    """For each value the one that it is, directly or not, a view of."""
    root: list[int] = []
    for number, value in enumerate(plan.values):
        root.append(number if value.base is None else root[value.base])
    return root


def _check_view(plan: Plan, number: int, step: Step) -> None:
    output = plan.values[step.output]
    base = plan.values[step.inputs[0]]
    if output.place not in (base.place, Place.RUNTIME) or (
        output.place is not Place.RUNTIME and output.buffer != base.buffer
    ):
        _fail("P6", f"the view of step {number} lies elsewhere than its base")
    if output.place in (Place.ARENA, Place.FRESH, Place.PARAM) and base.place is output.place:
        low, high = _span(plan, output)
        base_low, base_high = _span(plan, base)
        if low < base_low or high > base_high:
            _fail("P6", f"the view of step {number} reaches beyond its base")


def _check_in_place(plan: Plan, number: int, step: Step, position: int) -> None:
    output, operand = plan.values[step.output], plan.values[step.inputs[position]]
    if output.buffer != operand.buffer or output.place is not operand.place:
        _fail("P5", f"step {number} takes over an operand that lies elsewhere")
    assert isinstance(output.type, ArrayType)
    assert isinstance(operand.type, ArrayType)
    same = (
        output.offset == operand.offset
        and output.type.shape == operand.type.shape
        and output.type.dtype.itemsize == operand.type.dtype.itemsize
        and output.strides is not None
        and operand.strides is not None
        and same_layout(output.type.shape, output.strides, operand.strides)
    )
    if not same:
        _fail("P5", f"step {number} takes over an operand that lies otherwise than its result")
    if operand.last > output.first and output.place is not Place.PARAM:
        _fail("P5", f"step {number} takes over an operand that lives until step {operand.last}")
    if step.node.op.name in TAKES_FIRST:
        others = [plan.values[k] for k in step.inputs[1:]]
        if position or any(other.buffer == output.buffer and other.buffer is not None for other in others):
            _fail("P5", f"step {number} replaces a part of memory that it reads")
    elif step.node.op.kind is not Kind.ELEMENTWISE:
        _fail("P5", f"step {number} is not elementwise")
    else:
        for other in (plan.values[k] for k in step.inputs):
            if other.buffer is not None and other.buffer == output.buffer and not _lies_as(other, operand):
                _fail("P5", f"step {number} overlaps another operand")


def _check_fused(plan: Plan, number: int, step: Step) -> None:
    """Memory that a fused step reads and writes is read at the very element that is written, and dies."""
    if step.action is not Action.COMPUTE:
        return
    for index, result in enumerate(step.more or (step.output,)):
        output = plan.values[result]
        if output.buffer is None:
            continue
        for position, operand in enumerate(plan.values[n] for n in step.inputs):
            if operand.buffer != output.buffer or operand.place is Place.RUNTIME:
                continue
            if position not in step.node.attrs["overwrites"][index]:
                _fail("P5", f"step {number} overwrites operand {position}, which it reads elsewhere")
            if not _lies_as(operand, output, same_dtype=False):
                _fail("P5", f"step {number} overwrites an operand that lies otherwise than its result")
            if operand.last > output.first and output.place is not Place.PARAM:
                _fail("P5", f"step {number} overwrites an operand that lives until step {operand.last}")


def _lies_as(value: Value, other: Value, same_dtype: bool = True) -> bool:
    if value.place is Place.RUNTIME:
        return True
    assert isinstance(value.type, ArrayType)
    assert isinstance(other.type, ArrayType)
    return (
        value.offset == other.offset
        and value.type.shape == other.type.shape
        and value.type.dtype.itemsize == other.type.dtype.itemsize
        and (value.type.dtype == other.type.dtype or not same_dtype)
        and value.strides is not None
        and other.strides is not None
        and same_layout(value.type.shape, value.strides, other.strides)
    )


def _check_tail(plan: Plan) -> None:
    begun = False
    proved: set[object] = set()
    for number, step in enumerate(plan.steps):
        results = [plan.values[n] for n in step.more or (step.output,)]
        output = next((value for value in results if value.place is Place.PARAM), results[0])
        if output.place is Place.PARAM and step.action is not Action.VIEW:
            assert output.buffer is not None
            donated = not step.tail and plan.buffers[output.buffer].param in plan.donated
            if not step.tail and not donated:
                _fail("P7", f"step {number} writes to a param outside the tail")
            begun = begun or step.tail
        if step.action is Action.COMPUTE:
            if step.node.op.name == "gather":
                proved.add(index_of(step.node))
            in_range = step.node.op.name == "scatter" and index_of(step.node) in proved
            quiet = in_range or step.node.op.name in ("fused", "get", "add_matmul")
            if begun and not quiet and may_raise(step.node):
                _fail("P7", f"step {number} can raise after a param was written")


def _check_results(plan: Plan) -> None:
    owners: set[int] = set()
    for number, target in zip(plan.results, plan.targets, strict=True):
        if target.kind == "commit":
            if number is not None:
                _fail("P8", "a commit has a result")
            continue
        if number is None:
            _fail("P8", "an output has no result")
        value = plan.values[number]
        if target.kind != "fresh":
            continue
        if value.place is Place.PARAM and value.buffer is not None:
            if plan.buffers[value.buffer].param not in plan.donated:
                _fail("P8", f"result {number} is the caller's memory")
        elif not _owns_memory(plan, value):
            _fail("P8", f"result {number} does not own its memory")
        owner = number if value.buffer is None else -1 - value.buffer
        if owner in owners:
            _fail("P8", f"the memory of result {number} is given twice")
        owners.add(owner)


def _owns_memory(plan: Plan, value: Value) -> bool:
    """Whether a result can be an array of its own: made at run time, or all of a fresh buffer."""
    if value.place is Place.RUNTIME:
        return value.base is None
    if value.place is not Place.FRESH or value.buffer is None:
        return False
    assert isinstance(value.type, ArrayType)
    return not value.type.size or _span(plan, value) == (0, plan.buffers[value.buffer].nbytes)
