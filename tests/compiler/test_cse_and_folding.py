"""Common subexpressions and constants: what becomes one, what stays apart, what is computed at once."""

from typing import Any

import numpy as np
import pytest

from tapeless.compiler import pipeline  # noqa: F401  (its rules fill the registry)
from tapeless.compiler.ir import Builder, Graph, Loc
from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.types import GENERATOR, array_type
from tapeless.compiler.passes.bisect import same_value
from tapeless.compiler.passes.cse import cse
from tapeless.compiler.pipeline import optimize
from tapeless.runtime.interpret import interpret

F64 = np.dtype("f8")


def run(graph: Graph, values: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return interpret(graph, values)


def count(graph: Graph, op: str) -> int:
    return sum(node.op.name == op for node in graph.nodes)


TWO = "%0: f64[] = constant {value=f64(2.0)}"
MINUS_TWO = "%0: f64[] = constant {value=f64(-2.0)}"
PAIR = "%0: f64[2] = constant {value=f64([1.0, 2.0])}"
NUMBERS = "%a: int = constant {value=10} %b: int = constant {value=0} %c: int = constant {value=1000000000}"
POWER = "%1: int = power %a, %c {form='array', result=py.int}"
FOLDED = [
    ("plain", f"{TWO} %1: f64[] = sqrt %0 return %1", True),
    ("numbers", f"{NUMBERS} %1: int = add %a, %b return %1", True),
    ("python_error", f"{NUMBERS} %1: float = divide %a, %b return %1", False),
    ("warning", f"{MINUS_TWO} %1: f64[] = sqrt %0 return %1", False),
    ("larger", f"{TWO} %1: f64[9] = broadcast %0 {{axes=(), shape=(9,)}} return %1", False),
    ("smaller", f"{PAIR} %1: f64[] = sum %0 {{axes=(0,), dtype=f64}} return %1", True),
    ("view", f"{PAIR} %1: f64[1] = slice %0 {{size=(1,), start=(1,), step=(1,)}} return %1", False),
    ("huge_power", f"{NUMBERS} {POWER} return %1", False),
]


@pytest.mark.parametrize(("body", "folds"), [pytest.param(*rest, id=name) for name, *rest in FOLDED])
def test_folding(body: str, folds: bool) -> None:
    graph = optimize(parse(f"graph @f() {{ {body} }}"))
    assert (len(graph.nodes) == 1) == folds


def test_folding_in_the_backward_part_is_silent() -> None:
    body = "%0: f64[] = constant {value=f64(-2.0)} %1: f64[] = sqrt %0 return %1"
    graph = optimize(parse(f"graph @f() {{ {body} }}", Loc("f.py", 1, "f", backward=True)))
    assert np.isnan(graph.outputs[0].attrs["value"].value)


def test_equal_nodes_become_one_in_any_order_of_operands() -> None:
    graph = parse(
        """graph @f(%x: f64[3], %y: f64[3]) {
          %0: f64[3] = add %x, %y
          %1: f64[3] = add %y, %x
          %2: f64[3] = subtract %x, %y
          %3: f64[3] = subtract %y, %x
          return %0, %1, %2, %3
        }"""
    )
    merged = cse(graph)
    assert merged.outputs[0] is merged.outputs[1]
    assert merged.outputs[2] is not merged.outputs[3]


def test_complex_products_do_not_commute() -> None:
    body = "%0: c128[3] = multiply %x, %y %1: c128[3] = multiply %y, %x return %0, %1"
    graph = cse(parse(f"graph @f(%x: c128[3], %y: c128[3]) {{ {body} }}"))
    assert graph.outputs[0] is not graph.outputs[1]


def logs(*locs: Loc) -> Graph:
    """The logarithm of one param, written at each of the places."""
    b = Builder(intern=False)
    x = b.param("x", array_type((3,), F64))
    nodes = []
    for b.loc in locs:
        nodes.append(b.log(x))
    return Graph("f", (x,), tuple(nodes))


WRITTEN = Loc("f.py", 1, "f")
DERIVED = Loc("f.py", 1, "f", backward=True)
RAISING = Loc("f.py", 2, "f", errstate=(("divide", "raise"),))


def test_error_settings_keep_nodes_apart() -> None:
    graph = cse(logs(WRITTEN, RAISING, WRITTEN, RAISING))
    assert graph.outputs[0] is graph.outputs[2]
    assert graph.outputs[1] is graph.outputs[3]
    assert graph.outputs[0] is not graph.outputs[1]
    assert graph.outputs[1].loc == RAISING


@pytest.mark.parametrize("locs", [(WRITTEN, DERIVED), (DERIVED, WRITTEN)], ids=["behind", "before"])
def test_of_equal_nodes_the_users_stays(locs: tuple[Loc, Loc]) -> None:
    graph = cse(logs(*locs))
    assert graph.outputs[0] is graph.outputs[1]
    assert graph.outputs[0].loc == WRITTEN


def test_a_derived_node_joins_whatever_the_user_wrote() -> None:
    graph = cse(logs(DERIVED, RAISING))
    assert graph.outputs[0] is graph.outputs[1]
    assert graph.outputs[0].loc == RAISING


def test_draws_stay_apart() -> None:
    b = Builder()
    rng = b.param("rng", GENERATOR)
    attrs = OPS["draw"].samples[0].attrs
    first = b.make(OPS["draw"], (rng,), attrs)
    second = b.make(OPS["draw"], (b.get(first, index=0),), attrs)
    values = tuple(b.get(draw, index=1) for draw in (first, second))
    graph = Graph("f", (rng,), (*values, b.get(second, index=0)))
    better = optimize(graph)
    assert count(better, "draw") == 2
    results = run(better, [np.random.default_rng(3)])
    assert [
        same_value(a, b) for a, b in zip(results, run(graph, [np.random.default_rng(3)]), strict=True)
    ] == [True] * 3
    assert not same_value(results[0], results[1])


def test_two_operands_of_a_product_that_become_one_are_told_apart() -> None:
    """NumPy rounds a product with the array's own transpose otherwise than one with an equal array's."""
    graph = parse(
        """graph @f(%x: f64[60,60]) {
          %0: f64[60,60] = tanh %x
          %1: f64[60,60] = tanh %x
          %2: f64[60,60] = transpose %1 {axes=(1, 0)}
          %3: f64[60,60] = matmul %0, %2
          %4: f64[60,60] = transpose %0 {axes=(1, 0)}
          %5: f64[60,60] = matmul %0, %4
          return %3, %5
        }"""
    )
    for better in (cse(graph), optimize(graph)):
        assert count(better, "tanh") == 1
        one, two = better.outputs
        assert one.attrs.get("distinct")
        assert not two.attrs.get("distinct")
        x = np.random.default_rng(0).normal(size=(60, 60))
        for before, after in zip(run(graph, [x]), run(better, [x]), strict=True):
            assert same_value(before, after)
