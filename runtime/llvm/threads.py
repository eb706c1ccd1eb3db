"""Workers that walk a plan's table beside the caller.

A worker is a Python thread inside native code. It waits for a run by spinning for some 100 µs, then sleeps
on a futex; the caller wakes it once per run. A worker that finds itself on the caller's CPU leaves that CPU,
because the kernel tends to keep it there. One run at a time has the workers, others walk alone. After a fork
the child has none and makes its own.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from typing import Any

import numpy as np

from . import blas
from .walker import SHARED, SHARED_SLOTS

_FUTEX = {"x86_64": 202, "aarch64": 98}
_SPINS = 20_000


def pause() -> tuple[str, str]:
    """What a spinning thread calls meanwhile, and its declaration."""
    if platform.machine() in ("x86_64", "AMD64"):
        return "@llvm.x86.sse2.pause()", "declare void @llvm.x86.sse2.pause()"
    return "@llvm.donothing()", "declare void @llvm.donothing()"


def supported() -> bool:
    """Whether workers can be had here: they need Linux's futex."""
    return platform.system() == "Linux" and platform.machine() in _FUTEX


def libc(name: str) -> int:
    """The address of a function of the C library."""
    found = ctypes.cast(getattr(ctypes.CDLL(None), name), ctypes.c_void_p).value
    assert found is not None
    return found


_ALONE = """
define void @start(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %threads, ptr %shared) {
  call void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 0, i64 1, ptr %shared)
  ret void
}
"""

