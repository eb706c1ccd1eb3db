"""Bodies lowered row by row: the text, the verifier, and the evaluator held against the interpreter."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Graph
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.kernel.collapse import collapse
from tapeless.compiler.kernel.evaluate import evaluate
from tapeless.compiler.kernel.form import Accumulate, Accumulator, Affine, Arg, Kernel, Load, Loop, Store
from tapeless.compiler.kernel.row_space import choose_rows
from tapeless.compiler.kernel.rows import lower_rows
from tapeless.compiler.kernel.verify import KernelError, verify_kernel
from tapeless.compiler.passes.strides import c_strides
from tapeless.runtime.interpret import interpret

# A matrix times a vector, a loss of it, and the gradient.
LOGISTIC = """
graph @logistic(%x: f64[50,7], %w: f64[50,7], %y: f64[50]) {
  %0: f64[50] = sum_products %x, %w {axes=(1,)}
  %1: f64[50] = multiply %0, %y
  %2: f64[50] = exp %1
  %3: f64[2] = partial_sum %2 {axes=(0,), axis=0, dtype=f64, size=32}
  %4: f64[50] = multiply %2, %y
  %5: f64[50,7] = broadcast %4 {axes=(0,), shape=(50, 7)}
  %6: f64[2,7] = partial_sum %x, %5 {axes=(0,), axis=0, dtype=f64, size=32}
  return %3, %6, %4
}
"""
# Layer norm backward: reductions of rows, a result of the whole space, two sums over the rows.
NORMALISED = """
graph @normalised(%x: f32[41,6], %g: f32[41,6]) {
  %0: f32[41] = sum %x {axes=(1,), dtype=f32}
  %1: f32[41,6] = broadcast %0 {axes=(0,), shape=(41, 6)}
  %2: f32[41,6] = subtract %x, %1
  %3: f32[41,6] = multiply %2, %2
  %4: f32[41] = sum %3 {axes=(1,), dtype=f32}
  %5: f32[41] = sqrt %4
  %6: f32[41,6] = broadcast %5 {axes=(0,), shape=(41, 6)}
  %7: f32[41,6] = divide %2, %6
  %8: f32[41,6] = multiply %g, %7
  %9: f64[3,6] = partial_sum %8 {axes=(0,), axis=0, dtype=f64, size=16}
  %10: f64[3,6] = partial_sum %g {axes=(0,), axis=0, dtype=f64, size=16}
  %11: f64[3] = partial_sum %8 {axes=(0, 1), axis=0, dtype=f64, size=16}
  return %7, %9, %10, %11
}
"""
# The samples along the second axis.
FEATURES_FIRST = """
graph @features_first(%x: f64[5,50], %w: f64[5,50]) {
  %0: f64[50] = sum_products %x, %w {axes=(0,)}
  %1: f64[50] = tanh %0
  %2: f64[5,50] = broadcast %1 {axes=(1,), shape=(5, 50)}
  %3: f64[2,5] = partial_sum %x, %2 {axes=(1,), axis=1, dtype=f64, size=32}
  %4: f64[2] = partial_sum %1 {axes=(0,), axis=0, dtype=f64, size=32}
  return %3, %4
}
"""
CUBE = """
graph @cube(%x: f64[33,3,4]) {
  %0: f64[33,3,4] = square %x
  %1: f64[3,3,4] = partial_sum %0 {axes=(0,), axis=0, dtype=f64, size=16}
  %2: f64[3] = partial_sum %x {axes=(0, 1, 2), axis=0, dtype=f64, size=16}
  return %1, %2, %0
}
"""
LINE = """
graph @line(%x: f32[100], %y: f32[100]) {
  %0: f64[4] = partial_sum %x, %y {axes=(0,), axis=0, dtype=f64, size=32}
  %1: f32[100] = exp %x
  %2: f64[4] = partial_sum %1 {axes=(0,), axis=0, dtype=f64, size=32}
  return %0, %2, %1
}
"""
# A costly value that the rows' sums, the result and the sums over rows read.
SOFTMAX = """
graph @softmax(%x: f64[40,5]) {
  %0: f64[40,5] = exp %x
  %1: f64[40] = sum %0 {axes=(1,), dtype=f64}
  %2: f64[40,5] = broadcast %1 {axes=(0,), shape=(40, 5)}
  %3: f64[40,5] = divide %0, %2
  %4: f64[3,5] = partial_sum %3 {axes=(0,), axis=0, dtype=f64, size=16}
  return %3, %4
}
"""
SIGMOID = """
graph @sigmoid(%x: f64[40,6], %w: f64[40,6]) {
  %0: f64[40] = sum_products %x, %w {axes=(1,)}
  %1: f64[40] = exp %0
  %2: f64[40,1] = reshape %1 {shape=(40, 1)}
  return %2
}
"""
CASES: dict[str, tuple[str, Any, Any, int | None, Any]] = {
    "logistic": (LOGISTIC, (50, 7), (1,), 0, ((None,), (None, 1), (0,))),
    "normalised": (NORMALISED, (41, 6), (1,), 0, ((0, 1), (None, 1), (None, 1), (None,))),
    "features-first": (FEATURES_FIRST, (5, 50), (0,), 1, ((None, 0), (None,))),
    "cube": (CUBE, (33, 3, 4), (), 0, ((None, 1, 2), (None,), (0, 1, 2))),
    "line": (LINE, (100,), (), 0, ((None,), (None,), (0,))),
    "softmax": (SOFTMAX, (40, 5), (1,), 0, ((0, 1), (None, 1))),
    "sigmoid": (SIGMOID, (40, 6), (1,), None, ((0, None),)),
}


def strides_of(shape: tuple[int, ...], layout: str) -> tuple[int, ...]:
    return c_strides(shape, 1) if layout == "C" else tuple(reversed(c_strides(shape[::-1], 1)))


def lowered(name: str, layout: str = "C") -> tuple[Graph, Kernel]:
    text, shape, folded, row, alignments = CASES[name]
    body = parse(text)
    strides = [strides_of(p.shape, layout) for p in body.params]
    out_strides = [strides_of(o.shape, "C") for o in body.outputs]
    rows = choose_rows(body, shape, folded, row, alignments, strides, out_strides)
    assert rows is not None
    return body, collapse(lower_rows("kernel", body, rows, strides, out_strides))


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("name", [name for name in CASES if name != "sigmoid"])
def test_a_kernel_is_valid_and_computes_what_numpy_does(name: str, layout: str) -> None:
    check(*lowered(name, layout), layout)


def test_costly_functions_of_a_rows_number_run_along_the_rows() -> None:
    body, kernel = lowered("sigmoid")
    check(body, kernel, "C")
    (loop,) = kernel.body
    text = str(kernel)
    assert "vector {\n      %4 = load s0[i]\n      %5: f64 = exp %4" in text
    assert kernel.parallel
    assert isinstance(loop, Loop)


def check(body: Graph, kernel: Kernel, layout: str) -> None:
    verify_kernel(kernel)
    rng = np.random.default_rng(0)
    values = [np.asarray(rng.normal(size=p.shape)).astype(p.dtype) for p in body.params]
    memory = {f"a{n}": v.ravel(order=layout).copy() for n, v in enumerate(values)}  # type: ignore[call-overload]
    memory |= {f"o{n}": np.full(int(np.prod(o.shape)), np.nan, o.dtype) for n, o in enumerate(body.outputs)}
    evaluate(kernel, memory)
    for number, wanted in enumerate(interpret(body, values)):
        found = memory[f"o{number}"].reshape(np.shape(wanted))
        np.testing.assert_allclose(found, wanted, rtol=2e-5 if values[0].dtype == np.float32 else 1e-12)


@pytest.mark.parametrize("name", CASES)
def test_the_text_of_kernels(name: str, golden: Any) -> None:
    golden(f"rows_{name}", str(lowered(name)[1]))


def test_the_matrix_is_read_twice_within_a_tile_and_never_written() -> None:
    text = str(lowered("logistic")[1])
    assert text.count("load a0[") == 2
    assert text.count(" = exp ") == 1


def test_a_costly_value_is_computed_once_and_kept_for_the_tile() -> None:
    text = str(lowered("softmax")[1])
    assert text.count(" = exp ") == 1
    assert "scratch s0: f64[0:80]" in text


def test_a_body_of_cheap_rows_is_not_taken_row_by_row() -> None:
    text, shape, folded, row, alignments = CASES["sigmoid"]
    body = parse(text.replace("exp", "negative"))
    strides = [strides_of(p.shape, "C") for p in body.params]
    assert choose_rows(body, shape, folded, row, alignments, strides, [(1, 1)]) is None


def test_a_part_of_a_body_without_its_reductions_is_not_taken_row_by_row() -> None:
    body = parse("graph @f(%x: f64[40,60]) { %0: f64[40,60] = tanh %x return %0 }")
    assert choose_rows(body, (40, 60), (0,), None, [(0, 1)], [(60, 1)], [(60, 1)]) is None


X, Y = Arg("x", np.dtype("f8"), "in", 0, 10), Arg("y", np.dtype("f8"), "out", 0, 4)
AT = Affine(0, (("b", 4), ("i", 1)))
STOP = Affine(10, (("b", -4),))
SUM = Accumulator("s", "add", np.dtype("f8"), 0)


def blocks(stop: Affine | None = STOP, at: Affine = AT, kind: str = "vector") -> Kernel:
    terms = Loop("i", 4, kind, (Load("0", "x", at), Accumulate("s", "0")), (SUM,), stop)
    return Kernel("k", (X, Y), (Loop("b", 3, "serial", (terms, Store("y", Affine(0, (("b", 1),)), "s"))),))


@pytest.mark.parametrize("kind", ["vector", "serial"])
def test_a_loop_ends_at_its_stop(kind: str) -> None:
    kernel = blocks(kind=kind)
    verify_kernel(kernel)
    memory = {"x": np.arange(10.0), "y": np.zeros(4)}
    evaluate(kernel, memory)
    np.testing.assert_array_equal(memory["y"], [6, 22, 17, 0])
    assert f"for i in 4 below [10 + -4*b] {kind}" in str(kernel)


@pytest.mark.parametrize(
    ("check", "kernel"),
    [
        pytest.param("V3", blocks(None), id="no-stop"),
        pytest.param("V3", blocks(Affine(11, (("b", -4),))), id="late"),
        pytest.param("V3", blocks(at=Affine(0, (("b", 5), ("i", 1)))), id="other-steps"),
        pytest.param("V3", blocks(at=Affine(1, (("b", 4), ("i", 1)))), id="beyond"),
        pytest.param("V1", blocks(Affine(10, (("c", -4),))), id="unknown"),
        pytest.param(
            "V4",
            Kernel("k", (X, Y), (Loop("i", 4, "serial", (), (), Affine(3)),), parallel=True),
            id="shared",
        ),
    ],
)
def test_a_broken_kernel_is_refused_by_its_check(check: str, kernel: Kernel) -> None:
    with pytest.raises(KernelError, match=check):
        verify_kernel(kernel)
