"""Comparisons, logic and bits: results without derivatives.

Comparisons of two Python numbers are Python's own. Every cotangent here is a symbolic zero.
"""

from __future__ import annotations

import operator

import numpy as np

from ..ir.opdef import Sample
from .arithmetic import no_cotangent
from .base import elementwise, normal, normals, values

_pair = (
    Sample("vectors", normals((5,), (5,))),
    Sample("scalar_operand", normals((2, 3), ())),
    Sample("float32", normals((4,), (4,), dtype="f4")),
    Sample("complex", values([1j, 2.0], [1j, 2.0 + 1j])),
    Sample("special", values([np.nan, np.inf, -0.0], [np.nan, np.inf, 0.0])),
    Sample("empty", normals((0,), (0,))),
    Sample("shapes_differ", normals((3,), (4,)), breaks="C1"),
    Sample("dtypes_differ", lambda rng: (np.ones(3), np.ones(3, "f4")), breaks="C2"),
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

_booleans = Sample("booleans", values([True, False, True, False], [True, True, False, False]))
_integers = Sample("integers", values([6, -3], [5, 1]))
_floats = Sample("floats", normals((3,), (3,)), breaks="C2")
for _name in ("logical_and", "logical_or", "logical_xor"):
    elementwise(_name, no_cotangent, doc=f"NumPy's {_name}", samples=(_booleans, _integers, *_pair))
_python_pair = Sample("python_ints", values(6, 3))
for _name, _operator in (
    ("bitwise_and", operator.and_),
    ("bitwise_or", operator.or_),
    ("bitwise_xor", operator.xor),
):
    elementwise(
        _name,
        no_cotangent,
        doc=f"NumPy's {_name}",
        samples=(_booleans, _integers, _floats, _python_pair, Sample("python_bools", values(True, False))),
        python=_operator,
        python_type=lambda kinds, attrs: bool if set(kinds) == {bool} else int,
    )
for _name, _operator in (("left_shift", operator.lshift), ("right_shift", operator.rshift)):
    elementwise(
        _name,
        no_cotangent,
        doc=f"NumPy's {_name}",
        samples=(_integers, _floats, _python_pair),
        python=_operator,
    )
elementwise(
    "invert",
    no_cotangent,
    doc="~x, bit by bit",
    samples=(
        Sample("booleans", values([True, False])),
        Sample("integers", values([6, -3])),
        Sample("floats", normal(3), breaks="C2"),
        Sample("python_int", values(6)),
    ),
    python=operator.invert,
)
elementwise(
    "logical_not",
    no_cotangent,
    doc="not x",
    samples=(Sample("booleans", values([True, False])), Sample("floats", values([0.0, 2.0]))),
)
for _name in ("isfinite", "isinf", "isnan"):
    elementwise(
        _name,
        no_cotangent,
        doc=f"NumPy's {_name}",
        samples=(
            Sample("special", values([1.0, -0.0, np.inf, np.nan])),
            Sample("complex", values([1j, complex(np.nan, 1)])),
            Sample("empty", normal(0)),
        ),
    )
elementwise(
    "signbit",
    no_cotangent,
    doc="whether the sign bit is set, also that of -0",
    samples=(
        Sample("special", values([1.0, -0.0, -np.inf, np.nan])),
        Sample("float32", normal(4, dtype="f4")),
        Sample("complex", values([1j]), breaks="C2"),
    ),
)
