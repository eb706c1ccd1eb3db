"""A Generator that is an argument draws what NumPy draws, in NumPy's state; other draws are refused."""

import pickle
import random
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl
from tapeless.tracer.errors import ClosureWriteError, RandomStateError

Draw = Callable[..., Any]
ODD = np.random.default_rng(99)
FORTRAN = np.asfortranarray(np.arange(12.0).reshape(3, 4))

DRAWS: dict[str, Draw] = {
    "random": lambda rng, x: (
        rng.random(),
        rng.random(3),
        rng.random((2, 2), dtype="f4"),
        rng.random(size=()),
    ),
    "standard": lambda rng, x: (
        rng.standard_normal(),
        rng.standard_normal(3, dtype=np.float32),
        rng.standard_exponential(2, method="inv"),
        rng.standard_gamma(2.0, 2),
        rng.standard_gamma(np.abs(x)),
        rng.standard_cauchy(2),
        rng.standard_t(3.0, size=2),
    ),
    "location-and-scale": lambda rng, x: (
        rng.normal(),
        rng.normal(x, 2.0),
        rng.normal(0, np.abs(x), size=(3, 4)),
        rng.uniform(-1, 1, (2, 2)),
        rng.uniform(low=x, high=x + 1),
        rng.laplace(x),
        rng.logistic(size=3),
        rng.gumbel(0.0, 1.0, 2),
        rng.lognormal(0, 0.5, 3),
        rng.vonmises(0.0, 1.0, 3),
    ),
    "positive": lambda rng, x: (
        rng.exponential(np.abs(x)),
        rng.gamma(2.0, 3.0, 2),
        rng.beta(1.0, 2.0),
        rng.chisquare(3, 2),
        rng.noncentral_chisquare(3.0, 1.0),
        rng.f(2.0, 3.0, size=2),
        rng.noncentral_f(2.0, 3.0, 1.0),
        rng.pareto(3.0),
        rng.power(2.0, 3),
        rng.rayleigh(1.0, 2),
        rng.triangular(0, 1, 2, size=3),
        rng.wald(1.0, 2.0, 2),
        rng.weibull(2.0),
    ),
    "counts": lambda rng, x: (
        rng.poisson(),
        rng.poisson(np.abs(x)),
        rng.binomial(10, 0.5, 3),
        rng.negative_binomial(3, 0.5),
        rng.geometric(0.3, size=2),
        rng.hypergeometric(3, 4, 5),
        rng.logseries(0.4, 2),
        rng.zipf(3.0, 2),
    ),
    "integers": lambda rng, x: (
        rng.integers(10),
        rng.integers(0, 10, 5),
        rng.integers(5, size=(2, 2), dtype=np.uint8, endpoint=True),
        rng.integers(0, 2, dtype=bool),
        rng.integers(7, dtype=int),
        rng.integers([3, 5, 7]),
        rng.integers(0, np.array([3, 5])),
    ),
    "vectors": lambda rng, x: (
        rng.dirichlet([1.0, 2.0, 3.0]),
        rng.dirichlet(np.abs(x) + 0.1, 2),
        rng.multinomial(10, [0.2, 0.8]),
        rng.multinomial([5, 6], [0.5, 0.5], size=2),
        rng.multivariate_normal([0.0, 1.0], [[1.0, 0.2], [0.2, 1.0]]),
        rng.multivariate_normal(np.zeros(2), np.eye(2), size=3, method="cholesky"),
        rng.multivariate_hypergeometric([3, 4, 5], 6, size=2),
    ),
    "permutations": lambda rng, x: (
        rng.permutation(5),
        rng.permutation(x),
        rng.permutation(FORTRAN * 1 if x is None else x.reshape(2, 2)),
        rng.permutation(x.reshape(2, 2), axis=1),
        rng.permutation([1, 2, 3]),
        rng.permuted(x),
        rng.permuted(x.reshape(2, 2), axis=0),
        rng.permuted(x.reshape(2, 2).T, axis=1),
    ),
    "choices": lambda rng, x: (
        rng.choice(5),
        rng.choice(5, 3, replace=False),
        rng.choice(x),
        rng.choice(x, 3),
        rng.choice(x, size=(2, 2)),
        rng.choice(x.reshape(2, 2), 2, axis=1),
        rng.choice([1.0, 2.0], 2, p=[0.25, 0.75]),
        rng.choice(4, 2, p=np.abs(x) / np.abs(x).sum()),
        rng.choice(x, ()),
    ),
    "arithmetic-of-numbers": lambda rng, x: (
        rng.random() * 2 + 1,
        1 / (rng.random() + 1),
        rng.poisson(3) // 2 * x,
    ),
}


