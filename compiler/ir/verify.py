"""The verifier: says that a graph is valid, or which pass made which node wrong.

A builder cannot write an ill-typed graph down, so what is found here is a bug of the compiler's own, and the
error says so. Linear in the size of the graph, and safe on one with a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from .literal import Literal
from .node import Graph, Loc, Node
from .opdef import OPS, OpDef
from .text import loc_text, names, node_text
from .text_values import NoTextError, attr_text
from .types import (
    GeneratorType,
    holds_generator,
    supported,
)

CHECKS = {
    "V1": "params are distinct `param` nodes without inputs, of the type that their attr `of` says",
    "V2": "every param that the outputs reach is listed",
    "V3": "no node depends on itself",
    "V4": "every op is a registered one",
    "V5": "operands are nodes, and a node's type is what its op's type rule gives for them",
    "V6": "attrs are hashable and have a text form",
    "V7": "constants are read-only arrays or Python numbers of a supported dtype",
    "V8": "a random generator's state is passed on once: at most one node takes it and returns a new one",
    "V9": "every node says where the user wrote it",
}
_NEIGHBOURS = 5


class VerifyError(Exception):
    """A graph breaks one of `CHECKS`: a bug of Tapeless, not of the user's program.

    `check` is the number of the check, `node` the node that breaks it.
    """

    def __init__(self, check: str, detail: str, node: Node | None, around: str, stage: str) -> None:
        after = f" after the pass {stage}" if stage else ""
        where = _where(node)
        super().__init__(
            f"invalid graph{after}. This is a bug of Tapeless, not of your program; please report it.\n"
            f"  {check} ({CHECKS[check]}): {detail}{where}{around}"
        )
        self.check = check
        self.node = node
        self.stage = stage


def verify(graph: Graph, stage: str = "") -> Graph:
    """The graph itself, if it is valid.

    Args:
        graph: what to look at.
        stage: the pass that made it, for the message.

    Raises:
        VerifyError: one of `CHECKS` fails.

    Example:
        >>> from tapeless.compiler.ir.parse import parse
        >>> verify(parse("graph @f(%x: f64[3]) { %0: f64[3] = exp %x return %0 }"))
        <Graph f: 1 params, 2 nodes>
    """
    _Verifier(graph, stage).run()
    return graph


class _Verifier:
    def __init__(self, graph: Graph, stage: str) -> None:
        self.graph = graph
        self.stage = stage

    def run(self) -> None:
        self.params()
        order = self.order()
        takers: dict[Node, Node] = {}
        for node in order:
            self.op(node)
            self.attrs(node)
            self.type(node)
            self.effects(node, takers)
            loc: Any = node.loc
            if not isinstance(loc, Loc):
                self.fail("V9", f"its loc is {loc!r}", node)

    def fail(self, check: str, detail: str, node: Node | None) -> NoReturn:
        around = _neighbourhood(self.graph, node) if node is not None else ""
        raise VerifyError(check, detail, node, around, self.stage)

    def params(self) -> None:
        params = self.graph.params
        for param in params:
            if param.op is not OPS["param"] or param.inputs:
                self.fail("V1", f"{param!r} is no param", param)
            if param.attrs.get("of") != param.type:
                self.fail("V1", f"the type is {param.type}, not {param.attrs.get('of')}", param)
        if len(set(params)) != len(params):
            self.fail("V1", "one param is listed twice", next(p for p in params if params.count(p) > 1))

    def order(self) -> list[Node]:
        """Every node after its inputs; finds cycles, params not listed and operands that are no nodes."""
        listed = set(self.graph.params)
        order: list[Node] = []
        state: dict[Any, bool] = {}
        for output in (*self.graph.outputs, *self.graph.params):
            stack: list[tuple[Node, Iterator[Node]]] = []
            self.enter(output, output, state, stack)
            while stack:
                node, pending = stack[-1]
                for operand in pending:
                    if operand not in state:
                        self.enter(operand, node, state, stack)
                        break
                    if not state[operand]:
                        self.fail("V3", f"{operand.op.name} depends on itself", node)
                else:
                    state[node] = True
                    order.append(node)
                    stack.pop()
                    if node.op.name == "param" and node not in listed:
                        self.fail("V2", f"the param {node.attrs.get('name')!r} is not listed", node)
        return order

    def enter(
        self, node: Any, user: Any, state: dict[Any, bool], stack: list[tuple[Node, Iterator[Node]]]
    ) -> None:
        if not isinstance(node, Node):
            self.fail("V5", f"{node!r} is no node", user if isinstance(user, Node) else None)
        if node not in state:
            state[node] = False
            stack.append((node, iter(node.inputs)))

    def op(self, node: Node) -> None:
        op: Any = node.op
        if not isinstance(op, OpDef) or OPS.get(op.name) is not op:
            self.fail("V4", f"{op!r} is not registered", node)

    def type(self, node: Node) -> None:
        try:
            expected = node.op.type_rule([operand.type for operand in node.inputs], node.attrs)
        except Exception as error:
            self.fail("V5", f"its type rule fails: {type(error).__name__}: {error}", node)
        if expected != node.type:
            self.fail(
                "V5", f"the type rule of {node.op.name} gives {expected}, the node says {node.type}", node
            )

    def attrs(self, node: Node) -> None:
        for key, value in node.attrs.items():
            try:
                hash(value)
                if node.op.name != "constant":
                    attr_text(value)
            except (TypeError, NoTextError) as error:
                self.fail("V6", f"attr {key}: {error}", node)
        if node.op.name == "constant":
            self.constant(node, node.attrs.get("value"))

    def constant(self, node: Node, literal: Any) -> None:
        if not isinstance(literal, Literal):
            self.fail("V7", f"its value is {literal!r}, not a Literal", node)
        value = literal.value
        if isinstance(value, np.ndarray):
            if value.flags.writeable:
                self.fail("V7", "its array can be written to", node)
            if not supported(value.dtype):
                self.fail("V7", f"dtype {value.dtype} is not supported", node)
        elif type(value) not in (bool, int, float, complex):
            self.fail("V7", f"its value is of class {type(value).__name__}", node)

    def effects(self, node: Node, takers: dict[Node, Node]) -> None:
        """V8. `get` reads a state out of a tuple; that is no taking."""
        if not holds_generator(node.type) or node.op.name == "get":
            return
        for operand in node.inputs:
            if isinstance(operand.type, GeneratorType):
                if operand in takers:
                    self.fail("V8", f"{takers[operand].op.name} has taken the same state", node)
                takers[operand] = node


def _where(node: Node | None) -> str:
    loc: Any = node.loc if node is not None else None
    return f"\n  the node stands for {loc} in {loc.function}" if isinstance(loc, Loc) and loc.file else ""


def _neighbourhood(graph: Graph, node: Node) -> str:
    """The lines of the text around a node, the node's own marked; safe on any broken graph."""
    try:
        table = names(graph)
        order = list(graph.nodes)
        place = order.index(node)
    except Exception:
        return f"\n  -> {node.op!r} with attrs {node.attrs!r}"
    near = order[max(0, place - _NEIGHBOURS) : place + _NEIGHBOURS]
    shown = [operand for operand in node.inputs if operand in table and operand not in near] + near
    return "".join(f"\n  {'->' if other is node else '  '} {_line(other, table)}" for other in shown)


def _line(node: Node, table: dict[Node, str]) -> str:
    try:
        comment = loc_text(node.loc)
        return f"{node_text(node, table)}  {comment}".rstrip()
    except Exception as error:
        return f"{table.get(node, '?')}: {node.type} = {node.op!r}  (has no text: {error})"
