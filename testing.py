"""For tests of one's own: graphs as text and as structure, counts of ops, values and gradients held to NumPy.

graph = tl.compile(step).graph(params, x)
testing.assert_graph(graph, '''graph @step(…) { … }''')
assert testing.count_ops(graph)["matmul"] == 3
testing.check_grads(loss, (params, x))
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .api import compile, grad, jvp, vjp
from .compiler.ir.equal import structurally_equal
from .compiler.ir.node import Graph
from .compiler.ir.parse import parse
from .compiler.passes.bisect import same_state
from .compiler.passes.manager import Options
from .compiler.passes.simplify import simplify
from .compiler.rules.rule import RuleSet
from .tracer.copies import copied
from .tracer.tree import ContainerCopies, map_tree, tree_leaves

__all__ = [
    "assert_graph",
    "assert_same_values",
    "check_grads",
    "check_rules",
    "count_ops",
    "parse",
    "structurally_equal",
]


def count_ops(graph: Graph, *, backward: bool | None = None) -> Counter[str]:
    """How often each primitive stands in a graph; params and constants do not count.

    Args:
        graph: any graph.
        backward: count only what differentiation made (True) or only what the user wrote (False).

    Example:
        >>> import numpy as np, tapeless as tl
        >>> from tapeless import testing
        >>> testing.count_ops(tl.trace(lambda x: np.tanh(x) * np.tanh(x), np.ones(3)))
        Counter({'tanh': 1, 'multiply': 1})
    """
    return Counter(
        node.op.name
        for node in graph.nodes
        if node.op.name not in ("param", "constant") and (backward is None or node.loc.backward is backward)
    )


def assert_graph(graph: Graph, expected: str | Graph) -> None:
    """Raise AssertionError unless the graph has the structure of the expected one, up to renaming.

    Args:
        graph: the graph to look at.
        expected: a graph, or the text of one.

    Example:
        >>> import numpy as np, tapeless as tl
        >>> from tapeless import testing
        >>> testing.assert_graph(
        ...     tl.trace(lambda x, w: x @ w, np.ones((2, 3)), np.ones((3, 1))),
        ...     "graph @g(%a: f64[2,3], %b: f64[3,1]) { %0: f64[2,1] = matmul %a, %b return %0 }",
        ... )
    """
    other = parse(expected) if isinstance(expected, str) else expected
    if not structurally_equal(graph, other):
        raise AssertionError(f"the graphs differ\n--- expected\n{other}\n--- found\n{graph}")


def assert_same_values(
    function: Callable[..., Any],
    *args: Any,
    executor: str = "numpy",
    rtol: float = 0.0,
    atol: float = 0.0,
) -> None:
    """Raise AssertionError unless the compiled function does what NumPy does with the function.

    Results and changes to arguments are compared: dtype, shape and value, to the bit unless `rtol` or `atol`
    allows more. The executor is the NumPy one unless another is named: bits are its promise, native code
    needs a tolerance. The arguments themselves are left alone.

    Example:
        >>> import numpy as np
        >>> from tapeless import testing
        >>> testing.assert_same_values(lambda x: np.exp(x).sum(), np.linspace(0, 1, 5))
    """
    plain_args, compiled_args = copied(args), copied(args)
    plain = function(*plain_args)
    compiled = compile(function, executor=executor)(*compiled_args)
    for what, one, two in (("result", plain, compiled), ("argument", plain_args, compiled_args)):
        left, right = tree_leaves(one), tree_leaves(two)
        if len(left) != len(right):
            raise AssertionError(f"NumPy gives {len(left)} {what} leaves, the compiled function {len(right)}")
        for number, (a, b) in enumerate(zip(left, right, strict=True)):
            _assert_same(f"{what} {number}", a, b, rtol, atol)


def _assert_same(what: str, a: Any, b: Any, rtol: float, atol: float) -> None:
    if isinstance(a, np.random.Generator) and isinstance(b, np.random.Generator):
        if not same_state(a.bit_generator.state, b.bit_generator.state):
            raise AssertionError(f"{what}: the generators have not drawn the same numbers")
        return
    if not isinstance(a, (np.ndarray, np.generic, float, int, complex)):
        if a != b:
            raise AssertionError(f"{what}: NumPy gives {a!r}, the compiled function {b!r}")
        return
    x, y = np.asarray(a), np.asarray(b)
    if type(a) is not type(b) or x.dtype != y.dtype or x.shape != y.shape:
        raise AssertionError(
            f"{what}: NumPy gives {type(a).__name__} {x.dtype}{x.shape}, "
            f"the compiled function {type(b).__name__} {y.dtype}{y.shape}"
        )
    same = x.tobytes() == y.tobytes()
    if not same and (rtol or atol) and x.dtype.kind in "fc":
        same = bool(np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True))
    if not same:
        raise AssertionError(f"{what}: NumPy gives\n{x!r}\nthe compiled function\n{y!r}")


def check_grads(
    function: Callable[..., Any],
    args: Sequence[Any],
    *,
    order: int = 2,
    step: float = 1e-5,
    rtol: float = 1e-5,
    atol: float = 1e-6,
    seed: int = 0,
) -> None:
    """Hold derivatives to central differences along a random direction, and vjp and jvp to each other.

    Args:
        function: gives a tree of floating-point arrays or numbers.
        args: its arguments: trees of float64 (or complex128) leaves, away from kinks. They are left alone.
        order: 1 checks first derivatives, 2 those of the gradient too.
        step: half the distance of the two points of a difference.
        rtol: how far derivative and difference may be apart, relative to the difference.
        atol: the same as a number.
        seed: of the random direction.

    Raises:
        AssertionError: they are further apart; the message gives both numbers.

    Example:
        >>> import numpy as np
        >>> from tapeless import testing
        >>> testing.check_grads(lambda x: np.sum(np.sin(x) * x), (np.array([0.3, 1.2]),))
    """
    rng = np.random.default_rng(seed)
    args = tuple(args)
    tangents = _each(lambda leaf, number: _direction(rng, leaf), args)
    along_args = tree_leaves(tangents)
    _, along = jvp(function, copied(args), tangents)
    high = function(*_each(lambda leaf, number: leaf + step * along_args[number], args))
    low = function(*_each(lambda leaf, number: leaf - step * along_args[number], args))
    value, pullback = vjp(function, *copied(args))
    cotangent = map_tree(lambda leaf: _direction(rng, leaf), value)
    weights = tree_leaves(cotangent)
    difference = sum(
        _inner(w, (np.asarray(h) - np.asarray(lo)) / (2 * step))
        for w, h, lo in zip(weights, tree_leaves(high), tree_leaves(low), strict=True)
    )
    forward = sum(_inner(w, t) for w, t in zip(weights, tree_leaves(along), strict=True))
    pulled = pullback(cotangent)
    pulled = pulled if len(args) > 1 else (pulled,)
    backward = sum(_inner(t, p) for t, p in zip(tree_leaves(tangents), tree_leaves(pulled), strict=True))
    for name, found in (("the jvp", forward), ("the vjp", backward)):
        if not np.isclose(found, difference, rtol=rtol, atol=atol):
            raise AssertionError(f"{name} gives {found}, central differences {difference}")
    if order > 1:
        conjugates = [np.conjugate(weight) for weight in weights]

        def weighted(*inner: Any) -> Any:
            total = 0.0
            for conjugate, leaf in zip(conjugates, tree_leaves(function(*inner)), strict=True):
                total = total + np.sum(np.real(conjugate * leaf))
            return total

        wrt = tuple(range(len(args)))
        gradients = grad(weighted, wrt=wrt)
        check_grads(
            gradients, args, order=order - 1, step=step, rtol=10 * rtol, atol=10 * atol, seed=seed + 1
        )


def check_rules(rules: RuleSet) -> None:
    """Raise AssertionError unless the example of each rule shows what becomes of it.

    Both sides are simplified, the left one with the rules, the right one without: they must come to the same
    graph. All rules are let loose, as under `fast_math`.

    Args:
        rules: rewrite rules of one's own, as `compile(rules=…)` takes them.

    Example:
        >>> from tapeless import testing
        >>> from tapeless.compiler.rules.rule import SIMPLIFY
        >>> testing.check_rules(SIMPLIFY)
    """
    for rule in rules.rules:
        before, after = (parse(f"graph @{rule.name}{text}") for text in (rule.before, rule.after))
        found = simplify(before, Options(fast_math=True, rules=(rules,)))
        expected = simplify(after, Options(fast_math=True))
        if not structurally_equal(found, expected):
            raise AssertionError(f"{rule.header}\n--- the example says\n{expected}\n--- found\n{found}")


def _each(function: Callable[[Any, int], Any], args: Any) -> Any:
    """The arguments with `function(leaf, number)` in place of leaves; arrays in two places stay one."""
    arrays: dict[int, Any] = {}

    def made(leaf: Any, number: int, name: str) -> Any:
        if not isinstance(leaf, np.ndarray):
            return function(leaf, number)
        if id(leaf) not in arrays:
            arrays[id(leaf)] = function(leaf, number)
        return arrays[id(leaf)]

    return ContainerCopies().copy(made, args, "")


def _direction(rng: np.random.Generator, leaf: Any) -> Any:
    """A random value of the leaf's shape and kind."""
    shape = np.shape(leaf)
    made = rng.normal(size=shape)
    if np.asarray(leaf).dtype.kind == "c":
        made = made + 1j * rng.normal(size=shape)
    return made if shape or isinstance(leaf, np.ndarray) else type(leaf)(made)


def _inner(a: Any, b: Any) -> float:
    return float(np.sum(np.real(np.conjugate(a) * b)))
