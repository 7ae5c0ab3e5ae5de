"""Wilson's interval is scipy's, holds for no and for all successes, and covers the truth about 95 times in 100."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest

from tamis.metrics.intervals import wilson


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