def arguments(seed: int) -> tuple[Any, Any]:
    return np.random.default_rng(seed), np.random.default_rng([seed, 1]).normal(size=4)


@pytest.mark.parametrize("executor", ["interpret", "numpy"])
@pytest.mark.parametrize("name", DRAWS)
def test_draws_and_state_are_numpys(name: str, executor: str) -> None:
    function = DRAWS[name]
    compiled = tl.compile(function, executor=executor)
    compiled(*arguments(0))
    for seed in (1, 2):
        (mine, x), (its, y) = arguments(seed), arguments(seed)
        for found, expected in zip(compiled(its, y), function(mine, x), strict=True):
            assert type(found) is type(expected)
            assert np.shape(found) == np.shape(expected)
            assert np.asarray(found).dtype == np.asarray(expected).dtype
            assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
        assert repr(its.bit_generator.state) == repr(mine.bit_generator.state)
    assert compiled.stats.traces == 1


@pytest.mark.parametrize("kind", [np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_every_bit_generator(kind: Any) -> None:
    def draw(rng: Any, x: Any) -> Any:
        rng.shuffle(x)
        return (
            rng.permutation(x.reshape(2, 2)),
            rng.normal(size=3),
            rng.integers(0, 9, 3, dtype="u2"),
            rng.choice(x, 2),
        )

    compiled = tl.compile(draw)
    mine, its = np.random.Generator(kind(3)), np.random.Generator(kind(3))
    a, b = np.arange(4.0), np.arange(4.0)
    for _ in range(2):
        for found, expected in zip(compiled(its, b), draw(mine, a), strict=True):
            np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(b, a)
    assert repr(its.bit_generator.state) == repr(mine.bit_generator.state)


def test_tracing_draws_nothing_and_dead_draws_are_kept() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    compiled = tl.compile(lambda rng: (rng.normal(), rng.gamma(0.5, size=3), 1)[2])
    compiled.graph(rng)
    assert rng.bit_generator.state == before
    assert compiled(rng) == 1
    other = np.random.default_rng(0)
    other.normal()
    other.gamma(0.5, size=3)
    assert rng.bit_generator.state == other.bit_generator.state


def test_another_generator_is_no_retrace() -> None:
    compiled = tl.compile(lambda rng: rng.normal(size=2))
    for seed in range(4):
        np.testing.assert_array_equal(
            compiled(np.random.default_rng(seed)), np.random.default_rng(seed).normal(size=2)
        )
    assert compiled.stats.traces == 1


def writes(rng: Any, x: Any, m: Any) -> Any:
    rng.shuffle(x)
    rng.shuffle(m, axis=1)
    rng.shuffle(m)
    out = np.empty(3)
    rng.random(out=out)
    flipped = np.zeros((2, 3), order="F")
    result = rng.standard_normal(out=flipped)
    rng.standard_exponential(out=x[1:3])
    rng.permuted(x[:2], out=x[2:])
    single = np.zeros(2, "f4")
    rng.standard_gamma(2.0, out=single, dtype="f4")
    return out, flipped, result is flipped, single


def test_writes_into_arrays(agree: Callable[..., None]) -> None:
    agree(
        writes,
        lambda seed: (np.random.default_rng(seed), np.arange(4.0) + seed, np.arange(6.0).reshape(2, 3)),
    )


def test_the_generator_is_the_callers_and_may_be_in_a_container() -> None:
    compiled = tl.compile(lambda state: (state["rng"], state["rng"].random(2)))
    state = {"rng": np.random.default_rng(1)}
    rng, drawn = compiled(state)
    assert rng is state["rng"]
    np.testing.assert_array_equal(drawn, np.random.default_rng(1).random(2))


def interleaved(first: Any, second: Any) -> Any:
    return first.random(2), second.random(2), first.random(), second.normal()


def test_two_generators_over_one_bit_generator_draw_in_order() -> None:
    def shared(seed: int) -> tuple[Any, Any]:
        bits = np.random.PCG64(seed)
        return np.random.Generator(bits), np.random.Generator(bits)

    compiled = tl.compile(interleaved)
    for make in (shared, lambda seed: (np.random.default_rng(seed), np.random.default_rng(seed + 9)), shared):
        for found, expected in zip(compiled(*make(5)), interleaved(*make(5)), strict=True):
            np.testing.assert_array_equal(found, expected)
    assert compiled.stats.traces == 2
    same = np.random.default_rng(5)
    np.testing.assert_array_equal(compiled(same, same)[1], interleaved(*shared(5))[1])


def test_which_generators_are_one_is_known() -> None:
    """One generator twice is one object; two over one state are two that draw in order."""
    bits = np.random.PCG64(5)
    one, other = np.random.Generator(bits), np.random.Generator(bits)
    compiled = tl.compile(lambda a, b, c: (a is b, b is c, a is c))
    for arguments in ((one, one, one), (one, other, other), (one, one, other), (one, other, one)):
        a, b, c = arguments
        for _ in range(4):
            assert compiled(*arguments) == (a is b, b is c, a is c)
    for a, b in ((one, one), (one, other)):
        first, second = tl.compile(lambda a, b: (b, a))(a, b)
        assert (first is b, second is a) == (True, True)


@pytest.mark.parametrize("make", [np.random.RandomState, lambda seed: {"rng": np.random.RandomState(seed)}])
def test_a_random_state_that_is_an_argument_is_refused_with_the_cure(make: Any) -> None:
    def program(rng: Any, size: Any) -> Any:
        return (rng["rng"] if isinstance(rng, dict) else rng).normal(size=size)

    for size in (None, 1, 2):
        rng = make(0)
        with pytest.raises(tl.TapelessError, match=r"the RandomState .rng.*only an argument") as raised:
            tl.compile(program)(rng, size)
        assert "default_rng" in str(raised.value)
        np.testing.assert_array_equal(program(rng, 3), program(make(0), 3))


def test_the_size_is_static_and_parameters_are_not() -> None:
    compiled = tl.compile(lambda rng, n, scale: rng.normal(0, scale, size=(n, 2)))
    for n, scale in ((2, 1.0), (2, 5.0), (3, 1.0)):
        expected = np.random.default_rng(1).normal(0, scale, size=(n, 2))
        np.testing.assert_array_equal(compiled(np.random.default_rng(1), n, scale), expected)
    assert compiled.stats.traces == 2


def test_gradients_pass_by_draws_and_through_choices() -> None:
    @tl.compile
    def noisy(x: Any, rng: Any) -> Any:
        def loss(x: Any) -> Any:
            mask = rng.random(4) < 0.5
            return np.sum(x * mask * 3 + rng.permutation(x) ** 2)

        return tl.grad(loss)(x)

    rng = np.random.default_rng(3)
    mask = rng.random(4) < 0.5
    x = np.arange(4.0)
    np.testing.assert_allclose(noisy(x, np.random.default_rng(3)), mask * 3 + 2 * x)
    with pytest.raises(tl.TapelessError, match="scale and shift"):
        tl.grad(lambda s, rng: rng.normal(s))(1.0, np.random.default_rng(0))


def test_python_numbers_that_were_drawn_take_part_in_arithmetic() -> None:
    compiled = tl.compile(lambda rng: (rng.random() - 0.25) ** 2)
    assert compiled(np.random.default_rng(1)) == (np.random.default_rng(1).random() - 0.25) ** 2


@pytest.mark.parametrize(
    ("function", "words"),
    [
        pytest.param(lambda rng: rng.bytes(3), "rng.bytes", id="bytes"),
        pytest.param(lambda rng: rng.spawn(2), "rng.spawn", id="spawn"),
        pytest.param(lambda rng: rng.bit_generator.state, "rng.bit_generator", id="bit_generator"),
        pytest.param(lambda rng: rng.shuffle([1, 2, 3]), "rng.shuffle of a list", id="shuffle-list"),
        pytest.param(
            lambda rng: rng.integers(3, endpoint=rng.random() > 1), "traced endpoint=", id="endpoint"
        ),
        pytest.param(lambda rng: pickle.dumps(rng), "cannot be pickled", id="pickle"),
        pytest.param(lambda rng: [0] * rng.integers(3), "index", id="index"),
        pytest.param(lambda rng: "ab" if rng.random() > 0.5 else "c", "True or False", id="branch"),
    ],
)
def test_what_a_traced_generator_refuses(function: Any, words: str) -> None:
    with pytest.raises((tl.TapelessError, TypeError), match=words):
        tl.compile(lambda rng: (function(rng), 1))(np.random.default_rng(0))


def test_numpys_own_errors_for_parameters() -> None:
    with pytest.raises(AttributeError, match="no attribute 'normals'"):
        tl.compile(lambda rng: rng.normals())(np.random.default_rng(0))
    with pytest.raises(TypeError, match="got an unexpected keyword argument"):
        tl.compile(lambda rng: rng.normal(mean=1))(np.random.default_rng(0))
    with pytest.raises(ValueError, match="scale < 0"):
        tl.compile(lambda rng: rng.normal(0, -1.0))(np.random.default_rng(0))
    with pytest.raises(ValueError, match="read-only"):
        tl.compile(lambda rng, x: rng.shuffle(x))(np.random.default_rng(0), np.broadcast_to(1.0, 3))


def test_shuffling_a_closed_over_array_is_refused() -> None:
    with pytest.raises(ClosureWriteError):
        tl.compile(lambda rng: rng.shuffle(FORTRAN))(np.random.default_rng(0))


# ---- generators that are no arguments


class Holder:
    def __init__(self) -> None:
        self.rng = np.random.default_rng(4)


HOLDER = Holder()
LEGACY = np.random.RandomState(3)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        pytest.param(lambda x: x + ODD.normal(size=3), "the generator `ODD`", id="global"),
        pytest.param(lambda x: x + HOLDER.rng.random(), "the generator `HOLDER.rng`", id="attribute"),
        pytest.param(lambda x: x * LEGACY.rand(), "the RandomState `LEGACY`", id="RandomState"),
        pytest.param(lambda x: x * random.random(), "Python's `random`", id="random"),
        pytest.param(
            lambda x: ODD.shuffle(x.tolist() if x is None else [1, 2, 3]) or x, "`ODD`", id="shuffle"
        ),
        pytest.param(lambda x: (ODD.spawn(1), x)[1], "the generator `ODD`", id="spawn"),
    ],
)
def test_draws_from_elsewhere_are_found_and_undone(function: Any, name: str) -> None:
    states = [repr(g.bit_generator.state) for g in (ODD, HOLDER.rng)]
    python, legacy = random.getstate(), LEGACY.get_state()
    with pytest.raises(RandomStateError, match="drawn from while tracing") as raised:
        tl.compile(function)(np.ones(3))
    assert name in str(raised.value)
    assert [repr(g.bit_generator.state) for g in (ODD, HOLDER.rng)] == states
    assert random.getstate() == python
    np.testing.assert_array_equal(LEGACY.get_state()[1], legacy[1])


