"""Derivatives of the graph being built: what grad, vjp and jvp do inside a trace.

A `wrt` leaf is given memory of its own behind a `mark` node, so other uses of the same array stay
constant. The function is then run on it, and the backward nodes are built from its result.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ScalarType
from ..compiler.ops.base import is_inexact
from ..compiler.passes.differentiate import NotDifferentiableError, ones_like, pull_back
from .errors import GradientError, origin_text, where_text
from .numpy_table.elementwise import store
from .trace import Trace
from .traced_array import TracedArray, TracedNumber
from .tree import is_container, refill, slots

Wrt = int | str | tuple[int | str, ...]


def map_tree(function: Callable[[Any], Any], tree: Any) -> Any:
    """The tree with the function applied to its leaves."""
    if is_container(tree):
        return refill(tree, [(key, map_tree(function, value)) for key, value in slots(tree)])
    return None if tree is None else function(tree)


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree in order, None left out."""
    found: list[Any] = []
    map_tree(found.append, tree)
    return found


def select(function: Callable[..., Any], wrt: Wrt, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The keys (position or keyword) of the arguments named by `wrt`."""
    names: list[str] = []
    try:
        names = [p.name for p in inspect.signature(function).parameters.values()]
    except (TypeError, ValueError):
        pass
    keys = []
    for item in wrt if isinstance(wrt, tuple) else (wrt,):
        key: Any = item
        if isinstance(item, str):
            key = item if item in kwargs else names.index(item) if item in names else None
        elif item < 0:
            key = len(args) + item
        if key is None or (isinstance(key, int) and not 0 <= key < len(args)):
            raise TypeError(
                f"wrt={item!r} names no argument of this call: {len(args)} positional, {sorted(kwargs)}"
            )
        keys.append(key)
    return keys


class Differentiated:
    """A function run once on marked arguments; `marks` are the nodes to differentiate by."""

    def __init__(
        self, trace: Trace, function: Callable[..., Any], wrt: Wrt, args: Sequence[Any], kwargs: Any
    ) -> None:
        self.trace = trace
        self.single = not isinstance(wrt, tuple)
        args, kwargs = list(args), dict(kwargs)
        self.marked: list[Any] = []
        self.marks: list[Node] = []
        self._originals: list[tuple[Any, Any]] = []
        for key in select(function, wrt, args, kwargs):
            holder: Any = args if isinstance(key, int) else kwargs
            name = self._name(function, key)
            seen: dict[int, Any] = {}
            holder[key] = map_tree(
                lambda leaf, name=name, seen=seen: self._mark(leaf, name, seen), holder[key]
            )
            self.marked.append(holder[key])
        self.result = function(*args, **kwargs)
        for original, mark in self._originals:
            if mark.storage.version:
                store(trace, original, trace.read(mark))

    def _name(self, function: Callable[..., Any], key: Any) -> str:
        if isinstance(key, str):
            return key
        try:
            return list(inspect.signature(function).parameters)[key]
        except (TypeError, ValueError, IndexError):
            return f"argument {key}"

    def _mark(self, leaf: Any, name: str, seen: dict[int, Any]) -> Any:
        if id(leaf) in seen:
            return seen[id(leaf)]
        trace = self.trace
        lifted = trace.lift(leaf)
        if type(lifted) is TracedArray:
            node = trace.operand(lifted)
        else:
            node = lifted.node if type(lifted) is TracedNumber else trace.builder.constant(lifted)
        if not is_inexact(node.type):
            fix = f"{name} = float({name})" if isinstance(node.type, ScalarType) else f"{name}.astype(float)"
            raise trace.error(
                GradientError,
                f"argument {name} is {node.type}: integers and booleans have no gradient",
                fixes=[("cast it", fix), ("or leave it out", "wrt=(…)")],
            )
        trace.tags += 1
        marked = trace.builder.mark(node, tag=trace.tags)
        self.marks.append(marked)
        if type(lifted) is TracedArray:
            made: Any = trace.fresh(marked, np.empty_like(lifted.shadow, subok=False), scalar=lifted.scalar)
            self._originals.append((lifted, made))
        else:
            example = lifted.example if type(lifted) is TracedNumber else lifted
            made = trace.number(marked, example)
        seen[id(leaf)] = made
        return made

    def node_of(self, value: Any) -> Node:
        """The node of a result leaf."""
        lifted = self.trace.lift(value)
        if type(lifted) is TracedArray:
            return self.trace.operand(lifted)
        return lifted.node if type(lifted) is TracedNumber else self.trace.builder.constant(lifted)

    def pull_back(self, outputs: Sequence[Any], cotangents: Sequence[Node | None]) -> Any:
        """The cotangents of the marked arguments as trees of traced values."""
        trace = self.trace
        nodes = [self.node_of(v) for v in outputs]
        trace.builder.loc = trace.loc()
        try:
            found = pull_back(trace.builder, nodes, cotangents, self.marks)
        except NotDifferentiableError as error:
            raise trace.error(
                GradientError,
                f"`{error.node.op.name}` has no derivative, because {error.reason}",
                node=error.node,
                why="\n".join(["It lies between wrt and the result:", *where_text(error.node.loc)]),
                fixes=[("keep it constant", "tl.stop_gradient(value)")],
            ) from None
        gradients = {id(m): g for m, g in zip(self.marks, found, strict=True)}

        def gradient(leaf: Any) -> Any:
            mark = self._mark_of(leaf)
            ct = gradients[id(mark)]
            if ct is None:
                ct = trace.builder.zeros(mark.type)
            return self.traced(ct, leaf)

        trees = [map_tree(gradient, tree) for tree in self.marked]
        return trees[0] if self.single else tuple(trees)

    def _mark_of(self, leaf: Any) -> Node:
        if type(leaf) is TracedNumber:
            return leaf.node
        return next(
            m for m, (_, made) in zip(self._array_marks(), self._originals, strict=True) if made is leaf
        )

    def _array_marks(self) -> list[Node]:
        return [m for m in self.marks if not isinstance(m.type, ScalarType)]

    def traced(self, node: Node, like: Any) -> Any:
        """A cotangent node as a traced value of the kind of its primal."""
        if type(like) is TracedNumber:
            return self.trace.number(node, like.example)
        return self.trace.fresh(node, np.empty(node.shape, node.dtype), scalar=like.scalar)


def scalar_output(work: Differentiated, value: Any, what: str) -> Node:
    """The node of a result that has to be one real number."""
    trace = work.trace
    if is_container(value) or value is None:
        raise trace.error(GradientError, f"{what} needs a scalar result, but the function returned {type(value).__name__}",
                          fixes=[("with more results", "tl.value_and_grad(f, has_aux=True)")])  # fmt: skip
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
        raise trace.error(
            GradientError,
            f"{what} needs a floating-point result, but the function returned {node.type}",
            node=node,
        )
    return node


def value_and_grad(
    trace: Trace, function: Callable[..., Any], wrt: Wrt, has_aux: bool, args: Any, kwargs: Any
) -> Any:
    """((value, aux), gradients) or (value, gradients) in the active trace."""
    work = Differentiated(trace, function, wrt, args, kwargs)
    value = work.result[0] if has_aux else work.result
    node = scalar_output(work, value, "a gradient")
    gradients = work.pull_back([value], [ones_like(trace.builder, node)])
    return work.result, gradients


__all__ = [
    "Differentiated",
    "map_tree",
    "origin_text",
    "scalar_output",
    "select",
    "tree_leaves",
    "value_and_grad",
]
