"""Data to train on, in plain NumPy on top of the three stages: so far the MNIST images.

Nothing here is known to the tracer or the compiler: whatever this package does, a user's own NumPy could do.
Read `mnist.py` for the images that the main example trains on.
"""

from .mnist import DataError, Mnist, Split, load_mnist

__all__ = ["DataError", "Mnist", "Split", "load_mnist"]
