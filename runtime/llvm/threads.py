"""Workers that take pieces of a plan's steps beside the caller.

The caller walks the table. For a step that is shared it writes down what is to be done, then for each thread
how many pieces of that thread's part are left, and bumps the generation. A thread claims a piece by counting
its part's number down; pieces of other parts come after its own. The step is over when all pieces are done,
so only a thread that holds a piece is ever waited for.

A worker is a Python thread inside native code. It waits for a generation by spinning for some 100 µs, then
sleeps on a futex. A worker that finds itself on the caller's CPU leaves that CPU, because the kernel tends to
keep it there. One run at a time has the workers, others walk alone. After a fork the child has none and makes
its own.
"""

from __future__ import annotations

import ctypes
import os
import platform
import threading
from typing import Any

import numpy as np

from .thread_count import choose, get_num_threads

_FUTEX = {"x86_64": 202, "aarch64": 98}
_SPINS = 20_000

# Shared between the caller and its workers, in i64 slots; slots that are written often lie 64 bytes apart.
# Parts follow, each in 64 bytes of its own: generation << 32 | pieces left.
SHARED = {
    "generation": 0, "done": 8, "asleep": 16, "stop": 24, "cpu": 25, "threads": 26,
    "function": 32, "block": 33, "begin": 34, "end": 35, "share": 36, "piece": 37,
}  # fmt: skip
PARTS = 40


def slots(threads: int) -> int:
    """How many i64 so many threads share."""
    return PARTS + 8 * threads


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
  call void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 1, ptr %shared)
  ret void
}
define void @share(ptr %function, ptr %block, i64 %begin, i64 %end, i64 %grain, i64 %parts, i64 %threads,
                   ptr %shared) {
  call void %function(ptr %block, i64 %begin, i64 %end)
  ret void
}
"""

_WITH_WORKERS = """
{declared}
declare i32 @sched_yield()
declare i32 @sched_getcpu()
declare i32 @sched_getaffinity(i32, i64, ptr)
declare i32 @sched_setaffinity(i32, i64, ptr)
declare i64 @syscall(i64, ...)

define void @start(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %threads, ptr %shared) {
entry:
  %alone = icmp sle i64 %threads, 1
  br i1 %alone, label %single, label %together
single:
  call void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 1, ptr %shared)
  ret void
together:
  %cpu = call i32 @sched_getcpu()
  %cpuw = sext i32 %cpu to i64
  %p_cpu = getelementptr i64, ptr %shared, i64 {cpu}
  store i64 %cpuw, ptr %p_cpu, align 8
  call void @walk(ptr %table, i64 %steps, ptr %arguments, ptr %bases, i64 %threads, ptr %shared)
  ret void
}

