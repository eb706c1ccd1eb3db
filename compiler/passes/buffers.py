"""Buffer assignment: where each value of an ordered graph lives, and what is written in place.

A computed value takes over an operand's memory when the operand dies there and lies in it exactly as the
result would (elementwise ops), or when it is the dead base of a `write`. Results that must own their memory
get buffers of their own, from the first value in them on; everything else with a known layout lives in the
arena. Trap to respect: never write where another operand overlaps in any other way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

from ..ir.node import Graph, Node
from ..ir.opdef import Kind
from ..ir.record import record, replace
from ..ir.types import ArrayType
from ..plan import Action, Buffer, Place, Plan, Step, Target, Value
from .arena import Interval, pack
from .commit import Commits
from .memory import REPLACES, Memory, is_exact_in_place, rarely_true
from .strides import Strides, c_strides, like_order, same_layout


@record(frozen=False, slots=True)
class _Draft:
    """A buffer while it is being decided."""

    place: Place
    nbytes: int
    first: int
    last: int
    param: int | None = None
    spec: tuple[ArrayType, Strides] | None = None


@record(frozen=False, slots=True)
class _End:
    """What happens behind the last node: copies, and the roots whose arrays are results as they stand."""

    copies: list[tuple[Node, Target, int]] = field(default_factory=list)
    owned: dict[Node, int] = field(default_factory=dict)


class _Assigner:
    """One run of the pass."""

    def __init__(
        self,
        graph: Graph,
        order: Sequence[Node],
        memory: Memory,
        commits: Commits,
        targets: tuple[Target, ...],
        donated: frozenset[int],
    ) -> None:
        self.graph = graph
        self.order = order
        self.memory = memory
        self.commits = commits
        self.targets = targets
        self.drafts: list[_Draft] = []
        self.buffer_of: dict[Node, int] = {}
        self.last: dict[Node, int] = {}
        self.steps: list[Step] = []
        self.values: list[Value] = []
        self.number: dict[Node, int] = {}
        self.param_buffer: dict[Node, int] = {}
        updated = {target.param for target in targets}
        self.donated = {graph.params[position] for position in donated - updated}
        self.end = self._plan_end()

    # -- what happens at the end

    def _plan_end(self) -> _End:
        """Decide which outputs are values as they stand and which are copied behind the last node."""
        end = _End()
        written = {self.graph.params[target.param] for target in self.targets if target.param is not None}
        late: list[tuple[Node, Target, int]] = []
        for position, (node, target) in enumerate(zip(self.graph.outputs, self.targets, strict=True)):
            if target.kind == "commit":
                if node not in self.commits.param_of:
                    late.append((node, target, position))
            elif target.kind == "scalar":
                if self.memory.root[node] in written:  # read before it is written
                    end.copies.append((node, target, position))
            elif target.kind == "fresh":
                root = self.memory.root[node]
                if root not in end.owned and self._can_own(node, root, target):
                    end.owned[root] = position
                else:
                    end.copies.append((node, target, position))
        self.aside = [node for node, _, _ in late if self.memory.root[node] in written]
        end.copies += late
        return end

    def _can_own(self, node: Node, root: Node, target: Target) -> bool:
        """Whether the array that the root's step makes can be the result, which is the root or all of it."""
        memory, type_ = self.memory, node.type
        if not isinstance(type_, ArrayType) or not type_.shape:
            return False
        if root.op.name in ("param", "constant") or root in self.commits.param_of:
            return False
        if root not in memory.planned:
            return node is root
        strides = memory.layouts[node]
        wanted = target.strides or c_strides(type_.shape, type_.dtype.itemsize)
        if strides is None or not same_layout(type_.shape, strides, wanted):
            return False
        return node is root or self._shows_all(node, root, strides)

    def _shows_all(self, node: Node, root: Node, strides: Strides) -> bool:
        """Whether a view shows every byte of its root once, from the first on."""
        assert isinstance(node.type, ArrayType)
        assert isinstance(root.type, ArrayType)
        same_bytes = node.type.nbytes == root.type.nbytes and self.memory.offset.get(node) == 0
        return same_bytes and like_order(node.shape, strides, node.dtype.itemsize) == strides

    # -- live ranges

    def _live_ranges(self) -> None:
        root = self.memory.root
        for step, node in enumerate(self.order):
            self.last[root[node]] = max(self.last.get(root[node], step), step)
            for operand in node.inputs:
                self.last[root[operand]] = step
        step = len(self.order) + len(self.aside)
        for node, _, _ in self.end.copies:
            self.last[root[node]] = max(self.last.get(root[node], 0), step)
            step += 1
        for position, (node, target) in enumerate(zip(self.graph.outputs, self.targets, strict=True)):
            if target.kind in ("scalar", "number") or self.end.owned.get(root[node]) == position:
                self.last[root[node]] = step

    # -- buffers

    def _draft(self, place: Place, nbytes: int, first: int, last: int, param: int | None = None) -> int:
        self.drafts.append(_Draft(place, nbytes, first, last, param))
        return len(self.drafts) - 1

    def _choose(self, node: Node, step: int) -> int | None:
        """Give a planned root its buffer; the position of the operand that it takes over, if any."""
        last = self.last[node]
        param = self.commits.param_of.get(node)
        if param is not None:
            self.buffer_of[node] = self.param_buffer[param]
            return next((k for k, x in enumerate(node.inputs) if self._is_here(x, param)), None)
        position = self._overwritten(node, step)
        if position is not None:
            buffer = self.buffer_of[self.memory.root[node.inputs[position]]]
            self.drafts[buffer].last = last
        else:
            assert isinstance(node.type, ArrayType)
            buffer = self._draft(Place.ARENA, node.type.nbytes, step, last)
            strides = self.memory.layouts[node]
            assert strides is not None
            self.drafts[buffer].spec = node.type, strides
        self.buffer_of[node] = buffer
        if node in self.end.owned and self.drafts[buffer].place is Place.ARENA:
            self.drafts[buffer].place = Place.FRESH
        return position

    def _is_here(self, node: Node, param: Node) -> bool:
        """Whether a node lies in the param's memory, directly or as a value committed there."""
        root = self.memory.root[node]
        return root is param or self.commits.param_of.get(root) is param

    def _overwritten(self, node: Node, step: int) -> int | None:
        """The position of the operand whose memory the result may take over."""
        if node.op.name in REPLACES:
            base, *others = node.inputs
            root = self.memory.root
            apart = all(root[base] is not root[other] for other in others)
            return 0 if apart and self._fits(base, node, step) else None
        if node.op.kind is not Kind.ELEMENTWISE or not is_exact_in_place(node):
            return None
        positions = list(range(len(node.inputs)))
        if node.op.name == "where" and rarely_true(node.inputs[0]):
            positions.reverse()  # most of the result is the last operand already
        for position in positions:
            operand = node.inputs[position]
            if self._fits(operand, node, step) and self._alone(operand, node):
                return position
        return None

    def _fits(self, operand: Node, node: Node, step: int) -> bool:
        """Whether the operand fills its buffer, dies at this step and lies in it as the node would."""
        root = self.memory.root[operand]
        buffer = self.buffer_of.get(root)
        if buffer is None or self.last[root] != step or operand.shape != node.shape:
            return False
        assert isinstance(node.type, ArrayType)
        position = self.drafts[buffer].param
        if position is not None:
            param = self.graph.params[position]
            if param not in self.donated or param.type != node.type:
                return False
        if self.memory.offset.get(operand) != 0 or self.drafts[buffer].nbytes != node.type.nbytes:
            return False
        first, second = self.memory.layouts[operand], self.memory.layouts[node]
        if node in self.end.owned and (node.type, second) != self.drafts[buffer].spec:
            return False
        if first is None or second is None or operand.dtype.itemsize != node.dtype.itemsize:
            return False
        return same_layout(node.shape, first, second)

    def _alone(self, operand: Node, node: Node) -> bool:
        """Whether every other operand in the same memory lies there exactly as this one."""
        memory = self.memory
        root = memory.root[operand]
        return all(
            other is operand
            or memory.root[other] is not root
            or (
                memory.offset.get(other) == memory.offset[operand]
                and other.shape == operand.shape
                and memory.layouts[other] == memory.layouts[operand]
                and other.dtype.itemsize == operand.dtype.itemsize
            )
            for other in node.inputs
        )

    # -- values and steps

    def _value(
        self, node: Node, place: Place, buffer: int | None, first: int, strides: Strides | None
    ) -> int:
        root = self.memory.root[node]
        base = self.number[node.inputs[0]] if self.memory.is_view(node) else None
        self.values.append(
            Value(
                node.type,
                place,
                buffer,
                self.memory.offset.get(node, 0),
                strides,
                base,
                node,
                first,
                self.last.get(root, first),
            )
        )
        return len(self.values) - 1

    def _leaves(self) -> None:
        for position, param in enumerate(self.graph.params):
            nbytes = param.type.nbytes if isinstance(param.type, ArrayType) else 0
            buffer = self._draft(Place.PARAM, nbytes, -1, self.last.get(param, -1), position)
            strides = self.memory.layouts[param]
            if isinstance(param.type, ArrayType) and strides is not None:
                self.drafts[buffer].spec = param.type, strides
            self.param_buffer[param] = buffer
            self.buffer_of[param] = buffer
            self.number[param] = self._value(param, Place.PARAM, buffer, -1, self.memory.layouts[param])
        for node in self.graph.nodes:
            if node.op.name == "constant":
                self.number[node] = self._value(node, Place.CONSTANT, None, -1, self.memory.layouts[node])

    def _run_nodes(self) -> None:
        memory = self.memory
        for step, node in enumerate(self.order):
            inputs = tuple([self.number[operand] for operand in node.inputs])
            if memory.is_view(node):
                base = self.values[inputs[0]]
                known = node in memory.offset
                place = base.place if known else Place.RUNTIME
                number = self._value(node, place, base.buffer if known else None, step, memory.layouts[node])
                made = Step(Action.VIEW, node, inputs, number)
            elif node in memory.planned:
                position = self._choose(node, step)
                buffer = self.buffer_of[node]
                strides = memory.layouts[self.commits.param_of.get(node, node)]
                number = self._value(node, self.drafts[buffer].place, buffer, step, strides)
                tail = node in self.commits.param_of
                made = Step(Action.COMPUTE, node, inputs, number, position, tail)
            else:
                number = self._value(node, Place.RUNTIME, None, step, memory.layouts[node])
                made = Step(Action.COMPUTE, node, inputs, number)
            self.number[node] = number
            self.steps.append(made)

    def _finish(self) -> list[int | None]:
        """The steps behind the last node; for each output the number of its value."""
        results: list[int | None] = []
        for node, target in zip(self.graph.outputs, self.targets, strict=True):
            results.append(None if target.kind == "commit" else self.number[node])
        sources = dict(self.number)
        for node in self.aside:
            total = len(self.order) + len(self.aside) + len(self.end.copies)
            sources[node] = self._copy(node, Place.ARENA, None, None, total)
        for node, target, position in self.end.copies:
            if target.kind == "commit":
                assert target.param is not None
                param = self.graph.params[target.param]
                strides = self.memory.layouts[param]
                number = self._copy(node, Place.PARAM, self.param_buffer[param], strides, None, sources[node])
            else:
                total = len(self.order) + len(self.aside) + len(self.end.copies)
                number = self._copy(node, Place.FRESH, None, target.strides, total)
                results[position] = number
        return results

    def _copy(
        self,
        node: Node,
        place: Place,
        buffer: int | None,
        strides: Strides | None,
        last: int | None,
        source: int | None = None,
    ) -> int:
        step = len(self.steps)
        assert isinstance(node.type, ArrayType)
        type_ = node.type
        strides = strides if strides is not None else c_strides(type_.shape, type_.dtype.itemsize)
        if buffer is None:
            buffer = self._draft(place, type_.nbytes, step, last or step)
        self.values.append(Value(type_, place, buffer, 0, strides, None, node, step, last or step))
        number = len(self.values) - 1
        source = self.number[node] if source is None else source
        self.steps.append(Step(Action.COPY, node, (source,), number, None, place is Place.PARAM))
        return number

    # -- the whole

    def run(self) -> Plan:
        self._live_ranges()
        self._leaves()
        self._run_nodes()
        results = self._finish()
        self._settle_places()
        buffers, arena_bytes = self._place_in_arena()
        peak, total = self._measure()
        return Plan(
            self.graph,
            tuple(self.values),
            tuple(self.steps),
            tuple(buffers),
            tuple(results),
            self.targets,
            frozenset(self.graph.params.index(param) for param in self.donated),
            arena_bytes,
            peak,
            total,
        )

    def _settle_places(self) -> None:
        """A buffer that became a result after values were put into it makes them fresh too."""
        for number, value in enumerate(self.values):
            if value.place is Place.ARENA and value.buffer is not None:
                place = self.drafts[value.buffer].place
                if place is not value.place:
                    self.values[number] = replace(value, place=place)

    def _place_in_arena(self) -> tuple[list[Buffer], int]:
        chosen = [k for k, draft in enumerate(self.drafts) if draft.place is Place.ARENA]
        offsets, size = pack(
            [Interval(self.drafts[k].nbytes, self.drafts[k].first, self.drafts[k].last) for k in chosen]
        )
        table = dict(zip(chosen, offsets, strict=True))
        buffers = [
            Buffer(draft.place, draft.nbytes, table.get(k, 0), draft.first, draft.last, draft.param)
            for k, draft in enumerate(self.drafts)
        ]
        return buffers, size

    def _measure(self) -> tuple[int, int]:
        """Peak and sum of the bytes of intermediate values."""
        change = [0] * (len(self.steps) + 2)
        total = 0
        for draft in self.drafts:
            if draft.place is not Place.PARAM:
                change[draft.first] += draft.nbytes
                change[draft.last + 1] -= draft.nbytes
        for step in self.steps:
            value = self.values[step.output]
            if step.action is Action.VIEW or not isinstance(value.type, ArrayType):
                continue
            if step.action is Action.COMPUTE:
                total += value.type.nbytes
            if value.place is Place.RUNTIME:
                change[value.first] += value.type.nbytes
                change[value.last + 1] -= value.type.nbytes
        peak = live = 0
        for delta in change:
            live += delta
            peak = max(peak, live)
        return peak, total


def assign_buffers(
    graph: Graph,
    order: Sequence[Node],
    memory: Memory,
    commits: Commits,
    targets: tuple[Target, ...],
    donated: frozenset[int],
) -> Plan:
    """The plan of a graph whose nodes run in this order."""
    return _Assigner(graph, order, memory, commits, targets, donated).run()
