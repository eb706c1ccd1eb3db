"""Functions and methods that write into their argument."""

import numpy as np
import pytest

ALL = "vector matrix cube zero_d empty"
PLAIN = "vector matrix"


def copy_to(x, y):
    np.copyto(x, y)
    np.copyto(x, 2, casting="unsafe")
    np.copyto(x, y, where=y > 0)


def copy_wider(x):
    y = np.zeros((3, *x.shape), x.dtype)
    np.copyto(y, x)
    return y


def put_values(x):
    np.put(x, [0, 2], [5, 6])
    np.put(x, [1, 9], 7, mode="clip")
    np.put(x, [-1, 30], [7, 8], mode="wrap")
    x.put([0, 2], 5)


def place_values(x, y):
    np.place(x, y > 0, [1, 2])
    np.putmask(x, y > 1, [3, 4])


def put_along(x):
    np.put_along_axis(x, np.argmax(x, axis=0, keepdims=True), 9, axis=0)


def fill_traced(x, y):
    x.fill(3)
    x[..., :1].fill(y.sum())


def fill_diagonal(x):
    np.fill_diagonal(x, 3)
    np.fill_diagonal(x[1:], x[0, 2])


def parts(x):
    x.real = 3
    x.imag[...] = 2
    return x.real, x.imag


PROGRAMS = {
    "copyto": (ALL, copy_to),
    "copyto_wider": (PLAIN, copy_wider),
    "copyto_shape": ("matrix", lambda x: np.copyto(x, x[:, :2])),
    "copyto_casting": ("vector", lambda x: np.copyto(x, 1.5), "l"),
    "copyto_number": ("vector", lambda x: np.copyto(x, 300), "b"),
    "copyto_scalar": ("scalar", lambda x: np.copyto(x, 2)),
    "put": (PLAIN, put_values),
    "put_beyond": ("vector", lambda x: np.put(x, [9], 1)),
    "place": (PLAIN, place_values),
    "place_nothing": ("vector", lambda x, y: np.place(x, y > -99, [])),
    "put_along": (PLAIN, put_along),
    "fill": (ALL, fill_traced),
    "fill_with_array": ("vector", lambda x: x.fill(np.arange(3))),
    "fill_scalar": ("scalar", lambda x: x.fill(3)),
    "fill_diagonal": ("matrix", fill_diagonal),
    "fill_diagonal_vector": ("vector", lambda x: np.fill_diagonal(x, 1)),
    "nan_to_num": (ALL, lambda x: np.nan_to_num(x, copy=False)),
    "parts": ("vector", parts, "D"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_writes(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)


def test_read_only(same):
    def read_only(seed):
        x = np.arange(4.0) + seed
        x.flags.writeable = False
        return [x]

    for program in (
        lambda x: np.put(x, [0], 1),
        lambda x: np.copyto(x, 1),
        lambda x: x.sort(),
        lambda x: np.add(x, 1, out=x),
    ):
        same(program, read_only)
