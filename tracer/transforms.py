"""Derivatives of the graph being built: what grad, vjp, jvp and jacobian do inside a trace.

A `wrt` leaf is given memory of its own behind a `mark` node, so other uses of the same array stay
constant. The function is run on it once, and backward nodes are built from its results. Forward mode
transposes the pullback, which is linear in the cotangent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.opdef import NotDifferentiableError
from ..compiler.ir.types import ScalarType, array_type
from ..compiler.ops.base import is_inexact
from ..compiler.passes.differentiate import ones_like, pull_back
from .errors import GradientError, where_text
from .numpy_table.elementwise import store
from .signature import parameter_names
from .trace import Trace
from .traced_array import TracedArray, TracedNumber
from .tree import is_container, map_tree, tree_leaves

Wrt = int | str | tuple[int | str, ...]


def select(function: Callable[..., Any], wrt: Wrt, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The keys (position or keyword) of the arguments named by `wrt`."""
    names = parameter_names(function)
    keys = []
    for item in wrt if isinstance(wrt, tuple) else (wrt,):
        key: Any = item
        if isinstance(item, str):
            key = item if item in kwargs else names.index(item) if item in names else None
        elif item < 0:
            key = len(args) + item
        if key is None or (isinstance(key, int) and not 0 <= key < len(args)):
            raise TypeError(
                f"wrt={item!r} names no argument of this call, which has {len(args)} positional arguments"
                + (f" and the keywords {', '.join(sorted(kwargs))}" if kwargs else "")
            )
        keys.append(key)
    return keys


class Differentiated:
    """A function run once on marked arguments: `result` is what it returned, `marked` the argument trees."""

    def __init__(
        self,
        trace: Trace,
        function: Callable[..., Any],
        wrt: Wrt,
        args: Sequence[Any],
        kwargs: dict[str, Any],
    ) -> None:
        self.trace = trace
        self.single = not isinstance(wrt, tuple)
        args, kwargs = list(args), dict(kwargs)
        self.marked: list[Any] = []
        self.marks: dict[int, Node] = {}
        self._arrays: list[tuple[TracedArray, TracedArray]] = []
        names = parameter_names(function)
        for key in select(function, wrt, args, kwargs):
            holder: Any = args if isinstance(key, int) else kwargs
            name = key if isinstance(key, str) else names[key] if key < len(names) else f"argument {key}"
            holder[key] = self._mark_tree(holder[key], name)
            self.marked.append(holder[key])
        self.result = function(*args, **kwargs)
        for original, made in self._arrays:
            if made.storage.version:
                store(trace, original, trace.read(made))

    def _mark_tree(self, tree: Any, name: str) -> Any:
        seen: dict[int, Any] = {}

        def mark(leaf: Any) -> Any:
            if id(leaf) not in seen:
                seen[id(leaf)] = self._mark(leaf, name)
            return seen[id(leaf)]

        return map_tree(mark, tree)

    def _mark(self, leaf: Any, name: str) -> Any:
        trace = self.trace
        lifted = trace.lift(leaf)
        node = self.node_of(lifted)
        if not is_inexact(node.type):
            fix = f"float({name})" if isinstance(node.type, ScalarType) else f"{name}.astype(float)"
            raise trace.error(
                GradientError,
                f"argument {name} is {node.type}: integers and booleans have no gradient",
                fixes=[
                    ("cast it", fix),
                    ("or leave it out", "wrt=… names the arguments to differentiate by"),
                ],
            )
        trace.tags += 1
        trace.builder.loc = trace.loc()
        marked = trace.builder.mark(node, tag=trace.tags)
        if type(lifted) is TracedArray:
            made: Any = trace.fresh(marked, np.empty_like(lifted.shadow, subok=False), scalar=lifted.scalar)
            self._arrays.append((lifted, made))
        else:
            made = trace.number(marked, lifted.example if type(lifted) is TracedNumber else lifted)
        self.marks[id(made)] = marked
        return made

    def node_of(self, value: Any) -> Node:
        """The node of a user's value."""
        lifted = self.trace.lift(value)
        if type(lifted) is TracedArray:
            return self.trace.operand(lifted)
        return lifted.node if type(lifted) is TracedNumber else self.trace.builder.constant(lifted)

    def pull_nodes(
        self, outputs: Sequence[Node], cotangents: Sequence[Node | None], wrt: Sequence[Node]
    ) -> list[Node | None]:
        """`pull_back` with this trace's builder; an op without a derivative is refused by the user's line."""
        trace = self.trace
        trace.builder.loc = trace.loc()
        try:
            return pull_back(trace.builder, outputs, cotangents, wrt)
        except NotDifferentiableError as error:
            raise trace.error(
                GradientError,
                f"`{error.node.op.name}` has no derivative, because {error.reason}",
                node=error.node,
                why="\n".join(["It lies between wrt and the result:", *where_text(error.node.loc)]),
                fixes=[("keep it constant", "tl.stop_gradient(value)")],
            ) from None

    def pull_back(self, outputs: Sequence[Node], cotangents: Sequence[Node | None]) -> Any:
        """The cotangents of the marked arguments as trees of traced values."""
        marks = list(self.marks.values())
        found = dict(zip(marks, self.pull_nodes(outputs, cotangents, marks), strict=True))

        def cotangent(leaf: Any) -> Any:
            mark = self.marks[id(leaf)]
            ct = found[mark]
            return self.traced(self.trace.builder.zeros(mark.type) if ct is None else ct, leaf)

        return self.join([map_tree(cotangent, tree) for tree in self.marked])

    def join(self, trees: list[Any]) -> Any:
        """One tree where `wrt` was one argument, a tuple where it was a tuple."""
        return trees[0] if self.single else tuple(trees)

    def traced(self, node: Node, like: Any) -> Any:
        """A node as a traced value of the kind of `like`."""
        if isinstance(node.type, ScalarType):
            return self.trace.number(node, like.example if type(like) is TracedNumber else like)
        scalar = like.scalar if type(like) is TracedArray else not node.shape
        return self.trace.fresh(node, np.empty(node.shape, node.dtype), scalar=scalar)

    def cotangent_node(self, given: Any, output: Node, what: str) -> Node:
        """A user's cotangent or tangent as a node of the type of its primal."""
        node = self.node_of(given)
        b = self.trace.builder
        if isinstance(output.type, ScalarType):
            if isinstance(node.type, ScalarType):
                return b.multiply(node, b.constant(output.type.kind(1)))
            node = b.item(b.cast(node, output.dtype)) if not node.shape else node
        elif isinstance(node.type, ScalarType):
            node = b.cast(node, output.dtype)
        if node.shape != output.shape:
            raise self.trace.error(
                GradientError, f"{what} has shape {node.shape}, its primal has shape {output.shape}"
            )
        if not isinstance(output.type, ScalarType) and node.dtype != output.dtype:
            if not np.can_cast(node.dtype, output.dtype, "same_kind"):
                raise self.trace.error(
                    GradientError, f"{what} has dtype {node.dtype}, its primal has dtype {output.dtype}"
                )
            node = b.cast(node, output.dtype)
        return node


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
    return work.result, work.pull_back([node], [ones_like(trace.builder, node)])


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

    return work.result, pullback


