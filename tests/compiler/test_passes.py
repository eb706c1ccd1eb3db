"""The passes as a whole: values stay, a second time changes nothing, deep graphs are no trouble."""

import gc
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from tapeless.compiler import pipeline  # noqa: F401  (its rules fill the registry)
from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.types import ArrayType, array_type
from tapeless.compiler.passes.bisect import same_value
from tapeless.compiler.passes.differentiate import ones_like, pull_back
from tapeless.compiler.pipeline import PASSES, optimize
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


@given(data=st.data(), backward=st.booleans())
@settings(max_examples=400)
def test_programs_stay_accurate_under_freer_rules(
    data: st.DataObject, backward: bool, random_program: Any
) -> None:
    """In the backward part, and under fast_math everywhere."""
    case = data.draw(random_program(backward=backward))
    every = Graph("f", case.graph.params, case.graph.nodes)
    found = results_or_reject(every, case.values)
    largest = max(float(np.max(np.abs(value), initial=0)) for value in found)
    before = run(case.graph, case.values)
    after = run(optimize(case.graph, fast_math=not backward), case.values)
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
    """The processor's time for some work: other processes and the garbage collector do not count."""
    gc.collect()
    gc.disable()
    try:
        start = time.process_time()
        work()
        return time.process_time() - start
    finally:
        gc.enable()


@pytest.mark.timing
def test_time_of_a_deep_chain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAPELESS_CHECK", "0")

    def least(length: int) -> float:
        graph = chain(length, DEEP["elementwise"])
        return min(seconds(lambda: optimize(graph)) for _ in range(3))

    # Ten times where it is linear, and more as memory leaves the cache.
    assert least(50_000) < 30 * least(5_000)


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
