"""Derivatives of elementwise functions and reductions at points where systems were reported wrong.

A table has functions: a name and arguments, the expression, and after `=` the gradient by all arguments.
Where there is none the point is a regular one, and central differences say what is right.
"""

import math
from typing import Any

import numpy as np

__all__ = ["math"]


def A(*values: Any) -> Any:
    """An array of floats."""
    return np.array(values, float)


CASES = """
norm0  x=np.zeros(3)
    np.linalg.norm(x)
    = np.zeros(3)
sqrtsumsq0  x=np.zeros(3)
    np.sqrt(np.sum(x * x))
    = np.zeros(3)
sqrtsumsq0sq  x=np.zeros(3)
    np.sqrt(np.sum(x ** 2)) ** 2
    = np.zeros(3)
dist0  x=np.ones(3)
    np.linalg.norm(x - 1.0) * 2
    = np.zeros(3)
where_sqrt0  x=0.0
    np.where(x > 0, np.sqrt(x), 0.0)
    = 0.0
where_log  x=A(-1.0, 0.0, 2.0)
    np.sum(np.where(x > 0, np.log(x), 0.0))
    = A(0, 0, 0.5)
where_sinc  x=A(0.0, 1.0)
    np.sum(np.where(x != 0, np.sin(x) / x, 1.0))
    = A(0, math.cos(1) - math.sin(1))
double_where  x=A(0.0, 1.0)
    np.sum(np.where(x != 0, np.sin(np.where(x != 0, x, 1)) / np.where(x != 0, x, 1), 1.0))
    = A(0, math.cos(1) - math.sin(1))
where_div0  x=A(-1.0)
    np.sum(np.where(x > 0, x / (x * 0 + 0), 0))
    = A(0.0)
where_isfinite  x=A(np.inf, 1.0, np.nan)
    np.sum(np.where(np.isfinite(x), x * 2, 0.0))
    = A(0.0, 2, 0)
nan_to_num  x=A(np.nan, 1.0, np.inf)
    np.sum(np.nan_to_num(x))
    = A(0.0, 1, 0)
nansum  x=A(np.nan, 1.0, 3)
    np.nansum(x * x)
    = A(0.0, 2, 6)
nanmean  x=A(np.nan, 1.0, 3)
    np.nanmean(x ** 2)
    = A(0.0, 1, 3)
nanmax  x=A(np.nan, 1.0, 3)
    np.nanmax(x)
    = A(0.0, 0, 1)
nanvar  x=A(np.nan, 1.0, 3)
    np.nanvar(x)
    = A(0.0, -1, 1)
pow2at0  x=0.0
    x ** 2
    = 0.0
pow1at0  x=0.0
    x ** 1
    = 1.0
pow0at0  x=0.0
    x ** 0
    = 0.0
pow3at0  x=0.0
    x ** 3.0
    = 0.0
powtraced0_2  x=0.0, p=2.0
    x ** p
    = (0.0, 0.0)
powtraced0_1  x=0.0, p=1.0
    x ** p
    = (1.0, 0.0)
powtraced0_0  x=0.0, p=0.0
    x ** p
    = (0.0, 0.0)
exp2  p=0.0
    2.0 ** p
    = math.log(2)
zero_pow  p=2.0
    0.0 ** p
    = 0.0
np_power_int  x=A(-1.0, 0, 2)
    np.sum(np.power(x, 2))
    = A(-2.0, 0, 4)
np_power_ints_at0  x=A(0.0, 0, 0)
    np.sum(np.power(x, np.array([0, 1, 2])))
    = A(0.0, 1, 0)
float_power  x=A(-1.0, 0, 2)
    np.sum(np.float_power(x, 2))
    = A(-2.0, 0, 4)
pow_minus_1  x=A(2.0, -4)
    np.sum(x ** (-1))
    = A(-0.25, -1 / 16)
abs_pow1_5  x=A(0.0, 1, -1)
    np.sum(np.abs(x) ** 1.5)
    = A(0, 1.5, -1.5)
sqrt_x2_0  x=0.0
    np.sqrt(x ** 2)
    = 0.0
sqrt_sq_0  x=0.0
    np.sqrt(x) ** 2
    = 1.0
exp_log_0  x=0.0
    np.exp(np.log(x))
    = 1.0
xlogx  x=1.0
    x * np.log(x)
    = 1.0
entropy0  x=0.0
    np.where(x > 0, x * np.log(np.where(x > 0, x, 1)), 0)
    = 0.0
lse_overflow  x=A(1000.0, 1000)
    np.log(np.sum(np.exp(x)))
    = A(0.5, 0.5)
lse_shift  x=A(1000.0, 1000, -1000)
    np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x)
    = A(0.5, 0.5, 0)
lse_underflow  x=A(-1000.0, -1001)
    np.log(np.sum(np.exp(x)))
    = A(1 / (1 + math.exp(-1)), 1 / (1 + math.e))
logaddexp_large  x=1000.0
    np.logaddexp(x, 0.0)
    = 1.0
logaddexp_small  x=-1000.0
    np.logaddexp(x, 0.0)
    = 0.0
logaddexp_same  x=3.0
    np.logaddexp(x, x)
    = 1.0
logaddexp_of_minus_infinity  x=3.0
    np.logaddexp(x, -np.inf)
    = 1.0
logaddexp2  x=A(1.0, 2)
    np.sum(np.logaddexp2(x, A(1.0, 2)))
    = A(0.5, 0.5)
sigmoid  x=A(-800.0, 0, 800)
    np.sum(1 / (1 + np.exp(-x)))
    = A(0, 0.25, 0)
logsigmoid  x=A(-800.0, 0, 800)
    np.sum(np.log(1 / (1 + np.exp(-x))))
    = A(1, 0.5, 0)
logsigmoid2  x=A(-800.0, 0, 800)
    np.sum(-np.log(1 + np.exp(-x)))
    = A(1, 0.5, 0)
softplus  x=A(-800.0, 0, 800)
    np.sum(np.log(1 + np.exp(x)))
    = A(0, 0.5, 1)
softplus_log1p  x=A(-800.0, 0, 800)
    np.sum(np.log1p(np.exp(x)))
    = A(0, 0.5, 1)
softplus_stable  x=A(-800.0, 0, 800)
    np.sum(np.log1p(np.exp(-np.abs(x))) + np.maximum(x, 0))
    = A(0, 0.5, 1)
softplus_lae  x=A(-800.0, 0, 800)
    np.sum(np.logaddexp(0, x))
    = A(0, 0.5, 1)
tanh  x=A(-800.0, 0, 800)
    np.sum(np.tanh(x))
    = A(0, 1.0, 0)
tanh_by_hand  x=A(-2.0, 0, 3)
    np.sum((np.exp(x) - np.exp(-x)) / (np.exp(x) + np.exp(-x)))
softmax  x=A(1.0, 2, 3)
    np.sum(np.exp(x - x.max()) / np.sum(np.exp(x - x.max())) * A(1.0, 2, 3))
sinc0  x=0.0
    np.sinc(x)
    = 0.0
sinc_small  x=1e-08
    np.sinc(x)
    = -math.pi ** 2 / 3 * 1e-08
sinc  x=A(0.5, -1.3, 2)
    np.sum(np.sinc(x))
i0_0  x=0.0
    np.i0(x)
    = 0.0
hypot0  x=0.0, y=0.0
    np.hypot(x, y)
    = (0.0, 0.0)
hypot_tiny  x=3e-200, y=4e-200
    np.hypot(x, y)
    = (0.6, 0.8)
hypot_huge  x=3e+200, y=4e+200
    np.hypot(x, y)
    = (0.6, 0.8)
atan2  x=1.0, y=0.0
    np.arctan2(x, y)
    = (0.0, -1.0)
atan2_00  x=0.0, y=0.0
    np.arctan2(x, y)
    = (0.0, 0.0)
atan2_tiny  x=1e-200, y=1e-200
    np.arctan2(x, y)
    = (5e+199, -5e+199)
arcsin  x=0.3
    np.arcsin(x)
arch  x=A(1.5, 2, 3)
    np.sum(np.arccosh(x) + np.arctanh(x / 10) + np.arcsinh(x))
misc1  x=A(0.5, 2)
    np.sum(np.expm1(x) + np.log1p(x) + np.cbrt(x) + np.exp2(x) + np.log2(x) + np.log10(x))
cbrt  x=A(-8.0, 1)
    np.sum(np.cbrt(x))
    = A(1 / 12, 1 / 3)
misc2  x=A(0.5, 2)
    np.sum(np.reciprocal(x) + np.deg2rad(x) + np.square(x) + np.tan(x) + np.sinh(x) + np.cosh(x))
abs0  x=0.0
    np.abs(x)
    = 0.0
relu  x=A(-1.0, 0, 1)
    np.sum(np.maximum(x, 0))
    = A(0, 0.5, 1)
clip  x=A(-1.0, 0.5, 2)
    np.sum(np.clip(x, 0, 1))
    = A(0, 1.0, 0)
maximum_tie  x=A(1.0, 2), y=A(1.0, 1)
    np.sum(np.maximum(x, y))
    = (A(0.5, 1), A(0.5, 0))
max_tie  x=A(1.0, 3, 3)
    np.max(x)
    = A(0, 0.5, 0.5)
min_tie  x=A(1.0, 1, 3)
    np.min(x)
    = A(0.5, 0.5, 0)
sort  x=A(3.0, 1, 2)
    np.sum(np.sort(x) * A(1.0, 2, 3))
    = A(3.0, 1, 2)
sort_tie  x=A(1.0, 1, 2)
    np.sum(np.sort(x) * A(1.0, 2, 3))
    = A(1.5, 1.5, 3)
median  x=A(3.0, 1, 2, 10)
    np.median(x)
    = A(0.5, 0, 0.5, 0)
percentile  x=A(3.0, 1, 2, 10)
    np.percentile(x, 25)
    = A(0.0, 0.25, 0.75, 0)
quantile  x=A(3.0, 1, 2, 10.5, 4)
    np.quantile(x, [0.1, 0.5]).sum()
ptp  x=A(3.0, 1, 2, 10)
    np.ptp(x)
    = A(0, -1.0, 0, 1)
flat  x=A(0.3, -1.2)
    np.sum(np.sign(x) + np.floor(x) + np.ceil(x) + np.rint(x) + np.trunc(x))
    = A(0.0, 0)
mod  x=A(3.5, -1.5)
    np.sum(np.mod(x, 2.0))
    = A(1.0, 1)
mod2  x=A(2.0, 3.1)
    np.sum(np.mod(7.3, x))
fmod  x=A(3.5, -1.5)
    np.sum(np.fmod(x, 2.0) + np.fmax(x, 0) + np.fmin(x, 1))
    = A(2.0, 2)
copysign  x=A(2.0, -3)
    np.sum(np.copysign(x, A(-1.0, 1)))
    = A(-1.0, -1)
std  x=A(1.0, 2, 4)
    np.std(x)
std_const  x=A(2.0, 2, 2)
    np.std(x)
    = np.zeros(3)
var_ddof  x=A(1.0, 2, 4)
    np.var(x, ddof=1)
std_axis  x=np.arange(6.0).reshape(3, 2) ** 2
    np.sum(np.std(x, axis=0))
prod00  x=A(0.0, 0, 3)
    np.prod(x)
    = A(0.0, 0, 0)
prod_axis  x=np.array([[0.0, 2, 3], [1, 2, 3]])
    np.sum(np.prod(x, axis=1))
    = np.array([[6.0, 0, 0], [6, 3, 2]])
cumprod0  x=A(2.0, 0, 3)
    np.sum(np.cumprod(x) * A(1.0, 10, 100))
    = A(1.0, 2 * 10 + 6 * 100, 0)
cumsum  x=np.ones((2, 3))
    np.sum(np.cumsum(x, 0) * np.arange(6.0).reshape(2, 3))
    = np.array([[3.0, 5, 7], [3, 4, 5]])
cumsum2  x=A(1.0, 2, 3)
    np.sum(np.cumsum(x) ** 2)
cummax  x=A(1.0, 3, 2)
    np.sum(np.maximum.accumulate(x) * A(1.0, 2, 3))
    = A(1.0, 5, 0)
diff2  x=A(1.0, 3, 2, 5)
    np.sum(np.diff(x, 2) ** 2)
gradient  x=A(1.0, 3, 2, 5)
    np.sum(np.gradient(x) ** 2)
trapz  x=A(1.0, 3, 2)
    np.trapezoid(x ** 2, A(0.0, 1, 3))
interp_fp  x=A(1.0, 3, 2)
    np.sum(np.interp(A(0.5, 1.5), A(0.0, 1, 2), x))
    = A(0.5, 1, 0.5)
interp_x  x=A(0.5, 1.5)
    np.sum(np.interp(x, A(0.0, 1, 2), A(1.0, 3, 2)))
    = A(2.0, -1)
convolve  x=A(1.0, 2)
    np.sum(np.convolve(x, A(1.0, 2, 3)))
    = A(6.0, 6)
convolve_same  x=A(1.0, 2, 3, 4)
    np.sum(np.convolve(x, A(1.0, 2, 3), 'same') ** 2)
convolve_valid  x=A(1.0, 2)
    np.sum(np.convolve(A(1.0, 2, 3, 4), x, 'valid') ** 2)
correlate  x=A(1.0, 2)
    np.sum(np.correlate(A(1.0, 2, 3, 4), x, 'full') ** 2)
"""


def test_gradient(case: Any, executor: str, right_gradient: Any) -> None:
    right_gradient(case, executor)