def push_forward(
    work: Differentiated, outputs: Sequence[Node], tangents: dict[Node, Node]
) -> list[Node | None]:
    """The tangents of the outputs: the transpose of the pullback, applied to tangents of the marks."""
    b = work.trace.builder
    marks = list(tangents)
    probes: dict[int, Node] = {}
    for position, node in enumerate(outputs):
        if is_inexact(node.type):
            work.trace.tags += 1
            probes[position] = b.mark(b.zeros(node.type), tag=work.trace.tags)
    cts = work.pull_nodes(outputs, [probes.get(i) for i in range(len(outputs))], marks)
    pairs = [(ct, tangents[mark]) for ct, mark in zip(cts, marks, strict=True) if ct is not None]
    found = work.pull_nodes([ct for ct, _ in pairs], [t for _, t in pairs], list(probes.values()))
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

    return work.result, map_tree(tangent, work.result)


def jacobian(trace: Trace, function: Callable[..., Any], wrt: Wrt, args: Any, kwargs: Any) -> Any:
    """Derivatives of every result element by every `wrt` element, shape (*result, *argument).

    Rows come from the pullback, or columns from the pushforward, whichever is fewer.
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
    """The Jacobian of one output by one argument."""
    trace, b = work.trace, work.trace.builder
    reverse = _size(output) <= _size(mark)
    source, other = (output, mark) if reverse else (mark, output)
    trace.builder.loc = trace.loc()
    parts = []
    for seed in _basis(work, source):
        if reverse:
            (found,) = work.pull_nodes([output], [seed], [mark])
        else:
            (found,) = push_forward(work, [output], {mark: seed})
        node = b.zeros(other.type) if found is None else found
        parts.append(b.reshape(_as_array(b, node), (1, *node.shape)))
    dtype = _as_array(b, b.zeros(other.type)).dtype
    stacked = b.concatenate(*parts, axis=0) if len(parts) > 1 else parts[0] if parts else None
    if stacked is None:
        stacked = b.full(0, array_type((0, *other.shape), dtype))
    stacked = b.reshape(stacked, (*source.shape, *other.shape))
    if not reverse:
        moved = tuple(range(len(source.shape), len(stacked.shape))) + tuple(range(len(source.shape)))
        stacked = b.transpose(stacked, axes=moved) if moved != tuple(sorted(moved)) else stacked
    return trace.fresh(stacked, np.empty(stacked.shape, stacked.dtype), scalar=not stacked.shape)


def _as_array(b: Any, node: Node) -> Node:
    made: Node = b.cast(node, node.dtype) if isinstance(node.type, ScalarType) else node
    return made


def _basis(work: Differentiated, like: Node) -> Any:
    """The unit vectors of a node's space."""
    b = work.trace.builder
    if isinstance(like.type, ScalarType):
        yield b.constant(like.type.kind(1))
        return
    for position in np.ndindex(*like.shape):
        unit = np.zeros(like.shape, like.dtype)
        unit[position] = 1
        yield b.constant(unit)


def stop_gradient(trace: Trace, tree: Any) -> Any:
    """The tree with every traced leaf constant for derivatives."""

    def stop(leaf: Any) -> Any:
        if type(leaf) is TracedArray and not leaf.constant:
            trace.builder.loc = trace.loc()
            node = trace.builder.stop_gradient(trace.read(leaf))
            return trace.fresh(node, np.empty_like(leaf.shadow, subok=False), scalar=leaf.scalar)
        if type(leaf) is TracedNumber:
            return trace.number(trace.builder.stop_gradient(leaf.node), leaf.example)
        return leaf

    return map_tree(stop, tree)
