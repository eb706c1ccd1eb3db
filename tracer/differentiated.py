"""A function run once on marked copies of its arguments: the ground of every derivative.

A `wrt` leaf is given memory of its own behind a `mark` node, so other uses of the same array stay constant.
What the function does to its copies, and to the containers they stand in, is done to the caller's afterwards.
`transforms.py` says what is made of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.opdef import NotDifferentiableError
from ..compiler.ir.types import ScalarType
from ..compiler.ops.base import is_inexact
from ..compiler.ops.view import numpy_path
from ..compiler.passes.differentiate import pull_back
from .errors import GradientError, where_text
from .numpy_table.elementwise import store
from .signature import parameter_names
from .storage import Array, overlaps_itself
from .trace import Trace, shadow_like
from .traced_array import TracedArray, TracedNumber
from .tree import ContainerCopies, is_container, map_tree, refill, set_contents, slots, tree_leaves

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
    """A function run once on marked arguments: `result` is what it returned, `marked` the argument trees.

    Marked arrays are copies, and so are the containers they stand in. What the function did to them is done
    to the caller's own when it has returned.
    """

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
        self._own: dict[int, Any] = {}
        self._views: list[TracedArray] = []
        self._copies: list[ContainerCopies] = []
        shared = self._shared([*args, *kwargs.values()])
        names = parameter_names(function)
        for key in select(function, wrt, args, kwargs):
            holder: Any = args if isinstance(key, int) else kwargs
            name = key if isinstance(key, str) else names[key] if key < len(names) else f"argument {key}"
            holder[key] = self._mark_tree(holder[key], name)
        versions = {id(array): array.storage.version for array, _ in self._arrays}
        self.result = function(*args, **kwargs)
        for original, made in self._arrays:
            written = made.storage.version or original.storage.version != versions[id(original)]
            if written and id(original) in shared:
                raise self._shared_error()
            if made.storage.version:
                store(trace, original, trace.read(made))
        for copies in self._copies:
            for container, changed in copies.changed():
                self._refuse_views(changed)
                set_contents(container, [(key, self.own(value)) for key, value in slots(changed)])

    def _shared(self, arguments: Any) -> set[int]:
        """The arrays among the arguments that share memory with another, or are passed twice."""
        arrays = [leaf for leaf in tree_leaves(arguments) if type(leaf) is TracedArray and not leaf.scalar]
        by_memory: dict[int, list[TracedArray]] = {}
        for array in arrays:
            by_memory.setdefault(id(array.storage), []).append(array)
        groups = [group for group in by_memory.values() if len(group) > 1]
        return {
            id(one)
            for group in groups
            for i, one in enumerate(group)
            if any(np.may_share_memory(one.shadow, other.shadow) for other in group[:i] + group[i + 1 :])
        }

    def _shared_error(self) -> Any:
        return self.trace.error(
            GradientError,
            "a differentiated argument shares memory with another argument, and one of them is written to",
            why="The derivative is taken by a copy of each, in which the other's writes are not seen.",
            fixes=[("pass a copy", "tl.grad(f)(x, y.copy())"), ("or write to a copy", "x = x + step")],
        )

    def own(self, value: Any) -> Any:
        """A value with the caller's arrays and containers in the place of their marked copies."""
        if id(value) in self._own:
            return self._own[id(value)]
        if type(value) is TracedArray and not value.scalar:
            return self._own_view(value)
        for copies in self._copies:
            for original, made, _ in copies.originals:
                if made is value:
                    return original
        if is_container(value):
            items = [(key, self.own(item)) for key, item in slots(value)]
            if any(own is not item for (_, own), (_, item) in zip(items, slots(value), strict=True)):
                return refill(value, items)
        return value

    def _own_view(self, value: TracedArray) -> TracedArray:
        """A view of a marked copy as the same view of the caller's array; any other array itself."""
        for original, made in self._arrays:
            if value.storage is made.storage and made.shadow.strides == original.shadow.strides:
                steps = value.window.path
                shadow = numpy_path(original.shadow, steps)
                shadow.flags.writeable = value.shadow.flags.writeable
                window = original.window.then_anchor(shadow, *steps)
                self._views.append(value)
                self._own[id(value)] = self.trace.window(original.storage, shadow, window)
                return self._own[id(value)]  # type: ignore[no-any-return]
        return value

    def _refuse_views(self, container: Any) -> None:
        memories = {id(made.storage) for _, made in self._arrays}
        for leaf in tree_leaves(container):
            if type(leaf) is TracedArray and id(leaf) not in self._own and id(leaf.storage) in memories:
                raise self.trace.error(
                    GradientError,
                    "a view of a differentiated argument is kept in a container",
                    why="It would be a view of a copy, and not of the argument.",
                    fixes=[("keep a copy", "box[key] = x[1:].copy()")],
                )

    def _mark_tree(self, tree: Any, name: str) -> Any:
        """A copy of the tree with marked leaves, for the function to change; `marked` keeps another."""
        seen: dict[int, Any] = {}

        def mark(leaf: Any) -> Any:
            if id(leaf) not in seen:
                seen[id(leaf)] = self._mark(leaf, name)
            return seen[id(leaf)]

        self.marked.append(map_tree(mark, tree))
        self._copies.append(ContainerCopies())
        return self._copies[-1].copy(lambda leaf, position, name: mark(leaf), tree, name)

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
            made: Any = trace.fresh(marked, _memory_like(lifted.shadow), scalar=lifted.scalar)
            self._arrays.append((lifted, made))
        else:
            made = trace.number(marked, lifted.example if type(lifted) is TracedNumber else lifted)
        self.marks[id(made)] = marked
        self._own[id(made)] = leaf
        return made

    def node_of(self, value: Any) -> Node:
        """The node of a user's value."""
        lifted = self.trace.lift(value)
        if type(lifted) is TracedArray:
            return self.trace.operand(lifted)
        return lifted.node if type(lifted) is TracedNumber else self.trace.builder.constant(lifted)

    def pull_nodes(
        self,
        outputs: Sequence[Node],
        cotangents: Sequence[Node | None],
        wrt: Sequence[Node],
        nonzero: Sequence[Node | None] = (),
    ) -> list[Node | None]:
        """`pull_back` with this trace's builder; an op without a derivative is refused by the user's line."""
        trace = self.trace
        trace.builder.loc = trace.loc()
        try:
            return pull_back(trace.builder, outputs, cotangents, wrt, nonzero)
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


def _memory_like(shadow: Array) -> Array:
    """A copy's shadow, in the machine's byte order: whether a reshape is a view depends on its strides."""
    made = np.empty_like(shadow, subok=False) if overlaps_itself(shadow) else shadow_like(shadow)
    return made if made.dtype.isnative else made.view(made.dtype.newbyteorder("="))
