"""Code generated on two threads: the same objects as on one, in order, with errors."""

import threading
from typing import Any

import pytest

pytest.importorskip("llvmlite")

from tapeless.runtime.llvm import engine

WRONG = "define i64 @f() {\n  ret i64 %nothing\n}\n"


def module(n: int) -> tuple[str, int]:
    """A module whose function gives a number, the work for it growing with n."""
    lines = [f"  %x{k + 1} = mul i64 %x{k}, {k + 3}" for k in range(40 * n)]
    body = "\n".join(["  %x0 = add i64 %a, 0", *lines, f"  ret i64 %x{40 * n}"])
    return f"define i64 @f{n}(i64 %a) {{\n{body}\n}}\n", n % 2


MODULES = [module(n) for n in (3, 1, 7, 2, 5, 4)]


@pytest.fixture
def threads_of(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The names of the threads that generate code; two may."""
    seen: set[str] = set()
    generate = engine._generate

    def watched(*args: Any) -> bytes:
        seen.add(threading.current_thread().name)
        return generate(*args)

    monkeypatch.setattr(engine, "_generate", watched)
    monkeypatch.setattr(engine, "_cpus", lambda: 2)
    return seen


def test_two_threads_make_what_one_makes(threads_of: set[str], monkeypatch: pytest.MonkeyPatch) -> None:
    together = [engine.object_codes(MODULES) for _ in range(20)]
    assert "tapeless-generator" in threads_of
    threads_of.clear()
    monkeypatch.setattr(engine, "_cpus", lambda: 1)
    alone = engine.object_codes(MODULES)
    assert threads_of == {threading.current_thread().name}
    assert all(codes == alone for codes in together)


def test_without_the_short_cut_one_thread_does_it(
    threads_of: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = engine.object_codes(MODULES)
    threads_of.clear()
    monkeypatch.setattr(engine, "_unlocked", lambda: None)
    assert engine.object_codes(MODULES) == wanted
    assert threads_of == {threading.current_thread().name}


def test_another_llvmlite_has_no_short_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    from llvmlite.binding import ffi

    class Library:
        _name, _handle = ffi.lib._name, ffi.lib._handle

    assert engine._unlocked() is not None
    engine._unlocked.cache_clear()
    try:
        monkeypatch.setattr(ffi, "lib", Library())
        assert engine._unlocked() is None
    finally:
        engine._unlocked.cache_clear()


@pytest.mark.parametrize("where", range(4))
def test_errors_of_either_thread_are_raised(where: int, threads_of: set[str]) -> None:
    modules = [*MODULES[:3]]
    modules.insert(where, (WRONG, 0))
    with pytest.raises(RuntimeError, match="nothing"):
        engine.object_codes(modules)
    assert len(engine.object_codes(MODULES)) == len(MODULES)


def test_threads_that_ask_at_once_all_get_theirs(threads_of: set[str]) -> None:
    wanted = engine.object_codes(MODULES)
    got: list[list[bytes]] = []
    asking = [threading.Thread(target=lambda: got.append(engine.object_codes(MODULES))) for _ in range(6)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert got == [wanted] * 6
