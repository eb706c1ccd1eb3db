"""Comparisons, logic and bits: results without derivatives."""

from __future__ import annotations

import operator

import numpy as np

from ..ir.opdef import Sample
from .arithmetic import no_cotangent
from .base import elementwise, normals, values

_pair = (
    Sample("vectors", normals((5,), (5,))),
    Sample("scalar_operand", normals((2, 3), ())),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
)
_python = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
for _name, _operator in _python.items():
    elementwise(
        _name,
        no_cotangent,
        doc=f"x {_name.replace('_', ' ')} y, as booleans",
        samples=(*_pair, Sample("python_floats", values(1.5, 2.5))),
        python=_operator,
        python_type=lambda kinds, attrs: bool,
    )

_bits = values(np.array([True, False, True, False]), np.array([True, True, False, False]))
for _name in ("logical_and", "logical_or", "logical_xor"):
    elementwise(_name, no_cotangent, doc=f"NumPy's {_name}", samples=(Sample("booleans", _bits), *_pair[:1]))
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    elementwise(
        _name,
        no_cotangent,
        doc=f"NumPy's {_name}",
        samples=(Sample("booleans", _bits), Sample("integers", values(np.array([6, 3]), np.array([5, 1])))),
    )
for _name in ("left_shift", "right_shift"):
    elementwise(
        _name,
        no_cotangent,
        doc=f"NumPy's {_name}",
        samples=(Sample("integers", values(np.array([6, 3]), np.array([2, 1]))),),
    )
elementwise(
    "invert", no_cotangent, doc="~x, bit by bit", samples=(Sample("integers", values(np.array([6, 3]))),)
)
elementwise(
    "logical_not", no_cotangent, doc="not x", samples=(Sample("booleans", values(np.array([True, False]))),)
)
for _name in ("isfinite", "isinf", "isnan", "signbit"):
    elementwise(
        _name,
        no_cotangent,
        doc=f"NumPy's {_name}",
        samples=(Sample("special", values(np.array([1.0, -0.0, np.inf, np.nan]))),),
    )
