"""The text form: exact round trips of whole graphs and of every kind of attr value."""

import math
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tapeless.compiler.ir import Builder, Graph, Loc, TupleType
from tapeless.compiler.ir.equal import structurally_equal
from tapeless.compiler.ir.literal import Literal, exact_bytes
from tapeless.compiler.ir.parse import ParseError, loc_from_text, parse
from tapeless.compiler.ir.text import graph_text, loc_text
from tapeless.compiler.ir.text_values import NoTextError, attr_text
from tapeless.compiler.ir.types import GENERATOR, array_type, scalar_type

F64 = np.dtype("f8")


def constant_graph(value: Any) -> Graph:
    return Graph("f", (), (Builder().constant(value),))


def round_trip(value: Any) -> Any:
    """The value of a constant after its way through text."""
    text = str(constant_graph(value))
    again = parse(text)
    assert str(again) == text
    return again.outputs[0].attrs["value"].value


def attr_round_trip(value: Any) -> Any:
    """An attr value after its way through text, as the tag of a mark."""
    builder = Builder()
    x = builder.param("x", array_type((), F64))
    text = str(Graph("f", (x,), (builder.mark(x, tag=value),)))
    again = parse(text)
    assert str(again) == text
    return again.outputs[0].attrs["tag"]


def test_every_sample_comes_back(every_sample: Any, sample_graph: Any) -> None:
    for name, sample in every_sample:
        graph = sample_graph(name, sample).graph
        again = parse(str(graph))
        assert str(again) == str(graph), (name, sample.name)
        assert structurally_equal(again, graph), (name, sample.name)


@given(data=st.data())
def test_random_graphs_come_back(data: st.DataObject, strategy: Any) -> None:
    graph = data.draw(strategy()).graph
    again = parse(str(graph))
    assert str(again) == str(graph)
    assert structurally_equal(again, graph)
    assert [node.attrs.keys() for node in again.nodes] == [node.attrs.keys() for node in graph.nodes]


NUMBERS = [0, -1, 10**30, 7**5000, -(3**9000), True, False, 0.0, -0.0, 1e300, 5e-324, 0.1, 1e16]
NUMBERS += [
    math.inf,
    -math.inf,
    math.nan,
    -math.nan,
    1j,
    -0.0 - 0.0j,
    complex(math.nan, -math.inf),
    1e-300 + 2j,
]


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: f"{type(number).__name__}-{str(number)[:12]}")
def test_python_number_comes_back(number: Any) -> None:
    again = round_trip(number)
    assert type(again) is type(number)
    assert Literal(again) == Literal(number)


def test_nan_keeps_its_bits() -> None:
    payload = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000001234))[0]
    assert struct.pack("<d", round_trip(payload)) == struct.pack("<d", payload)
    array = np.array([payload, -payload, 1.0])
    assert round_trip(array).tobytes() == array.tobytes()


def test_python_number_and_0d_array_are_told_apart() -> None:
    assert "constant {value=1.0}" in str(constant_graph(1.0))
    assert "constant {value=f64(1.0)}" in str(constant_graph(np.array(1.0)))
    assert type(round_trip(1.0)) is float
    assert isinstance(round_trip(np.array(1.0)), np.ndarray)


DTYPES = [*"?bhilBHILefdgFDG", ">f8", ">i2", ">c8"]


@given(data=st.data(), dtype=st.sampled_from(DTYPES))
def test_array_comes_back(data: st.DataObject, dtype: str) -> None:
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)
    if np.dtype(dtype).char in "gG":
        with np.errstate(all="ignore"):
            array = data.draw(hnp.arrays("f8", shapes)).astype(dtype) / 3
    else:
        array = data.draw(hnp.arrays(dtype, shapes))
    order = data.draw(st.permutations(range(array.ndim)))
    array = array.copy(order="C").transpose(order)
    again = round_trip(array)
    assert again.dtype == array.dtype
    assert again.dtype.byteorder == array.dtype.byteorder or array.dtype.itemsize == 1
    assert again.shape == array.shape
    assert exact_bytes(again) == exact_bytes(array)
    long = [axis for axis, length in enumerate(array.shape) if length > 1]
    if array.size:
        kept = constant_graph(array).outputs[0].attrs["value"].value
        assert [again.strides[axis] for axis in long] == [kept.strides[axis] for axis in long]


