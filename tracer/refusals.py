"""Refusals of what Python cannot have of a traced value: a truth value, a number, an array, a text."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import TYPE_CHECKING, Any

from ..compiler.ir.node import Node
from ..compiler.ir.types import ScalarType
from ..compiler.ir.visit import topological
from .errors import (
    ClosureWriteError,
    DerivedConstantError,
    LeakedTraceError,
    TracedBoolError,
    TracedConversionError,
    make_error,
)
from .forms import Fix, conversion_form, truth_form, written_name
from .source import Expression, expression_at, own_loc, user_frame
from .state import current, is_internal

if TYPE_CHECKING:
    from .trace import NeedsStatic, Trace

_TRACED = os.path.join(os.path.dirname(__file__), "traced_array.py")


def _here(value: Any) -> tuple[Trace, Node]:
    """The trace that is active, and the node of one of its values; a value of any other has leaked."""
    trace = current()
    if trace is None or value.owner is not trace:
        raise leaked(value)
    return trace, trace.node_of(value)


def leaked(value: Any) -> Any:
    """The error for a traced value that is used outside of its trace."""
    trace = current()
    what = f"<traced {value.type_text()}> was used outside of the trace that made it"
    details: dict[str, Any] = {
        "why": "A traced value means something only while its own function is being traced.",
        "fixes": [("", "return the value from the compiled function and use the result")],
    }
    if trace is None:
        return make_error(LeakedTraceError, what, own_loc(), **details)
    return trace.error(LeakedTraceError, what, **details)


def needs_static(trace: Trace, node: Node) -> NeedsStatic | None:
    """The demand that the Python ints behind a value become static; None if anything else is behind it."""
    from .trace import NeedsStatic

    params = [n for n in topological([node]) if n.op.name == "param"]
    if params and all(isinstance(n.type, ScalarType) and n.type.kind is int for n in params):
        trace.demand = NeedsStatic(params, "an index, length, axis or option")
        return trace.demand
    return None


def _of_numpy(trace: Trace, node: Node) -> NeedsStatic | None:
    """`needs_static`, where a function of NumPy asks for a value and not the user's own line."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename in (__file__, _TRACED):
        frame = frame.f_back
    return needs_static(trace, node) if frame is not None and is_internal(frame.f_code) else None


def refuse_bool(value: Any) -> Any:
    """The refusal of True or False, or a demand."""
    trace, node = _here(value)
    demand = _of_numpy(trace, node)
    if demand is not None:
        return demand
    form = truth_form(expression_at(user_frame()))
    return trace.error(
        TracedBoolError,
        f"{form.name} needs True or False, but {form.value} is a traced value, {node.type}",
        node=node,
        why=f"{_running(trace)}, so Python cannot pick a branch here.",
        fixes=[
            *form.cures,
            ("once, when compiling", _static_fix(node)),
            ("after the step", "return the value and branch in the caller"),
        ],
    )


def refuse_conversion(value: Any, into: str, cures: list[Fix]) -> Any:
    """The refusal of a number, index, array or text; `into` says what it would have become."""
    trace, node = _here(value)
    demand = _of_numpy(trace, node)
    if demand is not None:
        return demand
    frame = user_frame()
    found = expression_at(frame)
    if found is not None and written_name(found) and _is_closed_over(found, frame):
        return refuse_closure_write(trace, written_name(found))
    form = conversion_form(found, into, node.type, cures)
    return trace.error(
        TracedConversionError,
        form.name,
        node=node,
        why=f"{_running(trace)}; a number taken now would be frozen.",
        fixes=[*form.cures, ("after the step", "return the value and convert it in the caller")],
    )


def refuse_closure_write(trace: Trace, name: str) -> Any:
    """The refusal of a write into a closed-over array, or into one that was made from such."""
    for array, window in trace.closures.values():
        if window.storage.name == name and id(array) not in trace.names:
            owner = trace.names.get(id(array.base))
            if owner is None:
                return _refuse_derived_write(trace)
            name = owner
    return trace.error(
        ClosureWriteError,
        f"the closed-over array `{name}` is written to",
        why="@compile reads closed-over arrays at each call and changes only arguments.",
        fixes=[
            ("pass it in", f"def step(…, {name.rpartition('.')[2]}): …"),
            ("or write to a copy", f"np.copy({name})"),
        ],
    )


def _refuse_derived_write(trace: Trace) -> Any:
    """The refusal of a write into an array that was computed while tracing, outside of the trace."""
    code = user_frame().f_code
    here = {*code.co_names, *code.co_freevars}
    names = [name for name in trace.names.values() if name.partition(".")[0].partition("[")[0] in here]
    source = names[0] if names else "the array"
    return trace.error(
        DerivedConstantError,
        "an array that was computed once, while tracing, is written to",
        why=f"It was made from arrays that this trace cannot see at each call, such as `{source}`.",
        fixes=[
            ("copied at each call", f"np.copy({source})"),
            ("computed at each call", f"np.multiply({source}, 2) in place of {source} * 2"),
            ("or pass it in", f"def step(…, {source.rpartition('.')[2]}): …"),
        ],
    )  # fmt: skip


def _is_closed_over(found: Expression, frame: FrameType) -> bool:
    """Whether the array that is written to is found by a name that is not the function's own."""
    root = written_name(found).partition(".")[0]
    return root not in frame.f_code.co_varnames and root not in frame.f_code.co_cellvars


def _running(trace: Trace) -> str:
    """The beginning of a reason: when the function runs."""
    return f"@compile runs {trace.function_name or 'the function'} once, before there are numbers"


def _static_fix(node: Node) -> str:
    """Code that makes the numbers behind a value static, where there are only such."""
    params = [n for n in topological([node]) if n.op.name == "param"]
    names = [str(n.attrs["name"]) for n in params]
    if names and len(names) < 4 and all(isinstance(n.type, ScalarType) for n in params):
        return f"@compile(static=({', '.join(map(repr, names))},))"
    return '@compile(static=("name",)) and test the argument `name`'
