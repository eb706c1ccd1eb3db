"""Derivatives through compositions of NumPy functions, against central differences."""

import numpy as np
import pytest
import scipy.special

import tapeless as tl

WEIGHTS = np.cos(np.arange(400.0)) + 0.3


def weighted(value):
    """One number that depends on every element of every result."""
    if isinstance(value, (tuple, list)):
        return sum(map(weighted, value))
    flat = np.ravel(value)
    if flat.dtype.kind == "c":
        flat = np.concatenate((flat.real, flat.imag))
    return np.sum(flat * WEIGHTS[: flat.size])


def vector(seed):
    return np.random.default_rng(seed).normal(size=6) * 2


def matrix(seed):
    return np.random.default_rng(seed).normal(size=(4, 4)) + 3 * np.eye(4)


def central(function, x, step=1e-6):
    """The gradient by central differences."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient


def write(x):
    y = x * 1.0
    np.put(y, [0, 3], x[:2] * 2)
    np.place(y, y > 1, [x[4], 2.0])
    np.copyto(y, x[::-1], where=y < -1)
    y.sort()
    return y


def with_nan(x):
    y = x * 1.0
    y[1] = np.nan
    return y


OF_VECTORS = {
    "joining": lambda x: (
        np.concatenate([x, 2 * x[:2]]),
        np.stack([x, x**2]),
        np.hstack([x, x]),
        np.append(x, x[0]),
    ),
    "inserting": lambda x: (np.insert(x, 1, x[2]), np.delete(x, [0, 2]), np.resize(x, 9)),
    "repeating": lambda x: (np.tile(x, 2), np.repeat(x, 2), np.repeat(x, [0, 1, 2, 0, 1, 3]), np.roll(x, 2)),
    "padding": lambda x: [
        np.pad(x, 2, mode=m)
        for m in (
            "constant",
            "edge",
            "reflect",
            "symmetric",
            "wrap",
            "linear_ramp",
            "mean",
            "maximum",
            "median",
        )
    ],
    "matrices": lambda x: (np.vander(x[:3], 3), np.diag(x), np.diagflat(x[:2], 1), np.kron(x[:2], x[2:])),
    "sorting": lambda x: (
        np.sort(x),
        np.partition(x, 3)[3],
        np.median(x),
        np.quantile(x, [0.3, 0.9]),
        np.percentile(x, 20),
    ),
    "taking": lambda x: (
        np.take(x, [0, 0, 3]),
        np.take_along_axis(x, np.argsort(-x), 0),
        np.compress([1, 0, 1, 1, 0, 1], x),
    ),
    "choosing": lambda x: (
        np.select([x < 0, x > 1], [x**2, 3 * x], 0.5),
        np.choose([0, 1, 1, 0, 1, 0], [x, x**3]),
        np.piecewise(x, [x < 0], [lambda v: v**2, lambda v: 3 * v]),
    ),
    "clipping": lambda x: (
        np.clip(x, -1.1, 0.7),
        x.clip(max=x[0] * 0.9),
        np.nan_to_num(x),
        np.maximum(x, 0.1),
    ),
    "cumulative": lambda x: (
        np.cumsum(x),
        np.cumprod(x),
        np.maximum.accumulate(x),
    ),
    "differences": lambda x: (
        np.diff(x, 2),
        np.ediff1d(x, to_end=x[0]),
        np.gradient(x),
        np.gradient(x, 0.3, edge_order=2),
        np.trapezoid(x, dx=0.5),
    ),
    "coordinates": lambda x: (
        np.gradient(x**2, np.sort(x)),
        np.trapezoid(x**2, x),
        np.interp(0.2, np.sort(x), x),
        np.interp(x, [-3.0, 0.0, 3.0], x[:3]),
    ),
    "grids": lambda x: (
        np.linspace(x[0], x[1], 5),
        np.linspace(x, 1, 3, axis=-1),
        np.geomspace(np.exp(x[0]), 3, 4),
        np.logspace(x[0], 1, 3),
        np.meshgrid(x[:2], x[2:]),
    ),
    "reductions": lambda x: (
        np.mean(x),
        np.std(x),
        np.var(x, ddof=1),
        np.ptp(x),
        np.prod(x),
        np.sum(x, where=x > 0),
        np.max(x, initial=0.1, where=x < 9),
        np.sum(x, initial=x[0]),
    ),
    "averages": lambda x: (np.average(x, weights=np.exp(x)), np.cov(x, x**2), np.corrcoef(x, np.sin(x))),
    "nans": lambda x: (
        np.nansum(with_nan(x)),
        np.nanmean(with_nan(x)),
        np.nanstd(with_nan(x)),
        np.nanmax(with_nan(x)),
        np.nanmedian(with_nan(x)),
        np.nanquantile(with_nan(x), 0.3),
        np.nancumsum(with_nan(x)),
    ),
    "ufunc_methods": lambda x: (
        np.multiply.outer(x, x),
        np.add.reduceat(x**2, [0, 2, 1]),
        np.logaddexp.reduce(x),
        np.hypot.reduce(x),
    ),
    "products": lambda x: (
        np.convolve(x, x[:3]),
        np.correlate(x, x[1:4], "same"),
        np.cross(x[:3], x[3:]),
        np.vdot(x, x**2),
        np.inner(x, np.exp(x)),
        np.dot(x[::-1], x),
    ),
    "fourier": lambda x: (
        np.fft.fft(x),
        np.fft.rfft(x),
        np.fft.irfft(x + 1j * x**2),
        np.fft.fftshift(x),
        np.fft.hfft(x + 2j * x),
    ),
    "polynomials": lambda x: (
        np.polyval(x, 0.7),
        np.polyder(x),
        np.polyint(x),
        np.poly(x[:3]),
        np.polyadd(x, x[:2]),
    ),
    "fits": lambda x: (np.polyfit(np.arange(6.0), x, 2), np.polyfit(x, x**2 + np.arange(6.0), 1)),
    "special": lambda x: (
        np.sinc(x),
        np.i0(x),
        scipy.special.erf(x),
        scipy.special.expit(x),
        scipy.special.logsumexp(x),
        scipy.special.softmax(x),
        scipy.special.log_softmax(x),
        scipy.special.gammaln(np.exp(x)),
    ),
    "norms": lambda x: [np.linalg.norm(x, o) for o in (None, 1, 2, 3, np.inf, -np.inf)],
    "writing": write,
    "parts": lambda x: (np.unwrap(x * 3), np.angle(x + 2j), np.abs(x + 1j), np.real((x + 1j * x) ** 2)),
    "fill": lambda x: (np.full(3, x[0]), np.full_like(x, x[1]), np.broadcast_arrays(x, x[:1])),
}
OF_MATRICES = {
    "linalg": lambda a: (
        np.linalg.inv(a),
        np.linalg.det(a),
        np.linalg.slogdet(a)[1],
        np.linalg.solve(a, a[:, 0] ** 2),
    ),
    "factors": lambda a: (
        np.linalg.cholesky(a @ a.T),
        np.linalg.qr(a)[1],
        np.linalg.svd(a, compute_uv=False),
        np.linalg.eigvalsh(a @ a.T),
    ),
    "least_squares": lambda a: (
        np.linalg.pinv(a[:, :3]),
        np.linalg.lstsq(a[:, :2], a[:, 3])[0],
        np.linalg.matrix_power(a, 3),
    ),
    "norms": lambda a: [np.linalg.norm(a, o) for o in (None, "fro", "nuc", 1, 2, -2, np.inf)],
    "conditions": lambda a: (
        np.linalg.cond(a),
        np.linalg.cond(a, "fro"),
        np.linalg.multi_dot([a, a.T, a]),
        np.trace(a),
    ),
    "einsum": lambda a: (
        np.einsum("ij,kj->ik", a, a**2),
        np.einsum("ii->i", a),
        np.einsum("ij,jk,kl->il", a, a, a, optimize=True),
        np.tensordot(a, a, ((0, 1), (1, 0))),
    ),
    "vectors": lambda a: (
        np.vecdot(a, a**2),
        np.outer(a[1], a[0]),
        np.outer(a[0], a[1]),
        np.dot(a[None], a),
        np.inner(a, a),
    ),
    "shapes": lambda a: (
        np.tril(a),
        np.triu(a, 1),
        np.block([[a, a[:, :1]], [a[:1], a[:1, :1]]]),
        np.rot90(a),
        np.roll(a, (1, 2), (0, 1)),
    ),
    "along": lambda a: (
        np.apply_along_axis(lambda v: v * v.sum(), 1, a),
        np.apply_over_axes(np.sum, a, [0]),
        np.sort(a, axis=0),
        np.median(a, axis=1),
    ),
    "fourier": lambda a: (np.fft.fft2(a), np.fft.rfftn(a), np.fft.irfft2(a + 1j * a)),
    "statistics": lambda a: (
        np.cov(a),
        np.std(a, axis=0),
        np.mean(a, axis=1, where=a < 9),
        np.average(a, axis=0, weights=np.exp(a[:, 0])),
    ),
}


@pytest.mark.parametrize("name", OF_VECTORS)
def test_gradients_of_vectors(name):
    program = OF_VECTORS[name]
    x = vector(3)
    found = tl.grad(lambda v: weighted(program(v)))(x)
    expected = central(lambda v: weighted(program(v)), x)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 * np.abs(expected).max())


@pytest.mark.parametrize("name", OF_MATRICES)
def test_gradients_of_matrices(name):
    program = OF_MATRICES[name]
    x = matrix(5)
    found = tl.grad(lambda v: weighted(program(v)))(x)
    expected = central(lambda v: weighted(program(v)), x)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 * np.abs(expected).max())
