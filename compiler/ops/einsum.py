"""Sums of products: einsum by subscripts, vecdot, matvec, vecmat, convolve, correlate.

`einsum` takes explicit subscripts without ellipsis or broadcasting and means NumPy's own loop
(`optimize=False`); its backward pass goes by matrix products where two operands meet.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.opdef import OPS, Attrs, Cotangents, Kind, OpDef, Sample, register
from ..ir.types import ArrayType, Type, array_type
from .base import arrays, conj, normal, normals, values
from .contraction import swapped
from .join import flipped

C_ONE_DTYPE = "C3: all have one dtype"


def split(subscripts: str) -> tuple[list[str], str]:
    """The letters of each operand and of the result."""
    operands, _, result = subscripts.partition("->")
    return operands.split(","), result


def one_dtype(op: str, types: Sequence[ArrayType]) -> None:
    if any(type_.dtype != types[0].dtype for type_ in types):
        OPS[op].fail("C3", f"dtypes {', '.join(str(type_.dtype) for type_ in types)} differ")


def einsum_type(types: Sequence[Type], attrs: Attrs) -> Type:
    operands = arrays("einsum", types)
    letters, result = split(attrs["subscripts"])
    if [len(word) for word in letters] != [type_.ndim for type_ in operands]:
        OPS["einsum"].fail("C1", f"{attrs['subscripts']!r} does not fit {', '.join(map(str, operands))}")
    lengths: dict[str, int] = {}
    for word, type_ in zip(letters, operands, strict=True):
        for letter, length in zip(word, type_.shape, strict=True):
            if lengths.setdefault(letter, length) != length:
                OPS["einsum"].fail("C2", f"{letter!r} is {lengths[letter]} and {length} long")
    if len(set(result)) != len(result) or not set(result) <= set(lengths):
        OPS["einsum"].fail("C2", f"the result's letters {result!r} are not distinct letters of the operands")
    one_dtype("einsum", operands)
    return array_type(tuple(lengths[letter] for letter in result), operands[0].dtype)


def einsum_value(*operands: Any, subscripts: str) -> Any:
    """NumPy's loop; a copy where it would return a view."""
    result = np.einsum(subscripts, *operands, optimize=False)
    return result.copy(order="K") if len(operands) == 1 and result.ndim else result


def reordered(b: Builder, node: Node, letters: str, wanted: str) -> Node:
    """Axes named by `letters` in the order of `wanted`; axes not wanted are summed away."""
    gone = tuple(axis for axis, letter in enumerate(letters) if letter not in wanted)
    if gone:
        node = b.sum(node, axes=gone, dtype=node.dtype)
        letters = "".join(letter for letter in letters if letter in wanted)
    if letters == wanted:
        return node
    return b.transpose(node, axes=tuple(letters.index(letter) for letter in wanted))


def contract(b: Builder, x: Node, y: Node, left: str, right: str, result: str) -> Node:
    """einsum of two operands without repeated letters, as one matrix product."""
    lengths = {**dict(zip(left, x.shape, strict=True)), **dict(zip(right, y.shape, strict=True))}
    batch = "".join(c for c in result if c in left and c in right)
    rows = "".join(c for c in result if c in left and c not in right)
    columns = "".join(c for c in result if c in right and c not in left)
    inner = "".join(c for c in left if c in right and c not in result)

    def size(letters: str) -> int:
        return int(np.prod([lengths[c] for c in letters], dtype=int))

    x = b.reshape(reordered(b, x, left, batch + rows + inner), (size(batch), size(rows), size(inner)))
    y = b.reshape(reordered(b, y, right, batch + inner + columns), (size(batch), size(inner), size(columns)))
    product = b.reshape(b.matmul(x, y), tuple(lengths[c] for c in batch + rows + columns))
    return reordered(b, product, batch + rows + columns, result)


