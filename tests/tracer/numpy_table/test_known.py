"""What has no fixed shape or dtype is done for known values and refused for traced ones; other refusals."""

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer.errors import DataDependentShapeError, TracedBoolError, UnsupportedError

VALUES = [3.0, 1.0, 0.0, 1.0]
SIZES = {
    "unique": np.unique,
    "unique_all": np.unique_all,
    "unique_counts": np.unique_counts,
    "unique_inverse": np.unique_inverse,
    "unique_values": np.unique_values,
    "union1d": lambda x: np.union1d(x, x),
    "intersect1d": lambda x: np.intersect1d(x, x),
    "setdiff1d": lambda x: np.setdiff1d(x, x),
    "setxor1d": lambda x: np.setxor1d(x, x),
    "trim_zeros": np.trim_zeros,
    "roots": np.roots,
    "polydiv": lambda x: np.polydiv(x, x[:2]),
    "polymul": lambda x: np.polymul(x, x),
    "argwhere": np.argwhere,
    "flatnonzero": np.flatnonzero,
    "compress": lambda x: np.compress(x > 0, x),
    "extract": lambda x: np.extract(x > 0, x),
}
REFUSED = {
    "emath": lambda x: np.emath.sqrt(x),
    "real_if_close": lambda x: np.real_if_close(x + 0j),
    "eig": lambda x: np.linalg.eig(np.diag(x)),
    "bincount": lambda x: np.bincount(x.astype(int)),
    "bins": lambda x: np.histogram(x, "auto"),
    "initial": lambda x: np.add.reduce(x, initial=None),
    "where": lambda x: np.add(x, 1, where=x > 0),
    "dtype": lambda x: np.add(x, 1, dtype=object),
    "min_scalar_type": lambda x: np.min_scalar_type(x[0]),
    "weights": lambda x: np.quantile(x, 0.5, weights=x, method="inverted_cdf"),
    "quantile": lambda x: np.quantile(x, x[0]),
    "qr": lambda x: np.linalg.qr(np.diag(x), mode="raw"),
    "irfft": lambda x: np.fft.irfft(x.astype(np.float32)),
    "at": lambda x: np.add.at(x, x > 0, x),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes_that_depend_on_values(name):
    with pytest.raises(DataDependentShapeError, match="depends on traced values"):
        tl.compile(SIZES[name])(np.array(VALUES))


@pytest.mark.parametrize("name", SIZES)
def test_of_known_values(name, same):
    def program(x):
        known = np.array(VALUES)
        return x * 2, SIZES[name](known)

    same(program, lambda seed: [np.arange(3.0) + seed])


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises((UnsupportedError, TracedBoolError)) as raised:
        tl.compile(REFUSED[name])(np.array(VALUES))
    assert "Instead:" in str(raised.value) or "Choose one:" in str(raised.value)


@pytest.mark.parametrize("name", ["arccos", "arcsin", "arctanh", "log", "log10", "log2", "sqrt"])
def test_emath_of_complex_values(name, everywhere):
    function = {
        "arccos": lambda x: np.emath.arccos(x), "arcsin": lambda x: np.emath.arcsin(x),
        "arctanh": lambda x: np.emath.arctanh(x), "log": lambda x: np.emath.log(x),
        "log10": lambda x: np.emath.log10(x), "log2": lambda x: np.emath.log2(x),
        "sqrt": lambda x: np.emath.sqrt(x),
    }[name]  # fmt: skip
    everywhere(function, "vector matrix", "D")


def test_emath_of_several_complex_values(everywhere):
    everywhere(lambda x, y: np.emath.power(x, y), "vector", "D")
    with pytest.raises(UnsupportedError, match=r"np\.emath\.logn"):
        tl.compile(lambda x: np.emath.logn(x, 2))(np.ones(3))
