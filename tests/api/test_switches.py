"""What `compile` can switch: passes, rules, fast_math, rules of one's own; and `bisect_passes`."""

import functools
import pickle
import re
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless import testing
from tapeless.compiler.rules.rule import Fidelity, RuleSet

OURS = RuleSet("ours")


@OURS.rule(
    "log(add(x, 1)) -> log1p(x)",
    on="log",
    fidelity=Fidelity.ROUNDING,
    before="""(%x: f64[3]) {
      %0: f64[] = constant {value=f64(1.0)}
      %1: f64[3] = add %x, %0
      %2: f64[3] = log %1
      return %2
    }""",
    after="""(%x: f64[3]) {
      %0: f64[3] = log1p %x
      return %0
    }""",
)
def log_of_one_more(b: Any, node: Any) -> Any:
    (total,) = node.inputs
    return b.log1p(total.inputs[0]) if total.op.name == "add" else None


WRONG = RuleSet("wrong")


@WRONG.rule(
    "exp(x) -> expm1(x)",
    on="exp",
    before="(%x: f64[3]) { %0: f64[3] = exp %x return %0 }",
    after="(%x: f64[3]) { %0: f64[3] = expm1 %x return %0 }",
)
def exponential_less_one(b: Any, node: Any) -> Any:
    return b.expm1(*node.inputs)


@WRONG.rule(
    "sin(x) -> cos(x)",
    on="sin",
    before="(%x: f64[3]) { %0: f64[3] = sin %x return %0 }",
    after="(%x: f64[3]) { %0: f64[3] = tan %x return %0 }",
)
def sine_to_cosine(b: Any, node: Any) -> Any:
    return b.cos(*node.inputs)


def growth(x: Any) -> Any:
    return np.log(1 + x) * 1.0


def ops(compiled: Any, *args: Any) -> set[str]:
    return set(testing.count_ops(compiled.graph(*args)))


X = np.array([1e-20, 0.5, 2.0])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param({}, {"add", "log"}, id="plain"),
        pytest.param({"disabled": "simplify"}, {"add", "log", "multiply"}, id="no-pass"),
        pytest.param({"disabled": ["multiply_one"]}, {"add", "log", "multiply"}, id="no-rule"),
        pytest.param({"rules": [OURS]}, {"add", "log"}, id="rounding-stays-out-of-the-forward-part"),
        pytest.param({"rules": [OURS], "fast_math": True}, {"log1p"}, id="fast-math"),
        pytest.param(
            {"rules": [OURS], "fast_math": True, "disabled": "log_of_one_more"},
            {"add", "log"},
            id="own-rule-off",
        ),
    ],
)
def test_switches(options: dict[str, Any], expected: set[str]) -> None:
    assert ops(tl.compile(growth, **options), X) == expected


def test_a_rule_changes_values_only_where_it_may() -> None:
    assert tl.compile(growth, rules=[OURS])(X)[0] == 0
    assert tl.compile(growth, rules=[OURS], fast_math=True)(X)[0] == 1e-20


def test_an_unknown_name_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="no pass and no rule named log_of_one_more"):
        tl.compile(growth, disabled="log_of_one_more")


@pytest.mark.parametrize("option", ["static", "donate"])
@pytest.mark.parametrize(
    ("wanted", "error", "said"),
    [
        pytest.param(1, ValueError, "=1 is no parameter of growth", id="beyond"),
        pytest.param(-1, ValueError, "=-1 is no parameter of growth", id="negative"),
        pytest.param((0, "y"), ValueError, "='y' is no parameter of growth", id="name"),
        pytest.param(1.5, TypeError, "=1.5 is neither a name nor a position", id="float"),
        pytest.param((0, None), TypeError, "=None is neither a name nor a position", id="none"),
        pytest.param(True, TypeError, "=True is neither a name nor a position", id="bool"),
    ],
)
def test_what_names_no_parameter_is_refused_at_once(
    option: str, wanted: Any, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=option + re.escape(said)):
        tl.compile(growth, **{option: wanted})


