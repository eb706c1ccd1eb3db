"""Every elementwise op and reduction on every dtype that it takes, natively and by the interpreter.

Integers and truth values are exact; floats lie within two units in the last place of the reference, which is
within two of the true value itself; special values are NumPy's.
"""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, Graph, Kind, OpDef, TypeRuleError
from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ir.types import ArrayType
from tapeless.compiler.kernel.lower import REDUCTIONS
from tapeless.compiler.plan import Target
from tapeless.runtime.interpret import interpret
from tapeless.runtime.llvm.executor import NativeExecutor, can_fuse
from tapeless.runtime.llvm.operations import is_printable

DTYPES = [np.dtype(c) for c in "?bBhHiIlLefd"]
ULPS = 4
# Where the reference itself is farther from the true value, in units of the last place, measured by mpmath:
# its series for the tails, and what cancels in a sum of logarithms.
REFERENCE_ULPS = {"erfc": 10, "erfcx": 10, "ndtr": 16, "log_ndtr": 28, "logaddexp": 32, "logaddexp2": 32}
LENGTH = 75


def operand(dtype: np.dtype[Any], seed: int) -> Any:
    """Values of all sizes, with the edges of the dtype among them."""
    rng = np.random.default_rng(seed)
    if dtype.kind == "b":
        return rng.random(LENGTH) > 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        edges = [info.min, info.max, 0, 1, 2, 3]
        small = rng.integers(max(info.min, -9), 9, LENGTH - len(edges))
        return rng.permutation(np.concatenate([np.array(edges, dtype), small.astype(dtype)]))
    info = np.finfo(dtype)
    edges = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        np.inf,
        -np.inf,
        np.nan,
        info.max,
        info.tiny,
        -info.smallest_subnormal,
    ]
    values = rng.normal(size=LENGTH - len(edges)) * 3
    return rng.permutation(np.concatenate([edges, values])).astype(dtype)


def cases() -> list[Any]:
    found = []
    for op in OPS.values():
        if op.kind is not Kind.ELEMENTWISE or op.name in ("cast", "where"):
            continue
        (count,) = {len(list(s.inputs(np.random.default_rng(0)))) for s in op.samples if s.breaks is None}
        for dtype in DTYPES:
            attrs = {"form": "ufunc"} if op.name == "power" else {}
            try:
                op.type_rule([ArrayType((LENGTH,), dtype)] * count, attrs)
            except (TypeRuleError, TypeError, ValueError, KeyError):
                continue
            if is_printable(op.name, count, dtype):
                found.append(pytest.param(op, dtype, count, attrs, id=f"{op.name}-{dtype}"))
    return found


def native_and_reference(graph: Graph, values: list[Any]) -> tuple[Any, Any]:
    with np.errstate(all="ignore"):
        (expected,) = interpret(graph, values)
        executor = NativeExecutor(graph, [v.strides for v in values], [Target("fresh")])
        found = None
        for _ in range(2):
            (found,) = executor(values)
    assert all(segment.step is None for segment in executor.segments), "a step went to NumPy"
    return found, np.asarray(expected)


def check(found: Any, expected: Any, ulps: float = ULPS) -> None:
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    if expected.dtype.kind != "f":
        np.testing.assert_array_equal(found, expected)
        return
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    known = np.isfinite(expected)
    np.testing.assert_array_equal(found[~known], expected[~known])
    one, two = found[known].astype(float), expected[known].astype(float)
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(expected[known])).astype(float)
    wrong = (np.abs(one - two) > ulps * unit) & np.isfinite(unit)
    assert not wrong.any(), (one[wrong], two[wrong])


@pytest.mark.parametrize(("op", "dtype", "count", "attrs"), cases())
def test_elementwise(op: OpDef, dtype: np.dtype[Any], count: int, attrs: dict[str, Any]) -> None:
    b = Builder()
    params = [b.param(f"x{k}", ArrayType((LENGTH,), dtype)) for k in range(count)]
    node = b.make(op, params, attrs)
    values = [operand(dtype, k) for k in range(count)]
    if op.name in ("power", "floor_divide", "remainder", "left_shift", "right_shift") and dtype.kind in "iu":
        values[1] = np.abs(values[1] % 7).astype(dtype) + (op.name in ("floor_divide", "remainder"))
    found, expected = native_and_reference(Graph("f", tuple(params), (node,)), values)
    check(found, expected, ULPS + REFERENCE_ULPS.get(op.name, 0))


@pytest.mark.parametrize("want", DTYPES, ids=str)
@pytest.mark.parametrize("have", DTYPES, ids=str)
def test_casts(have: np.dtype[Any], want: np.dtype[Any]) -> None:
    b = Builder()
    x = b.param("x", ArrayType((LENGTH,), have))
    values = operand(have, 0)
    node = b.cast(x, want)
    if have == want or (have.kind == "f" and want.kind in "iu"):
        assert node is x or not can_fuse(node), "what does not fit is NumPy's to decide"
        return
    found, expected = native_and_reference(Graph("f", (x,), (node,)), [values])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name != "sum_products"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), ()], ids=str)
def test_reductions(name: str, dtype: np.dtype[Any], axes: tuple[int, ...]) -> None:
    b = Builder()
    x = b.param("x", ArrayType((15, 5), dtype))
    wide = np.sum(np.zeros(1, dtype)).dtype
    attrs = {"axes": axes, **({"dtype": wide} if name in ("sum", "prod") else {})}
    node = b.make(OPS[name], (x,), attrs)
    if not can_fuse(node):
        pytest.fail(f"no kernel for {name} of {dtype}")
    values = operand(dtype, 0).reshape(15, 5)
    if dtype.kind == "f" and name in ("sum", "prod"):
        values = np.random.default_rng(0).uniform(0.5, 1.4, (15, 5)).astype(dtype)
    found, expected = native_and_reference(Graph("f", (x,), (node,)), [values])
    check(found, expected, 16)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)], ids=str)
def test_sums_of_products(dtype: str, axes: tuple[int, ...]) -> None:
    b = Builder()
    x, y = (b.param(name, ArrayType((15, 5), np.dtype(dtype))) for name in "xy")
    node = b.make(OPS["sum_products"], (x, y), {"axes": axes})
    assert can_fuse(node)
    values = [np.random.default_rng(k).uniform(0.5, 1.4, (15, 5)).astype(dtype) for k in range(2)]
    found, expected = native_and_reference(Graph("f", (x, y), (node,)), values)
    check(found, expected, 16)
