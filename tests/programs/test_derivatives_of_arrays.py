"""Derivatives of linear algebra, indices, shapes, transforms: of what moves and joins elements.

A table has functions: a name and arguments, the expression, and after `=` the gradient by all arguments.
Where there is none the point is a regular one, and central differences say what is right.
"""

from typing import Any

import numpy as np

RANDOM = np.random.default_rng(3)
M, B, W = RANDOM.normal(size=(3, 3)), RANDOM.normal(size=(3, 2)), RANDOM.normal(size=(3, 3))
T3 = RANDOM.normal(size=(2, 3, 4))
for _array in (M, B, W, T3):
    _array.flags.writeable = False


def A(*values: Any) -> Any:
    """An array of floats."""
    return np.array(values, float)


CASES = """
det  a=M
    np.linalg.det(a)
det0  a=np.zeros((2, 2))
    np.linalg.det(a)
    = np.zeros((2, 2))
det_sing  a=A([1.0, 2], [2, 4])
    np.linalg.det(a)
    = A([4.0, -2], [-2, 1])
slogdet  a=M
    np.linalg.slogdet(a)[1]
inv  a=M
    np.sum(np.linalg.inv(a) * W)
solve_a  a=M
    np.sum(np.linalg.solve(a, B) ** 2)
solve_b  b=B
    np.sum(np.linalg.solve(M, b) ** 2)
solve_vec  b=B[:, 0].copy()
    np.sum(np.linalg.solve(M, b) ** 2)
cholesky  a=M
    np.sum(np.linalg.cholesky(a @ a.T + 3 * np.eye(3)) * W)
qr_r  a=M
    np.sum(np.linalg.qr(a)[1] ** 3)
qr_tall  a=B
    np.sum(np.linalg.qr(a)[0] * W[:, :2])
svd_s  a=M
    np.sum(np.linalg.svd(a)[1] ** 2 * A(1.0, 2, 3))
svd_s2  a=B
    np.sum(np.linalg.svd(a, compute_uv=False) * A(1.0, 2))
svd_u  a=B
    np.sum(np.linalg.svd(a, full_matrices=False)[0] ** 2 * B)
eigvalsh  a=M
    np.sum(np.linalg.eigvalsh(a + a.T) * A(1.0, 2, 3))
eigh_v  a=M
    np.sum(np.linalg.eigh(a + a.T)[1] ** 2 * W)
pinv  a=B
    np.sum(np.linalg.pinv(a) * B.T)
mpow3  a=M
    np.sum(np.linalg.matrix_power(a, 3) * W)
matrix_power_minus_2  a=M
    np.sum(np.linalg.matrix_power(a, -2) * W)
mpow0  a=M
    np.sum(np.linalg.matrix_power(a, 0) * W)
    = np.zeros((3, 3))
fro  a=M
    np.linalg.norm(a)
nuc  a=M
    np.linalg.norm(a, 'nuc')
spectral  a=M
    np.linalg.norm(a, 2)
norm1  a=M
    np.linalg.norm(a, 1)
norminf  a=M
    np.linalg.norm(a, np.inf)
norm_axis  a=M
    np.sum(np.linalg.norm(a, axis=1))
norm3  a=A(1.0, -2, 3)
    np.linalg.norm(a, 3)
norm1_0  a=A(1.0, -2, 0)
    np.linalg.norm(a, 1)
    = A(1.0, -1, 0)
norminf_tie  a=A(1.0, -3, 3)
    np.linalg.norm(a, np.inf)
    = A(0, -0.5, 0.5)
trace  a=M
    np.trace(a @ a)
    = 2 * M.T
diag  a=M
    np.sum(np.diag(a) ** 2)
    = 2 * np.diag(np.diag(M))
diag_make  a=A(1.0, 2, 3)
    np.sum(np.diag(a) @ W)
tri  a=M
    np.sum(np.triu(a, 1) * W + np.tril(a, -1) ** 2)
kron  a=M
    np.sum(np.kron(a, B) ** 2)
outer  a=A(1.0, 2, 3)
    np.sum(np.outer(a, a) * W)
cross  a=A(3.0, 1, -1)
    np.sum(np.cross(a, A(1.0, 2, 3)) ** 2)
einsum_mm  a=M
    np.sum(np.einsum('ij,jk->ik', a, a) * W)
einsum_diag  a=M
    np.sum(np.einsum('ii->i', a) ** 3)
einsum_trace  a=M
    np.einsum('ii', a)
    = np.eye(3)
einsum_sum  a=M
    np.sum(np.einsum('ij->j', a) ** 2)
einsum_full  a=M
    np.einsum('ij,ij->', a, a)
    = 2 * M
tensordot  a=M
    np.sum(np.tensordot(a, W, ([0], [1])) ** 2)
tensordot0  a=A(1.0, 2, 3)
    np.sum(np.tensordot(a, A(1.0, 2), 0) ** 2)
dots  a=M
    np.sum(np.dot(a, B) ** 2) + np.dot(a[0], a[1]) + np.vdot(a, W) + np.inner(a[0], a[2])
pad  a=M
    np.sum(np.pad(a, ((1, 0), (0, 2))) ** 2)
    = 2 * M
pad_edge  a=A(1.0, 2, 3)
    np.sum(np.pad(a, 2, mode='edge') ** 2)
pad_reflect  a=A(1.0, 2, 3)
    np.sum(np.pad(a, 2, mode='reflect') ** 2)
pad_wrap  a=A(1.0, 2, 3)
    np.sum(np.pad(a, 2, mode='wrap') ** 2)
pad_sym  a=A(1.0, 2, 3)
    np.sum(np.pad(a, 2, mode='symmetric') ** 2)
pad_ramp  a=A(1.0, 2, 3)
    np.sum(np.pad(a, 1, mode='linear_ramp') ** 2)
pad_mean  a=A(1.0, 2, 3)
    np.sum(np.pad(a, 1, mode='mean') ** 2)
repeat  a=A(1.0, 2, 3)
    np.sum(np.repeat(a, [1, 2, 0]) ** 2)
    = A(2.0, 8, 0)
repeat_axis  a=B
    np.sum(np.repeat(a, 2, axis=1) * np.arange(12.0).reshape(3, 4))
tile  a=B
    np.sum(np.tile(a, (2, 2)) * np.arange(24.0).reshape(6, 4))
roll  a=M
    np.sum(np.roll(a, 1, 0) * W + np.roll(a, (1, 2), (0, 1)) ** 2)
rot  a=M
    np.sum(np.rot90(a) * W + np.flip(a) * 2 + np.fliplr(a) * W)
dup_index  a=A(1.0, 2, 3)
    np.sum(a[[0, 0, 2]] ** 2)
    = A(4.0, 0, 6)
index2d  a=A(1.0, 2, 3)
    np.sum(a[np.array([[0, 1], [1, 1]])] * A([1.0, 2], [3, 4]))
    = A(1.0, 9, 0)
mixed_index  a=M
    np.sum(a[:, [0, 0]] * W[:, :2] + a[[1], :][0, 2])
take_along  a=M
    np.sum(np.take_along_axis(a, np.argsort(a, 1), 1) * W)
mask_sum  a=A(1.0, -2, 3)
    np.sum(a[a > 0] ** 2)
    = A(2.0, 0, 6)
mask_mean  a=A(1.0, -2, 3)
    np.mean(a[a > 0] ** 2)
    = A(1.0, 0, 3)
mask_max  a=A(1.0, -2, 3)
    np.max(a[a < 2])
    = A(1.0, 0, 0)
mask_log  a=A(1.0, 0, 4)
    np.sum(np.log(a[a > 0]))
    = A(1.0, 0, 0.25)
compress  a=A(1.0, 2, 3)
    np.sum(np.compress([1, 0, 1], a) ** 2)
    = A(2.0, 0, 6)
choose  a=A(1.0, 2, 3)
    np.sum(np.choose([0, 1, 0], [a, a * 2]) * A(1.0, 2, 3))
    = A(1.0, 4, 3)
select  a=A(1.0, 2, 3)
    np.sum(np.select([a > 2, a > 1], [a ** 2, a * 3], 0.0))
    = A(0.0, 3, 6)
piecewise  a=A(1.0, 2, 3)
    np.sum(np.piecewise(a, [a < 2, a >= 2], [lambda v: v ** 2, lambda v: 3 * v]))
    = A(2.0, 3, 3)
where_b  a=A(1.0, 2, 3)
    np.sum(np.where(a > 1, a, A([1.0], [2])))
    = A(0.0, 2, 2)
split  a=A(1.0, 2, 3)
    np.sum(np.split(a, 3)[1] ** 2) + np.sum(np.array_split(a, 2)[0])
    = A(1.0, 5, 0)
joins  a=A(1.0, 2, 3)
    np.sum(np.concatenate([a, a * 2, A(1.0)]) ** 2) + np.sum(np.stack([a, a], 1) ** 3) +
        np.sum(np.vstack([a, a])) +
        np.sum(np.hstack([a, a])) + np.sum(np.column_stack([a, a])) + np.sum(np.dstack([a, a])) +
        np.sum(np.block([a, a])) +
        np.sum(np.append(a, a))
insert_delete  a=A(1.0, 2, 3)
    np.sum(np.insert(a, 1, a[0] * 3) ** 2) + np.sum(np.delete(a, 0) ** 3)
bcast  a=A(1.0, 2, 3)
    np.sum(np.broadcast_to(a, (4, 3)) * np.arange(12.0).reshape(4, 3))
    = A(18.0, 22, 26)
ufunc_outer  a=A(1.0, 2, 3)
    np.sum(np.add.outer(a, a) ** 2) + np.sum(np.multiply.outer(a, A(1.0, 2)) ** 2)
reduceat  a=A(1.0, 2, 3)
    np.sum(np.add.reduceat(a, [0, 2, 1]) ** 2)
accumulate  a=A(1.0, 2, 3)
    np.sum(np.add.accumulate(a) ** 2) + np.sum(np.multiply.accumulate(a))
sliding  a=A(1.0, 2, 3)
    np.sum(np.lib.stride_tricks.sliding_window_view(a, 2) ** 2)
    = A(2.0, 8, 6)
axes  a=T3
    np.sum(np.moveaxis(a, 0, -1)[..., 1] ** 2) + np.sum(np.swapaxes(a, 0, 2)[0] ** 3) +
        np.sum(a.transpose(2, 0, 1)[1])
average  a=B
    np.sum(np.average(a, axis=0, weights=A(1.0, 2, 3)) ** 2)
average_w  w=A(1.0, 2, 3)
    np.average(A(1.0, 2, 3), weights=w)
cov  a=M
    np.sum(np.cov(a) * W)
corrcoef  a=M
    np.sum(np.corrcoef(a) * W)
fft  a=A(1.0, 2, 4)
    np.sum(np.abs(np.fft.fft(a)) ** 2)
rfft  a=A(1.0, 2, 4, -1)
    np.sum(np.abs(np.fft.rfft(a)) ** 2 * A(1.0, 2, 3))
irfft  a=A(1.0, 2, 4)
    np.sum(np.fft.irfft(a * (1 + 2j)) ** 2)
irfft5  a=A(1.0, 2, 4)
    np.sum(np.fft.irfft(a * (1 + 2j), n=5) ** 3)
ifft  a=A(1.0, 2, 4)
    np.sum(np.fft.ifft(a).real ** 2) + np.sum(np.fft.ifft(a).imag ** 3)
fft2  a=M
    np.sum(np.abs(np.fft.fft2(a)) ** 3)
fftshift  a=A(1.0, 2, 4)
    np.sum(np.fft.fftshift(a) * A(1.0, 2, 3))
    = A(2.0, 3, 1)
complex_inside  a=A(1.0, 2, 4)
    np.sum(np.real(np.exp(1j * a)) ** 2) + np.sum(np.abs(a + 1j)) + np.sum(np.angle(a + 2j))
cabs0  a=A(0.0, 2, -4)
    np.sum(np.abs(a * 1j))
    = A(0.0, 1, -1)
polyval  a=A(1.0, 2, 4)
    np.sum(np.polyval(a, 2.0)) + np.sum(np.polyval(A(1.0, 2, 3), a))
vander  a=A(1.0, 2, 4)
    np.sum(np.vander(a, 3) * W)
meshgrid  a=A(1.0, 2)
    np.sum(np.meshgrid(a, a * 2)[1] ** 2)
unwrap  a=A(0.0, 4, 8)
    np.sum(np.unwrap(a) * A(1.0, 2, 3))
    = A(1.0, 2, 3)
linspace_traced  a=2.0
    np.sum(np.linspace(a, a * 2, 3) ** 2)
apply_along  a=np.abs(M)
    np.sum(np.apply_along_axis(lambda v: v ** 2 / np.sum(v), 0, a))
multi_dot  a=M
    np.sum(np.linalg.multi_dot([a, W, B]) ** 2)
tensorinv  a=M
    np.sum(np.linalg.tensorinv(a.reshape(3, 3), ind=1) * W)
lstsq  a=M
    np.sum(np.linalg.lstsq(a, B, rcond=None)[0] ** 2)
cond  a=M
    np.linalg.cond(a)
"""


def test_gradient(case: Any, executor: str, right_gradient: Any) -> None:
    right_gradient(case, executor)
