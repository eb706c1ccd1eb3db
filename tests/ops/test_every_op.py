"""Every op through every table: reference, type rule, derivatives to second order, executors, errors.

There is no list of exceptions: an op without a derivative says so (`NotDifferentiable`), a sample on a kink
says so (`differentiable=False`), and both are held to that.
"""

import copy
import re
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Graph, Kind, NotDifferentiable, OpDef, ScalarType, TupleType, TypeRuleError
from tapeless.compiler.ir.opdef import NotDifferentiableError, Sample
from tapeless.compiler.ir.parse import parse
from tapeless.compiler.ir.types import GENERATOR, ArrayType
from tapeless.compiler.passes.differentiate import pull_back
from tapeless.compiler.plan import Target, make_plan
from tapeless.compiler.plan_verify import verify_plan
from tapeless.runtime.executor import NumpyExecutor
from tapeless.runtime.llvm.executor import NativeExecutor

# A param is what a graph is given; it has no computation to sample.
GIVEN = {"param"}
# These two hand no cotangent on by design: one stops it, for the other the walk does it.
SILENT = {"stop_gradient", "get"}
WIDE = (np.dtype("f8"), np.dtype("c16"))


def assert_has_type(value: Any, type_: Any) -> None:
    """What runs a node must give the shape and dtype that its type rule said."""
    if isinstance(type_, TupleType):
        for item, item_type in zip(value, type_.items, strict=True):
            assert_has_type(item, item_type)
    elif isinstance(type_, ScalarType):
        assert type(value) is type_.kind
    elif type_ == GENERATOR:
        assert isinstance(value, np.random.Generator)
    else:
        assert isinstance(value, (np.ndarray, np.generic))
        assert (value.shape, value.dtype) == (type_.shape, type_.dtype)


def test_an_op_says_what_it_means(op: OpDef) -> None:
    assert op.doc.strip()
    assert len(op.doc.splitlines()) == 1
    assert all(re.match(r"C\d+(, C\d+)*: \S", constraint) for constraint in op.constraints)
    names = [sample.name for sample in op.samples]
    assert len(set(names)) == len(names)
    assert any(sample.breaks is None for sample in op.samples) or op.name in GIVEN
    if isinstance(op.vjp, NotDifferentiable):
        assert op.vjp.reason


def test_the_kind_fits_the_operands(op: OpDef, cases_of: Any) -> None:
    """Elementwise results have the operands' shape, 0-d operands apart; views have one operand."""
    for case in cases_of(op):
        if op.kind is Kind.ELEMENTWISE:
            shapes = {node.shape for node in (*case.params, *case.results)} - {()}
            assert len(shapes) <= 1
        if op.kind is Kind.VIEW:
            assert len(case.params) == 1


def test_invalid_arguments_name_the_constraint(invalid: tuple[OpDef, Sample], make_types: Any) -> None:
    op, sample = invalid
    with pytest.raises(TypeRuleError) as caught:
        op.type_rule(make_types(sample), sample.attrs)
    assert (caught.value.op, caught.value.constraint) == (op.name, sample.breaks)
    assert str(caught.value).startswith(f"{op.name} {sample.breaks}: ")
    stated = " ".join(constraint.split(":")[0] for constraint in op.constraints)
    assert re.search(rf"\b{sample.breaks}\b", stated)


def test_reference_has_the_type_of_the_rule(case: Any) -> None:
    (value,) = case.run([case.node], case.values)
    assert_has_type(value, case.node.type)


def test_text_is_parsed_back(case: Any) -> None:
    text = str(Graph("f", tuple(case.params), tuple(case.results)))
    assert str(parse(text)) == text


def test_operands_are_left_as_they_were(case: Any) -> None:
    arrays = [v for v in case.values if isinstance(v, (np.ndarray, np.generic))]
    before = [np.array(v, copy=True) for v in arrays]
    numbers = bool(case.params) and all(isinstance(param.type, ScalarType) for param in case.params)
    run = case.op.python if numbers and case.op.python else case.op.numpy
    with np.errstate(all="ignore"):
        run(*case.values, **case.sample.attrs)
    for one, two in zip(before, arrays, strict=True):
        np.testing.assert_array_equal(one, two)


