"""The steps of bytecode, run without values: which names a value comes from, and what happens to it.

One pass over one code object, with a stack of what is known of each value (`Value`). Versions of Python spell
their instructions differently; one that has no meaning here takes and gives as many values as `dis` says.
"""

from __future__ import annotations

import builtins
import dis
import sys
from collections.abc import Callable
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ..compiler.ir.record import record
from .stand_in import original
from .user_code import is_stage

if TYPE_CHECKING:
    from .looks import Looks

Key = Any
Origins = frozenset[tuple[Key, int]]
_NONE: Origins = frozenset()
DEEPEST = 4

_KNOWN_WITHOUT_LOOKING = frozenset(
    ("shape", "dtype", "ndim", "size", "strides", "nbytes", "itemsize", "flags", "base")
)
_VIEWS = frozenset(
    ("T", "mT", "real", "imag", "reshape", "ravel", "transpose", "swapaxes", "squeeze", "view", "diagonal")
)
_CALLED_WITHOUT_LOOKING = (
    len,
    isinstance,
    id,
    type,
    range,
    enumerate,
    zip,
    reversed,
    callable,
    hasattr,
    super,
)
_TRUTH = ("POP_JUMP_", "JUMP_IF_", "TO_BOOL", "UNARY_NOT", "FORMAT_", "CONVERT_VALUE")
_ENDS = ("JUMP_FORWARD", "JUMP_BACKWARD", "RETURN_", "RAISE_", "RERAISE")
_LEAVES_NOTHING = (
    "STORE_",
    "POP_",
    "DELETE_",
    "RETURN_",
    "RAISE_",
    "RERAISE",
    "LIST_",
    "SET_",
    "MAP_ADD",
    "DICT_",
    "YIELD",
)
_NEUTRAL = frozenset(
    ("RESUME", "NOP", "EXTENDED_ARG", "CACHE", "PRECALL", "MAKE_CELL", "COPY_FREE_VARS", "NOT_TAKEN")
)


@record
class Value:
    """What is known of a value: where it was found, what it is, and what an index made of it takes away."""

    origins: Origins = _NONE
    tested: Origins = _NONE
    real: Any = None
    text: str | None = None
    constant: bool = False
    scalars: int = 1
    codes: tuple[CodeType, ...] = ()
    view: bool = False
    place: int = 0
    empty: bool = False


_UNKNOWN = Value()
_NULL = Value(empty=True)
_instructions: dict[CodeType, list[dis.Instruction]] = {}


def _decoded(code: CodeType) -> list[dis.Instruction]:
    found = _instructions.get(code)
    if found is None:
        if len(_instructions) > 2_000:
            _instructions.clear()
        found = _instructions[code] = [i for i in dis.get_instructions(code) if i.opname not in _NEUTRAL]
    return found


def local_key(code: CodeType, name: str) -> Key:
    """The key of a variable: cells are shared by functions, locals are a function's own."""
    return name if name in code.co_cellvars or name in code.co_freevars else (code, name)


