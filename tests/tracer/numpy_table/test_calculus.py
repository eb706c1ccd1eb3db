"""Grids, interpolation, differences, polynomials, piecewise and special functions."""

import numpy as np
import pytest
import scipy.special

ALL = "vector matrix cube zero_d empty scalar"
PLAIN = "vector matrix"
PROGRAMS = {
    "linspace": (
        "vector",
        lambda x: (
            np.linspace(x[0], x[1], 4),
            np.linspace(0, x, 3),
            np.linspace(x, 1, 5, endpoint=False, axis=-1),
        ),
    ),
    "linspace_rest": (
        "vector scalar",
        lambda x: (
            np.linspace(x, 2, 3, retstep=True),
            np.linspace(x, x, 3),
            np.linspace(x, 1, 1),
            np.linspace(x, 2, 0),
        ),
        "dfl",
    ),
    "linspace_integers": ("scalar", lambda x: np.linspace(x, 9, 4, dtype=int), "dl"),
    "linspace_negative": ("scalar", lambda x: np.linspace(x, 9, -1), "d"),
    "geomspace": (
        "vector",
        lambda x: (
            np.geomspace(abs(x[0]) + 1, 9, 4),
            np.geomspace(-1, -abs(x) - 1, 3),
            np.logspace(x[0], 3, 4),
        ),
        "df",
    ),
    "interp": (
        "vector",
        lambda x, y: (np.interp(x, np.arange(6.0), y), np.interp(x[0], [-1.0, 0, 2], y[:3])),
        "dfl",
    ),
    "interp_sides": (
        "vector",
        lambda x, y: (
            np.interp(x, [-1.0, 0, 2], y[:3], left=-5, right=y[0]),
            np.interp(x, [0, 1, 2.0], y[:3], period=3),
        ),
        "dfl",
    ),
    "interp_complex": ("vector", lambda x, y: np.interp(x.real, [0, 1.0, 2], y[:3], right=2), "D"),
    "interp_lengths": ("vector", lambda x, y: np.interp(x, y, y[1:]), "dD"),
    "gradient": (PLAIN, lambda x: (np.gradient(x), np.gradient(x, 0.5, axis=0, edge_order=2)), "dflD"),
    "gradient_coordinates": (
        "vector",
        lambda x, y: (np.gradient(x, y), np.gradient(x, y, edge_order=2), np.gradient(x, np.arange(6.0))),
        "dflD",
    ),
    "gradient_axes": ("matrix", lambda x, y: np.gradient(x, y[:, 0], 2.0), "df"),
    "gradient_lengths": ("vector", lambda x, y: np.gradient(x, y[1:]), "d"),
    "gradient_short": ("vector", lambda x: np.gradient(x[:2], edge_order=2), "d"),
    "piecewise": (ALL, lambda x: np.piecewise(x, [x < 0, x >= 0], [-1, lambda v: v * 2]), "dfl"),
    "piecewise_rest": (PLAIN, lambda x: np.piecewise(x, [x < 0], [np.abs, 7]), "dfl"),
    "piecewise_count": ("vector", lambda x: np.piecewise(x, [x < 0], [1, 2, 3]), "d"),
    "polynomials": (
        "vector",
        lambda x, y: (
            np.polyadd(x, y[:3]),
            np.polysub(x, y),
            np.polyder(x),
            np.polyint(x, 2),
            np.polyval(x, y[:2]),
        ),
        "dfl",
    ),
    "poly": ("vector", lambda x: np.poly(x), "dfl"),
    "polyfit": (
        "vector",
        lambda x, y: (np.polyfit(x, y, 2), np.polyfit(np.arange(6), y, 1, w=abs(x) + 1)),
        "dfl",
    ),
    "bessel": (ALL, lambda x: np.i0(x), "dfl"),
    "sinc": (ALL, lambda x: np.sinc(x)),
    "scipy": (
        ALL,
        lambda x, y: (
            scipy.special.erf(x),
            scipy.special.expit(x),
            scipy.special.xlogy(abs(x), abs(y)),
            scipy.special.gammaln(abs(x) + 1),
        ),
        "dfl?",
    ),
    "scipy_more": (
        ALL,
        lambda x: (
            scipy.special.erfc(x),
            scipy.special.i0(x),
            scipy.special.digamma(abs(x) + 1),
            scipy.special.entr(x),
        ),
        "dfl?",
    ),
    "logsumexp": (
        PLAIN,
        lambda x, y: (
            scipy.special.logsumexp(x),
            scipy.special.logsumexp(x, axis=0, b=abs(y)),
            scipy.special.logsumexp(x, axis=-1, keepdims=True),
        ),
        "df",
    ),
    "softmax": (PLAIN, lambda x: (scipy.special.softmax(x), scipy.special.log_softmax(x, axis=0)), "df"),
    "softmax_scalar": (
        "zero_d scalar",
        lambda x: (scipy.special.softmax(x), scipy.special.log_softmax(x), scipy.special.logsumexp(x)),
        "df",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_calculus(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)
