"""What repeats is drawn once: runs in sequences, unrolled loops and layers, branches, very large graphs."""

import re
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.draw import dot_source
from tapeless.compiler.drawing.collapse import collapse
from tapeless.compiler.drawing.labels import names_text
from tapeless.compiler.drawing.parts import Part, parts_of
from tapeless.compiler.drawing.runs import Run, periodic_runs
from tapeless.compiler.drawing.scene import Link, Role, Scene, scene_of
from tapeless.compiler.ir import Builder, Graph, Loc, Node
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.passes.differentiate import ones_like, pull_back

F8 = np.dtype("f8")
SQUARE = array_type((4, 4), F8)


# ---- runs in sequences


@pytest.mark.parametrize(
    ("sequence", "runs"),
    [
        pytest.param([], [], id="empty"),
        pytest.param([1, 2, 3, 1, 2, 3], [], id="two-copies"),
        pytest.param([5] * 4, [Run(0, 4, 1)], id="one-element"),
        pytest.param([9, *[1, 2, 3] * 3, 1, 9], [Run(1, 11, 3)], id="incomplete-last-copy"),
        pytest.param(
            [*[1, 1, 1, 2] * 3], [Run(0, 3, 1), Run(4, 7, 1), Run(8, 11, 1), Run(0, 12, 4)], id="nested"
        ),
    ],
)
def test_runs(sequence: list[int], runs: list[Run]) -> None:
    assert periodic_runs(sequence) == runs


@given(
    st.lists(st.integers(0, 2), max_size=12),
    st.lists(st.integers(0, 2), min_size=1, max_size=7),
    st.integers(3, 9),
    st.lists(st.integers(0, 2), max_size=12),
)
def test_runs_are_right_and_none_is_missed(
    before: list[int], pattern: list[int], copies: int, after: list[int]
) -> None:
    sequence = before + pattern * copies + after
    runs = periodic_runs(sequence)
    for start, stop, period in runs:
        assert (stop - start) // period >= 3
        assert sequence[start : stop - period] == sequence[start + period : stop]
    first, last = len(before), len(before) + len(pattern) * copies
    assert any(run.start <= first and run.stop >= last and len(pattern) % run.period == 0 for run in runs)


# ---- graphs with repeats


def recurrence(steps: int, train: bool = False) -> Graph:
    """A recurrent network: h = tanh(x[t] @ w + h @ u + b), its loss, and its updates if it is trained."""
    b = Builder()
    x, y, h0 = (
        b.param("x", array_type((steps, 4, 4), F8)),
        b.param("y", SQUARE),
        b.param("h0", SQUARE),
    )
    w, u = b.param("params.w", SQUARE), b.param("params.u", SQUARE)
    h = h0
    for step in range(steps):
        b.loc = Loc("rnn.py", 3, "loss")
        row = b.reshape(b.slice(x, start=(step, 0, 0), size=(1, 4, 4), step=(1, 1, 1)), (4, 4))
        h = b.tanh(b.add(b.matmul(row, w), b.matmul(h, u)))
    b.loc = Loc("rnn.py", 4, "loss")
    error = b.subtract(h, y)
    loss = b.sum(b.multiply(error, error), axes=(0, 1), dtype=F8)
    params = (w, u, x, y, h0)
    if not train:
        return Graph("rnn", params, (loss,))
    gradients = pull_back(b, [loss], [ones_like(b, loss)], [w, u])
    b.loc = Loc("rnn.py", 9, "step")
    rate = b.constant(np.float64(0.1))
    updated = [b.subtract(p, b.multiply(g, rate)) for p, g in zip((w, u), gradients, strict=True) if g]
    return Graph("rnn", params, (loss, *updated))


def layers(count: int) -> Graph:
    """Residual layers with parameters of their own: h = h + tanh(h @ w[k])."""
    b = Builder()
    h = x = b.param("x", SQUARE)
    weights = [b.param(f"layers[{number}].w", SQUARE) for number in range(count)]
    for weight in weights:
        h = b.add(h, b.tanh(b.exp(b.matmul(h, weight))))
    return Graph("layers", (x, *weights), (h,))