class Body:
    """One pass over the instructions of one code object."""

    def __init__(
        self, looks: Looks, code: CodeType, namespace: dict[str, Any], cells: dict[str, Any]
    ) -> None:
        self.looks = looks
        self.code = code
        self.namespace = namespace
        self.cells = cells
        self.stack: list[Value] = []
        self.keywords: tuple[str, ...] = ()
        self.place = 0
        self.notes: list[tuple[Callable[[Origins], None], int, Origins]] = []
        self.declared: list[tuple[int, int]] = []

    def run(self) -> None:
        """Follow the instructions in their order; where ways meet, both count."""
        waiting: dict[int, list[Value]] = {}
        ended = False
        for step in _decoded(self.code):
            arriving = waiting.pop(step.offset, None)
            if ended:
                self.stack = arriving or []
            elif arriving is not None and len(arriving) == len(self.stack):
                self.stack = [_either(a, b) for a, b in zip(arriving, self.stack, strict=True)]
            before, self.place = list(self.stack), step.offset
            self._step(step)
            ended = step.opname.startswith(_ENDS)
            jumps = step.opcode in dis.hasjrel or step.opcode in dis.hasjabs
            if jumps and step.argval > step.offset:
                waiting.setdefault(step.argval, self._after_jump(step, before))
        for note, place, origins in self.notes:
            if not any(start < place < end for start, end in self.declared):
                note(origins)

    def _look(self, origins: Origins) -> None:
        self.notes.append((self.looks.look, self.place, origins))

    def _take(self, origins: Origins) -> None:
        self.notes.append((self.looks.take, self.place, origins))

    def _after_jump(self, step: dis.Instruction, stack: list[Value]) -> list[Value]:
        net = dis.stack_effect(step.opcode, step.arg, jump=True)
        return stack[: max(0, len(stack) + net)] if net <= 0 else [*stack, *[_UNKNOWN] * net]

    def _pop(self, count: int = 1) -> list[Value]:
        missing = [_UNKNOWN] * (count - len(self.stack))
        found = [*missing, *(self.stack[-count:] if count else ())]
        del self.stack[len(self.stack) - min(count, len(self.stack)) :]
        return found

    def _step(self, step: dis.Instruction) -> None:
        name, push = step.opname, self.stack.append
        own = getattr(self, f"_{name.lower()}", None)
        if own is not None:
            own(step)
        elif name.startswith("LOAD_FAST"):
            self.stack += [self._local(n) for n in _names(step)]
        elif name.startswith("STORE_FAST"):
            self._store(step)
        elif name.startswith("LOAD_CONST") or name == "LOAD_SMALL_INT":
            push(_constant(step.argval))
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            push(self._found(step.argval, self.cells.get(step.argval)))
        elif name.startswith(_TRUTH):
            (tested,) = self._pop()
            if not name.endswith("NONE"):
                self._look(tested.origins | tested.tested)
            if not name.startswith("POP_"):
                push(tested)
        else:
            self._any(step)

    def _any(self, step: dis.Instruction) -> None:
        """An instruction that has no meaning here: what it takes, and one value that it may give."""
        net = dis.stack_effect(step.opcode, step.arg, jump=False)
        given = 0 if step.opname.startswith(_LEAVES_NOTHING) else 1
        if step.opname.startswith(("LIST_", "SET_UPDATE", "DICT_", "CONTAINS_OP", "CALL_INTRINSIC")):
            for value in self.stack[-1:]:
                self._look(value.origins)
        self._pop(max(0, given - net))
        self.stack += [_UNKNOWN] * given

    # ---- names

    def _local(self, name: str) -> Value:
        return Value(self.looks.named(local_key(self.code, name)))

    def _found(self, name: str, real: Any) -> Value:
        real = original(real)
        real = getattr(real, "function", real) if is_stage(type(real).__module__) else real
        codes = (real.__code__,) if type(real) is FunctionType else ()
        return Value(self.looks.named(name), real=real, codes=codes, place=self.place)

    def _store(self, step: dis.Instruction) -> None:
        names = list(_names(step))
        loaded = names.pop() if "LOAD" in step.opname else None
        for name in names:
            (value,) = self._pop()
            self.looks.alias(local_key(self.code, name), value.origins)
        if loaded is not None:
            self.stack.append(self._local(loaded))

    def _store_deref(self, step: dis.Instruction) -> None:
        self.looks.alias(step.argval, self._pop()[0].origins)

    _store_global = _store_name = _store_deref

    def _store_attr(self, step: dis.Instruction) -> None:
        self.looks.alias(step.argval, self._pop(2)[0].origins)

    def _load_global(self, step: dis.Instruction) -> None:
        name = step.argval
        found = self._found(name, self.namespace.get(name, getattr(builtins, name, None)))
        self.stack += [_NULL, found] if step.arg and step.arg & 1 else [found]

    def _load_name(self, step: dis.Instruction) -> None:
        self.stack.append(self._found(step.argval, self.namespace.get(step.argval)))

    def _push_null(self, step: dis.Instruction) -> None:
        self.stack.append(_NULL)

    def _load_attr(self, step: dis.Instruction) -> None:
        if step.opname == "LOAD_METHOD" or (
            step.opname == "LOAD_ATTR" and _has_methods and step.arg and step.arg & 1
        ):
            self._attribute(step.argval, True)
        else:
            self._attribute(step.argval, False)

    _load_method = _load_attr

    def _attribute(self, name: str, method: bool) -> None:
        (owner,) = self._pop()
        if type(owner.real) is ModuleType:
            found = self._found(name, vars(owner.real).get(name))
            self.stack += [_NULL, found] if method else [found]
            return
        if name in _VIEWS:
            found = Value(owner.origins, view=True)
        elif name in _KNOWN_WITHOUT_LOOKING:
            found = _UNKNOWN
        else:
            self._look(owner.origins)
            codes = self.looks.called(name)
            found = Value(self.looks.named(name) | self.looks.returned(codes), codes=codes)
        self.stack += [found, owner] if method else [found]

    # ---- parts of values

    def _binary_subscr(self, step: dis.Instruction) -> None:
        container, index = self._pop(2)
        self._take(index.origins)
        if index.text is not None:
            self.stack.append(Value(self.looks.named(index.text)))
            return
        found = _deeper(container.origins, index.scalars)
        if index.scalars:
            self._take(found)
        self.stack.append(Value(found))

    def _binary_slice(self, step: dis.Instruction) -> None:
        container, *ends = self._pop(3)
        for end in ends:
            self._take(end.origins)
        self.stack.append(Value(container.origins))

    def _build_slice(self, step: dis.Instruction) -> None:
        for end in self._pop(step.arg or 2):
            self._take(end.origins)
        self.stack.append(Value(scalars=0))

    def _build_tuple(self, step: dis.Instruction) -> None:
        items = self._pop(step.arg or 0)
        inside = _NONE.union(*(_deeper(item.origins, -1) for item in items))
        self.stack.append(Value(inside, scalars=sum(item.scalars for item in items)))

    _build_list = _build_tuple

    def _unpack_sequence(self, step: dis.Instruction) -> None:
        items = _deeper(self._pop()[0].origins, 1)
        self._take(items)
        self.stack += [Value(items)] * (step.arg or 0)

    def _get_iter(self, step: dis.Instruction) -> None:
        pass

    def _for_iter(self, step: dis.Instruction) -> None:
        items = _deeper(self.stack[-1].origins, 1) if self.stack else _NONE
        self._take(items)
        self.stack.append(Value(items))

    def _copy(self, step: dis.Instruction) -> None:
        depth = step.arg or 1
        self.stack.append(self.stack[-depth] if depth <= len(self.stack) else _UNKNOWN)

    def _swap(self, step: dis.Instruction) -> None:
        depth = step.arg or 1
        if depth <= len(self.stack):
            self.stack[-1], self.stack[-depth] = self.stack[-depth], self.stack[-1]

    # ---- operators and calls

    def _binary_op(self, step: dis.Instruction) -> None:
        if "[" in step.argrepr:
            self._binary_subscr(step)
            return
        one, other = self._pop(2)
        both = one.origins | other.origins
        # What is made with a constant is concrete as well; with anything else it is a traced value, mostly.
        concrete = both if one.constant or other.constant else _NONE
        self.stack.append(
            Value(concrete, both | one.tested | other.tested, constant=one.constant and other.constant)
        )

    _compare_op = _binary_op

    def _is_op(self, step: dis.Instruction) -> None:
        self._pop(2)
        self.stack.append(_UNKNOWN)

    def _unary_negative(self, step: dis.Instruction) -> None:
        pass

    _unary_invert = _unary_negative

    def _make_function(self, step: dis.Instruction) -> None:
        parts = self._pop(1 - dis.stack_effect(step.opcode, step.arg))
        code = parts[-1].real
        self.stack.append(Value(codes=(code,) if isinstance(code, CodeType) else ()))

    def _kw_names(self, step: dis.Instruction) -> None:
        names = step.argval
        self.keywords = names if type(names) is tuple else self.code.co_consts[step.arg or 0]

    def _call_kw(self, step: dis.Instruction) -> None:
        self.keywords = self._pop()[0].real or ()
        self._call(step)

    def _call(self, step: dis.Instruction) -> None:
        keywords, self.keywords = self.keywords, ()
        first, second, *given = self._pop((step.arg or 0) + 2)
        callee, bound = (second, []) if first.empty else (first, [] if second.empty else [second])
        named = given[len(given) - len(keywords) :]
        self.stack.append(
            self._result(
                callee, bound, given[: len(given) - len(named)], dict(zip(keywords, named, strict=True))
            )
        )

    def _result(
        self, callee: Value, bound: list[Value], given: list[Value], named: dict[str, Value]
    ) -> Value:
        if callee.view:
            return Value(callee.origins)
        if _declares(callee.real):
            self.declared.append((callee.place, self.place))
        everything = [*given, *named.values()]
        if callee.real is not None and not callee.codes:
            if callee.real in (enumerate, zip, reversed, iter):
                inside = _NONE.union(*(value.origins for value in everything))
                return Value(inside if callee.real in (reversed, iter) else _deeper(inside, -1))
            if _looks(callee.real):
                for value in everything:
                    self._look(value.origins)
            return Value(codes=tuple(code for value in everything for code in value.codes))
        codes = callee.codes or self.looks.called("__call__")
        positional = [*bound, *given] if callee.codes else [_UNKNOWN, *given]
        for code in codes:
            for name, value in (*zip(code.co_varnames, positional, strict=False), *named.items()):
                self.looks.alias(local_key(code, name), value.origins)
        passed = tuple(code for value in everything for code in value.codes)
        return Value(self.looks.returned(codes), codes=passed)

    def _return_value(self, step: dis.Instruction) -> None:
        self.looks.returns(self.code, self._pop()[0].origins)


