"""The picture of a plan: steps down the page, the arena beside them, a rectangle for each value."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.draw import dot_source, draw, output_names
from tapeless.compiler.drawing.plan_dot import MOST, Page, Tile, _tiles, bytes_text
from tapeless.compiler.ir import Builder, Graph
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.plan import Plan, Target, make_plan

F8 = np.dtype("f8")


def small_plan() -> Plan:
    """Views, values in place, a result with memory of its own, and a param that is written to."""
    b = Builder()
    x, w = b.param("x", array_type((8, 4), F8)), b.param("w", array_type((4, 8), F8))
    product = b.matmul(x, w)
    wide = b.tanh(b.add(product, b.broadcast_to(b.sum(product, axes=(0,), dtype=F8), (8, 8))))
    new = b.subtract(w, b.matmul(b.transpose(x, axes=(1, 0)), wide))
    graph = Graph("small", (x, w), (b.exp(wide), b.sum(wide, axes=(0, 1), dtype=F8), new))
    return make_plan(graph, [None, None], [Target("fresh"), Target("scalar"), Target("commit", param=1)])


def wide_plan(count: int) -> Plan:
    """Values that are made early and read late, in the reverse order."""
    b = Builder()
    x = b.param("x", array_type((8,), F8))
    values = [b.sin(x)]
    for _ in range(count):
        values.append(b.tanh(b.exp(values[-1])))
    total = values.pop()
    for value in reversed(values):
        total = b.multiply(total, value)
    return make_plan(Graph("wide", (x,), (total,)), [None], [Target("fresh")])


def test_dot_text(golden: Callable[[str, str], None]) -> None:
    golden("draw_plan", dot_source(small_plan()))


def boxes(text: str, kind: str) -> dict[str, tuple[float, float, float, float]]:
    """Left, top, width and height of the boxes of one kind, in points down the page."""
    found = {}
    pattern = rf'^  "{kind} (\d+)" \[pos="(\S+),(\S+)!", width="(\S+)", height="(\S+)"'
    for number, *numbers in re.findall(pattern, text, re.MULTILINE):
        x, y, width, height = (72 * float(text) for text in numbers)
        found[number] = (x - width / 2, -y - height / 2, width, height)
    return found


def test_a_value_is_as_wide_as_its_bytes_and_as_tall_as_its_life() -> None:
    plan = small_plan()
    page = Page.of(len(plan.steps), expand=False)
    drawn = boxes(dot_source(plan), "value")
    tiles = _tiles(plan, page)
    assert len(drawn) == len(tiles) > 3
    for tile, (left, top, width, height) in zip(tiles, drawn.values(), strict=True):
        value = next(value for value in plan.values if value.node is tile.node)
        assert value.buffer is not None
        buffer = plan.buffers[value.buffer]
        assert top == pytest.approx(value.first * page.row, abs=0.02)
        assert top + height <= (buffer.last + 1) * page.row + 0.02
        if tile.where.startswith("arena"):
            assert left == pytest.approx(page.left + buffer.offset * page.width / plan.arena_bytes, abs=0.02)
            assert width == pytest.approx(buffer.nbytes * page.width / plan.arena_bytes, abs=0.02)


def overlap(a: Tile, b: Tile) -> bool:
    in_time = a.first < b.after and b.first < a.after
    return in_time and a.left + 1e-6 < b.left + b.width and b.left + 1e-6 < a.left + a.width


@given(st.integers(0, 12))
def test_no_two_values_share_a_place(count: int) -> None:
    plan = wide_plan(count)
    tiles = _tiles(plan, Page.of(len(plan.steps), expand=False))
    assert not [(a, b) for at, a in enumerate(tiles) for b in tiles[:at] if overlap(a, b)]


def test_steps_are_listed_with_what_they_write_to() -> None:
    plan = small_plan()
    text = dot_source(plan)
    steps = re.findall(r'^  "step (\d+)" .*$', text, re.MULTILINE)
    assert steps == [str(number) for number in range(len(plan.steps))]
    written = [line for line in text.splitlines() if "→ w" in line]
    assert len(written) == 1
    assert "<b>subtract</b>" in written[0]
    assert len(boxes(text, "band")) >= 1


def test_a_long_plan_keeps_to_its_page() -> None:
    plan = wide_plan(700)
    text = dot_source(plan)
    assert len(plan.steps) > 2000
    values, marks = boxes(text, "value"), boxes(text, "number")
    assert len(values) == MOST
    assert max(top + height for _, top, _, height in [*values.values(), *marks.values()]) < 700
    assert 10 <= len(marks) <= 30
    assert '"step 0"' not in text
    assert re.search(r"\(\d+ small values left out\)", text)
    expanded = dot_source(plan, expand=True)
    assert len(boxes(expanded, "value")) > MOST
    assert f'"step {len(plan.steps) - 1}"' in expanded


def test_a_plan_without_an_arena_shows_its_results() -> None:
    b = Builder()
    x = b.param("x", array_type((3,), F8))
    plan = make_plan(Graph("f", (x,), (b.exp(x), b.sin(x))), [None], [Target("fresh"), Target("fresh")])
    assert plan.arena_bytes == 0
    text = dot_source(plan)
    assert '"arena"' not in text
    assert "results" in text
    assert len(boxes(text, "value")) == 2


def test_an_empty_plan_is_drawn() -> None:
    b = Builder()
    x = b.param("x", array_type((3,), F8))
    plan = make_plan(Graph("f", (x,), ()), [None], [])
    assert "0 steps" in dot_source(plan)
    assert draw(plan).render("svg").startswith(b"<?xml")


def test_outputs_are_named_by_what_they_become() -> None:
    assert output_names(small_plan()) == ["return 0", "return 1", "→ w"]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (102400, "100 KiB"),
        (3 * 2**20, "3.0 MiB"),
        (2**41, "2.0 TiB"),
    ],
)
def test_bytes_text(count: int, text: str) -> None:
    assert bytes_text(count) == text
