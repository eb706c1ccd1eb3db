"""Who may import whom, read from the source of every module, also inside functions.

The compiler owns the IR and knows neither tracer nor runtime; these know the compiler but not each other;
only api.py (and compiled.py, its other half) joins the three. Imports inside the package are relative, so
that the package works under any folder's name; heavy libraries are imported where they are used, so that
`import tapeless` stays light.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

MAY_IMPORT = {
    "compiler": {"compiler"},
    "tracer": {"tracer", "compiler"},
    "runtime": {"runtime", "compiler"},
}
# The public face only hands names on; a test below holds it to that.
MAY_JOIN = {
    "tapeless",
    "tapeless.api",
    "tapeless.compiled",  # the other half of api.py: one compiled function with its cache
    "tapeless.specialize",  # and one signature of it
    "tapeless.cards",  # an op's card names every place it stands in, so it looks into all three tables
}
IMPORTED_LATE = {"graphviz", "llvmlite", "networkx", "scipy", "threadpoolctl", "tqdm"}


def imports_of(node: ast.stmt, module: str, is_package: bool) -> list[str]:
    """The absolute names an import statement may load; `from a import b` gives a.b, whatever b is."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    base = [node.module] if node.module else []
    if node.level:
        parts = module.split(".")
        parts = parts[: len(parts) - node.level + is_package]
        base = [*parts, *base]
    return [".".join([*base, alias.name]) for alias in node.names]


def statements(node: ast.AST, at_import_only: bool = False) -> Iterator[ast.stmt]:
    """All statements below a node; `at_import_only` leaves out functions and `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if at_import_only and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if at_import_only and isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.stmt):
            yield child
        yield from statements(child, at_import_only)


def offences(source: str, module: str, is_package: bool = False) -> list[str]:
    """Every import in `source` that breaks a rule, as text."""
    tree = ast.parse(source)
    stage = module.split(".")[1] if module.count(".") else ""
    found = []
    targets = set()
    for node in statements(tree):
        for name in imports_of(node, module, is_package):
            top, *rest = name.split(".")
            if top != "tapeless":
                continue
            if not (isinstance(node, ast.ImportFrom) and node.level):
                found.append(f"{module}:{node.lineno} imports {name} by its absolute name")
            target = rest[0] if rest else ""
            targets.add(target)
            if stage in MAY_IMPORT and target not in MAY_IMPORT[stage]:
                found.append(f"{module}:{node.lineno} imports {name}, which {stage} may not know")
    if {"tracer", "runtime"} <= targets and module not in MAY_JOIN and stage not in MAY_IMPORT:
        found.append(f"{module} joins tracer and runtime, which only api.py does")
    for node in statements(tree, at_import_only=True):
        for name in imports_of(node, module, is_package):
            if name.split(".")[0] in IMPORTED_LATE:
                found.append(f"{module}:{node.lineno} imports {name} at module level")
    return found


def test_module_keeps_to_the_layers(module_name: str, modules: dict[str, Path]) -> None:
    file = modules[module_name]
    assert offences(file.read_text(encoding="utf-8"), module_name, file.name == "__init__.py") == []


@pytest.mark.parametrize(
    ("module", "source", "offence"),
    [
        pytest.param("compiler.draw", "from ..tracer import trace", "may not know", id="compiler-tracer"),
        pytest.param("compiler.ir.node", "from ... import runtime", "may not know", id="compiler-runtime"),
        pytest.param("compiler.plan", "def f():\n  from ..api import grad", "may not know", id="late-api"),
        pytest.param("tracer.trace", "from ..runtime.arena import Arena", "may not know", id="tracer"),
        pytest.param("tracer.trace", "from .. import grad", "may not know", id="tracer-face"),
        pytest.param("runtime.arena", "from ..tracer import tree", "may not know", id="runtime"),
        pytest.param("nn.layers", "import tapeless", "absolute name", id="absolute"),
        pytest.param("nn.layers", "from tapeless.api import grad", "absolute name", id="absolute-from"),
        pytest.param("testing", "from . import tracer, runtime", "joins", id="joins"),
        pytest.param("compiler.draw", "try:\n  import networkx\nfinally: ...", "module level", id="heavy"),
        pytest.param("runtime.llvm", "class A:\n  from llvmlite import ir", "module level", id="heavy-class"),
    ],
)
def test_an_offence_is_found(module: str, source: str, offence: str) -> None:
    found = offences(source, f"tapeless.{module}")
    assert len(found) == 1
    assert offence in found[0]


@pytest.mark.parametrize(
    ("module", "source"),
    [
        pytest.param("api", "from .tracer import trace\nfrom .runtime import executor", id="api-joins"),
        pytest.param("tracer.trace", "from ..compiler.ir import Graph\nfrom . import tree", id="tracer"),
        pytest.param("compiler.draw", "def f():\n  import graphviz", id="late"),
        pytest.param("compiler.draw", "if TYPE_CHECKING:\n  import networkx as nx", id="for-types"),
    ],
)
def test_what_is_allowed_is_no_offence(module: str, source: str) -> None:
    assert offences(source, f"tapeless.{module}") == []


def test_a_package_resolves_its_own_imports() -> None:
    assert offences("from .node import Node", "tapeless.compiler.ir", is_package=True) == []
    assert len(offences("from ...tracer import trace", "tapeless.compiler.ir", is_package=True)) == 1


def test_public_face_only_hands_names_on(root: Path) -> None:
    tree = ast.parse((root / "__init__.py").read_text(encoding="utf-8"))
    docstring, *rest = tree.body
    assert isinstance(docstring, ast.Expr)
    assert [ast.unparse(node) for node in rest if not isinstance(node, ast.ImportFrom | ast.Assign)] == []
    assigned = [ast.unparse(node.targets[0]) for node in rest if isinstance(node, ast.Assign)]
    assert [name for name in assigned if not name.startswith("__")] == []
