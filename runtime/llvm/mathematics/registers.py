"""Instructions of AVX-512, and one of AVX2, that the text can only say for one register at a time.

A value of several registers is taken apart and put together again; one that fills less is padded, so that
scalars and short vectors have the same bits as long ones.
"""

from __future__ import annotations

from collections.abc import Callable

from ..types import DType, literal, scalar_type, value_type
from .builder import Value

REGISTER_BYTES = 64
SHORT_BYTES = 32


def register_type(dtype: DType) -> str:
    """The type of one register of a dtype."""
    return f"<{REGISTER_BYTES // dtype.itemsize} x {scalar_type(dtype)}>"


def register_suffix(dtype: DType) -> str:
    """What the names of instructions end in: `ps.512` or `pd.512`."""
    return f"p{'s' if dtype.itemsize == 4 else 'd'}.512"


def on_registers(
    write: Callable[..., str], dtype: DType, *values: Value, size: int = REGISTER_BYTES
) -> Value:
    """The value of the instructions that `write` gives for one register of each of the values."""
    e, lanes = values[0].emitter, size // dtype.itemsize
    made = [
        e.let(write(*texts), dtype).text for texts in zip(*(_apart(x, lanes) for x in values), strict=True)
    ]
    return Value(e, _together(made, values[0], dtype, lanes), dtype)


def _apart(x: Value, lanes: int) -> list[str]:
    """The value as registers."""
    e, dtype = x.emitter, x.dtype
    if e.lanes == lanes:
        return [x.text]
    if e.lanes == 0:
        one = f"{value_type(dtype, lanes)} poison, {scalar_type(dtype)} {x.text}, i64 0"
        return [e.let(f"insertelement {one}", dtype).text]
    type_ = e.type(dtype)
    starts = range(0, e.lanes, lanes) if e.lanes > lanes else [0]
    picked = [range(start, min(start + lanes, e.lanes)) for start in starts]
    return [
        e.let(f"shufflevector {type_} {x.text}, {type_} poison, {_mask(p, lanes)}", dtype).text
        for p in picked
    ]


def _together(parts: list[str], like: Value, dtype: DType, lanes: int) -> str:
    """Registers as one value with the lanes of another."""
    e, type_ = like.emitter, value_type(dtype, lanes)
    if e.lanes == 0:
        return e.let(f"extractelement {type_} {parts[0]}, i64 0", dtype).text
    if e.lanes < lanes:
        return e.let(f"shufflevector {type_} {parts[0]}, {type_} poison, {_mask(range(e.lanes))}", dtype).text
    while len(parts) > 1:
        type_ = f"<{lanes} x {scalar_type(dtype)}>"
        parts = [
            e.let(f"shufflevector {type_} {a}, {type_} {b}, {_mask(range(2 * lanes))}", dtype).text
            for a, b in zip(parts[::2], parts[1::2], strict=True)
        ]
        lanes *= 2
    return parts[0]


def _mask(picked: range, lanes: int = 0) -> str:
    """A shuffle's mask; lanes behind what is picked hold anything."""
    texts = [*map(str, picked), *["poison"] * (lanes - len(picked))]
    return f"<{len(texts)} x i32> <{', '.join(f'i32 {text}' for text in texts)}>"


def scaled_by_power(p: Value, k: Value) -> Value:
    """p * 2^floor(k), rounded once."""
    type_, lanes = register_type(p.dtype), REGISTER_BYTES // p.dtype.itemsize
    name = f"@llvm.x86.avx512.mask.scalef.{register_suffix(p.dtype)}"
    p.emitter.writer.declare(f"declare {type_} {name}({type_}, {type_}, {type_}, i{lanes}, i32 immarg)")
    rest = f"{type_} zeroinitializer, i{lanes} -1, i32 4"
    return on_registers(lambda a, b: f"call {type_} {name}({type_} {a}, {type_} {b}, {rest})", p.dtype, p, k)


def exponent(x: Value) -> Value:
    """The whole part of log2 |x| as a float, -inf for 0 and inf for infinity."""
    type_, lanes = register_type(x.dtype), REGISTER_BYTES // x.dtype.itemsize
    name = f"@llvm.x86.avx512.mask.getexp.{register_suffix(x.dtype)}"
    x.emitter.writer.declare(f"declare {type_} {name}({type_}, {type_}, i{lanes}, i32 immarg)")
    rest = f"{type_} zeroinitializer, i{lanes} -1, i32 4"
    return on_registers(lambda a: f"call {type_} {name}({type_} {a}, {rest})", x.dtype, x)


# The interval [3/4, 3/2), and NaN for negative numbers (Intel's manual, VGETMANTPD).
_AROUND_ONE, _NO_NEGATIVES = 3, 2 << 2


def mantissa_around_one(x: Value) -> Value:
    """x / 2^k within [3/4, 3/2); NaN where x is negative, ±1 for 0 and infinity."""
    type_, lanes = register_type(x.dtype), REGISTER_BYTES // x.dtype.itemsize
    name = f"@llvm.x86.avx512.mask.getmant.{register_suffix(x.dtype)}"
    x.emitter.writer.declare(f"declare {type_} {name}({type_}, i32 immarg, {type_}, i{lanes}, i32 immarg)")
    rest = f"i32 {_AROUND_ONE | _NO_NEGATIVES}, {type_} zeroinitializer, i{lanes} -1, i32 4"
    return on_registers(lambda a: f"call {type_} {name}({type_} {a}, {rest})", x.dtype, x)


def looked_up_in_eight(symbol: str, row: tuple[float, ...], index: Value, dtype: DType) -> Value:
    """The numbers of a row of eight of float32 at the places that the low bits of an index give."""
    e, type_, whole = index.emitter, value_type(dtype, 8), value_type(index.dtype, 8)
    texts = ", ".join(f"float {literal(number, dtype)}" for number in row)
    e.writer.declare(f"@{symbol} = internal constant {type_} <{texts}>, align {SHORT_BYTES}")
    numbers = e.let(f"load {type_}, ptr @{symbol}, align {SHORT_BYTES}", dtype).text
    name = "@llvm.x86.avx2.permps"
    e.writer.declare(f"declare {type_} {name}({type_}, {whole})")
    return on_registers(
        lambda i: f"call {type_} {name}({type_} {numbers}, {whole} {i})", dtype, index, size=SHORT_BYTES
    )


def looked_up(symbol: str, row: tuple[float, ...], index: Value, dtype: DType) -> Value:
    """The numbers of a row of two registers at the places that the low bits of an index give."""
    e, type_, lanes = index.emitter, register_type(dtype), REGISTER_BYTES // dtype.itemsize
    halves = []
    for half, numbers in (("low", row[:lanes]), ("high", row[lanes:])):
        texts = ", ".join(f"{scalar_type(dtype)} {literal(number, dtype)}" for number in numbers)
        place = f"@{symbol}_{half}"
        e.writer.declare(f"{place} = internal constant {type_} <{texts}>, align {REGISTER_BYTES}")
        halves.append(e.let(f"load {type_}, ptr {place}, align {REGISTER_BYTES}", dtype).text)
    low, high = halves
    name = f"@llvm.x86.avx512.vpermi2var.{register_suffix(dtype)}"
    whole = register_type(index.dtype)
    e.writer.declare(f"declare {type_} {name}({type_}, {whole}, {type_})")
    return on_registers(
        lambda i: f"call {type_} {name}({type_} {low}, {whole} {i}, {type_} {high})", dtype, index
    )
