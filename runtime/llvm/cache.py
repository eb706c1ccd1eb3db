"""Object code kept on disk, so that the next process does not generate it again.

An entry's name is the hash of all that decides the code: the LLVM text, the versions, the CPU, the code
generation level. Texts name outside functions and hold no address. An entry is written under another name
and then renamed, and carries the hash of its code: one that is cut short or foreign is written anew. The
folder is the user's own (mode 0700): code that somebody else could write there is never loaded.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path

from . import engine

MOST_BYTES = 256 << 20
_MAGIC = b"tapeless object 1\n"
_HEAD = len(_MAGIC) + 32
_STALE_SECONDS = 3600.0

_lock = threading.Lock()
_warned: set[str] = set()
# Bytes in each folder as far as this process knows; counted when it first writes there.
_known: dict[Path, int] = {}


class CacheWarning(UserWarning):
    """The folder for object code cannot be used; code is generated anew in each process."""


def folder() -> Path | None:
    """The folder for object code: TAPELESS_CACHE_DIR, else tapeless/objects in XDG_CACHE_HOME or ~/.cache.

    None where TAPELESS_CACHE_DIR is empty or "off", and where there is no home.
    """
    asked = os.environ.get("TAPELESS_CACHE_DIR")
    if asked is not None:
        return None if asked.strip().lower() in ("", "off") else Path(asked).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(base):
        return Path(base, "tapeless", "objects")
    try:
        return Path.home() / ".cache" / "tapeless" / "objects"
    except RuntimeError:
        return None


def size(path: Path) -> tuple[int, int]:
    """How many entries a folder holds, and their bytes."""
    found = [nbytes for _, nbytes, name in _entries(path) if name.endswith(".o")]
    return len(found), sum(found)


def object_code(text: str, level: int) -> bytes:
    """The object file of a module: see `object_codes`."""
    return object_codes([(text, level)])[0]


def object_codes(modules: Sequence[tuple[str, int]]) -> list[bytes]:
    """The object files of modules, as (text, level), in the same order.

    They come from the folder if they are there; the others are generated together and put there.
    """
    place = _usable_folder()
    if place is None:
        return engine.object_codes(modules)
    entries = [place / f"{_key(text, level)}.o" for text, level in modules]
    codes = [_read(entry) for entry in entries]
    missing = [number for number, code in enumerate(codes) if code is None]
    for number, code in zip(missing, engine.object_codes([modules[n] for n in missing]), strict=True):
        _write(place, entries[number], code)
        codes[number] = code
    return [code for code in codes if code is not None]


Part = tuple[Sequence[tuple[str, int]], Callable[[list[bytes]], None]]


def load_together(parts: Sequence[Part]) -> None:
    """Have the modules of several parts generated together, and each part load its own."""
    codes = iter(object_codes([module for modules, _ in parts for module in modules]))
    for modules, load in parts:
        load([next(codes) for _ in modules])


@lru_cache(maxsize=8)
def _platform(level: int) -> bytes:
    """What decides the code beside the text."""
    return repr((_MAGIC, engine.versions(), engine.host(), level)).encode()


def _key(text: str, level: int) -> str:
    return hashlib.sha256(_platform(level) + b"\0" + text.encode()).hexdigest()


def _usable_folder() -> Path | None:
    """The folder, made if it is missing; None, with a warning once, where it is not the user's alone."""
    place = folder()
    if place is None:
        return None
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.mkdir(mode=0o700, exist_ok=True)
        wrong = what_is_wrong(place)
    except OSError as error:
        wrong = f"it cannot be made ({error.strerror})"
    if not wrong:
        return place
    _warn(place, wrong)
    return None


def what_is_wrong(place: Path) -> str:
    """Why a folder is not used; empty where it is the user's alone."""
    found = os.lstat(place)
    if not stat.S_ISDIR(found.st_mode):
        return "it is no folder"
    if os.name != "posix":
        return ""
    if found.st_uid != os.geteuid():
        return f"it belongs to another user (number {found.st_uid})"
    if stat.S_IMODE(found.st_mode) & 0o077:
        return f"others may use it (mode {stat.S_IMODE(found.st_mode):o}); chmod 700 makes it yours alone"
    return ""


def _warn(place: Path, wrong: str) -> None:
    with _lock:
        if str(place) in _warned:
            return
        _warned.add(str(place))
    warnings.warn(
        f"the folder for compiled code, {place}, is not used: {wrong}. Code is generated anew in each "
        "process. TAPELESS_CACHE_DIR names another folder; TAPELESS_CACHE_DIR=off asks for none.",
        CacheWarning,
        stacklevel=2,
    )


def _read(entry: Path) -> bytes | None:
    """The code of an entry, marked as used; None where it is missing or is not what was written."""
    try:
        data = entry.read_bytes()
    except OSError:
        return None
    code = data[_HEAD:]
    if data[: len(_MAGIC)] != _MAGIC or hashlib.sha256(code).digest() != data[len(_MAGIC) : _HEAD]:
        return None
    with contextlib.suppress(OSError):
        os.utime(entry)
    return code


def _write(place: Path, entry: Path, code: bytes) -> None:
    """Put an entry into the folder whole; where that fails there is none, and a warning once."""
    data = _MAGIC + hashlib.sha256(code).digest() + code
    draft = place / f".{entry.stem}.{os.getpid()}.{threading.get_ident()}"
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        os.replace(draft, entry)
    except OSError as error:
        draft.unlink(missing_ok=True)
        _warn(place, f"it cannot be written ({error.strerror})")
        return
    with _lock:
        if place in _known:
            _known[place] += len(data)
        else:
            _known[place] = size(place)[1]
        if _known[place] > MOST_BYTES:
            _known[place] = _shrink(place)


def _entries(place: Path) -> list[tuple[float, int, str]]:
    """(last use, bytes, name) of each file."""
    found = []
    try:
        with os.scandir(place) as files:
            for file in files:
                try:
                    status = file.stat(follow_symlinks=False)
                except OSError:
                    continue
                found.append((status.st_mtime, status.st_size, file.name))
    except OSError:
        pass
    return found


def _shrink(place: Path) -> int:
    """Remove the entries that were not used for longest, down to three quarters; the bytes left."""
    entries = sorted(_entries(place))
    left = sum(nbytes for _, nbytes, _ in entries)
    for used, nbytes, name in entries:
        stale = name.startswith(".") and used < time.time() - _STALE_SECONDS
        if not stale and (left <= MOST_BYTES * 3 // 4 or not name.endswith(".o")):
            continue
        try:
            os.unlink(place / name)
        except OSError:
            continue
        left -= nbytes
    return left
