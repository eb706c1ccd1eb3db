"""What is known about each primitive, and where: the card of an op, and the matrix of all of them.

An op's meaning stands in its OpDef; how it is reached, run and simplified stands in the tables of tracer,
runtime and rules. This module looks into all of them, by the registries where there is one and by reading the
sources where there is none. It computes nothing; `__main__.py` prints what it finds.
"""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .compiler.ir.opdef import OPS, PLACES, Kind, NotDifferentiable, OpDef
from .compiler.rules import derivative
from .compiler.rules.rule import CANONICAL, SIMPLIFY, Rule
from .runtime import kernels
from .tracer.numpy_table.registry import FUNCTIONS, public_name

ROOT = Path(__file__).resolve().parent
MOST = 8


def place(thing: Any) -> str:
    """File and line where a function is defined; its name, where it has no Python source."""
    while isinstance(thing, functools.partial):
        thing = thing.func
    try:
        return _shown(Path(inspect.getsourcefile(thing) or ""), inspect.getsourcelines(thing)[1])
    except (TypeError, OSError):
        return name_of(thing)


def _shown(file: Path, line: int) -> str:
    file = file.resolve()
    return f"{file.relative_to(ROOT).as_posix() if file.is_relative_to(ROOT) else file}:{line}"


def name_of(thing: Any) -> str:
    """`np.exp`, `np.linalg.inv` for what NumPy has."""
    if isinstance(thing, np.ufunc):
        return f"np.{thing.__name__}"
    return public_name(thing) if hasattr(thing, "__name__") else repr(thing)


def definition(op: OpDef) -> str:
    """File and line where the op is registered."""
    file, line = PLACES[op.name]
    return _shown(Path(file), line)


# ---- how code reaches an op


