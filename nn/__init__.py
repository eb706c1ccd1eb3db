"""Layers, losses, optimizers, data and the training loop: plain NumPy on top of the three stages.

Nothing here is known to the tracer or the compiler: whatever this package does, a user's own NumPy could do.
Read `mnist.py` for the images that the main example trains on.
"""

from .mnist import DataError, Mnist, Split, load_mnist

__all__ = ["DataError", "Mnist", "Split", "load_mnist"]
