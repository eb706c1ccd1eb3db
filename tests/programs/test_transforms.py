"""Derivatives of programs that write, of trees, complex numbers, derivatives; and what else such calls do."""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapeless as tl


def A(*values: Any, dtype: Any = float) -> Any:
    """An array."""
    return np.array(values, dtype)


def slope(function: Callable[..., Any], x: Any) -> Any:
    """The gradient by central differences; for complex x by both parts, as dL/da + i dL/db."""
    found = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        for part in (1, 1j) if x.dtype.kind == "c" else (1,):
            step = np.zeros_like(x)
            step[place] = 1e-6 * part
            found[place] += part * (function(x + step) - function(x - step)) / 2e-6
    return found


# ---- programs that write


def element_by_element(x: Any) -> Any:
    y = x * 1
    y[0] = y[1] * 2
    y[1:] += y[:-1]
    y *= y
    return np.sum(y)


def into_diagonals(x: Any) -> Any:
    out = np.zeros((3, 3))
    out[np.diag_indices(3)] = x
    out.T[0, 1:] = x[:2] ** 2
    out[out > 2] *= 2
    return np.sum(out * np.arange(9.0).reshape(3, 3))


def by_repeated_places(x: Any) -> Any:
    y = x.copy()
    np.add.at(y, [0, 0, 1], x[[1, 2, 2]])
    np.multiply(y, x, out=y)
    np.exp(y, out=y, where=y < 5)
    y[[0, 1]] = y[[1, 0]]
    np.cumsum(y, out=y)
    return np.sum(y * A(1, 2, 3))


def through_views(x: Any) -> Any:
    v = np.outer(x, A(1, -2)) * 1
    w = v[::-1]
    w[0] = w[1] ** 2
    v[:, 0] -= w[:, 1]
    v.sort(axis=0)
    np.fill_diagonal(v, v[0, 1])
    return np.sum(v * np.arange(6.0).reshape(3, 2))


def under_masks(x: Any) -> Any:
    y = x * 1
    z = y * y
    y[0] = 0
    w = y.view()
    w += z
    np.copyto(y[1:], z[:-1], where=x[1:] > 0)
    y.flat[0] = z[2]
    np.put(y, [1], z[0])
    np.putmask(y, y > 9, y * 2)
    np.place(y, y < 0, [z[0]])
    return np.sum(y**2)


def parts_of_complex_numbers(x: Any) -> Any:
    z = x * A(1 + 2j, 0.5 - 1j, -1 + 0.3j, dtype=complex)
    z.real[0] = x[1]
    z.imag *= 2
    return np.sum(np.abs(z) ** 2)


def complex_numbers_as_pairs(x: Any) -> Any:
    v = np.concatenate([x, x[:1]]).view(complex)
    w = v * v
    u = w.view(float)
    u[0] = x[1] ** 2
    return np.sum(u**2)


@pytest.mark.parametrize(
    "function",
    [
        element_by_element,
        into_diagonals,
        by_repeated_places,
        through_views,
        under_masks,
        parts_of_complex_numbers,
        complex_numbers_as_pairs,
    ],
)
def test_programs_that_write(function: Callable[..., Any]) -> None:
    x = A(0.4, 1.45, 2.2)
    gradient, direction = tl.grad(function), A(1, 0.5, -1)
    np.testing.assert_allclose(gradient(x), slope(function, x), rtol=1e-6, atol=1e-8)
    along = (gradient(x + 1e-6 * direction) - gradient(x - 1e-6 * direction)) / 2e-6
    np.testing.assert_allclose(tl.hvp(function, x, direction), along, rtol=1e-6, atol=1e-6)


# ---- complex arguments

