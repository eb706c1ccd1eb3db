"""Rounding, clipping, selecting, comparing, conversions, and what is asked of shapes and dtypes."""

import numpy as np
import pytest

ALL = "vector matrix cube zero_d empty scalar"
PLAIN = "vector matrix"
PROGRAMS = {
    "clip": (
        ALL,
        lambda x: (np.clip(x, 0, 1), x.clip(-1), np.clip(x, None, 1), x.clip(max=1), np.clip(x, min=0)),
        "dfl",
    ),
    "clip_half": (PLAIN, lambda x: (np.clip(x, 0, 0.5), x.clip(max=0.5)), "df"),
    "clip_out": (
        "vector matrix cube zero_d empty",
        lambda x, y: (np.clip(x, y, None), np.clip(x, 0, 1, out=x)),
        "dfl",
    ),
    "clip_nothing": (PLAIN, lambda x: np.clip(x)),
    "clip_one": ("vector", lambda x: np.clip(x, 1)),
    "clip_signs": ("vector", lambda x: np.clip(x * 0 - 0.0, 0.0, 1.0), "df"),
    "clip_small": ("vector", lambda x: np.clip(x, -1000, 1000), "b"),
    "round": (ALL, lambda x: (np.round(x, 1), np.around(x), x.round(2), np.round(x, -1))),
    "round_out": ("matrix", lambda x, y: np.round(x, 1, out=y), "dfD"),
    "round_shape": ("matrix", lambda x: np.round(x, 1, out=x[0]), "dl"),
    "round_builtin": ("scalar", lambda x: round(x, 1), "dfl"),
    "round_array": ("vector", lambda x: round(x, 1)),
    "fix": (ALL, lambda x: (np.fix(x), np.trunc(x), np.rint(x), np.sign(x)), "dfl"),
    "heaviside": (ALL, lambda x, y: np.heaviside(x, 0.5) + np.hypot(x, y) + np.copysign(x, y), "df"),
    "parts": (ALL, lambda x: (np.angle(x), np.angle(x, deg=True), np.real(x), np.imag(x), np.conj(x))),
    "is": (ALL, lambda x: (np.isreal(x), np.iscomplex(x), np.isclose(x, 1), np.isfinite(x))),
    "infinities": (ALL, lambda x: (np.isposinf(x), np.isneginf(x)), "df"),
    "nan_to_num": (ALL, lambda x: (np.nan_to_num(x), np.nan_to_num(x, nan=1.0, posinf=2.0))),
    "isclose": (ALL, lambda x, y: (np.isclose(x, y), np.isclose(x, y, rtol=1, atol=2, equal_nan=True))),
    "allclose": (
        PLAIN,
        lambda x, y: (
            np.allclose(x, y),
            np.array_equal(x, x + 0),
            np.array_equal(x, y[:1]),
            np.array_equiv(x, x[:1]),
        ),
    ),
    "array_equal_nan": (
        "vector",
        lambda x: (
            np.array_equal(x * np.nan, x * np.nan),
            np.array_equal(x * np.nan, x * np.nan, equal_nan=True),
        ),
        "df",
    ),
    "real_if_close": (ALL, lambda x: np.real_if_close(x), "dfl"),
    "unwrap": (PLAIN, lambda x: (np.unwrap(x), np.unwrap(x, axis=0, period=3)), "df"),
    "select": (ALL, lambda x: np.select([x < 0, x > 1], [x, x**2], 5), "dfl"),
    "choose": ("vector", lambda x, y: np.choose([0, 1, 0, 1, 0, 1], [x, y])),
    "choose_traced": (PLAIN, lambda x, y: np.choose(abs(x), [y, 2, y * 2], mode="wrap"), "l"),
    "choose_beyond": ("vector", lambda x: np.choose(x * 0 + 7, [x, x]), "l"),
    "take": (
        PLAIN,
        lambda x: (np.take(x, [0, 2]), x.take([1, 0], axis=0), np.take(x, [7], mode="wrap"), np.take(x, 3)),
    ),
    "take_shapes": (
        PLAIN,
        lambda x: (np.take(x, [[0, 1], [2, 3]], axis=-1), np.take(x, 1, axis=0), x.take([])),
    ),
    "take_traced": ("vector", lambda x: (np.take(x, abs(x) % 6), np.take(x, x % 3, mode="clip")), "l"),
    "take_beyond": ("vector", lambda x: np.take(x, 9)),
    "take_out": ("vector", lambda x: np.take(x, [0, 2], out=x[4:])),
    "compress": (
        PLAIN,
        lambda x: (np.compress([True, False, True], x, axis=0), np.extract(np.arange(x.size) % 2, x)),
    ),
    "like": (
        ALL,
        lambda x: (
            np.zeros_like(x),
            np.ones_like(x),
            np.full_like(x, 2),
            np.full_like(x, x.sum()),
            np.full_like(x, 1, dtype="i4"),
        ),
    ),
    "empty_like": (ALL, lambda x: np.empty_like(x) * 0 == 0),
    "like_shape": (
        PLAIN,
        lambda x: (np.zeros_like(x, shape=(2, 2)), np.ones_like(x, order="F"), np.full_like(x, 1, shape=3)),
    ),
    "copies": (
        ALL,
        lambda x: (np.copy(x), x.copy() if x.ndim else x, np.array(x), np.array(x, copy=None, ndmin=2)),
    ),
    "asarray": (
        ALL,
        lambda x: (np.asarray(x), np.asarray(x, order="F"), np.ascontiguousarray(x), np.asfortranarray(x)),
    ),
    "asarray_dtype": (
        ALL,
        lambda x: (np.asarray(x, dtype=x.dtype), np.array(x, dtype=complex), np.asanyarray(x, dtype="f4")),
        "dfl?",
    ),
    "asarray_list": (
        "scalar vector",
        lambda x, y: (np.asarray([x, y]), np.array([[x], [y]], dtype=complex), np.asarray((x, 2 * y))),
    ),
    "require": (
        "vector matrix",
        lambda x: (np.require(x), np.require(x.T, requirements="F"), np.require(x, "f4", ["C", "W"])),
        "dfl",
    ),
    "require_owned": (
        "vector",
        lambda x: (np.require(x[1:], requirements="O"), np.require(x * 1, None, "O")),
    ),
    "require_both": ("vector", lambda x: np.require(x, requirements="CF")),
    "asarray_copy": ("matrix", lambda x: np.asarray(x, dtype="f2", copy=False), "d"),
    "full": ("scalar zero_d", lambda x: (np.full(3, x), np.full((2, 2), x, dtype="f4")), "dfl"),
    "metadata": (
        PLAIN,
        lambda x: (
            np.ndim(x),
            np.shape(x),
            np.size(x),
            np.isscalar(x),
            np.iscomplexobj(x),
            np.isrealobj(x),
            np.size(x, 0),
        ),
    ),
    "dtypes": (
        ALL,
        lambda x, y: (np.result_type(x, y, 2.0), np.can_cast(x.dtype, "f4"), np.min_scalar_type([1.0, 2.0])),
        "dflD",
    ),
    "common_type": (PLAIN, lambda x, y: np.common_type(x, y)),
    "memory": (
        PLAIN,
        lambda x, y: (np.may_share_memory(x, x[1:]), np.shares_memory(x, y), np.shares_memory(x, x * 1)),
    ),
    "conj": (ALL, lambda x: (x.conj(), x.conjugate(), np.conjugate(x))),
    "byteswap": (PLAIN, lambda x: x.byteswap(), "l?"),
    "to_device": ("vector", lambda x: (x.to_device("cpu"), x.device)),
    "apply_along": (
        PLAIN,
        lambda x: (np.apply_along_axis(lambda v: v * 2 + v.sum(), 0, x), np.apply_over_axes(np.sum, x, [0])),
    ),
    "apply_along_sum": ("matrix cube", lambda x: np.apply_along_axis(np.sum, 1, x)),
    "isin": (PLAIN, lambda x, y: (np.isin(x, y), np.isin(x, [0, 1], invert=True))),
    "positions": (
        "matrix",
        lambda x: (
            np.unravel_index(np.argmax(x), x.shape),
            np.ravel_multi_index((abs(x) % 4, abs(x) % 3), (4, 3)),
        ),
        "l",
    ),
    "bits": (PLAIN, lambda x: (np.packbits(x), np.packbits(x, axis=0), np.unpackbits(x.astype("u1"))), "?"),
    "complex_scalars": (
        "vector",
        lambda x: (x[0] * x[1], abs(x[0]), 2.5 * x[2], sum(v * v for v in x)),
        "DF",
    ),
    "powers": (ALL, lambda x: (x**2, abs(x) ** 0.5, 2**x, 2.5**x, abs(x) ** x), "df"),
    "emath": (PLAIN, lambda x: (np.emath.sqrt(x), np.emath.log(x)), "D"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_elementwise(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)
