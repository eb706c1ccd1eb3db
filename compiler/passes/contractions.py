"""Contractions for native code: convolutions become `contract_windows`, other einsums matrix products.

A convolution is a product (matmul or einsum) of which an operand shows a window, so that its matrix would be
larger than the array behind it; so is its gradient to the weights. The gradient to the data is a
`window_sum` of a product: it becomes the same op with sums added to where the windows lie. Values change by
rounding only, so this is no pass of the NumPy executor.
"""

from __future__ import annotations

from typing import Any

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.record import record
from ..ir.visit import rebuild
from ..ops.einsum import contract, split
from .factors import Axes, Factor, Seen, Steps, chain, refine, seen, through, times, unit

FLOATS = ("f4", "f8")


@record(frozen=False)
class _Term:
    """An iteration axis of a contraction: its length and how it moves through both operands."""

    extent: int
    left: Steps
    right: Steps


@record(frozen=False)
class _Product:
    """A contraction of two views: the result's axes, each a list of iteration axes, and the summed ones."""

    left: Seen
    right: Seen
    result: list[list[_Term]]
    summed: list[_Term]


def lower_contractions(graph: Graph) -> Graph:
    """The graph with convolutions and einsums in the form that native code has."""
    return rebuild(graph, Builder(), _rewrite)


def _rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    b.loc = node.loc
    name = node.op.name
    if name == "reshape" and inputs[0].op.name == "reshape":
        return b.reshape(inputs[0].inputs[0], node.shape)
    if name not in ("matmul", "einsum", "window_sum") or node.dtype.str[1:] not in FLOATS:
        return None
    new = b.again(node, inputs)
    if name == "window_sum":
        return _data_gradient(b, new)
    product = _product(new) if len(new.inputs) == 2 and _all_full(new) else None
    if product is not None and (product.left.shows_more() or product.right.shows_more()):
        return b.reshape(_made(b, product), new.shape)
    return _as_matmul(b, new) if name == "einsum" else new


def _all_full(node: Node) -> bool:
    return all(all(value.shape) for value in (node, *node.inputs))


# ---- products of views


def _words(node: Node) -> tuple[str, str, str] | None:
    """Letters of both operands and the result; None where one stands twice in an operand."""
    if node.op.name == "einsum":
        words, result = split(node.attrs["subscripts"])
    else:
        stack = "".join(chr(ord("a") + k) for k in range(len(node.shape) - 2))
        words, result = [f"{stack}XZ", f"{stack}ZY"], f"{stack}XY"
    if len(words) != 2 or any(len(set(word)) != len(word) for word in words):
        return None
    return words[0], words[1], result


def _product(node: Node) -> _Product | None:
    """A matmul or an einsum of two operands as a contraction of what their views show."""
    words = _words(node)
    if words is None:
        return None
    x, y = (seen(operand) for operand in node.inputs)
    by_left, by_right = (dict(zip(w, s.axes, strict=True)) for w, s in zip(words, (x, y), strict=False))
    terms: dict[str, list[_Term]] = {}
    for letter in dict.fromkeys(words[0] + words[1]):
        found = _terms(letter, by_left, by_right, (x, y))
        if found is None:
            return None
        terms[letter] = found
    summed = [term for letter, found in terms.items() if letter not in words[2] for term in found]
    return _Product(x, y, [terms[letter] for letter in words[2]], summed)


def _terms(
    letter: str,
    left: dict[str, tuple[Factor, ...]],
    right: dict[str, tuple[Factor, ...]],
    views: tuple[Seen, Seen],
) -> list[_Term] | None:
    """The iteration axes that a letter stands for."""
    still = tuple((0,) * len(view.base.shape) for view in views)
    if letter not in right:
        return [_Term(extent, steps, still[1]) for extent, steps in left[letter]]
    if letter not in left:
        return [_Term(extent, still[0], steps) for extent, steps in right[letter]]
    found = refine(left[letter], right[letter])
    return None if found is None else [_Term(*term) for term in found]


def _made(b: Builder, product: _Product, result: tuple[Any, ...] = ()) -> Node:
    """The op for a contraction; `result` tells where the sums are added, where they are."""
    kept = [term for axis in product.result for term in axis]
    terms = [*kept, *product.summed]
    node = b.contract_windows(
        product.left.base,
        product.right.base,
        extents=tuple(term.extent for term in terms),
        kept=len(kept),
        left_start=product.left.start,
        left_steps=tuple(term.left for term in terms),
        right_start=product.right.start,
        right_steps=tuple(term.right for term in terms),
        **({"result": result} if result else {}),
    )
    return node


# ---- gradients to the data


