"""What `profile`, `llvm` and `asm` say of a compiled function."""

import inspect
from typing import Any

import numpy as np
import pytest

import tapeless as tl


def work(x: Any, w: Any) -> Any:
    h = np.tanh(x @ w)
    s = np.sort(h, axis=0)
    w -= 0.1
    return (s * s).sum()


def made() -> tuple[np.ndarray, np.ndarray]:
    return np.linspace(0, 1, 12).reshape(4, 3), np.linspace(-1, 1, 15).reshape(3, 5)


@pytest.mark.parametrize("executor", ["numpy", "native", "interpret"])
def test_every_step_has_its_time_its_bytes_and_its_line(executor: str) -> None:
    compiled = tl.compile(work, executor=executor)
    x, w = made()
    found = compiled.profile(x, w)
    assert found.rounds >= 3
    assert all(step.seconds > 0 for step in found.steps)
    by_name = {step.what.split()[0]: step for step in found.steps}
    assert by_name["matmul"].nbytes == 8 * (12 + 15 + 20)
    assert by_name["sort"].nbytes == 8 * 40
    line = inspect.getsourcelines(work)[1]
    assert by_name["sort"].where == f"{__file__}:{line + 2}"
    assert found.seconds == pytest.approx(sum(step.seconds for step in found.steps))
    np.testing.assert_array_equal(w, made()[1])
    compiled(x, w)
    np.testing.assert_allclose(w, made()[1] - 0.1)


@pytest.mark.parametrize("executor", ["numpy", "native", "interpret"])
def test_random_numbers_are_drawn_from_copies(executor: str) -> None:
    def noisy(x: Any, rng: Any, twin: Any) -> Any:
        return x + rng.normal(size=3) + twin.random(3)

    compiled = tl.compile(noisy, executor=executor)
    bits = np.random.MT19937(7)
    rng, twin = np.random.Generator(bits), np.random.Generator(bits)
    compiled.profile(np.ones(3), rng, twin)
    assert compiled.bisect_passes(np.ones(3), rng, twin) is None
    other = np.random.Generator(np.random.MT19937(7))
    assert compiled(np.ones(3), rng, twin).tolist() == noisy(np.ones(3), other, other).tolist()


def test_the_table_shows_the_slowest_first() -> None:
    found = tl.compile(work, executor="native").profile(*made())
    head, titles, *rows = str(found).splitlines()
    assert head.startswith(f"{len(found.steps)} steps by native, ")
    assert titles.split() == ["time", "share", "bytes", "GB/s", "step", "line"]
    assert len(rows) == len(found.steps)
    slowest = max(found.steps, key=lambda step: step.seconds)
    assert f"{slowest.number} {slowest.what}" in rows[0]
    assert any("fused tanh (1 op)" in row for row in rows)


def test_a_long_plan_shows_what_is_left_in_one_row() -> None:
    def long(x: Any) -> Any:
        for _ in range(60):
            x = np.sort(x) * 2
        return x

    found = tl.compile(long, executor="numpy").profile(np.ones(3))
    assert str(found).splitlines()[-1].split()[-2:] == [f"{len(found.steps) - 40}", "more"]


def test_steps_of_the_gradient_are_marked() -> None:
    found = tl.compile(tl.grad(lambda x: np.sum(np.sort(x) ** 3)), executor="numpy").profile(np.ones(3))
    assert {step.backward for step in found.steps} == {True, False}
    assert "(gradient)" in str(found)


def test_static_arguments_are_profiled_as_they_are_called() -> None:
    compiled = tl.compile(lambda x, n: x * n, static=["n"], executor="native")
    assert compiled.profile(np.ones(4), 3).steps
    np.testing.assert_array_equal(compiled(np.ones(4), 3), np.full(4, 3.0))


def test_kernels_show_their_text_and_their_assembly() -> None:
    compiled = tl.compile(lambda x: np.sqrt(x) + x.sum(), executor="native")
    with pytest.raises(RuntimeError, match="not traced yet"):
        compiled.llvm
    compiled(np.ones(100))
    assert "define void @kernel0(" in compiled.llvm
    assert "llvm.sqrt" in compiled.llvm
    assert "kernel0:" in compiled.asm


def test_numpy_has_no_kernels_to_show() -> None:
    compiled = tl.compile(lambda x: x + 1, executor="numpy")
    compiled(np.ones(3))
    with pytest.raises(RuntimeError, match="executor='native' makes kernels"):
        compiled.asm