def test_a_traced_array_shuffled_by_a_generator_elsewhere() -> None:
    with warnings.catch_warnings(), pytest.raises(RandomStateError):
        warnings.simplefilter("ignore")
        tl.compile(lambda x: ODD.shuffle(x))(np.arange(3.0))


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: np.random.rand(3) + x, id="rand"),  # noqa: NPY002
        pytest.param(lambda x: np.random.normal(size=3) + x, id="normal"),  # noqa: NPY002
        pytest.param(lambda x: np.random.seed(0), id="seed"),  # noqa: NPY002
        pytest.param(lambda x: np.random.shuffle(x), id="shuffle"),  # noqa: NPY002
        pytest.param(lambda x: np.random.default_rng().normal() + x, id="unseeded"),
        pytest.param(lambda x: np.random.default_rng(None).normal() + x, id="unseeded-None"),
        pytest.param(lambda x: np.random.Generator(np.random.PCG64()).normal() + x, id="unseeded-bits"),
        pytest.param(lambda x: np.random.RandomState().rand() + x, id="unseeded-RandomState"),
        pytest.param(lambda x: np.random.default_rng(x[0].astype(int)).normal() + x, id="traced-seed"),
        pytest.param(lambda x: np.random.default_rng(0).permutation(x), id="permutes-traced"),
        pytest.param(lambda x: np.random.default_rng(0).normal(x), id="traced-parameter"),
    ],
)
def test_other_ways_to_draw_are_refused(function: Any) -> None:
    with pytest.raises(RandomStateError):
        tl.compile(lambda x: (function(x), x))(np.ones(3))


