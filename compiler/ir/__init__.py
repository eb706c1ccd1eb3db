"""The intermediate representation: types, nodes, builder, traversal, text.

Nodes never change and hold no names; only the builder makes them, from an op's type rule.
Read `types.py`, `node.py`, `builder.py`, `text.py` in this order.
"""

from .builder import Builder
from .node import Graph, Loc, Node
from .opdef import Flow, Kind, NotDifferentiable, OpDef, TypeRuleError
from .types import ArrayType, GeneratorType, ScalarType, TupleType, Type

__all__ = [
    "ArrayType",
    "Builder",
    "Flow",
    "GeneratorType",
    "Graph",
    "Kind",
    "Loc",
    "Node",
    "NotDifferentiable",
    "OpDef",
    "ScalarType",
    "TupleType",
    "Type",
    "TypeRuleError",
]
