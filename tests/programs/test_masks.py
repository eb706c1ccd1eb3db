"""Small programs about boolean masks: selections keep no size, and are what they were when they were made.

A table has programs: a name, arguments (`mk` makes random arrays of a shape and dtype), and indented lines.
"""

from typing import Any

PROGRAMS = """
bool  x=np.arange(4)
    x[x > 1] = True; x *= np.True_; return x
powers  b=mk(4, 1, dt='c16'), x=mk(5), f=mk(5, dt='f4'), s=2.0, t=0.5
    b[abs(b) < 3] **= 2; x[x > 0] **= t; f[f > 0] **= 0.5; f[f < 0] = f[f < 0] ** s; y = x.copy()
    y[y > 1] = 2.0 ** y[y > 1]; y[y < 0] **= 3
    return (b, x, f, y, (x[x > 0] ** 2).sum(), np.sum(np.abs(f[f > 0] - 1)), x[x > 0].mean(),
        x[(x > 0) & (x < 2)].max(), np.prod(x[x != 0]))
integers  i=np.arange(5)
    i[i > 2] **= 2; i[i < 2] //= 2; i[i == 3] *= -1; i[i > 0] %= 3; i[i > 1] <<= 2; return i
integers_cast_not  i=np.arange(5)
    i[i > 2] **= 0.5
integers_divide_not  i=np.arange(5)
    i[i > 2] /= 2
rows_and_columns  x=mk(4, 4)
    x[x > 0] = 0; x[x < -1] = x[x < -1] * 2 + 1; x[:, 0][x[:, 0] == 0] = 7; x.T[x.T > 2] -= 1
    x[x[:, 1] < 0] *= 3; x[0, x[0] > 1] = -5; return x
array_under_a_mask  x=mk(4, 4), y=mk(4)
    x[y > 0] = y; return x
array_added_under_a_mask  x=mk(4, 4), y=mk(4)
    x[y > 0] += y; x[y > 0] = np.arange(4.0); x[y < 0, 1:] = 0; return x
kept_over_writes  x=mk(6)
    m = x > 0; y = x[m]; z = y * 2; x[m] = 0; x[~m] = 1; x[m] = z; return x
snapshot  x=mk(6)
    m = x > 0; y = x[m]; x[:] = 0; x[m] = y; return x
augmented_alias  x=mk(6)
    m = x > 0; y = x[m]; y += 1; z = y; z *= 2; x[m] = y; return x
reductions  x=mk(6)
    return (x[x > 0].any(), x[x > 0].all(), np.any(x[x > 0] > 1), np.max(x[x > 0]), np.mean(x[x > 0]),
        x[x > 0].sum(), np.linalg.norm(x[x > 0]) if False else 0)
where_instead  x=mk(6)
    m = x > 0
    return (np.where(m, x, 0).sum(), x.sum(where=m), np.mean(x, where=m), x.max(where=m, initial=0),
        np.any(x > 1, where=m), np.std(x, where=m), np.var(x, where=m), np.prod(x, where=m), np.add.reduce(x,
        where=m))
known_mask  x=mk(6)
    m = np.array([True, False, True, True, False, False]); y = x[m]; x[m] = 0
    return y, x, x[m].shape, x[~m], np.sum(x[m]), x[np.array([True] * 6)]
known_mask_of_a_matrix  x=mk(3, 3)
    m = np.eye(3, dtype=bool); d = x[m]; x[m] = [1, 2, 3]; x[~m] *= 2
    return d, x, x[m[0]], x[:, m[1]], x[1, m[2]]
cleaning  x=mk(6)
    x[np.isnan(x)] = 0; x[np.abs(x) < 1] = np.sign(x[np.abs(x) < 1]); x[x > 1] = np.sqrt(x[x > 1])
    x[np.logical_and(x > 0, x < 1)] = np.nan; return (x, np.nansum(x), np.isnan(x).any())
both_sides  x=mk(6)
    m = x > 0; x[m], x[~m] = (1, 2); return x
two_arrays  x=mk(6), y=mk(6) + 1
    m = x > 0; x[m] = y[m]; y[m] -= x[m]; x[~m] = -y[~m]; return (x, y)
size  x=mk(6, dt='f4'), i=np.arange(5)
    n = x[x > 0].size
    return x[x > 0].sum() / n, x / (1 + n), i * i[i > 2].size, n, n + 1, np.sqrt(n), x[x > 99].size, -n // 2
as_many_values_as_places  x=np.arange(6.), y=np.arange(6.).reshape(2, 3)
    m = y[0] < 2; x[x > 3] = [1.0, x[0]]; x[x > 99] = []; z = y.copy(); y[:, m] = [5, 6]
    y[1, m] = [7, 8]; z[:, m] = [[9, 8], [7, 6]]; z[z[:, 0] > 6] = z[1:] * 2
    w = np.arange(24.0).reshape(2, 3, 4); w[:, x[:3] > 99] = [1, 2, 3, 4]
    w[:, x[:3] > -1] = [[1], [2], [3]]; w[0, :, x[:4] > 1] = [1, 2, 3]
    w[..., x[:4] > 1] = [[[4], [5], [6]], [[7], [8], [9]]]
    return x, y, z, w
too_many_values  x=np.arange(6.)
    x[x > 3] = [1, 2, 3]
too_few_values  x=np.arange(6.)
    x[x > 2] = [1, 2]
no_values  x=np.arange(6.)
    x[x > 2] = []
too_many_columns  x=np.arange(6.).reshape(2, 3)
    x[:, x[0] > 0] = [[1, 2, 3], [4, 5, 6]]
values_of_two_axes  x=np.arange(6.)
    x[x > 3] = [[5]]
values_of_two_axes_under_a_known_mask  x=np.arange(6.)
    x[np.arange(6) > 3] = [[5]]
values_of_two_axes_beside_an_ellipsis  x=np.arange(6.)
    x[x > 3, ...] = [[5, 6]]; return x
before_the_selected  x=np.arange(6.).reshape(2, 3), y=np.arange(12.).reshape(2, 3, 2)
    m = x[0] < 2; x[:, m] *= 2; x[:, m] = np.array([5, 6])[:, None]; y[:, m] += [1, 2]; return x, y
"""

REFUSED = """
columns_times_a_vector  x=np.arange(6.).reshape(2, 3)
    x[:, x[0] < 2] *= np.array([5, 6])
length  x=mk(6)
    return len(x[x > 0])
shape  x=mk(6)
    return x[x > 0].shape, x[x > 0].size, np.count_nonzero(x > 0), (x > 0).sum()
function_size  x=mk(6)
    return x[x > 0].size, np.size(x[x > 0])
iteration  x=mk(6)
    return [v * 2 for v in x[x > 0]]
sorted  x=mk(6)
    return np.sort(x[x > 0])
compress  x=mk(6), y=mk(6) + 1
    return np.compress(x > 0, x)
extract  x=mk(6), y=mk(6) + 1
    return np.extract(x > 0, x), np.flatnonzero(x > 0)
unique  x=mk(6), y=mk(6) + 1
    return np.unique(x)
"""


def test_it_does_what_numpy_does(program: Any, executor: str, judge: Any) -> None:
    assert judge(program.function, program.arguments, executor=executor) == "same"


def test_it_is_refused(refused: Any, executor: str, judge: Any) -> None:
    assert judge(refused.function, refused.arguments, executor=executor) == "refused"
