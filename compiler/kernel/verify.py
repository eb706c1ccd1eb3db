"""The verifier of kernels: names, dtypes, loops and bounds.

V1 names: every value is defined once, before it is used, in an enclosing loop; loop variables are distinct.
V2 dtypes: operands of an op have the dtypes its ufunc computes in, stores and accumulations those of their
   target; conditions are booleans.
V3 bounds: every access lies inside its argument for all values of the loop variables (indexed ones are
   checked by their index's own range when they run).
V4 roles: inputs are not stored to, and scratch memory is before it is loaded; vector loops do not nest; a
   parallel kernel's last loop accumulates nothing and has no stop.
V5 accumulators: each belongs to an enclosing loop of its accumulates, which stand in one loop's body.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..ir.opdef import OPS, TypeRuleError
from ..ir.types import array_type
from .form import Accumulate, Affine, Arg, Compute, Constant, Kernel, Load, Loop, Statement, Store

# A Compute has no attrs: these are what ops with attrs mean by their name alone.
FORM = {"form": "ufunc", "order": 0}


class KernelError(AssertionError):
    """A kernel broke a check; this is a fault of the compiler."""


class _Verifier:
    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.args: dict[str, Arg] = {arg.name: arg for arg in kernel.args}
        self.dtypes: dict[str, np.dtype[Any]] = {}
        self.extents: dict[str, int] = {}
        self.stops: dict[str, Affine] = {}
        self.open: dict[str, np.dtype[Any]] = {}
        self.folded: dict[str, tuple[str, ...]] = {}
        self.in_vector = False
        self.stored: set[str] = set()

    def fail(self, check: str, detail: str) -> None:
        raise KernelError(f"{check}: {detail}\n{self.kernel}")

    def define(self, name: str, dtype: np.dtype[Any]) -> None:
        if name in self.dtypes or name in self.open:
            self.fail("V1", f"%{name} is defined twice")
        self.dtypes[name] = dtype

    def dtype(self, name: str) -> np.dtype[Any]:
        if name not in self.dtypes:
            self.fail("V1", f"%{name} is not defined here")
        return self.dtypes[name]

    def access(self, name: str, at: Affine, indexed: bool) -> Arg:
        if name not in self.args:
            self.fail("V1", f"there is no argument {name}")
        arg = self.args[name]
        low, high = self.reach(at)
        if not indexed and all(self.extents.values()) and not (arg.low <= low and high < arg.high):
            self.fail("V3", f"{name}[{low}] … {name}[{high}] is not inside {name}[{arg.low}:{arg.high}]")
        return arg

    def reach(self, at: Affine) -> tuple[int, int]:
        """The least and the greatest value of an affine form.

        A loop with a stop of n - sum(s * k) bounds i + sum(s * k) by n: where a form moves by multiples of
        that sum, it is taken as one variable.
        """
        strides = dict(at.strides)
        for variable in strides:
            if variable not in self.extents:
                self.fail("V1", f"{variable} is no enclosing loop's variable")
        low = high = at.offset
        spans = []
        for variable, stop in self.stops.items():
            stride = strides.get(variable, 0)
            together = all(s < 0 and strides.get(v, 0) == -s * stride for v, s in stop.strides)
            if stride and together:
                spans.append((stride, stop.offset))
                for name in (variable, *(v for v, _ in stop.strides)):
                    del strides[name]
        for stride, extent in [*spans, *((s, self.extents[v]) for v, s in strides.items())]:
            reach = stride * (extent - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high

    def run(self, statements: Sequence[Statement]) -> None:
        before = set(self.dtypes)
        for statement in statements:
            self.statement(statement)
        for name in set(self.dtypes) - before:
            del self.dtypes[name]

    def statement(self, statement: Statement) -> None:
        if isinstance(statement, Constant):
            self.define(statement.result, statement.dtype)
        elif isinstance(statement, Load):
            arg = self.access(statement.arg, statement.at, statement.index is not None)
            if statement.index is not None and self.dtype(statement.index).kind not in "iu":
                self.fail("V2", f"index %{statement.index} is no integer")
            if arg.role == "scratch" and arg.name not in self.stored:
                self.fail("V4", f"the scratch memory {arg.name} is loaded before it is stored to")
            self.define(statement.result, arg.dtype)
        elif isinstance(statement, Compute):
            self.compute(statement)
        elif isinstance(statement, Store):
            arg = self.access(statement.arg, statement.at, statement.index is not None)
            if statement.index is not None and self.dtype(statement.index).kind not in "iu":
                self.fail("V2", f"index %{statement.index} is no integer")
            if arg.role == "in":
                self.fail("V4", f"the input {arg.name} is stored to")
            self.stored.add(arg.name)
            if self.dtype(statement.value) != arg.dtype:
                self.fail("V2", f"%{statement.value} is stored to {arg.name} of another dtype")
        elif isinstance(statement, Accumulate):
            self.accumulate(statement)
        else:
            self.loop(statement)

    def compute(self, statement: Compute) -> None:
        dtypes = [self.dtype(name) for name in statement.operands]
        if statement.op != "cast":
            try:
                type_ = OPS[statement.op].type_rule([array_type((), d) for d in dtypes], FORM)
            except TypeRuleError as error:
                self.fail("V2", str(error))
            if type_.dtype != statement.dtype:  # type: ignore[union-attr]
                self.fail("V2", f"%{statement.result} is {type_}, not {statement.dtype}")
        self.define(statement.result, statement.dtype)

    def accumulate(self, statement: Accumulate) -> None:
        here = tuple(self.extents)
        if statement.accumulator not in self.open or self.folded.get(statement.accumulator, here) != here:
            self.fail("V5", f"%{statement.accumulator} is not open here, or accumulated into in two loops")
        for name in (statement.value, statement.factor or statement.value):
            if self.dtype(name) != self.open[statement.accumulator]:
                self.fail("V2", f"%{name} is accumulated into another dtype")
        self.folded[statement.accumulator] = here

    def loop(self, loop: Loop) -> None:
        if loop.variable in self.extents:
            self.fail("V1", f"{loop.variable} is a loop variable already")
        if loop.kind == "vector" and self.in_vector:
            self.fail("V4", f"the vector loop {loop.variable} stands inside another vector loop")
        if loop.stop is not None:
            self.reach(loop.stop)
            self.stops[loop.variable] = loop.stop
        self.in_vector |= loop.kind == "vector"
        self.extents[loop.variable] = loop.extent
        self.open |= {a.name: a.dtype for a in loop.accumulators}
        self.run(loop.body)
        del self.extents[loop.variable]
        self.stops.pop(loop.variable, None)
        self.in_vector &= loop.kind != "vector"
        for accumulator in loop.accumulators:
            del self.open[accumulator.name]
            if accumulator.name not in self.folded:
                self.fail("V5", f"nothing is accumulated into %{accumulator.name}")
            self.define(accumulator.name, accumulator.dtype)


def verify_kernel(kernel: Kernel) -> None:
    """Raise KernelError for the first check (V1 … V5) that the kernel breaks."""
    verifier = _Verifier(kernel)
    verifier.run(kernel.body)
    last = kernel.body[-1] if kernel.body else None
    if kernel.parallel and not (isinstance(last, Loop) and not last.accumulators and last.stop is None):
        verifier.fail("V4", "a parallel kernel ends in a whole loop without accumulators")