COMPLEX: dict[str, Callable[[Any], Any]] = {
    "modulus": lambda z: np.sum(np.abs(z) ** 2),
    "parts": lambda z: np.sum(z.real**2 + 3 * z.imag),
    "functions": lambda z: np.sum(np.abs(np.exp(z) * z + np.sin(z) / (1 + z * np.conj(z))) ** 2),
    "angle": lambda z: np.sum(np.angle(z)),
    "inverse": lambda z: np.sum(np.abs(np.linalg.inv(z)) ** 2),
    "determinant": lambda z: np.abs(np.linalg.det(z)),
    "slogdet": lambda z: np.linalg.slogdet(z)[1],
    "product": lambda z: np.sum((z @ z.conj().T).real * np.arange(9.0).reshape(3, 3)),
    "solve": lambda z: np.sum(np.abs(np.linalg.solve(z, np.ones((3, 2))))),
    "singular_values": lambda z: np.sum(np.linalg.svd(z, compute_uv=False) ** 3),
    "eigenvalues": lambda z: np.sum(np.linalg.eigvalsh(z + z.conj().T) ** 3),
    "fourier": lambda z: np.sum(np.abs(np.fft.fft(z)) * np.arange(3.0)),
    "real_fourier": lambda z: np.sum(np.fft.irfft(z) ** 3),
    "einsum": lambda z: np.sum(np.abs(np.einsum("ij,kj->ik", z, z.conj())) ** 2),
    "powers": lambda z: np.sum(np.abs(z**3) + np.abs(z**2.5)),
    "running_product": lambda z: np.sum(np.abs(np.cumprod(z[0]))),
    "variance": lambda z: np.var(z),
    "logarithm": lambda z: np.sum(np.log(z).imag + np.sqrt(z).real),
    "where": lambda z: np.sum(np.abs(np.where(np.arange(3) > 0, z, z * 2))),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_gradients_by_complex_arguments(name: str) -> None:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(3, 3)) + 1j * rng.normal(size=(3, 3))
    gradient = tl.grad(COMPLEX[name])(z)
    assert gradient.dtype == z.dtype
    np.testing.assert_allclose(gradient, slope(COMPLEX[name], z), rtol=2e-5, atol=1e-5)


# ---- dtypes and classes

FLOAT32: list[Callable[[Any], Any]] = [
    np.max,
    np.mean,
    np.var,
    np.std,
    np.prod,
    np.linalg.norm,
    np.median,
    lambda x: np.sum(np.cumsum(x)),
    lambda x: np.sum(x**2.5),
    lambda x: x @ x,
    lambda x: np.sum(np.sort(x)),
    lambda x: np.sum(np.where(x > 0, x, 1.0)),
    lambda x: np.sum(np.log1p(np.exp(x))),
    lambda x: np.sum(x / np.arange(1, 4)),
    lambda x: np.sum(x * np.float64(2)),
    lambda x: np.sum(np.fft.fft(x).real),
    lambda x: np.sum(np.clip(x, 0, 1)),
    lambda x: np.sum(np.interp(x, [0, 1], [0, 2])),
    lambda x: np.sum(np.linalg.inv(np.diag(x))),
    lambda x: np.quantile(x, 0.3),
    lambda x: np.average(x, weights=[1, 2, 3]),
    lambda x: np.sum(np.convolve(x, [1, 2])),
    lambda x: np.sum(x.astype("f8") ** 2),
]


@pytest.mark.parametrize("number", range(len(FLOAT32)))
def test_gradients_keep_float32(number: int) -> None:
    assert tl.grad(FLOAT32[number])(A(1, 2, 4, dtype="f4")).dtype == np.float32


@pytest.mark.parametrize(
    "x", [3.0, np.float32(3), np.float64(3), np.array(3.0), 2 - 1j, np.complex64(1j)], ids=repr
)
def test_gradients_have_the_class_of_their_argument(x: Any) -> None:
    gradient = tl.grad(lambda x: abs(x * x))(x)
    assert type(gradient) is type(x)
    assert np.asarray(gradient).dtype == np.asarray(x).dtype


