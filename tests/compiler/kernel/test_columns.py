"""Folds down columns, turned so that rows are read one after another."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Graph
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.record import replace
from tapeless.compiler.kernel import columns
from tapeless.compiler.kernel.collapse import collapse
from tapeless.compiler.kernel.columns import rows_outside
from tapeless.compiler.kernel.evaluate import evaluate
from tapeless.compiler.kernel.form import Affine, Arg, Compute, Constant, Kernel, Load, Loop, Store
from tapeless.compiler.kernel.lower import lower
from tapeless.compiler.kernel.merge import merge_loops
from tapeless.compiler.kernel.rows import row_kernel
from tapeless.compiler.kernel.space import choose_space
from tapeless.compiler.kernel.statements import flat
from tapeless.compiler.kernel.verify import verify_kernel
from tapeless.compiler.passes.strides import c_strides
from tapeless.runtime.interpret import interpret

SUM = """
graph @sum(%x: f64[30,200], %w: f64[200]) {
  %0: f64[200] = sum %x {axes=(0,), dtype=f64}
  %1: f64[200] = subtract %w, %0
  return %1
}
"""
CENTRED = """
graph @centred(%x: f32[30,200], %m: f32[200]) {
  %0: f32[30,200] = broadcast %m {axes=(1,), shape=(30, 200)}
  %1: f32[30,200] = subtract %x, %0
  %2: f32[30,200] = exp %1
  %3: f32[200] = sum %2 {axes=(0,), dtype=f32}
  %4: f32[200] = max %1 {axes=(0,)}
  return %3, %4
}
"""
PRODUCTS = """
graph @products(%x: f64[30,200], %y: f64[30,200]) {
  %0: f64[200] = sum_products %x, %y {axes=(0,)}
  return %0
}
"""
DEEP = """
graph @deep(%x: f64[6,5,200]) {
  %0: f64[200] = sum %x {axes=(0, 1), dtype=f64}
  return %0
}
"""
MIDDLE = """
graph @middle(%x: i32[3,20,200]) {
  %0: i64[3,20,200] = cast %x {dtype=i64}
  %1: i64[3,200] = sum %0 {axes=(1,), dtype=i64}
  %2: i32[3,200] = min %x {axes=(1,)}
  return %1, %2
}
"""
BOOLEANS = """
graph @booleans(%x: f64[30,200]) {
  %0: bool[30,200] = isnan %x
  %1: bool[200] = any %0 {axes=(0,)}
  return %1
}
"""
PARTIAL = """
graph @partial(%x: f64[150,200]) {
  %0: f64[3,200] = partial_sum %x {axes=(0,), axis=0, size=64, dtype=f64}
  return %0
}
"""
CASES = {
    "sum": (SUM, (30, 200), (0,), ((1,),)),
    "centred": (CENTRED, (30, 200), (0,), ((1,), (1,))),
    "products": (PRODUCTS, (30, 200), (0,), ((1,),)),
    "deep": (DEEP, (6, 5, 200), (0, 1), ((2,),)),
    "middle": (MIDDLE, (3, 20, 200), (1,), ((0, 2), (0, 2))),
    "booleans": (BOOLEANS, (30, 200), (0,), ((1,),)),
}


@pytest.fixture(autouse=True)
def thresholds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small matrices count as large; blocks have at most 64 columns, so that the last one is short."""
    monkeypatch.setattr(columns, "SECOND", 100)
    monkeypatch.setattr(columns, "LONG", 100)
    monkeypatch.setattr(columns, "SHARED", 128)
    monkeypatch.setattr(columns, "MOST", 64)


def strides_of(nodes: Any) -> list[tuple[int, ...]]:
    return [c_strides(node.shape, 1) for node in nodes]


def lowered(text: str, shape: Any, folded: Any, alignments: Any) -> tuple[Graph, Kernel]:
    body = parse(text)
    strides, out_strides = strides_of(body.params), strides_of(body.outputs)
    space = choose_space(body, shape, folded, alignments, strides, out_strides)
    return body, collapse(merge_loops(lower("kernel", body, space, strides, out_strides)))


def run(body: Graph, kernel: Kernel, values: list[Any]) -> list[Any]:
    memory = {f"a{n}": v.ravel().copy() for n, v in enumerate(values)}
    memory |= {f"o{n}": np.zeros(int(np.prod(o.shape)), o.dtype) for n, o in enumerate(body.outputs)}
    evaluate(kernel, memory)
    return [memory[f"o{n}"].reshape(o.shape) for n, o in enumerate(body.outputs)]


