"""Every primitive that is no view, and does not read a tuple, gives memory of its own."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Kind, OpDef
from tapeless.compiler.ir.opdef import OPS, Sample

SAMPLES = [
    pytest.param(op, sample, id=f"{op.name}-{sample.name}")
    for op in OPS.values()
    if op.kind is not Kind.VIEW and op.name != "get"
    for sample in op.samples
    if sample.breaks is None
]


def pieces(value: Any) -> list[Any]:
    found = [part for item in value for part in pieces(item)] if isinstance(value, tuple) else [value]
    return [part for part in found if isinstance(part, np.ndarray) and part.size]


@pytest.mark.parametrize(("primitive", "trial"), SAMPLES)
def test_results_share_no_memory_with_operands(primitive: OpDef, trial: Sample) -> None:
    operands = trial.inputs(np.random.default_rng(0))
    before = [np.array(operand) for operand in pieces(tuple(operands))]
    with np.errstate(all="ignore"):
        results = pieces(primitive.numpy(*operands, **trial.attrs))
    after = pieces(tuple(operands))
    assert not any(np.may_share_memory(result, operand) for result in results for operand in after)
    assert all(one.tobytes() == two.tobytes() for one, two in zip(before, after, strict=True))
