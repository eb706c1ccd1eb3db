"""Checks after passes, dumps of stages, bisection of passes and rules."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapeless.compiler import pipeline  # noqa: F401  (its rules fill the registry)
from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.types import GENERATOR, array_type
from tapeless.compiler.ir.verify import VerifyError
from tapeless.compiler.passes.bisect import find_change, same_value
from tapeless.compiler.passes.manager import Options, Pass, run_passes
from tapeless.compiler.pipeline import PASSES, bisect, optimize
from tapeless.compiler.rules.rule import SIMPLIFY, Rule
from tapeless.runtime.interpret import interpret

F64 = np.dtype("f8")


def run(graph: Graph, values: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return interpret(graph, values)


def count(graph: Graph, op: str) -> int:
    return sum(node.op.name == op for node in graph.nodes)


def break_type(graph: Graph, options: Options) -> Graph:
    """A pass with a bug."""
    node = graph.outputs[0]
    bad = Node(node.op, node.inputs, node.attrs, array_type((7,), F64), node.loc)
    return Graph(graph.name, graph.params, (bad,))


def double(graph: Graph, options: Options) -> Graph:
    """A pass that changes a value."""
    b = Builder()
    return Graph(graph.name, graph.params, (*graph.outputs[:-1], b.add(graph.outputs[-1], graph.outputs[-1])))


ONE = "graph @one/two(%x: f64[3]) { %0: f64[3] = mark %x {tag=0} %1: f64[3] = exp %0 return %1 }".replace(
    "/", ""
)


def test_guilty_pass_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    passes = (*PASSES, Pass("breaker", break_type))
    with pytest.raises(VerifyError, match="after the pass breaker"):
        run_passes(parse(ONE), passes, Options())
    monkeypatch.setenv("TAPELESS_CHECK", "0")
    run_passes(parse(ONE), passes, Options())


def test_dump_writes_every_stage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TAPELESS_DUMP", str(tmp_path / "dumps"))
    text = "graph @'a/b: c'(%x: f64[3]) { %0: f64[3] = mark %x {tag=0} %1: f64[3] = exp %0 return %1 }"
    for _ in "ab":
        optimize(parse(text, Loc("train.py", 3, "f")))
    first, second = sorted((tmp_path / "dumps").iterdir())
    assert re.fullmatch(r"\d{3}-a_b_c", first.name)
    assert re.fullmatch(r"\d{3}-a_b_c", second.name)
    stages = ["00-traced", "01-canonicalize", "02-simplify", "03-cse"]
    assert sorted(path.name for path in first.iterdir()) == [
        f"{s}.{e}" for s in stages for e in ("dot", "txt")
    ]
    traced, after = (parse((first / f"{stage}.txt").read_text()) for stage in stages[:2])
    assert (count(traced, "mark"), count(after, "mark")) == (1, 0)
    assert after.outputs[0].loc == Loc("train.py", 3, "f")
    assert (first / "01-canonicalize.dot").read_text().startswith("digraph")


def test_bisect_names_the_pass() -> None:
    graph = parse(ONE)
    found = find_change(graph, run, [np.zeros(3)], (*PASSES, Pass("doubler", double)), Options())
    assert found is not None
    assert (found.stage, found.rule, found.output) == ("doubler", None, 0)
    assert str(found) == ("the pass doubler changed result 0 from array([1., 1., 1.]) to array([2., 2., 2.])")
    off = Options(disabled=frozenset({"doubler"}))
    assert find_change(graph, run, [np.zeros(3)], (*PASSES, Pass("doubler", double)), off) is None


def test_bisect_names_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    original = next(rule for rule in SIMPLIFY.rules if rule.name == "negative_negative")

    def wrong(b: Builder, node: Node) -> Node | None:
        return b.log(node.inputs[0]) if node.inputs[0].op.name == "tanh" else None

    broken = Rule("wrong", "", ("exp",), wrong, original.fidelity, "", "", "")
    monkeypatch.setattr(SIMPLIFY, "rules", [*SIMPLIFY.rules, broken])
    body = "%0: f64[] = tanh %x %1: f64[] = exp %0 %2: f64[] = mark %0 {tag=1} return %2, %1"
    graph = parse(f"graph @f(%x: f64[]) {{ {body} }}")
    found = bisect(graph, run, [np.array(0.0)])
    assert found is not None
    assert (found.stage, found.rule, found.output) == ("simplify", "wrong", 1)


def test_bisect_of_gradients_takes_a_tolerance() -> None:
    """A rule for the backward part may round otherwise."""
    body = "%0: f64[] = constant {value=f64(3.0)} %1: f64[50] = divide %x, %0 return %1"
    graph = parse(f"graph @f(%x: f64[50]) {{ {body} }}", Loc("f.py", 1, "f", backward=True))
    values = [np.random.default_rng(0).normal(size=50)]
    assert bisect(graph, run, values, tolerance=1e-14) is None
    found = bisect(graph, run, values)
    assert found is not None
    assert (found.stage, found.rule) == ("simplify", "divide_constant")


def test_bisect_leaves_values_and_generators_alone() -> None:
    b = Builder()
    rng = b.param("rng", GENERATOR)
    draw = b.make(OPS["draw"], (rng,), OPS["draw"].samples[0].attrs)
    graph = Graph("f", (rng,), (b.get(draw, index=1), b.get(draw, index=0)))
    generator = np.random.default_rng(1)
    state = generator.bit_generator.state
    assert bisect(graph, run, [generator]) is None
    assert generator.bit_generator.state == state


SAME = [
    (1.0, 1.0, True),
    (0.0, -0.0, False),
    (np.nan, -np.nan, True),
    (np.array([1, 2]), np.array([1.0, 2.0]), False),
    (np.array([1.0]), np.array(1.0), False),
    (np.array([1 + 1j, np.nan]), np.array([1 + 1j, np.nan]), True),
    (np.array([1 + 0j]), np.array([1 - 0j]), True),
    (np.array([complex(1, 0.0)]), np.array([complex(1, -0.0)]), False),
    ((1.0, np.ones(2)), (1.0, np.ones(2)), True),
    ((1.0,), (1.0, 2.0), False),
]


@pytest.mark.parametrize(("one", "two", "same"), SAME)
def test_same_value(one: Any, two: Any, same: bool) -> None:
    assert same_value(one, two) == same


def test_same_value_within_a_tolerance() -> None:
    assert same_value(np.array([1.0, 100.0]), np.array([1.0 + 1e-10, 100.0]), 1e-11)
    assert not same_value(np.array([1.0, 100.0]), np.array([1.0 + 1e-8, 100.0]), 1e-11)
