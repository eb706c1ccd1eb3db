"""Plan: an ordered list of steps over buffers that says *how* a graph is computed.

`make_plan` decides order, layout and memory before anything runs; an executor turns a plan into results. A
plan knows no machine and holds no arrays but the graph's constants. Its text is `plan_text.py`, its verifier
`plan_verify.py`; the decisions are made in `passes/` (layout, commit, schedule, buffers, arena).
"""

from __future__ import annotations

import enum
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .ir.node import Graph, Node
from .ir.record import record
from .ir.types import Type

if TYPE_CHECKING:
    import os

Strides = tuple[int, ...]


@record(slots=True)
class Target:
    """What a graph output becomes.

    Attributes:
        kind: "fresh", an ndarray that owns its memory, with `strides`; "scalar", a NumPy scalar; "number",
            the value as it is (a Python number); "commit", written into the memory of a param at the end of
            the call and returned as None.
        strides: byte strides of a fresh array; None for C order.
        param: position of the param that a commit writes to. It may overlap no other param.
    """

    kind: str
    strides: Strides | None = None
    param: int | None = None


class Place(enum.Enum):
    """Where a value lives."""

    PARAM = "param"  # the caller's memory
    CONSTANT = "constant"  # the graph's own
    ARENA = "arena"  # bytes of the arena
    FRESH = "fresh"  # an array made during the call, which becomes a result
    RUNTIME = "runtime"  # whatever NumPy or Python returns when the step runs


class Action(enum.Enum):
    """What a step does."""

    COMPUTE = "compute"  # run the node's op into the output's memory
    VIEW = "view"  # look at the input's memory another way; costs nothing in planned memory
    COPY = "copy"  # copy the input into the output's memory


@record(slots=True)
class Buffer:
    """One piece of planned memory: `nbytes` from `offset` in the arena, in use from step `first` to `last`.

    For places other than the arena the offset is 0.
    """

    place: Place
    nbytes: int
    offset: int
    first: int
    last: int
    param: int | None = None


@record(slots=True)
class Value:
    """One value of the plan.

    Attributes:
        type: its type.
        place: where it lives.
        buffer: index of its buffer; None for constants and for values of the runtime.
        offset: byte position of element 0 in the buffer (for a param, from the param's element 0).
        strides: byte strides; None where they are known only at run time.
        base: the value that this one is a view of.
        node: the node that it is the value of.
        first: the step that makes it, -1 for params and constants.
        last: the last step that reads its memory, through it or through a view of it.
    """

    type: Type
    place: Place
    buffer: int | None
    offset: int
    strides: Strides | None
    base: int | None
    node: Node
    first: int
    last: int


@record(slots=True)
class Step:
    """One step: `node`'s op (or a copy) on `inputs`, giving `output`; both are positions in `Plan.values`.

    `in_place` is the position among the inputs whose memory the output takes over.
    `tail` is True for steps that write into a caller's memory. `more` holds further outputs of a step that
    has several.
    """

    action: Action
    node: Node
    inputs: tuple[int, ...]
    output: int
    in_place: int | None = None
    tail: bool = False
    more: tuple[int, ...] = ()


@record(eq=False)
class Plan:
    """Steps in order, over values in buffers.

    Attributes:
        graph: what is computed.
        values: params first, in order, then constants and results.
        steps: what is done, in order.
        buffers: planned memory.
        results: for each graph output the position of its value; None for a commit.
        targets: what each graph output becomes.
        donated: positions of params whose memory the plan may use.
        arena_bytes: size of the arena.
        peak_bytes: the most bytes of computed values alive at any step, results included; what is committed
            straight into the caller's memory takes none.
        intermediate_bytes: the sum of the sizes of all values that steps compute, views not counted: what
            would be needed if nothing were freed or written in place.
        chains: steps that go through the same rows, of which each thread takes some through all of them
            (native execution).
    """

    graph: Graph
    values: tuple[Value, ...]
    steps: tuple[Step, ...]
    buffers: tuple[Buffer, ...]
    results: tuple[int | None, ...]
    targets: tuple[Target, ...]
    donated: frozenset[int]
    arena_bytes: int
    peak_bytes: int
    intermediate_bytes: int
    chains: tuple[tuple[int, ...], ...] = ()

    def __str__(self) -> str:
        from .plan_text import plan_text

        return plan_text(self)

    def draw(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Any:
        """A Drawing of the steps and the arena, or with a path the file written: see `compiler.draw.draw`."""
        from .draw import draw

        return draw(self, path, **options)

    def _repr_svg_(self) -> str | None:
        """What a notebook shows: the picture."""
        svg: str | None = self.draw()._repr_svg_()
        return svg

    def _repr_html_(self) -> str | None:
        """What a notebook shows where there is no Graphviz: the text."""
        text: str | None = self.draw()._repr_html_()
        return text

    def __repr__(self) -> str:
        return f"<Plan {self.graph.name}: {len(self.steps)} steps, arena {self.arena_bytes} bytes>"


def make_plan(
    graph: Graph,
    layouts: Sequence[Strides | None],
    targets: Sequence[Target],
    *,
    donated: frozenset[int] = frozenset(),
) -> Plan:
    """Decide order, layouts and memory of a graph.

    Args:
        graph: what to compute.
        layouts: byte strides of each param; None for C order and for params that are no arrays.
        targets: what each output becomes.
        donated: positions of params whose memory results and other values may take over once it has been
            read: the caller gets such a result in its own array, and finds anything there if the call raises.

    Returns:
        The plan. Values in it have the layouts that NumPy's own results would have.

    Raises:
        PlanError: under `TAPELESS_CHECK=1`, where the plan breaks a check of its verifier.

    >>> import numpy as np
    >>> from tapeless.compiler.ir import ArrayType, Builder, Graph
    >>> b = Builder()
    >>> x = b.param("x", ArrayType((3,), np.dtype("f8")))
    >>> plan = make_plan(Graph("f", (x,), (b.exp(b.negative(x)),)), [None], [Target("fresh")])
    >>> [step.node.op.name for step in plan.steps], plan.arena_bytes
    (['negative', 'exp'], 0)
    """
    # The passes know the classes above, so they are imported when the module is complete.
    from .passes.buffers import assign_buffers
    from .passes.commit import direct_commits
    from .passes.layout import assign_layouts
    from .passes.memory import find_roots
    from .passes.schedule import schedule

    known = assign_layouts(graph.nodes, graph.params, layouts)
    memory = find_roots(graph.nodes, known)
    commits = direct_commits(graph, targets, memory)
    order = schedule(graph, memory, commits)
    plan = assign_buffers(graph, order, memory, commits, tuple(targets), donated)
    if os.environ.get("TAPELESS_CHECK", "") not in ("", "0"):
        from .plan_verify import verify_plan

        verify_plan(plan)
    return plan
