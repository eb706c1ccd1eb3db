"""NumPy gives the same bits and strides for an operand that is repeated and for the number that it repeats.

The rule `scalar_operand` stands on this, for every elementwise primitive but the powers.
"""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir.opdef import OPS, Kind, Sample, TypeRuleError
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.passes.bisect import same_value
from tapeless.compiler.rules.broadcasts import SEES_SCALARS

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -2e-308, 1e300]
LAYOUTS = {
    "C": lambda array: array,
    "F": np.asfortranarray,
    "rows_reversed": lambda array: array[::-1],
    "columns_stepped": lambda array: array[:, ::2],
    "columns_reversed": lambda array: array[:, ::-1],
}


def takes_scalar(name: str, sample: Sample, operands: list[Any], place: int) -> bool:
    """Whether the op's type rule lets an operand be 0-d beside the others."""
    types = [array_type(np.shape(x) if i != place else (), x.dtype) for i, x in enumerate(operands)]
    try:
        OPS[name].type_rule(types, sample.attrs)
    except TypeRuleError:
        return False
    return True


def is_usable(name: str, sample: Sample) -> bool:
    """Whether there are at least two operands, all with elements, one of which may be 0-d."""
    values = sample.inputs(np.random.default_rng(0))
    operands = [np.zeros((4, 37), np.asarray(value).dtype) for value in values]
    places = range(len(operands))
    return (
        len(values) > 1
        and all(map(np.size, values))
        and any(takes_scalar(name, sample, operands, place) for place in places)
    )


CASES = [
    pytest.param(name, sample, id=f"{name}-{sample.name}")
    for name, op in sorted(OPS.items())
    if op.kind is Kind.ELEMENTWISE and name not in SEES_SCALARS
    for sample in op.samples
    if sample.breaks is None and is_usable(name, sample)
]


def enlarged(value: Any) -> Any:
    """The values of a sample over and over, special ones behind, in a shape that fills vector registers."""
    array = np.asarray(value)
    if array.dtype.kind != "f":
        return np.resize(array, (4, 37))
    with np.errstate(all="ignore"):
        special = np.resize(SPECIAL, (2, 37)).astype(array.dtype)
    return np.concatenate([np.resize(array, (2, 37)), special])


@pytest.mark.parametrize(("name", "sample"), CASES)
def test_repeated_operand_is_its_number(name: str, sample: Sample) -> None:
    op = OPS[name]
    values = sample.inputs(np.random.default_rng(0))
    for make in LAYOUTS.values():
        operands = [make(enlarged(value)) for value in values]
        for place, operand in enumerate(operands):
            if not takes_scalar(name, sample, operands, place):
                continue
            for number in {*operand[0, :2].tolist(), *operand[-1, :10].tolist()}:
                scalar = np.asarray(number, operand.dtype)
                repeated, single = list(operands), list(operands)
                repeated[place], single[place] = np.broadcast_to(scalar, operand.shape), scalar
                with np.errstate(all="ignore"):
                    one = op.numpy(*repeated, **sample.attrs)
                    two = op.numpy(*single, **sample.attrs)
                assert same_value(one, two), (place, number)
                assert np.asarray(one).strides == np.asarray(two).strides, (place, number)
