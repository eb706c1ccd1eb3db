"""The scalar-kernel form: loop nests over typed scalar operations, between a plan and a machine.

It knows no target: a printer turns it into vector code, another may turn it into shader code. Read `form.py`,
`text.py`, `verify.py`, `evaluate.py` (the judge of printers), `space.py`, `lower.py`, `rows.py`, and for what
changes kernels `statements.py`, `merge.py`, `split.py` and `collapse.py`, in this order.
"""