def _data_gradient(b: Builder, node: Node) -> Node | None:
    """A sum over windows of a product: sums of products added to where their windows lie."""
    *views, base = chain(node.inputs[0])
    if base.op.name not in ("matmul", "einsum") or len(base.inputs) != 2 or not all(node.inputs[0].shape):
        return None
    product = _product(base)
    moves = None if product is None else _moves(product, views, node)
    if product is None or moves is None:
        return None
    kept = [(term, move) for term, move in moves if any(move)]
    product.result = [[term for term, _ in kept]]
    product.summed += [term for term, move in moves if not any(move)]
    return _made(b, product, (node.shape, node.attrs["start"], tuple(move for _, move in kept)))


def _moves(product: _Product, views: list[Node], node: Node) -> list[tuple[_Term, Steps]] | None:
    """For each iteration axis of the product's result, how it moves through the sum's result."""
    kept = [term for axis in product.result for term in axis]
    numbered = iter(range(len(kept)))
    axes: Axes = tuple(
        tuple((term.extent, unit(next(numbered), len(kept))) for term in axis) for axis in product.result
    )
    base = chain(node.inputs[0])[-1]
    found: Seen | None = Seen(base, (0,) * len(kept), axes)
    for view in reversed(views):
        found = None if found is None or view.op.name in ("window", "slice") else through(found, view)
    if found is None:
        return None
    factors = [
        pair
        for axis, steps in zip(found.axes, node.attrs["steps"], strict=True)
        for pair in _with_steps(axis, steps)
    ]
    moves: list[Steps | None] = [None] * len(kept)
    for (extent, at), move in factors:
        place = [k for k, step in enumerate(at) if step]
        if len(place) != 1 or at[place[0]] != 1 or kept[place[0]].extent != extent:
            return None
        moves[place[0]] = move
    if any(move is None for move in moves):
        return None
    return [(term, move) for term, move in zip(kept, moves, strict=True) if move is not None]


def _with_steps(axis: tuple[Factor, ...], steps: Steps) -> list[tuple[Factor, Steps]]:
    """The factors of an axis with their moves: inner ones take the axis' step, outer ones multiples."""
    found: list[tuple[Factor, Steps]] = []
    inner = 1
    for factor in reversed(axis):
        found.append((factor, times(steps, inner)))
        inner *= factor[0]
    return found


# ---- other einsums


def _as_matmul(b: Builder, node: Node) -> Node | None:
    """An einsum as products and sums that have kernels; None where letters repeat or operands are many."""
    words, result = split(node.attrs["subscripts"])
    if len(words) > 2 or any(len(set(word)) != len(word) for word in words):
        return None
    operands = []
    for k, (word, x) in enumerate(zip(words, node.inputs, strict=True)):
        needed = result + (words[1 - k] if len(words) == 2 else "")
        operands.append(_needed(b, x, word, needed))
    if len(operands) == 1:
        ((word, x),) = operands
        return _ordered(b, x, word, result)
    (left, x), (right, y) = operands
    inner = [c for c in left if c in right and c not in result]
    rows, columns = (any(c not in other for c in word) for word, other in ((left, right), (right, left)))
    if inner and (rows or columns):
        return contract(b, x, y, left, right, result)
    full = result + "".join(inner)
    lengths = {**dict(zip(left, x.shape, strict=True)), **dict(zip(right, y.shape, strict=True))}
    shape = tuple(lengths[c] for c in full)
    spread = []
    for word, operand in ((left, x), (right, y)):
        axes = tuple(full.index(c) for c in sorted(word, key=full.index))
        ordered = _ordered(b, operand, word, "".join(full[axis] for axis in axes))
        spread.append(ordered if ordered.shape == shape else b.broadcast(ordered, axes=axes, shape=shape))
    total = b.multiply(*spread)
    return b.sum(total, axes=tuple(range(len(result), len(full))), dtype=node.dtype) if inner else total


def _needed(b: Builder, x: Node, word: str, needed: str) -> tuple[str, Node]:
    """The operand without the axes that nothing needs: summed, or dropped where their length is 1."""
    gone = tuple(axis for axis, c in enumerate(word) if c not in needed and x.shape[axis] != 1)
    rest = "".join(c for axis, c in enumerate(word) if axis not in gone)
    if gone:
        x = b.sum(x, axes=gone, dtype=x.dtype)
    kept = [axis for axis, c in enumerate(rest) if c in needed]
    if len(kept) != len(rest):
        x = b.reshape(x, tuple(x.shape[axis] for axis in kept))
    return "".join(rest[axis] for axis in kept), x


def _ordered(b: Builder, x: Node, word: str, wanted: str) -> Node:
    return x if word == wanted else b.transpose(x, axes=tuple(word.index(c) for c in wanted))
