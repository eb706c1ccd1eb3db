"""Contractions for native code: convolutions become `contract_windows`, other einsums matrix products.

A convolution is a product (matmul or einsum) of which an operand shows a window, so that its matrix would be
larger than the array behind it; so is its gradient to the weights. The gradient to the data is a
`window_sum` of a product: it becomes the same op over a cotangent with zeros around (and between, where
windows were strided). Values change by rounding only, so this is no pass of the NumPy executor.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.types import ArrayType
from ..ir.visit import rebuild
from ..ops.einsum import contract, split
from ..ops.view import path_step
from .factors import Axes, Factor, Seen, Steps, chain, plus, refine, seen, through, times, unit

FLOATS = ("f4", "f8")


@dataclass
class _Term:
    """An iteration axis of a contraction: its length and how it moves through both operands."""

    extent: int
    left: Steps
    right: Steps


@dataclass
class _Product:
    """A contraction of two views: the result's axes, each a list of iteration axes, and the summed ones."""

    left: Seen
    right: Seen
    result: list[list[_Term]]
    summed: list[_Term]
    zeros: dict[str, dict[int, tuple[int, int, int]]] = field(
        default_factory=lambda: {"left": {}, "right": {}}
    )


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
        return _made(b, product, new.shape)
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


def _made(b: Builder, product: _Product, shape: tuple[int, ...]) -> Node:
    """The op for a contraction, in the shape of the node it replaces."""
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
    )
    return b.reshape(node, shape)


# ---- gradients to the data


def _data_gradient(b: Builder, node: Node) -> Node | None:
    """A sum over windows of a product: result[start + s p + d i] += left[p] right[i], as a contraction."""
    *views, base = chain(node.inputs[0])
    if base.op.name not in ("matmul", "einsum") or len(base.inputs) != 2:
        return None
    product = _product(base)
    moves = None if product is None else _moves(product, views, node)
    if product is None or moves is None:
        return None
    ndim = len(node.shape)
    axes: list[list[_Term]] = []
    for axis in range(ndim):
        movers = [(term, move) for term, move in moves if move[axis]]
        if any(sum(map(bool, move)) > 1 for _, move in movers):
            return None
        found = _axis(product, axis, movers, node)
        if found is None:
            return None
        axes.append(found)
    product.summed += [term for term, move in moves if not any(move)]
    left, right = (_surrounded(b, product, side) for side in ("left", "right"))
    starts = [
        tuple(first + view_start for first, view_start in zip(own, view.start, strict=True))
        for own, view in ((left[1], product.left), (right[1], product.right))
    ]
    product.left = Seen(left[0], starts[0], product.left.axes)
    product.right = Seen(right[0], starts[1], product.right.axes)
    product.result = axes
    return _made(b, product, node.shape)


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


def _axis(product: _Product, axis: int, movers: list[tuple[_Term, Steps]], node: Node) -> list[_Term] | None:
    """The iteration axis for an axis of the sum's result; what has to be zero around is noted."""
    length, start = node.shape[axis], node.attrs["start"][axis]
    if length == 1 and not movers:
        return []
    steps = [move[axis] for _, move in movers]
    if len(movers) == 1 and steps == [1] and start == 0 and movers[0][0].extent == length:
        return [movers[0][0]]
    if not 1 <= len(movers) <= 2 or min(steps) < 0:
        return None
    for position in sorted(range(len(movers)), key=lambda k: -movers[k][0].extent):
        (place, _), step = movers[position], steps[position]
        other = movers[1 - position][0] if len(movers) == 2 else None
        back = steps[1 - position] if other is not None else 0
        for side in ("left", "right"):
            own, far = (place.left, place.right) if side == "left" else (place.right, place.left)
            if any(far) or sorted(own)[-1] != 1 or sum(own) != 1:
                continue
            if other is not None and any(other.left if side == "left" else other.right):
                continue
            moved = own.index(1)
            if not _alone(product, side, moved, place):
                continue
            reach = back * (other.extent - 1) if other is not None else 0
            product.zeros[side][moved] = (length + reach, start + reach, step)
            return _turned(product, side, moved, length, other, back)
    return None


def _alone(product: _Product, side: str, moved: int, place: _Term) -> bool:
    """Whether one iteration axis alone moves along an axis of an operand, and that through all of it."""
    view = product.left if side == "left" else product.right
    terms = [*(term for axis in product.result for term in axis), *product.summed]
    others = [t for t in terms if t is not place and (t.left if side == "left" else t.right)[moved]]
    return not others and view.start[moved] == 0 and view.base.shape[moved] == place.extent


def _turned(
    product: _Product, side: str, moved: int, length: int, other: _Term | None, back: int
) -> list[_Term]:
    """The result's axis moves through the surrounded cotangent, the kernel's axis moves against it."""
    still = (0,) * len(product.left.base.shape), (0,) * len(product.right.base.shape)
    mine = unit(moved, len(still[side == "right"]))
    if other is not None:
        against = times(mine, -back)
        left = plus(other.left, against) if side == "left" else other.left
        right = plus(other.right, against) if side == "right" else other.right
        product.summed.append(_Term(other.extent, left, right))
    return [_Term(length, mine, still[1]) if side == "left" else _Term(length, still[0], mine)]


def _surrounded(b: Builder, product: _Product, side: str) -> tuple[Node, Steps]:
    """An operand with zeros around and between its elements, and where the first window begins in it."""
    base = (product.left if side == "left" else product.right).base
    zeros = product.zeros[side]
    if not zeros:
        return base, (0,) * len(base.shape)
    wide = tuple(zeros[k][0] if k in zeros else n for k, n in enumerate(base.shape))
    first = tuple(zeros[k][1] if k in zeros else 0 for k in range(len(wide)))
    step = tuple(zeros[k][2] if k in zeros else 1 for k in range(len(wide)))
    space = b.full(0, ArrayType(wide, base.dtype))
    path = (path_step("slice", start=first, size=base.shape, step=step),)
    begin = tuple(_reach(product, side, k) if k in zeros else 0 for k in range(len(wide)))
    return b.write(space, base, path=path), begin


def _reach(product: _Product, side: str, axis: int) -> int:
    """How far the kernel's axes move back along an axis."""
    return -sum(
        min((t.left if side == "left" else t.right)[axis], 0) * (t.extent - 1) for t in product.summed
    )


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
