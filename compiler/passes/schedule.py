"""The order of the steps: topological, chosen to lower the peak of memory.

List scheduling: among the nodes whose inputs are there, take the one of the smallest key. Two keys are tried,
the order in which the outputs reach the nodes, and the same but for nodes that free at least as much as they
take, which run at once; the order with the lower peak wins. Each costs O(n log n).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence

from ..ir.node import Graph, Node
from ..ir.opdef import Kind
from ..ir.record import record
from ..ir.types import ArrayType
from .commit import Commits
from .memory import Memory, may_raise

Key = Callable[[int, int], tuple[int, ...]]


def schedule(graph: Graph, memory: Memory, commits: Commits) -> list[Node]:
    """The nodes to run, in order; params and constants are left out."""
    nodes = [node for node in graph.nodes if node.op.name not in ("param", "constant")]
    problem = _Problem.of(nodes, graph.outputs, memory, commits)
    plain, plain_peak = problem.solve(lambda delta, position: (position,))
    frugal, frugal_peak = problem.solve(_frugal)
    order = frugal if frugal_peak < plain_peak else plain
    return [nodes[position] for position in order]


def _frugal(delta: int, position: int) -> tuple[int, ...]:
    return (0, delta, position) if delta <= 0 else (1, position)


@record(slots=True)
class _Problem:
    """Nodes by position: what each waits for, what memory it makes and reads."""

    size: list[int]
    elementwise: list[bool]
    reads: list[list[int]]
    users: list[list[int]]
    waits: list[int]
    held: list[int]
    late: list[int]
    raisers: list[bool]

    @classmethod
    def of(cls, nodes: Sequence[Node], outputs: Sequence[Node], memory: Memory, commits: Commits) -> _Problem:
        position = {node: number for number, node in enumerate(nodes)}
        count = len(nodes)
        problem = cls([], [], [], [[] for _ in nodes], [0] * count, [0] * count, [], [])
        direct = commits.param_of
        for number, node in enumerate(nodes):
            own = memory.root[node] is node and node not in direct and isinstance(node.type, ArrayType)
            problem.size.append(node.type.nbytes if own else 0)  # type: ignore[union-attr]
            problem.elementwise.append(node.op.kind is Kind.ELEMENTWISE)
            before = {position[operand] for operand in node.inputs if operand in position}
            roots = {memory.root[operand] for operand in node.inputs}
            problem.reads.append(sorted(position[root] for root in roots if root in position))
            before.update(position[reader] for reader in commits.readers.get(node, ()))
            problem.waits[number] = len(before)
            for earlier in before:
                problem.users[earlier].append(number)
            problem.raisers.append(node not in direct and may_raise(node))
            if node in commits.readers:
                problem.late.append(number)
        for reads in problem.reads:
            for root in reads:
                problem.held[root] += 1
        for output in outputs:
            kept = position.get(memory.root[output])
            if kept is not None:
                problem.held[kept] += 1
        return problem

    def solve(self, key: Key) -> tuple[list[int], int]:
        """An order by this key and its peak of memory in bytes."""
        waits, held, size = list(self.waits), list(self.held), self.size
        last_reader = [0] * len(size)
        for number, reads in enumerate(self.reads):
            for root in reads:
                last_reader[root] ^= number + 1
        blockers = sum(self.raisers)
        late = set(self.late) if blockers else set()
        done = [False] * len(size)
        order: list[int] = []
        live = peak = 0

        def delta(number: int) -> int:
            return size[number] - sum(size[root] for root in self.reads[number] if held[root] == 1)

        def push(number: int) -> None:
            if waits[number] == 0 and number not in late:
                heapq.heappush(heap, (key(delta(number), number), number))

        heap: list[tuple[tuple[int, ...], int]] = []
        for number in range(len(size)):
            push(number)
        while heap:
            _, number = heapq.heappop(heap)
            if done[number]:
                continue
            done[number] = True
            order.append(number)
            freed = [root for root in self.reads[number] if held[root] == 1]
            reused = self.elementwise[number] and any(size[root] == size[number] for root in freed)
            peak = max(peak, live + (0 if reused else size[number]))
            live += size[number] - sum(size[root] for root in freed)
            for root in self.reads[number]:
                held[root] -= 1
                last_reader[root] ^= number + 1
                if held[root] == 1 and last_reader[root]:
                    reader = last_reader[root] - 1
                    if not done[reader]:
                        push(reader)
            for user in self.users[number]:
                waits[user] -= 1
                push(user)
            if self.raisers[number]:
                blockers -= 1
                if not blockers:
                    freed_late, late = sorted(late), set()
                    for waiting in freed_late:
                        push(waiting)
        return order, peak