def _part(b: Builder, node: Node, ct: Node, position: int) -> Node:
    """The cotangent of one operand: the others meet ct, repeated letters lie on a diagonal."""
    letters, result = split(node.attrs["subscripts"])
    mine, operand = letters[position], node.inputs[position]
    others = [
        (word, conj(b, x))
        for k, (word, x) in enumerate(zip(letters, node.inputs, strict=True))
        if k != position
    ]
    distinct = "".join(dict.fromkeys(mine))
    reached = "".join(c for c in distinct if c in result or any(c in word for word, _ in others))
    words = [result, *(word for word, _ in others)]
    if not others:
        total = reordered(b, ct, result, reached)
    elif len(others) == 1 and len(set(words[1])) == len(words[1]):
        total = contract(b, ct, others[0][1], result, words[1], reached)
    else:
        total = b.einsum(ct, *(x for _, x in others), subscripts=f"{','.join(words)}->{reached}")
    lengths = dict(zip(mine, operand.shape, strict=True))
    if reached != distinct:
        shape = tuple(lengths[c] for c in distinct)
        total = b.broadcast(total, axes=tuple(distinct.index(c) for c in reached), shape=shape)
    if distinct == mine:
        return total
    steps = tuple(tuple(int(c == letter) for c in mine) for letter in distinct)
    return b.window_sum(total, shape=operand.shape, start=(0,) * len(mine), steps=steps)


def einsum_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    return [_part(b, node, ct, position) for position in range(len(node.inputs))]


register(
    OpDef(
        "einsum",
        "the sum of products that explicit subscripts name",
        Kind.CONTRACTION,
        einsum_type,
        einsum_value,
        einsum_vjp,
        (
            "C1: one letter an axis of each operand",
            "C2: a letter has one length; the result's letters are distinct letters of the operands",
            C_ONE_DTYPE,
        ),
        (
            Sample("product", normals((2, 3), (3, 4)), {"subscripts": "ij,jk->ik"}),
            Sample("attention", normals((2, 3, 4), (2, 5, 4)), {"subscripts": "bid,bjd->bij"}),
            Sample("trace", normal(3, 3), {"subscripts": "ii->"}),
            Sample("diagonal", normal(3, 3), {"subscripts": "ii->i"}),
            Sample("row_sums", normal(2, 3), {"subscripts": "ij->i"}),
            Sample("bilinear", normals((3,), (3, 4), (4,)), {"subscripts": "i,ij,j->"}),
            Sample("diagonals_meet", normals((3, 3), (3, 2)), {"subscripts": "ii,ij->j"}),
            Sample("lone_letters", normals((2, 3), (4,)), {"subscripts": "ij,k->i"}),
            Sample("outer", normals((2,), (3,)), {"subscripts": "i,j->ji"}),
            Sample(
                "complex",
                lambda rng: tuple(rng.normal(size=(2, 2)) + 1j * rng.normal(size=(2, 2)) for _ in "ab"),
                {"subscripts": "ij,jk->ki"},
            ),
            Sample("axes", normals((2, 3)), {"subscripts": "i->i"}, breaks="C1"),
            Sample("lengths", normals((2, 3), (2, 3)), {"subscripts": "ij,jk->ik"}, breaks="C2"),
            Sample("new_letter", normal(2), {"subscripts": "i->j"}, breaks="C2"),
            Sample(
                "dtypes", lambda rng: (np.ones(2), np.ones(2, "f4")), {"subscripts": "i,i->"}, breaks="C3"
            ),
        ),
    )
)