def test_small_arrays_are_readable_and_large_ones_short() -> None:
    assert attr_text(Literal.of(np.array([[1, 2], [3, 4]], "f4"))) == "f32([[1.0, 2.0], [3.0, 4.0]])"
    assert attr_text(Literal.of(np.array([1 + 2j, -0.5j]))) == "c128([1.0+2.0j, -0.0-0.5j])"
    assert attr_text(Literal.of(np.array([0.1, np.nan], "f2"))) == "f16([0.1, nan])"
    assert attr_text(Literal.of(np.zeros((0, 3), bool))) == "bool[0,3]('')"
    assert (
        attr_text(Literal.of(np.array([[1, 2], [1, 1.0]], order="F")))
        == "f64([[1.0, 2.0], [1.0, 1.0]], order=(1, 0))"
    )
    assert attr_text(Literal.of(np.zeros(100, "u1"))).startswith("u8[100]('AAAA")


ATTRS = [
    ("int", 3, "3"),
    ("string", 'it\'s "so"\n', None),
    ("none", None, "None"),
    ("empty", (), "()"),
    ("one", (1,), "(1,)"),
    ("nested", ((1, -2), (True, None), "a", 2.5), "((1, -2), (True, None), 'a', 2.5)"),
    ("dtype", np.dtype("f4"), "f32"),
    ("dtype_bool", np.dtype(bool), "bool"),
    ("dtype_swapped", np.dtype(">i4"), ">i4"),
    ("class", bool, "py.bool"),
    ("array_type", array_type((2, 3), F64), "f64[2,3]"),
    ("0d_type", array_type((), np.dtype(bool)), "bool[]"),
    ("number_type", scalar_type(bool), "number.bool"),
    ("tuple_type", TupleType((GENERATOR, array_type((2,), F64))), "tuple(generator, f64[2])"),
    ("generator_type", GENERATOR, "generator"),
    (
        "path",
        (("slice", (("size", (1,)), ("start", (0,)), ("step", (1,)))), ("reshape", (("shape", ()),))),
        "[slice {size=(1,), start=(0,), step=(1,)}, reshape {shape=()}]",
    ),
    ("no_path", (("slice", 3),), "(('slice', 3),)"),
]


@pytest.mark.parametrize(("value", "text"), [pytest.param(v, t, id=i) for i, v, t in ATTRS])
def test_attr_comes_back(value: Any, text: str | None) -> None:
    if text is not None:
        assert attr_text(value) == text
    again = attr_round_trip(value)
    assert again == value
    assert type(again) is type(value)
    assert repr(again) == repr(value)


def test_value_without_text_is_refused() -> None:
    with pytest.raises(NoTextError, match="Ellipsis"):
        attr_text(...)


NAMES = ["x", "params.w1", "params['w1']", 'say "x"', "0", "12", "", "a b", "größe", "%x", "\n", "x.2"]


@given(names=st.lists(st.sampled_from(NAMES) | st.text(max_size=4), min_size=1, max_size=6))
def test_names_of_params_come_back(names: list[str]) -> None:
    builder = Builder()
    params = [builder.param(name, array_type((), F64)) for name in names]
    graph = Graph(names[0], tuple(params), (builder.add(params[0], params[-1]),))
    again = parse(str(graph))
    assert str(again) == str(graph)
    assert again.name == graph.name
    if len(set(names)) == len(names):
        assert [param.attrs["name"] for param in again.params] == names


def test_equal_names_of_params_are_numbered() -> None:
    builder = Builder()
    params = [builder.param(name, array_type((), F64)) for name in ("x", "x", "x.2")]
    assert str(Graph("f", tuple(params), ())).startswith("graph @f(%x: f64[], %x.2: f64[], %x.2.2: f64[])")


def test_params_of_every_type_and_no_outputs() -> None:
    text = "graph @f(%a: float, %b: int, %c: generator, %d: (f64[2], generator), %e: >f4[0,3]) {\n  return\n}"
    graph = parse(text)
    assert str(graph) == text
    assert graph.outputs == ()
    assert graph.params[3].type == TupleType((array_type((2,), F64), GENERATOR))


def test_nothing_is_merged_by_the_parser() -> None:
    lines = ["%0: f64[] = exp %x", "%1: f64[] = exp %x", "%2: f64[] = add %0, %1", "return %2"]
    text = "\n  ".join(["graph @f(%x: f64[]) {", *lines]) + "\n}"
    assert str(parse(text)) == text


