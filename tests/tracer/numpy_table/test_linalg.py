"""np.linalg and np.fft."""

import numpy as np
import pytest

PLAIN = "vector matrix"


def square(x):
    """A well-conditioned square matrix, or a stack of them."""
    return x[..., :4, :4] + 9 * np.eye(min(x.shape[-2], 4), min(x.shape[-1], 4))


def cube(x):
    return x[..., :3, :3] + 9 * np.eye(3)


PROGRAMS = {
    "inv": (
        "matrix",
        lambda x: (np.linalg.inv(square(x)), np.linalg.det(square(x)), np.linalg.slogdet(square(x))),
    ),
    "stacks": (
        "cube",
        lambda x: (np.linalg.inv(cube(x)), np.linalg.det(cube(x)), np.linalg.qr(x), np.linalg.svd(x)),
    ),
    "solve": ("matrix", lambda x, y: (np.linalg.solve(square(x), y), np.linalg.solve(square(x), y[:, 0]))),
    "solve_stack": ("cube", lambda x, y: np.linalg.solve(cube(x), np.eye(3)[:, :2])),
    "solve_shapes": ("matrix", lambda x, y: np.linalg.solve(square(x), y[:3])),
    "inv_oblong": ("matrix", lambda x: np.linalg.inv(x)),
    "inv_singular": ("matrix", lambda x: np.linalg.inv(x[:, :4] * 0)),
    "cholesky": (
        "matrix",
        lambda x: (
            np.linalg.cholesky(x @ x.T.conj() + 9 * np.eye(4)),
            np.linalg.cholesky(x @ x.T.conj() + 9 * np.eye(4), upper=True),
        ),
    ),
    "cholesky_indefinite": ("matrix", lambda x: np.linalg.cholesky(-(x @ x.T.conj()) - np.eye(4))),
    "qr": (
        "matrix",
        lambda x: (np.linalg.qr(x), np.linalg.qr(x.T, mode="complete"), np.linalg.qr(x, mode="r")),
    ),
    "qr_mode": ("matrix", lambda x: np.linalg.qr(x, mode="none")),
    "svd": (
        "matrix",
        lambda x: (np.linalg.svd(x), np.linalg.svd(x, full_matrices=False), np.linalg.svdvals(x)),
    ),
    "eigh": ("matrix", lambda x: (np.linalg.eigh(x @ x.T.conj()), np.linalg.eigvalsh(x @ x.T.conj(), "U"))),
    "eig": ("matrix", lambda x: (np.linalg.eig(square(x)), np.linalg.eigvals(square(x))), "DF"),
    "pinv": (
        "matrix",
        lambda x: (np.linalg.pinv(x), np.linalg.pinv(x, rcond=0.1), np.linalg.pinv(x, rtol=None)),
    ),
    "lstsq": (
        "matrix",
        lambda x, y: (np.linalg.lstsq(x, y), np.linalg.lstsq(x.T, y.T[:, 0], rcond=1e-3)),
        "dfD",
    ),
    "lstsq_rows": ("matrix", lambda x, y: np.linalg.lstsq(x, y[:2])),
    "matrix_power": (
        "matrix",
        lambda x: (
            np.linalg.matrix_power(square(x), 3),
            np.linalg.matrix_power(square(x), -1),
            np.linalg.matrix_power(square(x), 0),
        ),
    ),
    "multi_dot": ("matrix", lambda x, y: np.linalg.multi_dot([x, y.T, x])),
    "matrix_rank": ("matrix", lambda x: np.linalg.matrix_rank(x)),
    "cond": (
        "matrix",
        lambda x: (
            np.linalg.cond(x),
            np.linalg.cond(square(x), 1),
            np.linalg.cond(square(x), "fro"),
            np.linalg.cond(x, -2),
        ),
    ),
    "tensorinv": (
        "matrix",
        lambda x: (np.linalg.tensorinv(square(x), ind=1), np.linalg.tensorsolve(square(x), x[:, 0])),
    ),
    "norms": (
        PLAIN,
        lambda x: (
            np.linalg.norm(x),
            np.linalg.vector_norm(x),
            np.linalg.norm(x, axis=0),
            np.linalg.vector_norm(x, axis=-1, ord=3, keepdims=True),
        ),
    ),
    "matrix_norms": (
        "matrix",
        lambda x: (
            np.linalg.matrix_norm(x),
            np.linalg.norm(x, "nuc"),
            np.linalg.norm(x, -2),
            np.linalg.matrix_norm(x, ord=1, keepdims=True),
        ),
    ),
    "norm_order": ("matrix", lambda x: np.linalg.norm(x, 3)),
    "half": ("matrix", lambda x: np.linalg.inv(x[:, :4]), "e"),
    "fft": (
        PLAIN,
        lambda x: (np.fft.fft(x), np.fft.ifft(x), np.fft.fft(x, n=4, axis=0, norm="ortho"), np.fft.fft(x, 9)),
    ),
    "rfft": (PLAIN, lambda x: (np.fft.rfft(x), np.fft.rfft(x, 4, norm="forward"), np.fft.ihfft(x)), "dfl?"),
    "irfft": (PLAIN, lambda x: (np.fft.irfft(x), np.fft.irfft(x, 5), np.fft.hfft(x)), "DFdl"),
    "fft2": (
        "matrix cube",
        lambda x: (
            np.fft.fft2(x),
            np.fft.ifftn(x),
            np.fft.fftn(x, axes=(0,)),
            np.fft.irfft2(x + 0j),
            np.fft.ifft2(x),
            np.fft.irfftn(x + 0j),
        ),
    ),
    "rfftn": ("matrix cube", lambda x: (np.fft.rfftn(x), np.fft.rfft2(x, s=(3, 3))), "dfl"),
    "fftshift": ("vector matrix cube", lambda x: (np.fft.fftshift(x), np.fft.ifftshift(x, axes=0))),
    "fft_length": ("matrix", lambda x: np.fft.fft(x, 0)),
    "fft_axis": ("matrix", lambda x: np.fft.fft(x, axis=2)),
    "fft_norm": ("matrix", lambda x: np.fft.rfft(x, norm="none"), "d"),
    "rfft_complex": ("vector", lambda x: np.fft.rfft(x), "D"),
    "fft_out": ("matrix", lambda x: np.fft.fft(x, out=x), "D"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_linalg(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)


@pytest.mark.parametrize("order", [None, 1, 2, np.inf, -np.inf, 0, 3, -1, -2, "fro", "nuc"])
def test_norm_orders(order, everywhere):
    everywhere(lambda x: np.linalg.norm(x, order), PLAIN)
    if not isinstance(order, str):
        everywhere(lambda x: np.linalg.norm(x, order, axis=0, keepdims=True), PLAIN)