def test_static_arguments_beyond_the_named_parameters() -> None:
    def total(x: Any, *rest: Any, **more: Any) -> Any:
        return x * (rest[0] if rest else 1) + more.get("n", 0)

    for wanted, args, kwargs in (("n", (), {"n": 3}), (1, (3,), {}), ((np.int64(1), "n"), (2,), {"n": 1})):
        compiled = tl.compile(total, static=wanted)
        assert compiled(X, *args, **kwargs).tolist() == total(X, *args, **kwargs).tolist()
        assert "static" not in str(compiled.graph(X, *args, **kwargs))
        assert len(compiled.graph(X, *args, **kwargs).params) == 1
    for many in ("rest", "more"):
        with pytest.raises(ValueError, match="is many arguments"):
            tl.compile(total, static=many)
    assert tl.compile(np.add, static=1)(X, 2).tolist() == (X + 2).tolist()
    with pytest.raises(ValueError, match="no parameter of <lambda>"):
        tl.compile(lambda x, *, n: x * n, static=1)


class Scaled:
    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, x: Any) -> Any:
        return x * self.factor


@pytest.mark.parametrize(
    ("function", "name"),
    [
        pytest.param(functools.partial(functools.partial(np.multiply), 2.0), "multiply", id="partial"),
        pytest.param(Scaled(2.0), "Scaled", id="object"),
    ],
)
def test_what_has_no_name_of_its_own_has_one_here(function: Any, name: str) -> None:
    compiled = tl.compile(function)
    with pytest.raises(RuntimeError, match=f"{name} was not traced yet"):
        _ = compiled.last
    for size in range(1, 6):
        assert compiled(np.ones(size)).tolist() == [2.0] * size
    with pytest.warns(tl.RetraceWarning, match=f"{name} was traced 6 times"):
        compiled(np.ones(6))
    assert compiled(np.ones(7)).tolist() == [2.0] * 7
    assert repr(compiled) == f"<compiled {name}: 7 specializations>"
    assert compiled.explain().startswith(f"{name}: traced 7 times")
    assert f"graph @{name}(" in compiled.text
    assert pickle.loads(pickle.dumps(compiled))(X).tolist() == (2 * X).tolist()


def test_only_what_can_be_called_is_compiled() -> None:
    with pytest.raises(TypeError, match="compile takes a function, not 3"):
        tl.compile(3)


def test_options_survive_pickling() -> None:
    again = pickle.loads(pickle.dumps(tl.compile(growth, disabled=("simplify",), fast_math=True)))
    assert ops(again, X) == {"add", "log", "multiply"}


def test_bisect_names_the_rule_and_leaves_arguments_alone() -> None:
    def update(params: dict[str, Any], x: Any) -> Any:
        params["w"] += np.exp(x)
        return params["w"].sum()

    params = {"w": np.zeros(3)}
    found = tl.compile(update, rules=[WRONG]).bisect_passes(params, X)
    assert found is not None
    assert (found.stage, found.rule) == ("simplify", "exponential_less_one")
    assert params["w"].tolist() == [0, 0, 0]
    assert tl.compile(update).bisect_passes(params, X) is None


def test_bisect_takes_keywords_static_arguments_and_a_tolerance() -> None:
    def power(x: Any, *, n: int, kind: str) -> Any:
        return np.sum(x**n) if kind == "sum" else x

    compiled = tl.compile(tl.value_and_grad(power), static="kind")
    assert compiled.bisect_passes(X, n=3, kind="sum", tolerance=1e-13) is None


def test_last_is_the_specialization_of_the_last_trace() -> None:
    compiled = tl.compile(growth)
    with pytest.raises(RuntimeError, match="growth was not traced yet"):
        _ = compiled.last
    compiled(X)
    assert compiled.last.graph is compiled.graph(X)
    assert compiled.last.plan is compiled.plan(X)


def test_check_rules_holds_examples_to_rules() -> None:
    testing.check_rules(OURS)
    with pytest.raises(AssertionError, match=r"sin\(x\) -> cos\(x\)"):
        testing.check_rules(WRONG)
