"""Rank-one factors are the best ones, of unit norm, with a fixed sign, at every scale."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from tamis.gradients.factor import rank_one

START = torch.randn(3, 8, generator=torch.Generator().manual_seed(5))


def random_rows(rows: int = 4, seed: int = 0) -> torch.Tensor:
    return torch.randn(rows, 3, 8, 8, generator=torch.Generator().manual_seed(seed))


def low_rank(rows: int, noise: float) -> torch.Tensor:
    """Like gradients: one direction stands out."""
    rng = torch.Generator().manual_seed(1)
    u, v = torch.randn(2, rows, 3, 8, generator=rng)
    return torch.einsum("rlo,rli->rloi", u, v) + noise * torch.randn(rows, 3, 8, 8, generator=rng)


def test_close_to_the_singular_value_decomposition() -> None:
    matrices = low_rank(200, noise=0.5)
    factored = rank_one(matrices, START)
    _, sigma, _ = np.linalg.svd(matrices.double().numpy())
    best = np.sqrt((sigma[..., 1:] ** 2).sum((1, 2)))
    scaled = torch.einsum("rlo,rli->rloi", factored.u, factored.v).double() * factored.norm[:, None, None, None]
    residual = (matrices.double() - scaled).square().sum((1, 2, 3)).sqrt().numpy()
    assert (residual / best).max() < 1.01
    assert np.allclose(factored.norm, np.sqrt((sigma[..., 0] ** 2).sum(1)), rtol=0.02)
    assert np.allclose(factored.energy, (sigma[..., 0] ** 2).sum(1) / (sigma**2).sum((1, 2)), atol=0.02)


def test_each_row_has_norm_one_and_both_sides_carry_the_root_of_sigma() -> None:
    factored = rank_one(random_rows(), START)
    u, v = factored.u.norm(dim=-1), factored.v.norm(dim=-1)
    assert torch.allclose((u * v).square().sum(1), torch.ones(4), atol=1e-5)
    assert torch.allclose(u, v, atol=1e-5)


def test_a_row_does_not_depend_on_its_batch_mates_and_bytes_repeat() -> None:
    rows = random_rows(6)
    together = rank_one(rows, START)
    for i in range(6):
        alone = rank_one(rows[i : i + 1], START)
        assert torch.allclose(alone.u[0], together.u[i], atol=1e-6) and torch.allclose(
            alone.v[0], together.v[i], atol=1e-6
        )
    again = rank_one(rows, START)
    assert torch.equal(again.u, together.u) and torch.equal(again.v, together.v)


def test_the_sign_is_fixed_whatever_the_start() -> None:
    matrices = low_rank(20, noise=0.1)
    one, other = rank_one(matrices, START), rank_one(matrices, -START)
    assert torch.allclose(one.u, other.u, atol=1e-5) and torch.allclose(one.v, other.v, atol=1e-5)
    largest = one.u.gather(-1, one.u.abs().argmax(-1, keepdim=True))
    assert (largest > 0).all()


def test_a_row_orthogonal_to_all_ones_is_found() -> None:
    direction = torch.tensor([1.0, -1, 0, 0, 0, 0, 0, 0])
    matrices = torch.einsum("o,i->oi", direction, torch.arange(8.0)).expand(1, 3, 8, 8)
    assert float(rank_one(matrices, START).energy) == pytest.approx(1, abs=1e-6)


@settings(max_examples=40, deadline=None)
@given(st.integers(-37, 37))
def test_every_scale_of_float32_gives_the_same_factors(exponent: int) -> None:
    """Squares of 1e-30 vanish in float32, and those of 1e30 overflow."""
    rows = random_rows(2)
    expected, actual = rank_one(rows, START), rank_one(rows * 10.0**exponent, START)
    assert torch.allclose(actual.u, expected.u, atol=1e-4) and torch.allclose(actual.v, expected.v, atol=1e-4)
    assert np.allclose(actual.norm, expected.norm * 10.0**exponent, rtol=1e-3)


def test_zero_modules_and_zero_rows_are_zero_not_nan() -> None:
    rows = random_rows(3)
    rows[0, 1] = 0
    rows[1] = 0
    factored = rank_one(rows, START)
    assert all(torch.isfinite(part).all() for part in factored)
    assert (factored.u[0, 1] == 0).all() and (factored.u[1] == 0).all()
    assert float(factored.norm[1]) == 0 and float(factored.energy[1]) == 0
    assert float((factored.u[0].norm(dim=-1) * factored.v[0].norm(dim=-1)).square().sum()) == pytest.approx(
        1, abs=1e-5
    )
