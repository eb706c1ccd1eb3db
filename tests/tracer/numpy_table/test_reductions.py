"""Reductions, running results and the other methods of ufuncs."""

import numpy as np
import pytest

import tapeless as tl

ALL = "vector matrix cube zero_d scalar"
PLAIN = "vector matrix"


def accumulate_at(x, y):
    np.add.at(x, [0, 0, 1], 2)
    np.subtract.at(x, [0, 1, 0], y[:3])
    np.negative.at(x, [1])


def add_at_others(x, y):
    np.add.at(x, (slice(None), [0, 0]), y[:, :2])
    np.multiply.at(x, 1, 3)
    np.maximum.at(x, (np.array([0, 1]), np.array([1, 1])), y[0, 0])
    np.add.at(x, x[:, 0] > 99, 1)


PROGRAMS = {
    "sum": (ALL, lambda x: (np.sum(x), x.sum(axis=0 if x.ndim else None), np.sum(x, axis=(), keepdims=True))),
    "sum_axes": ("cube", lambda x: (x.sum((0, 2)), x.sum((-1, 0), keepdims=True), np.prod(x, axis=1))),
    "sum_dtype": (
        PLAIN,
        lambda x: (np.sum(x, dtype="f4"), np.sum(x, axis=0, dtype=complex), x.prod(dtype="f8")),
        "dfl?",
    ),
    "sum_small": (PLAIN, lambda x: (np.sum(x), np.prod(x, axis=0), np.cumsum(x)), "bhHe"),
    "sum_out": ("matrix", lambda x: np.sum(x, axis=0, out=x[0]), "dfl"),
    "sum_initial": (
        PLAIN,
        lambda x: (np.sum(x, initial=5), np.prod(x, axis=0, initial=2), np.min(x, initial=0)),
        "dfl",
    ),
    "sum_where": (
        PLAIN,
        lambda x: (np.sum(x, where=x > 0), np.max(x, where=x > 0, initial=0), np.std(x, where=x < 9)),
        "dfl",
    ),
    "mean_where": (PLAIN, lambda x: (np.mean(x, where=x < 9), np.mean(x, axis=0, where=x > -9)), "dfl"),
    "max": (
        ALL,
        lambda x: (np.max(x), x.min(), np.amax(x, axis=-1 if x.ndim else None, keepdims=True), np.amin(x)),
    ),
    "max_empty": ("empty", lambda x: np.max(x, axis=0)),
    "max_out": ("matrix", lambda x, y: np.maximum.reduce(x, axis=1, out=y[:, 0]), "dfl"),
    "max_initial_traced": ("vector", lambda x, y: np.max(x, initial=y[0]), "dfl"),
    "any": (ALL, lambda x: (np.any(x), x.all(), np.all(x, axis=-1 if x.ndim else None, keepdims=True))),
    "any_where": (PLAIN, lambda x: (np.any(x, where=x > 1), np.all(x, axis=0, where=x > 0)), "dfl"),
    "ptp": (PLAIN, lambda x: (np.ptp(x), np.ptp(x, axis=0, keepdims=True)), "dfl"),
    "count_nonzero": (PLAIN, lambda x: (np.count_nonzero(x), np.count_nonzero(x, axis=0))),
    "axis_beyond": ("matrix", lambda x: x.sum(axis=2)),
    "axis_twice": ("matrix", lambda x: x.sum(axis=(0, 0))),
    "sum_out_shape": ("matrix", lambda x: np.sum(x, axis=0, out=np.zeros(4))),
    "ufunc_reduce": (
        PLAIN,
        lambda x: (
            np.add.reduce(x),
            np.multiply.reduce(x, axis=-1, keepdims=True),
            np.fmax.reduce(x, axis=None),
        ),
        "dfl",
    ),
    "rare_reduce": (
        "vector matrix",
        lambda x: (np.subtract.reduce(x), np.hypot.reduce(x), np.logaddexp.reduce(x, axis=-1)),
        "df",
    ),
    "bits_reduce": (PLAIN, lambda x: (np.bitwise_or.reduce(x), np.bitwise_xor.reduce(x, axis=-1)), "l?"),
    "not_reorderable": ("matrix", lambda x: np.subtract.reduce(x, axis=(0, 1)), "df"),
    "cumsum": (ALL + " empty", lambda x: (np.cumsum(x), x.cumsum(0))),
    "cumsum_axes": ("matrix cube", lambda x: (np.cumsum(x, axis=1), np.cumprod(x, axis=-1), x.T.cumsum(0))),
    "cumsum_dtype": (PLAIN, lambda x: (np.cumsum(x, dtype="f4"), x.cumprod(dtype=complex)), "dfl?"),
    "cumsum_byte_order": (
        PLAIN,
        lambda x: (np.cumsum(x, dtype=">f4"), x.cumprod(dtype=">f8"), np.nancumsum(x, dtype=x.dtype)),
        ">f8 >i4 f8",
    ),
    "trace_byte_order": ("matrix", lambda x: (np.trace(x, dtype=">f4"), x.trace(dtype=x.dtype)), ">f8 f8"),
    "accumulate_byte_order": ("vector", lambda x: np.add.accumulate(x, dtype=">f4"), "df"),
    "cumsum_out": ("vector", lambda x: np.cumsum(x, out=x), "dfl"),
    "cumulative_sum": (
        PLAIN,
        lambda x: (np.cumulative_sum(x, axis=0, include_initial=True), np.cumulative_prod(x, axis=0)),
    ),
    "accumulate": (
        PLAIN,
        lambda x: (np.maximum.accumulate(x, axis=-1), np.subtract.accumulate(x), np.multiply.accumulate(x)),
        "dfl",
    ),
    "reduceat": (
        PLAIN,
        lambda x: (np.add.reduceat(x, [0, 2]), np.maximum.reduceat(x, [1, 0], axis=-1)),
        "dfl",
    ),
    "reduceat_beyond": ("vector", lambda x: np.add.reduceat(x, [0, 9])),
    "outer": (PLAIN, lambda x, y: (np.add.outer(x, y), np.subtract.outer(2, x), np.multiply.outer(x, 2))),
    "outer_scalars": ("zero_d scalar", lambda x, y: (np.add.outer(x, y), np.add.outer(x, [1, 2]))),
    "at": (PLAIN, accumulate_at, "dfl"),
    "at_others": ("matrix", add_at_others, "dfl"),
    "at_casting": ("vector", lambda x: np.add.at(x, [0], 0.5), "l"),
    "diff": (PLAIN, lambda x: (np.diff(x), np.diff(x, 2, axis=0), np.diff(x, prepend=0), np.ediff1d(x))),
    "ediff1d": ("vector", lambda x: np.ediff1d(x, to_begin=x[:2], to_end=x[2:])),
    "trapezoid": (PLAIN, lambda x, y: (np.trapezoid(x), np.trapezoid(x, y), np.trapezoid(x, dx=0.5, axis=0))),
    "divmod": (ALL, lambda x, y: (divmod(x, 2), np.divmod(x, y), np.modf(x), np.frexp(x)), "df"),
    "divmod_out": ("vector", lambda x, y: np.divmod(x, 2, out=(y, None)), "df"),
    "out_ellipsis": ("zero_d vector", lambda x: (np.add(x, 1, out=...), np.sqrt(abs(x), out=...))),
    "reduce_out_ellipsis": (
        "vector matrix",
        lambda x: (
            np.add.reduce(x, out=...),
            np.maximum.reduce(x, axis=None, out=...),
            np.hypot.reduce(x, axis=-1, out=...),
            np.add.reduce(x, axis=None, keepdims=True, out=...),
        ),
        "df",
    ),
    "where_out": ("matrix", lambda x, y: np.add(x, 1, out=y, where=x > 0), "dfl"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_reductions(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)


@pytest.mark.parametrize("function", [np.sum, np.max, np.any, np.mean, np.std, np.ptp, np.median, np.round])
def test_only_ufuncs_take_an_ellipsis_as_out(function):
    def program(x):
        return function(x, out=...)

    for call in (program, tl.compile(program)):
        with pytest.raises(TypeError):
            call(np.ones(3))
