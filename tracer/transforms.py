"""Derivatives of the graph being built: what grad, vjp, jvp and jacobian do inside a trace.

The function is run once on marked copies (`differentiated.py`), and backward nodes are built from its
results. Forward mode transposes the pullback, which is linear in the cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ScalarType, array_type
from ..compiler.ops.base import is_complex, is_inexact
from ..compiler.passes.differentiate import ones_like
from .differentiated import Differentiated, Wrt
from .errors import GradientError
from .storage import Storage
from .trace import Trace
from .traced_array import TracedArray, TracedNumber
from .tree import is_container, map_tree, tree_leaves


def scalar_output(work: Differentiated, value: Any, what: str) -> Node:
    """The node of a result that has to be one floating-point number."""
    trace = work.trace
    if is_container(value) or value is None:
        raise trace.error(
            GradientError,
            f"{what} needs a scalar result, but the function returned a {type(value).__name__}",
            fixes=[("with more results", "tl.value_and_grad(f, has_aux=True) and return loss, more")],
        )
    node = work.node_of(value)
    if node.shape != ():
        raise trace.error(
            GradientError,
            f"{what} needs a scalar result, but the function returned {node.type}",
            node=node,
            fixes=[
                ("reduce it", "return np.sum(result)"),
                ("or give a cotangent", "value, pullback = tl.vjp(f, x)"),
            ],
        )
    if not is_inexact(node.type):
        raise trace.error(GradientError, f"{what} needs a floating-point result, not {node.type}", node=node)
    if node.dtype.kind == "c":
        raise trace.error(
            GradientError,
            f"{what} needs a real result, but the function returned {node.type}",
            node=node,
            fixes=[("", "return np.abs(z) ** 2, or np.real(z)")],
        )
    return node


def value_and_grad(
    trace: Trace, function: Callable[..., Any], wrt: Wrt, has_aux: bool, args: Any, kwargs: Any
) -> Any:
    """(result, gradients) in the active trace; the result is (value, aux) with has_aux."""
    work = Differentiated(trace, function, wrt, args, kwargs)
    if has_aux and not (type(work.result) is tuple and len(work.result) == 2):
        raise trace.error(GradientError, "has_aux=True needs a function that returns (value, aux)")
    node = scalar_output(work, work.result[0] if has_aux else work.result, "a gradient")
    return work.own(work.result), work.pull_back([node], [ones_like(trace.builder, node)])


def all_positions(args: Sequence[Any]) -> Wrt:
    """`wrt` for "every positional argument": one position alone, a tuple of several."""
    return 0 if len(args) == 1 else tuple(range(len(args)))


def differentiable_outputs(work: Differentiated) -> list[tuple[Any, Node]]:
    """The leaves of the result with their nodes."""
    return [(leaf, work.node_of(leaf)) for leaf in tree_leaves(work.result)]


def vjp(
    trace: Trace, function: Callable[..., Any], primals: Sequence[Any]
) -> tuple[Any, Callable[[Any], Any]]:
    """(value, pullback) in the active trace."""
    work = Differentiated(trace, function, all_positions(primals), primals, {})
    outputs = [node for _, node in differentiable_outputs(work)]

    def pullback(cotangent: Any) -> Any:
        given = tree_leaves(cotangent)
        if len(given) != len(outputs):
            raise trace.error(
                GradientError,
                f"the cotangent has {len(given)} leaves, the function's value has {len(outputs)}",
            )
        trace.builder.loc = trace.loc()
        cts = [
            work.cotangent_node(g, node, "the cotangent") if is_inexact(node.type) else None
            for g, node in zip(given, outputs, strict=True)
        ]
        return work.pull_back(outputs, cts)

    return work.own(work.result), pullback


def push_forward(
    work: Differentiated,
    outputs: Sequence[Node],
    tangents: dict[Node, Node],
    nonzero: Sequence[Node | None] = (),
) -> list[Node | None]:
    """The tangents of the outputs: the transpose of the pullback, applied to tangents of the marks.

    `nonzero` are those of `pull_back`, one a tangent.
    """
    b = work.trace.builder
    marks = list(tangents)
    probes: dict[int, Node] = {}
    for position, node in enumerate(outputs):
        if is_inexact(node.type):
            work.trace.tags += 1
            probes[position] = b.mark(b.zeros(node.type), tag=work.trace.tags)
    cts = work.pull_nodes(outputs, [probes.get(i) for i in range(len(outputs))], marks)
    places = nonzero or [None] * len(marks)
    given = [
        (ct, tangents[mark], place)
        for ct, mark, place in zip(cts, marks, places, strict=True)
        if ct is not None
    ]
    found = work.pull_nodes(
        [ct for ct, _, _ in given],
        [tangent for _, tangent, _ in given],
        list(probes.values()),
        [place for _, _, place in given],
    )
    by_probe = dict(zip(probes, found, strict=True))
    return [by_probe.get(i) for i in range(len(outputs))]


def jvp(
    trace: Trace, function: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """(value, tangent) in the active trace."""
    work = Differentiated(trace, function, tuple(range(len(primals))), primals, {})
    marked = tree_leaves(work.marked)
    given = tree_leaves(list(tangents))
    if len(marked) != len(given):
        raise trace.error(GradientError, f"the primals have {len(marked)} leaves, the tangents {len(given)}")
    trace.builder.loc = trace.loc()
    seeds = {
        work.marks[id(m)]: work.cotangent_node(g, work.marks[id(m)], "a tangent")
        for m, g in zip(marked, given, strict=True)
    }
    outputs = differentiable_outputs(work)
    found = iter(push_forward(work, [node for _, node in outputs], seeds))
    nodes = iter(outputs)

    def tangent(_: Any) -> Any:
        (leaf, node), made = next(nodes), next(found)
        if made is None:
            made = trace.builder.zeros(node.type)
        return work.traced(made, leaf)

    return work.own(work.result), map_tree(tangent, work.result)


def jacobian(trace: Trace, function: Callable[..., Any], wrt: Wrt, args: Any, kwargs: Any) -> Any:
    """Derivatives of every result element by every `wrt` element, shape (*result, *argument).

    Rows come from the pullback, or columns from the pushforward, whichever is fewer; dtype and numbers are
    the same, but for rounding. Both begin at unit vectors, whose zeros are structural.
    """
    work = Differentiated(trace, function, wrt, args, kwargs)

    def of_output(value: Any) -> Any:
        output = work.node_of(value)
        if not is_inexact(output.type):
            raise trace.error(GradientError, f"a Jacobian needs floating-point results, not {output.type}")
        return work.join(
            [map_tree(lambda leaf: _block(work, output, work.marks[id(leaf)]), t) for t in work.marked]
        )

    return map_tree(of_output, work.result)


def _size(node: Node) -> int:
    return int(np.prod(node.shape, dtype=int))


def _block(work: Differentiated, output: Node, mark: Node) -> Any:
    """The Jacobian of one output by one argument, in the argument's precision."""
    trace, b = work.trace, work.trace.builder
    if is_complex(output) and is_complex(mark):
        raise trace.error(
            GradientError,
            "a Jacobian of complex results by a complex argument is not one number an element",
            node=output,
            fixes=[("differentiate its parts", "tl.jacobian(lambda z: f(z).real), and the same of .imag")],
        )
    trace.builder.loc = trace.loc()
    reverse = _size(output) <= _size(mark)
    source, other = (output, mark) if reverse else (mark, output)
    dtype = np.result_type(mark.dtype, np.complex64) if is_complex(output) else mark.dtype
    if is_complex(source):
        real = np.empty(0, dtype).real.dtype
        parts = [_rows(work, output, mark, reverse, unit, real) for unit in (1, 1j)]
        parts = [b.reshape(part, (*part.shape, 1)) for part in parts]
        pairs = b.concatenate(*parts, axis=len(parts[0].shape) - 1)
        stacked = b.reshape(b.bitcast(pairs, dtype=dtype), pairs.shape[:-1])
    else:
        stacked = _rows(work, output, mark, reverse, 1, dtype)
    stacked = b.reshape(stacked, (*source.shape, *other.shape))
    if not reverse:
        moved = tuple(range(len(source.shape), len(stacked.shape))) + tuple(range(len(source.shape)))
        stacked = b.transpose(stacked, axes=moved) if moved != tuple(sorted(moved)) else stacked
    return trace.fresh(stacked, np.empty(stacked.shape, stacked.dtype), scalar=not stacked.shape)


