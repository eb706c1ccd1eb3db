"""Matrix products with one row, one column or one term as sums and products that fuse.

Such a product does as many multiplications as its matrix has elements: reading the matrix is all its cost, so
what stands before and after belongs in the same loop. With one term it is a product of elements; otherwise a
`sum_products` over the matrix as it lies in memory: a transposed matrix is summed over its other axis, so
that a product forward and one backward run over one space and fuse. Values change by rounding only.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..ir.visit import rebuild

FLOATS = "fd"


def lower_vectors(graph: Graph) -> Graph:
    """The graph without the matrix products that are no work for BLAS."""
    if not any(node.op.name in FORMS for node in graph.nodes):
        return graph
    return rebuild(graph, Builder(), _rewrite)


def _rewrite(b: Builder, node: Node, inputs: tuple[Node, ...]) -> Node | None:
    form = FORMS.get(node.op.name)
    if form is None or node.dtype.char not in FLOATS or not all(all(x.shape) for x in inputs):
        return None
    b.loc = node.loc
    return form(b, *inputs)


def _matmul(b: Builder, x: Node, y: Node) -> Node | None:
    """A product of matrices of which one has a single row or column, or that have a single term."""
    (*stack, m, k), n = x.shape, y.shape[-1]
    if min(m, n, k) != 1:
        return None
    lead = tuple(length for length in stack if length != 1)
    if k == 1:
        found = _outer(b, x, y, lead)
    elif m == n == 1:
        found = _vecdot(b, _as(b, x, (*lead, k)), _as(b, y, (*lead, k)))
    elif n == 1:
        found = _applied(b, _as(b, x, (*lead, m, k)), _as(b, y, (*lead, k)), last=True)
    else:
        found = _applied(b, _as(b, y, (*lead, k, n)), _as(b, x, (*lead, k)), last=False)
    return _as(b, found, (*stack, m, n))


def _dot(b: Builder, x: Node, y: Node) -> Node | None:
    """np.dot of an array and a vector, or of an array and a matrix."""
    rows, columns = len(x.shape), len(y.shape)
    if not rows or not columns:
        return None
    if columns == 1:
        return _vecdot(b, x, b.broadcast(y, axes=(rows - 1,), shape=x.shape) if rows > 1 else y)
    if rows == 1:
        spread = b.broadcast(x, axes=(columns - 2,), shape=y.shape)
        return b.sum_products(y, spread, axes=(columns - 2,))
    if columns > 2:
        return None
    matrix = b.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1]))
    product = _matmul(b, matrix, y) or b.matmul(matrix, y)
    return b.reshape(product, (*x.shape[:-1], y.shape[-1]))


def _vecdot(b: Builder, x: Node, y: Node) -> Node:
    return b.sum_products(x, y, axes=(len(x.shape) - 1,))


FORMS: dict[str, Callable[..., Node | None]] = {
    "matmul": _matmul,
    "dot": _dot,
    "vecdot": _vecdot,
    "matvec": lambda b, matrix, vector: _applied(b, matrix, vector, last=True),
    "vecmat": lambda b, vector, matrix: _applied(b, matrix, vector, last=False),
}


def _outer(b: Builder, x: Node, y: Node, lead: tuple[int, ...]) -> Node:
    """One term: the product of a column and a row."""
    m, n = x.shape[-2], y.shape[-1]
    shape = (*lead, m, n)
    axes = tuple(range(len(lead)))
    column = b.broadcast(_as(b, x, (*lead, m)), axes=(*axes, len(lead)), shape=shape)
    row = b.broadcast(_as(b, y, (*lead, n)), axes=(*axes, len(lead) + 1), shape=shape)
    return b.multiply(column, row)


def _applied(b: Builder, matrix: Node, vector: Node, last: bool) -> Node:
    """The sum over the matrix' last axis, or the one before it, of its products with a vector."""
    rank = len(matrix.shape)
    axis = rank - 1 if last else rank - 2
    swap = (*range(rank - 2), rank - 1, rank - 2)
    if matrix.op.name == "transpose" and tuple(matrix.attrs["axes"]) == swap:
        matrix, axis = matrix.inputs[0], 2 * rank - 3 - axis
    spread = b.broadcast(vector, axes=(*range(rank - 2), axis), shape=matrix.shape)
    return b.sum_products(matrix, spread, axes=(axis,))


def _as(b: Builder, x: Node, shape: tuple[int, ...]) -> Node:
    """The value in another shape: of the array that a chain of reshapes, or of moved unit axes, looks at."""
    while x.shape != shape:
        if x.op.name == "reshape" or (x.op.name == "transpose" and _keeps_order(x)):
            x = x.inputs[0]
        else:
            return b.reshape(x, shape)
    return x


def _keeps_order(node: Node) -> bool:
    """Whether a transpose moves axes of length 1 only."""
    (x,) = node.inputs
    moved = [axis for axis in node.attrs["axes"] if x.shape[axis] != 1]
    return moved == sorted(moved)
