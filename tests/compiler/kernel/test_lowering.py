"""Bodies lowered to kernels: the text, the verifier, and the evaluator held against NumPy."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import ArrayType, Builder, Graph, Node
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.record import replace
from tapeless.compiler.kernel import split
from tapeless.compiler.kernel.collapse import collapse
from tapeless.compiler.kernel.evaluate import evaluate
from tapeless.compiler.kernel.form import Affine, Arg, Compute, Kernel, Load, Loop, Store
from tapeless.compiler.kernel.lower import Lowering, Map, Space, lower
from tapeless.compiler.kernel.merge import merge_loops
from tapeless.compiler.kernel.space import choose_space
from tapeless.compiler.kernel.verify import KernelError, verify_kernel
from tapeless.compiler.passes.strides import c_strides
from tapeless.runtime.interpret import interpret

SOFTMAX = """
graph @softmax(%x: f32[4,8], %b: f32[8]) {
  %0: f32[4,8] = broadcast %b {axes=(1,), shape=(4, 8)}
  %1: f32[4,8] = add %x, %0
  %2: f32[4] = max %1 {axes=(1,)}
  %3: f32[4,8] = broadcast %2 {axes=(0,), shape=(4, 8)}
  %4: f32[4,8] = subtract %1, %3
  %5: f32[4,8] = exp %4
  %6: f32[4] = sum %5 {axes=(1,), dtype=f32}
  %7: f32[4,8] = broadcast %6 {axes=(0,), shape=(4, 8)}
  %8: f32[4,8] = divide %5, %7
  return %8
}
"""
COLUMNS = """
graph @columns(%x: f64[5,7], %w: f64[7]) {
  %0: f64[5,7] = multiply %x, %x
  %1: f64[7] = sum %0 {axes=(0,), dtype=f64}
  %2: f64[7] = subtract %w, %1
  return %0, %2
}
"""
WHOLE = """
graph @whole(%x: f64[5,7]) {
  %0: f64[5,7] = absolute %x
  %1: f64[] = sum %0 {axes=(0, 1), dtype=f64}
  return %1
}
"""
VIEWS = """
graph @views(%x: f64[6,4], %y: f64[4,3]) {
  %0: f64[3,4] = slice %x {size=(3, 4), start=(5, 0), step=(-2, 1)}
  %1: f64[3,4] = transpose %y {axes=(1, 0)}
  %2: f64[3,4] = add %0, %1
  %3: bool[3,4] = less %0, %1
  %4: f64[3,4] = where %3, %2, %0
  return %4
}
"""
INTEGERS = """
graph @integers(%x: i32[9], %m: bool[9]) {
  %0: i64[9] = cast %x {dtype=i64}
  %1: i64[9] = multiply %0, %0
  %2: i64[] = max %1 {axes=(0,)}
  %3: bool[] = any %m {axes=(0,)}
  return %1, %2, %3
}
"""
CASES = {
    "softmax": (SOFTMAX, (4, 8), (1,), ((0, 1),)),
    "columns": (COLUMNS, (5, 7), (0,), ((0, 1), (1,))),
    "whole": (WHOLE, (5, 7), (0, 1), ((),)),
    "views": (VIEWS, (3, 4), (), ((0, 1),)),
    "integers": (INTEGERS, (9,), (0,), ((0,), (), ())),
}


def strides_of(shape: tuple[int, ...]) -> tuple[int, ...]:
    return c_strides(shape, 1)


def lowered(text: str, shape: Any, folded: Any, alignments: Any) -> tuple[Graph, Kernel]:
    body, kernel = nested(text, shape, folded, alignments)
    return body, collapse(kernel)


def nested(text: str, shape: Any, folded: Any, alignments: Any) -> tuple[Graph, Kernel]:
    body = parse(text)
    strides = [strides_of(p.shape) for p in body.params]
    out_strides = [strides_of(o.shape) for o in body.outputs]
    space = choose_space(body, shape, folded, alignments, strides, out_strides)
    return body, lower("kernel", body, space, strides, out_strides)


def values_for(body: Graph) -> list[Any]:
    rng = np.random.default_rng(0)
    return [np.asarray(10 * rng.normal(size=p.shape)).astype(p.dtype) for p in body.params]


@pytest.mark.parametrize("name", CASES)
def test_a_lowered_body_is_valid_and_computes_what_numpy_does(name: str) -> None:
    body, kernel = lowered(*CASES[name])
    verify_kernel(kernel)
    values = values_for(body)
    memory = {f"a{n}": v.ravel().copy() for n, v in enumerate(values)}
    memory |= {f"o{n}": np.zeros(max(1, int(np.prod(o.shape))), o.dtype) for n, o in enumerate(body.outputs)}
    evaluate(kernel, memory)
    for number, wanted in enumerate(interpret(body, values)):
        found = memory[f"o{number}"].reshape(np.shape(wanted))
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=0)


@pytest.mark.parametrize("name", CASES)
def test_the_text_of_kernels(name: str, golden: Any) -> None:
    golden(f"kernel_{name}", str(lowered(*CASES[name])[1]))


def test_a_costly_value_is_computed_once_a_row() -> None:
    text = str(lowered(*CASES["softmax"])[1])
    assert text.count(" = exp ") == 1
    assert "scratch" in text


def test_a_value_is_followed_once_however_many_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    b = Builder()
    start = x = b.param("x", ArrayType((50,), np.dtype("f8")))
    for _ in range(30):
        x = b.multiply(b.sin(x), x)
    calls = 0
    follow = Lowering.value

    def counted(self: Lowering, node: Node, at: Map) -> str:
        nonlocal calls
        calls += 1
        return follow(self, node, at)

    monkeypatch.setattr(Lowering, "value", counted)
    lower("f", Graph("f", (start,), (x,)), Space((50,), (0,), 0, ((0,),)), [(1,)], [(1,)])
    assert calls <= 1 + 3 * 30


def test_contiguous_loops_become_one() -> None:
    body = parse("graph @f(%x: f64[5,7]) { %0: f64[5,7] = negative %x return %0 }")
    space = Space((5, 7), (0, 1), 1, ((0, 1),))
    kernel = collapse(lower("f", body, space, [(7, 1)], [(7, 1)]))
    assert "for i1 in 35 vector" in str(kernel)
    gap = collapse(lower("f", body, space, [(8, 1)], [(7, 1)]))
    assert "for i0 in 5 serial" in str(gap)


X, Y = Arg("x", np.dtype("f8"), "in", 0, 4), Arg("y", np.dtype("f8"), "out", 0, 4)
SCRATCH = Arg("s", np.dtype("f8"), "scratch", 0, 4)
AT = Affine(0, (("i", 1),))


def one_loop(*body: Any, extent: int = 4) -> Kernel:
    return Kernel("k", (X, Y), (Loop("i", extent, "vector", tuple(body)),), parallel=True)


@pytest.mark.parametrize(
    ("check", "kernel"),
    [
        pytest.param("V1", one_loop(Store("y", AT, "0")), id="undefined"),
        pytest.param("V1", one_loop(Load("0", "x", AT), Load("0", "x", AT)), id="twice"),
        pytest.param(
            "V2", one_loop(Load("0", "x", AT), Compute("1", "less", ("0", "0"), np.dtype("f8"))), id="dtype"
        ),
        pytest.param("V3", one_loop(Load("0", "x", Affine(1, (("i", 1),)))), id="beyond"),
        pytest.param("V3", one_loop(Load("0", "x", AT), extent=5), id="extent"),
        pytest.param("V4", one_loop(Load("0", "x", AT), Store("x", AT, "0")), id="input-stored"),
        pytest.param(
            "V4",
            Kernel("k", (Y, SCRATCH), (Loop("i", 4, "vector", (Load("0", "s", AT), Store("y", AT, "0"))),)),
            id="scratch-unwritten",
        ),
    ],
)
def test_a_broken_kernel_is_refused_by_its_check(check: str, kernel: Kernel) -> None:
    with pytest.raises(KernelError, match=check):
        verify_kernel(kernel)


SUMS = """
graph @sums(%x: f64[300,17], %b: f64[17], %s: f64[]) {
  %0: f64[300,17] = broadcast %b {axes=(1,), shape=(300, 17)}
  %1: f64[300,17] = multiply %x, %0
  %2: f64[300,17] = tanh %1
  %3: f64[] = sum %2 {axes=(0, 1), dtype=f64}
  %4: f64[] = multiply %3, %s
  %5: f64[] = max %1 {axes=(0, 1)}
  %6: bool[300,17] = less %x, %1
  %7: bool[] = any %6 {axes=(0, 1)}
  return %4, %2, %5, %7
}
"""
SUMS_OF_FIVE_THOUSAND = """
graph @line(%x: f32[5000], %y: f32[5000]) {
  %0: f32[5000] = multiply %x, %y
  %1: f32[5000] = tanh %0
  %2: f32[] = sum %1 {axes=(0,), dtype=f32}
  %3: f32[5000] = add %1, %y
  return %2, %3
}
"""
TWO_PASSES = """
graph @passes(%x: f32[5,8]) {
  %0: f32[5] = sum %x {axes=(1,), dtype=f32}
  %1: f32[5,8] = square %x
  %2: f32[5] = sum %1 {axes=(1,), dtype=f32}
  %3: f32[5,8] = broadcast %2 {axes=(0,), shape=(5, 8)}
  %4: f32[5,8] = divide %x, %3
  return %0, %4
}
"""
MERGED = {
    "sums": (SUMS, (300, 17), (0, 1), ((), (0, 1), (), ())),
    "line": (SUMS_OF_FIVE_THOUSAND, (5000,), (0,), ((), (0,))),
    "passes": (TWO_PASSES, (5, 8), (1,), ((0,), (0, 1))),
    **CASES,
}


def run_kernels(kernels: Any, body: Graph, values: list[Any]) -> list[Any]:
    """The outputs, after the kernels have run one after the other."""
    memory = {f"a{n}": v.ravel().copy() for n, v in enumerate(values)}
    memory |= {f"o{n}": np.zeros(max(1, int(np.prod(o.shape))), o.dtype) for n, o in enumerate(body.outputs)}
    for kernel in kernels:
        verify_kernel(kernel)
        memory |= {a.name: np.zeros(a.high, a.dtype) for a in kernel.args if a.name not in memory}
        evaluate(kernel, memory)
    return [memory[f"o{n}"].reshape(o.shape) for n, o in enumerate(body.outputs)]


@pytest.mark.parametrize("name", MERGED)
def test_merged_loops_compute_the_same(name: str) -> None:
    body, kernel = nested(*MERGED[name])
    values = values_for(body)
    merged = collapse(merge_loops(kernel))
    for found, wanted in zip(
        run_kernels([merged], body, values), run_kernels([kernel], body, values), strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_independent_passes_become_one_loop() -> None:
    _, kernel = nested(*MERGED["line"])
    assert kernel.parallel
    assert str(kernel).count("for ") == 2
    merged = merge_loops(kernel)
    text = str(merged)
    assert text.count("for ") == 1
    assert text.count(" = tanh ") == 1
    assert text.count(" = load ") == 2
    assert "scratch" not in text
    assert not merged.parallel


def test_a_pass_that_waits_for_another_stays_behind_it() -> None:
    _, kernel = nested(*MERGED["passes"])
    text = str(merge_loops(kernel))
    assert text.count("for ") == 3
    (sums,) = [line for line in text.splitlines() if "narrow add" in line]
    assert sums.count("narrow add") == 2


@pytest.mark.parametrize("name", ["sums", "line", "whole"])
def test_a_reduction_in_pieces_computes_the_same(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split, "LEAST_ELEMENTS", 16)
    body, kernel = nested(*MERGED[name])
    merged = collapse(merge_loops(kernel))
    several = split.split_reduction(merged)
    if name == "whole":  # 35 elements are one piece
        assert several is None
        return
    assert several is not None
    assert several[0].parallel
    values = values_for(body)
    for found, wanted in zip(run_kernels(several, body, values), interpret(body, values), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=0)


def test_the_text_of_a_reduction_in_pieces(golden: Any) -> None:
    _, kernel = nested(*MERGED["line"])
    several = split.split_reduction(merge_loops(kernel))
    assert several is not None
    golden("kernel_pieces", "\n".join(map(str, several)))


def test_pieces_that_go_beyond_the_range_are_refused() -> None:
    stop = Affine(4, (("b", -3),))
    inner = Loop("i", 3, "vector", (Load("0", "x", Affine(0, (("b", 3), ("i", 1)))),), stop=stop)
    verify_kernel(Kernel("k", (X,), (Loop("b", 2, "serial", (inner,)),), parallel=True))
    with pytest.raises(KernelError, match="V1"):
        verify_kernel(Kernel("k", (X,), (Loop("c", 2, "serial", (inner,)),), parallel=True))
    beyond = replace(inner, body=(Load("0", "x", Affine(1, (("b", 3), ("i", 1)))),))
    with pytest.raises(KernelError, match="V3"):
        verify_kernel(Kernel("k", (X,), (Loop("b", 2, "serial", (beyond,)),), parallel=True))