def vector_rule(name: str, core: tuple[str, str, str]) -> Any:
    """The type rule of a product whose last axes are named by `core`, the others being equal (C1, C2, C3)."""

    def rule(types: Sequence[Type], attrs: Attrs) -> Type:
        x, y = operands = arrays(name, types)
        if x.ndim < len(core[0]) or y.ndim < len(core[1]):
            OPS[name].fail("C1", f"{x} and {y} have too few axes for {core[0]},{core[1]}->{core[2]}")
        lengths: dict[str, int] = {}
        for word, type_ in zip(core, operands, strict=False):
            for letter, length in zip(word, type_.shape[type_.ndim - len(word) :], strict=True):
                if lengths.setdefault(letter, length) != length:
                    OPS[name].fail("C2", f"the axes of {x} and {y} do not meet")
        stack = x.shape[: x.ndim - len(core[0])]
        if stack != y.shape[: y.ndim - len(core[1])]:
            OPS[name].fail("C2", f"{x} and {y} are different stacks")
        one_dtype(name, operands)
        return array_type((*stack, *(lengths[c] for c in core[2])), x.dtype)

    return rule


def _times(b: Builder, x: Node, ct: Node, axis_of_ct: int, y: Node) -> Node:
    """ct, lacking the last axis but `axis_of_ct`, times x, lacking the other; of the shape of y."""
    ndim = len(y.shape)
    mine = tuple(axis for axis in range(ndim) if axis != axis_of_ct)
    its = (*range(ndim - 2), axis_of_ct)
    return b.multiply(b.broadcast(ct, axes=its, shape=y.shape), b.broadcast(x, axes=mine, shape=y.shape))


def vecdot_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The first operand is conjugated: d = conj(dx) y + conj(x) dy."""
    x, y = node.inputs
    spread = b.broadcast(ct, axes=tuple(range(len(ct.shape))), shape=x.shape)
    return b.multiply(conj(b, spread), y), b.multiply(spread, x)


def matvec_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    x, y = node.inputs
    return _times(b, conj(b, y), ct, len(x.shape) - 2, x), b.matvec(swapped(b, conj(b, x)), ct)


def vecmat_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """The vector is conjugated: d = conj(dv) A + conj(v) dA."""
    vector, matrix = node.inputs
    return b.matvec(matrix, conj(b, ct)), _times(b, vector, ct, len(matrix.shape) - 1, matrix)


def matvec_value(matrix: Any, vector: Any) -> Any:
    return np.matmul(matrix, vector[..., None])[..., 0]


def vecmat_value(vector: Any, matrix: Any) -> Any:
    return np.matmul(np.conjugate(vector)[..., None, :], matrix)[..., 0, :]


def complex_normals(*shapes: tuple[int, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """A sample maker: one complex array per shape."""
    return lambda rng: tuple(rng.normal(size=s) + 1j * rng.normal(size=s) for s in shapes)


for _name, _core, _value, _vjp, _doc in (
    ("vecdot", ("n", "n", ""), np.vecdot, vecdot_vjp, "sum of conj(x) y over the last axis"),
    (
        "matvec",
        ("mn", "n", "m"),
        getattr(np, "matvec", matvec_value),
        matvec_vjp,
        "matrices times vectors",
    ),
    (
        "vecmat",
        ("n", "nm", "m"),
        getattr(np, "vecmat", vecmat_value),
        vecmat_vjp,
        "conjugated vectors times matrices",
    ),
):
    _lengths = {"n": 3, "m": 2}
    _left, _right = (tuple(_lengths[c] for c in word) for word in _core[:2])
    register(
        OpDef(
            _name,
            _doc,
            Kind.CONTRACTION,
            vector_rule(_name, _core),
            lambda x, y, function=_value: function(x, y),
            _vjp,
            (
                "C1: the operands have the axes of the product",
                "C2: leading axes agree, summed axes meet",
                C_ONE_DTYPE,
            ),
            (
                Sample("one", normals(_left, _right)),
                Sample("stack", normals((2, *_left), (2, *_right))),
                Sample("complex", complex_normals(_left, _right)),
                Sample("number", normals((), ()), breaks="C1"),
                Sample("lengths_differ", normals(_left, (5,) * len(_right)), breaks="C2"),
                Sample("dtypes_differ", values(np.ones(_left), np.ones(_right, "f4")), breaks="C3"),
            ),
        )
    )


def convolve_size(n: int, m: int, mode: str) -> int:
    """The length of the result for operands of lengths n and m."""
    return {"full": n + m - 1, "same": max(n, m), "valid": max(n, m) - min(n, m) + 1}[mode]


def convolve_start(n: int, m: int, mode: str, *, mirrored: bool) -> int:
    """Where the result begins in the full one; NumPy swaps correlated operands if the second is longer."""
    short = min(n, m)
    if mode == "same":
        return short // 2 if mirrored and m > n else short - 1 - short // 2
    return short - 1 if mode == "valid" else 0


def convolve_rule(name: str) -> Any:
    def rule(types: Sequence[Type], attrs: Attrs) -> Type:
        x, y = operands = arrays(name, types)
        if not x.ndim == y.ndim == 1 or not x.size or not y.size:
            OPS[name].fail("C1", f"{x} and {y} are not two vectors that have elements")
        if attrs["mode"] not in ("full", "same", "valid"):
            OPS[name].fail("C2", f"there is no mode {attrs['mode']!r}")
        one_dtype(name, operands)
        return array_type((convolve_size(x.size, y.size, attrs["mode"]),), x.dtype)

    return rule


def full_ct(b: Builder, node: Node, ct: Node, *, mirrored: bool) -> Node:
    """The cotangent of the full result of which the node is a part."""
    n, m = (operand.shape[0] for operand in node.inputs)
    start = convolve_start(n, m, node.attrs["mode"], mirrored=mirrored)
    rest = n + m - 1 - start - ct.shape[0]
    return b.pad(ct, b.scalar(0, ct), before=(start,), after=(rest,)) if start or rest else ct


def convolve_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Sums over k of ct[i + k] times the conjugate of the other operand's element k."""
    x, y = node.inputs
    whole = full_ct(b, node, ct, mirrored=False)
    return b.correlate(whole, y, mode="valid"), b.correlate(whole, x, mode="valid")


