"""Reverse-mode differentiation: builds the backward nodes of a graph with a builder.

The walk goes once over the nodes between `wrt` and the outputs, users before inputs. A missing cotangent
(None) is a symbolic zero. Structural zeros, of branches not taken and of elements not read, travel beside
each cotangent as a lazily built mask and are put back after pullbacks that could turn 0 into NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import Flow, NotDifferentiable
from ..ir.opdef import NotDifferentiableError as NotDifferentiableError
from ..ir.types import ArrayType, ScalarType, TupleType, array_of
from ..ir.visit import topological
from ..ops.base import is_inexact
from ..rules.derivative import special_vjp

Mask = Callable[[], Node]


@dataclass
class Cotangent:
    """What has been summed up for one node so far. `mask` is None when no zero is structural."""

    node: Node
    mask: Mask | None


def pull_back(
    b: Builder, outputs: Sequence[Node], cotangents: Sequence[Node | None], wrt: Sequence[Node]
) -> list[Node | None]:
    """The cotangents of `wrt`, given those of `outputs`.

    Args:
        b: the builder that the backward nodes are made with.
        outputs: nodes to start from.
        cotangents: one node of the output's type per output, or None for zero.
        wrt: the nodes whose cotangents are wanted.

    Returns:
        One node of the type of each `wrt` node, None where nothing depends on it.

    Raises:
        NotDifferentiableError: an op on the path has no derivative.
    """
    order = topological(outputs)
    active = carriers(wrt, order)
    wanted = set(wrt)
    loc = b.loc
    table: dict[Node, Cotangent] = {}
    parts: dict[Node, dict[int, Node]] = {}
    try:
        for output, ct in zip(outputs, cotangents, strict=True):
            if ct is not None and output in active:
                _accumulate(b, table, output, ct, None)
        for node in reversed(order):
            if node not in active or (node in wanted and not active.intersection(node.inputs)):
                continue
            b.loc = node.loc.as_backward()
            if isinstance(node.type, TupleType):
                if node in parts:
                    _pull_tuple(b, node, parts.pop(node), table, active)
            elif node in table:
                entry = table[node] if node in wanted else table.pop(node)
                if node.op.name == "get":
                    parts.setdefault(node.inputs[0], {})[node.attrs["index"]] = entry.node
                else:
                    _pull_node(b, node, entry, table, active)
    finally:
        b.loc = loc
    return [table[node].node if node in table else None for node in wrt]


def carriers(wrt: Sequence[Node], order: Sequence[Node]) -> set[Node]:
    """The nodes that a derivative can pass through: those that depend on `wrt` by way of inexact values.

    A draw that follows a draw with differentiated parameters depends on it through the generator alone.
    """
    found = set(wrt)
    for node in order:
        if node not in found and not found.isdisjoint(node.inputs):
            if isinstance(node.type, TupleType) or is_inexact(node.type):
                found.add(node)
    return found


def _pull_node(
    b: Builder, node: Node, entry: Cotangent, table: dict[Node, Cotangent], active: set[Node]
) -> None:
    special = special_vjp(b, node, entry.node)
    if special is not None:
        for operand, ct in special:
            if operand in active:
                masked, mask = _through_elementwise(b, node, operand, ct, entry.mask)
                _accumulate(b, table, operand, masked, mask)
        return
    vjp = node.op.vjp
    if isinstance(vjp, NotDifferentiable):
        if node.op.name == "stop_gradient":
            return
        raise NotDifferentiableError(node, vjp.reason)
    for position, (operand, ct) in enumerate(zip(node.inputs, vjp(b, node, entry.node), strict=True)):
        if ct is None or operand not in active or not is_inexact(operand.type):
            continue
        flow = node.op.flow
        mask: Mask | None = None
        if flow is Flow.SCALES or flow is Flow.BOUNDED:
            ct, mask = _through_elementwise(b, node, operand, ct, entry.mask)
        elif flow is Flow.SELECTS or (flow is Flow.MOVES and entry.mask is not None):
            mask = _moved_mask(b, node, position, entry.mask)
            ct = _sum_to_scalar(b, ct, operand)
            if ct.shape != node.shape and operand.shape == () and node.shape != ():
                mask = None
        else:
            ct = _sum_to_scalar(b, ct, operand)
        _accumulate(b, table, operand, ct, mask)


def _pull_tuple(
    b: Builder, node: Node, given: dict[int, Node], table: dict[Node, Cotangent], active: set[Node]
) -> None:
    vjp = node.op.vjp
    if isinstance(vjp, NotDifferentiable):
        raise NotDifferentiableError(node, vjp.reason)
    assert isinstance(node.type, TupleType)
    cts = tuple(given.get(index) for index in range(len(node.type.items)))
    for operand, ct in zip(node.inputs, vjp(b, node, cts), strict=True):  # type: ignore[arg-type]
        if ct is not None and operand in active and is_inexact(operand.type):
            _accumulate(b, table, operand, ct, None)


def _through_elementwise(
    b: Builder, node: Node, operand: Node, ct: Node, mask: Mask | None
) -> tuple[Node, Mask | None]:
    """The cotangent of one operand with structural zeros put back, and the mask that goes on with it."""
    if mask is not None and isinstance(ct.type, ArrayType) and ct.shape == node.shape:
        if node.op.flow is not Flow.BOUNDED:
            ct = b.where(mask(), ct, b.scalar(0, ct))
    elif mask is not None:
        mask = None
    if operand.shape != node.shape:
        mask = None
    return _sum_to_scalar(b, ct, operand), mask


def _sum_to_scalar(b: Builder, ct: Node, operand: Node) -> Node:
    """The one sum over broadcast axes outside `broadcast`: of a 0-d operand that stood for a whole array."""
    if isinstance(operand.type, ScalarType):
        if isinstance(ct.type, ScalarType):
            return ct
        total = b.sum(ct, axes=tuple(range(len(ct.shape))), dtype=ct.dtype) if ct.shape else ct
        return b.item(total)
    if ct.shape and not operand.shape:
        return b.sum(ct, axes=tuple(range(len(ct.shape))), dtype=ct.dtype)
    return ct


def _moved_mask(b: Builder, node: Node, position: int, mask: Mask | None) -> Mask | None:
    """The mask of one input of an op whose vjp has coefficients 0 and 1: the vjp of the mask itself."""
    built: list[Node] = []
    type_ = array_of(node.inputs[position].type)
    if isinstance(type_, ScalarType) or not isinstance(node.type, ArrayType):
        return None

    def build() -> Node:
        if not built:
            dtype = node.dtype
            if mask is None:
                ones = b.full(1, node.type)
            else:
                ones = b.cast(mask(), dtype)
            assert not isinstance(node.op.vjp, NotDifferentiable)
            moved = node.op.vjp(b, node, ones)[position]
            assert moved is not None
            built.append(b.not_equal(moved, b.scalar(0, moved)))
        return built[0]

    return build


def _accumulate(b: Builder, table: dict[Node, Cotangent], node: Node, ct: Node, mask: Mask | None) -> None:
    known = table.get(node)
    if known is None:
        table[node] = Cotangent(ct, mask)
        return
    known.node = b.add(known.node, ct)
    first = known.mask
    if first is None or mask is None:
        known.mask = None
    else:
        second = mask
        known.mask = lambda: b.logical_or(first(), second())


def ones_like(b: Builder, node: Node) -> Node:
    """The cotangent that asks for the gradient of a scalar output."""
    type_ = array_of(node.type)
    if isinstance(type_, ScalarType):
        return b.constant(type_.kind(1))
    return b.full(1, type_) if type_.shape else b.constant(np.ones((), type_.dtype))
