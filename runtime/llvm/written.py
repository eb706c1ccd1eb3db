"""What the printer keeps while it writes: the module's text, names of values, sums that are running."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ...compiler.ir.record import record
from ...compiler.kernel.form import Accumulator
from .types import DType, value_type

Pair = tuple[str, str]


@record(frozen=False)
class Running:
    """An accumulator while its loops are printed: its terms are vectors if the vector loop is inside."""

    accumulator: Accumulator
    lanes: int
    current: str = ""
    error: str = ""

    @property
    def neutral(self) -> Any:
        """What changes nothing where it is folded in."""
        accumulator = self.accumulator
        if accumulator.op in ("add", "multiply"):
            return 0 if accumulator.op == "add" else 1
        return accumulator.init

    def phis(self, names: Pair, first: Pair, before: str, latch: str) -> list[str]:
        """The lines that carry the sum, and its error, into a loop and around it."""
        pairs = [(names[0], first[0], self.current), (names[1], first[1], self.error)]
        type_ = value_type(self.accumulator.dtype, self.lanes)
        return [
            f"  {name} = phi {type_} [ {a}, %{before} ], [ {b}, %{latch} ]"
            for name, a, b in pairs[: 1 + self.accumulator.compensated]
        ]


@record(frozen=False)
class Name:
    """A value: its text, and how many lanes it has, 0 for a single one."""

    text: str
    dtype: DType
    lanes: int


@record(frozen=False)
class Module:
    """LLVM text being put together: functions, and what they call."""

    declarations: dict[str, None] = field(default_factory=dict)
    definitions: dict[str, str] = field(default_factory=dict)
    functions: list[str] = field(default_factory=list)

    def length(self) -> int:
        """How many characters its functions have."""
        return sum(map(len, self.functions))

    def text(self) -> str:
        """The whole module."""
        return "\n".join([*self.declarations, *self.definitions.values(), *self.functions]) + "\n"