REFUSED: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "by_integers": (np.sum, np.arange(3)),
    "by_an_int": (lambda x: x * 2, 3),
    "of_an_array": (lambda x: x, A(1, 2)),
    "of_a_truth_value": (lambda x: np.sum(x) > 0, A(1)),
    "of_an_integer": (lambda x: np.sum(x).astype(int), A(1)),
    "of_a_complex_number": (lambda x: np.sum(x) * 1j, A(1)),
    "of_a_tuple": (lambda x: (np.sum(x), 1), A(1)),
}


@pytest.mark.parametrize("case", REFUSED)
def test_gradients_that_do_not_exist(case: str) -> None:
    function, x = REFUSED[case]
    with pytest.raises(tl.TapelessError):
        tl.grad(function)(x)


# ---- derivatives of derivatives, of compiled functions


def test_transforms_compose() -> None:
    cube = lambda x: np.sum(x**3)  # noqa: E731
    x = A(1, -2)
    expected = np.diag(6 * x)
    np.testing.assert_allclose(tl.hessian(cube)(x), expected)
    np.testing.assert_allclose(tl.jacobian(tl.grad(cube))(x), expected)
    np.testing.assert_allclose(tl.jvp(tl.grad(cube), (x,), (A(1, 0),))[1], expected[0])
    np.testing.assert_allclose(tl.grad(lambda x: tl.grad(cube)(x)[1])(x), expected[1])
    np.testing.assert_allclose(tl.grad(lambda x: tl.jvp(cube, (x,), (A(0, 1),))[1])(x), expected[1])
    np.testing.assert_allclose(tl.vjp(tl.grad(cube), x)[1](A(1, 1)), expected.sum(0))


def test_derivatives_of_compiled_functions() -> None:
    compiled = tl.compile(lambda x: np.sum(x**3))
    x = A(1, -2)
    np.testing.assert_allclose(tl.grad(compiled)(x), 3 * x**2)
    np.testing.assert_allclose(tl.compile(tl.grad(compiled))(x), 3 * x**2)
    np.testing.assert_allclose(tl.hessian(compiled)(x), np.diag(6 * x))
    assert tl.compile(compiled)(x) == compiled(x) == -7


def test_perturbations_are_told_apart() -> None:
    assert tl.grad(lambda x: x * tl.grad(lambda y: x + y)(1.0))(1.0) == 1
    assert tl.grad(lambda x: tl.grad(lambda y: x * y * y)(x))(3.0) == 12
    assert tl.jvp(lambda x: x * tl.jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,))[1] == 6


# ---- what the function does beside


@dataclasses.dataclass
class Model:
    w: Any
    h: Any = None


def test_changes_to_containers_reach_the_caller() -> None:
    def step(p: Any, x: Any) -> Any:
        p["old"] = p["w"]
        p["w"] = p["w"] * 2
        p["x"] = x
        p["rows"].append(p["w"] * 1)
        return np.sum(p["w"] * x)

    w, x = A(1, 2), A(3, 4)
    p = {"w": w, "rows": []}
    value, gradient = tl.value_and_grad(step)(p, x)
    assert value == 22
    np.testing.assert_array_equal(gradient["w"], 2 * x)
    assert p["old"] is w
    assert p["x"] is x
    np.testing.assert_array_equal(p["w"], [2.0, 4.0])
    np.testing.assert_array_equal(p["rows"][0], [2.0, 4.0])


def test_changes_to_dataclasses_and_lists_reach_the_caller() -> None:
    def step(model: Any) -> Any:
        model.h = model.w * 2
        model.w -= 1
        return np.sum(model.h)

    w = A(1, 2)
    model = Model(w)
    np.testing.assert_array_equal(tl.grad(step)(model).w, [2.0, 2.0])
    assert model.w is w
    np.testing.assert_array_equal(w, [0.0, 1.0])
    np.testing.assert_array_equal(model.h, [2.0, 4.0])


