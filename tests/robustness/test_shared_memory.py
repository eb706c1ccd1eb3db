"""Elements that share memory, read-only views beside writeable ones, and memory that is given away."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import tapeless as tl

EXECUTORS = ["numpy", "interpret"]


def sliding() -> Any:
    return as_strided(np.linspace(0.5, 2.0, 12), (4, 4), (8, 8))


def repeated() -> Any:
    return as_strided(np.linspace(0.5, 2.0, 4), (4, 4), (0, 8))


def first_row(x: Any) -> Any:
    x[0] = 5.0
    return x


READS: dict[str, Callable[[Any], Any]] = {
    "row": lambda x: x[-1] * 2,
    "block": lambda x: x[1:, ::2].T + x[:3, 1::2].T,
    "view": lambda x: x[::2],
    "transposed": lambda x: np.exp(x.T),
    "sums": lambda x: np.sum(x, 0) + np.sum(x[:, 1]),
    "flat": lambda x: x.ravel() * x.reshape(2, 8)[1, 0],
    "through_a_row": first_row,
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "all": lambda x: x.__setitem__(..., x * 2),
    "in_place": lambda x: x.__iadd__(1),
    "rows": lambda x: x[1:].__iadd__(1),
    "out": lambda x: np.exp(x, out=x),
    "shifted": lambda x: x[1:, 1:].__setitem__(..., x[:-1, :-1] * 2),
}


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("make", [sliding, repeated])
@pytest.mark.parametrize("read", READS)
def test_elements_that_share_memory_are_read(read: str, make: Any, executor: str) -> None:
    mine, its = make(), make()
    expected, found = READS[read](mine), tl.compile(READS[read], executor=executor)(its)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(its, mine)
    assert found.strides == expected.strides
    assert np.shares_memory(found, its) == np.shares_memory(expected, mine)


@pytest.mark.parametrize("make", [sliding, repeated])
@pytest.mark.parametrize("write", WRITES)
def test_writes_whose_order_would_count_are_refused(write: str, make: Any) -> None:
    x = make()
    before = x.copy()
    with pytest.raises(tl.TapelessError, match="elements share memory"):
        tl.compile(WRITES[write])(x)
    np.testing.assert_array_equal(x, before)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("parts", [(slice(0, 5), slice(3, 8)), (slice(3, 8), slice(0, 5))])
def test_a_read_only_view_beside_a_writeable_one(parts: tuple[slice, slice], executor: str) -> None:
    def fill(x: Any, y: Any) -> Any:
        y[...] = np.sum(x)
        return x

    mine, its = np.arange(8.0), np.arange(8.0)
    views = [[memory[part] for part in parts] for memory in (mine, its)]
    for x, _ in views:
        x.flags.writeable = False
    expected, found = fill(*views[0]), tl.compile(fill, executor=executor)(*views[1])
    np.testing.assert_array_equal(its, mine)
    np.testing.assert_array_equal(found, expected)


# -- donated arguments

HELD = np.linspace(0.5, 1.5, 9).reshape(3, 3)


def returned_itself(x: Any, y: Any) -> Any:
    return x, np.exp(x)


def returned_as_view(x: Any, y: Any) -> Any:
    return x.T, np.sqrt(np.exp(x) + y)


def in_a_container(x: Any, y: Any) -> Any:
    return {"x": [x]}, -x, (x[1], y)


def written_to(x: Any, y: Any) -> Any:
    x[...] = x * 2 + y
    return x, x + 1


def held(x: Any, y: Any) -> Any:
    return np.exp(x) + HELD, np.log(y)


def worked_with(x: Any, y: Any) -> Any:
    z = np.exp(x)
    w = z @ y
    w[::2] = z[::2]
    return np.sqrt(w) + x, z.T, np.sum(w, 0)


DONORS = [returned_itself, returned_as_view, in_a_container, written_to, held, worked_with]
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "c_order": lambda a: a.copy(),
    "fortran": np.asfortranarray,
    "reversed": lambda a: a.copy()[::-1, ::-1],
    "strided": lambda a: np.repeat(a, 2, 0)[::2],
    "broadcast": lambda a: np.broadcast_to(a[0], a.shape),
    "repeated": lambda a: as_strided(a[0].copy(), a.shape, (0, 8)),
    "byte_swapped": lambda a: a.astype(">f8"),
    "single": lambda a: a.astype("f4"),
}


def arrays(tree: Any) -> list[Any]:
    items = tree.values() if isinstance(tree, dict) else tree
    return [tree] if isinstance(tree, np.ndarray) else [a for item in items for a in arrays(item)]


@pytest.mark.parametrize(
    ("donor", "layout"),
    [(d, y) for d in DONORS for y in LAYOUTS if d is not written_to or y not in ("broadcast", "repeated")],
)
def test_donated_memory_is_used_only_where_nothing_shows_it(donor: Any, layout: str) -> None:
    for given in ((0,), (1,), (0, 1)):
        compiled = tl.compile(donor, donate=given)
        for other in (LAYOUTS[layout], np.copy, np.transpose, lambda a: a):
            mine, its = [LAYOUTS[layout](HELD + 1) for _ in range(2)]
            expected, found = arrays(donor(mine, other(mine))), arrays(compiled(its, other(its)))
            for one, two in zip(found, expected, strict=True):
                # single precision is computed with a rounding of its own
                rough = LAYOUTS[layout](HELD).dtype == "f4"
                np.testing.assert_allclose(one, two, rtol=1e-6 if rough else 1e-14)
                assert (one.dtype, one.strides, one.flags.writeable) == (
                    two.dtype,
                    two.strides,
                    two.flags.writeable,
                )
            for i in range(len(found)):
                for j in range(i):
                    shared = np.shares_memory(expected[i], expected[j])
                    assert np.shares_memory(found[i], found[j]) == shared


@pytest.mark.parametrize("executor", ["numpy", "native"])
def test_donated_memory_comes_back_call_after_call(executor: str) -> None:
    halve = tl.compile(lambda x: np.sqrt(np.exp(-x) + 1.0), donate=(0,), executor=executor)
    x, expected = np.linspace(0.0, 1.0, 50), np.linspace(0.0, 1.0, 50)
    first = x
    for _ in range(8):
        x, expected = halve(x), np.sqrt(np.exp(-expected) + 1.0)
        assert x is first
        np.testing.assert_allclose(x, expected, rtol=1e-14)


def test_what_is_read_at_each_call_is_not_donated() -> None:
    donated = tl.compile(held, donate=(0,))
    before = HELD.copy()
    for given in (HELD, HELD.T, HELD[::-1]):
        with pytest.raises(tl.TapelessError, match="is donated"):
            donated(given, HELD.copy())
        np.testing.assert_array_equal(HELD, before)
    np.testing.assert_allclose(donated(HELD + 1, HELD.copy())[0], held(HELD + 1, HELD)[0], rtol=1e-14)
