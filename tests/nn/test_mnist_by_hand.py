"""The hand-written training step that the compiled one is measured against: its gradients and its loss."""

from types import ModuleType

import numpy as np
import pytest

SIZES, BATCH = (7, 5, 4), 6


def test_gradients_are_the_central_differences_of_the_plain_loss(by_hand: ModuleType) -> None:
    rng = np.random.default_rng(3)
    params = by_hand.initial_params(3, SIZES, np.float64)
    x, y = rng.random((BATCH, SIZES[0])), rng.integers(0, SIZES[2], BATCH)
    hidden = x @ params["w1"] + params["b1"]
    assert np.abs(hidden).min() > 1e-3
    assert (hidden > 0).any()
    assert (hidden < 0).any()
    gradients, grads = by_hand.make_gradients(params, BATCH)
    assert gradients(x, y) == by_hand.loss(params, x, y)
    for name, value in params.items():
        for place in np.ndindex(value.shape):
            kept, ends = value[place], []
            for shift in (1e-5, -1e-5):
                value[place] = kept + shift
                ends.append(by_hand.loss(params, x, y))
            value[place] = kept
            assert (ends[0] - ends[1]) / 2e-5 == pytest.approx(grads[name][place], rel=1e-7, abs=1e-9), (
                name,
                place,
            )


def test_a_step_moves_the_parameters_against_the_gradients(by_hand: ModuleType) -> None:
    rng = np.random.default_rng(4)
    params = by_hand.initial_params(4)
    x, y = rng.random((64, 784), dtype=np.float32), rng.integers(0, 10, 64)
    gradients, grads = by_hand.make_gradients(params, 64)
    before = gradients(x, y)
    assert before.dtype == np.float32
    assert before == by_hand.loss(params, x, y)
    expected = {name: value - 0.1 * grads[name] for name, value in params.items()}
    assert by_hand.make_step(params, 64, 0.1)(x, y) == before
    for name, value in params.items():
        assert value.dtype == np.float32
        np.testing.assert_array_equal(value, expected[name])
    assert by_hand.loss(params, x, y) < before
