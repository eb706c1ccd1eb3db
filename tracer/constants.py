"""Arrays that exist already while a function is traced: closed over, or made on the way and frozen.

A closed-over array is read at each call. An array that nobody holds once the function has returned was
computed during the trace from something the trace cannot see: kept if that cannot change, refused if it can.
`constant` declares what is meant to be computed once.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ScalarType, array_type
from ..compiler.ir.visit import topological
from .errors import DerivedConstantError, SideEffectWarning, TracedConversionError, make_error
from .function import TracedFunction
from .guards import looked_at, too_large
from .numpy_table.registry import is_traced, known
from .reach import Reach
from .state import user_stacklevel
from .trace import Trace
from .traced_array import TracedNumber
from .tree import map_tree

# The local variable of the caller and the argument of sys.getrefcount.
_OWN_REFERENCES = 2


def constant(trace: Trace, value: Any) -> Any:
    """A tree whose leaves are known now and stay what they are."""
    return map_tree(lambda leaf: _constant_leaf(trace, leaf), value)


def _constant_leaf(trace: Trace, leaf: Any) -> Any:
    if not is_traced(leaf):
        plain = type(leaf) is np.ndarray or isinstance(leaf, np.generic)
        return trace.constant(leaf) if plain else leaf
    if known(leaf):
        return leaf
    lifted = trace.lift(leaf)
    found = evaluate(trace, trace.node_of(lifted))
    if type(lifted) is TracedNumber:
        return found
    return trace.constant(found[()] if lifted.scalar else np.asarray(found))


def evaluate(trace: Trace, node: Node) -> Any:
    """The value now of a node that depends on closed-over arrays alone."""
    known: dict[Node, Any] = {t.storage.node(trace.builder): value for value, t in trace.closures.values()}
    for one in topological([node]):
        if one in known:
            continue
        if one.op.name == "param":
            raise trace.error(
                TracedConversionError,
                f"a constant was asked of a traced value, {node.type}",
                node=node,
                why="It depends on an argument, so it is another one at each call.",
                fixes=[("", "leave tl.constant away, or make the argument static")],
            )
        inputs = [known[operand] for operand in one.inputs]
        numbers = bool(inputs) and all(isinstance(operand.type, ScalarType) for operand in one.inputs)
        run = one.op.python if numbers and one.op.python else one.op.numpy
        known[one] = run(*inputs, **one.attrs)
    return known[node]


# ---- what was made during the trace


def derived(trace: Trace, traced: TracedFunction) -> list[Any]:
    """The closed-over arrays of an ended trace that nobody holds but the trace."""
    arrays = [value for value, _ in trace.closures.values()]
    found = []
    for array in arrays:
        own = _OWN_REFERENCES + 1 + 1 + sum(source.value is array for source in traced.sources)
        if sys.getrefcount(array) > own + _others(array, arrays):
            continue
        if not _base_is_held(array, arrays, traced):
            found.append(array)
    return found


def _others(array: Any, arrays: list[Any]) -> int:
    """How many of the trace's arrays are views of this one."""
    return sum(other.base is array for other in arrays)


def _base_is_held(array: Any, arrays: list[Any], traced: TracedFunction) -> bool:
    """Whether a view looks at memory that somebody else holds too."""
    base = array.base
    if base is None:
        return False
    if type(base) is not np.ndarray:
        return True
    own = _OWN_REFERENCES + _others(base, arrays)
    own += sum(
        2 + sum(source.value is base for source in traced.sources) for other in arrays if other is base
    )
    return sys.getrefcount(base) > own


def check_derived(trace: Trace, reach: Reach, traced: TracedFunction) -> list[Any]:
    """The derived arrays that are harmless; raises DerivedConstantError if one may follow what may change."""
    found = derived(trace, traced)
    living = [value for value, _ in trace.closures.values() if not any(value is d for d in found)]
    for array in found:
        source = _writeable(reach, living, trace)
        if source:
            raise _derived_error(trace, array, source)
    _warn_of_looks(trace, reach, living)
    return found


def _writeable(reach: Reach, living: list[Any], trace: Trace) -> str:
    """The name of a writeable array that the function can see."""
    for array, name in reach.arrays.values():
        if array.flags.writeable:
            return name or "an array"
    for array in living:
        if array.flags.writeable:
            return trace.names.get(id(array), "a closed-over array")
    return ""


def _derived_error(trace: Trace, array: Any, source: str) -> Any:
    loc = trace.first_use.get(id(array))
    shown = str(array_type(array.shape, array.dtype))
    return make_error(
        DerivedConstantError,
        f"an array, {shown}, was computed once, while tracing, from arrays this trace cannot see",
        loc,
        why=f"Later changes to `{source}` (or whatever it was computed from) would be ignored.",
        fixes=[
            ("read at each call", f"pass `{source}` in, or use np. functions: np.multiply({source}, 2)"),
            ("computed once", f"tl.constant({source} * 2)"),
        ],
    )  # fmt: skip


def _warn_of_looks(trace: Trace, reach: Reach, living: list[Any]) -> None:
    """Warn of arrays that Python looked at and whose content is not guarded.

    Those are too large for it; or a NumPy scalar equals a reduction or an element of one.
    """
    large = too_large(reach, living)
    for name, _ in large:
        warnings.warn(
            f"Python looks at elements of `{name}`, and `{name}` is too large to be compared at each call: "
            f"what it saw stays, whatever `{name}` holds later. Pass `{name}` as an argument, make it "
            f"read-only ({name}.flags.writeable = False), or write tl.constant(…) for what is meant once.",
            SideEffectWarning,
            stacklevel=user_stacklevel(),
        )
    guarded = {id(array) for _, array in (*looked_at(reach, living), *large)}
    arrays = [
        (array, name)
        for array, name in reach.arrays.values()
        if array.flags.writeable and array.size and id(array) not in guarded
    ]
    if not arrays:
        return
    for value, loc in trace.scalars:
        if value in reach.numbers:
            continue
        for array, name in arrays:
            if _comes_from(value, array):
                warnings.warn_explicit(
                    f"a NumPy scalar ({value!r}) that seems to come from `{name}` was read once, while "
                    f"tracing; later changes to `{name}` are ignored. Pass `{name}` as an argument, write "
                    f"np.mean({name}) for {name}.mean(), or tl.constant({name}.mean()).",
                    SideEffectWarning,
                    loc.file,
                    loc.line,
                )
                break


def _comes_from(value: Any, array: Any) -> bool:
    """Whether a scalar is what a common reduction of an array gives, or one of its elements."""
    if array.dtype.kind not in "iufc" or array.size > 1_000_000:
        return False
    with np.errstate(all="ignore"):
        found = [array.sum(), array.mean(), array.max(), array.min(), array.std(), array.var()]
        found.append(np.linalg.norm(array))
        return any(value == f for f in found) or bool((array == value).any())
