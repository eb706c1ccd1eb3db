"""Fusion: groups of nodes that one loop nest computes become `fused` nodes.

Every node that a kernel can hold gets a level and an iteration space; nodes of one level and space that touch
are a group. The level rises along every edge that cannot stay inside a kernel, so no group reaches itself
through another and the result is acyclic by construction. One walk, linear in the graph.

A group's values align with its space: each axis of a value is an axis of the space. Elementwise ops keep
the alignment, reductions drop axes, broadcasts bring them back; what comes from outside is seen by its
strides. Partial sums over the rows of a space end in it: what reads them is another group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from ..ir.body import Body
from ..ir.builder import Builder, attrs_key
from ..ir.node import Graph, Node
from ..ir.opdef import OPS, Kind
from ..ir.record import record
from ..ir.types import ArrayType
from ..ir.visit import users
from ..kernel.lower import PARTIAL, REDUCTIONS

INDEX_VIEWS = ("transpose", "broadcast", "slice", "window", "reshape")
# A body's nodes at the most: elementwise ops have three operands, so a kernel has at most 256 arguments.
MOST_NODES = 64
Alignment = tuple["int | None", ...]
Overwrites = tuple[tuple[int, ...], ...]


@record(frozen=False, eq=False)
class _Group:
    """A group while it grows: `shape` is what it iterates over, `folded` is set by its first reduction.

    `row` is the axis along which partial sums lie, set by the first of them, and `size` the length of their
    blocks. Other reductions of such a group fold the other axes: they are known when a row is.
    """

    level: int
    shape: tuple[int, ...]
    folded: tuple[int, ...] | None = None
    row: int | None = None
    size: int = 0
    nodes: list[Node] = field(default_factory=list)


class _Fuser:
    def __init__(self, graph: Graph, supported: Callable[[Node], bool]) -> None:
        self.graph = graph
        self.supported = supported
        self.level: dict[Node, int] = {}
        self.group: dict[Node, _Group] = {}
        self.alignment: dict[Node, Alignment] = {}
        self.readers: dict[Node, list[Node]] = {}

    # ---- what can be fused

    def computes(self, node: Node) -> bool:
        """Whether a node is arithmetic that a kernel can hold."""
        if not isinstance(node.type, ArrayType) or not all(
            isinstance(o.type, ArrayType) for o in node.inputs
        ):
            return False
        fusable = node.op.kind is Kind.ELEMENTWISE or _reduces(node)
        return fusable and node.type.size > 0 and self.supported(node)

    def aligned_view(self, node: Node) -> Alignment | None:
        """The alignment of a view of a value inside a group; None where it leaves the group's space."""
        (x,) = node.inputs
        if x.op.name == PARTIAL:
            return None
        inner = self.alignment[x]
        if node.op.name == "transpose":
            return tuple(inner[axis] for axis in node.attrs["axes"])
        if node.op.name == "reshape":
            axes = iter([a for a, n in zip(inner, x.shape, strict=True) if n != 1])
            if [n for n in x.shape if n != 1] != [n for n in node.shape if n != 1]:
                return None
            return tuple(next(axes) if n != 1 else None for n in node.shape)
        if node.op.name == "broadcast":
            group = self.group[x]
            if node.shape != group.shape:
                return None
            kept = dict(zip(node.attrs["axes"], inner, strict=True))
            found = tuple(
                kept.get(axis, axis) if kept.get(axis, axis) is not None else axis
                for axis in range(len(node.shape))
            )
            return found if found == tuple(range(len(node.shape))) else None
        return None

    # ---- the walk

    def run(self) -> list[_Group]:
        groups: list[_Group] = []
        for node in self.graph.nodes:
            if node.op.name in ("param", "constant"):
                self.level[node] = 0
            elif self.computes(node):
                self.place(node, groups)
            elif (
                node.op.name in INDEX_VIEWS
                and node.inputs[0] in self.group
                and (a := self.aligned_view(node))
            ):
                x = node.inputs[0]
                self.level[node], self.group[node], self.alignment[node] = self.level[x], self.group[x], a
                self.group[x].nodes.append(node)
            elif node.op.name in INDEX_VIEWS:
                x = node.inputs[0]
                self.level[node] = self.level[x] + (x in self.group)
            else:
                self.level[node] = 1 + max((self.level[o] for o in node.inputs), default=0)
        return groups

    def place(self, node: Node, groups: list[_Group]) -> None:
        """Put a computing node into the groups of its operands, merged, or into another one."""
        floor = max((self.level[o] for o in node.inputs), default=0)
        inside = [self.group[o] for o in node.inputs if o in self.group]
        near = list(dict.fromkeys(g for g in inside if g.level == floor))
        fit = self.fits(node, near) if near else None
        if fit is not None:
            group = self.merged(near)
        else:
            level = max((self.level[o] + (o in self.group) for o in node.inputs), default=0)
            shape = node.inputs[0].shape if _reduces(node) else node.shape
            group = self.sibling(node, level, shape)
            fit = self.fits(node, [group])
            if fit is None:
                group = _Group(level, shape)
                fit = self.fits(node, [group])
            groups.append(group)
            assert fit is not None
        if node.op.name == PARTIAL:
            x = node.inputs[0]
            own = self.alignment[x] if x in self.group and self.group[x] is group else range(len(x.shape))
            group.row, group.size = tuple(own)[node.attrs["axis"]], node.attrs["size"]
        elif node.op.name in REDUCTIONS:
            group.folded = tuple(node.attrs["axes"])
        group.nodes.append(node)
        self.group[node], self.alignment[node], self.level[node] = group, fit, group.level
        self.note(node, group)

    def merged(self, groups: list[_Group]) -> _Group:
        """Groups of one level and shape as one, the smaller ones moved into the largest.

        Edges between groups go to higher levels, so this closes no cycle.
        """
        largest = max(groups, key=lambda g: len(g.nodes))
        for other in groups:
            if other is not largest:
                for node in other.nodes:
                    self.group[node] = largest
                largest.nodes += other.nodes
                if largest.folded is None:
                    largest.folded = other.folded
                if other.row is not None:
                    largest.row, largest.size = other.row, other.size
                other.nodes = []
        return largest

    def sibling(self, node: Node, level: int, shape: tuple[int, ...]) -> _Group:
        """A group of this level and shape that reads one of the node's operands already, or a new one."""
        for operand in node.inputs:
            for reader in self.readers.get(operand, ()) if operand.shape else ():
                group = self.group[reader]
                if group.level == level and group.shape == shape:
                    return group
        return _Group(level, shape)

    def note(self, node: Node, group: _Group) -> None:
        """Remember who reads an array from outside of its group, the first few."""
        for operand in node.inputs:
            known = self.readers.setdefault(operand, [])
            if operand.shape and self.group.get(operand) is not group and len(known) < 4:
                known.append(node)

    def fits(self, node: Node, groups: list[_Group]) -> Alignment | None:
        """The alignment of a node in one group made of these; None where it does not belong there."""
        shape = groups[0].shape
        folds = {g.folded for g in groups if g.folded is not None}
        rows = {(g.row, g.size) for g in groups if g.row is not None}
        if any(g.shape != shape for g in groups) or len(folds) > 1 or len(rows) > 1:
            return None
        folded = next(iter(folds), None)
        full = tuple(range(len(shape)))
        others = tuple(axis for axis in full if axis not in {row for row, _ in rows})
        inside = [o for o in node.inputs if self.group.get(o) in groups]
        if any(o.op.name == PARTIAL for o in inside) or (rows and folded not in (None, others)):
            return None
        if node.op.name == PARTIAL:
            return self.fits_partial(node, inside, shape, folded, next(iter(rows), None))
        if node.op.name in REDUCTIONS:
            folded = others if rows else folded
            return self.fits_reduction(node, inside, shape, folded)
        if any(not o.shape for o in inside) and node.shape:
            return None
        found = {self.alignment[o] for o in inside if o.shape}
        outside = [o for o in node.inputs if o.shape and o not in inside]
        if len(found) > 1:
            return None
        alignment = next(iter(found), full if node.shape == shape else ())
        if len(alignment) != len(node.shape) or any(o.shape != node.shape for o in outside):
            return None
        if any(a is not None and shape[a] != n for a, n in zip(alignment, node.shape, strict=True)):
            return None
        return alignment

    def fits_reduction(
        self, node: Node, inside: list[Node], shape: tuple[int, ...], folded: tuple[int, ...] | None
    ) -> Alignment | None:
        """A reduction folds the axes that the group's others fold, of a value of the whole space."""
        full = tuple(range(len(shape)))
        axes = tuple(node.attrs["axes"])
        if (
            node.inputs[0].shape != shape
            or any(self.alignment[x] != full for x in inside)
            or (folded is not None and folded != axes)
        ):
            return None
        return tuple(axis for axis in full if axis not in axes)

    def fits_partial(
        self,
        node: Node,
        inside: list[Node],
        shape: tuple[int, ...],
        folded: tuple[int, ...] | None,
        row: tuple[int | None, int] | None,
    ) -> Alignment | None:
        """Partial sums over the rows: of values of the whole space, or of one number a row.

        Sums over all axes of the space are partial sums, too.
        """
        full = tuple(range(len(shape)))
        found = {self.alignment[x] for x in inside}
        if not found and node.inputs[0].shape == shape:
            found = {full}
        if len(found) != 1:
            return None
        (alignment,) = found
        outside = [x for x in node.inputs if x not in inside]
        if any(x.shape != shape for x in outside) and alignment == full:
            return None
        if outside and alignment != full:
            return None
        axis = alignment[node.attrs["axis"]]
        summed = {alignment[a] for a in node.attrs["axes"]} - {None}
        others = tuple(a for a in full if a != axis)
        kept = {a for k, a in enumerate(alignment) if k not in node.attrs["axes"]} - {None}
        if axis is None or summed | kept not in ({axis}, set(full)) or summed not in ({axis}, set(full)):
            return None
        if folded not in (None, others) or (row is not None and row != (axis, node.attrs["size"])):
            return None
        return (None, *(a for k, a in enumerate(alignment) if k not in node.attrs["axes"]))