_has_methods = sys.version_info >= (3, 12)


def _declares(real: Any) -> bool:
    """Whether a function is tl.constant: what is looked at for it is meant to be looked at once."""
    return type(real) is FunctionType and real.__name__ == "constant" and is_stage(real.__module__)


def _looks(real: Any) -> bool:
    """Whether a function that is not the user's looks at the arrays it is given: not NumPy's, not our own."""
    if real in _CALLED_WITHOUT_LOOKING:
        return False
    module = str(getattr(real, "__module__", None) or getattr(type(real), "__module__", ""))
    kinds = (type, type(len), type(str.join), type("".join))
    return isinstance(real, kinds) and module.partition(".")[0] != "numpy" and not is_stage(module)


def _names(step: dis.Instruction) -> tuple[str, ...]:
    return step.argval if type(step.argval) is tuple else (step.argval,)


def _constant(value: Any) -> Value:
    parts = value if type(value) is tuple else (value,)
    scalars = sum(type(part) is not slice and part is not None and part is not ... for part in parts)
    return Value(real=value, text=value if type(value) is str else None, constant=True, scalars=scalars)


def _deeper(origins: Origins, by: int) -> Origins:
    return frozenset((key, depth + by) for key, depth in origins if abs(depth + by) <= DEEPEST)


def _either(one: Value, other: Value) -> Value:
    if one is other:
        return one
    return Value(one.origins | other.origins, one.tested | other.tested, codes=(*one.codes, *other.codes))