@cache
def mentions() -> dict[str, dict[str, str]]:
    """For each op who in the tracer makes it, and where: the first line of each."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for file in sorted((ROOT / "tracer").rglob("*.py")):
        for name, line, owner in _mentions_in(ast.parse(file.read_text(encoding="utf-8"))):
            found[name].setdefault(owner, f"{file.relative_to(ROOT).as_posix()}:{line}")
    return found


def _mentions_in(tree: ast.Module) -> Iterator[tuple[str, int, str]]:
    """(op, line, owner) for `builder.op(…)` and for names of ops handed to a helper or listed in a table."""
    stack: list[tuple[ast.AST, str]] = [(tree, "a table")]
    while stack:
        node, owner = stack.pop()
        if isinstance(node, ast.FunctionDef):
            owner = _owner(node)
        named = _made(node, owner) if isinstance(node, ast.Call) else _listed(node, owner)
        yield from ((name, getattr(node, "lineno", 0), who) for name, who in named if name in OPS)
        stack += [(child, owner) for child in reversed(list(ast.iter_child_nodes(node)))]


def _owner(function: ast.FunctionDef) -> str:
    """The NumPy functions that a handler implements, else its own name."""
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "implements":
            named = [ast.unparse(a) for a in decorator.args if isinstance(a, ast.Attribute)]
            methods = [f"ufunc.{a.value!s}" for a in decorator.args if isinstance(a, ast.Constant)]
            return ", ".join([*named, *methods]) or f"{function.name}()"
    return f"{function.name}()"


def _made(call: ast.Call, owner: str) -> list[tuple[str, str]]:
    if isinstance(call.func, ast.Attribute):
        receiver = ast.unparse(call.func.value)
        return [(call.func.attr, owner)] if receiver == "b" or receiver.endswith("builder") else []
    if isinstance(call.func, ast.Name) and call.func.id != "implements":
        return [(text, owner) for text in _texts(call.args)]
    return []


def _listed(node: ast.AST, owner: str) -> list[tuple[str, str]]:
    """Ops among the values of a table, with the key as the owner; and `OPS["op"]`."""
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "OPS":
        return [(text, owner) for text in _texts([node.slice])]
    if not isinstance(node, ast.Dict):
        return []
    found = []
    for key, value in zip(node.keys, node.values, strict=True):
        if key is not None and (isinstance(key, ast.Attribute) or isinstance(value, ast.Tuple)):
            values = value.elts if isinstance(value, ast.Tuple) else [value]
            found += [(text, f"{ast.unparse(key)} in a table") for text in _texts(values)]
    return found


def _texts(nodes: Sequence[ast.expr]) -> list[str]:
    return [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]


@cache
def _by_name() -> dict[str, list[tuple[str, Any]]]:
    """The NumPy functions that have a handler, by their last name."""
    found: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for function, handler in FUNCTIONS.items():
        if hasattr(function, "__name__"):
            found[function.__name__].append((name_of(function), handler))
    return found


def _ufunc(op: OpDef) -> str | None:
    """The ufunc that reaches the op by its name: NumPy's, or SciPy's where SciPy is installed."""
    if isinstance(getattr(np, op.name, None), np.ufunc):
        return f"np.{op.name}"
    if importlib.util.find_spec("scipy") is None:
        is_special = definition(op).startswith("compiler/ops/special.py")
        return "scipy.special, if it were installed" if is_special else None
    import scipy.special

    return f"scipy.special.{op.name}" if isinstance(getattr(scipy.special, op.name, None), np.ufunc) else None


def callers(op: OpDef) -> list[str]:
    """How user code reaches the op: ufuncs and handlers of its name, and tracer functions that make it."""
    handlers = {name: place(handler) for name, handler in _by_name().get(op.name, ())}
    places = {**mentions().get(op.name, {}), **handlers}
    ufunc = _ufunc(op)
    own = [] if ufunc is None or ufunc in handlers else [f"{ufunc}, as a ufunc of this name"]
    shown = own + [f"{name}   {where}" for name, where in places.items()]
    return shown if len(shown) <= MOST else [*shown[:MOST], f"… and {len(shown) - MOST} more"]


# ---- how an op is run and simplified


def kernel(op: OpDef) -> str:
    """How the NumPy executor runs the op."""
    row = kernels.ROWS.get(op.name) or kernels.PARTS.get(op.name)
    if row is not None:
        return f"{row.__name__}   {place(row)}"
    if op.kind is Kind.VIEW:
        return "a view, which costs nothing"
    if isinstance(op.numpy, np.ufunc):
        return f"{name_of(op.numpy)} with out="
    return "the reference"


def rules(op: OpDef) -> list[Rule]:
    """The rewrite rules that name the op as their root."""
    return [rule for rule in (*CANONICAL.rules, *SIMPLIFY.rules) if op.name in rule.roots]


def derivative_rules(op: OpDef) -> list[Callable[..., Any]]:
    """The patterns that are recognised at the op while differentiating."""
    return [rule for rule, _ in derivative.RULES.get(op.name, ())]


def op_card(op: OpDef) -> str:
    """Everything about one primitive: what it means, its constraints, and every place it stands in."""
    rows = [
        ("kind", f"{op.kind.value}; structural zeros: {op.flow.value}"),
        ("defined", definition(op)),
        *(("constraint", text) for text in op.constraints),
        ("type rule", place(op.type_rule)),
        ("reference", place(op.numpy)),
        *([("on numbers", place(op.python))] if op.python is not None else []),
        ("derivative", f"none: {op.vjp.reason}" if isinstance(op.vjp, NotDifferentiable) else place(op.vjp)),
        *(("reached by", text) for text in callers(op) or ["derivatives and rules alone"]),
        ("kernel", kernel(op)),
        *(("rule", f"{rule.header}   {place(rule.rewrite)}") for rule in rules(op)),
        *(("derivative rule", f"{_headline(rule)}   {place(rule)}") for rule in derivative_rules(op)),
        *(("sample", s.name + (f", which breaks {s.breaks}" if s.breaks else "")) for s in op.samples),
    ]
    lines, before = [f"{op.name}: {op.doc}"], ""
    for label, text in rows:
        lines.append(f"  {'' if label == before else label:<17}{text}")
        before = label
    return "\n".join(lines)


def _headline(rule: Callable[..., Any]) -> str:
    return (inspect.getdoc(rule) or rule.__name__).splitlines()[0]


# ---- the matrix


def op_matrix() -> str:
    """All primitives as Markdown tables, one a family."""
    families: dict[str, list[OpDef]] = defaultdict(list)
    for op in OPS.values():
        families[definition(op).partition(":")[0]].append(op)
    return "\n\n".join(_family(file, families[file]) for file in sorted(families))


def _family(file: str, members: list[OpDef]) -> str:
    lines = [
        f"## [{Path(file).stem}](../{file})",
        "",
        "| op | what it is | kind | derivative | kernel | rules | samples |",
        "|---|---|---|---|---|---|---|",
    ]
    for op in sorted(members, key=lambda each: each.name):
        vjp = op.vjp
        cells = [
            f"`{op.name}`",
            op.doc,
            op.kind.value,
            f"none: {vjp.reason}"
            if isinstance(vjp, NotDifferentiable)
            else f"`{getattr(vjp, '__name__', vjp)}`",
            kernel(op).partition("   ")[0],
            str(len(rules(op)) + len(derivative_rules(op)) or ""),
            str(len(op.samples)),
        ]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