def seeded(x: Any) -> Any:
    rng = np.random.default_rng(7)
    out = np.zeros(3)
    rng.random(out=out)
    order = np.arange(3)
    rng.shuffle(order)
    scale = rng.random()
    if rng.random() < 2 and isinstance(rng, np.random.Generator):
        x = x * scale
    child = rng.spawn(1)[0]
    return x + rng.normal(size=3), out, order, child.random(2), np.random.default_rng(rng).random()


def test_a_seeded_generator_draws_constants(agree: Callable[..., None]) -> None:
    agree(seeded, lambda seed: (np.arange(3.0) + seed,))


def test_an_integer_seed_that_is_an_argument_is_static() -> None:
    compiled = tl.compile(lambda x, seed: x + np.random.default_rng(seed).normal(size=3))
    for seed in (1, 2, 1):
        expected = np.ones(3) + np.random.default_rng(seed).normal(size=3)
        np.testing.assert_array_equal(compiled(np.ones(3), seed), expected)
    assert compiled.stats.traces == 2


def test_default_rng_of_the_argument_is_the_argument() -> None:
    compiled = tl.compile(lambda rng: np.random.default_rng(rng).random(2))
    np.testing.assert_array_equal(compiled(np.random.default_rng(1)), np.random.default_rng(1).random(2))


def test_a_draw_in_another_thread_is_no_alarm_twice() -> None:
    drawn = threading.Event()

    def once(x: Any) -> Any:
        if not drawn.is_set():
            drawn.set()
            thread = threading.Thread(target=lambda: ODD.random())
            thread.start()
            thread.join()
        return x + (0 if ODD is None else 1)

    np.testing.assert_array_equal(tl.compile(once)(np.ones(3)), np.full(3, 2.0))


class Layer:
    rng: Any = None


def test_a_seeded_generator_that_is_kept_is_a_generator() -> None:
    layer = Layer()

    def once(x: Any) -> Any:
        if layer.rng is None:
            layer.rng = np.random.default_rng(5)
        return x + layer.rng.normal()

    assert tl.compile(once)(1.0) == 1.0 + np.random.default_rng(5).normal()
    assert type(layer.rng) is np.random.Generator
    with pytest.raises(RandomStateError, match=r"the generator `layer\.rng`"):
        tl.compile(once)(1.0)
