"""Kernels as LLVM text: explicit vectors, a loop for each vector loop (ends: tails.py), no optimiser needed.

The function is `void name(ptr args, i64 begin, i64 end)`: args holds one pointer per argument, begin and end
bound the last loop of the kernel. Inside a vector loop every value is a vector; values from outside are
splat where they are used. Accumulators live in phi nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...compiler.kernel.form import (
    Accumulate,
    Accumulator,
    Affine,
    Arg,
    Compute,
    Constant,
    Kernel,
    Load,
    Loop,
    Statement,
    Store,
)
from .loops import accumulates_in_vector, holds_vector, is_light, lanes_of
from .operations import compute
from .sums import fold, two_sum, with_error
from .tails import (
    EVERY,
    MASKING,
    Place,
    copy_lanes,
    end_of_whole,
    first_lanes,
    lane_mask,
    load_lanes,
    memory_suffix,
    places_of,
    store_lanes,
)
from .types import STACK, DType, NotPrintable, constant, literal, memory_type, scalar_type, suffix, value_type
from .written import Module, Name, Running

I64 = np.dtype(np.int64)
BOOL = np.dtype(bool)


class _Printer:
    def __init__(self, kernel: Kernel, symbol: str, module: Module, lanes: int, masking: bool) -> None:
        self.kernel = kernel
        self.symbol = symbol
        self.module = module
        self.lanes = lanes
        self.masking = masking
        self.lines: list[str] = []
        self.count = 0
        self.labels = 0
        self.args: dict[str, Arg] = {arg.name: arg for arg in kernel.args}
        self.names: dict[str, Name] = {}
        self.variables: dict[str, str] = {}
        self.vector: str | None = None
        self.mask = ""
        self.places: dict[tuple[str, Affine], str] = {}
        self.stack: list[str] = []
        self.running: dict[str, Running] = {}
        self.block = "entry"

    # ---- writing

    def let(self, instruction: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def label(self, hint: str) -> str:
        self.labels += 1
        return f"{hint}{self.labels}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def declare(self, declaration: str) -> None:
        self.module.declarations[declaration] = None

    def private(self, symbol: str, text: str) -> None:
        self.module.definitions[symbol] = text

    # ---- values

    @property
    def here(self) -> int:
        """Lanes of values made here."""
        return self.lanes if self.vector is not None else 0

    def value(self, name: str) -> str:
        """A value with the lanes of this place."""
        found = self.names[name]
        if found.lanes or not self.here:
            return found.text
        return self.splat(found.text, found.dtype)

    def splat(self, text: str, dtype: DType) -> str:
        if not text.startswith("%"):
            return f"splat ({scalar_type(dtype)} {text})"
        type_ = value_type(dtype, self.lanes)
        first = self.let(f"insertelement {type_} poison, {scalar_type(dtype)} {text}, i64 0")
        return self.let(
            f"shufflevector {type_} {first}, {type_} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def define(self, name: str, text: str, dtype: DType, lanes: int) -> None:
        self.names[name] = Name(text, dtype, lanes)

    # ---- addresses

    def address(self, arg: Arg, at: Affine, extra: str | None = None) -> str:
        """A pointer to the element at an affine place, the vector variable at the loop's first lane."""
        place, pointer = "", f"%{arg.name}"
        for variable, stride in at.strides:
            index = self.variables[variable]
            term = index if stride == 1 else self.let(f"mul nsw i64 {index}, {stride}")
            place = term if not place else self.let(f"add nsw i64 {place}, {term}")
        if extra is not None:
            place = extra if not place else self.let(f"add nsw i64 {place}, {extra}")
        for index in (place, str(at.offset) if at.offset else ""):
            if index:
                pointer = self.let(f"getelementptr {memory_type(arg.dtype)}, ptr {pointer}, i64 {index}")
        return pointer

    def lane_pointers(self, arg: Arg, at: Affine, extra: str | None) -> str:
        """A vector of pointers, one a lane."""
        base = self.address(arg, at)
        wide = f"<{self.lanes} x i64>"
        stride = at.stride(self.vector or "")
        steps = ", ".join(f"i64 {lane * stride}" for lane in range(self.lanes))
        offsets = f"<{steps}>"
        if extra is not None:
            offsets = self.let(f"add nsw {wide} {offsets}, {extra}")
        return self.let(f"getelementptr {memory_type(arg.dtype)}, ptr {base}, {wide} {offsets}")

    def load(self, statement: Load) -> None:
        arg = self.args[statement.arg]
        extra, extra_lanes = None, 0
        if statement.index is not None:
            extra, extra_lanes = self.index(statement)
        element, lanes = memory_type(arg.dtype), self.here
        stride = statement.at.stride(self.vector) if self.vector is not None else 0
        align = 1
        if not lanes or (stride == 0 and not extra_lanes):
            pointer = self.address(arg, statement.at, extra)
            text = self.let(f"load {element}, ptr {pointer}, align {align}")
            self.define(statement.result, self.from_memory(text, arg.dtype, 0), arg.dtype, 0)
            return
        type_ = f"<{lanes} x {element}>"
        if stride == 1 and not extra_lanes:
            text = load_lanes(self, arg.dtype, lanes, *self.lanes_at(arg, statement.at, extra))
        else:
            pointers = self.lane_pointers(arg, statement.at, extra if extra_lanes else None)
            name = f"@llvm.masked.gather.v{lanes}{memory_suffix(arg.dtype)}.v{lanes}p0"
            self.declare(f"declare {type_} {name}(<{lanes} x ptr>, i32, <{lanes} x i1>, {type_})")
            text = self.let(
                f"call {type_} {name}(<{lanes} x ptr> {pointers}, i32 {align}, "
                f"<{lanes} x i1> {self.mask}, {type_} zeroinitializer)"
            )
        self.define(statement.result, self.from_memory(text, arg.dtype, lanes), arg.dtype, lanes)

    def lanes_at(self, arg: Arg, at: Affine, extra: str | None) -> tuple[str, str]:
        """A pointer to contiguous elements, and which of them there are."""
        known = self.places.get((arg.name, at)) if extra is None else None
        return (known, EVERY) if known is not None else (self.address(arg, at, extra), self.mask)

    def load_for_add(self, arg: Arg, statement: Store, extra: str | None) -> str:
        """The element, or the contiguous elements, that a store adds to."""
        if not self.here:
            pointer = self.address(arg, statement.at, extra)
            return self.let(f"load {memory_type(arg.dtype)}, ptr {pointer}, align 1")
        if statement.at.stride(self.vector or "") != 1:
            raise NotPrintable("an addition to elements that are not contiguous")
        return load_lanes(self, arg.dtype, self.lanes, *self.lanes_at(arg, statement.at, extra))

    def index(self, statement: Load | Store) -> tuple[str, int]:
        """The place that an index value adds, as i64 or a vector of them."""
        assert statement.index is not None
        found = self.names[statement.index]
        text, lanes = found.text, found.lanes
        old, new = value_type(found.dtype, lanes), value_type(I64, lanes)
        if found.dtype.itemsize < 8:
            text = self.let(f"{'sext' if found.dtype.kind == 'i' else 'zext'} {old} {text} to {new}")
        return self.let(f"mul nsw {new} {text}, {constant(statement.index_stride, I64, lanes)}"), lanes

    def from_memory(self, text: str, dtype: DType, lanes: int) -> str:
        if dtype.kind != "b":
            return text
        type_ = f"<{lanes} x i8>" if lanes else "i8"
        return self.let(f"icmp ne {type_} {text}, {'zeroinitializer' if lanes else '0'}")

    def store(self, statement: Store) -> None:
        arg, lanes = self.args[statement.arg], self.here
        text = self.value(statement.value)
        if arg.dtype.kind == "b":
            text = self.let(
                f"zext {value_type(BOOL, lanes)} {text} to {f'<{lanes} x i8>' if lanes else 'i8'}"
            )
        element = memory_type(arg.dtype)
        extra = None if statement.index is None else self.index(statement)[0]
        if statement.adds:
            have = self.load_for_add(arg, statement, extra)
            text = compute(self, "add", [have, text], [arg.dtype] * 2, arg.dtype, lanes)
        if not lanes:
            self.line(f"store {element} {text}, ptr {self.address(arg, statement.at, extra)}, align 1")
            return
        if statement.at.stride(self.vector or "") == 1:
            store_lanes(self, arg.dtype, lanes, *self.lanes_at(arg, statement.at, extra), text)
            return
        type_ = f"<{lanes} x {element}>"
        name = f"@llvm.masked.scatter.v{lanes}{memory_suffix(arg.dtype)}.v{lanes}p0"
        self.declare(f"declare void {name}({type_}, <{lanes} x ptr>, i32, <{lanes} x i1>)")
        place = f"<{lanes} x ptr> {self.lane_pointers(arg, statement.at, None)}"
        self.line(f"call void {name}({type_} {text}, {place}, i32 1, <{lanes} x i1> {self.mask})")

    # ---- statements

    def run(self, statements: Sequence[Statement]) -> None:
        for statement in statements:
            if isinstance(statement, Constant):
                self.define(statement.result, literal(statement.value, statement.dtype), statement.dtype, 0)
            elif isinstance(statement, Load):
                self.load(statement)
            elif isinstance(statement, Compute):
                self.compute(statement)
            elif isinstance(statement, Store):
                self.store(statement)
            elif isinstance(statement, Accumulate):
                self.accumulate(statement)
            else:
                self.loop(statement, "0", self.end(statement))

    def compute(self, statement: Compute) -> None:
        found = [self.names[name] for name in statement.operands]
        lanes = self.here if any(f.lanes for f in found) else 0
        operands = [self.value(name) if lanes else self.names[name].text for name in statement.operands]
        dtypes = [f.dtype for f in found]
        text = compute(self, statement.op, operands, dtypes, statement.dtype, lanes)
        self.define(statement.result, text, statement.dtype, lanes)

    def accumulate(self, statement: Accumulate) -> None:
        running = self.running[statement.accumulator]
        accumulator, lanes = running.accumulator, running.lanes
        if statement.factor is not None:
            self.multiply_add(running, statement.value, statement.factor)
            return
        text = self.value(statement.value)
        type_ = value_type(accumulator.dtype, lanes)
        if self.masks(accumulator):
            rest = constant(running.neutral, accumulator.dtype, lanes)
            text = self.let(f"select <{lanes} x i1> {self.mask}, {type_} {text}, {type_} {rest}")
        if accumulator.compensated:
            two_sum(self, running, text)
            return
        running.current = compute(
            self, accumulator.op, [running.current, text], [accumulator.dtype] * 2, accumulator.dtype, lanes
        )

    def multiply_add(self, running: Running, value: str, factor: str) -> None:
        """Add a product, with one rounding where the machine can; lanes past the end keep what they have."""
        dtype, lanes, before = running.accumulator.dtype, running.lanes, running.current
        type_, name = value_type(dtype, lanes), f"@llvm.fmuladd.{suffix(dtype, lanes)}"
        self.declare(f"declare {type_} {name}({type_}, {type_}, {type_})")
        operands = f"{type_} {self.value(value)}, {type_} {self.value(factor)}, {type_} {before}"
        running.current = self.let(f"call {type_} {name}({operands})")
        if self.masks(running.accumulator):
            mask = f"<{lanes} x i1> {self.mask}"
            running.current = self.let(f"select {mask}, {type_} {running.current}, {type_} {before}")

    def masks(self, accumulator: Accumulator) -> bool:
        """Whether a sum over a vector loop has to leave out lanes past the end."""
        inside = self.vector is not None and self.running[accumulator.name].lanes != 0
        return inside and accumulator.name in self._vector_sums and self.mask != EVERY

    _vector_sums: frozenset[str] = frozenset()

    # ---- loops

    def end(self, loop: Loop) -> str:
        """Where a loop ends: at its extent, or at its stop if that comes first."""
        if loop.stop is None:
            return str(loop.extent)
        stop = self.place(loop.stop)
        sooner = self.let(f"icmp slt i64 {stop}, {loop.extent}")
        return self.let(f"select i1 {sooner}, i64 {stop}, i64 {loop.extent}")

    def place(self, at: Affine) -> str:
        """The value of an affine form."""
        total = str(at.offset)
        for variable, stride in at.strides:
            term = self.let(f"mul nsw i64 {self.variables[variable]}, {stride}")
            total = self.let(f"add nsw i64 {total}, {term}")
        return total

    def loop(self, loop: Loop, begin: str, end: str) -> None:
        vector = loop.kind == "vector"
        sums = self._vector_sums
        if not vector and self.vector is None and holds_vector(loop):
            self._vector_sums = sums | {
                a.name for a in loop.accumulators if accumulates_in_vector(loop, a.name)
            }
        elif vector:
            self._vector_sums = sums | {a.name for a in loop.accumulators}
        for accumulator in loop.accumulators:
            inside = self.vector is not None or accumulator.name in self._vector_sums
            running = Running(accumulator, self.lanes if inside else 0)
            running.current = constant(accumulator.init, accumulator.dtype, running.lanes)
            running.error = constant(0, accumulator.dtype, running.lanes)
            self.running[accumulator.name] = running
            self.names.pop(accumulator.name, None)
        whole = self.whole(loop, begin, end)
        if whole is None and vector and is_light(loop):
            middle = end_of_whole(self, begin, end, self.lanes)
            self.counted(loop, begin, middle, EVERY)
            self.counted(loop, middle, end)
        elif whole is None:
            self.counted(loop, begin, end)
        elif whole:
            self.counted(loop, begin, str(whole), EVERY)
        if whole is not None and whole < loop.extent:
            self.rest(loop, whole)
        for accumulator in loop.accumulators:
            self.finish(self.running.pop(accumulator.name))
        self._vector_sums = sums

    def whole(self, loop: Loop, begin: str, end: str) -> int | None:
        """How many iterations of a vector loop fill all lanes; the rest is written out behind the loop.

        None where the end is not known, or much would be written twice.
        """
        if loop.kind != "vector" or (begin, end) != ("0", str(loop.extent)):
            return None
        whole = loop.extent // self.lanes * self.lanes
        return whole if whole in (0, loop.extent) or is_light(loop) else None

    def rest(self, loop: Loop, first: int) -> None:
        """The iterations from one on that do not fill all lanes."""
        self.vector, self.variables[loop.variable] = loop.variable, str(first)
        self.mask = first_lanes(loop.extent - first, self.lanes)
        self.run(loop.body)
        self.vector, self.mask = None, ""

    def counted(self, loop: Loop, begin: str, end: str, mask: str | None = None) -> None:
        """The instructions of a loop; a vector loop has lanes past the end unless a mask is given."""
        vector = loop.kind == "vector"
        head, body, done = self.label("head"), self.label("body"), self.label("done")
        before = self.block
        self.line(f"br label %{head}")
        self.start(head)
        index = f"%i{self.labels}"
        following = f"%n{self.labels}"
        place = len(self.lines)
        carried = [r for r in self.running.values() if r.accumulator.name not in self.names]
        entering = [(r, r.current, r.error) for r in carried]
        phis = []
        for running in carried:
            self.count += 1
            phis.append((f"%c{self.count}", f"%e{self.count}"))
            running.current, running.error = phis[-1]
        more = self.let(f"icmp slt i64 {index}, {end}")
        self.line(f"br i1 {more}, label %{body}, label %{done}")
        self.start(body)
        self.variables[loop.variable] = index
        outer_vector, outer_mask = self.vector, self.mask
        if vector:
            self.vector = loop.variable
            self.mask = mask or lane_mask(self, index, end, self.lanes)
        places = places_of(loop) if vector and mask is None else ()
        if places and not is_light(loop):
            self.with_tail(loop, places, index, end)
        else:
            self.run(loop.body)
        latch = self.block
        self.line(f"{following} = add nsw i64 {index}, {self.lanes if vector else 1}")
        self.line(f"br label %{head}")
        self.vector, self.mask = outer_vector, outer_mask
        lines = [f"  {index} = phi i64 [ {begin}, %{before} ], [ {following}, %{latch} ]"]
        for running, (_, first, error), names in zip(carried, entering, phis, strict=True):
            lines += running.phis(names, (first, error), before, latch)
        self.lines[place:place] = lines
        for running, (total, error) in zip(carried, phis, strict=True):
            running.current, running.error = total, error
        self.start(done)

    def with_tail(self, loop: Loop, places: Sequence[Place], index: str, end: str) -> None:
        """The body of a vector loop, its places on the stack while lanes lie past the end."""
        dtypes = [self.args[place.arg].dtype for place in places]
        memory = [self.address(self.args[place.arg], place.at) for place in places]
        stack = [f"%t{len(self.stack) + number}" for number in range(len(places))]
        for name, dtype in zip(stack, dtypes, strict=True):
            self.stack.append(f"  {name} = alloca [{self.lanes} x {memory_type(dtype)}], align 64")
        around = list(zip(places, dtypes, memory, stack, strict=True))
        prepare, body, restore, done = map(self.label, ("prepare", "whole", "restore", "next"))
        following = self.let(f"add nsw i64 {index}, {self.lanes}")
        full = self.let(f"icmp sle i64 {following}, {end}")
        self.line(f"br i1 {full}, label %{body}, label %{prepare}")
        self.start(prepare)
        mask = lane_mask(self, index, end, self.lanes)
        copy_lanes(self, self.lanes, [(d, m, s) for p, d, m, s in around if p.reads], mask, EVERY)
        self.line(f"br label %{body}")
        self.start(body)
        for place, _, first, second in around:
            self.places[place.arg, place.at] = self.let(f"select i1 {full}, ptr {first}, ptr {second}")
        self.mask = lane_mask(self, index, end, self.lanes)
        self.run(loop.body)
        self.places.clear()
        self.line(f"br i1 {full}, label %{done}, label %{restore}")
        self.start(restore)
        mask = lane_mask(self, index, end, self.lanes)
        copy_lanes(self, self.lanes, [(d, s, m) for p, d, m, s in around if p.writes], EVERY, mask)
        self.line(f"br label %{done}")
        self.start(done)

    def finish(self, running: Running) -> None:
        """The value of an accumulator after its loops: lanes are folded if the vector loop was inside."""
        accumulator, lanes = running.accumulator, running.lanes
        dtype, text = accumulator.dtype, running.current
        if lanes and accumulator.name in self._vector_sums and self.vector is None:
            op = "add" if accumulator.op == "multiply_add" else accumulator.op
            text = fold(self, op, text, dtype, lanes)
            if accumulator.compensated:
                text = with_error(self, text, fold(self, op, running.error, dtype, lanes), dtype, 0)
            lanes = 0
        elif accumulator.compensated:
            text = with_error(self, text, running.error, dtype, lanes)
        self.define(accumulator.name, text, dtype, lanes)

    # ---- the whole function

    def function(self) -> str:
        for number, arg in enumerate(self.kernel.args):
            if arg.role == "scratch":
                room = arg.high + self.lanes
                self.line(f"%{arg.name} = alloca [{room} x {memory_type(arg.dtype)}], align 64")
                continue
            slot = self.let(f"getelementptr ptr, ptr %args, i64 {number}")
            self.line(f"%{arg.name} = load ptr, ptr {slot}, align 8")
        *first, last = self.kernel.body
        self.run(first)
        if isinstance(last, Loop):
            self.loop(last, "%begin", "%end")
        else:
            self.run([last])
        self.line("ret void")
        given = "ptr noalias readonly %args, i64 %begin, i64 %end"
        head = f"define void @{self.symbol}({given}) {STACK} {{\nentry:"
        return "\n".join([head, *self.stack, *self.lines, "}"])


def print_kernel(kernel: Kernel, symbol: str, module: Module, vector_bytes: int = 64) -> None:
    """Add a kernel's function to a module, for registers of `vector_bytes`.

    Raises NotPrintable for dtypes and ops without code.
    """
    lanes, masking = lanes_of(kernel, vector_bytes), vector_bytes >= MASKING
    module.functions.append(_Printer(kernel, symbol, module, lanes, masking).function())
