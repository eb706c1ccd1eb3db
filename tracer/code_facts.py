"""What a code object says about itself: the globals it loads and stores, the names and texts in it.

Read from the bytecode, nested functions included, and remembered per code object.
"""

from __future__ import annotations

import dis
from types import CodeType
from typing import Any

from ..compiler.ir.record import record

_LOAD_GLOBAL = dis.opmap["LOAD_GLOBAL"]
_LOAD_NAME = dis.opmap["LOAD_NAME"]
_STORE_GLOBAL = dis.opmap["STORE_GLOBAL"]
_STORE_DEREF = dis.opmap["STORE_DEREF"]
_EXTENDED_ARG = dis.EXTENDED_ARG
_INTERESTING = frozenset((_LOAD_GLOBAL, _LOAD_NAME, _STORE_GLOBAL, _STORE_DEREF))


@record
class CodeFacts:
    """Facts of a code object and of those nested in it.

    `names` are all names in it (attributes, methods, imports), `loads` the globals it loads, `stores` the
    globals it rebinds, `rebinds` the free variables it rebinds, `texts` its string constants, `numbers` its
    numeric ones.
    """

    names: frozenset[str]
    loads: frozenset[str]
    stores: frozenset[str]
    rebinds: frozenset[str]
    texts: frozenset[str]
    numbers: frozenset[float | complex]


_known: dict[CodeType, CodeFacts] = {}


def facts_of(code: CodeType) -> CodeFacts:
    """The facts of a code object."""
    found = _known.get(code)
    if found is None:
        if len(_known) > 20_000:
            _known.clear()
        found = _known[code] = _read(code)
    return found


def _read(code: CodeType) -> CodeFacts:
    loads: set[str] = set()
    stores: set[str] = set()
    rebinds: set[str] = set()
    texts: set[str] = set()
    numbers: set[float | complex] = set()
    names = set(code.co_names)
    raw = code.co_code
    high = 0
    for place in range(0, len(raw), 2):
        opcode, argument = raw[place], raw[place + 1] | high
        high = argument << 8 if opcode == _EXTENDED_ARG else 0
        if opcode not in _INTERESTING:
            continue
        if opcode == _LOAD_GLOBAL:
            # The lowest bit says whether a NULL is pushed for a call.
            loads.add(code.co_names[argument >> 1])
        elif opcode == _LOAD_NAME:
            loads.add(code.co_names[argument])
        elif opcode == _STORE_GLOBAL:
            stores.add(code.co_names[argument])
        else:
            rebinds.add(code._varname_from_oparg(argument))  # type: ignore[attr-defined]
    for constant in _flat(code.co_consts):
        if type(constant) is str:
            texts.add(constant)
        elif type(constant) in (int, float, complex):
            numbers.add(constant)
        elif type(constant) is CodeType:
            inner = facts_of(constant)
            names |= inner.names
            loads |= inner.loads
            stores |= inner.stores
            rebinds |= inner.rebinds
            texts |= inner.texts
            numbers |= inner.numbers
    kept = rebinds & set(code.co_freevars)
    return CodeFacts(
        frozenset(names),
        frozenset(loads),
        frozenset(stores),
        frozenset(kept),
        frozenset(texts),
        frozenset(numbers),
    )


def _flat(constants: tuple[Any, ...]) -> list[Any]:
    """Constants with tuples and frozensets taken apart one level."""
    found: list[Any] = []
    for constant in constants:
        found.extend(constant) if type(constant) in (tuple, frozenset) else found.append(constant)
    return found
