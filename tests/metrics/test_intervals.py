"""Wilson's interval is scipy's, holds for no and for all successes, and covers the truth about 95 times in 100.

The exact bounds are those of the beta distribution and of counted samples.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta, binomtest

from tamis.metrics.intervals import clopper_pearson_upper, hypergeometric_upper, wilson


@st.composite
def counted(draw: st.DrawFn) -> tuple[int, int]:
    rows = draw(st.integers(1, 10**6))
    return draw(st.integers(0, rows)), rows


@given(counted())
@settings(max_examples=200, deadline=None)
def test_equals_scipy(data: tuple[int, int]) -> None:
    expected = binomtest(*data).proportion_ci(0.95, method="wilson")
    assert wilson(*data) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(counted())
@settings(max_examples=200, deadline=None)
def test_holds_the_share_and_is_the_same_from_both_ends(data: tuple[int, int]) -> None:
    part, rows = data
    low, high = wilson(part, rows)
    assert 0 <= low <= part / rows <= high <= 1 and low < high
    assert wilson(rows - part, rows) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize("rows", [1, 4, 30, 10**6])
def test_none_and_all(rows: int) -> None:
    z2 = 1.959963984540054**2
    assert wilson(0, rows) == (0.0, pytest.approx(z2 / (rows + z2)))
    assert wilson(rows, rows) == (pytest.approx(rows / (rows + z2)), 1.0)


@pytest.mark.parametrize(("part", "rows"), [(0, 0), (1, 0), (-1, 5), (6, 5)])
def test_refuses_what_is_no_share(part: int, rows: int) -> None:
    with pytest.raises(ValueError, match="not a share"):
        wilson(part, rows)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5])
def test_covers_the_truth_about_95_times_in_100(share: float) -> None:
    counts = np.random.default_rng(0).binomial(60, share, 2000)
    inside = [low <= share <= high for low, high in (wilson(int(count), 60) for count in counts)]
    assert 0.92 <= np.mean(inside) <= 0.98


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