def fuse(graph: Graph, supported: Callable[[Node], bool]) -> Graph:
    """The graph with groups of nodes as `fused` nodes.

    Args:
        graph: an optimised graph.
        supported: whether a kernel can be printed for a node's op and dtypes.

    A group of one elementwise node is fused too: its kernel replaces the NumPy call. Views that only kernels
    read from outside stay views, as they cost nothing.
    """
    fuser = _Fuser(graph, supported)
    made = [g for g in dict.fromkeys(fuser.run()) if g.nodes]
    used = users(graph.nodes)
    _sink(made, fuser, used)
    groups = [part for g in made if g.nodes for part in _parts(g, graph)]
    return _rebuild(graph, groups, fuser, used)


def _sink(groups: Sequence[_Group], fuser: _Fuser, used: dict[Node, list[Node]]) -> None:
    """Move groups that a single other group reads into it, where both have the same elements.

    So `m *= b` runs with `m += gradient`, which waits for a product. Nothing else lies between the two, so
    this closes no cycle.
    """
    for group in sorted(groups, key=lambda g: -g.level):
        full = tuple(range(len(group.shape)))
        edges = [(n, user) for n in group.nodes for user in used[n] if fuser.group.get(user) is not group]
        targets = {fuser.group.get(user) for _, user in edges}
        target = next(iter(targets), None)
        if target is None or len(targets) > 1 or target.shape != group.shape:
            continue
        if group.folded is not None or group.row is not None or target.row is not None:
            continue
        if all(
            fuser.alignment[node] == full
            and (_reduces(user) or (fuser.alignment[user] == full and not _is_index_view(user)))
            for node, user in edges
        ):
            for node in group.nodes:
                fuser.group[node] = target
            target.nodes += group.nodes
            group.nodes = []


