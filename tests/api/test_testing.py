"""`testing` leaves what it is given alone; each run has arguments of its own, related as the caller's are."""

from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless import testing

BIT_GENERATORS = [np.random.PCG64, np.random.MT19937]


def state(rng: np.random.Generator) -> str:
    return repr(rng.bit_generator.state)


@pytest.mark.parametrize("bits", BIT_GENERATORS)
def test_each_run_draws_from_a_generator_of_its_own(bits: Any) -> None:
    rng = np.random.Generator(bits(3))
    before = state(rng)
    testing.assert_same_values(lambda x, r: x * r.normal(size=3), np.ones(3), rng)
    assert state(rng) == before


def test_generators_that_share_a_state_share_it_in_each_run() -> None:
    rng = np.random.default_rng(3)
    twin = np.random.Generator(rng.bit_generator)

    def drawn(rngs: Any, again: Any) -> Any:
        return rngs[0].normal(size=2), rngs[1].normal(size=2), again.normal(size=2), rngs[0] is again

    testing.assert_same_values(drawn, [rng, twin], rng)


def test_generators_that_have_drawn_otherwise_differ() -> None:
    seen: list[int] = []

    def drawn_once(rng: Any) -> Any:
        seen.append(0)
        return rng.normal() if len(seen) == 1 else rng

    with pytest.raises(AssertionError):
        testing.assert_same_values(drawn_once, np.random.default_rng(0))
    seen.clear()

    def drawn_more(rng: Any) -> Any:
        seen.append(0)
        rng.normal(size=len(seen))
        return np.zeros(2)

    with pytest.raises(AssertionError, match="argument 0: the generators have not drawn the same numbers"):
        testing.assert_same_values(drawn_more, np.random.default_rng(0))


def test_arrays_that_share_memory_share_it_in_each_run() -> None:
    x = np.arange(6.0)

    def written(a: Any, b: Any, c: Any) -> Any:
        a += 1
        b[0] += c["again"].sum()
        return a + b[: a.size]

    testing.assert_same_values(written, x[1:], x, {"again": x[1:]})
    testing.assert_same_values(lambda a: a @ a.T, np.arange(6.0).reshape(2, 3).T)
    assert x.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_of_what_writes_in_place_are_checked_on_copies(order: int) -> None:
    def doubled(params: Any, y: Any) -> Any:
        params["w"] *= 2.0
        params["seen"] = y
        return np.sum(np.sin(params["w"]) * y)

    params, y = {"w": np.array([0.3, 0.4])}, np.array([1.0, 2.0])
    testing.check_grads(doubled, (params, y), order=order)
    assert (list(params), params["w"].tolist(), y.tolist()) == (["w"], [0.3, 0.4], [1, 2])


def test_an_array_in_two_places_has_one_direction() -> None:
    x = np.array([0.3, 0.4])
    testing.check_grads(lambda a, b: np.sum(a * np.sin(b[0])), (x, [x]))
    with pytest.raises(tl.TapelessError, match="shares memory with another argument"):
        testing.check_grads(lambda a, b: np.sum(np.multiply(a, 2, out=a) * b), (x, x))
    assert x.tolist() == [0.3, 0.4]


def test_a_wrong_derivative_is_found() -> None:
    with pytest.raises(AssertionError, match="central differences"):
        testing.check_grads(lambda x: np.sum(x * tl.stop_gradient(x)), (np.array([0.3, 0.4]),))
