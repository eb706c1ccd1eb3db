"""Derivatives of norms, roots and powers of them, where the chain rule would multiply 0 by inf.

A root of a sum of squares is a norm: at 0 it gets the subgradient of least norm, 0. A square of a root, or
of a norm, is smooth, and is differentiated as what is under the root.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..ir.builder import Builder
from ..ir.node import Node
from ..ops.base import conj, is_complex, where_zero
from .derivative import Contribution, Pull, derivative_rule
from .derivative_match import is_number, number, power_of, size_of, unboxed, uncast, viewed
from .derivative_squares import sum_of_squares


def _scaled(b: Builder, node: Node, factor: float) -> Node:
    return node if factor == 1 else b.multiply(node, b.scalar(factor, node))


def _raised(b: Builder, node: Node, exponent: float) -> Node | None:
    """The node to a constant power; None stands for 1."""
    if exponent == 0:
        return None
    if exponent == 1:
        return node
    whole = int(exponent) if exponent.is_integer() else exponent
    return b.power(node, b.constant(whole), form="array")


def as_array(b: Builder, node: Node) -> Node:
    """A Python number as a 0-d array: its own power would raise where NumPy's is inf."""
    return b.cast(node, node.dtype)


def _times(b: Builder, ct: Node, *factors: Node | None) -> Node:
    for factor in factors:
        if factor is not None:
            ct = b.multiply(ct, factor)
    return ct


@derivative_rule("sqrt", "power", "float_power")
def root_of_square(node: Node) -> Pull | None:
    """(u^2)^p -> |u|^(2p), for 2p >= 1 and no whole p: sqrt(u * u) has the derivative of |u|."""
    found = None if is_complex(node) else _power_of_even(node)
    if found is None or found[1] < 1:
        return None
    base, total = found

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        ct = as_array(b, ct)
        u = b.cast(base, ct.dtype)
        if total >= 2 and total.is_integer():
            slope = [u, _raised(b, b.absolute(u), total - 2)]
        else:
            slope = [b.sign(u), _raised(b, b.absolute(u), total - 1)]
        return [Contribution(base, b.cast(_scaled(b, _times(b, ct, *slope), total), base.dtype))]

    return pull


def _power_of_even(node: Node) -> tuple[Node, float] | None:
    """(u, n) where the node is |u|^n, by powers of powers: an even one of u, and one above it not whole."""
    found, total, rooted = None, 1.0, False
    while (raised := power_of(uncast(node))) is not None and raised[1] > 0:
        node, exponent = raised
        total *= exponent
        if rooted and exponent % 2 == 0:
            found = node, round(total, 12)
        rooted = rooted or not exponent.is_integer()
    return found


@derivative_rule("sqrt", "power", "float_power")
def root_of_sum_of_squares(node: Node) -> Pull | None:
    """(sum of |u|^q)^p -> its chain rule, and 0 where all u are 0, for q p >= 1 > p: norms, RMS, std.

    Also for p > 1 that are not whole: there the second derivative would multiply 0 by inf.
    """
    root = power_of(node)
    if root is None or root[1] <= 0 or root[1].is_integer() or is_complex(node):
        return None
    total, exponent = root
    found = sum_of_squares(total) if exponent < 1 or size_of(total) is None else None
    if found is None or found.degree * exponent < (1 - 1e-12 if exponent < 1 else 2):
        return None

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        inside, root = as_array(b, total), as_array(b, node)
        away = found.away(b, inside)
        if exponent == 0.5:
            slope = b.divide(b.scalar(0.5, root), root)
        else:
            slope = _scaled(b, b.power(inside, b.constant(exponent - 1), form="array"), exponent)
        return [Contribution(total, where_zero(b, away, b.multiply(as_array(b, ct), slope)))]

    return pull


