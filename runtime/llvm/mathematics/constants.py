"""Numbers that the vector functions share, for float32 and float64.

A constant `x_high`, `x_low` is x as a sum of two; `high` has enough trailing zeros that its products with the
whole numbers that occur are exact.
"""

from __future__ import annotations

from ....compiler.ir.record import record
from ..types import DType
from .builder import Value
from .coefficients import TABLES


@record
class Constants:
    """`mantissa` is the number of stored bits, `magic` 1.5 * 2^mantissa; `…_bits` are integers."""

    mantissa: int
    bias: int
    magic: float
    one_bits: int
    root_half_bits: int
    exponent_bits: int
    scale_bits: int
    sign_place: int
    sign_bit: int
    smallest_normal: float
    epsilon: float
    spacing: float
    half_pi: float
    half_pi_low: float
    exp_low: float
    exp_high: float
    log2_e: float
    log2_e_low: float
    log10_e: float
    log10_e_low: float
    ln2_high: float
    ln2_low: float
    log10_2_high: float
    log10_2_low: float
    erf_near: float
    erf_one: float
    tanh_one: float
    erfc_zero: float
    erfcx_far: float
    ndtr_zero: float


_SINGLE = Constants(
    mantissa=23,
    bias=127,
    magic=float.fromhex("0x1.8p23"),
    one_bits=0x3F800000,
    root_half_bits=0x3F3504F3,
    exponent_bits=0x7F800000,
    scale_bits=0x4B000000,
    sign_place=31,
    sign_bit=-(1 << 31),
    smallest_normal=2.0**-126,
    epsilon=2.0**-24,
    spacing=2.0**-23,
    half_pi=float.fromhex("0x1.921fb6p+0"),
    half_pi_low=float.fromhex("-0x1.777a5cp-25"),
    exp_low=-105.0,
    exp_high=89.0,
    log2_e=float.fromhex("0x1.715476p+0"),
    log2_e_low=float.fromhex("0x1.4ae0cp-26"),
    log10_e=float.fromhex("0x1.bcb7b2p-2"),
    log10_e_low=float.fromhex("-0x1.5b235ep-27"),
    ln2_high=float.fromhex("0x1.62e4p-1"),
    ln2_low=float.fromhex("0x1.7f7d1cp-20"),
    log10_2_high=float.fromhex("0x1.344p-2"),
    log10_2_low=float.fromhex("0x1.3509f8p-18"),
    erf_near=0.921875,
    erf_one=3.9375,
    tanh_one=10.0,
    erfc_zero=10.25,
    erfcx_far=2.0**13,
    ndtr_zero=14.5,
)
_DOUBLE = Constants(
    mantissa=52,
    bias=1023,
    magic=float.fromhex("0x1.8p52"),
    one_bits=0x3FF0000000000000,
    root_half_bits=0x3FE6A09E667F3BCD,
    exponent_bits=0x7FF0000000000000,
    scale_bits=0x4330000000000000,
    sign_place=63,
    sign_bit=-(1 << 63),
    smallest_normal=2.0**-1022,
    epsilon=2.0**-53,
    spacing=2.0**-52,
    half_pi=float.fromhex("0x1.921fb54442d18p+0"),
    half_pi_low=float.fromhex("0x1.1a62633145c07p-54"),
    exp_low=-747.0,
    exp_high=710.0,
    log2_e=float.fromhex("0x1.71547652b82fep+0"),
    log2_e_low=float.fromhex("0x1.777d0ffda0d24p-56"),
    log10_e=float.fromhex("0x1.bcb7b1526e50ep-2"),
    log10_e_low=float.fromhex("0x1.95355baaafad3p-57"),
    ln2_high=float.fromhex("0x1.62e42fefa38p-1"),
    ln2_low=float.fromhex("0x1.ef35793c7673p-45"),
    log10_2_high=float.fromhex("0x1.34413509f78p-2"),
    log10_2_low=float.fromhex("0x1.fef311f12b358p-46"),
    erf_near=1.0,
    erf_one=5.9375,
    tanh_one=20.0,
    erfc_zero=27.5,
    erfcx_far=2.0**27,
    ndtr_zero=38.75,
)


def constants(dtype: DType) -> Constants:
    """The constants of a floating dtype."""
    return _SINGLE if dtype.itemsize == 4 else _DOUBLE


def table(name: str, x: Value) -> tuple[float, ...]:
    """A polynomial's coefficients for the dtype of a value."""
    return TABLES[name, x.dtype.str[1:]]
