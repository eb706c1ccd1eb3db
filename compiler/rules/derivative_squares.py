"""Sums of squares in all their spellings: what is under the root of a norm, a deviation, a distance.

Asked for is only whether a value is a sum of terms |u|^q that vanish together, so that where it is 0 its
derivative is 0 as well.
"""

from __future__ import annotations

import numpy as np

from ..ir.node import Node
from ..ops.base import is_complex
from .derivative_match import Reduced, is_number, number, power_of, real_number, size_of, square_of, sum_of

_FEW = 64
_SUMS = ("sum", "max", "reshape", "transpose", "broadcast", "copy", "slice")
_PRODUCTS = ("matmul", "dot", "vecdot", "einsum")
_LINEAR = ("matmul", "dot", "vecmat", "matvec", "einsum", "solve")


def degree(node: Node) -> float | None:
    """The smallest q such that the node is a sum of terms |u|^q, all q at least 1; None for other nodes.

    Such a sum is zero where all its u are. It may be averaged, scaled by positive numbers, and reshaped.
    """
    smallest: float | None = None
    stack, seen = [node], 0
    while stack:
        node, seen = stack.pop(), seen + 1
        parts = _terms(node)
        if parts is None or seen > _FEW:
            return None
        if isinstance(parts, float):
            smallest = parts if smallest is None else min(smallest, parts)
        else:
            stack += parts
    return smallest


def _terms(node: Node) -> float | list[Node] | None:
    """The degree of a single term, the nodes that a sum is made of, or None for anything else."""
    name = node.op.name
    if name == "sum" and node.inputs[0].op.name == "multiply":
        first, second = node.inputs[0].inputs
        if _is_linear_in(first, second) or _is_linear_in(second, first):
            return 2.0
    if name in _SUMS:
        return [node.inputs[0]]
    if name in ("add", "maximum", "where"):
        return _summands(node)
    if name == "cast" and node.inputs[0].dtype.kind == node.dtype.kind:
        return [node.inputs[0]]
    if size_of(node) is not None:
        return 1.0
    if name == "real":
        written = _written_real_part(node.inputs[0])
        if written is not None:
            return [written]
        return 2.0 if _is_conjugate_product(node.inputs[0]) else None
    if name in _PRODUCTS:
        return 2.0 if _is_quadratic(node) else None
    if name == "subtract":
        return 2.0 if _is_variance(*node.inputs) else None
    return _power_terms(node)


def _summands(node: Node) -> list[Node]:
    """What a sum, or a choice, is made of; a number that is chosen has no derivative to speak of."""
    if node.op.name == "where":
        return [choice for choice in node.inputs[1:] if number(choice) is None]
    return [operand for operand in node.inputs if not is_number(operand, 0)]


def _power_terms(node: Node) -> float | list[Node] | None:
    found = None if is_complex(node) else power_of(node)
    if found is not None:
        base, exponent = found
        if size_of(base) is not None and exponent >= 1:
            return exponent
        return exponent if exponent >= 2 and exponent % 2 == 0 else None
    if node.op.name == "divide":
        return [node.inputs[0]]
    if node.op.name == "multiply":
        first, second = node.inputs
        if _is_positive(first) or _is_positive(second):
            return [second if _is_positive(first) else first]
    return None


def _is_positive(node: Node) -> bool:
    """Whether the node is constant and above 0 throughout."""
    while node.op.name in ("cast", "broadcast", "reshape"):
        node = node.inputs[0]
    return node.op.name == "constant" and bool(np.all(np.real(node.attrs["value"].value) > 0))


def _written_real_part(node: Node) -> Node | None:
    """The value last assigned to the whole real part of a complex array, as np.var does it."""
    while node.op.name == "write" and [name for name, _ in node.attrs["path"]] == ["imag"]:
        node = node.inputs[0]
    real = node.op.name == "write" and [name for name, _ in node.attrs["path"]] == ["real"]
    return node.inputs[1] if real else None


def _is_conjugate_product(node: Node) -> bool:
    """conj(u) * u or sums of such, whose real part is |u|^2."""
    while node.op.name in _SUMS:
        node = node.inputs[0]
    name, operands = node.op.name, [_unshaped(operand) for operand in node.inputs]
    if name == "vecdot":
        return operands[0] is operands[1]
    single = (name == "matmul" and node.shape[-2:] == (1, 1)) or (name == "dot" and not node.shape)
    if not (name == "multiply" or single):
        return False
    pairs = (operands, operands[::-1])
    return any(one.op.name == "conjugate" and _unshaped(one.inputs[0]) is two for one, two in pairs)


def _is_quadratic(node: Node) -> bool:
    """A product of one vector, or of each of a stack, with itself or with a linear image of itself."""
    if is_complex(node):
        return False
    operands = node.inputs
    if node.op.name == "einsum":
        letters = node.attrs["subscripts"].split("->")[0].split(",")
        if operands[0] is not operands[-1]:
            return False
        return letters[0] == letters[-1] if len(operands) == 2 else len(operands) == 3
    if node.op.name == "matmul" and node.shape[-2:] != (1, 1):
        return False
    if node.op.name == "dot" and node.shape:
        return False
    first, second = (_unshaped(operand) for operand in operands)
    return first is second or _is_linear_in(first, second) or _is_linear_in(second, first)


def _is_linear_in(image: Node, u: Node) -> bool:
    """Whether a value is a matrix times u, or solves one for u."""
    image = _unshaped(image)
    return image.op.name in _LINEAR and any(_unshaped(operand) is _unshaped(u) for operand in image.inputs)


def _unshaped(node: Node) -> Node:
    """The value below reshapes, and transposes that only move axes of length 1."""
    while node.op.name == "reshape" or (
        node.op.name == "transpose" and len(node.shape) - node.shape.count(1) < 2
    ):
        node = node.inputs[0]
    return node


def _is_variance(squares: Node, square: Node) -> bool:
    """mean(x^2) - mean(x)^2."""
    mean = square_of(square)
    left = _mean_of(squares)
    right = _mean_of(mean) if mean is not None else None
    if left is None or right is None or is_complex(square):
        return False
    same = left[0].axes == right[0].axes and left[1] == right[1]
    return same and square_of(left[0].terms) is right[0].terms


def _mean_of(node: Node) -> tuple[Reduced, float] | None:
    """A sum over axes and the number it is divided by, which NumPy does in double precision."""
    node = _uncast(node)
    if node.op.name not in ("divide", "multiply"):
        return None
    divisor, total = real_number(node.inputs[1]), sum_of(_uncast(node.inputs[0]))
    if total is None or not divisor:
        return None
    return total, divisor if node.op.name == "divide" else 1 / divisor


def _uncast(node: Node) -> Node:
    """The value below casts between floating-point dtypes."""
    while node.op.name == "cast" and node.dtype.kind == node.inputs[0].dtype.kind == "f":
        node = node.inputs[0]
    return node
