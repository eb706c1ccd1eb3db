"""Sums of squares in all their spellings: what is under the root of a norm, a deviation, a distance.

Asked for is only whether a value is a sum of terms |u|^q, so that where all its u are 0 its derivative is 0
as well. A product of a vector and a linear image of it, as in a quadratic form, may be 0 elsewhere, and has
its derivative there.
"""

from __future__ import annotations

import math

import numpy as np

from ..ir.builder import Builder
from ..ir.node import Node
from ..ir.record import record
from ..ops.base import is_complex
from .derivative_match import (
    Reduced,
    is_number,
    number,
    power_of,
    real_number,
    size_of,
    square_of,
    sum_of,
    uncast,
)

_FEW = 64
_SUMS = ("sum", "max", "reshape", "transpose", "broadcast", "copy", "slice")
_PRODUCTS = ("matmul", "dot", "vecdot", "einsum")
_LINEAR = ("matmul", "dot", "vecmat", "matvec", "einsum", "solve")


@record(slots=True)
class Form:
    """A product of a vector and a linear image of it, whose derivative is 0 where the image is."""

    product: Node
    image: Node

    def size(self, b: Builder) -> Node:
        """The product of the image and itself, in the place of the form."""
        node, image = self.product, self.image
        if len(node.inputs) == 3:
            letters, result = _letters(node)
            word = letters[node.inputs.index(image)]
            return b.einsum(image, image, subscripts=f"{word},{word}->{result}")
        return b.make(node.op, [b.reshape(image, operand.shape) for operand in node.inputs], node.attrs)


@record(slots=True)
class Squares:
    """A sum of terms |u|^q: the smallest q, all nodes from the sum down to its terms, and the forms in it."""

    degree: float
    path: tuple[Node, ...]
    forms: tuple[Form, ...]

    def away(self, b: Builder, total: Node) -> Node:
        """Where the total, an array, is not 0, or is a 0 of forms that are not 0 all by themselves."""
        zero = b.scalar(0, total)
        away = b.not_equal(total, zero)
        if not self.forms:
            return away
        sizes = {form.product: form.size(b) for form in self.forms}
        for node in reversed(self.path):
            if node not in sizes and any(operand in sizes for operand in node.inputs):
                inputs = [sizes.get(operand, operand) for operand in node.inputs]
                sizes[node] = b.make(node.op, inputs, node.attrs)
        return b.logical_or(away, b.not_equal(sizes.get(self.path[0], total), zero))


def sum_of_squares(node: Node) -> Squares | None:
    """The node as a sum of terms |u|^q, all q at least 1; None for other nodes.

    Such a sum is zero where all its u are. It may be averaged, scaled by positive numbers, and reshaped.
    """
    degrees: list[float] = []
    forms: list[Form] = []
    path: list[Node] = []
    stack = [node]
    while stack:
        node = stack.pop()
        path.append(node)
        parts = _terms(node)
        if parts is None or len(path) > _FEW:
            return None
        if isinstance(parts, float):
            degrees.append(parts)
        elif isinstance(parts, Form):
            degrees.append(2.0)
            forms.append(parts)
        else:
            stack += parts
    return Squares(min(degrees), tuple(path), tuple(forms)) if degrees else None


def _terms(node: Node) -> float | Form | list[Node] | None:
    """The degree of a single term, a form, the nodes that a sum is made of, or None for anything else."""
    name = node.op.name
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
        return _quadratic(node)
    if name == "subtract":
        return 2.0 if _is_variance(*node.inputs) else None
    return _power_terms(node)


def _summands(node: Node) -> list[Node]:
    """What a sum, or a choice, is made of; a number that is chosen has no derivative to speak of."""
    if node.op.name == "where":
        return [choice for choice in node.inputs[1:] if number(choice) is None]
    return [operand for operand in node.inputs if not is_number(operand, 0)]


def _power_terms(node: Node) -> float | Form | list[Node] | None:
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
        return _form(node, first, second)
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


def _quadratic(node: Node) -> float | Form | None:
    """A product of one vector, or of each of a stack, with itself or with a linear image of itself."""
    if is_complex(node):
        return None
    if node.op.name == "einsum":
        return _quadratic_einsum(node)
    if node.op.name == "matmul" and node.shape[-2:] != (1, 1):
        return None
    if node.op.name == "dot" and node.shape:
        return None
    first, second = node.inputs
    return 2.0 if _unshaped(first) is _unshaped(second) else _form(node, first, second)


def _quadratic_einsum(node: Node) -> float | Form | None:
    """einsum of a vector and itself or its image, or of a vector, a matrix and the vector.

    The last is 0 with its vector; its image is not computed.
    """
    letters, result = _letters(node)
    if len(letters) == 2 and letters[0] == letters[1]:
        first, second = node.inputs
        return 2.0 if first is second else _form(node, first, second)
    if len(letters) == 3:
        for i, j in ((0, 2), (0, 1), (1, 2)):
            same = all(letters[i].find(letter) == letters[j].find(letter) >= 0 for letter in result)
            if node.inputs[i] is node.inputs[j] and same:
                return Form(node, node.inputs[i])
    return None


def _letters(node: Node) -> tuple[list[str], str]:
    operands, _, result = node.attrs["subscripts"].partition("->")
    return operands.split(","), result


def _form(node: Node, first: Node, second: Node) -> Form | None:
    """The product as a form, if a factor is a matrix times the other, or solves one for it."""
    if is_complex(node) or math.prod(first.shape) != math.prod(second.shape):
        return None
    for image, u in ((second, first), (first, second)):
        if _is_linear_in(image, u):
            return Form(node, image)
    return None


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
    node = uncast(node)
    if node.op.name not in ("divide", "multiply"):
        return None
    divisor, total = real_number(node.inputs[1]), sum_of(uncast(node.inputs[0]))
    if total is None or not divisor:
        return None
    return total, divisor if node.op.name == "divide" else 1 / divisor
