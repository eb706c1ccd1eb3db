"""Which commits can be computed straight into the caller's memory.

`w -= rate * g` should subtract in place, as NumPy does. That is allowed where nothing after the write can
raise or read the old value, so a call that raises leaves its arguments untouched: such nodes run behind every
node that can raise and behind all other readers of the param. `x[i] -= v` may store in place because it has
read through the same index before. Every other commit is a copy at the end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import field

from ..ir.node import Graph, Node
from ..ir.opdef import Kind
from ..ir.record import record
from ..ops.view import Path
from ..plan import Target
from .memory import REPLACES, Memory, is_exact_in_place, may_raise
from .strides import Strides, same_layout
from .views import path_view

Proved = set[object]


@record(slots=True)
class Commits:
    """`param_of[n]` is the param whose memory node n writes.

    `readers[n]` run before n; it has an entry for the first of the nodes that write to one param.
    """

    param_of: dict[Node, Node] = field(default_factory=dict)
    readers: dict[Node, list[Node]] = field(default_factory=dict)


def direct_commits(graph: Graph, targets: Sequence[Target], memory: Memory) -> Commits:
    """The nodes that may write into params, with what must run before them."""
    commits = Commits()
    wanted = [(node, target.param) for node, target in zip(graph.outputs, targets, strict=True)]
    per_param = Counter(position for _, position in wanted if position is not None)
    uses = Counter(operand for node in graph.nodes for operand in node.inputs)
    uses.update(graph.outputs)
    returned = {memory.root[node] for node in graph.outputs}
    proved = {index_of(node) for node in graph.nodes if node.op.name == "gather"}
    chains: dict[Node, list[Node]] = {}
    for node, position in wanted:
        if position is None or per_param[position] > 1:
            continue
        param = graph.params[position]
        if param not in returned:
            chain = _chain(node, param, uses, memory, proved)
            if chain and _keeps_an_order(param, chain, chains, memory):
                chains[param] = chain
    if chains:
        readers = _readers(graph, chains, memory)
        for param, chain in chains.items():
            commits.param_of.update(dict.fromkeys(chain, param))
            mine = set(chain)
            commits.readers[chain[-1]] = [reader for reader in readers[param] if reader not in mine]
    return commits


def _keeps_an_order(param: Node, chain: list[Node], chains: dict[Node, list[Node]], memory: Memory) -> bool:
    """Whether the chains, this one added, can run one after another, each before what it reads is written."""

    def read_by(nodes: list[Node]) -> set[Node]:
        return {memory.root[operand] for node in nodes for operand in node.inputs}

    pending = [other for other in read_by(chain) if other in chains]
    seen = set(pending)
    while pending:
        for other in read_by(chains[pending.pop()]):
            if other is param:
                return False
            if other in chains and other not in seen:
                seen.add(other)
                pending.append(other)
    return True


def _readers(graph: Graph, params: Iterable[Node], memory: Memory) -> dict[Node, list[Node]]:
    """For each param the nodes that read its memory, themselves or through a view."""
    readers: dict[Node, list[Node]] = {param: [] for param in params}
    for node in graph.nodes:
        for operand in node.inputs:
            root = memory.root[operand]
            if root in readers:
                readers[root].append(node)
    return readers


def _chain(node: Node, param: Node, uses: Counter[Node], memory: Memory, proved: Proved) -> list[Node]:
    """The nodes up to `node` that may run in the param's memory, last one first; empty if `node` may not."""
    if memory.is_view(node) or node not in memory.planned or node.type != param.type:
        return []
    chain: list[Node] = []
    while uses[node] == 1 and _replaces_part(node, param, memory, proved):
        chain.append(node)
        base = node.inputs[0]
        if memory.is_view(base) or base is param:
            return chain if _is_whole(base, param, memory) else []
        node = base
    if chain or uses[node] != 1 or node.op.name in REPLACES or may_raise(node):
        return []
    return [node] if _may_overwrite(node, param, memory) else []


def _replaces_part(node: Node, param: Node, memory: Memory, proved: Proved) -> bool:
    """Whether the node stores into the param without reading it, and cannot raise."""
    if any(memory.root[operand] is param for operand in node.inputs[1:]):
        return False
    if node.op.name == "write":
        path: Path = node.attrs["path"]
        strides = memory.layouts[param]
        return strides is not None and path_view(param.type, strides, path) is not None
    return node.op.name == "scatter" and index_of(node) in proved


def index_of(node: Node) -> object:
    """What a gather or scatter does its bounds checks on: axes, their lengths, index arrays."""
    axes = node.attrs["axes"]
    indices = node.inputs[1 if node.op.name == "gather" else 2 :]
    return axes, tuple(node.inputs[0].shape[axis] for axis in axes), indices


def _is_whole(node: Node, param: Node, memory: Memory) -> bool:
    """Whether the node is the param's memory seen as the param sees it."""
    return (
        memory.root[node] is param
        and memory.offset.get(node) == 0
        and node.type == param.type
        and _same_strides(node, memory.layouts[node], memory.layouts[param])
    )


def _same_strides(node: Node, first: Strides | None, second: Strides | None) -> bool:
    return first is not None and second is not None and same_layout(node.shape, first, second)


def _may_overwrite(node: Node, param: Node, memory: Memory) -> bool:
    """Whether the node may compute into the param: elementwise on equal places, or without reading it.

    NumPy's transcendental functions round otherwise where a result runs backwards, sums and products where
    it lies in another order.
    """
    strides = memory.layouts[param]
    assert strides is not None
    elementwise = node.op.kind is Kind.ELEMENTWISE and is_exact_in_place(node)
    if (not elementwise or min(strides) < 0) and not _same_strides(node, memory.layouts[node], strides):
        return False
    if elementwise:
        return all(memory.root[x] is not param or _is_whole(x, param, memory) for x in node.inputs)
    return all(memory.root[operand] is not param for operand in node.inputs)
