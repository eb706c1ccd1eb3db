"""The engine that applies rules to a whole graph until none fits.

Nodes are settled inputs first. A node whose inputs are settled is built anew on them, and the rules of its op
are tried; what a rule returns is settled in its turn. As rules look from a node down at settled nodes only,
one sweep reaches the fixed point: the cost is linear in nodes and rewrites. Nothing recurses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ..ir.builder import Builder
from ..ir.node import Graph, Node
from ..rules.rule import Fidelity, Rule, RuleSet
from .manager import Options
from .memory_identity import keep_distinct

_REWRITES_PER_NODE = 50


class RuleLoopError(Exception):
    """Rules undo each other's work. This is a bug of Tapeless; the message names them."""


def rewrite(graph: Graph, rules: Sequence[RuleSet], options: Options) -> Graph:
    """The graph after all rules of the sets that the options allow."""
    engine = _Engine(rules, options, _REWRITES_PER_NODE * (len(graph.nodes) + 20))
    return engine.run(graph)


class _Engine:
    def __init__(self, rules: Sequence[RuleSet], options: Options, budget: int) -> None:
        self.rules = rules
        self.options = options
        self.budget = budget
        self.fired: Counter[str] = Counter()
        self.builder = Builder()
        self.by_op: dict[str, tuple[list[Rule], list[Rule]]] = {}

    def run(self, graph: Graph) -> Graph:
        settled: dict[Node, Node] = {param: param for param in graph.params}
        for node in graph.nodes:
            if node not in settled:
                self.settle(node, settled)
        return Graph(graph.name, graph.params, tuple(settled[output] for output in graph.outputs))

    def settle(self, root: Node, settled: dict[Node, Node]) -> None:
        """Find what stands for `root`, and for whatever rules make on the way."""
        waiting: dict[Node, tuple[Node, Node]] = {}
        stack = [root]
        while stack:
            node = stack[-1]
            if node in waiting:
                rebuilt, replacement = waiting.pop(node)
                settled[node] = settled[rebuilt] = settled[replacement]
            if node in settled:
                stack.pop()
                continue
            missing = [operand for operand in node.inputs if operand not in settled]
            if missing:
                stack.extend(reversed(missing))
                continue
            rebuilt = self.rebuilt(node, settled)
            found = settled.get(rebuilt) or self.replacement(rebuilt)
            if found is None:
                settled[rebuilt] = settled[node] = rebuilt
            elif found in settled:
                settled[rebuilt] = settled[node] = settled[found]
            else:
                waiting[node] = rebuilt, found
                stack.append(found)

    def rebuilt(self, node: Node, settled: Mapping[Node, Node]) -> Node:
        inputs = tuple([settled[operand] for operand in node.inputs])
        rebuilt = self.builder.again(node, inputs)
        if node.op.name == "matmul" and inputs != node.inputs:
            return keep_distinct(self.builder, node, rebuilt)
        return rebuilt

    def replacement(self, node: Node) -> Node | None:
        """What the first rule that fits makes of a node."""
        for rule in self.rules_for(node):
            self.builder.loc = node.loc
            found = rule.rewrite(self.builder, node)
            if found is not None:
                self.count(rule)
                return found
        return None

    def rules_for(self, node: Node) -> list[Rule]:
        name = node.op.name
        known = self.by_op.get(name)
        if known is None:
            off = self.options.disabled
            every = [rule for set_ in self.rules if set_.name not in off for rule in set_.for_op(name, off)]
            exact = [rule for rule in every if rule.fidelity is Fidelity.BITS]
            known = self.by_op[name] = (every if self.options.fast_math else exact, every)
        return known[node.loc.backward]

    def count(self, rule: Rule) -> None:
        self.fired[rule.name] += 1
        self.budget -= 1
        if self.budget < 0:
            often = ", ".join(f"{name} ({times} times)" for name, times in self.fired.most_common(5))
            raise RuleLoopError(f"rules undo each other (a bug of Tapeless): {often}")
