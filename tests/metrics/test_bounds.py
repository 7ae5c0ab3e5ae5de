"""The exact bounds are those of the beta distribution, and of samples that were counted."""

from __future__ import annotations

import itertools
import math

import pytest
from scipy.stats import beta

from tamis.metrics.bounds import clopper_pearson_upper, hypergeometric_upper


def test_none_of_three_hundred_leaves_at_most_ten_in_a_thousand() -> None:
    assert 9.9 < 1000 * clopper_pearson_upper(0, 300) < 10
    for rows in (1, 7, 300, 100_000):
        assert clopper_pearson_upper(0, rows) == pytest.approx(1 - 0.05 ** (1 / rows), rel=1e-9)
        assert clopper_pearson_upper(rows, rows) == 1


def test_the_exact_bound_is_the_quantile_of_the_beta_distribution() -> None:
    for rows, found, confidence in itertools.product((5, 60, 3000), (0, 1, 4), (0.8, 0.95, 0.99)):
        wanted = beta.ppf(confidence, found + 1, rows - found)
        assert clopper_pearson_upper(found, rows, confidence) == pytest.approx(wanted, rel=1e-7)


def test_the_bound_of_a_small_population_is_the_last_that_the_sample_does_not_exclude() -> None:
    """By counting samples."""
    for population, rows in itertools.product((6, 11, 30), (1, 3, 6)):
        for found in range(rows + 1):
            bound = hypergeometric_upper(found, rows, population)

            def at_most(marked: int, n: int = population, k: int = rows, x: int = found) -> float:
                ways = sum(
                    math.comb(marked, i) * math.comb(n - marked, k - i) for i in range(x + 1) if i <= marked
                )
                return ways / math.comb(n, k)

            assert at_most(bound) > 0.05
            more = bound + 1
            assert more > found + population - rows or at_most(more) <= 0.05


def test_a_population_that_was_seen_whole_has_no_more_than_was_found() -> None:
    assert hypergeometric_upper(3, 50, 50) == 3
    assert hypergeometric_upper(0, 50, 50) == 0


def test_a_large_population_has_the_bound_of_the_binomial() -> None:
    share = hypergeometric_upper(2, 300, 10_000_000) / 10_000_000
    assert share == pytest.approx(clopper_pearson_upper(2, 300), rel=1e-3)
    assert hypergeometric_upper(0, 300, 1000) / 1000 < clopper_pearson_upper(0, 300)


def test_one_in_twenty_samples_at_most_lies() -> None:
    """Over all samples of a population, the bound is below the truth in at most 5 %."""
    population, rows = 40, 12
    for marked in range(population + 1):
        wrong = sum(
            math.comb(marked, x) * math.comb(population - marked, rows - x)
            for x in range(rows + 1)
            if x <= marked and hypergeometric_upper(x, rows, population) < marked
        )
        assert wrong / math.comb(population, rows) <= 0.05


@pytest.mark.parametrize(("found", "rows"), [(-1, 5), (6, 5), (0, 0)])
def test_no_share_has_no_bound(found: int, rows: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        clopper_pearson_upper(found, rows)
    with pytest.raises(ValueError, match="not a s"):
        hypergeometric_upper(found, rows, 100)
