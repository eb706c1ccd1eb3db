"""Layouts: what the rules say is what NumPy does, for every op and many layouts of its operands."""

import itertools
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import ArrayType, Builder, Kind, TupleType, Type
from tapeless.compiler.ir.opdef import OPS, Sample
from tapeless.compiler.ir.types import GENERATOR, array_type, scalar_type
from tapeless.compiler.passes.layout import RULES, assign_layouts
from tapeless.compiler.passes.strides import (
    c_strides,
    extent,
    f_strides,
    like_order,
    reshape_strides,
    same_layout,
)
from tapeless.compiler.passes.views import VIEWS, path_view

SAMPLES = [
    pytest.param(op, sample, id=f"{op.name}-{sample.name}")
    for op in OPS.values()
    for sample in op.samples
    if sample.breaks is None
]


def layouts(array: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    """The array in C order, with permuted axes, with gaps, and with each axis reversed."""
    found = [array]
    ndim = array.ndim
    for order in itertools.islice(itertools.permutations(range(ndim)), 1, 9):
        back = np.argsort(order)
        found.append(np.ascontiguousarray(array.transpose(order)).transpose(back))
        wide = np.zeros([2 * array.shape[axis] + 1 for axis in order], array.dtype)
        window = wide[tuple(slice(0, 2 * array.shape[axis], 2) for axis in order)].transpose(back)
        window[...] = array
        found.append(window)
    for axis in range(ndim):
        found.append(np.flip(np.flip(array, axis).copy(), axis))
    return found


def type_of(value: Any) -> Type:
    if isinstance(value, np.random.Generator):
        return GENERATOR
    if isinstance(value, tuple):
        return TupleType(tuple(map(type_of, value)))
    if isinstance(value, (np.ndarray, np.generic)):
        return array_type(value.shape, value.dtype)
    return scalar_type(type(value))


@pytest.mark.parametrize(("op", "sample"), SAMPLES)
def test_rules_agree_with_numpy(op: Any, sample: Sample) -> None:
    values = sample.inputs(np.random.default_rng(1))
    builder = Builder()
    params = [builder.param(f"x{k}", type_of(value)) for k, value in enumerate(values)]
    node = builder.make(op, params, sample.attrs)
    choices = [layouts(v) if isinstance(v, np.ndarray) and v.ndim else [v] for v in values]
    everything = list(itertools.product(*choices))
    rng = np.random.default_rng(2)
    picked = rng.permutation(len(everything))[:40]
    for arguments in (everything[k] for k in picked):
        given = [a.strides if isinstance(a, np.ndarray) else None for a in arguments]
        known = assign_layouts([*params, node], params, given)[node]
        with np.errstate(all="ignore"):
            result = op.numpy(*arguments, **sample.attrs)
        if known is None or not isinstance(result, np.ndarray) or not result.size:
            continue
        assert same_layout(result.shape, known, result.strides), (given, result.strides, known)


def test_every_rule_names_an_op() -> None:
    assert set(RULES) <= set(OPS)
    assert {name for name, op in OPS.items() if op.kind is Kind.VIEW} == set(VIEWS)


CASES = [
    ((2, 3, 4), (96, 32, 8), (6, 4)),
    ((2, 3, 4), (96, 32, 8), (2, 12)),
    ((2, 3, 4), (8, 16, 48), (6, 4)),
    ((2, 3, 4), (8, 16, 48), (2, 3, 2, 2)),
    ((2, 3, 4), (192, 64, 16), (24,)),
    ((4,), (-8,), (2, 2)),
    ((4, 1), (-8, 5), (1, 4, 1)),
    ((2, 3), (0, 8), (3, 2)),
    ((2, 3), (0, 0), (3, 2)),
    ((1, 1), (8, 8), ()),
    ((), (), (1, 1)),
    ((6, 4), (64, 8), (3, 2, 4)),
    ((6, 4), (64, 8), (24,)),
]


@pytest.mark.parametrize(("shape", "strides", "result"), CASES)
def test_reshape_looks_or_copies_as_numpy_does(shape: Any, strides: Any, result: Any) -> None:
    low, high = extent(shape, strides, 8)
    memory = np.arange(high - low, dtype=np.uint8)
    array = np.ndarray(shape, "f8", memory, -low, strides)
    expected = array.reshape(result)
    found = reshape_strides(shape, strides, result, 8)
    assert (found is not None) == np.shares_memory(array, expected)
    if found is not None:
        assert same_layout(result, found, expected.strides)


def test_strides_of_plain_orders() -> None:
    for shape in [(), (3,), (3, 4), (2, 1, 5)]:
        assert c_strides(shape, 8) == np.empty(shape).strides
        assert f_strides(shape, 8) == np.empty(shape, order="F").strides


def test_copies_lie_as_numpy_makes_them() -> None:
    for array in layouts(np.zeros((2, 3, 4))):
        assert like_order(array.shape, array.strides, 4) == array.astype("f4").strides
        assert like_order(array.shape, array.strides, 8) == np.array(array, order="K").strides


def test_a_path_adds_up() -> None:
    array = np.zeros((4, 6))
    path = (
        ("slice", (("size", (2, 3)), ("start", (1, 5)), ("step", (2, -2)))),
        ("transpose", (("axes", (1, 0)),)),
    )
    seen = path_view(array_type(array.shape, array.dtype), array.strides, path)
    expected = array[1:4:2, 5:0:-2].T
    assert seen is not None
    offset, type_, strides = seen
    assert type_ == ArrayType((3, 2), np.dtype("f8"))
    assert strides == expected.strides
    assert offset == expected.__array_interface__["data"][0] - array.__array_interface__["data"][0]


def test_a_path_through_a_copy_is_none() -> None:
    type_ = array_type((2, 3), np.dtype("f8"))
    path = (("transpose", (("axes", (1, 0)),)), ("reshape", (("shape", (6,)),)))
    assert path_view(type_, (24, 8), path) is None