def correlate_vjp(b: Builder, node: Node, ct: Node) -> Cotangents:
    """Correlation is convolution with the second operand conjugated and reversed."""
    x, y = node.inputs
    whole = full_ct(b, node, ct, mirrored=True)
    turned = b.correlate(whole, x, mode="valid")
    return b.correlate(whole, flipped(b, conj(b, y), 0), mode="valid"), conj(b, flipped(b, turned, 0))


for _name, _value, _vjp in (
    ("convolve", np.convolve, convolve_vjp),
    ("correlate", np.correlate, correlate_vjp),
):
    register(
        OpDef(
            _name,
            f"NumPy's {_name} of two vectors",
            Kind.CONTRACTION,
            convolve_rule(_name),
            lambda x, y, mode, function=_value: function(x, y, mode),
            _vjp,
            (
                "C1: the operands are vectors that have elements",
                "C2: mode is full, same or valid",
                C_ONE_DTYPE,
            ),
            (
                Sample("full", normals((5,), (3,)), {"mode": "full"}),
                Sample("same", normals((5,), (4,)), {"mode": "same"}),
                Sample("same_longer", normals((4,), (6,)), {"mode": "same"}),
                Sample("same_longer_odd", normals((3,), (6,)), {"mode": "same"}),
                Sample("valid", normals((5,), (3,)), {"mode": "valid"}),
                Sample("valid_longer", normals((2,), (5,)), {"mode": "valid"}),
                Sample("complex", complex_normals((4,), (3,)), {"mode": "full"}),
                Sample("complex_longer", complex_normals((2,), (3,)), {"mode": "same"}),
                Sample("matrix", normals((2, 2), (2,)), {"mode": "full"}, breaks="C1"),
                Sample("mode", normals((3,), (2,)), {"mode": "circular"}, breaks="C2"),
                Sample(
                    "dtypes_differ", lambda rng: (np.ones(2), np.ones(2, "f4")), {"mode": "full"}, breaks="C3"
                ),
            ),
        )
    )