def test_vjp_against_differences(judged: Any, inner: Any, difference: Any) -> None:
    along = judged.directions()
    found = inner(along.values(), judged.run(judged.gradients(), judged.values, judged.given()))

    def loss(step: float) -> float:
        return inner(judged.ct_values, judged.run(judged.smooth, judged.moved(along, step)))

    assert found == pytest.approx(difference(loss), rel=1e-7, abs=1e-8)


def test_second_derivatives_against_differences(judged: Any, inner: Any, difference: Any) -> None:
    along, other, given = judged.directions(), judged.directions(), judged.given()
    gradients = judged.gradients()
    weights = {judged.builder.param(f"u{k}", p.type): along[p] for k, p in enumerate(judged.wrt)}
    again = judged.pulled(gradients, list(weights), judged.wrt)
    found = inner(other.values(), judged.run(again, judged.values, {**given, **weights}))

    def slope(step: float) -> float:
        return inner(along.values(), judged.run(gradients, judged.moved(other, step), given))

    assert found == pytest.approx(difference(slope), rel=1e-6, abs=1e-7)


def test_transposed_vjp_is_forward_mode(judged: Any, inner: Any) -> None:
    """The vjp is linear in the cotangent, so its own vjp by the cotangent is the jvp."""
    along, given = judged.directions(), judged.given()
    gradients = judged.gradients()
    weights = {judged.builder.param(f"u{k}", p.type): along[p] for k, p in enumerate(judged.wrt)}
    tangents = judged.pulled(gradients, list(weights), judged.cts)
    forward = inner(judged.ct_values, judged.run(tangents, judged.values, {**given, **weights}))
    backward = inner(along.values(), judged.run(gradients, judged.values, given))
    assert forward == pytest.approx(backward, rel=1e-9, abs=1e-12)


def test_pull_back_is_linear_in_the_cotangent(regular: Any) -> None:
    gradients = regular.gradients()
    dtypes = {node.dtype for node in (*regular.wrt, *regular.smooth)}
    tolerance = 1e-10 if dtypes <= set(WIDE) else 1e-5

    def pulled(cts: list[Any]) -> list[Any]:
        return regular.run(gradients, regular.values, dict(zip(regular.cts, cts, strict=True)))

    first, second = regular.ct_values, [regular.random(node.type) for node in regular.smooth]
    mixed = [type_and_sum(a, b) for a, b in zip(first, second, strict=True)]
    for a, b, both in zip(pulled(first), pulled(second), pulled(mixed), strict=True):
        np.testing.assert_allclose(both, a + 2 * b, rtol=tolerance, atol=tolerance)


def type_and_sum(a: Any, b: Any) -> Any:
    """a + 2 b in the type of a."""
    return np.asarray(a + 2 * b, a.dtype) if isinstance(a, (np.ndarray, np.generic)) else a + 2 * b


def test_kinks_have_no_nan(kink: Any) -> None:
    """Where there is no derivative the rule of kinks gives a number, at poles inf; never NaN."""
    for gradient in kink.run(kink.gradients(), kink.values, kink.given()):
        assert not np.any(np.isnan(gradient))


def test_an_op_without_derivative_refuses(op: OpDef, cases_of: Any) -> None:
    for case in cases_of(op):
        if isinstance(op.vjp, NotDifferentiable) and case.has_derivative and op.name not in SILENT:
            with pytest.raises(NotDifferentiableError, match=op.name):
                case.gradients()


def test_narrow_operands_stay_narrow(narrow: Any) -> None:
    graph = Graph("f", (*narrow.params, *narrow.cts), tuple(narrow.gradients()))
    made = [n for n in graph.nodes if isinstance(n.type, ArrayType) and n not in graph.params]
    assert not [n for n in made if n.dtype in WIDE], str(graph)