def test_one_container_in_two_places() -> None:
    def step(p: Any) -> Any:
        p["a"]["w"] = p["a"]["w"] * 3
        return np.sum(p["b"]["w"])

    shared = {"w": A(1, 2)}
    p = {"a": shared, "b": shared}
    value, _ = tl.value_and_grad(step)(p)
    assert value == 9
    assert p["a"] is p["b"] is shared


def test_values_that_are_arguments_are_the_callers() -> None:
    x = A(1, 2)
    (_, aux), _ = tl.value_and_grad(lambda x: (np.sum(x), [x, x * 2]), has_aux=True)(x)
    assert aux[0] is x
    assert tl.vjp(lambda x: x, x)[0] is x
    assert tl.jvp(lambda x: x, (x,), (x,))[0] is x


def test_a_pullback_is_that_of_the_primals_as_they_were_given() -> None:
    w = A(1, 2)
    params = {"w": w, "rows": [w, 3.0]}
    value, pullback = tl.vjp(lambda p: p["w"] * p["rows"][0] * p["rows"][1], params)
    w += 1
    params["rows"][1] = 5.0
    for _ in range(2):
        found = pullback(np.ones_like(value))
        np.testing.assert_array_equal(found["w"], A(6, 12))
        assert found["rows"][1] == 5


def test_a_pullback_repeats_no_writes() -> None:
    def step(p: Any) -> Any:
        p["old"] = p["w"] * 1
        p["w"] *= 2
        return np.sum(p["w"] ** 2)

    params = {"w": A(1, 2)}
    value, pullback = tl.vjp(step, params)
    assert value == 20
    for _ in range(2):
        np.testing.assert_array_equal(pullback(1.0)["w"], [8.0, 16.0])
        np.testing.assert_array_equal(params["w"], [2.0, 4.0])
        np.testing.assert_array_equal(params["old"], [1.0, 2.0])


@pytest.mark.parametrize("writes", [False, True])
def test_a_pullback_of_arguments_that_share_memory(writes: bool) -> None:
    def product(x: Any, y: Any) -> Any:
        if writes:
            x += 1
        return np.sum(x * y)

    memory = np.arange(12.0).reshape(3, 4).T
    x, y = memory[1:], memory[:0:-1]
    expected = y.copy(), x.copy()
    value, pullback = tl.vjp(product, x, y)
    assert value == product(*(lambda a: (a[1:], a[:0:-1]))(np.arange(12.0).reshape(3, 4).T))
    memory *= 7
    if writes:
        with pytest.raises(tl.TapelessError, match="shares memory"):
            pullback(1.0)
    else:
        np.testing.assert_array_equal(pullback(1.0), expected)


# ---- memory of differentiated arguments


LYING: dict[str, Callable[[], Any]] = {
    "plain": lambda: np.arange(12.0).reshape(3, 4),
    "gaps": lambda: np.arange(24.0).reshape(3, 8)[:, ::2],
    "transposed": lambda: np.arange(12.0).reshape(4, 3).T,
    "backwards": lambda: np.arange(12.0).reshape(3, 4)[::-1],
    "swapped": lambda: np.arange(12).reshape(3, 4).astype(">f8"),
}