define void @share(ptr %function, ptr %block, i64 %begin, i64 %end, i64 %grain, i64 %parts, i64 %threads,
                   ptr %shared) {
entry:
  %all = sub nsw i64 %end, %begin
  %share = call i64 @cut(i64 %all, i64 %grain, i64 %threads)
  %piece = call i64 @cut(i64 %share, i64 %grain, i64 %parts)
  %p_function = getelementptr i64, ptr %shared, i64 {function}
  store ptr %function, ptr %p_function, align 8
  %p_block = getelementptr i64, ptr %shared, i64 {block}
  store ptr %block, ptr %p_block, align 8
  %p_begin = getelementptr i64, ptr %shared, i64 {begin}
  store i64 %begin, ptr %p_begin, align 8
  %p_end = getelementptr i64, ptr %shared, i64 {end}
  store i64 %end, ptr %p_end, align 8
  %p_share = getelementptr i64, ptr %shared, i64 {share}
  store i64 %share, ptr %p_share, align 8
  %p_piece = getelementptr i64, ptr %shared, i64 {piece}
  store i64 %piece, ptr %p_piece, align 8
  %p_threads = getelementptr i64, ptr %shared, i64 {threads}
  store i64 %threads, ptr %p_threads, align 8
  %p_done = getelementptr i64, ptr %shared, i64 {done}
  store atomic i64 0, ptr %p_done release, align 8
  %old = load atomic i64, ptr %shared monotonic, align 8
  %generation = add i64 %old, 1
  %high = shl i64 %generation, 32
  br label %publish
publish:
  %r = phi i64 [ 0, %entry ], [ %rnext, %publish ]
  %left = phi i64 [ %all, %entry ], [ %rest, %publish ]
  %total = phi i64 [ 0, %entry ], [ %sum, %publish ]
  %less = icmp slt i64 %left, %share
  %have = select i1 %less, i64 %left, i64 %share
  %up = add nsw i64 %have, %piece
  %up1 = sub nsw i64 %up, 1
  %pieces = sdiv i64 %up1, %piece
  %sum = add nsw i64 %total, %pieces
  %rest = sub nsw i64 %left, %have
  %word = or i64 %high, %pieces
  %place = call ptr @part(ptr %shared, i64 %r)
  store atomic i64 %word, ptr %place release, align 8
  %rnext = add nsw i64 %r, 1
  %rmore = icmp slt i64 %rnext, %threads
  br i1 %rmore, label %publish, label %announce
announce:
  %announced = atomicrmw xchg ptr %shared, i64 %generation seq_cst
  %p_asleep = getelementptr i64, ptr %shared, i64 {asleep}
  %asleep = load atomic i64, ptr %p_asleep seq_cst, align 8
  %sleeping = icmp ne i64 %asleep, 0
  br i1 %sleeping, label %wake, label %work
wake:
  %woken = call i64 (i64, ...) @syscall(
      i64 {futex}, ptr %shared, i64 129, i64 65536, ptr null, ptr null, i64 0)
  br label %work
work:
  call void @claim(ptr %shared, i64 0)
  br label %wait
wait:
  %turn = phi i64 [ 0, %work ], [ %turns, %again ], [ %turns, %give ]
  %finished = load atomic i64, ptr %p_done acquire, align 8
  %over = icmp sge i64 %finished, %sum
  br i1 %over, label %out, label %again
again:
  call void {pause}
  %turns = add nsw i64 %turn, 1
  %low = and i64 %turns, 255
  %long = icmp eq i64 %low, 255
  br i1 %long, label %give, label %wait
give:
  %ignored = call i32 @sched_yield()
  br label %wait
out:
  ret void
}

define internal i64 @cut(i64 %all, i64 %grain, i64 %ways) {
  %step = mul nsw i64 %grain, %ways
  %less = sub nsw i64 %step, 1
  %up = add nsw i64 %all, %less
  %grains = sdiv i64 %up, %step
  %size = mul nsw i64 %grains, %grain
  ret i64 %size
}

define internal ptr @part(ptr %shared, i64 %r) {
  %far = shl i64 %r, 3
  %slot = add nsw i64 %far, {parts}
  %place = getelementptr i64, ptr %shared, i64 %slot
  ret ptr %place
}

