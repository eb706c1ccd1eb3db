"""Every rule: its example, the measure it lowers, what it says it keeps over layouts and special values."""

import itertools
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.exceptions import ComplexWarning

from tapeless.compiler import pipeline  # noqa: F401  (fills the rule sets)
from tapeless.compiler.ir import Graph, Kind, Loc, Node
from tapeless.compiler.ir.equal import structurally_equal
from tapeless.compiler.ir.parse import ParseError, parse
from tapeless.compiler.ir.types import ArrayType, ScalarType
from tapeless.compiler.passes.bisect import same_value
from tapeless.compiler.passes.manager import Options
from tapeless.compiler.passes.rewrite import RuleLoopError, rewrite
from tapeless.compiler.rules.match import size_of, uniform_value
from tapeless.compiler.rules.rule import ANY, CANONICAL, SIMPLIFY, Fidelity, Rule, RuleSet
from tapeless.runtime.interpret import interpret

RULES = [*CANONICAL.rules, *SIMPLIFY.rules]
BACKWARD = Loc("f.py", 1, "f", backward=True)
EVERY_RULE = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)


def example(text: str, rule: Rule) -> Graph:
    """An example as a graph; where a rule is for the backward part only, its nodes are backward."""
    return parse(f"graph @f{text}", Loc("f.py", 1, "f") if rule.fidelity is Fidelity.BITS else BACKWARD)


def alone(rule: Rule) -> RuleSet:
    rules = RuleSet("alone")
    rules.rules.append(rule)
    return rules


def applied(rule: Rule, graph: Graph) -> Graph:
    """The graph after this rule alone, and what makes its views canonical."""
    return rewrite(graph, (alone(rule), CANONICAL), Options())


@EVERY_RULE
def test_example(rule: Rule) -> None:
    assert str(applied(rule, example(rule.before, rule))) == str(example(rule.after, rule))


@EVERY_RULE
def test_all_rules_leave_the_result_of_the_example_alone(rule: Rule) -> None:
    """No rule undoes another: what all of them make of both sides is the same."""
    before, after = (
        rewrite(example(text, rule), (CANONICAL, SIMPLIFY), Options()) for text in (rule.before, rule.after)
    )
    assert str(before) == str(after)
    assert str(rewrite(before, (CANONICAL, SIMPLIFY), Options())) == str(before)


@EVERY_RULE
def test_forward_part_is_left_to_rules_that_keep_bits_and_layout(rule: Rule) -> None:
    graph = parse(f"graph @f{rule.before}")
    changed = not structurally_equal(rewrite(graph, (alone(rule),), Options()), graph)
    assert changed == (rule.fidelity is Fidelity.BITS)
    assert not structurally_equal(rewrite(graph, (alone(rule),), Options(fast_math=True)), graph)


# What rules lower.


def computed(graph: Graph) -> list[Node]:
    return [node for node in graph.nodes if node.op.name not in ("param", "constant")]


def work(node: Node) -> int:
    """Elements read and written; views are free."""
    if node.op.kind is Kind.VIEW:
        return 0
    return size_of(node) + sum(map(size_of, node.inputs))


def on_left(node: Node) -> bool:
    known = [uniform_value(operand) is not None for operand in node.inputs[:2]]
    return known == [True, False]


def past_broadcasts(graph: Graph) -> int:
    """How many views look at a broadcast."""
    return sum(node.inputs[0].op.name == "broadcast" for node in computed(graph) if node.op.kind is Kind.VIEW)


MEASURES: dict[str, Callable[[Graph], int]] = {
    "nodes": lambda graph: len(computed(graph)),
    "nodes that are no constants": lambda graph: len(computed(graph)),
    "work": lambda graph: sum(map(work, graph.nodes)),
    "constants on the left": lambda graph: sum(map(on_left, computed(graph))),
    "divisions": lambda graph: sum(node.op.name == "divide" for node in graph.nodes),
    "operands": lambda graph: sum(len(node.inputs) for node in graph.nodes),
    "constants below views": lambda graph: sum(
        operand.op.name == "multiply" and uniform_value(operand.inputs[1]) is not None
        for node in graph.nodes
        if node.op.kind is Kind.VIEW
        for operand in node.inputs
    ),
    "constants in divisors": lambda graph: sum(
        node.op.name == "divide" and node.inputs[1].op.name == "multiply" for node in graph.nodes
    ),
    "subtractions": lambda graph: sum(node.op.name == "subtract" for node in graph.nodes),
    "axes that are summed": lambda graph: sum(
        len(node.attrs["axes"]) for node in graph.nodes if node.op.name == "sum"
    ),
    "powers": lambda graph: sum(node.op.name == "power" for node in graph.nodes),
    "operands that are negations": lambda graph: sum(
        operand.op.name == "negative" for node in graph.nodes for operand in node.inputs
    ),
    "views around broadcasts": past_broadcasts,
    "work below views": lambda graph: sum(
        node.op.kind is not Kind.VIEW and any(operand.op.kind is Kind.VIEW for operand in node.inputs)
        for node in graph.nodes
    ),
    "products in stacks": lambda graph: sum(
        node.op.name == "matmul" and len(node.shape) > 2 for node in graph.nodes
    ),
}


