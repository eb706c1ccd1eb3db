"""The verifier finds each kind of invalid graph, says what is wrong where, and that it is our bug."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.literal import Literal
from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ir.types import GENERATOR, array_type
from tapeless.compiler.ir.verify import CHECKS, VerifyError, verify

VECTOR = array_type((3,), np.dtype("f8"))
HERE = Loc("train.py", 38, "loss")


def chain() -> tuple[Builder, Node, list[Node]]:
    builder = Builder(HERE)
    x = builder.param("x", VECTOR)
    nodes = [x]
    for _ in range(12):
        nodes.append(builder.tanh(nodes[-1]))
    return builder, x, nodes


def wrong_type() -> Graph:
    _, x, nodes = chain()
    nodes[6].type = array_type((4,), np.dtype("f8"))
    return Graph("f", (x,), (nodes[-1],))


def cycle() -> Graph:
    _, x, nodes = chain()
    nodes[3].inputs = (nodes[6],)
    return Graph("f", (x,), (nodes[-1],))


def unlisted_param() -> Graph:
    _, _, nodes = chain()
    return Graph("f", (), (nodes[-1],))


def listed_twice() -> Graph:
    _, x, nodes = chain()
    return Graph("f", (x, x), (nodes[-1],))


def no_param() -> Graph:
    _, x, nodes = chain()
    return Graph("f", (x, nodes[1]), (nodes[-1],))


def param_of_another_type() -> Graph:
    _, x, nodes = chain()
    x.attrs = {**x.attrs, "of": array_type((), np.dtype("f4"))}
    return Graph("f", (x,), (nodes[-1],))


def unregistered() -> Graph:
    _, x, nodes = chain()
    op = OPS["tanh"]
    nodes[2].op = type(op)(op.name, op.doc, op.kind, op.type_rule, op.numpy, op.vjp)
    return Graph("f", (x,), (nodes[-1],))


def operand_is_no_node() -> Graph:
    _, x, nodes = chain()
    nodes[2].inputs = (3.0,)  # type: ignore[assignment]
    return Graph("f", (x,), (nodes[-1],))


def rule_fails() -> Graph:
    _, x, nodes = chain()
    nodes[2].inputs = (x, x)
    return Graph("f", (x,), (nodes[-1],))


def unhashable_attr() -> Graph:
    builder, x, _ = chain()
    node = builder.mark(x, tag=1)
    node.attrs = {"tag": [1]}
    return Graph("f", (x,), (node,))


def attr_without_text() -> Graph:
    builder, x, _ = chain()
    node = builder.mark(x, tag=1)
    node.attrs = {"tag": ...}
    return Graph("f", (x,), (node,))


def writeable_constant() -> Graph:
    builder, x, _ = chain()
    node = builder.constant(np.ones(3))
    node.attrs = {"value": Literal(np.ones(3))}
    return Graph("f", (x,), (builder.add(x, node),))


def constant_of_strings() -> Graph:
    node = Builder(HERE).constant(1.0)
    node.attrs = {"value": Literal("one")}
    return Graph("f", (), (node,))


def state_taken_twice() -> Graph:
    builder = Builder(HERE)
    rng = builder.param("rng", GENERATOR)
    name = next(name for name, op in OPS.items() for sample in op.samples if sample.name and "draw" in name)
    sample = OPS[name].samples[0]
    draws = [builder.make(OPS[name], (rng,), sample.attrs) for _ in "ab"]
    return Graph("f", (rng,), tuple(draws))


def without_loc() -> Graph:
    _, x, nodes = chain()
    nodes[2].loc = None  # type: ignore[assignment]
    return Graph("f", (x,), (nodes[-1],))


BROKEN: list[tuple[str, Callable[[], Graph]]] = [
    ("V1", listed_twice),
    ("V1", no_param),
    ("V1", param_of_another_type),
    ("V2", unlisted_param),
    ("V3", cycle),
    ("V4", unregistered),
    ("V5", wrong_type),
    ("V5", operand_is_no_node),
    ("V5", rule_fails),
    ("V6", unhashable_attr),
    ("V6", attr_without_text),
    ("V7", writeable_constant),
    ("V7", constant_of_strings),
    ("V8", state_taken_twice),
    ("V9", without_loc),
]


@pytest.mark.parametrize(("check", "make"), [pytest.param(*case, id=case[1].__name__) for case in BROKEN])
def test_broken_graph_is_found(check: str, make: Callable[[], Graph]) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(make(), "simplify")
    assert caught.value.check == check
    assert caught.value.stage == "simplify"
    message = str(caught.value)
    assert message.startswith(
        "invalid graph after the pass simplify. This is a bug of Tapeless, not of your program"
    )
    assert f"{check} ({CHECKS[check]})" in message


def test_every_check_has_a_case() -> None:
    assert {check for check, _ in BROKEN} == set(CHECKS)


def test_message_shows_the_node_with_neighbours_and_the_users_line() -> None:
    with pytest.raises(VerifyError) as caught:
        verify(wrong_type())
    assert str(caught.value).split("\n") == [
        "invalid graph. This is a bug of Tapeless, not of your program; please report it.",
        f"  V5 ({CHECKS['V5']}): the type rule of tanh gives f64[3], the node says f64[4]",
        "  the node stands for train.py:38 in loss",
        *[f"     %{i}: f64[3] = tanh %{i - 1 if i else 'x'}  # train.py:38 in loss" for i in range(5)],
        "  -> %5: f64[4] = tanh %4  # train.py:38 in loss",
        *[f"     %{i}: f64[3] = tanh %{i - 1}  # train.py:38 in loss" for i in range(6, 10)],
    ]


def test_every_sample_is_valid(every_sample: Any, sample_graph: Any) -> None:
    for name, sample in every_sample:
        graph = sample_graph(name, sample).graph
        assert verify(graph) is graph


@given(data=st.data())
def test_random_graphs_are_valid(data: st.DataObject, strategy: Any) -> None:
    verify(data.draw(strategy()).graph)


def test_get_does_not_take_a_state() -> None:
    builder = Builder()
    rng = builder.param("rng", GENERATOR)
    draw = builder.make(OPS["draw"], (rng,), OPS["draw"].samples[0].attrs)
    after, values = builder.get(draw, index=0), builder.get(draw, index=1)
    verify(Graph("f", (rng,), (after, values, draw)))


def test_a_deep_graph_is_verified() -> None:
    builder = Builder()
    x = node = builder.param("x", VECTOR)
    for _ in range(100_000):
        node = builder.tanh(node)
    verify(Graph("deep", (x,), (node,)))
    node.inputs[0].type = array_type((4,), np.dtype("f8"))
    with pytest.raises(VerifyError, match="V5"):
        verify(Graph("deep", (x,), (node,)))
