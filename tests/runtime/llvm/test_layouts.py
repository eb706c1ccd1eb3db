"""Results in another order than C: kernels write them as they are to lie, without a copy afterwards."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.compiler.plan import Action, Place

X = np.random.default_rng(0).uniform(0.5, 1.5, (6, 5, 4))

DIRECT: dict[str, Callable[[Any], Any]] = {
    "one op": lambda x: x * 2,
    "several": lambda x: (np.exp(x) + 1, x - 1, x.sum(0)),
    "reduced over an axis between": lambda x: x / x.sum(1, keepdims=True),
    "read by another kernel": lambda x: (lambda y: (y, np.square(y - y.mean(0)).sum()))(np.tanh(x)),
    "beside its gradient": tl.value_and_grad(lambda x: np.sum(np.exp(x) * x)),
}
COPIED: dict[str, Callable[[Any], Any]] = {
    "read by a product": lambda x: (lambda y: (y, y @ np.ones((x.shape[-1], 3))))(x * 2),
    "seen another way": lambda x: (lambda y: (y, y[1:], y.T.copy()))(x * 2),
    "sorted": lambda x: (lambda y: (y, np.sort(y, 0)))(x * 2),
    "a transpose": lambda x: (x * 2).T,
}
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "transposed": lambda x: x.transpose(1, 0, 2),
    "reversed": lambda x: x[::-1, :, ::-1],
    "with gaps": lambda x: np.repeat(x, 2, 2)[..., ::2].swapaxes(0, 2),
}


def check(f: Callable[[Any], Any], x: Any) -> None:
    wanted, compiled = f(x), tl.compile(f, executor="native")
    for _ in range(4):
        found = compiled(x)
        several = isinstance(wanted, tuple)
        for a, b in zip(found, wanted, strict=True) if several else [(found, wanted)]:
            np.testing.assert_allclose(a, b, rtol=1e-14)
            assert np.shape(a) == np.shape(b)
            assert not np.ndim(b) or a.strides == b.strides


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*DIRECT, *COPIED])
def test_values_and_strides_are_numpys(name: str, layout: str) -> None:
    check((DIRECT | COPIED)[name], LAYOUTS[layout](X))


@pytest.mark.parametrize("layout", ["Fortran", "transposed"])
@pytest.mark.parametrize("name", DIRECT)
def test_nothing_is_copied(name: str, layout: str) -> None:
    x = LAYOUTS[layout](X)
    text = str(tl.compile(DIRECT[name], executor="native").plan(x))
    assert "copy" not in text


def patched(x: Any, y: Any) -> Any:
    z = x.copy()
    z[1:] += y[:-1]
    z[:, 0] = 0
    return z


def patched_twice(x: Any, y: Any) -> Any:
    z = x * 2
    z[0] = y[0]
    w = z.copy()
    w[1] = z[0]
    return z, w


def counted(x: Any, y: Any) -> Any:
    z = np.zeros_like(x)
    np.add.at(z, [0, 2, 0], y[:3])
    z[1] = 7
    return z, z.sum()


@pytest.mark.parametrize("f", [patched, patched_twice, counted])
def test_writes_go_to_the_memory_of_the_result(f: Callable[..., Any]) -> None:
    x, y = np.random.default_rng(2).normal(size=(2, 5, 4))
    compiled = tl.compile(f, executor="native")
    for _ in range(4):
        found, wanted = compiled(x, y), f(x, y)
        several = isinstance(wanted, tuple)
        for a, b in zip(found, wanted, strict=True) if several else [(found, wanted)]:
            np.testing.assert_allclose(a, b, rtol=1e-14)
    plan = compiled.plan(x, y)
    assert not any(step.action is Action.COPY for step in plan.steps)
    written = [step for step in plan.steps if step.node.op.name == "write"]
    assert all(plan.values[step.output].place is Place.FRESH for step in written)


def seen_flat(x: Any, y: Any) -> Any:
    z = x.copy()
    z[0] = y[0]
    w = z.reshape(-1).copy()
    w[3] = 2
    return w


def of_another_type(x: Any, y: Any) -> Any:
    z = (x > y).astype("i8") + 1
    w = z * 0.5
    w[0] = y[0]
    return w


@pytest.mark.parametrize("f", [seen_flat, of_another_type])
def test_results_have_their_own_shape_and_type(f: Callable[..., Any]) -> None:
    """Whatever else their memory held before."""
    x, y = np.random.default_rng(2).normal(size=(2, 5, 4))
    compiled = tl.compile(f, executor="native")
    for _ in range(4):
        found, wanted = compiled(x, y), f(x, y)
        assert (found.shape, found.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_array_equal(found, wanted)