def test_results_that_jump_are_constant(jumping: Any) -> None:
    """Integers and truth values have no cotangent, so nothing comes back from them."""
    given = [jumping.builder.param(f"j{k}", node.type) for k, node in enumerate(jumping.jumps)]
    found = pull_back(jumping.builder, jumping.jumps, given, jumping.wrt)
    assert found == [None] * len(jumping.wrt)


def check_executor(case: Any, outputs: list[Any], extra: dict[Any, Any]) -> None:
    """The NumPy executor, its dead memory poisoned, gives the interpreter's bits, twice."""
    graph = Graph("f", (*case.params, *extra), tuple(outputs))
    values = [np.asarray(v) if isinstance(v, np.generic) else v for v in (*case.values, *extra.values())]
    layouts = [v.strides if type(v) is np.ndarray else None for v in values]
    targets = [Target("number" if isinstance(n.type, ScalarType) else "fresh") for n in outputs]
    plan = make_plan(graph, layouts, targets)
    verify_plan(plan)
    executor = NumpyExecutor(plan, poison=True)
    expected = case.run(outputs, case.values, extra)
    for _ in range(2):
        with np.errstate(all="ignore"):
            found = executor(copy.deepcopy(values))
        for node, one, two in zip(outputs, found, expected, strict=True):
            assert_has_type(one, node.type)
            np.testing.assert_array_equal(one, two)


def check_native(case: Any, outputs: list[Any], extra: dict[Any, Any]) -> None:
    """The native executor's values of nodes, on arrays in their own layouts, against the interpreter's.

    Native code promises accuracy, not bits: each kernel's functions to two units in the last place.
    """
    graph = Graph("f", (*case.params, *extra), tuple(outputs))
    values = [np.asarray(v) if isinstance(v, np.generic) else v for v in (*case.values, *extra.values())]
    layouts = [v.strides if type(v) is np.ndarray else None for v in values]
    targets = [Target("number" if isinstance(n.type, ScalarType) else "fresh") for n in outputs]
    executor = NativeExecutor(graph, layouts, targets)
    expected = case.run(outputs, case.values, extra)
    for _ in range(2):
        with np.errstate(all="ignore"):
            found = executor(copy.deepcopy(values))
        for node, one, two in zip(outputs, found, expected, strict=True):
            assert_has_type(one, node.type)
            assert_close(one, two)


def assert_close(found: Any, expected: Any) -> None:
    """Equal, floats up to a few roundings of the largest value beside them."""
    dtype = np.asarray(expected).dtype
    if dtype.kind not in "fc":
        np.testing.assert_array_equal(found, expected)
        return
    unit = 64 * np.finfo(dtype).eps
    finite = np.abs(np.asarray(expected)[np.isfinite(expected)])
    np.testing.assert_allclose(found, expected, unit, unit * float(finite.max(initial=0.0)))


def test_native_agrees_with_the_interpreter(case: Any) -> None:
    whole = not any(isinstance(param.type, TupleType) for param in case.params)
    outputs = [node for node in case.results if node.type != GENERATOR]
    if whole and case.params:
        check_native(case, outputs, {})


def test_native_agrees_on_the_backward_part(differentiated: Any) -> None:
    check_native(differentiated, differentiated.gradients(), differentiated.given())


def test_executor_agrees_with_the_interpreter(case: Any) -> None:
    whole = not any(isinstance(param.type, TupleType) for param in case.params)
    outputs = [node for node in case.results if node.type != GENERATOR]
    if whole and case.params:
        check_executor(case, outputs, {})


def test_executor_agrees_on_the_backward_part(differentiated: Any) -> None:
    check_executor(differentiated, differentiated.gradients(), differentiated.given())


def test_derivatives_are_judged_somewhere(op: OpDef, cases_of: Any) -> None:
    """An op with a vjp has a sample that differences can judge, unless nothing in it is smooth."""
    smooth = [
        case for case in cases_of(op) if case.has_derivative and not isinstance(op.vjp, NotDifferentiable)
    ]
    assert not smooth or any(case.is_judged for case in smooth)
