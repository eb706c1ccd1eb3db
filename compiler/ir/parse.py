"""Reads the text form of a graph back: `parse(str(graph))` prints the same.

Nodes are made by a builder, so every type is checked against the type rule; nothing is merged. Comments that
say where the user wrote a line become locs. Tokens stand in `tokens.py`, attr values in `parse_values.py`.
"""

from __future__ import annotations

import re
from ast import literal_eval

from .body import Body
from .builder import Builder
from .literal import Literal
from .node import NOWHERE, Graph, Loc, Node
from .opdef import OPS, TypeRuleError
from .parse_values import ValueReader
from .text import quoted
from .tokens import ParseError, Token
from .types import Type

__all__ = ["ParseError", "loc_from_text", "parse", "parse_type"]

_COMMENT = re.compile(
    r"# (?:(?P<file>.+):(?P<line>\d+) in (?P<function>[^\s,]+))?(?:, )?(?P<backward>backward)?(?:, )?"
    r"(?:errstate (?P<errstate>\w+=\w+(?: \w+=\w+)*))?"
)


def parse(text: str, loc: Loc = NOWHERE) -> Graph:
    """The graph that `str(graph)` shows.

    Args:
        text: one graph in the text form.
        loc: where nodes come from whose line has no comment that says so.

    Raises:
        ParseError: the text breaks the grammar, names what is not there, or shows a type that the op's type
            rule does not give.

    Example:
        >>> from tapeless.compiler.ir.parse import parse
        >>> graph = parse('''
        ... graph @double(%x: f64[3]) {
        ...   %0: f64[3] = add %x, %x
        ...   return %0
        ... }
        ... ''')
        >>> graph.outputs[0].type
        ArrayType(shape=(3,), dtype=dtype('float64'))
    """
    return _GraphReader(text, loc).graph()


def parse_type(text: str) -> Type:
    """The type that a text shows, as in f64[3,4], float or (f64[], i64[3]); a ParseError for any other text.

    Example:
        >>> print(parse_type("f32[64,10]"))
        f32[64,10]
    """
    reader = ValueReader(text)
    found = reader.type()
    reader.end("type")
    return found


class _GraphReader(ValueReader):
    def __init__(self, text: str, loc: Loc) -> None:
        super().__init__(text)
        self.loc = loc
        self.table: dict[str, Node] = {}
        self.builder = Builder(loc, intern=False)

    def graph(self) -> Graph:
        self.expect("graph")
        graph = self.definition()
        self.end("graph")
        return graph

    def body(self, token: Token) -> Body:
        outer = self.table, self.builder
        self.table, self.builder = {}, Builder(self.loc, intern=False)
        graph = self.definition()
        self.table, self.builder = outer
        return Body(graph)

    def definition(self) -> Graph:
        """What follows the word `graph`."""
        name = _unquoted(self.take("graph", "the graph's name, as in @loss").text)
        self.expect("(")
        params = self.several(")", self.param)
        self.expect("{")
        while not self.accept("return"):
            self.node()
        outputs = self.several("}", self.operand)
        return Graph(name, tuple(params), tuple(outputs))

    def new_name(self) -> Token:
        token = self.take("value", "a value's name, as in %x")
        if _key(token.text) in self.table:
            self.fail(f"{token.text} is defined already", token.start)
        return token

    def param(self) -> Node:
        token = self.new_name()
        self.expect(":")
        param = self.builder.param(_unquoted(token.text), self.type())
        self.table[_key(token.text)] = param
        return param

    def operand(self) -> Node:
        token = self.take("value", "a value, as in %x")
        node = self.table.get(_key(token.text))
        if node is None:
            self.fail(f"{token.text} is not defined above", token.start)
        return node

    def operands(self) -> list[Node]:
        """The operands of a node; a name before a colon belongs to the next line."""
        found: list[Node] = []
        if self.peek().kind != "value" or self.tokens[self.place + 1].text == ":":
            return found
        found.append(self.operand())
        while self.accept(","):
            found.append(self.operand())
        return found

    def node(self) -> None:
        token = self.new_name()
        self.expect(":")
        type_at = self.peek().start
        type_ = self.type()
        self.expect("=")
        word = self.take("word", "a primitive's name")
        if word.text not in OPS:
            self.fail(f"there is no primitive named {word.text}", word.start)
        inputs = self.operands()
        attrs = dict(self.several("}", self.attr)) if self.accept("{") else {}
        if word.text == "constant":
            attrs = {key: Literal.of(value) for key, value in attrs.items()}
        self.builder.loc = self.comment()
        try:
            node = self.builder.make(OPS[word.text], inputs, attrs)
        except TypeRuleError as error:
            self.fail(str(error), word.start)
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            self.fail(f"{word.text} does not take these operands and attrs: {error}", word.start)
        if node.type != type_:
            self.fail(f"{word.text} gives {node.type} here, not {type_}", type_at)
        self.table[_key(token.text)] = node

    def comment(self) -> Loc:
        """The loc that a comment behind the last token says; the default without one."""
        return loc_from_text(self.comments.get(self.place - 1, "")) or self.loc


def _key(text: str) -> str:
    """One key for all spellings of a name: `%x` and `%'x'` are the same, `%0` and `%'0'` are not."""
    return quoted(_unquoted(text)) if text[1] in "'\"" else text[1:]


def _unquoted(text: str) -> str:
    """A name without its sign and quotes."""
    return str(literal_eval(text[1:])) if text[1] in "'\"" else text[1:]


def loc_from_text(comment: str) -> Loc | None:
    """The inverse of `loc_text`; None for any other comment."""
    match = _COMMENT.fullmatch(comment.rstrip())
    if match is None or not any(match.groups()):
        return None
    settings = (pair.partition("=") for pair in (match["errstate"] or "").split())
    errstate = tuple((kind, mode) for kind, _, mode in settings)
    return Loc(
        match["file"] or "",
        int(match["line"] or 0),
        match["function"] or "",
        bool(match["backward"]),
        errstate,
    )
