"""Joining, repeating, padding and building matrices from vectors."""

import numpy as np
import pytest

ALL = "vector matrix cube zero_d empty scalar"
PLAIN = "vector matrix"
PROGRAMS = {
    "concatenate": ("vector matrix cube empty", lambda x, y: np.concatenate([x, y])),
    "concatenate_last": ("matrix cube", lambda x, y: np.concatenate((x, y[:, :2]), axis=1)),
    "concatenate_flat": ("matrix cube zero_d", lambda x, y: np.concatenate((x, y, 2.0), axis=None)),
    "concatenate_dtype": ("vector", lambda x: np.concatenate((x, [1, 2]), dtype="f4", casting="unsafe")),
    "concatenate_out": ("vector", lambda x, y: np.concatenate((x[:3], y[:3]), out=y)),
    "concatenate_rows": ("matrix", lambda x: np.concatenate(x)),
    "concatenate_shapes": ("matrix", lambda x: np.concatenate((x, x[:, 1:]))),
    "concatenate_ndims": ("matrix", lambda x: np.concatenate((x, x[0]))),
    "concatenate_axis": ("matrix", lambda x: np.concatenate((x, x), axis=2)),
    "concat": ("matrix", lambda x, y: np.concat((x, y))),
    "concatenate_nothing": ("vector", lambda x: (x, np.concatenate([]))),
    "stack": (ALL, lambda x, y: (np.stack([x, y]), np.stack((x, y), axis=-1))),
    "stack_shapes": ("matrix", lambda x: np.stack([x, x[0]])),
    "vstack": (ALL, lambda x, y: (np.vstack([x, y]), np.hstack([x, y]), np.dstack([x, y]))),
    "column_stack": (PLAIN, lambda x, y: np.column_stack([x, y])),
    "block": (PLAIN, lambda x, y: np.block([[x, y], [y, x]])),
    "append": (ALL, lambda x, y: np.append(x, y)),
    "append_axis": (PLAIN, lambda x, y: np.append(x, y, axis=0)),
    "insert": (PLAIN, lambda x: (np.insert(x, 1, 5, axis=0), np.insert(x, slice(0, 2), 7, axis=-1))),
    "insert_traced": ("vector", lambda x: np.insert(x, [1, 2], x[0])),
    "delete": (
        PLAIN,
        lambda x: (np.delete(x, 1, axis=0), np.delete(x, [0, 2]), np.delete(x, slice(0, 4, 2))),
    ),
    "delete_beyond": ("vector", lambda x: np.delete(x, 9)),
    "tile": (ALL, lambda x: (np.tile(x, 2), np.tile(x, (2, 3)), np.tile(x, (2, 1, 1, 1)))),
    "repeat": (PLAIN, lambda x: (np.repeat(x, 2), x.repeat(2), np.repeat(x, 2, axis=-1), np.repeat(x, [3]))),
    "repeat_counts": ("matrix", lambda x: np.repeat(x, [1, 2, 0, 1], axis=0)),
    "repeat_wrong": ("matrix", lambda x: np.repeat(x, [1, 2, 0], axis=0)),
    "roll": (ALL, lambda x: (np.roll(x, 2), np.roll(x, -1, axis=0))),
    "roll_axes": ("matrix cube", lambda x: np.roll(x, (1, 2), axis=(0, 1))),
    "meshgrid": ("vector", lambda x, y: np.meshgrid(x, y)),
    "meshgrid_sparse": ("vector", lambda x, y: np.meshgrid(x, y, indexing="ij", sparse=True, copy=False)),
    "atleast": (ALL, lambda x: (np.atleast_1d(x), np.atleast_2d(x), np.atleast_3d(x))),
    "broadcast_arrays": (PLAIN, lambda x, y: [a + 0 for a in np.broadcast_arrays(x, y[:1])]),
    "broadcast_same": (PLAIN, lambda x, y: np.broadcast_arrays(x, y)),
    "resize": (PLAIN, lambda x: (np.resize(x, (3, 7)), np.resize(x, 2))),
    "triangles": ("matrix cube vector", lambda x: (np.tril(x), np.triu(x, 1), np.tril(x, -1))),
    "diag": (PLAIN, lambda x: (np.diag(x), np.diag(x, 1), np.diagflat(x, -1))),
    "vander": ("vector", lambda x: (np.vander(x), np.vander(x, 3, increasing=True))),
    "kron": (PLAIN, lambda x, y: np.kron(x, y[:2])),
    "ix": ("matrix", lambda x: x[np.ix_([0, 1], [2, 1])]),
    "pad_constant": (PLAIN, lambda x: np.pad(x, ((1, 2),) * x.ndim, constant_values=(3, 4))),
    "pad_traced": ("vector", lambda x: np.pad(x, 1, constant_values=x[0])),
    "pad_odd": (PLAIN, lambda x: np.pad(x, 2, mode="reflect", reflect_type="odd"), "df"),
    "pad_mode": ("vector", lambda x: np.pad(x, 1, mode="sideways")),
    "tri_indices": ("matrix", lambda x: (x[np.tril_indices_from(x)], x[np.triu_indices(4, 1)])),
}
MODES = (
    "constant",
    "edge",
    "linear_ramp",
    "maximum",
    "mean",
    "median",
    "minimum",
    "reflect",
    "symmetric",
    "wrap",
)


@pytest.mark.parametrize("name", PROGRAMS)
def test_joining(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)


@pytest.mark.parametrize("mode", MODES)
def test_pad_modes(mode, everywhere):
    everywhere(lambda x: np.pad(x, 2, mode=mode), PLAIN, "dfl")
