"""From a native plan to segments: tables of native steps, and NumPy calls between them.

A native step is a kernel or a matrix product with the places of its arguments. Kernels with the same text
share code; places are (base, byte offset) pairs that the walker resolves at each call.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from ...compiler.ir.builder import Builder
from ...compiler.ir.node import Graph, Node
from ...compiler.ir.record import record, replace
from ...compiler.ir.types import ArrayType, array_type
from ...compiler.kernel.collapse import collapse
from ...compiler.kernel.convolve import contraction_kernel
from ...compiler.kernel.form import Kernel, Loop
from ...compiler.kernel.indexed import gather_kernel, scatter_kernel
from ...compiler.kernel.lower import NotLowered, lower
from ...compiler.kernel.scatter_windows import fill_kernel, window_sum_kernel
from ...compiler.kernel.space import choose_space
from ...compiler.kernel.verify import verify_kernel
from ...compiler.passes.strides import c_strides
from ...compiler.passes.views import path_view
from ...compiler.plan import Action, Place, Plan, Step, Value
from ..arena import ALIGNMENT
from . import blas, products
from .bodies import kernels_of
from .costs import code_level, kernel_cost
from .matrices import Argument, merged, moved, orientation, turned
from .native_step import PARTIAL_BYTES, NativeStep, Printed, reaches
from .printer import print_kernel
from .types import NotPrintable
from .written import Module

# Rows of a product for each piece of a thread's share: every piece reads the right operand, or copies it.
PIECE_ROWS = 512


@record(frozen=False)
class Segment:
    """Steps that run one after the other: all native, or one by NumPy, which has a number in the plan."""

    native: list[NativeStep] = field(default_factory=list)
    step: Step | None = None
    number: int = -1


@record(frozen=False)
class Code:
    """The functions of a plan: symbols of kernels by their text, of products by BLAS, LLVM text by level.

    `lowered` knows the kernels of bodies over memory of given strides, `outside` where the functions are
    that all plans share; `descriptions` are what their arguments point to.
    """

    kernels: dict[str, str] = field(default_factory=dict)
    lowered: dict[Any, list[Printed]] = field(default_factory=dict)
    gemms: dict[str, None] = field(default_factory=dict)
    outside: dict[str, tuple[products.Code, str]] = field(default_factory=dict)
    descriptions: list[Any] = field(default_factory=list)
    modules: dict[int, tuple[Module, Module]] = field(default_factory=dict)

    def module(self, level: int, half: int | None = None) -> Module:
        """A module whose code is generated at a level: of two, as two threads generate code, the shorter."""
        pair = self.modules.setdefault(level, (Module(), Module()))
        return min(pair, key=Module.length) if half is None else pair[half]


class TableBuilder:
    """Turns the steps of a plan into segments.

    `arena_bytes` is the arena that they need: the plan's, and behind it partial results of a step, which are
    read before another step makes its own.
    """

    def __init__(self, plan: Plan, base_of: dict[int, int], vector_bytes: int) -> None:
        self.plan = plan
        self.base_of = base_of
        self.vector_bytes = vector_bytes
        self.code = Code()
        self.number_of = {v.node: n for n, v in enumerate(plan.values) if v.place is Place.CONSTANT}
        self.segments: list[Segment] = []
        self.checks: dict[tuple[int, int], Node] = {}
        self.arena_bytes = self.plan.arena_bytes
        self.partial_place = -(-self.plan.arena_bytes // ALIGNMENT) * ALIGNMENT

    def build(self) -> list[Segment]:
        """The segments in order."""
        for number, step in enumerate(self.plan.steps):
            if step.action is Action.VIEW:
                if self.plan.values[step.output].place is Place.RUNTIME:
                    self.segments.append(Segment(step=step, number=number))
                continue
            made = self.native(step)
            if made is None:
                self.segments.append(Segment(step=step, number=number))
                continue
            if not self.segments or self.segments[-1].step is not None:
                self.segments.append(Segment())
            for call in made:
                call.sources = (number,)
            self.segments[-1].native += made
        return self.segments

    def native(self, step: Step) -> list[NativeStep] | None:
        """The calls of a step; None where NumPy has to run it."""
        values = [self.plan.values[n] for n in step.inputs]
        outputs = [self.plan.values[n] for n in step.more or (step.output,)]
        if not all(self.is_placed(v) for v in (*values, *outputs)):
            return None
        try:
            if step.action is Action.COPY and not values[0].type.size:  # type: ignore[union-attr]
                return None
            if step.action is Action.COPY:
                return [self.copy(values[0], outputs[0])]
            if step.node.op.name == "fused":
                return self.fused(step.node, values, outputs)
            if step.node.op.name == "matmul":
                return self.matmul(step.node, values, outputs[0])
            if step.node.op.name == "add_matmul":
                return self.add_matmul(step.node, values, outputs[0])
            if step.node.op.name == "contract_windows":
                return self.windows(step.node, values, outputs[0])
            if step.node.op.name == "window_sum":
                return self.window_sum(step.node, values[0], outputs[0])
            if step.node.op.name in ("reshape", "copy"):
                return [self.copy(values[0], _seen_as(outputs[0], values[0]))]
            if step.node.op.name == "write":
                return self.write(step, values, outputs[0])
            if step.node.op.name == "concatenate":
                return self.concatenate(step.node, values, outputs[0])
            if step.node.op.name == "roll":
                return self.roll(step.node, values[0], outputs[0])
            if step.node.op.name in ("gather", "scatter", "scatter_add"):
                return self.indexed(step, values, outputs[0])
        except (NotLowered, NotPrintable):
            return None
        return None

    def is_placed(self, value: Value) -> bool:
        known = value.buffer is not None or value.place is Place.CONSTANT
        return known and value.strides is not None and isinstance(value.type, ArrayType)

    # ---- places

    def place(self, value: Value) -> Argument:
        """The base and byte offset of a value's element 0."""
        if value.place is Place.CONSTANT:
            root = value
            while root.base is not None:
                root = self.plan.values[root.base]
            return self.base_of[-1 - self.number_of[root.node]], value.offset
        assert value.buffer is not None
        buffer = self.plan.buffers[value.buffer]
        if buffer.place is Place.ARENA:
            return 0, buffer.offset + value.offset
        return self.base_of[value.buffer], value.offset

    def elements(self, value: Value) -> tuple[int, ...]:
        """Strides in elements."""
        assert value.strides is not None
        assert isinstance(value.type, ArrayType)
        size = value.type.dtype.itemsize
        if any(s % size for s in value.strides):
            raise NotLowered("strides that are no multiple of the item size")
        return tuple(s // size for s in value.strides)

    # ---- kernels

    def fused(self, node: Node, inputs: Sequence[Value], outputs: Sequence[Value]) -> list[NativeStep]:
        attrs = node.attrs
        body: Graph = attrs["body"].graph
        strides = [self.elements(v) for v in inputs]
        out_strides = [self.elements(v) for v in outputs]
        key = body, attrs["shape"], attrs["folded"], attrs["alignments"], tuple(strides), tuple(out_strides)
        known = self.code.lowered.get(key)
        if known is None:
            kernels = kernels_of(body, attrs, strides, out_strides)
            known = self.code.lowered[key] = [self.printed(k) for k in kernels]
            partial = sum(name[0] == "p" for name in known[0].names)
            self.arena_bytes = max(self.arena_bytes, self.partial_place + PARTIAL_BYTES * partial)
        return [made.step(inputs, outputs, self.place, self.partial_place) for made in known]

    def copy(self, source: Value, target: Value) -> NativeStep:
        assert isinstance(target.type, ArrayType)
        param = Builder().param("x", source.type)
        body = Graph("copy", (param,), (param,))
        axes = tuple(range(target.type.ndim))
        strides, out_strides = [self.elements(source)], [self.elements(target)]
        space = choose_space(body, target.type.shape, (), [axes], strides, out_strides)
        return self.kernel(lower("kernel", body, space, strides, out_strides), [source], [target])

    def write(self, step: Step, inputs: Sequence[Value], output: Value) -> list[NativeStep] | None:
        """The base copied, unless it is there already, then the value into what the path shows."""
        base, value = inputs
        assert isinstance(output.type, ArrayType)
        assert output.strides is not None
        seen = path_view(output.type, output.strides, step.node.attrs["path"])
        if seen is None:
            return None
        offset, type_, strides = seen
        target = replace(output, type=type_, strides=strides, offset=output.offset + offset)
        whole = [] if step.in_place == 0 else [self.copy(base, output)]
        return [*whole, self.copy(value, target)]

    def concatenate(self, node: Node, inputs: Sequence[Value], output: Value) -> list[NativeStep]:
        """Each operand copied to where it begins."""
        axis, first, steps = node.attrs["axis"], 0, []
        for value in inputs:
            assert isinstance(value.type, ArrayType)
            start = [0] * value.type.ndim
            start[axis], first = first, first + value.type.shape[axis]
            if value.type.size:
                steps.append(self.copy(value, _part(output, start, value.type.shape)))
        return steps

    def roll(self, node: Node, x: Value, output: Value) -> list[NativeStep]:
        """Each piece copied to where it comes to lie: two for an axis, before and after the cut."""
        assert isinstance(x.type, ArrayType)
        shape, steps = x.type.shape, []
        shifts = dict(zip(node.attrs["axes"], node.attrs["shift"], strict=True))
        ranges = []
        for axis, length in enumerate(shape):
            shift = shifts.get(axis, 0) % max(length, 1)
            ranges.append([(0, shift, length - shift), (length - shift, 0, shift)])
        for pieces in itertools.product(*ranges):
            source, target, size = zip(*pieces, strict=True)
            if all(size):
                steps.append(self.copy(_part(x, source, size), _part(output, target, size)))
        return steps

    def indexed(self, step: Step, inputs: Sequence[Value], output: Value) -> list[NativeStep] | None:
        """A gather, or a scatter into a copy of the base unless that lies in the result's memory already."""
        node = step.node
        if not all(
            self.in_range(step.inputs[k], node, k) for k in range(len(inputs)) if k >= _first_index(node)
        ):
            return None
        if node.op.name == "gather":
            x, *indices = inputs
            strides = [self.elements(v) for v in indices]
            kernel = gather_kernel(node, self.elements(x), strides, self.elements(output))
            return [self.kernel(kernel, inputs, [output])]
        base, value, *indices = inputs
        strides = [self.elements(v) for v in indices]
        kernel = scatter_kernel(node, self.elements(output), self.elements(value), strides)
        whole = [] if step.in_place == 0 else [self.copy(base, output)]
        return [*whole, self.kernel(kernel, [output, *indices], [value])]

    def windows(self, node: Node, inputs: Sequence[Value], output: Value) -> list[NativeStep]:
        left, right, out = (self.elements(v) for v in (*inputs, output))
        made = contraction_kernel(node, left, right, out, 32 if self.vector_bytes == 64 else 16)
        covers = made.args[-1].role == "out" and not node.attrs.get("result")
        zeros = [] if covers else [self.kernel(fill_kernel(node, out), [], [output])]
        return [*zeros, self.kernel(made, inputs, [output])]

    def window_sum(self, node: Node, x: Value, output: Value) -> list[NativeStep]:
        strides = self.elements(output)
        fill = self.kernel(fill_kernel(node, strides), [], [output])
        return [fill, self.kernel(window_sum_kernel(node, self.elements(x), strides), [x], [output])]

    def in_range(self, number: int, node: Node, position: int) -> bool:
        """Whether an index array is known to be in range, or is an argument that is checked before."""
        value = self.plan.values[number]
        first = _first_index(node)
        length = node.inputs[0].shape[node.attrs["axes"][position - first]]
        if value.place is Place.CONSTANT and value.base is None:
            known = value.node.attrs["value"].value
            return not known.size or bool(-length <= known.min() and known.max() < length)
        if value.place is Place.PARAM:
            assert value.buffer is not None
            param = self.plan.buffers[value.buffer].param
            assert param is not None
            if self.plan.graph.params[param].type.size != value.type.size:  # type: ignore[union-attr]
                return False
            self.checks[param, length] = node
            return True
        return False

    def kernel(self, kernel: Kernel, inputs: Sequence[Value], outputs: Sequence[Value]) -> NativeStep:
        return self.printed(collapse(kernel)).step(inputs, outputs, self.place)

    def printed(self, kernel: Kernel) -> Printed:
        """The function of a kernel, printed if no kernel with the same text was."""
        last = kernel.body[-1]
        end = last.extent if isinstance(last, Loop) else 1
        text, cost = str(kernel), kernel_cost(kernel)
        if text not in self.code.kernels:
            verify_kernel(kernel)
            symbol = f"kernel{len(self.code.kernels)}"
            print_kernel(kernel, symbol, self.code.module(code_level(kernel, cost)), self.vector_bytes)
            self.code.kernels[text] = symbol
        cut = 0
        if kernel.parallel and isinstance(last, Loop):
            cut = 64 if last.kind == "vector" else 1
        names = tuple(arg.name for arg in kernel.args)
        return Printed(self.code.kernels[text], names, end, cut, cost, reaches(kernel))

    # ---- products

    def matmul(
        self, node: Node, inputs: Sequence[Value], output: Value, alpha: float = 1.0, adds: bool = False
    ) -> list[NativeStep] | None:
        """A product of stacks of matrices; None where the layout of one is not among those with code."""
        assert isinstance(output.type, ArrayType)
        dtype = output.type.dtype
        if any(v.type.dtype != dtype for v in inputs):  # type: ignore[union-attr]
            return None
        if dtype not in (np.float32, np.float64) or not dtype.isnative:
            return None
        if not output.type.size or not inputs[0].type.size:  # type: ignore[union-attr]
            return None
        found = blas.find()
        if found is None or self.vector_bytes >= 32 or _is_small(output, inputs[0]):
            return self.own_product(inputs[0], inputs[1], output, alpha, adds)
        return self.blas_product(found, inputs[0], inputs[1], output, alpha, adds)

    def add_matmul(self, node: Node, inputs: Sequence[Value], output: Value) -> list[NativeStep] | None:
        """The base copied, unless it is there already, and the product added to it."""
        base, *operands = inputs
        made = self.matmul(node, operands, output, node.attrs.get("alpha", 1.0), True)
        if made is None or (self.place(base) == self.place(output) and base.strides == output.strides):
            return made
        return [self.copy(base, output), *made]

    def own_product(
        self, x: Value, y: Value, output: Value, alpha: float, adds: bool
    ) -> list[NativeStep] | None:
        """Steps of tiles in registers, one for each stack of matrices that two distances describe."""
        assert isinstance(output.type, ArrayType)
        size = output.type.dtype.itemsize
        if output.strides is not None and output.strides[-1] != size == output.strides[-2]:
            x, y, output = turned(y), turned(x), turned(output)
        assert isinstance(x.type, ArrayType)
        assert isinstance(output.type, ArrayType)
        m, n, k = output.type.shape[-2], output.type.shape[-1], x.type.shape[-1]
        strides = [v.strides or () for v in (x, y, output)]
        b_row, b_column = strides[1][-2] if k > 1 else 0, strides[1][-1] if n > 1 else size
        if size not in (b_row, b_column) or (strides[2][-1] != size and n > 1):
            return None
        stack = merged(output.type.shape[:-2], [s[:-2] for s in strides])
        *around, far, near = [(1, (0, 0, 0)), (1, (0, 0, 0)), *stack]
        matrices = strides[0][-2:], (b_row, b_column), strides[2][-2:]
        a, b, c = (
            products.Operand(row, column, near[1][v], far[1][v]) for v, (row, column) in enumerate(matrices)
        )
        dtype = output.type.dtype
        made = products.code(dtype)
        count = far[0] * near[0]
        described = products.describe(made, (m, n, k), a, b, c, near[0], far[0], alpha, adds)
        self.code.descriptions.append(described.fields)
        symbol = f"{described.frame}_{dtype.char}"
        self.code.outside[symbol] = made, described.frame
        cost = count * 2 * m * n * k / (100 if dtype.char == "f" else 50)
        cut = made.shape.cut(m)
        if m % cut and count > 1:
            cut = m
        most = max(1, min(4, m // PIECE_ROWS)) if count == 1 else 4
        places = [self.place(v) for v in (x, y, output)]
        outer = [tuple(s[v] for _, s in around) for v in range(3)]
        steps = []
        for index in np.ndindex(*(length for length, _ in around)):
            arguments = [*moved(places, index, outer), (-1, described.fields.ctypes.data)]
            touched = products.touches(arguments, (m, n, k), (a, b, c), near[0], far[0], size)
            steps.append(NativeStep(symbol, arguments, count * m, cut, cost, touched, most, True))
        return steps

    def blas_product(
        self, found: blas.Blas, x: Value, y: Value, output: Value, alpha: float, adds: bool
    ) -> list[NativeStep] | None:
        """One gemm for each matrix of the stack."""
        assert isinstance(output.type, ArrayType)
        dtype = output.type.dtype
        a, b = orientation(x), orientation(y)
        strides = self.elements(output)
        if strides[-1] != 1 and output.type.shape[-1] > 1:
            return None
        if not found.gemm(dtype) or a is None or b is None or strides[-2] < max(1, output.type.shape[-1]):
            return None
        symbol = f"gemm_{dtype.char}"
        if symbol not in self.code.gemms:
            first = [] if self.code.gemms else [blas.hold_text()]
            self.code.module(0, 0).functions += [*first, blas.gemm_function(symbol, dtype, found)]
            self.code.gemms[symbol] = None
        assert isinstance(x.type, ArrayType)
        m, n, k = output.type.shape[-2], output.type.shape[-1], x.type.shape[-1]
        row_a = a[1] if a[0] == blas.NO_TRANSPOSE else 1
        block = max(16, min(128, -(-m // 64) * 16))
        shape = [a[0], b[0], n, k, a[1], b[1], strides[-2], row_a, strides[-2]]
        numbers = [*shape, products.bits(alpha), products.bits(float(adds)), block]
        cost = 2 * m * n * k / (80 if dtype.char == "f" else 40)
        steps = []
        places = [self.place(v) for v in (x, y, output)]
        stack = [(v.strides or ())[:-2] for v in (x, y, output)]
        operands = [products.Operand(*(v.strides or ())[-2:]) for v in (x, y, output)]
        for index in np.ndindex(*output.type.shape[:-2]):
            arguments = [*moved(places, index, stack), *((-1, number) for number in numbers)]
            touched = products.touches(arguments, (m, n, k), operands, 1, 1, dtype.itemsize)
            steps.append(NativeStep(symbol, arguments, m, block, cost, touched, firm=True))
        return steps

    # ---- code

    def module_texts(self) -> list[tuple[str, int]]:
        """LLVM texts of every function the segments call, with the level at which each is generated."""
        pairs = sorted(self.code.modules.items())
        return [(module.text(), level) for level, pair in pairs for module in pair if module.functions]


def _is_small(output: Value, x: Value) -> bool:
    """Whether a product is so small that calling BLAS costs more than it gains."""
    assert isinstance(output.type, ArrayType)
    assert isinstance(x.type, ArrayType)
    return output.type.shape[-2] * output.type.shape[-1] * x.type.shape[-1] <= 1 << 15


def _part(value: Value, start: Sequence[int], shape: tuple[int, ...]) -> Value:
    """The elements of a value from `start` on."""
    assert isinstance(value.type, ArrayType)
    assert value.strides is not None
    offset = sum(first * stride for first, stride in zip(start, value.strides, strict=True))
    return replace(value, type=array_type(shape, value.type.dtype), offset=value.offset + offset)


def _first_index(node: Node) -> int:
    """The position of the first index array among a node's inputs."""
    return 1 if node.op.name == "gather" else 2


def _seen_as(value: Value, like: Value) -> Value:
    """Dense memory seen in another shape of the same size."""
    assert isinstance(value.type, ArrayType)
    assert isinstance(like.type, ArrayType)
    strides = c_strides(like.type.shape, value.type.dtype.itemsize)
    return replace(value, type=ArrayType(like.type.shape, value.type.dtype), strides=strides)
