"""Kernels and whole plans as native code, through LLVM.

Read `printer.py` (kernel → LLVM text), `engine.py` (text → machine code), `table.py` (plan → table of calls)
and `executor.py`. llvmlite is imported late, so that nothing here costs an import that is not used.
"""
