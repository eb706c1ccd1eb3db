"""Graphs as graphs: order, users, rebuilding, equality up to renaming, networkx; all on deep ones too."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.builder import attrs_key
from tapeless.compiler.ir.equal import structurally_equal
from tapeless.compiler.ir.literal import Literal
from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.types import GENERATOR, array_type
from tapeless.compiler.ir.visit import reaches, rebuild, topological, users

VECTOR = array_type((3,), np.dtype("f8"))


def deep(length: int) -> Graph:
    builder = Builder()
    x = node = builder.param("x", VECTOR)
    for _ in range(length):
        node = builder.add(node, builder.tanh(node))
    return Graph("deep", (x,), (node,))


@given(data=st.data())
def test_order_is_topological(data: st.DataObject, strategy: Any) -> None:
    graph = data.draw(strategy()).graph
    place = {node: number for number, node in enumerate(graph.nodes)}
    assert graph.nodes[: len(graph.params)] == graph.params
    for node in graph.nodes:
        assert all(place[operand] < place[node] for operand in node.inputs)
    assert set(topological(graph.outputs)) <= set(graph.nodes)


@given(data=st.data())
def test_users_and_reach(data: st.DataObject, strategy: Any) -> None:
    graph = data.draw(strategy()).graph
    readers = users(graph.nodes)
    assert sum(map(len, readers.values())) == sum(len(node.inputs) for node in graph.nodes)
    for node, its in readers.items():
        assert all(node in user.inputs for user in its)
    start = data.draw(st.sampled_from(graph.nodes))
    found = reaches([start], graph.nodes)
    assert found == {start} | {node for node in graph.nodes if found.intersection(node.inputs)}


@given(data=st.data())
def test_networkx_agrees(data: st.DataObject, strategy: Any) -> None:
    import networkx

    graph = data.draw(strategy()).graph
    seen = graph.to_networkx()
    assert networkx.is_directed_acyclic_graph(seen)
    assert seen.number_of_nodes() == len(graph.nodes)
    assert [seen.nodes[i]["node"] for i in seen] == list(graph.nodes)
    for i, node in enumerate(graph.nodes):
        edges = sorted(seen.in_edges(i, data="position"), key=lambda edge: edge[2])
        assert [graph.nodes[source] for source, _, _ in edges] == list(node.inputs)


def isomorphic(one: Graph, two: Graph) -> bool:
    """Equality by networkx: the judge of `structurally_equal` on small graphs."""
    import networkx

    def labelled(graph: Graph) -> Any:
        result = networkx.DiGraph()
        for i, node in enumerate(graph.nodes):
            param = graph.params.index(node) if node in graph.params else None
            outputs = tuple(place for place, output in enumerate(graph.outputs) if output is node)
            attrs = () if param is not None else attrs_key(node.attrs)
            result.add_node(i, label=(node.op.name, str(node.type), attrs, param, outputs))
        place = {node: number for number, node in enumerate(graph.nodes)}
        for node in graph.nodes:
            for operand in node.inputs:
                positions = tuple(p for p, other in enumerate(node.inputs) if other is operand)
                result.add_edge(place[operand], place[node], label=positions)
        return result

    def same(a: Any, b: Any) -> bool:
        return bool(a["label"] == b["label"])

    return bool(networkx.is_isomorphic(labelled(one), labelled(two), node_match=same, edge_match=same))


SMALL = ("add", "multiply", "tanh", "negative", "where", "slice")


@given(data=st.data())
def test_structural_equality_is_isomorphism(data: st.DataObject, strategy: Any) -> None:
    one, two = (data.draw(strategy(only=SMALL, most=3)).graph for _ in "ab")
    assert structurally_equal(one, two) == isomorphic(one, two)
    assert structurally_equal(one, parse(str(one).replace("%p", "%renamed")))
    assert isomorphic(one, parse(str(one)))


DIFFERENT = [
    ("op", "%0: f64[3] = add %x, %y return %0"),
    ("operands", "%0: f64[3] = subtract %y, %x return %0"),
    ("outputs", "%0: f64[3] = subtract %x, %y return %0, %0"),
    ("one_operand", "%0: f64[3] = subtract %x, %x return %0"),
    ("nothing", "return %x"),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in DIFFERENT])
def test_difference_is_seen(body: str) -> None:
    head = "graph @f(%x: f64[3], %y: f64[3])"
    graph = parse(f"{head} {{ %0: f64[3] = subtract %x, %y return %0 }}")
    assert not structurally_equal(graph, parse(f"{head} {{ {body} }}"))
    assert structurally_equal(graph, graph)


def test_sharing_params_attrs_and_types_count() -> None:
    shared = parse("graph @f(%x: f64[]) { %0: f64[] = exp %x %1: f64[] = add %0, %0 return %1 }")
    twice = parse(
        "graph @f(%x: f64[]) { %0: f64[] = exp %x %1: f64[] = exp %x %2: f64[] = add %0, %1 return %2 }"
    )
    assert not structurally_equal(shared, twice)
    assert not structurally_equal(twice, shared)
    unread = [parse(f"graph @f(%x: {kind}[]) {{ return }}") for kind in ("f64", "f32")]
    assert not structurally_equal(*unread)
    marks = [
        parse(f"graph @f(%x: f64[]) {{ %0: f64[] = mark %x {{tag={tag}}} return %0 }}")
        for tag in ("1", "1.0")
    ]
    assert not structurally_equal(*marks)


def test_large_constants_are_equal_by_value() -> None:
    graphs = [Graph("f", (), (Builder().constant(np.arange(10_000.0)),)) for _ in "ab"]
    assert structurally_equal(*graphs)
    other = Graph("f", (), (Builder().constant(np.arange(10_000.0) + 1),))
    assert not structurally_equal(graphs[0], other)


@given(data=st.data())
def test_rebuilding_with_nothing_to_change_gives_the_same_graph(data: st.DataObject, strategy: Any) -> None:
    graph = data.draw(strategy()).graph
    again = rebuild(graph, Builder(), lambda builder, node, inputs: None)
    assert again.outputs == graph.outputs


def test_deep_graphs() -> None:
    graph = deep(50_000)
    assert len(graph.nodes) == 100_001
    assert structurally_equal(graph, deep(50_000))
    assert not structurally_equal(graph, deep(49_999))
    assert graph.to_networkx().number_of_edges() == 150_000
    assert len(reaches(graph.params, graph.nodes)) == 100_001
    exchanged = rebuild(
        graph, Builder(), lambda b, node, inputs: b.exp(*inputs) if node.op.name == "tanh" else None
    )
    assert sum(node.op.name == "exp" for node in exchanged.nodes) == 50_000


# What the builder merges.


def test_builder_interns() -> None:
    b = Builder()
    x = b.param("x", VECTOR)
    assert b.tanh(x) is b.tanh(x)
    assert b.param("x", VECTOR) is not x
    assert b.constant(1.0) is not b.constant(1)
    assert b.constant(True) is not b.constant(1)
    assert b.constant(0.0) is not b.constant(-0.0)
    assert b.mark(x, tag=0.0) is not b.mark(x, tag=-0.0)
    assert b.mark(x, tag=(0.0,)) is not b.mark(x, tag=(-0.0,))
    assert b.mark(x, tag=1) is not b.mark(x, tag=True)


def test_builder_without_interning() -> None:
    b = Builder(intern=False)
    x = b.param("x", VECTOR)
    assert b.tanh(x) is not b.tanh(x)


def test_builder_keeps_settings_and_parts_apart() -> None:
    b = Builder(Loc("f.py", 1, "f"))
    x = b.param("x", VECTOR)
    plain = b.log(x)
    b.loc = Loc("f.py", 2, "f", errstate=(("divide", "raise"),))
    assert b.log(x) is not plain
    b.loc = Loc("f.py", 1, "f", backward=True)
    assert b.log(x) is plain
    derived = b.exp(x)
    b.loc = Loc("f.py", 3, "f")
    written = b.exp(x)
    assert written is not derived
    assert not written.loc.backward
    assert b.exp(x) is written


def test_draws_are_never_merged() -> None:
    b = Builder()
    rng = b.param("rng", GENERATOR)
    attrs = OPS["draw"].samples[0].attrs
    assert b.make(OPS["draw"], (rng,), attrs) is not b.make(OPS["draw"], (rng,), attrs)


def test_literals_are_told_apart_by_layout() -> None:
    values = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert Literal.of(values) == Literal.of(values.copy())
    assert Literal.of(values) != Literal.of(np.asfortranarray(values))
    assert hash(Literal.of(values)) == hash(Literal.of(values.copy()))
    assert Literal.of(np.array(np.nan)) == Literal.of(np.array(np.nan))
    assert Literal.of(1.0) != Literal.of(np.array(1.0))


def test_node_has_no_other_attributes() -> None:
    x = Builder().param("x", VECTOR)
    with pytest.raises(AttributeError):
        x.name = "x"  # type: ignore[attr-defined]
    assert isinstance(x, Node)
