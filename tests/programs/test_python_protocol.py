"""Small programs about Python's protocol: builtins, statements, classes, the standard library.

A table has programs: a name, arguments (`mk` makes random arrays of a shape and dtype), and indented lines.
"""

import abc
import collections
import contextlib
import copy
import functools
import heapq
import itertools
import json
import math
import operator
import statistics
import typing
from typing import Any

__all__ = ["abc", "collections", "contextlib", "copy", "functools", "heapq", "itertools", "json", "math"]
__all__ += ["operator", "statistics", "typing"]


class Layer(abc.ABC):
    """What a layer does."""

    @abc.abstractmethod
    def f(self, x: Any) -> Any: ...


class Impl(Layer):
    """A class with slots, properties, static and class methods, iteration and operators."""

    __slots__ = ("w",)

    def __init__(self, w: Any) -> None:
        self.w = w

    def f(self, x: Any) -> Any:
        return self.w * x

    @property
    def p(self) -> Any:
        return self.w + 1

    @staticmethod
    def s(x: Any) -> Any:
        return x * 2

    @classmethod
    def c(cls, x: Any) -> Any:
        return cls(x).f(x)

    def __iter__(self) -> Any:
        yield from self.w

    def __add__(self, other: Any) -> Any:
        return Impl(self.w + other)

    def __radd__(self, other: Any) -> Any:
        return Impl(other + self.w)


class Vec:
    """An operand that NumPy leaves operators to."""

    __array_ufunc__ = None

    def __init__(self, v: Any) -> None:
        self.v = v

    def __radd__(self, other: Any) -> Any:
        return other * self.v

    def __rmul__(self, other: Any) -> Any:
        return other + self.v

    def __rmatmul__(self, other: Any) -> Any:
        return other - self.v


