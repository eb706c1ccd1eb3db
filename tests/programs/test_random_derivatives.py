"""Random programs of smooth functions, views and writes: derivatives against complex steps and differences.

Programs of analytic functions run on complex numbers in plain NumPy, which gives derivatives to rounding
error; the others are held against central differences of two widths, and are let go where these disagree (a
kink is near). Checked are the gradient in both executors, jvp against vjp, and the second derivative against
differences of the gradient.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, note, settings
from hypothesis import strategies as st

import tapeless as tl


def pieces(text: str) -> list[str]:
    """What stands between semicolons and line ends."""
    return [piece.strip() for piece in text.replace("\n", ";").split(";") if piece.strip()]


# Gaps: {p} {q} vectors, {m} {k} matrices, {s} a number. `mask` is a constant mask.
VECTORS = pieces("""
    {p} + {q}; {p} * {q}; {p} - {q}; {p} / (2 + {q} * {q}); np.sin({p}); np.exp(0.3 * {p})
    np.tanh(0.4 * {p}); np.sqrt(3 + {p} ** 2); np.log(4 + {p} * {q}); 0.3 * {p} ** 3; {m} @ {p}; {p} @ {m}
    {m}[1]; {m}[:, 2]; {m}.sum(0); {m}.mean(1); np.diagonal({m}); {p}[::-1]; {p}[[2, 0, 0]]; np.cumsum({p})
    np.cumprod({p}); np.roll({p}, 1); np.concatenate([{p}[1:], {q}[:1]]); np.where(mask, {p}, {q})
    {p} * {s}; np.take({p}, [0, 2, 1]); {p}.copy(); np.linalg.solve({m} @ {m}.T + 3 * np.eye(3), {p})
    np.einsum('ij,j->i', {m}, {p}); np.prod({m}, 0); {m}.reshape(-1)[::4]; np.convolve({p}, {q}, 'same')
    2.0 - {p}; {s} / (3 + {p} ** 2); np.einsum('ii->i', {m}); np.mean({m} ** 2, 0); np.full(3, {s}) * {p}
    np.array([{s}, {p}[0], 1.0]); np.stack([{p}, {q}])[1]; -{p}; np.square({p}); np.sinh({p})
""")
MATRICES = pieces("""
    {m} + {k}; {m} * {p}; {m} @ {k}; {m}.T; np.outer({p}, {q}); {p}[:, None] * {q}; {m}[::-1]; np.tril({m})
    np.linalg.inv({m} @ {m}.T + 3 * np.eye(3)); np.stack([{p}, {q}, {p}]); np.exp(-0.2 * {m})
    {m}.reshape(-1).reshape(3, 3); np.diag({p}); np.broadcast_to({p}, (3, 3))
    np.einsum('ij,kj->ik', {m}, {k}); {m}[[0, 2, 2]]; {m} - {s}; {m}.copy(); np.tensordot({m}, {k}, (0, 1))
    np.roll({m}, 1, 1); np.cumsum({m}, 1); {m} / (5 + {k} ** 2); np.add.outer({p}, {q})
""")
NUMBERS = pieces("""
    {p} @ {q}; np.trace({m}); np.sum({p}); 0.1 * np.linalg.det({m}); {p}[1]; {m}[0, 2]; np.mean({m})
    np.prod({p}); np.sum({m} * {k}); {p}[{p}.size - 1] * {s}; np.sum({p}[mask]); np.dot({p}, {q})
""")
WRITES = pieces("""
    {p}[0] = {s}; {p}[1:] += {q}[:2]; {p} *= {q}; {m}[1] = {p}; {m}[:, 0] -= {p}; {m}.T[0] *= {s}
    {p}[...] = {q}; {p}[[0, 1]] = {q}[1:]; {p}[mask] = {s}; {p}[mask] *= 2; np.add({p}, {q}, out={p})
    np.add.at({p}, [0, 0, 2], {q}); np.multiply({m}, {p}, out={m}); {p}, {q} = {q}, {p}
    np.copyto({p}, {q}, where=mask); np.fill_diagonal({m}, {s}); {m}.flat[::4] = {p}; {p}[::-1] = {q}
    np.put({p}, [2], {s}); box['w'] = {p}; box['w'] *= {q}; {p} += box['w']; np.cumsum({p}, out={p})
    {m}[1:, :2] = {k}[:2, 1:]; {m} -= {k}.T; {m}[{m}.shape[0] - 1] /= 2 + {q} ** 2
    {p}[0], {p}[1] = {p}[1], {p}[0]; {m}.reshape(-1)[2] = {s}; np.sin({p}, out={q}); {m}[[0, 1]] += {p}
