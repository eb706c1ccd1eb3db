"""Why Python cannot have a number of a traced value here, and the NumPy that says the same.

The message follows what the user wrote: an `if`, a chained comparison, `max(x)`, `math.sin(t)`, an f-string.
Each form names its own cure as code to paste.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..compiler.ir.node import Node
from ..compiler.ir.types import ScalarType
from ..compiler.ir.visit import topological
from .errors import LeakedTraceError, TracedBoolError, TracedConversionError, make_error
from .source import Expression, expression_at, user_frame
from .state import current, user_loc

if TYPE_CHECKING:
    from .trace import Trace

Fix = tuple[str, str]

_BUILTINS: dict[str, Callable[..., str]] = {
    "max": lambda *a: f"np.max({a[0]})" if len(a) == 1 else f"np.maximum({', '.join(a)})",
    "min": lambda *a: f"np.min({a[0]})" if len(a) == 1 else f"np.minimum({', '.join(a)})",
    "sorted": lambda x, *_: f"np.sort({x})",
    "any": lambda x: f"np.any({x})",
    "all": lambda x: f"np.all({x})",
    "bool": lambda x: f"{x} != 0",
    "round": lambda x, n="": f"np.round({x}, {n})" if n else f"np.rint({x})",
    "int": lambda x, *_: f"np.trunc({x})",
    "float": lambda x: f"{x}.astype(np.float64)",
    "complex": lambda x, *_: f"{x}.astype(np.complex128)",
    "list": lambda x: f"[*{x}]",
    "set": lambda x: f"np.unique({x})",
    "sum": lambda x, *_: f"np.sum({x})",
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


def _here(value: Any) -> tuple[Trace, Node]:
    """The trace that is active, and the node of one of its values; a value of any other has leaked."""
    trace = current()
    if trace is None or value.owner is not trace:
        raise leaked(value)
    return trace, trace.node_of(value)


def leaked(value: Any) -> Any:
    """The error for a traced value that is used outside of its trace."""
    trace = current()
    what = f"<traced {value.type_text()}> was used outside of the trace that made it"
    details: dict[str, Any] = {
        "why": "A traced value means something only while its own function is being traced.",
        "fixes": [("", "return the value from the compiled function and use the result")],
    }
    if trace is None:
        return make_error(LeakedTraceError, what, user_loc(), **details)
    return trace.error(LeakedTraceError, what, **details)


def refuse_bool(value: Any) -> Any:
    """The refusal of True or False."""
    trace, node = _here(value)
    found = expression_at(user_frame())
    form, shown, fixes = _bool_form(found)
    return trace.error(
        TracedBoolError,
        f"{form} needs True or False, but {shown} is a traced value, {node.type}",
        node=node,
        why=f"{_running(trace)}, so Python cannot pick a branch here.",
        fixes=[
            *fixes,
            ("once, when compiling", _static_fix(node)),
            ("after the step", "return the value and branch in the caller"),
        ],
    )


def _running(trace: Trace) -> str:
    """The beginning of a reason: when the function runs."""
    return f"@compile runs {trace.function_name or 'the function'} once, before there are numbers"


def _static_fix(node: Node) -> str:
    """Code that makes the numbers behind a value static, where there are only such."""
    params = [n for n in topological([node]) if n.op.name == "param"]
    names = [str(n.attrs["name"]) for n in params]
    if names and len(names) < 4 and all(isinstance(n.type, ScalarType) for n in params):
        return f"@compile(static=({', '.join(map(repr, names))},))"
    return '@compile(static=("name",)) and test the argument `name`'


def _bool_form(found: Expression | None) -> tuple[str, str, list[Fix]]:
    """What asked for True or False, the value as written, and the cures of this form."""
    general = ("per element, inside the graph", "np.where(condition, a, b)")
    if found is None:
        return "Python", "the value", [general]
    node, around = found.node, found.around
    text = f"`{found.text}`"
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        return "A chained comparison", f"a part of {text}", [("compare one by one", _chain(node))]
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
        item, container = ast.unparse(node.left), ast.unparse(node.comparators[0])
        return "`in`", text, [("compare all", f"np.any({container} == {item})")]
    if isinstance(node, ast.BoolOp) or (around and isinstance(around[0], ast.BoolOp)):
        outer = node if isinstance(node, ast.BoolOp) else around[0]
        assert isinstance(outer, ast.BoolOp)
        sign, word = (" & ", "`and`") if isinstance(outer.op, ast.And) else (" | ", "`or`")
        return (
            word,
            f"a part of {text}",
            [("of truth values", sign.join(f"({ast.unparse(v)})" for v in outer.values))],
        )
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return (
            "`not`",
            f"`{ast.unparse(node.operand)}`",
            [("of truth values", f"~({ast.unparse(node.operand)})")],
        )
    if around and isinstance(around[0], ast.UnaryOp) and isinstance(around[0].op, ast.Not):
        return "`not`", text, [("of truth values", f"~({found.text})")]
    if isinstance(node, ast.Call) and not (around and _test_of(around[0]) is node):
        name, cures = _call_form(node)
        return f"`{name}`", f"what `{found.text}` asks about", cures or [general]
    if around and isinstance(around[0], ast.IfExp) and around[0].test is node:
        branch = around[0]
        cure = f"np.where({found.text}, {ast.unparse(branch.body)}, {ast.unparse(branch.orelse)})"
        return "`if`", text, [("per element, inside the graph", cure)]
    if around and isinstance(around[0], ast.While):
        return (
            "`while`",
            text,
            [("a fixed number of steps", "for _ in range(n): x = np.where(condition, next_x, x)")],
        )
    if around and isinstance(around[0], ast.Assert):
        return "`assert`", text, [("in the caller", "return the value and check it there")]
    form = "`if`" if around and _test_of(around[0]) is node else "Python"
    return form, text, [("per element, inside the graph", f"np.where({found.text}, a, b)")]


def _test_of(node: ast.AST) -> ast.expr | None:
    return node.test if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert)) else None


def _chain(node: ast.Compare) -> str:
    """A chained comparison as single ones."""
    operands = [node.left, *node.comparators]
    parts = [
        f"({ast.unparse(ast.Compare(a, [op], [b]))})"
        for a, op, b in zip(operands[:-1], node.ops, operands[1:], strict=True)
    ]
    return " & ".join(parts)


def _call_form(node: ast.Call) -> tuple[str, list[Fix]]:
    """The name of what is called, and the NumPy function that does it inside the graph."""
    name = ast.unparse(node.func)
    arguments = [ast.unparse(a) for a in node.args]
    cure = ""
    if name in _BUILTINS and not node.keywords:
        try:
            cure = _BUILTINS[name](*arguments)
        except (TypeError, IndexError):
            cure = ""
    elif name.startswith(("math.", "cmath.")):
        short = name.partition(".")[2]
        short = _MATH.get(short, short)
        if _in_numpy(short):
            cure = f"np.{short}({', '.join(arguments)})"
    elif (
        name.startswith(("np.float", "np.int", "np.uint", "np.complex", "np.bool", "numpy.float"))
        and arguments
    ):
        cure = f"{arguments[0]}.astype({name})"
    return name, [("inside the graph", cure)] if cure else []


def _in_numpy(name: str) -> bool:
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return callable(found)


def refuse_conversion(value: Any, into: str, cures: list[Fix]) -> Any:
    """The refusal of a number, index, array or text; `into` says what it would have become."""
    trace, node = _here(value)
    found = expression_at(user_frame())
    what = f"{into} was asked of a traced value, {node.type}"
    fixes = cures
    if found is not None and isinstance(found.node, ast.Call):
        name, own = _call_form(found.node)
        what = f"`{name}` needs {_lower(into)}, but in `{found.text}` the value is traced, {node.type}"
        fixes = own or cures
    elif found is not None:
        what = f"{into} was asked for in `{found.text}`, where the value is traced, {node.type}"
    return trace.error(
        TracedConversionError,
        what,
        node=node,
        why=f"{_running(trace)}; a number taken now would be frozen.",
        fixes=[*fixes, ("after the step", "return the value and convert it in the caller")],
    )


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
