"""Pictures of graphs as DOT text: what is shown, where it stands, how it looks, what it is called."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapeless.compiler.draw import dot_source, draw
from tapeless.compiler.drawing.parts import Part
from tapeless.compiler.drawing.scene import Link, Role, Scene, scene_of
from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.types import array_type, scalar_type
from tapeless.compiler.passes.differentiate import ones_like, pull_back

F8 = np.dtype("f8")


def at(b: Builder, line: int, function: str = "loss") -> None:
    b.loc = Loc("train.py", line, function)


def neuron() -> Graph:
    """(w x + b)² on Python floats with its three gradients."""
    b = Builder()
    w, x, bias = (b.param(name, scalar_type(float)) for name in ("w", "x", "b"))
    at(b, 2)
    total = b.add(b.multiply(w, x), bias)
    loss = b.multiply(total, total)
    gradients = pull_back(b, [loss], [ones_like(b, loss)], [w, x, bias])
    return Graph("neuron", (w, x, bias), (loss, *filter(None, gradients)))


def layer_step() -> Graph:
    """One tanh layer, its loss, gradients and updates: all three parts, views, reductions, constants."""
    b = Builder()
    x, y = b.param("x", array_type((8, 3), F8)), b.param("y", array_type((8, 2), F8))
    w, bias = b.param("params.w", array_type((3, 2), F8)), b.param("params.b", array_type((2,), F8))
    at(b, 2)
    hidden = b.tanh(b.add(b.matmul(x, w), b.broadcast_to(bias, (8, 2))))
    at(b, 3)
    error = b.subtract(hidden, y)
    loss = b.sum(b.multiply(error, error), axes=(0, 1), dtype=F8)
    gradients = pull_back(b, [loss], [ones_like(b, loss)], [w, bias])
    at(b, 9, "train_step")
    rate = b.constant(np.float64(0.5))
    updated = [b.subtract(p, b.multiply(rate, g)) for p, g in zip((w, bias), gradients, strict=True) if g]
    return Graph("layer_step", (w, bias, x, y), (loss, *updated))


def items(scene: Scene, part: Part | None = None, role: Role | None = None) -> list[str]:
    """The labels of the items of a part or role."""
    return [
        str(item.label)
        for item in scene.items
        if (part is None or item.part is part) and (role is None or item.role is role)
    ]


def edges(scene: Scene, link: Link) -> set[tuple[str, str]]:
    return {(edge.source.key, edge.target.key) for edge in scene.edges if edge.link is link}


def node_line(text: str, key: str) -> str:
    """The statement of one node."""
    (line,) = re.findall(rf'^ *"{re.escape(key)}" \[.*\]$', text, re.MULTILINE)
    return str(line)


def cluster(text: str, name: str) -> str:
    """The block of one cluster."""
    (block,) = re.findall(rf"^( *)subgraph cluster_{name} {{\n(.*?)\n\1}}$", text, re.MULTILINE | re.DOTALL)
    return str(block[1])


# ---- whole texts


@pytest.mark.parametrize("graph", [neuron, layer_step])
def test_dot_text(graph: Callable[[], Graph], golden: Callable[[str, str], None]) -> None:
    golden(f"draw_{graph.__name__}", dot_source(graph()))


# ---- what stands where


def test_parts_are_clusters() -> None:
    scene = scene_of(layer_step())
    text = dot_source(layer_step())
    for part in Part:
        inside = cluster(text, part.value)
        for item in scene.items:
            assert (f'"{item.key}" [' in inside) == (item.part is part)
    assert "%3 tanh f64[8,2]" in items(scene, Part.FORWARD)
    assert any("matmul" in label for label in items(scene, Part.BACKWARD))
    assert any("subtract params.w ·" in label for label in items(scene, Part.UPDATE))


def test_a_graph_without_derivatives_has_no_clusters() -> None:
    b = Builder()
    x = b.param("x", array_type((3,), F8))
    text = dot_source(Graph("f", (x,), (b.exp(b.negative(x)),)))
    assert "cluster" not in text
    assert 'dir="back"' not in text
    assert [f'"{a}" -> "{c}"' in text for a, c in (("x", "0"), ("0", "1"), ("1", "return 0"))] == [True] * 3


def test_residuals_are_the_forward_values_that_the_backward_part_reads() -> None:
    graph = layer_step()
    scene = scene_of(graph)
    forward = {node for node in graph.nodes if node.inputs and not node.loc.backward}
    names = {item.key for item in scene.items if item.part is Part.FORWARD}
    crossing = {
        (source, target)
        for source, target in ((e.source.key, e.target.key) for e in scene.edges)
        if source in names and target in {item.key for item in scene.items if item.part is Part.BACKWARD}
    }
    assert edges(scene, Link.RESIDUAL) == crossing
    assert {source for source, _ in crossing} == {"3", "4"}
    assert len(forward) > len({source for source, _ in crossing})
    text = dot_source(graph)
    bold = set(re.findall(r'"(\w+)" -> "(\w+)" \[[^]]*penwidth="2.4"', text))
    assert bold == crossing


def test_the_backward_part_is_drawn_against_the_ranks() -> None:
    text = dot_source(layer_step())
    backward = {
        item.key for item in scene_of(layer_step()).items if item.part in (Part.BACKWARD, Part.UPDATE)
    }
    arrows = re.findall(r'^ *"([^"]+)" -> "([^"]+)" \[(.*)\]$', text, re.MULTILINE)
    turned = {(a, b) for a, b, attrs in arrows if 'dir="back"' in attrs}
    assert turned == {(a, b) for a, b, _ in arrows if b in backward and a in backward}
    assert turned


def test_roles_have_shapes_of_their_own() -> None:
    b = Builder()
    x = b.param("x", array_type((2, 3), F8))
    table = b.constant(np.arange(6.0).reshape(2, 3))
    text = dot_source(Graph("f", (x,), (b.transpose(b.add(x, table), axes=(1, 0)),)))
    step = dot_source(layer_step())
    shapes = {
        "input": node_line(text, "x"),
        "constant": node_line(text, "0"),
        "output": node_line(text, "return 0"),
        "parameter": node_line(step, "params.w"),
    }
    found = {role: re.search(r'shape="(\w+)"', line)[1] for role, line in shapes.items()}  # type: ignore[index]
    assert found == {"input": "cds", "constant": "note", "output": "ellipse", "parameter": "cylinder"}
    fills = {re.search(r'fillcolor="(\S+)"', line)[1] for line in shapes.values()}  # type: ignore[index]
    assert len(fills) == 4
    assert "dashed" in node_line(text, "2")
    assert "dashed" not in node_line(text, "1")


@pytest.mark.parametrize("named", [None, ["x"]], ids=["updated", "named"])
def test_parameters_are_those_updated_or_named(named: list[str] | None) -> None:
    scene = scene_of(layer_step(), parameters=named)
    expected = ["params.w f64[3,2]", "params.b f64[2]"] if named is None else ["x f64[8,3]"]
    assert items(scene, role=Role.PARAMETER) == expected


def test_leaves_with_cotangents_are_parameters_where_nothing_is_updated() -> None:
    b = Builder()
    x, w = b.param("x", array_type((3,), F8)), b.param("params.w", array_type((3,), F8))
    loss = b.sum(b.multiply(x, w), axes=(0,), dtype=F8)
    (gradient,) = pull_back(b, [loss], [ones_like(b, loss)], [w])
    assert gradient is not None
    scene = scene_of(Graph("f", (x, w), (loss, gradient)))
    assert items(scene, role=Role.PARAMETER) == ["params.w f64[3]"]


# ---- labels


def label_of(make: Callable[[Builder, Node], Node]) -> str:
    b = Builder()
    x = b.param("x", array_type((4, 6), F8))
    scene = scene_of(Graph("f", (x,), (make(b, x),)))
    return items(scene, role=None)[-2]


@pytest.mark.parametrize(
    ("make", "label"),
    [
        pytest.param(lambda b, x: b.tanh(x), "%0 tanh f64[4,6]", id="plain"),
        pytest.param(
            lambda b, x: b.multiply(x, b.constant(np.float64(0.5))), "%1 multiply · 0.5 f64[4,6]", id="scalar"
        ),
        pytest.param(
            lambda b, x: b.divide(b.constant(np.float64(1)), x), "%1 divide 1.0 · f64[4,6]", id="scalar-first"
        ),
        pytest.param(
            lambda b, x: b.where(b.greater(x, b.constant(np.float64(0))), x, b.zeros(x.type)),
            "%3 where · · 0.0 f64[4,6]",
            id="repeated-scalar",
        ),
        pytest.param(lambda b, x: b.sum(x, axes=(1,), dtype=F8), "%0 sum axes=(1,) f64[4]", id="axes"),
        pytest.param(lambda b, x: b.transpose(x, axes=(1, 0)), "%0 transpose f64[6,4]", id="transposed"),
        pytest.param(lambda b, x: b.reshape(x, (24,)), "%0 reshape f64[24]", id="reshape"),
        pytest.param(
            lambda b, x: b.slice(x, start=(1, 5), size=(2, 3), step=(1, -2)),
            "%0 slice [1:3, ::-2] f64[2,3]",
            id="slice",
        ),
    ],
)
def test_label(make: Callable[[Builder, Node], Node], label: str) -> None:
    assert label_of(make) == label


def test_operand_order_is_written_where_it_matters() -> None:
    b = Builder()
    x, y = b.param("x", array_type((2, 2), F8)), b.param("y", array_type((2, 2), F8))
    text = dot_source(Graph("f", (x, y), (b.subtract(y, x), b.add(x, y), b.matmul(x, x))))

    def number(source: str, target: str) -> str | None:
        line = next(line for line in text.splitlines() if f'"{source}" -> "{target}"' in line)
        found = re.search(r'headlabel="([^"]*)"', line)
        return found and found[1]

    assert (number("y", "0"), number("x", "0")) == ("1", "2")
    assert (number("x", "1"), number("y", "1")) == (None, None)
    assert number("x", "2") is None


def test_outputs_have_the_names_given() -> None:
    scene = scene_of(layer_step(), outputs=["loss", "→ params.w", "→ params.b"])
    assert items(scene, role=Role.OUTPUT) == ["loss", "→ params.w", "→ params.b"]


def test_an_output_may_be_a_param_a_constant_or_given_twice() -> None:
    b = Builder()
    x = b.param("x", array_type((3,), F8))
    one, y = b.constant(np.float64(1)), b.exp(x)
    text = dot_source(Graph("f", (x,), (x, one, y, y)))
    arrows = re.findall(r'"(\S+)" -> "(return \d)"', text)
    assert arrows == [("x", "return 0"), ("0", "return 1"), ("1", "return 2"), ("1", "return 3")]


# ---- tooltips and odd names


def test_tooltips_show_definition_and_source(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text('def f(x):\n    return np.tanh(x * 2)  # "quoted" \\ and <b>\n')
    b = Builder(Loc(str(file), 2, "f"))
    x = b.param("x", array_type((3,), F8))
    line = node_line(dot_source(Graph("f", (x,), (b.tanh(x),))), "0")
    expected = (
        "%0 tanh f64[3]\\n%0: f64[3] = tanh %x\\n"
        'return np.tanh(x * 2)  # \\"quoted\\" \\\\ and <b>\\nmodel.py:2, in f'
    )
    assert f'tooltip="{expected}"' in line
    assert str(tmp_path) not in line


def test_backward_tooltips_say_whose_cotangent_they_are() -> None:
    b = Builder(Loc(__file__, 1, "f"))
    x = b.param("x", array_type((3,), F8))
    y = b.exp(x)
    (ct,) = pull_back(b, [y], [b.full(1, y.type)], [x])
    assert ct is not None
    scene = scene_of(Graph("f", (x,), (ct,)))
    tooltip = next(item.tooltip for item in scene.items if item.part is Part.BACKWARD)
    assert f'cotangent of """{__doc__.splitlines()[0]}' in tooltip