""")
SMOOTH = pieces("""
    np.abs({p}); np.maximum({p}, {q}); np.sort({p}); np.clip({p}, -0.5, 0.7)
    np.where({p} > 0.1, {p} ** 2, {q}); np.linalg.norm({m}, axis=1); np.std({m}, 1); np.hypot({p}, {q})
    np.arctan2({p}, 2 + {q}); {m}.max(0); np.sqrt(0.1 + np.abs({p})); np.logaddexp({p}, {q})
    np.linalg.eigvalsh({m} + {m}.T); np.median({m}, 0); np.cbrt({p}); np.linalg.svd({m}, compute_uv=False)
    np.linalg.slogdet({m} @ {m}.T + np.eye(3))[1] * {p}; np.log1p(np.exp({p})); np.cov({m})[1]
    np.minimum.accumulate({p}); np.sum({p}[{p} > 0]) * {q}
    np.interp({p}, [-1.0, 0.2, 1.0], [0.0, 1.0, 3.0]); np.fmin({p}, 0.2)
    np.linalg.cholesky({m} @ {m}.T + np.eye(3))[2]; np.abs(np.fft.fft({p})); np.linalg.norm({p}) * {q}
    np.ptp({m}, 1); np.var({m}, 0)
""")
PARAMETERS = ["v", "w", "a", "box"]
SCOPE: dict[str, Any] = {"np": np, "mask": np.array([True, False, True])}


def make(seed: int) -> list[Any]:
    """The arguments v, w, a and box."""
    rng = np.random.default_rng([seed, 5])
    return [rng.normal(size=3), rng.normal(size=3), rng.normal(size=(3, 3)), {"w": rng.normal(size=3)}]


class Program:
    """A program as it is drawn: each statement is kept if all of it runs and its numbers stay small."""

    def __init__(self, draw: Callable[[Any], Any], analytic: bool) -> None:
        self.draw = draw
        self.tables = [VECTORS, MATRICES, NUMBERS, WRITES, WRITES, *([] if analytic else [SMOOTH, SMOOTH])]
        self.lines = ["v, w, a = v * 1, w * 1, a * 1"] if draw(st.booleans()) else []
        self.live = self.run(self.lines)

    def run(self, lines: list[str]) -> dict[str, Any]:
        """What the names hold after these lines."""
        live = dict(zip(PARAMETERS, make(0), strict=True))
        with np.errstate(all="ignore"):
            exec("\n".join(lines), dict(SCOPE), live)
        return live

    def names(self, shape: tuple[int, ...]) -> list[str]:
        return [
            k for k, x in self.live.items() if isinstance(x, (np.ndarray, np.generic)) and x.shape == shape
        ]

    def grow(self) -> None:
        """Try one more statement."""
        table = self.draw(st.sampled_from(self.tables))
        text = self.draw(st.sampled_from(table))
        vectors, matrices, numbers = self.names((3,)), self.names((3, 3)), [*self.names(()), "0.7"]
        gaps = {"p": vectors, "q": vectors, "m": matrices, "k": matrices, "s": numbers}
        line = text.format_map({k: self.draw(st.sampled_from(names)) for k, names in gaps.items()})
        lines = [*self.lines, line if table is WRITES else f"t{len(self.lines)} = {line}"]
        try:
            live = self.run(lines)
        except (ValueError, TypeError, IndexError, np.linalg.LinAlgError):
            return
        if all(np.all(np.abs(x) < 30) for k, x in live.items() if k != "box"):
            self.lines, self.live = lines, live

    def finish(self) -> "Program":
        """The program returns a number made of the newest names."""
        names = [k for k in self.live if k != "box"]
        chosen = self.draw(st.lists(st.sampled_from(names[-4:]), min_size=1, max_size=3))
        total = " + ".join(f"np.sum(np.sin({name} * 0.7))" for name in [*chosen, "box['w']"])
        body = "".join(f"    {line}\n" for line in self.lines)
        self.text = f"def program({', '.join(PARAMETERS)}):\n{body}    return {total}\n"
        scope: dict[str, Any] = dict(SCOPE)
        exec(self.text, scope)
        self.function = scope["program"]
        return self


@st.composite
def programs(draw: Callable[[Any], Any], length: int, analytic: bool) -> Program:
    """Programs of up to so many statements."""
    program = Program(draw, analytic)
    for _ in range(draw(st.integers(1, length))):
        program.grow()
    return program.finish()


# ---- derivatives without Tapeless


def flat(arguments: list[Any]) -> Any:
    """All numbers of the arguments as one vector."""
    v, w, a, box = arguments
    return np.concatenate([v, w, a.ravel(), box["w"]])


def unflat(numbers: Any) -> list[Any]:
    """The arguments that hold these numbers."""
    v, w, a, b = np.split(np.array(numbers), [3, 6, 15])
    return [v, w, a.reshape(3, 3), {"w": b}]


def complex_steps(function: Callable[..., Any], at: Any) -> Any:
    """The gradient of an analytic function to rounding error: Im f(x + ih) / h."""
    step = 1e-30j * np.eye(len(at))
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return np.array([np.imag(function(*unflat(at + row))) / 1e-30 for row in step])


def differences(function: Callable[[Any], Any], at: Any, width: float) -> Any:
    """Central differences of fourth order by each number; shape (numbers, *result)."""
    rows = width * np.eye(len(at))
    return np.array(
        [
            (8 * (function(at + r) - function(at - r)) - (function(at + 2 * r) - function(at - 2 * r)))
            / (12 * width)
            for r in rows
        ]
    )


def scale(*arrays: Any) -> float:
    return max(1.0, *(float(np.max(np.abs(a), initial=0)) for a in arrays))


# ---- what is held against them


def gradients(program: Program, **options: Any) -> Any:
    """Gradients by all arguments as one vector; the program changes copies."""
    compiled = tl.compile(tl.grad(program.function, wrt=(0, 1, 2, 3)), **options)
    return flat(list(compiled(*make(0))))


def check_transforms(program: Program, gradient: Any, seed: int) -> None:
    """jvp agrees with the gradient, and the second derivative with differences of the gradient."""
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=gradient.size)
    _, tangent = tl.jvp(program.function, make(0), unflat(direction))
    np.testing.assert_allclose(tangent, gradient @ direction, rtol=1e-9, atol=1e-9 * scale(gradient))
    whole = lambda x: program.function(*[x[:3], x[3:6], x[6:15].reshape(3, 3), {"w": x[15:]}])  # noqa: E731
    product = tl.hvp(whole, flat(make(0)), direction)
    grad = tl.compile(tl.grad(whole))
    at, width = flat(make(0)), 1e-4
    expected = differences(lambda t: grad(at + t[0] * direction), np.zeros(1), width)[0]
    again = differences(lambda t: grad(at + t[0] * direction), np.zeros(1), width / 2)[0]
    if np.allclose(expected, again, rtol=1e-5, atol=1e-5 * scale(gradient, expected)):
        np.testing.assert_allclose(product, expected, rtol=1e-4, atol=1e-4 * scale(gradient, expected))


def expected_gradient(program: Program, analytic: bool) -> Any:
    """The gradient without Tapeless."""
    at = flat(make(0))
    if analytic:
        return complex_steps(program.function, at)
    number = lambda x: program.function(*unflat(x))  # noqa: E731
    wide, narrow = differences(number, at, 1e-4), differences(number, at, 3e-5)
    assume(np.allclose(wide, narrow, rtol=1e-6, atol=1e-6 * scale(wide)))
    return wide


def check(examples: int, length: int, analytic: bool) -> None:
    refused = []

    @settings(max_examples=examples, suppress_health_check=list(HealthCheck))
    @given(
        programs(length, analytic), st.integers(0, 9), st.sampled_from(["simplify", "cse", "canonicalize"])
    )
    def holds(program: Program, seed: int, disabled: str) -> None:
        note(program.text)
        expected, tolerance = expected_gradient(program, analytic), 1e-9 if analytic else 1e-6
        assume(np.all(np.abs(expected) < 1e4))
        try:
            for options in ({"executor": "numpy"}, {"executor": "interpret", "disabled": disabled}):
                found = gradients(program, **options)
                np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance * scale(expected))
            check_transforms(program, expected, seed)
        except tl.TapelessError as error:
            refused.append(error)

    holds()
    assert len(refused) <= examples // 20, refused


@pytest.mark.parametrize("analytic", [True, False], ids=["complex_steps", "differences"])
def test_gradients_of_random_programs(analytic: bool) -> None:
    check(examples=30, length=8, analytic=analytic)


@pytest.mark.slow
@pytest.mark.parametrize(
    "examples", [40, pytest.param(300, marks=[pytest.mark.sweep, pytest.mark.timeout(600)])]
)
@pytest.mark.parametrize("analytic", [True, False], ids=["complex_steps", "differences"])
def test_gradients_of_long_random_programs(
    analytic: bool, examples: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAPELESS_EXECUTOR", "numpy")  # native code of long programs takes long to make
    check(examples, length=16, analytic=analytic)
