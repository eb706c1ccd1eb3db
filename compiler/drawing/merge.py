"""Repeats that belong to one loop become one: copy k of the one reads a copy of the other, one to one.

Where one has a copy or two that the other lacks (a first step without an accumulation), those copies are
let go and drawn by themselves, as the peeled ends of the loop. Where the nodes that the first copy takes its
carried values from are a copy themselves, only ordered otherwise, they are taken in.
"""

from __future__ import annotations

from ..ir.node import Node
from .parts import Part
from .repeat import MIN_COPIES, Repeat

MAX_PEELED = 2

Pairs = list[tuple[int, int]]


def merge_repeats(repeats: list[Repeat], part: Part, parent: Repeat | None) -> list[Repeat]:
    """The repeats of one level, with those that run in step put together."""
    merged = list(repeats)
    while True:
        owner = {
            node: (repeat, number)
            for repeat in merged
            for number, copy in enumerate(repeat.copies)
            for node in copy
        }
        for later in merged:
            joined = _join_with_earlier(later, owner, part, parent)
            if joined is not None:
                earlier, repeat = joined
                merged = [other for other in merged if other is not earlier and other is not later]
                merged.append(repeat)
                break
        else:
            return merged


def _join_with_earlier(
    later: Repeat, owner: dict[Node, tuple[Repeat, int]], part: Part, parent: Repeat | None
) -> tuple[Repeat, Repeat] | None:
    """A repeat that `later` reads in step, and the two as one."""
    for earlier, pairs in _reads(later, owner).items():
        if len({j for j, _ in pairs}) != len(pairs) or len(pairs) < MIN_COPIES:
            continue
        if max(earlier.count, later.count) - len(pairs) > MAX_PEELED:
            continue
        chained = _is_chain(later, owner)
        pairs.sort(key=lambda pair: pair[1] if chained else pair[0])
        if chained and _is_chain(earlier, owner) and pairs != sorted(pairs):
            continue
        return earlier, Repeat(part, [earlier.copies[j] + later.copies[k] for j, k in pairs], parent)
    return None


def _reads(later: Repeat, owner: dict[Node, tuple[Repeat, int]]) -> dict[Repeat, Pairs]:
    """For each other repeat the pairs (its copy, copy of `later` that reads just this one)."""
    reads: dict[Repeat, Pairs] = {}
    unclear: set[Repeat] = set()
    for number, copy in enumerate(later.copies):
        seen: dict[Repeat, int] = {}
        for node in copy:
            for operand in node.inputs:
                other, its_number = owner.get(operand, (later, 0))
                if other is not later and seen.setdefault(other, its_number) != its_number:
                    unclear.add(other)
        for other, its_number in seen.items():
            reads.setdefault(other, []).append((its_number, number))
    return {other: pairs for other, pairs in reads.items() if other not in unclear}


def _is_chain(repeat: Repeat, owner: dict[Node, tuple[Repeat, int]]) -> bool:
    """Whether the second copy reads the first."""
    return any(owner.get(operand) == (repeat, 0) for node in repeat.copies[1] for operand in node.inputs)


def with_earlier_copies(repeat: Repeat, tokens: dict[Node, int], taken: set[Node]) -> Repeat:
    """The repeat with all copies before its first that the order of nodes hid."""
    copies = repeat.copies
    while (earlier := _earlier_copy(copies[0], copies[1], tokens, taken)) is not None:
        copies = [earlier, *copies]
        taken.update(earlier)
    return Repeat(repeat.part, copies, repeat.parent)


def _earlier_copy(
    first: list[Node], second: list[Node], tokens: dict[Node, int], taken: set[Node]
) -> list[Node] | None:
    """The copy that `first` reads as `second` reads `first`: matched from the carried values up."""
    place = {node: number for number, node in enumerate(first)}
    found: dict[int, Node] = {}
    matches = [
        (place[operand], candidate)
        for node, before in zip(second, first, strict=True)
        for operand, candidate in zip(node.inputs, before.inputs, strict=True)
        if operand in place
    ]
    while matches:
        number, candidate = matches.pop()
        if number in found:
            if found[number] is not candidate:
                return None
            continue
        if candidate in taken or tokens.get(candidate) != tokens[first[number]]:
            return None
        found[number] = candidate
        matches += [
            (place[operand], its_operand)
            for operand, its_operand in zip(first[number].inputs, candidate.inputs, strict=True)
            if operand in place
        ]
    if len(found) < len(first) or len(set(found.values())) < len(first):
        return None
    return [found[number] for number in range(len(first))]