def _rows(
    work: Differentiated, output: Node, mark: Node, reverse: bool, one: complex, dtype: np.dtype[Any]
) -> Node:
    """What becomes of each unit vector, times `one`, of the output or of the mark: one below the other."""
    b = work.trace.builder
    source, other = (output, mark) if reverse else (mark, output)
    rows = []
    for unit, nonzero in _basis(work, source, one):
        if reverse:
            (found,) = work.pull_nodes([output], [unit], [mark], [nonzero])
        else:
            (found,) = push_forward(work, [output], {mark: unit}, [nonzero])
        row = b.cast(b.zeros(other.type) if found is None else found, dtype)
        rows.append(b.reshape(row, (1, *row.shape)))
    if not rows:
        return b.full(0, array_type((0, *other.shape), dtype))
    return b.concatenate(*rows, axis=0) if len(rows) > 1 else rows[0]


def _basis(work: Differentiated, like: Node, one: complex) -> Iterator[tuple[Node, Node | None]]:
    """The unit vectors of a node's space, times `one`, and where they are not zero; None for everywhere."""
    b = work.trace.builder
    if isinstance(like.type, ScalarType):
        yield b.constant(like.type.kind(one)), None
        return
    for position in np.ndindex(*like.shape):
        unit = np.zeros(like.shape, like.dtype)
        unit[position] = one
        yield b.constant(unit), b.constant(unit != 0) if unit.size > 1 else None


def stop_gradient(trace: Trace, tree: Any) -> Any:
    """The tree with every traced leaf constant for derivatives."""

    def stop(leaf: Any) -> Any:
        if type(leaf) is TracedArray and not leaf.constant:
            trace.builder.loc = trace.loc()
            node = trace.builder.stop_gradient(trace.read(leaf))
            shadow = np.empty_like(leaf.shadow, subok=False)
            return trace.window(Storage(shadow, "stopped", node), shadow, scalar=leaf.scalar)
        if type(leaf) is TracedNumber:
            return trace.number(trace.builder.stop_gradient(leaf.node), leaf.example)
        return leaf

    return map_tree(stop, tree)
