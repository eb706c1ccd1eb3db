"""examples/mnist.py from end to end, on a small made-up data set in idx files."""

import re
import struct
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of idx files whose ten classes are ten noisy patterns."""
    rng = np.random.default_rng(5)
    patterns = rng.integers(0, 200, (10, 28, 28)) * (rng.random((10, 28, 28)) < 0.2)
    for name, count in (("train", 720), ("t10k", 120)):
        labels = rng.integers(0, 10, count)
        images = patterns[labels] + rng.integers(0, 20, (count, 28, 28))
        for kind, values in (("images-idx3", images), ("labels-idx1", labels)):
            head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
            (tmp_path / f"{name}-{kind}-ubyte").write_bytes(head + values.astype(np.uint8).tobytes())
    return tmp_path


def test_the_example_learns_reports_and_draws(
    example: ModuleType, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "drawings"
    # Where a floating-point error may raise, writes to arguments wait in memory of their own: not here.
    with np.errstate(all="ignore"):
        assert example.main(["--data", str(folder), "--epochs", "3", "--batch", "50", "--out", str(out)]) == 0
    told = capsys.readouterr().out
    losses = [float(found) for found in re.findall(r"epoch +\d+  loss ([\d.]+)  test accuracy", told)]
    assert len(losses) == 3
    assert losses == sorted(losses, reverse=True)
    assert "test accuracy 100.00%" in told
    assert re.search(r"step time +\d+ µs, median of 12\n", told)
    memory = re.search(r"peak memory +(\d+) kB predicted, (\d+) kB measured\n", told)
    assert memory is not None
    predicted, measured = (1000 * int(found) for found in memory.groups())
    # No plan counts NumPy's iteration buffers: so many elements for each of up to three operands. One more
    # copy of the larger weights would be four times that.
    buffers = 3 * np.getbufsize() * np.dtype(np.float32).itemsize
    assert predicted <= measured <= predicted + buffers
    assert (out / "mnist_step.svg").read_text(encoding="utf-8").count("<svg") == 1


def test_the_step_returns_the_plain_loss_and_moves_as_the_one_by_hand(
    example: ModuleType, by_hand: ModuleType
) -> None:
    rng = np.random.default_rng(6)
    params, x, y = example.initial_params(rng), rng.random((8, 784), np.float32), rng.integers(0, 10, 8)
    other = {name: value.copy() for name, value in params.items()}
    before = example.loss(params, x, y)
    value = example.train_step(params, x, y)
    assert value.dtype == np.float32
    np.testing.assert_allclose(value, before, rtol=1e-6)
    by_hand.make_step(other, 8, example.RATE)(x, y)
    for name, expected in other.items():
        assert params[name].dtype == np.float32
        np.testing.assert_allclose(params[name], expected, rtol=1e-5, atol=1e-6)


def test_without_images_it_says_so_and_fails(
    example: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert example.main(["--data", str(tmp_path)]) == 1
    assert "train-images-idx3-ubyte" in capsys.readouterr().out


@pytest.mark.parametrize("batch", ["0", "-1", "601"])
def test_a_batch_that_cannot_be_is_refused(
    example: ModuleType, folder: Path, batch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        example.main(["--data", str(folder), "--batch", batch])
    assert "--batch must be between 1 and 600" in capsys.readouterr().err
