"""Selection: `x[mask]` under a traced mask. Its values are known element by element, its size is not.

It supports elementwise functions with scalars and selections under the same mask, reductions over all of
it, and being stored back under the same mask. Everything that needs its size is refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import DataDependentShapeError
from ..trace import Trace
from ..traced_array import TracedArray, TracedNumber
from .registry import trace_of


def is_mask(part: Any) -> bool:
    """Whether a part of an index is a boolean array."""
    return type(part) is TracedArray and part.dtype == np.dtype(bool)


def mask_of(trace: Trace, mask: TracedArray, shape: tuple[int, ...]) -> Any:
    """The mask as a condition of the given shape; it covers the leading axes."""
    node = trace.operand(mask)
    if mask.ndim < len(shape):
        return trace.builder.broadcast(node, axes=tuple(range(mask.ndim)), shape=shape)
    return node


_REDUCTIONS = {
    "sum": np.add,
    "prod": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "any": np.logical_or,
    "all": np.logical_and,
}
_FUNCTIONS = {
    np.sum: "sum", np.prod: "prod", np.max: "max", np.amax: "max", np.min: "min", np.amin: "min",
    np.any: "any", np.all: "all", np.mean: "mean",
}  # fmt: skip


def _no_elements(value: Any) -> Any:
    """Something real of the dtype of an operand, without elements; a Python number as it is."""
    if type(value) is TracedNumber:
        return value.example
    return np.empty(0, value.dtype) if type(value) in (TracedArray, Selection) else value


class Selection(np.lib.mixins.NDArrayOperatorsMixin):
    """The elements of `array` where `mask` holds; `mask` covers leading axes of `array`.

    `behind` is how many of the others NumPy puts behind the axis of the selected ones.
    """

    __array_priority__ = 1001.0

    def __init__(self, array: TracedArray, mask: TracedArray, behind: int) -> None:
        self.array = array
        self.mask = mask
        self.behind = behind

    def _of(self, array: TracedArray) -> Selection:
        """What the mask selects of another array."""
        return Selection(array, self.mask, self.behind)

    def refuse(self, use: str) -> Any:
        """The refusal of a use that needs the size."""
        trace = self.array.owner
        return trace.error(
            DataDependentShapeError,
            f"{use} needs the size of x[mask], which depends on the values of a traced mask",
            node=trace.operand(self.mask),
            fixes=[
                ("per element", "np.where(mask, f(x), other)"),
                ("a reduction", "np.sum(x[mask]) or np.sum(x, where=mask)"),
                ("in place", "x[mask] = value; x[mask] *= value"),
            ],
        )

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return np.ndarray

    @property
    def dtype(self) -> Any:
        return self.array.dtype

    @property
    def ndim(self) -> int:
        return self.array.ndim - self.mask.ndim + 1

    @property
    def shape(self) -> Any:
        raise self.refuse("shape")

    @property
    def size(self) -> Any:
        """The number of selected elements, a traced Python int."""
        trace = self.array.owner
        return trace.number(trace.builder.item(self._count()), self.array.size)

    def _count(self) -> Any:
        trace = self.array.owner
        trace.builder.loc = trace.loc()
        condition = mask_of(trace, self.mask, self.array.shape)
        return trace.builder.sum(condition, axes=tuple(range(self.array.ndim)), dtype=np.dtype(np.intp))

    def __len__(self) -> int:
        raise self.refuse("len()")

    def __iter__(self) -> Any:
        raise self.refuse("iteration")

    def __getitem__(self, index: Any) -> Any:
        if index is Ellipsis or (type(index) is tuple and not index):
            return self
        raise self.refuse("indexing it again")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self.refuse("a concrete array")

    def __bool__(self) -> bool:
        raise self.refuse("True or False")

    def __repr__(self) -> str:
        return f"<traced {self.array!r} under a mask>"

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", (None,) * ufunc.nout)
        if method == "reduce" and inputs[0] is self and not kwargs.get("axis"):
            return self._reduce(ufunc, kwargs.pop("axis", 0))
        if method != "__call__" or kwargs or not all(o is None or type(o) is Selection for o in out):
            raise self.refuse(f"np.{ufunc.__name__}.{method}")
        operands = [self._operand(v) for v in inputs]
        with np.errstate(all="ignore"):
            value = ufunc(*operands)
        if any(o is not None for o in out):
            # NumPy raises where a result does not cast to the array it is written to.
            ufunc(*map(_no_elements, operands), out=tuple(map(_no_elements, out)))
        values = value if ufunc.nout > 1 else (value,)
        results = tuple(self._into(v, o) for v, o in zip(values, out, strict=True))
        return results if ufunc.nout > 1 else results[0]

    def _into(self, value: TracedArray, out: Any) -> Any:
        """A result as a selection: a new one, or `out` with other elements."""
        if out is None:
            return self._of(value)
        out.array = value.astype(out.dtype)
        return out

    def __pow__(self, other: Any) -> Any:
        return self._of(self.array ** self._exponent(other))

    def __rpow__(self, other: Any) -> Any:
        return self._of(self._operand(other) ** self.array)

    def __ipow__(self, other: Any) -> Any:
        exponent = self._exponent(other)
        small = _no_elements(self)
        small **= _no_elements(exponent)
        self.array = (self.array**exponent).astype(self.dtype)
        return self

    def _exponent(self, value: Any) -> Any:
        """An exponent; NumPy raises for integers to negative powers, unless none is selected."""
        if self.dtype.kind in "biu" and type(value) is int and value < 0:
            raise self.refuse("an integer to a negative power")
        return self._operand(value)

    def _operand(self, value: Any) -> Any:
        """An operand over the whole array: the array under the same mask, or something that broadcasts."""
        trace = self.array.owner
        if type(value) is Selection:
            if trace.operand(value.mask) is not trace.operand(self.mask) or (
                value.array.shape,
                value.behind,
            ) != (self.array.shape, self.behind):
                raise self.refuse("combining selections under different masks")
            return value.array
        lifted = trace.lift(value)
        if np.ndim(lifted) > self.behind:
            raise self.refuse("combining it with an array of a size of its own")
        return lifted

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        name = _FUNCTIONS.get(func)
        if name is not None and args and args[0] is self:
            return getattr(self, name)(*args[1:], **kwargs)
        raise self.refuse(f"np.{func.__name__}")

    def _reduce(self, ufunc: np.ufunc, axis: Any = None) -> Any:
        trace = trace_of(self.array)
        name = next((n for n, u in _REDUCTIONS.items() if u is ufunc), None)
        flat = self.ndim == 1 and axis in (None, 0)
        if name is None or not flat:
            raise self.refuse(f"np.{ufunc.__name__}.reduce along an axis")
        trace.builder.loc = trace.loc()
        node = trace.builder.masked_reduce(
            trace.operand(self.array), trace.operand(self.mask), reduction=name
        )
        return trace.result(node)

    def sum(self, axis: Any = None, **options: Any) -> Any:
        """The sum of the selected elements."""
        return self._plain(np.add, axis, options)

    def prod(self, axis: Any = None, **options: Any) -> Any:
        """The product of the selected elements."""
        return self._plain(np.multiply, axis, options)

    def max(self, axis: Any = None, **options: Any) -> Any:
        """The largest selected element."""
        return self._plain(np.maximum, axis, options)

    def min(self, axis: Any = None, **options: Any) -> Any:
        """The smallest selected element."""
        return self._plain(np.minimum, axis, options)

    def any(self, axis: Any = None, **options: Any) -> Any:
        """Whether any selected element holds."""
        return self._plain(np.logical_or, axis, options)

    def all(self, axis: Any = None, **options: Any) -> Any:
        """Whether every selected element holds."""
        return self._plain(np.logical_and, axis, options)

    def mean(self, axis: Any = None, **options: Any) -> Any:
        """The mean of the selected elements."""
        if self.dtype.kind not in "fc" or self.dtype == np.float16:
            raise self.refuse("the mean of small or integer dtypes")
        total = self._plain(np.add, axis, options)
        count = self.array.owner.result(self._count())
        return np.true_divide(total, count, dtype=total.dtype, casting="unsafe")

    def _plain(self, ufunc: np.ufunc, axis: Any, options: dict[str, Any]) -> Any:
        given = {k for k, v in options.items() if v is not np._NoValue and v is not None and v is not False}
        if given:
            raise self.refuse(f"{', '.join(sorted(given))} of a reduction")
        return self._reduce(ufunc, axis)

    def astype(self, dtype: Any, **options: Any) -> Any:
        """The selected elements as another dtype."""
        return self._of(self.array.astype(dtype, **options))

    def copy(self, order: str = "C") -> Any:
        """The selected elements again."""
        return self._of(self.array)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __setitem__(self, index: Any, value: Any) -> None:
        raise self.refuse("writing into it by an index")

    def __getattr__(self, name: str) -> Any:
        getattr(np.ndarray, name)
        raise self.refuse(name)
