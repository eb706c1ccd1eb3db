"""Small programs about Python numbers, NumPy scalars, dtypes, byte order and casts.

A table has programs: a name, arguments (`mk` makes random arrays of a shape and dtype), and indented lines.
"""

import enum
import math
from typing import Any

__all__ = ["Color", "math"]


class Color(enum.Enum):
    RED = 1
    BLUE = 2


PROGRAMS = """
arith  a=3.0, b=2.0
    return (a + b, a - b, a * b, a / b, a // b, a % b, a ** b, -a, abs(-a), divmod(a, b), a < b, a == b,
        a != b)
int  a=7, b=3
    return (a + b, a // b, a % b, a / b, a ** b, a ** (-1), -a, ~a, a & b, a | b, a ^ b, a << b, a >> b,
        divmod(a, b), a < b, a >= b)
power_becomes_complex  a=-8.0
    return a ** (1 / 3), a ** 2, (-a) ** 0.5
overflow  a=2.0
    return a ** 2000
numbers_with_float64  i=2, f=5.0, x=mk(3)
    return (i * x, f * x, i + f, x ** i, x ** f, i ** abs(x), f / x, i // x, x[0] * i, i * x[0],
        np.float64(2) * i, i * np.float32(2))
numbers_with_float32  i=2, f=5.0, x=mk(3, dt='f4')
    return (i * x, f * x, x ** i, x ** f, f / x, x[0] * i, i * x[0], x[0] * f, x.sum() * f, np.sin(f),
        np.add(i, f), np.sqrt(i))
numbers_with_int32  i=2, f=5.0, x=mk(3).astype('i4')
    return (i * x, f * x, x ** i, x / i, x // i, x % i, x * f, x & i, x << i, np.maximum(x, i),
        np.maximum(x, f))
small_unsigned  i=2, x=np.arange(5, dtype='u1')
    return x + i, x - i, x * i, x // i, x ** i, x % i, x << i, -x, ~x, x / i, i - x, x > i
chosen_numbers_are_weak  i=2, f=0.5, x=np.arange(3, dtype='u1'), y=mk(3, dt='f4')
    return (np.choose(x % 2, [x, i]), np.choose([0, 1, 0], [y, f]), np.select([x > 1], [x], i),
        np.select([y > 0], [y], f), np.select([y > 0], [f], y), np.select([y > 0, y < -1], [y, i], f),
        np.where(x > 1, x, i), np.where(y > 0, f, y), np.select([x > 1], [i], 1), np.choose(0, [i, f]))
ends_are_weak  i=2, f=0.5, x=np.arange(3, dtype='u1'), y=mk(3, dt='f4')
    return (np.linspace(y, f, 3), np.linspace(i, y, 2), np.linspace(i, f, 3), np.linspace(x, i, 3))
no_axes  i=2, f=0.5, x=np.arange(3, dtype='u1'), y=mk(3)
    return (np.isin(i, x), np.isin(x[0], [1, 2]), np.isin(y, f), np.unravel_index(i, (2, 3)),
        np.ravel_multi_index((1, x[1]), (2, 3)), np.nanargmax(y), np.digitize(f, np.array([0.0, 1.0])))
initial_numbers  i=2, f=0.5, x=np.arange(3, dtype='u1'), y=mk(3, dt='f4')
    return (np.sum(y, initial=f), y.sum(initial=i), np.max(y, initial=f), np.prod(x, initial=i),
        x.max(initial=i), np.min(y, initial=i, where=y > 0), np.add.reduce(x, initial=i),
        np.sum(x, initial=i))
initial_number_out_of_range  i=300, x=np.arange(3, dtype='u1')
    return np.max(x, initial=i)
small_unsigned_overflow  i=300, x=np.arange(5, dtype='u1')
    return x + i
small_unsigned_negative  i=-1, x=np.arange(5, dtype='u1')
    return x + i
complex_with_float64  c=1 + 2j, x=np.float64(2.5), a=mk(3)
    return (c + x, c - x, c * x, c / x, c ** x, c == x, c != x, x + c, x - c, x * c, x / c, x ** c, 1j * x,
        2j - a[0], a[0] - 2j, 1j * a.sum(), a.sum() * 1j, c + np.float64(2), np.float64(2) + c, c / a[1],
        c * np.float32(2), 1j ** x, c * a, c - np.multiply(np.float64(3), 2.0), 1j * np.sum(np.ones(2)))
complex_with_float64_in_place  c=1 + 2j, x=np.float64(2.5)
    c += x; c *= x; c -= 1.5; return c
complex_divided_by_zero  c=1 + 2j, x=np.float64(0.0)
    return c / x
bool  b=True, x=mk(3)
    return x * b, x + b if b else x, np.where(b, x, -x)
static  n=3, x=mk(6)
    return (x[:n], x[n], x[-n:], np.zeros(n), x.reshape(n, 2), x[n:n + 1], [i * x[i] for i in range(n)],
        np.arange(n), np.eye(n), np.ones((n, n)), np.full(n, 2.5), np.linspace(0, 1, n))
static_lengths_too  n=3, x=mk(6)
    return (np.roll(x, n), np.tile(x, n), np.repeat(x, n), np.split(x, n), x.sum() / n, np.arange(0, n),
        np.array_split(x, n + 1), np.diag(x[:n], n), np.tri(n))
axis  a=2, x=mk(2, 3, 4)
    return (np.sum(x, axis=a), np.moveaxis(x, a, 0), np.concatenate([x, x], axis=a), np.stack([x, x], a),
        np.take(x, a, axis=a), x.max(a), np.flip(x, a), np.expand_dims(x, a), np.argsort(x, a))
division_by_zero  a=2.0, b=0.0
    return a / b
bigint  a=2, b=10 ** 30
    return a * b, b % 7, a + b
bigint_arr  a=2, b=10 ** 30, x=mk(3)
    return x * b
overflow_to_infinity  a=1e+308, b=10.0
    return a * b
nan_and_negative_zero  a=float('nan'), b=-0.0
    return a, b, a + 1, b * 1, -b, a == a, np.copysign(1.0, b)
static_kinds  f=2.5, s='hello', n=None, b=b'x', i=3
    return f, s, n, b, i, f * 2, s + '!', n is None
enum  c=Color.RED, x=mk(3)
    return x if c is Color.BLUE else -x, c
npscalars  a=np.float32(2), b=np.int8(100), c=np.bool_(True), d=np.float64(1.5), e=np.complex64(1 + 1j)
    return (a * 2, b + b, c & False, d / 3, e * 2, a * d, b * 2, a + 1.5, b // 7, d ** 2, a == 2, ~c,
        d.dtype, a.shape, b * 1.0, c * 2)
numpy_int_as_an_index  i=np.int64(3), x=mk(6)
    return x[i]
zero_d  a=np.array(3.0), b=np.array(2)
    return (a, a + 1, a * b, a[()], a[...], a.T, a.copy(), a.reshape(1), a.sum(), np.squeeze(a),
        a.astype('f4'), -a, np.sin(a), np.add(a, 1, out=...), abs(a), a == 3, a.ravel(), a.flatten(),
        np.asarray(a) is a, np.atleast_1d(a), np.where(a > 1, a, b), np.expand_dims(a, 0), a.max(), np.max(a),
        np.clip(a, 0, 1), np.cumsum(a), a.real, a.mean(), np.array(a), np.concatenate([a[None], a[None]]),
        np.stack([a, a]), a[None], a.item is not None)
zero_d_written  a=np.array(3.0)
    a += 1; a[...] *= 2; a[()] = a + 1; b = a; b -= 1; return (a, b is a)
zero_d_augmented  a=np.array(3.0)
    c = a; c **= 2; np.add(a, 1, out=a); a.fill(a + 2); return c
zero_d_iteration  a=np.array(3.0), b=np.array([1.0, 2.0])
    for v in a:
        pass
zero_d_length  a=np.array(3.0)
    return len(a)
one_element  a=np.array([3.0])
    return a[0] + a, a.sum(), a.squeeze(), a.squeeze() is a, a.item if False else 1, a[[0]], a.reshape(())
zero_d_index  a=np.array(3.0)
    return a[0]
iadd  x=np.arange(4), s=2.5
    x += s
float32_in_place  x=np.arange(4, dtype='f4'), s=2.5
    x += s; x *= np.float64(3); x[:] = x.astype('f8') * 2; return x
int8_in_place_casts_not  x=np.arange(4, dtype='i1'), y=np.arange(4)
    x += y
int8_assigned  x=np.arange(4, dtype='i1'), y=np.arange(4) + 100
    x[:] = y * 3; return x
boolops  x=np.ones(4, bool)
    return (x + x, x * 2, x & ~x, x | x, x ^ True, x.sum(), x.mean(), np.sum(x, dtype='u1'),
        x.astype(int), x @ x, x < x, np.logical_not(x), x.any(), x * 1.5, x / 2)
boolsub  x=np.ones(4, bool)
    return x - x
boolneg  x=np.ones(4, bool)
    return -x
augmented_integers  x=np.arange(4), y=mk(4)
    x //= 2; y /= 3; y //= 0.5; y %= 2; x <<= 1; x |= 1; x ^= 3; x >>= 1; x &= 7; x **= 2; return (x, y)
itruediv  x=np.arange(4)
    x /= 2
negpow  x=np.arange(4)
    return x ** (-1)
negpow_t  x=np.arange(4), n=-1
    return x ** n
idiv0  x=np.arange(5)
    return x // 0, x % 0, 5 // x
complex_array_into_floats  x=mk(4)
    x[:] = np.array([1j, 2, 3, 4]); return x
complex_element_into_floats  x=mk(4), c=mk(4, dt='c16')
    x[0] = c[0]; return x
complex_in_place_casts_not  x=mk(4), c=mk(4, dt='c16')
    x += c
complex_cast  x=mk(4), c=mk(4, dt='c16')
    return c.astype(float)
float16  x=mk(4)
    h = x.astype('f2')
    return h + 1, h * h, h.sum(), h.mean(), np.exp(h), h + x, h * 2.5, h @ h, h.astype('i4'), h.var()
byte_order  x=mk(4)
    b = x.astype('>f8'); b[0] = 3
    return (b, b + 1, b.dtype, b.newbyteorder if False else 0, b.sum(), np.sort(b), b[1:],
        b.view('u1')[:8], b.astype('f8'))
byte_swapped_arguments  i=np.arange(6).astype('>i4'), f=mk(3).astype('>f8')
    i += 1; f *= 2; f[0] = i[1]
    return (i * 2, f + i[:3], i[i > 2].sum(), f.copy(), np.exp(f), i.astype('>i2'), f.sum(), f @ f,
        i.view('u1')[:4])
byteswap  x=mk(4).astype('>f8').byteswap()
    return x.byteswap(), x.byteswap().view(x.dtype.newbyteorder())
structured  x=mk(4)
    return x.view([('a', 'f8')])
reduction_dtypes  x=mk(4)
    i = (x * 10).astype('i2')
    return (i.sum(), i.prod(), i.mean(), i.cumsum(), i.max(), np.add.reduce(i), np.add.reduce(i,
        dtype='i2'), i.sum(dtype='f4'), i.std(), i.dot(i), i @ i, np.vdot(i, i), i.trace if False else 0)
ufunc_dtype  x=mk(4)
    return (np.add(x, 1, dtype='f4'), np.add(x, x, dtype='c16'), np.sqrt(4, dtype='f4'), np.multiply(x, 2,
        out=np.empty(4, 'c16')), np.add(x, 1, casting='unsafe', dtype='i4'), np.true_divide(3, 2))
ufunc_cast  x=mk(4)
    return np.add(x, 1, dtype='i4')
out_cast  x=mk(4)
    return np.add(x, 1, out=np.empty(4, 'i4'))
out_shape  x=mk(4)
    return np.add(x, 1, out=np.empty(3))
out_bcast  x=mk(4)
    o = np.empty((2, 4)); r = np.add(x, 1, out=o); return (r is o, o)
ufuncs  x=mk(4)
    return (np.frexp(x), np.modf(x), np.divmod(x, 2), np.ldexp(x, 2), np.spacing(x), np.nextafter(x, 1),
        np.signbit(x), np.isfinite(x), np.heaviside(x, 0.5), np.logaddexp(x, 1), np.fmod(x, 2),
        np.float_power(abs(x), 2), np.cbrt(x), np.exp2(x), np.log1p(abs(x)), np.deg2rad(x), np.gcd(4, 6),
        np.lcm.reduce([2, 3, 4]), np.positive(x), np.conjugate(x), np.rint(x), np.trunc(x), np.copysign(x,
        -1), np.hypot(x, 1), np.arctan2(x, 1), np.fabs(x), np.reciprocal(x), np.sign(x), np.isnan(x),
        np.logical_and(x, 1), np.fmax(x, 0), np.floor_divide(x, 2))
r_and_c  x=mk(6), y=mk(3, dt='f4'), s=2.0, n=3
    return (np.r_[x, 1, 2, x[0]], np.r_[y, s, 1], np.r_[y, x], np.r_[s, n, y], np.r_[[s, 2.0], y],
        np.r_[0:n, y], np.r_['0,2', y, y], np.r_['1,2,0', y, y], np.c_[x, x], np.c_[y, np.ones(3)],
        np.c_[x[:3, None], y, y], np.r_[x[0], x[1]], np.r_[s, 1.5], np.r_[x > 0, True], np.c_[np.ones((3, 2)),
        y], np.r_[y, 2.5j], np.r_[n, n], np.r_[0:1:3j, y])
r_and_c_of_lists  x=mk(6), y=mk(3, dt='f4')
    return (np.r_[x, [1, 2]], np.c_[[1, 2, 3], y], np.r_[x[::2], y][::-1], np.concatenate([x, y],
        dtype='f4', casting='same_kind'), np.r_[()] if 0 else 1)
c_with_ones  x=mk(6)
    return np.c_[x, np.ones(3)]
comparisons_beyond_the_range  x=np.arange(4, dtype='u1'), n=300, m=-1, u=np.arange(3, dtype='u8'),
        i=np.arange(4)
    return (x == n, x < n, x > n, n > x, m == x, x != m, x <= m, x >= m, u < m, u > m, u == m, i < n,
        i == 10 ** 30, x < 300, x == -1, -1 < x, 300 > x, u > -1, i > 10 ** 30, i < -10 ** 30, np.equal(x, n),
        np.less(300, x), x[0] < 300, x[0] < n, x[0] == -1, x == 2, x == n - 298, x > 2.5, x == 2.5)
maximum_beyond_the_range  x=np.arange(4, dtype='u1'), n=300
    return np.maximum(x, n)
where_and_clip_beyond_the_range  x=np.arange(4, dtype='u1'), n=300
    return np.where(x > 1, x, n), np.isin(x, [300, 1]), np.clip(x, 0, n)
clip_beyond_the_range  x=np.arange(4, dtype='u1')
    return np.clip(x, -1, 300), np.clip(x, 1, 2), x.clip(-5, None)
where_wraps  x=np.arange(4, dtype='u1')
    return np.where(x > 1, x, -1), np.where(x > 1, x, 300), np.select([x > 1], [x], -1)
full_like_out_of_range  x=np.arange(4, dtype='u1')
    return np.full_like(x, -1)
element_out_of_range  x=np.arange(4, dtype='u1')
    x[0] = -1
slice_out_of_range  x=np.arange(4, dtype='u1')
    x[1:] = 300
slice_out_of_range_at_a_call  x=np.arange(4, dtype='u1'), n=300
    x[1:] = n
mask_out_of_range_at_a_call  x=np.arange(4, dtype='u1'), n=300
    x[x > 1] = n
put_out_of_range  x=np.arange(4, dtype='u1')
    np.put(x, [0], [300]); return x
fill_out_of_range  x=np.arange(4, dtype='u1')
    x.fill(300); return x
copyto_out_of_range  x=np.arange(4, dtype='u1')
    np.copyto(x, 300); return x
add_out_of_range  x=np.arange(4, dtype='u1')
    return np.add(x, [300, 1, 2, 3]), x + np.array([300, 1, 2, 3]), x + np.int64(300)
small_integers  x=np.arange(4, dtype='u1')
    return (x.astype('i1') - 1, x - 1, np.subtract(x, 1), x * 255, x + 255, -x, x ** 2, x // 3, x << 7,
        np.sum(x - 1), abs(x - 2), x.sum() - 100, x.mean(), np.prod(x + 1), np.cumsum(x), x.dot(x), x @ x,
        np.int8(-1) * x, divmod(x, 2), np.negative(x), np.power(x, 3), x[2] - 3, np.diff(x), np.diff(x[::-1]))
round_layouts  a=mk(2, 3, dt='c16'), b=mk(2, 3, order='F', dt='c16'), c=mk(4, 6, dt='c16')[::2, ::2],
        d=mk(3, dt='c16')
    return (np.round(a, 1), np.round(b, 1), np.round(c, 1), np.round(a.T, 1), np.round(np.broadcast_to(d,
        (2, 3)), 1), np.round(np.broadcast_to(d, (2, 1, 3)), 1), np.round(np.broadcast_to(d[:, None], (3, 2)),
        2), a.round(), np.round(np.broadcast_to(d.real, (2, 3)), 1), np.round(np.broadcast_to(d.real[:, None],
        (3, 2)), 1), np.round(c.real, 1), np.round(b.real.T, 1))
powers_of_booleans  b=np.array([True, False]), n=2, k=np.int64(2)
    return (b ** 2, b ** n, b ** k, b ** 3, b[0] ** 2, b[0] ** n, b ** 2.0, b ** True, b ** np.int8(2),
        b ** 0)
square_of_booleans_in_place  b=np.array([True, False]), n=2
    b **= n
read_only_imag_to_a_power  b=mk(2), n=2.0
    b.imag **= n
scalars_have_no_matmul  x=mk(3), n=3
    return x[0] @ x[1]
scalar_matmul_number  x=mk(3), n=3
    return x[0] @ n
number_matmul_scalar  x=mk(3), n=3
    return n @ x[0]
number_matmul_number  x=mk(3), n=3
    return n @ n
scalar_of_numpy_matmul_scalar  x=mk(3), n=3
    return np.int64(2) @ x[0]
constants_to_powers  x=mk(6)
    t = np.arange(3); t **= 2; t **= np.array([1, 2, 3]); return (t, x)
constants_to_half_powers  x=mk(6)
    t = np.arange(3); t **= 0.5; return (t, x)
constant_integers_take_no_floats  x=mk(6)
    t = np.arange(3); t += 0.5; return t
constant_integers_divide_not  x=mk(6)
    t = np.arange(3); t /= 2; return t
constants_written_to  x=mk(6)
    t = np.arange(3.0); t[1:] = 2.7; u = np.arange(3); u[1:] = 2.7; u[u > 1] *= 2; u.sort()
    u[::-1].sort(); np.add(u, 1, out=u); np.add.at(u, [0, 0], 1); u.fill(3.9); u.flat[0] = 7
    np.put(u, [1], [8]); return (t, u, x)
constant_becomes_traced  x=mk(6)
    u = np.arange(3); u[0] = x[0]; v = u[1:]; v += 1; return (u, v, x)
zeros_filled  x=mk(6)
    z = np.zeros((2, 3)); z[0] = x[:3]; z.T[2] = 5; w = z.copy(); z[:] = 0; return (w, z)
constant_aliases  x=mk(6)
    a = np.ones(3); b = a; a += x[:3]; c = a[:]; a = a * 2; return (a, b, c, b is c)
zero_d_constants  x=mk(6)
    t = np.array(2.0); t **= 2; t += x[0]; t **= 2; u = np.array(3); u **= 2; return (t, u)
constant_integers_take_traced_floats  x=mk(6)
    l = np.zeros(3, int); l[1] = x[0]; l[2] = True; return l
identity_matrices  x=mk(6)
    m = np.eye(3); m[1] = x[:3]
    return m, np.linalg.det(np.eye(3)), np.eye(3) @ x[:3], np.linalg.inv(2 * np.eye(3))
constant_views  x=mk(6)
    t = np.arange(6).reshape(2, 3); t.shape = (3, 2); s = t.T; s[0] = 9; t[0, 1] = x[0]
    return t, s, s.base is not None if False else 1
constant_indices  x=mk(6)
    idx = np.arange(3); idx[0] = 2; y = x[idx]; idx[1] = 0; return (y, x[idx], [x[i] for i in idx])
constant_lengths  x=mk(6)
    n = np.zeros(2, int); n[0] = 3
    return x[:n[0]], np.zeros(n[0]), range(n[0])[1], x.reshape(n[0], 2)
"""

