"""The builder: the only maker of nodes.

It asks the op's type rule for the result type, so an ill-typed graph cannot be written down, and it
interns: the same op on the same inputs with the same attrs is one node. Interning never outlives the builder.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .literal import Literal
from .node import NOWHERE, Loc, Node
from .opdef import OPS, Attrs, Kind, OpDef
from .types import ArrayType, ScalarType, Type, holds_generator


def attrs_key(attrs: Attrs) -> tuple[Any, ...]:
    """Equal for equal attrs only: Python takes 1, 1.0 and True, and 0.0 and -0.0, for the same key."""
    return tuple([(name, type(value), _exact(value)) for name, value in sorted(attrs.items())])


def _exact(value: Any) -> Any:
    if type(value) is float:
        return value.hex()
    if type(value) is tuple and value:
        first = value[0][0] if type(value[0]) is tuple and value[0] else value[0]
        return repr(value) if type(first) is float else value
    return value


class Builder:
    """Makes nodes. `builder.multiply(x, y)` applies the primitive `multiply`; attrs go as keywords.

    `loc` is given to every node made until it is set again. With `intern=False` every call makes a node
    of its own. Nodes under different `errstate` settings are never one, nor are draws of random numbers, and
    a node that the user wrote is never one that differentiation made (`passes/cse.py` may merge these).
    """

    def __init__(self, loc: Loc = NOWHERE, *, intern: bool = True) -> None:
        self.loc = loc
        self._intern = intern
        self._interned: dict[Any, Node] = {}

    def _known(self, key: Any, loc: Loc) -> Node | None:
        """The node of this key that may stand for one written at `loc`."""
        if not self._intern:
            return None
        known = self._interned.get(key)
        if known is None or (known.loc.backward and not loc.backward):
            return None
        return known

    def _remember(self, key: Any, node: Node) -> Node:
        if not holds_generator(node.type):
            self._interned[key] = node
        return node

    def make(self, op: OpDef, inputs: Sequence[Node], attrs: Attrs) -> Node:
        """Apply `op`; raises TypeRuleError if the inputs' types or the attrs break a constraint."""
        inputs = tuple(inputs)
        key = (op, inputs, attrs_key(attrs) if attrs else (), self.loc.errstate)
        node = self._known(key, self.loc)
        if node is None:
            result = op.type_rule([operand.type for operand in inputs], attrs)
            node = self._remember(key, Node(op, inputs, attrs, result, self.loc))
        return node

    def again(self, node: Node, inputs: tuple[Node, ...]) -> Node:
        """The node's op and attrs on other inputs; the very node if they are its own."""
        key = (node.op, inputs, attrs_key(node.attrs) if node.attrs else (), node.loc.errstate)
        known = self._known(key, node.loc)
        if known is not None:
            return known
        if all(map(lambda a, b: a is b, inputs, node.inputs)):
            return self._remember(key, node)
        result = node.op.type_rule([operand.type for operand in inputs], node.attrs)
        return self._remember(key, Node(node.op, inputs, node.attrs, result, node.loc))

    def __getattr__(self, name: str) -> Callable[..., Node]:
        op = OPS.get(name)
        if op is None:
            raise AttributeError(f"there is no primitive {name!r}")

        def apply(*inputs: Node, **attrs: Any) -> Node:
            return self.make(op, inputs, attrs)

        self.__dict__[name] = apply
        return apply

    def param(self, name: str, type: Type) -> Node:
        """A new input of a graph; params are never merged."""
        return Node(OPS["param"], (), {"name": name, "of": type}, type, self.loc)

    def constant(self, value: Any) -> Node:
        """A value known now: a Python number stays one, everything else becomes an array."""
        return self.make(OPS["constant"], (), {"value": Literal.of(value)})

    def scalar(self, value: complex, like: Node) -> Node:
        """A 0-d constant of the dtype of `like` (a Python number if `like` is one)."""
        if isinstance(like.type, ScalarType):
            kind = like.type.kind
            return self.constant(kind(value) if isinstance(value, (int, float)) else value)
        return self.constant(np.asarray(value, like.dtype))

    def zeros(self, type: Type) -> Node:
        """Zeros of the given type, as a broadcast scalar."""
        return self.full(0, type)

    def full(self, value: complex, type: Type) -> Node:
        """The value everywhere: a broadcast 0-d constant, or a Python number."""
        if isinstance(type, ScalarType):
            return self.constant(type.kind(value) if isinstance(value, (int, float)) else value)
        assert isinstance(type, ArrayType)
        node = self.constant(np.asarray(value, type.dtype))
        return self.broadcast_to(node, type.shape)

    def broadcast_to(self, node: Node, shape: tuple[int, ...]) -> Node:
        """NumPy's broadcasting as nodes: trailing axes line up, length-1 axes are repeated."""
        if node.shape == shape:
            return node
        ndim = len(node.shape)
        offset = len(shape) - ndim
        kept = [axis for axis in range(ndim) if node.shape[axis] == shape[offset + axis]]
        if len(kept) != ndim:
            node = self.make(OPS["reshape"], (node,), {"shape": tuple(node.shape[axis] for axis in kept)})
        axes = tuple(offset + axis for axis in kept)
        return self.make(OPS["broadcast"], (node,), {"axes": axes, "shape": shape})

    def cast(self, node: Node, dtype: Any) -> Node:
        """The node with another dtype; itself if it has that dtype already."""
        if isinstance(node.type, ArrayType) and node.type.dtype == dtype:
            return node
        return self.make(OPS["cast"], (node,), {"dtype": np.dtype(dtype)})

    def reshape(self, node: Node, shape: tuple[int, ...]) -> Node:
        """The node in another shape, C order; itself if it has that shape already."""
        return node if node.shape == shape else self.make(OPS["reshape"], (node,), {"shape": shape})


def is_view(node: Node) -> bool:
    """Whether the node's op only looks at its input another way."""
    return node.op.kind is Kind.VIEW