def _parts(group: _Group, graph: Graph) -> list[_Group]:
    """A group cut along the graph's order, so that no body is too deep and no kernel has too many arguments.

    Members of a group only reach each other inside it, so cutting in order closes no cycle. A view stays
    with what it looks at.
    """
    if len(group.nodes) <= MOST_NODES:
        return [group]
    members = set(group.nodes)
    part_of: dict[Node, int] = {}
    size = MOST_NODES
    last = -1
    for node in graph.nodes:
        if node not in members:
            continue
        if _is_index_view(node):
            part_of[node] = part_of[node.inputs[0]]
            continue
        if size == MOST_NODES:
            last, size = last + 1, 0
        part_of[node], size = last, size + 1
    parts = [_Group(group.level, group.shape, group.folded, group.row) for _ in range(last + 1)]
    for node, number in part_of.items():
        parts[number].nodes.append(node)
    return parts


def _rebuild(graph: Graph, groups: Sequence[_Group], fuser: _Fuser, used: dict[Node, list[Node]]) -> Graph:
    """Replace each group by one node, made where its last outside input is known."""
    builder = Builder()
    outputs = set(graph.outputs)
    new: dict[Node, Node] = {param: param for param in graph.params}
    order = {node: number for number, node in enumerate(graph.nodes)}
    for group in groups:
        group.nodes.sort(key=order.__getitem__)
    pending = sorted(groups, key=lambda g: (g.level, order[g.nodes[0]]))
    group_of = {node: group for group in pending for node in group.nodes}
    bodies: dict[Any, Body] = {}

    def materialise(node: Node) -> Node:
        """The new node for an old one, groups and views made on demand, with a stack of its own."""
        stack = [node]
        while stack:
            top = stack[-1]
            if top in new:
                stack.pop()
                continue
            group = group_of.get(top)
            needs = _outside(group, group_of) if group is not None else list(top.inputs)
            missing = [n for n in needs if n not in new]
            if missing:
                stack.extend(missing)
                continue
            if group is None:
                new[top] = builder.again(top, tuple(new[o] for o in top.inputs))
            else:
                _make(builder, group, group_of, used, outputs, fuser.alignment, new, bodies)
            stack.pop()
        return new[node]

    results = tuple(materialise(output) for output in graph.outputs)
    return Graph(graph.name, graph.params, results)