@derivative_rule("square", "multiply", "power", "float_power")
def power_of_root(node: Node) -> Pull | None:
    """(u^p)^n -> u^(p n), for a root p < 1 and p n >= 1: sqrt(u) ** 2 has derivative 1."""
    outer = power_of(node)
    below = viewed(outer[0]) if outer is not None else None
    inner = power_of(below.node) if below is not None else None
    if outer is None or below is None or inner is None:
        return None
    (root, n), (base, p) = outer, inner
    if not 0 < p < 1 or n < 1 or p * n < 1 - 1e-12:
        return None

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        lower = _raised(b, as_array(b, root), round(n - 1 / p, 12))
        part = _scaled(
            b, _times(b, as_array(b, ct), None if lower is None else conj(b, lower)), round(p * n, 12)
        )
        return [Contribution(base, below.put_back(b, part), lift=below.lift(b))]

    return pull


@derivative_rule("square", "multiply", "power", "float_power")
def power_of_size(node: Node) -> Pull | None:
    """|u|^n -> n |u|^(n-2) u, for whole n >= 2, also for complex u and hypot(u, v); smooth for even n."""
    outer = power_of(node)
    below = viewed(outer[0]) if outer is not None else None
    parts = size_of(below.node) if below is not None else None
    if outer is None or below is None or parts is None or outer[1] < 2 or not outer[1].is_integer():
        return None
    size, n = outer

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        slope = _raised(b, as_array(b, size), n - 2)
        factor = below.put_back(b, _times(b, _scaled(b, as_array(b, ct), n), slope))
        lift = below.lift(b)
        return [
            Contribution(part, b.multiply(b.cast(factor, part.dtype), as_array(b, part)), lift)
            for part in parts
        ]

    return pull


@derivative_rule("sqrt", "log", "power")
def of_one_minus_tanh_squared(node: Node) -> Pull | None:
    """(1 - tanh(v)^2)^p -> -2 p tanh(v) (…)^p for 0 < p < 1, its logarithm -> -2 tanh(v): also saturated."""
    inside, p = (node.inputs[0], None) if node.op.name == "log" else power_of(node) or (node, 1.0)
    if inside.op.name != "subtract" or is_complex(node) or not is_number(inside.inputs[0], 1):
        return None
    squared = power_of(inside.inputs[1])
    if (
        squared is None
        or squared[1] != 2
        or squared[0].op.name != "tanh"
        or (p is not None and not 0 < p < 1)
    ):
        return None
    tanh = squared[0]

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        slope = _scaled(b, tanh, -2.0) if p is None else b.multiply(node, _scaled(b, tanh, -2 * p))
        return [Contribution(tanh.inputs[0], b.multiply(ct, slope))]

    return pull


@derivative_rule("subtract", "divide")
def same_over_and_under(node: Node) -> Pull | None:
    """u - u, u / u -> constant: no cotangent of inf is taken from itself."""
    above, below = node.inputs
    return (lambda b, ct: []) if above is below else None


@derivative_rule("divide")
def sign_of_number(node: Node) -> Pull | None:
    """u / |u| -> constant for real u."""
    above, below = map(unboxed, node.inputs)
    if below.op.name not in ("absolute", "fabs") or is_complex(above):
        return None
    return (lambda b, ct: []) if unboxed(below.inputs[0]) is above else None


@derivative_rule("arctan")
def angle_of_ratio(node: Node) -> Pull | None:
    """arctan(y / x) -> (x, -y) / (x^2 + y^2), also where x is 0."""
    ratio = unboxed(node.inputs[0])
    if ratio.op.name != "divide" or is_complex(node) or number(ratio.inputs[1]) is not None:
        return None
    above, below = ratio.inputs

    def pull(b: Builder, ct: Node) -> Sequence[Contribution]:
        y, x = as_array(b, above), as_array(b, below)
        size = b.hypot(x, y)
        cosine, sine = b.divide(x, size), b.divide(y, size)
        return [
            Contribution(above, b.divide(b.multiply(ct, cosine), size)),
            Contribution(below, b.negative(b.divide(b.multiply(ct, sine), size))),
        ]

    return pull
