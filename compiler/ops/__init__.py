"""The primitives, one family a file; `opdef.OPS` loads a family when one of its ops is first asked for.

Primitives neither broadcast nor promote: elementwise operands have one shape and the dtypes their NumPy
function computes in; a 0-d operand of the same dtype may stand for a repeated one.
"""

FAMILIES = {
    "arithmetic": (
        "add subtract multiply divide negative positive floor_divide remainder fmod divmod "
        "absolute fabs sign conjugate"
    ),
    "choose": "choose select",
    "clip": "clip",
    "compare": (
        "equal not_equal less less_equal greater greater_equal logical_and logical_or "
        "logical_xor bitwise_and bitwise_or bitwise_xor left_shift right_shift invert "
        "logical_not isfinite isinf isnan signbit"
    ),
    "contract_windows": "contract_windows",
    "contraction": "matmul add_matmul",
    "cumulative": "recurrence cumsum cumprod cummax cummin",
    "decompose": "svd svdvals qr",
    "dot": "dot",
    "eigen": "eigh eigvalsh eig eigvals",
    "einsum": "einsum vecdot matvec vecmat convolve correlate",
    "fft": "fft ifft rfft irfft",
    "floating": (
        "floor ceil trunc rint spacing nextafter copysign heaviside ldexp frexp modf deg2rad "
        "radians rad2deg degrees gcd lcm bitwise_count"
    ),
    "index": "gather take scatter last_writes scatter_add ufunc_at",
    "interpolate": "interp",
    "join": "concatenate pad repeat roll",
    "least_squares": "pinv lstsq residuals",
    "linalg": "inv solve det cofactor cofactor_slope slogdet cholesky",
    "masked": "masked_reduce mask_ranks",
    "memory": "param constant mark stop_gradient copy cast as_element item get write",
    "numpy_call": "numpy_call",
    "power": "square reciprocal sqrt cbrt hypot power float_power",
    "random": "draw",
    "reduction": "sum max min nanmax nanmin prod any all argmax argmin",
    "scalar_operator": "scalar_operator",
    "segments": "reduceat segments_spread",
    "select": "where maximum minimum fmax fmin",
    "softmax": "logsumexp softmax log_softmax",
    "sort": "sort argsort tie_mean partition argpartition searchsorted lexsort",
    "special": (
        "erf erfc erfcx ndtr log_ndtr expit logit log_expit gammaln gamma psi polygamma xlogy "
        "xlog1py entr rel_entr kl_div i0 i1 bessel_i numpy_i0 sinc"
    ),
    "spectral": "limit",
    "subgraph": "fused",
    "sums": "sum_products partial_sum",
    "transcendental": (
        "exp exp2 expm1 log log2 log10 log1p logaddexp logaddexp2 sin cos tan arcsin arccos "
        "arctan arctan2 sinh cosh tanh arcsinh arccosh arctanh"
    ),
    "ufunc_methods": "ufunc_reduce ufunc_accumulate",
    "view": "reshape transpose broadcast slice window window_sum real imag bitcast",
}

FAMILY_OF = {op: family for family, ops in FAMILIES.items() for op in ops.split()}
