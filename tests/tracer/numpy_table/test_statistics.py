"""Means, spreads, quantiles, what ignores NaNs, histograms."""

import numpy as np
import pytest

ALL = "vector matrix cube zero_d scalar"
PLAIN = "vector matrix"


def with_nans(x):
    """x with NaNs at some places, a whole row of them among these."""
    y = x * 1.0
    y[..., 1] = np.nan
    y[1] = np.nan
    return y


PROGRAMS = {
    "mean": (ALL + " empty", lambda x: (np.mean(x), x.mean(axis=-1 if x.ndim else None, keepdims=True))),
    "mean_half": (PLAIN, lambda x: (np.mean(x), np.var(x), np.std(x, axis=0)), "e"),
    "mean_dtype": (PLAIN, lambda x: (np.mean(x, dtype="f4"), np.mean(x, axis=0, dtype=complex)), "dfl?"),
    "mean_out": ("matrix", lambda x: np.mean(x, axis=0, out=x[0]), "df"),
    "std": (
        ALL,
        lambda x: (np.std(x), np.var(x, ddof=1), x.std(0 if x.ndim else None), x.var(keepdims=True)),
    ),
    "std_mean": (
        "matrix",
        lambda x: (np.var(x, axis=0, mean=x.mean(0, keepdims=True)), np.std(x, correction=1)),
        "dfl",
    ),
    "std_out": ("matrix", lambda x: np.std(x, axis=0, out=x[0]), "df"),
    "average": (
        PLAIN,
        lambda x, y: (
            np.average(x),
            np.average(x, weights=abs(y)),
            np.average(x, axis=0, weights=abs(y), returned=True),
        ),
    ),
    "average_rows": ("matrix", lambda x, y: np.average(x, axis=0, weights=abs(y[:, 0]) + 1)),
    "average_shapes": ("matrix", lambda x, y: np.average(x, axis=1, weights=y[:, 0])),
    "cov": (PLAIN, lambda x, y: (np.cov(x), np.cov(x, y), np.corrcoef(x, y), np.cov(x, ddof=0)), "dflD"),
    "median": (PLAIN, lambda x: (np.median(x), np.median(x, axis=0), np.median(x, axis=-1, keepdims=True))),
    "median_nan": ("matrix cube", lambda x: (np.median(with_nans(x)), np.median(with_nans(x), axis=0)), "df"),
    "median_empty": ("empty", lambda x: np.median(x, axis=1), "df"),
    "quantile": (
        PLAIN,
        lambda x: (np.quantile(x, 0.3), np.quantile(x, [0.1, 0.5], axis=0), np.percentile(x, 50)),
        "df",
    ),
    "quantile_integers": (PLAIN, lambda x: (np.quantile(x, 0.3), np.percentile(x, [10, 99], axis=0)), "l"),
    "quantile_nan": (
        "matrix",
        lambda x: (np.quantile(with_nans(x), 0.3), np.quantile(with_nans(x), 0.3, axis=0)),
        "df",
    ),
    "quantile_out": ("matrix", lambda x: np.quantile(x, 0.3, axis=0, out=x[0]), "d"),
    "quantile_axes": ("cube", lambda x: np.quantile(x, [[0.2, 0.4]], axis=(0, 2), keepdims=True), "df"),
    "quantile_beyond": ("vector", lambda x: np.quantile(x, 1.5), "d"),
    "quantile_method": ("vector", lambda x: np.quantile(x, 0.5, method="none"), "d"),
    "nansum": (PLAIN, lambda x: (np.nansum(x), np.nanprod(x, axis=0), np.nancumsum(x), np.nancumprod(x, 0))),
    "nansum_nan": (
        "matrix cube",
        lambda x: (np.nansum(with_nans(x)), np.nanprod(with_nans(x), axis=0), np.nancumsum(with_nans(x))),
        "dfD",
    ),
    "nanmean": (ALL, lambda x: (np.nanmean(x), np.nanmean(x, axis=0 if x.ndim else None, keepdims=True))),
    "nanmean_nan": (
        "matrix cube",
        lambda x: (np.nanmean(with_nans(x)), np.nanmean(with_nans(x), axis=0)),
        "dfD",
    ),
    "nanmean_dtype": ("vector", lambda x: np.nanmean(x, dtype=int), "d"),
    "nanvar": (PLAIN, lambda x: (np.nanvar(x), np.nanstd(x, axis=0, ddof=1))),
    "nanvar_nan": (
        "matrix cube",
        lambda x: (np.nanvar(with_nans(x)), np.nanstd(with_nans(x), axis=0, keepdims=True)),
        "dfD",
    ),
    "nanmax": (PLAIN, lambda x: (np.nanmax(x), np.nanmin(x, axis=0, keepdims=True))),
    "nanmax_nan": ("matrix cube", lambda x: (np.nanmax(with_nans(x)), np.nanmin(with_nans(x), axis=0)), "df"),
    "nanargmax": (PLAIN, lambda x: (np.nanargmax(x), np.nanargmin(x, axis=0))),
    "nanargmax_all_nan": ("matrix", lambda x: np.nanargmax(with_nans(x), axis=1), "df"),
    "nanmedian": (PLAIN, lambda x: (np.nanmedian(x), np.nanmedian(x, axis=0))),
    "nanmedian_nan": (
        "matrix cube",
        lambda x: (np.nanmedian(with_nans(x)), np.nanmedian(with_nans(x), axis=-1, keepdims=True)),
        "df",
    ),
    "nanquantile": (PLAIN, lambda x: (np.nanquantile(x, 0.3), np.nanpercentile(x, 50, axis=0)), "df"),
    "nanquantile_nan": (
        "matrix cube",
        lambda x: (np.nanquantile(with_nans(x), 0.3), np.nanquantile(with_nans(x), [0, 0.3, 1], axis=0)),
        "df",
    ),
    "histogram": (
        PLAIN,
        lambda x: (np.histogram(x, bins=5, range=(-3, 3)), np.histogram(x, [-2.0, 0.0, 5.0])),
        "dfl",
    ),
    "histogram_density": ("vector", lambda x, y: np.histogram(x, 4, density=True, weights=abs(y)), "dfl"),
    "histogram_edges": ("vector", lambda x: np.histogram_bin_edges(x, 5), "dfl"),
    "histogram2d": ("vector", lambda x, y: np.histogram2d(x, y, 3), "df"),
    "bincount": (
        "vector",
        lambda x, y: (np.bincount(abs(x), minlength=20), np.bincount(abs(x), abs(y), 20)),
        "l",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_statistics(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)


@pytest.mark.parametrize(
    "method",
    [
        "inverted_cdf", "averaged_inverted_cdf", "closest_observation", "interpolated_inverted_cdf", "hazen",
        "weibull", "linear", "median_unbiased", "normal_unbiased", "lower", "higher", "midpoint", "nearest",
    ],
)  # fmt: skip
def test_quantile_methods(method, everywhere):
    everywhere(lambda x: np.quantile(x, [0.2, 0.55], axis=0, method=method), "vector matrix", "dfl")
