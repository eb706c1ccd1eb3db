"""Reverse-mode differentiation: builds the backward nodes of a graph with a builder.

The walk goes once over the nodes between `wrt` and the outputs, users before inputs. A missing cotangent
(None) is a symbolic zero. Structural zeros, of branches not taken and of elements not read, travel beside
each cotangent as a mask (`zeros.py`): pullbacks may spoil them, they are put back before anything is summed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Loc, Node
from ..ir.opdef import Cotangents, Kind, NotDifferentiable
from ..ir.opdef import NotDifferentiableError as NotDifferentiableError
from ..ir.record import record, replace
from ..ir.types import ArrayType, ScalarType, TupleType, array_of
from ..ir.visit import topological
from ..ops.base import is_complex, is_inexact
from ..rules.derivative import special_vjp
from .zeros import Mask, either, is_steady, lifted, mask_of, reduced, restored, through


@record(slots=True)
class Cotangent:
    """What has been summed up for one node so far.

    `mask` is None when no zero is structural. Where it does not hold, a `spoilt` cotangent has anything.
    """

    node: Node
    mask: Mask | None = None
    spoilt: bool = False

    def restored(self, b: Builder) -> Node:
        """The node with its structural zeros in place."""
        return restored(b, self.mask, self.node) if self.spoilt and self.mask is not None else self.node


class Pullback:
    """One walk: the builder, the nodes on the way, and the cotangents that have arrived so far."""

    def __init__(self, b: Builder, active: set[Node]) -> None:
        self.b = b
        self.active = active
        self.table: dict[Node, Cotangent] = {}
        self.parts: dict[Node, dict[int, Cotangent]] = {}

    def start(self, output: Node, ct: Node, nonzero: Node | None) -> None:
        """Give an output its cotangent, and where it may differ from zero if its zeros are structural."""
        self._deliver(output, Cotangent(ct, None if nonzero is None else mask_of(nonzero)))

    def result(self, node: Node) -> Node | None:
        """What has arrived at a node, None if nothing has."""
        return self.table[node].restored(self.b) if node in self.table else None

    def visit(self, node: Node, keep: bool) -> None:
        """Hand the node's cotangent on to its inputs; `keep` it if it is wanted itself."""
        if isinstance(node.type, TupleType):
            if node in self.parts:
                self._pull_tuple(node, self.parts.pop(node))
        elif node in self.table:
            entry = self.table[node] if keep else self.table.pop(node)
            if node.op.name == "get":
                self.parts.setdefault(node.inputs[0], {})[node.attrs["index"]] = entry
            else:
                self._pull(node, entry)

    def _pull(self, node: Node, entry: Cotangent) -> None:
        special = special_vjp(node)
        if special is not None:
            pull, sums = special
            for given in pull(self.b, entry.restored(self.b) if sums else entry.node):
                if given.operand in self.active and is_inexact(given.operand.type):
                    mask = lifted(self.b, entry.mask, given)
                    self._deliver(given.operand, Cotangent(given.ct, mask, spoilt=mask is not None))
        elif node.op.name == "where":
            self._choose(node, entry)
        elif node.op.kind is Kind.ELEMENTWISE:
            self._hand_on(node, entry, self._vjp(node, entry.node))
        elif node.op.name != "stop_gradient":
            ct = entry.restored(self.b)
            self._hand_on(node, Cotangent(ct, entry.mask), self._vjp(node, ct))

    def _pull_tuple(self, node: Node, given: dict[int, Cotangent]) -> None:
        assert isinstance(node.type, TupleType)
        entries = [given.get(index) for index in range(len(node.type.items))]
        cts = [None if entry is None else entry.restored(self.b) for entry in entries]
        first, *others = given.values()
        mask = first.mask if node.op.kind is Kind.ELEMENTWISE else None
        for entry in others:
            mask = either(self.b, mask, entry.mask)
        self._hand_on(node, Cotangent(first.node, mask), self._vjp(node, cts))

    def _vjp(self, node: Node, ct: Node | Sequence[Node | None]) -> Cotangents:
        vjp = node.op.vjp
        if isinstance(vjp, NotDifferentiable):
            raise NotDifferentiableError(node, vjp.reason)
        return vjp(self.b, node, ct)  # type: ignore[arg-type]

    def _choose(self, node: Node, entry: Cotangent) -> None:
        """`where` hands its whole cotangent to both choices: the masks say which elements are meant."""
        for position in (1, 2):
            operand = node.inputs[position]
            if operand in self.active:
                mask = through(self.b, node, position, entry.mask)
                self._deliver(operand, Cotangent(entry.node, mask, spoilt=True))

    def _hand_on(self, node: Node, entry: Cotangent, cts: Cotangents) -> None:
        for position, (operand, ct) in enumerate(zip(node.inputs, cts, strict=True)):
            if ct is None or operand not in self.active or not is_inexact(operand.type):
                continue
            mask = through(self.b, node, position, entry.mask)
            spoilt = node.op.kind is Kind.ELEMENTWISE and (entry.spoilt or not is_steady(node, position))
            self._deliver(operand, Cotangent(ct, mask, spoilt))

    def _deliver(self, operand: Node, given: Cotangent) -> None:
        """Add to what the operand has got so far, in the operand's own type."""
        b = self.b
        if given.node.shape and not operand.shape:
            given = _summed(b, given)
        if is_complex(given.node) and not is_complex(operand):
            given = replace(given, node=b.real(b.cast(given.node, given.node.dtype)))
        if isinstance(operand.type, ScalarType) and isinstance(given.node.type, ArrayType):
            given = replace(given, node=b.item(given.node))
        known = self.table.get(operand)
        self.table[operand] = given if known is None else _sum(b, known, given)