def values_for(body: Graph) -> list[Any]:
    rng = np.random.default_rng(0)
    return [np.asarray(10 * rng.normal(size=p.shape)).astype(p.dtype) for p in body.params]


def loop_order(kernel: Kernel) -> list[str]:
    """The kinds of loops from the outermost to the innermost, of the deepest nest."""
    loops = max((nest(s) for s in kernel.body if isinstance(s, Loop)), key=len, default=[])
    return [loop.kind for loop in loops]


def nest(loop: Loop) -> list[Loop]:
    inner = [nest(s) for s in loop.body if isinstance(s, Loop)]
    return [loop, *max(inner, key=len, default=[])]


@pytest.mark.parametrize("name", CASES)
def test_turned_loops_compute_what_they_did(name: str) -> None:
    body, kernel = lowered(*CASES[name])
    turned = rows_outside(kernel)
    verify_kernel(turned)
    assert loop_order(kernel)[-1] == "serial"
    assert loop_order(turned)[-1] == "vector", "columns run inside of rows"
    assert turned.parallel == kernel.parallel
    values = values_for(body)
    for found, wanted in zip(run(body, turned, values), interpret(body, values), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if found.dtype.char == "f" else 1e-13)


def test_partial_sums_are_turned_inside_their_tiles() -> None:
    body = parse(PARTIAL)
    attrs = {"shape": (150, 200), "folded": (0,), "alignments": ((None, 1),), "row": 0}
    kernel = row_kernel(body, attrs, strides_of(body.params), strides_of(body.outputs))
    assert kernel is not None
    turned = rows_outside(collapse(kernel))
    verify_kernel(turned)
    assert loop_order(turned)[-1] == "vector"
    values = values_for(body)
    (found,), (wanted,) = run(body, turned, values), interpret(body, values)
    np.testing.assert_allclose(found, wanted, rtol=1e-13)


def test_sums_carry_their_error() -> None:
    body, kernel = lowered(*CASES["sum"])
    x = np.ones((30, 200))
    x[0], x[-1] = 1e20, -1e20
    (found,) = run(body, rows_outside(kernel), [x, np.zeros(200)])
    np.testing.assert_array_equal(found, -28.0)


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 1.7e308])
def test_values_that_are_not_finite(value: float) -> None:
    body, kernel = lowered(*CASES["sum"])
    x = np.ones((30, 200))
    x[3:5, 7] = value
    with np.errstate(all="ignore"):
        (found,), (wanted,) = (
            run(body, rows_outside(kernel), [x, np.zeros(200)]),
            interpret(body, [x, np.zeros(200)]),
        )
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("reason", ["small", "short"])
def test_what_stays(reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Matrices in the first cache, and rows so short that one waits for the other."""
    monkeypatch.setattr(columns, "SECOND" if reason == "small" else "LONG", 30 * 200 * 8)
    _, kernel = lowered(*CASES["sum"])
    assert rows_outside(kernel) == kernel


def test_what_a_loop_before_reads_stays() -> None:
    """The memory is in a cache then."""
    _, kernel = lowered(*CASES["products"])
    (loop,) = kernel.body
    assert isinstance(loop, Loop)
    again = Kernel(kernel.name, kernel.args, (loop, replace(loop)), parallel=False)
    assert rows_outside(again) == again
    assert not any(arg.role == "scratch" for arg in again.args)
    assert sum(isinstance(s, Loop) for s in flat(again.body)) == 4


def test_a_variable_is_free_again_behind_a_loop_that_carries() -> None:
    """Another loop may have the same one."""
    f8, at = np.dtype("f8"), Affine(0, (("i", 1),))
    args = (Arg("a0", f8, "in", 0, 4), Arg("o0", f8, "out", 0, 4), Arg("c", f8, "scratch", 0, 1))
    total = (Load("s", "c", Affine()), Load("x", "a0", at), Compute("t", "add", ("s", "x"), f8))
    body = (
        Constant("zero", 0.0, f8),
        Store("c", Affine(), "zero"),
        Loop("i", 4, "serial", (*total, Store("c", Affine(), "t"))),
        Load("sum", "c", Affine()),
        Loop("i", 4, "vector", (Store("o0", at, "sum"),)),
    )
    kernel = Kernel("k", args, body)
    verify_kernel(kernel)
    memory = {"a0": np.arange(4.0), "o0": np.zeros(4)}
    evaluate(kernel, memory)
    np.testing.assert_array_equal(memory["o0"], 6.0)
