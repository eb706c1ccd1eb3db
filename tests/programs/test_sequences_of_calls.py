"""Sequences of calls: what changes between them (closed-over arrays, attributes, layouts, aliases) is seen.

A table has sequences: a name and indented lines. `wrap` leaves a function as it is, or compiles it; what the
lines return has to be the same both ways.
"""

import functools
import random
from typing import Any

__all__ = ["functools", "random"]

PROGRAMS = """
nonlocal
    k = 2.0
    def f(x): return x * k
    f = wrap(f); a = f(np.ones(2)); k = 3.0; b = f(np.ones(2)); return (a, b)
array_reshape
    H = np.arange(6.0)
    def f(x): return np.sum(H, axis=0) + x
    f = wrap(f); a = f(1.0); H.shape = (2, 3); b = f(1.0); return (a, b)
attributes
    class O: pass
    o = O(); o.lr = 2.0; o.w = np.ones(2)
    def f(x): return x * o.lr + o.w
    f = wrap(f); a = f(np.ones(2)); o.lr = 3.0; o.w = np.zeros(2); b = f(np.ones(2)); o.w += 5
    return (a, b, f(np.ones(2)))
method
    class Model:
        def __init__(self):
            self.w = np.ones(2)
            self.n = 0
        def fwd(self, x):
            return self.w * x
    m = Model(); f = wrap(m.fwd); a = f(np.ones(2)); m.w[:] = 5; b = f(np.ones(2)); m.w = np.zeros(2)
    return (a, b, f(np.ones(2)))
dict_cfg
    cfg = {'lr': 0.1}
    def f(x): return x * cfg['lr']
    f = wrap(f); a = f(np.ones(2)); cfg['lr'] = 3.0; return (a, f(np.ones(2)))
list_arrays
    ws = [np.ones(2), np.ones(2)]
    def f(x):
        for w in ws:
            x = x * w
        return x
    f = wrap(f); a = f(np.ones(2)); ws[0][:] = 2; b = f(np.ones(2)); ws.append(np.full(2, 3.0))
    return (a, b, f(np.ones(2)))
default
    def f(x, s=np.ones(2)): return x * s
    f = wrap(f)
    return (f(np.ones(2)), f(np.ones(2), np.zeros(2)), f(x=np.ones(2)), f(s=np.ones(2), x=np.ones(2)))
kwargs
    def f(*a, k=1.0, **kw): return sum(a) * k + sum(kw.values())
    f = wrap(f)
    return (f(1.0, 2.0), f(np.ones(2), k=2.0), f(1.0, z=np.ones(1), y=2.0), f(1.0, y=2.0, z=np.ones(1)))
closure_returned
    K = np.arange(3.0)
    def f(x): return (K, K[1:], x)
    f = wrap(f); x = np.ones(1); a, b, c = f(x); return (a is K, np.shares_memory(b, K), c is x)
arg_is_closure_read
    K = np.arange(3.0)
    def f(x): return x * K
    f = wrap(f); return (f(np.ones(3)), f(K), f(K[::-1]))
closure_arith
    K = np.arange(3.0)
    def f(x): return x + np.sin(K) * 2 + np.sum(K)
    f = wrap(f); a = f(np.ones(3)); K += 1; return (a, f(np.ones(3)))
closure_int_index
    K = np.array([0, 2])
    def f(x): return x[K]
    f = wrap(f); a = f(np.arange(3.0)); K[0] = 1; return (a, f(np.arange(3.0)))
closure_bool_mask
    K = np.array([True, False, True])
    def f(x): return np.where(K, x, 0)
    f = wrap(f); a = f(np.arange(3.0)); K[0] = False; return (a, f(np.arange(3.0)))
closure_loop
    K = [1, 2, 3]
    def f(x):
        for k in K:
            x = x * k
        return x
    f = wrap(f); a = f(2.0); K.append(10); return (a, f(2.0))
closure_if
    flag = np.array(True)
    def f(x): return x if flag else -x
    f = wrap(f); a = f(2.0); flag[...] = False; return (a, f(2.0))
closure_if_elem
    K = np.arange(3.0)
    def f(x): return x if K[0] > 0 else -x
    f = wrap(f); a = f(2.0); K[0] = 5; return (a, f(2.0))
closure_scalar_elem
    K = np.arange(3.0)
    def f(x): return x * K[1]
    f = wrap(f); a = f(np.ones(2)); K[1] = 5; return (a, f(np.ones(2)))
closure_slice_elem
    K = np.arange(3.0)
    def f(x): return x * K[1:] + K[:1]
    f = wrap(f); a = f(np.ones(2)); K[1] = 5; return (a, f(np.ones(2)))
closure_op_readonly
    K = np.arange(3.0); K.flags.writeable = False
    def f(x): return x * (K * 2)
    f = wrap(f); return (f(np.ones(3)), f(np.ones(3)))
closure_float
    K = np.arange(3.0)
    def f(x): return x * float(K[1])
    f = wrap(f); a = f(np.ones(3)); K[1] = 5; return (a, f(np.ones(3)))
closure_range_int
    K = np.array([3])
    def f(x):
        for _ in range(K[0]):
            x = x * 2
        return x
    f = wrap(f); a = f(1.0); K[0] = 5; return (a, f(1.0))
closure_T
    K = np.arange(4.0).reshape(2, 2)
    def f(x): return x @ K.T + K.ravel()[:2]
    f = wrap(f); a = f(np.ones(2)); K[0] = 5; return (a, f(np.ones(2)))
append_global
    log = []
    def f(x):
        log.append(x.shape)
        return x
    f = wrap(f); f(np.ones(2)); return log
leak_global_const
    cache = {}
    def tab(n):
        if n not in cache:
            cache[n] = np.arange(n) * 1.0
        return cache[n]
    def f(x): return x * tab(3)
    f = wrap(f); a = f(np.ones(3)); b = f(np.ones(3) * 2)
    return (a, b, cache[3], type(cache[3]) is np.ndarray)
least_recently_used_cache
    @functools.lru_cache
    def tab(n):
        return np.arange(n) * 1.0
    def f(x): return x * tab(3)
    f = wrap(f); a = f(np.ones(3)); b = f(np.ones(3) * 2); c = tab(3)
    return (a, b, np.asarray(c), c.sum(), c + 1, c[0], f(np.ones((2, 3))))
generator
    def f(rng, x):
        return (x + rng.normal(size=3), rng.random(), rng.integers(0, 10, 4), rng.choice([1.0, 2.0,
            3.0]), rng.permutation(4), rng.standard_normal((2, 2)), rng.uniform(-1, 1, 3))
    f = wrap(f); rng = np.random.default_rng(0)
    return (f(rng, np.ones(3)), f(rng, np.ones(3)), rng.random())
shuffle
    def f(rng, x):
        rng.shuffle(x)
        return x
    f = wrap(f); rng = np.random.default_rng(0)
    return (f(rng, np.arange(6.0)), f(rng, np.arange(6.0)), rng.random())
inside
    def f(x): return x + np.random.default_rng(3).normal(size=3)
    f = wrap(f); return (f(np.ones(3)), f(np.ones(3) * 2))
two_gens
    def f(a, b): return (a.random(2), b.random(2), a.random(2))
    f = wrap(f); a, b = (np.random.default_rng(0), np.random.default_rng(1))
    return (f(a, b), f(a, a), f(b, a), f(np.random.default_rng(5), np.random.default_rng(6)))
gen_dict
    def f(d):
        d['x'] += d['rng'].normal(size=2)
        d['new'] = d['rng'].random()
        return d['rng']
    f = wrap(f); d = {'rng': np.random.default_rng(0), 'x': np.zeros(2)}; r = f(d)
    return (r is d['rng'], d['x'], d['new'])
dead_draw
    def f(rng, x):
        rng.normal(size=4)
        rng.random()
        return x + rng.random()
    f = wrap(f); rng = np.random.default_rng(0); return (f(rng, 1.0), rng.random())
params
    def f(rng, m, s):
        return (rng.normal(m, s), rng.poisson(abs(m) * 3), rng.gamma(abs(m)), rng.exponential(s,
            size=(2, 3)), rng.binomial(10, 0.3, 3), rng.multinomial(5, [0.2, 0.8]), rng.dirichlet([1.0,
            2.0]), rng.beta(1, 2))
    f = wrap(f); rng = np.random.default_rng(0)
    return (f(rng, np.arange(1.0, 4), 2.0), f(rng, np.arange(1.0, 4), 3.0))
multi_shapes
    def f(x): return (x.sum(0) * x.shape[0], x.T.copy())
    f = wrap(f); return [f(np.ones(s)) for s in [(2, 3), (1, 3), (3, 2), (0, 3), (2, 3)]]
layouts
    def f(x):
        y = x.reshape(-1)
        y[0] = 9
        return y
    f = wrap(f); out = []
    for x in [np.zeros((2, 3)), np.zeros((2, 3), order='F'), np.zeros((4, 3))[::2], np.zeros((2,
        3))[::-1], np.zeros((3, 2)).T, np.zeros((1, 3), order='F')]:
        out.append((f(x), x, np.shares_memory(x, x)))
    return out
dtype
    def f(x): return x * 2 + 0.5
    f = wrap(f)
    return [f(np.ones(2, d)) for d in 'f8 f4 f2 i8 i1 u1 ? c8 c16'.split()] + [f(1), f(1.0), f(True),
        f(1j), f(np.float32(1)), f(np.int8(1))]
readonly_return
    def f(x): return (x, x[1:], x.T, x.reshape(3, 1), x * 1)
    f = wrap(f); b = np.zeros(3); b.flags.writeable = False; return (f(np.zeros(3)), f(b))
alias_switch
    def f(x, y):
        x += 1
        return x * y
    f = wrap(f); a = np.ones(4); b = np.ones(4); c = np.arange(8.0)
    return (f(a, b), f(a, a), f(a, a[:]), f(c[:4], c[2:6]), f(c[::2], c[1::2]), f(c[:4], c[4:]),
        f(c[:4][::-1], c[:4]), c, a)
static
    def f(x, mode): return x * 2 if mode == 'double' else x
    f = wrap(f); return (f(1.0, 'double'), f(1.0, 'none'), f(2.0, mode='double'), f(2.0, 'double'))
bool_static
    def f(x, flag): return x if flag else -x
    f = wrap(f); return (f(1.0, True), f(1.0, False), f(1.0, None))
int_float_same
    def f(x): return (x / 2, x)
    f = wrap(f); return (f(1), f(1.0), f(True), f(2))
results_independent
    def f(x): return (x * 2, np.zeros(3), np.arange(3.0))
    f = wrap(f); a = f(np.ones(3)); a[1][:] = 5; a[2][:] = 6; b = f(np.ones(3)); a[0][:] = 7
    return (a, b)
result_list_fresh
    def f(x): return ([x, {'a': [x * 2]}], [])
    f = wrap(f); a = f(np.ones(3)); a[0].append(1); a[0][1]['a'].append(2); a[1].append(3)
    return (a, f(np.ones(3)))
static_result_mutable
    tbl = [1, 2]
    def f(x): return (tbl, {1, 2})
    f = wrap(f); a, b = f(1.0); c, d = f(1.0); return (a is tbl, c is tbl, b is d)
return_arg_list
    def f(l): return (l, l[0])
    f = wrap(f); l = [np.ones(2), 3]; a, b = f(l); return (a is l, b is l[0])
return_arg_tuple
    def f(t): return t
    f = wrap(f); t = (np.ones(2), 3); return (f(t) is t, f(t)[0] is t[0])
nested_compile
    g = wrap(lambda x: x * 2)
    def f(x): return g(x) + g(x + 1)
    f = wrap(f); return (f(np.ones(2)), f(np.ones(3)), g(np.ones(2)))
exception_then_ok
    def f(x, n):
        x += 1
        if n == 'bad':
            raise KeyError('no')
        return x
    f = wrap(f); x = np.zeros(2)
    try:
        f(x, 'bad')
    except KeyError as e:
        r = str(e)
    y = np.zeros(2); return (r, f(y, 'ok'), y)
singular
    def f(x): return np.linalg.inv(x)
    f = wrap(f); a = f(np.eye(2))
    try:
        f(np.zeros((2, 2)))
        r = None
    except np.linalg.LinAlgError as e:
        r = str(e)
    return (a, r, f(np.eye(2) * 2))
index_err_runtime
    def f(x, i): return x[i]
    f = wrap(f); a = f(np.arange(3.0), np.array([0, 1]))
    try:
        f(np.arange(3.0), np.array([0, 7]))
        r = None
    except IndexError as e:
        r = str(e)
    return (a, r)
functools_partial
    def f(a, b): return a * b
    f = wrap(functools.partial(f, 2.0)); return f(np.ones(2))
partial_array
    def f(a, b): return a * b
    w = np.ones(2); f = wrap(functools.partial(f, w)); a = f(np.ones(2)); w[:] = 3
    return (a, f(np.ones(2)))
callable_obj
    class C:
        def __init__(self):
            self.w = np.ones(2)
        def __call__(self, x):
            return self.w * x
    c = C(); f = wrap(c); a = f(np.ones(2)); c.w = np.zeros(2); return (a, f(np.ones(2)))
decorated_method
    class M:
        def __init__(self):
            self.w = np.ones(2)
            self.k = 2.0
        def step(self, x):
            return self.w * x * self.k
    M.step = wrap(M.step); m = M(); a = m.step(np.ones(2)); m.w[:] = 5; b = m.step(np.ones(2))
    m.k = 7.0; return (a, b, m.step(np.ones(2)))
builtin_np
    return (wrap(np.sin)(np.ones(2)), wrap(np.sum)(np.ones(2)), wrap(np.linalg.inv)(np.eye(2)))
lambda
    return (wrap(lambda: np.ones(2))(), wrap(lambda: 3)(), wrap(lambda x: None)(1.0), wrap(lambda x: (x,
        ))(1.0), wrap(lambda x: [])(1.0))
slices_as_arguments
    def f(x, s): return x[s]
    f = wrap(f); return (f(np.arange(5.0), slice(1, 3)), f(np.arange(5.0), slice(None, None, 2)))
objects_as_arguments
    class O:
        def __init__(self):
            self.k = 2.0
    def f(x, o): return x * o.k
    f = wrap(f); o = O(); a = f(np.ones(2), o); o.k = 5.0; return (a, f(np.ones(2), o))
functions_as_arguments
    def f(x, g): return g(x) + 1
    f = wrap(f)
    return (f(np.ones(2), np.sin), f(np.ones(2), np.cos), f(np.ones(2), lambda v: v * 3), f(np.ones(2),
        np.zeros_like))
dtypes_as_arguments
    def f(x, d): return (x.astype(d), np.zeros(2, d))
    f = wrap(f)
    return (f(np.ones(2), np.float32), f(np.ones(2), 'i4'), f(np.ones(2), np.dtype('i2')), f(np.ones(2),
        int))
shapes_as_arguments
    def f(x, s): return (x.reshape(s), np.zeros(s))
    f = wrap(f); return (f(np.ones(6), (2, 3)), f(np.ones(6), (3, 2)), f(np.ones(6), [6, 1]))
none_leaf
    def f(p): return p['w'] if p['b'] is None else p['w'] + p['b']
    f = wrap(f); return (f({'w': np.ones(2), 'b': None}), f({'w': np.ones(2), 'b': np.ones(2)}))
set_none
    def f(p):
        p['w'] = None
        p['z'] = 'str'
        p['k'] = 3
    f = wrap(f); d = {'w': np.ones(2)}; f(d); return d
empty_containers
    def f(p, q, r):
        p['a'] = q
        q.append(r)
        return (p, r)
    f = wrap(f); d, l, t = ({}, [], ()); r = f(d, l, t); return (d, l, r[0] is d, d['a'] is l, r[1])
"""

