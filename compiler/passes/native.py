"""The plan of a fused graph for native execution: order, memory, what is written in place.

Every computed array is dense in C order. Values that no kernel makes come from NumPy at run time and are
copied into their memory, so kernels find everything where the plan says. Python numbers stay at run time.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from ..ir.node import Graph, Node
from ..ir.record import record, replace
from ..ir.types import ArrayType, TupleType
from ..plan import Action, Buffer, Place, Plan, Step, Target, Value
from .arena import Interval, pack
from .memory import TAKES_FIRST
from .strides import Strides, c_strides, same_layout
from .views import VIEWS, view_of

LEAVES = ("param", "constant")
# Bytes of buffers that keep their memory longer than they live, and for how many steps they do.
SMALL, LINGERS = 1 << 17, 4


@record(frozen=False, slots=True)
class _Buffer:
    place: Place
    nbytes: int
    first: int
    last: int
    param: int | None = None


class _Planner:
    """One planning."""

    def __init__(
        self,
        graph: Graph,
        layouts: Sequence[Strides | None],
        targets: Sequence[Target],
        is_native: Callable[[Node], bool],
        donated: AbstractSet[int],
    ) -> None:
        self.graph = graph
        self.targets = tuple(targets)
        self.is_native = is_native
        self.donated = set(donated) - {target.param for target in targets}
        self.order = [n for n in graph.nodes if n.op.name not in LEAVES]
        self.strides: dict[Node, Strides] = {}
        self.offset: dict[Node, int] = {}
        self.root: dict[Node, Node] = {}
        self.buffer: dict[Node, int] = {}
        self.buffers: list[_Buffer] = []
        self.values: list[Value] = []
        self.number: dict[Node, int] = {}
        self.steps: list[Step] = []
        self.last: dict[Node, int] = {}
        self.direct: dict[Node, int] = {}
        self.given: set[Node] = set()
        for param, layout in zip(graph.params, layouts, strict=True):
            self._leaf(param, layout)
        for node in graph.nodes:
            if node.op.name == "constant":
                self._leaf(node, None)

    def _leaf(self, node: Node, layout: Strides | None) -> None:
        self.root[node], self.offset[node] = node, 0
        if isinstance(node.type, ArrayType):
            self.strides[node] = layout or c_strides(node.type.shape, node.type.dtype.itemsize)

    # ---- where values lie

    def _place_views(self) -> None:
        """The root, offset and strides of every array; a view that would copy is computed like any op."""
        for node in self.order:
            self.root[node], self.offset[node] = node, 0
            if node.op.name == "get":
                if isinstance(node.type, ArrayType):
                    self.strides[node] = self._dense(node)
            elif node.op.name in VIEWS and node.inputs[0] in self.strides:
                x = node.inputs[0]
                seen = view_of(node, self.strides[x])
                if seen is not None:
                    self.root[node] = self.root[x]
                    self.offset[node] = self.offset[x] + seen[0]
                    self.strides[node] = seen[1]
                    continue
                self.strides[node] = self._dense(node)
            elif isinstance(node.type, ArrayType):
                self.strides[node] = self._dense(node)

    def _dense(self, node: Node) -> Strides:
        assert isinstance(node.type, ArrayType)
        return c_strides(node.type.shape, node.type.dtype.itemsize)

    def is_view(self, node: Node) -> bool:
        return self.root[node] is not node

    def _live_ranges(self) -> None:
        end = len(self.order) + 2 * len(self.targets)
        for step, node in enumerate(self.order):
            self.last[self.root[node]] = max(step, self.last.get(self.root[node], 0))
            for operand in node.inputs:
                self.last[self.root[operand]] = max(step, self.last.get(self.root[operand], 0))
        for node in self.graph.outputs:
            self.last[self.root[node]] = end
        self.read_otherwise = {x for node in self.order if node.op.name != "fused" for x in node.inputs}

    # ---- commits straight into the caller's memory

    def _find_direct(self) -> None:
        """Outputs that may be written where they are committed: no later step reads there or raises."""
        step_of = {node: step for step, node in enumerate(self.order)}
        raises = max((s for n, s in step_of.items() if not self._quiet(n)), default=-1)
        last_read: dict[Node, int] = {}
        for node, step in step_of.items():
            for operand in node.inputs:
                last_read[self.root[operand]] = max(step, last_read.get(self.root[operand], -1))
        read_at_the_end = {self.root[n] for n in self.graph.outputs}
        viewed = {self.root[n] for n in self.order if self.is_view(n)}

        def may_write(node: Node, param: Node, after: int) -> bool:
            """Whether a node's step, later than step `after`, may write to a param."""
            if node in viewed and not same_layout(node.shape, self.strides[node], self.strides[param]):
                return False  # its views were placed for memory of its own
            maker = node.inputs[0] if node.op.name == "get" else node
            if maker.op.name not in ("fused", "add_matmul") or maker not in step_of:
                return False
            step = step_of[maker]
            readers = [p for p, x in enumerate(maker.inputs) if self.root[x] is param]
            fused = maker.op.name == "fused"
            allowed = maker.attrs["overwrites"][node.attrs.get("index", 0)] if fused else (0,)
            plain = all(p in allowed and maker.inputs[p] is param for p in readers)
            late = last_read.get(param, -1) <= step and after < step
            return plain and late and param not in read_at_the_end

        counts = Counter(self.graph.outputs)
        for node, target in zip(self.graph.outputs, self.targets, strict=True):
            if self.root[node] is not node or counts[node] > 1:
                continue
            choices = [target.param] if target.kind == "commit" else self._donated_to(node, target)
            for choice in choices:
                assert choice is not None
                param = self.graph.params[choice]
                if may_write(node, param, raises if target.kind == "commit" else -1):
                    self.direct[node] = choice
                    self.strides[node] = self.strides[param]
                    if target.kind == "fresh":
                        self.donated.remove(choice)
                        self.given.add(node)
                    break

    def _donated_to(self, node: Node, target: Target) -> list[int]:
        """The donated params whose memory suits a result."""
        if target.kind != "fresh" or not isinstance(node.type, ArrayType):
            return []
        wanted = target.strides or self._dense(node)
        params = [(position, self.graph.params[position]) for position in sorted(self.donated)]
        return [
            position
            for position, param in params
            if param.type == node.type and same_layout(node.shape, self.strides[param], wanted)
        ]

    def _quiet(self, node: Node) -> bool:
        return self.is_native(node) or self.is_view(node) or node.op.name == "get"

    # ---- buffers

    def _new(self, place: Place, nbytes: int, first: int, last: int, param: int | None = None) -> int:
        self.buffers.append(_Buffer(place, nbytes, first, last, param))
        return len(self.buffers) - 1

    def _give_buffer(self, node: Node, maker: Node, step: int, index: int) -> int | None:
        """Memory for a computed array; the position of the operand whose memory it takes over, if any."""
        assert isinstance(node.type, ArrayType)
        if node in self.direct:
            self.buffer[node] = self.buffer[self.graph.params[self.direct[node]]]
            return None
        overwrites: tuple[int, ...] = (0,) if maker.op.name in TAKES_FIRST else ()
        if maker.op.name == "fused":
            overwrites = maker.attrs["overwrites"][index]
        for position in overwrites:
            operand = maker.inputs[position]
            root = self.root[operand]
            buffer = self.buffer.get(root)
            if node in self.fresh and not (
                maker.op.name in TAKES_FIRST and root is operand and self.holds.get(buffer) == node.type
            ):
                continue
            if (
                buffer is not None
                and self.buffers[buffer].place is Place.ARENA
                and self.last[root] == step
                and operand.dtype.itemsize == node.dtype.itemsize
                and self.offset[operand] == 0
                and self.buffers[buffer].nbytes == node.type.nbytes
                and same_layout(node.shape, self.strides[operand], self.strides[node])
                and self.taken.get(buffer) != step
                and sum(self.root[x] is root for x in maker.inputs) == 1
                and self.last.get(node, step) >= step
            ):
                self.taken[buffer] = step
                self.buffers[buffer].last = self.last.get(node, step)
                self.buffer[node] = buffer
                if node in self.fresh:
                    self.buffers[buffer].place = Place.FRESH
                if self.holds[buffer] != node.type:
                    self.holds[buffer] = None
                return position
        self.buffer[node] = self._new(Place.ARENA, node.type.nbytes, step, self.last.get(node, step))
        self.holds[self.buffer[node]] = node.type
        return None

    def _fresh(self) -> dict[Node, int]:
        """Outputs whose step can make the result array itself."""
        found: dict[Node, int] = {}
        for position, (node, target) in enumerate(zip(self.graph.outputs, self.targets, strict=True)):
            if target.kind != "fresh" or node in found or self.is_view(node) or node.op.name in LEAVES:
                continue
            if node in self.direct or not isinstance(node.type, ArrayType):
                continue
            wanted = target.strides or self._dense(node)
            if same_layout(node.shape, self.strides[node], wanted):
                found[node] = position
            elif self._may_lie(node):
                self.strides[node] = wanted
                found[node] = position
        return found

    def _may_lie(self, node: Node) -> bool:
        """Whether a kernel makes a value and only kernels read it: they take any strides."""
        maker = node.inputs[0] if node.op.name == "get" else node
        return maker.op.name == "fused" and node not in self.read_otherwise

    def _value(self, node: Node, place: Place, buffer: int | None, first: int) -> int:
        base = self.number.get(node.inputs[0]) if self.root.get(node, node) is not node else None
        self.values.append(
            Value(
                node.type, place, buffer, self.offset.get(node, 0), self.strides.get(node), base, node, first,
                self.last.get(self.root.get(node, node), first),
            )
        )  # fmt: skip
        self.number[node] = len(self.values) - 1
        return self.number[node]

    # ---- the whole

    def run(self) -> Plan:
        self._place_views()
        self._live_ranges()
        self._find_direct()
        self.taken: dict[int, int] = {}
        # What a buffer of the arena holds; None once that was values of different types.
        self.holds: dict[int | None, ArrayType | None] = {}
        for position, param in enumerate(self.graph.params):
            nbytes = param.type.nbytes if isinstance(param.type, ArrayType) else 0
            self.buffer[param] = self._new(Place.PARAM, nbytes, -1, self.last.get(param, -1), position)
            self._value(param, Place.PARAM, self.buffer[param], -1)
        for node in self.graph.nodes:
            if node.op.name == "constant":
                self._value(node, Place.CONSTANT, None, -1)
        self.fresh = fresh = self._fresh()
        gets: dict[Node, list[Node]] = {}
        for node in self.order:
            if node.op.name == "get":
                gets.setdefault(node.inputs[0], []).append(node)
        for parts in gets.values():
            parts.sort(key=lambda part: part.attrs["index"])
        for step, node in enumerate(self.order):
            self._step(step, node, gets, fresh)
        results = self._finish(fresh)
        return self._plan(results)

    def _step(self, step: int, node: Node, gets: dict[Node, list[Node]], fresh: dict[Node, int]) -> None:
        if node.op.name == "get" and node in self.number:
            return
        inputs = tuple(self.number[operand] for operand in node.inputs)
        if self.is_view(node):
            place = self.values[inputs[0]].place
            self.buffer[node] = self.buffer.get(self.root[node], -1)
            buffer = self.buffer[node] if self.buffer[node] >= 0 else None
            self.steps.append(Step(Action.VIEW, node, inputs, self._value(node, place, buffer, step)))
            return
        if isinstance(node.type, TupleType) and self.is_native(node):
            outputs, taken = [], None
            for part in gets.get(node, []):
                position = self._give_buffer(part, node, step, part.attrs["index"])
                taken = position if taken is None else taken
                outputs.append(self._settled(part, step, fresh))
            own = self._value(node, Place.RUNTIME, None, step)
            tail = any(self._commits(part) for part in gets.get(node, []))
            self.steps.append(Step(Action.COMPUTE, node, inputs, own, taken, tail, tuple(outputs)))
            return
        if isinstance(node.type, ArrayType) and node.type.size:
            position = self._give_buffer(node, node, step, 0)
            number = self._settled(node, step, fresh)
            self.steps.append(Step(Action.COMPUTE, node, inputs, number, position, self._commits(node)))
            return
        self.steps.append(Step(Action.COMPUTE, node, inputs, self._value(node, Place.RUNTIME, None, step)))

    def _commits(self, node: Node) -> bool:
        return node in self.direct and node not in self.given

    def _settled(self, node: Node, step: int, fresh: dict[Node, int]) -> int:
        buffer = self.buffers[self.buffer[node]]
        if node in fresh and buffer.place is Place.ARENA and buffer.first == step:
            buffer.place = Place.FRESH
        return self._value(node, buffer.place, self.buffer[node], step)

    def _finish(self, fresh: dict[Node, int]) -> list[int | None]:
        """Copies for what is not where it has to be; for each output the number of its value."""
        results: list[int | None] = []
        written = {self.graph.params[t.param] for t in self.targets if t.param is not None}
        late: list[tuple[Node, int, int]] = []
        for position, (node, target) in enumerate(zip(self.graph.outputs, self.targets, strict=True)):
            if target.param is not None:
                results.append(None)
                if node not in self.direct and node is not self.graph.params[target.param]:
                    moved = self.root[node] in written
                    source = self._copy(node, Place.ARENA, None, None) if moved else self.number[node]
                    late.append((node, target.param, source))
                continue
            value = self.values[self.number[node]]
            own = node in self.given or (fresh.get(node) == position and value.place is Place.FRESH)
            if target.kind == "fresh" and not own and isinstance(node.type, ArrayType):
                results.append(self._copy(node, Place.FRESH, None, None, target.strides))
            elif target.kind == "scalar" and self.root[node] in written:  # read before it is written
                results.append(self._copy(node, Place.ARENA, None, None))
            else:
                results.append(self.number[node])
        for node, param, source in late:
            self._copy(node, Place.PARAM, self.buffer[self.graph.params[param]], param, None, source)
        return results

    def _copy(
        self,
        node: Node,
        place: Place,
        buffer: int | None,
        param: int | None,
        strides: Strides | None = None,
        source: int | None = None,
    ) -> int:
        assert isinstance(node.type, ArrayType)
        step = len(self.order) + len([s for s in self.steps if s.action is Action.COPY])
        if buffer is None:
            buffer = self._new(place, node.type.nbytes, step, len(self.order) + 2 * len(self.targets))
        strides = (
            self.strides[self.graph.params[param]] if param is not None else strides or self._dense(node)
        )
        self.values.append(Value(node.type, place, buffer, 0, strides, None, node, step, step))
        number = len(self.values) - 1
        source = self.number[node] if source is None else source
        self.steps.append(Step(Action.COPY, node, (source,), number, None, place is Place.PARAM))
        return number

    def _plan(self, results: list[int | None]) -> Plan:
        chosen = [k for k, b in enumerate(self.buffers) if b.place is Place.ARENA]
        offsets, size = pack([_wish(self.buffers[k]) for k in chosen])
        table = dict(zip(chosen, offsets, strict=True))
        buffers = tuple(
            Buffer(b.place, b.nbytes, table.get(k, 0), b.first, b.last, b.param)
            for k, b in enumerate(self.buffers)
        )
        computed = sum(
            type_.nbytes
            for s in self.steps
            if s.action is Action.COMPUTE
            for type_ in (self.values[n].type for n in (s.more or (s.output,)))
            if isinstance(type_, ArrayType)
        )
        fresh = sum(b.nbytes for b in self.buffers if b.place is Place.FRESH)
        values = [v if v.buffer is None else replace(v, place=buffers[v.buffer].place) for v in self.values]
        return Plan(
            self.graph, tuple(values), tuple(self.steps), buffers, tuple(results), self.targets,
            frozenset(self.direct[node] for node in self.given), size, size + fresh, computed,
        )  # fmt: skip


def _wish(buffer: _Buffer) -> Interval:
    """What a buffer asks of the arena: memory of small ones is not taken over by the next few steps.

    So these can run row by row with the step that reads the buffer, without waiting for all of its rows.
    """
    lingers = LINGERS if buffer.nbytes <= SMALL else 0
    return Interval(buffer.nbytes, buffer.first, buffer.last + lingers)


def plan_native(
    graph: Graph,
    layouts: Sequence[Strides | None],
    targets: Sequence[Target],
    is_native: Callable[[Node], bool],
    donated: AbstractSet[int] = frozenset(),
) -> Plan:
    """The plan of a fused graph.

    Args:
        graph: what to compute, `fused` nodes in it.
        layouts: byte strides of each param.
        targets: what each output becomes.
        is_native: whether a node's step runs in native code, where it can neither raise nor allocate.
        donated: positions of params whose memory results may take.

    Raises:
        PlanError: under `TAPELESS_CHECK=1`, where the plan breaks a check of its verifier.
    """
    plan = _Planner(graph, layouts, targets, is_native, donated).run()
    if os.environ.get("TAPELESS_CHECK", "") not in ("", "0"):
        from ..plan_verify import verify_plan

        verify_plan(plan)
    return plan