; Claim and run pieces of all parts, those of thread `me` first. What a piece is was written before its part's
; number: a number that could be counted down belongs to it.
define internal void @claim(ptr %shared, i64 %me) {
entry:
  %p_threads = getelementptr i64, ptr %shared, i64 {threads}
  %p_function = getelementptr i64, ptr %shared, i64 {function}
  %p_block = getelementptr i64, ptr %shared, i64 {block}
  %p_begin = getelementptr i64, ptr %shared, i64 {begin}
  %p_end = getelementptr i64, ptr %shared, i64 {end}
  %p_share = getelementptr i64, ptr %shared, i64 {share}
  %p_piece = getelementptr i64, ptr %shared, i64 {piece}
  %p_done = getelementptr i64, ptr %shared, i64 {done}
  br label %parts
parts:
  %ahead = phi i64 [ 0, %entry ], [ %further, %empty ]
  %threads = load i64, ptr %p_threads, align 8
  %some = icmp slt i64 %ahead, %threads
  br i1 %some, label %pick, label %out
pick:
  %sum = add nsw i64 %me, %ahead
  %wraps = icmp sge i64 %sum, %threads
  %back = select i1 %wraps, i64 %threads, i64 0
  %r = sub nsw i64 %sum, %back
  %place = call ptr @part(ptr %shared, i64 %r)
  br label %look
look:
  %word = load atomic i64, ptr %place acquire, align 8
  %left = and i64 %word, 4294967295
  %any = icmp ne i64 %left, 0
  br i1 %any, label %try, label %empty
empty:
  %further = add nsw i64 %ahead, 1
  br label %parts
try:
  %function = load ptr, ptr %p_function, align 8
  %block = load ptr, ptr %p_block, align 8
  %begin = load i64, ptr %p_begin, align 8
  %end = load i64, ptr %p_end, align 8
  %share = load i64, ptr %p_share, align 8
  %piece = load i64, ptr %p_piece, align 8
  %fewer = sub i64 %word, 1
  %pair = cmpxchg ptr %place, i64 %word, i64 %fewer seq_cst seq_cst
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %run, label %look
run:
  %number = sub nsw i64 %left, 1
  %skip = mul nsw i64 %r, %share
  %part0 = add nsw i64 %begin, %skip
  %part1 = add nsw i64 %part0, %share
  %c0 = icmp slt i64 %part1, %end
  %last = select i1 %c0, i64 %part1, i64 %end
  %offset = mul nsw i64 %number, %piece
  %from = add nsw i64 %part0, %offset
  %to0 = add nsw i64 %from, %piece
  %c1 = icmp slt i64 %to0, %last
  %to = select i1 %c1, i64 %to0, i64 %last
  call void %function(ptr %block, i64 %from, i64 %to)
  %was = atomicrmw add ptr %p_done, i64 1 seq_cst
  br label %look
out:
  ret void
}

define internal void @leave_cpu(i64 %cpu, ptr %allowed) {
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
  %p_cpu = getelementptr i64, ptr %shared, i64 {cpu}
  br label %idle
idle:
  %seen = phi i64 [ 0, %entry ], [ %now, %work ]
  br label %spin
spin:
  %count = phi i64 [ 0, %idle ], [ %counted, %longer ], [ 0, %sleep ]
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
  br label %spin
go:
  %stop = load atomic i64, ptr %p_stop acquire, align 8
  %ends = icmp ne i64 %stop, 0
  br i1 %ends, label %out, label %place
place:
  %cpu = call i32 @sched_getcpu()
  %cpuw = sext i32 %cpu to i64
  %callers = load i64, ptr %p_cpu, align 8
  %same = icmp eq i64 %cpuw, %callers
  br i1 %same, label %move, label %work
move:
  call void @leave_cpu(i64 %callers, ptr %allowed)
  br label %work
work:
  call void @claim(ptr %shared, i64 %thread)
  br label %idle
out:
  ret void
}

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def text() -> str:
    """LLVM text of `start` and, where workers can be had, of what they run."""
    if not supported():
        return _ALONE
    made = _WITH_WORKERS
    pauses, declared = pause()
    values: dict[str, Any] = {
        **SHARED,
        "pause": pauses,
        "declared": declared,
        "parts": PARTS,
        "futex": _FUTEX[platform.machine()],
        "spins": _SPINS,
    }
    for name, value in values.items():
        made = made.replace(f"{{{name}}}", str(value))
    return made


def externals() -> dict[str, int]:
    """The addresses of what `text` and the walker call."""
    calls = ("sched_yield", "sched_getcpu", "sched_getaffinity", "sched_setaffinity", "syscall")
    return {name: libc(name) for name in calls} if supported() else {}


class Pool:
    """The workers of this process; `shared` is the address of what they watch."""

    def __init__(self, threads: int) -> None:
        from .walker import library

        self.threads = threads
        self._memory = np.zeros(slots(threads) + 8, np.int64)
        start = -(self._memory.ctypes.data // 8) % 8
        self._slots = self._memory[start : start + slots(threads)]
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


def set_num_threads(threads: int) -> None:
    """How many threads a plan may use, the caller's own included; ValueError for too few or too many."""
    global _pool
    with _making:
        choose(threads)
        if _pool is not None:
            _pool.stop()
        _pool = None


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
