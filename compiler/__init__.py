"""Graph → Graph → Plan: the IR, the primitives, differentiation, optimisation and planning.

This package imports neither the tracer nor the runtime. Read `pipeline.py` first, then `ir/`.
"""