LOCS = [
    Loc("train.py", 38, "loss"),
    Loc("a b/c:3, d.py", 1, "f.<locals>.<lambda>", backward=True),
    Loc("", 0, "", backward=True),
    Loc("t.py", 2, "f", errstate=(("divide", "raise"), ("over", "ignore"))),
    Loc("", 0, "", backward=True, errstate=(("divide", "warn"),)),
]


@pytest.mark.parametrize("loc", LOCS, ids=lambda loc: loc_text(loc).replace(" ", "_"))
def test_loc_comes_back(loc: Loc) -> None:
    assert loc_from_text(loc_text(loc)) == loc
    builder = Builder(loc)
    x = builder.param("x", array_type((), F64))
    text = graph_text(Graph("f", (x,), (builder.exp(x),)), locs=True)
    again = parse(text)
    assert again.outputs[0].loc == loc
    assert graph_text(again, locs=True) == text


def test_other_comments_are_passed_over() -> None:
    graph = parse(
        """
        # a graph
        graph @f(%x: f64[]) {  # with one param
          %y: f64[] = exp %x  # what a comment
          return %y  # the end
        }
        # and that is all
        """,
        Loc("here.py", 1, "f"),
    )
    assert graph.outputs[0].loc == Loc("here.py", 1, "f")


ERRORS = [
    ("unknown_op", "  %0: f64[] = frobnicate %x", "there is no primitive named frobnicate", "frobnicate"),
    ("undefined", "  %0: f64[] = exp %y", "%y is not defined above", "%y"),
    ("twice", "  %x: f64[] = exp %x", "%x is defined already", "%x: f64[] = exp"),
    ("wrong_type", "  %0: f32[] = exp %x", "exp gives f64[] here, not f32[]", "f32[]"),
    ("rule", "  %0: f64[2] = reshape %x {shape=(2,)}", "reshape C2", "reshape"),
    (
        "attr_missing",
        "  %0: f64[2] = reshape %x",
        "reshape does not take these operands and attrs",
        "reshape",
    ),
    ("too_few", "  %0: f64[] = add %x", "add C", "add"),
    ("no_dtype", "  %0: f63[] = exp %x", "f63 is no dtype", "f63"),
    ("no_shape", "  %0: f64 = exp %x", "f64 is no type", "f64"),
    ("character", "  %0: f64[] = exp %x ;", "';' has no meaning here", ";"),
    ("rows", "  %0: f64[2] = constant {value=f64([[1.0], []])}", "rows of shapes", "[[1.0]"),
    ("element", "  %0: f64[1] = constant {value=f64([one])}", "these are no elements of float64", "[one]"),
    ("bytes", "  %0: f64[2] = constant {value=f64[2]('AAAA')}", "these are no elements of float64", "'AAAA'"),
    ("no_value", "  %0: f64[] = mark %x {tag=}", "expected a value, found }", "}"),
    ("no_brace", "  %0: f64[] = mark %x {tag=1", "expected `}`, found return", "return"),
]


@pytest.mark.parametrize(("line", "message", "at"), [pytest.param(*rest, id=i) for i, *rest in ERRORS])
def test_parse_error_shows_line_and_caret(line: str, message: str, at: str) -> None:
    text = f"graph @f(%x: f64[]) {{\n{line}\n  return %0\n}}"
    with pytest.raises(ParseError) as caught:
        parse(text)
    head, source, caret = str(caught.value).split("\n")
    assert message in head
    shown = text.split("\n")[caught.value.line - 1]
    assert source == f"  line {caught.value.line}: {shown}"
    assert source[caret.index("^") :].startswith(at)
    assert shown[caught.value.column - 1 :].startswith(at)


def test_error_at_the_end() -> None:
    with pytest.raises(ParseError, match="found the end of the text"):
        parse("graph @f(")
    with pytest.raises(ParseError, match="nothing behind the graph"):
        parse("graph @f() { return } graph")


def test_text_of_a_deep_graph_comes_back() -> None:
    builder = Builder()
    x = node = builder.param("x", array_type((3,), F64))
    for _ in range(100_000):
        node = builder.tanh(node)
    graph = Graph("deep", (x,), (node,))
    again = parse(str(graph))
    assert len(again.nodes) == 100_001
    assert structurally_equal(graph, again)
