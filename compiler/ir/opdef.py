"""OpDef: everything a primitive means, in one record, and the registry of all of them.

How a back end runs an op is not here: that is a row in the back end's own table.
A type rule raises TypeRuleError naming the numbered constraint it found broken.
"""

from __future__ import annotations

import enum
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, NoReturn

from .record import record
from .types import Type

if TYPE_CHECKING:
    from .builder import Builder
    from .node import Node

Attrs = Mapping[str, Any]
Cotangents = Sequence["Node | None"]
Vjp = Callable[["Builder", "Node", "Node"], Cotangents]


class Kind(enum.Enum):
    """What shape of computation an op is; passes and back ends decide by it."""

    ELEMENTWISE = "elementwise"
    REDUCTION = "reduction"
    VIEW = "view"
    CONTRACTION = "contraction"
    OTHER = "other"


class Flow(enum.Enum):
    """What an op's vjp does to structural zeros of the cotangent (see `passes/differentiate.py`).

    SCALES: elementwise, zero stays zero unless the coefficient is not finite; the zeros are put back.
    BOUNDED: elementwise with coefficients that are finite for every input; zeros stay zero.
    MOVES: linear with coefficients 0 and 1, every input element is used; zeros move along.
    SELECTS: linear with coefficients 0 and 1, input elements may be unused; it makes structural zeros.
    MIXES: anything else; zeros are forgotten.
    """

    SCALES = "scales"
    BOUNDED = "bounded"
    MOVES = "moves"
    SELECTS = "selects"
    MIXES = "mixes"


@record
class NotDifferentiable:
    """Stands in the place of a vjp; `reason` completes the sentence "... has no derivative because"."""

    reason: str


class NotDifferentiableError(TypeError):
    """A value on the path between `wrt` and the output has no derivative.

    A vjp raises it where the answer depends on the attrs.
    """

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(f"{node.op.name} has no derivative: {reason}")
        self.node = node
        self.reason = reason


class TypeRuleError(TypeError):
    """An op was applied to types or attrs that break one of its constraints."""

    def __init__(self, op: str, constraint: str, detail: str) -> None:
        super().__init__(f"{op} {constraint}: {detail}")
        self.op = op
        self.constraint = constraint


@record
class Sample:
    """Arguments to try an op with: `inputs` makes the values from a seeded generator, `attrs` go with them.

    An invalid sample names the constraint it breaks in `breaks`. `differentiable` is False where the
    values lie on a kink, or where the vjp refuses.
    """

    name: str
    inputs: Callable[[Any], tuple[Any, ...]]
    attrs: Attrs = field(default_factory=dict)
    breaks: str | None = None
    differentiable: bool = True


@record(eq=False)
class OpDef:
    """One primitive.

    `numpy` is the reference semantics: called with the input values and the attrs as keywords.
    `python`, where given, is what is done when every input is a Python number.
    `vjp(builder, node, ct)` gives one cotangent node (or None, a symbolic zero) per input.
    `flow` says what the vjp does to structural zeros.
    """

    name: str
    doc: str
    kind: Kind
    type_rule: Callable[[Sequence[Type], Attrs], Type]
    numpy: Callable[..., Any]
    vjp: Vjp | NotDifferentiable
    constraints: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    python: Callable[..., Any] | None = None
    flow: Flow = Flow.MIXES

    def fail(self, constraint: str, detail: str) -> NoReturn:
        raise TypeRuleError(self.name, constraint, detail)

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Callable[[str], OpDef], tuple[str]]:
        return get_op, (self.name,)


class Registry(dict[str, OpDef]):
    """The primitives by name: a family is loaded when one of its ops is first asked for, all for a list.

    Which family an op belongs to stands in `compiler/ops/__init__.py`; ops of the user's own are put in.
    """

    def __missing__(self, name: str) -> OpDef:
        home = home_of(name)
        if home is not None:
            importlib.import_module(home)
        if not dict.__contains__(self, name):
            raise KeyError(name)
        return self[name]

    def __contains__(self, name: object) -> bool:
        return dict.__contains__(self, name) or home_of(name) is not None

    def get(self, name: str, default: Any = None) -> Any:
        try:
            return self[name]
        except KeyError:
            return default

    def load_all(self) -> None:
        """Load every family."""
        from ..ops import FAMILIES

        for family in FAMILIES:
            importlib.import_module(f"...ops.{family}", __name__)

    def __iter__(self) -> Iterator[str]:
        self.load_all()
        return dict.__iter__(self)

    def __len__(self) -> int:
        self.load_all()
        return dict.__len__(self)

    def keys(self) -> Any:
        self.load_all()
        return dict.keys(self)

    def values(self) -> Any:
        self.load_all()
        return dict.values(self)

    def items(self) -> Any:
        self.load_all()
        return dict.items(self)


def home_of(name: object) -> str | None:
    """The module of a primitive's family; None for other names."""
    from ..ops import FAMILY_OF

    family = FAMILY_OF.get(name)  # type: ignore[call-overload]
    return None if family is None else f"{__package__.rpartition('.')[0]}.ops.{family}"


OPS = Registry()
PLACES: dict[str, tuple[str, int]] = {}


def register(op: OpDef) -> OpDef:
    """Add a primitive to the registry; its name must be new. `PLACES` remembers the file and line."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_name != "<module>":
        frame = frame.f_back
    if dict.__contains__(OPS, op.name) or home_of(op.name) not in (None, frame.f_globals.get("__name__")):
        raise ValueError(f"an op named {op.name!r} exists already")
    OPS[op.name] = op
    PLACES[op.name] = frame.f_code.co_filename, frame.f_lineno
    return op


def get_op(name: str) -> OpDef:
    """The primitive of this name; KeyError names it if there is none."""
    return OPS[name]
