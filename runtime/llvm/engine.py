"""LLVM text to machine code in memory, through llvmlite.

Target machines are kept for the process, one for each code generation level and thread: level 0 for kernels
without values that live across iterations, level 1 for the others (measured: docs/design/native.md).

llvmlite lets one thread into LLVM at a time. LLVM itself generates modules of different contexts side by
side: so every module here has a context of its own, and the one call that takes long is made past that lock,
where llvmlite keeps its functions as expected (docs/design/first-call.md).
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from .thread_count import get_num_threads

_lock = threading.Lock()


@lru_cache(maxsize=1)
def binding() -> Any:
    """llvmlite's binding, initialised for this machine."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@lru_cache(maxsize=1)
def host() -> tuple[str, str]:
    """The CPU's name and its features, as LLVM spells them."""
    llvm = binding()
    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


@lru_cache(maxsize=1)
def versions() -> str:
    """The versions of llvmlite and LLVM."""
    import llvmlite

    return f"llvmlite {llvmlite.__version__}, LLVM {'.'.join(map(str, binding().llvm_version_info))}"


@lru_cache(maxsize=1)
def vector_bytes() -> int:
    """The width of the widest vector register worth using."""
    features = host()[1].split(",")
    return 64 if "+avx512f" in features else 32 if "+avx2" in features else 16


@lru_cache(maxsize=8)
def machine(level: int, thread: int = 0) -> Any:
    """The target machine for a code generation level, for one of the generating threads."""
    llvm = binding()
    name, features = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel="default"
    )


def assembly(text: str, level: int) -> str:
    """The module as assembly."""
    with _lock:
        module = binding().parse_assembly(text)
        return str(machine(level).emit_assembly(module))


def object_code(text: str, level: int) -> bytes:
    """The module as an object file."""
    return object_codes([(text, level)])[0]


def object_codes(modules: Sequence[tuple[str, int]]) -> list[bytes]:
    """Modules, as (text, level), as object files in the same order; two threads make them if they may."""
    with _lock:
        emit = _unlocked() if len(modules) > 1 and _cpus() > 1 else None
        if emit is None:
            return [_generate(text, level, 0, _locked) for text, level in modules]
        # The longest first, so that the threads end together. Level 1 takes some four times as long.
        waiting = sorted(range(len(modules)), key=lambda n: len(modules[n][0]) * (1 + 3 * modules[n][1]))
        made: dict[int, bytes] = {}
        errors: list[BaseException] = []

        def work(thread: int) -> None:
            try:
                while waiting:
                    number = waiting.pop()
                    made[number] = _generate(*modules[number], thread, emit)
            except IndexError:
                pass  # the other thread took the last one
            except BaseException as error:
                errors.append(error)

        helper = threading.Thread(target=work, args=(1,), name="tapeless-generator")
        helper.start()
        work(0)
        helper.join()
        if errors:
            raise errors[0]
        return [made[number] for number in range(len(modules))]


def _cpus() -> int:
    """How many threads may generate code."""
    return min(get_num_threads(), os.cpu_count() or 1)


Emit = Callable[[Any, Any], bytes]


def _generate(text: str, level: int, thread: int, emit: Emit) -> bytes:
    llvm = binding()
    return emit(machine(level, thread), llvm.parse_assembly(text, llvm.create_context()))


def _locked(machine: Any, module: Any) -> bytes:
    """The module as an object file, by llvmlite's public way."""
    code: bytes = machine.emit_object(module)
    return code


@lru_cache(maxsize=1)
def _unlocked() -> Emit | None:
    """The same without llvmlite's lock; None where its functions are not what is expected."""
    binding()
    try:
        from llvmlite.binding import ffi

        known = ffi.lib.LLVMPY_TargetMachineEmitToMemory
        function = ctypes.CDLL(ffi.lib._name, handle=ffi.lib._handle).LLVMPY_TargetMachineEmitToMemory
        function.argtypes, function.restype = known.argtypes, known.restype

        def emit(machine: Any, module: Any) -> bytes:
            with ffi.OutputString() as error:
                buffer = function(machine, module, 1, error)
                if not buffer:
                    raise RuntimeError(str(error))
            try:
                start, size = ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer)
                return ctypes.string_at(start, size)
            finally:
                ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)

        probe = "define i64 @probe() {\n  ret i64 7\n}"
        right = _generate(probe, 0, 0, emit) == _generate(probe, 0, 0, _locked)
    except (AttributeError, TypeError):
        return None
    return emit if right else None


class Library:
    """Loaded object code; addresses of its functions are valid as long as the library lives.

    `externals` gives the addresses of outside functions that the code names. A name means one address in
    the whole process.
    """

    def __init__(self, codes: Sequence[bytes], externals: Mapping[str, int]) -> None:
        llvm = binding()
        with _lock:
            for name, address in externals.items():
                llvm.add_symbol(name, address)
            empty = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(empty, _fresh_machine())
            for code in codes:
                self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, symbol: str) -> int:
        """The address of a function."""
        found: int = self._engine.get_function_address(symbol)
        if not found:
            raise KeyError(symbol)
        return found


def _fresh_machine() -> Any:
    """A target machine for an engine, which owns it."""
    name, features = host()
    return binding().Target.from_default_triple().create_target_machine(cpu=name, features=features, opt=0)
