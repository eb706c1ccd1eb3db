"""The expression that is being evaluated in a line of user code, for error messages.

CPython knows for each instruction where in the source it stands; the syntax tree around that place says
whether it is the test of an `if`, the argument of a call, a part of a chained comparison, and so on.
"""

from __future__ import annotations

import ast
import linecache
import sys
import threading
from functools import lru_cache
from types import CodeType, FrameType

from ..compiler.ir.node import Loc
from ..compiler.ir.record import record
from .state import is_internal
from .user_code import is_own_code

Place = tuple[int, int, int, int]
_one_parses = threading.Lock()


@record
class Expression:
    """An expression of the user's: its node, its text and what stands around it, innermost first."""

    node: ast.expr
    text: str
    around: tuple[ast.AST, ...]


def user_frame() -> FrameType:
    """The frame of the innermost line that the user wrote; of a library's where there is none."""
    frame: FrameType | None = sys._getframe(1)
    library = None
    while frame is not None:
        if is_own_code(frame.f_code, frame.f_globals):
            return frame
        if library is None and not is_internal(frame.f_code):
            library = frame
        frame = frame.f_back
    return library or sys._getframe(1)


def own_loc() -> Loc:
    """The innermost line that the user wrote."""
    frame = user_frame()
    return Loc(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def expression_at(frame: FrameType) -> Expression | None:
    """The expression that a frame is evaluating; None where the source cannot be read."""
    place = _place(frame.f_code, frame.f_lasti)
    if place is None:
        return None
    linecache.checkcache(frame.f_code.co_filename)
    lines = linecache.getlines(frame.f_code.co_filename, frame.f_globals)
    tree = _parsed("".join(lines)) if lines else None
    if tree is None:
        return None
    path = _path_to(tree, place)
    if path and isinstance(path[0], (ast.If, ast.While, ast.Assert)):
        # The jump of a loop is said to stand at the whole statement.
        path.insert(0, path[0].test)
    for depth, node in enumerate(path):
        if isinstance(node, ast.expr) and not isinstance(node, ast.FormattedValue):
            text = ast.get_source_segment("".join(lines), node) or ast.unparse(node)
            return Expression(node, " ".join(text.split()), tuple(path[depth + 1 :]))
    return None


def _place(code: CodeType, instruction: int) -> Place | None:
    """Line, end line, column and end column (in bytes of UTF-8) of an instruction."""
    positions = list(code.co_positions())
    index = instruction // 2
    if not 0 <= index < len(positions):
        return None
    line, end_line, column, end_column = positions[index]
    if line is None or end_line is None or column is None or end_column is None:
        return None
    return line, end_line, column, end_column


@lru_cache(maxsize=8)
def _parsed(source: str) -> ast.Module | None:
    """The syntax tree of a file; None where there is none, and the message does without.

    CPython 3.11 counts the depth of the trees that it builds for all threads together, and raises SystemError
    where two of them build at once.
    """
    held = _one_parses.acquire(timeout=1)  # no longer: a forked child may inherit it locked
    try:
        for _ in range(3):
            try:
                return ast.parse(source)
            except SyntaxError:
                return None
            except SystemError:
                continue
        return None
    finally:
        if held:
            _one_parses.release()


def _path_to(tree: ast.AST, place: Place) -> list[ast.AST]:
    """The nodes that contain a place, innermost first."""
    path: list[ast.AST] = []
    node: ast.AST | None = tree
    while node is not None:
        path.append(node)
        node = next((child for child in ast.iter_child_nodes(node) if _contains(child, place)), None)
    return path[::-1]


def _contains(node: ast.AST, place: Place) -> bool:
    line, end_line, column, end_column = place
    if not isinstance(node, (ast.expr, ast.stmt, ast.arg, ast.keyword, ast.excepthandler)):
        return any(_contains(child, place) for child in ast.iter_child_nodes(node))
    above: list[ast.expr] = getattr(node, "decorator_list", [])
    start = min((part.lineno, part.col_offset) for part in (node, *above))
    end = (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
    return start <= (line, column) and (end_line, end_column) <= end
