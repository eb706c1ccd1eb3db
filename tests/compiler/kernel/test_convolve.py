"""Direct kernels of convolutions: the verifier, and the evaluator held against the op's reference value."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir.builder import Builder
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.kernel.collapse import collapse
from tapeless.compiler.kernel.convolve import TILE, contraction_kernel
from tapeless.compiler.kernel.evaluate import evaluate
from tapeless.compiler.kernel.form import Accumulate, Kernel, Loop
from tapeless.compiler.kernel.lower import NotLowered
from tapeless.compiler.kernel.scatter_windows import fill_kernel, window_sum_kernel
from tapeless.compiler.kernel.verify import KernelError, verify_kernel
from tapeless.compiler.passes.strides import c_strides

Steps = tuple[tuple[int, ...], ...]


def unit(*axes: int | None, ndim: int) -> tuple[int, ...]:
    """A step of one along each of these axes."""
    return tuple(int(axis in axes) for axis in range(ndim))


def attrs(extents: tuple[int, ...], kept: int, left: Steps, right: Steps, **starts: Any) -> dict[str, Any]:
    return {
        "extents": extents,
        "kept": kept,
        "left_start": starts.get("left_start", (0,) * len(left[0])),
        "left_steps": left,
        "right_start": (0,) * len(right[0]),
        "right_steps": right,
    }


def batch_last(batch: int, channels: int, size: int, outputs: int, kernel: int) -> tuple[Any, ...]:
    """Forward over [channel][y][x][batch]: the result is [output][y][x][batch]."""
    shown = size - kernel + 1
    left = ((0,) * 4, (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1), (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0))
    right = ((1, 0, 0, 0), *((0,) * 4,) * 3, (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
    extents = (outputs, shown, shown, batch, channels, kernel, kernel)
    return (channels, size, size, batch), (outputs, channels, kernel, kernel), attrs(extents, 4, left, right)


def weight_gradient(batch: int, channels: int, size: int, outputs: int, kernel: int) -> tuple[Any, ...]:
    """[output][channel][i][j] from [channel][y][x][batch] and the cotangent [output][y][x][batch]."""
    shown = size - kernel + 1
    left = ((0,) * 4, (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
    right = ((1, 0, 0, 0), *((0,) * 4,) * 3, (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1))
    extents = (outputs, channels, kernel, kernel, shown, shown, batch)
    return (channels, size, size, batch), (outputs, shown, shown, batch), attrs(extents, 4, left, right)


CASES: dict[str, tuple[Any, ...]] = {
    "forward": batch_last(9, 2, 8, 6, 3),
    "forward-rests": batch_last(5, 1, 9, 7, 3),
    "weights": weight_gradient(9, 2, 8, 6, 3),
    "weights-in-parts": weight_gradient(16, 1, 30, 3, 3),
    "one-dimensional": ((20,), (5,), attrs((16, 5), 1, ((1,), (1,)), ((0,), (1,)))),
    "backwards": (
        (20,),
        (5,),
        attrs((16, 5), 1, ((1,), (-1,)), ((0,), (1,)), left_start=(4,)),
    ),
    "strided": ((3, 21), (4, 3, 5), attrs((4, 9, 3, 5), 2, ((0, 0), (0, 2), (1, 0), (0, 1)), (
        (1, 0, 0), (0, 0, 0), (0, 1, 0), (0, 0, 1),
    ))),
    "dilated": ((21,), (5,), attrs((9, 5), 1, ((1,), (3,)), ((0,), (1,)))),
    "groups": ((2, 3, 12), (2, 4, 3, 3), attrs((2, 4, 10, 3, 3), 3, (
        (1, 0, 0), (0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1),
    ), ((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)))),
    "product": ((5, 7), (7, 9), attrs((5, 9, 7), 2, ((1, 0), (0, 0), (0, 1)), ((0, 0), (0, 1), (1, 0)))),
    "sum": ((7,), (7,), attrs((7,), 0, ((1,),), ((1,),))),
    "outer": ((7,), (9,), attrs((7, 9), 2, ((1,), (0,)), ((0,), (1,)))),
    "added": ((9, 16), (5, 3), {
        **attrs((5, 9, 3, 16), 4, ((0, 0), (1, 0), (0, 0), (0, 1)), ((1, 0), (0, 0), (0, 1), (0, 0))),
        "result": ((5, 11, 16), (0, 0, 0), ((1, 0, 0), (0, 1, 0), (0, 1, 0), (0, 0, 1))),
    }),
    "added-blocks": ((9, 64), (3,), {
        **attrs((9, 3, 64), 3, ((1, 0), (0, 0), (0, 1)), ((0,), (1,), (0,))),
        "result": ((11, 64), (0, 0), ((1, 0), (1, 0), (0, 1))),
    }),
    "number": ((1,), (1,), attrs((1, 1), 1, ((0,), (0,)), ((0,), (0,)))),
}  # fmt: skip


def kernel_of(
    left: tuple[int, ...], right: tuple[int, ...], with_attrs: Any, dtype: str, registers: int = 32
) -> tuple[Any, Kernel]:
    b = Builder()
    x, y = (b.param(name, array_type(shape, np.dtype(dtype))) for name, shape in (("x", left), ("y", right)))
    node = b.contract_windows(x, y, **with_attrs)
    strides = [c_strides(shape, 1) for shape in (left, right, node.shape)]
    return node, collapse(contraction_kernel(node, *strides, registers))


@pytest.mark.parametrize(("dtype", "registers"), [("f4", 32), ("f8", 32), ("f4", 16)])
@pytest.mark.parametrize("case", CASES)
def test_kernels_compute_what_the_op_means(case: str, dtype: str, registers: int) -> None:
    node, kernel = kernel_of(*CASES[case], dtype, registers)
    verify_kernel(kernel)
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=shape).astype(dtype) for shape in CASES[case][:2])
    expected = node.op.numpy(x, y, **node.attrs)
    before = np.nan if kernel.args[-1].role == "out" else 0
    memory = {"a0": x.ravel(), "a1": y.ravel(), "o0": np.full(expected.size, before, dtype)}
    evaluate(kernel, memory)
    tolerance = 1e-5 if dtype == "f4" else 1e-13
    np.testing.assert_allclose(memory["o0"], expected.ravel(), rtol=tolerance, atol=tolerance)


def sums_of(statements: Any) -> list[int]:
    """How many sums the loops keep at once."""
    loops = [s for s in statements if isinstance(s, Loop)]
    return [len(loop.accumulators) for loop in loops] + [n for loop in loops for n in sums_of(loop.body)]


@pytest.mark.parametrize("case", ["forward", "weights"])
def test_a_tile_of_sums_stays_in_registers(case: str) -> None:
    _, kernel = kernel_of(*CASES[case], "f4")
    assert 12 <= max(sums_of(kernel.body)) <= TILE
    assert kernel.parallel
    _, kernel = kernel_of(*CASES[case], "f4", 16)
    assert 8 <= max(sums_of(kernel.body)) <= 12


@pytest.mark.parametrize(
    ("case", "shared"), [("weights-in-parts", "i3"), ("added", None), ("added-blocks", "block")]
)
def test_sums_that_meet_are_added_where_threads_do_not(case: str, shared: str | None) -> None:
    _, kernel = kernel_of(*CASES[case], "f4")
    assert kernel.args[-1].role == "inout"
    assert kernel.parallel == (shared is not None)
    (loop,) = kernel.body
    assert isinstance(loop, Loop)
    assert shared in (None, loop.variable)


def test_a_sum_in_two_loops_is_refused() -> None:
    _, kernel = kernel_of(*CASES["sum"], "f4")
    (loop,) = [s for s in kernel.body if isinstance(s, Loop)]
    inner = Loop("other", 2, "serial", tuple(s for s in loop.body if isinstance(s, Accumulate)))
    twice = Loop(loop.variable, loop.extent, loop.kind, (*loop.body, inner), loop.accumulators)
    wrong = Kernel(kernel.name, kernel.args, (twice, *kernel.body[1:]))
    with pytest.raises(KernelError, match="V5"):
        verify_kernel(wrong)


WINDOW_SUMS: dict[str, tuple[Any, ...]] = {
    "sliding": ((18, 3), (20,), (0,), ((1,), (1,))),
    "strided": ((4, 9, 3), (4, 20), (0, 1), ((1, 0), (0, 2), (0, 1))),
    "two-dimensional": ((2, 4, 5, 3, 2), (2, 6, 6), (0, 0, 0), (
        (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1),
    )),
    "diagonal": ((4,), (4, 4), (0, 0), ((1, 1),)),
    "backwards": ((5, 2), (6,), (5,), ((-1,), (-1,))),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "i8"])
@pytest.mark.parametrize("case", WINDOW_SUMS)
def test_sums_of_windows_are_added_in_place(case: str, dtype: str) -> None:
    shape, result, start, steps = WINDOW_SUMS[case]
    b = Builder()
    x = b.param("x", array_type(shape, np.dtype(dtype)))
    node = b.window_sum(x, shape=result, start=start, steps=steps)
    strides = c_strides(shape, 1), c_strides(result, 1)
    values = np.random.default_rng(0).integers(-9, 9, shape).astype(dtype)
    memory = {"a0": values.ravel(), "o0": np.full(int(np.prod(result)), 77, dtype)}
    if case in ("diagonal", "backwards"):
        with pytest.raises(NotLowered):
            window_sum_kernel(node, *strides)
        return
    for kernel in (fill_kernel(node, strides[1]), window_sum_kernel(node, *strides)):
        verify_kernel(collapse(kernel))
        evaluate(collapse(kernel), memory)
    np.testing.assert_array_equal(memory["o0"].reshape(result), node.op.numpy(values, **node.attrs))
