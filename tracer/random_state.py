"""Draws behind the trace's back: the state of every generator in reach is compared before and after.

A generator that is no argument would draw while tracing only, and give the same numbers at every call.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from .errors import RandomStateError, make_error
from .reach import Reach

_MUST_DIFFER = "the numbers would be the same at every call"


class RandomStates:
    """The states of generators when a trace begins."""

    def __init__(self, reach: Reach) -> None:
        self._python = random.getstate()
        self._legacy = _legacy_state()
        self._found = [(bits, name, _state(bits), _children(bits)) for bits, name in _bit_generators(reach)]

    def drawn(self) -> str:
        """The names of generators that were drawn from since; their states are put back."""
        names = []
        if random.getstate() != self._python:
            random.setstate(self._python)
            names.append("Python's `random`")
        if not _same(_legacy_state(), self._legacy):
            np.random.set_state(self._legacy)  # noqa: NPY002
            names.append("NumPy's global generator (np.random)")
        for bits, name, state, children in self._found:
            if not _same(_state(bits), state) or _children(bits) != children:
                _put_back(bits, state)
                names.append(name)
        return " and ".join(names)


def random_error(name: str) -> Any:
    """The refusal of draws from what is no argument."""
    return make_error(
        RandomStateError,
        f"{name} was drawn from while tracing; only an argument that is a np.random.Generator may be",
        None,
        why=f"It would draw once, while tracing: {_MUST_DIFFER}. (Another thread that draws from it at this "
        "very time gives a false alarm.)",
        fixes=[("pass a generator in", "def step(x, rng): …, called with np.random.default_rng(0)")],
    )


def _legacy_state() -> Any:
    """The state of NumPy's global generator, with the normal number it may keep for the next call."""
    return np.random.get_state(legacy=False)  # noqa: NPY002


def _bit_generators(reach: Reach) -> list[tuple[Any, str]]:
    """What holds the states behind what is in reach, each once, and how to call it; the global one apart."""
    found: dict[int, tuple[Any, str]] = {}
    for generator, name in reach.generators.values():
        bits: Any
        if isinstance(generator, np.random.RandomState):
            bits, kind = generator, "RandomState"
        elif isinstance(generator, np.random.Generator):
            bits, kind = generator.bit_generator, "generator"
        else:
            bits, kind = generator, "generator"
        found.setdefault(id(bits), (bits, f"the {kind} `{name}`"))
    return list(found.values())


def _state(bits: Any) -> Any:
    """The state of a bit generator, or of a RandomState with the normal number it may keep."""
    return bits.get_state(legacy=False) if isinstance(bits, np.random.RandomState) else bits.state


def _put_back(bits: Any, state: Any) -> None:
    if isinstance(bits, np.random.RandomState):
        bits.set_state(state)
    else:
        bits.state = state


def _children(bits: Any) -> int:
    """How many children were spawned."""
    return int(getattr(getattr(bits, "seed_seq", None), "n_children_spawned", 0))


def _same(one: Any, other: Any) -> bool:
    """Equality of states, which are nested dicts with arrays in them."""
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)
