"""Copies of a call's arguments, for a function to be run on again: what it writes stays in them.

Arrays keep their strides; containers that stand in two places and arrays that share memory are to each other
in the copy what they are in the arguments. Numbers and static values are taken as they are.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np

from .signature import bounds, flatten, overlaps
from .storage import address
from .trace import shadow_like
from .tree import ContainerCopies

_ALIGNED = 64
_WITH_STATE = (np.ndarray, np.random.Generator, np.random.RandomState)


def copied(arguments: Any) -> Any:
    """The arguments with arrays, containers and generators of random numbers of their own."""
    arrays = [leaf for leaf in flatten(arguments)[0] if type(leaf) is np.ndarray and not leaf.dtype.hasobject]
    made: dict[int, Any] = {}
    for group in overlaps(arrays):
        made.update(_in_one_memory([arrays[i] for i in group[::3]]))
    for array in arrays:
        if id(array) not in made:
            made[id(array)] = shadow_like(array)
        made[id(array)].flags.writeable = True
        made[id(array)][...] = array
    for array in arrays:
        made[id(array)].flags.writeable = array.flags.writeable
    known: dict[int, Any] = {}

    def own(leaf: Any, number: int, name: str) -> Any:
        if id(leaf) in made:
            return made[id(leaf)]
        return copy.deepcopy(leaf, known) if isinstance(leaf, _WITH_STATE) else leaf

    return ContainerCopies().copy(own, arguments, "")


def _in_one_memory(arrays: Sequence[Any]) -> dict[int, Any]:
    """By the id of each array memory for its copy; they overlap as the arrays do."""
    low, high = min(bounds(a)[0] for a in arrays), max(bounds(a)[1] for a in arrays)
    memory = np.empty(high - low + _ALIGNED, np.uint8)
    start = (low - address(memory)) % _ALIGNED
    made: dict[int, Any] = {}
    for array in arrays:
        place = start + address(array) - low
        made[id(array)] = np.ndarray(array.shape, array.dtype, memory, place, array.strides)
    return made
