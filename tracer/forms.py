"""The forms of Python code that ask for a number, a truth value or a text, and the NumPy that says the same.

Each function looks at the expression the user wrote and gives words for a message and code to paste.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiler.ir.types import ScalarType
from .source import Expression

Fix = tuple[str, str]

_IN_GRAPH = "inside the graph"
_PER_ELEMENT = "per element, inside the graph"
_BUILTINS: dict[str, Callable[..., str]] = {
    "max": lambda *a: f"np.max({a[0]})" if len(a) == 1 else f"np.maximum({', '.join(a)})",
    "min": lambda *a: f"np.min({a[0]})" if len(a) == 1 else f"np.minimum({', '.join(a)})",
    "sorted": lambda x: f"np.sort({x})",
    "any": lambda x: f"np.any({x})",
    "all": lambda x: f"np.all({x})",
    "bool": lambda x: f"{x} != 0",
    "round": lambda x, n="": f"np.round({x}, {n})" if n else f"np.rint({x})",
    "int": lambda x: f"np.trunc({x})",
    "float": lambda x: f"{x}.astype(np.float64)",
    "complex": lambda x: f"{x}.astype(np.complex128)",
    "set": lambda x: f"np.unique({x})",
    "str": lambda x: f"print({x})",
    "repr": lambda x: f"print({x})",
}
_MATH = {
    "pow": "power",
    "acos": "arccos",
    "asin": "arcsin",
    "atan": "arctan",
    "atan2": "arctan2",
    "acosh": "arccosh",
    "asinh": "arcsinh",
    "atanh": "arctanh",
    "fsum": "sum",
    "dist": "",
}
_SCALAR_TYPES = ("np.float", "np.int", "np.uint", "np.complex", "np.bool", "numpy.")


class Form(NamedTuple):
    """What asked (`if`, a chained comparison …), about what, and the cures of this form."""

    name: str
    value: str
    cures: list[Fix]


def truth_form(found: Expression | None) -> Form:
    """The form of code that asked for True or False."""
    if found is None:
        return Form("Python", "the value", [(_PER_ELEMENT, "np.where(condition, a, b)")])
    return _operator_form(found) or _call_form(found) or _statement_form(found)


def _operator_form(found: Expression) -> Form | None:
    """Chained comparisons, `in`, `and`, `or`, `not`."""
    node = found.node
    outer = found.around[0] if found.around else None
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return Form("a chained comparison", f"a part of `{found.text}`", [("one by one", _unchained(node))])
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        item, container = ast.unparse(node.left), ast.unparse(node.comparators[0])
        return Form("`in`", f"`{found.text}`", [("compare all", f"np.isin({item}, {container})")])
    joined = node if isinstance(node, ast.BoolOp) else outer
    if isinstance(joined, ast.BoolOp):
        word = "and" if isinstance(joined.op, ast.And) else "or"
        cure = _logical(word, joined.values)
        return Form(f"`{word}`", f"a part of `{found.text}`", [("of truth values", cure)])
    negated = node if isinstance(node, ast.UnaryOp) else outer
    if isinstance(negated, ast.UnaryOp) and isinstance(negated.op, ast.Not):
        operand = ast.unparse(negated.operand)
        return Form("`not`", f"`{operand}`", [("of truth values", f"np.logical_not({operand})")])
    return None


def _unchained(node: ast.Compare) -> str:
    """A chained comparison as single ones."""
    operands = [node.left, *node.comparators]
    pairs = zip(operands[:-1], node.ops, operands[1:], strict=True)
    return " & ".join(f"({ast.unparse(ast.Compare(a, [op], [b]))})" for a, op, b in pairs)


def _logical(word: str, values: Sequence[ast.expr]) -> str:
    """`a and b and c` as NumPy's functions."""
    text = ast.unparse(values[0])
    for value in values[1:]:
        text = f"np.logical_{word}({text}, {ast.unparse(value)})"
    return text