REFUSED = """
complex  c=1 + 2j, x=mk(3)
    return c * x, c.real, c.imag, c.conjugate(), abs(c), c ** 2, c == 1, np.abs(c)
round  a=2.7
    return round(a, 1)
is_integer  a=2.7
    return a.is_integer()
int_of_a_float  a=2.7
    return int(a)
float_of_an_int  a=5
    return float(a) * 2, int(a) + 1, complex(a)
attributes_of_an_int  a=5
    return a.bit_length(), a.real, a.imag, a.numerator, a.conjugate()
minmax  a=5, b=3.0
    return min(a, b)
if  a=5
    return 1 if a > 3 else 2
int_in_list  a=5, l=[1, 2]
    return a in [1, 5]
math  a=2.0
    return math.exp(a)
math_of_an_int  a=2
    return math.sqrt(a), math.factorial(a), math.comb(5, a)
numpy_int_as_a_bound  i=np.int64(3), x=mk(6)
    return x[:i]
methods_of_scalars  x=mk(6)
    s = x[0]
    return (s.shape, s.ndim, s.dtype, s.T is s, s.real, s.imag, s.sum(), s.mean(), s.astype('f4'),
        s.reshape(1), s.ravel(), s.copy(), s.conj(), s.item is not None, s[()], s[None], s[...], s.flatten(),
        s.squeeze(), s.max(), s.argmax(), s.round(2), s.clip(0, 1), s.any(), s.all(), s.cumsum(), s.prod(),
        s.std(), s.var(), s.repeat(2), s.size, s.nbytes, s.strides, s.view('i8'), s.swapaxes is not None,
        s.fill(3), s.base, s.flags.writeable)
obj  x=mk(4)
    return x.astype(object)
str  x=mk(4)
    return x.astype(str)
objarr  x=mk(4)
    return np.array([x, None], dtype=object)
structarg  x=np.zeros(3, [('a', 'f8'), ('b', 'i4')])
    return x['a'] + 1
datetime  x=np.array(['2020-01-01'], 'M8[D]')
    return x + 1
masked  x=np.ma.masked_array([1.0, 2], [0, 1])
    return x + 1
where_dtypes  x=mk(4)
    return (np.where(x > 0, 1, x.astype('f4')), np.where(x > 0, np.int8(1), 2), np.where([True, False,
        True, False], x, 1j), np.where(x > 0))
matrices_of_r  x=mk(6)
    return np.r_['r', x]
"""


def test_it_does_what_numpy_does(program: Any, executor: str, judge: Any) -> None:
    assert judge(program.function, program.arguments, executor=executor) == "same"


def test_it_is_refused(refused: Any, executor: str, judge: Any) -> None:
    assert judge(refused.function, refused.arguments, executor=executor) == "refused"