_WITH_WORKERS = """
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i64 @syscall(i64, ...)

define void @start(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %threads, ptr %shared) {
entry:
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %single, label %together
single:
  call void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 0, i64 1, ptr %shared)
  ret void
together:
  %had = call i64 @blas_single()
  %p_table = getelementptr i64, ptr %shared, i64 {table}
  store ptr %table, ptr %p_table, align 8
  %p_steps = getelementptr i64, ptr %shared, i64 {steps}
  store i64 %steps, ptr %p_steps, align 8
  %p_arguments = getelementptr i64, ptr %shared, i64 {arguments}
  store ptr %arguments, ptr %p_arguments, align 8
  %p_bases = getelementptr i64, ptr %shared, i64 {bases}
  store ptr %bases, ptr %p_bases, align 8
  %p_threads = getelementptr i64, ptr %shared, i64 {threads}
  store i64 %threads, ptr %p_threads, align 8
  %cpu = call i32 @sched_getcpu()
  %cpuw = sext i32 %cpu to i64
  %p_cpu = getelementptr i64, ptr %shared, i64 {cpu}
  store i64 %cpuw, ptr %p_cpu, align 8
  %p_arrived = getelementptr i64, ptr %shared, i64 {arrived}
  store atomic i64 0, ptr %p_arrived release, align 8
  %p_done = getelementptr i64, ptr %shared, i64 {done}
  store atomic i64 0, ptr %p_done release, align 8
  %old = atomicrmw add ptr %shared, i64 1 seq_cst
  %p_asleep = getelementptr i64, ptr %shared, i64 {asleep}
  %asleep = load atomic i64, ptr %p_asleep seq_cst, align 8
  %sleeping = icmp ne i64 %asleep, 0
  br i1 %sleeping, label %wake, label %work
wake:
  %woken = call i64 (i64, ...) @syscall(
      i64 {futex}, ptr %shared, i64 129, i64 65536, ptr null, ptr null, i64 0)
  br label %work
work:
  call void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 0, i64 %threads, ptr %shared)
  %others = sub nsw i64 %threads, 1
  br label %wait
wait:
  %turn = phi i64 [ 0, %work ], [ %turns, %again ]
  %finished = load atomic i64, ptr %p_done acquire, align 8
  %all = icmp sge i64 %finished, %others
  br i1 %all, label %out, label %again
again:
  %turns = add nsw i64 %turn, 1
  call void @rest(i64 %turns)
  br label %wait
out:
  call void @blas_restore(i64 %had)
  ret void
}

define void @leave_cpu(i64 %cpu, ptr %allowed) {
entry:
  %mine = alloca [16 x i64], align 16
  br label %head
head:
  %k = phi i64 [ 0, %entry ], [ %next, %head ]
  %kept = phi i64 [ 0, %entry ], [ %keptnow, %head ]
  %source = getelementptr i64, ptr %allowed, i64 %k
  %bits = load i64, ptr %source, align 8
  %word = lshr i64 %cpu, 6
  %here = icmp eq i64 %word, %k
  %place = and i64 %cpu, 63
  %bit = shl i64 1, %place
  %mask = select i1 %here, i64 %bit, i64 0
  %inverse = xor i64 %mask, -1
  %left = and i64 %bits, %inverse
  %target = getelementptr i64, ptr %mine, i64 %k
  store i64 %left, ptr %target, align 8
  %keptnow = or i64 %kept, %left
  %next = add nsw i64 %k, 1
  %more = icmp slt i64 %next, 16
  br i1 %more, label %head, label %set
set:
  %any = icmp ne i64 %keptnow, 0
  br i1 %any, label %move, label %out
move:
  %ignored = call i32 @sched_setaffinity(i32 0, i64 128, ptr %mine)
  br label %out
out:
  ret void
}

define void @work(ptr %shared, i64 %thread) {
entry:
  %allowed = alloca [16 x i64], align 16
  call void @llvm.memset.p0.i64(ptr %allowed, i8 0, i64 128, i1 false)
  %ignored = call i32 @sched_getaffinity(i32 0, i64 128, ptr %allowed)
  %p_asleep = getelementptr i64, ptr %shared, i64 {asleep}
  %p_stop = getelementptr i64, ptr %shared, i64 {stop}
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %now, %finish ]
  br label %spin
spin:
  %count = phi i64 [ 0, %idle ], [ %counted, %longer ], [ 0, %slept ]
  %now = load atomic i64, ptr %shared seq_cst, align 8
  %new = icmp ne i64 %now, %seen
  br i1 %new, label %go, label %patience
patience:
  %counted = add nsw i64 %count, 1
  %tired = icmp sgt i64 %counted, {spins}
  br i1 %tired, label %sleep, label %longer
longer:
  call void {pause}
  br label %spin
sleep:
  %one = atomicrmw add ptr %p_asleep, i64 1 seq_cst
  %expected = and i64 %seen, 4294967295
  %how = call i64 (i64, ...) @syscall(
      i64 {futex}, ptr %shared, i64 128, i64 %expected, ptr null, ptr null, i64 0)
  %less = atomicrmw sub ptr %p_asleep, i64 1 seq_cst
  br label %slept
slept:
  br label %spin
go:
  %stop = load atomic i64, ptr %p_stop acquire, align 8
  %ends = icmp ne i64 %stop, 0
  br i1 %ends, label %out, label %run
run:
  %cpu = call i32 @sched_getcpu()
  %cpuw = sext i32 %cpu to i64
  %p_cpu = getelementptr i64, ptr %shared, i64 {cpu}
  %callers = load i64, ptr %p_cpu, align 8
  %same = icmp eq i64 %cpuw, %callers
  br i1 %same, label %move, label %walk
move:
  call void @leave_cpu(i64 %callers, ptr %allowed)
  br label %walk
walk:
  %p_table = getelementptr i64, ptr %shared, i64 {table}
  %table = load ptr, ptr %p_table, align 8
  %p_steps = getelementptr i64, ptr %shared, i64 {steps}
  %steps = load i64, ptr %p_steps, align 8
  %p_arguments = getelementptr i64, ptr %shared, i64 {arguments}
  %arguments = load ptr, ptr %p_arguments, align 8
  %p_bases = getelementptr i64, ptr %shared, i64 {bases}
  %bases = load ptr, ptr %p_bases, align 8
  %p_threads = getelementptr i64, ptr %shared, i64 {threads}
  %threads = load i64, ptr %p_threads, align 8
  call void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %thread, i64 %threads, ptr %shared)
  br label %finish
finish:
  %p_done = getelementptr i64, ptr %shared, i64 {done}
  %was = atomicrmw add ptr %p_done, i64 1 seq_cst
  br label %idle
out:
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

_BLAS_CONTROL = """
declare i32 @tapeless_blas_get()
declare void @tapeless_blas_set(i32)

