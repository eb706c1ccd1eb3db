"""The text of a plan: steps in order, each with its value, where it lives and how long."""

from __future__ import annotations

from .ir.node import Node
from .ir.text import names
from .ir.text_values import attr_text
from .plan import Action, Place, Plan, Step, Value


def plan_text(plan: Plan) -> str:
    """One line a step: number, value, op, place of the result, steps during which it is alive."""
    table = names(plan.graph)
    params = ", ".join(f"{table[param]}: {param.type}" for param in plan.graph.params)
    rows = [_row(plan, number, step, table) for number, step in enumerate(plan.steps)]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    lines = [f"plan @{plan.graph.name}({params}) {{"]
    for left, place, live in rows:
        lines.append(f"  {left:<{widths[0]}}  {place:<{widths[1]}}  {live}".rstrip())
    lines.append(f"  return {', '.join(_result(plan, number, table) for number in plan.results)}".rstrip())
    lines.append("}")
    lines.append(
        f"arena {plan.arena_bytes} bytes, peak {plan.peak_bytes} of {plan.intermediate_bytes} bytes of"
        f" intermediates"
    )
    for chain in plan.chains:
        lines.append(chain_text(chain))
    return "\n".join(lines)


def chain_text(chain: tuple[int, ...]) -> str:
    """What a line, or a picture, says of steps that are a chain."""
    return f"row by row through the steps {', '.join(map(str, chain))}"


def _row(plan: Plan, number: int, step: Step, table: dict[Node, str]) -> tuple[str, str, str]:
    value = plan.values[step.output]
    operands = ", ".join(_name(plan, operand, table) for operand in step.inputs)
    if step.action is Action.COPY:
        text = f"copy {operands}"
        return f"{number:>4} {text}", f"-> {_place(plan, value, table)}", ""
    attrs = ", ".join(f"{key}={attr_text(item)}" for key, item in sorted(step.node.attrs.items()))
    text = f"{table[step.node]}: {step.node.type} = {step.node.op.name} {operands}".rstrip()
    if attrs:
        text += f" {{{attrs}}}"
    live = f"live {value.first}..{value.last}"
    if step.action is Action.VIEW:
        return f"{number:>4} {text}", f"view of {_name(plan, step.inputs[0], table)}", ""
    place = _place(plan, value, table)
    if step.in_place is not None:
        place += f" over {_name(plan, step.inputs[step.in_place], table)}"
    return f"{number:>4} {text}", place, "" if value.place is Place.PARAM else live


def _name(plan: Plan, number: int, table: dict[Node, str]) -> str:
    return table[plan.values[number].node]


def _place(plan: Plan, value: Value, table: dict[Node, str]) -> str:
    if value.buffer is None:
        return value.place.value
    buffer = plan.buffers[value.buffer]
    if value.place is Place.ARENA:
        return f"arena[{buffer.offset}:{buffer.offset + buffer.nbytes}]"
    if value.place is Place.PARAM:
        assert buffer.param is not None
        return table[plan.graph.params[buffer.param]]
    return f"{value.place.value} {buffer.nbytes} bytes"


def _result(plan: Plan, number: int | None, table: dict[Node, str]) -> str:
    return "None" if number is None else _name(plan, number, table)
