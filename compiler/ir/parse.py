"""Reads the text form of a graph back: `parse(str(graph))` prints the same.

The text is cut into tokens by one regular expression and read from left to right. Nodes are made by a
builder, so every type is checked against the type rule; nothing is merged. Comments that say where the user
wrote a line become locs.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np

from .builder import Builder
from .literal import Literal
from .node import NOWHERE, Graph, Loc, Node
from .opdef import OPS, TypeRuleError
from .text_values import (
    PYTHON_CLASSES,
    array_from_bytes,
    elements_from_text,
    float_from_text,
    in_order,
    split_complex,
)
from .types import GENERATOR, ArrayType, TupleType, Type, array_type, parse_dtype, scalar_type

T = TypeVar("T")

_DIGITS = r"(?:inf|nan(?::[0-9a-f]+)?|\d+(?:\.\d*)?(?:e[+-]?\d+)?)"
_STRING = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_TOKEN = re.compile(
    rf"""
    (?P<space>\s+)
  | (?P<comment>\#[^\n]*)
  | (?P<value>%(?:[\w.]+|{_STRING}))
  | (?P<graph>@(?:[\w.]+|{_STRING}))
  | (?P<string>{_STRING})
  | (?P<complex>[+-]?{_DIGITS}[+-]{_DIGITS}j(?!\w))
  | (?P<hex>-?0x[0-9a-f]+)
  | (?P<real>[+-]?{_DIGITS}(?![\w.]))
  | (?P<word>[<>]?[^\W\d][\w.]*)
  | (?P<mark>[(){{}}\[\],:=])
    """,
    re.VERBOSE,
)
_COMMENT = re.compile(
    r"# (?:(?P<file>.+):(?P<line>\d+) in (?P<function>[^\s,]+))?(?:, )?(?P<backward>backward)?(?:, )?"
    r"(?:errstate (?P<errstate>\w+=\w+(?: \w+=\w+)*))?"
)


class ParseError(ValueError):
    """The text is no graph. The message shows the line with a caret below the place."""

    def __init__(self, message: str, line: int, column: int, source: str) -> None:
        super().__init__(f"{message}\n  line {line}: {source}\n{' ' * (len(str(line)) + 8 + column)} ^")
        self.line = line
        self.column = column


@dataclass(slots=True)
class Token:
    """One word of the text: what it is, how it reads and where it begins."""

    kind: str
    text: str
    start: int


def parse(text: str, loc: Loc = NOWHERE) -> Graph:
    """The graph that `str(graph)` shows.

    Args:
        text: one graph in the text form.
        loc: where nodes come from whose line has no comment that says so.

    Raises:
        ParseError: the text breaks the grammar, names what is not there, or shows a type that the op's type
            rule does not give.

    Example:
        >>> graph = parse('''
        ... graph @double(%x: f64[3]) {
        ...   %0: f64[3] = add %x, %x
        ...   return %0
        ... }
        ... ''')
        >>> graph.outputs[0].type
        ArrayType(shape=(3,), dtype=dtype('float64'))
    """
    return _Parser(text, loc).graph()


class _Parser:
    def __init__(self, text: str, loc: Loc) -> None:
        self.text = text
        self.loc = loc
        self.comments: dict[int, str] = {}
        self.tokens = self._tokens()
        self.place = 0
        self.table: dict[str, Node] = {}
        self.builder = Builder(loc, intern=False)

    def _tokens(self) -> list[Token]:
        tokens: list[Token] = []
        at = 0
        while at < len(self.text):
            match = _TOKEN.match(self.text, at)
            if match is None:
                self.fail(f"{self.text[at]!r} has no meaning here", at)
            kind = match.lastgroup or ""
            if kind == "comment":
                self.comments[len(tokens) - 1] = match.group()
            elif kind != "space":
                tokens.append(Token(kind, match.group(), at))
            at = match.end()
        tokens.append(Token("end", "the end of the text", len(self.text)))
        return tokens

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise a ParseError at an offset, by default where the next token begins."""
        start = self.tokens[self.place].start if at is None else at
        before = self.text[:start]
        begin = before.rfind("\n") + 1
        source = self.text[begin:].partition("\n")[0]
        raise ParseError(message, before.count("\n") + 1, start - begin + 1, source)

    # Reading tokens.

    def peek(self) -> Token:
        return self.tokens[self.place]

    def take(self, kind: str, what: str) -> Token:
        token = self.peek()
        if token.kind != kind:
            self.fail(f"expected {what}, found {token.text}")
        self.place += 1
        return token

    def accept(self, text: str) -> bool:
        if self.peek().text == text and self.peek().kind in ("mark", "word"):
            self.place += 1
            return True
        return False

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"expected `{text}`, found {self.peek().text}")

    def several(self, end: str, item: Callable[[], T]) -> list[T]:
        """Items with commas between them up to the closing mark; a comma behind the last is allowed."""
        found = []
        while not self.accept(end):
            found.append(item())
            if not self.accept(","):
                self.expect(end)
                break
        return found

    # Graphs and nodes.

    def graph(self) -> Graph:
        self.expect("graph")
        name = _unquoted(self.take("graph", "the graph's name, as in @loss").text)
        self.expect("(")
        params = self.several(")", self.param)
        self.expect("{")
        while not self.accept("return"):
            self.node()
        outputs = self.several("}", self.operand)
        if self.peek().kind != "end":
            self.fail(f"expected nothing behind the graph, found {self.peek().text}")
        return Graph(name, tuple(params), tuple(outputs))

    def new_name(self) -> Token:
        token = self.take("value", "a value's name, as in %x")
        if _unquoted(token.text) in self.table:
            self.fail(f"{token.text} is defined already", token.start)
        return token

    def param(self) -> Node:
        token = self.new_name()
        self.expect(":")
        name = _unquoted(token.text)
        param = self.table[name] = self.builder.param(name, self.type())
        return param

    def operand(self) -> Node:
        token = self.take("value", "a value, as in %x")
        node = self.table.get(_unquoted(token.text))
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
        self.table[_unquoted(token.text)] = node

    def comment(self) -> Loc:
        """The loc that a comment behind the last token says; the default without one."""
        return loc_from_text(self.comments.get(self.place - 1, "")) or self.loc

    # Types and attr values.

    def type(self) -> Type:
        if self.accept("("):
            return TupleType(tuple(self.several(")", self.type)))
        token = self.take("word", "a type, as in f64[3] or float")
        if self.peek().text == "[" and self.peek().kind == "mark":
            return self.array_type(token)
        if token.text == "generator":
            return GENERATOR
        if token.text not in _PYTHON:
            self.fail(
                f"{token.text} is no type; an array's ends in its shape, as in f64[] or f64[3,4]", token.start
            )
        return scalar_type(_PYTHON[token.text])

    def array_type(self, token: Token) -> ArrayType:
        dtype = self.dtype(token)
        self.expect("[")
        return array_type(tuple(self.several("]", self.length)), dtype)

    def length(self) -> int:
        token = self.take("real", "the length of an axis")
        if not token.text.isdecimal():
            self.fail(f"{token.text} is no length", token.start)
        return int(token.text)

    def dtype(self, token: Token) -> np.dtype[Any]:
        try:
            return parse_dtype(token.text)
        except (KeyError, TypeError):
            self.fail(f"{token.text} is no dtype", token.start)

    def attr(self) -> tuple[str, Any]:
        key = self.take("word", "an attr's name").text
        self.expect("=")
        return key, self.attr_value()

    def attr_value(self) -> Any:
        token = self.peek()
        if self.accept("("):
            return tuple(self.several(")", self.attr_value))
        if self.accept("["):
            return tuple(self.several("]", self.path_step))
        self.place += 1
        if token.kind == "word":
            return self.word_value(token)
        if token.kind not in _FROM_TEXT:
            self.place -= 1
            self.fail(f"expected a value, found {token.text}")
        return _FROM_TEXT[token.kind](token.text)

    def word_value(self, token: Token) -> Any:
        """What begins with a word: True, py.float, a dtype, a type, an array."""
        word = token.text
        following = self.peek()
        if word in _WORDS:
            return _WORDS[word]
        if word == "tuple":
            return self.type()
        if following.kind == "mark" and following.text == "[":
            type_ = self.array_type(token)
            return self.array(type_.dtype, type_.shape) if self.accept("(") else type_
        if self.accept("("):
            return self.array(self.dtype(token), None)
        if word in _PYTHON:
            return scalar_type(_PYTHON[word])
        return GENERATOR if word == "generator" else self.dtype(token)

    def array(self, dtype: np.dtype[Any], shape: tuple[int, ...] | None) -> Any:
        """What stands in the parentheses behind an array's dtype."""
        at = self.peek().start
        try:
            if self.peek().kind == "string":
                array = array_from_bytes(literal_eval(self.take("string", "").text), shape or (), dtype)
            else:
                items: list[str] = []
                seen = self.elements(items)
                array = elements_from_text(items, dtype).reshape(seen)
        except (ValueError, TypeError, LookupError, OverflowError) as error:
            self.fail(f"these are no elements of {dtype}: {error}", at)
        if shape is not None and array.shape != shape:
            self.fail(f"the elements have shape {array.shape}, not {shape}", at)
        if self.accept(","):
            self.expect("order")
            self.expect("=")
            array = in_order(array, self.attr_value())
        self.expect(")")
        return array

    def elements(self, items: list[str]) -> tuple[int, ...]:
        """Append the text of each element of a nested list; its shape. The depth is the number of axes."""
        if not self.accept("["):
            items.append(self.peek().text)
            self.place += 1
            return ()
        shapes = self.several("]", lambda: self.elements(items))
        if len(set(shapes)) != 1:
            raise ValueError(f"rows of shapes {sorted(set(shapes))}")
        return (len(shapes), *shapes[0])

    def path_step(self) -> tuple[str, tuple[tuple[str, Any], ...]]:
        name = self.take("word", "the name of a view").text
        return name, tuple(self.several("}", self.attr)) if self.accept("{") else ()


_PYTHON = {kind.__name__: kind for kind in PYTHON_CLASSES}
_WORDS = {
    "True": True,
    "False": False,
    "None": None,
    **{f"py.{name}": kind for name, kind in _PYTHON.items()},
}


def _number(text: str) -> int | float:
    return float_from_text(text) if set(text) & set(".en") else int(text)


_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "string": literal_eval,
    "complex": lambda text: complex(*map(float_from_text, split_complex(text))),
    "hex": lambda text: int(text, 16),
    "real": _number,
}


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