@EVERY_RULE
def test_measure_gets_less(rule: Rule) -> None:
    measure = MEASURES[rule.lowers]
    assert measure(example(rule.after, rule)) < measure(example(rule.before, rule))


# What rules keep.

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, -0.3, np.inf, -np.inf, np.nan, 5e-324, -2e-308, 1e300, 3.0, 1e-300]


def special_values(type_: ArrayType, seed: int) -> Any:
    """Zeros of both signs, infinities, NaN, subnormals and some plain numbers, mixed."""
    rng = np.random.default_rng(seed)
    if type_.dtype.kind == "c":
        array = np.empty(type_.shape, type_.dtype)
        with np.errstate(all="ignore"):
            array.real, array.imag = rng.choice(SPECIAL, (2, *type_.shape))
        return array
    if type_.dtype.kind in "biu":
        return rng.integers(0, 2, type_.shape).astype(type_.dtype)
    with np.errstate(all="ignore"):
        return rng.choice(SPECIAL, type_.shape).astype(type_.dtype)


def plain_values(type_: ArrayType, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return np.asarray(
        rng.normal(size=type_.shape) if type_.dtype.kind in "fc" else rng.integers(0, 2, type_.shape)
    ).astype(type_.dtype)


def layouts(array: Any) -> list[Any]:
    """The array and others of its shape with other strides: axes dense, stepped, reversed or repeated."""
    found = []
    for order in itertools.permutations(range(array.ndim)):
        inverse = tuple(order.index(axis) for axis in range(array.ndim))
        dense = array.transpose(order).copy(order="C").transpose(inverse)
        found.append(dense)
        if not array.ndim:
            continue
        found.append(dense[::-1].copy(order="K")[::-1])
        found.append(np.repeat(dense, 2, axis=-1)[..., ::2])
        found.append(np.broadcast_to(dense[..., :1], array.shape))
    return found


def arguments(graph: Graph, make: Callable[[ArrayType, int], Any]) -> list[list[Any]]:
    """Values for all params: every pair of layouts of the first two, and several draws."""
    choices: list[Sequence[Any]] = []
    for place, param in enumerate(graph.params):
        if isinstance(param.type, ScalarType):
            choices.append([param.type.kind(x) for x in ([0, 1, -3] if param.type.kind is int else SPECIAL)])
        else:
            assert isinstance(param.type, ArrayType)
            choices.append(
                [other for seed in range(3) for other in layouts(make(param.type, seed + 7 * place))]
            )
    some = [list(options[:8]) for options in choices] if len(choices) > 2 else choices
    return [list(combination) for combination in itertools.product(*some)]


def run(graph: Graph, values: Sequence[Any]) -> list[Any]:
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore", category=ComplexWarning):
        return interpret(graph, values)


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.fidelity.bit_exact], ids=lambda rule: rule.name
)
def test_values_stay_bit_for_bit(rule: Rule) -> None:
    before, after = example(rule.before, rule), example(rule.after, rule)
    for values in arguments(before, special_values):
        for old, new in zip(run(before, values), run(after, values), strict=True):
            assert same_value(old, new), values


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.fidelity is Fidelity.BITS], ids=lambda rule: rule.name
)
def test_memory_runs_the_same_way(rule: Rule, memory_order: Any) -> None:
    before, after = example(rule.before, rule), example(rule.after, rule)
    for values in arguments(before, special_values):
        for old, new in zip(run(before, values), run(after, values), strict=True):
            assert memory_order(old) == memory_order(new), [np.shape(value) for value in values]


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if rule.fidelity is Fidelity.BITS], ids=lambda rule: rule.name
)
def test_warnings_stay(rule: Rule, warnings_of: Any) -> None:
    before, after = example(rule.before, rule), example(rule.after, rule)
    for values in arguments(before, special_values):
        assert warnings_of(before, values) == warnings_of(after, values), values


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES if not rule.fidelity.bit_exact], ids=lambda rule: rule.name
)
def test_values_stay_up_to_rounding(rule: Rule) -> None:
    before, after = example(rule.before, rule), example(rule.after, rule)
    for values in arguments(before, plain_values):
        if any(isinstance(value, float) and not 1e-100 < abs(value) < 1e100 for value in values):
            continue
        for old, new in zip(run(before, values), run(after, values), strict=True):
            np.testing.assert_allclose(new, old, rtol=1e-13, atol=1e-13)
            assert type(old) is type(new)