def chain(length: int) -> Graph:
    """sin(0.5 x + x0) over and over."""
    b = Builder()
    x = first = b.param("x", array_type((4,), F8))
    half = b.constant(np.float64(0.5))
    for _ in range(length // 4):
        x = b.sin(b.tanh(b.add(b.multiply(x, half), first)))
    return Graph("chain", (first,), (x,))


def branches(count: int) -> Graph:
    """The same computation on many inputs, put together at the end."""
    b = Builder()
    xs = [b.param(f"x{number}", array_type((3,), F8)) for number in range(count)]
    ends = [b.sqrt(b.exp(b.sin(b.multiply(x, b.tanh(x))))) for x in xs]
    return Graph("branches", tuple(xs), (b.concatenate(*ends, axis=0),))


def counts(scene: Scene) -> list[tuple[Part, int, int]]:
    """Part, number of copies and size of each repeat."""
    return [(repeat.part, repeat.count, len(repeat.copies[0])) for repeat in scene.repeats]


def test_an_unrolled_loop_is_one_box_with_its_carried_values() -> None:
    scene = scene_of(recurrence(30))
    assert counts(scene) == [(Part.FORWARD, 30, 6)]
    inside = {str(item.label).split()[1] for item in scene.items if item.repeat}
    assert inside == {"slice", "reshape", "matmul", "add", "tanh"}
    carried = [edge for edge in scene.edges if edge.link is Link.CARRIED]
    assert [(edge.source.label.title, edge.target.label.title) for edge in carried] == [("tanh", "matmul")]
    assert any("slice […]" in str(item.label) for item in scene.items)
    text = dot_source(recurrence(30))
    assert "<b>× 30</b>" in text
    assert text.count("subgraph cluster_repeat") == 1
    assert re.search(r'"h0" -> "\w+" .*headlabel="1 first"', text)
    assert 'headlabel="1 last"' in text
    assert 'headlabel="1 next"' in text


def test_every_copy_has_the_wiring_that_is_shown() -> None:
    """Nodes of a copy stand for those of the first: same ops, same wires inside and to the copy before."""
    graph = recurrence(20, train=True)
    found = collapse(parts_of(graph), lambda node: node.op.name == "constant")
    assert {repeat.part for repeat in found.repeats} == {Part.FORWARD, Part.BACKWARD}
    seen: set[Node] = set()
    for repeat in found.repeats:
        place = {node: (k, q) for k, copy in enumerate(repeat.copies) for q, node in enumerate(copy)}
        assert len(place) == repeat.count * len(repeat.copies[0])
        assert seen.isdisjoint(place)
        seen |= place.keys()
        for q, nodes in enumerate(zip(*repeat.copies, strict=True)):
            assert len({(node.op, node.type) for node in nodes}) == 1
            wires = {
                tuple((k - place[o][0], place[o][1]) if o in place else None for o in node.inputs)
                for k, node in enumerate(nodes)
                if k
            }
            assert len(wires) == 1, repeat.copies[0][q]


def test_layers_with_parameters_of_their_own_show_one_parameter() -> None:
    scene = scene_of(layers(20), parameters=[f"layers[{number}].w" for number in range(20)])
    assert counts(scene) == [(Part.FORWARD, 20, 4)]
    assert [str(item.label) for item in scene.items if item.role is Role.PARAMETER] == [
        "layers[0…19].w × 20 f64[4,4]"
    ]


def test_branches_are_one_box() -> None:
    scene = scene_of(branches(40))
    assert counts(scene) == [(Part.FORWARD, 40, 5)]
    assert len(scene.items) == 1 + 5 + 1 + 1
    assert not [edge for edge in scene.edges if edge.link is Link.CARRIED]


def test_repeats_nest() -> None:
    b = Builder()
    x = b.param("x", SQUARE)
    y = x
    for _ in range(12):
        y = b.exp(y)
        for _ in range(10):
            y = b.tanh(b.sin(y))
    scene = scene_of(Graph("nested", (x,), (y,)))
    assert counts(scene) == [(Part.FORWARD, 12, 21), (Part.FORWARD, 10, 2)]
    assert scene.repeats[1].parent is scene.repeats[0]
    assert len(scene.items) == 1 + 3 + 1
    assert "× 12" in dot_source(Graph("nested", (x,), (y,)))


def test_a_thousand_nodes_are_a_picture_someone_can_read() -> None:
    graph = recurrence(64, train=True)
    assert len(graph.nodes) > 900
    scene = scene_of(graph)
    assert len(scene.items) < 60
    assert {edge.link for edge in scene.edges} == set(Link)
    forward, *backward = scene.repeats
    assert (forward.part, forward.count) == (Part.FORWARD, 64)
    assert {repeat.count for repeat in backward} == {63}
    residuals = [edge for edge in scene.edges if edge.link is Link.RESIDUAL]
    assert max(len(edge.values) for edge in residuals) == 63


@pytest.mark.parametrize("make", [recurrence, layers, branches], ids=lambda make: make.__name__)
def test_expand_shows_every_node(make: Callable[[int], Graph]) -> None:
    graph = make(30)
    scene = scene_of(graph, expand=True)
    assert not scene.repeats
    assert len(scene.items) == len(graph.nodes) + len(graph.outputs)
    assert "cluster_repeat" not in dot_source(graph, expand=True)


def test_a_small_graph_is_shown_as_it_is() -> None:
    scene = scene_of(layers(12))
    assert not scene.repeats
    assert sum(item.role is Role.COMPUTE for item in scene.items) == 48


def test_views_that_follow_one_another_are_one_item_in_a_large_graph() -> None:
    b = Builder()
    xs = [b.param(f"x{number}", array_type((number + 2, 3), F8)) for number in range(25)]
    ends = [b.exp(b.reshape(b.transpose(x, axes=(1, 0)), (3 * (number + 2),))) for number, x in enumerate(xs)]
    scene = scene_of(Graph("views", tuple(xs), tuple(ends)))
    views = [str(item.label) for item in scene.items if item.role is Role.VIEW]
    assert len(views) == 25
    assert views[0] == "%1 transpose · reshape f64[6]"


def irregular(lines: int) -> Graph:
    """Many different computations, twenty nodes to a line of code."""
    b = Builder()
    total = x = b.param("x", array_type((2,), F8))
    for line in range(lines):
        b.loc = Loc("big.py", line + 1, "f")
        for number in range(20):
            op = (b.sin, b.cos, b.exp, b.tanh)[(line * line + number * number * 7 + line * number) % 4]
            total = b.add(op(total), x) if (line + number) % 3 else op(total)
    return Graph("irregular", (x,), (total,))


def test_a_crowded_picture_shows_lines_of_code() -> None:
    graph = irregular(40)
    scene = scene_of(graph)
    assert len(graph.nodes) > 1000
    assert len(scene.items) < 120
    assert any(str(item.label).startswith("line ") for item in scene.items)


def test_many_inputs_to_one_place_are_one_item() -> None:
    b = Builder()
    xs = [b.param(f"x{number}", array_type((2,), F8)) for number in range(1000)]
    y = b.concatenate(*xs, axis=0)
    for _ in range(70):
        y = b.exp(y)
    scene = scene_of(Graph("many", tuple(xs), (y,)))
    assert [str(item.label) for item in scene.items if item.role is Role.INPUT] == ["x0…999 × 1,000 f64[2]"]


@pytest.mark.parametrize(
    ("names", "text"),
    [
        pytest.param(["w"], "w", id="one"),
        pytest.param(["layers[8].w", "layers[9].w", "layers[10].w"], "layers[8…10].w", id="numbers"),
        pytest.param(["w1", "w10", "w100"], "w1…100", id="growing"),
        pytest.param(["left", "right"], "left, right", id="two-words"),
        pytest.param(["a", "b", "c"], "a … c", id="words"),
        pytest.param(["x1y1", "x2y2", "x3y3"], "x1y1 … x3y3", id="two-numbers"),
    ],
)
def test_names_as_one(names: list[str], text: str) -> None:
    assert names_text(names) == text


def test_a_long_chain_is_one_box() -> None:
    graph = chain(20_000)
    scene = scene_of(graph)
    assert counts(scene) == [(Part.FORWARD, 5_000, 4)]


@pytest.mark.timing
def test_a_chain_of_100_000_nodes_takes_seconds() -> None:
    graph = chain(100_000)
    start = time.perf_counter()
    text = dot_source(graph)
    assert time.perf_counter() - start < 20
    assert len(text) < 5_000
