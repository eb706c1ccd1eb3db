"""Functions that look at an array another way: where NumPy gives a view, a write goes through it."""

import numpy as np
import pytest

ALL = "vector matrix cube zero_d empty scalar"
MATRICES = "matrix cube"


def written_through(*makers):
    """A program that writes 7 into each view (or copy) of x and returns it."""

    def program(x):
        results = []
        for maker in makers:
            made = maker(x)
            for part in made if isinstance(made, (list, tuple)) else [made]:
                if part.ndim and part.size and part.flags.writeable:
                    part[..., :1] = 7
                results.append(part)
        return results

    return program


PROGRAMS = {
    "transpose": (ALL, written_through(np.transpose, lambda x: x.T, lambda x: np.transpose(x).copy())),
    "axes": (
        MATRICES,
        written_through(
            lambda x: np.swapaxes(x, 0, 1),
            lambda x: np.moveaxis(x, 0, -1),
            lambda x: np.rollaxis(x, 1),
            lambda x: np.permute_dims(x, tuple(range(x.ndim))[::-1]),
        ),
    ),
    "matrix_transpose": (
        MATRICES,
        written_through(np.matrix_transpose, np.linalg.matrix_transpose, lambda x: x.mT),
    ),
    "lengths": (
        ALL,
        written_through(
            lambda x: np.expand_dims(x, 0), lambda x: np.squeeze(np.expand_dims(x, -1)), lambda x: x.squeeze()
        ),
    ),
    "flips": (
        MATRICES,
        written_through(
            np.flip, np.fliplr, np.flipud, np.rot90, lambda x: np.flip(x, 1), lambda x: np.rot90(x, 2)
        ),
    ),
    "splits": (
        MATRICES,
        written_through(
            lambda x: np.split(x, 2),
            lambda x: np.array_split(x, 3, axis=1),
            lambda x: np.unstack(x),
            lambda x: np.hsplit(x, [1, 2]),
            lambda x: np.vsplit(x, 2),
        ),
    ),
    "dsplit": ("cube", written_through(lambda x: np.dsplit(x, 2))),
    "split_uneven": ("matrix", lambda x: np.split(x, 3)),
    "diagonal": (MATRICES, written_through(np.diagonal, lambda x: x.diagonal(1), np.linalg.diagonal)),
    "broadcast": (
        "vector matrix zero_d scalar",
        written_through(lambda x: np.broadcast_to(x, (3, *x.shape))),
    ),
    "broadcast_wrong": ("vector", lambda x: np.broadcast_to(x, (3, 4))),
    "reshape": (
        ALL,
        written_through(
            lambda x: np.reshape(x, -1),
            lambda x: x.reshape(-1, 1),
            lambda x: x.reshape(x.shape[::-1], order="F"),
        ),
    ),
    "reshape_wrong": ("matrix", lambda x: x.reshape(3, -1)),
    "reshape_copy": ("matrix", lambda x: (x.T.reshape(4, 5), x.reshape(5, 4, copy=True))),
    "ravel": (
        ALL,
        written_through(
            np.ravel,
            lambda x: x.ravel("F"),
            lambda x: x.ravel("K"),
            lambda x: x.flatten(),
            lambda x: x.flatten("A"),
        ),
    ),
    "windows": ("vector", lambda x: np.lib.stride_tricks.sliding_window_view(x, 3)),
    "array": (
        ALL,
        written_through(lambda x: np.atleast_2d(x), lambda x: np.asarray(x), lambda x: np.array(x, ndmin=2)),
    ),
    "astype": (
        ALL,
        lambda x: (np.astype(x, x.dtype, copy=False), x.astype(complex), x.astype(x.dtype, copy=False)),
    ),
    "bytes": ("vector", lambda x: (x.view("u1"), x.view("i8").view(x.dtype)), "dl"),
    "where": (ALL, lambda x: (np.where(x > 0, x, 0), np.where(x > 0, 1, x), np.where(True, x, x))),
    "where_shapes": ("matrix", lambda x: np.where(x > 0, x, x[:, 1:])),
    "indices": (
        "matrix",
        lambda x: (x[:, :4][np.diag_indices_from(x[:, :4])], x[np.triu_indices_from(x, 1)]),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_views(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)