ODD = [
    'a"b',
    "back\\slash",
    "<i>&amp;</i>",
    "line\nbreak",
    "\x00\x1b",
    "θ̂",
    "x:port",
    "%3",
    "->",
    "",
    "\ud800",
]


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_odd_names_are_escaped(name: str) -> None:
    b = Builder(Loc(f"/dir/{name}.py", 1, name))
    x = b.param(name, array_type((3,), F8))
    graph = Graph(name, (x,), (b.exp(x),))
    drawing = draw(graph)
    assert not isinstance(drawing, Path)
    text = drawing.source
    assert all(character.isprintable() or character == "\n" for character in text)
    assert drawing.render("svg").count(b'<g id="node') == 3
    assert len(text.splitlines()) == len(dot_source(neuron_of("x")).splitlines())


def neuron_of(name: str) -> Graph:
    b = Builder()
    x = b.param(name, array_type((3,), F8))
    return Graph("f", (x,), (b.exp(x),))


def test_node_keys_do_not_begin_with_a_sign_that_graphviz_takes() -> None:
    """Graphviz gives anonymous nodes names such as %3, and renames ours if they look like that."""
    drawing = draw(layer_step())
    assert not isinstance(drawing, Path)
    titles = set(re.findall(rb"<title>(\w+)</title>", drawing.render("svg")))
    assert {b"0", b"3", b"4"} <= titles