REFUSED = """
arg_is_closure
    K = np.arange(3.0)
    def f(x):
        x += 1
        return x * K
    f = wrap(f); a = f(np.ones(3)); return (a, f(K))
closure_write
    K = np.zeros(3)
    def f(x):
        K[:] = x
        return K
    return wrap(f)(np.ones(3))
closure_view_write
    K = np.zeros(3)
    def f(x):
        v = K[1:]
        np.add(v, 1, out=v)
        return x
    return (wrap(f)(np.ones(3)), K)
closure_derived_method
    K = np.arange(3.0)
    def f(x): return x + K.copy()
    f = wrap(f); a = f(np.ones(3)); K += 1; return (a, f(np.ones(3)))
closure_op
    K = np.arange(3.0)
    def f(x): return x * (K * 2)
    f = wrap(f); a = f(np.ones(3)); K[1] = 5; return (a, f(np.ones(3)))
leak_list
    log = []
    def f(x):
        log.append(x)
        return x
    f = wrap(f); f(np.ones(2)); return log
leak_self
    class O: pass
    o = O()
    def f(x):
        o.h = x * 2
        return x
    f = wrap(f); f(np.ones(2)); return o.h
closed
    rng = np.random.default_rng(0)
    def f(x): return x + rng.normal(size=3)
    f = wrap(f); return (f(np.ones(3)), f(np.ones(3)))
global
    np.random.seed(0)
    def f(x): return x + np.random.rand(3)
    f = wrap(f); return (f(np.ones(3)), f(np.ones(3)))
random
    random.seed(0)
    def f(x): return x * random.random()
    f = wrap(f); return (f(1.0), f(1.0))
spawn
    def f(rng): return rng.spawn(2)[0].random()
    return wrap(f)(np.random.default_rng(0))
method_writes
    class M:
        def __init__(self):
            self.w = np.ones(2)
        def step(self, x):
            self.w -= x
            return self.w
    M.step = wrap(M.step); m = M(); a = m.step(np.ones(2)).copy(); return (a, m.w)
generator_fn
    def f(x): yield x
    return list(wrap(f)(np.ones(2)))
return_gen
    def f(x): return (v for v in x)
    return list(wrap(f)(np.ones(2)))
return_map
    def f(x): return map(np.sin, x)
    return list(wrap(f)(np.ones(2)))
return_lambda
    def f(x): return lambda: x * 2
    return wrap(f)(np.ones(2))()
return_set
    def f(x): return {x[0], x[1]}
    return sorted(wrap(f)(np.arange(2.0)))
return_str
    def f(x): return (f'{x}', str(x.shape), repr(x.dtype), '%d' % x.ndim)
    return wrap(f)(np.ones(2))
return_obj
    class R: pass
    def f(x):
        r = R()
        r.x = x * 2
        return r
    return wrap(f)(np.ones(2)).x
sets_as_arguments
    def f(x, s): return x * len(s)
    f = wrap(f); return (f(np.ones(2), {1, 2}), f(np.ones(2), frozenset({1})))
"""


def test_compiled_functions_see_what_plain_ones_see(program: Any, executor: str, sequence: Any) -> None:
    assert sequence(program.function, executor) == "same"


def test_it_is_refused(refused: Any, executor: str, sequence: Any) -> None:
    assert sequence(refused.function, executor) == "refused"