@pytest.mark.parametrize("executor", ["native", "numpy"])
@pytest.mark.parametrize("lying", LYING)
def test_a_reshaped_argument_is_a_view_where_numpy_has_one(lying: str, executor: str) -> None:
    def step(x: Any) -> Any:
        y = x.reshape(-1)
        y *= 2
        return np.sum(x**3)

    def difference(x: Any, place: Any, by: float) -> Any:
        x[place] += by
        return step(x)

    compiled = tl.compile(tl.value_and_grad(step), executor=executor)
    make = LYING[lying]
    slopes = np.zeros((3, 4))
    for place in np.ndindex(3, 4):
        slopes[place] = (difference(make(), place, 1e-5) - difference(make(), place, -1e-5)) / 2e-5
    for _ in range(3):
        x, y = make(), make()
        value, gradient = compiled(x)
        assert value == pytest.approx(step(y))
        np.testing.assert_array_equal(x, y)
        np.testing.assert_allclose(gradient, slopes, rtol=1e-6, atol=1e-6)
    _, pullback = tl.vjp(step, make())
    np.testing.assert_allclose(pullback(1.0), slopes, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("lying", LYING)
def test_views_of_differentiated_arguments_are_the_callers(lying: str) -> None:
    def step(x: Any) -> Any:
        x *= 2
        part = x[1:]
        return np.sum(x), {"rows": part, "again": [part, x.T], "x": x, "column": x[::-1, 1]}

    x, y = LYING[lying](), LYING[lying]()
    (value, found), gradient = tl.value_and_grad(step, has_aux=True)(x)
    total, expected = step(y)
    assert value == total
    np.testing.assert_array_equal(gradient, np.full((3, 4), 2.0))
    assert found["x"] is x
    assert found["again"][0] is found["rows"]
    for mine, its in (
        (found["rows"], expected["rows"]),
        (found["again"][1], expected["again"][1]),
        (found["column"], expected["column"]),
    ):
        assert mine.strides == its.strides
        assert np.shares_memory(mine, x)
        np.testing.assert_array_equal(mine, its)


OVERLAPPING: dict[str, Callable[[Any], tuple[Any, Any]]] = {
    "same": lambda a: (a, a),
    "reversed": lambda a: (a, a[::-1]),
    "shifted": lambda a: (a[1:], a[:-1]),
}


@pytest.mark.parametrize("overlap", OVERLAPPING)
def test_writes_into_arguments_that_share_memory(overlap: str) -> None:
    def writes(x: Any, y: Any) -> Any:
        x += 1
        return np.sum(x * y)

    x, y = OVERLAPPING[overlap](np.arange(4.0))
    np.testing.assert_array_equal(tl.grad(lambda x, y: np.sum(x * y))(x, y), y)
    for wrt in (0, 1, (0, 1)):
        with pytest.raises(tl.TapelessError, match="shares memory"):
            tl.grad(writes, wrt=wrt)(x, y)


def test_a_view_of_a_differentiated_argument_is_not_kept() -> None:
    def step(p: Any) -> Any:
        p["part"] = p["w"][1:]
        return np.sum(p["w"])

    with pytest.raises(tl.TapelessError, match="a view of a differentiated argument"):
        tl.grad(step)({"w": A(1, 2)})


def test_the_result_of_stop_gradient_is_not_written_to() -> None:
    def step(x: Any) -> Any:
        y = tl.stop_gradient(x)
        y[0] = 3
        return np.sum(y * x)

    with pytest.raises(tl.TapelessError, match="stop_gradient is written to"):
        tl.grad(step)(A(1, 2))
    np.testing.assert_array_equal(tl.grad(lambda x: np.sum(tl.stop_gradient(x) * x))(A(1, 2)), [1.0, 2.0])


def test_a_training_step() -> None:
    @tl.compile
    def step(params: Any, x: Any) -> Any:
        value, gradient = tl.value_and_grad(lambda p, x: np.sum((x @ p["w"] + p["b"]) ** 2))(params, x)
        for name in params:
            params[name] -= 0.01 * gradient[name]
        return value

    x = A([1, 2], [3, 4])
    params, w, b = {"w": A(1, 2), "b": np.array(0.5)}, A(1, 2), 0.5
    for _ in range(5):
        residual = x @ w + b
        np.testing.assert_allclose(step(params, x), np.sum(residual**2), rtol=1e-12)
        w, b = w - 0.02 * x.T @ residual, b - 0.02 * residual.sum()
    np.testing.assert_allclose(params["w"], w, rtol=1e-12)
    np.testing.assert_allclose(params["b"], b, rtol=1e-12)