define i64 @blas_single() {
  %had = call i32 @tapeless_blas_get()
  call void @tapeless_blas_set(i32 1)
  %wide = sext i32 %had to i64
  ret i64 %wide
}
define void @blas_restore(i64 %had) {
  %narrow = trunc i64 %had to i32
  call void @tapeless_blas_set(i32 %narrow)
  ret void
}
"""

_NO_BLAS_CONTROL = """
define i64 @blas_single() {
  ret i64 0
}
define void @blas_restore(i64 %had) {
  ret void
}
"""


def text() -> str:
    """LLVM text of `start` and, where workers can be had, of what they run."""
    if not supported():
        return _ALONE
    control = blas.thread_control()
    made = _WITH_WORKERS + (_NO_BLAS_CONTROL if control is None else _BLAS_CONTROL)
    values: dict[str, Any] = {
        **SHARED,
        "futex": _FUTEX[platform.machine()],
        "spins": _SPINS,
    }
    for name, value in values.items():
        made = made.replace(f"{{{name}}}", str(value))
    return made


def externals() -> dict[str, int]:
    """The addresses of what `text` and the walker call."""
    names = ["sched_yield"]
    if supported():
        names += ["sched_getcpu", "sched_getaffinity", "sched_setaffinity", "syscall"]
    control = blas.thread_control() or ()
    return {name: libc(name) for name in names} | dict(
        zip(("tapeless_blas_get", "tapeless_blas_set"), control, strict=False)
    )


class Pool:
    """The workers of this process; `shared` is the address of what they watch."""

    def __init__(self, threads: int) -> None:
        from .walker import library

        self.threads = threads
        self._memory = np.zeros(SHARED_SLOTS + 8, np.int64)
        start = -(self._memory.ctypes.data // 8) % 8
        self._slots = self._memory[start : start + SHARED_SLOTS]
        self.shared = self._slots.ctypes.data
        self.lock = threading.Lock()
        work = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(library().address("work"))
        self._workers = [
            threading.Thread(target=work, args=(self.shared, number), name="tapeless-worker", daemon=True)
            for number in range(1, threads)
        ]
        for worker in self._workers:
            worker.start()

    def stop(self) -> None:
        """Let the workers end; no run may have them."""
        with self.lock:
            self._slots[SHARED["stop"]] = 1
            self._slots[SHARED["generation"]] += 1
            syscall = ctypes.CDLL(None).syscall
            number = _FUTEX[platform.machine()]
            syscall(number, ctypes.c_void_p(self.shared), 129, 2**31 - 1, None, None, 0)
            for worker in self._workers:
                worker.join()


_pool: Pool | None = None
_making = threading.Lock()


def default_threads() -> int:
    """TAPELESS_NUM_THREADS, else the CPUs that this process may use, 8 at the most."""
    asked = os.environ.get("TAPELESS_NUM_THREADS", "")
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, 8)


_threads: int | None = None


def set_num_threads(threads: int) -> None:
    """How many threads a plan may use, the caller's own included; ValueError for fewer than one."""
    global _threads, _pool
    if threads < 1:
        raise ValueError(f"threads must be at least 1, not {threads}")
    with _making:
        if _pool is not None:
            _pool.stop()
        _threads, _pool = threads, None


def get_num_threads() -> int:
    """How many threads a compiled function may use."""
    return _threads or default_threads()


def pool() -> Pool | None:
    """The workers, made when first asked for; None where one thread is all there is."""
    global _pool
    if _pool is None and supported() and get_num_threads() > 1:
        with _making:
            if _pool is None:
                _pool = Pool(get_num_threads())
    return _pool


def _forget() -> None:
    """A forked child has no workers."""
    global _pool, _making
    _pool, _making = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
