"""From DOT text to SVG, PNG and PDF: which program does it, and what is said when none can."""

import re
import stat
import sys
import zlib
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.draw import DrawError, Drawing, dot_source, draw
from tapeless.compiler.drawing import render as rendering
from tapeless.compiler.drawing.render import find_dot, render, system_program, wheel_program
from tapeless.compiler.ir import Builder, Graph
from tapeless.compiler.ir.types import array_type
from tapeless.compiler.plan import Target, make_plan

BEGINNINGS = {"svg": b"<?xml", "png": b"\x89PNG\r\n", "pdf": b"%PDF-1."}


def small_graph(name: str = "x") -> Graph:
    b = Builder()
    x = b.param(name, array_type((3,), np.dtype("f8")))
    return Graph("small", (x,), (b.tanh(b.multiply(x, b.constant(np.float64(0.5)))),))


def program(folder: Path, body: str) -> Path:
    """A program called dot in this folder."""
    path = folder / "dot"
    path.write_text(f"#!{sys.executable}\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def only_the_wheel(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """No `dot` on the PATH: the program of the wheel remains."""
    found = wheel_program()
    if found is None:
        pytest.fail("graphviz-pure is not installed: the tests need  pip install 'tapeless[draw]'")
    monkeypatch.setenv("PATH", str(tmp_path))
    return found


@pytest.fixture
def no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> None:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(rendering.metadata, "files", missing)
    assert find_dot() is None


# ---- with a program


@pytest.mark.parametrize("format", BEGINNINGS)
def test_the_wheel_renders(format: str, only_the_wheel: str, tmp_path: Path) -> None:
    assert find_dot() == only_the_wheel
    path = draw(small_graph(), tmp_path / f"small.{format}")
    assert path == tmp_path / f"small.{format}"
    assert path.read_bytes().startswith(BEGINNINGS[format])


@pytest.mark.parametrize("format", BEGINNINGS)
def test_the_system_program_comes_first(
    format: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, only_the_wheel: str
) -> None:
    """What is called, and with what, told by a program that writes down its arguments."""
    called = program(tmp_path, "import sys; print(sys.argv[1:]); print(sys.stdin.read())")
    assert (system_program(), find_dot()) == (str(called), str(called))
    arguments, text = render("digraph {}", format).decode().split("\n", 1)
    expected = ["-Kdot", f"-T{format}", *(["-Gdpi=144"] if format == "png" else [])]
    assert arguments == str(expected)
    assert text.strip() == "digraph {}"


def test_the_svg_shows_labels_and_tooltips(only_the_wheel: str) -> None:
    svg = render(dot_source(small_graph()), "svg").decode()
    assert ">tanh<" in svg
    assert "f64[3]" in svg
    assert 'xlink:title="%1 multiply · 0.5 f64[3]' in svg


def test_a_path_that_ends_in_dot_needs_no_program(no_program: None, tmp_path: Path) -> None:
    path = draw(small_graph(), tmp_path / "small.dot")
    assert path.read_text(encoding="utf-8") == dot_source(small_graph())


def test_the_format_may_be_given(only_the_wheel: str, tmp_path: Path) -> None:
    path = draw(small_graph(), tmp_path / "picture", format="png")
    assert path.read_bytes().startswith(BEGINNINGS["png"])
    assert draw(small_graph(), tmp_path / "plain").read_bytes().startswith(BEGINNINGS["svg"])


def test_an_unknown_format_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"format is 'jpg', not one of svg, png, pdf"):
        draw(small_graph(), tmp_path / "small.jpg")


# ---- PDF by our own hand


def test_the_pdf_of_the_wheel_is_whole(only_the_wheel: str) -> None:
    pdf = render(dot_source(small_graph("θ")), "pdf")
    start = int(re.search(rb"startxref\n(\d+)\n%%EOF\n$", pdf)[1])  # type: ignore[index]
    assert pdf[start : start + 4] == b"xref"
    for number, position in enumerate(re.findall(rb"^(\d{10}) 00000 n $", pdf[start:], re.MULTILINE), 1):
        assert pdf[int(position) :].startswith(b"%d 0 obj" % number)
    content = zlib.decompress(re.search(rb"stream\n(.*)\nendstream", pdf, re.DOTALL)[1])  # type: ignore[index]
    shown = {bytes.fromhex(text.decode()) for text in re.findall(rb"<([0-9a-f]+)> Tj", content)}
    assert {b"tanh", b"multiply", b"%1", b"return"} <= shown
    assert b"/F2 11.0 Tf <71> Tj" in content
    assert content.count(b"q 1 w") == content.count(b"\nQ")


def test_the_pdf_has_the_size_of_the_svg(only_the_wheel: str) -> None:
    text = dot_source(small_graph())
    width, height = re.search(rb"MediaBox \[0 0 ([\d.]+) ([\d.]+)\]", render(text, "pdf")).groups()  # type: ignore[union-attr]
    svg = re.search(rb'<svg width="(\d+)pt" height="(\d+)pt"', render(text, "svg")).groups()  # type: ignore[union-attr]
    assert float(width) == pytest.approx(float(svg[0]), abs=2)
    assert float(height) == pytest.approx(float(svg[1]), abs=2)


# ---- without a program, or with one that fails


def test_without_a_program_both_cures_are_named(no_program: None, tmp_path: Path) -> None:
    with pytest.raises(DrawError) as caught:
        draw(small_graph(), tmp_path / "small.svg")
    message = str(caught.value)
    assert "apt install graphviz" in message
    assert "pip install 'tapeless[draw]'" in message
    assert f"Its DOT text is in {tmp_path / 'small.dot'}" in message
    assert (tmp_path / "small.dot").read_text(encoding="utf-8") == dot_source(small_graph())
    assert not (tmp_path / "small.svg").exists()


def test_a_program_that_fails_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "import sys; sys.exit('no such colour: mauve')")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DrawError, match=r"dot\) failed: no such colour: mauve"):
        render("digraph {}", "svg")


def test_a_program_that_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program(tmp_path, "import time; time.sleep(60)")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DrawError, match=r"longer than 0.5 s to lay out 3 edges.*timeout="):
        draw(small_graph(), tmp_path / "small.svg", timeout=0.5)


# ---- in a notebook


def test_in_a_notebook_graphs_and_plans_show_themselves(only_the_wheel: str) -> None:
    graph = small_graph()
    plan = make_plan(graph, [None], [Target("fresh")])
    for shown in (graph, plan, draw(graph), graph.draw(), plan.draw()):
        svg = shown._repr_svg_()
        assert svg is not None
        assert "<svg" in svg
        assert shown._repr_html_() is None


def test_in_a_notebook_without_a_program_the_text_is_shown(no_program: None) -> None:
    graph = small_graph("a<b")
    plan = make_plan(graph, [None], [Target("fresh")])
    for shown, begin in ((graph, "graph @small"), (plan, "plan @small"), (draw(graph), "graph @small")):
        assert shown._repr_svg_() is None
        html = shown._repr_html_()
        assert html is not None
        assert html.startswith(f"<pre>{begin}")
        assert "a&lt;b" in html


def test_a_drawing_without_a_path_is_rendered_on_demand(only_the_wheel: str, tmp_path: Path) -> None:
    drawing = draw(small_graph())
    assert isinstance(drawing, Drawing)
    assert str(drawing) == drawing.source == dot_source(small_graph())
    assert drawing.render("dot") == drawing.source.encode()
    assert drawing.save(tmp_path / "a.png").read_bytes().startswith(BEGINNINGS["png"])


# ---- through the public face


def test_a_compiled_function_draws_itself(tmp_path: Path) -> None:
    def loss(params: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
        return np.mean(np.tanh(x @ params["w"]) ** 2)

    @tl.compile
    def train_step(params: dict[str, np.ndarray], x: np.ndarray) -> np.ndarray:
        value, gradients = tl.value_and_grad(loss)(params, x)
        params["w"] -= 0.1 * gradients["w"]
        return value

    args = ({"w": np.ones((3, 2))}, np.ones((4, 3)))
    text = train_step.draw(tmp_path / "step.dot", *args).read_text(encoding="utf-8")
    for cluster in ("forward", "backward", "update"):
        assert f"subgraph cluster_{cluster}" in text
    assert '<→ params.w>, shape="ellipse"' in text
    assert '"params.w" [' in text
    assert 'shape="cylinder"' in text
    assert 'return np.mean(np.tanh(x @ params[\\"w\\"]) ** 2)' in text
    plan = train_step.draw(tmp_path / "plan.dot", *args, plan=True).read_text(encoding="utf-8")
    assert 'layout="neato"' in plan
