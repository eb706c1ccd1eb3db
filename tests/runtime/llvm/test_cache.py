"""The folder of object code: what is found there is what would be generated, and only one's own is used."""

import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

import tapeless as tl
from tapeless.runtime.llvm import cache, engine

TEXT = "define i64 @f{n}(i64 %x) {{\n  %y = add i64 %x, {n}\n  ret i64 %y\n}}\n"
posix = pytest.mark.skipif(os.name != "posix", reason="modes and owners of files are POSIX'")


def text(n: int) -> str:
    return TEXT.format(n=n)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TAPELESS_CACHE_DIR", str(tmp_path / "objects"))
    cache._warned.clear()
    cache._known.clear()
    return tmp_path / "objects"


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that code was generated for."""
    made: list[str] = []
    original = engine.object_codes

    def counted(modules: Sequence[tuple[str, int]]) -> list[bytes]:
        made.extend(text for text, _ in modules)
        return original(modules)

    monkeypatch.setattr(engine, "object_codes", counted)
    return made


def entry(place: Path) -> Path:
    (found,) = place.glob("*.o")
    return found


def test_code_is_generated_once(place: Path, generated: list[str]) -> None:
    first = cache.object_code(text(1), 1)
    assert cache.object_code(text(1), 1) == first
    assert generated == [text(1)]
    assert cache.size(place) == (1, entry(place).stat().st_size)


def test_what_is_missing_is_generated_and_put_in_order(place: Path, generated: list[str]) -> None:
    wanted = [engine.object_code(text(n), 0) for n in range(5)]
    generated.clear()
    cache.object_codes([(text(1), 0), (text(3), 0)])
    assert cache.object_codes([(text(n), 0) for n in range(5)]) == wanted
    assert generated == [text(n) for n in (1, 3, 0, 2, 4)]
    assert cache.object_codes([]) == []


def test_parts_are_given_their_own_codes(place: Path) -> None:
    got: dict[str, list[bytes]] = {}
    parts: list[cache.Part] = [
        ([(text(1), 0), (text(2), 1)], lambda codes: got.update(first=codes)),
        ([], lambda codes: got.update(none=codes)),
        ([(text(3), 0)], lambda codes: got.update(last=codes)),
    ]
    cache.load_together(parts)
    one, two, three = (
        cache.object_code(text(1), 0),
        cache.object_code(text(2), 1),
        cache.object_code(text(3), 0),
    )
    assert got == {"first": [one, two], "none": [], "last": [three]}


def test_the_text_and_the_level_are_the_key(place: Path, generated: list[str]) -> None:
    for n, level in ((1, 0), (1, 1), (2, 0), (1, 0)):
        cache.object_code(text(n), level)
    assert generated == [text(1), text(1), text(2)]


@pytest.mark.parametrize("fact", ["versions", "host"])
def test_versions_and_the_cpu_are_part_of_the_key(
    fact: str, place: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.object_code(text(1), 1)
    cache._platform.cache_clear()
    monkeypatch.setattr(engine, fact, lambda: ("another", ""))
    try:
        monkeypatch.setattr(engine, "object_codes", lambda modules: [b"else"])
        assert cache.object_code(text(1), 1) == b"else"
    finally:
        cache._platform.cache_clear()


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut-short": lambda data: data[:-1],
    "cut-in-the-head": lambda data: data[:10],
    "a-bit-turned": lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
    "foreign": lambda data: b"\x7fELF" + data,
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_entry_is_written_anew(
    damage: Callable[[bytes], bytes], place: Path, generated: list[str]
) -> None:
    code = cache.object_code(text(1), 1)
    whole = entry(place).read_bytes()
    entry(place).write_bytes(damage(whole))
    assert cache.object_code(text(1), 1) == code
    assert entry(place).read_bytes() == whole
    assert len(generated) == 2


@posix
def test_the_folder_and_its_files_are_the_users_alone(place: Path) -> None:
    old = os.umask(0)
    try:
        cache.object_code(text(1), 1)
    finally:
        os.umask(old)
    assert place.stat().st_mode & 0o777 == 0o700
    assert entry(place).stat().st_mode & 0o777 == 0o600


def _others(place: Path) -> None:
    place.mkdir()
    place.chmod(0o770)


def _a_link(place: Path) -> None:
    (place.parent / "elsewhere").mkdir(mode=0o700)
    place.symlink_to(place.parent / "elsewhere")


def _a_file(place: Path) -> None:
    place.write_text("")


@posix
@pytest.mark.parametrize(
    ("make", "said"),
    [(_others, "others may use it"), (_a_link, "it is no folder"), (_a_file, "it cannot be made")],
    ids=["others", "link", "file"],
)
def test_an_unsafe_folder_is_refused_with_one_warning(
    make: Callable[[Path], None], said: str, place: Path, generated: list[str]
) -> None:
    make(place)
    with pytest.warns(cache.CacheWarning, match=said):
        cache.object_code(text(1), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cache.object_code(text(1), 1)
    assert len(generated) == 2
    assert not list(place.parent.rglob("*.o"))


@posix
def test_a_folder_of_another_user_is_refused(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.object_code(text(1), 1)
    monkeypatch.setattr(os, "geteuid", lambda: place.stat().st_uid + 1)
    with pytest.warns(cache.CacheWarning, match="another user"):
        cache.object_code(text(1), 1)


@pytest.mark.parametrize("asked", ["", "off", "OFF"])
def test_no_folder_is_asked_for(
    asked: str, place: Path, generated: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAPELESS_CACHE_DIR", asked)
    assert cache.folder() is None
    cache.object_code(text(1), 1)
    cache.object_code(text(1), 1)
    assert len(generated) == 2
    assert not place.exists()


def test_the_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TAPELESS_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "tapeless" / "objects"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.folder() == tmp_path / "home" / ".cache" / "tapeless" / "objects"


def test_what_was_not_used_for_longest_makes_room(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.object_code(text(0), 0)
    nbytes = entry(place).stat().st_size
    monkeypatch.setattr(cache, "MOST_BYTES", 9 * nbytes)
    for n in range(1, 9):
        cache.object_code(text(n), 0)
    for age, found in enumerate(sorted(place.glob("*.o"), key=lambda f: f.stat().st_mtime_ns)):
        os.utime(found, (age, age))
    cache.object_code(text(0), 0)  # used again, so it stays
    for n in range(9, 12):
        cache.object_code(text(n), 0)
    assert cache.size(place)[1] <= 9 * nbytes
    kept = {found.name for found in place.glob("*.o")}
    assert f"{cache._key(text(0), 0)}.o" in kept
    assert f"{cache._key(text(11), 0)}.o" in kept
    assert f"{cache._key(text(1), 0)}.o" not in kept


def test_threads_write_and_read_at_once(place: Path) -> None:
    wanted = {n: engine.object_code(text(n), 0) for n in range(4)}
    wrong: list[int] = []

    def work() -> None:
        for n in [*range(4)] * 25:
            if cache.object_code(text(n), 0) != wanted[n]:
                wrong.append(n)
            for found in place.glob("*1.o"):
                found.unlink(missing_ok=True)

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong
    assert not list(place.glob(".*"))


ROUNDS = """
import ctypes, sys
from pathlib import Path
from tapeless.runtime.llvm import cache, engine
place = Path(sys.argv[1])
for n in range(100):
    text = f"define i64 @f(i64 %x) {{\\n  %y = add i64 %x, {n}\\n  ret i64 %y\\n}}\\n"
    library = engine.Library([cache.object_code(text, 0)], {})
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library.address("f"))(1) == n + 1
print("done")
"""


def test_two_processes_at_once_over_a_hundred_rounds(place: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", ROUNDS, str(place)]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for process in running:
        out, err = process.communicate(timeout=100)
        assert (process.returncode, out.strip(), err) == (0, b"done", b"")
    assert cache.size(place)[0] == 100
    assert not list(place.glob(".*"))


STEP = """
import numpy as np, tapeless as tl
from tapeless.runtime.llvm import engine
import sys
made = []
original = engine.object_codes
engine.object_codes = lambda modules: made.extend(modules) or original(modules)
def f(x, y):
    h = np.tanh(x @ y)
    return (h * h).sum(axis=0), np.exp(h).sum()
f = tl.compile(f, executor="native")
a, b = f(np.arange(48.0).reshape(6, 8) / 48, np.arange(32.0).reshape(8, 4) / 32)
print(len(made), a.tobytes().hex(), float(b).hex())
"""


def test_the_next_process_generates_nothing(place: Path) -> None:
    """Products, the walker and kernels are found again although addresses differ."""
    outs = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", STEP], capture_output=True, text=True, timeout=100
        )
        assert not done.stderr
        outs.append(done.stdout.split())
    assert int(outs[0][0]) >= 2
    assert outs[1] == ["0", *outs[0][1:]]


def test_a_compiled_function_works_from_the_folder(place: Path, generated: list[str]) -> None:
    x = np.linspace(0, 1, 33)
    results = []
    for _ in range(2):
        results.append(tl.compile(lambda x: np.sqrt(x) * 3 + x.sum(), executor="native")(x))
    assert len([text for text in generated if "kernel0" in text]) == 1
    assert np.array_equal(*results)