def _reduces(node: Node) -> bool:
    return node.op.name in REDUCTIONS or node.op.name == PARTIAL


def _is_index_view(node: Node) -> bool:
    return node.op.name in INDEX_VIEWS


def _outside(group: _Group, group_of: dict[Node, _Group]) -> list[Node]:
    """The values that a group reads from outside; numbers known to the compiler stand inside."""
    found: dict[Node, None] = {}
    for node in group.nodes:
        for operand in node.inputs:
            if group_of.get(operand) is not group and not _is_number(operand):
                found[operand] = None
    return list(found)


def _is_number(node: Node) -> bool:
    return node.op.name == "constant" and not node.shape


def _make(
    builder: Builder,
    group: _Group,
    group_of: dict[Node, _Group],
    used: dict[Node, list[Node]],
    outputs: set[Node],
    alignment: dict[Node, Alignment],
    new: dict[Node, Node],
    bodies: dict[Any, Body],
) -> None:
    """Make the `fused` node of a group and note what its members became."""
    outside = _outside(group, group_of)
    wanted = [
        node
        for node in group.nodes
        if node in outputs or any(group_of.get(user) is not group for user in used[node])
    ]
    results = list(dict.fromkeys(_computed(node) for node in wanted))
    body = _body(group, outside, results, bodies)
    builder.loc = group.nodes[-1].loc
    attrs = {
        "body": body,
        "shape": group.shape,
        "folded": group.folded or (),
        "alignments": tuple(alignment[node] for node in results),
        "overwrites": _overwrites(group, outside, results, alignment),
    }
    if group.row is not None:
        attrs["row"] = group.row
    made = builder.make(OPS["fused"], [new[n] for n in outside], attrs)
    for index, node in enumerate(results):
        new[node] = made if len(results) == 1 else builder.get(made, index=index)
    for node in group.nodes:
        if _is_index_view(node) and node.inputs[0] in new:
            new[node] = builder.again(node, (new[node.inputs[0]],))


def _body(group: _Group, outside: list[Node], results: list[Node], bodies: dict[Any, Body]) -> Body:
    """The body of a group; groups that say the same share one."""
    number: dict[Node, Any] = {node: k for k, node in enumerate((*outside, *group.nodes))}
    for node in group.nodes:
        for operand in node.inputs:
            if operand not in number:
                number[operand] = operand.type, attrs_key(operand.attrs)
    key = (
        tuple(node.type for node in outside),
        tuple((n.op, attrs_key(n.attrs), tuple([number[o] for o in n.inputs])) for n in group.nodes),
        tuple(number[node] for node in results),
    )
    found = bodies.get(key)
    if found is None:
        inside = Builder()
        params = {n: inside.param(f"x{number}", n.type) for number, n in enumerate(outside)}
        inner: dict[Node, Node] = dict(params)
        for node in group.nodes:
            operands = tuple(inner[o] if o in inner else inside.again(o, ()) for o in node.inputs)
            inside.loc = node.loc
            inner[node] = inside.again(node, operands)
        graph = Graph("body", tuple(params.values()), tuple(inner[node] for node in results))
        found = bodies[key] = Body(graph)
    return found


def _overwrites(
    group: _Group, outside: list[Node], results: list[Node], alignment: dict[Node, Alignment]
) -> Overwrites:
    """For each output the params whose memory it may take over: read at the very element that is written.

    That is so where whoever reads a param is aligned with the space as the output is, and no view is between:
    the element is read before the output is stored there, so the two may share memory of one layout. A kernel
    with partial sums comes back to a row after the row's outputs are stored.
    """
    if any(node.op.name == PARTIAL for node in group.nodes):
        return ((),) * len(results)
    full = tuple(range(len(group.shape)))
    read_at: dict[Node, set[Alignment | None]] = {node: set() for node in outside}
    for node in group.nodes:
        at = None if _is_index_view(node) else full if _reduces(node) else alignment[node]
        for operand in node.inputs:
            if operand in read_at:
                read_at[operand].add(at)
    return tuple(
        tuple(
            number
            for number, param in enumerate(outside)
            if param.shape == result.shape != () and read_at[param] == {alignment[result]}
        )
        for result in results
    )


def _computed(node: Node) -> Node:
    """The value of the group that a chain of views inside it looks at."""
    while _is_index_view(node):
        node = node.inputs[0]
    return node
