"""Small programs about views, writes, indices, joining and shapes: the compiled one does what NumPy does.

A table has programs: a name, arguments (`mk` makes random arrays of a shape and dtype), and indented lines.
"""

from typing import Any

PROGRAMS = """
min_np  x=mk(6)
    return np.min(x), np.max(x), x.min(), x.argmin(), np.sort(x)
negative_steps  x=mk(6)
    return x[-1], x[-3:-1], x[::-2], x[4:1:-1], x[-100:100], x[5:2], x[::-1][::-1]
newaxis  x=mk(6)
    return x[None], x[:, None], x[None, :, None], x[..., None], x[None, ...], x[np.newaxis, 2:4]
slice_helpers  x=mk(6)
    return x[np.s_[1:4]], x[np.s_[::2]], x[np.index_exp[1:3]]
ix_  x=mk(4, 4)
    i = np.ix_([0, 2], [1, 3]); y = x[i]; x[i] = 0; x[np.ix_([1], [1, 2])] += 1; return (y, x)
r_and_c_simple  x=mk(6)
    return np.r_[x, 1, 2, x[0]], np.c_[x, x], np.r_[1:4, 0], np.r_['0,2', x, x]
r_and_c_mixed  x=mk(6)
    return np.r_[0.0, x[1:], 5], np.c_[x[:3], x[3:], np.ones(3)]
transpose_takes_no_assignment  x=mk(4, 4)
    x.T += np.arange(4.0); x.T[1] -= 1; return x
augmented_views  x=mk(4, 4)
    y = x.T; y += 1; z = x.reshape(-1); z *= 2; w = x.ravel(); w[0] = 0; return (x, y is x.T)
real_w  x=mk(4, dt='c16')
    x.real = 1; x.imag[::2] = 2; x.real += x.imag; x.imag *= 3
    return x.real.copy(), x.conj(), np.conj(x), abs(x), x.T is x
view_dtype  x=mk(4, dt='c16')
    v = x.view(float); v[0] = 5; v[1::2] *= 2; u = x.view('u1'); return (v, u.shape, x)
view_i8  x=mk(4)
    i = x.view(np.int64); i[0] = 0; i[1] ^= np.int64(-9223372036854775808); j = x.view('i4')
    k = x.view('u1'); return (i, j.copy(), k[::8], x)
view_f4  x=mk(4)
    y = x.view('f4').reshape(4, 2)[:, 1]; y[...] = 1.5; return (y, x)
shape_set  x=mk(6)
    y = x[:]; y.shape = (2, 3); y[0, 1] = 9; return (y, x.shape)
shape_set_arg  x=mk(6)
    x.shape = (2, 3); x[0, 1] = 9; return x
npresize  x=mk(6)
    return np.resize(x, (3, 4)), np.resize(x, 3)
index_and_ellipsis  x=mk(6), y=mk(4, 4), i=np.array(1), j=np.arange(3)
    k = j.max()
    return (x[i, ...], x[..., i], y[i, ..., 0], y[i, i, ...], y[i, 1, ...], y[i, ...], y[..., i], x[i],
        y[i, 0], np.sqrt(x[i, ...]), x[k, ...] + 0, type(x[k, ...]) is np.ndarray,
        type(y[k, ..., i]) is np.ndarray)
lists_beside_scalars  y=mk(4, 4), j=np.arange(3)
    k = j.max(); u = y[[1, 2], k]; u += 1; v = y[k, True]; v[0] = 5; w = y[1:, [0], k]; w[...] = 0
    return u, v, w
at_all_places  x=mk(6), y=mk(4, 4)
    np.add.at(x, ..., 1); np.add.at(y, (..., 0), [1, 2, 3, 4]); np.negative.at(x, (..., [0, 0])); return x, y
add_at  x=mk(6)
    np.add.at(x, [0, 0, 2], 1.0); np.multiply.at(x, [1, 1], 2); np.subtract.at(x, slice(3, 5), x[:2])
    np.maximum.at(x, [5, 5], [1.0, 9.0]); return x
negative_at  x=mk(6)
    np.negative.at(x, [0, 0, 1]); return x
reduceat  x=mk(6)
    return (np.add.reduceat(x, [0, 2, 1, 5]), np.multiply.reduceat(x, [0, 3]), np.maximum.reduceat(x,
        np.array([0, 4])))
copyto  x=mk(6)
    np.copyto(x, 0, where=x > 0); np.copyto(x[2:], x[:4])
    np.copyto(x, [1, 2, 3, 4, 5, 6], where=[1, 0, 0, 0, 0, 1] == np.ones(6)); return x
put  x=mk(6)
    np.put(x, [0, -1], [9, 8]); np.place(x, x < 0, [1, 2]); np.putmask(x, x > 5, x * 2); x.put([1], 3)
    return x
choose  x=mk(6)
    return (np.choose([0, 1, 0, 1, 1, 0], [x, -x]), np.choose((x > 0).astype(int), [x, 0.0]),
        np.select([x > 1, x < -1], [x, -x], 0.5))
take_out  x=mk(6)
    o = np.empty(2); r = np.take(x, [1, 2], out=o); s = x.take([[0, 5], [1, 1]]); t = np.take(x, 3)
    return r is o, o, s, t, x.take([7], mode='wrap'), np.take(x, [-1, 9], mode='clip')
sort_in  x=mk(6)
    i = x.argsort(); x.sort(); y = x[::-1]; y.sort(); return (i, x, y)
sort_axis  x=mk(4, 4)
    x.sort(axis=0); y = np.sort(x, axis=None); x[:, ::-1].sort()
    return y, np.argsort(x, 0), np.partition(x, 2), x
partition  x=mk(4, 4)
    x.partition(1, axis=1); return (x, np.argpartition(x, 1, 0))
fill  x=mk(4, 4)
    x[1].fill(3); x.T[0].fill(-1); np.fill_diagonal(x, 7); x[2:, 2:].fill(x[0, 1]); return x
dot_out  x=mk(4, 4)
    o = np.empty((4, 4)); r = x.dot(x, out=o); np.matmul(x, x.T, out=o); np.dot(x, x[0], out=o[0])
    return r is o, o
einsum  x=mk(4, 4)
    d = np.einsum('ii->i', x); d += 1; t = np.einsum('ij->ji', x); t[0, 1] = 5
    v = np.einsum('i...->...i', x)
    return (d, t, np.einsum('ij,jk', x, x), np.einsum('ii', x), np.einsum('ij->', x), np.einsum('i,j->ij',
        x[0], x[1]), v)
sliding  x=mk(6)
    w = np.lib.stride_tricks.sliding_window_view(x, 3); a = w.mean(-1); x[0] = 100
    return w, a, w.sum(1)
sliding_nothing  x=mk(0, 7), y=mk(2, 7)
    look = np.lib.stride_tricks.sliding_window_view; w = look(x, 3, axis=1)
    return w, w.sum(-1), w.T.shape, w[0:0], look(y[2:], 2, axis=1), look(y[:0] * 2, 7, axis=1)
bcast_write  x=mk(6)
    y = np.broadcast_to(x, (2, 6)); y[0] = 1
bcast_arrays  x=mk(6)
    a, b = np.broadcast_arrays(x, np.ones((2, 1))); return (a, b, a.flags.writeable)
add_list  x=mk(6)
    return x + [1, 2, 3, 4, 5, 6], (1,) * 6 * x, [x[0], 1] + [2], (x[0],) + (1,), [1, 2] * 2
every_kind_of_index  x=mk(6)
    i = np.array([2, 0])
    return (x[i], x[list(i)], x[i[0]], x[int(i[0])], [x[k] for k in i], x[tuple([1])], x[np.array(1)],
        x[np.int64(2)], x[True], x[False], x[np.True_], x[[]], x[np.array([], int)], x[slice(1, 3),], x[...],
        x[..., 0], x[None, 1], x[[1], None])
every_kind_of_index_of_a_matrix  x=mk(4, 4)
    return (x[0][1], x[0, 1], x[[0, 1], [2, 3]], x[[0, 1]][:, [2, 3]], x[1, [0, 2]], x[[0, 2], 1:3], x[:,
        None, [1, 2]], x[[[0], [1]], [0, 1]], x[..., [0]], x[np.newaxis, [0, 1], :, None], x[-1, ::-1],
        x[[True, False, True, False]], x[:, [False, True, True, False]], x[[0, 1], ..., None],
        x[x.shape[0] - 1], x[np.ix_([True, False, True, True], [0, 2])])
too_many_indices  x=mk(4, 4)
    return x[0, 0, 0]
index_beyond  x=mk(4, 4)
    return x[4]
index_by_a_float  x=mk(4, 4)
    return x[1.0]
list_beyond  x=mk(4, 4)
    return x[[0, 9]]
two_ellipses  x=mk(4, 4)
    return x[..., ...]
ragged_index  x=mk(4, 4)
    return x[[[0, 1], [2]]]
rows_from_another_shape  x=mk(4, 4)
    x[[0, 1]] = np.ones(3)
row_beyond  x=mk(4, 4)
    x[5] = 1
column_from_another_shape  x=mk(4, 4)
    x[:, 0] = [1, 2]
matmul_of_other_lengths  x=mk(4, 4)
    return x @ np.ones(3)
add_of_other_lengths  x=mk(4, 4)
    return x + np.ones(3)
axis_beyond  x=mk(4, 4)
    return x.sum(axis=5)
concatenate_of_other_ndims  x=mk(4, 4)
    return np.concatenate([x, np.ones(3)])
reshape_of_another_size  x=mk(4, 4)
    return x.reshape(3, -1)
squeeze_of_a_long_axis  x=mk(4, 4)
    return np.squeeze(x, 0)
inverse_of_a_rectangle  x=mk(4, 4)
    return np.linalg.inv(x[:3])
unknown_keyword  x=mk(4, 4)
    return np.sum(x, foo=1)
too_many_arguments  x=mk(4, 4)
    return x.sum(0, 1, 2, 3, 4, 5, 6, 7, 8)
missing_argument  x=mk(4, 4)
    return np.add(x)
max_of_nothing  x=mk(4, 4)
    return x[:0].max()
max_of_no_rows  x=mk(4, 4)
    return x[:0].max(axis=0)
sums_of_nothing  x=mk(4, 4)
    return x[:, :0].sum(1), x[:0].sum(), x[:0].prod(0), x[:0].any(), x[:0].mean(1)
argmax_of_nothing  x=mk(4, 4)
    return x[:0].argmax()
mean_of_nothing  x=mk(4, 4)
    return x[:0].mean()
ragged  x=mk(6)
    return np.array([x, x[:2]])
nested_list  x=mk(6)
    return (np.array([[x[0], 1], [x[1], x[2]]]), np.array([x[:2], [1, 2]]), np.array((x[0], x[1])),
        np.asarray([x[0]] * 3, dtype='f4'), np.array([[x, x], [x, x]]).shape, np.stack(list(x.reshape(2, 3))),
        np.array([]), np.array([x[0] > 0, True]), np.array([1, 2.5, x[0]]), np.array([np.float32(1),
        np.float32(2)]))
matmul_out  x=mk(4, 4)
    o = np.empty((4, 4)); r = np.matmul(x, x, out=o); return (r is o, o)
matmul_out_of_another_kind  x=mk(4, 4)
    return np.matmul(x, x, out=np.empty((4, 4), 'i4'))
matmul_out_of_another_shape  x=mk(4, 4)
    return np.matmul(x, x, out=np.empty((4, 5)))
matmul_out_broadcast  x=mk(4, 4)
    o = np.empty((3, 4, 4)); np.matmul(x, x, out=o); return o
matmul_out_vectors  x=mk(4, 4)
    o = np.empty(4); np.matmul(x, x[0], out=o); p = np.empty(()); np.matmul(x[0], x[0], out=p)
    return o, p
matmul_out_row  x=mk(4, 4)
    return np.matmul(x, x, out=np.empty((1, 4)))
dot_out_of_another_dtype  x=mk(4, 4)
    o = np.empty((4, 4), 'f4'); x.dot(x, out=o); return o
dot_and_dtype  x=mk(4, 4)
    o = np.empty((4, 4))
    return (np.dot(x, x, out=o), np.dot(x, x[0], out=np.empty(4)), np.matmul(x, x, dtype='f4'),
        np.matmul(x.astype('f4'), x))
imatmul_casts_not  x=mk(4, 4)
    i = x.astype('i4'); i @= x; return i
imatmul_casts  x=mk(4, 4)
    i = x.astype('i4'); i @= i; j = x.astype('f4'); j @= x; return (i, j)
imatmul_of_views  x=mk(4, 4)
    x[1:, 1:] @= x[1:, 1:]; y = x.T; y @= x; return (x, y)
imatmul_vector  x=mk(4, 4)
    x @= x[0]
matmul_number  x=mk(4, 4)
    return x @ 3
number_matmul  x=mk(4, 4)
    return 3 @ x
imatmul_booleans  x=mk(4, 4)
    b = x > 0; b @= b; return b
matmul_out_positional  x=mk(4, 4)
    return np.matmul(x, x, out=(np.empty((4, 4)),)), np.matmul(x, x, np.empty((4, 4)))
scalar_flat  x=mk(4, 4)
    s = x.sum(); s.flat = 3
scalar_imag  x=mk(4, 4)
    s = x.sum(); s.imag = 3
scalar_real  x=mk(4, 4)
    s = x.sum(); s.real += 3
scalar_shape  x=mk(4, 4)
    s = x.sum(); s.shape = (1,)
scalar_put_does_nothing  x=mk(4, 4)
    s = x.sum(); np.put(s, [0], 5); s.fill(3); s.put([0], 3); return (s, s.flat[0], list(s.flat))
scalar_place  x=mk(4, 4)
    s = x.sum(); np.place(s, True, 5)
scalar_copyto  x=mk(4, 4)
    s = x.sum(); np.copyto(s, 5)
scalar_sort  x=mk(4, 4)
    s = x.sum(); s.sort()
scalar_putmask  x=mk(4, 4)
    s = x.sum(); np.putmask(s, True, 5); return s
scalar_out  x=mk(4, 4)
    s = x.sum(); np.add(s, 1, out=s)
scalar_fill_diagonal  x=mk(4, 4)
    s = x.sum(); np.fill_diagonal(s, 1)
scalar_setitem  x=mk(4, 4)
    s = x.sum(); s[...] = 1
scalar_partition  x=mk(4, 4)
    s = x.sum(); s.partition(0)
flat_complex_into_integers  x=np.arange(4)
    x.flat = 1j
flat_out_of_range  x=np.arange(4, dtype='u1')
    x.flat = 300
flat_casts  x=np.arange(4, dtype='u1')
    x.flat = [1.5, 2]; x.flat[2] = np.float64(7.9); x.flat[1:] = np.array([300, 2.5])
    x.flat[::3] = x[1]; return x
flat_by_every_index  x=np.arange(4, dtype='u1')
    x.flat[[0, 1]] = [9]; x.flat[np.array([True, False, False, True])] = 8; x.flat[...] = x[2]; return x
flat_sequence_into_one  x=np.arange(4, dtype='u1')
    x.flat = []; x.flat[1:1] = 3; x.flat[0] = [5, 6]; return x
flat_beyond  x=np.arange(4, dtype='u1')
    x.flat[9] = 3
fill_diagonal_of_a_vector  x=np.arange(4, dtype='u1')
    np.fill_diagonal(x, 1j)
fill_diagonal_complex  x=np.arange(9, dtype='u1').reshape(3, 3)
    np.fill_diagonal(x, 1j)
fill_diagonal_list  x=np.arange(9, dtype='u1').reshape(3, 3)
    np.fill_diagonal(x, [7, 8]); np.fill_diagonal(x[1:], 300); return x
empty_layouts  a=np.zeros((2, 3, 2), 'i4').transpose(1, 2, 0).copy().transpose(2, 0, 1)[1:-1],
        b=np.zeros((4, 0, 3)), c=np.zeros((4, 0, 3), order='F')[::2], d=np.zeros((0, 3))[:, ::2]
    return (a.sum(0), a.strides, b.sum(1), b.strides, c.sum(1), c * 2, c.strides, d.sum(0), d + 1,
        a.max(1), np.concatenate([a, a]), a.T, a.reshape(-1), b.copy(), a.copy(), np.sort(a, 1),
        a.astype('f8'), c.mean(0), d.T.copy(), np.tanh(c), a[:, 0].sum(0), a @ np.ones((2, 3)))
element_takes_no_sequence  x=mk(3), n=3
    x[0] = x[:2]
complex_element_takes_no_sequence  x=mk(3, dt='c16'), n=3
    x[0] = x[:2]
element_takes_no_array_of_one  x=mk(3), n=3
    x[0] = x[:1]; return x
element_takes_no_list  x=mk(3), n=3
    x[0] = [x[1]]; return x
element_takes_no_empty_list  x=mk(3), n=3
    x[0] = []; return x
view_of_an_element_takes_an_array  x=mk(3), n=3
    x[0, ...] = x[:1]; return x
whole_by_empty_tuple  x=mk(3), n=3
    x[()] = x[:2]; return x
zero_d_takes_no_array  x=np.array(3.0), y=mk(1)
    x[()] = y; return x
zero_d_by_ellipsis  x=np.array(3.0), y=mk(1)
    x[...] = y; x += y[0]; return x
zero_d_plus_array  x=np.array(3.0), y=mk(1)
    x += y; return x
halves_of_a_thin_view  x=np.flip(np.flip(mk(2, 1, 3)).copy())
    y = x[..., :1].view('f4'); y[...] = 1.5; return (y, x)
place_into_a_constant  x=mk(3)
    t = np.pad(np.ones(1), 1); np.place(t, t > 0, [3, 2]); return (t, t.flatten(), x)
fortran_with_a_length_of_one  x=mk(2, 1, 3, order='F')
    return x.sum(), x.sum(0), np.sort(x, 0), x * 2, x.max(2)
element_of_a_result  x=np.asfortranarray(mk(1, 3) > 0)
    t = x + 1j; return (t, t[0, -1])
zero_d_sorting  x=np.array(2.0)
    return np.argsort(x), x.argsort(), np.argpartition(x, 0), np.flip(x), np.median(x), np.argmax(x)
zero_d_masks  x=np.array(2.0)
    x[x > 1] = 5; y = x[...]; y[y < 9] = 6; return (x, y)
scalar_views  x=mk(3)
    return x[0].view('i8'), x.sum().view(), x[1].view('u8')
add_at_of_another_shape  x=mk(3)
    np.add.at(x, [0, 0, 1], np.ones(4))
add_at_of_too_many_axes  x=np.array(2.0)
    np.add.at(x, [0], 1)
median_of_nothing  x=mk(0, 3)
    return np.median(x)
truth_values_as_exponents  x=mk(3)
    return x ** True, x ** False
own_real_part_of_a_read_only_array  x=np.broadcast_to(mk(3), (2, 3))
    x.real = x; np.copyto(x, x); return x
accumulate_into_another_shape  x=mk(3)
    np.cumsum(x, out=np.empty(2))
list_as_an_axis  x=mk(3)
    return x.sum([0])
"""

REFUSED = """
flat  x=mk(4, 4)
    x.flat[3] = 9; x.flat[::5] = [1, 2, 3, 4]; a = x.flat[5]; b = x.flat[2:7]; c = [v for v in x.flat]
    d = x.flat[[1, 2]]; return (a, b, c, d, len(x.flat), np.array(x.flat))
resize_new  x=mk(6)
    y = x.copy(); y.resize(2, 3); return y
as_strided  x=mk(6)
    y = np.lib.stride_tricks.as_strided(x, (4, 3), (8, 8)); return (y.sum(0), y)
index_by_a_text  x=mk(4, 4)
    return x['a']
matmul_axes  x=mk(4, 4)
    return np.matmul(x, x, axes=[(0, 1), (1, 0), (0, 1)])
flat_from_itself  x=mk(4)
    x.flat[1:3] = x
two_results_in_one_array  x=mk(4)
    np.divmod(x, 2, out=(x, x))
"""


def test_it_does_what_numpy_does(program: Any, executor: str, judge: Any) -> None:
    assert judge(program.function, program.arguments, executor=executor) == "same"


def test_it_is_refused(refused: Any, executor: str, judge: Any) -> None:
    assert judge(refused.function, refused.arguments, executor=executor) == "refused"
