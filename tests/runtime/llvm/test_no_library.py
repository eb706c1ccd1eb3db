"""Native code calls no function of a library: there would be no address for it."""

import re
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Kind, OpDef, TypeRuleError
from tapeless.compiler.ir.opdef import OPS
from tapeless.compiler.ir.types import ArrayType
from tapeless.compiler.kernel.form import Affine, Arg, Compute, Kernel, Load, Loop, Store
from tapeless.runtime.llvm import engine
from tapeless.runtime.llvm.operations import is_printable
from tapeless.runtime.llvm.printer import print_kernel
from tapeless.runtime.llvm.written import Module

HERE = Affine(0, (("i", 1),))


def operations() -> list[Any]:
    """An elementwise op, the dtype of its operands, and its result's, for all that there is code for."""
    found = []
    for op in OPS.values():
        if op.kind is not Kind.ELEMENTWISE or op.name in ("cast", "where"):
            continue
        (count,) = {len(list(s.inputs(np.random.default_rng(0)))) for s in op.samples if s.breaks is None}
        for dtype in map(np.dtype, "?bBhHiIqQefd"):
            try:
                attrs = {"form": "ufunc"} if op.name == "power" else {}
                type_ = op.type_rule([ArrayType((4,), dtype)] * count, attrs)
            except (TypeRuleError, TypeError, ValueError, KeyError):
                continue
            if is_printable(op.name, count, dtype) and isinstance(type_, ArrayType):
                found.append(pytest.param(op, count, dtype, type_.dtype, id=f"{op.name}-{dtype}"))
    return found


def called(kernel: Kernel, level: int) -> set[str]:
    """The outside symbols that a kernel's code names."""
    module = Module()
    print_kernel(kernel, "f", module, engine.vector_bytes())
    text = engine.assembly(module.text(), level)
    defined = set(re.findall(r"^([A-Za-z_.]\w*):", text, re.MULTILINE))
    named = re.findall(r"^\s*(?:callq?|jmp|bl|movabsq)[ \t]+\$?([A-Za-z_]\w*)", text, re.MULTILINE)
    return {name for name in named if name not in defined}


@pytest.mark.parametrize("kind", ["scalar", "serial", "vector"])
@pytest.mark.parametrize(("op", "count", "dtype", "result"), operations())
def test_operations(op: OpDef, count: int, dtype: np.dtype[Any], result: np.dtype[Any], kind: str) -> None:
    at = Affine() if kind == "scalar" else HERE
    names = [f"x{k}" for k in range(count)]
    body = (
        *(Load(name, f"a{k}", at) for k, name in enumerate(names)),
        Compute("y", op.name, tuple(names), result),
        Store("o", at, "y"),
    )
    args = (*(Arg(f"a{k}", dtype, "in", 0, 40) for k in range(count)), Arg("o", result, "out", 0, 40))
    statements = body if kind == "scalar" else (Loop("i", 40, kind, body),)
    assert called(Kernel("k", args, statements), 0) == set()


CASTS = [
    (old, new)
    for old in map(np.dtype, "?bBhHiIqQefd")
    for new in map(np.dtype, "?bBhHiIqQefd")
    if old != new and is_printable("cast", 1, old, new)
]


@pytest.mark.parametrize(("old", "new"), CASTS)
def test_casts(old: np.dtype[Any], new: np.dtype[Any]) -> None:
    args = (Arg("a", old, "in", 0, 40), Arg("o", new, "out", 0, 40))
    for at in (Affine(), HERE):
        body = (Load("x", "a", at), Compute("y", "cast", ("x",), new), Store("o", at, "y"))
        statements = (Loop("i", 40, "vector", body),) if at is HERE else body
        assert called(Kernel("k", args, statements), 0) == set()
