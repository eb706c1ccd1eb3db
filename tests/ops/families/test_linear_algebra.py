"""Determinants, systems, decompositions: exact at singular matrices, free of the gauge, one triangle read."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tapeless.compiler.ir import Builder, Node
from tapeless.compiler.ops.linalg import adjoint

SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


def det(b: Builder, a: Node) -> Node:
    return b.det(a)


def test_the_gradient_of_det_is_the_matrix_of_cofactors(function: Any) -> None:
    stack = np.array([SINGULAR, [[3.0, 1.0], [2.0, 5.0]], np.zeros((2, 2)), [[0.0, 0.0], [0.0, 7.0]]])
    wanted = [[[a[1, 1], -a[1, 0]], [-a[0, 1], a[0, 0]]] for a in stack]
    np.testing.assert_allclose(function(det, stack).vjp()[0], wanted, atol=1e-14)


@pytest.mark.parametrize("a", [SINGULAR, np.zeros((2, 2)), np.eye(2)], ids=["rank_1", "zero", "regular"])
def test_the_hessian_of_a_small_det_is_constant(function: Any, a: Any) -> None:
    wanted = np.zeros((4, 4))
    wanted[0, 3] = wanted[3, 0] = 1
    wanted[1, 2] = wanted[2, 1] = -1
    np.testing.assert_allclose(function(det, a).hessian(), wanted, atol=1e-14)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_det_at_every_rank(function: Any, rank: int, dtype: str) -> None:
    rng = np.random.default_rng(rank)
    left, right = rng.normal(size=(2, 3, 3)).astype(dtype)
    if dtype == "c16":
        left = left + 1j * rng.normal(size=(3, 3))
    function(det, left[:, :rank] @ right[:rank]).check(step=1e-2, tolerance=1e-9)


def test_det_of_a_large_matrix_agrees_with_the_inverse(function: Any) -> None:
    a = np.random.default_rng(0).normal(size=(30, 30)) / 5
    wanted = np.linalg.det(a) * np.linalg.inv(a).T
    np.testing.assert_allclose(
        function(det, a).vjp()[0], wanted, rtol=1e-10, atol=1e-12 * np.abs(wanted).max()
    )


@pytest.mark.parametrize("name", ["inv", "slogdet"])
def test_a_singular_matrix_raises_numpys_error(function: Any, name: str) -> None:
    f = function(lambda b, a: getattr(b, name)(a), SINGULAR)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        f.value() if name == "inv" else f.vjp()


def test_the_bits_are_those_of_numpy(function: Any) -> None:
    rng = np.random.default_rng(1)
    a, y = rng.normal(size=(2, 5, 5))
    positive = a @ a.T
    for build, wanted in (
        (lambda b, a: b.svd(a, full_matrices=True), np.linalg.svd(a)),
        (lambda b, a: b.svdvals(a), [np.linalg.svd(a, compute_uv=False)]),
        (lambda b, a: b.qr(a, mode="reduced"), np.linalg.qr(a)),
        (lambda b, a: b.eigh(a, lower=True), np.linalg.eigh(a)),
        (lambda b, a: b.eigvalsh(a, lower=False), [np.linalg.eigvalsh(a, "U")]),
        (lambda b, a: b.pinv(a, rcond=1e-15, hermitian=False), [np.linalg.pinv(a)]),
        (lambda b, a: b.slogdet(a), np.linalg.slogdet(a)),
        (lambda b, a: b.solve(a, b.constant(y[:, :1])), [np.linalg.solve(a, y[:, 0])[:, None]]),
    ):
        for one, two in zip(function(build, a).value(), wanted, strict=True):
            assert np.asarray(one).tobytes() == np.asarray(two).tobytes()
    (factor,) = function(lambda b, a: b.cholesky(a, upper=False), positive).value()
    assert factor.tobytes() == np.linalg.cholesky(positive).tobytes()


@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
def test_only_the_triangle_that_is_read_gets_a_cotangent(function: Any, name: str, lower: bool) -> None:
    a = np.random.default_rng(2).normal(size=(3, 3))
    a = a @ a.T + np.eye(3)
    attrs = {"upper": not lower} if name == "cholesky" else {"lower": lower}
    (ct,) = function(lambda b, a: getattr(b, name)(a, **attrs), a).vjp()
    unread = np.triu(ct, 1) if lower else np.tril(ct, -1)
    assert not unread.any()
    assert ct.any()


def leading_part(b: Builder, a: Node) -> Node:
    """The best approximation of rank 1."""
    u, s, vh = (b.get(b.svd(a, full_matrices=True), index=k) for k in range(3))
    n = a.shape[0]
    left = b.slice(u, start=(0, 0), size=(n, 1), step=(1, 1))
    scale = b.broadcast_to(b.slice(s, start=(0,), size=(1,), step=(1,)), (n, 1))
    right = b.slice(vh, start=(0, 0), size=(1, a.shape[1]), step=(1, 1))
    return b.matmul(b.multiply(left, scale), right)


def test_equal_zero_singular_values_that_do_not_matter(function: Any) -> None:
    np.testing.assert_allclose(function(leading_part, np.ones((5, 5))).vjp()[0], np.ones((5, 5)), atol=1e-12)


def spectral(name: str, power: Callable[[Builder, Node], Node]) -> Callable[[Builder, Node], Node]:
    """A function of the whole spectrum that is smooth in the matrix: U f(s) V^H or V f(w) V^H."""

    def build(b: Builder, a: Node) -> Node:
        if name == "svd":
            u, s, vh = (b.get(b.svd(a, full_matrices=False), index=k) for k in range(3))
        else:
            s, u = (b.get(b.eigh(a, lower=True), index=k) for k in range(2))
            vh = adjoint(b, u)
        return b.matmul(b.multiply(u, b.broadcast_to(b.cast(power(b, s), u.dtype), u.shape)), vh)

    return build


def same(b: Builder, s: Node) -> Node:
    return s


def cube(b: Builder, s: Node) -> Node:
    return b.multiply(s, b.square(s))


def log(b: Builder, s: Node) -> Node:
    return b.log(s)


REPEATED = [
    pytest.param(np.eye(3), id="identity"),
    pytest.param(np.diag([2.0, 2.0, 1.0]), id="one_pair"),
    pytest.param(np.array([[2, 1j], [-1j, 2]]) + 0, id="complex"),
    pytest.param(np.eye(2, dtype="c16"), id="complex_identity"),
]
SINGULAR_ONES = [
    pytest.param(np.zeros((2, 2)), id="zero"),
    pytest.param(np.diag([3.0, 0.0, 0.0]), id="rank_1"),
    pytest.param(np.ones((5, 5)), id="ones"),
]
RECTANGULAR = [
    pytest.param(np.zeros((3, 2)), id="zero_tall"),
    pytest.param(np.outer([0.0, 1, 2, 3], [1.0, 2, 3]), id="rank_1_tall"),
    pytest.param(np.ones((2, 4)) * (1 + 1j), id="complex_wide"),
]


@pytest.mark.parametrize("power", [same, cube, log])
@pytest.mark.parametrize("name", ["svd", "eigh"])
@pytest.mark.parametrize("a", REPEATED)
def test_repeated_values_of_a_smooth_function(function: Any, name: str, a: Any, power: Any) -> None:
    function(spectral(name, power), a).check(step=1e-3, second=False)


@pytest.mark.parametrize("power", [same, cube])
@pytest.mark.parametrize("name", ["svd", "eigh"])
@pytest.mark.parametrize("a", SINGULAR_ONES)
def test_zero_values_of_an_odd_function(function: Any, name: str, a: Any, power: Any) -> None:
    function(spectral(name, power), a).check(step=1e-3, second=False)


@pytest.mark.parametrize("a", RECTANGULAR)
def test_zero_values_of_rectangular_matrices(function: Any, a: Any) -> None:
    function(spectral("svd", cube), a).check(step=1e-3, second=False)
    function(spectral("svd", same), a).check(step=1e-3, second=False)


def test_a_long_way_from_the_vectors_to_the_loss(function: Any) -> None:
    def build(b: Builder, a: Node) -> Node:
        m = spectral("eigh", log)(b, a)
        for k in range(400):
            m = b.multiply(m, b.scalar(1.0001, m)) if k % 50 else b.tanh(m)
        return m

    function(build, np.eye(3)).check(step=1e-3, second=False)


def test_the_second_derivative_of_a_limit_is_nan_and_no_wrong_number(function: Any) -> None:
    assert np.isnan(function(spectral("eigh", cube), np.eye(2)).hessian()).any()


def test_the_hessian_of_a_trace_at_the_identity(function: Any) -> None:
    """tr A^3 = sum w^3 has second derivatives 6 on the diagonal, and in the triangle that is read."""

    def trace(b: Builder, a: Node) -> Node:
        return cube(b, b.eigvalsh(a, lower=True))

    wanted = np.diag([6.0, 0.0, 12.0, 6.0])
    np.testing.assert_allclose(function(trace, np.eye(2)).hessian(), wanted, atol=1e-12)


def test_a_projection_on_vectors_of_equal_values(function: Any) -> None:
    def build(b: Builder, a: Node) -> Node:
        v = b.slice(b.get(b.eigh(a, lower=True), index=1), start=(0, 1), size=(3, 2), step=(1, 1))
        return b.matmul(v, adjoint(b, v))

    function(build, np.diag([1.0, 2.0, 2.0])).check(second=False)


@pytest.mark.parametrize("name", ["svd", "eigh"])
def test_a_loss_that_sees_the_free_turn_has_no_derivative(function: Any, name: str) -> None:
    def first_vector(b: Builder, a: Node) -> Node:
        vectors = (
            b.get(b.svd(a, full_matrices=False), index=0)
            if name == "svd"
            else b.get(b.eigh(a, lower=True), index=1)
        )
        return b.slice(vectors, start=(0, 0), size=(3, 1), step=(1, 1))

    assert np.isnan(function(first_vector, np.eye(3)).vjp(np.ones((3, 1)))[0]).any()


def projections(full: bool) -> Callable[[Builder, Node], Node]:
    """u1 u1^H and, of a full decomposition, the projection on the columns that s does not reach."""

    def build(b: Builder, a: Node) -> list[Node]:
        u, s, vh = (b.get(b.svd(a, full_matrices=full), index=k) for k in range(3))
        m, n = a.shape
        k = min(m, n)
        first = b.slice(u, start=(0, 0), size=(m, 1), step=(1, 1))
        last = b.slice(vh, start=(k - 1, 0), size=(1, n), step=(1, 1))
        parts = [
            b.matmul(first, adjoint(b, first)),
            b.matmul(adjoint(b, last), last),
            b.matmul(first, last),
            s,
        ]
        if full and m > n:
            rest = b.slice(u, start=(0, n), size=(m, m - n), step=(1, 1))
            parts.append(b.matmul(rest, adjoint(b, rest)))
        if full and n > m:
            rest = b.slice(vh, start=(m, 0), size=(n - m, n), step=(1, 1))
            parts.append(b.matmul(adjoint(b, rest), rest))
        return [*parts[:2], *parts[3:]] if k > 1 else parts

    return build


@pytest.mark.parametrize("full", [False, True], ids=["reduced", "full"])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3), (1, 3)], ids=str)
def test_svd_by_what_does_not_depend_on_the_gauge(
    function: Any, shape: tuple[int, int], dtype: str, full: bool
) -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=shape).astype(dtype)
    if dtype == "c16":
        a = a + 1j * rng.normal(size=shape)
    function(projections(full), a).check(tolerance=1e-6)


@pytest.mark.parametrize("lower", [True, False], ids=["lower", "upper"])
def test_complex_eigh_by_projections(function: Any, lower: bool) -> None:
    def build(b: Builder, a: Node) -> list[Node]:
        w, v = (b.get(b.eigh(a, lower=lower), index=k) for k in range(2))
        first = b.slice(v, start=(0, 0), size=(3, 1), step=(1, 1))
        return [w, b.matmul(first, adjoint(b, first))]

    rng = np.random.default_rng(4)
    function(build, rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))).check()


def test_a_complete_qr_turns_its_free_columns(function: Any) -> None:
    def build(b: Builder, a: Node) -> list[Node]:
        q, r = (b.get(b.qr(a, mode="complete"), index=k) for k in range(2))
        free = b.slice(q, start=(0, 2), size=(5, 3), step=(1, 1))
        return [b.matmul(free, adjoint(b, free)), r]

    function(build, np.random.default_rng(5).normal(size=(5, 2))).check()


def test_pinv_at_lower_rank(function: Any) -> None:
    """Along matrices of the same rank: A(x) = x y^T with both factors free."""

    def build(b: Builder, x: Node, y: Node) -> Node:
        return b.pinv(b.matmul(x, y), rcond=1e-10, hermitian=False)

    rng = np.random.default_rng(6)
    function(build, rng.normal(size=(4, 1)), rng.normal(size=(1, 3))).check()


def test_residuals_of_dependent_columns_raise(function: Any) -> None:
    f = function(lambda b, a, y: b.residuals(a, y, rcond=1e-14), np.ones((3, 2)), np.ones((3, 1)))
    with pytest.raises(np.linalg.LinAlgError, match="dependent columns"):
        f.value()


def test_least_squares_against_numpy(function: Any) -> None:
    rng = np.random.default_rng(7)
    a, y = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))
    wanted = np.linalg.lstsq(a, y, rcond=1e-14)
    x, rank, s = function(lambda b, a, y: b.lstsq(a, y, rcond=1e-14), a, y).value()
    (residuals,) = function(lambda b, a, y: b.residuals(a, y, rcond=1e-14), a, y).value()
    for one, two in zip((x, residuals, rank, s), wanted, strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes()