PROGRAMS = """
isinst  x=mk(6)
    return (isinstance(x, np.ndarray), isinstance(x[0], float), isinstance(x[0], np.floating),
        np.isscalar(x[0]), isinstance(x, list), isinstance(x[0], np.generic))
type  x=mk(6)
    return (type(x).__name__, type(x[0]) is np.float64, type(x) == np.ndarray,
        type(x.sum()) is np.float64, x.__class__ is np.ndarray)
iter  x=mk(6)
    s = 0.0
    for v in x:
        s = s + v
    return s
iter_rows  x=mk(4, 4)
    for row in x:
        row *= 2
    for row in x.T:
        row -= 1
    return x
unpack  x=mk(6)
    a, b, *rest = x; (c, d), e = (x[:2], x[2]); return (a + b, rest, c, d, e)
match_seq  x=mk(6)
    match x:
        case [a, *b]:
            return a
        case _:
            return x * 2
match_float  x=mk(6)
    match x[0]:
        case float():
            return x + 1
        case _:
            return x - 1
sum  x=mk(6)
    return sum(x), sum(x, 1.0), sum([x, x]), sum(x[:0])
zip  x=mk(6)
    return [a * b for a, b in zip(x, x[::-1])], list(enumerate(x))[2], list(reversed(x))
abs  x=mk(6)
    return (abs(x), abs(x[0]), round(x[0], 1), divmod(x[0], 2), pow(x, 2), pow(x[0], 3), -x[0], +x[0],
        divmod(7, x))
reduce  x=mk(6)
    return (functools.reduce(operator.add, x), functools.reduce(lambda a, b: a * b, [x, x, x]),
        list(itertools.accumulate(x)), list(map(np.sin, x)))
len  x=mk(6)
    return (len(x), x.shape, x.ndim, x.size, x.nbytes, x.itemsize, x.strides, x.dtype, x.dtype.name,
        x.dtype == float)
nested_fn  x=mk(6)
    def g(y, s=2.0):
        return y * s + x[0]
    h = lambda y: g(y) - g(y, s=3)
    return (h(x), g(x))
class  x=mk(6)
    class L:
        def __init__(self, w):
            self.w = w
        def __call__(self, x):
            self.w = self.w + 1
            return self.w * x
    l = L(x[:1])
    a = l(x)
    b = l(x)
    return (a, b, l.w)
gen  x=mk(6)
    def g():
        for v in x:
            yield (v * 2)
    return (sum(g()), list(g()), np.array(list(g())), np.stack([*g()]))
errstate  x=mk(6)
    with np.errstate(divide='ignore', invalid='ignore'):
        return (x / np.zeros(6), np.log(-abs(x)))
errstate_raise  x=mk(6)
    with np.errstate(divide='raise'):
        return x / np.zeros(6)
try  x=mk(6)
    try:
        y = x.reshape(4, 4)
    except ValueError as e:
        return (x + 1, str(e))
try_index  x=mk(6)
    try:
        return x[10]
    except IndexError as e:
        return (x * 2, str(e))
apply_along  x=mk(4, 4)
    return np.apply_along_axis(lambda v: v - v.mean(), 0, x), np.apply_along_axis(np.sum, 1, x)
ndindex  x=mk(4, 4)
    o = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        o[i] = x[i[::-1]]
    return o
eq_none  x=mk(6)
    return x == None, x != None, x is None
eq_list  x=mk(6)
    return x == [1, 2, 3, 4, 5, 6], x < (1, 2, 3, 4, 5, 6), [0] * 6 <= x, x == list(range(6))
add_none  x=mk(6)
    return x + None
attr_set  x=mk(6)
    x.foo = 1
attr_get  x=mk(6)
    return (getattr(x, 'shape'), hasattr(x, 'foo'), hasattr(x, 'sum'), getattr(x, 'foo', 7), callable(x),
        callable(x.sum))
dunder  x=mk(6)
    return (x.__len__(), x.__getitem__(0), x.__add__(1), x.__array_priority__ is not None,
        x.__class__.__name__, x.__neg__())
ops  x=mk(6)
    return (operator.add(x, 1), operator.itemgetter(0, 2)(x), operator.attrgetter('shape')(x),
        operator.matmul(x, x), operator.neg(x), operator.mul(2, x), operator.getitem(x, slice(1, 3)),
        operator.methodcaller('sum')(x), operator.pow(x, 2), operator.not_(None), operator.length_hint(x))
iops  x=mk(6)
    y = operator.iadd(x, 1); operator.setitem(x, 0, 5); y = operator.imul(y, 2); return (y is x, x)
prods  x=mk(6)
    return (math.prod([x[0], x[1], 2]), math.prod(x.shape), math.pi * x, math.floor(2.5) * x,
        max(x.shape), min([3, x.size]), abs(-3) * x)
iters  x=mk(6)
    return ([a * b for a, b in itertools.product(x[:2], x[2:4])], list(itertools.chain(x, [1.0])),
        list(itertools.islice(x, 2)), list(itertools.combinations(x[:3], 2)),
        list(itertools.starmap(operator.mul, zip(x, x))), list(itertools.repeat(x, 2))[1] is x)
comps  x=mk(6)
    return ({i: v for i, v in enumerate(x)}, [v for row in x.reshape(2, 3) for v in row],
        (lambda *a: sum(a))(*x), [(y := x[0]), y + 1], {k: x[k] for k in range(3) if k != 1})
recur  x=mk(6)
    def tot(v):
        return v[0] if len(v) == 1 else v[0] + tot(v[1:])
    return tot(x)
tryfin  x=mk(6)
    try:
        y = x * 2
        return y
    finally:
        x += 1
tryelse  x=mk(6)
    try:
        z = x.nothing
    except AttributeError:
        z = x * 3
    else:
        z = x
    return z
asserts  x=mk(6)
    assert x.shape == (6,) and x.dtype == np.float64 and (x.ndim == 1) and isinstance(x, np.ndarray)
    return x
delx  x=mk(6)
    y = x; del x; return y
ctx  x=mk(6)
    @contextlib.contextmanager
    def scale(v):
        v *= 2
        yield v
        v += 1
    with scale(x) as y:
        y -= 3
    return y is x
questions_about_numbers  n=3, f=2.0, c=1j
    return (isinstance(n, int), isinstance(f, float), isinstance(c, complex), type(n) is int,
        type(f) is float, isinstance(n, bool), isinstance(n + f, float), type(n * 2) is int,
        type(n / 2) is float, isinstance(n, np.integer), np.isscalar(n), np.ndim(f), np.shape(n), np.size(f),
        np.result_type(n, f), np.isreal(f), np.iscomplexobj(c))
questions_about_arrays  x=mk(6)
    return (np.isscalar(x), np.isscalar(x[0]), np.iterable(x), np.ndim(x[0]), np.shape(x[:2]), np.size(x),
        np.iscomplexobj(x), np.isrealobj(x), np.shares_memory(x, x[1:]), np.may_share_memory(x, x.copy()),
        np.issubdtype(x.dtype, np.floating), np.result_type(x, np.float32), np.can_cast(x.dtype, 'f4'),
        np.finfo(x.dtype).eps, np.promote_types(x.dtype, 'c8'), np.common_type(x, x),
        np.broadcast_shapes(x.shape, (3, 1)), np.dtype(x.dtype).name)
allclose  x=mk(6)
    return np.allclose(x, x), np.array_equal(x, x)
allclose2  x=mk(6)
    return np.allclose(x, x + 1e-12)
isclose  x=mk(6)
    return np.isclose(x, x + 1e-12), np.isclose(x[0], 1.0)
partial  x=mk(6)
    return (functools.partial(np.add, 1)(x), functools.partial(np.sum, axis=0)(x),
        functools.reduce(np.maximum, [x, x[::-1], 0]), list(map(functools.partial(operator.mul, 2), x)))
cached  x=mk(6)
    @functools.cache
    def f(n):
        return n * 2
    return (x * f(3), f(2))
cached_arr  x=mk(6)
    @functools.cache
    def f(n):
        return n
    return f(x)
printing_nothing  x=mk(6)
    print(end=''); return x
set_of_numbers  x=mk(6)
    return len({1, 2, 2}), x
in_list  x=mk(6)
    return 3 in [1, 2, 3], x.size in (6, 7), 'f8' in str(x.dtype.str)
a_class_of_its_own  x=mk(6)
    i = Impl(x); return (i.f(x), i.p, i.s(x), i.c(x), list(i), (i + 1).w, (1 + i).w)
operand_that_opts_out  x=mk(6)
    return x + Vec(2.0), x * Vec(x), x @ Vec(1.0)
single_dispatch  x=mk(6)
    @functools.singledispatch
    def f(v):
        return 'other'
    @f.register(np.ndarray)
    def _(v):
        return v * 2
    @f.register(float)
    def _(v):
        return v * 3
    return (f(x), f(x[0]), f('a'))
generator_expressions  x=mk(6)
    return (sum((v * v for v in x)), max((i for i in range(3))), any((v is None for v in x)),
        all((isinstance(v, float) for v in x)), list(zip(*[x, x]))[0], dict(zip('ab', x)), [*x[:2], *x[2:4]],
        list(filter(lambda v: v is not None, x))[0])
rng_range  x=mk(6)
    return [x[i] for i in range(len(x))], [x[i] for i in np.arange(3)], [x[i] for i in reversed(range(3))]
const_branch  x=mk(6)
    t = np.zeros(3); t[1] = 2; return x * 2 if t[1] > 1 and t.sum() == 2 and (not t[0]) else x
const_calc  x=mk(6)
    n = int(np.ceil(np.log2(len(x)))); w = np.hanning(n); k = np.arange(n)[::-1]; m = np.eye(n)[k]
    return (x[:n] * w, m @ x[:n], np.linspace(0, 1, n) + x[:n], n, w.tolist(), float(w.sum()),
        [int(i) for i in k])
scal_iter  x=mk(6)
    for v in x[0]:
        pass
scal_len  x=mk(6)
    return len(x[0])
scalar_index  x=mk(6)
    return x[0][0]
scalar_set  x=mk(6)
    y = x[0]; y[0] = 1
scal_call  x=mk(6)
    return x()
array_of_objects  x=mk(6)
    return np.array([x, 'a'])
"""

