"""The text form as tokens: cut by one regular expression, read from left to right, errors with a caret.

Comments are no tokens; what stands behind a token is remembered, for a comment may say where the user wrote a
line. What tokens mean stands in `parse_values.py` and `parse.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NoReturn, TypeVar

from .record import record

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


class ParseError(ValueError):
    """The text is no graph. The message shows the line with a caret below the place."""

    def __init__(self, message: str, line: int, column: int, source: str) -> None:
        super().__init__(f"{message}\n  line {line}: {source}\n{' ' * (len(str(line)) + 8 + column)}^")
        self.line = line
        self.column = column


@record(frozen=False, slots=True)
class Token:
    """One word of the text: what it is, how it reads and where it begins."""

    kind: str
    text: str
    start: int


class TokenReader:
    """The tokens of a text, with a place among them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments: dict[int, str] = {}
        self.tokens = self._tokens()
        self.place = 0

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

    def end(self, of: str) -> None:
        """Only the end of the text may follow."""
        if self.peek().kind != "end":
            self.fail(f"expected nothing behind the {of}, found {self.peek().text}")