DTYPES = ("f16", "f32", "longdouble", "c64", "c128", "i8", "i64", "u32", "bool")


def in_dtype(rule: Rule, dtype: str) -> Graph | None:
    """The example with another dtype in place of f64; None where its ops do not take it."""
    text = rule.before.replace("f64", dtype)
    if dtype[0] in "iu":
        text = re.sub(r"(\d)\.0\)", r"\1)", text)
    if dtype == "bool":
        text = re.sub(r"bool\(-?(\d)\.0\)", lambda match: f"bool({match[1] != '0'})", text)
    try:
        return example(text, rule)
    except ParseError:
        return None


OTHER_DTYPES = [
    pytest.param(rule, graph, id=f"{rule.name}-{dtype}")
    for rule in RULES
    for dtype in DTYPES
    if "f64" in rule.before
    for graph in [in_dtype(rule, dtype)]
    if graph is not None
]


@pytest.mark.parametrize(("rule", "graph"), OTHER_DTYPES)
def test_other_dtypes(rule: Rule, graph: Graph, memory_order: Any) -> None:
    """Where a rule applies to another dtype it keeps there, too, what it says."""
    after = applied(rule, graph)
    make = special_values if rule.fidelity.bit_exact else plain_values
    loose = 1e-2 if any(getattr(node.type, "dtype", None) == np.float16 for node in graph.nodes) else 1e-5
    for values in arguments(graph, make)[::7]:
        for old, new in zip(run(graph, values), run(after, values), strict=True):
            if rule.fidelity.bit_exact:
                assert same_value(old, new), values
            else:
                np.testing.assert_allclose(new, old, rtol=loose, atol=loose)
            assert np.asarray(old).dtype == np.asarray(new).dtype
            if rule.fidelity is Fidelity.BITS:
                assert memory_order(old) == memory_order(new)


def test_rules_that_undo_each_other_are_named() -> None:
    rules = RuleSet("loop")

    @rules.rule("add -> subtract", on="add", before="", after="")
    def there(b: Any, node: Node) -> Node:
        return b.subtract(*node.inputs)  # type: ignore[no-any-return]

    @rules.rule("subtract -> add", on="subtract", before="", after="")
    def back(b: Any, node: Node) -> Node:
        return b.add(node.inputs[0], b.negative(b.negative(node.inputs[1])))  # type: ignore[no-any-return]

    graph = parse("graph @f(%x: f64[3], %y: f64[3]) { %0: f64[3] = add %x, %y return %0 }")
    with pytest.raises(RuleLoopError, match=r"undo each other; applied were (there|back) \(\d+ times\), "):
        rewrite(graph, (rules,), Options())


def test_a_rule_that_keeps_its_root_is_named() -> None:
    rules = RuleSet("loop")

    @rules.rule("exp(x) -> -exp(x)", on="exp", before="", after="")
    def turned(b: Any, node: Node) -> Node:
        return b.negative(b.exp(*node.inputs))  # type: ignore[no-any-return]

    graph = parse("graph @f(%x: f64[3]) { %0: f64[3] = exp %x return %0 }")
    with pytest.raises(RuleLoopError, match=r"made of <exp: f64\[3\]> contains it; applied were turned"):
        rewrite(graph, (rules,), Options())


def test_names_are_distinct_and_headers_say_what_happens() -> None:
    names = [rule.name for rule in RULES]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert "->" in rule.header
        assert rule.roots == (ANY,) or rule.rewrite.__doc__ or len(rule.header) < 110


def test_a_rule_bears_its_name_once() -> None:
    rules = RuleSet("twice")

    def same(b: Any, node: Node) -> None:
        return None

    rules.rule("x -> x", on="add", before="", after="")(same)
    with pytest.raises(ValueError, match="twice has a rule named same already"):
        rules.rule("x -> x", on="add", before="", after="")(same)
