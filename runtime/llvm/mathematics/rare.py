"""A branch to a private function for the few lanes that need one.

The function takes scalars and stands once in the module; a wrapper runs it for the lanes of a mask.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....compiler.ir.record import record
from ..types import suffix, value_type
from .builder import BOOL, Value


@record
class Branch:
    """An open branch: where it came from and where it goes on."""

    before: str
    rare: str
    after: str


def open_branch(mask: Value, hint: str) -> Branch:
    """Begin a block that runs where any lane of the mask is set."""
    e = mask.emitter
    w, some = e.writer, mask.text
    if e.lanes:
        bits = w.let(f"bitcast {e.type(BOOL)} {some} to i{e.lanes}")
        some = w.let(f"icmp ne i{e.lanes} {bits}, 0")
    branch = Branch(w.block, w.label(hint), w.label("after"))
    w.line(f"br i1 {some}, label %{branch.rare}, label %{branch.after}")
    w.start(branch.rare)
    return branch


def close_branch(branch: Branch, usual: Sequence[Value], rare: Sequence[str]) -> list[Value]:
    """End the block: the rare values if it ran, the usual ones if not."""
    e = usual[0].emitter
    w = e.writer
    last = w.block
    w.line(f"br label %{branch.after}")
    w.start(branch.after)
    phis = [
        w.let(f"phi {e.type(value.dtype)} [ {value.text}, %{branch.before} ], [ {text}, %{last} ]")
        for value, text in zip(usual, rare, strict=True)
    ]
    return [Value(e, name, value.dtype) for name, value in zip(phis, usual, strict=True)]


def where_rare(mask: Value, symbol: str, text: str, operands: Sequence[Value], usual: Value) -> Value:
    """The usual value; in the lanes of the mask a private scalar function of the operands."""
    e = usual.emitter
    w, dtype, scalar = e.writer, usual.dtype, value_type(usual.dtype, 0)
    w.private(symbol, text)
    branch = open_branch(mask, "rare")
    if not e.lanes:
        given = ", ".join(f"{scalar} {value.text}" for value in operands)
        found = w.let(f"call {scalar} @{symbol}({given})")
    else:
        wrapper, vector = f"{symbol}_{suffix(dtype, e.lanes)}", e.type(dtype)
        w.private(wrapper, _wrapper(wrapper, symbol, len(operands), vector, scalar, e.lanes))
        given = ", ".join(f"{vector} {value.text}" for value in (usual, *operands))
        found = w.let(f"call {vector} @{wrapper}({e.type(BOOL)} {mask.text}, {given})")
    return close_branch(branch, [usual], [found])[0]


def _wrapper(wrapper: str, symbol: str, count: int, vector: str, scalar: str, lanes: int) -> str:
    """The private function over the lanes of a mask."""
    names = [f"%x{number}" for number in range(count)]
    parameters = ", ".join(f"{vector} {name}" for name in ("%usual", *names))
    picked = [f"  {name}s = extractelement {vector} {name}, i64 %i" for name in names]
    given = ", ".join(f"{scalar} {name}s" for name in names)
    return "\n".join(
        [
            f"define internal {vector} @{wrapper}(<{lanes} x i1> %mask, {parameters}) {{",
            "entry:",
            "  br label %head",
            "head:",
            "  %i = phi i64 [ 0, %entry ], [ %next, %latch ]",
            f"  %now = phi {vector} [ %usual, %entry ], [ %later, %latch ]",
            f"  %here = extractelement <{lanes} x i1> %mask, i64 %i",
            "  br i1 %here, label %body, label %latch",
            "body:",
            *picked,
            f"  %found = call {scalar} @{symbol}({given})",
            f"  %put = insertelement {vector} %now, {scalar} %found, i64 %i",
            "  br label %latch",
            "latch:",
            f"  %later = phi {vector} [ %now, %head ], [ %put, %body ]",
            "  %next = add i64 %i, 1",
            f"  %more = icmp ult i64 %next, {lanes}",
            "  br i1 %more, label %head, label %done",
            "done:",
            f"  ret {vector} %later",
            "}",
        ]
    )