def _call_form(found: Expression) -> Form | None:
    """A function that asks: max, sorted, any."""
    node = found.node
    if not isinstance(node, ast.Call) or (found.around and test_of(found.around[0]) is node):
        return None
    cures = call_cures(node) or [(_PER_ELEMENT, "np.where(condition, a, b)")]
    return Form(f"`{ast.unparse(node.func)}`", f"what `{found.text}` asks about", cures)


def _statement_form(found: Expression) -> Form:
    """The test of an `if`, a `while`, a conditional expression, an `assert`, a comprehension."""
    outer = found.around[0] if found.around else None
    text = f"`{found.text}`"
    where = (_PER_ELEMENT, f"np.where({found.text}, a, b)")
    if isinstance(outer, ast.IfExp) and outer.test is found.node:
        branches = f"{ast.unparse(outer.body)}, {ast.unparse(outer.orelse)}"
        return Form("`if`", text, [(_PER_ELEMENT, f"np.where({found.text}, {branches})")])
    if isinstance(outer, ast.While):
        steps = "for _ in range(n): x = np.where(condition, next_x, x)"
        return Form("`while`", text, [("a fixed number of steps", steps)])
    if isinstance(outer, ast.Assert):
        return Form("`assert`", text, [("in the caller", "return the value and check it there")])
    if isinstance(outer, ast.comprehension):
        return Form("`if`", text, [("of a sum", "np.sum(x, where=condition)"), where])
    return Form("`if`" if outer is not None and test_of(outer) is found.node else "Python", text, [where])


def test_of(node: ast.AST) -> ast.expr | None:
    """The test of a statement or conditional expression."""
    return node.test if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) else None


def call_cures(node: ast.Call) -> list[Fix]:
    """The NumPy function that does inside the graph what is called here; nothing where there is none."""
    name = ast.unparse(node.func)
    arguments = [ast.unparse(a) for a in node.args]
    cure = ""
    if name in _BUILTINS and not node.keywords:
        try:
            cure = _BUILTINS[name](*arguments)
        except (TypeError, IndexError):
            return []
    elif name.startswith(("math.", "cmath.")):
        short = name.partition(".")[2]
        short = _MATH.get(short, short)
        cure = f"np.{short}({', '.join(arguments)})" if callable(getattr(np, short, None)) else ""
    elif name.startswith(_SCALAR_TYPES) and len(arguments) == 1 and _is_scalar_type(name):
        cure = f"{arguments[0]}.astype({name})"
    return [(_IN_GRAPH, cure)] if cure else []


def _is_scalar_type(name: str) -> bool:
    found: Any = getattr(np, name.partition(".")[2], None)
    return isinstance(found, type) and issubclass(found, np.generic)


def written_name(found: Expression) -> str:
    """The array that a subscript assignment writes to, as written; empty for any other expression."""
    node = found.node
    written = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
    return ast.unparse(node.value) if isinstance(node, ast.Subscript) and written else ""


def conversion_form(found: Expression | None, into: str, type_: Any, cures: list[Fix]) -> Form:
    """What asked for a number or an array; `name` is the whole sentence."""
    if found is None:
        return Form(f"{into} was asked of a traced value, {type_}", "", cures)
    node = found.node
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        wanted = into[:1].lower() + into[1:]
        text = f"`{name}` needs {wanted}, but in `{found.text}` the value is traced, {type_}"
        own = call_cures(node)
        if isinstance(type_, ScalarType):
            own = [(label, cure) for label, cure in own if ".astype(" not in cure]
        return Form(text, "", own or cures)
    target = written_name(found)
    if target:
        return Form(
            f"a traced value, {type_}, is written into `{target}`, which is no array of the trace",
            "",
            [
                ("make it inside", f"{target} = np.zeros(…), in the compiled function"),
                ("or pass it in", f"`{target}` as an argument: what is written to it reaches the caller"),
            ],
        )
    return Form(f"{into} was asked for in `{found.text}`, where the value is traced, {type_}", "", cures)
