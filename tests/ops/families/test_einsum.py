"""einsum and its like: NumPy's loop to the bit, and derivatives for every kind of subscript."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapeless.compiler.ir import Builder
from tapeless.compiler.ops.einsum import contract

LENGTHS = {"i": 2, "j": 3, "k": 1, "m": 4}


@st.composite
def subscripts(draw: Any) -> str:
    words = draw(st.lists(st.text("ijkm", max_size=3), min_size=1, max_size=3))
    letters = sorted(set("".join(words)))
    result = draw(st.lists(st.sampled_from(letters), unique=True)) if letters else []
    return f"{','.join(words)}->{''.join(result)}"


@given(subscripts(), st.integers(0, 9))
def test_einsum(function: Any, spec: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    words = spec.split("->")[0].split(",")
    operands = [rng.normal(size=[LENGTHS[c] for c in word]) for word in words]
    f = function(lambda b, *operands: b.einsum(*operands, subscripts=spec), *operands)
    (found,) = f.value()
    wanted = np.einsum(spec, *operands)
    assert found.tobytes() == wanted.tobytes()
    assert not any(np.may_share_memory(found, operand) for operand in operands)
    f.check()


def test_the_backward_pass_of_a_product_is_a_product(function: Any) -> None:
    f = function(
        lambda b, x, y: b.einsum(x, y, subscripts="bij,bjk->bik"), np.ones((2, 3, 4)), np.ones((2, 4, 5))
    )
    gradients = f._gradients(f._cotangents(()))
    assert [node.op.name for node in gradients if node.op.name == "einsum"] == []


@pytest.mark.parametrize(
    "spec", ["ij,jm->im", "ij,jm->mi", "ij,ij->ij", "ij,ij->i", "ij,ij->", "i,j->ji", "ijm,m->j", "ij,i->j"]
)
def test_contract_is_einsum_by_one_matrix_product(function: Any, spec: str) -> None:
    words, result = spec.split("->")
    left, right = words.split(",")
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=[LENGTHS[c] for c in word]) for word in (left, right))

    def build(b: Builder, x: Any, y: Any) -> Any:
        return contract(b, x, y, left, right, result)

    np.testing.assert_allclose(function(build, x, y).value()[0], np.einsum(spec, x, y), rtol=1e-12)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
@pytest.mark.parametrize("complex_", [False, True], ids=["real", "complex"])
def test_convolutions_of_all_lengths(function: Any, name: str, mode: str, complex_: bool) -> None:
    rng = np.random.default_rng(1)
    for n in range(1, 6):
        for m in range(1, 6):
            x, y = rng.normal(size=n), rng.normal(size=m)
            if complex_:
                x, y = x + 1j * rng.normal(size=n), y + 1j * rng.normal(size=m)
            f = function(lambda b, x, y: getattr(b, name)(x, y, mode=mode), x, y)
            assert f.value()[0].tobytes() == getattr(np, name)(x, y, mode).tobytes()
            f.check()
