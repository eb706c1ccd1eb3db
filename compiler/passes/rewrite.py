"""The engine that applies rules to a whole graph until none fits.

Nodes are settled inputs first. A node whose inputs are settled is built anew on them, and the rules of its op
are tried; what a rule returns is settled in its turn. As rules look from a node down at settled nodes only,
one sweep reaches the fixed point, unless a rule held back because of a reader that is gone in the end.
The cost is linear in nodes and rewrites. Nothing recurses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from ..ir.node import Graph, Node
from ..rules.rule import Fidelity, Rule, RuleBuilder, RuleSet
from .manager import Options
from .memory_identity import keep_distinct

_REWRITES_PER_NODE = 50
_SWEEPS = 4


class RuleLoopError(Exception):
    """Rules do not come to an end. This is a bug of Tapeless; the message names them."""


def rewrite(graph: Graph, rules: Sequence[RuleSet], options: Options) -> Graph:
    """The graph after all rules of the sets that the options allow."""
    by_op = _rules_by_op(rules, options)
    for _ in range(_SWEEPS):
        engine = _Engine(by_op, _REWRITES_PER_NODE * (len(graph.nodes) + 20))
        graph = engine.run(graph)
        if not engine.fired or not engine.builder.declined:
            break
    return graph


RulesByOp = Callable[[str, bool], Sequence[Rule]]


def _rules_by_op(rules: Sequence[RuleSet], options: Options) -> RulesByOp:
    """The rules to try on nodes of an op, in the forward or in the backward part."""
    known: dict[tuple[str, bool], Sequence[Rule]] = {}
    off = options.disabled

    def find(op: str, backward: bool) -> Sequence[Rule]:
        found = known.get((op, backward))
        if found is None:
            every = [rule for set_ in rules if set_.name not in off for rule in set_.for_op(op, off)]
            free = backward or options.fast_math
            found = every if free else [rule for rule in every if rule.fidelity is Fidelity.BITS]
            known[op, backward] = found
        return found

    return find


class _Engine:
    def __init__(self, rules_by_op: RulesByOp, budget: int) -> None:
        self.rules_by_op = rules_by_op
        self.budget = budget
        self.fired: Counter[str] = Counter()
        self.builder = RuleBuilder()
        self.settled: dict[Node, Node] = {}

    def run(self, graph: Graph) -> Graph:
        settled, readers = self.settled, self.builder.readers
        settled.update(zip(graph.params, graph.params, strict=True))
        uses = Counter(operand for node in graph.nodes for operand in node.inputs)
        uses.update(graph.outputs)
        for node in graph.nodes:
            if node not in settled:
                self.settle(node)
            found = settled[node]
            readers[found] = readers.get(found, 0) + uses[node]
        return Graph(graph.name, graph.params, tuple([settled[output] for output in graph.outputs]))

    def settle(self, root: Node) -> None:
        """Find what stands for `root`, and for whatever rules make on the way."""
        settled = self.settled
        waiting: dict[Node, tuple[Node, Node]] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            if node in waiting:
                rebuilt, replacement = waiting.pop(node)
                if replacement not in settled:
                    raise self.loop(f"what a rule made of {rebuilt!r} contains it")
                settled[node] = settled[rebuilt] = settled[replacement]
            if node in settled:
                stack.pop()
                continue
            missing = [operand for operand in node.inputs if operand not in settled]
            if missing:
                stack.extend(reversed(missing))
                continue
            rebuilt = self.rebuilt(node)
            found = settled.get(rebuilt) or self.replacement(rebuilt)
            if found is None:
                settled[rebuilt] = settled[node] = rebuilt
            elif found in settled:
                settled[rebuilt] = settled[node] = settled[found]
            else:
                waiting[node] = rebuilt, found
                stack.append(found)

    def rebuilt(self, node: Node) -> Node:
        """The node on what stands for its inputs."""
        settled = self.settled
        inputs = tuple([settled[operand] for operand in node.inputs])
        rebuilt = self.builder.again(node, inputs)
        if node.op.name == "matmul" and inputs != node.inputs:
            return keep_distinct(self.builder, node, rebuilt)
        return rebuilt

    def replacement(self, node: Node) -> Node | None:
        """What the first rule that fits makes of a node."""
        for rule in self.rules_by_op(node.op.name, node.loc.backward):
            self.builder.loc = node.loc
            found = rule.rewrite(self.builder, node)
            if found is not None:
                self.count(rule)
                return found
        return None

    def count(self, rule: Rule) -> None:
        self.fired[rule.name] += 1
        self.budget -= 1
        if self.budget < 0:
            raise self.loop("they undo each other")

    def loop(self, what: str) -> RuleLoopError:
        often = ", ".join(f"{name} ({times} times)" for name, times in self.fired.most_common(5))
        return RuleLoopError(f"rules do not come to an end, a bug of Tapeless: {what}; applied were {often}")