# ---- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"direction": "up"}, "direction is 'up', not 'TB' or 'LR'", id="direction"),
        pytest.param({"outputs": ["loss"]}, "1 names for 3 outputs", id="outputs"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dot_source(layer_step(), **options)


def test_direction_and_background() -> None:
    text = dot_source(layer_step(), direction="LR", background="#101010")
    assert 'rankdir="LR"' in text
    assert 'bgcolor="#101010"' in text
    assert "<br/>" in node_line(text, "3")
    assert 'bgcolor="transparent"' in dot_source(layer_step())


# ---- every graph


@settings(max_examples=60)
@given(st.data())
def test_every_graph_is_drawn_whole(strategy: Any, data: st.DataObject) -> None:
    """With `expand`, each node is one item or said in a label; each edge of the graph is drawn or said."""
    graph = data.draw(strategy(backward=True)).graph
    scene = scene_of(graph, expand=True)
    shown = {item.key for item in scene.items}
    assert len(shown) == len(scene.items)
    folded = len(graph.nodes) + len(graph.outputs) - len(scene.items)
    scalars = sum(node.op.name in ("constant", "broadcast") for node in graph.nodes)
    assert 0 <= folded <= scalars
    for edge in scene.edges:
        assert {edge.source.key, edge.target.key} <= shown
    assert dot_source(graph) == dot_source(graph)
