"""DOT text: quoting, escaping, statements. Nothing here knows what is drawn."""

from __future__ import annotations

from collections.abc import Mapping


def quoted(text: str) -> str:
    """A DOT string that shows `text`: line breaks kept, backslashes and quotes as they are."""
    escaped = printable(text).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def html(text: str) -> str:
    """Text inside an HTML-like label, on one line."""
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        text = text.replace(character, entity)
    return printable(text).replace("\n", "\\n")


def printable(text: str) -> str:
    """The text without what no picture can show: control characters and lone surrogates become escapes."""
    return "".join(
        character if character.isprintable() or character == "\n" else _escape(character)
        for character in text
    )


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


class Markup(str):
    """A value that is written between angle brackets: an HTML-like label."""

    __slots__ = ()


def attributes(values: Mapping[str, str]) -> str:
    """`[a="1", b=<…>]`, without those that are empty; nothing at all if all are."""
    texts = [
        f"{name}=<{value}>" if isinstance(value, Markup) else f"{name}={quoted(value)}"
        for name, value in values.items()
        if value
    ]
    return f" [{', '.join(texts)}]" if texts else ""


def node(key: str, values: Mapping[str, str]) -> str:
    return f"{quoted(key)}{attributes(values)}"


def edge(source: str, target: str, values: Mapping[str, str]) -> str:
    return f"{quoted(source)} -> {quoted(target)}{attributes(values)}"


def default(kind: str, values: Mapping[str, str]) -> str:
    """Attributes of everything that follows: `kind` is graph, node or edge."""
    return f"{kind}{attributes(values)}"


def block(head: str, lines: list[str]) -> list[str]:
    """`head { … }` with the lines indented."""
    return [f"{head} {{", *(f"  {line}" for line in lines), "}"]
