"""Kernels of gathers and scatters: the order of their loops, and the evaluator held against NumPy."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import ArrayType, Builder, Node
from tapeless.compiler.kernel.evaluate import evaluate
from tapeless.compiler.kernel.form import Kernel, Loop
from tapeless.compiler.kernel.indexed import gather_kernel, scatter_kernel
from tapeless.compiler.kernel.verify import verify_kernel
from tapeless.compiler.passes.strides import c_strides

SHAPE = (4, 5, 6)
CASES = {
    "rows": ((0,), [(3,)], ["j0", "i1", "i2"]),
    "columns": ((2,), [(3,)], ["i0", "i1", "j0"]),
    "between": ((1,), [(2, 3)], ["i0", "j0", "j1", "i2"]),
    "two together": ((1, 2), [(3,), (3,)], ["i0", "j0"]),
    "two apart": ((0, 2), [(3,), (2, 3)], ["j0", "j1", "i1"]),
    "all": ((0, 1, 2), [(3,), (3,), (3,)], ["j0"]),
    "one element": ((0,), [()], ["i1", "i2"]),
}
RNG = np.random.default_rng(1)


def strides(node: Node) -> tuple[int, ...]:
    return c_strides(node.shape, 1)


def indices_for(axes: Any, shapes: Any) -> list[Any]:
    return [RNG.integers(-SHAPE[axis], SHAPE[axis], shape) for axis, shape in zip(axes, shapes, strict=True)]


def key(axes: Any, indices: Any) -> Any:
    found: list[Any] = [slice(None)] * len(SHAPE)
    for axis, index in zip(axes, indices, strict=True):
        found[axis] = index
    return tuple(found)


def loops(kernel: Kernel) -> list[str]:
    """The variables of the nest, outermost first."""
    found, body = [], kernel.body
    while inner := [s for s in body if isinstance(s, Loop)]:
        found.append(inner[0].variable)
        body = inner[0].body
    return found


@pytest.mark.parametrize("name", CASES)
def test_gathers(name: str) -> None:
    axes, shapes, order = CASES[name]
    b, values = Builder(), indices_for(axes, shapes)
    x = b.param("x", ArrayType(SHAPE, np.dtype("f8")))
    indices = [b.param(f"i{k}", ArrayType(v.shape, v.dtype)) for k, v in enumerate(values)]
    node = b.gather(x, *indices, axes=axes)
    kernel = gather_kernel(node, strides(x), [strides(i) for i in indices], strides(node))
    verify_kernel(kernel)
    assert loops(kernel) == order
    data = RNG.normal(size=SHAPE)
    memory = {"a0": data.ravel(), "o0": np.zeros(int(np.prod(node.shape)))}
    memory |= {f"a{k + 1}": v.ravel() for k, v in enumerate(values)}
    evaluate(kernel, memory)
    np.testing.assert_array_equal(memory["o0"].reshape(node.shape), data[key(axes, values)])


@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_scatters(name: str, adds: bool) -> None:
    """Where an element is written twice the last value stays; sums have every value."""
    axes, shapes, order = CASES[name]
    b, indices_values = Builder(), indices_for(axes, shapes)
    data = RNG.integers(0, 99, SHAPE).astype(float)
    values = RNG.integers(0, 99, data[key(axes, indices_values)].shape).astype(float)
    x = b.param("x", ArrayType(SHAPE, np.dtype("f8")))
    v = b.param("v", ArrayType(values.shape, values.dtype))
    indices = [b.param(f"i{k}", ArrayType(i.shape, i.dtype)) for k, i in enumerate(indices_values)]
    node = (b.scatter_add if adds else b.scatter)(x, v, *indices, axes=axes)
    kernel = scatter_kernel(node, strides(x), strides(v), [strides(i) for i in indices])
    verify_kernel(kernel)
    assert loops(kernel) == order
    memory = {"a0": data.ravel().copy(), "o0": values.ravel()}
    memory |= {f"a{k + 1}": i.ravel() for k, i in enumerate(indices_values)}
    evaluate(kernel, memory)
    if adds:
        np.add.at(data, key(axes, indices_values), values)
    else:
        data[key(axes, indices_values)] = values
    np.testing.assert_array_equal(memory["a0"].reshape(SHAPE), data)