def _summed(b: Builder, given: Cotangent) -> Cotangent:
    """The one sum over broadcast axes outside `broadcast`: of a 0-d operand that stood for a whole array."""
    ct = given.restored(b)
    total = b.sum(ct, axes=tuple(range(len(ct.shape))), dtype=ct.dtype)
    return Cotangent(total, reduced(b, given.mask))


def _sum(b: Builder, known: Cotangent, given: Cotangent) -> Cotangent:
    """Two cotangents of one node; where their masks differ, structural zeros are restored first."""
    if known.mask is given.mask:
        return Cotangent(b.add(known.node, given.node), known.mask, known.spoilt or given.spoilt)
    total = b.add(known.restored(b), given.restored(b))
    return Cotangent(total, either(b, known.mask, given.mask))


def pull_back(
    b: Builder,
    outputs: Sequence[Node],
    cotangents: Sequence[Node | None],
    wrt: Sequence[Node],
    nonzero: Sequence[Node | None] = (),
) -> list[Node | None]:
    """The cotangents of `wrt`, given those of `outputs`.

    Args:
        b: the builder that the backward nodes are made with.
        outputs: nodes to start from.
        cotangents: one node of the output's type per output, or None for zero.
        wrt: the nodes whose cotangents are wanted: params or marks.
        nonzero: for cotangents whose zeros are structural, as those of unit vectors, booleans that say where
            there is none; None for the others.

    Returns:
        One node of the type of each `wrt` node, None where nothing depends on it.

    Raises:
        NotDifferentiableError: an op on the path has no derivative.
    """
    order = topological(outputs)
    active = carriers(wrt, order)
    wanted = set(wrt)
    walk = Pullback(b, active)
    lines: dict[int, Loc] = {}
    loc = b.loc
    try:
        places = nonzero or [None] * len(outputs)
        for output, ct, place in zip(outputs, cotangents, places, strict=True):
            if ct is not None and output in active:
                walk.start(output, ct, place)
        for node in reversed(order):
            if node not in active or (node in wanted and not active.intersection(node.inputs)):
                continue
            b.loc = lines.get(id(node.loc)) or lines.setdefault(id(node.loc), node.loc.as_backward())
            walk.visit(node, keep=node in wanted)
        return [walk.result(node) for node in wrt]
    finally:
        b.loc = loc


def carriers(wrt: Sequence[Node], order: Sequence[Node]) -> set[Node]:
    """The nodes that a derivative can pass through: those that depend on `wrt` by way of inexact values.

    A draw that follows a draw with differentiated parameters depends on it through the generator alone.
    """
    found = set(wrt)
    for node in order:
        carries = isinstance(node.type, TupleType) or is_inexact(node.type)
        if carries and node not in found and not found.isdisjoint(node.inputs):
            found.add(node)
    return found


def ones_like(b: Builder, node: Node) -> Node:
    """The cotangent that asks for the gradient of a scalar output."""
    type_ = array_of(node.type)
    if isinstance(type_, ScalarType):
        return b.constant(type_.kind(1))
    return b.full(1, type_) if type_.shape else b.constant(np.ones((), type_.dtype))
