"""Types and attr values out of the text form: the inverse of `text_values.py`."""

from __future__ import annotations

from ast import literal_eval
from collections.abc import Callable
from typing import Any

import numpy as np

from .text_values import (
    PYTHON_CLASSES,
    array_from_bytes,
    elements_from_text,
    float_from_text,
    in_order,
    split_complex,
)
from .tokens import Token, TokenReader
from .types import GENERATOR, ArrayType, TupleType, Type, array_type, parse_dtype, scalar_type

_PYTHON = {kind.__name__: kind for kind in PYTHON_CLASSES}
_WORDS = {
    "True": True,
    "False": False,
    "None": None,
    **{f"py.{name}": kind for name, kind in _PYTHON.items()},
    **{f"number.{name}": scalar_type(kind) for name, kind in _PYTHON.items()},
}


def _number(text: str) -> int | float:
    return float_from_text(text) if set(text) & set(".en") else int(text)


_FROM_TEXT: dict[str, Callable[[str], Any]] = {
    "string": literal_eval,
    "complex": lambda text: complex(*map(float_from_text, split_complex(text))),
    "hex": lambda text: int(text, 16),
    "real": _number,
}


class ValueReader(TokenReader):
    """Reads types and attr values."""

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
        if word == "graph":
            return self.body(token)
        if following.kind == "mark" and following.text == "[":
            type_ = self.array_type(token)
            return self.array(type_.dtype, type_.shape) if self.accept("(") else type_
        if self.accept("("):
            return self.array(self.dtype(token), None)
        return GENERATOR if word == "generator" else self.dtype(token)

    def body(self, token: Token) -> Any:
        """A graph inside an attr, whose first word was read."""
        self.fail("a graph is no value here", token.start)

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
