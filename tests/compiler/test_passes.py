"""The passes as a whole: values stay, the backward part loses its waste, deep graphs are no trouble."""

import itertools
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tapeless.compiler import ops, pipeline  # noqa: F401  (fill the registries)
from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.opdef import OPS, Kind
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.types import GENERATOR, ArrayType, array_type
from tapeless.compiler.ir.verify import VerifyError
from tapeless.compiler.passes.bisect import find_change, same_value
from tapeless.compiler.passes.cse import cse
from tapeless.compiler.passes.differentiate import ones_like, pull_back
from tapeless.compiler.passes.manager import Options, Pass, run_passes
from tapeless.compiler.pipeline import PASSES, bisect, optimize
from tapeless.compiler.rules.rule import SIMPLIFY, Rule
from tapeless.runtime.interpret import interpret

F64 = np.dtype("f8")
SMOOTH = (
    "add",
    "subtract",
    "multiply",
    "negative",
    "tanh",
    "sum",
    "reshape",
    "transpose",
    "broadcast",
    "slice",
)
SMOOTH += ("write", "matmul", "cast", "where", "square", "copy")


def run(graph: Graph, values: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return interpret(graph, values)


def fresh(values: Any) -> list[Any]:
    """The values with generators in the state in which they were drawn."""
    return [np.random.default_rng(5) if isinstance(value, np.random.Generator) else value for value in values]


def results_or_reject(graph: Graph, values: Any) -> list[Any]:
    """What a graph gives; an example for which a primitive raises is no example."""
    try:
        return run(graph, values)
    except (ArithmeticError, np.linalg.LinAlgError, IndexError, ValueError, TypeError):
        reject()


def count(graph: Graph, op: str) -> int:
    return sum(node.op.name == op for node in graph.nodes)


# Values.


@given(data=st.data())
@settings(max_examples=300)
def test_forward_values_stay_bit_for_bit(data: st.DataObject, strategy: Any) -> None:
    case = data.draw(strategy())
    before = results_or_reject(case.graph, fresh(case.values))
    after = run(optimize(case.graph), fresh(case.values))
    for one, two in zip(before, after, strict=True):
        assert same_value(one, two)


@given(data=st.data())
@settings(max_examples=300)
def test_forward_sums_stay_bit_for_bit(data: st.DataObject, strategy: Any) -> None:
    """Views, layouts, and the reductions and products that feel them."""
    case = data.draw(strategy(only=SMOOTH, most=12))
    before = run(case.graph, case.values)
    after = run(optimize(case.graph), case.values)
    for one, two in zip(before, after, strict=True):
        assert same_value(one, two)


@given(data=st.data())
@settings(max_examples=300)
def test_backward_values_stay_accurate(data: st.DataObject, strategy: Any) -> None:
    case = data.draw(strategy(only=SMOOTH, backward=True, most=12))
    graph = Graph("f", case.graph.params, tuple(n for n in case.graph.nodes if isinstance(n.type, ArrayType)))
    before = run(graph, case.values)
    after = run(optimize(graph), case.values)
    largest = max((float(np.max(np.abs(x), initial=0)) for x in before), default=0.0)
    single = any(node.dtype.itemsize < 8 for node in graph.outputs if node.dtype.kind == "f")
    for one, two in zip(before, after, strict=True):
        assert np.asarray(one).dtype == np.asarray(two).dtype
        np.testing.assert_allclose(two, one, rtol=1e-9, atol=(1e-4 if single else 1e-11) * largest)


@given(data=st.data())
@settings(max_examples=300)
def test_programs_keep_bits_layouts_and_warnings(
    data: st.DataObject, random_program: Any, memory_order: Any, warnings_of: Any
) -> None:
    case = data.draw(random_program(special=True))
    before = results_or_reject(case.graph, case.values)
    after = run(optimize(case.graph), case.values)
    for one, two in zip(before, after, strict=True):
        assert same_value(one, two)
        assert memory_order(one) == memory_order(two)
    assert warnings_of(case.graph, case.values) == warnings_of(optimize(case.graph), case.values)


@given(data=st.data())
@settings(max_examples=300)
def test_backward_programs_stay_accurate(data: st.DataObject, random_program: Any) -> None:
    case = data.draw(random_program(backward=True))
    every = Graph("f", case.graph.params, case.graph.nodes)
    found = results_or_reject(every, case.values)
    largest = max(float(np.max(np.abs(value), initial=0)) for value in found)
    before = run(case.graph, case.values)
    after = run(optimize(case.graph), case.values)
    for one, two in zip(before, after, strict=True):
        assert np.asarray(one).dtype == np.asarray(two).dtype
        np.testing.assert_allclose(two, one, rtol=1e-10, atol=1e-12 * largest)


@given(data=st.data(), backward=st.booleans())
def test_optimizing_a_program_again_changes_nothing(
    data: st.DataObject, backward: bool, random_program: Any
) -> None:
    graph = optimize(data.draw(random_program(backward=backward)).graph)
    assert str(optimize(graph)) == str(graph)


@given(data=st.data(), backward=st.booleans(), fast_math=st.booleans())
def test_optimizing_again_changes_nothing(
    data: st.DataObject, backward: bool, fast_math: bool, strategy: Any
) -> None:
    graph = optimize(data.draw(strategy(backward=backward, most=10)).graph, fast_math=fast_math)
    assert str(optimize(graph, fast_math=fast_math)) == str(graph)


@given(data=st.data(), off=st.sets(st.sampled_from([each.name for each in PASSES])))
def test_passes_can_be_switched_off(data: st.DataObject, off: set[str], strategy: Any) -> None:
    case = data.draw(strategy(only=SMOOTH))
    graph = optimize(case.graph, disabled=frozenset(off))
    if len(off) == len(PASSES):
        assert graph is case.graph
    for one, two in zip(run(case.graph, case.values), run(graph, case.values), strict=True):
        assert same_value(one, two)


def test_rules_can_be_switched_off() -> None:
    graph = parse(
        "graph @f(%x: f64[]) { %0: f64[] = exp %x %1: f64[] = negative %0 %2: f64[] = negative %1 return %2 }"
    )
    assert count(optimize(graph), "negative") == 0
    assert count(optimize(graph, disabled=frozenset({"negative_negative"})), "negative") == 2
    assert count(optimize(graph, disabled=frozenset({"simplify"})), "negative") == 2


def test_unknown_name_is_refused() -> None:
    graph = parse("graph @f() { return }")
    with pytest.raises(ValueError, match="no pass and no rule named fuze, sorting"):
        optimize(graph, disabled=frozenset({"cse", "sorting", "fuze"}))


# The backward part.


def gradients(build: Callable[..., Node], **shapes: tuple[int, ...]) -> Graph:
    """The graph of all gradients of a scalar function of arrays."""
    b = Builder(Loc("f.py", 1, "f"))
    params = [b.param(name, array_type(shape, F64)) for name, shape in shapes.items()]
    loss = build(b, *params)
    found = pull_back(b, [loss], [ones_like(b, loss)], params)
    return Graph("gradients", tuple(params), tuple(ct for ct in found if ct is not None))


def mean(b: Builder, x: Node) -> Node:
    total = b.sum(x, axes=tuple(range(len(x.shape))), dtype=F64)
    return b.divide(total, b.constant(np.array(float(x.type.size))))  # type: ignore[union-attr]


def test_gradient_of_a_mean_is_one_number() -> None:
    assert str(optimize(gradients(mean, x=(8, 5)))) == (
        "graph @gradients(%x: f64[8,5]) {\n"
        "  %0: f64[] = constant {value=f64(0.025)}\n"
        "  %1: f64[8,5] = broadcast %0 {axes=(), shape=(8, 5)}\n"
        "  return %1\n"
        "}"
    )


def squared_error(b: Builder, x: Node, w: Node, c: Node, y: Node) -> Node:
    prediction = b.add(b.matmul(x, w), b.broadcast_to(c, y.shape))
    error = b.subtract(prediction, y)
    return mean(b, b.power(error, b.constant(2), form="array"))


def test_gradients_of_a_linear_regression() -> None:
    graph = optimize(gradients(squared_error, x=(20, 3), w=(3, 1), c=(1,), y=(20, 1)))
    assert str(graph) == (
        "graph @gradients(%x: f64[20,3], %w: f64[3,1], %c: f64[1], %y: f64[20,1]) {\n"
        "  %0: f64[20,1] = matmul %x, %w\n"
        "  %1: f64[20,1] = broadcast %c {axes=(1,), shape=(20, 1)}\n"
        "  %2: f64[20,1] = add %0, %1\n"
        "  %3: f64[20,1] = subtract %2, %y\n"
        "  %4: f64[] = constant {value=f64(0.1)}\n"
        "  %5: f64[20,1] = multiply %3, %4\n"
        "  %6: f64[1,3] = transpose %w {axes=(1, 0)}\n"
        "  %7: f64[20,3] = matmul %5, %6\n"
        "  %8: f64[3,20] = transpose %x {axes=(1, 0)}\n"
        "  %9: f64[3,1] = matmul %8, %5\n"
        "  %10: f64[1] = sum %5 {axes=(0,), dtype=f64}\n"
        "  %11: f64[20,1] = negative %5\n"
        "  return %7, %9, %10, %11\n"
        "}"
    )


def elements(b: Builder, x: Node) -> Node:
    """x[0] * x[1] + x[1] * x[2] + ..."""
    parts = [b.reshape(b.slice(x, start=(i,), size=(1,), step=(1,)), ()) for i in range(x.shape[0])]
    total = b.constant(np.array(0.0))
    for one, two in itertools.pairwise(parts):
        total = b.add(total, b.multiply(one, two))
    return total


def test_gradient_of_elements_writes_each_once() -> None:
    graph = optimize(gradients(elements, x=(30,)))
    assert count(graph, "write") == 30
    assert all(node.type.size == 1 for node in graph.nodes if node.op.name in ("add", "multiply"))  # type: ignore[union-attr]
    x = np.random.default_rng(0).normal(size=30)
    expected = np.concatenate([[0.0], x[:-1]]) + np.concatenate([x[1:], [0.0]])
    np.testing.assert_allclose(run(graph, [x])[0], expected, rtol=1e-15)


def test_cost_of_many_elements_is_linear() -> None:
    """Each element costs a few nodes on scalars, and no array of the whole length but the first."""
    graph = optimize(gradients(elements, x=(400,)))
    assert len(graph.nodes) < 400 * 8


def shared_weight(b: Builder, x: Node, w: Node) -> Node:
    repeated = b.broadcast_to(w, (x.shape[0], *w.shape))
    return mean(b, b.tanh(b.matmul(x, repeated)))


def test_gradient_of_a_weight_shared_by_a_stack_is_one_product() -> None:
    graph = gradients(shared_weight, x=(6, 5, 3), w=(3, 4))
    better = optimize(graph)
    products = [str(node.type) for node in better.nodes if node.op.name == "matmul"]
    assert sorted(products) == ["f64[3,4]", "f64[30,3]", "f64[6,5,4]"]
    rng = np.random.default_rng(0)
    values = [rng.normal(size=(6, 5, 3)), rng.normal(size=(3, 4))]
    for one, two in zip(run(graph, values), run(better, values), strict=True):
        np.testing.assert_allclose(two, one, rtol=1e-12, atol=1e-14)


def test_forward_part_of_a_gradient_keeps_its_bits() -> None:
    """The value that stands beside gradients is NumPy's, whatever happens to these."""
    b = Builder(Loc("f.py", 1, "f"))
    x, w = (b.param(name, array_type(shape, F64)) for name, shape in (("x", (6, 5, 3)), ("w", (3, 4))))
    loss = shared_weight(b, x, w)
    graph = Graph(
        "both", (x, w), (loss, *[g for g in pull_back(b, [loss], [ones_like(b, loss)], [x, w]) if g])
    )
    rng = np.random.default_rng(1)
    values = [np.asfortranarray(rng.normal(size=(6, 5, 3))), rng.normal(size=(4, 3)).T]
    assert same_value(run(graph, values)[0], run(optimize(graph), values)[0])


def test_fast_math_reaches_the_forward_part() -> None:
    graph = parse(
        "graph @f(%x: f64[3]) { %0: f64[] = constant {value=f64(3.0)} %1: f64[3] = divide %x, %0 return %1 }"
    )
    assert count(optimize(graph), "divide") == 1
    assert count(optimize(graph, fast_math=True), "divide") == 0


# Folding.

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


# Common subexpressions.


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


# Checks, dumps, bisection.


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


def test_bisect_finds_nothing_where_nothing_changes() -> None:
    graph = gradients(squared_error, x=(20, 3), w=(3, 1), c=(1,), y=(20, 1))
    rng = np.random.default_rng(0)
    values = [rng.normal(size=param.shape) for param in graph.params]
    assert bisect(graph, run, values, tolerance=1e-14) is None
    found = bisect(graph, run, values)
    assert found is None or found.stage == "simplify"


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


# Size.


def chain(length: int, make: Callable[[Builder, Node], Node]) -> Graph:
    b = Builder(Loc("f.py", 1, "f"))
    x = node = b.param("x", array_type((3,), F64))
    for _ in range(length):
        node = make(b, node)
    return Graph("deep", (x,), (node,))


DEEP: dict[str, Callable[[Builder, Node], Node]] = {
    "elementwise": lambda b, node: b.tanh(node),
    "marks": lambda b, node: b.mark(node, tag=1),
    "negations": lambda b, node: b.negative(node),
    "products": lambda b, node: b.multiply(node, b.constant(np.array(1.5))),
    "views": lambda b, node: b.slice(node, start=(2,), size=(3,), step=(-1,)),
    "doubling": lambda b, node: b.add(node, node),
}


@pytest.mark.parametrize("make", DEEP.values(), ids=DEEP)
def test_deep_graphs(make: Callable[[Builder, Node], Node]) -> None:
    graph = optimize(chain(20_000, make))
    assert graph.outputs[0].type == graph.params[0].type


def seconds(work: Callable[[], Any]) -> float:
    """The processor's time for some work: other processes do not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


@pytest.mark.timing
def test_time_of_a_deep_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPELESS_CHECK", "0")
    graph = chain(100_000, DEEP["elementwise"])
    assert min(seconds(lambda: optimize(graph)) for _ in range(3)) < 4


@pytest.mark.timing
def test_time_of_a_training_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPELESS_CHECK", "0")

    def network(b: Builder, *values: Node) -> Node:
        x, y, *weights = values
        for w, c in zip(weights[::2], weights[1::2], strict=True):
            z = b.matmul(x, w)
            x = b.tanh(b.add(z, b.broadcast_to(c, z.shape)))
        return mean(b, b.power(b.subtract(x, y), b.constant(2), form="array"))

    shapes = {"x": (64, 20), "y": (64, 10), "w1": (20, 30), "c1": (30,), "w2": (30, 10), "c2": (10,)}
    shapes |= {"w3": (10, 10), "c3": (10,), "w4": (10, 10), "c4": (10,)}
    graph = gradients(network, **shapes)
    assert len(graph.nodes) >= 60
    assert min(seconds(lambda: optimize(graph)) for _ in range(20)) < 0.004


def test_views_are_free() -> None:
    """The table of kinds says what `work` counts nothing for."""
    assert all(OPS[name].kind is Kind.VIEW for name in ("reshape", "transpose", "broadcast", "slice"))
