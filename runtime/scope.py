"""The text of one generated function while it grows, and the names in it.

Free variables are called v<n>_<hint>, locals have a letter and a number. A Window is a free variable that
stands for a piece of the arena: each instance of the function binds it to its own.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

import numpy as np

from ..compiler.ir.record import record
from ..compiler.passes.strides import Strides, c_strides


@record(slots=True)
class Window:
    """An array in the arena: byte offset of its element 0, shape, dtype, byte strides."""

    offset: int
    shape: tuple[int, ...]
    dtype: Any
    strides: Strides


@record(slots=True)
class Chunk:
    """A finished function: the source of `bind(…)`, which returns it, and what is to be bound.

    `steps` holds for each line of the source the number of the step that it belongs to, -1 for none.
    """

    source: str
    bound: tuple[Any, ...]
    steps: tuple[int, ...]


@record(frozen=False)
class Scope:
    """One function `run(P, S)`: P are the values of `count` params, S holds what lives across functions."""

    count: int = 0
    things: list[Any] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    locals: dict[Any, str] = field(default_factory=dict)
    params: set[int] = field(default_factory=set)
    step: int = -1
    _steps: list[int] = field(default_factory=list)
    indent: int = 2
    _names: dict[Any, str] = field(default_factory=dict)
    _windows: dict[str, Window] = field(default_factory=dict)

    def line(self, text: str) -> None:
        self.lines.append("    " * self.indent + text)
        self._steps.append(self.step)

    def bind(self, thing: Any, hint: str = "c") -> str:
        """The free variable for a function, a constant or a Window."""
        window = type(thing) is Window
        key = thing if window else id(thing)
        name = self._names.get(key)
        if name is None:
            name = self._names[key] = f"v{len(self.things)}_{hint}"
            self.things.append(thing)
            if window:
                self._windows[name] = thing
        return name

    def bits(self, name: str, itemsize: int) -> str:
        """The memory of a named array as unsigned integers."""
        dtype = np.dtype(f"u{itemsize}")
        window = self._windows.get(name)
        if window is None:
            return f"{name}.view({self.bind(dtype, 'bits')})"
        return self.bind(Window(window.offset, window.shape, dtype, window.strides), "bits")

    def in_shape(self, name: str, shape: tuple[int, ...]) -> str:
        """The memory of a named array, which lies in C order, in another shape."""
        window = self._windows.get(name)
        if window is None:
            return f"{name}.reshape({shape!r})"
        strides = c_strides(shape, window.dtype.itemsize)
        return self.bind(Window(window.offset, shape, window.dtype, strides), "a")

    def param(self, position: int) -> str:
        """The local of a param."""
        self.params.add(position)
        return f"p{position}"

    def local(self, key: Any, letter: str, number: int, make: str) -> str:
        """The local of this key, set to the expression `make` where it is not there yet."""
        name = self.locals.get(key)
        if name is None:
            name = self.locals[key] = f"{letter}{number}"
            self.line(f"{name} = {make}")
        return name

    def _loads(self) -> list[str]:
        """The lines that fetch the params: all at once where all are used."""
        positions = sorted(self.params)
        if positions == list(range(self.count)):
            names = ", ".join(f"p{position}" for position in positions)
            return [f"        {names}{',' if len(positions) == 1 else ''} = P"] if positions else []
        return [f"        p{position} = P[{position}]" for position in positions]

    def finish(self) -> Chunk:
        """The function's source."""
        names = ", ".join(self._names.values())
        head = [f"def bind({names}):", "    def run(P, S):", *self._loads()]
        source = "\n".join([*head, *(self.lines or ["        pass"]), "    return run", ""])
        return Chunk(source, tuple(self.things), (*[-1] * len(head), *self._steps, -1))
