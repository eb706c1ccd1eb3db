"""User code → Graph: runs a NumPy function once with traced arrays and records what it did.

Read `storage.py` (the object model), `traced_array.py`, `trace.py`, then the families in `numpy_table/`.
"""
