"""Sorting and searching, by copy and in place."""

import numpy as np
import pytest

ARRAYS = "vector matrix cube"
PLAIN = "vector matrix"


def sort_rows_in_place(x):
    x.sort()
    x[..., 0] += 1


def sort_a_view(x):
    y = x[1:]
    y.sort(axis=0)
    return y


def partition_in_place(x):
    x.partition(2, axis=0)


PROGRAMS = {
    "sort": (ARRAYS + " empty", lambda x: (np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None))),
    "sort_kind": (ARRAYS, lambda x: (np.sort(x, kind="stable"), np.sort(x, axis=1 - x.ndim, stable=True))),
    "argsort": (
        ARRAYS,
        lambda x: (np.argsort(x), np.argsort(x, axis=0, kind="stable"), x.argsort(axis=None)),
    ),
    "sort_in_place": (PLAIN, sort_rows_in_place),
    "sort_a_view": (PLAIN, sort_a_view),
    "sort_axis": ("vector", lambda x: np.sort(x, axis=1)),
    "sort_of_0d": ("zero_d scalar", lambda x: np.sort(x)),
    "sort_kind_unknown": ("vector", lambda x: np.sort(x, kind="bubble")),
    "partition": (PLAIN, lambda x: (np.partition(x, 2, axis=0), np.argpartition(x, (1, 2), axis=0))),
    "partition_in_place": (PLAIN, partition_in_place),
    "partition_beyond": ("vector", lambda x: np.partition(x, 9)),
    "lexsort": (PLAIN, lambda x, y: (np.lexsort((x, y)), np.lexsort((y, x), axis=0)), "dfl"),
    "argmax": (ARRAYS, lambda x: (np.argmax(x), x.argmin(axis=0), np.argmax(x, axis=-1, keepdims=True))),
    "argmax_0d": ("zero_d scalar", lambda x: (np.argmax(x), x.argmin())),
    "argmax_empty": ("empty", lambda x: np.argmax(x, axis=0)),
    "argmax_out": ("matrix", lambda x: np.argmax(x, axis=0, out=np.zeros(5, np.intp))),
    "searchsorted": (
        "vector",
        lambda x, y: (np.searchsorted(np.sort(x), y), np.sort(x).searchsorted(y[0], "right")),
    ),
    "searchsorted_sorter": ("vector", lambda x, y: np.searchsorted(x, y, sorter=np.argsort(x)), "dfl"),
    "searchsorted_mixed": ("vector", lambda x: np.searchsorted(np.arange(5), x, side="right"), "dfl"),
    "searchsorted_matrix": ("matrix", lambda x: np.searchsorted(x, 1)),
    "digitize": (PLAIN, lambda x: (np.digitize(x, [-1, 0, 1]), np.digitize(x, [1, 0], right=True)), "dfl"),
    "sort_complex": ("vector", lambda x: np.sort_complex(x), "dflD"),
    "take_sorted": (PLAIN, lambda x: np.take_along_axis(x, np.argsort(x, axis=0), axis=0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sorting(name, everywhere):
    kinds, program, *dtypes = PROGRAMS[name]
    everywhere(program, kinds, *dtypes)
