"""The text form of kernels: complete and deterministic."""

from __future__ import annotations

from collections.abc import Iterator

from ..ir.types import dtype_name
from .form import Accumulate, Affine, Compute, Constant, Kernel, Load, Loop, Statement, Store


def affine_text(at: Affine) -> str:
    """`[5 + 128*i + j]`."""
    terms = [f"{stride}*{variable}" if stride != 1 else variable for variable, stride in at.strides if stride]
    if at.offset or not terms:
        terms.insert(0, str(at.offset))
    return f"[{' + '.join(terms)}]"


def statement_lines(statement: Statement, indent: str) -> Iterator[str]:
    """The lines of one statement."""
    if isinstance(statement, Constant):
        yield f"{indent}%{statement.result}: {dtype_name(statement.dtype)} = {statement.value!r}"
    elif isinstance(statement, Load):
        index = "" if statement.index is None else f" at {statement.index_stride}*%{statement.index}"
        yield f"{indent}%{statement.result} = load {statement.arg}{affine_text(statement.at)}{index}"
    elif isinstance(statement, Compute):
        operands = ", ".join(f"%{name}" for name in statement.operands)
        yield f"{indent}%{statement.result}: {dtype_name(statement.dtype)} = {statement.op} {operands}"
    elif isinstance(statement, Store):
        index = "" if statement.index is None else f" at {statement.index_stride}*%{statement.index}"
        verb = "add" if statement.adds else "store"
        yield f"{indent}{verb} %{statement.value}, {statement.arg}{affine_text(statement.at)}{index}"
    elif isinstance(statement, Accumulate):
        times = "" if statement.factor is None else f" * %{statement.factor}"
        yield f"{indent}accumulate %{statement.value}{times} into %{statement.accumulator}"
    else:
        yield from loop_lines(statement, indent)


def loop_lines(loop: Loop, indent: str) -> Iterator[str]:
    """A loop with its accumulators and its body."""
    running = "".join(
        f", %{a.name}: {dtype_name(a.dtype)} = {'narrow ' * a.narrow}{a.op} from {a.init!r}"
        for a in loop.accumulators
    )
    stop = "" if loop.stop is None else f" below {affine_text(loop.stop)}"
    yield f"{indent}for {loop.variable} in {loop.extent}{stop} {loop.kind}{running} {{"
    for statement in loop.body:
        yield from statement_lines(statement, indent + "  ")
    yield f"{indent}}}"


def kernel_text(kernel: Kernel) -> str:
    """The whole kernel."""
    args = ", ".join(
        f"{arg.role} {arg.name}: {dtype_name(arg.dtype)}[{arg.low}:{arg.high}]" for arg in kernel.args
    )
    lines = [f"kernel @{kernel.name}({args}){' parallel' if kernel.parallel else ''} {{"]
    for statement in kernel.body:
        lines.extend(statement_lines(statement, "  "))
    return "\n".join([*lines, "}"])
