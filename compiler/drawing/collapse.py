"""Repeated segments of a graph, drawn once: unrolled layers, loop steps, equal branches.

A part's nodes are put in order (`order.py`), runs of a repeating pattern of ops and types are found
(`runs.py`), and a run counts only as far as its copies are wired alike. Repeats that go in step are joined
(`merge.py`), and the search goes on inside one copy, so repeats nest. Linear up to logarithms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from itertools import accumulate

from ..ir.node import Node
from ..ir.record import record
from .merge import merge_repeats, with_earlier_copies
from .order import by_level, depth_first
from .parts import Part
from .repeat import MIN_COPIES, MIN_SAVED, Place, Repeat
from .runs import Run, periodic_runs

# How one operand of one copy is wired: the kind, how many copies back, the place inside that copy.
Wire = tuple[str, int, int]
OUTSIDE: Wire = ("outside", 0, 0)


@record(frozen=False)
class Collapsed:
    """The repeats of a graph, outer before inner, and who stands for each node in one, and where it is.

    `place[node]` lists (repeat, number of the copy) from the outermost in.
    """

    repeats: list[Repeat] = field(default_factory=list)
    shown: dict[Node, Node] = field(default_factory=dict)
    place: dict[Node, Place] = field(default_factory=dict)

    def add(self, repeat: Repeat) -> None:
        """Nodes of later copies take the place of their counterpart in the first copy."""
        self.repeats.append(repeat)
        outer = self.place.get(repeat.copies[0][0], ())
        for number, copy in enumerate(repeat.copies):
            for node, first in zip(copy, repeat.copies[0], strict=True):
                self.shown[node] = first
                self.place[node] = (*outer, (repeat, number))


def collapse(parts: dict[Node, Part], ignored: Callable[[Node], bool]) -> Collapsed:
    """The repeats among the nodes of each part; `ignored` nodes (folded constants) are not looked at."""
    result = Collapsed()
    for part in Part:
        nodes = [node for node, its_part in parts.items() if its_part is part and not ignored(node)]
        for repeat in _repeats_within(nodes, part, None):
            result.add(repeat)
    _spread_inner(result)
    return result


def _spread_inner(result: Collapsed) -> None:
    """Carry what was found inside first copies over to all other copies of the outer repeat."""
    for repeat in reversed(result.repeats):
        for number, copy in enumerate(repeat.copies):
            for node, first in zip(copy, repeat.copies[0], strict=True):
                whole = result.place[first]
                depth = [which for which, _ in whole].index(repeat)
                result.place[node] = (*result.place[node][:depth], (repeat, number), *whole[depth + 1 :])
                result.shown[node] = result.shown[first] if number else result.shown[node]


def _repeats_within(nodes: Sequence[Node], part: Part, parent: Repeat | None) -> list[Repeat]:
    """The repeats among these nodes, and those inside their first copies after them."""
    tokens = tokens_of(nodes)
    found: list[Repeat] = []
    for order in (depth_first(nodes), by_level(nodes, tokens)):
        other = merge_repeats(_repeats_in_order(order, tokens, part, parent), part, parent)
        found = max(found, other, key=_saved)
    inner = [
        deeper
        for repeat in found
        if len(repeat.copies[0]) > MIN_SAVED
        for deeper in _repeats_within(repeat.copies[0], part, repeat)
    ]
    return found + inner


def _saved(repeats: list[Repeat]) -> int:
    return sum((repeat.count - 1) * len(repeat.copies[0]) for repeat in repeats)


def tokens_of(nodes: Iterable[Node]) -> dict[Node, int]:
    """A number per node that equal-looking nodes share: op, names of attrs, types of result and operands."""
    numbers: dict[object, int] = {}
    tokens = {}
    for node in nodes:
        key = (node.op, node.type, tuple(node.attrs), tuple(operand.type for operand in node.inputs))
        tokens[node] = numbers.setdefault(key, len(numbers))
    return tokens


def _repeats_in_order(
    order: list[Node], tokens: dict[Node, int], part: Part, parent: Repeat | None
) -> list[Repeat]:
    """The runs that save most, without overlap, trimmed to copies that are wired alike."""
    position = {node: number for number, node in enumerate(order)}
    taken: set[Node] = set()
    repeats = []
    runs = periodic_runs([tokens[node] for node in order], MIN_COPIES)
    for run in sorted(runs, key=lambda run: -run.saved):
        trimmed = _free_stretch(run, [node in taken for node in order[run.start : run.stop]])
        if not _worthwhile(trimmed):
            continue
        candidates = []
        for start in _rotations(order, position, trimmed):
            stretch = _wired_alike(order, position, Run(start, trimmed.stop, run.period))
            if _worthwhile(stretch):
                cuts = range(stretch.start, stretch.stop, run.period)
                repeat = Repeat(part, [order[at : at + run.period] for at in cuts], parent)
                candidates.append(with_earlier_copies(repeat, tokens, taken))
        if candidates:
            best = max(candidates, key=lambda repeat: repeat.count)
            repeats.append(best)
            taken.update(node for copy in best.copies for node in copy)
    return repeats


def _worthwhile(run: Run) -> bool:
    return run.copies >= MIN_COPIES and run.saved >= MIN_SAVED


def _free_stretch(run: Run, taken: list[bool]) -> Run:
    """The run without what an earlier choice took from it; of two pieces the first."""
    start = next((at for at, gone in enumerate(taken) if not gone), len(taken))
    stop = next((at for at in range(start, len(taken)) if taken[at]), len(taken))
    return Run(run.start + start, run.start + stop, run.period)


def _wired_alike(order: list[Node], position: dict[Node, int], run: Run) -> Run:
    """The longest stretch of equally wired copies."""
    wires = [_wires_of_copy(order, position, run, number) for number in range(run.copies)]
    usual = Counter(wires).most_common(1)[0][0]
    first, best_first, best_count = 0, 0, 0
    for number, wire in enumerate(wires):
        if not _fits(wire, usual, number - first):
            first = number if _fits(wire, usual, 0) else number + 1
        if number + 1 - first > best_count:
            best_first, best_count = first, number + 1 - first
    start = run.start + best_first * run.period
    return Run(start, start + best_count * run.period, run.period)


def _rotations(order: list[Node], position: dict[Node, int], run: Run) -> list[int]:
    """A few starts that keep all copies, those first across which the fewest values are carried."""
    spare = (run.stop - run.start) % run.period
    low = run.start + (run.copies // 2 - 1) * run.period
    change = [0] * (2 * run.period + 1)
    for at in range(low, min(low + 2 * run.period, run.stop)):
        for source in {position.get(operand, -1) for operand in order[at].inputs}:
            if source >= low:
                change[source - low + 1] += 1
                change[at - low + 1] -= 1
    crossing = list(accumulate(change))[run.period :]
    return sorted(range(run.start, run.start + spare + 1), key=lambda start: crossing[start - run.start])[:4]


def _wires_of_copy(order: list[Node], position: dict[Node, int], run: Run, number: int) -> tuple[Wire, ...]:
    """How each operand in one copy is wired, seen from the copy."""
    wires = []
    start, _, period = run
    for node in order[start + number * period : start + (number + 1) * period]:
        for operand in node.inputs:
            source = position.get(operand, -1)
            back = number - (source - start) // period
            if source < start or back < 0 or back > 4:
                wires.append(OUTSIDE)
            else:
                wires.append(("inside" if back == 0 else "carried", back, (source - start) % period))
    return tuple(wires)


def _fits(wires: tuple[Wire, ...], usual: tuple[Wire, ...], number: int) -> bool:
    """Whether copy `number` of a stretch is wired as usual; early copies take carried values from outside."""
    return all(
        wire == other or (other[0] == "carried" and wire[0] != "inside" and other[1] > number)
        for wire, other in zip(wires, usual, strict=True)
    )
