"""LLVM text to machine code in memory, through llvmlite.

One target machine for each code generation level is kept for the process: level 0 for kernels without
values that live across iterations, level 1 for the others (measured: docs/design/native.md).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

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


@lru_cache(maxsize=4)
def machine(level: int) -> Any:
    """The target machine for a code generation level."""
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
    with _lock:
        module = binding().parse_assembly(text)
        code: bytes = machine(level).emit_object(module)
        return code


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