REFUSED = """
vectorize  x=mk(6)
    return np.vectorize(lambda v: v * 2)(x)
nditer  x=mk(6)
    s = 0
    for v in np.nditer(x):
        s = s + v
    return s
ndenumerate  x=mk(4, 4)
    o = np.zeros(4)
    for (i, j), v in np.ndenumerate(x):
        o[i] += v * j
    return o
eq_str  x=mk(6)
    return x == 'a'
lt_str  x=mk(6)
    return x < 'a'
add_str  x=mk(6)
    return x + 'a'
statistics_module  x=mk(6)
    return statistics.mean(x)
json  x=mk(6)
    return json.dumps(x.tolist())
heapq_module  x=mk(6)
    h = list(x); heapq.heapify(h); return h
sorted_builtin  x=mk(6)
    return sorted(x)
bytes  x=mk(6)
    return x.tobytes()
memory  x=mk(6)
    return x.data[0]
ctypes_pointer  x=mk(6)
    return x.ctypes.data
setflags_method  x=mk(6)
    x.setflags(write=False); return x
flag_set  x=mk(6)
    x.flags.writeable = False; return x
dtype_assigned  x=mk(6)
    x.dtype = 'i8'; return x
strides_assigned  x=mk(6)
    x.strides = (16,); return x
dump  x=mk(6)
    return len(x.dumps())
text  x=mk(6)
    return str(x)
element_as_key  x=mk(6)
    return {x[0]: 1}
in_array  x=mk(6)
    return 3.0 in x
unknown_operand  x=mk(6)
    return (x + Impl(2.0)).shape
any_builtin  x=mk(6)
    return any(x > 0)
bool_builtin  x=mk(6)
    return bool(x[0] > 0)
while_loop  x=mk(6)
    while x[0] < 0:
        x = x + 1
    return x
conditional_expression  x=mk(6)
    return x if np.any(x > 100) else -x
conditional_on_any  x=mk(6)
    return x if x.any() else x
and_operator  x=mk(6)
    return x.sum() and x
not_operator  x=mk(6)
    return not x[0]
scal_int  x=mk(6)
    return range(x[0])
float_ctor  x=mk(6)
    return float(x[0])
numpy_float_constructor  x=mk(6)
    return np.float32(x[0]), np.float64(x)
"""


def test_it_does_what_numpy_does(program: Any, executor: str, judge: Any) -> None:
    assert judge(program.function, program.arguments, executor=executor) == "same"


def test_it_is_refused(refused: Any, executor: str, judge: Any) -> None:
    assert judge(refused.function, refused.arguments, executor=executor) == "refused"
