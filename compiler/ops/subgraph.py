"""`fused`: a graph as one node, for kernels that keep its inner values in registers.

`shape` is what its kernel iterates over, `folded` the axes that its reductions fold; `alignments` say for
each output which of the axes its own are, `overwrites` which operands' memory it may take over. It is made
after differentiation, so it has no derivative of its own. Several outputs are read by `get`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.body import Body
from ..ir.builder import Builder
from ..ir.node import Graph
from ..ir.opdef import OPS, Attrs, Kind, NotDifferentiable, OpDef, Sample, register
from ..ir.types import TupleType, Type, array_type
from .base import normals


def fused_type(types: Sequence[Type], attrs: Attrs) -> Type:
    graph: Graph = attrs["body"].graph
    if [param.type for param in graph.params] != list(types):
        OPS["fused"].fail(
            "C1", f"the body takes {[str(p.type) for p in graph.params]}, given {list(map(str, types))}"
        )
    outputs = tuple(output.type for output in graph.outputs)
    return outputs[0] if len(outputs) == 1 else TupleType(outputs)


def fused_value(*inputs: Any, body: Body, **space: Any) -> Any:
    """The body node by node, as the reference interpreter runs a graph."""
    known: dict[Any, Any] = dict(zip(body.graph.params, inputs, strict=True))
    for node in body.graph.nodes:
        if node not in known:
            known[node] = node.op.numpy(*(known[operand] for operand in node.inputs), **node.attrs)
    outputs = tuple(known[output] for output in body.graph.outputs)
    return outputs[0] if len(outputs) == 1 else outputs


def _sample_body() -> dict[str, Any]:
    """The attrs of a small fused node: x * x + y and its sums over rows."""
    b = Builder()
    x, y = (b.param(name, array_type((2, 3), np.dtype("f8"))) for name in "xy")
    total = b.add(b.multiply(x, x), y)
    rows = b.sum(total, axes=(1,), dtype=np.dtype("f8"))
    return {
        "body": Body(Graph("body", (x, y), (total, rows))),
        "shape": (2, 3),
        "folded": (1,),
        "alignments": ((0, 1), (0,)),
        "overwrites": ((0, 1), ()),
    }


register(
    OpDef(
        "fused",
        "the outputs of a graph, computed in one pass",
        Kind.OTHER,
        fused_type,
        fused_value,
        NotDifferentiable("fusion comes after differentiation"),
        ("C1: the inputs have the types of the body's params",),
        (
            Sample("rows", normals((2, 3), (2, 3)), _sample_body(), differentiable=False),
            Sample("another_shape", normals((2, 3), (3, 2)), _sample_body(), breaks="C1"),
        ),
    )
)
