"""Tapeless: trace plain NumPy once, differentiate the graph, run the plan."""

from .api import compile, grad, trace, value_and_grad

__all__ = ["compile", "grad", "trace", "value_and_grad"]
