"""Products of arrays: dot and its kin, einsum, convolutions."""

import numpy as np
import pytest

ALL = "vector matrix cube zero_d empty scalar"
PLAIN = "vector matrix"
PROGRAMS = {
    "dot": (ALL, lambda x, y: np.dot(x, y.T)),
    "dot_vectors": ("vector", lambda x, y: (np.dot(x, 2.0), np.dot(x[0], y), x.dot(x[::-1]), np.inner(x, 2))),
    "dot_stacks": (
        "cube",
        lambda x, y: (
            np.dot(x, y.swapaxes(-1, -2)),
            np.dot(x, y[0, 0]),
            np.dot(y[0, 0], x.swapaxes(-1, -2)),
            np.dot(x[0], y.swapaxes(-1, -2)),
        ),
    ),
    "dot_out": ("matrix", lambda x, y: np.dot(x[:4, :4], y[:4, :4], out=np.dot(x[:4, :4], x[:4, :4]))),
    "dot_out_wrong": ("matrix", lambda x: np.dot(x.T, x, out=np.zeros((5, 4)))),
    "dot_lengths": ("matrix", lambda x, y: np.dot(x, y)),
    "inner": (ALL, lambda x, y: np.inner(x, y)),
    "inner_lengths": ("matrix", lambda x, y: np.inner(x, y[:, 1:])),
    "vdot": (PLAIN, lambda x, y: np.vdot(x, y)),
    "vdot_lengths": ("vector", lambda x, y: np.vdot(x, y[1:])),
    "outer": (PLAIN, lambda x, y: (np.outer(x, y), np.linalg.outer(x.ravel(), y.ravel()))),
    "tensordot": ("matrix cube", lambda x, y: np.tensordot(x, y, axes=((-1,), (-1,)))),
    "tensordot_count": (
        "matrix cube",
        lambda x, y: (np.tensordot(x, y.T, axes=1), np.tensordot(x, y, axes=x.ndim)),
    ),
    "tensordot_lengths": ("matrix", lambda x, y: np.tensordot(x, y, axes=1)),
    "einsum_matrices": (
        "matrix",
        lambda x, y: (np.einsum("ij,kj->ik", x, y), np.einsum("ij,ij", x, y), np.einsum("ij,kj", x, y)),
    ),
    "einsum_views": (
        "matrix",
        lambda x: (
            np.einsum("ij->ji", x),
            np.einsum("ij->", x),
            np.einsum("...->...", x),
            np.einsum("ij->j", x),
        ),
    ),
    "einsum_diagonal": ("matrix", lambda x: (np.einsum("ii->i", x[:, :4]), np.einsum("ii", x[:, :4]))),
    "einsum_ellipsis": ("vector matrix cube", lambda x, y: np.einsum("...j,...j->...", x, y)),
    "einsum_optimized": (
        "matrix",
        lambda x, y: (
            np.einsum("ij,kj->ik", x, y, optimize=True),
            np.einsum("ij,kj,ij->k", x, y, x, optimize="greedy"),
        ),
    ),
    "einsum_numbers": ("matrix", lambda x, y: np.einsum(x, [0, 1], y, [2, 1], [0, 2])),
    "einsum_stacks": (
        "cube",
        lambda x, y: (
            np.einsum("bij,bkj->bik", x, y),
            np.einsum("bij,bkj->bik", x, y, optimize=True),
            np.einsum("bij,j->bi", x, y[0, 0]),
        ),
    ),
    "einsum_length_1": ("matrix", lambda x, y: np.einsum("ij,kj->ik", x[:, :1], y)),
    "einsum_path": ("matrix", lambda x, y: np.einsum_path("ij,kj->ik", x, y)),
    "einsum_lengths": ("matrix", lambda x, y: np.einsum("ij,jk->ik", x, y)),
    "einsum_letters": ("matrix", lambda x: np.einsum("ijk->i", x)),
    "einsum_mixed": ("matrix", lambda x: np.einsum("ij,j->i", x, np.arange(5))),
    "vecdot": (PLAIN, lambda x, y: (np.vecdot(x, y), np.linalg.vecdot(x, y, axis=0))),
    "matvec": ("matrix", lambda x, y: (np.matvec(x, y[0]), np.vecmat(y[:, 0], x))),
    "matmul_out": ("matrix", lambda x, y: np.matmul(x[:, :4], y[:, :4], out=x[:, :4]), "dfl"),
    "matmul_bad": ("matrix zero_d", lambda x, y: np.matmul(x, y)),
    "cross": (PLAIN, lambda x, y: np.cross(x[..., :3], y[..., :3])),
    "cross_flat": ("vector", lambda x, y: np.cross(x, y)),
    "convolve": (
        "vector",
        lambda x, y: (np.convolve(x, y[:3]), np.convolve(x[:2], y, "same"), np.convolve(x, y, "valid")),
    ),
    "convolve_empty": ("vector", lambda x, y: np.convolve(x, y[:0])),
    "correlate": (
        "vector",
        lambda x, y: (np.correlate(x, y[:3]), np.correlate(x, y[:3], "full"), np.correlate(x[:2], y, "same")),
    ),
    "trace": ("matrix cube", lambda x: (np.trace(x), x.trace(offset=1), np.linalg.trace(x))),
    "trace_vector": ("vector", lambda x: np.trace(x)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_products(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)


def test_einsum_diagonal_is_written_through(same):
    def program(x):
        diagonal = np.einsum("ii->i", x)
        diagonal[:] = 1
        return x, diagonal

    same(program, lambda seed: [np.random.default_rng(seed).normal(size=(3, 3))])
